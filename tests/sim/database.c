/* The virtual database: a backend that keeps its rows in memory, and fails in every way that the real ones do.
 *
 * Shared, it does as PostgreSQL: several nodes, a lock around each group, what memory knows tried first, groups that
 * move behind those of others, commits in doubt that are looked for, notifications, a history that must not go
 * backwards. Not shared, it does as SQLite: one node whose memory is the truth, calls assumed to be new, a sync behind
 * every commit.
 */
#include "sim/fiber.h"
#include "sim/sim.h"
#include "sim/wrap.h"

#include <stdio.h>
#include <stdlib.h>

enum { COMMIT_US = 7000000, READ_US = 10000000, RESOLVE_US = 60000000, LOCK_US = 5000000, PAUSE_US = 100000 };

static struct database *db(void) { return &sim->db; }

static bool is_dead(const struct backend_handle *handle) { return sim->nodes[handle->node].dead; }

/* ---- connections ---- */

void database_end_ghost(bool kept)
{
    struct ghost *ghost = &db()->ghost;
    if (db()->lock != ghost)
        return;
    for (size_t i = 0; kept && i < ghost->count; i++)
        rows_add(&ghost->rows[i]);
    if (kept)
        db()->synced = db()->shown = db()->count;
    db()->lock = NULL;
}

void database_drop_connections(void)
{
    database_end_ghost(false);
    for (int i = 0; i < LATE_GROUPS; i++)
        db()->late[i].group.count = 0;
    db()->generation++;
    db()->lock = NULL;
}

static struct rc unavailable(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "the database cannot be reached");
}

static void unlock_database(struct backend_handle *handle)
{
    handle->locked = false;
    if (db()->lock == handle)
        db()->lock = NULL;
}

/* A round trip. Whoever held the lock when connections were lost has it no more. */
static struct rc visit(struct backend_handle *handle, bool locked, struct err *err)
{
    if (is_dead(handle))
        return unavailable(err);
    if (fiber_node() >= 0) /* the loop's own commit is not interrupted */
        fiber_yield();
    if (is_dead(handle) || (db()->shared && sim->steady_us < db()->away_until_us))
        return unavailable(err);
    if (locked && db()->shared && handle->generation != db()->generation)
        return unavailable(err);
    return RC_OK;
}

static void notify(int by)
{
    for (int i = 0; i < NODES; i++)
        if (i != by && !sim_luck(FAULT_DEAF, 2))
            db()->notified[i] = true;
}

/* Who has waited for it so long ends whoever holds it and says nothing. A COMMIT on its way is left alone. */
static struct rc take_lock(struct backend_handle *handle, struct err *err)
{
    int64_t until_us = sim->steady_us + LOCK_US;
    TRY(visit(handle, false, err));
    handle->generation = db()->generation;
    while (db()->lock && db()->lock != handle && sim->mistake != MISTAKE_NO_LOCK) {
        if (sim->steady_us >= until_us && db()->lock != &db()->ghost) {
            db()->generation++;
            db()->lock = NULL;
            handle->generation = db()->generation;
            break;
        }
        fiber_wait(&db()->lock, until_us > sim->steady_us ? until_us : sim->steady_us + LOCK_US);
        if (is_dead(handle) || sim->steady_us < db()->away_until_us)
            return unavailable(err);
        handle->generation = db()->generation;
    }
    db()->lock = handle;
    return RC_OK;
}

/* ---- history ---- */

static struct anchor last_row(void)
{
    struct anchor last = {.seq = db()->count};
    if (last.seq)
        last.hash = db()->rows[last.seq - 1].hash;
    return last;
}

static struct rc check_history(struct backend_handle *handle, struct err *err)
{
    struct anchor anchor = memory_anchor(handle->memory);
    if (anchor.seq == 0 || sim->mistake == MISTAKE_HISTORY_UNNOTICED)
        return RC_OK;
    bool there = anchor.seq <= db()->count && digest_eq(&db()->rows[anchor.seq - 1].hash, &anchor.hash);
    return there ? RC_OK : memory_break(handle->memory, anchor.seq, err);
}

