/* A call waits here until there is an answer.
 *
 * The gate judges a call, keeps it, lets it wait for a person, and rings whoever waits when the answer is durable. It
 * runs on the loop and waits for nobody: at most it looks at files, or has a small append committed ("Threads" in
 * docs/ARCHITECTURE.md). It learns of its own commits from the store, as of another process's. Its memory (sessions,
 * open approvals, deadlines, tokens) is a view of events that recover.c builds anew at every start.
 *
 * How to talk to it: fill in a struct, hand it over, get it back by its `done`, on the loop, once (gate_op.h). The
 * struct and its strings belong to the caller's arena and must live until then.
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
    const char *home;        /* the person's home folder, for rules that name paths */
    int64_t alert_seconds;   /* people are alerted again after an approval has been open for so long; 0: never */
    int64_t withdraw_seconds; /* an approval is withdrawn when its waiting client has been gone so long */
    const struct box_setting *box; /* the box in which Nod runs commands; NULL: none, they run without a box */
    bool web_private;        /* web pages on this machine and in private networks may be fetched */
    struct servers *servers; /* MCP servers whose tools may be used, too; NULL: none. Must outlive the gate */
    const char *managed;     /* the policy file that belongs to root; NULL: none */
    const char *archive_folder, *search_file; /* search_file: the full-text index; NULL: none */
    const char *protected;   /* Nod's own folder: no rule lets anyone write there */
    bool asks_reads;         /* commands that only read inside the session's folder are asked about, too */
    const char *socket;      /* Nod's own socket: no rule lets anyone talk to it; NULL: none */
    void (*broken)(void *arg, const struct err *err); /* the store's history has changed: only a new start helps */
    void *arg;
    enum signed_when signed_when;  /* which allows need a signature */
    struct tool_link *link;        /* the executor process that does tools; NULL: this process; must outlive it */
    int64_t recovery_seconds;      /* see gate_recovery_ms */
    /* The server's key, must outlive the gate. NULL: no proofs (http/proof.h), tokens of agents have random secrets. */
    const struct sign_key *key;
};

struct rc gate_open(struct loop *loop, const struct gate_options *options, struct gate **ret_gate, struct err *err);
/* Reads tokens and open approvals from the store, then calls `ready` on the loop; err.code is ERR_OK on success. */
void gate_recover(struct gate *gate, void (*ready)(void *arg, const struct err *err), void *arg);
void gate_close(struct gate *gate);
/* A port on which Nod itself listens: commands that would connect to it are asked about. */
void gate_add_port(struct gate *gate, int port);

/* ---- sessions ---- */
struct session_look {
    struct op op;
    struct str id;
    const struct session *session; /* NULL: no such session; valid only during the call of `done` */
};
void gate_session(struct gate *gate, struct session_look *look);

struct session_change {
    union {
        struct op op;
        struct kept_event kept; /* private to the gate */
    };
    struct str id;       /* empty: create a session; the gate fills in its id */
    struct str new_id;   /* id for the new session, empty: the gate makes one; ERR_CONFLICT when it is taken */
    const struct data_session_created *created; /* of a new session, read during the call; `thread` is ignored */
    struct str data;     /* for an existing session: the SESSION_CHANGED data (event/shapes_session.h) */
    struct str thread;   /* the thread that the change concerns; may be empty */
    struct str actor;
};
void gate_change_session(struct gate *gate, struct session_change *change);

