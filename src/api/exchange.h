/* One request on its way through the API: identified, authorized, handled, answered. Private to api/.
 *
 * A handler (handlers.h) reads the query and the body, begins an operation at the gate, and returns; the operation's
 * `done` answers. Everything lives in the exchange's arena, on the loop:
 *     void api_things_make(struct exchange *x)
 *     {
 *         struct thing_change *change = arena_new(x->arena, struct thing_change);
 *         *change = (struct thing_change){.op = exchange_op(x, made), .actor = x->actor};
 *         gate_change_thing(x->gate, change);
 *     }
 */
#ifndef API_EXCHANGE_H
#define API_EXCHANGE_H

#include "api/right.h"
#include "api/state.h"
#include "base/digest.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "gate/gate.h"
#include "http/http.h"

enum { PARAMS_MAX = 2 };

/* The subprotocol of both sockets. */
#define SOCKET_PROTOCOL "nod"

struct exchange;
enum body { BODY_NONE, BODY_OPTIONAL, BODY_OBJECT };

struct route {
    const char *name;      /* of the operation */
    void (*handle)(struct exchange *x);
    const char *method, *path; /* segments that begin with ':' are parameters */
    struct right right;
    enum body body;
    const char *summary;
    const char *query;     /* names of query parameters, separated by blanks */
    const char *takes;     /* schema of the body */
    int status;            /* when it went well */
    const char *gives;     /* schema of the answer */
};

const struct route *routes_all(size_t *ret_count);
/* The messages of /api/ws and /api/terminal/ws/agent by index; NULL after the last. */
const struct socket_kind *socket_message(size_t at);
const struct socket_kind *terminal_message(size_t at);

/* One request on its way through the API. Freed with the request, when it is answered or its client has gone. */
struct exchange {
    struct api *api;
    struct gate *gate;
    struct http_request *http;
    struct arena *arena;          /* lives as long as the request */
    const struct route *route;
    const struct token *token;    /* NULL on open routes */
    struct str actor, token_id;   /* copies that outlive a revocation */
    bool by_page;                 /* identified by cookie and key, not by a bearer token */
    struct str params[PARAMS_MAX];
    const struct json *body;      /* an object, or NULL */
    void (*with_session)(struct exchange *x, const struct session *session);
    struct str session;           /* the session found by exchange_with_session */
    void *state;                  /* private to the handler */
    struct str signature;         /* the signature over the request */
    bool key_used, waits_for_key; /* the use of the signing key is stored; is being stored */
};

/* Checks the origin; identifies the sender and puts the token into x. */
struct rc auth_check_origin(const struct api *api, const struct http_request *http, struct err *err);
struct rc auth_identify(struct exchange *x, struct err *err);
/* Checks the body against the digest in the client's proof. */
struct rc auth_check_body(const struct exchange *x, struct err *err);
/* Like auth_identify, for a browser that logged in with a link. */
struct rc login_identify(struct exchange *x, struct err *err);
/* Called for a refused token. True: another node may have just created it, and `then` is called once this node has
 * read all stored events; false: that is impossible. */
bool newcomer_wait(struct exchange *x, void (*then)(struct exchange *x));
bool newcomer_may_send(const struct exchange *x);
/* The text behind `prefix` in one of the subprotocols that a WebSocket's client offers; empty: none does. A browser
 * can set no header of a WebSocket, but it can name these. */
struct str auth_offered(const struct http_request *http, const char *prefix);
/* Whether the token of a request that waited was revoked meanwhile; then the answer says only that. */
bool auth_revoked(struct exchange *x);
/* Whether the token may start sessions in the folder: any folder with the right to change settings; an agent's token
 * only in its own, and never with an empty path. */
bool auth_gives_folder(struct exchange *x, struct str folder);

/* Answers; each ends the exchange. */
void exchange_answer(struct exchange *x, int status, const struct buf *body);
#define exchange_object(x, status, ...) exchange_item((x), (status), &J_OBJECT(NULL, __VA_ARGS__))
void exchange_item(struct exchange *x, int status, const struct json_item *item);
void exchange_fail(struct exchange *x, const struct err *err);
/* For functions that return nothing: what fails with words in their `err` is the answer, and they end. */
#define EXCHANGE_TRY(x, call) \
    do { \
        if (rc_bad(call)) { \
            exchange_fail((x), &err); \
            return; \
        } \
    } while (0)
