/* Tokens to a tree: the grammar of lists, pipelines and compound commands (shell.h describes the tree).
 *
 * Recursive descent with bounded depth and number of commands. A function returns NULL or false after a doubt;
 * the top of the tree then holds what was read before it, so that objections to that part still count.
 */
#include "policy/shell.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/utf8.h"
#include "policy/shell_lex.h"
#include "policy/target.h"

#define RESERVED_WORDS(X) \
    X(IF, "if")           \
    X(THEN, "then")       \
    X(ELIF, "elif")       \
    X(ELSE, "else")       \
    X(FI, "fi")           \
    X(WHILE, "while")     \
    X(UNTIL, "until")     \
    X(FOR, "for")         \
    X(DO, "do")           \
    X(DONE, "done")       \
    X(CASE, "case")       \
    X(IN, "in")           \
    X(ESAC, "esac")       \
    X(SELECT, "select")   \
    X(FUNCTION, "function") \
    X(TIME, "time")       \
    X(COPROC, "coproc")   \
    X(BANG, "!")          \
    X(LEFT, "{")          \
    X(RIGHT, "}")         \
    X(TEST, "[[")

enum reserved {
    RESERVED_NONE,
#define X(name, text) RESERVED_##name,
    RESERVED_WORDS(X)
#undef X
};

static const struct str reserved_words[] = {
#define X(name, text) [RESERVED_##name] = STR(text),
    RESERVED_WORDS(X)
#undef X
};

enum { HEREDOCS_MAX = 16 };

static struct node *parse_list(struct shell_parser *p, bool may_be_empty);
static struct node *parse_command(struct shell_parser *p);

/* ---- looking at the token ---- */

/* Only an unquoted word is reserved, and only where a command may begin; the caller knows the place. */
static enum reserved reserved(struct shell_parser *p)
{
    struct shell_token *token = &p->token;
    if (token->kind != TOKEN_WORD || token->word.flags != 0 || token->word.raw.n > 8)
        return RESERVED_NONE;
    if (token->reserved) /* asked before */
        return (enum reserved)(token->reserved - 1);
    token->reserved = RESERVED_NONE + 1;
    for (unsigned i = 1; i < sizeof reserved_words / sizeof *reserved_words; i++)
        if (token->word.raw.n == reserved_words[i].n && token->word.raw.p[0] == reserved_words[i].p[0] &&
            str_eq(token->word.raw, reserved_words[i])) /* most differ in length or the first letter */
            token->reserved = i + 1;
    return (enum reserved)(token->reserved - 1);
}

static bool at_op(const struct shell_parser *p, enum shell_op op)
{
    return p->token.kind == TOKEN_OP && p->token.op == op;
}

static bool at_reserved(struct shell_parser *p, enum reserved word) { return reserved(p) == word; }

/* Tokens that end a list without being part of it. */
static bool at_closer(struct shell_parser *p)
{
    if (p->token.kind == TOKEN_END || at_op(p, OP_CLOSE) || at_op(p, OP_CASE_END) || at_op(p, OP_CASE_ON) ||
        at_op(p, OP_CASE_TEST_ON))
        return true;
    switch (reserved(p)) {
    case RESERVED_THEN: case RESERVED_ELIF: case RESERVED_ELSE: case RESERVED_FI: case RESERVED_DO:
    case RESERVED_DONE: case RESERVED_ESAC: case RESERVED_RIGHT:
        return true;
    case RESERVED_NONE: case RESERVED_IF: case RESERVED_WHILE: case RESERVED_UNTIL: case RESERVED_FOR:
    case RESERVED_CASE: case RESERVED_IN: case RESERVED_SELECT: case RESERVED_FUNCTION: case RESERVED_TIME:
    case RESERVED_COPROC: case RESERVED_BANG: case RESERVED_LEFT: case RESERVED_TEST:
        break;
    }
    return false;
}

static bool skip_newlines(struct shell_parser *p)
{
    while (p->token.kind == TOKEN_NEWLINE)
        if (!shell_next(p))
            return false;
    return !p->doubt;
}

static bool take_reserved(struct shell_parser *p, enum reserved word)
{
    return at_reserved(p, word) ? shell_next(p) : shell_doubt(p, "it is not complete, or not well formed");
}

/* ---- nodes ---- */

static struct node *refuse(struct shell_parser *p, const char *why)
{
    shell_doubt(p, why);
    return NULL;
}