/* Rows were taken back: a session that had left is there again, if its leaving is among them. */
static void bring_back(void)
{
    for (size_t i = 0; i < db()->count; i++) {
        struct row *row = &db()->rows[i];
        bool leaves = false;
        for (size_t k = i + 1; k < db()->count; k++)
            leaves = leaves || (db()->rows[k].event.kind == EVENT_SESSION_ARCHIVED &&
                                str_eq(db()->rows[k].event.session, row->event.session));
        row->gone = leaves;
    }
}

void database_promote(void)
{
    size_t lost = db()->count > 2 ? 1 + sim_random(db()->count / 4 + 1) : 0;
    if (!db()->shared || db()->before_count || lost == 0)
        return;
    database_drop_connections();
    memcpy(db()->before, db()->rows, sizeof db()->rows);
    db()->before_count = db()->count;
    db()->count -= lost;
    while (db()->count && db()->rows[db()->count - 1].group == db()->rows[db()->count].group)
        db()->count--; /* it has whole transactions */
    db()->kept_count = db()->synced = db()->shown = db()->count;
    bring_back();
    sim->acked = sim->acked < db()->count ? sim->acked : db()->count;
    sim->epoch++;
}

void database_power_cut(void)
{
    size_t left = db()->synced;
    if (sim->mistake == MISTAKE_TORN_GROUP)
        left += (db()->count - left) / 2;
    db()->count = db()->synced = db()->shown = left;
    bring_back();
}

/* ---- a group ---- */

static struct rc load(struct backend_handle *handle, struct facts *facts, bool all, struct err *err)
{
    if (db()->shared) {
        if (all && !handle->locked)
            TRY(take_lock(handle, err));
        handle->locked = handle->locked || all;
        TRY(visit(handle, handle->locked, err));
        TRY(check_history(handle, err));
    }
    rows_load(facts, all);
    handle->seen_seq = db()->count;
    return RC_OK;
}

static bool assumptions_hold(const struct facts *facts)
{
    for (const struct fact_call *call = facts->first_call; call; call = call->next)
        if (call->assumed && rows_find(call->session, call->call, EVENT_TOOL_CALL))
            return false;
    return true;
}

/* Whether the event that the group was judged behind is there. */
static bool is_behind(const struct facts *facts)
{
    return facts->last_seq <= db()->count &&
           (facts->last_seq == 0 || digest_eq(&facts->last_hash, &db()->rows[facts->last_seq - 1].hash));
}

static bool heads_hold(const struct facts *facts)
{
    for (const struct fact_head *head = facts->first_head; head; head = head->next)
        if (!rows_end_with(head->session, head->stored ? &head->hash_before : NULL))
            return false;
    return true;
}

/* The connection is lost when all of the group is on its way. */
static struct rc send_late(const struct backend_handle *handle, const struct facts *facts, const struct rows *rows,
                           struct err *err)
{
    struct late *late = &db()->late[sim_random(LATE_GROUPS)];
    *late = (struct late){.node = handle->node, .facts = {.last_seq = facts->last_seq, .last_hash = facts->last_hash}};
    for (const struct fact_head *head = facts->first_head; head; head = head->next) {
        struct fact_head *copy = arena_array(&sim->arena, struct fact_head, 1);
        *copy = *head;
        copy->session = arena_str(&sim->arena, head->session);
        copy->next = late->facts.first_head;
        late->facts.first_head = copy;
    }
    for (const struct fact_call *call = facts->first_call; call; call = call->next) {
        struct fact_call *copy = arena_array(&sim->arena, struct fact_call, 1);
        *copy = *call;
        copy->session = arena_str(&sim->arena, call->session);
        copy->call = arena_str(&sim->arena, call->call);
        copy->next = late->facts.first_call;
        late->facts.first_call = copy;
    }
    rows_settle(handle->group, rows, &late->group);
    return unavailable(err);
}

