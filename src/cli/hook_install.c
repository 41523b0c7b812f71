/* Hooks in an agent's settings: shown as a change first, written when the person agrees.
 *
 * The settings are read as JSON, with comments where an agent allows them. Only the bytes of "hooks" are written anew;
 * entries of ours are recognised by their command and never doubled. The file is replaced as
 * a whole, or not at all.
 */
#include "cli/hook_install.h"

#include "base/limits.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/loose_json.h"
#include "cli/remote.h"
#include "io/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    SETTINGS_BYTES_MAX = 1 << 20,
    PERSON_S = 86400,       /* timeout of a hook that waits for a person's answer */
    TOLD_S = 60,            /* timeout of a hook that only reports something */
    SPARE_S = 30,           /* our own deadline ends so long before the agent's timeout */
};

/* An installation or removal while it is prepared. */
struct edit {
    struct cli *cli;
    const struct agent *agent;
    struct hook_choice how;
    const char *command; /* without its time limit */
    const char *url;     /* NULL: the hook is a command */
    struct identity_want want;
    const char *identity; /* its file */
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

/* Values are copied as they stand in the file; only the layout around them is made anew. */
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

/* Quotes a word for the shell. */
static struct str quoted(struct arena *arena, const char *word)
{
    BUF_SCOPE(buf, LIMIT_PATH_BYTES * 4);
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@";
    if (word[0] && word[strspn(word, plain)] == '\0')
        return arena_str(arena, str_of(word));
    buf_put_quoted(&buf, str_of(word));
    return arena_str(arena, buf_str(&buf));
}

/* ---- our entries ---- */

/* Found by the command that hooks of every version have had, so that an older hook is replaced and not doubled. */
static bool ours(const struct edit *edit, const struct json *entry)
{
    const char *name = edit->agent->name;
    struct str mark = arena_printf(&edit->cli->arena, " hook %s --wait", name);
    struct str address = arena_printf(&edit->cli->arena, "/api/hooks/%s", name);
    const struct json *inner = json_get(entry, "hooks"); /* some agents put hooks into groups, others do not */
    for (const struct json *hook = inner ? inner->first : entry; hook; hook = inner ? hook->next : NULL)
        if (str_has(json_text(hook, "command"), mark) || str_has(json_text(hook, "bash"), mark) ||
            str_has(json_text(hook, "url"), address))
            return true;
    return false;
}

static struct str our_words(const struct edit *edit, int64_t wait_s)
{
    struct arena *arena = &edit->cli->arena;
    return arena_printf(arena, "%s --wait %lld%s --identity %s", edit->command, (long long)wait_s,
                        edit->how.strict ? " --strict" : "", quoted(arena, edit->identity).p);
}

static int64_t person_seconds(const struct agent *agent)
{
    return agent->place.seconds ? agent->place.seconds : PERSON_S;
}

/* One entry of the agent's settings, in the form its place wants; waiting hooks get a time limit that is longer
 * than ours. */
static void put_ours(struct buf *buf, const struct edit *edit, const struct agent_event *event, unsigned depth)
{
    JSON_SCOPE(text, out, SETTINGS_BYTES_MAX);
    struct arena *arena = &edit->cli->arena;
    const struct json *json;
    bool waits = event->kind == HOOK_BEFORE || event->kind == HOOK_PERMISSION;
    int64_t seconds = waits ? person_seconds(edit->agent) : TOLD_S, wait_s = seconds - SPARE_S;
    struct agent_entry entry = {.command = our_words(edit, wait_s), .timeout = seconds * event->unit, .waits = waits};
    if (edit->url)
        entry.url = arena_printf(arena, "%s?wait=%lld%s", edit->url, (long long)wait_s,
                                 edit->how.strict ? "&strict=1" : "");
    if (edit->agent->place.entry)
        edit->agent->place.entry(&out, &entry);
    else
        agent_put_group(&out, &entry, "");
    CHECK(rc_ok(json_parse(arena, arena_str(arena, buf_str(&text)), &json, NULL)));
    put_pretty(buf, json, depth);
}

/* Writes the list of one event: the existing entries without ours, then ours. False when it is empty. */
static bool put_event(struct buf *buf, const struct edit *edit, const struct json *list,
                      const struct agent_event *event)
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
    if (!edit->how.remove && event) {
        put_key(buf, STR_NONE, &first, 3);
        put_ours(buf, edit, event, 3);
    }
    new_line(buf, 2);
    buf_putc(buf, ']');
    if (first)
        buf->n = start;
    return !first;
}

