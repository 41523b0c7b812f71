/* The screen, from the state. */
#include "cli/tui/tui.h"

#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>

enum { LIST_ROWS_MIN = 3, SMALLEST = 20 };

static const char *const help[] = {
    "j k arrows     next, previous call", "space b wheel  scroll the call",
    "y              allow once; answer a question; carry out a plan",
    "s              allow for this session",
    "a              allow always, by a rule", "e              edit, then allow",
    "n              deny, with words",   "x              abort the run, with words",
    "q              leave",              "",
    "An allow works when the call has been on screen, unchanged, for half a second. Deny always works.",
};

struct page {
    struct arena *arena;
    struct tui_screen screen;
    unsigned width, height;
};

static void put(struct page *page, struct str text, enum tint tint, bool reverse)
{
    if (page->screen.count == page->height)
        return;
    page->screen.lines[page->screen.count++] =
        (struct tui_line){text_fit(page->arena, text, page->width), tint, reverse};
}

/* `left` and `right` at the two ends of one line. */
static struct str ends(struct page *page, struct str left, struct str right)
{
    unsigned need = text_width(right) + 1;
    if (need + 8 > page->width)
        return left;
    struct str cut = text_fit(page->arena, left, page->width - need);
    unsigned pad = page->width - text_width(cut) - text_width(right);
    return arena_printf(page->arena, "%.*s%*s%.*s", STR_ARG(cut), (int)pad, "", STR_ARG(right));
}

/* ---- the list ---- */

static struct str time_of(struct page *page, const struct tui *tui, const struct tui_call *call)
{
    if (!call->deadline_ms)
        return text_age(page->arena, tui->now_ms - call->asked_ms);
    int64_t left_ms = call->deadline_ms - tui->now_ms;
    return left_ms <= 0 ? STR("expired") : arena_printf(page->arena, "%.*s left",
                                                        STR_ARG(text_age(page->arena, left_ms)));
}

static void put_list(struct page *page, const struct tui *tui)
{
    unsigned rows = page->height / 4;
    if (rows < LIST_ROWS_MIN)
        rows = LIST_ROWS_MIN;
    if (rows > tui->count)
        rows = (unsigned)tui->count;
    size_t first = tui->at < rows / 2 ? 0 : tui->at - rows / 2;
    if (first + rows > tui->count)
        first = tui->count - rows;
    for (size_t i = first; i < first + rows; i++) {
        const struct tui_call *call = &tui->calls[i];
        struct str left = arena_printf(page->arena, "%s %-6.*s %.*s", i == tui->at ? ">" : " ",
                                       STR_ARG(call->tool), STR_ARG(call->headline));
        put(page, ends(page, left, time_of(page, tui, call)), TINT_NONE, i == tui->at);
    }
}

/* ---- the call ---- */

static enum tint tint_of(char mark)
{
    switch (mark) {
    case '+': return TINT_GREEN;
    case '=': return TINT_GREEN;
    case '-': return TINT_RED;
    case '!': return TINT_YELLOW;
    case '#': return TINT_DIM;
    case '*': return TINT_BOLD;
    }
    return TINT_NONE;
}

/* How much of the line fits into `width` columns; at least one character. */
static size_t fitting(struct str line, unsigned width)
{
    size_t n = 0;
    unsigned column = 0;
    while (n < line.n) {
        size_t one = utf8_valid_one(str_sub(line, n, line.n));
        if (one == 0)
            one = 1;
        unsigned wide = text_width(str_sub(line, n, n + one));
        if (n && column + wide > width)
            break;
        column += wide;
        n += one;
    }
    return n;
}

/* Long lines go on below, so nothing is ever cut. Puts the rows from `top` on and says how many there are;
 * *ret_line is the number of whole lines of the body up to the last row that was put. */
static unsigned put_body(struct page *page, struct str body, unsigned top, unsigned room, unsigned *ret_line)
{
    unsigned row = 0, line_number = 0;
    while (body.n) {
        struct str line = str_cut(body, '\n', &body);
        char mark = line.n ? line.p[0] : ' ';
        line = str_sub(line, line.n ? 1 : 0, line.n);
        line_number++;
        do {
            size_t n = fitting(line, page->width);
            if (row >= top && row < top + room)
                put(page, str_sub(line, 0, n), tint_of(mark), false);
            line = str_sub(line, n, line.n);
            row++;
        } while (line.n);
        if (row <= top + room)
            *ret_line = line_number;
    }
    return row;
}

static void put_call(struct page *page, struct tui *tui, const struct tui_call *call)
{
    struct page measure = {.arena = page->arena, .width = page->width, .height = 0};
    unsigned line = 0;
    put(page, ends(page, arena_printf(page->arena, "-- %zu of %zu  %.*s", tui->at + 1, tui->count + tui->behind,
                                      STR_ARG(call->where)), call->call), TINT_CYAN, false);
    unsigned room = page->height > page->screen.count + 3 ? page->height - page->screen.count - 3 : 1;
    unsigned rows = put_body(&measure, call->body, 0, 0, &line);
    if (tui->top + room > rows)
        tui->top = rows > room ? rows - room : 0;
    line = 0;
    (void)put_body(page, call->body, tui->top, room, &line);
    /* `seen` counts only lines shown without a gap from the first. */
    if (tui->top <= tui->seen && line > tui->seen)
        tui->seen = line;
    if (tui->top + room < rows)
        put(page, arena_printf(page->arena, "   %u more lines (space)", rows - tui->top - room), TINT_DIM, false);
}

