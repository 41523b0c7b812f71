/* The rows of the virtual database, looked through from end to end: the facts that the judge asks for, the answers of
 * reads, and a second opinion on every outcome. Slow and plain on purpose. */
#include "base/limits.h"
#include "sim/fiber.h"
#include "sim/sim.h"

static bool is_of(const struct row *row, struct str session) { return str_eq(row->event.session, session); }

const struct row *rows_find(struct str session, struct str call, enum event_kind kind)
{
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct row *row = &sim->db.rows[i];
        if (row->event.kind == kind && is_of(row, session) && str_eq(row->event.call, call))
            return row;
    }
    return NULL;
}

static uint64_t seq_of(struct str session, struct str call, enum event_kind kind)
{
    const struct row *row = rows_find(session, call, kind);
    return row ? row->event.seq : 0;
}

static const struct row *last_of(struct str session)
{
    for (size_t i = sim->db.count; i-- > 0;)
        if (is_of(&sim->db.rows[i], session))
            return &sim->db.rows[i];
    return NULL;
}

static uint64_t last_change(struct str session)
{
    uint64_t seq = 0;
    for (size_t i = 0; i < sim->db.count; i++) {
        const struct event *event = &sim->db.rows[i].event;
        if ((event->kind == EVENT_SESSION_CHANGED || event->kind == EVENT_SESSION_ARCHIVED) &&
            str_eq(event->session, session))
            seq = event->seq;
    }
    return seq;
}

static uint64_t last_run(struct str session, struct str thread)
{
    for (size_t i = sim->db.count; i-- > 0;) {
        const struct event *event = &sim->db.rows[i].event;
        if (event->kind == EVENT_RUN_STATUS && str_eq(event->session, session) && str_eq(event->thread, thread))
            return event->seq;
    }
    return 0;
}

static uint64_t archived_at(struct str session)
{
    const struct row *last = last_of(session);
    return last && last->event.kind == EVENT_SESSION_ARCHIVED ? last->event.seq : 0;
}

bool rows_end_with(struct str session, const struct digest *hash)
{
    const struct row *last = last_of(session);
    return last ? hash && digest_eq(&last->hash, hash) : !hash;
}

/* ---- facts ---- */

static void load_head(struct fact_head *head)
{
    const struct row *last = last_of(head->session);
    head->known = true;
    head->stored = last != NULL;
    if (!last)
        return;
    head->first_seq = last->chain;
    head->last_seq = last->event.seq;
    head->no = last->event.no;
    head->changed_seq = last_change(head->session);
    head->archived_seq = archived_at(head->session);
    head->hash = last->hash;
}

/* A mistake: the store has forgotten some of what it knows. */
static void forget_some(struct facts *facts)
{
    static const enum event_kind kinds[MISTAKE_COUNT] = {
        [MISTAKE_SECOND_CALL] = EVENT_TOOL_CALL, [MISTAKE_SECOND_RESPONSE] = EVENT_TOOL_APPROVAL_RESPONSE,
        [MISTAKE_SECOND_START] = EVENT_TOOL_STARTED, [MISTAKE_SECOND_RESULT] = EVENT_TOOL_RESULT,
        [MISTAKE_SECOND_ALERT] = EVENT_TOOL_APPROVAL_ALERT};
    for (struct fact_call *call = facts->first_call; call; call = call->next) {
        call->seqs[kinds[sim->mistake]] = 0;
        if (sim->mistake == MISTAKE_SECOND_CALL)
            call->seqs[EVENT_TOOL_APPROVAL_REQUEST] = call->seqs[EVENT_TOOL_APPROVAL_RESPONSE] = 0;
    }
}

/* A node alone on its store goes by what it remembers and assumes, and is compared; `all`: it does not. */
void rows_load(struct facts *facts, bool all)
{
    bool alone = !sim->db.shared && !all;
    for (struct fact_head *head = facts->first_head; head; head = head->next) {
        if (!alone || !head->known)
            load_head(head);
    }
    for (struct fact_call *call = facts->first_call; call; call = call->next) {
        call->assumed = alone && !call->known && call->made;
        if (call->assumed || (alone && call->known))
            continue;
        call->known = true;
        for (int kind = 1; kind < EVENT_KIND_END; kind++)
            call->seqs[kind] = event_kind_of_call((enum event_kind)kind)
                                   ? seq_of(call->session, call->call, (enum event_kind)kind) : 0;
    }
    for (struct fact_run *run = facts->first_run; run; run = run->next)
        run->seq = last_run(run->session, run->thread);
    forget_some(facts);
    if (alone && facts->recalled)
        return;
    facts->last_seq = sim->db.count;
    if (sim->db.count)
        facts->last_hash = sim->db.rows[sim->db.count - 1].hash;
}

