/* nod claude --input-format stream-json: a program above us speaks Claude Code's control protocol itself, as the Agent
 * SDKs do.
 *
 * Its lines go on as they are, but for these: its initialize carries our hook besides its own, and there is only one;
 * it answers what it was asked, and nothing that is the gate's to answer. Of Claude Code's requests it gets those that
 * are for it (its own hooks, its own MCP servers); permissions, our hook and forms stay here.
 */
#include "cli/claude.h"

#include "agents/lines.h"
#include "base/limits.h"

#include <stdio.h>

/* ---- from Claude Code ---- */

static void pass_up(struct str line)
{
    cli_out(line);
    cli_out(STR("\n"));
    (void)fflush(stdout);
}

static bool is_ours(const struct json *request)
{
    struct str subtype = json_text(request, "subtype");
    return str_is(subtype, "can_use_tool") || str_is(subtype, "elicitation") ||
           (str_is(subtype, "hook_callback") && str_is(json_text(request, "callback_id"), "nod_before"));
}

static char *find_open(struct claude_host *host, struct str id)
{
    for (size_t i = 0; i < CLAUDE_HOST_OPEN_MAX; i++)
        if (!str_empty(id) && str_is(id, host->open[i]))
            return host->open[i];
    return NULL;
}

/* Requests that are for the program above us; its answers are matched by their ids. */
bool claude_host_takes(struct claude_host *host, struct str line)
{
    ARENA_SCOPE(arena);
    const struct json *json;
    if (!host->on || rc_bad(json_parse(&arena, line, &json, NULL)))
        return false;
    struct str type = json_text(json, "type"), id = json_text(json, "request_id");
    if (str_is(type, "control_request")) {
        if (is_ours(json_get(json, "request")) || str_empty(id))
            return false;
        char *slot = host->open[host->next++ % CLAUDE_HOST_OPEN_MAX];
        if (!str_c(id, slot, CLAUDE_HOST_ID_BYTES)) {
            slot[0] = '\0';
            return false;
        }
        pass_up(line);
        return true;
    }
    bool reply = str_is(type, "control_response");
    struct str answered = json_text(json_get(json, "response"), "request_id");
    bool cancels = str_is(type, "control_cancel_request") && find_open(host, id);
    if (cancels || (reply && !str_starts(answered, STR("nod_"))))
        pass_up(line);
    return false;
}

bool claude_host_is_initialize(const struct claude_host *host, struct str request)
{
    return str_is(request, "nod_hooks") || (host->initialize[0] && str_is(request, host->initialize));
}

/* ---- from the program above ---- */

static void refuse(struct str request, const char *words)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    claude_fail(&line, request, str_of(words));
    pass_up(str_sub(buf_str(&line), 0, line.n - 1));
}

/* The first thing that Claude Code hears is our hook. */
static void begin(struct claude_host *host, const struct json *theirs)
{
    BUF_SCOPE(line, LINE_BYTES_MAX);
    struct str request = json_text(theirs, "request_id");
    if (theirs && str_c(request, host->initialize, sizeof host->initialize))
        claude_initialize_too(&line, theirs);
    else
        claude_initialize(&line, STR("nod_hooks"));
    host->begun = true;
    if (line.over)
        cli_note("nod: the initialize request is too long, so nothing is let run");
    else
        (void)relay_pipe_send(host->pipe, &line);
}

/* Ids that begin with nod_ are ours; a host that used one could answer in our place. */
static void take_request(struct claude_host *host, struct str line, const struct json *json)
{
    struct str request = json_text(json, "request_id");
    bool initializes = str_is(json_text(json_get(json, "request"), "subtype"), "initialize");
    if (str_starts(request, STR("nod_")) || str_empty(request))
        refuse(request, "an id of a request must not begin with nod_");
    else if (initializes && host->begun)
        refuse(request, "Claude Code is initialized already, with Nod's hook");
    else if (initializes)
        begin(host, json);
    else
        (void)relay_pipe_put(host->pipe, line);
}

static struct str prompt_of(struct arena *arena, const struct json *json)
{
    BUF_SCOPE(text, LIMIT_BODY_BYTES);
    const struct json *content = json_get(json_get(json, "message"), "content");
    if (content && content->type == JSON_STRING)
        return arena_str(arena, content->text);
    for (const struct json *block = content ? content->first : NULL; block; block = block->next)
        buf_put(&text, json_text(block, "text"));
    return text.over ? STR("a prompt that is too long to be kept") : arena_str(arena, buf_str(&text));
}

/* Returns the prompt that the line holds, for the record; everything that is allowed has been passed on by then. */
struct str claude_host_says(struct claude_host *host, struct arena *arena, struct str line)
{
    const struct json *json;
    struct err err = {.code = ERR_OK};
    if (rc_bad(json_parse_given(arena, line, &json, &err))) {
        cli_note("nod: a line on standard input is not a message, so it is not passed on: %s", err.text);
        return STR_NONE;
    }
    struct str type = json_text(json, "type");
    bool request = str_is(type, "control_request");
    if (!host->begun && !request)
        begin(host, NULL);
    if (request) {
        take_request(host, line, json);
    } else if (str_is(type, "control_response")) {
        char *open = find_open(host, json_text(json_get(json, "response"), "request_id"));
        if (open) {
            open[0] = '\0';
            (void)relay_pipe_put(host->pipe, line);
        }
    } else {
        (void)relay_pipe_put(host->pipe, line);
    }
    return str_is(type, "user") ? prompt_of(arena, json) : STR_NONE;
}
