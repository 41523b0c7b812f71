/* How long a verdict takes: a typical command under 10 to 10,000 rules, hostile texts of 1 to 64 KB, and 1
 * MiB of them, which is refused. Prints a table; exits 1 when a promise does not hold.
 *
 *   bench_judge simple      simple commands under rules that are about commands only: what peers can be given, too
 *   bench_judge rules N     the words of those N rules, a JSON array each
 *   bench_judge commands    those commands
 */
#include "base/buf.h"
#include "base/json.h"
#include "policy/policy.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 2000, HOSTILE_ROUNDS = 9, RULES_MAX = 10000 };

/* The processor's time, so that what others do meanwhile is not counted; beside a peer, the wall's, as for it. */
static clockid_t measured_clock = CLOCK_THREAD_CPUTIME_ID;

static double now_us(void)
{
    struct timespec t;
    (void)clock_gettime(measured_clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* ---- rules as people have them ---- */

static struct str rule_text(struct arena *arena, size_t i)
{
    static const char *const usual[] = {"Bash(git diff:*)",        "Bash(head:*)",      "Bash(cd:*)",
                                        "Bash(npm test:*)",        "Bash(make test:*)", "Bash(grep:*)",
                                        "Bash(git status)",        "Read(src/**)",      "Edit(docs/**)",
                                        "WebFetch(domain:docs.rs)"};
    if (i < sizeof usual / sizeof *usual)
        return str_of(usual[i]);
    switch (i % 8) {
    case 0: return arena_printf(arena, "Bash(npm run task%zu:*)", i);
    case 1: return arena_printf(arena, "Bash(tool%zu:*)", i);
    case 2: return arena_printf(arena, "Bash(git sub%zu:*)", i);
    case 3: return arena_printf(arena, "Bash(make target%zu)", i);
    case 4: return arena_printf(arena, "Read(src/part%zu/**)", i);
    case 5: return arena_printf(arena, "Edit(docs/part%zu/*.md)", i);
    case 6: return arena_printf(arena, "WebFetch(domain:host%zu.example)", i);
    default: return arena_printf(arena, "mcp__server%zu__*", i);
    }
}

static struct rule_set *make_rules(size_t count)
{
    ARENA_SCOPE(arena);
    struct rule_source *sources = arena_array(&arena, struct rule_source, count);
    for (size_t i = 0; i < count; i++)
        sources[i] = (struct rule_source){.text = rule_text(&arena, i), .layer = LAYER_USER,
                                          .effect = i % 20 == 19 ? EFFECT_DENY : EFFECT_ALLOW};
    return rule_set_new(sources, count);
}

/* ---- questions ---- */

static double judge_once(const struct rule_set *rules, const struct tool_facts *facts,
                         enum effect *ret_effect)
{
    double start = now_us();
    ARENA_SCOPE(arena);
    struct question question = {.facts = facts, .rules = rules, .cwd = STR("/home/u/proj"),
                                .root = STR("/home/u/proj"), .home = STR("/home/u")};
    *ret_effect = policy_judge(&arena, &question).effect;
    return now_us() - start;
}

static struct tool_facts command_facts(struct arena *arena, struct str command)
{
    BUF_SCOPE(buf, (size_t)8 << 20);
    struct json_out out = json_out(&buf);
    const struct json *input;
    struct err err;
    json_open(&out, '{');
    json_key(&out, "command");
    json_put_str(&out, command);
    json_close(&out, '}');
    if (rc_bad(json_parse(arena, arena_str(arena, buf_str(&buf)), &input, &err)))
        exit(2);
    return tool_facts(STR("Bash"), input);
}

static const char *const typical[] = {
    "cd src && git diff --stat | head -5",
    "npm test -- --grep 'parser'",
    "make test V=1 2>&1 | head -50",
    "grep -rn \"foo bar\" src --include='*.c'",
    "git diff HEAD~1 -- src/main.c",
};

static double typical_us(size_t rule_count)
{
    ARENA_SCOPE(arena);
    struct rule_set *rules = make_rules(rule_count);
    enum { KINDS = sizeof typical / sizeof *typical };
    struct tool_facts facts[KINDS];
    double *took = arena_array(&arena, double, ROUNDS);
    for (size_t i = 0; i < KINDS; i++)
        facts[i] = command_facts(&arena, str_of(typical[i]));
    for (size_t i = 0; i < ROUNDS; i++) {
        enum effect effect;
        took[i] = judge_once(rules, &facts[i % KINDS], &effect);
        if (effect != EFFECT_ALLOW)
            (void)printf("unexpected: %s\n", typical[i % KINDS]);
    }
    rule_set_free(rules);
    return median(took, ROUNDS);
}

/* ---- hostile texts ---- */

static const struct {
    const char *name, *head, *unit, *tail;
} shapes[] = {
    {"pipes a|a|…", "", "a|", "a"},
    {"words a a a…", "x ", "a ", ""},
    {"one long word", "x ", "aaaaaaaa", ""},
    {"quotes \"'\"'…", "x ", "\"'\"'\"'", ""},
    {"nested $(", "x ", "$(", ""},
    {"nested \"$(\"", "x ", "\"$(x ", ""},
    {"nested `\\`", "x ", "`\\`", ""},
    {"nested ((", "", "( ", ""},
    {"nested {", "", "{ ", ""},
    {"if … elif …", "if a; then a", "; elif a; then a", "; fi"},
    {"case items", "case x in ", "a) b;; ", "esac"},
    {"here-documents", "", "a <<E\nb\nE\n", ""},
    {"substitutions", "x ", "$(a) ", ""},
    {"backticks", "x ", "`a` ", ""},
    {"xargs of words", "xargs ", "rm ", ""},
    {"sudo sudo …", "", "sudo ", "x"},
    {"find -exec", "find . ", "-exec a {} + ", ""},
    {"bash -c", "bash -c ", "'a b' ", ""},
    {"globs", "x ", "* ? [a] ", ""},
    {"braces", "x ", "{a,b}", ""},
    {"escapes", "x ", "\\a", ""},
    {"paths", "cat ", "../a/./b/ ", ""},
    {"sed", "sed '", "s/a/b/;", "' f"},
    {"awk", "awk '", "{print $1/2} ", "' f"},
};

static struct str hostile_text(struct arena *arena, size_t shape, size_t bytes)
{
    BUF_SCOPE(buf, (size_t)2 << 20);
    struct str tail = str_of(shapes[shape].tail), unit = str_of(shapes[shape].unit);
    buf_puts(&buf, shapes[shape].head);
    while (buf.n + unit.n + tail.n <= bytes)
        buf_put(&buf, unit);
    buf_put(&buf, tail);
    return arena_str(arena, buf_str(&buf));
}

static double hostile_us(const struct rule_set *rules, size_t shape, size_t bytes)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts = command_facts(&arena, hostile_text(&arena, shape, bytes));
    double took[HOSTILE_ROUNDS];
    for (size_t i = 0; i < HOSTILE_ROUNDS; i++) {
        enum effect effect;
        took[i] = judge_once(rules, &facts, &effect);
    }
    return median(took, HOSTILE_ROUNDS);
}

static bool hostile_table(void)
{
    static const size_t sizes[] = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20};
    struct rule_set *rules = make_rules(1000);
    bool fine = true;
    (void)printf("\nhostile texts under 1,000 rules, median µs\n%-18s %9s %9s %9s %9s %9s  64K/16K\n", "",
                 "1 KB", "4 KB", "16 KB", "64 KB", "1 MiB");
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        double took[5];
        (void)printf("%-18s", shapes[shape].name);
        for (size_t i = 0; i < 5; i++) {
            took[i] = hostile_us(rules, shape, sizes[i]);
            (void)printf(" %9.1f", took[i]);
        }
        (void)printf("  %.1f\n", took[3] / took[2]);
        /* Linear would be 4; below a few hundred microseconds nothing can be said. */
        bool linear = took[3] < 500 || took[3] / took[2] < 8;
        fine = fine && linear && took[4] < 10000;
        if (!linear || took[4] >= 10000)
            (void)printf("  ^ not as promised\n");
    }
    rule_set_free(rules);
    return fine;
}

