/* nod pending, nod show. */
#include "agents/questions.h"
#include "base/lock.h"
#include "base/stamp.h"
#include "cli/follow.h"
#include "cli/view.h"
#include "io/clock.h"

#include <pthread.h>
#include <stdio.h>

static struct str age_of(struct arena *arena, const struct json *call)
{
    int64_t at_ms;
    if (!stamp_parse(json_text(call, "requestedAt"), &at_ms))
        return STR("");
    return text_age(arena, clock_wall_ms() - at_ms);
}

/* Titles are a courtesy: without them the list is still right. */
static const struct json *titles(struct cli *cli, struct arena *arena)
{
    struct query query = {.method = "GET", .target = STR("/api/sessions")};
    struct reply reply;
    return rc_ok(remote_ask(cli, arena, &query, &reply, NULL)) ? reply.json : NULL;
}

/* The facts that people need before they answer stand before the summary: that nobody waits, the assignee, who has
 * allowed it. */
static void list(struct buf *buf, struct cli *cli, struct arena *arena, const struct json *calls,
                 const struct json *sessions)
{
    CHECK(calls->type == JSON_ARRAY);
    struct table table = {.arena = arena, .columns = 5, .width = cli->width, .color = cli->color};
    table_row(&table, (struct str[]){STR("CALL"), STR("AGE"), STR("SESSION"), STR("TOOL"), STR("WHAT")});
    for (const struct json *call = calls->first; call; call = call->next) {
        const struct json *tool = json_get(call, "toolCall");
        struct str session = json_text(call, "sessionId");
        struct str title = view_title(arena, sessions, session), people = view_people(arena, call);
        struct str state = view_state(arena, call);
        struct str what = json_bool(call, "nobodyWaits", false)
                              ? arena_printf(arena, "(nobody waits) %.*s", STR_ARG(view_warned(arena, call)))
                              : view_warned(arena, call);
        if (state.n)
            what = arena_printf(arena, "(%.*s) %.*s", STR_ARG(state), STR_ARG(what));
        if (people.n)
            what = arena_printf(arena, "(%.*s) %.*s", STR_ARG(people), STR_ARG(what));
        table_row(&table,
                  (struct str[]){text_line(arena, json_text(call, "toolCallId")), age_of(arena, call),
                                 text_fit(arena, str_empty(title) ? text_line(arena, session) : title, 24),
                                 text_fit(arena, text_line(arena, json_text(tool, "name")), 24),
                                 what});
    }
    table_write(buf, &table);
}

/* Says that more calls wait than are listed, and how to see them. */
static void say_more(struct buf *buf, const struct json *page)
{
    int64_t total = 0;
    if (json_get(page, "next") && json_i64(json_get(page, "total"), &total))
        buf_printf(buf, "%lld calls wait; these are %u of them, each agent's oldest (--session: of one session)\n",
                   (long long)total, json_get(page, "pendingApprovals")->count);
}

static const char *what_to_do(struct arena *arena, const struct json *call)
{
    const struct json *tool = json_get(call, "toolCall");
    struct questions questions;
    if (questions_read(arena, json_text(tool, "name"), json_get(tool, "input"), &questions))
        return "nod answer, or nod deny -m WORDS";
    return "nod approve, or nod deny -m WORDS";
}

/* Prints the list, or the only waiting call in full, or that none waits. `ret_wake_ms`: when the list is another one
 * without an event; see view_wake_ms. */
static struct rc pending_print(struct cli *cli, int64_t *ret_wake_ms, struct err *err)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct reply reply;
    TRY(view_pending(cli, &arena, option_text(cli, "session"), &reply, err));
    const struct json *calls = json_get(reply.json, "pendingApprovals");
    *ret_wake_ms = view_wake_ms(calls);
    if (remote_printed(cli, &reply))
        return RC_OK;
    const struct json *sessions = calls->count ? titles(cli, &arena) : NULL;
    buf_put(&buf, view_new_keys(&arena, json_get(reply.json, "newKeys")));
    if (calls->count == 0) {
        buf_puts(&buf, NOTHING_WAITS "\n");
    } else if (calls->count == 1) {
        struct str title = view_title(&arena, sessions, json_text(calls->first, "sessionId"));
        const struct json *call;
        TRY(view_whole(cli, &arena, calls->first, &call, err));
        view_call(&buf, cli, call, title, false);
        buf_printf(&buf, "\n%s\n", what_to_do(&arena, call));
    } else {
        list(&buf, cli, &arena, calls, sessions);
        say_more(&buf, reply.json);
    }
    cli_out(buf_str(&buf));
    return RC_OK;
}

