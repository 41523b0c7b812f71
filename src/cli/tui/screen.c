/* The screen, from the state. */
#include "cli/tui/page.h"

#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>

enum { LIST_ROWS_MIN = 3, SMALLEST = 20, AGENT_COLUMNS = 12, RISK_COLUMNS = 20, NARROW = 80 };
/* From this width on the list is beside the call: two fifths of the screen, at most so many columns. */
enum { SIDE_BY_SIDE = 100, LIST_COLUMNS_MAX = 72 };

static const char *const help[] = {
    "j k arrows     next, previous call", "space b wheel  scroll the call",
    "y              allow once; answer a question; approve a plan",
    "s              allow for this session",
    "a              allow always, by a rule", "e              edit, then allow",
    "n              deny, with words",   "x              stop the run, with words",
    "m              mark this call; y or n then answers all that are marked",
    "h              snooze it: nobody is reminded until then; its deadline holds",
    "p              assign it to a person, who is told at once",
    "/              list only calls with these words (command, agent, session, risk)",
    "q              leave",              "",
    "An allow works when the call has been on screen, unchanged, for half a second. Deny always works.",
};

void tui_page_put(struct tui_page *page, struct str text, enum tint tint, bool reverse)
{
    if (page->screen.count == page->height)
        return;
    page->screen.lines[page->screen.count++] =
        (struct tui_line){.text = text_fit(page->arena, text, page->width), .tint = tint, .reverse = reverse};
}

struct str tui_page_ends(struct tui_page *page, struct str left, struct str right)
{
    unsigned need = text_width(right) + 1;
    if (need + 8 > page->width)
        return left;
    struct str cut = text_fit(page->arena, left, page->width - need);
    unsigned pad = page->width - text_width(cut) - text_width(right);
    return arena_printf(page->arena, "%.*s%*s%.*s", STR_ARG(cut), (int)pad, "", STR_ARG(right));
}

/* ---- the list ---- */

static struct str time_of(struct tui_page *page, const struct tui *tui, const struct tui_call *call)
{
    if (!call->deadline_ms)
        return text_age(page->arena, tui->now_ms - call->asked_ms);
    int64_t left_ms = call->deadline_ms - tui->now_ms;
    return left_ms <= 0 ? STR("expired") : arena_printf(page->arena, "%.*s left",
                                                        STR_ARG(text_age(page->arena, left_ms)));
}

/* Edge and mark of the worst risk, what would happen, and in columns who asks, the risk, and the age. */
static void put_row(struct tui_page *page, const struct tui *tui, const struct tui_call *call, bool open)
{
    struct arena *arena = page->arena;
    const char *edge = call->mark == '?' ? "¦" : call->mark == ' ' || !call->risky ? " " : "▌";
    const char *sign = call->marked ? "*" : open ? ">" : " ";
    struct str left = arena_printf(arena, "%s%s%.*s", edge, sign, STR_ARG(call->headline));
    struct str age = time_of(page, tui, call), right = arena_printf(arena, "%9.*s", STR_ARG(age));
    if (page->width < tui->width && page->width < 60) { /* beside the call, which names the agent */
        right = arena_printf(arena, "%.*s %.*s", STR_ARG(text_fit(arena, call->risky ? call->risks : STR(""), 14)),
                             STR_ARG(right));
    } else if (page->width >= 60) {
        struct str agent = text_fit(arena, call->agent, AGENT_COLUMNS);
        struct str risk = text_fit(arena, call->risky ? call->risks : STR(""), RISK_COLUMNS);
        int pad[] = {(int)(AGENT_COLUMNS - text_width(agent)), (int)(RISK_COLUMNS - text_width(risk))};
        right = arena_printf(arena, "%.*s%*s %.*s%*s %.*s", STR_ARG(agent), pad[0], "", STR_ARG(risk), pad[1], "",
                             STR_ARG(right));
    }
    tui_page_put(page, tui_page_ends(page, left, right),
                 call->snoozed ? TINT_DIM : call->risky ? body_tint(call->mark) : TINT_NONE, open);
}

