/* A blocking socket with a deadline, for the client. Private to http/. */
#ifndef HTTP_WIRE_H
#define HTTP_WIRE_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

/* Where the server is: a Unix socket when `path` is set, else host and port. */
struct wire_address {
    char path[108];
    char host[256];
    char port[6];
    char words[300]; /* for people: the address as it was given */
};

/* "unix:/path", "http://host[:port]". */
struct rc wire_parse(const char *url, struct wire_address *ret_address, struct err *err);
/* clock_steady_us of the end; 0 when there is none. */
int64_t wire_deadline(int64_t timeout_ms);
struct rc wire_connect(const struct wire_address *address, int64_t deadline_us, int *ret_fd, struct err *err);
/* *ret_sent is valid on failure too. */
struct rc wire_send(int fd, struct str bytes, int64_t deadline_us, size_t *ret_sent, struct err *err);
/* *ret_n is 0 at the end of the stream. */
struct rc wire_receive(int fd, char *to, size_t bytes_max, int64_t deadline_us, size_t *ret_n, struct err *err);
/* Nothing has happened on it since it was used last: it can be used again. */
bool wire_is_quiet(int fd);

#endif
