/* Calls read from the server and shown (view.h): lists, one call, finding a call by a part of its id. */
#include "cli/view.h"

#include "base/limits.h"
#include "base/stamp.h"
#include "cli/body.h"
#include "io/clock.h"

enum { NAMED_MAX = 4, ID_END_BYTES_MIN = 4 };

/* Anything that is not a list of calls is an error: another server may listen at the address. */
static struct rc read_page(struct cli *cli, struct arena *arena, const char *session, struct str parameters,
                           struct reply *ret_reply, struct err *err)
{
    struct query query = {.method = "GET"};
    query.target = session ? arena_printf(arena, "/api/sessions/%s/approvals/pending%.*s",
                                          remote_escape(arena, str_of(session)).p, STR_ARG(parameters))
                           : arena_printf(arena, "/api/approvals/pending%.*s", STR_ARG(parameters));
    TRY(remote_ask(cli, arena, &query, ret_reply, err));
    const struct json *list = json_get(ret_reply->json, "pendingApprovals");
    if (!list || list->type != JSON_ARRAY)
        return err_set(err, ERR_INTERNAL, "%s does not answer like a nod server", remote_where(cli));
    return RC_OK;
}

struct rc view_pending(struct cli *cli, struct arena *arena, const char *session, struct reply *ret_reply,
                        struct err *err)
{
    return read_page(cli, arena, session, STR(""), ret_reply, err);
}

/* Shown beside the calls that wait: a stolen recovery code is noticed before its key counts. */
struct str view_new_keys(struct arena *arena, const struct json *keys)
{
    struct str text = STR_NONE;
    for (const struct json *key = keys ? keys->first : NULL; key; key = key->next) {
        struct str person = text_line(arena, json_text(key, "person")), from = json_text(key, "validFrom");
        int64_t from_ms;
        if (json_get(key, "revokedAt") || !stamp_parse(from, &from_ms) || from_ms <= clock_wall_ms())
            continue;
        text = arena_printf(arena,
                            "%.*sa recovery code of %.*s added the key \"%.*s\", which signs from %.*s on; if that was "
                            "not %.*s: nod key revoke %.*s\n",
                            STR_ARG(text), STR_ARG(person), STR_ARG(text_line(arena, json_text(key, "name"))),
                            STR_ARG(text_line(arena, from)), STR_ARG(person),
                            STR_ARG(text_line(arena, json_text(key, "id"))));
    }
    return text;
}

/* Page after page into one answer of the same form, so that callers know one form only. */
struct rc view_pending_all(struct cli *cli, struct arena *arena, const char *session, const char *agent,
                           struct reply *ret_reply, struct err *err)
{
    JSON_SCOPE(all, out, LIMIT_ANSWER_BYTES);
    int64_t after = 0;
    bool more = true;
    json_open(&out, '{');
    JSON_LIST(&out, "pendingApprovals")
        while (more) {
            ARENA_SCOPE(page);
            struct reply reply;
            struct str parameters = arena_printf(&page, "?after=%lld%s%s", (long long)after, agent ? "&agent=" : "",
                                                 agent ? remote_escape(&page, str_of(agent)).p : "");
            TRY(read_page(cli, &page, session, parameters, &reply, err));
            for (const struct json *call = json_get(reply.json, "pendingApprovals")->first; call; call = call->next)
                json_put_raw(&out, call->raw);
            int64_t next = 0;
            more = json_i64(json_get(reply.json, "next"), &next) && next > after;
            after = next;
        }
    json_close(&out, '}');
    if (all.over)
        return err_set(err, ERR_TOO_LARGE, "too many calls are waiting: name a session or an agent");
    ret_reply->status = 200;
    ret_reply->body = arena_str(arena, buf_str(&all));
    return json_parse(arena, ret_reply->body, &ret_reply->json, err);
}

static struct rc ask_about(struct cli *cli, struct arena *arena, struct str session, struct str call, const char *what,
                           struct reply *ret_reply, struct err *err)
{
    struct query query = {.method = "GET"};
    query.target = arena_printf(arena, "/api/sessions/%s/approvals/%s%s", remote_escape(arena, session).p,
                                remote_escape(arena, call).p, what);
    return remote_ask(cli, arena, &query, ret_reply, err);
}

/* Whether the preview shows only a fragment: the call's own texts, whose place in the file is not known. */
static bool has_fragments(const struct json *preview)
{
    return json_bool(preview, "fragment", false) || json_bool(json_first(preview, "files"), "fragment", false);
}

/* Whether the server can show more of the call than its own texts: the file around a change, a picture's place. */
static bool has_place(const struct json *call)
{
    const struct json *input = json_get(json_get(call, "toolCall"), "input"), *preview = json_get(call, "preview");
    return has_fragments(preview) || (str_is(json_text(preview, "type"), "generic") && input && picture_inside(input));
}