/* The rows around the chosen one. Where they are is kept, because clicks are told by row. */
static void put_list(struct tui_page *page, struct tui *tui, unsigned rows)
{
    tui->list_width = page->width;
    if (rows < LIST_ROWS_MIN)
        rows = LIST_ROWS_MIN;
    if (rows > tui->count)
        rows = (unsigned)tui->count;
    size_t first = tui->at < rows / 2 ? 0 : tui->at - rows / 2;
    if (first + rows > tui->count)
        first = tui->count - rows;
    tui->list_first = first;
    tui->list_rows = rows;
    for (size_t i = first; i < first + rows; i++) {
        const struct tui_call *call = &tui->calls[i];
        put_row(page, tui, call, i == tui->at);
    }
}

/* ---- the call ---- */

/* Returns how many rows the whole body has. `ret_line` is the last line that was fully visible: how much was seen. */
unsigned tui_page_put_body(struct tui_page *page, struct str body, unsigned top, unsigned room, unsigned *ret_line)
{
    struct body_rows rows = {.body = body, .width = page->width, .indent = page->indent};
    struct str text;
    unsigned row = 0;
    for (; body_next_row(page->arena, &rows, &text); row++) {
        if (row >= top && row < top + room)
            tui_page_put(page, text, body_tint(rows.mark), false);
        if (!rows.line.n && row < top + room)
            *ret_line = rows.number;
    }
    return row;
}

/* The body of the call on screen, scrolled, in at most `room` rows; the last of them says what is left. */
static void put_call_body(struct tui_page *page, struct tui *tui, const struct tui_call *call, unsigned room)
{
    struct tui_page measure = {.arena = page->arena, .width = page->width, .height = 0};
    unsigned line = 0, rows = tui_page_put_body(&measure, call->body, 0, 0, &line);
    if (rows > room && room > 1)
        room--;
    if (tui->top + room > rows)
        tui->top = rows > room ? rows - room : 0;
    line = 0;
    (void)tui_page_put_body(page, call->body, tui->top, room, &line);
    /* `seen` counts only lines shown without a gap from the first. */
    if (tui->top <= tui->seen && line > tui->seen)
        tui->seen = line;
    if (tui->top + room < rows)
        tui_page_put(page, arena_printf(page->arena, "   %u more lines (space)", rows - tui->top - room), TINT_DIM,
                     false);
}

static void put_choices(struct tui_page *page, const struct tui_call *call, const struct tui *tui)
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
    tui_page_put(page, arena_printf(page->arena, "Allow always %s%s, by which rule? Narrow to broad:",
                                reaches[tui->reach], ends[tui->end]), TINT_BOLD, false);
    for (size_t i = 0; i < call->suggestions; i++)
        tui_page_put(page, arena_printf(page->arena, " %zu  %.*s", i + 1, STR_ARG(call->labels[i])), TINT_NONE, false);
}

static void put_help(struct tui_page *page)
{
    for (size_t i = 0; i < sizeof help / sizeof *help; i++)
        tui_page_put(page, str_of(help[i]), TINT_NONE, false);
}

static void put_modes(struct tui_page *page)
{
    static const char *const modes[] = {
#define X(name, words) words,
        TUI_PLAN_MODES(X)
#undef X
    };
    tui_page_put(page, STR("Approve the plan. Then:"), TINT_BOLD, false);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        tui_page_put(page, arena_printf(page->arena, " %zu  %s", i + 1, modes[i]), TINT_NONE, false);
}

void tui_page_put_question(struct tui_page *page, struct tui *tui, unsigned room)
{
    const struct tui_call *open = tui_open(tui);
    tui_page_put(page, open->sentence, TINT_BOLD, false);
    if (tui->mode == TUI_CHOOSING)
        put_choices(page, open, tui);
    else if (tui->mode == TUI_PLANNING)
        put_modes(page);
    else if (tui->mode == TUI_HELP)
        put_help(page);
    else
        put_call_body(page, tui, open, room > 1 ? room - 1 : 1);
}

/* ---- the foot ---- */

