/* A call waits here until there is an answer.
 *
 * The gate judges a call, keeps it, lets it wait for a person, and rings whoever waits when the answer is
 * durable. It runs on the loop and never blocks; everything it knows it has from the store: it learns of
 * its own commits the same way as of another process's. What it holds in memory (sessions, open approvals,
 * deadlines, tokens) is a view of events that recover.c builds anew at every start.
 *
 * How to talk to it: fill in a struct, hand it over, get it back by its `done`, on the loop, exactly once.
 * The struct and its strings belong to the caller's arena and must live until then.
 */
#ifndef GATE_GATE_H
#define GATE_GATE_H

#include "base/shared.h"
#include "event/call.h"
#include "event/read.h"
#include "event/session.h"
#include "event/token.h"
#include "gate/gate_by_default.h"
#include "gate/execute.h"
#include "gate/gate_keys.h"
#include "gate/gate_limits.h"
#include "gate/gate_op.h"
#include "policy/policy.h"

struct data_session_created;
struct gate;
struct loop;
struct servers;
struct gate_options {
    struct gate_limits limits;
    const char *store_url;
    const char *home;        /* of the person, for rules that name paths */
    int64_t timeout_seconds; /* of approvals in sessions that do not say; 0: never */
    int64_t alert_seconds;   /* after which an open one is told of once more; 0: never */
    int64_t withdraw_seconds; /* after which one is withdrawn whose asker said that it waits, and has gone */
    const struct box_setting *box; /* commands that Nod runs itself run in one; NULL: as they are */
    bool web_private;        /* pages of this machine and the networks around it may be fetched */
    struct servers *servers; /* MCP servers whose tools may be used, too; NULL: none. Must outlive the gate */
    const char *managed;     /* the policy file that belongs to root; NULL: none */
    const char *archive_folder;
    const char *protected;   /* Nod's own folder: no rule lets anyone write there */
    bool asks_reads;         /* commands that only read inside the session's folder are asked about, too */
    const char *socket;      /* Nod's own socket: no rule lets anyone talk to it; NULL: none */
    void (*broken)(void *arg, const struct err *err); /* the store's history has changed: only a new start helps */
    void *arg;
    enum signed_when signed_when;  /* which allows need a signature */
    const struct sign_key *key; /* the server's, must outlive the gate; NULL: no token can be proven unsent */
};

struct rc gate_open(struct loop *loop, const struct gate_options *options, struct gate **ret_gate,
                    struct err *err);
/* Reads tokens and open approvals; then `ready` (err.code is ERR_OK) on the loop. */
void gate_recover(struct gate *gate, void (*ready)(void *arg, const struct err *err), void *arg);
void gate_close(struct gate *gate);
/* Where Nod itself listens: commands that would talk to it are asked about. */
void gate_set_port(struct gate *gate, int port);

/* ---- sessions ---- */
struct session_look {
    struct op op;
    struct str id;
    const struct session *session; /* NULL: there is none; lent to `done` for the time of its call */
};
void gate_session(struct gate *gate, struct session_look *look);

struct session_change {
    union {
        struct op op;
        struct kept_event kept; /* the gate's */
    };
    struct str id;       /* empty: a new one, its id is filled in */
    struct str new_id;   /* of a new one that is to have this id; ERR_CONFLICT when there is one already */
    const struct data_session_created *created; /* of a new one, read at once; its thread is the gate's choice */
    struct str data;     /* of the SESSION_CHANGED event otherwise (event/shapes_session.h) */
    struct str thread;   /* that the change is about; may be empty */
    struct str actor;
};
void gate_change_session(struct gate *gate, struct session_change *change);

/* ---- calls ---- */
struct rule_use {
    struct str id;
    bool of_session;     /* else of the user's layer */
};
struct ask {
    struct op op;
    struct str session, thread, id, name, cwd;
    const struct json *input; /* an object; its raw bytes are kept */
    struct str dialect;       /* the agent whose names for tools these are; empty: nobody said */
    struct str actor, by;     /* the name and the id of the token; `by` is empty when Nod asks itself */
    struct str callback;      /* the address that the answer is posted to (notify/); empty: none */
    struct str preview, files; /* of what it would change, when whoever asks has looked (gate_look) */
    int64_t wait_ms;     /* hold the answer up to this long for a person */
    enum by_default by_default;
    bool only_rules;     /* where they would ask a person, nothing is kept and the status is unknown */
    unsigned hints;      /* of a proxied MCP tool, by its pinned definition: enum tool_hint */
    bool only_person;    /* what rules would allow is asked all the same */
    bool withdraws;      /* the question is withdrawn when whoever asked hangs up and stays away */
    struct call call;    /* the answer */
    void (*waits)(struct ask *ask); /* it begins to wait: let go of what is large; may be NULL */
    bool reread, brief;  /* `waits` has let go of the input: it is read after the wait; when there is an answer only */
    /* the gate's */
    const struct verdict *verdict; /* lent for one step, as the session is */
    bool left_to_agent;  /* no rule has an opinion, and the agent asks by itself */
    struct rule_use *uses; /* rules whose uses are counted, and that the verdict rests on */
    unsigned use_count;
    struct str shown;    /* what the rules say of its parts, kept with the request */
    struct err refused;  /* why it may not be asked, unless it exists already */
    struct ask *next_waiter;
    struct due_place wait; /* until when, by the steady clock, us */
    bool registered, parked, answered;
    bool hung_up;        /* whoever asked has left before it began to wait */
    bool released;       /* given back because the process ends, not because the time is over */
};
/* The gate itself: judge, keep, wait. Same id again is the same call; with another input ERR_CALL_DIFFERS. */
void gate_ask(struct gate *gate, struct ask *ask);
/* The state of call `id` in `session`, after up to wait_ms; ERR_NOT_FOUND when there is none. An empty session is
 * filled in: the one that the viewer may see and that has such a call; ERR_AMBIGUOUS when several have. */
