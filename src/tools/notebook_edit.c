/* NotebookEdit: the source of one cell of a Jupyter notebook is replaced, inserted or deleted. Everything else in
 * the file keeps its bytes: the new cell is put where the old one stood. */
#include "base/list.h"
#include "tools/tool.h"

/* Notebooks hold a source as an array of lines, with their line ends. */
static struct str source_of(struct arena *arena, struct str text)
{
    JSON_SCOPE(buf, out, FILE_BYTES_MAX);
    JSON_LIST(&out, NULL)
        while (text.n) {
            size_t end = str_find(text, '\n');
            end += end < text.n;
            json_put_str(&out, str_sub(text, 0, end));
            text = str_sub(text, end, text.n);
        }
    return arena_str(arena, buf_str(&buf));
}

static struct str new_cell(struct arena *arena, struct str type, struct str id, struct str source)
{
    return json_object_str(arena, J("cell_type", type), J_IF(str_is(type, "code"), J_NULL("execution_count")),
                           J("id", id), J_RAW("metadata", STR("{}")),
                           J_IF(str_is(type, "code"), J_RAW("outputs", STR("[]"))), J_RAW("source", source));
}

/* The cell by its id, or by its number from 0. */
static const struct json *find_cell(const struct json *cells, struct str id)
{
    uint64_t number, at = 0;
    for (const struct json *cell = cells->first; cell; cell = cell->next)
        if (id.n && str_eq(json_text(cell, "id"), id))
            return cell;
    if (!str_to_u64(id, &number))
        return NULL;
    return LIST_FIND(cells->first, cell, at++ == number);
}

/* The text with the bytes from `from` to `to` replaced. */
static struct str splice(struct arena *arena, struct str text, size_t from, size_t to, struct str with)
{
    BUF_SCOPE(buf, (size_t)FILE_BYTES_MAX * 2);
    BUF_ADD(&buf, str_sub(text, 0, from), with, str_sub(text, to, text.n));
    return arena_str(arena, buf_str(&buf));
}

static size_t offset(struct str text, const char *p) { return (size_t)(p - text.p); }

/* The new cell is put into the text as bytes: nothing else of the file is written anew. */
static struct str insert(const struct tool_use *use, struct str text, const struct json *cells,
                         const struct json *after)
{
    struct str type = json_text(use->input, "cell_type");
    struct str source = source_of(use->arena, json_text(use->input, "new_source"));
    struct str cell = new_cell(use->arena, type.n ? type : STR("code"), STR_NONE, source);
    if (after) {
        size_t at = offset(text, after->raw.p) + after->raw.n;
        return splice(use->arena, text, at, at, arena_printf(use->arena, ",\n  %.*s", STR_ARG(cell)));
    }
    size_t at = offset(text, cells->raw.p) + 1;
    return splice(use->arena, text, at, at,
                  arena_printf(use->arena, "\n  %.*s%s", STR_ARG(cell), cells->count ? "," : "\n "));
}

/* With the comma before or behind the cell. The rest of the file keeps its bytes: it is not written anew from a
 * parsed tree. */
static struct str delete(const struct tool_use *use, struct str text, const struct json *cells,
                         const struct json *cell)
{
    size_t from = offset(text, cell->raw.p), to = from + cell->raw.n;
    if (cell->next)
        to = offset(text, cell->next->raw.p);
    else
        for (const struct json *before = cells->first; before && before != cell; before = before->next)
            from = offset(text, before->raw.p) + before->raw.n;
    return splice(use->arena, text, from, to, STR_NONE);
}

/* Works on the text of the file, at the places where the parsed values lie in it. */
static struct rc change(const struct tool_use *use, const struct json *notebook, struct str *text, struct err *err)
{
    const struct json *cells = json_get(notebook, "cells");
    struct str id = json_text(use->input, "cell_id"), mode = json_text(use->input, "edit_mode");
    if (!cells || cells->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID, "the file is not a notebook: it has no \"cells\"");
    const struct json *cell = find_cell(cells, id);
    if (!cell && (id.n || !str_is(mode, "insert")))
        return err_set(err, ERR_INVALID, "there is no cell \"%.*s\"; cells are named by id or number from 0",
                       STR_ARG(id));
    if (str_is(mode, "insert")) {
        *text = insert(use, *text, cells, cell);
    } else if (str_is(mode, "delete")) {
        *text = delete(use, *text, cells, cell);
    } else {
        const struct json *source = json_get(cell, "source");
        if (!source)
            return err_set(err, ERR_INVALID, "the cell has no \"source\"");
        size_t from = offset(*text, source->raw.p);
        *text = splice(use->arena, *text, from, from + source->raw.n,
                       source_of(use->arena, json_text(use->input, "new_source")));
    }
    return RC_OK;
}

