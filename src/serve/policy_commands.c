/* `nod policy import`, `test` and `check`: the judge itself, at the command line. */
#include "cli/cli.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/text.h"
#include "io/clock.h"
#include "io/file.h"
#include "policy/policy.h"
#include "serve/policy_check.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>

enum { IMPORT_BYTES_MAX = 4 << 20 };

/* ---- import ---- */

/* The server checks the rule once more, as it does every rule; `force` accepts what the linter warns of. */
static struct rc add_rule(struct cli *cli, const struct rule_source *rule, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct reply reply;
    json_object(&out, J("effect", effect_name(rule->effect)), J("rule", rule->text), J("reason", rule->reason),
                J_FLAG("force", option_flag(cli, "force")));
    return remote_post(cli, STR("/api/policy/rules"), buf_str(&body), &reply, err);
}

static void print_remarks(struct cli *cli, const struct imported *imported)
{
    for (size_t i = 0; i < imported->remark_count; i++) {
        const struct import_remark *remark = &imported->remarks[i];
        cli_note("line %u: %.*s: %.*s", remark->line, STR_ARG(text_line(&cli->arena, remark->what)),
                 STR_ARG(text_line(&cli->arena, remark->words)));
    }
}

/* Deny and ask rules must not be lost: either all of them are imported, or nothing is. */
static struct rc check_losses(struct cli *cli, const struct imported *imported, struct err *err)
{
    size_t lost = imported->lost;
    for (size_t i = 0; i < imported->rule_count; i++) {
        struct err why;
        if (rc_ok(policy_lint_check(&cli->arena, &imported->rules[i], tool_known_name, &why)))
            continue;
        lost++;
        cli_note("%s %.*s: %s", effect_name(imported->rules[i].effect),
                 STR_ARG(text_line(&cli->arena, imported->rules[i].text)), why.text);
    }
    if (!lost || option_flag(cli, "force"))
        return RC_OK;
    return err_set(err, ERR_INVALID,
                   "%zu deny or ask rules would be lost: nothing was added; correct them, or use --force", lost);
}

/* A denial that cannot be expressed ends the import, unless it is accepted (check_losses). */
struct rc policy_import_command(struct cli *cli, struct err *err)
{
    struct imported imported = {0};
    enum import_kind kind;
    struct str text;
    bool dry = option_flag(cli, "dry-run");
    size_t added = 0;
    CHECK(cli->argc == 2);
    if (!import_kind_parse(str_of(cli->argv[0]), &kind))
        return err_set(err, ERR_INVALID, "say claude-code, codex, gemini or opencode, not \"%s\"", cli->argv[0]);
    TRY(file_read(&cli->arena, cli->argv[1], IMPORT_BYTES_MAX, &text, err));
    TRY(policy_import(&cli->arena, kind, text, &imported, err));
    print_remarks(cli, &imported);
    TRY(check_losses(cli, &imported, err));
    for (size_t i = 0; i < imported.rule_count; i++) {
        const struct rule_source *rule = &imported.rules[i];
        struct err why;
        if (!dry && rc_bad(add_rule(cli, rule, &why))) {
            if (why.code == ERR_UNAVAILABLE || why.code == ERR_UNAUTHENTICATED || why.code == ERR_FORBIDDEN)
                return err_set(err, why.code, "%s", why.text);
            cli_note("not taken: %.*s: %s", STR_ARG(text_line(&cli->arena, rule->text)), why.text);
            continue;
        }
        added++;
        (void)printf("%s %.*s\n", effect_name(rule->effect), STR_ARG(text_line(&cli->arena, rule->text)));
    }
    cli_note("%zu rules %s, %zu remarks", added, dry ? "would be added" : "added", imported.remark_count);
    return RC_OK;
}

/* ---- test ---- */

/* Judged here, without a server: the rule alone, on this machine's files. */
struct rc policy_test_command(struct cli *cli, struct err *err)
{
    struct str canonical;
    const struct json *input;
    const char *folder;
    const char *cwd = option_text(cli, "cwd"), *home = option_text(cli, "home");
    CHECK(cli->argc == 3);
    TRY(rule_check(&cli->arena, str_of(cli->argv[0]), &canonical, err));
    TRY(local_input(cli, cli->argv[2], &input, err));
    TRY(local_folder(cli, cwd ? cwd : ".", &folder, err));
    struct rule_source source = {.id = STR("rule"), .effect = EFFECT_ALLOW, .text = canonical,
                                 .layer = LAYER_USER};
    struct tool_facts facts = tool_facts_from(&cli->arena, STR_NONE, str_of(cli->argv[1]), input);
    struct rule_set *set = rule_set_new(&source, 1);
    struct question question = {.facts = &facts, .rules = set, .cwd = str_of(folder), .root = str_of(folder),
                                .home = str_of(home ? home : getenv("HOME")), .now_ms = clock_wall_ms()};
    bool covers = policy_covers(&cli->arena, &question);
    rule_set_free(set);
    cli->status = covers ? 0 : 1;
    if (cli->json) {
        (void)printf("{\"covers\":%s}\n", covers ? "true" : "false");
        return RC_OK;
    }
    (void)printf("%.*s %s this call\n", STR_ARG(text_line(&cli->arena, canonical)),
                 covers ? "covers" : "does not cover");
    return RC_OK;
}

/* ---- show ---- */

/* The groups come from the tables in this program; a server of another version may know others. */
struct rc policy_show_command(struct cli *cli, struct err *err)
{
    const struct str *list;
    struct str name = cli->argc ? str_of(cli->argv[0]) : STR_NONE;
    if (str_starts(name, STR("@")))
        name = str_sub(name, 1, name.n);
    bool one = !str_empty(name);
    size_t count = one ? policy_group_commands(&cli->arena, name, &list) : policy_groups(&cli->arena, &list);
    if (one && !count)
        return err_set(err, ERR_NOT_FOUND, "there is no group @%.*s: `nod policy show` lists them", STR_ARG(name));
    for (size_t i = 0; i < count; i++)
        (void)printf("%s%.*s\n", one ? "" : "@", STR_ARG(list[i]));
    return RC_OK;
}

/* ---- check ---- */

struct rc policy_check_command(struct cli *cli, struct err *err)
{
    const char *cwd = option_text(cli, "cwd"), *home = option_text(cli, "home");
    char *argv[] = {cli->argv[0], "--cwd", (char *)(cwd ? cwd : "/"), "--home", (char *)(home ? home : "/")};
    CHECK(cli->argc == 1);
    return policy_check_main(sizeof argv / sizeof *argv, argv, &cli->status, err);
}
