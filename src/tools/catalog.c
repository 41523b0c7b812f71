/* The tools that Nod knows by name: their class (reads, edits, runs a command, …), the field of the input that
 * matters, the kind of act and a verb for titles. tool_facts makes the facts by which rules judge a call
 * (policy/policy.h). */
#include "tools/tool.h"

#include "base/utf8.h"

#include "event/tool_names.h"

/*    name                class         field            kind                  verb */
#define TOOLS(X)                                                                                                    \
    X("Read",             TOOL_READ,    "file_path",     "Read a file",        "Read")                              \
    X("Glob",             TOOL_READ,    "path",          "Search files",       "List files in")                     \
    X("Grep",             TOOL_READ,    "path",          "Search files",       "Search in")                         \
    X("LS",               TOOL_READ,    "path",          "Search files",       "List")                              \
    X("NotebookRead",     TOOL_READ,    "notebook_path", "Read a file",        "Read")                              \
    X("Write",            TOOL_EDIT,    "file_path",     "Write a file",       "Write")                             \
    X("Edit",             TOOL_EDIT,    "file_path",     "Change a file",      "Edit")                              \
    X("MultiEdit",        TOOL_EDIT,    "file_path",     "Change a file",      "Edit")                              \
    X("NotebookEdit",     TOOL_EDIT,    "notebook_path", "Change a notebook",  "Edit")                              \
    X("Bash",             TOOL_COMMAND, "command",       "Run a command",      "Run")                               \
    X("BashOutput",       TOOL_TASK,    "bash_id",       "Use a command",      "Read the output of")                \
    X("KillShell",        TOOL_TASK,    "shell_id",      "Use a command",      "Stop the command")                  \
    X("TodoWrite",        TOOL_TASK,    NULL,            "Use the task list",  "Update the task list")              \
    X("TodoRead",         TOOL_TASK,    NULL,            "Use the task list",  "Read the task list")                \
    X("task-add",         TOOL_TASK,    NULL,            "Use the task list",  "Add a task")                        \
    X("task-create",      TOOL_TASK,    NULL,            "Use the task list",  "Add a task")                        \
    X("task-update",      TOOL_TASK,    NULL,            "Use the task list",  "Update a task")                     \
    X("task-add-note",    TOOL_TASK,    NULL,            "Use the task list",  "Add a note to a task")              \
    X("task-view",        TOOL_TASK,    NULL,            "Use the task list",  "Read a task")                       \
    X("task-complete",    TOOL_TASK,    NULL,            "Use the task list",  "Complete a task")                   \
    X("task-list",        TOOL_TASK,    NULL,            "Use the task list",  "Read the task list")                \
    X("task_add",         TOOL_TASK,    NULL,            "Use the task list",  "Add a task")                        \
    X("task_complete",    TOOL_TASK,    NULL,            "Use the task list",  "Complete a task")                   \
    X("task_list",        TOOL_TASK,    NULL,            "Use the task list",  "Read the task list")                \
    X("TaskCreate",       TOOL_TASK,    NULL,            "Use the task list",  "Add a task")                        \
    X("TaskUpdate",       TOOL_TASK,    NULL,            "Use the task list",  "Update a task")                     \
    X("TaskList",         TOOL_TASK,    NULL,            "Use the task list",  "Read the task list")                \
    X("TaskGet",          TOOL_TASK,    NULL,            "Use the task list",  "Read a task")                       \
    X("WebFetch",         TOOL_FETCH,   "url",           "Use the web",        "Fetch")                             \
    X("WebSearch",        TOOL_FETCH,   "query",         "Use the web",        "Search the web for")                \
    X("Net",              TOOL_FETCH,   "host",          "Reach a host",       "Connect to")                        \
    X("McpServers",       TOOL_OTHER,   "file",          "Trust servers",      "Trust the servers of")              \
    X("McpDefinition",    TOOL_OTHER,   "tool",          "Agree to a change",  "Accept the server's change of")     \
    X("Task",             TOOL_AGENT,   "description",   "Start a sub-agent",  "Start a sub-agent:")                \
    X("Agent",            TOOL_AGENT,   "description",   "Start a sub-agent",  "Start a sub-agent:")                \
    X("ExitPlanMode",     TOOL_PLAN,    "plan",          "Approve a plan",     "Leave plan mode:")                  \
    X("exit_plan_mode",   TOOL_PLAN,    "plan",          "Approve a plan",     "Leave plan mode:")                  \
    X("AskUserQuestion",  TOOL_PLAN,    NULL,            "Answer a question",  "Ask a question")                    \
    X("Elicitation",      TOOL_PLAN,    "message",       "Answer a question",  "Fill in a form:")

static const struct tool_entry tools[] = {
#define X(name, class, field, kind, verb) {name, class, field, kind, verb},
    TOOLS(X)
#undef X
};

const struct tool_entry *tool_entry_find(struct str name)
{
    char first = str_empty(name) ? '\0' : name.p[0]; /* most names differ in their first letter */
    const struct tool_entry *entry = ROW_VALUE(tools, row, row->name[0] == first && str_is(name, row->name), row, NULL);
    const struct executor *executor = entry ? NULL : executor_find(name);
    return executor ? executor->known : entry;
}

const struct tool_entry *tool_entry_at(size_t number)
{
    return number < sizeof tools / sizeof *tools ? &tools[number] : NULL;
}

