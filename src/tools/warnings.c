/* What a command might do that a person should notice, in plain words.
 *
 * This is a pair of eyes, not a judge: rules (policy/) parse commands and decide; here words at the beginning of
 * each simple command and redirections are pointed out; odd_text.c knows odd characters. It may warn too often, and
 * it never says that a command is safe.
 */
#include "tools/tool.h"

enum { PARTS_MAX = 64, WORD_BYTES_MAX = 4096 };

enum warning {
    DELETES, NETWORK, PRIVILEGES, SYSTEM, OUTSIDE, PIPED_TO_SHELL, HISTORY, EVALUATES, WARNING_COUNT
};

static const char *const words_of[WARNING_COUNT] = {
    [DELETES] = "deletes files",
    [NETWORK] = "reaches the network",
    [PRIVILEGES] = "runs with the rights of another user",
    [SYSTEM] = "changes the system outside the project",
    [OUTSIDE] = "writes outside the session's folder",
    [PIPED_TO_SHELL] = "feeds what it gets into a shell that runs it",
    [HISTORY] = "rewrites or discards work kept by git",
    [EVALUATES] = "runs text as a command that is not shown here",
};

static const struct {
    const char *word;
    enum warning warning;
} known[] = {
    {"rm", DELETES},        {"rmdir", DELETES},     {"shred", DELETES},     {"unlink", DELETES},
    {"truncate", DELETES},  {"curl", NETWORK},      {"wget", NETWORK},      {"nc", NETWORK},
    {"ncat", NETWORK},      {"ssh", NETWORK},       {"scp", NETWORK},       {"rsync", NETWORK},
    {"ftp", NETWORK},       {"telnet", NETWORK},    {"socat", NETWORK},     {"sudo", PRIVILEGES},
    {"su", PRIVILEGES},     {"doas", PRIVILEGES},   {"pkexec", PRIVILEGES}, {"chroot", PRIVILEGES},
    {"dd", SYSTEM},         {"mkfs", SYSTEM},       {"mount", SYSTEM},      {"umount", SYSTEM},
    {"systemctl", SYSTEM},  {"service", SYSTEM},    {"crontab", SYSTEM},    {"shutdown", SYSTEM},
    {"reboot", SYSTEM},     {"kill", SYSTEM},       {"killall", SYSTEM},    {"pkill", SYSTEM},
    {"apt", SYSTEM},        {"apt-get", SYSTEM},    {"dnf", SYSTEM},        {"eval", EVALUATES},
    {"source", EVALUATES},  {".", EVALUATES},
};

static const char *const shells[] = {"sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "node", "ruby"};

struct scan {
    struct str text;
    size_t at;
    bool seen[WARNING_COUNT];
    struct str root;
    struct arena *arena;
    struct str parts[PARTS_MAX];
    size_t part_count;
};

static bool blank(char c) { return c == ' ' || c == '\t'; }
static bool ends_part(char c) { return c == ';' || c == '|' || c == '&' || c == '\n' || c == '(' || c == ')'; }

/* The next word with its quotes taken off; empty at the end of a simple command. */
static struct str next_word(struct scan *scan)
{
    BUF_SCOPE(buf, WORD_BYTES_MAX);
    char quote = 0;
    while (scan->at < scan->text.n && blank(scan->text.p[scan->at]))
        scan->at++;
    for (; scan->at < scan->text.n; scan->at++) {
        char c = scan->text.p[scan->at];
        if (quote && c == quote)
            quote = 0;
        else if (!quote && (c == '\'' || c == '"'))
            quote = c;
        else if (c == '\\' && quote != '\'' && scan->at + 1 < scan->text.n)
            buf_putc(&buf, scan->text.p[++scan->at]);
        else if (!quote && (blank(c) || ends_part(c) || c == '<' || c == '>'))
            break;
        else
            buf_putc(&buf, c);
    }
    return arena_str(scan->arena, buf_str(&buf));
}

static bool shell(struct str name)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (str_is(name, shells[i]))
            return true;
    return false;
}