/* ---- what becomes of a group, looked up ---- */

static bool need_holds(const struct need *need)
{
    const struct row *last = last_of(need->session);
    uint64_t last_seq = last ? last->event.seq : 0;
    switch (need->need) {
    case NEED_NONE: return true;
    case NEED_ABSENT: return seq_of(need->session, need->call, need->kind) == 0;
    case NEED_PRESENT: return seq_of(need->session, need->call, need->kind) != 0;
    case NEED_CHANGED_AT: return last_change(need->session) == need->seq;
    case NEED_RUN_AT: return last_run(need->session, need->call) == need->seq;
    case NEED_LAST_AT: return last_seq == need->seq;
    case NEED_NONE_AFTER: return last_seq <= need->seq;
    }
    return false;
}

/* An append of the gate is kept, or refused by the first need that does not hold; it fails only when its session is in
 * an archive, or when it would take a session away that is not what was written there. */
static void compare(const struct append *append)
{
    unsigned refused = 0;
    bool archived = false, leaves = append->events[0].kind == EVENT_SESSION_ARCHIVED;
    for (unsigned i = 0; i < append->event_count; i++)
        archived = archived || archived_at(append->events[i].session);
    while (refused < append->need_count && need_holds(&append->needs[refused]))
        refused++;
    bool kept = !archived && refused == append->need_count;
    if (archived != (append->outcome == APPEND_FAILED) && !leaves)
        sim_fail("the judge %s: %s", archived ? "adds to a session in an archive" : "takes an append for faulty",
                 append->err.text);
    else if (!archived && !leaves && kept != (append->outcome == APPEND_KEPT))
        sim_fail("the judge and a look through all rows differ: %s of %.*s is %s",
                 event_kind_name(append->events[0].kind), STR_ARG(append->events[0].call), kept ? "kept" : "refused");
    else if (append->outcome == APPEND_REFUSED && refused != append->refused_need)
        sim_fail("the judge names another need than the first that does not hold");
}

static void take_away(struct str session)
{
    for (size_t i = 0; i + 1 < sim->db.count; i++)
        if (is_of(&sim->db.rows[i], session))
            sim->db.rows[i].gone = true;
}

void rows_add(const struct row *row)
{
    struct database *db = &sim->db;
    struct row *added = &db->rows[db->count];
    const struct row *last = last_of(row->event.session);
    struct digest zero = {0};
    struct digest link = chain_next(last ? &last->hash : &zero, &row->event);
    CHECK(db->count < ROWS_MAX);
    *added = *row;
    added->event = event_copy(&sim->arena, &row->event);
    if (row->event.seq != db->count + 1)
        sim_fail("number %llu is left out or used twice", (unsigned long long)row->event.seq);
    if (row->event.no != (last ? last->event.no : 0) + 1)
        sim_fail("%llu has another number in its session", (unsigned long long)row->event.seq);
    if (!digest_eq(&link, &row->hash))
        sim_fail("the link of %llu is wrong", (unsigned long long)row->event.seq);
    if (row->chain != (last ? last->chain : row->event.seq))
        sim_fail("%llu is of another session", (unsigned long long)row->event.seq);
    db->count++;
    check_row(added);
    if (row->event.kind == EVENT_SESSION_ARCHIVED)
        take_away(row->event.session);
}

void rows_settle(struct append *group, const struct rows *rows, struct ghost *ghost)
{
    size_t at = 0;
    bool forgets = sim->mistake != MISTAKE_NONE && sim->mistake <= MISTAKE_OLD_RULES;
    sim->db.groups++;
    for (struct append *append = group; append; append = append->next) {
        if (!ghost && !forgets) /* what a ghost leaves is compared when it is kept */
            compare(append);
        for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++, at++) {
            CHECK(at < rows->count);
            const struct event_row *judged = &rows->events[at];
            struct row row = {.event = append->events[i], .hash = judged->hash, .chain = judged->chain,
                              .deadline_ms = judged->deadline_ms, .group = sim->db.groups,
                              .owner = runs_owner(sim_node())};
            if (!ghost)
                rows_add(&row);
            else if (ghost->count < sizeof ghost->rows / sizeof *ghost->rows) {
                row.event = event_copy(&sim->arena, &row.event);
                ghost->rows[ghost->count++] = row;
            }
        }
    }
}

/* ---- reads ---- */