/* The member that view_placed adds to a preview. */
#define PLACED "placed"

bool view_partly(const struct json *call)
{
    return json_bool(call, "cut", false) || json_bool(call, "inFile", false) ||
           (!json_get(call, PLACED) && has_place(call));
}

/* Writes the preview that is made of the call's own texts, and says that the file is new, or why the change cannot
 * be shown in its file. */
static void put_own(struct json_out *out, const struct json *preview, bool is_new, struct str problem)
{
    json_open(out, '{');
    for (const struct json *member = preview->first; member; member = member->next) {
        if (str_is(member->key, "fragment") || (is_new && str_is(member->key, "note")))
            continue;
        json_put_member(out, member);
    }
    json_members(out, J_IF(is_new, J("note", "This makes a new file.")), J("problem", problem));
    json_close(out, '}');
}

/* Replaces the call's preview by the difference in its file as that is now, if our token may read it. */
static struct rc view_placed(struct cli *cli, struct arena *arena, const struct json **call, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct reply reply = {0};
    const struct json *preview = json_get(*call, "preview");
    if (!has_place(*call))
        return RC_OK;
    struct rc rc = ask_about(cli, arena, json_text(*call, "sessionId"), json_text(*call, "toolCallId"), "/file", &reply,
                             NULL);
    const struct json *placed = rc_ok(rc) ? json_get(reply.json, "preview") : NULL;
    bool is_new = rc.code == ERR_NOT_FOUND && str_is(json_text(json_get(*call, "toolCall"), "name"), "Write");
    json_open(&out, '{');
    for (const struct json *member = (*call)->first; member; member = member->next) {
        json_key_str(&out, member->key);
        if (!str_is(member->key, "preview"))
            json_put_raw(&out, member->raw);
        else if (json_get(placed, "unified") || json_get(placed, "files") ||
                 str_is(json_text(placed, "type"), "picture"))
            json_put_raw(&out, placed->raw);
        else
            put_own(&out, preview, is_new, json_text(placed, "problem"));
    }
    json_member_bool(&out, PLACED, true);
    json_close(&out, '}');
    return json_parse(arena, arena_str(arena, buf_str(&buf)), call, err);
}

struct rc view_waiting(struct cli *cli, struct arena *arena, struct str session, struct str call,
                       const struct json **ret_call, struct err *err)
{
    struct reply reply;
    TRY(ask_about(cli, arena, session, call, "", &reply, err));
    *ret_call = reply.json;
    return view_placed(cli, arena, ret_call, err);
}

struct rc view_kept(struct cli *cli, struct arena *arena, const struct json **call, struct err *err)
{
    static const char *const shown[] = {"preview", "parts", "risk", "riskWords"};
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct query query = {.method = "GET"};
    struct reply reply;
    query.target = arena_printf(arena, "/api/sessions/%s/calls/%s",
                                remote_escape(arena, json_text(*call, "sessionId")).p,
                                remote_escape(arena, json_text(*call, "toolCallId")).p);
    TRY(remote_ask(cli, arena, &query, &reply, err));
    json_open(&out, '{');
    json_put_members(&out, *call, "preview");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (json_get(reply.json, shown[i]))
            json_put_member(&out, json_get(reply.json, shown[i]));
    json_close(&out, '}');
    return json_parse(arena, arena_str(arena, buf_str(&buf)), call, err);
}

struct rc view_whole(struct cli *cli, struct arena *arena, const struct json *listed, const struct json **ret_call,
                     struct err *err)
{
    *ret_call = listed;
    if (json_bool(listed, "cut", false) || json_bool(listed, "inFile", false))
        return view_waiting(cli, arena, json_text(listed, "sessionId"), json_text(listed, "toolCallId"), ret_call, err);
    return view_placed(cli, arena, ret_call, err);
}

/* Whether `part` is a prefix of the id, or a long enough suffix: our ids begin alike. */
static bool part_of_id(struct str id, struct str part)
{
    return str_starts(id, part) || (part.n >= ID_END_BYTES_MIN && str_ends(id, part));
}

/* A part of an id is enough if only one waiting call has it; else all that could be meant are named. */
struct rc view_match(const struct json *pending, const char *id, const struct json **ret_call,
                     struct err *err)
{
    const struct json *list = json_get(pending, "pendingApprovals");
    const struct json *found = NULL;
    CHECK(list && list->type == JSON_ARRAY);
    unsigned exact = 0, hits = 0;
    BUF_SCOPE(names, 300);
    for (const struct json *call = list->first; call; call = call->next) {
        struct str name = json_text(call, "toolCallId");
        if (!part_of_id(name, str_of(id)))
            continue;
        bool whole = str_is(name, id);
        exact += whole;
        hits++;
        if (whole || !exact)
            found = call;
        if (hits <= NAMED_MAX)
            buf_printf(&names, "%s%.*s of session %.*s", hits > 1 ? ", " : "", STR_ARG(name),
                       STR_ARG(json_text(call, "sessionId")));
    }
    if (exact > 1 || (exact == 0 && hits > 1))
        return err_set(err, ERR_AMBIGUOUS,
                       "'%s' may be any of %u waiting calls (%s%s); use --session or more letters", id, hits,
                       buf_c(&names), hits > NAMED_MAX ? ", …" : "");
    *ret_call = found;
    return RC_OK;
}