static struct node *node_new(struct shell_parser *p, enum node_kind kind)
{
    struct node *node = arena_new(p->arena, struct node);
    node->kind = kind;
    node->raw = str_sub(p->text, p->token.from, p->token.from);
    return node;
}

/* The node's text ends before the token to look at; blanks at the end are cut off. */
static struct node *node_end(struct shell_parser *p, struct node *node)
{
    if (p->doubt)
        return NULL;
    CHECK(node->raw.p >= p->text.p && node->raw.p <= p->text.p + p->text.n);
    size_t from = (size_t)(node->raw.p - p->text.p);
    node->raw = str_trim(str_sub(p->text, from, p->token.from > from ? p->token.from : from));
    return node;
}

static void add_child(struct node *node, struct node *child)
{
    CHECK(child && child != node && !child->next);
    CHECK((node->first == NULL) == (node->last == NULL));
    LIST_ADD(node, child);
}

static void add_inside(struct node *node, struct shell_token *token)
{
    while (token->inside) {
        struct node *inner = token->inside;
        token->inside = inner->next;
        inner->next = node->inside;
        node->inside = inner;
    }
}

/* Words are chained while they are read and laid side by side at the end. */
struct words {
    struct word *first, **last;
    size_t count;
};

static void add_word(struct shell_parser *p, struct node *node, struct words *words)
{
    CHECK(p->token.kind == TOKEN_WORD);
    struct word *word = arena_new(p->arena, struct word);
    *word = p->token.word;
    add_inside(node, &p->token);
    if (!words->last)
        words->last = &words->first;
    *words->last = word;
    words->last = &word->next;
    words->count++;
}

static void lay_words(struct shell_parser *p, struct node *node, const struct words *words)
{
    node->words = arena_array(p->arena, struct word, words->count);
    for (const struct word *word = words->first; word; word = word->next)
        node->words[node->word_count++] = *word;
    CHECK(node->word_count == words->count);
}

/* ---- redirections ---- */

/* Whether the token begins a redirection. */
static bool redirects(const struct shell_parser *p)
{
    if (p->token.kind == TOKEN_DESCRIPTOR)
        return true;
    if (p->token.kind != TOKEN_OP)
        return false;
    switch (p->token.op) {
    case OP_CLOBBER_BOTH_MORE: case OP_HERESTRING: case OP_HEREDOC_TABS: case OP_OUT_BOTH: case OP_HEREDOC:
    case OP_DUP_IN: case OP_INOUT: case OP_APPEND: case OP_DUP_OUT: case OP_CLOBBER: case OP_IN: case OP_OUT:
        return true;
    case OP_NONE: case OP_CASE_TEST_ON: case OP_AND: case OP_OR: case OP_PIPE_BOTH: case OP_CASE_END:
    case OP_CASE_ON: case OP_PIPE: case OP_BACKGROUND: case OP_SEMICOLON: case OP_OPEN: case OP_CLOSE:
        break;
    }
    return false;
}

static enum redir_kind redir_kind(enum shell_op op)
{
    switch (op) {
    case OP_HERESTRING: return REDIR_HERESTRING;
    case OP_HEREDOC: case OP_HEREDOC_TABS: return REDIR_HEREDOC;
    case OP_IN: case OP_DUP_IN: return REDIR_IN;
    case OP_INOUT: return REDIR_INOUT;
    case OP_APPEND: case OP_CLOBBER_BOTH_MORE: return REDIR_APPEND;
    case OP_OUT: case OP_OUT_BOTH: case OP_CLOBBER: case OP_DUP_OUT: return REDIR_OUT;
    case OP_NONE: case OP_CASE_TEST_ON: case OP_AND: case OP_OR: case OP_PIPE_BOTH: case OP_CASE_END:
    case OP_CASE_ON: case OP_PIPE: case OP_BACKGROUND: case OP_SEMICOLON: case OP_OPEN: case OP_CLOSE:
        break;
    }
    CHECK(false);
    return REDIR_OUT;
}

/* `2>&1`, `>&-`, `3>&4-`: digits, then perhaps a dash, spelled plainly. */
static bool names_only_descriptors(const struct word *word)
{
    size_t digits = 0;
    if (word->flags != 0)
        return false;
    while (digits < word->text.n && word->text.p[digits] >= '0' && word->text.p[digits] <= '9')
        digits++;
    bool dash = digits < word->text.n && word->text.p[digits] == '-';
    return digits <= 3 && digits + dash == word->text.n && word->text.n > 0;
}

