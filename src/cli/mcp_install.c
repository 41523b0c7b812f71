/* nod mcp install CLIENT: every server that an MCP client's settings name gets the proxy in front of it: programs, and
 * addresses on the web, which become the program `nod mcp proxy --url`.
 *
 * Only the bytes of such entries change; comments and everything else stay. The old bytes of an entry are kept in
 * the data folder, so that --remove puts back the same bytes, as long as the entry is still the one that was
 * written.
 */
#include "cli/mcp_install.h"

#include "agents/agent.h"
#include "agents/mcp_front.h"
#include "base/digest.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/loose_json.h"
#include "cli/toml_servers.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_BYTES_MAX = 4 << 20, ENTRIES_MAX = 64 };

/* Clients that are no agents of agents/agent.h. Files are below the home folder, or, with ./ before them, in this
 * one. */
static const struct client {
    const char *name;
    struct agent_mcp mcp;
} clients[] = {
    {"claude-desktop", {".config/Claude/claude_desktop_config.json", "mcpServers"}},
    {"claude-project", {"./.mcp.json", "mcpServers"}},
    {"vscode", {"./.vscode/mcp.json", "servers"}},
    {"zed", {".config/zed/settings.json", "context_servers"}},
};
enum { CLIENT_COUNT = sizeof clients / sizeof *clients };

/* An entry of the settings, and the bytes that replace it. */
struct entry_change {
    struct str name, old, new;
};

/* One client's settings while they are changed. */
struct install_work {
    struct cli *cli;
    const char *client; /* its name */
    struct agent_mcp mcp;
    const char *path, *memory; /* the settings, and where the old bytes are kept */
    const char *self, *identity;
    struct str text, plain;    /* plain: without comments, byte for byte in the same place */
    const struct json *servers;
    bool toml;
    struct entry_change changes[ENTRIES_MAX];
    size_t count;
};

/* The client at this index, agents first; false behind the last. */
static bool client_at(size_t number, struct client *ret_client)
{
    if (number >= AGENT_COUNT + CLIENT_COUNT)
        return false;
    *ret_client = number < AGENT_COUNT ? (struct client){agent_at(number)->name, agent_at(number)->mcp}
                                       : clients[number - AGENT_COUNT];
    return true;
}

static struct rc find_settings(struct install_work *work, const char *named, struct err *err)
{
    const char *home = getenv("HOME"), *file = work->mcp.file;
    bool here = file[0] == '.' && file[1] == '/';
    if (!named && !here && !(home && home[0]))
        return err_set(err, ERR_INVALID, "there is no HOME: say --settings FILE");
    work->path = named ? named : here ? file + 2 : arena_printf(&work->cli->arena, "%s/%s", home, file).p;
    return RC_OK;
}

static struct rc find_client(struct install_work *work, const char *name, struct err *err)
{
    BUF_SCOPE(known, 1024);
    struct client client;
    for (size_t i = 0; client_at(i, &client); i++) {
        if (!client.mcp.file)
            continue;
        buf_printf(&known, "%s%s", known.n ? ", " : "", client.name);
        if (strcmp(name, client.name) == 0)
            work->client = client.name, work->mcp = client.mcp;
    }
    if (!work->client)
        return err_set(err, ERR_INVALID, "MCP clients are %s; not '%s'", buf_c(&known), name);
    return find_settings(work, option_text(work->cli, "settings"), err);
}