static void put_choices(struct page *page, const struct tui_call *call, const struct tui *tui)
{
    static const char *const ends[TUI_END_COUNT] = {
#define X(seconds, uses, words) words,
        TUI_ENDS(X)
#undef X
    };
    static const char *const reaches[] = {
#define X(name, words) words,
        TUI_REACHES(X)
#undef X
    };
    put(page, arena_printf(page->arena, "Allow always %s%s, by which rule? (narrow to broad, w: elsewhere, t: until, "
                           "Esc: none)", reaches[tui->reach], ends[tui->end]), TINT_BOLD, false);
    for (size_t i = 0; i < call->suggestions; i++)
        put(page, arena_printf(page->arena, " %zu  %.*s", i + 1, STR_ARG(call->labels[i])), TINT_NONE, false);
}

static void put_modes(struct page *page)
{
    static const char *const modes[] = {
#define X(name, words) words,
        TUI_PLAN_MODES(X)
#undef X
    };
    put(page, STR("Approve the plan (Esc: keep planning)"), TINT_BOLD, false);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        put(page, arena_printf(page->arena, " %zu  %s", i + 1, modes[i]), TINT_NONE, false);
}

/* ---- the foot ---- */

static struct str bar(struct page *page, const struct tui *tui)
{
    if (!tui->live)
        return STR("DISCONNECTED: you may be seeing old data; answering is paused until Nod reconnects");
    if (tui->count == 0)
        return STR("q leave   ? help");
    const struct tui_call *open = tui_open(tui);
    if (open->kind != TUI_USE)
        return arena_printf(page->arena, "[y] %s  [e] edit  [n] deny  [x] abort  [?] help",
                            open->kind == TUI_PLAN ? "carry it out" : "answer");
    const char *allow = tui_armed(tui) ? "[y] allow once  [s] session  [a] always  [e] edit"
                                       : " y  allow once   s  session   a  always   e  edit";
    return arena_printf(page->arena, "%s  [n] deny  [x] abort  [?] help", allow);
}

/* The prompt of the input line at the bottom; empty: there is none. */
static struct str prompt_of(struct page *page, const struct tui *tui)
{
    ARENA_SCOPE(scratch);
    switch (tui->mode) {
    case TUI_DENYING: return STR("Deny, and tell the agent: ");
    case TUI_ABORTING: return STR("Abort, and say why: ");
    case TUI_ANSWERING: break;
    case TUI_LOOK:
    case TUI_CHOOSING:
    case TUI_PLANNING:
    case TUI_HELP: return STR_NONE;
    }
    const struct questions *questions = &tui_open(tui)->questions;
    const struct question *q = &questions->all[tui->answered];
    struct str name = text_line(&scratch, str_empty(q->header) ? q->words : q->header);
    return arena_printf(page->arena, "%zu of %zu, %.*s: ", tui->answered + 1, questions->count,
                        STR_ARG(text_fit(&scratch, name, page->width / 2)));
}

static void put_foot(struct page *page, struct tui *tui)
{
    while (page->screen.count + 2 < page->height)
        put(page, STR(""), TINT_NONE, false);
    page->screen.count = page->height - 2;
    ARENA_SCOPE(scratch);
    struct str notice = text_line(&scratch, str_of(tui->notice));
    put(page, arena_str(page->arena, notice), TINT_YELLOW, false);
    struct str ask = prompt_of(page, tui);
    if (str_empty(ask)) {
        put(page, bar(page, tui), tui->live ? TINT_BOLD : TINT_YELLOW, true);
        return;
    }
    struct str words = {tui->words, tui->words_bytes};
    unsigned taken = text_width(ask) + 1, room = page->width > taken + 1 ? page->width - taken : 1;
    while (text_width(words) > room) {
        size_t one = utf8_valid_one(words);
        words = str_sub(words, one ? one : 1, words.n);
    }
    struct str line = arena_printf(page->arena, "%.*s%.*s", STR_ARG(ask), STR_ARG(words));
    put(page, line, TINT_BOLD, false);
    page->screen.cursor = (int)text_width(line);
}

struct tui_screen tui_draw(struct arena *arena, struct tui *tui)
{
    struct page page = {.arena = arena, .width = tui->width < SMALLEST ? SMALLEST : tui->width,
                        .height = tui->height < 6 ? 6 : tui->height};
    const struct tui_call *open = tui_open(tui);
    page.screen.lines = arena_array(arena, struct tui_line, page.height);
    page.screen.cursor = -1;
    struct str state = tui->live ? STR("connected") : STR("DISCONNECTED");
    struct str count = arena_printf(arena, " Nod  %zu waiting", tui->count + tui->behind);
    put(&page, ends(&page, count, state), TINT_BOLD, true);
    if (tui->mode == TUI_HELP) {
        for (size_t i = 0; i < sizeof help / sizeof *help; i++)
            put(&page, str_of(help[i]), TINT_NONE, false);
    } else if (!open) {
        put(&page, STR(""), TINT_NONE, false);
        put(&page, STR("  Nothing waits for you."), TINT_GREEN, false);
    } else {
        put_list(&page, tui);
        if (tui->mode == TUI_CHOOSING)
            put_choices(&page, open, tui);
        else if (tui->mode == TUI_PLANNING)
            put_modes(&page);
        else
            put_call(&page, tui, open);
    }
    put_foot(&page, tui);
    CHECK(page.screen.count == page.height);
    return page.screen;
}
