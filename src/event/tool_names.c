/* The table of other agents' tools, and how an input is read through a row of it.
 *
 * Fields are "theirs:ours" with blanks between. Beside the names of our fields, ours may be
 *   cwd     the folder in which it runs, taken out of the input
 *   -       said for the agent's own use: left out
 *   patch   the text of a patch
 *   lines   a list of lines of the shell, run one after the other: the command
 *   prompt  text in which the one address stands (Gemini's web_fetch)
 *   shell   the program that reads the command: only a POSIX shell is understood
 *   no      must be absent, false or empty: with it the call means something else
 * A field that no row names stays as it is, and is judged as one that nobody knows.
 *
 * Sources: the tool definitions of each agent's own repository.
 */
#include "event/tool_names.h"

#include "base/limits.h"

enum name_shape {
    FIELDS, /* the row's names for the fields */
    EDITOR, /* an editor tool: its field `command` selects the act */
    TYPING, /* the tool sends text to a command that is already running */
    SERVER, /* a tool of an MCP server, named in the input */
};

static const struct name_row {
    const char *dialect; /* "": names that Nod accepts from agents without a dialect */
    const char *theirs, *ours;
    enum name_shape shape;
    const char *fields;
} rows[] = {
    {"", "bash", "Bash", FIELDS, ""},
    {"", "read", "Read", FIELDS, "path:file_path"},
    {"", "write", "Write", FIELDS, "path:file_path"},
    {"", "edit", "Edit", FIELDS, "path:file_path"},
    {"", "file-read", "Read", FIELDS, "path:file_path"},
    {"", "file-write", "Write", FIELDS, "path:file_path"},
    {"", "file-edit", "Edit", FIELDS, "path:file_path"},
    {"", "glob", "Glob", FIELDS, ""},
    {"", "grep", "Grep", FIELDS, ""},
    {"", "web-fetch", "WebFetch", FIELDS, ""},
    {"", "url-fetch", "WebFetch", FIELDS, ""},
    {"", "webfetch", "WebFetch", FIELDS, ""},
    {"", "web-search", "WebSearch", FIELDS, ""},

    {"codex", "shell", "Bash", FIELDS, "cmd:command workdir:cwd shell:shell timeout_ms:- justification:-"},
    {"codex", "local_shell", "Bash", FIELDS, "cmd:command workdir:cwd timeout_ms:-"},
    {"codex", "exec_command", "Bash", FIELDS,
     "cmd:command workdir:cwd shell:shell yield_time_ms:- max_output_tokens:- login:- tty:- justification:-"},
    {"codex", "write_stdin", "Bash", TYPING, "chars:command"},
    {"codex", "apply_patch", "Edit", FIELDS, "command:patch input:patch patch:patch"},

    {"gemini", "run_shell_command", "Bash", FIELDS, "dir_path:cwd directory:cwd"},
    {"gemini", "write_file", "Write", FIELDS, ""},
    {"gemini", "replace", "Edit", FIELDS, "expected_replacements:- instruction:-"},
    {"gemini", "read_file", "Read", FIELDS, "absolute_path:file_path path:file_path"},
    {"gemini", "list_directory", "LS", FIELDS, "dir_path:path"},
    {"gemini", "grep_search", "Grep", FIELDS, "dir_path:path"},
    {"gemini", "search_file_content", "Grep", FIELDS, "dir_path:path"},
    {"gemini", "glob", "Glob", FIELDS, "dir_path:path"},
    {"gemini", "web_fetch", "WebFetch", FIELDS, "prompt:prompt"},
    {"gemini", "google_web_search", "WebSearch", FIELDS, ""},
    {"gemini", "write_todos", "TodoWrite", FIELDS, ""},

    {"qwen", "run_shell_command", "Bash", FIELDS, "directory:cwd dir_path:cwd is_background:run_in_background"},
    {"qwen", "write_file", "Write", FIELDS, ""},
    {"qwen", "edit", "Edit", FIELDS, ""},
    {"qwen", "read_file", "Read", FIELDS, "absolute_path:file_path"},
    {"qwen", "list_directory", "LS", FIELDS, ""},
    {"qwen", "grep_search", "Grep", FIELDS, ""},
    {"qwen", "glob", "Glob", FIELDS, ""},
    {"qwen", "web_fetch", "WebFetch", FIELDS, ""},
    {"qwen", "notebook_edit", "NotebookEdit", FIELDS, ""},
    {"qwen", "todo_write", "TodoWrite", FIELDS, ""},

    {"copilot", "bash", "Bash", FIELDS, "sessionId:- mode:- initial_wait:-"},
    {"copilot", "create", "Write", FIELDS, "path:file_path file_text:content"},
    {"copilot", "edit", "Edit", FIELDS, "path:file_path old_str:old_string new_str:new_string"},
    {"copilot", "view", "Read", FIELDS, "path:file_path view_range:-"},

    {"opencode", "bash", "Bash", FIELDS, "workdir:cwd"},
    {"opencode", "edit", "Edit", FIELDS,
     "filePath:file_path oldString:old_string newString:new_string replaceAll:replace_all"},
    {"opencode", "write", "Write", FIELDS, "filePath:file_path"},
    {"opencode", "read", "Read", FIELDS, "filePath:file_path"},
    {"opencode", "apply_patch", "Edit", FIELDS, "patchText:patch"},
    {"opencode", "patch", "Edit", FIELDS, "patchText:patch"},
    {"opencode", "webfetch", "WebFetch", FIELDS, ""},
    {"opencode", "list", "LS", FIELDS, ""},

    {"cursor", "Shell", "Bash", FIELDS, "working_directory:cwd"},
    {"cursor", "Write", "Write", FIELDS, "path:file_path contents:content"},
    {"cursor", "StrReplace", "Edit", FIELDS, "path:file_path"},
    {"cursor", "Read", "Read", FIELDS, "path:file_path"},
    {"cursor", "LS", "LS", FIELDS, ""},

    {"cline", "execute_command", "Bash", FIELDS, "requires_approval:-"},
    {"cline", "run_commands", "Bash", FIELDS, "commands:lines"},
    {"cline", "write_to_file", "Write", FIELDS, "path:file_path absolutePath:file_path"},
    {"cline", "replace_in_file", "Edit", FIELDS, "path:file_path absolutePath:file_path"},
    {"cline", "read_file", "Read", FIELDS, "path:file_path"},
    {"cline", "list_files", "LS", FIELDS, ""},
    {"cline", "search_files", "Grep", FIELDS, "regex:pattern"},
    {"cline", "apply_patch", "Edit", FIELDS, "input:patch"},
    {"cline", "use_mcp_tool", "", SERVER, "server_name tool_name arguments"},

    {"goose", "developer__shell", "Bash", FIELDS, "timeout_secs:-"},
    {"goose", "shell", "Bash", FIELDS, "timeout_secs:-"},
    {"goose", "write", "Write", FIELDS, "path:file_path"},
    {"goose", "edit", "Edit", FIELDS, "path:file_path before:old_string after:new_string"},
    {"goose", "text_editor", "Edit", EDITOR,
     "path:file_path file_text:content old_str:old_string new_str:new_string diff:patch"},
    {"goose", "developer__text_editor", "Edit", EDITOR,
     "path:file_path file_text:content old_str:old_string new_str:new_string diff:patch"},

    {"openhands", "terminal", "Bash", FIELDS, "is_input:no security_risk:- timeout:-"},
    {"openhands", "execute_bash", "Bash", FIELDS, "is_input:no security_risk:- timeout:-"},
    {"openhands", "file_editor", "Edit", EDITOR,
     "path:file_path file_text:content old_str:old_string new_str:new_string security_risk:- view_range:-"},
    {"openhands", "str_replace_editor", "Edit", EDITOR,
     "path:file_path file_text:content old_str:old_string new_str:new_string security_risk:- view_range:-"},
    {"openhands", "apply_patch", "Edit", FIELDS, "patch:patch"},

    {"swe-agent", "bash", "Bash", FIELDS, ""},
    {"swe-agent", "str_replace_editor", "Edit", EDITOR,
     "path:file_path file_text:content old_str:old_string new_str:new_string view_range:-"},
    {"swe-agent", "edit", "Edit", FIELDS, "path:file_path search:old_string replace:new_string"},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows, URL_BYTES_MAX = 8 << 10 };