/* Registers a here-document whose body follows after this line. */
static bool expect_heredoc(struct shell_parser *p, struct node *node, struct redir *redir, bool tabs)
{
    const struct word *word = &p->token.word;
    if (p->nested && !(word->flags & WORD_QUOTED))
        return shell_doubt(p, "a here-document inside a substitution");
    if (!word_literal(word) || str_empty(word->text) || (word->flags & WORD_ESCAPED))
        return shell_doubt(p, "a here-document with a delimiter of this kind");
    struct heredoc *doc = arena_new(p->arena, struct heredoc);
    *doc = (struct heredoc){.redir = redir, .owner = node, .delimiter = word->text,
                            .quoted = (word->flags & WORD_QUOTED) != 0, .tabs = tabs};
    doc->next = p->heredocs;
    p->heredocs = doc;
    return ++p->heredoc_count <= HEREDOCS_MAX || shell_doubt(p, "too many here-documents in one line");
}

static bool parse_redirection(struct shell_parser *p, struct node *node)
{
    if (p->token.kind == TOKEN_DESCRIPTOR && !shell_next(p))
        return false;
    CHECK(redirects(p));
    enum shell_op op = p->token.op;
    if (!shell_next(p))
        return false;
    if (p->token.kind != TOKEN_WORD)
        return shell_doubt(p, "a redirection without a target");
    struct redir *redir = arena_new(p->arena, struct redir);
    *redir = (struct redir){.kind = redir_kind(op), .target = p->token.word, .next = node->redirs};
    if ((op == OP_DUP_IN || op == OP_DUP_OUT) && names_only_descriptors(&redir->target))
        redir->kind = REDIR_DUP;
    if (redir->kind == REDIR_HEREDOC && !expect_heredoc(p, node, redir, op == OP_HEREDOC_TABS))
        return false;
    node->redirs = redir;
    add_inside(node, &p->token);
    return shell_next(p);
}

static bool parse_redirections(struct shell_parser *p, struct node *node)
{
    while (redirects(p))
        if (!parse_redirection(p, node))
            return false;
    return !p->doubt;
}

/* ---- simple commands ---- */

static bool is_move(const struct word *word)
{
    return !word_literal(word) || word_is(word, "cd") || word_is(word, "pushd") || word_is(word, "popd");
}

/* Whether the command changes the folder: cd and the like, also behind `command` or `builtin`. */
static bool changes_folder(const struct node *node)
{
    size_t at = node->assign_count;
    if (node->word_count == at)
        return false;
    const struct word *command = &node->words[at];
    if (is_move(command))
        return true;
    bool hands_on = word_is(command, "command") || word_is(command, "builtin") || word_is(command, "time");
    while (hands_on && ++at < node->word_count)
        if (is_move(&node->words[at]))
            return true;
    return false;
}

static bool sets_variables(const struct node *node)
{
    static const char *const names[] = {"read", "mapfile", "readarray", "getopts", "printf", "export",
                                        "declare", "typeset", "local", "readonly", "builtin", "command"};
    return node->word_count && word_literal(&node->words[0]) && STR_IN(node->words[0].text, names);
}

/* `name () compound`, the name read, the parenthesis to look at. */
static struct node *parse_function(struct shell_parser *p, struct node *node)
{
    CHECK(!node->first && !node->redirs);
    node->kind = NODE_DOUBT;
    node->why = "it defines a function";
    if (at_op(p, OP_OPEN)) {
        if (!shell_next(p))
            return NULL;
        if (!at_op(p, OP_CLOSE))
            return refuse(p, "it is not complete, or not well formed");
        if (!shell_next(p))
            return NULL;
    }
    if (!skip_newlines(p))
        return NULL;
    unsigned moves = p->moves;
    struct node *body = parse_command(p);
    if (!body)
        return NULL;
    p->calls_move = p->calls_move || p->moves != moves;
    add_child(node, body);
    return node_end(p, node);
}

/* `time` and `coproc` before a simple command are read as commands that run their arguments. */
static bool is_prefix(const struct words *words)
{
    const struct word *first = words->first;
    return first && first->flags == 0 && (str_is(first->raw, "time") || str_is(first->raw, "coproc"));
}

