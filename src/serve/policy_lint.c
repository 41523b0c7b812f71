/* `nod policy lint`: rules that do not do what they say, of a file or of the running server. */
#include "base/grow.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/text.h"
#include "io/clock.h"
#include "io/file.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <stdio.h>

enum { LINT_BYTES_MAX = 4 << 20, LINT_RULES_MAX = 20000 };

/* The rules of one file in their order, each with its line, in the arena of the command. */
struct file_rules {
    struct arena *arena;
    struct str text;
    struct rule_source *sources;
    unsigned *lines;
    size_t count, room;
};

/* The arrays double in the arena; their older copies stay in it until the command ends. */
static void add_rule(struct file_rules *file, enum effect effect, struct str text, unsigned line)
{
    size_t room = file->room; /* of both arrays */
    ARENA_GROW(file->arena, file->lines, file->count, room);
    ARENA_GROW(file->arena, file->sources, file->count, file->room);
    file->sources[file->count] =
        (struct rule_source){.effect = effect, .text = text, .layer = LAYER_USER, .trusted = true};
    file->lines[file->count++] = line;
}

/* `at` points into the file's text, as the `raw` of a parsed value does. */
static unsigned line_at(const struct file_rules *file, const char *at)
{
    unsigned line = 1;
    for (const char *p = file->text.p; p < at; p++)
        line += *p == '\n';
    return line;
}

/* `allow RULE`, one to a line; a rule alone is allowed; `#` begins a remark. */
static struct rc read_lines(struct file_rules *file, struct err *err)
{
    struct str rest = file->text;
    for (unsigned line = 1; !str_empty(rest); line++) {
        struct str text = str_trim(str_cut(rest, '\n', &rest)), rule, word = str_cut(text, ' ', &rule);
        enum effect effect = EFFECT_ALLOW;
        if (str_empty(text) || text.p[0] == '#')
            continue;
        if (file->count == LINT_RULES_MAX)
            return err_set(err, ERR_TOO_LARGE, "the file has more than %d rules", LINT_RULES_MAX);
        bool said = effect_parse(word, &effect);
        add_rule(file, said ? effect : EFFECT_ALLOW, said ? str_trim(rule) : text, line);
    }
    return RC_OK;
}

/* {"deny":[…],"ask":[…],"allow":[…]}, by itself or under `permissions`. */
static struct rc read_json(struct file_rules *file, const struct json *top, struct err *err)
{
    const struct json *under = json_get(top, "permissions");
    for (const struct json *list = (under ? under : top)->first; list; list = list->next) {
        enum effect effect;
        if (!effect_parse(list->key, &effect) || list->type != JSON_ARRAY) {
            if (!under)
                return err_set(err, ERR_INVALID, "\"%.*s\" is not a list of rules to deny, ask about or allow",
                               STR_ARG(list->key));
            continue;
        }
        for (const struct json *item = list->first; item; item = item->next) {
            struct str text = item->type == JSON_OBJECT ? json_text(item, "rule") : item->text;
            if (file->count == LINT_RULES_MAX)
                return err_set(err, ERR_TOO_LARGE, "the file has more than %d rules", LINT_RULES_MAX);
            add_rule(file, effect, item->type == JSON_STRING || item->type == JSON_OBJECT ? text : item->raw,
                     line_at(file, item->raw.p));
        }
    }
    return RC_OK;
}

/* A file that begins with a brace is JSON, every other one is a list of lines. */
static struct rc read_file(struct cli *cli, const char *path, struct file_rules *ret_file, struct err *err)
{
    const struct json *top = NULL;
    *ret_file = (struct file_rules){.arena = &cli->arena};
    TRY(file_read(&cli->arena, path, LINT_BYTES_MAX, &ret_file->text, err));
    if (!str_starts(str_trim(ret_file->text), STR("{")))
        return read_lines(ret_file, err);
    TRY(json_parse(&cli->arena, ret_file->text, &top, err));
    return read_json(ret_file, top, err);
}

static void say(struct cli *cli, struct str where, struct str level, struct str effect, struct str rule,
                struct str words, struct str instead)
{
    struct arena *arena = &cli->arena;
    cli_out(arena_printf(arena, "%.*s: %.*s: %.*s %.*s: %.*s%s%.*s%s\n", STR_ARG(text_line(arena, where)),
                         STR_ARG(level), STR_ARG(effect), STR_ARG(text_line(arena, rule)),
                         STR_ARG(text_line(arena, words)), instead.n ? "; did you mean " : "",
                         STR_ARG(text_line(arena, instead)), instead.n ? "?" : ""));
}

static void put_json(struct json_out *out, unsigned line, const struct rule_source *source, const struct lint *lint)
{
    json_object(out, J("line", line), J("level", lint_level_name(lint->level)),
                J("effect", effect_name(source->effect)), J("rule", source->text), J("words", lint->words),
                J("instead", lint->instead));
}

/* The linter is the one of the server, run in this process. The exit status is 1 when there is a finding, for use in
 * CI. */
static struct rc lint_file(struct cli *cli, const char *path, struct err *err)
{
    struct file_rules file;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    TRY(read_file(cli, path, &file, err));
    struct linted linted = policy_lint(&cli->arena, file.sources, file.count, tool_known_name, clock_wall_ms());
    json_open(&out, '{');
    JSON_LIST(&out, "lint")
        for (size_t i = 0; i < linted.count; i++) {
            const struct lint *lint = &linted.items[i];
            const struct rule_source *source = &file.sources[lint->index];
            struct str where = arena_printf(&cli->arena, "%s:%u", path, file.lines[lint->index]);
            if (cli->json)
                put_json(&out, file.lines[lint->index], source, lint);
            else
                say(cli, where, str_of(lint_level_name(lint->level)), str_of(effect_name(source->effect)), source->text,
                    lint->words, lint->instead);
        }
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    if (cli->json)
        cli_out(buf_str(&buf));
    cli_note("%zu rules, %zu findings", file.count, linted.count);
    cli->status = linted.count ? 1 : 0;
    return RC_OK;
}

/* The rules as the server holds them, with those of its managed file. */
static struct rc lint_server(struct cli *cli, struct err *err)
{
    struct reply reply;
    TRY(remote_get(cli, STR("/api/policy?lint=true"), &reply, err));
    const struct json *list = json_get(reply.json, "lint");
    for (const struct json *lint = list && !cli->json ? list->first : NULL; lint; lint = lint->next)
        say(cli, json_text(lint, "id"), json_text(lint, "level"), json_text(lint, "effect"), json_text(lint, "rule"),
            json_text(lint, "words"), json_text(lint, "instead"));
    if (cli->json)
        remote_print(&reply);
    cli->status = list && list->count ? 1 : 0;
    cli_note("%u findings", list ? list->count : 0);
    return RC_OK;
}

struct rc policy_lint_command(struct cli *cli, struct err *err)
{
    return cli->argc ? lint_file(cli, cli->argv[0], err) : lint_server(cli, err);
}
