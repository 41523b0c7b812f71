/* git: options before the sub-command, its configuration, and addresses that run something. */
#include "policy/effects.h"

#include "base/err.h"

/* Names whose values are no secrets; others hold headers, helpers and addresses with passwords in them. What
 * `git remote -v` shows counts as none. A pattern must be held at the beginning of the name. */
static bool shows_plain(struct str name, bool pattern)
{
    static const char *const sections[] = {"user",   "core",   "branch", "init",   "pull",  "push",
                                           "merge",  "diff",   "remote", "commit", "fetch", "rebase",
                                           "status", "format", "color",  "tag",    "safe",  "alias"};
    if (pattern && (!str_starts(name, STR("^")) || str_find(name, '|') < name.n))
        return false;
    name = str_sub(name, pattern, name.n);
    size_t end = str_find(name, '.');
    end -= pattern && end && name.p[end - 1] == '\\';
    return end < name.n && STR_IN(str_sub(name, 0, end), sections);
}

/* Options that say how, not what; those with a value have it behind `=`. */
static bool says_how(struct str option)
{
    static const char *const names[] = {"--show-origin", "--show-scope", "--local", "--global",  "--system",
                                        "--worktree",    "--name-only",  "--null",  "-z",        "--bool",
                                        "--int",         "--path",       "--includes"};
    return STR_IN(option, names) || str_starts(option, STR("--type=")) || str_starts(option, STR("--default="));
}

/* `git config name` and `--get` look; everything else changes .git/config, which is protected. */
static void study_config(struct studying *s, size_t at)
{
    static const char *const looks[] = {"--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l",
                                        "get",   "list"};
    static const char *const lists[] = {"--list", "-l", "list"};
    struct str name = STR_NONE;
    size_t operands = 0;
    bool asks = false, everywhere = false, pattern = false, whole = false;
    for (size_t i = at + 1; i < s->count; i++) {
        const struct word *word = &s->words[i];
        everywhere = everywhere || str_starts(word->text, STR("--glob"));
        if (word_literal(word) && (STR_IN(word->text, looks) || says_how(word->text))) {
            asks = asks || STR_IN(word->text, looks);
            whole = whole || STR_IN(word->text, lists);
            pattern = pattern || word_is(word, "--get-regexp") || word_is(word, "--get-urlmatch");
            continue;
        }
        if (is_option(word->text) || !word_literal(word))
            operands = 9;
        name = operands++ ? name : word->text;
    }
    /* A name has a dot: `edit` alone is a sub-command. */
    bool looking = asks ? operands <= 2 : operands == 1 && str_find(name, '.') < name.n;
    /* The whole list tells what `cat .git/config` tells, which needs no rule either. */
    if (looking && ((whole && !operands) || shows_plain(name, pattern))) {
        s->study->only_reads = true;
        return;
    }
    s->study->tells = looking;
    if (looking)
        return;
    act_other(s, ALL_WORDS, "it changes git's configuration");
    act_writes(s, ALL_WORDS, everywhere ? STR("~/.gitconfig") : STR(".git/config"));
}

/* Whether the text has an address of a kind that runs a command: ext::, fd:: or ://- somewhere. */
static bool has_running_address(struct str text)
{
    size_t from = 0;
    for (size_t at; (at = from + str_find(str_sub(text, from, text.n), ':')) < text.n; from = at + 1) {
        struct str before = str_sub(text, 0, at), rest = str_sub(text, at, text.n);
        bool runs = str_ends(before, STR("ext")) || str_ends(before, STR("fd"));
        if (str_starts(rest, STR("://-")) || (runs && str_starts(rest, STR("::"))))
            return true;
    }
    return false;
}

/* Words that run something: addresses of some kinds, and checks of signatures. */
static void study_words(struct studying *s, size_t at)
{
    CHECK(at < s->count);
    for (size_t i = at + 1; i < s->count; i++) {
        struct str text = s->words[i].text, raw = s->words[i].raw;
        /* The text of a plain word, or of one in one pair of quotes, is a piece of the line: what it has, that has. */
        bool within = text.p >= raw.p && text.p + text.n <= raw.p + raw.n;
        if (has_running_address(raw) || (!within && has_running_address(text)))
            act_other(s, i, "an address of this kind runs a command");
        /* gpg makes its folder in the home folder, and may ask a key server. */
        if (str_starts(text, STR("--show-s")) || (is_option(text) && str_has(text, STR("%G"))))
            act_add(s, ACT_CHANGES, i, "it runs gpg to check signatures");
    }
}

/* ---- contents ---- */

/* Without "git ". Sub-commands that show contents of files: always, or with an option that is marked `shows`. */
static const char *const show_always[] = {"show", "diff", "range-diff", "diff-pairs", "cat-file", "rerere diff"};
static const char *const show_by_option[] = {"log",        "whatchanged", "reflog",     "reflog show", "diff-tree",
                                             "diff-index", "diff-files",  "stash show", "stash list",  "status",
                                             "commit",     "add",         "checkout",   "restore",     "reset",
                                             "stash push", "stash save",  "stash"};
/* Those that show a folder of a revision as a list of names. */
static const char *const show_files[] = {"show", "cat-file"};
/* Those that copy the whole repository to an address, which may be a folder. */
static const char *const copy_all[] = {"clone", "push"};

/* Whether the word names one file of a revision (`HEAD~1:src/a.c`) or, behind `--`, a path without a pattern. */
static bool limits(const struct word *word, bool behind_dashes)
{
    size_t colon = str_find(word->text, ':');
    bool plain = word_literal(word) && str_find(word->text, '*') == word->text.n &&
                 str_find(word->text, '?') == word->text.n;
    return plain && (behind_dashes ? colon > 0 : colon > 0 && colon + 1 < word->text.n);
}