/* Assignments, words and redirections in any order; a word followed by `(` is the name of a function. */
static struct node *parse_simple(struct shell_parser *p)
{
    struct node *node = node_new(p, NODE_SIMPLE);
    struct words words = {0};
    if (++*p->parts > LIMIT_SHELL_PARTS)
        return refuse(p, "too many commands");
    while (!p->doubt && (p->token.kind == TOKEN_WORD || redirects(p))) {
        if (redirects(p)) {
            if (!parse_redirection(p, node))
                return NULL;
            continue;
        }
        if (words.count == 1 && is_prefix(&words) && reserved(p) != RESERVED_NONE)
            return refuse(p, "`time` or `coproc` before something else than a simple command");
        bool assigns = p->token.assign_at && words.count == node->assign_count;
        node->assign_count += assigns;
        add_word(p, node, &words);
        if (!shell_next(p))
            return NULL;
    }
    bool opens = at_op(p, OP_OPEN);
    if (opens && words.count == 1 && !node->assign_count && !node->redirs && !is_prefix(&words))
        return parse_function(p, node);
    if (opens || p->doubt || (!words.count && !node->redirs))
        return refuse(p, "it is not complete, or not well formed");
    lay_words(p, node, &words);
    CHECK(node->assign_count <= node->word_count);
    *p->sets = *p->sets || node->assign_count || node->inside || sets_variables(node);
    node->moves = p->calls_move || changes_folder(node);
    p->moves += node->moves;
    return node_end(p, node);
}

/* ---- compound commands ---- */

static bool add_list(struct shell_parser *p, struct node *node, bool may_be_empty)
{
    struct node *list = parse_list(p, may_be_empty);
    if (list)
        add_child(node, list);
    return list != NULL;
}

/* Parses `if list then list … fi`; the word `if` has been read. */
static bool parse_if(struct shell_parser *p, struct node *node)
{
    for (;;) {
        if (!add_list(p, node, false) || !take_reserved(p, RESERVED_THEN) || !add_list(p, node, false))
            return false;
        if (!at_reserved(p, RESERVED_ELIF))
            break;
        if (!shell_next(p))
            return false;
    }
    if (at_reserved(p, RESERVED_ELSE) && (!shell_next(p) || !add_list(p, node, false)))
        return false;
    return take_reserved(p, RESERVED_FI);
}

static bool parse_do(struct shell_parser *p, struct node *node)
{
    return take_reserved(p, RESERVED_DO) && add_list(p, node, false) && take_reserved(p, RESERVED_DONE);
}

static bool parse_while(struct shell_parser *p, struct node *node)
{
    return add_list(p, node, false) && parse_do(p, node);
}

/* A variable that no program and no part of bash looks at: short, lower-case letters. */
static bool tame_variable(const struct word *word)
{
    if (word->flags != 0 || word->raw.n > 16)
        return false;
    for (size_t i = 0; i < word->raw.n; i++)
        if (!(word->raw.p[i] >= 'a' && word->raw.p[i] <= 'z') &&
            !(i && word->raw.p[i] >= '0' && word->raw.p[i] <= '9'))
            return false;
    return true;
}

bool word_names_ending(const struct word *word)
{
    struct str text = word->text;
    size_t i = text.n;
    while (i > 0 && ((text.p[i - 1] >= 'a' && text.p[i - 1] <= 'z') ||
                     (text.p[i - 1] >= '0' && text.p[i - 1] <= '9')))
        i--;
    return (word->flags & WORD_OPEN) == WORD_GLOB && i == 2 && i < text.n && text.p[1] == '.' &&
           text.p[0] == WORD_HOLE;
}

/* Whether its expansions may be any text: not the values that the line gives, each of which is one word. */
static bool splits_unknown(const struct word *word)
{
    bool known = str_find(word->shape, SHAPE_ANY) == word->shape.n && !(word->flags & WORD_CHOSEN);
    return (word->flags & WORD_SPLITS) && !known;
}

bool word_may_be_several(const struct word *word)
{
    return (word->flags & (WORD_GLOB | WORD_BRACE)) || splits_unknown(word);
}

bool word_may_vanish(const struct word *word)
{
    for (size_t i = 0; i < word->text.n; i++)
        if (word->text.p[i] != WORD_HOLE)
            return false;
    return (word->flags & WORD_BRACE) || splits_unknown(word);
}

