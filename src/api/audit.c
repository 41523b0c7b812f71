/* Every decision that was ever made, newest first: who, when, what, by which rule or hand.
 *
 * 1. A record stands where its call was made. The log is read backwards in windows of seq, whose only gaps are sessions
 *    in archives; what a window says of an answer is kept until the call it belongs to comes by.
 * 2. A page that does not begin at the end of the log may have passed an answer by: those calls are read
 *    one by one.
 * 3. One request looks at a bounded stretch of the log and says where the next begins.
 * 4. A text is looked up in the full-text index (gate_search), which names the calls that may have it; each is read and
 *    compared. Without the index, the log is looked through as in 1.
 */
#include "api/cursor.h"

#include "base/list.h"
#include "base/map.h"
#include "base/stamp.h"
#include "base/utf8.h"

#include <stdlib.h>

enum {
    WINDOW_EVENTS = LIMIT_PAGE_EVENTS,
    SCAN_EVENTS = 100000,  /* most events read in one request */
    RECORDS_MAX = 10000,
    ABOUT_BYTES = 240,
};

/* One call with its answer, as a row of the audit. */
struct record {
    uint64_t seq;
    int64_t called_ms, decided_ms;
    struct str session, thread, call, tool, about, agent, cwd;
    struct str actor, rule, source, why, feedback;
    struct str mode, rules;       /* chosen by the answer; rules is a JSON array */
    struct str key;               /* the key that signed the answer; empty: not signed */
    const char *outcome, *decision, *by;
    bool edited, asked;
    struct record *next;
};

enum audit_format { FORMAT_JSON, FORMAT_CSV, FORMAT_LINES };

/* A page of the audit while it is collected. Lives in the exchange's arena. */
struct audit {
    struct exchange *x;
    struct arena *arena;
    struct str session, tool, actor, agent, project, decision, by, text;
    struct str quoted;            /* the text as it stands in JSON */
    struct history_search search;
    size_t hit;                   /* the next hit to be read */
    int64_t since_ms, until_ms;
    uint64_t limit, before;
    enum audit_format format;
    uint64_t high, scanned;       /* the next window ends at seq `high`; events read so far */
    struct read **pieces;         /* pages of the current window, ascending */
    size_t piece_count;
    struct map answers;           /* "session\ncall" → struct event */
    struct record *first, *last;
    struct record *unsure;        /* the next record to look up: its answer may be in an event after the page */
    size_t count;
    bool ended;                   /* older events need not be read */
};

/* ---- one call as a record ---- */

static struct str key_of(struct arena *arena, const struct event *event)
{
    return arena_printf(arena, "%.*s\n%.*s", STR_ARG(event->session), STR_ARG(event->call));
}

/* The most telling part of the input, such as the command or the path. */
static struct str about(struct arena *arena, struct str input)
{
    static const char *const fields[] = {"command", "file_path", "notebook_path", "path", "url", "pattern",
                                         "description"};
    ARENA_SCOPE(scratch);
    const struct json *object = NULL;
    struct str text = input;
    if (rc_ok(json_parse(&scratch, input, &object, NULL)))
        for (size_t i = sizeof fields / sizeof *fields; i-- > 0;)
            if (!str_empty(json_text(object, fields[i])))
                text = json_text(object, fields[i]);
    struct str start = utf8_start(text, ABOUT_BYTES);
    return start.n < text.n ? arena_printf(arena, "%.*s…", STR_ARG(start)) : arena_str(arena, text);
}

/* The filter `by=` takes the same words. A call that waits has no such word and is found by none of them. */
static const char *by_whom(const struct call *call)
{
    if (call->status == CALL_AWAITING)
        return NULL;
    if (call->by_policy)
        return "rule";
    if (call->decision == DECISION_TIMEOUT)
        return "timeout";
    return call->decision == DECISION_CANCELLED ? "agent" : "person";
}

static const char *outcome_of(const struct call *call)
{
    if (call->status == CALL_AWAITING)
        return "awaiting";
    if (call_allowed(call))
        return "allowed";
    return call->decision == DECISION_NONE ? call_status_name(call->status)
           : call->decision == DECISION_DENY ? "denied"
           : call->decision == DECISION_ABORT ? "aborted"
           : call->decision == DECISION_TIMEOUT ? "timed_out" : "cancelled";
}

/* Called a second time for records whose answer lay behind the page's first event; it sets every field that an answer
 * can set. */
