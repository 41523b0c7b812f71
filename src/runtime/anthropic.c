/* The Messages API of Anthropic.
 *
 * Everything up to the last block of the conversation carries a cache breakpoint before what is new: on the
 * system prompt, on the tools, on the last turn. Blocks of the model go back with the bytes they came with, so
 * that signatures of thoughts hold and the cached beginning stays the same.
 */
#include "runtime/provider.h"

#define CACHED ",\"cache_control\":{\"type\":\"ephemeral\"}}"

/* Writes the object with a cache breakpoint after it. */
static void put_cached(struct json_out *out, struct arena *arena, struct str object)
{
    CHECK(object.n > 2 && object.p[object.n - 1] == '}');
    json_put_raw(out, arena_printf(arena, "%.*s" CACHED, (int)(object.n - 1), object.p));
}

static void put_block(struct json_out *out, struct arena *arena, struct str block, bool cached)
{
    if (cached)
        put_cached(out, arena, block);
    else
        json_put_raw(out, block);
}

static struct str text_block(struct arena *arena, struct str text)
{
    return json_object_str(arena, J("type", "text"), J_ALWAYS("text", text.n ? text : STR("(nothing)")));
}

/* The result of a use, also of one never asked about: the provider refuses a conversation with a use without one. */
static struct str result_block(struct arena *arena, const struct talk *talk, const struct use *use)
{
    bool is_error;
    struct str text = talk_outcome(arena, talk, talk_call(talk, use->id), &is_error);
    return json_object_str(arena, J("type", "tool_result"), J("tool_use_id", use->id), J_ALWAYS("content", text),
                           J_FLAG("is_error", is_error));
}

static void open_message(struct json_out *out, struct str role)
{
    json_open(out, '{');
    json_member(out, "role", role);
    json_open_member(out, "content", '[');
}

static void close_message(struct json_out *out)
{
    json_close(out, ']');
    json_close(out, '}');
}

/* Blocks go back exactly as they came, signatures of thinking included; the provider checks them. */
static void put_agent(struct json_out *out, const struct turn *turn)
{
    if (!turn->content || turn->content->count == 0)
        return;
    open_message(out, STR("assistant"));
    for (const struct json *block = turn->content->first; block; block = block->next)
        json_put_raw(out, block->raw);
    close_message(out);
}

static void put_results(struct json_out *out, struct arena *arena, const struct talk *talk, const struct turn *turn,
                        bool last)
{
    if (!turn->uses)
        return;
    open_message(out, STR("user"));
    for (const struct use *use = turn->uses; use; use = use->next)
        put_block(out, arena, result_block(arena, talk, use), last && !use->next);
    close_message(out);
}

/* Results of tools go into the user's message behind the agent's, in the order of the uses, as the API wants
 * them. */
static void put_messages(struct json_out *out, struct arena *arena, const struct request *request)
{
    bool closing = !str_empty(request->closing);
    json_open(out, '[');
    for (const struct turn *turn = request->talk->first; turn; turn = turn->next) {
        bool last = !turn->next && !closing;
        if (turn->kind == TURN_AGENT) {
            put_agent(out, turn);
            put_results(out, arena, request->talk, turn, last);
            continue;
        }
        open_message(out, STR("user"));
        put_block(out, arena, text_block(arena, turn->text), last);
        close_message(out);
    }
    if (closing) {
        open_message(out, STR("user"));
        put_cached(out, arena, text_block(arena, request->closing));
        close_message(out);
    }
    json_close(out, ']');
}

/* The last tool carries the cache breakpoint: tools before it are the same from turn to turn. */
static void put_tools(struct json_out *out, struct arena *arena, const struct request *request)
{
    const struct json *tools;
    if (str_empty(request->tools))
        return;
    CHECK(rc_ok(json_parse(arena, request->tools, &tools, NULL)));
    json_open_member(out, "tools", '[');
    if (request->web_search)
        json_put_raw(out, STR("{\"type\":\"web_search_20250305\",\"name\":\"web_search\",\"max_uses\":5}"));
    for (const struct json *tool = tools->first; tool; tool = tool->next)
        put_block(out, arena, tool->raw, !tool->next);
    json_close(out, ']');
    if (!request->parallel_tools)
        json_member_raw(out, "tool_choice", STR("{\"type\":\"auto\",\"disable_parallel_tool_use\":true}"));
}

static void write(struct json_out *out, struct arena *arena, const struct request *request)
{
    json_open(out, '{');
    json_members(out, J("model", request->model), J("max_tokens", request->answer_tokens), J_BOOL("stream", true));
    put_tools(out, arena, request);
    json_open_member(out, "system", '[');
    put_cached(out, arena, text_block(arena, request->system));
    json_close(out, ']');
    json_key(out, "messages");
    put_messages(out, arena, request);
    json_close(out, '}');
}

