/* The state of the API: a few small tables, each in memory only and limited in size. A restart loses them all, which
 * costs a login link that was not used yet, or a question that is asked twice. Private to api/; used on the loop. */
#ifndef API_STATE_H
#define API_STATE_H

#include "api/api.h"
#include "base/arena.h"
#include "base/digest.h"
#include "base/limits.h"
#include "event/token.h"

enum { HOSTS_MAX = 32 };

enum { LOGIN_CODES_MAX = 16, LOGIN_NAME_BYTES = 64, LOGIN_MINUTES = 10, LOGIN_DAYS = 30, LOGIN_WRONG_MAX = 5 };

/* A link that lets one browser in; see login.c. */
struct login_code {
    struct digest digest;
    struct digest typed; /* digest of the short code, which is typed when the link cannot be opened */
    enum role role;
    char name[LOGIN_NAME_BYTES];
    int64_t expires_ms; /* 0: none */
};

/* A credential that was not found; see newcomers.c. */
enum { STRANGERS_MAX = 32 };
struct stranger {
    struct digest digest;
    int64_t until_us; /* when to forget it, by the steady clock */
};

/* Calls of which a hook told before its agent asked for permission; see hooks.c. */
enum { HOOK_CALLS_MAX = 128 };
struct hook_call {
    struct digest what;
    char id[LIMIT_ID_BYTES + 1];
};

/* Limit on answers with forged tokens; see notify.c. */
enum { GUESSES_PER_MINUTE = 20 };
struct guesses {
    int64_t since_us;
    unsigned count;
};

/* One per process, made by api_new. Strings are in `arena`, the rest belongs to those who made it. */
struct api {
    struct gate *gate;
    const struct http_server *server;
    struct runtime *runtime;
    struct notify *notify; /* NULL: nobody is told */
    int64_t timeout_seconds;
    struct str warning; /* for /readyz; empty: none */
    bool ready; /* recovery is done; before, only open routes answer */
    struct arena arena;
    struct api_host {    /* a Host value under which we are reached */
        struct str name;
        bool plain, secure; /* by HTTP, by HTTPS */
    } hosts[HOSTS_MAX];
    size_t host_count, hook_call_next;
    struct str authority; /* in PEM; empty: none of our own */
    struct str origin;   /* where people reach us: the public address, or the one for a browser on this machine */
    bool has_public;
    struct login_code codes[LOGIN_CODES_MAX];
    unsigned wrong_codes; /* short codes that were wrong; LOGIN_WRONG_MAX of them void all */
    struct stranger strangers[STRANGERS_MAX];
    unsigned strangers_at; /* index of the next entry to be overwritten */
    struct hook_call hook_calls[HOOK_CALLS_MAX];
    struct below *below; /* NULL: no tripwire */
    struct guesses guesses;
    struct followed *followed; /* what the last stream of events follows, while any does */
    uint64_t answers[6]; /* responses sent, counted by the first digit of their status */
    uint64_t query_us, queries; /* of listing what waits, for metrics */
};

#endif