static void fill_decision(struct arena *arena, struct record *record, const struct call *call)
{
    record->outcome = outcome_of(call);
    record->by = by_whom(call);
    record->asked = !call->by_policy;
    record->decision = call->decision == DECISION_NONE ? NULL : decision_name(call->decision);
    record->decided_ms = call->status == CALL_AWAITING ? 0 : call->by_policy ? call->called_ms : call->decided_ms;
    record->actor = call->by_policy ? STR("policy") : call->actor;
    record->feedback = call->feedback;
    record->edited = !str_empty(call->updated_input);
    record->mode = call->mode;
    record->rules = call->rules;
    record->key = call->key;
    ARENA_KEEP(arena, &record->actor, &record->feedback, &record->mode, &record->rules, &record->key);
}

/* Everything is copied out of the event: its window is freed before the page is written. */
static struct record *make_record(struct audit *audit, const struct event *event, const struct event *answer)
{
    ARENA_SCOPE(scratch);
    struct call call = {0};
    struct record *record = arena_new(audit->arena, struct record);
    call_apply(&scratch, &call, event);
    if (answer)
        call_apply(&scratch, &call, answer);
    *record = (struct record){.seq = event->seq, .called_ms = event->at_ms, .session = event->session,
                              .thread = event->thread, .call = event->call, .tool = call.name,
                              .about = about(audit->arena, call.input), .agent = event->actor, .cwd = call.cwd,
                              .rule = call.rule, .source = call.source, .why = call.why};
    ARENA_KEEP(audit->arena, &record->session, &record->thread, &record->call, &record->tool, &record->agent,
               &record->cwd, &record->rule, &record->source, &record->why);
    fill_decision(audit->arena, record, &call);
    return record;
}

/* ---- what is wanted ---- */

/* Letters of either case are the same, in ASCII only; names in other alphabets are compared byte by byte. */
static bool holds(struct str text, struct str part)
{
    for (size_t at = 0; at + part.n <= text.n; at++) {
        size_t i = 0;
        while (i < part.n && str_lower(text.p[at + i]) == str_lower(part.p[i]))
            i++;
        if (i == part.n)
            return true;
    }
    return false;
}

/* Whether the call passes the filters; the text is searched in the call and in its answer. */
static bool call_wanted(const struct audit *audit, const struct event *event, const struct event *answer)
{
    return event->at_ms >= audit->since_ms && event->at_ms <= audit->until_ms &&
           (str_empty(audit->text) || holds(event->data, audit->quoted) || holds(event->actor, audit->text) ||
            (answer && holds(answer->data, audit->quoted)));
}

/* Whether cwd is the project's folder or lies below it. */
static bool in_project(struct str cwd, struct str project)
{
    return str_starts(cwd, project) && (cwd.n == project.n || cwd.p[project.n] == '/');
}

static bool record_wanted(const struct audit *audit, const struct record *record)
{
    struct str decision = str_of(record->decision), outcome = str_of(record->outcome);
    return (str_empty(audit->tool) || str_eq(audit->tool, record->tool)) &&
           (str_empty(audit->actor) || holds(record->actor, audit->actor)) &&
           (str_empty(audit->agent) || str_eq(audit->agent, record->agent)) &&
           (str_empty(audit->project) || in_project(record->cwd, audit->project)) &&
           (str_empty(audit->by) || str_is(audit->by, record->by)) &&
           (str_empty(audit->decision) || str_eq(audit->decision, decision) || str_eq(audit->decision, outcome));
}

static void add_record(struct audit *audit, struct record *record)
{
    LIST_ADD(audit, record);
    audit->count++;
}

/* ---- writing ---- */

static void put_record(struct json_out *out, const struct record *r)
{
    json_open(out, '{');
    json_members(out, J("seq", r->seq), J_TIME("at", r->called_ms), J("sessionId", r->session),
                 J("threadId", r->thread), J("toolCallId", r->call), J("tool", r->tool), J("about", r->about),
                 J("agent", r->agent), J("cwd", r->cwd), J("outcome", r->outcome), J("decision", r->decision),
                 J("by", r->by), J_BOOL("asked", r->asked), J("actor", r->actor), J("rule", r->rule),
                 J("source", r->source), J("why", r->why), J("feedback", r->feedback), J_BOOL("edited", r->edited),
                 J("mode", r->mode), J_RAW("rules", r->rules), J("key", r->key));
    if (r->decided_ms)
        json_members(out, J_TIME("decidedAt", r->decided_ms), J("answerMs", r->decided_ms - r->called_ms));
    json_close(out, '}');
}

