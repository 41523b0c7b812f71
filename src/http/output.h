/* Output of a connection. Private to http/. */
#ifndef HTTP_OUTPUT_H
#define HTTP_OUTPUT_H

#include "http/connection.h"

/* Writes what the kernel takes at once and queues a copy of the rest; false when the client is gone. */
bool http_output_write(struct http_connection *connection, const struct str *pieces, unsigned count);
/* Like http_output_write; the pieces from index `lasting` on live as long as the process and are not copied. */
bool http_output_last(struct http_connection *connection, const struct str *pieces, unsigned count, unsigned lasting);
/* Writes `head` and then bytes shared by many connections: what remains of them is referenced, not copied. */
bool http_output_share(struct http_connection *connection, struct str head, struct shared *bytes);
/* Writes TLS records unchanged; `arg` is the connection. */
bool http_output_sealed(void *arg, struct str sealed);
void http_output_drop(struct http_connection *connection);

/* How many of the sent bytes the client's machine has acknowledged. */
uint64_t http_output_taken(const struct http_connection *connection);

#endif
