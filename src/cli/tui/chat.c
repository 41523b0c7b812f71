/* The conversation on a screen (chat.h): what was said, a question when one waits, and the line to write on. */
#include "cli/tui/chat.h"

#include "base/utf8.h"
#include "cli/tui/page.h"

#include <string.h>

enum {
    SAID_BYTES_MAX = 512 << 10,
    SAID_BYTES_KEPT = 256 << 10,
    LIVE_BYTES_MAX = 256 << 10,
    QUIET_US = 1000000,  /* no key for so long: the person is not typing */
    CHAT_ROWS_MIN = 3,
    LINES_LEFT = 200,    /* on the terminal, when the conversation is over */
    CTRL_D = 4,
    CTRL_U = 21,
};

#define INDENT "        "

void chat_init(struct chat *chat, struct tui *tui, struct str title, const char *agent)
{
    *chat = (struct chat){.tui = tui, .title = title, .agent = agent};
    chat->said = buf_init(SAID_BYTES_MAX);
    chat->live = buf_init(LIVE_BYTES_MAX);
    chat->key_us = -QUIET_US;
}

void chat_done(struct chat *chat)
{
    buf_done(&chat->said);
    buf_done(&chat->live);
    for (size_t i = 0; i < chat->history_count; i++)
        buf_done(&chat->history[i]);
}

/* ---- the conversation ---- */

/* Drops the oldest lines of the conversation when the buffer is nearly full. The log keeps them. */
static void make_room(struct chat *chat)
{
    struct str all = buf_str(&chat->said);
    if (all.n < SAID_BYTES_MAX - SAID_BYTES_KEPT / 2)
        return;
    struct str kept = str_sub(all, all.n - SAID_BYTES_KEPT, all.n);
    kept = str_sub(kept, str_find(kept, '\n') + 1, kept.n);
    memmove(chat->said.p, kept.p, kept.n);
    chat->said.n = kept.n;
}

static void put_said(struct buf *buf, char mark, const char *lead, struct str text)
{
    text = str_sub(text, 0, text.n > SAID_BYTES_KEPT / 4 ? SAID_BYTES_KEPT / 4 : text.n);
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    do {
        ARENA_SCOPE(scratch);
        struct str line = str_cut(text, '\n', &text);
        buf_putc(buf, mark);
        buf_puts(buf, lead);
        while (line.n) { /* a tab is a column in what models write; here it would part the line */
            struct str piece = str_cut(line, '\t', &line);
            BUF_ADD(buf, text_line(&scratch, piece), str_of(line.n ? "    " : ""));
        }
        buf_putc(buf, '\n');
        lead = INDENT;
    } while (text.n);
}

void chat_say(struct chat *chat, char mark, const char *lead, struct str text)
{
    buf_clear(&chat->live);
    make_room(chat);
    put_said(&chat->said, mark, lead, text);
}

void chat_say_ends(struct chat *chat, char mark, struct str left, struct str right)
{
    ARENA_SCOPE(scratch);
    chat_say(chat, mark, "", left);
    chat->said.n--;
    BUF_ADD(&chat->said, STR("\t"), text_line(&scratch, right), STR("\n"));
}

/* The last lines are left on the ordinary screen when the program ends, so that the person sees what was said. */
void chat_last(struct buf *buf, const struct chat *chat, bool color, unsigned width)
{
    struct str said = buf_str(&chat->said);
    unsigned lines = 0;
    size_t at = said.n;
    while (at > 0 && lines <= LINES_LEFT)
        lines += said.p[--at] == '\n';
    body_write(buf, str_sub(said, at ? at + 1 : 0, said.n), color, width, 0);
}

void chat_stream(struct chat *chat, struct str text) { buf_put(&chat->live, text); }

/* ---- keys ---- */

/* A question takes the keys only when nothing is being typed and none was there before: a letter meant for a prompt
 * must never answer a question. */
void chat_settle(struct chat *chat)
{
    bool has = chat->tui->count > 0;
    bool quiet = chat->line_bytes == 0 && chat->tui->now_us - chat->key_us >= QUIET_US;
    if (!has)
        chat->asking = false;
    else if (!chat->had_question && quiet)
        chat->asking = true;
    chat->had_question = has;
}

