/* nod doctor: what is wrong with this installation, and what to do about it.
 *
 * One function per line of the table; each looks at one thing, changes nothing and says one sentence. A new
 * check is one line and one function.
 */
#include "cli/box_choice.h"
#include "cli/hook_install.h"
#include "cli/mcp_install.h"
#include "cli/remote.h"
#include "cli/text.h"
#include "io/clock.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CHECKS(X)                                 \
    X(settings, "settings")                       \
    X(folder, "data folder")                      \
    X(token_file, "token file")                   \
    X(store_file, "store")                        \
    X(disk, "disk")                               \
    X(server, "server")                           \
    X(access, "access")                           \
    X(hooks, "hooks")                             \
    X(proxies, "MCP servers")                     \
    X(tokens, "tokens")                           \
    X(rules, "rules")                             \
    X(channels, "channels")                       \
    X(box, "box")                                 \
    X(clock, "clock")                             \
    X(descriptors, "descriptors")                 \
    X(locale, "locale")

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_BAD };

static const struct {
    const char *name;
    enum tint tint;
} levels[] = {
    [LEVEL_OK] = {"ok", TINT_GREEN},
    [LEVEL_WARN] = {"warn", TINT_YELLOW},
    [LEVEL_BAD] = {"bad", TINT_RED},
};

enum {
    DISK_MB_BAD = 64,
    DISK_MB_WARN = 512,
    DESCRIPTORS_WANTED = 4096,
    TOKEN_BYTES = 4096,
    STORE_BYTES_LARGE = 1 << 30, /* worth thinking of archives */
};
static const int64_t clock_earliest_ms = 1735689600000; /* 2025: nod is younger than that */
static const int64_t clock_slack_ms = 60000;

/* One line of the doctor's report. */
struct finding {
    enum level level;
    struct str words;  /* the finding itself */
    struct str advice; /* advice on what to do; may be empty */
};

#define FOUND(arena, level_, advice_, ...)                                                                   \
    ((struct finding){                                                                                       \
        .level = (level_), .words = arena_printf((arena), __VA_ARGS__), .advice = str_of(advice_)})

/* ---- files ---- */

/* The first thing wrong with a file or folder that should be ours alone; false when all is well. */
static bool not_private(struct cli *cli, const char *path, const struct stat *st, struct finding *ret_finding)
{
    bool folder = S_ISDIR(st->st_mode);
    CHECK(path[0]);
    if (st->st_uid != geteuid()) {
        *ret_finding =
            FOUND(&cli->arena, LEVEL_BAD, "run nod as the user who owns it, or choose another with --data",
                  "%s belongs to user %u, not to you", path, (unsigned)st->st_uid);
        return true;
    }
    if (st->st_mode & 077) {
        const char *advice = arena_printf(&cli->arena, "chmod %s %s", folder ? "700" : "600", path).p;
        *ret_finding = FOUND(&cli->arena, LEVEL_BAD, advice, "%s can be used by others (mode %04o)", path,
                             (unsigned)(st->st_mode & 07777));
        return true;
    }
    return false;
}

/* Others who can write the configuration can choose where the data goes and which programs are started. */
static struct finding check_settings(struct cli *cli)
{
    const struct settings *settings = &cli->settings;
    struct stat st;
    if (cli->settings_err.code != ERR_OK)
        return FOUND(&cli->arena, LEVEL_BAD, "correct it; `nod config --example` shows every setting", "%s",
                     cli->settings_err.text);
    if (!settings->config[0] || stat(settings->config, &st) != 0)
        return FOUND(&cli->arena, LEVEL_OK, "", "no configuration file, which is fine");
    if ((st.st_mode & 022) || (st.st_uid != geteuid() && st.st_uid != 0))
        return FOUND(&cli->arena, LEVEL_WARN, arena_printf(&cli->arena, "chmod go-w %s", settings->config).p,
                     "%s can be changed by others", settings->config);
    return FOUND(&cli->arena, LEVEL_OK, "", "%s", settings->config);
}

