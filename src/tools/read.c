/* Read: a file's lines, numbered. */
#include "tools/tool.h"

enum { LINES_DEFAULT = 2000, LINE_BYTES_MAX = 2000 };

static bool binary(struct str text)
{
    return text.n && memchr(text.p, '\0', text.n < 8192 ? text.n : 8192);
}

static void put_line(struct buf *buf, int64_t number, struct str line)
{
    bool cut = line.n > LINE_BYTES_MAX;
    buf_printf(buf, "%6lld\t", (long long)number);
    BUF_ADD(buf, cut ? str_sub(line, 0, LINE_BYTES_MAX) : line, str_of(cut ? "… (line cut)\n" : "\n"));
}

/* Lines are numbered for the model, which names places by them. A long file ends with the offset at which to go on.
 */
static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct str within, text;
    int64_t from = 1, count = LINES_DEFAULT, number = 0, shown = 0;
    TRY(json_want_i64(use->input, "offset", 0, INT64_MAX, &from, err));
    TRY(json_want_i64(use->input, "limit", 1, INT64_MAX, &count, err));
    TRY(place_within(use->arena, use->root, json_text(use->input, "file_path"), &within, err));
    TRY(place_read(use->arena, use->root, within, &text, err));
    if (binary(text))
        return err_set(err, ERR_INVALID, "%.*s is a binary file of %zu bytes", STR_ARG(within), text.n);
    if (text.n == 0) {
        *ret_text = STR("(the file is empty)");
        return RC_OK;
    }
    BUF_SCOPE(buf, FILE_BYTES_MAX);
    bool room = true;
    while (text.n && room) {
        struct str line = str_cut(text, '\n', &text);
        if (++number < from)
            continue;
        room = shown++ < count && buf.n < (size_t)RESULT_BYTES_MAX * 4;
        if (room)
            put_line(&buf, number, line);
    }
    if (!room)
        buf_printf(&buf, "(there is more: read on with offset %lld)\n", (long long)number);
    if (shown == 0)
        return err_set(err, ERR_INVALID, "%.*s has only %lld lines", STR_ARG(within), (long long)number);
    *ret_text = arena_str(use->arena, buf_str(&buf));
    return RC_OK;
}

const struct executor executor_read = {
    .name = "Read",
    .files = true,
    .description = "Reads a file of the project and returns its lines, numbered. Use offset and limit for long files.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"file_path\":{\"type\":\"string\",\"description\":\"The file, absolute or relative to the project\"},"
              "\"offset\":{\"type\":\"integer\",\"description\":\"The first line, from 1\"},"
              "\"limit\":{\"type\":\"integer\",\"description\":\"How many lines\"}},"
              "\"required\":[\"file_path\"]}",
    .looks = true,
    .run = run,
};