/* A call by its id, also one that does not wait any more. */
struct rc view_find(struct cli *cli, const char *id, struct reply *ret_reply, struct err *err)
{
    struct arena *arena = &cli->arena;
    struct reply pending;
    const struct json *found = NULL;
    struct str target = arena_printf(arena, "/api/tool-calls/%s", remote_escape(arena, str_of(id)).p);
    struct err first = {0};
    struct rc rc = remote_get(cli, target, ret_reply, &first);
    if (rc.code == ERR_NOT_FOUND && rc_ok(view_pending_all(cli, arena, NULL, NULL, &pending, NULL)))
        TRY(view_match(pending.json, id, &found, err));
    if (!found && rc.code == ERR_NOT_FOUND)
        return err_set(err, rc.code, "there is no call '%s'; nod pending lists those that wait, nod log all", id);
    if (!found) {
        if (err)
            *err = first;
        return rc;
    }
    target = arena_printf(arena, "/api/tool-calls/%s?session=%s",
                          remote_escape(arena, json_text(found, "toolCallId")).p,
                          remote_escape(arena, json_text(found, "sessionId")).p);
    return remote_get(cli, target, ret_reply, err);
}

/* The risk of the call, and the warnings of its preview. */
struct str view_warned(struct arena *arena, const struct json *call)
{
    const struct json *warnings = json_get(call, "warnings");
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    const struct json *lists[] = {json_get(call, "riskWords"),
                                  warnings ? warnings : json_get(json_get(call, "preview"), "warnings")};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct json *one = lists[i] ? lists[i]->first : NULL; one; one = one->next)
            buf_printf(&buf, "%s%.*s", buf.n ? ", " : "", STR_ARG(text_line(arena, one->text)));
    struct str summary = view_summary(arena, call);
    return buf.n ? arena_printf(arena, "(%.*s) %.*s", STR_ARG(buf_str(&buf)), STR_ARG(summary)) : summary;
}

struct str view_summary(struct arena *arena, const struct json *call)
{
    struct str summary = json_text(call, "summary");
    if (!str_empty(summary))
        return text_line(arena, summary);
    return text_summary(arena, json_get(json_get(call, "toolCall"), "input"));
}

struct str view_line(struct arena *arena, const struct json *call)
{
    struct str name = text_line(arena, json_text(json_get(call, "toolCall"), "name"));
    if (!str_empty(json_text(call, "summary"))) /* a sentence that already names the tool */
        return view_summary(arena, call);
    return arena_printf(arena, "%.*s %.*s", STR_ARG(name), STR_ARG(view_summary(arena, call)));
}

struct str view_title(struct arena *arena, const struct json *sessions, struct str session)
{
    for (const struct json *s = json_first(sessions, "sessions"); s; s = s->next)
        if (str_eq(json_text(s, "id"), session))
            return text_line(arena, json_text(s, "title"));
    return STR("");
}

/* ---- one call in full ---- */

static void field(struct buf *buf, const struct cli *cli, const char *name, struct str value)
{
    ARENA_SCOPE(arena);
    if (str_empty(value))
        return;
    struct str label = arena_printf(&arena, "%-10s", name);
    BUF_ADD(buf, text_tinted(&arena, cli->color, TINT_DIM, label), text_line(&arena, value), STR("\n"));
}

static void put_body(struct buf *buf, const struct cli *cli, struct str body, struct str call, bool full)
{
    ARENA_SCOPE(arena);
    body_write(buf, full ? body : body_beginning(&arena, body, call), cli->color, cli->width, 2);
}

/* A short text stands beside its name, everything else below it. */
static void block(struct buf *buf, const struct cli *cli, struct str name, const struct json *value, struct str call,
                  bool full)
{
    ARENA_SCOPE(arena);
    if (!value || value->type == JSON_NULL)
        return;
    if (value->type == JSON_STRING && str_find(value->text, '\n') == value->text.n) {
        field(buf, cli, text_line(&arena, name).p, value->text);
        return;
    }
    BUF_ADD(buf, text_tinted(&arena, cli->color, TINT_DIM, text_line(&arena, name)), STR("\n"));
    put_body(buf, cli, body_tree(&arena, value), call, full);
}