/* A cell that a spreadsheet would take for a formula is marked as text. */
static void put_cell(struct buf *buf, struct str text, char end)
{
    buf_putc(buf, '"');
    if (text.n && memchr("=+-@\t\r", text.p[0], 6))
        buf_putc(buf, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            buf_putc(buf, '"');
        buf_putc(buf, text.p[i]);
    }
    BUF_ADD(buf, STR("\""), str_of(end == '\n' ? "\r\n" : ","));
}

static void put_row(struct buf *buf, const struct record *r)
{
    char called[STAMP_BYTES], decided[STAMP_BYTES] = "";
    stamp_format(r->called_ms, called);
    if (r->decided_ms)
        stamp_format(r->decided_ms, decided);
    buf_u64(buf, r->seq);
    buf_putc(buf, ',');
    const struct str cells[] = {str_of(called), r->session, r->call, r->tool, r->about, r->agent,
                                str_of(r->outcome), str_of(r->decision), str_of(r->by), r->actor, r->rule,
                                r->why, r->feedback};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        put_cell(buf, cells[i], ',');
    put_cell(buf, str_of(decided), ',');
    if (r->decided_ms)
        buf_i64(buf, r->decided_ms - r->called_ms);
    buf_putc(buf, ',');
    put_cell(buf, r->mode, ',');
    put_cell(buf, r->rules, ',');
    put_cell(buf, r->key, ',');
    put_cell(buf, r->cwd, '\n');
}

/* Writes the records of this page in the form that the client asked for: JSON, CSV or lines of JSON. */
static void put_page(struct buf *buf, const struct audit *audit, uint64_t next)
{
    struct json_out out = json_out(buf);
    if (audit->format == FORMAT_CSV)
        buf_puts(buf, "seq,at,session,call,tool,about,agent,outcome,decision,by,actor,rule,why,feedback,"
                      "decided_at,answer_ms,mode,rules,key,cwd\r\n");
    if (audit->format == FORMAT_JSON) {
        json_open(&out, '{');
        json_open_member(&out, "records", '[');
    }
    for (const struct record *r = audit->first; r; r = r->next) {
        if (!record_wanted(audit, r))
            continue;
        if (audit->format == FORMAT_CSV) {
            put_row(buf, r);
        } else {
            put_record(&out, r);
            if (audit->format == FORMAT_LINES) {
                buf_putc(buf, '\n');
                out.comma = false;
            }
        }
    }
    if (audit->format == FORMAT_JSON) {
        json_close(&out, ']');
        if (next)
            cursor_write(&out, next);
        json_close(&out, '}');
    }
}

/* `next` is where the following page begins; 0 when nothing is left to look at. */
static void finish(struct audit *audit)
{
    static const struct str types[] = {STR("application/json"), STR("text/csv; charset=utf-8; header=present"),
                                       STR("application/x-ndjson")};
    struct exchange *x = audit->x;
    bool full = audit->count >= audit->limit && audit->last;
    const struct history_search *search = &audit->search;
    bool all_looked_at = search->ready ? audit->hit == search->hit_count && !search->more : audit->high == 0;
    uint64_t next = full ? audit->last->seq : audit->ended || all_looked_at ? 0
                    : audit->hit ? search->hits[audit->hit - 1].seq : audit->high + 1;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    put_page(&buf, audit, next);
    map_done(&audit->answers);
    if (audit->format == FORMAT_JSON || buf.over) {
        exchange_answer(x, 200, &buf);
        return;
    }
    struct str headers = arena_printf(x->arena, "Nod-Next: %llu\r\nContent-Disposition: attachment; "
                                      "filename=\"nod-log.%s\"\r\n", (unsigned long long)next,
                                      audit->format == FORMAT_CSV ? "csv" : "jsonl");
    x->api->answers[2]++;
    http_answer(x->http, 200, types[audit->format], headers, buf_str(&buf));
}

/* ---- answers that may lie behind the page ---- */

static void settle_next(struct audit *audit);

/* A call that cannot be read any more keeps what its own event said of it. The rest of the page is not held up by it.
 */
static void call_settled(struct read *read)
{
    struct audit *audit = read->arg;
    struct record *record = audit->unsure;
    struct call *calls;
    if (read->err.code == ERR_OK && gate_calls_of(read, &calls) == 1)
        fill_decision(audit->arena, record, &calls[0]);
    read_free(read);
    audit->unsure = record->next;
    settle_next(audit);
}

/* Calls whose answer may lie beyond the beginning of this page are read one by one. */
static void settle_next(struct audit *audit)
{
    while (audit->unsure && (!audit->before || audit->unsure->by))
        audit->unsure = audit->unsure->next;
    if (!audit->unsure) {
        finish(audit);
        return;
    }
    gate_read(audit->x->gate, read_new_call(audit->unsure->session, audit->unsure->call), call_settled, audit);
}

