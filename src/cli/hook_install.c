/* Hooks in an agent's settings: shown as a change first, written when the person agrees.
 *
 * The settings are read as JSON and written again with two blanks per level, everything else in its order and
 * with its bytes; entries of ours are recognised by their command and never doubled. The file is replaced as
 * a whole, or not at all.
 */
#include "cli/hook_install.h"

#include "base/limits.h"
#include "cli/local.h"
#include "io/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SETTINGS_BYTES_MAX = 1 << 20,
    PERSON_S = 86400,       /* for an answer */
    TOLD_S = 60,            /* for a hook that only tells us something */
    SPARE_S = 30,           /* what our own deadline leaves of it */
};

/* What is written for each agent: seconds are in its own unit. */
static const struct {
    enum hook_agent agent;
    const char *event;
    int64_t seconds;
    int64_t unit;
} hooks[] = {
    {HOOK_CLAUDE, "PreToolUse", PERSON_S, 1},
    {HOOK_CLAUDE, "PermissionRequest", PERSON_S, 1},
    {HOOK_CLAUDE, "PostToolUse", TOLD_S, 1},
    {HOOK_CLAUDE, "Stop", TOLD_S, 1},
    {HOOK_CODEX, "PreToolUse", PERSON_S, 1},
    {HOOK_GEMINI, "BeforeTool", PERSON_S, 1000},
};
enum { HOOK_ROWS = sizeof hooks / sizeof *hooks };

static const struct {
    const char *variable, *folder, *file; /* the variable's folder, else the one in the home folder */
    const char *words;                    /* what the person should know */
} places[HOOK_AGENT_COUNT] = {
    [HOOK_CLAUDE] = {"CLAUDE_CONFIG_DIR", ".claude", "settings.json",
                     "Claude Code 2.1.197 and older do not know onFailure: there, a hook that cannot be "
                     "started or is cut off by its time limit leaves the call to Claude Code's own rules, "
                     "which may let it run. Newer ones block it. With -p they run no PermissionRequest "
                     "hook: what nobody can be asked is denied; --strict asks."},
    [HOOK_CODEX] = {"CODEX_HOME", ".codex", "hooks.json",
                    "Codex skips hooks that it was not told to trust, silently: trust this one in Codex "
                    "(/hooks). A hook that cannot be started at all lets the call run."},
    [HOOK_GEMINI] = {NULL, ".gemini", "settings.json",
                     "Gemini goes on when a hook is killed or cut off by its time limit, and runs none in --acp "
                     "mode. With -p its own rules deny first: use --approval-mode yolo."},
};

struct edit {
    struct cli *cli;
    enum hook_agent agent;
    bool remove, strict;
    const char *command; /* without its time limit */
    const char *url;     /* NULL: the hook is a command */
};

/* ---- JSON with two blanks per level ---- */