void database_read_late(void)
{
    struct late *late = &db()->late[sim_random(LATE_GROUPS)];
    if (late->group.count == 0 || db()->lock)
        return;
    bool kept = is_behind(&late->facts) && heads_hold(&late->facts) && assumptions_hold(&late->facts);
    uint64_t after = late->facts.last_seq, by = db()->count - after;
    if (sim->trace)
        (void)printf("      a late group of node %d is %s\n", late->node, kept ? "kept" : "not kept");
    for (size_t i = 0; kept && i < late->group.count; i++) {
        struct row *row = &late->group.rows[i];
        row->event.seq += by;
        row->chain += row->chain > after ? by : 0;
        rows_add(row);
    }
    if (kept) {
        db()->synced = db()->shown = db()->count;
        notify(late->node);
    }
    late->group.count = 0;
}

/* COMMIT was sent. */
static struct rc commit_shared(struct backend_handle *handle, const struct rows *rows, struct err *err)
{
    uint64_t fate = sim_luck(FAULT_DOUBT, 6) ? 1 + sim_random(3) : 0;
    if (fate == 3) {
        struct ghost *ghost = &db()->ghost;
        *ghost = (struct ghost){0};
        rows_settle(handle->group, rows, ghost);
        db()->lock = ghost;
        return unavailable(err);
    }
    if (fate != 2) {
        rows_settle(handle->group, rows, NULL);
        db()->synced = db()->shown = db()->count;
        notify(handle->node);
    }
    unlock_database(handle);
    if (fate == 0 && rc_ok(visit(handle, false, err)))
        return RC_OK;
    return unavailable(err);
}

/* A group whose lock is not held yet takes it when all of it has arrived. */
static struct rc write_shared(struct backend_handle *handle, struct facts *facts, struct rows *rows, bool *ret_held,
                              struct err *err)
{
    *ret_held = false;
    group_note_sent(&handle->sent, facts, rows);
    if (sim_luck(FAULT_STUCK, 30)) /* half of it is sent */
        fiber_wait(NULL, sim->steady_us + 20000000);
    bool locked = handle->locked;
    handle->locked = false;
    if (!locked && !facts->leaves && sim_luck(FAULT_DOUBT, 12))
        return send_late(handle, facts, rows, err);
    TRY(locked ? visit(handle, true, err) : take_lock(handle, err));
    if (!is_behind(facts) || !heads_hold(facts) || !assumptions_hold(facts)) {
        unlock_database(handle);
        group_forget_sent(&handle->sent);
        return RC_OK;
    }
    *ret_held = true;
    judge_move(facts, rows, db()->count);
    handle->sent.after = facts->last_seq; /* as its events have moved already */
    TRY(commit_shared(handle, rows, err));
    handle->seen_seq = facts->last_seq;
    return RC_OK;
}

/* Between the write and the sync the power may fail. A sync that fails leaves nothing of the group. */
static struct rc write_alone(struct backend_handle *handle, struct facts *facts, struct rows *rows, bool *ret_held,
                             struct err *err)
{
    *ret_held = assumptions_hold(facts);
    if (!*ret_held)
        return RC_OK;
    if (!is_behind(facts) || facts->last_seq != db()->count)
        sim_fail("the node does not know the last event of its own store");
    rows_settle(handle->group, rows, NULL);
    if (sim->mistake == MISTAKE_NOT_SYNCED) {
        db()->shown = db()->count;
        return RC_OK;
    }
    TRY(visit(handle, false, err));
    if (sim_luck(FAULT_AWAY, 20)) {
        db()->count = db()->synced;
        bring_back();
        return err_set(err, ERR_IO, "the disk is full");
    }
    db()->synced = db()->shown = db()->count;
    return RC_OK;
}