struct naming {
    struct arena *arena;
    const struct name_row *row;
    struct tool_named named;
    struct json_out *out;
    bool changed; /* the input that was written differs from the one that came */
};

static void doubt(struct naming *n, const char *why)
{
    if (!n->named.unclear)
        n->named.unclear = why;
}

/* ---- rows ---- */

/* Nod's name for a field that the agent calls `key`; empty when the row does not have it. */
static struct str field_of(const struct name_row *row, struct str key)
{
    for (struct str rest = str_of(row->fields); !str_empty(rest);) {
        struct str ours, theirs = str_cut(str_cut(rest, ' ', &rest), ':', &ours);
        if (str_eq(theirs, key))
            return ours;
    }
    return STR_NONE;
}

static unsigned known_fields(const struct name_row *row, const struct json *input)
{
    unsigned known = 0;
    for (const struct json *field = input->first; field; field = field->next)
        known += !str_empty(field_of(row, field->key));
    return known;
}

/* First letters of the names in the table (u_event_tool_names checks it); most of Nod's own begin with another. */
#define FIRST_LETTERS "abcdefghijklmnopqrstuvwxyzLRSW"

/* The row of the table for this tool: that of the agent that asks, else the row of any agent which knows most of the
 * input's fields. A name that Nod itself uses counts as another agent's only when the input has fields of that
 * agent. */
