/* The way out of a box: a proxy on a listener that was made inside of it.
 *
 * A box has a network of its own with nothing in it but the loopback device. Its first process listens there and hands
 * the listeners out by descriptor (box/ports.c); the proxy accepts on them, from outside. So there is no path and no
 * port of the host that leads to it, and the listener itself says whose connection it is.
 *
 *   in the box: curl → 127.0.0.1:3128 ── proxy: read the target → judge → keep an event → resolve → connect ── host
 *
 *  - CONNECT, plain HTTP in absolute form, and SOCKS5 with names or addresses; no UDP, no BIND.
 *  - A name is resolved once, and that address is connected to. Addresses of this machine and of private networks are
 *    refused, whatever the name, unless the verdict opens exactly that host.
 *  - A TLS connection to port 443 must name the same host in its first message.
 *  - A thread per connection, at most LINES_MAX at once; further ones wait to be accepted.
 *
 * Nothing here knows rules: whoever starts a proxy brings a `struct egress_host` that judges and keeps.
 */
#ifndef EGRESS_EGRESS_H
#define EGRESS_EGRESS_H

#include "base/str.h"
#include "egress/target.h"

#include <stdatomic.h>

enum { EGRESS_WHY_BYTES = 240, EGRESS_PORTS_MAX = 16 };

/* A connection that a program in the box asks for. `ended` becomes true when the box has ended: a judge that waits
 * checks it. */
struct egress_want {
    const struct egress_target *target;
    const atomic_bool *ended;
};

/* The answer to egress_want. Nothing is allowed unless `allowed` is set. */
struct egress_verdict {
    bool allowed;
    bool private_too; /* a rule names exactly this host: it may be an address of this machine or a private one */
    char why[EGRESS_WHY_BYTES]; /* why a connection is refused, printed in the command's output */
};

enum egress_state { EGRESS_OPENED, EGRESS_REFUSED, EGRESS_CLOSED };

/* The use that one box made of one host and port. */
struct egress_use {
    struct egress_target target;
    enum egress_state state;
    uint64_t connections, up, down;
    char why[EGRESS_WHY_BYTES];
};

/* Called in threads of the proxy; may block. `release` is the last call. */
struct egress_host {
    void (*judge)(struct egress_host *host, const struct egress_want *want, struct egress_verdict *ret_verdict);
    /* Stores the use. EGRESS_OPENED comes before the first connection is made; false: it could not be stored, and no
     * connection is made. */
    bool (*keep)(struct egress_host *host, const struct egress_use *use);
    void (*release)(struct egress_host *host);
    /* Serves a connection to one of the box's own ports, instead of passing it on to this machine's; false: it does
     * not. NULL: none is served. */
    bool (*serve)(struct egress_host *host, uint16_t port, int client, const atomic_bool *ended);
};

struct egress_options {
    int channel;              /* the socket by which the box passes its listeners; owned by the proxy from now on */
    struct egress_host *host; /* owned by the proxy from now on */
    const int *own_ports;     /* OWN_PORTS_MAX, where Nod listens: never connected to on this machine; NULL: nowhere */
    unsigned listeners;       /* how many the box makes */
};

struct egress;

/* Starts the proxy. Never fails: if it cannot be started, no connection gets out. */
struct egress *egress_start(const struct egress_options *options);
/* Ends all connections, stores their use, and frees the proxy. Blocks until its threads have ended. NULL is ignored. */
void egress_end(struct egress *egress);

#endif