static int table(void)
{
    static const size_t counts[] = {10, 100, 1000, RULES_MAX};
    double took[4];
    (void)printf("typical commands, median µs\n");
    for (size_t i = 0; i < 4; i++) {
        took[i] = typical_us(counts[i]);
        (void)printf("%6zu rules %8.2f\n", counts[i], took[i]);
    }
    bool fine = hostile_table();
    /* At most 10 µs under 1,000 rules, and far less than linear from there on. */
    bool quick = took[2] <= 10 && took[3] < 3 * took[2];
    (void)printf("\n%s\n", fine && quick ? "as promised" : "not as promised");
    return fine && quick ? 0 : 1;
}

/* ---- beside peers ---- */

static const char *const simple[] = {
    "npm test -- --grep 'parser'",
    "git diff HEAD~1 -- src/main.c",
    "grep -rn foo src --include=main.c",
};

enum { SIMPLE_COUNT = sizeof simple / sizeof *simple, READ_ROUNDS = 9 };

/* The words that a command must begin with. The three that decide come last: nothing is found by being first. */
static struct str simple_words(struct arena *arena, size_t i, size_t count)
{
    static const char *const deciding[] = {"npm test", "git diff", "grep"};
    if (count - i <= SIMPLE_COUNT)
        return str_of(deciding[count - i - 1]);
    switch (i % 4) {
    case 0: return arena_printf(arena, "npm run task%zu", i);
    case 1: return arena_printf(arena, "tool%zu", i);
    case 2: return arena_printf(arena, "git sub%zu", i);
    default: return arena_printf(arena, "make target%zu", i);
    }
}

