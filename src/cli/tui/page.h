/* A screen under construction, line by line. For this folder only. */
#ifndef CLI_TUI_PAGE_H
#define CLI_TUI_PAGE_H

#include "cli/tui/tui.h"

struct page {
    struct arena *arena;
    struct tui_screen screen;
    unsigned width, height;
    unsigned indent; /* of what goes on below a line of a body */
};

struct page page_new(struct arena *arena, unsigned width, unsigned height);
/* Adds a line; nothing happens when the screen is full. */
void page_put(struct page *page, struct str text, enum tint tint, bool reverse);
/* `left` and `right` at the two ends of one line. */
struct str page_ends(struct page *page, struct str left, struct str right);
/* Long lines go on below, so nothing is ever cut. Puts the rows from `top` on and says how many there are;
 * *ret_line is the number of whole lines of the body up to the last row that was put. */
unsigned page_put_body(struct page *page, struct str body, unsigned top, unsigned room, unsigned *ret_line);
/* The call on screen in at most `room` rows: its sentence, and its body or what can be chosen. There must be one. */
void page_put_question(struct page *page, struct tui *tui, unsigned room);
/* The keys that answer it now. */
struct str page_keys(struct page *page, const struct tui *tui);
/* The prompt of the line of words that is being typed; empty: there is none. */
struct str page_prompt(struct page *page, const struct tui *tui);
/* A line that is typed; its end stays visible. */
void page_put_typed(struct page *page, struct str lead, struct str words, bool cursor);

#endif