static void new_line(struct buf *buf, unsigned depth)
{
    buf_putc(buf, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_puts(buf, "  ");
}

static void put_key(struct buf *buf, struct str key, bool *first, unsigned depth)
{
    if (!*first)
        buf_putc(buf, ',');
    *first = false;
    new_line(buf, depth);
    if (!key.p)
        return;
    struct json_out out = json_out(buf);
    json_put_str(&out, key);
    buf_puts(buf, ": ");
}

static void put_pretty(struct buf *buf, const struct json *value, unsigned depth)
{
    bool object = value->type == JSON_OBJECT, first = true;
    if ((!object && value->type != JSON_ARRAY) || value->count == 0) {
        buf_put(buf, value->raw);
        return;
    }
    CHECK(depth <= LIMIT_JSON_DEPTH + 1);
    buf_putc(buf, object ? '{' : '[');
    for (const struct json *v = value->first; v; v = v->next) {
        put_key(buf, object ? v->key : STR_NONE, &first, depth + 1);
        put_pretty(buf, v, depth + 1);
    }
    new_line(buf, depth);
    buf_putc(buf, object ? '}' : ']');
}

/* ---- our entries ---- */

static bool ours(const struct edit *edit, const struct json *entry)
{
    const char *name = hook_agent_name(edit->agent);
    struct str mark = arena_printf(&edit->cli->arena, " hook %s --wait", name);
    struct str address = arena_printf(&edit->cli->arena, "/api/hooks/%s", name);
    const struct json *inner = json_get(entry, "hooks");
    for (const struct json *hook = inner ? inner->first : NULL; hook; hook = hook->next)
        if (str_has(json_text(hook, "command"), mark) || str_has(json_text(hook, "url"), address))
            return true;
    return false;
}

static void put_address(struct json_out *out, const struct edit *edit, int64_t wait_s)
{
    struct str url = arena_printf(&edit->cli->arena, "%s?wait=%lld%s", edit->url, (long long)wait_s,
                                  edit->strict ? "&strict=1" : "");
    json_member(out, "type", STR("http"));
    json_member(out, "url", url);
    json_key(out, "headers");
    json_open(out, '{');
    json_member(out, "Authorization", STR("Bearer $NOD_TOKEN"));
    json_close(out, '}');
    json_key(out, "allowedEnvVars");
    json_put_raw(out, STR("[\"NOD_TOKEN\"]"));
}

static void put_ours(struct buf *buf, const struct edit *edit, size_t row, unsigned depth)
{
    BUF_SCOPE(text, SETTINGS_BYTES_MAX);
    struct arena *arena = &edit->cli->arena;
    struct json_out out = json_out(&text);
    const struct json *entry;
    int64_t wait_s = hooks[row].seconds - SPARE_S;
    json_open(&out, '{');
    json_member(&out, "matcher", STR("*"));
    json_key(&out, "hooks");
    json_open(&out, '[');
    json_open(&out, '{');
    if (edit->url) {
        put_address(&out, edit, wait_s);
    } else {
        json_member(&out, "type", STR("command"));
        json_member(&out, "command", arena_printf(arena, "%s --wait %lld%s", edit->command, (long long)wait_s,
                                                    edit->strict ? " --strict" : ""));
    }
    json_member_i64(&out, "timeout", hooks[row].seconds * hooks[row].unit);
    if (edit->agent == HOOK_CLAUDE && hooks[row].seconds == PERSON_S) /* what only tells us must hold nothing up */
        json_member(&out, "onFailure", STR("block"));
    json_close(&out, '}');
    json_close(&out, ']');
    json_close(&out, '}');
    struct rc rc = json_parse(arena, arena_str(arena, buf_str(&text)), &entry, NULL);
    CHECK(rc_ok(rc));
    put_pretty(buf, entry, depth);
}

/* The list of one event: what is there without ours, then ours. False when nothing is left. */
static bool put_event(struct buf *buf, const struct edit *edit, const struct json *list, size_t row)
{
    bool first = true;
    size_t start = buf->n;
    buf_putc(buf, '[');
    for (const struct json *entry = list ? list->first : NULL; entry; entry = entry->next) {
        if (ours(edit, entry))
            continue;
        put_key(buf, STR_NONE, &first, 3);
        put_pretty(buf, entry, 3);
    }
    if (!edit->remove && row < HOOK_ROWS) {
        put_key(buf, STR_NONE, &first, 3);
        put_ours(buf, edit, row, 3);
    }
    new_line(buf, 2);
    buf_putc(buf, ']');
    if (first)
        buf->n = start;
    return !first;
}

/* The row of this event, HOOK_ROWS when it is none of ours. */
static size_t row_of(const struct edit *edit, struct str event)
{
    size_t row = 0;
    while (row < HOOK_ROWS && !(hooks[row].agent == edit->agent && str_is(event, hooks[row].event)))
        row++;
    return row;
}

static void put_event_member(struct buf *buf, const struct edit *edit, struct str event,
                             const struct json *list, bool *first)
{
    size_t start = buf->n;
    bool was_first = *first;
    put_key(buf, event, first, 2);
    if (put_event(buf, edit, list, row_of(edit, event)))
        return;
    buf->n = start;
    *first = was_first;
}

static bool put_hooks(struct buf *buf, const struct edit *edit, const struct json *there)
{
    bool first = true;
    buf_putc(buf, '{');
    for (const struct json *event = there ? there->first : NULL; event; event = event->next)
        put_event_member(buf, edit, event->key, event, &first);
    for (size_t row = 0; row < HOOK_ROWS; row++)
        if (hooks[row].agent == edit->agent && !json_get(there, hooks[row].event))
            put_event_member(buf, edit, str_of(hooks[row].event), NULL, &first);
    new_line(buf, 1);
    buf_putc(buf, '}');
    return !first;
}

static void put_hooks_member(struct buf *buf, const struct edit *edit, const struct json *there, bool *first)
{
    size_t start = buf->n;
    bool was_first = *first;
    put_key(buf, STR("hooks"), first, 1);
    if (put_hooks(buf, edit, there))
        return;
    buf->n = start;
    *first = was_first;
}

static void put_settings(struct buf *buf, const struct edit *edit, const struct json *settings)
{
    bool first = true;
    buf_putc(buf, '{');
    for (const struct json *v = settings->first; v; v = v->next) {
        if (str_is(v->key, "hooks")) {
            put_hooks_member(buf, edit, v, &first);
            continue;
        }
        put_key(buf, v->key, &first, 1);
        put_pretty(buf, v, 1);
    }
    if (!json_get(settings, "hooks"))
        put_hooks_member(buf, edit, NULL, &first);
    if (!first)
        new_line(buf, 0);
    buf_puts(buf, "}\n");
}

/* ---- showing and writing ---- */

static void show_lines(struct buf *out, char mark, struct str text)
{
    while (!str_empty(text)) {
        struct str line = str_cut(text, '\n', &text);
        buf_printf(out, "%c%.*s\n", mark, STR_ARG(line));
    }
}

/* What differs between the lines that both begin and end with. */
static void show_change(const char *path, struct str old, struct str new)
{
    BUF_SCOPE(out, SETTINGS_BYTES_MAX * 4);
    size_t head = 0, tail = 0, line = 0;
    while (head < old.n && head < new.n && old.p[head] == new.p[head]) {
        if (old.p[head] == '\n')
            line = head + 1;
        head++;
    }
    while (tail < old.n - line && tail < new.n - line && old.p[old.n - 1 - tail] == new.p[new.n - 1 - tail])
        tail++;
    while (tail && !(old.n - tail > 0 && old.p[old.n - tail - 1] == '\n' && new.p[new.n - tail - 1] == '\n'))
        tail--;
    buf_printf(&out, "--- %s\n+++ %s\n", path, path);
    show_lines(&out, '-', str_sub(old, line, old.n - tail));
    show_lines(&out, '+', str_sub(new, line, new.n - tail));
    cli_out(buf_str(&out));
    (void)fflush(stdout);
}

static bool person_agrees(const char *path)
{
    char answer[8] = "";
    (void)fprintf(stderr, "Write this to %s? [y/N] ", path);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The mode of the old file stays. */
static struct rc write_settings(const char *path, struct str text, struct err *err)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    TRY(file_write_private(path, text, err));
    if (there && chmod(path, st.st_mode & 07777) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return RC_OK;
}

/* ---- where and what ---- */

static struct rc settings_path(struct edit *edit, const char **ret_path, struct err *err)
{
    struct arena *arena = &edit->cli->arena;
    const char *named = option_text(edit->cli, "settings");
    const char *variable = places[edit->agent].variable;
    const char *folder = variable ? getenv(variable) : NULL;
    const char *home = getenv("HOME");
    if (named) {
        *ret_path = named;
        return RC_OK;
    }
    if (!(folder && folder[0]) && !(home && home[0]))
        return err_set(err, ERR_INVALID, "there is no HOME: say --settings FILE");
    if (!(folder && folder[0]))
        folder = arena_printf(arena, "%s/%s", home, places[edit->agent].folder).p;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "%s: %s", folder, strerror(errno));
    *ret_path = arena_printf(arena, "%s/%s", folder, places[edit->agent].file).p;
    return RC_OK;
}

/* As a word of the shell. */
static struct str quoted(struct arena *arena, const char *word)
{
    BUF_SCOPE(buf, LIMIT_PATH_BYTES * 4);
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@";
    if (word[0] && word[strspn(word, plain)] == '\0')
        return arena_str(arena, str_of(word));
    buf_putc(&buf, '\'');
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            buf_puts(&buf, "'\\''");
        else
            buf_putc(&buf, *c);
    }
    buf_putc(&buf, '\'');
    return arena_str(arena, buf_str(&buf));
}

