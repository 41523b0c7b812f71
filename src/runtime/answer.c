/* A model's answer while it streams: blocks that a provider (anthropic.c, openai.c) fills piece by piece,
 * checked as a whole when the stream has ended, and written as the content of an AGENT_MESSAGE. Used in the
 * run's worker thread. */
#include "runtime/provider.h"

void answer_done(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        buf_done(&answer->blocks[i].text);
        buf_done(&answer->blocks[i].signature);
    }
    arena_done(&answer->arena);
}

/* NULL: the answer has too many blocks; answer->err says so, and the stream is given up. */
struct block *answer_add(struct answer *answer, enum block_kind kind)
{
    if (answer->count == BLOCKS_MAX) {
        (void)err_set(&answer->err, ERR_TOO_LARGE, "the model's answer has more than %d blocks", BLOCKS_MAX);
        return NULL;
    }
    struct block *block = &answer->blocks[answer->count++];
    *block = (struct block){
        .kind = kind, .text = buf_init(BLOCK_BYTES_MAX), .signature = buf_init(BLOCK_BYTES_MAX)};
    return block;
}

void answer_say(struct answer *answer, struct block *block, struct str text)
{
    buf_put(&block->text, text);
    if (answer->say && text.n)
        answer->say(answer->say_arg, text);
}

/* The usage that is kept as an event: all tokens count, whatever the provider calls them. */
static bool too_large(const struct answer *answer)
{
    size_t bytes = answer->model.n + answer->stop_reason.n;
    bool over = false;
    for (size_t i = 0; i < answer->count; i++) {
        const struct block *block = &answer->blocks[i];
        bytes += block->text.n + block->signature.n + block->raw.n + block->id.n + block->name.n;
        over = over || block->text.over || block->signature.over;
    }
    return over || bytes > BLOCK_BYTES_MAX;
}

/* Nothing of an answer is used before this has passed: an answer that was cut off could hold half a command. */
struct rc answer_check(struct answer *answer, struct err *err)
{
    if (answer->err.code != ERR_OK) {
        *err = answer->err;
        return (struct rc){err->code};
    }
    if (!answer->ended)
        return err_set(err, ERR_UNAVAILABLE, "the model's answer ended in the middle");
    if (too_large(answer))
        return err_set(err, ERR_TOO_LARGE, "the model's answer is larger than %d bytes", BLOCK_BYTES_MAX);
    for (size_t i = 0; i < answer->count; i++) {
        struct block *block = &answer->blocks[i];
        const struct json *input;
        if (block->kind != BLOCK_TOOL_USE)
            continue;
        if (block->text.n == 0)
            buf_puts(&block->text, "{}");
        if (rc_bad(json_parse(&answer->arena, buf_str(&block->text), &input, NULL)) || input->type != JSON_OBJECT)
            return err_set(err, ERR_UNAVAILABLE, "the model's use of %.*s has an input that is not a JSON object",
                           STR_ARG(block->name));
    }
    return RC_OK;
}

/* Writes the block unchanged; an input that was streamed afterwards replaces its empty one. */
static void write_other(struct json_out *out, const struct block *block)
{
    ARENA_SCOPE(scratch);
    const struct json *start, *input;
    if (block->text.n == 0 || rc_bad(json_parse(&scratch, block->raw, &start, NULL)) ||
        rc_bad(json_parse(&scratch, buf_str(&block->text), &input, NULL))) {
        json_put_raw(out, block->raw);
        return;
    }
    json_open(out, '{');
    for (const struct json *member = start->first; member; member = member->next) {
        json_key_str(out, member->key);
        json_put_raw(out, str_is(member->key, "input") ? input->raw : member->raw);
    }
    json_close(out, '}');
}

/* In the form of the Messages API, whichever provider the block came from: the log has one form for
 * conversations. */
static void write_block(struct json_out *out, const struct block *block)
{
    struct str text = buf_str(&block->text);
    if (block->kind == BLOCK_OTHER) {
        write_other(out, block);
        return;
    }
    if (block->kind == BLOCK_TEXT && text.n == 0)
        return; /* the model's API refuses empty text blocks */
    json_open(out, '{');
    if (block->kind == BLOCK_TEXT) {
        json_members(out, J("type", "text"), J("text", text));
    } else if (block->kind == BLOCK_THINKING) {
        json_members(out, J("type", "thinking"), J_ALWAYS("thinking", text),
                     J_ALWAYS("signature", buf_str(&block->signature)));
    } else {
        json_members(out, J("type", "tool_use"), J("id", block->id), J("name", block->name), J_RAW("input", text));
    }
    json_close(out, '}');
}

void answer_write(struct json_out *out, const struct answer *answer)
{
    JSON_LIST(out, NULL)
        for (size_t i = 0; i < answer->count; i++)
            write_block(out, &answer->blocks[i]);
}
