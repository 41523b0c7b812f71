/* Streams and sockets as their connection sees them. Private to http/.
 *
 * Each has an owner (who started it) whose `gone` is called once: by `left` when the connection has been
 * closed, by `finish` when the end was asked for and the connection goes on to flush what is queued.
 */
#ifndef HTTP_OWNERS_H
#define HTTP_OWNERS_H

#include "http/connection.h"

void http_stream_beat(struct http_connection *connection);
void http_stream_finish(struct http_connection *connection);
void http_socket_beat(struct http_connection *connection);
void http_socket_stop(struct http_connection *connection);
void http_socket_finish(struct http_connection *connection);
void http_socket_input(struct http_connection *connection, struct str bytes);
/* All queued bytes have been written. */
void http_stream_drained(struct http_connection *connection);
void http_socket_drained(struct http_connection *connection);
/* The connection was closed: tells its owner and frees its state. */
void http_stream_left(struct http_connection *connection);
void http_socket_left(struct http_connection *connection);

#endif