/* A loop over a variable that programs look at (PATH, IFS) is a doubt: its body then means something else. */
static bool parse_for(struct shell_parser *p, struct node *node)
{
    struct words words = {0};
    if (p->token.kind != TOKEN_WORD)
        return shell_doubt(p, "a loop of this kind is not understood");
    if (!tame_variable(&p->token.word)) {
        node->kind = NODE_DOUBT;
        node->why = "it sets a variable that other programs may obey";
    }
    node->variable = p->token.word.text;
    *p->sets = true;
    if (!shell_next(p) || !skip_newlines(p))
        return false;
    if (at_reserved(p, RESERVED_IN)) {
        if (!shell_next(p))
            return false;
        for (; p->token.kind == TOKEN_WORD;) {
            add_word(p, node, &words);
            if (!shell_next(p))
                return false;
        }
        if (!at_op(p, OP_SEMICOLON) && p->token.kind != TOKEN_NEWLINE)
            return shell_doubt(p, "it is not complete, or not well formed");
    }
    if (at_op(p, OP_SEMICOLON) && !shell_next(p))
        return false;
    lay_words(p, node, &words);
    return skip_newlines(p) && parse_do(p, node);
}

/* `pattern | pattern ) list ;;` */
static bool parse_case_item(struct shell_parser *p, struct node *node, struct words *words)
{
    if (at_op(p, OP_OPEN) && !shell_next(p))
        return false;
    for (;;) {
        if (p->token.kind != TOKEN_WORD)
            return shell_doubt(p, "it is not complete, or not well formed");
        add_word(p, node, words);
        if (!shell_next(p))
            return false;
        if (!at_op(p, OP_PIPE))
            break;
        if (!shell_next(p))
            return false;
    }
    if (!at_op(p, OP_CLOSE))
        return shell_doubt(p, "it is not complete, or not well formed");
    if (!shell_next(p) || !add_list(p, node, true))
        return false;
    bool ends = at_op(p, OP_CASE_END) || at_op(p, OP_CASE_ON) || at_op(p, OP_CASE_TEST_ON);
    if (!ends && !at_reserved(p, RESERVED_ESAC))
        return shell_doubt(p, "it is not complete, or not well formed");
    return !ends || (shell_next(p) && skip_newlines(p));
}

static bool parse_case(struct shell_parser *p, struct node *node)
{
    struct words words = {0};
    if (p->token.kind != TOKEN_WORD)
        return shell_doubt(p, "it is not complete, or not well formed");
    add_word(p, node, &words);
    if (!shell_next(p) || !skip_newlines(p) || !take_reserved(p, RESERVED_IN) || !skip_newlines(p))
        return false;
    while (!at_reserved(p, RESERVED_ESAC))
        if (!parse_case_item(p, node, &words))
            return false;
    lay_words(p, node, &words);
    return shell_next(p);
}

static bool parse_group(struct shell_parser *p, struct node *node)
{
    node->kind = NODE_GROUP;
    return add_list(p, node, false) && take_reserved(p, RESERVED_RIGHT);
}

static bool parse_subshell(struct shell_parser *p, struct node *node)
{
    node->kind = NODE_SUBSHELL;
    if (!add_list(p, node, false))
        return false;
    return at_op(p, OP_CLOSE) ? shell_next(p) : shell_doubt(p, "a parenthesis is not closed");
}

static bool parse_named_function(struct shell_parser *p, struct node *node)
{
    if (p->token.kind != TOKEN_WORD)
        return shell_doubt(p, "it is not complete, or not well formed");
    return shell_next(p) && parse_function(p, node) != NULL;
}

/* A compound command, its first token to look at; then the redirections of the whole. */
static struct node *parse_compound(struct shell_parser *p,
                                   bool (*parse)(struct shell_parser *, struct node *))
{
    struct node *node = node_new(p, NODE_BRANCH);
    unsigned moves = p->moves;
    if (!shell_next(p) || !parse(p, node) || !parse_redirections(p, node))
        return NULL;
    node->moves = p->moves != moves;
    return node_end(p, node);
}

