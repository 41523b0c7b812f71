/* Edit and MultiEdit: a text in a file is replaced by another.
 *
 * Line endings are the file's: where all its lines end with CR LF, texts that a model writes with LF are taken
 * to mean that. Nothing is guessed beyond this: a text that is not there, or there more than once without
 * replace_all, is an error that says so.
 */
#include "tools/tool.h"

static size_t find(struct str text, struct str part, size_t from)
{
    if (part.n == 0 || text.n < part.n || from > text.n - part.n)
        return text.n;
    const char *at = memmem(text.p + from, text.n - from, part.p, part.n);
    return at ? (size_t)(at - text.p) : text.n;
}

/* True only if every line of the file ends so: a file with both kinds is left as it is. */
static bool ends_with_crlf(struct str text)
{
    bool any = false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '\n')
            continue;
        if (i == 0 || text.p[i - 1] != '\r')
            return false;
        any = true;
    }
    return any;
}

/* For the new text: models write plain line ends, and an edit must not mix two kinds in one file. */
static struct str with_crlf(struct arena *arena, struct str text)
{
    char *out = arena_bytes(arena, text.n * 2 + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\n' && (i == 0 || text.p[i - 1] != '\r'))
            out[n++] = '\r';
        out[n++] = text.p[i];
    }
    return (struct str){out, n};
}

/* One edit on the text so far; the errors are written so that a model can correct its call. */
static struct rc replace(struct arena *arena, struct str *text, const struct json *edit, struct err *err)
{
    struct str old = json_text(edit, "old_string"), new = json_text(edit, "new_string");
    bool all = json_bool(edit, "replace_all", false);
    if (ends_with_crlf(*text)) {
        old = with_crlf(arena, old);
        new = with_crlf(arena, new);
    }
    if (old.n == 0)
        return err_set(err, ERR_INVALID, "\"old_string\" is empty; use Write to make a new file");
    if (str_eq(old, new))
        return err_set(err, ERR_INVALID, "\"old_string\" and \"new_string\" are the same");
    size_t at = find(*text, old, 0), count = 0;
    if (at == text->n)
        return err_set(err, ERR_INVALID, "\"old_string\" is not in the file; read it again and copy the text exactly");
    if (!all && find(*text, old, at + 1) < text->n)
        return err_set(err, ERR_INVALID, "\"old_string\" is in the file more than once; give more of its "
                                         "surroundings, or set \"replace_all\"");
    BUF_SCOPE(buf, FILE_BYTES_MAX);
    size_t from = 0;
    for (; at < text->n && (all || count == 0); count++) {
        BUF_ADD(&buf, str_sub(*text, from, at), new);
        from = at + old.n;
        at = find(*text, old, from);
    }
    buf_put(&buf, str_sub(*text, from, text->n));
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "the file would be larger than %d bytes", FILE_BYTES_MAX);
    *text = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

static struct rc begin(const struct tool_use *use, struct plan *plan, struct err *err)
{
    *plan = (struct plan){0};
    TRY(place_within(use->arena, use->root, json_text(use->input, "file_path"), &plan->path, err));
    TRY(plan_read(use, plan->path, &plan->before, err));
    plan->after = plan->before;
    return RC_OK;
}

static struct rc plan_edit(const struct tool_use *use, struct plan *ret_plan, struct err *err)
{
    TRY(begin(use, ret_plan, err));
    return replace(use->arena, &ret_plan->after, use->input, err);
}

/* All edits or none: each is tried on the result of the one before, and the file is written only at the end. */
static struct rc plan_multi_edit(const struct tool_use *use, struct plan *ret_plan, struct err *err)
{
    const struct json *edits = json_get(use->input, "edits");
    unsigned number = 0;
    TRY(begin(use, ret_plan, err));
    if (edits->count == 0)
        return err_set(err, ERR_INVALID, "\"edits\" is empty");
    for (const struct json *edit = edits->first; edit; edit = edit->next) {
        struct rc rc = replace(use->arena, &ret_plan->after, edit, err);
        number++;
        if (rc_bad(rc))
            return err_wrap(err, rc, "edit %u of %u (none was made)", number, edits->count);
    }
    return RC_OK;
}

/* The preview of several edits: each against the text that the ones before have left. */
void edits_write(struct json_out *out, const struct tool_use *use, const struct plan *plan)
{
    const struct json *edits = json_get(use->input, "edits");
    struct str path = json_text(use->input, "file_path"), text = plan->before;
    int64_t number = 0;
    struct err err;
    json_member_i64(out, "edits", edits->count);
    JSON_LIST(out, "files")
        for (const struct json *edit = edits->first; edit; edit = edit->next) {
            struct str before = text;
            if (rc_bad(replace(use->arena, &text, edit, &err)))
                break; /* cannot happen: the edit was planned with the same texts */
            number++;
            json_open(out, '{');
            json_members(out, J("file_path", path), J("edit", number),
                         J("note", arena_printf(use->arena, "Change %lld of %u.", (long long)number, edits->count)));
            if (!memchr(before.p, '\0', before.n) && !memchr(text.p, '\0', text.n))
                diff_write(out, path, before, text);
            json_close(out, '}');
        }
}

static struct rc carry_out(const struct tool_use *use, const struct plan *plan, struct str *ret_text,
                           struct err *err)
{
    TRY(place_write(use->arena, use->root, plan, err));
    *ret_text = arena_printf(use->arena, "Edited %.*s", STR_ARG(json_text(use->input, "file_path")));
    return RC_OK;
}

static struct rc run_edit(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct plan plan;
    TRY(plan_edit(use, &plan, err));
    return carry_out(use, &plan, ret_text, err);
}

static struct rc run_multi_edit(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct plan plan;
    TRY(plan_multi_edit(use, &plan, err));
    return carry_out(use, &plan, ret_text, err);
}

#define EDIT_PROPERTIES                                                                                     \
    "\"old_string\":{\"type\":\"string\",\"description\":\"The text to replace, exactly as it is in the file\"}," \
    "\"new_string\":{\"type\":\"string\",\"description\":\"What takes its place\"},"                             \
    "\"replace_all\":{\"type\":\"boolean\",\"description\":\"Every occurrence, not the only one\"}"
#define FILE_PATH \
    "\"file_path\":{\"type\":\"string\",\"description\":\"The file, absolute or relative to the project\"}"

const struct executor executor_edit = {
    .name = "Edit",
    .files = true,
    .description = "Replaces a text in a file of the project. The text must be there exactly once, unless "
                   "replace_all is set.",
    .schema = "{\"type\":\"object\",\"properties\":{" FILE_PATH "," EDIT_PROPERTIES "},"
              "\"required\":[\"file_path\",\"old_string\",\"new_string\"]}",
    .plan = plan_edit,
    .run = run_edit,
};

const struct executor executor_multi_edit = {
    .name = "MultiEdit",
    .files = true,
    .description = "Makes several replacements in one file, in order, all or none.",
    .schema = "{\"type\":\"object\",\"properties\":{" FILE_PATH ",\"edits\":{\"type\":\"array\",\"items\":{"
              "\"type\":\"object\",\"properties\":{" EDIT_PROPERTIES "},"
              "\"required\":[\"old_string\",\"new_string\"]}}},"
              "\"required\":[\"file_path\",\"edits\"]}",
    .plan = plan_multi_edit,
    .run = run_multi_edit,
};