/* Whether reads see that it has left. */
static bool is_gone(const struct row *row)
{
    return row->gone && archived_at(row->event.session) <= sim->db.shown;
}

static void put(struct read *read, const struct row *row)
{
    read->events[read->event_count] = event_copy(&read->arena, &row->event);
    read->event_count++;
}

static void answer_events(struct read *read)
{
    size_t limit = read->limit ? read->limit : LIMIT_PAGE_EVENTS;
    uint64_t from = read->after < sim->db.shown ? read->after : sim->db.shown;
    for (size_t i = (size_t)from; i < sim->db.shown && read->event_count < limit; i++) {
        const struct row *row = &sim->db.rows[i];
        if (is_gone(row) || (!str_empty(read->session) && !is_of(row, read->session)) ||
            (!str_empty(read->thread) && !str_eq(read->thread, row->event.thread)) ||
            (read->kinds && !(read->kinds & (uint64_t)1 << row->event.kind)))
            continue;
        put(read, row);
    }
    if (read->event_count == limit)
        read->covered = read->events[limit - 1].seq;
    bool all = str_empty(read->session) && read->kinds == 0 && sim->mistake != MISTAKE_GONE_UNTOLD;
    for (size_t i = (size_t)from; all && i < (size_t)read->covered && i < sim->db.shown; i++)
        if (is_gone(&sim->db.rows[i]))
            read->gone[read->gone_count++] = (struct seq_range){i + 1, i + 1};
}

static bool is_answered(const struct event *request)
{
    const struct row *response = rows_find(request->session, request->call, EVENT_TOOL_APPROVAL_RESPONSE);
    return response && response->event.seq <= sim->db.shown;
}

static void answer_open(struct read *read)
{
    for (size_t i = 0; i < sim->db.shown; i++) {
        const struct row *row = &sim->db.rows[i];
        if (is_gone(row) || row->event.kind != EVENT_TOOL_APPROVAL_REQUEST || is_answered(&row->event) ||
            (!str_empty(read->session) && !is_of(row, read->session)) ||
            (!str_empty(read->thread) && !str_eq(read->thread, row->event.thread)))
            continue;
        const struct row *call = rows_find(row->event.session, row->event.call, EVENT_TOOL_CALL);
        read->open[read->open_count++] = (struct open_approval){
            .call = event_copy(&read->arena, &call->event), .request = event_copy(&read->arena, &row->event),
            .deadline_ms = row->deadline_ms};
    }
}

/* Whether it is the last of its thread that reads see. */
static bool is_last_run(const struct row *row)
{
    for (size_t i = (size_t)row->event.seq; i < sim->db.shown; i++)
        if (sim->db.rows[i].event.kind == EVENT_RUN_STATUS && str_eq(sim->db.rows[i].event.thread, row->event.thread))
            return false;
    return row->event.kind == EVENT_RUN_STATUS && sim->mistake != MISTAKE_RUNS_LEFT;
}

static bool is_asked_for(const struct read *read, const struct row *row)
{
    switch (read->kind) {
    case READ_CALL: return event_kind_of_call(row->event.kind) && str_eq(row->event.call, read->call) &&
                           (str_empty(read->session) || is_of(row, read->session));
    case READ_SESSION: return row->event.kind == EVENT_SESSION_CHANGED && is_of(row, read->session);
    case READ_TOKENS: return row->event.kind == EVENT_TOKEN_CHANGED;
    case READ_RULES: return row->event.kind == EVENT_RULE_CHANGED;
    case READ_RUNS: return row->event.seq > read->after && is_last_run(row);
    default: return false;
    }
}

void rows_answer(struct read *read)
{
    read->events = arena_array(&read->arena, struct event, sim->db.shown + 1);
    read->archived = arena_array(&read->arena, struct event, SESSIONS);
    read->open = arena_array(&read->arena, struct open_approval, sim->db.shown + 1);
    read->gone = arena_array(&read->arena, struct seq_range, sim->db.shown + 1);
    read->covered = sim->db.shown;
    if (read->kind == READ_EVENTS) {
        answer_events(read);
        return;
    }
    if (read->kind == READ_OPEN) {
        answer_open(read);
        return;
    }
    for (size_t i = 0; i < sim->db.shown; i++) {
        const struct row *row = &sim->db.rows[i];
        uint64_t archived = is_asked_for(read, row) && is_gone(row) ? archived_at(row->event.session) : 0;
        if (!is_gone(row) && is_asked_for(read, row))
            put(read, row);
        else if (archived && read->archived_count == 0)
            read->archived[read->archived_count++] = event_copy(&read->arena, &sim->db.rows[archived - 1].event);
    }
}
