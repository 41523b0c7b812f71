/* Tools that Nod can do itself: looked at before, and done. */
#include "tools/link.h"

enum { CONTENT_SHOWN_MAX = 32 << 10 };

static const struct executor *const all[] = {
#define X(name) &executor_##name,
    EXECUTORS(X)
#undef X
};

const struct executor *executor_find(struct str name)
{
    return ROW_VALUE(all, row, str_is(name, (*row)->name),
                     *row, str_starts(name, str_of(executor_server.name)) ? &executor_server : NULL);
}

struct str tool_known_name(size_t number)
{
    size_t count = sizeof all / sizeof *all;
    const struct tool_entry *entry = number < count ? NULL : tool_entry_at(number - count);
    return number < count ? str_of(all[number]->name) : entry ? str_of(entry->name) : STR_NONE;
}

bool tool_has_executor(struct str name) { return executor_find(name) != NULL; }

bool tool_only_looks(struct str name)
{
    const struct executor *executor = executor_find(name);
    return executor && executor->looks;
}

bool tool_done_elsewhere(struct str name)
{
    const struct executor *executor = executor_find(name);
    return executor && executor->elsewhere;
}

struct rc tool_check(const struct tool_use *use, struct err *err)
{
    const struct executor *executor = executor_find(use->name);
    if (!executor)
        return err_set(err, ERR_INVALID, "there is no tool %.*s", STR_ARG(use->name));
    TRY(schema_check(executor->schema, use->input, err));
    return executor->check ? executor->check(use, err) : RC_OK;
}

/* For a model's request: our own tools first, in the order of the table, then those of MCP servers. */
void tool_definitions(struct json_out *out, struct servers *servers, struct str root)
{
    json_open(out, '[');
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        json_object(out, J("name", all[i]->name), J("description", all[i]->description),
                    J_RAW("input_schema", str_of(all[i]->schema)));
    }
    if (servers)
        servers_definitions(servers, root, out);
    json_close(out, ']');
}

/* ---- looking ---- */

static struct str files_digest(struct arena *arena, const struct plan *plan)
{
    char hex[DIGEST_HEX_BYTES];
    const struct str pieces[] = {plan->path, plan->is_new ? STR("none") : STR("file"), plan->before};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
    return arena_str(arena, str_of(hex));
}

static bool binary(struct str text) { return text.n && memchr(text.p, '\0', text.n); }

static int64_t lines_of(struct str text)
{
    int64_t count = text.n && text.p[text.n - 1] != '\n';
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == '\n';
    return count;
}

/* Whole contents are for pages that show both sides; of larger files only the difference is shown. */
static void write_contents(struct json_out *out, const struct plan *plan)
{
    if (plan->before.n <= CONTENT_SHOWN_MAX && plan->after.n <= CONTENT_SHOWN_MAX)
        json_members(out, J_ALWAYS("original_content", plan->before), J_ALWAYS("new_content", plan->after));
}

/* Made of the same plan as the change itself: what is shown is what would be written. */
static void write_diff(struct json_out *out, const struct tool_use *use, const struct plan *plan)
{
    const struct json *edits = json_get(use->input, "edits");
    struct str path = json_text(use->input, "file_path");
    if (executor_find(use->name) == &executor_notebook_edit) {
        notebook_cell_write(out, use, plan);
        return;
    }
    json_members(out, J("type", edits ? "multi_diff" : "diff"), J("file_path", path.n ? path : plan->path),
                 J_BOOL("is_new_file", plan->is_new), J("original_lines", lines_of(plan->before)),
                 J("new_lines", lines_of(plan->after)),
                 J_IF(!plan->is_new && executor_find(use->name) == &executor_write,
                      J("note", arena_printf(use->arena, "This replaces the whole file, which has %lld lines now.",
                                             (long long)lines_of(plan->before)))));
    if (edits)
        edits_write(out, use, plan);
    if (binary(plan->before) || binary(plan->after)) {
        json_members(out, J_BOOL("binary", true), J("original_bytes", plan->before.n), J("new_bytes", plan->after.n));
        return;
    }
    write_contents(out, plan);
    diff_write(out, path.n ? path : plan->path, plan->before, plan->after);
}

static void write_command(struct json_out *out, const struct tool_use *use)
{
    struct str command = json_text(use->input, "command");
    json_members(out, J("type", "command"), J("command", command),
                 J("description", json_text(use->input, "description")));
    odd_text_warn(out, command);
}

/* `problem` is shown with the preview and does not refuse the call: the person may still deny it, and its run would
 * fail. */
static void write_generic(struct json_out *out, const struct tool_use *use, const struct err *problem)
{
    const struct executor *executor = executor_find(use->name);
    json_members(out, J("type", "generic"), J_RAW("input", use->input->raw));
    if (executor && executor->show)
        executor->show(out, use);
    if (executor != &executor_web_fetch) /* WebFetch reports its own warnings */
        odd_text_member(out, use->input);
    if (problem->code != ERR_OK)
        json_member(out, "problem", str_of(problem->text));
}

/* The preview and the digest of the files it is about; nothing is changed. */
struct tool_look tool_look(const struct tool_use *use)
{
    const struct executor *executor = executor_find(use->name);
    struct tool_look look = {0};
    struct err err = {.code = ERR_OK};
    struct plan plan;
    if (use->link && executor && executor->files)
        return link_look(use);
    JSON_SCOPE(buf, out, PREVIEW_BYTES_MAX);
    bool fits = executor && rc_ok(tool_check(use, &err));
    json_open(&out, '{');
    if (fits && executor->plan && rc_ok(executor->plan(use, &plan, &err))) {
        write_diff(&out, use, &plan);
        odd_text_member(&out, use->input);
        look.files = files_digest(use->arena, &plan);
    } else if (fits && executor == &executor_bash) {
        write_command(&out, use);
    } else {
        write_generic(&out, use, &err);
        look.files = executor && executor->digest ? executor->digest(use) : STR_NONE;
    }
    json_member(&out, "cwd", use->root);
    json_close(&out, '}');
    look.preview = buf.over ? STR("{\"type\":\"generic\",\"problem\":\"too large to be shown\"}")
                            : arena_str(use->arena, buf_str(&buf));
    return look;
}

/* ---- doing ---- */

/* Checks that the files are as they were shown. place_write checks again before it changes them. */
static struct rc check_files(const struct executor *executor, const struct tool_use *use, struct str files,
                             struct err *err)
{
    struct plan plan;
    if (str_empty(files) || !executor->plan)
        return RC_OK;
    TRY(executor->plan(use, &plan, err));
    if (!str_eq(files_digest(use->arena, &plan), files))
        return err_set(err, ERR_CONFLICT, "%.*s is not as it was shown; nothing was changed", STR_ARG(plan.path));
    return RC_OK;
}

/* The files are compared with `files` once more, in the same process that changes them. */
struct tool_result tool_do(const struct tool_use *use, struct str files)
{
    const struct executor *executor = executor_find(use->name);
    struct tool_result result = {0};
    struct err err = {.code = ERR_OK};
    struct rc rc = tool_check(use, &err);
    if (rc_ok(rc) && use->link && executor->files)
        return link_do(use, files);
    if (rc_ok(rc))
        rc = check_files(executor, use, files, &err);
    if (rc_ok(rc)) {
        struct tool_use shown = *use;
        shown.shown = executor->digest ? files : STR_NONE;
        rc = executor->run(&shown, &result.text, &err);
    }
    result.is_error = rc_bad(rc);
    if (rc_bad(rc) && str_empty(result.text))
        result.text = arena_str(use->arena, str_of(err.text));
    return result;
}