void exchange_error(struct exchange *x, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* If the condition holds, answers with an error and returns: EXCHANGE_REFUSE(x, !name.n, ERR_INVALID, "…"). */
#define EXCHANGE_REFUSE(x, condition, ...) \
    do { \
        if (condition) { \
            exchange_error((x), __VA_ARGS__); \
            return; \
        } \
    } while (0)

/* The member "signature" of the body, for a decision; NULL when there is none. */
struct rc exchange_claim(struct exchange *x, const struct signature_claim **ret_claim, struct err *err);
/* Reads {"decision","feedback","mode",…} of the body. */
struct rc approvals_read_decision(struct exchange *x, struct decide *d, struct err *err);
/* The signature under this request; empty: none was sent, and none is needed. `needed`: it loosens what agents may do.
 * Asked before anything is done: the use of a signature is kept first, then the route's function is called again. */
struct rc exchange_check_signed(struct exchange *x, bool needed, struct str *ret_signature, struct err *err);
/* Checks that a passkey was made on our page, for the host name of that page. */
struct rc auth_check_passkey_page(const struct exchange *x, struct str origin, struct str host, struct err *err);
/* Answers a decision that is not the response (409, 202 when more persons must allow it, …); false: it is. */
bool exchange_undecided(struct exchange *x, const struct decide *decide);
/* 200 with what was decided. */
void exchange_decided(struct exchange *x, const struct decide *decide);
/* 200 with the time it took here in a Server-Timing header. */
void exchange_answer_timed(struct exchange *x, const struct buf *body, int64_t took_us);

/* Goes on when the marks of waiting calls are known, which a start reads behind it: whoever is shown such calls comes
 * through here, but for agents that read JSON-RPC only (mcp.c). */
void exchange_when_marked(struct exchange *x, void (*go)(struct exchange *x));
/* Looks for a session; `found` gets a struct session_look. */
void exchange_look(struct exchange *x, struct str id, void (*found)(struct op *op));
/* Finds the session (or the thread's) and goes on with it; answers 404 when there is none that this token may see. */
void exchange_with_session(struct exchange *x, struct str id,
                           void (*then)(struct exchange *x, const struct session *session));
void exchange_with_thread(struct exchange *x, struct str thread,
                          void (*then)(struct exchange *x, const struct session *session));
/* Makes an operation with the token's rights. A failure answers the exchange with the error; else `done` is called. */
struct op exchange_op(struct exchange *x, void (*done)(struct op *op));
/* Like exchange_op, for a struct decide: a failure also reports the winning answer. */
struct op exchange_decision(struct exchange *x, void (*done)(struct op *op));
/* The session that the query or the token names; empty: neither does, and the gate looks in all that it may see. */
struct rc exchange_name_session(struct exchange *x, struct str *ret_session, struct err *err);

struct agent_session {
    struct str name; /* name of the agent: "claude" */
    struct str id;   /* the agent's own session id */
    struct str cwd;
    bool must_exist; /* fail instead of creating the session */
};
/* Finds or makes the session; `then` gets NULL and why when it cannot. */
void exchange_with_agent(struct exchange *x, const struct agent_session *agent,
                         void (*then)(void *arg, const struct session *session, const struct err *err), void *arg);
/* The session that this token's agent knows by an id of its own. */
struct str sessions_id_of(struct exchange *x, struct str agent, struct str theirs);
/* A wrapper in front of an agent has asked rules about this call, and will ask a person next; see hooks.c. */
void hooks_wrapped(struct exchange *x, struct str session, struct str call);

/* Read query parameters; *ret is unchanged when the parameter is absent. */
struct rc api_query_text(struct exchange *x, const char *name, struct str *ret_value, struct err *err);
struct rc api_query_u64(struct exchange *x, const char *name, uint64_t max, uint64_t *ret_value, struct err *err);

/* The page's files are not in the route table: they are no part of the API. */
bool page_has(const struct http_request *http);
void page_answer(struct exchange *x);

/* Handles a request; `token` is given when the sender was identified before (on a WebSocket). */
void api_dispatch(struct api *api, struct http_request *http, const struct token *token);

#include "api/handlers.h"

#endif
