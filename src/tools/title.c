/* The title of a call: what it would do, in a few words. It is made from the call and its preview, never from what the
 * agent says about it. The page, the terminals and messages to people all show this one. */
#include "tools/tool.h"

#include "base/utf8.h"

enum { TOLD_BYTES_MAX = 400, NAMED_FILES_MAX = 3 };

/* A path without the session's folder before it. */
static struct str within(struct str path, struct str cwd)
{
    if (cwd.n > 1 && str_starts(path, cwd) && path.n > cwd.n && path.p[cwd.n] == '/')
        return str_sub(path, cwd.n + 1, path.n);
    return path;
}

/* Text of an agent in one line of bounded length. */
static struct str told(struct arena *arena, struct str text)
{
    struct str rest, line = str_cut(str_trim(text), '\n', &rest), start = utf8_start(line, TOLD_BYTES_MAX);
    return start.n < line.n ? arena_printf(arena, "%.*s…", STR_ARG(start)) : line;
}

static struct str counted(struct arena *arena, int64_t count, const char *what)
{
    return arena_printf(arena, "%lld %s%s", (long long)count, what, count == 1 ? "" : "s");
}

static struct str size_words(struct arena *arena, size_t bytes)
{
    enum { KB = 1 << 10, MB = 1 << 20 };
    if (bytes < KB)
        return arena_printf(arena, "(%zu byte%s)", bytes, bytes == 1 ? "" : "s");
    return bytes < MB ? arena_printf(arena, "(%.1f KB)", (double)bytes / KB)
                      : arena_printf(arena, "(%.1f MB)", (double)bytes / MB);
}

/* ---- commands ---- */

static struct tool_title title_command(struct arena *arena, const struct tool_facts *facts, struct str cwd,
                                      size_t parts)
{
    struct str count = parts > 1 ? arena_printf(arena, "%zu commands", parts) : STR("a command");
    bool outside = json_bool(facts->input, "outside", false);
    return (struct tool_title){
        .kind = STR("Run a command"), .where = cwd,
        .verb = arena_printf(arena, "Run %.*s%s", STR_ARG(count), outside ? " outside the box" : "")};
}

/* ---- files ---- */

static struct str files_named(struct arena *arena, const struct json *files, struct str cwd)
{
    struct str names = STR_NONE;
    unsigned number = 0;
    for (const struct json *file = files->first; file && number < NAMED_FILES_MAX; file = file->next, number++) {
        struct str path = within(json_text(file, "file_path"), cwd);
        names = arena_printf(arena, "%.*s%s%.*s", STR_ARG(names), number ? ", " : "", STR_ARG(path));
    }
    if (files->count > number)
        return arena_printf(arena, "%.*s and %u more", STR_ARG(names), files->count - number);
    return names;
}

/* How many lines change: those that come or those that go, whichever are more. -1: the preview does not say. */
static int64_t changed_lines(const struct json *preview)
{
    int64_t added = 0, removed = 0;
    if (!json_i64(json_get(preview, "added"), &added) || !json_i64(json_get(preview, "removed"), &removed))
        return -1;
    return added > removed ? added : removed;
}

static struct str change_verb(struct arena *arena, const struct tool_facts *facts, const struct json *preview)
{
    const struct json *edits = json_get(facts->input, "edits");
    struct str mode = json_text(preview, "edit_mode");
    int64_t lines = changed_lines(preview);
    if (json_bool(preview, "deleted", false))
        return STR("Delete");
    if (mode.n)
        return str_is(mode, "insert")   ? STR("Insert a cell in")
               : str_is(mode, "delete") ? STR("Delete a cell of")
                                        : STR("Change a cell of");
    if (edits && edits->type == JSON_ARRAY && edits->count > 1)
        return arena_printf(arena, "Make %u changes in", edits->count);
    return lines < 0 ? STR("Change") : arena_printf(arena, "Change %.*s in", STR_ARG(counted(arena, lines, "line")));
}