/* ---- calls ---- */
struct rule_use {
    struct str id;
    bool of_session;     /* a rule of the session; otherwise one of the user's layer */
};
struct ask {
    struct op op;
    struct str session, thread, id, name, cwd;
    const struct json *input; /* an object; its raw bytes are kept */
    struct str dialect;       /* the agent whose tool names are used here; empty: not known */
    struct str actor, by;     /* name and id of the token; `by` is empty when Nod itself asks */
    struct str callback;      /* the address that the answer is posted to (notify/); empty: none */
    struct str preview, files; /* what the call would change, when the caller ran gate_look; otherwise empty */
    int64_t wait_ms;     /* hold the answer up to this long for a person */
    enum by_default by_default;
    bool only_rules;     /* when the rules would ask a person: store nothing, return an unknown status */
    unsigned hints;      /* enum tool_hint bits of a proxied MCP tool, from its pinned definition */
    bool only_person;    /* ask a person even when the rules would allow the call */
    bool withdraws;      /* withdraw the question when the client disconnects and does not come back */
    struct call *call;   /* the answer; NULL: the gate makes one in op.arena */
    void (*waits)(struct ask *ask); /* called when the wait begins: free large memory; may be NULL */
    bool reread, brief;  /* `waits` let go of call or its input: found again after the wait; brief: only if answered */
    /* private to the gate */
    const struct verdict *verdict; /* valid for one step, like the session */
    bool left_to_agent;  /* no rule matches, and the agent asks its user itself */
    struct rule_use *uses; /* rules with limited uses on which the verdict rests */
    unsigned use_count;
    struct str shown, in_file, box; /* stored with the request: verdicts on parts; what its file showed; its box */
    struct str look_root; /* where a file is looked for before the request is stored (look.c); empty: no look */
    const struct err *refused; /* why a new call is refused; ignored when the call exists already */
    struct ask *next_waiter;
    struct due_place wait; /* when the wait ends, by the steady clock, us */
    bool registered, parked, answered;
    bool looked, hung_up, released; /* hung_up: the client left before the wait; released: the process stops */
};
/* Judges and stores a call, and waits for a person if needed. Same id again: the same call, or ERR_CALL_DIFFERS. */
void gate_ask(struct gate *gate, struct ask *ask);
/* The state of call `id` in `session`, after up to wait_ms; ERR_NOT_FOUND when there is none. An empty session is
 * filled in: the one that the viewer may see and that has such a call; ERR_AMBIGUOUS when several have. */
void gate_status(struct gate *gate, struct ask *ask);
/* Ends all waits, each with the call as it is now, and accepts no new ones: the process is stopping. */
void gate_release(struct gate *gate);
/* The client disconnected. True: the ask was only waiting and is dropped without `done`; false: `done` follows. */
bool gate_forget(struct ask *ask);
/* Whether any other client waits for the call of this ask, after the ask itself was returned or dropped. */
bool gate_awaited(const struct ask *ask);

enum decide_reach { DECIDE_PROJECT, DECIDE_SESSION, DECIDE_EVERYWHERE };
struct decide {
    struct op op;
    struct str session, call_id; /* an empty session is looked up as in gate_status */
    struct str thread;          /* if given, must be the call's thread */
    struct err refused; /* the caller's refusal, returned only if the viewer may see the session; ERR_OK: none */
    bool whole;                 /* return the whole call in `call`, not only its answer */
    enum decision decision;
    struct str feedback, mode, digest;
    const struct json *updated_input; /* NULL: as asked */
    struct str rules;           /* JSON array; empty: none */
    enum decide_reach reach;    /* allow_always: where the rules hold */
    int64_t rules_end_ms, rules_uses; /* when the rules end, for how many calls they are good; 0: no end */
    struct str *user_rules;     /* private: user rules stored with the decision, as JSON */
    unsigned user_rule_count;
    struct str session_rules;   /* private: or rules stored in the session, a JSON array */
    bool rules_chosen;          /* private: the gate chose the rules, the caller named none */
    unsigned looks;             /* private: how often the call was read */
    uint64_t checked_seq;       /* private: last delivered seq when tokens, keys and rules were last checked */
    struct str actor, by;       /* name and id of the token */
    const struct signature_claim *claim; /* signature by a person's key; NULL: none was sent */
    struct str signature;       /* private: the verified claim, in its stored form */
    uint32_t counter;           /* private: signature counter of the authenticator; 0: it has none */
    struct str person;          /* private: owner of the signing key; without a signature, the actor */
    unsigned have, need;        /* with ERR_MORE_PEOPLE: how many persons have allowed it so far, and how many must */
    struct call call;           /* on ERR_ALREADY_DECIDED: the winner; else after the decision */
};
void gate_decide(struct gate *gate, struct decide *decide);
/* The statement that `key` must sign for this decision; decides nothing. */
struct rc gate_decision_statement(struct gate *gate, const struct decide *decide, struct str key,
                                  struct statement *ret_statement, struct err *err);

#include "gate/gate_figures.h"
#include "gate/gate_archive.h"
#include "gate/gate_catch_up.h"
#include "gate/gate_notes.h"
#include "gate/gate_read.h"
#include "gate/gate_rules.h"
#include "gate/gate_tokens.h"
#include "gate/gate_waiting.h"
#include "gate/gate_watch.h"

#endif