/* ---- watching ---- */

enum { AWAY_MS = 1000 };

/* The list on the screen; the thread that follows events draws it, and one that waits for the end of a snooze. */
struct pending_watch {
    struct cli *cli;
    pthread_mutex_t lock;    /* held while the list is drawn; guards wake_ms */
    pthread_cond_t changed;  /* wake_ms is another */
    int64_t wake_ms;         /* 0: nothing is snoozed */
};

/* With the lock held. */
static enum follow_on draw(struct pending_watch *watching, bool again)
{
    struct cli *cli = watching->cli;
    if (!cli->json)
        cli_out(cli->width ? STR("\033[H\033[2J") : again ? STR("\n") : STR(""));
    struct rc rc = pending_print(cli, &watching->wake_ms, NULL);
    (void)pthread_cond_broadcast(&watching->changed);
    if (rc_bad(rc))
        return FOLLOW_AGAIN; /* the stream will report the error */
    return fflush(stdout) == 0 ? FOLLOW_MORE : FOLLOW_END;
}

static enum follow_on redraw(void *arg, const struct json *event)
{
    struct pending_watch *watching = arg;
    LOCK_SCOPE(&watching->lock);
    return draw(watching, event != NULL);
}

/* A thread of its own. No event tells that a snooze is over. */
static void *redraw_woken(void *arg)
{
    struct pending_watch *watching = arg;
    (void)pthread_mutex_lock(&watching->lock);
    for (;;) {
        int64_t wake_ms = watching->wake_ms;
        struct timespec until = {.tv_sec = wake_ms / 1000, .tv_nsec = wake_ms % 1000 * 1000000};
        if (!wake_ms)
            (void)pthread_cond_wait(&watching->changed, &watching->lock);
        else if (clock_wall_ms() < wake_ms)
            (void)pthread_cond_timedwait(&watching->changed, &watching->lock, &until);
        else if (draw(watching, true) == FOLLOW_AGAIN)
            watching->wake_ms = clock_wall_ms() + AWAY_MS;
    }
    return NULL;
}

/* The position is taken before the list is read, so that no change falls between. */
static struct rc watch(struct cli *cli, struct err *err)
{
    static struct pending_watch watching = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const char *session = option_text(cli, "session");
    struct follow follow = {.cli = cli, .event = redraw, .arg = &watching};
    watching.cli = cli; /* the thread uses it until the process ends */
    follow.scope = arena_printf(&cli->arena, "&types=TOOL_APPROVAL_REQUEST,TOOL_APPROVAL_PARTIAL,"
                                "TOOL_APPROVAL_SNOOZED,TOOL_APPROVAL_ASSIGNED,TOOL_APPROVAL_RESPONSE,TOKEN_CHANGED%s%s",
                                session ? "&session=" : "",
                                session ? remote_escape(&cli->arena, str_of(session)).p : "");
    TRY(follow_last(&follow, &follow.after, err));
    if (redraw(&watching, NULL) == FOLLOW_END)
        return RC_OK;
    TRY(cli_start_thread(redraw_woken, &watching, err));
    return follow_live(&follow, err);
}

struct rc pending_command(struct cli *cli, struct err *err)
{
    int64_t wake_ms;
    return option_flag(cli, "watch") ? watch(cli, err) : pending_print(cli, &wake_ms, err);
}

/* ---- one call ---- */

struct rc pending_show_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct reply reply;
    TRY(view_find(cli, cli->argv[0], &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    struct str session = json_text(reply.json, "sessionId");
    const struct json *call = reply.json;
    if (str_is(json_text(call, "status"), "awaiting"))
        TRY(view_waiting(cli, &cli->arena, session, json_text(call, "toolCallId"), &call, err));
    else
        TRY(view_kept(cli, &cli->arena, &call, err));
    view_call(&buf, cli, call, view_title(&cli->arena, titles(cli, &cli->arena), session), option_flag(cli, "full"));
    cli_out(buf_str(&buf));
    return RC_OK;
}