/* `-- src/a.c`, `HEAD:src/a.c`: its operands name all that is shown. */
static bool operands_limit(const struct effects *e)
{
    size_t dashes = 0;
    bool all = e->operand_count > 0;
    while (dashes < e->s->count && !word_is(&e->s->words[dashes], "--"))
        dashes++;
    for (size_t i = 0; i < e->operand_count; i++)
        all = all && (e->operands[i] < dashes ? dashes < e->s->count || limits(&e->s->words[e->operands[i]], false)
                                              : limits(&e->s->words[e->operands[i]], true));
    return all && (dashes == e->s->count || dashes + 1 < e->s->count);
}

/* A clone or push to a folder of this machine: the repository's contents can be read there. */
static bool copies_to_folder(const struct effects *e)
{
    for (size_t i = 0; i < e->operand_count; i++) {
        struct str text = e->s->words[e->operands[i]].text;
        if (text.n && (strchr("./~", text.p[0]) || str_starts(text, STR("file:"))))
            return true;
    }
    return false;
}

void effect_shows_all(struct effects *e)
{
    struct act *act = act_add(e->s, ACT_READS, 0, "it shows contents of every file of the repository");
    act->path = (struct word){.raw = STR("."), .text = STR("."), .shape = STR(".")};
    act->flags = ACT_STORED | ACT_NATURAL;
}

/* Called with all options read and the operands collected, before these become acts: e->stored decides whether
 * a path operand counts as a look into the repository's history instead of the file on the disk. */
void effect_git_contents(struct effects *e)
{
    struct str name = table_str(e->row->name);
    if (!str_starts(name, STR("git ")))
        return;
    name = str_sub(name, 4, name.n);
    for (size_t i = 2; i < e->s->count && str_is(name, "show"); i++)
        if (word_is(&e->s->words[i], "--stdin")) /* echo HEAD:.env | git show --stdin */
            act_other(e->s, i, "it shows the files that its standard input names");
    bool always = STR_IN(name, show_always);
    bool shows = (always && !e->names_only) || (e->shows && (always || STR_IN(name, show_by_option)));
    bool copies = copies_to_folder(e) && STR_IN(name, copy_all);
    if (!shows && !copies)
        return;
    /* `git show HEAD:src/a.c` shows this file; of a folder only its names. */
    bool all = copies || !operands_limit(e), one = STR_IN(name, show_files) && !e->ended;
    e->stored = shows && (all || !one);
    if (all)
        effect_shows_all(e);
}

/* Whether the word is rather a path than a branch: `.`, `:/`, `*.c`, `src/`, or its last part has an extension. */
static bool looks_like_path(struct str text)
{
    if (text.n && (strchr(".:", text.p[0]) || text.p[text.n - 1] == '/'))
        return true;
    for (size_t i = 0; i < text.n; i++)
        if (strchr("*?[", text.p[i]))
            return true;
    size_t dot = text.n;
    while (dot && text.p[dot - 1] != '.' && text.p[dot - 1] != '/')
        dot--;
    return dot && dot < text.n && text.p[dot - 1] == '.' && strchr("abcdefghijklmnopqrstuvwxyz", text.p[dot] | 32);
}

/* `git checkout` with a path puts the stored file over the changed one, as `git restore` does. A second operand is
 * always a path; one alone may be a branch. */
bool effect_git_discards(const struct effects *e)
{
    if (!e->operand_count || !str_is(table_str(e->row->name), "git checkout"))
        return false;
    return e->ended || e->operand_count > 1 || looks_like_path(e->s->words[e->operands[0]].text);
}

/* Studies an alias on the command line: `-c alias.x='!command'`. */
static void study_global(struct studying *s, size_t at)
{
    for (size_t i = 1; i < at && i < s->count; i++) {
        struct str text = s->words[i].text;
        bool harmless = word_is(&s->words[i], "--no-pager") || word_is(&s->words[i], "--version") ||
                        word_is(&s->words[i], "--help") || word_is(&s->words[i], "-P") ||
                        word_is(&s->words[i], "--no-optional-locks") ||
                        word_is(&s->words[i], "--literal-pathspecs");
        if (harmless)
            continue;
        act_other(s, i, "an option before the sub-command changes what git runs, or where");
        size_t bang = str_find(text, '!');
        if (bang < text.n)
            act_text(s, str_sub(text, bang + 1, text.n));
        s->study->packs = true;
    }
}

/* The sub-command; *ret_sure is false when an option before it is not known. */
static size_t find_sub(const struct studying *s, bool *ret_sure)
{
    const struct effects e = {.row = s->study->table};
    size_t i = 1;
    for (; i < s->count && is_option(s->words[i].text); i++) {
        struct str text = s->words[i].text, name = str_sub(text, 0, str_find(text, '='));
        *ret_sure = *ret_sure && word_literal(&s->words[i]) && effect_has(&e, name);
        i += name.n == text.n && effect_takes_value(&e, name);
    }
    return i;
}

/* The part of git that the table cannot express: options before the sub-command, `config`, addresses that run a
 * command. effects_of_row reads the rest by the row of the sub-command. */
void study_git(struct studying *s)
{
    bool sure = true;
    size_t at = find_sub(s, &sure);
    study_global(s, at);
    if (!sure)
        act_other(s, ALL_WORDS, "Nod does not know an option before the sub-command");
    if (at >= s->count)
        return;
    if (word_is(&s->words[at], "config"))
        study_config(s, at);
    else
        study_words(s, at);
    /* `git var -l` prints the configuration, too. */
    s->study->tells = s->study->tells || (word_is(&s->words[at], "var") && at + 1 < s->count &&
                                          !str_starts(s->words[at + 1].text, STR("GIT_")));
}
