/* How often a rule decided, and when last. Counted from the calls in the log, which keep the rules of their
 * verdict: those of the last LIMIT_HITS_EVENTS events are read behind the start, every later one is counted
 * as it is followed, whichever node kept it. */
#include "gate/inner.h"

#include "base/limits.h"
#include "base/log.h"
#include "event/shapes.h"

/* Counts the rules that decided a call. Only data that ends with "]}}" is parsed: the list of rules is the last
 * member of the verdict, and the verdict is the last member of the call, so that calls decided without a rule cost
 * nothing. */
void rule_hits_follow(struct gate *gate, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_call call;
    bool perhaps = event->kind == EVENT_TOOL_CALL && str_ends(event->data, STR("]}}"));
    if (!perhaps || !READ_DATA(&scratch, tool_call, event->data, &call) || !call.verdict)
        return;
    for (size_t i = 0; i < call.verdict->rules.count; i++) {
        struct str id = call.verdict->rules.items[i];
        struct rule_hits *hits = map_get(&gate->rules.hits, id);
        if (!hits) {
            hits = heap_new(sizeof *hits);
            (void)map_put(&gate->rules.hits, id, hits);
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
            rule_hits_follow(gate, &read->events[i]);
    read_free(read);
    if (more)
        ask_page(gate, covered);
}

static void ask_page(struct gate *gate, uint64_t after)
{
    struct read *read = read_new_of((struct read){.kind = READ_EVENTS, .kinds = UINT64_C(1) << EVENT_TOOL_CALL,
                                                  .after = after, .limit = LIMIT_PAGE_EVENTS});
    gate_read(gate, read, page_read, gate);
}

void rule_hits_begin(struct gate *gate)
{
    uint64_t last = gate->read_rules;
    if (last > 0)
        ask_page(gate, last > LIMIT_HITS_EVENTS ? last - LIMIT_HITS_EVENTS : 0);
}