/* NULL: it is none that we install. */
static const struct agent_event *event_of(const struct edit *edit, struct str name)
{
    for (const struct agent_event *event = edit->agent->hooks.events; event->name; event++)
        if (event->unit && str_is(name, event->name))
            return event;
    return NULL;
}

static void put_event_member(struct buf *buf, const struct edit *edit, struct str event,
                             const struct json *list, bool *first)
{
    size_t start = buf->n;
    bool was_first = *first;
    put_key(buf, event, first, 2);
    if (put_event(buf, edit, list, event_of(edit, event)))
        return;
    buf->n = start;
    *first = was_first;
}

/* Hooks of others stay, in their order. False: nothing is left, and the member is left out. */
static bool put_hooks(struct buf *buf, const struct edit *edit, const struct json *there)
{
    bool first = true;
    buf_putc(buf, '{');
    for (const struct json *event = there ? there->first : NULL; event; event = event->next)
        put_event_member(buf, edit, event->key, event, &first);
    for (const struct agent_event *event = edit->agent->hooks.events; event->name; event++)
        if (event->unit && !json_get(there, event->name))
            put_event_member(buf, edit, str_of(event->name), NULL, &first);
    new_line(buf, 1);
    buf_putc(buf, '}');
    return !first;
}

/* Takes `"hooks": …` out of an object, with the comma that parted it from the others. */
static struct rc cut_hooks(struct buf *buf, struct str old, size_t from, size_t to, struct err *err)
{
    static const char key[] = "\"hooks\"";
    while (from > 0 && (strchr(" \t\r\n:", old.p[from - 1])))
        from--;
    if (from < sizeof key - 1 || memcmp(old.p + from - (sizeof key - 1), key, sizeof key - 1) != 0)
        return err_set(err, ERR_INVALID, "\"hooks\" is not written plainly, so the settings are left alone");
    from -= sizeof key - 1;
    while (from > 0 && strchr(" \t\r\n", old.p[from - 1]))
        from--;
    size_t after = to;
    while (after < old.n && strchr(" \t\r\n", old.p[after]))
        after++;
    if (from > 0 && old.p[from - 1] == ',')
        from--;
    else if (after < old.n && old.p[after] == ',')
        to = after + 1;
    BUF_ADD(buf, str_sub(old, 0, from), str_sub(old, to, old.n));
    return RC_OK;
}

/* The settings with our hooks in them, or without: all bytes but those of "hooks" stay. `plain` is the old text
 * without comments, byte for byte in the same place; `settings` was read from it. */
static struct rc put_settings(struct buf *buf, const struct edit *edit, struct str old, struct str plain,
                              const struct json *settings, struct err *err)
{
    BUF_SCOPE(ours_too, SETTINGS_BYTES_MAX * 2);
    const struct json *there = json_get(settings, "hooks");
    bool some = put_hooks(&ours_too, edit, there);
    size_t from = (size_t)((there ? there->raw.p : settings->raw.p + 1) - plain.p);
    size_t to = there ? from + there->raw.n : from;
    if (!some && there)
        return cut_hooks(buf, old, from, to, err);
    buf_put(buf, str_sub(old, 0, from));
    if (some && !there)
        buf_puts(buf, "\n  \"hooks\": ");
    if (some)
        buf_put(buf, buf_str(&ours_too));
    if (some && !there)
        buf_puts(buf, settings->count ? "," : "\n");
    buf_put(buf, str_sub(old, to, old.n));
    return RC_OK;
}

/* ---- files that are ours as a whole ---- */

