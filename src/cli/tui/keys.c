/* The actions of keys. */
#include "cli/tui/tui.h"

#include "base/err.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

enum { WHEEL_LINES = 3 };

void tui_say(struct tui *tui, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(tui->notice, sizeof tui->notice, format, args);
    va_end(args);
}

const struct tui_call *tui_open(const struct tui *tui)
{
    CHECK(tui->count == 0 || tui->at < tui->count);
    return tui->count ? &tui->calls[tui->at] : NULL;
}

bool tui_armed(const struct tui *tui)
{
    return tui->live && tui->count && !tui_open(tui)->cut && tui->now_us - tui->shown_us >= TUI_ARM_US;
}

static void show(struct tui *tui, size_t at)
{
    tui->at = at;
    tui->top = 0;
    tui->seen = 0;
    tui->chosen = 0;
    tui->mode = TUI_LOOK;
    tui->words_bytes = 0;
    tui->answers_bytes = 0;
    tui->answered = 0;
    tui->shown_us = tui->now_us;
}

void tui_take(struct tui *tui, struct arena *arena, struct tui_call *calls, size_t count)
{
    const struct tui_call *open = tui_open(tui);
    size_t at = tui->at;
    bool same = false;
    for (size_t i = 0; open && i < count; i++) {
        if (!str_eq(calls[i].session, open->session) || !str_eq(calls[i].call, open->call))
            continue;
        at = i;
        same = str_eq(calls[i].digest, open->digest) && str_eq(calls[i].body, open->body);
        if (!same)
            tui_say(tui, "this call changed: look again");
    }
    arena_done(&tui->arena);
    tui->arena = arena_take(arena);
    tui->calls = calls;
    tui->count = count;
    tui->at = count == 0 ? 0 : at < count ? at : count - 1;
    if (!same)
        show(tui, tui->at);
}

void tui_fill(struct tui *tui, struct tui_call whole)
{
    CHECK(tui->count && tui->calls[tui->at].cut);
    whole.where = tui->calls[tui->at].where;
    tui->calls[tui->at] = whole;
    show(tui, tui->at);
}

/* ---- typing a line of text ---- */

static void type(struct tui *tui, uint32_t key)
{
    char bytes[4];
    size_t n = utf8_encode(key, bytes);
    if (utf8_hidden(key) || key == '\t' || tui->words_bytes + n >= sizeof tui->words)
        return;
    memcpy(tui->words + tui->words_bytes, bytes, n);
    tui->words_bytes += n;
}

/* The answer to the question at the foot is kept, and the next one asked. */
static enum tui_act end_answer(struct tui *tui)
{
    const struct tui_call *open = tui_open(tui);
    CHECK(open && tui->answered < open->questions.count);
    if (tui->answers_bytes + tui->words_bytes + 1 > sizeof tui->answers) {
        tui_say(tui, "the answers are too long for a terminal: look at it on the page");
        tui->mode = TUI_LOOK;
        return TUI_NOTHING;
    }
    memcpy(tui->answers + tui->answers_bytes, tui->words, tui->words_bytes);
    tui->answers_bytes += tui->words_bytes;
    tui->answers[tui->answers_bytes++] = '\n';
    tui->words_bytes = 0;
    if (++tui->answered < open->questions.count)
        return TUI_NOTHING;
    tui->mode = TUI_LOOK;
    return tui_armed(tui) ? TUI_ANSWER : TUI_NOTHING;
}

static enum tui_act end_words(struct tui *tui)
{
    if (tui->mode == TUI_ANSWERING)
        return end_answer(tui);
    enum tui_act act = tui->mode == TUI_DENYING ? TUI_DENY : TUI_ABORT;
    tui->mode = TUI_LOOK;
    return act;
}

static enum tui_act press_words(struct tui *tui, uint32_t key)
{
    if (key == TUI_KEY_ESCAPE) {
        tui->mode = TUI_LOOK;
        tui->words_bytes = 0;
    } else if (key == TUI_KEY_ENTER) {
        return end_words(tui);
    } else if (key == TUI_KEY_BACKSPACE) {
        while (tui->words_bytes && ((unsigned char)tui->words[tui->words_bytes - 1] & 0xc0) == 0x80)
            tui->words_bytes--;
        tui->words_bytes -= tui->words_bytes > 0;
    } else if (key < TUI_KEY_UP && key >= ' ') {
        type(tui, key);
    }
    return TUI_NOTHING;
}

/* ---- a rule ---- */

static enum tui_act press_choice(struct tui *tui, uint32_t key)
{
    const struct tui_call *open = tui_open(tui);
    if (key == TUI_KEY_ESCAPE || !open) {
        tui->mode = TUI_LOOK;
    } else if (key == 'w') {
        tui->reach = (tui->reach + 1) % TUI_REACH_COUNT;
    } else if (key == 't') {
        tui->end = (tui->end + 1) % TUI_END_COUNT;
    } else if (key >= '1' && key < '1' + open->suggestions) {
        tui->mode = TUI_LOOK;
        tui->chosen = key - '1';
        if (tui_armed(tui))
            return TUI_ALLOW_ALWAYS;
    }
    return TUI_NOTHING;
}