/* The file's real path is used: a link is not replaced by a file, and one file has one memory of its old entries. */
static struct rc read_settings(struct install_work *work, struct err *err)
{
    struct arena *arena = &work->cli->arena;
    char *real = realpath(work->path, NULL);
    char hex[DIGEST_HEX_BYTES];
    const struct json *settings = NULL;
    if (!real)
        return err_set(err, ERR_NOT_FOUND, "%s: %s", work->path, strerror(errno));
    work->path = arena_c(arena, str_of(real));
    free(real);
    struct digest digest = digest_of(str_of(work->path));
    digest_hex(&digest, hex);
    work->memory = arena_printf(arena, "%s/identities/mcp-%s-%.8s.old", work->cli->settings.data, work->client,
                                hex).p;
    TRY(file_read(arena, work->path, SETTINGS_BYTES_MAX, &work->text, err));
    size_t n = strlen(work->mcp.file);
    work->toml = n > strlen(".toml") && strcmp(work->mcp.file + n - strlen(".toml"), ".toml") == 0;
    work->plain = work->toml ? work->text : loose_json_strip(arena, work->text);
    if (!work->toml)
        TRY(json_parse(arena, work->plain, &settings, err));
    work->servers = work->toml ? toml_servers(arena, work->text, work->mcp.member)
                               : json_get(settings, work->mcp.member);
    if (!work->servers || work->servers->type != JSON_OBJECT || !work->servers->count)
        return err_set(err, ERR_NOT_FOUND, "%s names no servers (%s)", work->path, work->mcp.member);
    return RC_OK;
}

/* ---- putting the proxy in front ---- */