struct str tui_page_keys(struct tui_page *page, const struct tui *tui)
{
    if (!tui->live)
        return STR("DISCONNECTED: you may be seeing old data; answering is paused until Nod reconnects");
    if (tui->count == 0)
        return tui->filter_bytes ? STR("[Esc] list all  [/] other words  [q] leave") : STR("q leave   ? help");
    const struct tui_call *open = tui_open(tui);
    if (tui->mode == TUI_CHOOSING)
        return arena_printf(page->arena,
                            "[1-%zu] allow and save the rule  [w] where  [t] until when  [Esc] back",
                            open->suggestions);
    if (tui->mode == TUI_PLANNING)
        return STR("[1-3] approve the plan  [Esc] keep planning");
    size_t marked = tui_marked(tui);
    if (marked)
        return arena_printf(page->arena, "[y] allow %zu marked  [n] deny %zu marked  [m] mark  [Esc] unmark", marked,
                            marked);
    if (open->kind != BODY_USE)
        return arena_printf(page->arena, "%s %s  [e] edit  [x] stop  [?] help", tui_armed(tui) ? "[y]" : " y ",
                            open->kind == BODY_PLAN ? "approve plan  [n] keep planning" : "answer  [n] reply instead");
    const char *all = tui_armed(tui) ? "[y] allow once  [s] session  [a] always  [e] edit"
                                     : " y  allow once   s  session   a  always   e  edit";
    if (page->width < NARROW)
        return tui_armed(tui) ? STR("[y]es [n]o [s]ession [a]lways [e]dit [?]")
                              : STR(" y es [n]o  s ession  a lways  e dit [?]");
    return arena_printf(page->arena, "%s  [n] deny  [x] stop%s  [?] help", all,
                        page->width >= SIDE_BY_SIDE ? "  [h] snooze  [p] assign" : "");
}

struct str tui_page_prompt(struct tui_page *page, const struct tui *tui)
{
    ARENA_SCOPE(scratch);
    const struct tui_call *open = tui_open(tui);
    switch (tui->mode) {
    case TUI_DENYING:
        return !open || open->kind == BODY_USE ? STR("Deny, and tell the agent: ")
               : open->kind == BODY_PLAN       ? STR("Keep planning, and tell the agent: ")
                                               : STR("Reply instead, and tell the agent: ");
    case TUI_ABORTING: return STR("Stop the run, and say why: ");
    case TUI_FINDING: return STR("List only calls with (empty: all): ");
    case TUI_SNOOZING: return STR("Snooze for (30m, 2h, 1d; 0 ends it): ");
    case TUI_ASSIGNING: return STR("Assign to (empty: anybody): ");
    case TUI_ANSWERING: break;
    case TUI_LOOK:
    case TUI_CHOOSING:
    case TUI_PLANNING:
    case TUI_HELP: return STR_NONE;
    }
    const struct questions *questions = &tui_open(tui)->questions;
    const struct asked_question *q = &questions->all[tui->answered];
    struct str name = text_line(&scratch, str_empty(q->header) ? q->words : q->header);
    return arena_printf(page->arena, "%zu of %zu, %.*s: ", tui->answered + 1, questions->count,
                        STR_ARG(text_fit(&scratch, name, page->width / 2)));
}

void tui_page_put_typed(struct tui_page *page, struct str lead, struct str words, bool cursor)
{
    unsigned taken = text_width(lead) + 1, room = page->width > taken + 1 ? page->width - taken : 1;
    while (text_width(words) > room) {
        size_t one = utf8_valid_one(words);
        words = str_sub(words, one ? one : 1, words.n);
    }
    struct str line = arena_printf(page->arena, "%.*s%.*s", STR_ARG(lead), STR_ARG(words));
    if (cursor) {
        page->screen.cursor = (int)text_width(line);
        page->screen.cursor_row = page->screen.count;
    }
    tui_page_put(page, line, TINT_BOLD, false);
}

static void put_foot(struct tui_page *page, struct tui *tui)
{
    while (page->screen.count + 2 < page->height)
        tui_page_put(page, STR(""), TINT_NONE, false);
    page->screen.count = page->height - 2;
    ARENA_SCOPE(scratch);
    struct str notice = text_line(&scratch, str_of(tui->notice));
    tui_page_put(page, arena_str(page->arena, notice), TINT_YELLOW, false);
    struct str ask = tui_page_prompt(page, tui);
    if (str_empty(ask)) {
        tui_page_put(page, tui_page_keys(page, tui), tui->live ? TINT_BOLD : TINT_YELLOW, true);
        return;
    }
    tui_page_put_typed(page, ask, (struct str){tui->words, tui->words_bytes}, true);
}

