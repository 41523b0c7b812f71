/* Previews of any agent's calls, made from the input alone.
 *
 * The same for every entry: HTTP, sockets, hooks, MCP. No file is read here: the agent may work on another machine, and
 * what it names may not be for its eyes. So a difference shows the call's own texts ("fragment": true: the numbers of
 * its lines are those of the texts, not of the file); people can ask for the file around it (named_file.c).
 *
 *   command     "command", "description", "warnings"
 *   diff        one file: "file_path" and the members of diff.c
 *   multi_diff  "files": a diff each, in order: the edits of one call, or the files of a patch
 *   generic     "input"
 */
#include "tools/tool.h"
#include "tools/web.h"

enum { COMPARED_BYTES_MAX = 1 << 20 };

/* ---- texts that take each other's place ---- */

struct shown_change {
    struct str path, before, after;
    const char *note;
};

static void put_change(struct json_out *out, const struct shown_change *change)
{
    json_members(out, J("file_path", change->path), J_BOOL("fragment", true), J("note", change->note));
    diff_write(out, change->path, change->before, change->after);
}

static void write_change(struct json_out *out, const struct shown_change *change)
{
    json_member(out, "type", STR("diff"));
    put_change(out, change);
}

static struct shown_change change_of(struct str path, const struct json *edit)
{
    bool all = json_bool(edit, "replace_all", false);
    return (struct shown_change){
        .path = path, .before = json_text(edit, "old_string"), .after = json_text(edit, "new_string"),
        .note = all ? "Every occurrence of this text is replaced; line numbers are those of the text."
                    : "Line numbers are those of the text, not of the file."};
}

static void write_edits(struct json_out *out, struct str path, const struct json *edits)
{
    ARENA_SCOPE(scratch);
    unsigned number = 0;
    json_member_i64(out, "edits", edits->count);
    JSON_LIST(out, "files")
        for (const struct json *edit = edits->first; edit; edit = edit->next) {
            struct shown_change change = change_of(path, edit);
            change.note = arena_printf(&scratch, "Change %u of %u.", ++number, edits->count).p;
            json_open(out, '{');
            json_member_i64(out, "edit", number);
            put_change(out, &change);
            json_close(out, '}');
        }
}

static void write_cell(struct json_out *out, const struct json *input)
{
    ARENA_SCOPE(scratch);
    struct str mode = json_text(input, "edit_mode"), cell = json_text(input, "cell_id");
    struct str place = cell.n ? arena_printf(&scratch, " %.*s", STR_ARG(cell)) : STR("");
    bool insert = str_is(mode, "insert"), delete = str_is(mode, "delete");
    struct str note = arena_printf(
        &scratch, insert ? "A new cell comes after cell%.*s." : delete ? "Cell%.*s is deleted."
                                                                       : "The whole new source of cell%.*s.",
        STR_ARG(place));
    json_members(out, J("cell", cell), J("cell_type", json_text(input, "cell_type")),
                 J("edit_mode", mode.n ? mode : STR("replace")));
    write_change(out, &(struct shown_change){.path = json_text(input, "notebook_path"),
                                             .after = delete ? STR("") : json_text(input, "new_source"),
                                             .note = arena_c(&scratch, note)});
}

/* ---- any call ---- */

static void write_command(struct json_out *out, const struct tool_facts *facts)
{
    json_members(out, J("type", "command"), J("command", facts->command),
                 J("description", json_text(facts->input, "description")));
    odd_text_warn(out, facts->command);
}

/* For tools that Nod knows nothing of: the whole input, and warnings about characters that mislead. */
static void write_generic(struct json_out *out, const struct tool_facts *facts)
{
    json_members(out, J("type", "generic"), J_RAW("input", facts->input->raw));
    if (str_is(facts->name, "WebFetch") && !str_empty(facts->url))
        web_url_warn(out, facts->url);
    else
        odd_text_member(out, facts->input);
}

static bool has_text(const struct json *input, const char *key)
{
    const struct json *member = json_get(input, key);
    return member && member->type == JSON_STRING;
}

/* Writes the preview of an edit from the input alone; false when the input does not show the change or is too long. */
static bool write_edit(struct json_out *out, const struct tool_facts *facts)
{
    const struct json *input = facts->input, *edits = json_get(input, "edits");
    struct str path = json_text(input, "file_path");
    if (input->raw.n > COMPARED_BYTES_MAX || facts->patch.n > COMPARED_BYTES_MAX)
        return false;
    if (patch_write(out, facts->patch, NULL))
        return true;
    if (str_is(facts->name, "Write") && has_text(input, "content")) {
        write_change(out, &(struct shown_change){
            .path = path, .after = json_text(input, "content"),
            .note = "The whole new content; what is there now is not shown."});
    } else if (str_is(facts->name, "Edit") && has_text(input, "new_string")) {
        struct shown_change change = change_of(path, input);
        write_change(out, &change);
    } else if (str_is(facts->name, "MultiEdit") && edits && edits->type == JSON_ARRAY && edits->count) {
        json_members(out, J("type", "multi_diff"), J("file_path", path));
        write_edits(out, path, edits);
    } else if (str_is(facts->name, "NotebookEdit") && has_text(input, "new_source")) {
        write_cell(out, input);
    } else {
        return false;
    }
    return true;
}

/* By the class of the tool; input that fits none is shown as it is. */
void tool_preview(struct json_out *out, const struct tool_facts *facts, struct str cwd)
{
    json_open(out, '{');
    if (facts->class == TOOL_COMMAND && !str_empty(facts->command) && facts->command.n <= LIMIT_COMMAND_BYTES)
        write_command(out, facts);
    else if (facts->class == TOOL_COMMAND && !str_empty(facts->command)) {
        json_members(out, J("type", "command"), J("command", facts->command));
        json_open_member(out, "warnings", '[');
        json_put_str(out, STR("is longer than what Nod reads of a command"));
        odd_text_put(out, facts->command);
        json_close(out, ']');
    } else if (facts->class == TOOL_EDIT && write_edit(out, facts))
        odd_text_member(out, facts->input);
    else
        write_generic(out, facts);
    json_member(out, "cwd", cwd);
    json_close(out, '}');
}