static struct rc write_rows(struct backend_handle *handle, struct facts *facts, struct rows *rows, bool *ret_held,
                            struct err *err)
{
    return (db()->shared ? write_shared : write_alone)(handle, facts, rows, ret_held, err);
}

static struct rc abandon(struct backend_handle *handle, struct err *err)
{
    struct rows none = {0};
    (void)err;
    rows_settle(handle->group, &none, NULL);
    unlock_database(handle);
    return RC_OK;
}

static const struct group_ways shared_ways = {.load = load, .write = write_rows, .abandon = abandon, .shared = true};
static const struct group_ways alone_ways = {.load = load, .write = write_rows, .abandon = abandon};

/* A mistake: rules and tokens never change. */
static void forget_rules(struct append *group)
{
    for (struct append *append = group; append; append = append->next)
        for (unsigned i = 0; i < append->need_count; i++)
            if (append->needs[i].need == NEED_NONE_AFTER)
                append->needs[i].seq = UINT64_MAX;
}

static void forget_runs(struct append *group)
{
    for (struct append *append = group; append; append = append->next)
        for (unsigned i = 0; i < append->need_count; i++)
            if (append->needs[i].need == NEED_RUN_AT)
                append->needs[i].need = NEED_NONE;
}

static struct rc commit_once(struct backend_handle *handle, struct append *group, struct err *err)
{
    bool tried = false, kept = false;
    if (sim->mistake == MISTAKE_OLD_RULES)
        forget_rules(group);
    if (sim->mistake == MISTAKE_SECOND_RUN)
        forget_runs(group);
    handle->group = group;
    if (!db()->shared)
        return group_commit(&alone_ways, handle, handle->memory, group, err);
    if (!handle->locked && sim_random(3))
        TRY(group_commit_remembered(&shared_ways, handle, handle->memory, group, &tried, &kept, err));
    return kept ? RC_OK : group_commit(&shared_ways, handle, handle->memory, group, err);
}

/* The last number of the group that was sent; 0: it is not there. The hashes of groups as PostgreSQL lists them. */
static uint64_t find_sent(const struct group_sent *sent)
{
    struct digest ends[ROWS_MAX + 1] = {0}; /* by number: the hash of the group that ends there */
    struct digest_sum *sum = chain_group_begin(&ends[0]);
    uint64_t at = 0;
    for (size_t seq = 1; seq <= db()->count; seq++) {
        const struct row *row = &db()->rows[seq - 1];
        chain_group_add(sum, &row->hash);
        if (sim->mistake == MISTAKE_DOUBT_BY_LAST_LINK && digest_eq(&row->hash, &sent->links[sent->count - 1]))
            at = seq;
        if (seq < db()->count && row[1].group == row->group)
            continue;
        ends[seq] = chain_group_end(sum, seq);
        sum = chain_group_begin(&ends[seq]);
        if (seq >= sent->count && group_is_sent(sent, seq, &ends[seq - sent->count], &ends[seq]))
            at = seq;
    }
    (void)chain_group_end(sum, 0);
    return at;
}

/* A group that came late stands behind others. */
static void move_group(struct append *group, uint64_t by)
{
    for (struct append *append = group; append; append = append->next)
        for (unsigned i = 0; append->outcome == APPEND_KEPT && i < append->event_count; i++)
            append->events[i].seq += by;
}

/* The lock is had only when the transaction in doubt has ended. A group that is not there is sent again while it is
 * held, so that it cannot come late in between. */
