/* A screen under construction, line by line. For this folder only. */
#ifndef CLI_TUI_PAGE_H
#define CLI_TUI_PAGE_H

#include "cli/tui/tui.h"

struct tui_page {
    struct arena *arena;
    struct tui_screen screen;
    unsigned width, height;
    unsigned indent; /* of the further rows of a wrapped line */
};

struct tui_page tui_page_new(struct arena *arena, unsigned width, unsigned height);
/* Adds a line; nothing happens when the screen is full. */
void tui_page_put(struct tui_page *page, struct str text, enum tint tint, bool reverse);
/* One line with `left` at its left end and `right` at its right end. */
struct str tui_page_ends(struct tui_page *page, struct str left, struct str right);
/* Puts the rows of `body` from `top` on and returns how many rows there are; long lines are wrapped, never cut.
 * *ret_line is the number of whole lines of the body up to the last row that was put. */
unsigned tui_page_put_body(struct tui_page *page, struct str body, unsigned top, unsigned room, unsigned *ret_line);
/* Puts the current call in at most `room` rows: its sentence, and its body or the choices. There must be a call. */
void tui_page_put_question(struct tui_page *page, struct tui *tui, unsigned room);
/* Names the keys that answer the current call now. */
struct str tui_page_keys(struct tui_page *page, const struct tui *tui);
/* The prompt of the line of words that is being typed; empty: there is none. */
struct str tui_page_prompt(struct tui_page *page, const struct tui *tui);
/* A line that is typed; its end stays visible. */
void tui_page_put_typed(struct tui_page *page, struct str lead, struct str words, bool cursor);

#endif