static const struct name_row *find_row(struct str dialect, struct str name, const struct json *input)
{
    const struct name_row *best = NULL;
    if (str_empty(name) || !memchr(FIRST_LETTERS, name.p[0], sizeof FIRST_LETTERS - 1))
        return NULL;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (name.p[0] != rows[i].theirs[0] || !str_is(name, rows[i].theirs))
            continue; /* most differ in the first letter */
        if (str_is(dialect, rows[i].dialect))
            return &rows[i];
        if (str_is(name, rows[i].ours) && known_fields(&rows[i], input) == 0)
            continue;
        if (!best || known_fields(&rows[i], input) > known_fields(best, input))
            best = &rows[i];
    }
    return best;
}

struct str tool_rule_name(struct str name)
{
    if (str_is(name, "shell"))
        return STR("Bash");
    if (str_is(name, "web_fetch"))
        return STR("WebFetch");
    return ROW_VALUE(rows, row, !row->dialect[0] && str_is(name, row->theirs), str_of(row->ours), name);
}

struct str tool_foreign_name(size_t number) { return number < ROW_COUNT ? str_of(rows[number].theirs) : STR_NONE; }

/* ---- values ---- */

static bool is_shell(struct str program)
{
    static const char *const shells[] = {"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"};
    return STR_IN(program, shells);
}

/* ["bash","-lc",text] is the text; any other words are a command of exactly those. */
static struct str command_of(struct naming *n, const struct json *words)
{
    BUF_SCOPE(buf, LIMIT_LARGE_BODY_BYTES * 2);
    const struct json *first = words->first;
    for (const struct json *word = first; word; word = word->next) {
        if (word->type != JSON_STRING) {
            doubt(n, "its command is not a list of words");
            return STR_NONE;
        }
    }
    if (words->count == 3 && is_shell(first->text) &&
        (str_is(first->next->text, "-c") || str_is(first->next->text, "-lc")))
        return first->next->next->text;
    for (const struct json *word = first; word; word = word->next) {
        if (word != first)
            buf_putc(&buf, ' ');
        buf_put_quoted(&buf, word->text);
    }
    if (buf.over)
        doubt(n, "its command is too long to be read");
    return arena_str(n->arena, buf_str(&buf));
}

