/* Groups of commands under one name (`@read-only`), and conditions on hosts (`Bash(curl:*) & host:
 * example.com`). A group is a list of words, or by the table all programs that only read. */
#include "policy/groups.h"

#include "policy/effects.h"
#include "policy/match.h"
#include "policy/policy.h"

/* ---- groups ---- */

/* One line per group. `words` are the beginnings of its commands, parted by commas; without, its commands are those
 * that the table of programs marks as only reading, of one program where `program` names it. */
static const struct group {
    const char *name, *program, *words;
} groups[] = {
    {"read-only", NULL, NULL},
    {"git-read", "git", NULL},
    {"node-test", NULL,
     "npm test,npm t,npm run test,npm run lint,npm run typecheck,yarn test,yarn run test,yarn lint,pnpm test,pnpm "
     "run test,"
     "pnpm lint,bun test,node --test,jest,npx jest,vitest,npx vitest,mocha,npx mocha,eslint,npx eslint,tsc --noEmit,"
     "npx tsc --noEmit"},
    {"node-build", NULL,
     "npm run build,yarn build,yarn run build,pnpm build,pnpm run build,bun run build,tsc,npx tsc"},
    {"python-test", NULL,
     "pytest,python -m pytest,python3 -m pytest,python -m unittest,python3 -m unittest,tox,nox,ruff "
     "check,mypy,flake8,"
     "black --check,uv run pytest,poetry run pytest"},
    {"rust-test", NULL,
     "cargo test,cargo check,cargo clippy,cargo build,cargo bench,cargo fmt --check,cargo nextest run"},
    {"go-test", NULL, "go test,go vet,go build,go list,go env,golangci-lint run"},
    {"c-build", NULL, "make,ninja,cmake --build,ctest,meson compile,meson test"},
    {"java-test", NULL,
     "mvn test,mvn verify,mvn compile,gradle test,gradle build,./gradlew test,./gradlew build,./mvnw test"},
    {"docker-read", NULL,
     "docker ps,docker images,docker logs,docker inspect,docker compose ps,docker compose logs,docker version,docker "
     "info"},
    {"kube-read", NULL, "kubectl get,kubectl describe,kubectl logs,kubectl version,kubectl top"},
    {"gh-read", NULL,
     "gh pr view,gh pr list,gh pr diff,gh pr checks,gh issue view,gh issue list,gh run view,gh run list,gh release "
     "view"},
};

enum { GROUP_COUNT = sizeof groups / sizeof *groups, MEMBER_WORDS_MAX = 4 };

static const struct group *find_group(struct str name)
{
    return ROW_VALUE(groups, row, str_is(name, row->name), row, NULL);
}

bool group_known(struct str name) { return find_group(name) != NULL; }

/* The next command of a group as a rule of its own; false behind the last. */
static bool next_member(struct str *list, struct str words[MEMBER_WORDS_MAX], struct rule *ret_rule)
{
    struct str member = str_cut(*list, ',', list);
    *ret_rule = (struct rule){.kind = RULE_PREFIX, .tool = STR("Bash"), .words = words};
    while (!str_empty(member) && ret_rule->word_count < MEMBER_WORDS_MAX)
        words[ret_rule->word_count++] = str_cut(member, ' ', &member);
    return ret_rule->word_count > 0;
}

/* For groups without a list of commands: whether the table says that the command, with its options, only reads. */
static bool only_reads(const struct group *group, const struct study *study)
{
    if (!study->table || study->local || !((study->table->styles & STYLE_READS) || study->only_reads))
        return false;
    struct str rest, program = str_cut(table_str(study->table->name), ' ', &rest);
    return !group->program || str_is(program, group->program);
}

/* The row is found by the last part of a program's name; a group names no folder, so the system's program is meant.
 */
static bool is_plain(const struct word *program)
{
    return word_literal(program) && !(program->flags & WORD_ESCAPED) &&
           (str_find(program->text, '/') == program->text.n || str_starts(program->text, STR("/usr/bin/")) ||
            str_starts(program->text, STR("/bin/")));
}

/* The member that names most words wins: acts of these words are covered then. */
size_t group_covers(struct arena *arena, const struct rule *rule, struct argv *argv, const struct study *study)
{
    const struct group *group = find_group(rule->value);
    struct str words[MEMBER_WORDS_MAX], list = str_of(group ? group->words : NULL);
    struct rule member;
    size_t best = 0;
    if (!group || argv->assign_count)
        return 0;
    if (!group->words)
        return is_plain(&argv->words[0]) && only_reads(group, study) ? 1 : 0;
    while (next_member(&list, words, &member)) {
        size_t named = words_covered(arena, &member, argv);
        best = named > best ? named : best;
    }
    return best;
}

/* Each member is compared as generously as a rule of its own: with options between its words. */
bool group_stops(struct arena *arena, const struct rule *rule, struct argv *argv, const struct study *study)
{
    const struct group *group = find_group(rule->value);
    struct str words[MEMBER_WORDS_MAX], list = str_of(group ? group->words : NULL);
    struct rule member;
    bool maybe;
    if (group && !group->words)
        return study && only_reads(group, study);
    while (next_member(&list, words, &member))
        if (words_stopped(arena, &member, argv, &maybe))
            return true;
    return false;
}

size_t policy_groups(struct arena *arena, const struct str **ret_names)
{
    struct str *names = arena_array(arena, struct str, GROUP_COUNT);
    for (size_t i = 0; i < GROUP_COUNT; i++)
        names[i] = str_of(groups[i].name);
    *ret_names = names;
    return GROUP_COUNT;
}

