/* Internals of gate/; include it there only.
 *
 * gate/core decides and touches nothing outside; the files of gate/ around it do what a step asks for: read, append,
 * arm a timer, give an operation back (op_end; ops_serve calls its `done` later). */
#ifndef GATE_INNER_H
#define GATE_INNER_H

#include "base/id.h"
#include "base/limits.h"
#include "base/map.h"
#include "gate/core/core.h"
#include "gate/gate.h"
#include "gate/marks.h"
#include "gate/quota.h"
#include "gate/rules.h"
#include "io/loop.h"
#include "policy/policy.h"
#include "store/store.h"

/* One timer per clock, armed before the loop sleeps (deadlines.c). */
struct deadlines {
    struct timer *timer, *waits;
    int64_t armed_ms, waits_armed_us; /* times for which `timer` and `waits` are set; 0: not set */
    int64_t not_before_us;            /* after a store error: when to try again */
};

/* An entry of the cache of sessions. */
struct session_slot {
    struct session *session;    /* NULL while it is read */
    struct op *looks;           /* operations that wait until it is read */
    struct session_rules rules;
    bool stale;                 /* the session changed during the read: it is read again */
    bool used;                  /* since the last eviction sweep */
};

/* The driver around the core: everything here is touched on the loop only, but for the workers' jobs. */
struct gate {
    struct loop *loop;
    struct store *store;
    struct op *ended, **ended_end; /* operations to be given back, in order (op.c) */
    struct before_sleep before_sleep;
    struct gate_options options; /* as gate_open was given them */
    struct str home; /* the person's, for rules that name paths */
    struct map sessions;  /* id → struct session_slot */
    struct timer *sessions_rest; /* evicts sessions that nobody has used for a while */
    struct core core; /* the part that decides (gate/core) */
    struct deadlines deadlines;
    struct quotas quotas; /* what each token and session has waiting */
    struct arena token_arena; /* of all tokens, revoked ones too: they are never freed */
    struct map tokens_by_hash; /* digest of the secret → struct token */
    struct key_ring keys; /* of people */
    struct token *tokens;
    struct map watchers;  /* session → struct watcher, a list */
    struct watcher *watchers_of_all; /* of those who watch every session */
    uint64_t watcher_count;
    bool store_away; /* watchers were told that no event can come */
    struct op *catching, *catching_next; /* served by the read under way, and by the one after it */
    struct event last_call; /* the last TOOL_CALL of a delivered batch: its request comes with the next batch */
    struct arena last_call_arena;
    /* The seq up to which each view was read at the start; events after it are followed. UINT64_MAX: not read yet, and
     * events delivered meanwhile will be in the answer. */
    uint64_t read_tokens, read_rules, read_open, read_partials;
    struct marks_reading *marks; /* marks from before the start are still being read (marks.c); NULL: all are known */
    struct rules rules;
    struct gate_figures figures;
    struct shells *shells;   /* commands in the background */
    bool searching;          /* the search index has a user (search.c) */
    struct archivist *archivist; /* the archiving that is under way, or NULL */
    struct work_pool *workers; /* threads in which tools are done */
};

/* The follow functions: each takes the events that concern it, in this order, before any append is answered. */
void sessions_follow(struct gate *gate, const struct event *event);
/* `call` is the TOOL_CALL event directly before an approval request, or NULL. Of a request, the call that waits now. */
const struct open *open_follow(struct gate *gate, const struct event *event, const struct event *call);
void tokens_follow(struct gate *gate, const struct event *event);
void watch_follow(struct gate *gate, const struct event *events, size_t count);
void watch_away(struct gate *gate, bool away);
void watch_broken(struct gate *gate, const struct err *err);
void journal_follow(struct gate *gate, const struct event *event);
/* Once the call is open: its tool is known then. NULL: it is not. */
void journal_requested(struct gate *gate, const struct event *event, const struct open *open);

/* Takes steps until the operation waits for something, or is over. */
void op_go(struct op *op);
/* Called when the session that the operation asked for has been read; NULL: there is no such session. */
void op_give_session(struct op *op, const struct session *session, const struct err *err);
/* Steps the operations whose answer has arrived or whose wait has ended. */
void ops_wake(struct gate *gate);
struct now gate_now(void);
void op_execute(struct gate *gate, struct execute *execute);
/* Keeps `event`; its owner gets it back by `done`. */
void op_keep(struct gate *gate, struct kept_event *kept, struct event event);
/* Ends the operation: `done` is called before the loop sleeps. op->gate must be set. */
void op_end(struct op *op);
void ops_init(struct gate *gate);
/* Calls `done` of operations that have ended, also of those that end meanwhile, for a few rounds; true when some are
 * left. */
bool ops_serve(struct gate *gate);

