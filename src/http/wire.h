/* A blocking socket with a deadline, for the client. Private to http/. */
#ifndef HTTP_WIRE_H
#define HTTP_WIRE_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

/* The address of the server: a Unix socket when `path` is set, else host and port. */
struct wire_address {
    char path[108];
    char host[256];
    char port[6];
    char words[300]; /* for people: the address as it was given */
};

/* A blocking connection of the command line to its server. */
struct wire {
    int fd;              /* -1: not connected */
    int64_t deadline_us; /* by clock_steady_us; 0: none */
};

/* "unix:/path", "http://host[:port]". */
struct rc wire_parse(const char *url, struct wire_address *ret_address, struct err *err);
/* Sets a deadline for all following calls; 0: none. */
void wire_hurry(struct wire *wire, int64_t timeout_ms);
struct rc wire_connect(struct wire *wire, const struct wire_address *address, struct err *err);
void wire_close(struct wire *wire);
/* *ret_sent is valid on failure too. */
struct rc wire_send(const struct wire *wire, struct str bytes, size_t *ret_sent, struct err *err);
/* *ret_n is 0 at the end of the stream. */
struct rc wire_receive(const struct wire *wire, char *to, size_t bytes_max, size_t *ret_n, struct err *err);
/* Whether the connection was silent since its last use: then it can be used again. */
bool wire_is_quiet(const struct wire *wire);
/* The uid of the process at the other end of a Unix socket. */
bool wire_peer(const struct wire *wire, uint32_t *ret_uid);

#endif
