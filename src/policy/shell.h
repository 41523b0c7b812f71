/* The part of bash that is understood, as a tree.
 *
 * Invariants:
 *  1. The tree says what `bash --noprofile --norc -c TEXT` does with the text: the words are those it runs with,
 *     decided quote by quote as bash decides them.
 *  2. Everything else is doubt: `doubt` says why the text as a whole was not understood (the tree then holds
 *     what was read before), a NODE_DOUBT stands for a construct whose inside is understood but whose effect
 *     is not, a word's flags say which of its letters are not on the line as they will be.
 *  3. One pass, linear in the bytes; depth, words and parts are bounded (base/limits.h), and a limit is
 * doubt.
 */
#ifndef POLICY_SHELL_H
#define POLICY_SHELL_H

#include "base/arena.h"
#include "base/str.h"

struct study;

/* The byte in a word's text for a part known only at run time: an expansion, a glob character, a brace. */
#define WORD_HOLE '\x01'

enum word_flag {
    WORD_QUOTED = 1 << 0,  /* some of it */
    WORD_ESCAPED = 1 << 1, /* by a backslash, or a line continued inside the word */
    WORD_VAR = 1 << 2,     /* $NAME: the environment's text */
    WORD_CHOSEN = 1 << 3,  /* text computed by the line itself: ${x#y}, $'…', a variable that the line sets */
    WORD_SPLITS = 1 << 4,  /* may become no word, or several */
    WORD_GLOB = 1 << 5,
    WORD_TILDE = 1 << 6,
    WORD_RUNS = 1 << 7,    /* a command or process substitution */
    WORD_DOUBT = 1 << 8,   /* an expansion that is not understood */
    WORD_BRACE = 1 << 9,   /* {a,b} */
};

enum {
    WORD_OPEN =
        WORD_VAR | WORD_CHOSEN | WORD_SPLITS | WORD_GLOB | WORD_TILDE | WORD_RUNS | WORD_DOUBT | WORD_BRACE,
    WORD_UNKNOWABLE = WORD_RUNS | WORD_DOUBT,
};

/* One word of a command line in three forms; see target.h for shapes. */
struct word {
    struct str raw;  /* as written in the source */
    struct str text; /* after expansion; unknown values are holes */
    struct str shape; /* `text` with marks that tell the kinds of holes (target.h) */
    unsigned flags;
    struct word *next; /* used by the parser */
};

enum redir_kind {
    REDIR_IN,         /* < */
    REDIR_OUT,        /* > >| &> >& */
    REDIR_APPEND,     /* >> &>> */
    REDIR_INOUT,      /* <> */
    REDIR_DUP,        /* 2>&1, <&-: between descriptors */
    REDIR_HEREDOC,    /* the target is the here-document's text */
    REDIR_HERESTRING,
};

struct redir {
    enum redir_kind kind;
    struct word target;
    struct redir *next;
};

enum node_kind {
    NODE_SIMPLE,   /* words: assignments, the command, its arguments */
    NODE_LIST,     /* children in a row, each perhaps in the background */
    NODE_CHAIN,    /* children joined by && and || */
    NODE_PIPE,     /* children run at the same time, each in its own shell */
    NODE_SUBSHELL, /* ( … ) and the inside of a substitution */
    NODE_GROUP,    /* { … } */
    NODE_BRANCH,   /* if, while, until, for, case: children may run, in an order only bash knows */
    NODE_DOUBT,    /* children may run; what it does as a whole is not known: `why` */
};

enum node_join { JOIN_NONE, JOIN_AND, JOIN_OR };

/* A node of the tree; children are linked by `next`. Lives in the arena of the parse. */
struct node {
    enum node_kind kind;
    enum node_join join;    /* how it is joined to the part before it */
    bool background;
    bool moves;             /* it contains a change of folder (cd) */
    bool negated;           /* `!` before it: what follows with && runs where it has failed */
    struct str raw;
    const char *why;        /* NODE_DOUBT */
    struct word *words;     /* NODE_SIMPLE; NODE_BRANCH: the words it chooses by */
    size_t word_count;
    size_t assign_count;    /* leading words that are assignments */
    struct str variable;    /* NODE_BRANCH: the variable of a `for` loop, whose values are the words */
    struct redir *redirs;
    struct node *first;     /* children */
    struct node *last;
    struct node *inside;    /* commands run by substitutions in its words */
    struct node *next;
    struct study *study;    /* filled in by the judge */
    bool inside_bad;        /* set by the judge: a command in a substitution is not allowed */
};

/* A parsed text: the tree, and whether all of it was understood. */
struct shell {
    struct node *root;      /* never NULL */
    const char *doubt;      /* NULL: all of it was understood */
    size_t doubt_at;        /* byte */
    size_t part_count;      /* simple commands, also those inside substitutions */
};

struct shell *shell_parse(struct arena *arena, struct str text);
/* Parses a text found inside another one, `depth` levels down. */
struct shell *shell_parse_inner(struct arena *arena, struct str text, unsigned depth);

/* Whether the word is a glob with a literal ending (`*.c`): all matches have that ending. */
bool word_names_ending(const struct word *word);
/* Whether bash may make several words of it, or none: `*`, `{a,b}`, `$x` without quotes. */
bool word_may_be_several(const struct word *word);
bool word_may_vanish(const struct word *word);

static inline bool word_literal(const struct word *word) { return (word->flags & WORD_OPEN) == 0; }
static inline bool word_is(const struct word *word, const char *text)
{
    return word_literal(word) && str_is(word->text, text);
}

#endif
