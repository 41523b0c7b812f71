/* Patches of Codex, "*** Update File: …": what each file becomes.
 *
 * A patch names the place of a change by the lines around it, without their numbers. Made from the patch alone, a
 * difference shows the patch's own lines ("fragment": true). Where the file can be read the patch is applied to its
 * text, and the difference is the file's.
 */
#include "tools/tool.h"

#include <stdio.h>

enum { PATCH_PREVIEW_BYTES_MAX = 900 << 10 };

struct patch_file {
    struct str path, moved_to;
    const char *kind;           /* "Add", "Update", "Delete" */
    struct str body;            /* lines up to the next file */
    int64_t added, removed;
};

/* The next file of a patch; false at its end. Lines before the first are passed over. */
static bool next_file(struct str *patch, struct patch_file *ret_file)
{
    static const char *const kinds[] = {"Add", "Update", "Delete"};
    while (patch->n) {
        struct str line = str_cut(*patch, '\n', patch);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            char mark[32];
            (void)snprintf(mark, sizeof mark, "*** %s File: ", kinds[i]);
            if (!str_starts(line, str_of(mark)))
                continue;
            *ret_file = (struct patch_file){.path = str_trim(str_sub(line, strlen(mark), line.n)), .kind = kinds[i]};
            struct str from = *patch;
            while (patch->n && (!str_starts(*patch, STR("*** ")) || str_starts(*patch, STR("*** Move to: ")) ||
                                str_starts(*patch, STR("*** End of File"))))
                (void)str_cut(*patch, '\n', patch);
            ret_file->body = str_sub(from, 0, from.n - patch->n);
            if (str_starts(ret_file->body, STR("*** Move to: "))) {
                line = str_cut(ret_file->body, '\n', &ret_file->body);
                ret_file->moved_to = str_trim(str_sub(line, 13, line.n));
            }
            return true;
        }
    }
    return false;
}

static bool is_kind(const struct patch_file *file, const char *kind) { return str_is(str_of(file->kind), kind); }

/* ---- the patch's own lines ---- */

/* Lines of the hunk that begins here, before and after it. */
static void count_hunk(struct str body, int64_t counts[2])
{
    counts[0] = counts[1] = 0;
    while (body.n) {
        struct str line = str_cut(body, '\n', &body);
        if (str_starts(line, STR("@@")) || str_starts(line, STR("*** ")))
            return;
        counts[0] += !str_starts(line, STR("+"));
        counts[1] += !str_starts(line, STR("-"));
    }
}

static void put_hunk_head(struct json_out *out, struct arena *arena, struct str body, struct str words)
{
    int64_t counts[2];
    count_hunk(body, counts);
    json_put_str(out, arena_printf(arena, "@@ -1,%lld +1,%lld @@%s%.*s", (long long)counts[0], (long long)counts[1],
                                   words.n ? " " : "", STR_ARG(words)));
}

/* The patch's own lines as a difference, when the file cannot be read. */
static void put_own_lines(struct json_out *out, struct patch_file *file)
{
    ARENA_SCOPE(scratch);
    struct str body = file->body;
    bool inside = false;
    while (body.n) {
        struct str here = body, line = str_cut(body, '\n', &body);
        if (str_starts(line, STR("*** ")))
            continue;
        if (str_starts(line, STR("@@"))) {
            put_hunk_head(out, &scratch, body, str_trim(str_sub(line, 2, line.n)));
            inside = true;
            continue;
        }
        if (!inside)
            put_hunk_head(out, &scratch, here, STR_NONE);
        inside = true;
        file->added += str_starts(line, STR("+"));
        file->removed += str_starts(line, STR("-"));
        json_put_str(out, line.n ? line : STR(" "));
    }
}

/* Shows the patch's own lines, for a file that cannot be read or is new; "fragment" says that the lines around are
 * missing. */
static void put_own(struct json_out *out, struct patch_file *file)
{
    ARENA_SCOPE(scratch);
    json_open_member(out, "unified", '[');
    json_put_str(out, arena_printf(&scratch, "--- a/%.*s", STR_ARG(file->path)));
    json_put_str(out, arena_printf(&scratch, "+++ b/%.*s", STR_ARG(file->path)));
    put_own_lines(out, file);
    json_close(out, ']');
    json_members(out, J("added", file->added), J("removed", file->removed),
                 J_FLAG("fragment", !is_kind(file, "Add")));
}

/* ---- applied to the file ---- */

struct text_lines {
    struct str *lines; /* without their ends */
    size_t n;
};

static struct text_lines lines_of(struct arena *arena, struct str text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == '\n';
    struct text_lines all = {.lines = arena_array(arena, struct str, count)};
    while (text.n)
        all.lines[all.n++] = str_cut(text, '\n', &text);
    return all;
}

static struct str without_end(struct str line)
{
    while (line.n && strchr(" \t\r", line.p[line.n - 1]))
        line.n--;
    return line;
}

static bool same_line(struct str a, struct str b) { return str_eq(without_end(a), without_end(b)); }

/* Where these lines stand, from `from` on; `all->n + 1`: nowhere. */
static size_t find_lines(const struct text_lines *all, const struct text_lines *wanted, size_t from)
{
    for (size_t at = from; at + wanted->n <= all->n; at++) {
        size_t k = 0;
        while (k < wanted->n && same_line(all->lines[at + k], wanted->lines[k]))
            k++;
        if (k == wanted->n)
            return at;
    }
    return all->n + 1;
}

/* The line that `@@` names, as the place from which a hunk is looked for. */
static size_t find_anchor(const struct text_lines *all, struct str words, size_t from)
{
    for (size_t at = from; words.n && at < all->n; at++)
        if (str_eq(str_trim(all->lines[at]), words))
            return at + 1;
    return from;
}