static struct rc compose(struct edit *edit, struct err *err)
{
    struct cli *cli = edit->cli;
    struct arena *arena = &cli->arena;
    const struct settings *settings = &cli->settings;
    const char *name = hook_agent_name(edit->agent);
    char self[LIMIT_PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return err_set(err, ERR_IO, "cannot find this program itself: %s", strerror(errno));
    self[n] = '\0';
    bool elsewhere = settings->origins[SETTING_ID_data].kind != ORIGIN_DEFAULT;
    struct str data = STR("");
    if (elsewhere)
        data = arena_printf(arena, " --data %s", quoted(arena, settings->data).p);
    edit->command = arena_printf(arena, "%s%.*s hook %s", quoted(arena, self).p, STR_ARG(data), name).p;
    if (option_flag(cli, "http") && edit->agent != HOOK_CLAUDE)
        return err_set(err, ERR_INVALID, "only Claude Code has hooks over HTTP");
    if (option_flag(cli, "http"))
        edit->url = str_starts(str_of(settings->url), STR("http://"))
                        ? arena_printf(arena, "%s/api/hooks/%s", settings->url, name).p
                        : arena_printf(arena, "http://%s/api/hooks/%s", settings->listen, name).p;
    return RC_OK;
}

static struct rc read_settings(struct cli *cli, const char *path, struct str *ret_text,
                               const struct json **ret_settings, struct err *err)
{
    struct err why = {0};
    struct rc rc = file_read(&cli->arena, path, SETTINGS_BYTES_MAX, ret_text, &why);
    if (rc.code == ERR_NOT_FOUND)
        *ret_text = STR_NONE;
    else if (rc_bad(rc))
        return err_set(err, rc.code, "%s", why.text);
    struct str text = str_empty(str_trim(*ret_text)) ? STR("{}") : *ret_text;
    rc = json_parse(&cli->arena, text, ret_settings, &why);
    if (rc_bad(rc) || (*ret_settings)->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "%s is no JSON object, so it is left alone%s%.200s", path,
                       rc_bad(rc) ? ": " : "", rc_bad(rc) ? why.text : "");
    const struct json *there = json_get(*ret_settings, "hooks");
    if (there && there->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "\"hooks\" in %s is no object, so it is left alone", path);
    return RC_OK;
}

struct rc hook_install(struct cli *cli, enum hook_agent agent, bool remove, struct err *err)
{
    struct edit edit = {.cli = cli, .agent = agent, .remove = remove, .strict = option_flag(cli, "strict")};
    BUF_SCOPE(new, SETTINGS_BYTES_MAX * 2);
    const struct json *settings;
    const char *path = NULL;
    struct str old;
    TRY(compose(&edit, err));
    TRY(settings_path(&edit, &path, err));
    TRY(read_settings(cli, path, &old, &settings, err));
    put_settings(&new, &edit, settings);
    if (new.over)
        return err_set(err, ERR_TOO_LARGE, "%s would become too large", path);
    if (str_eq(str_trim(old), str_trim(buf_str(&new))) || (remove && str_empty(old))) {
        cli_note("nothing to change in %s", path);
        return RC_OK;
    }
    show_change(path, old, buf_str(&new));
    if (!remove)
        cli_note("%s", places[agent].words);
    bool asks = !option_flag(cli, "yes");
    if (asks && !isatty(STDIN_FILENO))
        return err_set(err, ERR_INVALID, "nothing was written: add --yes when this is what you want");
    if (asks && !person_agrees(path)) {
        cli_note("nothing was written");
        cli->status = 1;
        return RC_OK;
    }
    TRY(write_settings(path, buf_str(&new), err));
    cli_note("written: %s", path);
    return RC_OK;
}