static struct rule_set *simple_rules(size_t count)
{
    ARENA_SCOPE(arena);
    struct rule_source *sources = arena_array(&arena, struct rule_source, count);
    for (size_t i = 0; i < count; i++)
        sources[i] = (struct rule_source){
            .text = arena_printf(&arena, "Bash(%.*s:*)", STR_ARG(simple_words(&arena, i, count))),
            .layer = LAYER_USER, .effect = EFFECT_ALLOW};
    return rule_set_new(sources, count);
}

static void must_allow(enum effect effect, const char *command)
{
    if (effect == EFFECT_ALLOW)
        return;
    (void)fprintf(stderr, "not allowed: %s\n", command);
    exit(1);
}

static void simple_line(size_t count)
{
    ARENA_SCOPE(arena);
    struct tool_facts facts[SIMPLE_COUNT];
    double *took = arena_array(&arena, double, ROUNDS), read[READ_ROUNDS];
    enum effect effect;
    for (size_t i = 0; i < SIMPLE_COUNT; i++)
        facts[i] = command_facts(&arena, str_of(simple[i]));
    for (size_t i = 0; i < READ_ROUNDS; i++) {
        double start = now_us();
        struct rule_set *rules = simple_rules(count);
        (void)judge_once(rules, &facts[i % SIMPLE_COUNT], &effect);
        read[i] = now_us() - start;
        must_allow(effect, simple[i % SIMPLE_COUNT]);
        rule_set_free(rules);
    }
    struct rule_set *rules = simple_rules(count);
    for (size_t i = 0; i < ROUNDS; i++) {
        took[i] = judge_once(rules, &facts[i % SIMPLE_COUNT], &effect);
        must_allow(effect, simple[i % SIMPLE_COUNT]);
    }
    rule_set_free(rules);
    (void)printf("%6zu rules %8.2f %10.2f\n", count, median(took, ROUNDS), median(read, READ_ROUNDS));
}

static int simple_table(void)
{
    measured_clock = CLOCK_MONOTONIC;
    for (size_t count = 10; count <= RULES_MAX; count *= 10)
        simple_line(count);
    return 0;
}

static int list_rules(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ARENA_SCOPE(arena);
        struct str words = simple_words(&arena, i, count);
        (void)printf("[\"");
        for (size_t at = 0; at < words.n; at++)
            if (words.p[at] == ' ')
                (void)printf("\", \"");
            else
                (void)putchar(words.p[at]);
        (void)printf("\"]\n");
    }
    return 0;
}

static int list_commands(void)
{
    for (size_t i = 0; i < SIMPLE_COUNT; i++)
        (void)puts(simple[i]);
    return 0;
}

int main(int argc, char **argv)
{
    struct str part = str_of(argc > 1 ? argv[1] : "");
    if (str_is(part, "simple"))
        return simple_table();
    if (str_is(part, "rules") && argc == 3)
        return list_rules(strtoul(argv[2], NULL, 10));
    if (str_is(part, "commands"))
        return list_commands();
    return argc == 1 ? table() : 2;
}