static struct rc resolve(struct backend_handle *handle, bool *ret_kept, struct err *err)
{
    int64_t until_us = sim->steady_us + RESOLVE_US;
    *ret_kept = sim->mistake == MISTAKE_DOUBT_TAKEN_FOR_KEPT;
    if (*ret_kept || sim->mistake == MISTAKE_DOUBT_TAKEN_FOR_LOST)
        return RC_OK;
    while (!is_dead(handle) && sim->steady_us < until_us) {
        struct rc rc = sim->mistake == MISTAKE_MARK_WITHOUT_LOCK ? visit(handle, false, err) : take_lock(handle, err);
        if (rc_ok(rc))
            rc = check_history(handle, err);
        struct anchor last = last_row();
        uint64_t at = rc_ok(rc) ? find_sent(&handle->sent) : 0;
        *ret_kept = at != 0;
        if (*ret_kept) {
            move_group(handle->group, at - handle->sent.after - handle->sent.count);
            handle->seen_seq = at - handle->sent.count;
        }
        if (*ret_kept && sim->mistake != MISTAKE_DOUBT_FORGOTTEN)
            memory_meet(handle->memory, &last); /* it will be told, though nobody has read it */
        if (rc_bad(rc) || *ret_kept || sim->mistake == MISTAKE_DOUBT_UNLOCKED)
            unlock_database(handle);
        handle->locked = db()->lock == handle;
        if (rc_ok(rc) || rc.code == ERR_HISTORY)
            return rc;
        fiber_wait(NULL, sim->steady_us + PAUSE_US);
    }
    return unavailable(err);
}

static void note_refusals(const struct backend_handle *handle, struct append *group)
{
    for (struct append *append = group; append; append = append->next)
        if (append->outcome == APPEND_REFUSED)
            ((struct submitted *)append->arg)->refused_at = handle->seen_seq;
}

static struct rc commit_patiently(struct backend_handle *handle, struct append *group, struct err *err)
{
    int64_t until_us = sim->steady_us + COMMIT_US;
    for (;;) {
        bool kept = false;
        group_forget_sent(&handle->sent);
        struct rc rc = memory_check(handle->memory, err);
        if (rc_ok(rc))
            rc = commit_once(handle, group, err);
        if (rc_ok(rc)) {
            note_refusals(handle, group);
            return rc;
        }
        unlock_database(handle);
        memory_clear(handle->memory);
        if (handle->sent.count)
            TRY(resolve(handle, &kept, err));
        if (kept)
            return RC_OK;
        if (rc.code != ERR_UNAVAILABLE || is_dead(handle) || sim->steady_us >= until_us) {
            unlock_database(handle);
            return rc;
        }
        if (!handle->locked)
            fiber_wait(NULL, sim->steady_us + PAUSE_US);
    }
}

/* The writer's handle is used by its thread and by the loop, by one at a time. */
static void use(struct backend_handle *writer)
{
    if (writer->used)
        sim_fail("two threads use the writer's handle");
    writer->used = true;
}

static struct rc commit(struct backend_handle *handle, struct append *group, struct err *err)
{
    if (db()->shared)
        return commit_patiently(handle, group, err);
    use(handle);
    struct rc rc = commit_once(handle, group, err);
    if (rc_bad(rc))
        memory_clear(handle->memory);
    handle->used = false;
    return rc;
}

/* The loop commits by itself, unless somebody holds the database or a checkpoint is due. */
static bool begin_quickly(struct backend_handle *writer)
{
    use(writer);
    writer->used = false;
    return sim_random(4) != 0;
}

/* ---- the rest of a backend ---- */

static struct rc open_handle(const char *place, enum backend_role role, struct backend_handle **ret_handle,
                             struct err *err)
{
    struct backend_handle *handle = heap_new(sizeof *handle);
    (void)err;
    *handle = (struct backend_handle){.node = sim->at, .role = role, .memory = memory_open(place),
                                      .seen_seq = db()->count};
    if (!db()->shared && role == BACKEND_WRITER)
        db()->synced = db()->shown = db()->count; /* also what a killed process had written: it is synced first */
    struct anchor last = last_row();
    memory_meet(handle->memory, &last);
    *ret_handle = handle;
    return RC_OK;
}