/* For `nod policy show`: the members, from the list or the table. */
size_t policy_group_commands(struct arena *arena, struct str name, const struct str **ret_commands)
{
    const struct group *group = find_group(name);
    struct str list = str_of(group ? group->words : NULL);
    struct str *commands = arena_array(arena, struct str, table_name_count + list.n);
    size_t count = 0;
    *ret_commands = commands;
    while (!str_empty(list))
        commands[count++] = str_cut(list, ',', &list);
    for (size_t i = 0; group && !group->words && i < table_name_count; i++) {
        const struct study study = {.table = &table_rows[table_names[i].row]};
        if (only_reads(group, &study))
            commands[count++] = table_str(table_names[i].name);
    }
    return count;
}

/* ---- hosts ---- */

struct address {
    struct str host, port;
};

/* user@host, host, and a port behind a colon; false for everything that two programs could read in two ways. */
static bool read_authority(struct str text, bool port, struct address *ret_address)
{
    size_t at = str_find(text, '@');
    if (at < text.n && str_find(text, ':') < at)
        return false;
    struct str host = at < text.n ? str_sub(text, at + 1, text.n) : text, behind = STR_NONE;
    if (port)
        host = str_cut(host, ':', &behind);
    for (size_t i = 0; i < host.n; i++)
        if (!match_host_letter(host.p[i]))
            return false;
    for (size_t i = 0; i < behind.n; i++)
        if (behind.p[i] < '0' || behind.p[i] > '9')
            return false;
    *ret_address = (struct address){host, behind};
    return host.n > 0 && host.p[0] != '.' && host.p[0] != '-' && host.p[host.n - 1] != '.';
}

/* The host of an address as curl, wget, git and ssh would find it. */
static bool read_address(struct arena *arena, struct str text, struct address *ret_address)
{
    static const char *const schemes[] = {"http", "https", "ssh", "git", "ftp", "ftps", "ws", "wss", "rsync", "sftp"};
    char *small = arena_bytes(arena, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        small[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] + 32) : text.p[i];
    struct str rest, all = {small, text.n}, scheme = str_cut(all, ':', &rest);
    if (!str_starts(rest, STR("//"))) {
        /* host:path of git and scp, host:port of curl: what is before the colon is the host. */
        struct str path, authority = str_cut(all, '/', &path), behind;
        authority = str_cut(authority, ':', &behind);
        bool number = !str_empty(behind);
        for (size_t i = 0; i < behind.n; i++)
            number = number && behind.p[i] >= '0' && behind.p[i] <= '9';
        if (str_find(behind, '@') < behind.n || !read_authority(authority, false, ret_address))
            return false;
        ret_address->port = number ? behind : STR_NONE;
        return true;
    }
    bool known = false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        known = known || str_is(scheme, schemes[i]);
    rest = str_sub(rest, 2, rest.n);
    size_t end = 0;
    while (end < rest.n && !strchr("/?#", rest.p[end]))
        end++;
    struct str authority = str_sub(rest, 0, end);
    bool web = str_starts(scheme, STR("http")) || str_starts(scheme, STR("ws"));
    return known && !(web && str_find(authority, '@') < authority.n) && read_authority(authority, true, ret_address);
}

static bool is_here(struct str host) { return str_is(host, "localhost") || str_is(host, "127.0.0.1"); }

/* Whether the address uses a usual port; another port is another service, except on this machine. */
static bool own_port(const struct address *address)
{
    return str_empty(address->port) || str_is(address->port, "80") || str_is(address->port, "443") ||
           str_is(address->port, "22") || is_here(address->host);
}

static bool host_fits(const struct rule *rule, struct str host)
{
    for (size_t i = 0; i < rule->host_count; i++) {
        struct str wanted = rule->hosts[i];
        if (str_eq(wanted, host))
            return true;
        /* `*.example.com` is what lies below it, by whole labels. */
        if (str_starts(wanted, STR("*.")) && host.n > wanted.n - 1 && str_ends(host, str_sub(wanted, 1, wanted.n)))
            return true;
    }
    return false;
}

/* Whether the act names an address; a row that only says `talks`, and sent data, name none. */
static bool is_address(const struct act *act) { return act->kind == ACT_TALKS && !str_empty(act->path.text); }

/* curl --url: an address that its row takes for text, since it is what a rule on curl means. */
static bool names_url(const struct argv *argv)
{
    return ANY(size_t i = 1; i < argv->count; i++,
               str_starts(argv->words[i].text, STR("--ur")) || str_starts(argv->words[i].text, STR("--expand-")));
}

/* Every address on the line must be literal and one of the rule's hosts; a command without any address is not
 * covered. */
bool groups_cover_hosts(struct arena *arena, const struct rule *rule, const struct argv *argv,
                        const struct study *study)
{
    size_t count = 0;
    if (rule->host_count && names_url(argv))
        return false;
    for (const struct act *act = study->acts; act && rule->host_count; act = act->next) {
        struct address address;
        if (!is_address(act))
            continue;
        count++;
        if (!word_literal(&act->path) || !read_address(arena, act->path.text, &address) ||
            !host_fits(rule, address.host) || !own_port(&address))
            return false;
    }
    return !rule->host_count || count > 0;
}

/* Generous: an address that is not known, or none at all, counts as one of the rule's hosts. */
bool groups_stop_hosts(struct arena *arena, const struct rule *rule, const struct study *study)
{
    size_t count = 0;
    for (const struct act *act = study ? study->acts : NULL; act; act = act->next) {
        struct address address;
        if (!is_address(act))
            continue;
        count++;
        if (!word_literal(&act->path) || !read_address(arena, act->path.text, &address) ||
            host_fits(rule, address.host))
            return true;
    }
    return count == 0;
}
