/* Chat completions, as OpenAI has them and many others speak them (Gemini's compatible endpoint, vLLM, Ollama,
 * llama.cpp). The base URL ends before /chat/completions. */
#include "runtime/provider.h"

static void put_message(struct json_out *out, struct str role, struct str text)
{
    json_object(out, J("role", role), J_ALWAYS("content", text));
}

static void put_use(struct json_out *out, const struct use *use)
{
    json_object(out, J("id", use->id), J("type", "function"),
                J_OBJECT("function", J("name", use->name),
                         J_ALWAYS("arguments", use->input ? use->input->raw : STR("{}"))));
}

/* Blocks other than text and uses (thoughts) are left out: this API does not take them back. */
static void put_agent(struct json_out *out, const struct turn *turn)
{
    BUF_SCOPE(text, LIMIT_ANSWER_BYTES);
    for (const struct json *block = turn->content ? turn->content->first : NULL; block; block = block->next)
        if (str_is(json_text(block, "type"), "text"))
            buf_put(&text, json_text(block, "text"));
    json_open(out, '{');
    json_member(out, "role", STR("assistant"));
    json_key(out, "content");
    if (text.n || !turn->uses)
        json_put_str(out, buf_str(&text));
    else
        json_put_null(out);
    if (turn->uses) {
        JSON_LIST(out, "tool_calls")
            for (const struct use *use = turn->uses; use; use = use->next)
                put_use(out, use);
    }
    json_close(out, '}');
}

/* One message per result; the protocol has no flag for errors, so that the text says it. */
static void put_results(struct json_out *out, struct arena *arena, const struct talk *talk, const struct turn *turn)
{
    for (const struct use *use = turn->uses; use; use = use->next) {
        bool is_error;
        struct str text = talk_outcome(arena, talk, talk_call(talk, use->id), &is_error);
        json_object(out, J("role", "tool"), J("tool_call_id", use->id),
                    J_ALWAYS("content", is_error ? arena_printf(arena, "Error: %.*s", STR_ARG(text)) : text));
    }
}

static void put_tools(struct json_out *out, struct arena *arena, const struct request *request)
{
    const struct json *tools;
    if (str_empty(request->tools))
        return;
    CHECK(rc_ok(json_parse(arena, request->tools, &tools, NULL)));
    JSON_LIST(out, "tools")
        for (const struct json *tool = tools->first; tool; tool = tool->next) {
            json_object(out, J("type", "function"), J_OBJECT("function", J("name", json_text(tool, "name")),
                                                             J("description", json_text(tool, "description")),
                                                             J_RAW("parameters", json_get(tool, "input_schema")->raw)));
        }
    json_member_bool(out, "parallel_tool_calls", request->parallel_tools);
}

static void write(struct json_out *out, struct arena *arena, const struct request *request)
{
    json_open(out, '{');
    json_members(out, J("model", request->model), J("max_tokens", request->answer_tokens), J_BOOL("stream", true),
                 J_RAW("stream_options", STR("{\"include_usage\":true}")));
    put_tools(out, arena, request);
    json_open_member(out, "messages", '[');
    put_message(out, STR("system"), request->system);
    for (const struct turn *turn = request->talk->first; turn; turn = turn->next) {
        if (turn->kind == TURN_USER) {
            put_message(out, STR("user"), turn->text);
        } else {
            put_agent(out, turn);
            put_results(out, arena, request->talk, turn);
        }
    }
    if (!str_empty(request->closing))
        put_message(out, STR("user"), request->closing);
    json_close(out, ']');
    json_close(out, '}');
}

static void headers(struct arena *arena, const char *key, const char *list[HEADERS_MAX])
{
    size_t n = 0;
    list[n++] = "content-type: application/json";
    list[n++] = "accept: text/event-stream";
    if (key && key[0])
        list[n++] = arena_printf(arena, "authorization: Bearer %s", key).p;
    list[n] = NULL;
}

/* ---- the stream ---- */

static struct block *last_text(struct answer *answer)
{
    if (answer->count && answer->blocks[answer->count - 1].kind == BLOCK_TEXT)
        return &answer->blocks[answer->count - 1];
    return answer_add(answer, BLOCK_TEXT);
}