static struct tool_title title_change(struct arena *arena, const struct tool_facts *facts, const struct json *preview,
                                      struct str cwd)
{
    const struct json *files = json_get(preview, "files"), *is_new = json_get(preview, "is_new_file");
    struct str path = json_text(preview, "file_path"), named = path.n || !facts->path_count ? path : facts->paths[0];
    if (str_is(facts->name, "Write"))
        return (struct tool_title){
            .kind = STR("Write a file"), .object = within(named, cwd),
            .verb = !is_new ? STR("Write") : is_new->type == JSON_TRUE ? STR("Write a new file") : STR("Replace"),
            .tail = size_words(arena, json_text(facts->input, "content").n)};
    if (files && files->type == JSON_ARRAY && files->count == 1 && str_empty(path))
        return title_change(arena, facts, files->first, cwd);
    if (files && files->type == JSON_ARRAY && files->count && str_empty(path))
        return (struct tool_title){
            .kind = STR("Change files"), .object = files_named(arena, files, cwd),
            .verb = arena_printf(arena, "Change %.*s:", STR_ARG(counted(arena, files->count, "file")))};
    return (struct tool_title){
        .kind = str_is(facts->name, "NotebookEdit") ? STR("Change a notebook") : STR("Change a file"),
        .verb = change_verb(arena, facts, preview), .object = named.n ? within(named, cwd) : STR("a file")};
}

/* ---- questions and tools of servers ---- */

static struct tool_title title_question(struct arena *arena, const struct tool_facts *facts)
{
    const struct json *questions = json_get(facts->input, "questions");
    bool form = str_is(facts->name, "Elicitation");
    struct str words = form ? json_text(facts->input, "message") : STR_NONE;
    if (questions && questions->type == JSON_ARRAY && questions->count == 1)
        words = json_text(questions->first, "question");
    else if (questions && questions->type == JSON_ARRAY && questions->count > 1)
        words = arena_printf(arena, "%u questions for you", questions->count);
    if (str_empty(words))
        words = form ? STR("A form to fill in") : STR("A question for you");
    return (struct tool_title){.kind = STR("Answer a question"), .tail = told(arena, words)};
}

/* mcp__github__create_issue: "Use create_issue of the server github". */
static struct tool_title title_unknown(struct arena *arena, struct str name)
{
    struct str rest = str_starts(name, STR("mcp__")) ? str_sub(name, 5, name.n) : STR_NONE;
    struct tool_title title = {.kind = STR("Use a tool"), .verb = STR("Use"), .object = told(arena, name)};
    for (size_t i = 1; i + 2 < rest.n; i++)
        if (rest.p[i] == '_' && rest.p[i + 1] == '_') {
            title.object = told(arena, str_sub(rest, i + 2, rest.n));
            title.tail = arena_printf(arena, "of the server %.*s", STR_ARG(str_sub(rest, 0, i)));
            break;
        }
    return title;
}

/* ---- any call ---- */

static struct tool_title title_by_catalog(struct arena *arena, const struct tool_facts *facts, struct str cwd)
{
    const struct tool_entry *entry = tool_entry_find(facts->name);
    int64_t port = 0;
    if (!entry)
        return title_unknown(arena, facts->asked.n ? facts->asked : facts->name);
    struct str about = entry->field ? json_text(facts->input, entry->field) : STR_NONE;
    struct str pattern = json_text(facts->input, "pattern");
    struct tool_title title = {.kind = str_of(entry->kind), .verb = str_of(entry->verb)};
    title.object = told(arena, facts->class == TOOL_READ ? within(about, cwd) : about);
    if (facts->class == TOOL_READ && pattern.n) {
        title.verb = str_is(facts->name, "Grep") ? STR("Search for") : STR("List files");
        title.object = told(arena, pattern);
        title.tail = about.n ? arena_printf(arena, "in %.*s", STR_ARG(within(about, cwd))) : STR_NONE;
    }
    if (str_is(facts->name, "Net") && json_i64(json_get(facts->input, "port"), &port) && port)
        title.object = arena_printf(arena, "%.*s:%lld", STR_ARG(title.object), (long long)port);
    if (str_is(facts->name, "Net") && !str_empty(json_text(facts->input, "for")))
        title.tail = arena_printf(arena, "for %.*s", STR_ARG(told(arena, json_text(facts->input, "for"))));
    return title;
}

struct tool_title tool_title(struct arena *arena, const struct tool_facts *facts, const struct json *preview,
                             size_t parts)
{
    struct str cwd = json_text(preview, "cwd"), type = json_text(preview, "type");
    if (facts->class == TOOL_COMMAND && !str_empty(facts->command))
        return title_command(arena, facts, cwd, parts);
    if (facts->class == TOOL_EDIT || str_is(type, "diff") || str_is(type, "multi_diff"))
        return title_change(arena, facts, preview, cwd);
    if (str_is(facts->name, "ExitPlanMode") || str_is(facts->name, "exit_plan_mode"))
        return (struct tool_title){.kind = STR("Approve a plan"), .verb = STR("Approve this plan?")};
    if (str_is(facts->name, "AskUserQuestion") || str_is(facts->name, "Elicitation"))
        return title_question(arena, facts);
    return title_by_catalog(arena, facts, cwd);
}