/* ---- the mode that follows a plan ---- */

static enum tui_act press_plan(struct tui *tui, uint32_t key)
{
#define X(name, words) +1
    enum { MODES = 0 TUI_PLAN_MODES(X) };
#undef X
    if (key == TUI_KEY_ESCAPE) {
        tui->mode = TUI_LOOK;
    } else if (key >= '1' && key < '1' + MODES) {
        tui->mode = TUI_LOOK;
        tui->chosen = key - '1';
        if (tui_armed(tui))
            return TUI_CARRY_OUT;
    }
    return TUI_NOTHING;
}

/* ---- looking ---- */

static unsigned count_lines(const struct tui_call *call)
{
    unsigned lines = 0;
    for (size_t i = 0; i < call->body.n; i++)
        lines += call->body.p[i] == '\n';
    return lines;
}

static void move(struct tui *tui, int step)
{
    if (tui->count && (step > 0 ? tui->at + 1 < tui->count : tui->at > 0))
        show(tui, step > 0 ? tui->at + 1 : tui->at - 1);
}

static void scroll(struct tui *tui, int lines)
{
    int64_t top = (int64_t)tui->top + lines;
    tui->top = top < 0 ? 0 : (unsigned)top; /* drawing keeps it within the body */
}

static enum tui_act begin_always(struct tui *tui, const struct tui_call *open)
{
    if (open->suggestions == 0)
        tui_say(tui, "no rule is suggested for this call; make one with `nod policy add`");
    else if (tui->seen < count_lines(open))
        tui_say(tui, "scroll to the end first: what was not shown cannot be allowed for always");
    else {
        tui->mode = TUI_CHOOSING;
        tui->reach = tui->end = 0;
    }
    return TUI_NOTHING;
}

static enum tui_act answer(struct tui *tui, enum tui_act act)
{
    if (tui_armed(tui))
        return act;
    tui_say(tui, tui->live ? "a moment: it has not been on screen for half a second" : "the server is away");
    return TUI_NOTHING;
}

/* Begins a reply to a question or a plan, for which a plain yes is not an answer. */
static enum tui_act begin_reply(struct tui *tui, enum tui_mode mode)
{
    tui->answers_bytes = 0;
    tui->answered = 0;
    tui->words_bytes = 0;
    tui->mode = mode;
    return TUI_NOTHING;
}

static enum tui_act press_answer(struct tui *tui, uint32_t key)
{
    const struct tui_call *open = tui_open(tui);
    if (!open)
        return TUI_NOTHING;
    if (open->kind != BODY_USE && (key == 'y' || key == 's' || key == 'a'))
        return begin_reply(tui, open->kind == BODY_PLAN ? TUI_PLANNING : TUI_ANSWERING);
    switch (key) {
    case 'y': return answer(tui, TUI_ALLOW_ONCE);
    case 's': return answer(tui, TUI_ALLOW_SESSION);
    case 'e': return answer(tui, TUI_EDIT);
    case 'a': return begin_always(tui, open);
    case 'n': tui->mode = TUI_DENYING; break;
    case 'x': tui->mode = TUI_ABORTING; break;
    }
    return TUI_NOTHING;
}

static enum tui_act press_look(struct tui *tui, uint32_t key)
{
    int page = tui->height > 12 ? (int)tui->height / 2 : 4;
    switch (key) {
    case 'q': return TUI_QUIT;
    case '?': tui->mode = TUI_HELP; break;
    case 'j': case TUI_KEY_DOWN: move(tui, 1); break;
    case 'k': case TUI_KEY_UP: move(tui, -1); break;
    case ' ': case TUI_KEY_PAGE_DOWN: scroll(tui, page); break;
    case 'b': case TUI_KEY_PAGE_UP: scroll(tui, -page); break;
    case TUI_KEY_HOME: tui->top = 0; break;
    case TUI_KEY_END: scroll(tui, 1 << 24); break;
    case TUI_KEY_WHEEL_DOWN: scroll(tui, WHEEL_LINES); break;
    case TUI_KEY_WHEEL_UP: scroll(tui, -WHEEL_LINES); break;
    default: return press_answer(tui, key);
    }
    return TUI_NOTHING;
}

enum tui_act tui_press(struct tui *tui, uint32_t key)
{
    tui->notice[0] = '\0';
    switch (tui->mode) {
    case TUI_DENYING:
    case TUI_ABORTING:
    case TUI_ANSWERING: return press_words(tui, key);
    case TUI_PLANNING: return press_plan(tui, key);
    case TUI_CHOOSING: return press_choice(tui, key);
    case TUI_HELP: tui->mode = TUI_LOOK; return TUI_NOTHING;
    case TUI_LOOK: break;
    }
    return press_look(tui, key);
}
