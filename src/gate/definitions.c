/* Definitions of tools of MCP servers: which of them hold is the sum of events, like trust in a project's rules.
 *
 *   RULE_CHANGED {"change":"pinned","tool","digest","definition":{"description","inputSchema"},"toolCallId"}
 *
 * One that is seen for the first time is pinned as it is. One that differs is asked about in a call of its own,
 * McpDefinition, with the difference as its preview; no rule and no mode answers that, only a person. When the
 * answer is yes the pin is kept in the same append. Such a call is only made here: one that an agent makes under
 * this name has no digest of a definition, and an answer to it pins nothing.
 */
#include "gate/inner.h"

#include "io/clock.h"
#include "tools/tools.h"

static const struct str asked_as = {"McpDefinition", 13};

static struct str pin_data(struct arena *arena, const struct server_news *news, struct str call)
{
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "change", STR("pinned"));
    json_member(&out, "tool", news->tool);
    json_member(&out, "digest", news->digest);
    json_member_raw(&out, "definition", news->definition);
    json_member(&out, "toolCallId", call);
    json_close(&out, '}');
    CHECK(!buf.over);
    return arena_str(arena, buf_str(&buf));
}

/* ---- what is new ---- */

static void add_first(struct gate_news *news, const struct server_news *one)
{
    if (!news->pins)
        news->pins = append_new();
    if (news->pins->event_count == APPEND_EVENTS_MAX)
        return; /* the next time */
    (void)append_event(news->pins, (struct event){.kind = EVENT_RULE_CHANGED,
                                                  .at_ms = clock_wall_ms(),
                                                  .actor = STR("nod"),
                                                  .data = pin_data(&news->pins->arena, one, STR_NONE)});
}

static void add_changed(struct gate_news *news, const struct ask *like, const struct server_news *one)
{
    struct ask *ask = &news->asks[news->ask_count++];
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "tool", one->tool);
    json_member_raw(&out, "definition", one->definition);
    json_close(&out, '}');
    *ask = *like;
    ask->name = asked_as;
    ask->id = arena_printf(like->arena, "definition_%.*s", 24, one->digest.p);
    CHECK(rc_ok(json_parse(like->arena, arena_str(like->arena, buf_str(&buf)), &ask->input, NULL)));
    ask->preview = one->preview;
    ask->files = one->digest;
    ask->only_person = true;
}

bool gate_has_servers(const struct gate *gate) { return gate->servers != NULL; }

void gate_tool_news(struct gate *gate, const struct ask *like, const atomic_bool *cancelled,
                    struct gate_news *ret_news)
{
    struct server_news *all = servers_news(gate->servers, like->arena, cancelled);
    size_t count = 0;
    for (const struct server_news *one = all; one; one = one->next)
        count++;
    *ret_news = (struct gate_news){.asks = arena_array(like->arena, struct ask, count + 1)};
    for (const struct server_news *one = all; one; one = one->next) {
        if (str_empty(one->preview))
            add_first(ret_news, one);
        else
            add_changed(ret_news, like, one);
    }
}

/* ---- what was agreed to ---- */

bool definitions_asked(const struct decide *d, const struct open *open)
{
    bool allows = d->decision == DECISION_ALLOW_ONCE || d->decision == DECISION_ALLOW_SESSION ||
                  d->decision == DECISION_ALLOW_ALWAYS;
    return allows && str_eq(open->name, asked_as);
}

void definitions_agreed(struct append *append, const struct call *call, const struct event *response)
{
    const struct json *input = NULL;
    if (!str_eq(call->name, asked_as) || str_empty(call->files) ||
        rc_bad(json_parse(&append->arena, arena_str(&append->arena, call->input), &input, NULL)))
        return;
    const struct json *definition = json_get(input, "definition");
    CHECK(definition);
    struct server_news news = {.tool = json_text(input, "tool"), .digest = call->files, .definition = definition->raw};
    (void)append_event(append, (struct event){.kind = EVENT_RULE_CHANGED,
                                              .at_ms = response->at_ms,
                                              .actor = response->actor,
                                              .data = pin_data(&append->arena, &news, response->call)});
}

void definitions_follow(struct gate *gate, const struct json *data)
{
    const struct json *definition = json_get(data, "definition");
    if (gate->servers && definition)
        servers_pin(gate->servers, json_text(data, "tool"), definition);
}