/* ---- windows ---- */

static void next_window(struct audit *audit);

/* Events come newest first: an answer before its call, so it is kept until the call is met. */
static void take_event(struct audit *audit, const struct event *event)
{
    struct event *answer;
    if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE) {
        answer = arena_new(audit->arena, struct event);
        *answer = event_copy(audit->arena, event);
        (void)map_put(&audit->answers, key_of(audit->arena, event), answer);
        return;
    }
    answer = map_take(&audit->answers, key_of(audit->arena, event));
    if (event->at_ms < audit->since_ms)
        audit->ended = true;
    if (!call_wanted(audit, event, answer))
        return;
    struct record *record = make_record(audit, event, answer);
    /* Calls that may still turn out to be answered are looked at again when that is known. */
    if ((audit->before && !record->by) || record_wanted(audit, record))
        add_record(audit, record);
}

static void take_window(struct audit *audit)
{
    for (size_t p = audit->piece_count; p-- > 0;) {
        const struct read *read = audit->pieces[p];
        for (size_t i = read->event_count; i-- > 0;)
            if (read->events[i].seq <= audit->high && audit->count < audit->limit)
                take_event(audit, &read->events[i]);
    }
}

/* Answers that were kept from the window are copies (audit->answers) and stay. */
static void drop_window(struct audit *audit)
{
    for (size_t p = 0; p < audit->piece_count; p++)
        read_free(audit->pieces[p]);
    free(audit->pieces);
    audit->pieces = NULL;
    audit->piece_count = 0;
}

static uint64_t window_low(const struct audit *audit)
{
    return audit->high > WINDOW_EVENTS ? audit->high - WINDOW_EVENTS : 0;
}

static void read_piece(struct audit *audit, uint64_t after);

/* A window is taken as a whole, once all of its pieces are in. */
static void piece_read(struct read *read)
{
    struct audit *audit = read->arg;
    uint64_t low = window_low(audit);
    audit->pieces = heap_grow(audit->pieces, (audit->piece_count + 1) * sizeof *audit->pieces);
    audit->pieces[audit->piece_count++] = read;
    if (read->err.code != ERR_OK) {
        struct err err = read->err;
        drop_window(audit);
        map_done(&audit->answers);
        exchange_fail(audit->x, &err);
        return;
    }
    /* The read was cut because its events are large: read the rest of the window. */
    if (read->covered < audit->high && read->event_count) {
        read_piece(audit, read->covered);
        return;
    }
    take_window(audit);
    drop_window(audit);
    audit->scanned += audit->high - low;
    audit->high = low;
    next_window(audit);
}

static void read_piece(struct audit *audit, uint64_t after)
{
    uint64_t kinds = (uint64_t)1 << EVENT_TOOL_CALL | (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE;
    struct read *read = read_new_of((struct read){.kind = READ_EVENTS, .session = audit->session, .kinds = kinds,
                                                  .after = after, .limit = WINDOW_EVENTS});
    gate_read(audit->x->gate, read, piece_read, audit);
}

/* Stops at the limit, at the start of the log, and after SCAN_EVENTS events: a filter that finds nothing must not
 * read the whole log in one request. */
static void next_window(struct audit *audit)
{
    bool enough = audit->ended || audit->count >= audit->limit || audit->scanned >= SCAN_EVENTS;
    if (audit->high > 0 && !enough) {
        read_piece(audit, window_low(audit));
        return;
    }
    audit->unsure = audit->first;
    settle_next(audit);
}

/* ---- hits of the index ---- */

static void next_hit(struct audit *audit);

/* The index names candidates; the text itself is compared here. */
static void take_hit(struct audit *audit, const struct read *read)
{
    const struct event *call = NULL, *answer = NULL;
    for (size_t i = 0; i < read->event_count; i++) {
        if (read->events[i].kind == EVENT_TOOL_CALL)
            call = &read->events[i];
        else if (read->events[i].kind == EVENT_TOOL_APPROVAL_RESPONSE)
            answer = &read->events[i];
    }
    if (!call) /* its session was archived */
        return;
    audit->ended = call->at_ms < audit->since_ms;
    if (!call_wanted(audit, call, answer))
        return;
    struct record *record = make_record(audit, call, answer);
    if (record_wanted(audit, record))
        add_record(audit, record);
}

/* One call after the other: a hit that the filters refuse costs one read, and the page is done when it is full. */
static void hit_read(struct read *read)
{
    struct audit *audit = read->arg;
    struct err err = read->err;
    if (err.code == ERR_OK)
        take_hit(audit, read);
    read_free(read);
    if (err.code == ERR_OK) {
        next_hit(audit);
        return;
    }
    map_done(&audit->answers);
    exchange_fail(audit->x, &err);
}

/* Hits come newest first, as the index gives them; those of other sessions are passed over without a read. */
static void next_hit(struct audit *audit)
{
    const struct history_search *search = &audit->search;
    while (audit->hit < search->hit_count && !str_empty(audit->session) &&
           !str_eq(search->hits[audit->hit].session, audit->session))
        audit->hit++;
    if (audit->hit == search->hit_count || audit->ended || audit->count >= audit->limit) {
        finish(audit);
        return;
    }
    const struct search_hit *hit = &search->hits[audit->hit++];
    gate_read(audit->x->gate, read_new_call(hit->session, hit->call), hit_read, audit);
}

/* Without an index (it is being built, or cannot be opened) the search goes through the log: slower, with the same
 * result. */
static void searched(struct op *op)
{
    struct audit *audit = op->owner;
    if (audit->search.ready)
        next_hit(audit);
    else
        next_window(audit);
}

/* The text as it stands in the JSON of events. */
static struct str quote(struct arena *arena, struct str text)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_put_str(&out, text);
    struct str quoted = buf_str(&buf);
    return quoted.n > 2 ? arena_str(arena, str_sub(quoted, 1, quoted.n - 1)) : text;
}