static struct str command_in(struct str text)
{
    static const char mark[] = " nod: ";
    STR_EACH(line, text, '\n') {
        const char *at = line.n ? memmem(line.p, line.n, mark, strlen(mark)) : NULL;
        if (at)
            return str_sub(line, (size_t)(at - line.p) + strlen(mark), line.n);
    }
    return STR_NONE;
}

/* ---- showing and writing ---- */

static void show_lines(struct buf *out, char mark, struct str text)
{
    STR_EACH(line, text, '\n') {
        buf_printf(out, "%c%.*s\n", mark, STR_ARG(line));
    }
}

/* The lines between the common beginning and the common end. */
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

static bool person_agrees(const char *question)
{
    char answer[8] = "";
    (void)fprintf(stderr, "%s [y/N] ", question);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* The mode of the old file stays. */
static struct rc write_settings(const struct edit *edit, const char *path, struct str text, struct err *err)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (str_empty(text) && unlink(path) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (str_empty(text))
        return RC_OK;
    TRY(file_write_private(path, text, err));
    if (edit->agent->place.runs && chmod(path, 0700) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (there && !edit->agent->place.runs && chmod(path, st.st_mode & 07777) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return RC_OK;
}

/* ---- where and what ---- */

/* An option, the agent's own variable, the person's home, in this order; agents look for their settings in the same
 * way. */
static struct rc settings_path(struct edit *edit, const char **ret_path, struct err *err)
{
    struct arena *arena = &edit->cli->arena;
    const char *named = edit->how.settings;
    const char *variable = edit->agent->place.variable;
    const char *folder = variable ? getenv(variable) : NULL;
    const char *home = getenv("HOME");
    if (!edit->agent->place.file)
        return err_set(err, ERR_INVALID, "%s has no hooks", edit->agent->title);
    if (named) {
        *ret_path = named;
        return RC_OK;
    }
    if (!(folder && folder[0]) && !(home && home[0]))
        return err_set(err, ERR_INVALID, "HOME is not set: give --settings FILE");
    if (!(folder && folder[0]))
        folder = arena_printf(arena, "%s/%s", home, edit->agent->place.folder).p;
    *ret_path = arena_printf(arena, "%s/%s", folder, edit->agent->place.file).p;
    return RC_OK;
}

/* "claude@host", or the folder of settings that are a project's. */
static struct str token_name(struct edit *edit, const char *path)
{
    struct utsname system;
    struct arena *arena = &edit->cli->arena;
    const char *name = edit->agent->name;
    if (!edit->how.settings)
        return arena_printf(arena, "%s@%s", name, uname(&system) == 0 ? system.nodename : "here");
    struct str folder = str_of(path);
    for (int up = 0; up < 2; up++) {
        while (folder.n && folder.p[folder.n - 1] != '/')
            folder.n--;
        folder.n -= folder.n ? 1 : 0;
    }
    return arena_printf(arena, "%s@%.*s", name, STR_ARG(local_title(folder)));
}

/* The project of a settings file in PROJECT/.agent/, or the home folder of one that is the person's own. */
static struct str given_folder(struct arena *arena, struct str folder)
{
    size_t end = folder.n;
    while (end && folder.p[end - 1] != '/')
        end--;
    bool hidden = end && end < folder.n && folder.p[end] == '.';
    const char *home = getenv("HOME");
    if (hidden)
        return arena_str(arena, str_sub(folder, 0, end > 1 ? end - 1 : 1));
    return home && home[0] == '/' ? str_of(home) : STR_NONE;
}

/* One identity for each settings file: revoking the hook of one project leaves the others alone. */
static struct identity_want want_of(struct edit *edit, const char *path)
{
    struct arena *arena = &edit->cli->arena;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct str folder = name == path ? STR(".") : str_sub(str_of(path), 0, (size_t)(name - path));
    char *real = realpath(arena_c(arena, folder), NULL);
    struct identity_want want = {.kind = arena_printf(arena, "%s-hook", edit->agent->name),
                                 .about = arena_printf(arena, "%s/%s", real ? real : "", name),
                                 .path = edit->how.remove ? NULL : edit->identity};
    want.folder = given_folder(arena, str_of(real));
    free(real);
    want.name = token_name(edit, path);
    return want;
}

/* The command, the identity and the address that the entries will name. */
static struct rc compose(struct edit *edit, const char *path, struct err *err)
{
    struct cli *cli = edit->cli;
    struct arena *arena = &cli->arena;
    const struct settings *settings = &cli->settings;
    const char *name = edit->agent->name, *self;
    TRY(local_self(cli, &self, err));
    edit->want = want_of(edit, path);
    edit->identity = identity_path(cli, &edit->want);
    edit->command = arena_printf(arena, "%s hook %s", quoted(arena, self).p, name).p;
    if (edit->how.http && !edit->agent->place.by_http)
        return err_set(err, ERR_INVALID, "%s has no hooks over HTTP", edit->agent->title);
    if (edit->how.http)
        edit->url = str_starts(str_of(settings->url), STR("http://"))
                        ? arena_printf(arena, "%s/api/hooks/%s", settings->url, name).p
                        : arena_printf(arena, "http://%s/api/hooks/%s", settings->listen, name).p;
    return RC_OK;
}

/* The text as it is, the same without comments, and what that says. */
static struct rc read_settings(const struct edit *edit, const char *path, struct str *ret_text, struct str *ret_plain,
                               const struct json **ret_settings, struct err *err)
{
    struct cli *cli = edit->cli;
    const char *blank = edit->agent->place.blank;
    struct err why = {0};
    struct rc rc = file_read(&cli->arena, path, SETTINGS_BYTES_MAX, ret_text, &why);
    if (rc.code == ERR_NOT_FOUND)
        *ret_text = STR_NONE;
    else if (rc_bad(rc))
        return err_set(err, rc.code, "%s", why.text);
    if (edit->agent->place.text) {
        if (!str_empty(*ret_text) && str_empty(command_in(*ret_text)))
            return err_set(err, ERR_INVALID, "%s is not of Nod, so it is left alone", path);
        *ret_plain = STR("{}");
        return json_parse(&cli->arena, *ret_plain, ret_settings, err);
    }
    if (str_empty(str_trim(*ret_text)))
        *ret_text = str_of(blank ? blank : "{}\n");
    *ret_plain = loose_json_strip(&cli->arena, *ret_text);
    rc = json_parse(&cli->arena, *ret_plain, ret_settings, &why);
    if (rc_bad(rc) || (*ret_settings)->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "%s is not a JSON object, so it is left alone%s%.200s", path,
                       rc_bad(rc) ? ": " : "", rc_bad(rc) ? why.text : "");
    const struct json *there = json_get(*ret_settings, "hooks");
    if (there && there->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "\"hooks\" in %s is not an object, so it is left alone", path);
    return RC_OK;
}

const char *hook_identity(struct cli *cli, const struct agent *agent)
{
    struct edit edit = {.cli = cli, .agent = agent};
    const char *path;
    if (rc_bad(settings_path(&edit, &path, NULL)))
        return NULL;
    struct identity_want want = want_of(&edit, path);
    const char *file = identity_path(cli, &want);
    return identity_works(cli, file) ? file : NULL;
}

/* Without a server no identity can be made, and the hook would refuse everything. */
static struct rc have_server(struct edit *edit, struct err *err)
{
    struct reply reply;
    struct cli *cli = edit->cli;
    struct rc rc = remote_get(cli, STR("/healthz"), &reply, err);
    if (rc.code != ERR_UNAVAILABLE)
        return rc;
    cli_note("no nod server runs at %s. While none runs, this hook refuses every call of the agent.",
             remote_where(cli));
    bool start = edit->how.start;
    if (!start && isatty(STDIN_FILENO) && !edit->how.yes)
        start = person_agrees("Start one now, in the background?");
    if (!start)
        return err_set(err, ERR_UNAVAILABLE,
                       "nothing was written: start a server with `nod serve` and install again, or add --start");
    return local_start_server(cli, NULL, err);
}

/* The agent's own trust file with our hooks added. NULL: nothing is to be written. */
static const char *trust_wanted(const struct edit *edit, const char *path, const struct json *settings, struct buf *out)
{
    struct arena *arena = &edit->cli->arena;
    const struct agent_place *place = &edit->agent->place;
    struct str old = STR("");
    if (!place->trust)
        return NULL;
    const char *file = hook_trust_file(edit->cli, edit->agent, path);
    char *real = realpath(path, NULL);
    (void)!file_read(arena, file, SETTINGS_BYTES_MAX, &old, NULL).code;
    bool differs = place->trust(arena, out, old, real ? real : path, settings);
    free(real);
    return differs ? file : NULL;
}

/* Some agents run a hook only when a file of theirs names it as trusted; that file is written with the hook. */
static struct rc trust(const struct edit *edit, const char *path, struct str text, struct err *err)
{
    BUF_SCOPE(out, SETTINGS_BYTES_MAX * 2);
    const struct json *settings;
    struct arena *arena = &edit->cli->arena;
    if (!edit->agent->place.trust)
        return RC_OK;
    TRY(json_parse(arena, loose_json_strip(arena, text), &settings, err));
    const char *file = trust_wanted(edit, path, settings, &out);
    if (!file)
        return RC_OK;
    if (out.over)
        return err_set(err, ERR_TOO_LARGE, "%s is too large", file);
    TRY(file_write_private(file, buf_str(&out), err));
    cli_note("written: %s (%s trusts this hook)", file, edit->agent->title);
    return RC_OK;
}

/* Asks the person, shows what is new, and writes it. */
static struct rc write_agreed(struct edit *edit, const char *path, struct str old, struct str new, struct err *err)
{
    struct cli *cli = edit->cli;
    bool asks = !edit->how.yes;
    if (!edit->how.quiet)
        show_change(path, old, new);
    if (!edit->how.remove && !edit->how.quiet)
        cli_note("%s", edit->agent->place.words);
    if (asks && !isatty(STDIN_FILENO))
        return err_set(err, ERR_INVALID, "nothing was written: add --yes when this is what you want");
    if (asks && !person_agrees(arena_printf(&cli->arena, "Write this to %s?", path).p)) {
        cli_note("nothing was written");
        cli->status = 1;
        return RC_OK;
    }
    if (!edit->how.remove && !edit->url)
        TRY(identity_have(cli, &edit->want, &edit->identity, err));
    TRY(write_settings(edit, path, new, err));
    if (edit->how.remove)
        identity_drop(cli, edit->identity);
    if (!edit->how.quiet)
        cli_note("written: %s", path);
    return trust(edit, path, new, err);
}

/* Reads, composes, shows the difference, asks, writes the file as a whole; the server must be reachable,
 * because the identity is made there. */
struct rc hook_install(struct cli *cli, const struct agent *agent, const struct hook_choice *how, struct err *err)
{
    struct edit edit = {.cli = cli, .agent = agent, .how = *how, .identity = how->identity};
    BUF_SCOPE(new, SETTINGS_BYTES_MAX * 2);
    const struct json *settings;
    const char *path = NULL;
    struct str old, plain;
    TRY(settings_path(&edit, &path, err));
    TRY(local_folders_above(cli, path, 0700, err));
    TRY(compose(&edit, path, err));
    TRY(read_settings(&edit, path, &old, &plain, &settings, err));
    if (!how->remove && !edit.url)
        TRY(have_server(&edit, err));
    if (!edit.agent->place.text)
        TRY(put_settings(&new, &edit, old, plain, settings, err));
    else if (!how->remove)
        TRY(agent_put_text(&new, agent->place.text, our_words(&edit, person_seconds(agent) - SPARE_S), err));
    if (new.over)
        return err_set(err, ERR_TOO_LARGE, "%s would become too large", path);
    if (!str_eq(str_trim(old), str_trim(buf_str(&new))))
        return write_agreed(&edit, path, old, buf_str(&new), err);
    if (!how->quiet)
        cli_note("nothing to change in %s", path);
    if (how->remove || edit.url)
        return RC_OK;
    TRY(identity_have(cli, &edit.want, &edit.identity, err));
    return trust(&edit, path, old, err);
}

/* ---- looking ---- */

const char *hook_trust_file(struct cli *cli, const struct agent *agent, const char *settings)
{
    const char *slash = strrchr(settings, '/');
    if (!agent->place.trust_file)
        return NULL;
    return arena_printf(&cli->arena, "%.*s%s", slash ? (int)(slash - settings + 1) : 0, settings,
                        agent->place.trust_file).p;
}

const char *hook_settings(struct cli *cli, const struct agent *agent)
{
    struct edit edit = {.cli = cli, .agent = agent};
    const char *path;
    return rc_ok(settings_path(&edit, &path, NULL)) ? path : NULL;
}

/* The first command of ours among the hooks; empty when there is none. */
static struct str our_command(const struct edit *edit, struct str text, const struct json *settings)
{
    if (edit->agent->place.text)
        return command_in(text);
    for (const struct json *event = json_first(settings, "hooks"); event; event = event->next)
        for (const struct json *entry = event->first; entry; entry = entry->next)
            if (ours(edit, entry)) {
                const struct json *inner = json_get(entry, "hooks"), *hook = inner ? inner->first : entry;
                return json_text(hook, json_get(hook, "bash") ? "bash" : "command");
            }
    return STR_NONE;
}

struct str hook_written(struct cli *cli, const struct agent *agent)
{
    struct edit edit = {.cli = cli, .agent = agent};
    const struct json *settings;
    const char *path;
    struct str text, plain;
    if (rc_bad(settings_path(&edit, &path, NULL)) || rc_bad(read_settings(&edit, path, &text, &plain, &settings, NULL)))
        return STR_NONE;
    return our_command(&edit, text, settings);
}

/* The identity file that a hook's command names; NULL: none. */
static const char *identity_of(struct arena *arena, struct str command)
{
    struct str mark = STR(" --identity "), rest;
    const char *at = command.n ? memmem(command.p, command.n, mark.p, mark.n) : NULL;
    if (!at)
        return NULL;
    struct str file = str_sub(command, (size_t)(at - command.p) + mark.n, command.n);
    return arena_c(arena, str_starts(file, STR("'")) ? str_cut(str_sub(file, 1, file.n), '\'', &rest)
                                                     : str_cut(file, ' ', &rest));
}

struct str hook_name(struct cli *cli, const struct agent *agent)
{
    struct identity *identity;
    const char *file = identity_of(&cli->arena, hook_written(cli, agent));
    return file && rc_ok(identity_read(cli, file, &identity, NULL)) ? identity->name : STR_NONE;
}

/* For doctor and the wrappers: NULL when the installed hook works or none is there. */
const char *hook_trouble(struct cli *cli, const struct agent *agent, bool *ret_installed)
{
    struct edit edit = {.cli = cli, .agent = agent};
    struct arena *arena = &cli->arena;
    const char *name = agent->name, *path;
    const struct json *settings;
    struct str text, plain;
    *ret_installed = false;
    if (rc_bad(settings_path(&edit, &path, NULL)) || rc_bad(read_settings(&edit, path, &text, &plain, &settings, NULL)))
        return NULL;
    struct str command = our_command(&edit, text, settings);
    *ret_installed = !str_empty(command);
    if (!*ret_installed)
        return NULL;
    const char *file = identity_of(arena, command);
    if (!file)
        return arena_printf(arena, "the hooks of %s in %s are of an older nod and deny everything: nod hook install %s",
                            name, path, name).p;
    if (!identity_works(cli, file))
        return arena_printf(arena, "the hooks of %s in %s deny everything, since no running server takes %s: "
                                   "nod serve, or nod hook install %s", name, path, file, name).p;
    BUF_SCOPE(unused, SETTINGS_BYTES_MAX * 2);
    if (trust_wanted(&edit, path, settings, &unused))
        return arena_printf(arena, "%s does not trust the hooks in %s and skips them: nod hook install %s",
                            agent->title, path, name).p;
    return NULL;
}
