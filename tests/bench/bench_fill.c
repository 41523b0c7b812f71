/* A store with a long history, made at once: what `nod-bench fill` makes.
 *
 * The events are those the gate would have kept, session by session and call by call, with whole chains
 * (`nod verify` finds nothing), handed to the store in large groups. Most calls were answered and run; the
 * open ones are spread evenly over the whole history. Nothing here is random: two stores of the same plan
 * differ only in their times.
 */
#include "bench/bench.h"

#include "base/digest.h"
#include "base/json.h"
#include "event/call.h"
#include "io/clock.h"
#include "io/loop.h"
#include "store/store.h"

#include <stdio.h>

enum {
    UNDER_WAY_MAX = 2048,      /* appends handed over and not yet kept */
    EVENTS_PER_SESSION = 1000,
    EVENTS_OF_ANSWERED = 5,    /* call, request, response, start, result */
    EVENTS_OF_OPEN = 2,
    STEP_MS = 500,             /* from one event to the next */
};

#define CWD "/srv/app"

struct filling {
    const struct fill_plan *plan;
    struct loop *loop;
    struct store *store;
    uint64_t sessions, answered, open, allowed; /* how many there are to be */
    uint64_t next;       /* act: first the sessions, then the calls */
    uint64_t acts;
    uint64_t open_made;
    unsigned under_way;
    int64_t at_ms;
    struct err err;
};

/* ---- what an event says ---- */

struct moment {
    struct append *append;
    struct str session, thread, call, input;
    int64_t at_ms;
};

static void put_event(struct moment *moment, enum event_kind kind, const char *actor, struct str data)
{
    (void)append_event(moment->append, (struct event){
        .kind = kind,
        .at_ms = moment->at_ms,
        .session = moment->session,
        .thread = moment->thread,
        .call = event_kind_of_call(kind) ? moment->call : STR_NONE,
        .actor = str_of(actor),
        .data = data,
    });
    moment->at_ms += STEP_MS;
}

static void put_call(struct moment *moment, const char *verdict)
{
    put_event(moment, EVENT_TOOL_CALL, "bench agent",
              arena_printf(&moment->append->arena,
                           "{\"id\":\"%.*s\",\"name\":\"Bash\",\"input\":%.*s,\"cwd\":\"" CWD "\","
                           "\"verdict\":%s}", STR_ARG(moment->call), STR_ARG(moment->input), verdict));
}

static void put_request(struct moment *moment)
{
    char hex[DIGEST_HEX_BYTES];
    const struct str pieces[] = {moment->session, moment->call, STR("Bash"), moment->input, STR(CWD)};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
    put_event(moment, EVENT_TOOL_APPROVAL_REQUEST, "bench agent",
              arena_printf(&moment->append->arena,
                           "{\"toolCallId\":\"%.*s\",\"tool\":\"Bash\",\"reason\":{\"source\":\"default\","
                           "\"why\":\"this tool is asked about\"},\"digest\":\"%s\"}",
                           STR_ARG(moment->call), hex));
}

static void put_answer(struct moment *moment)
{
    struct arena *arena = &moment->append->arena;
    struct str id = moment->call;
    put_event(moment, EVENT_TOOL_APPROVAL_RESPONSE, "bench person",
              arena_printf(arena, "{\"toolCallId\":\"%.*s\",\"decision\":\"%s\",\"by\":\"tok_bench\"}",
                           STR_ARG(id), decision_name(DECISION_ALLOW_ONCE)));
    put_event(moment, EVENT_TOOL_STARTED, "bench agent",
              arena_printf(arena, "{\"toolCallId\":\"%.*s\"}", STR_ARG(id)));
    put_event(moment, EVENT_TOOL_RESULT, "bench agent",
              arena_printf(arena, "{\"toolCallId\":\"%.*s\",\"content\":\"ok: 42 tests passed in 1.27 s, "
                           "none failed, none skipped\",\"isError\":false}", STR_ARG(id)));
}

static void put_session(struct moment *moment, uint64_t number)
{
    put_event(moment, EVENT_SESSION_CHANGED, "bench agent",
              arena_printf(&moment->append->arena,
                           "{\"change\":\"created\",\"threadId\":\"%.*s\",\"title\":\"bench %llu\","
                           "\"cwd\":\"" CWD "\",\"permissionMode\":\"default\",\"owner\":\"tok_bench\"}",
                           STR_ARG(moment->thread), (unsigned long long)number));
}

/* ---- one act after the other ---- */