static void close_handle(struct backend_handle *handle)
{
    unlock_database(handle);
    memory_close(handle->memory);
    group_forget_sent(&handle->sent);
    free(handle);
}

static struct rc last_seq(struct backend_handle *handle, uint64_t *ret_seq, struct err *err)
{
    (void)handle;
    (void)err;
    *ret_seq = db()->count;
    return RC_OK;
}

static struct rc probe(struct backend_handle *writer, struct err *err)
{
    use(writer);
    struct rc rc = visit(writer, false, err);
    writer->used = false;
    return rc;
}

/* What only the writer may do between two groups takes its time. */
static struct rc settle(struct backend_handle *writer, bool idle, struct err *err)
{
    (void)idle;
    return probe(writer, err);
}

static struct rc read_once(struct backend_handle *handle, struct read *read, struct err *err)
{
    TRY(memory_check(handle->memory, err));
    if (!is_dead(handle)) /* else nobody looks at the answer; but what waits for it comes to an end */
        TRY(visit(handle, false, err));
    if (db()->shared)
        TRY(check_history(handle, err));
    rows_answer(read);
    read->seen = db()->shown;
    struct anchor last = {.seq = read->seen};
    if (db()->shared && last.seq) {
        last.hash = db()->rows[last.seq - 1].hash;
        memory_meet(handle->memory, &last); /* the answer shows what may not have been followed yet */
    }
    bool all = read->kind == READ_EVENTS && read->kinds == 0 && str_empty(read->session);
    for (size_t i = 0; db()->shared && all && i < read->event_count; i++) {
        const struct row *row = &db()->rows[read->events[i].seq - 1];
        memory_follow(handle->memory, &read->events[i], row->chain, &row->hash);
    }
    for (uint64_t i = sim->faults[FAULT_SLOW] && !sim->calm ? sim_random(4) : 0; i > 0 && !is_dead(handle); i--)
        fiber_yield();
    return RC_OK;
}

static struct rc read_rows(struct backend_handle *handle, struct read *read, struct err *err)
{
    int64_t until_us = sim->steady_us + (handle->role == BACKEND_READER ? READ_US : 0);
    for (;;) {
        struct rc rc = read_once(handle, read, err);
        if (rc.code != ERR_UNAVAILABLE || is_dead(handle) || sim->steady_us >= until_us) {
            if (rc_ok(rc) && err)
                *err = (struct err){.code = ERR_OK};
            return rc;
        }
        fiber_wait(NULL, sim->steady_us + PAUSE_US);
    }
}

static struct rc wait_for_others(struct backend_handle *follower, const struct backend_handle *writer, int stop_fd,
                                 int timeout_ms, struct err *err)
{
    struct pollfd fd = {.fd = stop_fd};
    int64_t until_us = sim->steady_us + (int64_t)timeout_ms * 1000;
    bool *notified = &db()->notified[follower->node];
    (void)writer;
    while (!*notified && __wrap_poll(&fd, 1, 0) == 0) {
        if (is_dead(follower))
            return unavailable(err);
        if (sim->steady_us >= until_us && sim->mistake != MISTAKE_NO_LOOK)
            break;
        fiber_wait(NULL, sim->steady_us + 20000);
    }
    *notified = false;
    return RC_OK;
}

static uint64_t seen_seq(const struct backend_handle *writer) { return writer->seen_seq; }

const struct backend backend_shared = {
    .scheme = "shared",
    .open = open_handle,
    .close = close_handle,
    .commit = commit,
    .probe = probe,
    .last_seq = last_seq,
    .read = read_rows,
    .wait = wait_for_others,
    .seen_seq = seen_seq,
};

const struct backend backend_alone = {
    .scheme = "alone",
    .open = open_handle,
    .close = close_handle,
    .commit = commit,
    .begin_quickly = begin_quickly,
    .probe = probe,
    .settle = settle,
    .last_seq = last_seq,
    .read = read_rows,
};