/* Whether a test has an operator whose operands are evaluated or are in another language (a regular expression). */
static bool test_evaluates(const struct words *words)
{
    static const char *const names[] = {"-v", "-R", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-o", "-N"};
    return ANY(const struct word *word = words->first; word; word = word->next, STR_IN(word->text, names));
}

/* `[[ … ]]` as a command of these words; what bash would evaluate is doubt. */
static struct node *parse_test(struct shell_parser *p)
{
    struct node *node = node_new(p, NODE_SIMPLE);
    struct words words = {0};
    if (++*p->parts > LIMIT_SHELL_PARTS)
        return refuse(p, "too many commands");
    for (;;) {
        if (p->token.kind == TOKEN_WORD) {
            bool ends = words.count && p->token.word.flags == 0 && str_is(p->token.word.raw, "]]");
            add_word(p, node, &words);
            if (!shell_next(p))
                return NULL;
            if (ends)
                break;
        } else if (at_op(p, OP_AND) || at_op(p, OP_OR)) {
            if (!shell_next(p))
                return NULL;
        } else {
            return refuse(p, "a [[ test ]] of this kind is not understood");
        }
    }
    if (test_evaluates(&words))
        return refuse(p, "a [[ test ]] of this kind is not understood");
    lay_words(p, node, &words);
    return parse_redirections(p, node) ? node_end(p, node) : NULL;
}

static struct node *parse_command_at(struct shell_parser *p)
{
    if (at_op(p, OP_OPEN)) {
        if (p->token.to < p->text.n && p->text.p[p->token.to] == '(')
            return refuse(p, "arithmetic is not evaluated here");
        return parse_compound(p, parse_subshell);
    }
    if (p->token.kind != TOKEN_WORD && !redirects(p))
        return refuse(p, "it is not complete, or not well formed");
    switch (reserved(p)) {
    case RESERVED_NONE: case RESERVED_IN: case RESERVED_TIME: case RESERVED_COPROC: return parse_simple(p);
    case RESERVED_IF: return parse_compound(p, parse_if);
    case RESERVED_WHILE: case RESERVED_UNTIL: return parse_compound(p, parse_while);
    case RESERVED_FOR: return parse_compound(p, parse_for);
    case RESERVED_CASE: return parse_compound(p, parse_case);
    case RESERVED_LEFT: return parse_compound(p, parse_group);
    case RESERVED_FUNCTION: return parse_compound(p, parse_named_function);
    case RESERVED_TEST: return parse_test(p);
    case RESERVED_SELECT: return refuse(p, "a loop of this kind is not understood");
    case RESERVED_THEN: case RESERVED_ELIF: case RESERVED_ELSE: case RESERVED_FI: case RESERVED_DO:
    case RESERVED_DONE: case RESERVED_ESAC: case RESERVED_BANG: case RESERVED_RIGHT:
        break;
    }
    return refuse(p, "it is not complete, or not well formed");
}

static struct node *parse_command(struct shell_parser *p)
{
    if (p->depth >= LIMIT_SHELL_DEPTH)
        return refuse(p, "it is nested too deep");
    p->depth++;
    struct node *node = parse_command_at(p);
    CHECK(p->depth > 0 && (node || p->doubt));
    p->depth--;
    return node;
}

/* ---- pipelines and lists ---- */

/* Parts that one of two operators joins. One part alone is not joined: its own node is returned. */
static struct node *parse_joined(struct shell_parser *p, struct node *node,
                                 struct node *(*parse)(struct shell_parser *p), enum shell_op one, enum shell_op other)
{
    struct node *first = parse(p), *last = first;
    if (!first || (!at_op(p, one) && !at_op(p, other)))
        return first;
    node->first = first;
    while (at_op(p, one) || at_op(p, other)) {
        enum node_join join = at_op(p, OP_AND) ? JOIN_AND : at_op(p, OP_OR) ? JOIN_OR : JOIN_NONE;
        if (!shell_next(p) || !skip_newlines(p))
            return NULL;
        last->next = parse(p);
        last = last->next;
        if (!last)
            return NULL;
        last->join = join;
    }
    return node_end(p, node);
}

static struct node *parse_pipe(struct shell_parser *p)
{
    struct node *pipe = node_new(p, NODE_PIPE);
    bool negated = at_reserved(p, RESERVED_BANG);
    while (at_reserved(p, RESERVED_BANG))
        if (!shell_next(p))
            return NULL;
    struct node *node = parse_joined(p, pipe, parse_command, OP_PIPE, OP_PIPE_BOTH);
    if (node)
        node->negated = negated;
    return node;
}

/* Commands joined by && and ||. */
static struct node *parse_chain(struct shell_parser *p)
{
    struct node *chain = node_new(p, NODE_CHAIN);
    unsigned moves = p->moves;
    struct node *node = parse_joined(p, chain, parse_pipe, OP_AND, OP_OR);
    chain->moves = p->moves != moves;
    return node;
}

/* Reads a list up to the token that closes it, which the caller looks at. The top of the tree is filled as it goes, so
 * that commands read before a doubt are kept for the search for forbidden ones. */
static bool fill_list(struct shell_parser *p, struct node *list)
{
    unsigned moves = p->moves;
    while (skip_newlines(p) && !at_closer(p)) {
        struct node *child = parse_chain(p);
        if (!child)
            return false;
        add_child(list, child);
        if (at_op(p, OP_BACKGROUND))
            child->background = true;
        else if (!at_op(p, OP_SEMICOLON) && p->token.kind != TOKEN_NEWLINE)
            break;
        if (!shell_next(p))
            return false;
    }
    list->moves = p->moves != moves;
    return node_end(p, list) != NULL;
}

static struct node *parse_list(struct shell_parser *p, bool may_be_empty)
{
    struct node *list = node_new(p, NODE_LIST);
    if (!fill_list(p, list))
        return NULL;
    return list->first || may_be_empty ? list : refuse(p, "it is not complete, or not well formed");
}

/* A copy of the parser reads the inside and tells where it ends; a doubt in it is one of the whole line. */
struct node *shell_parse_substitution(struct shell_parser *p)
{
    struct shell_parser sub = *p;
    sub.nested = true;
    sub.heredocs = NULL;
    sub.depth++;
    struct node *node = NULL;
    if (sub.depth >= LIMIT_SHELL_DEPTH)
        shell_doubt(&sub, "it is nested too deep");
    else if (shell_next(&sub)) {
        node = node_new(&sub, NODE_SUBSHELL);
        if (!fill_list(&sub, node) || !at_op(&sub, OP_CLOSE))
            shell_doubt(&sub, "a substitution is not closed");
        node->kind = NODE_SUBSHELL;
    }
    CHECK((node && !sub.doubt) || sub.doubt);
    CHECK(sub.scratch_at == p->scratch_at || sub.doubt);
    p->at = sub.doubt ? p->at : sub.token.to;
    if (!sub.doubt)
        return node;
    p->doubt = sub.doubt;
    p->doubt_at = sub.doubt_at;
    return NULL;
}

/* ---- the whole ---- */

/* Why the text's letters alone make it unfit, NULL when they do not. */
static const char *letters_doubt(struct str text)
{
    if (utf8_only_seen(text))
        return NULL;
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t code;
        n = utf8_decode(str_sub(text, i, text.n), &code);
        if (n == 0)
            return "it is not valid UTF-8";
        if (utf8_hidden(code))
            return "it has hidden characters";
    }
    return NULL;
}

