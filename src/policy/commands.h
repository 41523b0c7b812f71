/* What known commands do with their arguments: which of them run another command, take code, write a file,
 * or take orders from somewhere else. A rule that names a command means its ordinary work; for each of these
 * acts something more must be named, or covered by another rule.
 *
 * The table is command_table.c: a row per command, with its options in all their spellings. To teach it a
 * command, add a row; one that can do anything is a name in command_doors.c. What has a grammar of its own
 * (find, git, sed, awk, make, …) has a function in command_special.c, command_git.c or command_text.c, and
 * its row says so.
 */
#ifndef POLICY_COMMANDS_H
#define POLICY_COMMANDS_H

#include "policy/match.h"

enum act_kind {
    ACT_READS,   /* reads `path` */
    ACT_REMOVES, /* removes `path` */
    ACT_TALKS,   /* reaches the address `path`, or one that nobody knows */
    ACT_CHANGES, /* changes state that no path names */
    ACT_OBEYS,   /* takes orders from `path` */
    ACT_PROJECT, /* runs code of the project: tests, builds, scripts, `path` where it is one file */
    ACT_RUNS,   /* runs the command `inner` */
    ACT_SCRIPT, /* runs the shell text `script` */
    ACT_CODE,   /* runs code in another language, or a text that is not known: `code` */
    ACT_TEXT,   /* runs shell text of which only a part is known: `code` */
    ACT_WRITES, /* writes the file `path` */
    ACT_OTHER,  /* takes orders from elsewhere, changes files it was not told to, cannot be read, … */
};

struct study;

enum act_flag {
    ACT_BY_OPTION = 1 << 0, /* not what the program's name says */
    ACT_TREE = 1 << 1,      /* with everything below it */
    ACT_SENDS = 1 << 2,     /* data leaves the machine */
    ACT_STDIN = 1 << 3,     /* code comes by standard input */
    ACT_PERHAPS = 1 << 4,   /* a path, or something else */
    ACT_EDITS = 1 << 5,     /* needs a rule on the path, too */
    ACT_NATURAL = 1 << 6,   /* what the program's name says */
};

struct act {
    enum act_kind kind;
    unsigned flags;
    size_t word;          /* a rule that names this word has meant it; SIZE_MAX: only one that names all */
    bool fine_alone;      /* only matters when the line goes on */
    const char *why;      /* begins with "it" */
    struct argv inner;
    const struct shell *script;
    struct str code;
    struct word path;
    struct act *next;
    /* The judge's, so that nothing is judged twice. */
    struct study *inner_study;
    enum { COVER_UNKNOWN, COVER_YES, COVER_NO } covered;
};

enum command_way {
    WAY_PLAIN,   /* does what its words say */
    WAY_READS,   /* only looks */
    WAY_WRITES,  /* changes the files that its words name */
    WAY_STATE,   /* changes what later commands of the line mean */
    WAY_RUNS,    /* runs its arguments */
    WAY_SHELL,   /* a shell: `-c text`, or a script */
    WAY_CODE,    /* an interpreter: a script, or code in an option */
    WAY_EVAL,    /* its arguments are shell text */
    WAY_FIRST,   /* its first operand is shell text */
    WAY_REMOTE,  /* the operands behind the first are run elsewhere */
    WAY_NEVER,   /* what it does cannot be told from its words */
    WAY_SUBS,    /* rows "name sub" say what its sub-commands do */
    WAY_FIND, WAY_XARGS, WAY_ENV, WAY_SED, WAY_AWK, WAY_GIT, WAY_MAKE, WAY_TAR, WAY_TEE, WAY_DD, WAY_SET,
    WAY_TEST, WAY_COMMAND, WAY_SQLITE, WAY_CONFIG, WAY_SECOND, WAY_SETS, WAY_SERVICE,
};

struct command_row {
    const char *name;
    enum command_way way;
    const char *values;  /* letters of short options that take a value; "*": there are no clusters */
    const char *options; /* groups of names, each behind a letter: see command_table.c */
};

struct study {
    const struct command_row *row; /* NULL: not known */
    const struct table_row *table; /* the row of the table of programs; NULL: the older one is asked */
    unsigned risk;                 /* classes of the row and its options */
    bool only_reads;               /* an option of it says so */
    bool touches_all;              /* it changes files that its words do not name */
    struct act *acts;
    bool packs; /* some of its words are a command: look at each of them when looking for what is forbidden */
};

/* How deep commands may be packed into each other's arguments. */
enum { STUDY_DEPTH_MAX = 8 };

/* `argv` has no assignments in front. Linear in its bytes. */
void command_study(struct arena *arena, const struct argv *argv, unsigned depth, struct study *ret_study);

/* NULL when there is none. */
const struct command_row *command_row_find(struct str name);
/* All of them, sorted by name: those with options, and those of which only the name is known. */
const struct command_row *command_rows(size_t *ret_count);
const struct command_row *command_doors(size_t *ret_count);
/* The row of "name sub"; `shortened`: or the first that `sub` is the beginning of. */
const struct command_row *command_row_sub(struct str name, struct str sub, bool shortened);
/* Programs that can do anything: shells, interpreters, wrappers. For those who suggest rules. */
bool command_is_door(struct str name);

#endif
