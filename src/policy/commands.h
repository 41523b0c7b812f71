/* The acts of one command of a line: which of its words are read, written, run, or take orders from somewhere
 * else. A rule that names a command means its ordinary work; for each act beyond that something more must be named, or
 * covered by another rule. The knowledge is the table of programs (table.h); effects.h is how it is applied. */
#ifndef POLICY_COMMANDS_H
#define POLICY_COMMANDS_H

#include "policy/match.h"

enum act_kind {
    ACT_READS,   /* reads `path` */
    ACT_REMOVES, /* removes `path` */
    ACT_TALKS,   /* connects to the address `path`, or to an unknown one */
    ACT_CHANGES, /* changes state that no path names */
    ACT_OBEYS,   /* reads configuration, plugins or commands from `path` */
    ACT_PROJECT, /* runs code of the project: tests, builds, scripts, `path` where it is one file */
    ACT_RUNS,   /* runs the command `inner` */
    ACT_SCRIPT, /* runs the shell text `script` */
    ACT_CODE,   /* runs code in another language, or a text that is not known: `code` */
    ACT_TEXT,   /* runs shell text of which only a part is known: `code` */
    ACT_WRITES, /* writes the file `path` */
    ACT_OTHER,  /* reads commands from elsewhere, changes files it was not told to, cannot be parsed, … */
};

struct study;

enum act_flag {
    ACT_BY_OPTION = 1 << 0, /* caused by an option, not by the program's usual work */
    ACT_TREE = 1 << 1,      /* with everything below it */
    ACT_SENDS = 1 << 2,     /* data leaves the machine */
    ACT_STDIN = 1 << 3,     /* code comes by standard input */
    ACT_PERHAPS = 1 << 4,   /* the word may be a path, or something else */
    ACT_EDITS = 1 << 5,     /* needs a rule on the path, too */
    ACT_NATURAL = 1 << 6,   /* what the program always does, as its name says (rm removes) */
    ACT_REMOTE = 1 << 7,    /* runs on another machine or in a container: there even reading needs a rule */
    ACT_STORED = 1 << 8,    /* shows what a repository has stored of the path, and of everything below it */
    ACT_GUESSED = 1 << 9,   /* a text by the program's row: perhaps a path, which it may as well write */
};

/* One act of a command. Acts are made by effect_study and its readers, in the caller's arena, newest first; the
 * judge then asks of each act whether a rule forbids it (judge_stop.c) and whether one covers it
 * (judge_cover.c). Which of `inner`, `script`, `code` and `path` is set follows from `kind`. */
struct act {
    enum act_kind kind;
    unsigned flags;
    size_t word;          /* word that a rule must name to cover this act; SIZE_MAX: it must name all words */
    bool fine_alone;      /* harmless when it is the only command of the line */
    const char *why;      /* begins with "it" */
    struct argv inner;
    const struct shell *script;
    struct str code;
    struct word path;
    struct act *next;
    /* Filled in by the judge, so that nothing is judged twice. */
    struct study *inner_study;
    enum { COVER_UNKNOWN, COVER_YES, COVER_NO } covered;
};

/* All that the table of programs tells about one simple command. A command with a study but without acts is
 * harmless only if its row says so (STYLE_READS): an unknown program has a study with `table` NULL and no acts,
 * too. */
struct study {
    const struct table_row *table; /* the row of the table of programs; NULL: not known */
    size_t named;                  /* words up to the last that chose the row: 3 in `git -p log x` */
    unsigned risk;                 /* risk classes of the table's row and of the options used */
    bool only_reads;               /* an option says that the command only reads (--dry-run) */
    bool tells;                    /* what it prints may hold secrets: needs a rule */
    bool local;                    /* files of the project choose what runs, whatever its options say */
    bool strange_sub;              /* its sub-command is not known: an alias, a plugin */
    bool follows;                  /* what it reads below its operands, it also reads through links (grep -R) */
    bool touches_all;              /* it changes files that its words do not name */
    struct act *acts;
    bool packs; /* some of its words are a command: deny rules are matched against each of them */
};

/* Whether the word is, or has in it, the name of a file that find has found: `{}` behind -exec. */
static inline bool word_is_found(const struct word *word)
{
    return (word->flags & WORD_GLOB) && str_has(word->raw, STR("{}"));
}

/* How deep commands may be packed into each other's arguments. */
enum { STUDY_DEPTH_MAX = 8 };

/* `argv` has no assignments in front. Linear in its bytes. */
void effect_study(struct arena *arena, const struct argv *argv, unsigned depth, struct study *ret_study);

#endif