/* The old bytes with another program and other arguments. */
static struct str wrapped(struct install_work *work, const struct json *entry, const struct mcp_front *front)
{
    struct arena *arena = &work->cli->arena;
    const struct json *command = json_get(entry, "command"), *args = json_get(entry, "args");
    BUF_SCOPE(list, SETTINGS_BYTES_MAX);
    BUF_SCOPE(buf, SETTINGS_BYTES_MAX);
    struct json_out out = json_out(&list), word = json_out(&buf);
    size_t base = (size_t)(entry->raw.p - work->plain.p), from = (size_t)(command->raw.p - work->plain.p);
    size_t after = from + command->raw.n, end = base + entry->raw.n;
    mcp_front_args(&out, arena, front);
    size_t args_from = args ? (size_t)(args->raw.p - work->plain.p) : after;
    size_t args_to = args ? args_from + args->raw.n : after;
    bool first = args && args_from < from;
    struct str text = work->text;
    buf_put(&buf, str_sub(text, base, first ? args_from : from));
    if (first) {
        BUF_ADD(&buf, buf_str(&list), str_sub(text, args_to, from));
    }
    json_put_str(&word, str_of(work->self));
    if (!first) {
        BUF_ADD(&buf, str_sub(text, after, args_from), str_of(args ? "" : work->toml ? "\nargs = " : ", \"args\": "),
                buf_str(&list));
    }
    buf_put(&buf, str_sub(text, first ? after : args_to, end));
    return buf.over || list.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* The proxy as a program, in place of an address. Members that are not about the address stay. */
static struct str replaced(struct install_work *work, const struct json *entry, const struct mcp_front *front)
{
    static const char *const gone[] = {"url", "httpUrl", "type", "headers", "env", "command", "args", NULL};
    struct arena *arena = &work->cli->arena;
    JSON_SCOPE(buf, out, SETTINGS_BYTES_MAX);
    const struct json *env = json_get(entry, "env");
    struct str name, value;
    json_open(&out, '{');
    json_member(&out, "command", str_of(work->self));
    json_key(&out, "args");
    mcp_front_args(&out, arena, front);
    json_open_member(&out, "env", '{');
    for (const struct json *one = env && env->type == JSON_OBJECT ? env->first : NULL; one; one = one->next)
        json_put_member(&out, one);
    for (unsigned i = 0; mcp_front_variable(arena, front, i, &name, &value); i++) {
        json_key_str(&out, name);
        json_put_str(&out, value);
    }
    json_close(&out, '}');
    for (const struct json *one = entry->first; one; one = one->next) {
        size_t i = 0;
        while (gone[i] && !str_is(one->key, gone[i]))
            i++;
        if (!gone[i])
            json_put_member(&out, one);
    }
    json_close(&out, '}');
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

/* Begins one value in TOML: strings and lists of strings are written as in JSON, which TOML reads, too. */
static struct json_out toml_value(struct buf *buf, const char *before)
{
    buf_puts(buf, before);
    return json_out(buf);
}

/* The client gives a program only the variables that are named. */
static void put_toml_program(struct install_work *work, struct buf *buf, const struct mcp_front *front)
{
    struct arena *arena = &work->cli->arena;
    struct str name, value;
    struct json_out out = toml_value(buf, "command = ");
    json_put_str(&out, str_of(work->self));
    out = toml_value(buf, "\nargs = ");
    mcp_front_args(&out, arena, front);
    buf_puts(buf, "\nenv = {");
    for (unsigned i = 0; mcp_front_variable(arena, front, i, &name, &value); i++) {
        out = toml_value(buf, arena_printf(arena, "%s%.*s = ", i ? ", " : "", STR_ARG(name)).p);
        json_put_str(&out, value);
    }
    out = toml_value(buf, "}\nenv_vars = ");
    json_open(&out, '[');
    for (const struct json *one = front->variables ? front->variables->first : NULL; one; one = one->next)
        json_put_str(&out, one->text);
    if (!str_empty(front->bearer))
        json_put_str(&out, front->bearer);
    json_close(&out, ']');
}

/* Returns a TOML entry that starts the proxy instead of naming an address: headers go, everything else stays. */
static struct str replaced_toml(struct install_work *work, const struct json *entry, const struct mcp_front *front)
{
    BUF_SCOPE(buf, SETTINGS_BYTES_MAX);
    size_t at = (size_t)(entry->raw.p - work->text.p), end = at + entry->raw.n;
    for (const struct json *one = entry->first; one; one = one->next) {
        buf_put(&buf, str_sub(work->text, at, (size_t)(one->key.p - work->text.p)));
        at = (size_t)(one->raw.p - work->text.p) + one->raw.n;
        if (str_is(one->key, "url"))
            put_toml_program(work, &buf, front);
    }
    buf_put(&buf, str_sub(work->text, at, end));
    return buf.over ? STR_NONE : arena_str(&work->cli->arena, buf_str(&buf));
}

static bool is_proxied(const struct json *entry)
{
    const struct json *args = json_get(entry, "args");
    const struct json *second = args && args->first ? args->first->next : NULL;
    return second && str_is(args->first->text, "mcp") && str_is(second->text, "proxy");
}

static bool is_ours(const struct install_work *work, const struct json *entry)
{
    return str_is(json_text(entry, "command"), work->self) || is_proxied(entry);
}

/* Why the proxy cannot be put in front of it; NULL: it can. */
static const char *left_alone(const struct json *entry, struct mcp_front *ret_front)
{
    if (!mcp_front_read(entry, ret_front))
        return "which is neither a program nor an address";
    if (json_get(entry, "http_headers_helper"))
        return "which gets its headers from a program";
    return json_get(entry, "oauth") || json_get(entry, "oauth_resource") || json_get(entry, "scopes")
               ? "which logs in with OAuth, and the proxy does not" : NULL;
}

/* Entries that cannot be wrapped are named with the reason, not skipped silently. */
static struct rc wrap_all(struct install_work *work, struct err *err)
{
    const struct json *servers = work->servers;
    for (const struct json *entry = servers->first; entry; entry = entry->next) {
        struct mcp_front front;
        if (is_ours(work, entry))
            continue;
        const char *why = left_alone(entry, &front);
        if (why) {
            cli_note("left alone: %.*s, %s", STR_ARG(entry->key), why);
            continue;
        }
        if (work->count == ENTRIES_MAX)
            return err_set(err, ERR_TOO_MANY, "there are more than %d servers", ENTRIES_MAX);
        size_t base = (size_t)(entry->raw.p - work->plain.p);
        struct entry_change change = {.name = entry->key, .old = str_sub(work->text, base, base + entry->raw.n)};
        front.name = entry->key;
        front.identity = work->identity;
        change.new = str_empty(front.url) ? wrapped(work, entry, &front)
                     : work->toml         ? replaced_toml(work, entry, &front)
                                          : replaced(work, entry, &front);
        if (str_empty(change.new))
            return err_set(err, ERR_TOO_LARGE, "%s would become too large", work->path);
        if (!str_empty(front.url) && !front.headers && !front.variables && str_empty(front.bearer))
            cli_note("%.*s is on the web: if it logs in with OAuth, which the proxy does not, take it back with "
                     "--remove", STR_ARG(entry->key));
        work->changes[work->count++] = change;
    }
    return RC_OK;
}

/* ---- taking it back ---- */

/* For --remove: an entry that was changed since is left as it is. */
static struct rc read_memory(struct install_work *work, struct err *err)
{
    struct arena *arena = &work->cli->arena;
    const struct json *kept, *servers = work->servers;
    struct str text;
    TRY(file_read(arena, work->memory, SETTINGS_BYTES_MAX, &text, err));
    TRY(json_parse(arena, text, &kept, err));
    for (const struct json *one = kept->first; one && work->count < ENTRIES_MAX; one = one->next) {
        const struct json *entry = json_get_str(servers, one->key);
        size_t base = entry ? (size_t)(entry->raw.p - work->plain.p) : 0;
        struct str now = entry ? str_sub(work->text, base, base + entry->raw.n) : STR_NONE;
        if (entry && str_eq(now, json_text(one, "new")))
            work->changes[work->count++] = (struct entry_change){one->key, now, json_text(one, "old")};
        else
            cli_note("left alone: %.*s, which was changed since", STR_ARG(one->key));
    }
    return RC_OK;
}

/* ---- writing ---- */

/* The old bytes of each entry, added to those of earlier installs. */
static struct rc remember(struct install_work *work, struct err *err)
{
    JSON_SCOPE(buf, out, SETTINGS_BYTES_MAX * 3);
    struct str text = STR_NONE;
    const struct json *kept = NULL;
    if (rc_ok(file_read(&work->cli->arena, work->memory, SETTINGS_BYTES_MAX, &text, NULL)) &&
        rc_bad(json_parse(&work->cli->arena, text, &kept, NULL)))
        kept = NULL;
    json_open(&out, '{');
    for (size_t i = 0; i < work->count; i++) {
        json_key_str(&out, work->changes[i].name);
        json_object(&out, J("old", work->changes[i].old), J("new", work->changes[i].new));
    }
    for (const struct json *one = kept ? kept->first : NULL; one; one = one->next) {
        bool again = false;
        for (size_t i = 0; i < work->count; i++)
            again = again || str_eq(work->changes[i].name, one->key);
        if (!again)
            json_put_member(&out, one);
    }
    json_close(&out, '}');
    return buf.over ? err_set(err, ERR_TOO_LARGE, "too much to remember") : file_write_private(work->memory,
                                                                                              buf_str(&buf), err);
}

/* Replaces the bytes of the changed entries only. */
static struct rc write_changes(struct install_work *work, struct err *err)
{
    BUF_SCOPE(buf, SETTINGS_BYTES_MAX * 2);
    struct stat st;
    size_t at = 0;
    const struct json *servers = work->servers;
    for (const struct json *entry = servers->first; entry; entry = entry->next) {
        size_t base = (size_t)(entry->raw.p - work->plain.p);
        for (size_t i = 0; i < work->count; i++) {
            if (!str_eq(work->changes[i].name, entry->key))
                continue;
            BUF_ADD(&buf, str_sub(work->text, at, base), work->changes[i].new);
            at = base + entry->raw.n;
        }
    }
    buf_put(&buf, str_sub(work->text, at, work->text.n));
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "%s would become too large", work->path);
    bool there = stat(work->path, &st) == 0;
    TRY(file_write_private(work->path, buf_str(&buf), err));
    if (there && chmod(work->path, st.st_mode & 07777) != 0)
        return err_set(err, ERR_IO, "%s: %s", work->path, strerror(errno));
    for (size_t i = 0; i < work->count; i++)
        cli_note("%s: %.*s", option_flag(work->cli, "remove") ? "as it was" : "goes through the proxy",
                 STR_ARG(work->changes[i].name));
    cli_note("written: %s (start the client anew)", work->path);
    return RC_OK;
}

/* Without --yes it says what it would do. The old entries are stored before the file is changed, so that --remove
 * restores them. */
struct rc mcp_install_client(struct cli *cli, const char *name, struct err *err)
{
    struct install_work work = {.cli = cli};
    bool removes = option_flag(cli, "remove");
    const char *home = getenv("HOME");
    TRY(find_client(&work, name, err));
    TRY(read_settings(&work, err));
    TRY(local_self(cli, &work.self, err));
    struct identity_want want = {.kind = arena_printf(&cli->arena, "mcp-%s", name), .about = str_of(work.path),
                                 .name = arena_printf(&cli->arena, "mcp of %s", name),
                                 .folder = home && home[0] == '/' ? str_of(home) : STR_NONE};
    work.identity = identity_path(cli, &want);
    TRY(removes ? read_memory(&work, err) : wrap_all(&work, err));
    if (work.count == 0) {
        cli_note("nothing to change in %s", work.path);
        return RC_OK;
    }
    if (!option_flag(cli, "yes")) {
        for (size_t i = 0; i < work.count; i++)
            cli_note("would change: %.*s", STR_ARG(work.changes[i].name));
        return err_set(err, ERR_INVALID, "nothing was written: add --yes when this is what you want");
    }
    if (!removes) {
        TRY(identity_have(cli, &want, &work.identity, err));
        TRY(remember(&work, err)); /* before the change: what was is never lost */
    }
    TRY(write_changes(&work, err));
    if (removes)
        identity_drop(cli, work.identity);
    return RC_OK;
}

/* ---- looking ---- */

/* Empty when the proxy can be started and has its identity. */
static struct str trouble_of(struct install_work *work, const struct json *entry)
{
    struct arena *arena = &work->cli->arena;
    const char *command = arena_c(arena, json_text(entry, "command")), *identity = "";
    const struct json *args = json_get(entry, "args");
    for (const struct json *arg = args->first; arg && arg->next; arg = arg->next)
        if (str_is(arg->text, "--identity"))
            identity = arena_c(arena, arg->next->text);
    if (strchr(command, '/') && access(command, X_OK) != 0)
        return arena_printf(arena, "%s: %.*s: %s cannot be started", work->client, STR_ARG(entry->key), command);
    if (identity[0] && access(identity, R_OK) != 0)
        return arena_printf(arena, "%s: %.*s: there is no identity at %s", work->client, STR_ARG(entry->key), identity);
    return STR_NONE;
}

/* For `nod doctor`: reads only, and a client without settings is not an error. */
bool mcp_install_look(struct cli *cli, size_t number, struct mcp_install_look *ret_look)
{
    struct install_work work = {.cli = cli};
    struct client client;
    *ret_look = (struct mcp_install_look){0};
    if (!client_at(number, &client))
        return false;
    ret_look->client = work.client = client.name;
    work.mcp = client.mcp;
    if (!client.mcp.file || rc_bad(find_settings(&work, NULL, NULL)) || rc_bad(read_settings(&work, NULL)))
        return true;
    for (const struct json *entry = work.servers->first; entry; entry = entry->next) {
        struct mcp_front front;
        if (is_proxied(entry)) {
            ret_look->proxied++;
            struct str trouble = trouble_of(&work, entry);
            ret_look->trouble = str_empty(ret_look->trouble) ? trouble : ret_look->trouble;
        } else if (!left_alone(entry, &front)) {
            ret_look->around = arena_printf(&cli->arena, "%.*s%s%.*s", STR_ARG(ret_look->around),
                                            ret_look->around.n ? ", " : "", STR_ARG(entry->key));
        }
    }
    return true;
}
