/* Rows: id, rule, tool, input (JSON), expected (match or nomatch), why; parted by tabs, under a header line.
 * Each row is judged by its one rule, as an allow rule, with links followed on this machine. */
#include "serve/policy_check.h"

#include "base/json.h"
#include "io/file.h"
#include "io/links.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

enum { CHECK_BYTES_MAX = 64 << 20 };

struct check {
    struct str cwd, home;
    size_t rows, agreed, false_allows;
};

struct check_row {
    struct str id, rule, tool, input, expected, why;
};

static const struct resolved_path *look(void *arg, struct str path, bool place)
{
    (void)place; /* looks everything up: speed does not matter here */
    struct resolved_path *found = arena_new(arg, struct resolved_path);
    *found = (struct resolved_path){.path = path, .real = links_follow(arg, path)};
    found->exists = links_reach(arg, path, &found->file, &found->shared);
    return found;
}

/* Input that cannot be read never matches. */
static bool row_matches(const struct check *check, const struct check_row *row)
{
    ARENA_SCOPE(arena);
    const struct json *input;
    struct err ignored;
    if (rc_bad(json_parse(&arena, row->input, &input, &ignored)) || input->type != JSON_OBJECT)
        return false;
    struct tool_facts facts = tool_facts(row->tool, input);
    struct rule_source source = {.effect = EFFECT_ALLOW, .text = row->rule, .layer = LAYER_USER};
    struct rule_set *set = rule_set_new(&source, 1);
    struct question question = {.facts = &facts, .rules = set, .cwd = check->cwd, .root = check->cwd,
                                .home = check->home, .look = look, .look_arg = &arena};
    bool matches = policy_covers(&arena, &question);
    rule_set_free(set);
    return matches;
}

/* Only rows that differ are printed. A false allow, a match where none was expected, is what makes the command fail.
 */
static void check_row(struct check *check, const struct check_row *row)
{
    bool wanted = str_is(row->expected, "match"), got = row_matches(check, row);
    check->rows++;
    if (wanted == got) {
        check->agreed++;
        return;
    }
    check->false_allows += got;
    (void)printf("%.*s\texpected %.*s, got %s\t%.*s\t%.*s %.*s\t%.*s\n", STR_ARG(row->id),
                 STR_ARG(row->expected), got ? "match" : "nomatch", STR_ARG(row->rule), STR_ARG(row->tool),
                 STR_ARG(row->input), STR_ARG(row->why));
}

/* `why` is the rest of the line. A row whose expectation cannot be read ends the check: it must not count as passed.
 */
static struct rc check_lines(struct check *check, struct str text, struct err *err)
{
    struct str line;
    (void)str_cut(text, '\n', &text); /* the header */
    for (size_t number = 2; !str_empty(text); number++) {
        line = str_cut(text, '\n', &text);
        if (str_ends(line, STR("\r")))
            line.n--;
        if (str_empty(line))
            continue;
        struct check_row row;
        struct str rest;
        row.id = str_cut(line, '\t', &rest);
        row.rule = str_cut(rest, '\t', &rest);
        row.tool = str_cut(rest, '\t', &rest);
        row.input = str_cut(rest, '\t', &rest);
        row.expected = str_cut(rest, '\t', &row.why);
        if (!str_is(row.expected, "match") && !str_is(row.expected, "nomatch"))
            return err_set(err, ERR_INVALID, "line %zu: the fifth column is neither match nor nomatch",
                           number);
        check_row(check, &row);
    }
    return RC_OK;
}

/* Takes the value of an option, from `--name value` or `--name=value`; false: the argument is another one. */
static bool option_value(int argc, char **argv, int *at, const char *name, const char **ret_value)
{
    size_t n = strlen(name);
    if (strncmp(argv[*at], name, n) != 0)
        return false;
    if (argv[*at][n] == '=') {
        *ret_value = argv[*at] + n + 1;
        return true;
    }
    if (argv[*at][n] != '\0' || *at + 1 >= argc)
        return false;
    *ret_value = argv[++*at];
    return true;
}

struct rc policy_check_main(int argc, char **argv, int *ret_status, struct err *err)
{
    ARENA_SCOPE(arena);
    const char *file = NULL, *cwd = "/", *home = "/";
    struct str text;
    for (int i = 0; i < argc; i++) {
        if (option_value(argc, argv, &i, "--cwd", &cwd) || option_value(argc, argv, &i, "--home", &home))
            continue;
        if (file || argv[i][0] == '-')
            return err_set(err, ERR_INVALID,
                           "`%s` is not understood: nod policy check FILE.tsv --cwd DIR --home DIR", argv[i]);
        file = argv[i];
    }
    if (!file)
        return err_set(err, ERR_INVALID, "say which file: nod policy check FILE.tsv --cwd DIR --home DIR");
    if (cwd[0] != '/' || home[0] != '/')
        return err_set(err, ERR_INVALID, "--cwd and --home are absolute paths");
    TRY(file_read(&arena, file, CHECK_BYTES_MAX, &text, err));
    struct check check = {.cwd = str_of(cwd), .home = str_of(home)};
    TRY(check_lines(&check, text, err));
    (void)printf("%zu of %zu as expected, %zu false allows\n", check.agreed, check.rows, check.false_allows);
    *ret_status = check.false_allows ? 1 : 0;
    return RC_OK;
}
