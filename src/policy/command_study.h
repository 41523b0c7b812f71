/* Shared by the files that study one command (effects.c, effect_*.c); private to them.
 *
 * A reader gets a struct studying and adds acts to `study` for every word that has an effect. Its rule is
 * one-sided: an act too many costs a question to a person, an act too few lets something pass that nobody
 * allowed. So a reader that does not understand a word adds ACT_OTHER.
 */
#ifndef POLICY_COMMAND_STUDY_H
#define POLICY_COMMAND_STUDY_H

#include "policy/commands.h"

#include "base/buf.h"

/* One command while it is read. Nothing here is owned: the words belong to the parsed line, and everything that
 * is made lives in `arena` as long as the judgement. */
struct studying {
    struct arena *arena;
    const struct word *words;
    size_t count;
    unsigned depth;
    struct study *study;
};

/* As the `word` of an act: only a rule that names every word of the command covers it. */
#define ALL_WORDS SIZE_MAX

/* ---- acts ---- */
/* Adds an act in front of the others. `why` is shown to people ("it writes a file") and must be a string
 * constant. */
struct act *act_add(struct studying *s, enum act_kind kind, size_t word, const char *why);
void act_other(struct studying *s, size_t word, const char *why);
void act_writes(struct studying *s, size_t word, struct str path);
/* Adds the act of running the command that begins at word `from`, with `more` (may be NULL) behind it. */
void act_runs(struct studying *s, size_t from, const struct word *more);
/* Shell text that is known whole: it is parsed, and each of its commands is judged like one of the line. */
void act_script(struct studying *s, size_t word, struct str text);
/* Code that is not parsed (another language). The text is kept so that deny rules can look for names in it. */
void act_code(struct studying *s, size_t word, struct str code, const char *why);
/* Shell text of which only a part is known: never covered, but deny rules look for names in the part. */
void act_text(struct studying *s, struct str text);

/* ---- words ---- */

/* Where a dash stands behind nothing but expansions, which may be empty: 1 in `$x-o`; 0: nowhere. */
size_t effect_dash_behind_hole(const struct word *word);
/* Whether a word with parts that are not known could become an option. */
bool effect_may_be_option(const struct word *word);
static inline bool is_option(struct str s) { return s.n > 1 && s.p[0] == '-'; }
static inline bool is_long_option(struct str s) { return s.n > 2 && s.p[0] == '-' && s.p[1] == '-'; }
/* The texts of the words from `from` on, parted by blanks; false when one is not literal. */
bool words_joined(struct studying *s, size_t from, struct str *ret_text);
bool effect_is_assignment(struct str text);
/* Whether the text begins like a path outside the project: /etc/x, ~/x, ../x. */
bool effect_leaves_project(struct str text);

/* Studies the words of an unknown program or script: options by their names, paths by their beginnings. */
void study_handed(struct studying *s, size_t from);

/* ---- commands with a grammar of their own ---- */
/* Each adds the acts that the program's own grammar means. Those of the operands that are plain paths are added
 * by effects_of_row or by the caller in effect_words.c. */
void study_find(struct studying *s);
void study_make(struct studying *s);
void study_tar(struct studying *s);
void study_sqlite(struct studying *s);
void study_git(struct studying *s);
void study_sed(struct studying *s);
void study_awk(struct studying *s);
void study_shell(struct studying *s);
void study_state(struct studying *s);
void study_test(struct studying *s);
void study_set(struct studying *s);
void study_dd(struct studying *s);
bool effect_sed_harmless(struct str text);
bool effect_awk_harmless(struct str text);
bool effect_jq_harmless(struct str text);
/* Whether the name of an unknown option says that it runs or writes something. */
bool effect_option_tells(struct str name);

#endif
