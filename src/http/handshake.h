/* The WebSocket handshake. Private to http/. */
#ifndef HTTP_HANDSHAKE_H
#define HTTP_HANDSHAKE_H

#include "http/http.h"

enum { HANDSHAKE_ACCEPT_BYTES = 32 };

/* Whether the request is a valid upgrade whose client is still there; then `accept` is the value of
 * Sec-WebSocket-Accept. If not, the request has been answered and freed. */
bool http_handshake(struct http_request *request, char accept[HANDSHAKE_ACCEPT_BYTES]);
/* Whether one of the fields of that name lists the token. */
bool http_header_lists(const struct http_request *request, const char *name, struct str token);
/* Whether the key is 16 bytes in canonical base 64. */
bool http_is_socket_key(struct str key);

#endif