static void headers(struct arena *arena, const char *key, const char *list[HEADERS_MAX])
{
    size_t n = 0;
    list[n++] = "content-type: application/json";
    list[n++] = "accept: text/event-stream";
    list[n++] = "anthropic-version: 2023-06-01";
    if (key && key[0])
        list[n++] = arena_printf(arena, "x-api-key: %s", key).p;
    list[n] = NULL;
}

/* ---- the stream ---- */

static struct block *block_at(struct answer *answer, const struct json *event)
{
    int64_t index;
    bool known = json_i64(json_get(event, "index"), &index) && index >= 0 && (size_t)index < answer->count;
    return known ? &answer->blocks[index] : NULL;
}

static void take_usage(struct answer *answer, const struct json *usage)
{
    (void)json_i64(json_get(usage, "input_tokens"), &answer->usage.input);
    (void)json_i64(json_get(usage, "output_tokens"), &answer->usage.output);
    (void)json_i64(json_get(usage, "cache_read_input_tokens"), &answer->usage.cache_read);
    (void)json_i64(json_get(usage, "cache_creation_input_tokens"), &answer->usage.cache_write);
}

static void on_message_start(struct answer *answer, const struct json *event)
{
    const struct json *message = json_get(event, "message");
    answer->model = arena_str(&answer->arena, json_text(message, "model"));
    take_usage(answer, json_get(message, "usage"));
}

/* Blocks of unknown types are kept as they are, so that they can be sent back. */
static void on_block_start(struct answer *answer, const struct json *event)
{
    static const struct {
        const char *type;
        enum block_kind kind;
    } kinds[] = {{"text", BLOCK_TEXT}, {"thinking", BLOCK_THINKING}, {"tool_use", BLOCK_TOOL_USE}};
    const struct json *start = json_get(event, "content_block");
    enum block_kind kind = BLOCK_OTHER;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(json_text(start, "type"), kinds[i].type))
            kind = kinds[i].kind;
    struct block *block = start ? answer_add(answer, kind) : NULL;
    if (!block)
        return;
    block->id = arena_str(&answer->arena, json_text(start, "id"));
    block->name = arena_str(&answer->arena, json_text(start, "name"));
    if (kind == BLOCK_OTHER)
        block->raw = arena_str(&answer->arena, start->raw);
    if (kind == BLOCK_TEXT)
        answer_say(answer, block, json_text(start, "text"));
    if (kind == BLOCK_THINKING) {
        buf_put(&block->text, json_text(start, "thinking"));
        buf_put(&block->signature, json_text(start, "signature"));
    }
}

static void on_block_delta(struct answer *answer, const struct json *event)
{
    struct block *block = block_at(answer, event);
    const struct json *delta = json_get(event, "delta");
    struct str type = json_text(delta, "type");
    if (!block)
        return;
    if (str_is(type, "text_delta"))
        answer_say(answer, block, json_text(delta, "text"));
    else if (str_is(type, "input_json_delta"))
        buf_put(&block->text, json_text(delta, "partial_json"));
    else if (str_is(type, "thinking_delta"))
        buf_put(&block->text, json_text(delta, "thinking"));
    else if (str_is(type, "signature_delta"))
        buf_put(&block->signature, json_text(delta, "signature"));
}

static void on_message_delta(struct answer *answer, const struct json *event)
{
    struct str reason = json_text(json_get(event, "delta"), "stop_reason");
    if (reason.n)
        answer->stop_reason = arena_str(&answer->arena, reason);
    take_usage(answer, json_get(event, "usage"));
}

static void on_message_stop(struct answer *answer, const struct json *event)
{
    (void)event;
    answer->ended = true;
}

static void on_error(struct answer *answer, const struct json *event)
{
    const struct json *error = json_get(event, "error");
    struct str type = json_text(error, "type");
    answer->overloaded = !str_is(type, "invalid_request_error") && !str_is(type, "authentication_error");
    (void)err_set(&answer->err, answer->overloaded ? ERR_UNAVAILABLE : ERR_INVALID, "%.*s: %.*s", STR_ARG(type),
                  STR_ARG(json_text(error, "message")));
}

static const struct {
    const char *type;
    void (*take)(struct answer *answer, const struct json *event);
} takers[] = {
    {"message_start", on_message_start},
    {"content_block_start", on_block_start},
    {"content_block_delta", on_block_delta},
    {"message_delta", on_message_delta},
    {"message_stop", on_message_stop},
    {"error", on_error},
};

/* One event of the stream; false ends it. */
static bool take(struct answer *answer, struct str type, struct str data)
{
    ARENA_SCOPE(arena);
    const struct json *event;
    (void)type; /* the event names its type itself */
    if (rc_bad(json_parse(&arena, data, &event, NULL))) {
        (void)err_set(&answer->err, ERR_UNAVAILABLE, "the model's stream holds something that is not JSON");
        return false;
    }
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (str_is(json_text(event, "type"), takers[i].type))
            takers[i].take(answer, event);
    return answer->err.code == ERR_OK && !answer->ended;
}

const struct provider provider_anthropic = {
    .kind = "anthropic", .path = "/v1/messages", .headers = headers, .write = write, .take = take};