struct str view_people(struct arena *arena, const struct json *call)
{
    const struct json *people = json_get(call, "people"), *have = json_get(people, "have");
    int64_t need;
    if (!have || !json_i64(json_get(people, "need"), &need))
        return STR_NONE;
    struct str words = arena_printf(arena, "%u of %lld persons have allowed it", have->count, (long long)need);
    for (const struct json *one = have->first; one; one = one->next)
        words = arena_printf(arena, "%.*s%s%.*s", STR_ARG(words), one == have->first ? ": " : ", ",
                             STR_ARG(text_line(arena, json_text(one, "person"))));
    return words;
}

int64_t view_wake_ms(const struct json *calls)
{
    int64_t at_ms, soon_ms = clock_wall_ms() + 1000, first_ms = 0;
    for (const struct json *call = calls->first; call; call = call->next) {
        if (!stamp_parse(json_text(call, "snoozedUntil"), &at_ms))
            continue;
        at_ms = at_ms > soon_ms ? at_ms : soon_ms;
        first_ms = first_ms && first_ms < at_ms ? first_ms : at_ms;
    }
    return first_ms;
}

struct str view_state(struct arena *arena, const struct json *call)
{
    struct str until = json_text(call, "snoozedUntil"), person = json_text(call, "assignee"), words = STR_NONE;
    if (until.n)
        words = arena_printf(arena, "snoozed until %.*s", STR_ARG(text_time(arena, until, clock_wall_ms())));
    if (person.n)
        words = arena_printf(arena, "%.*s%sassigned to %.*s", STR_ARG(words), words.n ? ", " : "",
                             STR_ARG(text_line(arena, person)));
    return words;
}

/* All times are this machine's local time; the server sends UTC. */
static void times(struct buf *buf, const struct cli *cli, const struct json *call)
{
    ARENA_SCOPE(arena);
    int64_t at_ms, now_ms = clock_wall_ms();
    struct str at = json_text(call, "requestedAt");
    if (str_empty(at))
        at = json_text(call, "calledAt"); /* a rule answered: nobody was asked */
    if (!stamp_parse(at, &at_ms))
        return;
    struct str age = text_age(&arena, now_ms - at_ms);
    field(buf, cli, "asked", arena_printf(&arena, "%.*s (%.*s%s)", STR_ARG(text_time(&arena, at, now_ms)),
                                          STR_ARG(age), str_is(age, "now") ? "" : " ago"));
    field(buf, cli, "people", view_people(&arena, call));
    field(buf, cli, "state", view_state(&arena, call));
    if (json_bool(call, "nobodyWaits", false))
        field(buf, cli, "asker", STR("nobody waits for the answer any more"));
    if (json_bool(call, "alerted", false))
        field(buf, cli, "waits", STR("nobody has answered; a reminder was sent"));
    struct str deadline = json_text(call, "deadline");
    if (!str_empty(deadline))
        field(buf, cli, "until", text_time(&arena, deadline, now_ms));
    struct str decided = json_text(call, "decidedAt");
    if (!str_empty(decided))
        field(buf, cli, "decided", text_time(&arena, decided, now_ms));
}

void view_call(struct buf *buf, const struct cli *cli, const struct json *call, struct str title, bool full)
{
    ARENA_SCOPE(arena);
    struct str id = json_text(call, "toolCallId");
    const struct json *tool = json_get(call, "toolCall");
    const struct json *reason = json_get(call, "reason");
    struct str status = json_text(call, "status");
    struct str session = text_line(&arena, json_text(call, "sessionId"));
    if (!str_empty(title))
        session = arena_printf(&arena, "%.*s (%.*s)", STR_ARG(session), STR_ARG(title));
    field(buf, cli, "call", id);
    field(buf, cli, "session", session);
    field(buf, cli, "thread", json_text(call, "threadId"));
    field(buf, cli, "agent", json_text(call, "agent"));
    times(buf, cli, call);
    field(buf, cli, "status", str_empty(status) && json_get(call, "deadline") ? STR("awaiting") : status);
    field(buf, cli, "decision", body_decision(&arena, call));
    field(buf, cli, "feedback", json_text(call, "feedback"));
    if (!reason || reason->type != JSON_OBJECT) /* else the body says it */
        field(buf, cli, "reason", json_text(call, "reason"));
    field(buf, cli, "tool", json_text(tool, "name"));
    field(buf, cli, "does", body_sentence(&arena, call));
    put_body(buf, cli, body_lines(&arena, call), id, full);
    block(buf, cli, STR("edited input"), json_get(call, "updatedInput"), id, full);
    const struct json *result = json_get(call, "result"), *content = json_get(result, "content");
    block(buf, cli, json_bool(result, "isError", false) ? STR("error") : STR("result"),
          content && content->type == JSON_STRING ? content : result, id, full);
}