/* Finds or adds the tool use at this index; its first piece brings its name. */
static struct block *use_at(struct answer *answer, int64_t index)
{
    for (size_t i = 0; i < answer->count; i++)
        if (answer->blocks[i].kind == BLOCK_TOOL_USE && index-- == 0)
            return &answer->blocks[i];
    return answer_add(answer, BLOCK_TOOL_USE);
}

/* Pieces of a use come under its index; the id and the name only with the first. */
static void take_uses(struct answer *answer, const struct json *uses)
{
    for (const struct json *use = uses ? uses->first : NULL; use; use = use->next) {
        const struct json *function = json_get(use, "function");
        struct str id = json_text(use, "id"), name = json_text(function, "name");
        int64_t index = 0;
        (void)json_i64(json_get(use, "index"), &index);
        struct block *block = use_at(answer, index < 0 ? 0 : index);
        if (!block)
            return;
        if (id.n)
            block->id = arena_str(&answer->arena, id);
        if (name.n)
            block->name = arena_str(&answer->arena, name);
        buf_put(&block->text, json_text(function, "arguments"));
    }
}

/* Cached tokens are part of prompt_tokens here, and counted apart by us. */
static void take_usage(struct answer *answer, const struct json *usage)
{
    int64_t all = 0, cached = 0;
    if (!usage || usage->type != JSON_OBJECT)
        return;
    (void)json_i64(json_get(usage, "prompt_tokens"), &all);
    (void)json_i64(json_get(json_get(usage, "prompt_tokens_details"), "cached_tokens"), &cached);
    (void)json_i64(json_get(usage, "completion_tokens"), &answer->usage.output);
    answer->usage.input = all - cached;
    answer->usage.cache_read = cached;
}

/* In our words, which are Anthropic's: the rest of the runtime knows one vocabulary. */
static struct str stop_reason(struct str finish)
{
    static const char *const names[][2] = {
        {"stop", "end_turn"}, {"tool_calls", "tool_use"}, {"length", "max_tokens"}, {"content_filter", "refusal"}};
    return ROW_VALUE(names, row, str_is(finish, (*row)[0]), str_of((*row)[1]), STR("end_turn"));
}

static void take_choice(struct answer *answer, const struct json *choice)
{
    const struct json *delta = json_get(choice, "delta");
    struct str text = json_text(delta, "content"), finish = json_text(choice, "finish_reason");
    struct block *block = text.n ? last_text(answer) : NULL;
    if (block)
        answer_say(answer, block, text);
    take_uses(answer, json_get(delta, "tool_calls"));
    if (finish.n)
        answer->stop_reason = stop_reason(finish);
}

/* One chunk of the stream; false ends it. The usage comes in a chunk behind the last choice. */
static bool take(struct answer *answer, struct str type, struct str data)
{
    ARENA_SCOPE(arena);
    const struct json *event;
    (void)type;
    if (str_is(str_trim(data), "[DONE]")) {
        answer->ended = !str_empty(answer->stop_reason);
        return false;
    }
    if (rc_bad(json_parse(&arena, data, &event, NULL))) {
        (void)err_set(&answer->err, ERR_UNAVAILABLE, "the model's stream holds something that is not JSON");
        return false;
    }
    const struct json *error = json_get(event, "error");
    if (error && error->type == JSON_OBJECT) {
        answer->overloaded = true;
        (void)err_set(&answer->err, ERR_UNAVAILABLE, "%.*s", STR_ARG(json_text(error, "message")));
        return false;
    }
    if (answer->model.n == 0)
        answer->model = arena_str(&answer->arena, json_text(event, "model"));
    const struct json *choices = json_get(event, "choices");
    if (choices && choices->first)
        take_choice(answer, choices->first);
    take_usage(answer, json_get(event, "usage"));
    return answer->err.code == ERR_OK;
}

const struct provider provider_openai = {
    .kind = "openai", .path = "/chat/completions", .headers = headers, .write = write, .take = take};
