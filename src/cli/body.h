/* A call as a person sees it in a terminal: the one rendering of the server's preview, for `nod watch`, `nod show`,
 * `nod pending`, `nod run` and `nod claude`. Pure. The page renders the same model in web/src/preview.
 *
 * A body is a list of safe lines. Each begins with a mark that says how it looks:
 *   ' ' plain   '*' bold   '#' dim   '+' added   '-' removed   '=' passes   '!' amber   '^' red   '?' not understood
 * A tab in a line separates its text from words for the right end of the line.
 */
#ifndef CLI_BODY_H
#define CLI_BODY_H

#include "agents/questions.h"
#include "cli/text.h"

/* The kind of request decides what can be answered: a yes, words, or the mode in which a plan is carried out. */
enum body_kind { BODY_USE, BODY_QUESTIONS, BODY_PLAN };

enum body_kind body_kind(struct arena *arena, const struct json *call, struct questions *ret_questions);
/* One sentence, made from the call itself: `Run 4 commands in /home/alice/shop`. */
struct str body_sentence(struct arena *arena, const struct json *call);
/* One line for lists: the command, else the sentence. */
struct str body_headline(struct arena *arena, const struct json *call);
/* The classes of the call's risk as labels, worst first, and the mark of the worst; ' ' when there is none. */
struct str body_risks(struct arena *arena, const struct json *risks, char *ret_mark);
/* The whole body: warnings, the reason for asking, the preview, the agent's explanation. */
struct str body_lines(struct arena *arena, const struct json *call);
/* A JSON value, spread over lines. */
struct str body_tree(struct arena *arena, const struct json *value);
/* Writes each line of `text` without control characters, after this mark and `lead`. */
void body_put_lines(struct buf *buf, char mark, const char *lead, struct str text);
enum tint body_tint(char mark);
/* The rows of a body on a terminal of this width (0: each line is one row); long lines are wrapped, never cut. */
struct body_rows {
    struct str body;    /* the lines that no row was made of yet */
    unsigned width;
    unsigned indent;    /* columns by which the further rows of a wrapped line are indented at least */
    unsigned number;    /* of the line that the last row belongs to, from 1 */
    char mark;          /* of that line */
    struct str line;    /* the part of that line that further rows will show; empty: none is left */
    struct str right;   /* words for its right end */
    unsigned hang;
};
bool body_next_row(struct arena *arena, struct body_rows *rows, struct str *ret_row);
/* The beginning of a body that is too long to be printed unasked, and a line that says what was left out and that
 * `nod show CALL --full` prints it. */
struct str body_beginning(struct arena *arena, struct str body, struct str call);
/* Writes a body for a terminal of this width (0: none), each line `indent` columns in. */
void body_write(struct buf *buf, struct str body, bool color, unsigned width, unsigned indent);
/* `allowed by alice`, `denied by rule Bash(rm:*)`, `timed out`; from {"decision","actor"} or a gate's reply. */
struct str body_decision(struct arena *arena, const struct json *object);

#endif