static struct finding check_folder(struct cli *cli)
{
    const char *data = cli->settings.data;
    struct finding finding;
    struct stat st;
    if (!data[0])
        return FOUND(&cli->arena, LEVEL_BAD, "set HOME or --data", "there is no home folder to keep data in");
    if (stat(data, &st) != 0 && errno == ENOENT)
        return FOUND(&cli->arena, LEVEL_WARN, "`nod serve` makes it", "%s is not there yet", data);
    if (stat(data, &st) != 0)
        return FOUND(&cli->arena, LEVEL_BAD, "choose another with --data", "%s: %s", data, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return FOUND(&cli->arena, LEVEL_BAD, "choose another with --data", "%s is not a folder", data);
    if (not_private(cli, data, &st, &finding))
        return finding;
    if (access(data, R_OK | W_OK | X_OK) != 0)
        return FOUND(&cli->arena, LEVEL_BAD, "the server cannot keep events there",
                     "%s cannot be written: %s", data, strerror(errno));
    return FOUND(&cli->arena, LEVEL_OK, "", "%s, yours alone", data);
}

static struct finding check_token_file(struct cli *cli)
{
    const char *path = cli->settings.token_file;
    struct finding finding;
    struct stat st;
    if (cli->settings.token[0])
        return FOUND(&cli->arena, LEVEL_OK, "", "the token comes from NOD_TOKEN");
    if (stat(path, &st) != 0)
        return FOUND(&cli->arena, errno == ENOENT ? LEVEL_WARN : LEVEL_BAD,
                     "the first `nod serve` writes it; elsewhere use NOD_TOKEN or --token-file", "%s: %s",
                     path, strerror(errno));
    if (not_private(cli, path, &st, &finding))
        return finding;
    if (st.st_size == 0 || st.st_size > TOKEN_BYTES)
        return FOUND(&cli->arena, LEVEL_BAD, "restore it, or make a token with another admin's",
                     "%s holds no token", path);
    return FOUND(&cli->arena, LEVEL_OK, "", "%s, yours alone", path);
}

/* The store's file, NULL when it is elsewhere. */
static const char *store_path(const struct cli *cli)
{
    struct str url = str_of(cli->settings.store);
    return str_starts(url, STR("sqlite:")) ? url.p + 7 : NULL;
}

static struct finding check_store_file(struct cli *cli)
{
    const char *path = store_path(cli);
    struct finding finding;
    struct stat st;
    if (!path)
        return FOUND(&cli->arena, LEVEL_OK, "", "not a file of this machine");
    if (stat(path, &st) != 0)
        return FOUND(&cli->arena, errno == ENOENT ? LEVEL_WARN : LEVEL_BAD, "the first `nod serve` makes it",
                     "%s: %s", path, strerror(errno));
    if (not_private(cli, path, &st, &finding))
        return finding;
    return FOUND(&cli->arena, LEVEL_OK,
                 st.st_size > STORE_BYTES_LARGE ? "`nod archive --older-than 30d` moves finished sessions into a file"
                                                : "",
                 "%s, %.1f MB; `nod verify` checks every event", path, (double)st.st_size / 1e6);
}

static struct finding check_disk(struct cli *cli)
{
    struct statvfs fs;
    if (statvfs(cli->settings.data, &fs) != 0)
        return FOUND(&cli->arena, LEVEL_WARN, "free space is measured when the folder exists", "%s: %s",
                     cli->settings.data, strerror(errno));
    uint64_t free_mb = (uint64_t)fs.f_bavail * fs.f_frsize / 1000000;
    enum level level = free_mb < DISK_MB_BAD ? LEVEL_BAD : free_mb < DISK_MB_WARN ? LEVEL_WARN : LEVEL_OK;
    if (fs.f_flag & ST_RDONLY)
        return FOUND(&cli->arena, LEVEL_BAD, "choose a folder that can be written with --data",
                     "%s is on a read-only disk", cli->settings.data);
    return FOUND(&cli->arena, level, level == LEVEL_OK ? "" : "make room: a full disk stops every call",
                 "%llu MB free", (unsigned long long)free_mb);
}

/* ---- the server ---- */

/* Asks without a token first: a server that is there and refuses us is another finding (check_access). */
static struct finding check_server(struct cli *cli)
{
    struct err err = {0};
    struct reply reply;
    if (rc_bad(remote_get(cli, STR("/healthz"), &reply, &err)))
        return FOUND(&cli->arena, LEVEL_BAD, "", "%s", err.text);
    struct str version = text_line(&cli->arena, json_text(reply.json, "version"));
    if (rc_bad(remote_get(cli, STR("/readyz"), &reply, &err)))
        return FOUND(&cli->arena, LEVEL_BAD, "see what it says on standard error",
                     "%s is up but not ready: %s", remote_where(cli), err.text);
    struct str warning = text_line(&cli->arena, json_text(reply.json, "warning"));
    if (warning.n)
        return FOUND(&cli->arena, LEVEL_BAD, "copy the file from another node's data folder and start this node again; "
                     "if it was changed on purpose: docs/OPERATIONS.md, Several nodes",
                     "%s: %.*s", remote_where(cli), STR_ARG(warning));
    if (!str_is(version, NOD_VERSION))
        return FOUND(&cli->arena, LEVEL_WARN, "restart the server with this version",
                     "%s runs version %.*s, this is %s", remote_where(cli), STR_ARG(version), NOD_VERSION);
    return FOUND(&cli->arena, LEVEL_OK, "", "%s, version %.*s, ready", remote_where(cli), STR_ARG(version));
}

static struct finding check_access(struct cli *cli)
{
    struct err err = {0};
    struct reply reply;
    struct rc rc = remote_get(cli, STR("/api/me"), &reply, &err);
    if (rc.code == ERR_UNAVAILABLE)
        return FOUND(&cli->arena, LEVEL_WARN, "", "cannot be checked without a server");
    if (rc_bad(rc))
        return FOUND(&cli->arena, LEVEL_BAD, "ask an admin for `nod token create`", "%s", err.text);
    return FOUND(&cli->arena, LEVEL_OK, "", "known to the server as %.*s, role %.*s",
                 STR_ARG(text_line(&cli->arena, json_text(reply.json, "name"))),
                 STR_ARG(text_line(&cli->arena, json_text(reply.json, "role"))));
}

/* Tokens from before there were scopes keep what they could do; their role alone has less now. */
static struct finding check_tokens(struct cli *cli)
{
    struct arena *arena = &cli->arena;
    struct err err = {0};
    struct reply reply;
    struct str names = STR_NONE;
    struct rc rc = remote_get(cli, STR("/api/tokens"), &reply, &err);
    if (rc.code == ERR_FORBIDDEN)
        return FOUND(arena, LEVEL_OK, "", "only an admin's token can list them");
    if (rc_bad(rc))
        return FOUND(arena, LEVEL_WARN, "", "cannot be checked without a server");
    for (const struct json *t = json_first(reply.json, "tokens"); t; t = t->next)
        if (json_get(t, "olderScopes") && str_empty(json_text(t, "revokedAt")))
            names = arena_printf(arena, "%.*s%s%.*s (%.*s)", STR_ARG(names), names.n ? ", " : "",
                                 STR_ARG(text_line(arena, json_text(t, "id"))),
                                 STR_ARG(text_line(arena, json_text(t, "name"))));
    if (str_empty(names))
        return FOUND(arena, LEVEL_OK, "", "none can do more than its role and its scopes say");
    return FOUND(arena, LEVEL_WARN, "`nod token revoke ID`, then `nod token create` with the scopes it needs",
                 "older tokens that may change rules, trust files and start runs: %.*s", STR_ARG(names));
}

/* Rules that let nothing pass or stop nothing, by name. */
static struct str dead_rules(struct arena *arena, const struct json *lint)
{
    struct str names = STR_NONE;
    for (const struct json *one = lint ? lint->first : NULL; one; one = one->next)
        if (!str_is(json_text(one, "level"), "note"))
            names = arena_printf(arena, "%.*s%s%.*s %.*s", STR_ARG(names), names.n ? ", " : "",
                                 STR_ARG(text_line(arena, json_text(one, "effect"))),
                                 STR_ARG(text_line(arena, json_text(one, "rule"))));
    return names;
}

/* Finds relative rules from "always" that are not bound to a project yet, and rules that the linter complains about. */
static struct finding check_rules(struct cli *cli)
{
    struct arena *arena = &cli->arena;
    struct err err = {0};
    struct reply reply;
    unsigned unbound = 0, asleep = 0;
    struct rc rc = remote_get(cli, STR("/api/policy?lint=true"), &reply, &err);
    if (rc.code == ERR_FORBIDDEN)
        return FOUND(arena, LEVEL_OK, "", "not checked: this token may not list rules");
    if (rc_bad(rc))
        return FOUND(arena, LEVEL_WARN, "", "cannot be checked without a server");
    for (const struct json *rule = json_first(reply.json, "user"); rule; rule = rule->next) {
        bool loose = json_bool(rule, "unbound", false);
        unbound += loose;
        asleep += !loose && json_get(rule, "asleep");
    }
    if (unbound)
        return FOUND(arena, LEVEL_WARN, "`nod policy bind` lists them, and binds them to a project or to everywhere",
                     "%u from before rules belonged to projects: their calls are asked about", unbound);
    struct str dead = dead_rules(arena, json_get(reply.json, "lint"));
    if (!str_empty(dead))
        return FOUND(arena, LEVEL_WARN, "`nod policy lint` says why", "these do not do what they say: %.*s",
                     STR_ARG(dead));
    if (asleep)
        return FOUND(arena, LEVEL_WARN, "`nod policy list` shows them",
                     "%u rules do not apply now: the folder they belong to is gone or was replaced", asleep);
    bool reads = json_bool(reply.json, "readOnlyCommands", true);
    return FOUND(arena, LEVEL_OK, reads ? "" : "`--read-only-commands allow` lets them pass",
                 "every rule says where it holds; commands that only read in the session's folder %s",
                 reads ? "pass without one" : "are asked about");
}

/* ---- the machine ---- */

/* When the last call of this hook was kept, as words. */
static struct str last_call(struct cli *cli, const struct agent *agent)
{
    struct arena *arena = &cli->arena;
    struct str name = hook_name(cli, agent);
    struct reply reply;
    struct str target = arena_printf(arena, "/api/audit?limit=50&text=%s", remote_escape(arena, name).p);
    if (str_empty(name) || rc_bad(remote_get(cli, target, &reply, NULL)))
        return STR("the time of its last call is not known");
    for (const struct json *record = json_first(reply.json, "records"); record; record = record->next)
        if (str_eq(json_text(record, "agent"), name))
            return arena_printf(arena, "last call %.*s",
                                STR_ARG(text_time(arena, json_text(record, "at"), clock_wall_ms())));
    return STR("no call yet");
}

/* Hooks in agents' settings: there, able to ask, and trusted. */
static struct finding check_hooks(struct cli *cli)
{
    struct str troubles = STR(""), installed = STR("");
    for (size_t i = 0; i < AGENT_COUNT; i++) {
        bool there;
        const char *trouble = hook_trouble(cli, agent_at(i), &there);
        if (trouble)
            troubles = arena_printf(&cli->arena, "%.*s%s%s", STR_ARG(troubles), troubles.n ? "; " : "", trouble);
        if (there)
            installed = arena_printf(&cli->arena, "%.*s%s%s (%.*s)", STR_ARG(installed), installed.n ? ", " : "",
                                     agent_at(i)->name,
                                     STR_ARG(last_call(cli, agent_at(i))));
    }
    if (!str_empty(troubles))
        return FOUND(&cli->arena, LEVEL_BAD, "install them again, or start the server", "%.*s", STR_ARG(troubles));
    if (str_empty(installed))
        return FOUND(&cli->arena, LEVEL_OK, NULL, "none are installed");
    return FOUND(&cli->arena, LEVEL_OK, NULL, "%.*s: the server answers them", STR_ARG(installed));
}

/* Checks the MCP clients that use the proxy: whether all of their servers do, and whether they can work. */
static struct finding check_proxies(struct cli *cli)
{
    struct arena *arena = &cli->arena;
    struct mcp_install_look look;
    struct str troubles = STR(""), around = STR(""), proxied = STR("");
    for (size_t i = 0; mcp_install_look(cli, i, &look); i++) {
        if (!look.proxied)
            continue;
        proxied = arena_printf(arena, "%.*s%s%s (%u)", STR_ARG(proxied), proxied.n ? ", " : "", look.client,
                               look.proxied);
        if (!str_empty(look.trouble))
            troubles = arena_printf(arena, "%.*s%s%.*s", STR_ARG(troubles), troubles.n ? "; " : "",
                                    STR_ARG(text_line(arena, look.trouble)));
        if (!str_empty(look.around))
            around = arena_printf(arena, "%.*s%s%s: %.*s", STR_ARG(around), around.n ? "; " : "", look.client,
                                  STR_ARG(text_line(arena, look.around)));
    }
    if (!str_empty(troubles))
        return FOUND(arena, LEVEL_BAD, "nod mcp install CLIENT --remove --yes, then nod mcp install CLIENT --yes",
                     "%.*s", STR_ARG(troubles));
    if (!str_empty(around))
        return FOUND(arena, LEVEL_WARN, "nod mcp install CLIENT --yes", "not behind the proxy: %.*s", STR_ARG(around));
    if (str_empty(proxied))
        return FOUND(arena, LEVEL_OK, NULL, "no client uses the proxy");
    return FOUND(arena, LEVEL_OK, NULL, "behind the proxy: %.*s", STR_ARG(proxied));
}

/* Reports the channels whose last message was not accepted. */
static struct finding check_channels(struct cli *cli)
{
    struct reply reply;
    struct err err = {0};
    size_t count = 0;
    if (rc_bad(remote_get(cli, STR("/api/channels"), &reply, &err)))
        return FOUND(&cli->arena, LEVEL_OK, "", "looked at when a server runs, with a token that may answer");
    for (const struct json *one = json_first(reply.json, "channels"); one; one = one->next) {
        struct str why = text_line(&cli->arena, json_text(one, "lastError"));
        struct str name = text_line(&cli->arena, json_text(one, "name"));
        count++;
        if (why.n)
            return FOUND(&cli->arena, LEVEL_BAD,
                         arena_printf(&cli->arena, "mend notify.json, restart, then nod notify test %.*s",
                                      STR_ARG(name)).p,
                         "\"%.*s\" does not reach anybody: %.*s", STR_ARG(name), STR_ARG(why));
    }
    return FOUND(&cli->arena, LEVEL_OK, "", "%zu, and none has failed", count);
}

/* Makes a box and tears it down again: what the kernel allows is only known by trying. */
static struct finding check_box(struct cli *cli)
{
    char why[BOX_STEP_BYTES * 2] = "";
    enum box_choice choice = box_choice(cli);
    struct box_setting *setting = box_setting_of(cli);
    struct stat st;
    if (stat(setting->data, &st) != 0)
        return FOUND(&cli->arena, LEVEL_OK, "", "not tried: there is no data folder yet");
    enum box_order order = box_probe(setting, why, sizeof why);
    if (choice == BOX_OFF || choice == BOX_UNDECIDED_OLD)
        return FOUND(&cli->arena, LEVEL_OK,
                     order == BOX_NONE ? "" : "`sandbox = yes` in the configuration puts commands of runs in a box",
                     "off; %s%s%s", box_order_text(order), why[0] ? ": " : "", why);
    if (order == BOX_NONE)
        return FOUND(&cli->arena, LEVEL_WARN, "allow user namespaces for nod (kernel.unprivileged_userns_clone, "
                                              "AppArmor), or set `sandbox = no`",
                     "no box can be made here, so a person is asked about every command of a run: %s", why);
    return FOUND(&cli->arena, LEVEL_OK, "", "%s%s%s", box_order_text(order), why[0] ? "; " : "", why);
}

/* A clock that is behind makes deadlines late; one that jumps forward ends calls that still wait. */
static struct finding check_clock(struct cli *cli)
{
    int64_t now_ms = clock_wall_ms();
    const char *path = store_path(cli);
    struct stat st;
    if (now_ms < clock_earliest_ms)
        return FOUND(&cli->arena, LEVEL_BAD, "set the clock: deadlines and records depend on it",
                     "the clock is years behind");
    if (path && stat(path, &st) == 0 && (int64_t)st.st_mtime * 1000 > now_ms + clock_slack_ms)
        return FOUND(&cli->arena, LEVEL_WARN, "set the clock: deadlines and records depend on it",
                     "the clock shows a time before the last change of the store");
    return FOUND(&cli->arena, LEVEL_OK, "", "plausible");
}

static struct finding check_descriptors(struct cli *cli)
{
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return FOUND(&cli->arena, LEVEL_WARN, "", "the limit cannot be read: %s", strerror(errno));
    if (limit.rlim_max < DESCRIPTORS_WANTED)
        return FOUND(&cli->arena, LEVEL_WARN,
                     "raise the hard limit: every waiting agent and open page needs one", "at most %llu",
                     (unsigned long long)limit.rlim_max);
    return FOUND(&cli->arena, LEVEL_OK, "", "%llu, at most %llu", (unsigned long long)limit.rlim_cur,
                 (unsigned long long)limit.rlim_max);
}

static struct finding check_locale(struct cli *cli)
{
    const char *locale = setlocale(LC_CTYPE, "");
    const char *charset = nl_langinfo(CODESET);
    if (!locale || strcmp(charset, "UTF-8") != 0)
        return FOUND(&cli->arena, LEVEL_WARN, "export LC_ALL=C.UTF-8",
                     "this terminal expects %s, nod writes UTF-8", charset);
    return FOUND(&cli->arena, LEVEL_OK, "", "%s", locale);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    struct finding (*check)(struct cli *cli);
} checks[] = {
#define X(function, name) {name, check_##function},
    CHECKS(X)
#undef X
};

enum { CHECK_COUNT = sizeof checks / sizeof *checks };

static void print_json(struct buf *buf, const struct finding *findings, bool well)
{
    struct json_out out = json_out(buf);
    json_open(&out, '{');
    json_member_bool(&out, "ok", well);
    JSON_LIST(&out, "checks")
        for (size_t i = 0; i < CHECK_COUNT; i++) {
            json_object(&out, J("check", checks[i].name), J("level", levels[findings[i].level].name),
                        J("words", findings[i].words), J("advice", findings[i].advice));
        }
    json_close(&out, '}');
    buf_putc(buf, '\n');
}

static void print_lines(struct buf *buf, struct cli *cli, const struct finding *findings)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        const struct finding *f = &findings[i];
        CHECK(f->level <= LEVEL_BAD && f->words.n > 0);
        struct str level = arena_printf(&cli->arena, "%-4s", levels[f->level].name);
        buf_put(buf, text_tinted(&cli->arena, cli->color, levels[f->level].tint, level));
        buf_printf(buf, "  %-12s  %.*s\n", checks[i].name, STR_ARG(text_line(&cli->arena, f->words)));
        if (f->advice.n)
            buf_printf(buf, "%20s→ %.*s\n", "", STR_ARG(text_line(&cli->arena, f->advice)));
    }
}

/* Every check runs, whatever the others found. Warnings do not fail the command. */
struct rc doctor_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct finding findings[CHECK_COUNT];
    bool well = true;
    (void)err;
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        findings[i] = checks[i].check(cli);
        well = well && findings[i].level != LEVEL_BAD;
    }
    if (cli->json)
        print_json(&buf, findings, well);
    else
        print_lines(&buf, cli, findings);
    cli_out(buf_str(&buf));
    cli->status = well ? 0 : 1;
    return RC_OK;
}
