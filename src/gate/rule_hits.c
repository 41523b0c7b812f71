/* How often a rule decided, and when last. Counted from the calls in the log, which keep the rules of their
 * verdict: those of the last LIMIT_HITS_EVENTS events are read behind the start, every later one is counted
 * as it is followed, whichever node kept it. */
#include "gate/inner.h"

#include "base/limits.h"
#include "base/log.h"

/* A call's data ends with its verdict, and that with the rules, if there were any: the input before it, which
 * may be large, is not read. */
static bool rules_in(struct arena *arena, struct str data, const struct json **ret_ids)
{
    static const struct str mark = STR("\"rules\":[");
    if (!str_ends(data, STR("]}}")))
        return false;
    size_t open = data.n;
    while (open > 0 && data.p[open - 1] != '[')
        open--;
    if (!str_ends(str_sub(data, 0, open), mark))
        return false;
    struct str ids = str_sub(data, open - 1, data.n - 2);
    return rc_ok(json_parse(arena, ids, ret_ids, NULL)) && (*ret_ids)->type == JSON_ARRAY;
}

void hits_follow(struct gate *gate, const struct event *event)
{
    ARENA_SCOPE(scratch);
    const struct json *ids;
    if (event->kind != EVENT_TOOL_CALL || !rules_in(&scratch, event->data, &ids))
        return;
    for (const struct json *id = ids->first; id; id = id->next) {
        if (id->type != JSON_STRING)
            continue;
        struct rule_hits *hits = map_get(&gate->rules.hits, id->text);
        if (!hits) {
            hits = heap_new(sizeof *hits);
            (void)map_put(&gate->rules.hits, id->text, hits);
        }
        hits->count++;
        hits->last_ms = hits->last_ms > event->at_ms ? hits->last_ms : event->at_ms;
    }
}

static void ask_page(struct gate *gate, uint64_t after);

static void page_read(struct read *read)
{
    struct gate *gate = read->arg;
    uint64_t covered = read->covered;
    bool more = read->err.code == ERR_OK && covered > read->after && covered < gate->read_rules;
    if (read->err.code != ERR_OK && read->err.code != ERR_UNAVAILABLE)
        log_line(LOG_WARN, "the uses of rules cannot be counted", LOG_C("why", read->err.text));
    for (size_t i = 0; i < read->event_count; i++)
        if (read->events[i].seq <= gate->read_rules)
            hits_follow(gate, &read->events[i]);
    read_free(read);
    if (more)
        ask_page(gate, covered);
}

static void ask_page(struct gate *gate, uint64_t after)
{
    struct read *read = read_new(READ_EVENTS);
    read->kinds = UINT64_C(1) << EVENT_TOOL_CALL;
    read->after = after;
    read->limit = LIMIT_PAGE_EVENTS;
    read->done = page_read;
    read->arg = gate;
    store_read(gate->store, read);
}

void hits_begin(struct gate *gate)
{
    uint64_t last = gate->read_rules;
    if (last > 0)
        ask_page(gate, last > LIMIT_HITS_EVENTS ? last - LIMIT_HITS_EVENTS : 0);
}