struct tui_page tui_page_new(struct arena *arena, unsigned width, unsigned height)
{
    struct tui_page page = {
        .arena = arena, .width = width < SMALLEST ? SMALLEST : width, .height = height < 6 ? 6 : height};
    page.screen.lines = arena_array(arena, struct tui_line, page.height);
    page.screen.cursor = -1;
    return page;
}

/* Which call it is, and the call itself, in the rest of the page but for `below` rows. */
static void put_open(struct tui_page *page, struct tui *tui, const struct tui_call *open, unsigned below)
{
    struct str which = arena_printf(page->arena, "-- %zu of %zu  %.*s", tui->at + 1,
                                    tui->count + (tui->filter_bytes ? 0 : tui->behind), STR_ARG(open->where));
    tui_page_put(page, tui_page_ends(page, which, open->call), TINT_CYAN, false);
    unsigned taken = page->screen.count + below;
    tui_page_put_question(page, tui, page->height > taken ? page->height - taken : 2);
}

static void put_beside(struct tui_page *page, struct tui *tui, const struct tui_call *open)
{
    unsigned width = page->width * 2 / 5, rows = page->height - 3;
    width = width < LIST_COLUMNS_MAX ? width : LIST_COLUMNS_MAX;
    struct tui_page list = tui_page_new(page->arena, width, rows);
    struct tui_page call = tui_page_new(page->arena, page->width - width - 3, rows);
    put_list(&list, tui, rows);
    put_open(&call, tui, open, 0);
    for (unsigned i = 0; i < rows; i++) {
        struct tui_line line = i < list.screen.count ? list.screen.lines[i] : (struct tui_line){0};
        const struct tui_line *beside = i < call.screen.count ? &call.screen.lines[i] : NULL;
        line.split = width + 3;
        if (beside) {
            line.beside = beside->text;
            line.beside_tint = beside->tint;
            line.beside_reverse = beside->reverse;
        }
        page->screen.lines[page->screen.count++] = line;
    }
}

/* "Nod  3 waiting, 1 snoozed", and the filter. */
static struct str count_of(struct arena *arena, const struct tui *tui)
{
    size_t snoozed = 0;
    for (size_t i = 0; i < tui->all_count; i++)
        snoozed += tui->all[i].snoozed;
    struct str count = arena_printf(arena, " Nod  %zu waiting", tui->all_count + tui->behind - snoozed);
    if (snoozed)
        count = arena_printf(arena, "%.*s, %zu snoozed", STR_ARG(count), snoozed);
    if (tui->filter_bytes)
        count = arena_printf(arena, "%.*s, %zu with \"%.*s\" (Esc: all)", STR_ARG(count), tui->count,
                             (int)tui->filter_bytes, tui->filter);
    return count;
}

/* A picture in memory: the terminal shows it, tests read it. Always exactly as many lines as the screen has. */
struct tui_screen tui_draw(struct arena *arena, struct tui *tui)
{
    struct tui_page page = tui_page_new(arena, tui->width, tui->height);
    const struct tui_call *open = tui_open(tui);
    struct str state = tui->live ? STR("connected") : STR("DISCONNECTED");
    tui->list_rows = 0;
    tui_page_put(&page, tui_page_ends(&page, count_of(arena, tui), state), TINT_BOLD, true);
    if (!open && tui->mode == TUI_HELP) {
        put_help(&page);
    } else if (!open) {
        tui_page_put(&page, STR(""), TINT_NONE, false);
        tui_page_put(&page, tui->all_count ? STR("  No call has these words.") : STR("  Nothing waits for you."),
                     TINT_GREEN, false);
    } else if (page.width >= SIDE_BY_SIDE && page.height >= 9) {
        put_beside(&page, tui, open);
    } else {
        put_list(&page, tui, page.height / 4);
        put_open(&page, tui, open, 2);
    }
    put_foot(&page, tui);
    CHECK(page.screen.count == page.height);
    return page.screen;
}
