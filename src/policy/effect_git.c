/* git: options before the sub-command, its configuration, and addresses that run something. */
#include "policy/effects.h"

#include "base/err.h"

/* Names whose values are no secrets: others hold headers, helpers and addresses with passwords in them. */
static bool shows_plain(struct str name)
{
    static const char *const sections[] = {"user.", "core.", "branch.", "init.", "pull.", "push.", "merge.", "diff."};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (str_starts(name, str_of(sections[i])))
            return true;
    return false;
}

/* `git config name` and `--get` look; everything else changes .git/config, which is protected. */
static void study_config(struct studying *s, size_t at)
{
    static const char *const looks[] = {"--get",    "--get-all", "--get-regexp",  "--list",       "-l",
                                        "get",      "list",      "--show-origin", "--show-scope", "--local",
                                        "--global", "--system",  "--name-only"};
    size_t operands = 0;
    bool asks = false, everywhere = false;
    for (size_t i = at + 1; i < s->count; i++) {
        bool known = false;
        everywhere = everywhere || str_starts(s->words[i].text, STR("--glob"));
        for (size_t k = 0; k < sizeof looks / sizeof *looks; k++) {
            bool hit = word_is(&s->words[i], looks[k]);
            known = known || hit;
            asks = asks || (hit && k < 7);
        }
        if (!known && (is_option(s->words[i].text) || !word_literal(&s->words[i])))
            operands = 9;
        operands += !known;
    }
    bool looking = asks ? operands <= 2 : operands == 1;
    if (looking) {
        s->study->only_reads = s->study->only_reads || shows_plain(s->words[s->count - 1].text);
        return;
    }
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
        struct str text = s->words[i].text;
        if (has_running_address(text) || has_running_address(s->words[i].raw))
            act_other(s, i, "an address of this kind runs a command");
        /* gpg makes its folder in the home folder, and may ask a key server. */
        if (str_starts(text, STR("--show-s")) || (is_option(text) && str_has(text, STR("%G"))))
            act_add(s, ACT_CHANGES, i, "it runs gpg to check signatures");
    }
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

void study_git(struct studying *s)
{
    bool sure = true;
    size_t at = find_sub(s, &sure);
    study_global(s, at);
    if (!sure)
        act_other(s, ALL_WORDS, "an option before the sub-command is not known");
    if (at >= s->count)
        return;
    if (word_is(&s->words[at], "config"))
        study_config(s, at);
    else
        study_words(s, at);
}
