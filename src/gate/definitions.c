/* Definitions of tools of MCP servers, and repositories' files that name servers: which of them hold is the sum of
 * events, like trust in a project's rules (shapes_session.h: rule_pinned, rule_trusted).
 *
 * A definition that is seen for the first time is pinned as it is. One that differs, and a file that is not trusted
 * as it is, are asked about in calls of their own, McpDefinition and McpServers, with what is new as the preview; no
 * rule and no mode answers those, only a person. When the answer is yes the event is kept in the same append. Such
 * calls are only made here: one that an agent makes under these names has no digest of what was shown, and nothing
 * follows from an answer to it.
 */
#include "gate/inner.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "tools/tools.h"

static struct str news_data(struct arena *arena, const struct server_news *news, struct str call)
{
    if (!str_empty(news->file))
        return DATA(arena, rule_trusted, .path = news->file, .hash = news->digest, .call = call);
    return DATA(arena, rule_pinned, .root = news->root, .tool = news->tool, .digest = news->digest,
                .definition = news->definition, .call = call);
}

/* ---- what is new ---- */

/* The first definition of a tool is pinned without asking a person: there is no earlier one to compare it with. */
static void add_first(struct gate_news *news, const struct server_news *one)
{
    if (!news->pins)
        news->pins = append_new();
    if (news->pins->event_count == APPEND_EVENTS_MAX)
        return; /* the next time */
    (void)append_event(news->pins, (struct event){.kind = EVENT_RULE_CHANGED,
                                                  .at_ms = clock_wall_ms(),
                                                  .actor = STR("nod"),
                                                  .data = news_data(&news->pins->arena, one, STR_NONE)});
}

/* An ask that only a person can answer, with the digest of the new definition as what was shown. */
static void add_changed(struct gate_news *news, const struct ask *like, const struct server_news *one)
{
    struct ask *ask = &news->asks[news->ask_count++];
    bool file = !str_empty(one->file);
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_object(&out, J("file", one->file), J("root", one->root), J("tool", one->tool),
                J_RAW(file ? "content" : "definition", one->definition));
    *ask = *like;
    ask->name = file ? STR(SERVERS_TOOL) : STR(DEFINITION_TOOL);
    ask->id = arena_printf(like->op.arena, "%s_%.*s", file ? "servers" : "definition", 24, one->digest.p);
    CHECK(rc_ok(json_parse(like->op.arena, arena_str(like->op.arena, buf_str(&buf)), &ask->input, NULL)));
    ask->preview = one->preview;
    ask->files = one->digest;
    ask->only_person = true;
}

bool gate_has_servers(const struct gate *gate) { return gate->options.servers && servers_any(gate->options.servers); }

/* A tool of a proxied server is another tool for each token and each command or address: none can speak for another. */
static struct str proxied_root(const struct ask *ask, struct str source)
{
    return arena_printf(ask->op.arena, SERVERS_TOLD "%.*s:%.*s", STR_ARG(ask->by), STR_ARG(source));
}

/* For proxies (`nod mcp proxy`): a tool that is about to be called is compared with its pin. */
struct rc gate_told(struct gate *gate, const struct ask *like, const struct told_tool *tool,
                    struct gate_news *ret_news, struct err *err)
{
    struct server_news *news;
    *ret_news = (struct gate_news){0};
    if (!gate->options.servers)
        return err_set(err, ERR_UNAVAILABLE, "this server keeps no definitions");
    TRY(servers_told(gate->options.servers, like->op.arena, proxied_root(like, tool->source), tool->name,
                     tool->definition, &news, err));
    if (!news)
        return RC_OK;
    ret_news->asks = arena_array(like->op.arena, struct ask, 1);
    if (str_empty(news->preview))
        add_first(ret_news, news);
    else
        add_changed(ret_news, like, news);
    return RC_OK;
}

static struct str described(struct arena *arena, const struct ask *ask, const struct json *definition)
{
    static const char *const members[] = {"title", "description", "annotations"};
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_open(&out, '{');
    json_members(&out, J("type", "generic"), J("tool", ask->name));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct json *member = json_get(definition, members[i]);
        if (member)
            json_member_raw(&out, members[i], member->raw);
    }
    tool_fields(&out, json_get(definition, "inputSchema"), ask->input);
    json_member_raw(&out, "input", ask->input->raw);
    json_close(&out, '}');
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

struct rc gate_describe(struct gate *gate, struct ask *ask, struct str source, struct err *err)
{
    const struct json *definition;
    if (!gate->options.servers ||
        !servers_holds(gate->options.servers, ask->op.arena, proxied_root(ask, source), ask->name, &definition))
        return err_set(err, ERR_CONFLICT, "no definition of this tool holds: tell it first (tool-definitions)");
    ask->preview = described(ask->op.arena, ask, definition);
    ask->hints = tool_hints(definition);
    return RC_OK;
}

/* For Nod's own agent: asks the MCP servers themselves. Blocks, so it runs in a worker. */
void gate_tool_news(struct gate *gate, const struct ask *like, const atomic_bool *cancelled,
                    struct gate_news *ret_news)
{
    struct server_news *all = servers_news(gate->options.servers, like->op.arena, like->cwd, cancelled);
    size_t count = 0;
    for (const struct server_news *one = all; one; one = one->next)
        count++;
    *ret_news = (struct gate_news){.asks = arena_array(like->op.arena, struct ask, count + 1)};
    for (const struct server_news *one = all; one; one = one->next) {
        if (str_empty(one->preview))
            add_first(ret_news, one);
        else
            add_changed(ret_news, like, one);
    }
}

/* ---- what holds ---- */

void definitions_trusted(struct gate *gate, struct str path, struct str hash)
{
    if (gate->options.servers)
        servers_trust(gate->options.servers, path, hash);
}

void definitions_pinned(struct gate *gate, struct arena *scratch, struct str pinned)
{
    struct data_rule_pinned data;
    const struct json *definition = NULL;
    if (gate->options.servers && READ_DATA(scratch, rule_pinned, pinned, &data) && data.definition.n &&
        rc_ok(json_parse(scratch, data.definition, &definition, NULL)))
        servers_pin(gate->options.servers, data.root, data.tool, definition);
}
