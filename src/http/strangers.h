/* Connections on which no token was identified yet. */
#ifndef HTTP_STRANGERS_H
#define HTTP_STRANGERS_H

#include "http/connection.h"

/* Whether one more such connection may be accepted; closes another one if that makes room. */
bool http_strangers_room(struct http_server *server);
void http_strangers_enter(struct http_connection *connection);
/* The connection was closed, or its sender was identified. */
void http_strangers_leave(struct http_connection *connection);
/* Bytes that only this connection holds: parts of answers that the client has not read. */
void http_strangers_hold(struct http_connection *connection, size_t bytes);
void http_strangers_release(struct http_connection *connection, size_t bytes);
void http_strangers_done(struct http_server *server);

#endif