static void set_line(struct chat *chat, struct str text)
{
    chat->line_bytes = text.n < sizeof chat->line ? text.n : sizeof chat->line;
    memcpy(chat->line, text.p ? text.p : "", chat->line_bytes);
}

/* The line beyond the newest entry is the empty one. */
static void recall(struct chat *chat, int step)
{
    if (step < 0 ? chat->history_at == 0 : chat->history_at == chat->history_count)
        return;
    chat->history_at = step < 0 ? chat->history_at - 1 : chat->history_at + 1;
    bool own = chat->history_at == chat->history_count;
    set_line(chat, own ? STR_NONE : buf_str(&chat->history[chat->history_at]));
}

static void rub_out(struct chat *chat)
{
    while (chat->line_bytes && ((unsigned char)chat->line[chat->line_bytes - 1] & 0xc0) == 0x80)
        chat->line_bytes--;
    chat->line_bytes -= chat->line_bytes > 0;
}

static void type(struct chat *chat, uint32_t key)
{
    char bytes[4];
    size_t n = key >= ' ' && key < TUI_KEY_UP && !utf8_hidden(key) ? utf8_encode(key, bytes) : 0;
    if (chat->line_bytes + n > sizeof chat->line)
        return;
    memcpy(chat->line + chat->line_bytes, bytes, n);
    chat->line_bytes += n;
}

static void scroll(struct chat *chat, int rows)
{
    int64_t back = (int64_t)chat->back + rows;
    chat->back = back < 0 ? 0 : (unsigned)back; /* drawing limits it to the length of the conversation */
}

static int press_line(struct chat *chat, uint32_t key)
{
    int page = chat->tui->height > 12 ? (int)chat->tui->height / 2 : 4;
    switch (key) {
    case TUI_KEY_UP: recall(chat, -1); break;
    case TUI_KEY_DOWN: recall(chat, 1); break;
    case TUI_KEY_PAGE_UP: scroll(chat, page); break;
    case TUI_KEY_PAGE_DOWN: scroll(chat, -page); break;
    case TUI_KEY_WHEEL_UP: scroll(chat, 3); break;
    case TUI_KEY_WHEEL_DOWN: scroll(chat, -3); break;
    case TUI_KEY_BACKSPACE: rub_out(chat); break;
    case CTRL_U: chat->line_bytes = 0; break;
    case CTRL_D: return chat->line_bytes ? TUI_NOTHING : (int)CHAT_END;
    case TUI_KEY_ENTER: return str_trim((struct str){chat->line, chat->line_bytes}).n ? (int)CHAT_PROMPT : TUI_NOTHING;
    default: type(chat, key); break;
    }
    return TUI_NOTHING;
}

/* Keys go to the line or to the question; Tab changes. Returns an act of the inbox or one of the conversation. */
int chat_press(struct chat *chat, uint32_t key)
{
    struct tui *tui = chat->tui;
    bool leaves = key == TUI_KEY_TAB || (key == TUI_KEY_ESCAPE && tui->mode == TUI_LOOK);
    if (!chat->asking)
        chat->key_us = tui->now_us;
    if (leaves && tui->count) {
        chat->asking = !chat->asking;
        tui->shown_us = tui->now_us; /* the keys of the first half second are dropped */
        return TUI_NOTHING;
    }
    if (!chat->asking)
        return press_line(chat, key);
    if (key == 'q' && tui->mode == TUI_LOOK)
        return TUI_NOTHING;
    return tui_press(tui, key);
}

/* The time of the last key is set far back, so that a question that waits may be shown at once. */
void chat_sent(struct chat *chat)
{
    if (chat->history_count == CHAT_HISTORY) {
        buf_done(&chat->history[0]);
        memmove(chat->history, chat->history + 1, sizeof *chat->history * (CHAT_HISTORY - 1));
        chat->history_count--;
    }
    struct buf *kept = &chat->history[chat->history_count++];
    *kept = buf_init(CHAT_LINE_BYTES);
    buf_put(kept, (struct str){chat->line, chat->line_bytes});
    chat->history_at = chat->history_count;
    chat->line_bytes = 0;
    chat->back = 0;
    chat->key_us = -QUIET_US;
}

/* ---- the screen ---- */

