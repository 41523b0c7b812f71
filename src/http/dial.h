/* A WebSocket to another server (RFC 6455): text messages both ways. Blocking: for worker threads. Included by http.h.
 *
 * libcurl connects (TLS and proxies as for `fetch`), wslay frames. The other side is not trusted: what it sends is
 * bounded, and one that says nothing for long is taken for gone. */
#ifndef HTTP_DIAL_H
#define HTTP_DIAL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct dial;

/* "wss://host/path?query", or "ws://…". */
struct rc dial_open(const char *url, int64_t seconds_max, struct dial **ret_dial, struct err *err);
/* The next message, in the arena; *ret_text has a NULL pointer when none came in time. An error ends the connection. */
struct rc dial_receive(struct dial *dial, struct arena *arena, int64_t wait_ms, struct str *ret_text, struct err *err);
struct rc dial_send(struct dial *dial, struct str text, struct err *err);
/* Closes the connection, with a close frame if possible. */
void dial_close(struct dial *dial);

#endif
