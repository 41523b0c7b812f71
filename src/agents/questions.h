/* Questions to a person: AskUserQuestion, and the forms of MCP servers (Elicitation).
 *
 * Both come as calls at the gate, and are answered by an allow whose edited input holds the answers: `answers`
 * by the words of each question, `content` by the name of each field. Here they are one list of questions.
 */
#ifndef AGENTS_QUESTIONS_H
#define AGENTS_QUESTIONS_H

#include "base/json.h"

enum question_type { QUESTION_TEXT, QUESTION_NUMBER, QUESTION_INTEGER, QUESTION_YES_NO };

struct asked_question {
    struct str key;      /* under which it is answered */
    struct str words;
    struct str header;   /* may be empty */
    enum question_type type;
    const struct json *options; /* an array; NULL: none */
    bool several;        /* options may be chosen together */
    bool closed;         /* only one of the options is a valid answer */
    bool required;
};

/* The questions of one call (AskUserQuestion, a form of MCP), in the order in which they are asked. */
struct questions {
    struct asked_question *all;
    size_t count;
    struct str heading;  /* may be empty */
    const struct json *input;
    bool form;
};

/* Whether a call of this tool may ask questions at all. */
bool questions_tool(struct str tool);
/* False: the call needs only yes or no, no further answers. */
bool questions_read(struct arena *arena, struct str tool, const struct json *input, struct questions *ret_questions);
/* The words of an option, and what is said about it (may be empty). */
struct str question_option_label(const struct json *option);
struct str question_option_about(const struct json *option);
/* Writes the edited input. An answer is an option's number or words (several with commas where they may be),
 * or words of one's own; an empty one leaves the question out. */
struct rc questions_answer(struct buf *out, const struct questions *questions, const struct str *answers,
                           size_t answer_count, struct err *err);

#endif