static void put_rule(struct tui_page *page, const char *sign, struct str words)
{
    BUF_SCOPE(line, 4096);
    unsigned columns = text_width(words);
    if (words.n) {
        buf_printf(&line, "%s%s %.*s ", sign, sign, STR_ARG(words));
        columns += 4;
    }
    for (; columns < page->width && line.n < 4000; columns++)
        buf_puts(&line, sign);
    tui_page_put(page, arena_str(page->arena, buf_str(&line)), words.n ? TINT_YELLOW : TINT_DIM, false);
}

/* The newest rows that fit, or as far back as the person has scrolled. */
static void put_said_rows(struct tui_page *page, struct chat *chat, unsigned room)
{
    BUF_SCOPE(all, SAID_BYTES_MAX + LIVE_BYTES_MAX);
    struct tui_page measure = {.arena = page->arena, .width = page->width, .indent = sizeof INDENT - 1};
    unsigned line, end = page->screen.count + room;
    page->indent = measure.indent;
    buf_put(&all, buf_str(&chat->said));
    if (chat->live.n)
        put_said(&all, ' ', arena_printf(page->arena, "%-8s", chat->agent).p, buf_str(&chat->live));
    unsigned rows = tui_page_put_body(&measure, buf_str(&all), 0, 0, &line);
    unsigned hidden = rows > room ? rows - room : 0;
    chat->back = chat->back > hidden ? hidden : chat->back;
    (void)tui_page_put_body(page, arena_str(page->arena, buf_str(&all)), hidden - chat->back, room, &line);
    while (page->screen.count < end)
        tui_page_put(page, STR(""), TINT_NONE, false);
    page->indent = 0;
}

/* Rows that the question would like: its body and the five lines around it. */
static unsigned question_rows(struct tui_page *page, const struct chat *chat)
{
    struct tui_page measure = {.arena = page->arena, .width = page->width};
    unsigned line, rows = tui_page_put_body(&measure, tui_open(chat->tui)->body, 0, 0, &line);
    unsigned least = chat->tui->mode == TUI_LOOK ? 5 : 18;
    return (rows + 4 > least ? rows + 4 : least);
}

/* The question has a fixed height, so that the conversation above it does not jump when the question changes. */
static void put_question(struct tui_page *page, struct chat *chat, unsigned room)
{
    struct tui *tui = chat->tui;
    struct str which = tui->count > 1 ? arena_printf(page->arena, "Waits for your answer, 1 of %zu", tui->count)
                                      : STR("Waits for your answer");
    unsigned end = page->screen.count + room;
    put_rule(page, "━", which);
    tui_page_put_question(page, tui, room - 3);
    while (page->screen.count + 2 < end)
        tui_page_put(page, STR(""), TINT_NONE, false);
    page->screen.count = end - 2;
    tui_page_put(page, arena_str(page->arena, str_of(tui->notice)), TINT_YELLOW, false);
    struct str ask = tui_page_prompt(page, tui);
    if (!str_empty(ask))
        tui_page_put_typed(page, ask, (struct str){tui->words, tui->words_bytes}, chat->asking);
    else
        tui_page_put(page, chat->asking ? tui_page_keys(page, tui) : STR("Tab or Esc to answer"), TINT_BOLD,
                     chat->asking);
}

/* The question takes the room it needs, but leaves some lines of the conversation. */
struct tui_screen chat_draw(struct arena *arena, struct chat *chat)
{
    struct tui *tui = chat->tui;
    struct tui_page page = tui_page_new(arena, tui->width, tui->height);
    tui_page_put(&page, tui_page_ends(&page, chat->title, str_of(chat->status)), TINT_BOLD, false);
    put_rule(&page, "─", STR_NONE);
    unsigned left = page.height - page.screen.count - 2, asks = 0;
    if (tui_open(tui)) {
        unsigned most = left > CHAT_ROWS_MIN + 5 ? left - CHAT_ROWS_MIN : left, wants = question_rows(&page, chat);
        asks = wants < most ? wants : most;
        asks = asks < 4 ? 4 : asks;
    }
    put_said_rows(&page, chat, left > asks ? left - asks : 0);
    if (asks)
        put_question(&page, chat, asks);
    put_rule(&page, "─", STR_NONE);
    if (chat->asking)
        tui_page_put(&page, arena_printf(arena, "> Tab to write to %s", chat->agent), TINT_DIM, false);
    else
        tui_page_put_typed(&page, STR("> "), (struct str){chat->line, chat->line_bytes}, true);
    return page.screen;
}