static bool ends_address(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '"' || c == '\''; }

/* Finds the only address in a text; with several the call is marked as doubtful. */
static struct str address_in(struct naming *n, struct str text)
{
    struct str found = STR_NONE;
    for (size_t i = 0; i + 4 <= text.n; i++) {
        bool border = i == 0 || ends_address(text.p[i - 1]);
        struct str rest = str_sub(text, i, text.n);
        if (str_starts(rest, STR("http")) && !border)
            doubt(n, "its addresses cannot be told from its text");
        if (!border || (!str_starts(rest, STR("http://")) && !str_starts(rest, STR("https://"))))
            continue;
        if (!str_empty(found))
            doubt(n, "it names several addresses");
        size_t end = 0;
        while (end < rest.n && !ends_address(rest.p[end]))
            end++;
        found = str_sub(rest, 0, end);
    }
    if (str_empty(found) || found.n > URL_BYTES_MAX)
        doubt(n, "it names no address that can be read");
    return found;
}

/* ---- one field ---- */

static bool says_something(const struct json *value)
{
    return value->type == JSON_TRUE || value->type == JSON_NUMBER || value->count ||
           (value->type == JSON_STRING && !str_empty(value->text) && !str_is(value->text, "false"));
}

/* Takes a value that Nod keeps beside the input (a folder, a patch), and not in it. */
static void take_out(struct naming *n, struct str *ret_text, const struct json *value)
{
    if (value->type == JSON_NULL)
        return;
    if (value->type != JSON_STRING || !str_empty(*ret_text))
        doubt(n, "its input says the same thing twice, or not in words");
    *ret_text = value->text;
}

/* Joins the lines of a command; a list with anything but texts is marked as doubtful. */
static void put_lines(struct naming *n, const struct json *lines)
{
    BUF_SCOPE(buf, LIMIT_LARGE_BODY_BYTES * 2);
    for (const struct json *line = lines->first; line; line = line->next) {
        if (line->type != JSON_STRING || str_empty(line->text))
            doubt(n, "its command is not a list of lines");
        BUF_ADD(&buf, line->text, str_of(line->next ? "\n" : ""));
    }
    if (lines->type != JSON_ARRAY || buf.over)
        doubt(n, "its command is not a list of lines that can be read");
    json_member_always(n->out, "command", buf_str(&buf));
    n->changed = true;
}

static void put_command(struct naming *n, const struct json *value)
{
    json_member_always(n->out, "command", command_of(n, value));
    n->changed = true;
}

static void take_field(struct naming *n, const struct json *field, const struct json *input)
{
    struct str ours = field_of(n->row, field->key);
    struct str key = str_empty(ours) ? field->key : ours;
    n->changed = n->changed || !str_eq(key, field->key);
    if (str_is(ours, "-"))
        return;
    if (str_is(ours, "cwd")) {
        take_out(n, &n->named.cwd, field);
        return;
    }
    if (str_is(ours, "no") || str_is(ours, "shell")) {
        bool plain = str_is(ours, "shell") ? field->type == JSON_NULL || is_shell(field->text) : !says_something(field);
        if (!plain)
            doubt(n, "its input asks for more than the act itself");
        return;
    }
    if (str_is(ours, "patch"))
        take_out(n, &n->named.patch, field);
    if (str_is(ours, "prompt")) {
        json_member(n->out, "url", address_in(n, field->text));
        n->changed = true;
    }
    if (str_is(ours, "lines")) {
        if (json_get(input, "command"))
            doubt(n, "its input says the same thing twice");
        put_lines(n, field);
        return;
    }
    if (!str_eq(key, field->key) && json_get_str(input, key))
        doubt(n, "its input says the same thing twice");
    if (str_is(key, "command") && field->type == JSON_ARRAY) {
        put_command(n, field);
        return;
    }
    json_key_str(n->out, key);
    json_put_raw(n->out, field->raw);
}