/* ---- the route ---- */

static struct rc read_time(struct exchange *x, const char *name, int64_t *ret_ms, struct err *err)
{
    struct str text = STR_NONE;
    TRY(api_query_text(x, name, &text, err));
    if (text.p && !stamp_parse(text, ret_ms))
        return err_set(err, ERR_INVALID, "%s= must be a time like 2026-01-31T12:00:00.000Z", name);
    return RC_OK;
}

static struct rc read_audit(struct exchange *x, struct audit *audit, struct err *err)
{
    struct str format = STR("json");
    TRY(api_query_u64(x, "limit", RECORDS_MAX, &audit->limit, err));
    TRY(cursor_query(x, "before", &audit->before, err));
    TRY(read_time(x, "since", &audit->since_ms, err));
    TRY(read_time(x, "until", &audit->until_ms, err));
    TRY(api_query_text(x, "session", &audit->session, err));
    TRY(api_query_text(x, "tool", &audit->tool, err));
    TRY(api_query_text(x, "actor", &audit->actor, err));
    TRY(api_query_text(x, "agent", &audit->agent, err));
    TRY(api_query_text(x, "project", &audit->project, err));
    TRY(api_query_text(x, "decision", &audit->decision, err));
    TRY(api_query_text(x, "by", &audit->by, err));
    TRY(api_query_text(x, "text", &audit->text, err));
    TRY(api_query_text(x, "format", &format, err));
    if (str_is(format, "csv"))
        audit->format = FORMAT_CSV;
    else if (str_is(format, "jsonl"))
        audit->format = FORMAT_LINES;
    else if (!str_is(format, "json"))
        return err_set(err, ERR_INVALID, "format= must be json, csv or jsonl");
    return RC_OK;
}

/* With a text the index is asked first, else the log is read backwards at once. The index is of all sessions, and how
 * far a search in it gets tells of hits in others: it is not for a token that is bound to one. */
static void start(struct audit *audit)
{
    uint64_t last = gate_figures(audit->x->gate).last_seq;
    audit->high = last;
    if (audit->before && audit->before <= last)
        audit->high = audit->before - 1;
    else
        audit->before = 0;
    audit->quoted = quote(audit->arena, audit->text);
    if (str_empty(audit->text) || !str_empty(audit->x->token->session)) {
        next_window(audit);
        return;
    }
    audit->search = (struct history_search){.op = gate_op(audit->arena, searched, audit), .text = audit->quoted,
                                    .before = audit->before};
    gate_search(audit->x->gate, &audit->search);
}

static void audit_session_found(struct exchange *x, const struct session *session)
{
    (void)session;
    start(x->state);
}

/* A token that is bound to a session sees its audit only, whether or not the query names it. */
void api_audit_read(struct exchange *x)
{
    struct audit *audit = arena_new(x->arena, struct audit);
    struct err err;
    *audit = (struct audit){.x = x, .arena = x->arena, .limit = 100, .until_ms = INT64_MAX};
    x->state = audit;
    EXCHANGE_TRY(x, read_audit(x, audit, &err));
    if (str_empty(audit->session))
        audit->session = x->token->session;
    if (!str_empty(audit->session))
        exchange_with_session(x, audit->session, audit_session_found);
    else
        start(audit);
}
