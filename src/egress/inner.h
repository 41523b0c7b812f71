/* Internals of the proxy; private to egress/.
 *
 * egress.c has the proxy's own thread, which accepts; line.c serves one connection per thread; target.c and hello.c
 * read which host a client wants, from HTTP, SOCKS or TLS; lookup.c resolves its name. */
#ifndef EGRESS_INNER_H
#define EGRESS_INNER_H

#include "egress/egress.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum {
    LINES_MAX = 32,              /* connections of one box at once */
    HOSTS_MAX = 128,             /* different hosts and ports of one box */
    UP_BYTES_MAX = 50 << 20,     /* most bytes that one box may send */
    LOOK_MS = 100,               /* interval at which a thread checks whether the box has ended */
    HEAD_MS = 10000,             /* time limit for a client's first bytes */
    LOOKUP_MS = 10000,
    CONNECT_MS = 15000,
    IDLE_MS = 600000,            /* no byte in either direction */
    LINE_STACK_BYTES = 256 << 10,
};

/* One host and port; `used.state` says whether it is kept yet. */
struct used {
    struct egress_use use;
    bool kept[EGRESS_CLOSED + 1];
};

struct line;

/* The proxy of one box. Its thread accepts; each connection has a thread that uses it under the lock. */
struct egress {
    struct egress_host *host;
    int own_ports[OWN_PORTS_MAX];
    int channel, stop[2];
    unsigned wanted;
    struct {
        int fd;
        uint16_t port; /* port of the host to which it leads; 0: the proxy */
    } listeners[1 + EGRESS_PORTS_MAX];
    unsigned listener_count;
    pthread_t thread;
    bool has_thread;
    atomic_bool ended;
    atomic_uint_fast64_t up;
    pthread_mutex_t keeping; /* held while an event is stored: an allowed connection is durable before it is made */
    pthread_mutex_t lock;    /* for everything below */
    pthread_cond_t left;     /* a line has ended */
    unsigned lines;
    struct used used[HOSTS_MAX];
    unsigned used_count;
};

/* One accepted connection, in a thread of its own. */
struct line {
    struct egress *egress;
    int client, server;
    uint16_t forward;        /* port of the host to which it leads directly; 0: the client speaks to the proxy */
    struct egress_target target;
    struct used *used;
    struct buf in;           /* from the client, not yet sent on */
};

/* line.c: serves a connection to its end. Closes the client. */
void line_serve(struct line *line);

/* egress.c */
/* The row of a host and port; NULL when there are too many. */
struct used *egress_used(struct egress *egress, const struct egress_target *target);
/* Stores that state, once per host and port. */
bool egress_keep(struct egress *egress, struct used *used, enum egress_state state, const char *why);
void egress_count(struct egress *egress, struct used *used, uint64_t up, uint64_t down);
static inline bool egress_ended(const struct egress *egress)
{
    return atomic_load_explicit(&egress->ended, memory_order_relaxed);
}

/* lookup.c: the first address of a name, within a time; a length, or 0 with words. The system's resolver cannot be
 * interrupted: it works in a thread of its own, which ends by itself when nobody waits for it any more. */
socklen_t lookup_host(const char *host, uint16_t port, int ms, const atomic_bool *ended,
                      struct sockaddr_storage *ret_address, char *ret_why, size_t why_bytes);

#endif