/* Facts are for the judge: they name what the call would touch, and come from the input alone. A tool that has no row
 * has no class, so that only rules about its name can match it. */
struct tool_facts tool_facts(struct str name, const struct json *input)
{
    const struct tool_entry *tool = tool_entry_find(name);
    struct tool_facts facts = {.name = name, .input = input};
    if (!tool)
        return facts;
    facts.class = tool->class;
    struct str about = tool->field ? json_text(input, tool->field) : STR_NONE;
    if (tool->class == TOOL_COMMAND)
        facts.command = about;
    else if (tool->class == TOOL_FETCH)
        facts.url = about;
    else if ((tool->class == TOOL_READ || tool->class == TOOL_EDIT) && !str_empty(about))
        facts.paths[facts.path_count++] = about;
    return facts;
}

/* Reads the call under our names (event/tool_names.h) first, so that one rule holds for every agent. */
struct tool_facts tool_facts_from(struct arena *arena, struct str dialect, struct str name,
                                  const struct json *input)
{
    struct tool_named named = tool_named(arena, dialect, name, input);
    struct tool_facts facts = tool_facts(named.name, named.input);
    if (str_is(facts.name, "Net"))
        facts.url = tool_net_url(arena, input, NULL);
    if (!named.alias)
        return facts;
    facts.asked = name;
    facts.foreign = named.foreign;
    facts.unclear = named.unclear;
    facts.cwd = named.cwd;
    facts.patch = named.patch;
    if (!str_empty(named.patch))
        facts.path_count = tool_patch_paths(named.patch, facts.paths, &facts.unclear);
    return facts;
}

static bool plain_host(struct str host)
{
    for (size_t i = 0; i < host.n; i++)
        if (!(host.p[i] >= 'a' && host.p[i] <= 'z') && !(host.p[i] >= '0' && host.p[i] <= '9') &&
            !(host.p[i] && strchr("-_.", host.p[i])))
            return false;
    return host.n > 0 && host.n <= LIMIT_HOST_BYTES;
}

/* Rules about hosts are written for URLs, so that a connection is judged as the URL that would open it; "/-" stands
 * for no path. */
struct str tool_net_url(struct arena *arena, const struct json *input, const char *scheme)
{
    enum { HTTP = 80, HTTPS = 443 };
    struct str host = json_text(input, "host");
    int64_t port = 0;
    if (!plain_host(host) || rc_bad(json_want_i64(input, "port", 1, 65535, &port, NULL)))
        return STR_NONE;
    const char *as = scheme ? scheme : port == HTTP ? "http" : "https";
    if (port == (strcmp(as, "http") == 0 ? HTTP : HTTPS))
        return arena_printf(arena, "%s://%.*s/-", as, STR_ARG(host));
    return arena_printf(arena, "%s://%.*s:%d/-", as, STR_ARG(host), (int)port);
}

/* Without a parser: the length is checked before anything reads the URL as one. */
static size_t host_bytes(struct str url)
{
    struct str rest = url;
    for (size_t i = 0; i + 3 <= url.n && i < LIMIT_NAME_BYTES; i++)
        if (str_starts(str_sub(url, i, url.n), STR("://"))) {
            rest = str_sub(url, i + 3, url.n);
            break;
        }
    size_t n = 0;
    while (n < rest.n && !strchr("/?#", rest.p[n]))
        n++;
    return n;
}

/* Limits that keep the judge quick: names longer than this are refused before they are compared with rules. */
struct rc tool_facts_check(const struct tool_facts *facts, struct err *err)
{
    for (size_t i = 0; i < facts->path_count; i++)
        if (facts->paths[i].n > LIMIT_PATH_BYTES)
            return err_set(err, ERR_INVALID, "a path is longer than %d bytes", LIMIT_PATH_BYTES);
    if (host_bytes(facts->url) > LIMIT_HOST_BYTES + sizeof ":65535" - 1)
        return err_set(err, ERR_INVALID, "the host of the URL is longer than %d bytes", LIMIT_HOST_BYTES);
    return RC_OK;
}

enum { SUMMARY_BYTES_MAX = 120 };

/* One line for lists and messages. It is cut at a number of bytes, because the whole is in the preview. */
void tool_summary(struct buf *buf, const struct tool_facts *facts)
{
    const struct tool_entry *tool = tool_entry_find(facts->name);
    struct str about = tool && tool->field ? json_text(facts->input, tool->field) : STR_NONE;
    if (!tool)
        buf_printf(buf, "Use %.*s", STR_ARG(facts->name));
    else
        buf_puts(buf, tool->verb);
    if (str_empty(about) && facts->class == TOOL_EDIT && facts->path_count)
        about = facts->paths[0];
    if (str_empty(about))
        return;
    bool cut = about.n > SUMMARY_BYTES_MAX;
    BUF_ADD(buf, STR(" "), utf8_start(about, SUMMARY_BYTES_MAX));
    int64_t port = 0;
    if (str_is(facts->name, "Net") && rc_ok(json_want_i64(facts->input, "port", 1, 65535, &port, NULL)) && port)
        buf_printf(buf, ":%d", (int)port);
    if (cut)
        buf_puts(buf, "…");
    if (facts->path_count > 1)
        buf_printf(buf, " and %zu more", facts->path_count - 1);
}
