/* git: options before the sub-command, and what sub-commands do with theirs. */
#include "policy/command_study.h"

#include "base/err.h"

/* Options that run or write whatever the sub-command: git's own parser takes their abbreviations. */
#define GIT_ANYWHERE                                                                                         \
    "R --upload-pack --receive-pack --exec --open-files-in-pager --extcmd --ext-diff --textconv "            \
    "--exec-path --editor --tool W --output --output-directory T --config --config-env --template "          \
    "--git-dir --work-tree --namespace --separate-git-dir --super-prefix "

/* The sub-command, letters that take a value, options of its own as in command_table.c (a bare word among
 * them is an operand). The letters matter where a dangerous letter could hide behind one in a cluster. */
#define GIT_SUBS(X)                                                          \
    X("add", "", "G X -e --edit -p --patch -i --interactive")                  \
    X("am", "", "")                                                          \
    X("annotate", "", "")                                                    \
    X("apply", "", "X --unsafe-paths T --directory")                         \
    X("archive", "", "W -o T --remote")                                      \
    X("bisect", "", "X run visualize view")                                  \
    X("blame", "", "G ")                                                       \
    X("branch", "", "X --edit-description")                                  \
    X("bundle", "", "X create")                                                   \
    X("cat-file", "", "X --filters S --filter")                              \
    X("check-attr", "", "")                                                  \
    X("check-ignore", "", "G ")                                                \
    X("checkout", "", "G ")                                                    \
    X("cherry", "", "")                                                      \
    X("cherry-pick", "", "R --strategy")                                     \
    X("clean", "e", "X -i --interactive")                                    \
    X("clone", "bj", "R -u T -c --reference --bundle-uri")                \
    X("commit", "mFCcSu", "G S --edit")                                            \
    X("commit-tree", "", "")                                                 \
    X("count-objects", "", "")                                               \
    X("describe", "", "")                                                    \
    X("diff", "", "E S --text")                                                        \
    X("diff-files", "", "S --text")                                                  \
    X("diff-index", "", "S --text")                                                  \
    X("diff-tree", "", "S --text")                                                   \
    X("fetch", "", "")                                                       \
    X("for-each-ref", "", "")                                                \
    X("format-patch", "v", "W -o")                                           \
    X("fsck", "", "")                                                        \
    X("gc", "", "")                                                          \
    X("grep", "ABCefm", "R -O")                                              \
    X("hash-object", "", "")                                                 \
    X("init", "", "")                                                        \
    X("log", "", "E S --text")                                                         \
    X("ls-files", "", "G ")                                                    \
    X("ls-remote", "", "")                                                   \
    X("ls-tree", "", "")                                                     \
    X("merge", "mFSX", "R -s --strategy")                                    \
    X("merge-base", "", "")                                                  \
    X("mv", "", "G ")                                                          \
    X("name-rev", "", "")                                                    \
    X("notes", "", "")                                                       \
    X("prune", "", "")                                                       \
    X("pull", "jX", "R -s --strategy")                                       \
    X("push", "", "")                                                        \
    X("range-diff", "", "")                                                  \
    X("rebase", "SCX", "R -x -s --strategy X -i --interactive --edit-todo")  \
    X("reflog", "", "")                                                      \
    X("remote", "", "")                                                      \
    X("repack", "", "")                                                      \
    X("rerere", "", "")                                                      \
    X("reset", "", "")                                                       \
    X("restore", "", "G ")                                                     \
    X("rev-list", "", "")                                                    \
    X("rev-parse", "", "S --git-dir")                                                   \
    X("revert", "", "R --strategy")                                          \
    X("rm", "", "G ")                                                          \
    X("shortlog", "", "")                                                    \
    X("show", "", "E S --text")                                                        \
    X("show-branch", "", "")                                                 \
    X("show-ref", "", "")                                                    \
    X("sparse-checkout", "", "")                                             \
    X("stash", "", "G ")                                                       \
    X("status", "", "G ")                                                      \
    X("submodule", "", "X foreach add")                                      \
    X("switch", "", "")                                                      \
    X("symbolic-ref", "", "")                                                \
    X("tag", "", "")                                                         \
    X("update-index", "", "")                                                \
    X("update-ref", "", "")                                                  \
    X("var", "", "")                                                         \
    X("verify-commit", "", "")                                               \
    X("verify-tag", "", "")                                                  \
    X("version", "", "")                                                     \
    X("whatchanged", "", "S --text")                                                 \
    X("worktree", "", "")                                                    \
    X("write-tree", "", "")

static const struct command_row subs[] = {
#define X(name, values, options) {name, WAY_PLAIN, values, options " " GIT_ANYWHERE},
    GIT_SUBS(X)
#undef X
};

static const struct command_row *find_sub(struct str name)
{
    for (size_t i = 0; i < sizeof subs / sizeof *subs; i++)
        if (str_is(name, subs[i].name))
            return &subs[i];
    return NULL;
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
    if (looking)
        return;
    act_other(s, ALL_WORDS, "it changes git's configuration");
    act_writes(s, ALL_WORDS, everywhere ? STR("~/.gitconfig") : STR(".git/config"));
}

/* Operands that are commands of the sub-command, like `bisect run`, stand as bare words in its options. */
static void study_words(struct studying *s, const struct command_row *row, size_t at)
{
    static const char *const addresses[] = {"ext::", "fd::", "://-"};
    CHECK(at < s->count);
    const char *x = strstr(row->options, "X ");
    for (size_t i = at + 1; i < s->count; i++) {
        struct str text = s->words[i].text, raw = s->words[i].raw;
        bool runs = false;
        for (size_t k = 0; k < sizeof addresses / sizeof *addresses; k++)
            runs = runs || str_has(text, str_of(addresses[k])) || str_has(raw, str_of(addresses[k]));
        if (runs)
            act_other(s, i, "an address of this kind runs a command");
        struct str rest = x ? str_of(x + 2) : STR_NONE;
        while (!str_empty(rest)) {
            struct str name = str_cut(rest, ' ', &rest);
            if (!is_option(name) && str_eq(name, text)) {
                act_other(s, ALL_WORDS, "it runs another command");
                s->study->packs = true;
            }
        }
    }
}

/* An alias on the line: `-c alias.x='!command'`. */
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

void study_git(struct studying *s)
{
    static const struct command_row global = {"git", WAY_PLAIN, "Cc",
                                              "F -p -P -v -h --paginate --no-pager --no-replace-objects "
                                              "--bare --version --help "
                                              "--html-path --man-path --info-path --literal-pathspecs "
                                              "--glob-pathspecs "
                                              "--noglob-pathspecs --icase-pathspecs --no-optional-locks "
                                              "--no-lazy-fetch "
                                              "V --git-dir --work-tree --namespace --exec-path --config-env "
                                              "--super-prefix --list-cmds "
                                              "--attr-source"};
    bool sure;
    size_t at = operand_find(s, &global, 1, &sure);
    study_global(s, at);
    if (!sure)
        act_other(s, ALL_WORDS, "an option before the sub-command is not known");
    if (at >= s->count)
        return;
    if (word_is(&s->words[at], "config")) {
        study_config(s, at);
        return;
    }
    const struct command_row *row = word_literal(&s->words[at]) ? find_sub(s->words[at].text) : NULL;
    if (!row) {
        act_other(s, at, "this sub-command of git may be an alias, or run anything");
        return;
    }
    options_study(s, row, at + 1);
    study_words(s, row, at);
}
