/* Commands that print nothing but numbers, or one name that nobody chooses, so that what they print can stand without
 * quotes between the words of `[` (judge_builtin.c). */
#include "policy/judge.h"

#include "policy/effects.h"

/* Whether each option is made of these letters behind one dash, and at most `operands` words are none. */
static bool only_letters(const struct node *node, size_t from, const char *letters, size_t operands)
{
    for (size_t i = from; i < node->word_count; i++) {
        struct str text = node->words[i].text;
        bool option = str_starts(text, STR("-"));
        if (!option && operands-- == 0)
            return false;
        if (option && (text.n < 2 || ANY(size_t k = 1; k < text.n; k++, !strchr(letters, text.p[k]))))
            return false;
    }
    return true;
}

static bool has_option(const struct node *node, char letter)
{
    return ANY(size_t i = 1; i < node->word_count; i++,
               is_option(node->words[i].text) && str_find(node->words[i].text, letter) < node->words[i].text.n);
}

/* `git rev-list --count HEAD`, `git rev-parse --short HEAD`, `git branch --show-current`: a number, or one name, which
 * git lets begin with no dash. */
static bool git_prints_one(const struct node *node)
{
    static const char *const options[] = {"--count", "--all", "--merges", "--no-merges", "--short", "--abbrev-ref",
                                          "--show-current"};
    bool counts = word_is(&node->words[1], "rev-list"), finds = word_is(&node->words[1], "rev-parse");
    bool branch = word_is(&node->words[1], "branch"), found = finds;
    size_t operands = 0;
    for (size_t i = 2; i < node->word_count; i++) {
        struct str text = node->words[i].text;
        bool option = str_starts(text, STR("-"));
        if (option && !STR_IN(text, options))
            return false;
        operands += !option;
        found = found || str_is(text, counts ? "--count" : "--show-current");
        if (ANY(size_t k = 0; k < text.n; k++, strchr(" \t\n[*?\\'\"", text.p[k])))
            return false;
    }
    return found && (counts || (finds && operands == 1) || (branch && operands == 0));
}

/* Whether what the command prints goes nowhere else, and nothing comes with it (`2>&1`). */
static bool prints_alone(const struct node *node)
{
    for (const struct redir *redir = node->redirs; redir; redir = redir->next)
        if (redir->kind != REDIR_IN && redir->kind != REDIR_HERESTRING && redir->kind != REDIR_HEREDOC &&
            !word_is(&redir->target, "/dev/null"))
            return false;
    return true;
}

static bool is_numeral(struct str text)
{
    return ALL(size_t i = 0; i < text.n; i++, strchr("0123456789-.", text.p[i]));
}

/* Whether the command prints nothing but numbers, or one name that nobody chooses: `wc -l < a`, `uname -s`. */
static bool command_prints_number(const struct node *node)
{
    static const char *const dates[] = {"+%s", "+%Y", "+%m", "+%d", "+%H", "+%M", "+%u", "+%j"};
    static const char *const sizes[] = {"%s", "%Y", "%X", "%a"};
    static const char *const silent[] = {"nproc", "whoami", "arch", "true", "false", ":"};
    const struct word *words = node->words;
    if (node->assign_count || !node->word_count ||
        !ALL(size_t i = 0; i < node->word_count; i++, word_literal(&words[i])))
        return false;
    if (word_is(words, "wc"))
        return only_letters(node, 1, "lcmwL", 0);
    if (word_is(words, "grep")) /* a pattern and one file */
        return has_option(node, 'c') && only_letters(node, 1, "acinsvwxzEFPhqU", 2);
    if (word_is(words, "seq") || word_is(words, "echo"))
        return ALL(size_t i = 1; i < node->word_count; i++, is_numeral(words[i].text));
    if (word_is(words, "git"))
        return node->word_count > 2 && git_prints_one(node);
    if (word_is(words, "stat"))
        return node->word_count > 3 && word_is(&words[1], "-c") && STR_IN(words[2].text, sizes) &&
               only_letters(node, 3, "", SIZE_MAX);
    if (word_is(words, "uname"))
        return only_letters(node, 1, "smr", 0);
    if (node->word_count == 2)
        return (word_is(words, "date") && STR_IN(words[1].text, dates)) ||
               (word_is(words, "id") && word_is(&words[1], "-u"));
    return node->word_count == 1 && STR_IN(words->text, silent);
}

/* Also the last of a pipe, and one of several: `ls | wc -l | tr -d ' '`, `grep -c x a || echo 0`. */
bool judge_prints_number(const struct node *node)
{
    if (!prints_alone(node))
        return false;
    if (node->kind == NODE_SIMPLE)
        return command_prints_number(node);
    if (node->kind == NODE_DOUBT || node->kind == NODE_BRANCH)
        return false;
    if (node->kind != NODE_PIPE)
        return node->first && ALL(const struct node *at = node->first; at; at = at->next, judge_prints_number(at));
    const struct node *last = node->first, *before = NULL;
    for (; last && last->next; last = last->next)
        before = last;
    bool trims = before && last->kind == NODE_SIMPLE && last->word_count == 3 && word_is(&last->words[0], "tr") &&
                 word_is(&last->words[1], "-d") && prints_alone(last);
    return last && judge_prints_number(trims ? before : last);
}