static struct str base_name(struct str path)
{
    while (str_find(path, '/') < path.n)
        (void)str_cut(path, '/', &path);
    return path;
}

static void look_at_git(struct scan *scan, struct str line)
{
    static const char *const undoing[] = {"reset --hard", "push --force", "push -f", "clean -", "checkout -- ",
                                          "branch -D", "filter-branch", "rebase"};
    for (size_t i = 0; i < sizeof undoing / sizeof *undoing; i++)
        scan->seen[HISTORY] = scan->seen[HISTORY] || str_has(line, str_of(undoing[i]));
    if (str_has(line, STR("push")) || str_has(line, STR("clone")) || str_has(line, STR("fetch")) ||
        str_has(line, STR("pull")))
        scan->seen[NETWORK] = true;
}

static void look_at_target(struct scan *scan, struct str target)
{
    ARENA_SCOPE(scratch);
    struct str within;
    if (target.n == 0 || target.p[0] == '&' || str_is(target, "/dev/null"))
        return;
    if (target.p[0] == '~' || target.p[0] == '$' ||
        rc_bad(place_within(&scratch, scan->root, target, &within, NULL)))
        scan->seen[OUTSIDE] = true;
}

/* One simple command, from its first word to what ends it. */
static void scan_part(struct scan *scan, bool piped)
{
    size_t from = scan->at;
    struct str first = STR_NONE;
    while (scan->at < scan->text.n && !ends_part(scan->text.p[scan->at])) {
        char c = scan->text.p[scan->at];
        if (c == '>' || c == '<') {
            while (scan->at < scan->text.n && strchr("><&|", scan->text.p[scan->at]) && scan->text.p[scan->at])
                scan->at++;
            struct str target = next_word(scan);
            if (c == '>' && !(target.n == 1 && target.p[0] >= '0' && target.p[0] <= '9'))
                look_at_target(scan, target);
            continue;
        }
        size_t before = scan->at;
        struct str word = next_word(scan);
        if (scan->at == before)
            break;
        bool assignment = str_find(word, '=') < word.n && first.n == 0;
        if (first.n == 0 && !assignment)
            first = base_name(word);
    }
    struct str line = str_trim(str_sub(scan->text, from, scan->at));
    if (line.n && scan->part_count < PARTS_MAX)
        scan->parts[scan->part_count++] = line;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(first, known[i].word))
            scan->seen[known[i].warning] = true;
    if (str_is(first, "git"))
        look_at_git(scan, line);
    if (str_is(first, "find") && (str_has(line, STR("-delete")) || str_has(line, STR("-exec"))))
        scan->seen[DELETES] = true;
    if (piped && shell(first))
        scan->seen[PIPED_TO_SHELL] = true;
}

void warnings_write(struct json_out *out, struct arena *arena, struct str command, struct str root, bool parts)
{
    struct scan scan = {.text = command, .root = root, .arena = arena};
    bool piped = false;
    while (scan.at < command.n) {
        scan_part(&scan, piped);
        if (scan.at >= command.n)
            break;
        bool twice = scan.at + 1 < command.n && command.p[scan.at + 1] == command.p[scan.at];
        piped = command.p[scan.at] == '|' && !twice;
        scan.at += twice ? 2 : 1;
    }
    scan.seen[EVALUATES] = scan.seen[EVALUATES] || str_has(command, STR("$(")) || str_find(command, '`') < command.n;
    if (parts) {
        json_key(out, "parts");
        json_open(out, '[');
        for (size_t i = 0; i < scan.part_count; i++)
            json_put_str(out, scan.parts[i]);
        json_close(out, ']');
    }
    json_key(out, "warnings");
    json_open(out, '[');
    for (int i = 0; i < WARNING_COUNT; i++)
        if (scan.seen[i])
            json_put_str(out, str_of(words_of[i]));
    odd_text_put(out, command);
    json_close(out, ']');
}
