/* Streams and sockets that were sent something in this turn of the loop. Private to http/. */
#ifndef HTTP_DUE_H
#define HTTP_DUE_H

#include "http/connection.h"

struct dues;
struct loop;

struct dues *http_dues_new(struct loop *loop);
void http_dues_free(struct dues *dues);
/* The connection's queue is written when the turn ends. False: there are too many; it is to be written now. */
bool http_due(struct http_connection *connection);
/* The connection was closed. */
void http_due_leave(struct http_connection *connection);

#endif