/* Always returns a tree, with `doubt` set where the text was not understood. `depth` counts texts inside texts. */
struct shell *shell_parse_inner(struct arena *arena, struct str text, unsigned depth)
{
    struct shell *shell = arena_new(arena, struct shell);
    size_t words = 0;
    bool sets = false;
    shell->root = arena_new(arena, struct node);
    shell->root->kind = NODE_LIST;
    shell->root->raw = text;
    if (text.n > LIMIT_COMMAND_BYTES || depth >= LIMIT_SHELL_DEPTH) {
        shell->doubt = depth >= LIMIT_SHELL_DEPTH ? "it is nested too deep" : "it is too long";
        return shell;
    }
    shell->doubt = letters_doubt(text);
    if (shell->doubt && str_find(text, '\0') < text.n) /* without a doubt there is none */
        return shell;
    struct shell_parser p = {.arena = arena, .text = text, .depth = depth, .words = &words,
                             .parts = &shell->part_count, .sets = &sets,
                             .scratch_bytes = text.n + 8};
    ARENA_SCOPE(scratch);
    p.scratch = arena_bytes(&scratch, p.scratch_bytes);
    p.shapes = arena_bytes(&scratch, p.scratch_bytes);
    if (shell_next(&p) && fill_list(&p, shell->root) && p.token.kind != TOKEN_END)
        shell_doubt(&p, "it is not complete, or not well formed");
    if (sets)
        shell_put_values(arena, shell->root);
    if (p.doubt && !shell->doubt) {
        shell->doubt = p.doubt;
        shell->doubt_at = p.doubt_at;
    }
    return shell;
}

struct shell *shell_parse(struct arena *arena, struct str text) { return shell_parse_inner(arena, text, 0); }