static struct str without_sign(struct str line) { return line.n ? str_sub(line, 1, line.n) : line; }

static void put_line(struct buf *buf, struct str line)
{
    BUF_ADD(buf, line, STR("\n"));
}

/* Applies the hunk at the start of `*body`, whose lines up to `*at` are written already; false: it does not fit. */
static bool apply_hunk(struct buf *after, const struct text_lines *all, struct str *body, size_t *at)
{
    ARENA_SCOPE(scratch);
    struct text_lines hunk = lines_of(&scratch, *body);
    struct text_lines wanted = {.lines = arena_array(&scratch, struct str, hunk.n + 1)};
    size_t from = *at, n = 0;
    if (hunk.n && str_starts(hunk.lines[0], STR("@@"))) {
        from = find_anchor(all, str_trim(str_sub(hunk.lines[0], 2, hunk.lines[0].n)), from);
        (void)str_cut(*body, '\n', body);
        hunk.lines++;
        hunk.n--;
    }
    for (; n < hunk.n && !str_starts(hunk.lines[n], STR("@@")); n++) {
        (void)str_cut(*body, '\n', body);
        if (!str_starts(hunk.lines[n], STR("+")) && !str_starts(hunk.lines[n], STR("*** ")))
            wanted.lines[wanted.n++] = without_sign(hunk.lines[n]);
    }
    size_t place = wanted.n ? find_lines(all, &wanted, from) : all->n; /* only new lines: at the end, as Codex does */
    if (place > all->n)
        return false;
    while (*at < place)
        put_line(after, all->lines[(*at)++]);
    for (size_t i = 0; i < n; i++) {
        if (str_starts(hunk.lines[i], STR("*** ")))
            continue;
        if (str_starts(hunk.lines[i], STR("+")))
            put_line(after, without_sign(hunk.lines[i]));
        else if (str_starts(hunk.lines[i], STR("-")))
            (*at)++;
        else
            put_line(after, all->lines[(*at)++]);
    }
    return true;
}

/* The file as the patch leaves it; false when its lines are not there. */
static bool apply(struct arena *arena, const struct patch_file *file, struct str before, struct str *ret_after)
{
    BUF_SCOPE(after, FILE_BYTES_MAX);
    struct text_lines all = lines_of(arena, before);
    struct str body = file->body;
    size_t at = 0;
    while (body.n && !is_kind(file, "Delete"))
        if (!apply_hunk(&after, &all, &body, &at))
            return false;
    while (at < all.n && !is_kind(file, "Delete"))
        put_line(&after, all.lines[at++]);
    if (after.over)
        return false;
    *ret_after = arena_str(arena, buf_str(&after));
    return true;
}

/* Writes the difference within the file; false: only the patch's own lines can be shown, and `*ret_why` says why. */
static bool put_placed(struct json_out *out, struct patch_file *file, const struct tool_use *use, const char **ret_why)
{
    struct str before, after;
    struct err err = {.code = ERR_OK};
    if (rc_bad(named_file_read(use, file->path, &before, &err))) {
        *ret_why = arena_printf(use->arena, "Line numbers are those of the patch: %s.", err.text).p;
        return false;
    }
    if (!apply(use->arena, file, before, &after)) {
        *ret_why = "The lines that it changes are not in the file as it is now. Line numbers are those of the patch.";
        return false;
    }
    diff_write(out, file->path, before, after);
    return true;
}

/* Where the patch fits the file as it is now, its difference is shown with real line numbers; else as the patch gives
 * it. */
static void put_file(struct json_out *out, struct patch_file *file, const struct tool_use *use)
{
    const char *note = NULL;
    ARENA_SCOPE(scratch);
    json_members(out, J("file_path", file->path), J_BOOL("is_new_file", is_kind(file, "Add")),
                 J_FLAG("deleted", is_kind(file, "Delete")));
    if (is_kind(file, "Add") || !use || !put_placed(out, file, use, &note))
        put_own(out, file);
    if (file->moved_to.n) {
        json_member(out, "moved_to", file->moved_to);
        note = note ? note : arena_printf(&scratch, "The file moves to %.*s.", STR_ARG(file->moved_to)).p;
    }
    json_member(out, "note", str_of(note));
}

/* Two passes over the text: the first counts, because one file is shown otherwise than several. */
bool patch_write(struct json_out *out, struct str patch, const struct tool_use *use)
{
    struct patch_file file;
    struct str rest = patch;
    int64_t added = 0, removed = 0;
    unsigned count = 0;
    while (next_file(&rest, &file))
        count++;
    if (count == 0)
        return false;
    json_member(out, "type", count == 1 ? STR("diff") : STR("multi_diff"));
    if (count > 1) {
        json_open_member(out, "files", '[');
    }
    while (next_file(&patch, &file)) {
        if (count > 1)
            json_open(out, '{');
        put_file(out, &file, use);
        if (count > 1)
            json_close(out, '}');
        added += file.added;
        removed += file.removed;
    }
    if (count > 1)
        json_close(out, ']');
    if (count > 1 && !use) { /* else each file has its own counts */
        json_members(out, J("added", added), J("removed", removed));
    }
    return true;
}

struct str tool_named_patch(const struct tool_use *use, struct str patch)
{
    JSON_SCOPE(buf, out, PATCH_PREVIEW_BYTES_MAX);
    json_open(&out, '{');
    (void)patch_write(&out, patch, use);
    odd_text_member(&out, use->input);
    json_member(&out, "cwd", use->root);
    json_close(&out, '}');
    return buf.over ? STR_NONE : arena_str(use->arena, buf_str(&buf));
}
