/* A conversation with an agent in a terminal: what was said, the question that waits, and a line to write on.
 *
 * Pure, like tui.h, whose promises hold here too. The keys belong either to the question or to the line: Tab changes
 * between them. A question that arrives takes them only when the line is empty and no key came for a second, so that a
 * word that is being typed answers nothing.
 */
#ifndef CLI_TUI_CHAT_H
#define CLI_TUI_CHAT_H

#include "cli/tui/tui.h"

enum { CHAT_LINE_BYTES = 16384, CHAT_HISTORY = 100, CHAT_STATUS_BYTES = 120 };

/* Values follow those of tui_act. */
enum chat_act { CHAT_PROMPT = TUI_QUIT + 1, CHAT_END };

/* The conversation's state; everything shown is computed from it. */
struct chat {
    struct tui *tui;        /* waiting calls of the session; also the size of the screen and the time */
    struct str title;       /* safe: agent and folder */
    const char *agent;      /* its name, of at most six letters */
    char status[CHAT_STATUS_BYTES]; /* safe: what the agent is doing, its mode, its cost */
    struct buf said;        /* the conversation so far: lines as in body.h */
    struct buf live;        /* text of the answer under way, as it came */
    unsigned back;          /* rows that the conversation is scrolled back */
    char line[CHAT_LINE_BYTES];
    size_t line_bytes;
    struct buf history[CHAT_HISTORY]; /* what was sent, oldest first */
    size_t history_count, history_at; /* history_at == history_count: the line itself */
    bool asking;            /* keys go to the question on screen, not to the input line */
    bool had_question;
    int64_t key_us;         /* when the last key came */
};

void chat_init(struct chat *chat, struct tui *tui, struct str title, const char *agent);
/* Adds lines to the conversation. `mark` as in body.h; the first line begins with `lead`, the others are indented. */
void chat_say(struct chat *chat, char mark, const char *lead, struct str text);
/* Adds one line with words at its right end. */
void chat_say_ends(struct chat *chat, char mark, struct str left, struct str right);
/* Adds a piece of the answer under way. */
void chat_stream(struct chat *chat, struct str text);
/* To be called after the calls changed: gives the keys to a new question, or back to the line. */
void chat_settle(struct chat *chat);
/* Handles a key. Returns a tui_act or a chat_act; after CHAT_PROMPT the line holds the text to send until chat_sent. */
int chat_press(struct chat *chat, uint32_t key);
void chat_sent(struct chat *chat);
struct tui_screen chat_draw(struct arena *arena, struct chat *chat);
/* The last lines of the conversation, to be left on the terminal. */
void chat_last(struct buf *buf, const struct chat *chat, bool color, unsigned width);
void chat_done(struct chat *chat);

#endif