static struct rc plan(const struct tool_use *use, struct plan *ret_plan, struct err *err)
{
    struct plan plan = {0};
    const struct json *notebook;
    TRY(place_within(use->arena, use->root, json_text(use->input, "notebook_path"), &plan.path, err));
    TRY(plan_read(use, plan.path, &plan.before, err));
    struct rc rc = json_parse(use->arena, plan.before, &notebook, err);
    if (rc_bad(rc))
        return err_wrap(err, rc, "the file is not a notebook");
    plan.after = plan.before;
    TRY(change(use, notebook, &plan.after, err));
    *ret_plan = plan;
    return RC_OK;
}

/* The source of a cell as one text; a notebook keeps it as a text or as a list of lines. */
static struct str source_text(struct arena *arena, const struct json *source)
{
    BUF_SCOPE(buf, FILE_BYTES_MAX);
    if (source && source->type == JSON_STRING)
        return source->text;
    for (const struct json *line = source ? source->first : NULL; line; line = line->next)
        buf_put(&buf, line->text);
    return arena_str(arena, buf_str(&buf));
}

/* The person is shown one cell and not the JSON of the whole file. The source is compared as text. */
void notebook_cell_write(struct json_out *out, const struct tool_use *use, const struct plan *plan)
{
    struct str path = json_text(use->input, "notebook_path"), mode = json_text(use->input, "edit_mode");
    struct str id = json_text(use->input, "cell_id"), type = json_text(use->input, "cell_type");
    bool inserts = str_is(mode, "insert"), deletes = str_is(mode, "delete");
    const struct json *notebook = NULL, *cell = NULL;
    if (rc_ok(json_parse(use->arena, plan->before, &notebook, NULL)))
        cell = find_cell(json_get(notebook, "cells"), id); /* there: the plan was made from the same text */
    struct str before = inserts ? STR_NONE : source_text(use->arena, json_get(cell, "source"));
    if (!inserts && json_text(cell, "cell_type").n)
        type = json_text(cell, "cell_type");
    struct str at = id.n ? arena_printf(use->arena, "cell %.*s", STR_ARG(id)) : STR("the beginning");
    struct str kind = type.n ? arena_printf(use->arena, " (%.*s)", STR_ARG(type)) : STR("");
    json_members(out, J("type", "diff"), J("file_path", path), J_BOOL("is_new_file", false), J("cell", id),
                 J("cell_type", type), J("edit_mode", mode.n ? mode : STR("replace")));
    const char *what = deletes ? "Deletes" : "The source of";
    json_member(out, "note",
                inserts ? arena_printf(use->arena, "A new cell%.*s, after %.*s.", STR_ARG(kind), STR_ARG(at))
                        : arena_printf(use->arena, "%s %.*s%.*s.", what, STR_ARG(at), STR_ARG(kind)));
    diff_write(out, path, before, deletes ? STR_NONE : json_text(use->input, "new_source"));
}

static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct plan planned;
    TRY(plan(use, &planned, err));
    TRY(place_write(use->arena, use->root, &planned, err));
    *ret_text = arena_printf(use->arena, "Edited %.*s", STR_ARG(planned.path));
    return RC_OK;
}

const struct executor executor_notebook_edit = {
    .name = "NotebookEdit",
    .files = true,
    .description = "Replaces, inserts or deletes one cell of a Jupyter notebook.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"notebook_path\":{\"type\":\"string\"},"
              "\"cell_id\":{\"type\":\"string\",\"description\":\"The cell's id, or its number from 0; with insert: "
              "the cell after which the new one comes\"},"
              "\"new_source\":{\"type\":\"string\"},"
              "\"cell_type\":{\"type\":\"string\",\"enum\":[\"code\",\"markdown\"]},"
              "\"edit_mode\":{\"type\":\"string\",\"enum\":[\"replace\",\"insert\",\"delete\"]}},"
              "\"required\":[\"notebook_path\",\"new_source\"]}",
    .plan = plan,
    .run = run,
};
