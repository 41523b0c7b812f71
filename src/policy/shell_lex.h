/* Between the lexer and the parser of shell text. The parser asks for one token after the other (shell_next), because
 * the end of a substitution inside a word is found only by parsing it. */
#ifndef POLICY_SHELL_LEX_H
#define POLICY_SHELL_LEX_H

#include "policy/shell.h"

/* Longest first: the lexer takes the first that fits. */
#define SHELL_OPERATORS(X)    \
    X(CLOBBER_BOTH_MORE, "&>>") \
    X(HERESTRING, "<<<")      \
    X(HEREDOC_TABS, "<<-")    \
    X(CASE_TEST_ON, ";;&")    \
    X(AND, "&&")              \
    X(OR, "||")               \
    X(PIPE_BOTH, "|&")        \
    X(OUT_BOTH, "&>")         \
    X(CASE_END, ";;")         \
    X(CASE_ON, ";&")          \
    X(HEREDOC, "<<")          \
    X(DUP_IN, "<&")           \
    X(INOUT, "<>")            \
    X(APPEND, ">>")           \
    X(DUP_OUT, ">&")          \
    X(CLOBBER, ">|")          \
    X(IN, "<")                \
    X(OUT, ">")               \
    X(PIPE, "|")              \
    X(BACKGROUND, "&")        \
    X(SEMICOLON, ";")         \
    X(OPEN, "(")              \
    X(CLOSE, ")")

enum shell_op {
    OP_NONE,
#define X(name, text) OP_##name,
    SHELL_OPERATORS(X)
#undef X
};

enum token_kind { TOKEN_END, TOKEN_NEWLINE, TOKEN_OP, TOKEN_WORD, TOKEN_DESCRIPTOR };

/* A word, an operator or an end, as bash would cut it. */
struct shell_token {
    enum token_kind kind;
    enum shell_op op;
    struct word word;
    size_t from, to;         /* bytes of the text */
    struct node *inside;     /* substitutions in the word */
    unsigned reserved;       /* the parser's: 1 + which reserved word it is; 0: not looked at yet */
    size_t assign_at;        /* position after the `=` of an assignment in the word's text; 0: no assignment */
};

/* A here-document whose body comes after the next newline. */
struct heredoc {
    struct redir *redir;
    struct node *owner;
    struct str delimiter;
    bool quoted, tabs;
    struct heredoc *next;
};

/* The state of lexer and parser together. Copied for a substitution, whose end only the parser can find. */
struct shell_parser {
    struct arena *arena;
    struct str text;
    size_t at;
    const char *doubt;  /* why reading stopped; set once */
    size_t doubt_at;
    unsigned depth;
    bool nested;        /* inside a substitution of another parser */
    struct shell_token token; /* the current token */
    struct heredoc *heredocs; /* here-documents begun on this line, the last one first */
    unsigned heredoc_count;
    char *scratch;      /* a stack: the letters of the words being read */
    char *shapes;       /* parallel to `scratch`: the shape of each letter */
    size_t scratch_at, scratch_bytes;
    size_t *words, *parts; /* counted over all nested parsers */
    bool *sets;         /* the line may give values to variables, or has substitutions */
    unsigned moves;     /* changes of folder so far */
    bool calls_move;    /* a function of the line changes the folder: any command may be a call of it */
};

/* Reads the next token into p->token; false when it is not understood. */
bool shell_next(struct shell_parser *p);
/* Remembers the first reason and stops everything. Always false. */
bool shell_doubt(struct shell_parser *p, const char *why);
/* Reads up to the parenthesis that closes a substitution; the parser's, called by the lexer. */
struct node *shell_parse_substitution(struct shell_parser *p);
/* Puts the values that the line gives to its variables into the shapes of the words that use them (shell_values.c). */
void shell_put_values(struct arena *arena, struct node *root);

#endif