void gate_status(struct gate *gate, struct ask *ask);
/* Gives back whoever waits, with the call as it is, and lets nobody wait from now on: the process ends. */
void gate_release(struct gate *gate);
/* The client has left: true when the ask only waited and is forgotten (no `done`); else `done` follows. */
bool gate_forget(struct ask *ask);
/* Whether somebody waits for the call of this ask, which itself was given back or forgotten. */
bool gate_awaited(const struct ask *ask);

enum decide_reach { DECIDE_PROJECT, DECIDE_SESSION, DECIDE_EVERYWHERE };
struct decide {
    struct op op;
    struct str session, call_id; /* an empty session is found as for gate_status */
    struct str thread;          /* when the caller names one: it must be the call's */
    struct err refused;         /* why it is refused to whoever may see the session; code ERR_OK: it is not */
    bool whole;                 /* `call` is to be all of the call, not only the answer */
    enum decision decision;
    struct str feedback, mode, digest;
    const struct json *updated_input; /* NULL: as asked */
    struct str rules;           /* JSON array; empty: none */
    enum decide_reach reach;    /* allow_always: where the rules hold */
    struct str *user_rules;     /* the gate's: rules to be kept with it, as JSON, */
    unsigned user_rule_count;
    struct str session_rules;   /* or those of the session, an array */
    bool rules_chosen;          /* the gate's: it named the rules itself */
    unsigned looks;             /* the gate's: how often it was looked for */
    uint64_t checked_seq;       /* the gate's: what was told when tokens, keys and rules were last looked at */
    struct str actor, by;       /* the name and the id of the token */
    const struct signature_claim *claim; /* by a person's key; NULL: none was sent */
    struct str signature;       /* the gate's: that claim, checked, as it is kept */
    uint32_t counter;           /* the gate's: of the authenticator that signed; 0: it does not count */
    struct str person;          /* the gate's: whose key it is; unsigned: the actor */
    unsigned have, need;        /* ERR_MORE_PEOPLE: it is kept, and so many persons have allowed it, must allow it */
    struct call call;           /* on ERR_ALREADY_DECIDED: the winner; else after the decision */
};
void gate_decide(struct gate *gate, struct decide *decide);
/* The statement that `key` must sign for this decision; decides nothing. */
struct rc gate_decision_statement(struct gate *gate, const struct decide *decide, struct str key,
                                  struct statement *ret_statement, struct err *err);

/* ---- watching ---- */
/* An event on its way to many: forms of it are made once and shared. */
enum { HAPPENING_FORMS = 4 };
struct happening {
    const struct event *event;
    struct shared *forms[HAPPENING_FORMS];
};

/* A follower of everything in its scope after `after`, each event exactly once and in order. The page read
 * while it catches up is told at once; the next is read when gate_watch_more is called. */
struct watcher {
    struct str session, thread; /* empty: all; the strings must live as long as the watcher */
    uint64_t kinds;             /* bit 1 << kind; 0: all */
    uint64_t after;             /* moves on */
    void (*tell)(struct watcher *watcher, struct happening *happening);
    void (*hear)(struct watcher *watcher, struct str json); /* of gate_say; may be NULL */
    void (*away)(struct watcher *watcher, bool away); /* the store cannot be reached, or can
                                                         again; must not unwatch; may be NULL */
    void (*broken)(struct watcher *watcher, const struct err *err); /* what it was told holds no more; may be NULL */
    bool (*lags)(const struct watcher *watcher); /* it is not told more now, and catches up later; may be NULL */
    void (*caught_up)(struct watcher *watcher); /* a page has been told, or `failed`: ask for more */
    void *arg;
    /* the gate's */
    struct gate *gate;
    struct watcher *next, *prev;
    struct read *reading;
    bool live, stopped, failed;
};
void gate_watch(struct gate *gate, struct watcher *watcher);
void gate_watch_more(struct watcher *watcher);
void gate_unwatch(struct watcher *watcher);
#include "gate/gate_figures.h"
#include "gate/gate_archive.h"
#include "gate/gate_catch_up.h"
#include "gate/gate_notes.h"
#include "gate/gate_read.h"
#include "gate/gate_rules.h"
#include "gate/gate_tokens.h"
#include "gate/gate_waiting.h"

#endif