/* Finds a cached session (NULL: there is none of this id). False: it is being read, and op_give_session follows. */
bool sessions_have(struct gate *gate, struct str id, struct op *op, const struct session **ret_session);
/* Fills in the session of a look before its `done`; false when it was evicted and must be read again. */
bool sessions_lend(struct gate *gate, struct session_look *look);
void sessions_init(struct gate *gate);
void sessions_done(struct gate *gate);

/* The part of a large call that a list shows, as JSON members (pending.c). */
struct str pending_brief(struct arena *arena, const struct open_approval *open);

/* The members of a call as it was shown when it was asked, whole; without a request, as it would have been. */
bool pending_put_kept(struct json_out *out, struct arena *arena, const struct open_approval *open,
                      enum pending_form form);
/* The preview of the call with this input, made from the input alone. */
struct str pending_preview(struct arena *arena, const struct call *call, struct str input);

/* Open approvals and their deadlines. */
struct open *open_find(const struct gate *gate, struct str session, struct str call);
void open_done(struct gate *gate);
void deadlines_init(struct gate *gate);
/* Sets the timers for the next deadlines; called before the loop sleeps. */
void deadlines_arm(struct gate *gate);
void deadlines_done(struct gate *gate);
/* Answers an open call in the name of Nod. */
void deadlines_end(struct gate *gate, const struct open *open, enum decision decision, struct str feedback);

/* Counts and limits waiting calls. Each quota_take is undone by a quota_give of its share with the same values. */
struct quota_share quota_take(struct gate *gate, struct str actor, struct str session, uint64_t bytes);
void quota_give(struct gate *gate, struct quota_share share, struct str session, uint64_t bytes);
/* Whether one more call of this size may be asked; counts as an ask when it may. */
struct rc quota_check(struct gate *gate, struct str actor, struct str session, uint64_t bytes, struct err *err);
void quota_denied(struct gate *gate, struct str actor);
void quota_done(struct gate *gate);

/* Fill in what rules say of an ask, or of a decision (judge.c). */
void judge_ask(struct op *op, struct arena *scratch);
/* Whether the file that the call would change is looked at before a person is asked; then look_work does it. */
bool look_wants(const struct gate *gate, const struct session *session, const struct ask *ask,
                const struct tool_facts *facts);
void look_work(struct op *op, unsigned work);
void judge_decide(struct op *op, struct arena *scratch);
void judge_check_decide(struct op *op);
/* Reserves the uses of counted rules that an append will take; releases them when the append was not stored. */
void judge_reserve(struct gate *gate, const struct append *append);
void judge_release(struct gate *gate, const struct append *append);

/* Judges the redirects of a page that is fetched (hops.c). */
struct hops {
    struct gate *gate;
    struct str session, cwd;
    bool by_policy;      /* the use was allowed by rules, not by a person */
};
/* Whether Nod's own search tools must skip this file: it is protected, or its name says that it holds a secret. */
bool gate_hides(const struct gate *gate, struct str path);
struct tool_use;
bool hops_may_follow(const struct tool_use *use, struct str url, bool same_place);

/* Definitions of MCP servers' tools, and trust in files that name servers (definitions.c). */
void definitions_trusted(struct gate *gate, struct str path, struct str hash);
void definitions_pinned(struct gate *gate, struct arena *scratch, struct str pinned);
void tokens_done(struct gate *gate);
/* Checks the signature of a decision: the one that was sent is valid, or none is required. */
struct rc signed_check(struct gate *gate, struct decide *d, const struct open *open, struct err *err);
/* The owner of the signing key; for an unsigned decision, the owner of the token. */
struct str signed_person(const struct gate *gate, const struct decide *d);
/* Whether the token of this id was revoked; whether it is bound to one session. */
bool tokens_revoked(const struct gate *gate, struct str id);
bool tokens_bound(const struct gate *gate, struct str id);
/* The need that tokens and rules have not changed since an append was authorized and judged by them. */
struct need tokens_installation_unchanged(const struct gate *gate);
void execute_init(struct gate *gate);
void execute_done(struct gate *gate);
/* A job for the threads that work on files. */
void execute_hand_over(struct gate *gate, struct job *job);
void archive_stop(struct gate *gate);

/* The rules of a cached session, and their place in the cache. Every session that was lent is cached. */
const struct rule_set *sessions_rules(struct gate *gate, const struct session *session);
struct session_rules *sessions_rules_slot(struct gate *gate, const struct session *session);

/* The verdict of rules, mode and defaults on a call of this session (verdict.c). */
struct verdict gate_judge(struct gate *gate, struct arena *arena, const struct session *session,
                          const struct tool_facts *facts, struct str cwd);
struct question gate_question(struct gate *gate, struct arena *arena, const struct session *session,
                              const struct tool_facts *facts, struct str cwd);

#endif