/* ---- shapes ---- */

/* Reads the `command` of an editor tool that has several functions. */
static void read_editor(struct naming *n, const struct json *input)
{
    struct str act = json_text(input, "command");
    if (str_is(act, "view"))
        n->named.name = STR("Read");
    else if (str_is(act, "create") || str_is(act, "write"))
        n->named.name = STR("Write");
    else if (!str_is(act, "str_replace") && !str_is(act, "insert") && !str_is(act, "undo_edit"))
        doubt(n, "it does something that its name does not tell");
}

static void read_typing(struct naming *n, const struct json *input)
{
    if (str_empty(json_text(input, "chars")))
        n->named.name = STR("BashOutput");
    else
        doubt(n, "it types into a command that runs already");
}

static void read_server(struct naming *n, const struct json *input)
{
    struct str server = json_text(input, "server_name"), tool = json_text(input, "tool_name");
    const struct json *arguments = json_get(input, "arguments");
    if (arguments && arguments->type == JSON_OBJECT)
        n->named.input = arguments;
    else
        doubt(n, "the arguments of its tool cannot be read");
    if (str_empty(server) || str_empty(tool))
        doubt(n, "it does not say which tool it uses");
    else
        n->named.name = arena_printf(n->arena, "mcp__%.*s__%.*s", STR_ARG(server), STR_ARG(tool));
}

static void read_fields(struct naming *n, const struct json *input)
{
    JSON_SCOPE(buf, out, LIMIT_LARGE_BODY_BYTES * 2);
    const struct json *ours = NULL;
    n->out = &out;
    json_open(&out, '{');
    for (const struct json *field = input->first; field; field = field->next)
        if (n->row->shape != EDITOR || !str_is(field->key, "command"))
            take_field(n, field, input);
        else
            n->changed = true;
    json_close(&out, '}');
    if (!n->changed)
        return;
    if (!buf.over && rc_ok(json_parse(n->arena, arena_str(n->arena, buf_str(&buf)), &ours, NULL)))
        n->named.input = ours;
    else
        doubt(n, "its input cannot be read under our names");
}

struct tool_named tool_named(struct arena *arena, struct str dialect, struct str name, const struct json *input)
{
    struct naming n = {.arena = arena, .named = {.name = name, .input = input}};
    if (!input || input->type != JSON_OBJECT)
        return n.named;
    n.row = find_row(dialect, name, input);
    if (!n.row)
        return n.named;
    n.named.alias = true;
    n.named.foreign = !str_is(dialect, n.row->dialect);
    n.named.name = str_of(n.row->ours);
    if (n.row->shape == SERVER) {
        read_server(&n, input);
        return n.named;
    }
    if (n.row->shape == EDITOR)
        read_editor(&n, input);
    if (n.row->shape == TYPING)
        read_typing(&n, input);
    read_fields(&n, input);
    return n.named;
}

/* ---- patches ---- */

size_t tool_patch_paths(struct str patch, struct str paths[TOOL_PATHS_MAX], const char **ret_unclear)
{
    static const char *const files[] = {"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "};
    static const char *const others[] = {"*** Begin Patch", "*** End Patch", "*** End of File"};
    size_t count = 0;
    for (struct str rest = patch; !str_empty(rest);) {
        struct str line = str_trim(str_cut(rest, '\n', &rest)), path = STR_NONE;
        bool known = !str_starts(line, STR("***"));
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            if (str_starts(line, str_of(files[i])))
                path = str_trim(str_sub(line, strlen(files[i]), line.n));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            known = known || str_is(line, others[i]);
        if (!known && (str_empty(path) || count == TOOL_PATHS_MAX))
            *ret_unclear = "it is not clear which files the patch changes";
        else if (!str_empty(path))
            paths[count++] = path;
    }
    if (count == 0)
        *ret_unclear = "the patch names no file that it changes";
    return count;
}
