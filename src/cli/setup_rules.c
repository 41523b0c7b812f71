/* Starter rules: each kind of project's own tests, docker where it only looks, and staging for git, which `git reset`
 * takes back. Commands that only read inside the project, git's too, need no rule. A new pack is one entry. */
#include "base/limits.h"
#include "cli/remote.h"
#include "cli/setup.h"
#include "cli/signing.h"

#include <unistd.h>

/* Options of these commands that write or run something else are not covered by such rules (docs/RULES.md). */
static const struct setup_pack packs[] = {
    {"git", "staging in a git project", {".git"}, {"Bash(git add:*)"}},
    {"node", "tests of a Node project", {"package.json"},
     {"Bash(npm test:*)", "Bash(npm run test:*)", "Bash(npm ls:*)"}},
    {"python", "tests of a Python project", {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"},
     {"Bash(pytest:*)", "Bash(python -m pytest:*)", "Bash(python3 -m pytest:*)"}},
    {"go", "tests of a Go project", {"go.mod"}, {"Bash(go test:*)", "Bash(go vet:*)"}},
    {"rust", "tests of a Rust project", {"Cargo.toml"}, {"Bash(cargo test:*)", "Bash(cargo check:*)"}},
    {"c", "tests of a C project", {"CMakeLists.txt", "Makefile", "meson.build", "configure"},
     {"Bash(make test)", "Bash(make check)", "Bash(ctest:*)", "Bash(meson test:*)"}},
    {"docker", "docker commands that only read",
     {"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"},
     {"Bash(docker ps:*)", "Bash(docker images:*)", "Bash(docker logs:*)", "Bash(docker compose ps:*)"}},
};
enum { PACK_COUNT = sizeof packs / sizeof *packs };

static bool fits(const struct setup_pack *pack)
{
    return ANY(size_t i = 0; pack->marks[i]; i++, access(pack->marks[i], F_OK) == 0);
}

const struct setup_pack *setup_pack_next(size_t *at)
{
    while (*at < PACK_COUNT)
        if (fits(&packs[(*at)++]))
            return &packs[*at - 1];
    return NULL;
}

static bool is_there(const struct json *rules, const char *rule)
{
    return ANY(const struct json *one = rules ? rules->first : NULL; one; one = one->next,
               str_is(json_text(one, "rule"), rule));
}

/* The id is recorded before the next rule is added: removal knows exactly which rules setup has made. */
static struct rc add(struct cli *cli, const struct setup_pack *pack, const char *rule, struct setup_record *record,
                     struct err *err)
{
    struct reply reply;
    if (record->rule_count == SETUP_RULES_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %d starter rules", SETUP_RULES_MAX);
    struct str body = json_object_str(&cli->arena, J("effect", "allow"), J("layer", "user"), J("rule", rule),
                                      J("reason", arena_printf(&cli->arena, "nod setup: %s", pack->words)));
    TRY(signing_post(cli, STR("/api/policy/rules"), body, &reply, err));
    record->rules[record->rule_count++] = json_text(reply.json, "id");
    return setup_record_save(cli, record, err);
}

/* Rules that are there already are not added again, and will not be removed. */
struct rc setup_rules_add(struct cli *cli, struct setup_record *record, size_t *ret_added, struct err *err)
{
    const struct setup_pack *pack;
    struct reply reply;
    size_t at = 0;
    *ret_added = 0;
    TRY(remote_get(cli, STR("/api/policy"), &reply, err));
    const struct json *there = json_get(reply.json, "user");
    while ((pack = setup_pack_next(&at)))
        for (size_t i = 0; pack->rules[i]; i++) {
            if (is_there(there, pack->rules[i]))
                continue;
            TRY(add(cli, pack, pack->rules[i], record, err));
            (*ret_added)++;
        }
    return RC_OK;
}

/* Revokes the rules that setup added. A rule that was revoked meanwhile is not an error. */
void setup_rules_revoke(struct cli *cli, const struct setup_record *record)
{
    for (size_t i = 0; i < record->rule_count; i++) {
        struct query query = {.method = "DELETE"};
        struct reply reply;
        query.target = arena_printf(&cli->arena, "/api/policy/rules/%s",
                                    remote_escape(&cli->arena, record->rules[i]).p);
        (void)!remote_ask(cli, &cli->arena, &query, &reply, NULL).code;
    }
}
