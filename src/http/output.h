/* Output of a connection. Private to http/. */
#ifndef HTTP_OUTPUT_H
#define HTTP_OUTPUT_H

#include "http/connection.h"

/* Writes what the kernel takes at once and queues a copy of the rest; false when the client is gone. */
bool http_output_write(struct http_connection *connection, const struct str *pieces, unsigned count);
/* Like http_output_write; the pieces from index `lasting` on live as long as the process and are not copied. */
bool http_output_last(struct http_connection *connection, const struct str *pieces, unsigned count, unsigned lasting);
/* Queues a copy of `head` and then bytes shared by many connections, for a stream or socket; they are written when the
 * loop's turn ends, or before when they are many. False when the client is gone. */
bool http_output_share(struct http_connection *connection, struct str head, struct shared *bytes);
/* Writes TLS records unchanged; `arg` is the connection. */
bool http_output_sealed(void *arg, struct str sealed);
/* Writes of the queue what the kernel takes at once and returns how much that was; it changes nothing but the socket,
 * and may be called on another thread while the loop waits for it. No write may be under way. */
ssize_t http_output_push(const struct http_connection *connection);
/* On the loop, with what http_output_push returned: what remains is queued until the kernel takes it. */
void http_output_took(struct http_connection *connection, ssize_t bytes);
/* Bytes of the queue that only this connection holds. */
size_t http_output_held(const struct http_connection *connection);
void http_output_drop(struct http_connection *connection);

/* How many of the sent bytes the client's machine has acknowledged. */
uint64_t http_output_taken(const struct http_connection *connection);

#endif
