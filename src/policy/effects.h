/* One command's words, read by the table of programs (table.h): which of them are options, values and operands, as
 * the program itself would take them, and what each of them does. */
#ifndef POLICY_EFFECTS_H
#define POLICY_EFFECTS_H

#include "policy/command_study.h"
#include "policy/table.h"

/* NULL when the table does not know it. Also finds python3.11 and x86_64-linux-gnu-gcc-12. */
const struct table_row *effects_find(struct str name);
/* The row of exactly this name. */
const struct table_row *effects_exact(struct str name);
/* The row of `git push` for the program `git-push`, as in git's own folder. */
const struct table_row *effects_dashed_row(struct str name);
/* Whether a row's name begins with `start`. */
bool effects_has_prefix(struct str start);
/* The order of the table's texts, without their lengths: most differ in their first letters. */
static inline int table_compare(struct str name, const char *text)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] != text[i] || !text[i])
            return (unsigned char)name.p[i] < (unsigned char)text[i] ? -1 : 1;
    return text[name.n] ? -1 : 0;
}

static inline struct str table_str(uint32_t at) { return str_of(table_text + at); }
static inline const struct table_lists *row_lists(const struct table_row *row) { return &table_lists[row->lists]; }

/* The state of reading one command. */
struct effects {
    struct studying *s;
    const struct table_row *row;       /* the row of the longest command name that matches */
    const struct table_row *parents[4]; /* rows of shorter names whose options are also valid (git for git push) */
    size_t parent_count;
    char name[96];                     /* the words that chose the row */
    size_t name_n;
    bool shortened;                    /* `name` is shorter than that of the row */
    size_t *operands;                  /* indexes of the operands behind the sub-command */
    size_t operand_count;
    size_t rest;                       /* where the words of another command begin; SIZE_MAX: nowhere */
    bool tree, written, only_reads, instead, into, coded, ended;
    bool spreads;                      /* what it copies may lie anywhere below its target */
    bool shows, names_only;            /* options of git: with contents of files, or without them */
    bool stored;                       /* operands are shown as git has stored them */
    bool guessed;                      /* a word was taken for a value because a help text says so */
    bool handed;                       /* the words behind `-m MODULE` were studied by the module's own row */
    struct word into_word;
    size_t into_at;
    size_t bad_word;                   /* first word of the name whose row is `bad`; 0: none, ALL_WORDS: the program */
    struct str chdir;                  /* works in this folder; empty: where it is */
};

/* Reads the words from `from` on by the row; adds their acts. */
void effects_of_row(struct studying *s, const struct table_row *row, size_t from);

/* Like effects_of_row, for a whole command, including programs that have their own argument language. */
void effects_words(struct studying *s, const struct table_row *row);
/* Reads the options alone; the caller adds the acts of the operands. */
void effects_options(struct studying *s, const struct table_row *row, size_t from);
/* effect_git.c: sets `stored` if the sub-command shows contents of files that git has stored, and adds the act of
 * showing all of them if its words do not limit it to some. Called before the operands are taken. */
void effect_git_contents(struct effects *e);
/* Whether it puts stored files over changed ones because of its operands. Called when these are known. */
bool effect_git_discards(const struct effects *e);
/* Adds the act of showing contents of every file of the repository. */
void effect_shows_all(struct effects *e);
/* Handles `-m x`: the row "NAME -m x" describes the words behind it. */
void effect_module(struct effects *e, size_t word, struct str value);

/* ---- effect_options.c ---- */

/* Reads the option in word `i`; returns its last word. */
size_t effect_option(struct effects *e, size_t i);
/* Whether the program takes word `i` for an option: no value of one, and not behind `--`. */
bool effect_takes_option(struct arena *arena, const struct argv *argv, const struct table_row *row, size_t i);
/* Whether one of the row's options does more than reading: then a word whose text is not known could be such an option.
 * */
bool effect_sharp(const struct effects *e);
/* Whether one of the row's options writes or runs something. */
bool effect_writes(const struct effects *e);
bool effect_takes_value(const struct effects *e, struct str option);
bool effect_has(const struct effects *e, struct str option);
/* Whether the row says that the option does more than to print something. */
bool effect_acts(const struct effects *e, struct str option);
/* Whether one of the row's operands has that role. */
bool effect_hands_on(const struct table_row *row, enum table_role role);
/* An option of a program that the table does not know: by its name and value. */
void effect_unknown_program(struct studying *s, size_t i);

/* ---- effect_roles.c ---- */

/* Whether the value is host:path, as rsync and scp take it. */
bool effect_is_remote(const struct effects *e, struct str value);
/* Adds the act of one option value or operand, by its role. */
void effect_role(struct effects *e, enum table_role role, unsigned arg, size_t word, struct str value, bool by_option);

#endif
