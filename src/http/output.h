/* Output of a connection. Private to http/. */
#ifndef HTTP_OUTPUT_H
#define HTTP_OUTPUT_H

#include "http/connection.h"

/* Writes what the kernel takes at once and queues a copy of the rest; false when the client is gone. */
bool http_output_write(struct http_connection *connection, const struct str *pieces, unsigned count);
/* The same where the pieces from number `lasting` on are there for the life of the process, and need no copy. */
bool http_output_last(struct http_connection *connection, const struct str *pieces, unsigned count, unsigned lasting);
/* The same for bytes that many share, with a few of its own before them: what remains is held, not copied. */
bool http_output_share(struct http_connection *connection, struct str head, struct shared *bytes);
/* Bytes of TLS, as they are; `arg` is the connection. */
bool http_output_sealed(void *arg, struct str sealed);
void http_output_drop(struct http_connection *connection);

/* How many bytes the client's machine has taken, of all that were ever sent. */
uint64_t http_output_taken(const struct http_connection *connection);

#endif
