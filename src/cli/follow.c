/* Follows events over the API (follow.h): by pages, then as a stream that is opened again whenever it breaks. */
#include "cli/follow.h"

#include "http/http.h"

#include <unistd.h>

enum { PAGE_EVENTS = 500, AWAY_US = 300000 };

/* One stream of events: whether any came, and why it ended. */
struct streaming {
    struct follow *follow;
    struct err err; /* set when the server reported that its history changed */
    bool ended, came;
};

/* `scope` is a part of a query and begins with "&". A page may be shorter than its limit and not the last. */
static struct rc read_page(const struct follow *follow, struct arena *arena, uint64_t after, unsigned limit,
                           const struct json **ret_events, struct err *err)
{
    struct query query = {.method = "GET"};
    struct reply reply;
    CHECK(follow->cli && limit > 0 && (follow->scope.n == 0 || follow->scope.p[0] == '&'));
    query.target = arena_printf(arena, "/api/events?after=%llu&limit=%u%.*s", (unsigned long long)after,
                                limit, STR_ARG(follow->scope));
    TRY(remote_ask(follow->cli, arena, &query, &reply, err));
    *ret_events = json_get(reply.json, "events");
    if (!*ret_events || (*ret_events)->type != JSON_ARRAY)
        return err_set(err, ERR_INTERNAL, "%s does not answer like a nod server", remote_where(follow->cli));
    return RC_OK;
}

static uint64_t seq_of(const struct json *event)
{
    int64_t seq;
    return json_i64(json_get(event, "seq"), &seq) && seq > 0 ? (uint64_t)seq : 0;
}

/* Passes the event on, unless it was delivered before, and moves the position. */
static enum follow_on take(struct follow *follow, const struct json *event)
{
    uint64_t seq = seq_of(event);
    CHECK(follow->event);
    if (seq <= follow->after)
        return FOLLOW_MORE;
    enum follow_on next = follow->event(follow->arg, event);
    if (next != FOLLOW_AGAIN)
        follow->after = seq;
    return next;
}

struct rc follow_pages(struct follow *follow, struct err *err)
{
    for (;;) {
        ARENA_SCOPE(arena);
        const struct json *events;
        uint64_t before = follow->after;
        TRY(read_page(follow, &arena, before, PAGE_EVENTS, &events, err));
        for (const struct json *event = events->first; event; event = event->next)
            if (take(follow, event) != FOLLOW_MORE)
                return RC_OK;
        if (follow->after == before)
            return RC_OK;
    }
}

/* Finds the last seq by binary search (is there an event after N?): twenty small requests for a million events. */
struct rc follow_last(const struct follow *follow, uint64_t *ret_last, struct err *err)
{
    uint64_t low = 0, high = 1; /* the last is at least low and, once bounded, at most high */
    bool bounded = false;
    while (!bounded || low < high) {
        ARENA_SCOPE(arena);
        const struct json *events;
        uint64_t middle = bounded ? low + (high - low) / 2 : high;
        TRY(read_page(follow, &arena, middle, 1, &events, err));
        uint64_t seq = events->first ? seq_of(events->first) : 0;
        if (seq > middle) {
            low = seq;
            high = bounded ? high : low * 2;
        } else {
            bounded = true;
            high = middle;
        }
    }
    CHECK(low >= high); /* or more has come meanwhile */
    *ret_last = low;
    return RC_OK;
}

/* An event of type "error" is the server's last word: its history is another one, and going on would mix two. */
static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    ARENA_SCOPE(arena);
    struct streaming *streaming = arg;
    const struct json *event;
    CHECK(!streaming->ended);
    (void)id;
    streaming->came = true;
    if (rc_bad(json_parse(&arena, data, &event, NULL)))
        return true;
    if (str_is(type, "error")) {
        (void)err_set(&streaming->err, ERR_HISTORY, "%.*s", STR_ARG(json_text(event, "message")));
        return false;
    }
    enum follow_on next = take(streaming->follow, event);
    streaming->ended = next == FOLLOW_END;
    return next == FOLLOW_MORE;
}

/* A server that is away is said once, and tried again until it is back; a refusal ends it. */
static struct rc stream(struct follow *follow, struct http_client *client, struct err *err)
{
    struct streaming streaming = {.follow = follow};
    bool told = false;
    for (;;) {
        ARENA_SCOPE(arena);
        struct str target = arena_printf(&arena, "/api/events?after=%llu%.*s",
                                         (unsigned long long)follow->after, STR_ARG(follow->scope));
        streaming.came = false;
        struct rc rc = http_client_stream(client, target, on_event, &streaming, err);
        if (streaming.ended)
            return RC_OK;
        if (streaming.err.code != ERR_OK) {
            *err = streaming.err;
            return (struct rc){err->code};
        }
        if (rc_bad(rc) && !remote_passing(rc))
            return rc;
        told = told && !streaming.came;
        if (rc_bad(rc) && !told)
            cli_note("nod: the server at %s is away; trying again until it is back",
                     remote_where(follow->cli));
        told = told || rc_bad(rc);
        (void)usleep(AWAY_US);
    }
}

/* One event is read first: an address or token that is wrong is an error at once, and not tried for ever. */
struct rc follow_live(struct follow *follow, struct err *err)
{
    ARENA_SCOPE(arena);
    struct http_client *client;
    const struct json *first;
    TRY(read_page(follow, &arena, follow->after, 1, &first, err));
    TRY(remote_client(follow->cli, &client, err));
    struct rc rc = stream(follow, client, err);
    http_client_free(client);
    return rc;
}