static struct moment begin(struct filling *filling, struct append *append, uint64_t session, uint64_t call)
{
    struct arena *arena = &append->arena;
    struct moment moment = {.append = append, .at_ms = filling->at_ms};
    moment.session = arena_printf(arena, "ses_bench%017llu", (unsigned long long)session);
    moment.thread = arena_printf(arena, "%.*s.main", STR_ARG(moment.session));
    moment.call = arena_printf(arena, "toolu_bench%013llu", (unsigned long long)call);
    moment.input = arena_printf(arena,
                                "{\"command\":\"make -C services/api test SHARD=%llu ARGS=\\\"--quiet\\\" && "
                                "git diff --stat\",\"description\":\"Run the tests of one service\","
                                "\"timeout\":120000}", (unsigned long long)call);
    return moment;
}

/* Whether call number `call` is to stay open: evenly, first and last part of history alike. */
static bool stays_open(const struct filling *filling, uint64_t call, uint64_t calls)
{
    return filling->open_made < filling->open && call * filling->open >= filling->open_made * calls;
}

static void act(struct filling *filling, struct append *append)
{
    uint64_t number = filling->next++;
    if (number < filling->sessions) {
        struct moment moment = begin(filling, append, number, 0);
        put_session(&moment, number);
        filling->at_ms = moment.at_ms;
        return;
    }
    uint64_t call = number - filling->sessions;
    uint64_t calls = filling->acts - filling->sessions;
    struct moment moment = begin(filling, append, call % filling->sessions, call);
    if (call >= calls - filling->allowed) {
        put_call(&moment, "{\"effect\":\"allow\",\"source\":\"default\",\"why\":\"a safe tool\"}");
    } else {
        put_call(&moment, "{\"effect\":\"ask\",\"source\":\"default\",\"why\":\"this tool is asked about\"}");
        put_request(&moment);
        if (stays_open(filling, call, calls - filling->allowed))
            filling->open_made++;
        else
            put_answer(&moment);
    }
    filling->at_ms = moment.at_ms;
}

static void hand_over(struct filling *filling);

static void kept(struct append *append)
{
    struct filling *filling = append->arg;
    if (append->outcome != APPEND_KEPT && filling->err.code == ERR_OK)
        filling->err = append->err;
    append_free(append);
    filling->under_way--;
    /* In batches: the writer gets whole groups, and is not woken for each. */
    if (filling->under_way <= UNDER_WAY_MAX / 2)
        hand_over(filling);
    if (filling->under_way == 0)
        loop_stop(filling->loop);
}

static void hand_over(struct filling *filling)
{
    bool well = filling->err.code == ERR_OK;
    while (well && filling->under_way < UNDER_WAY_MAX && filling->next < filling->acts) {
        struct append *append = append_new();
        act(filling, append);
        append->done = kept;
        append->arg = filling;
        filling->under_way++;
        store_append(filling->store, append);
    }
}

/* ---- the plan ---- */

static struct rc divide(struct filling *filling, struct err *err)
{
    uint64_t events = filling->plan->events;
    filling->sessions = events / EVENTS_PER_SESSION ? events / EVENTS_PER_SESSION : 1;
    filling->open = filling->plan->open;
    uint64_t fixed = filling->sessions + filling->open * EVENTS_OF_OPEN;
    if (events < fixed + EVENTS_OF_ANSWERED)
        return err_set(err, ERR_INVALID, "%llu events are too few for %llu open calls",
                       (unsigned long long)events, (unsigned long long)filling->open);
    filling->answered = (events - fixed) / EVENTS_OF_ANSWERED;
    filling->allowed = (events - fixed) % EVENTS_OF_ANSWERED;
    filling->acts = filling->sessions + filling->answered + filling->open + filling->allowed;
    filling->at_ms = clock_wall_ms() - (int64_t)events * STEP_MS;
    return RC_OK;
}

static struct rc fill(struct filling *filling, struct err *err)
{
    if (store_last_seq(filling->store) > 0)
        return err_set(err, ERR_CONFLICT, "there are events in this store already: fill makes a new one");
    hand_over(filling);
    loop_run(filling->loop);
    if (filling->err.code == ERR_OK)
        CHECK(store_last_seq(filling->store) == filling->plan->events);
    if (err)
        *err = filling->err;
    return (struct rc){filling->err.code};
}

struct rc fill_store(const struct fill_plan *plan, struct err *err)
{
    struct filling filling = {.plan = plan, .err.code = ERR_OK};
    TRY(divide(&filling, err));
    TRY(loop_new(&filling.loop, err));
    struct store_options options = {.url = plan->url, .readers = 1};
    struct rc rc = store_open(filling.loop, &options, &filling.store, err);
    if (rc_ok(rc)) {
        rc = fill(&filling, err);
        store_close(filling.store);
    }
    loop_free(filling.loop);
    return rc;
}
