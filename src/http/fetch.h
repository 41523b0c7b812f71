/* Requests to other servers, over http and https. Blocking: for worker threads. Included by http.h.
 *
 * libcurl does the work. It is loaded when the first request is made, not when the program starts: commands that
 * live for milliseconds do not pay for it. A line keeps its connection between requests; one thread at a time.
 */
#ifndef HTTP_FETCH_H
#define HTTP_FETCH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdatomic.h>
#include <stdint.h>

struct fetch_line;

/* A response header that the caller asks for; its value is kept in the arena. */
struct fetch_header {
    const char *name;
    struct str value;
};

/* A request and its answer. The caller owns it; texts of the answer are in `arena`. */
struct fetch {
    struct arena *arena;
    const char *url;
    const char *const *headers;   /* "Name: value", NULL after the last */
    struct str body;              /* body to POST; empty: GET */
    const char *method;           /* method instead of GET or POST; NULL: none */
    const char *mail_from, *mail_to; /* smtp and smtps: `body` is a mail; `status` is the server's last reply */
    const char *login;            /* smtp: "user:password"; NULL: none */
    size_t bytes_max;             /* longest answer, unless it is an event stream */
    int64_t silence_seconds_max;  /* between two bytes */
    int64_t seconds_max;          /* from the beginning to the end; 0: as long as it takes */
    bool only_public;             /* no address but one of the open network is connected to, whatever the name means
                                     at that moment; no proxy is used, for it would hide the address */
    bool packed;                  /* the answer may come compressed; bytes_max is of what it unpacks to */
    struct fetch_header *wanted;
    size_t wanted_count;
    const atomic_bool *cancelled; /* may be NULL */
    /* Takes each event of a 2xx event stream; false: no more is wanted. NULL: the body is kept. */
    bool (*event)(void *arg, struct str type, struct str data);
    void *arg;
    struct str event_id;          /* of the latest Server-Sent Event; valid while `event` runs; empty: no id was sent */

    long status;
    struct str answer;            /* the body, unless it was an event stream */
    struct str redirect;          /* target of a 3xx as a whole URL; redirects are not followed */
    int64_t retry_after_ms;       /* -1: the server did not say */
};

struct fetch_line *fetch_line_new(void);
void fetch_line_free(struct fetch_line *line);
/* RC_OK when the server answered to the end, whatever it answered. ERR_UNAVAILABLE when it could not be reached,
 * went away in the middle or said nothing for too long; also when it was cancelled. ERR_FORBIDDEN: its address is
 * none of the open network. */
struct rc fetch_run(struct fetch_line *line, struct fetch *fetch, struct err *err);
/* Connects as fetch_run does, with TLS for https, and asks nothing: the line carries another protocol from then on. */
struct rc fetch_connect(struct fetch_line *line, struct fetch *fetch, struct err *err);
struct rc fetch_send(struct fetch_line *line, struct str bytes, int64_t wait_ms, struct err *err);
/* Reads bytes. *ret_n is 0 when none came in time; ERR_GONE at the end of the connection. */
struct rc fetch_receive(struct fetch_line *line, char *to, size_t bytes_max, int64_t wait_ms, size_t *ret_n,
                        struct err *err);
/* Waits until bytes may have come, at most that time. */
void fetch_wait(struct fetch_line *line, int64_t wait_ms);
/* The kind of a host that is written as an address, in words; NULL: one of the open network, or a name. */
const char *fetch_host_kind(struct str host);
/* Like fetch_host_kind, for an address to which a connection is about to be made. */
struct sockaddr;
const char *fetch_address_kind(const struct sockaddr *address);

#endif
