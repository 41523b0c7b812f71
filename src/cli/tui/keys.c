/* The actions of keys. */
#include "cli/tui/tui.h"

#include "base/err.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

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

/* Everything that was typed or chosen belongs to the call that was shown, and goes with it. */
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

static bool same_call(const struct tui_call *a, const struct tui_call *b)
{
    return str_eq(a->session, b->session) && str_eq(a->call, b->call);
}

static bool matches(const struct tui *tui, const struct tui_call *call)
{
    const struct str texts[] = {call->headline, call->agent, call->where, call->risks, call->tool};
    struct str wanted = {tui->filter, tui->filter_bytes};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t at = 0; at + wanted.n <= texts[i].n; at++)
            if (strncasecmp(texts[i].p + at, wanted.p, wanted.n) == 0)
                return true;
    return wanted.n == 0;
}

/* Lists the calls that match the filter, and those that are marked. `old`: the call on screen, which may be freed. */
static void list_calls(struct tui *tui, const struct tui_call *old)
{
    bool there = false, same = false;
    size_t at = tui->at;
    tui->calls = arena_array(&tui->arena, struct tui_call, tui->all_count + 1);
    tui->count = 0;
    for (size_t i = 0; i < tui->all_count; i++) {
        const struct tui_call *call = &tui->all[i];
        if (!call->marked && !matches(tui, call))
            continue;
        if (old && same_call(call, old)) {
            there = true;
            at = tui->count;
            same = str_eq(call->digest, old->digest) && str_eq(call->body, old->body);
        }
        tui->calls[tui->count++] = *call;
    }
    if (there && !same)
        tui_say(tui, "this call has changed: look at it again");
    tui->at = tui->count == 0 ? 0 : at < tui->count ? at : tui->count - 1;
    if (!same)
        show(tui, tui->at);
}

/* The list is replaced as a whole; `tui` takes over the arena. A mark is kept only if the call is the same to its
 * digest, and the open call stays open wherever it is now. */
void tui_take(struct tui *tui, struct arena *arena, struct tui_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tui->count; k++)
            calls[i].marked |= tui->calls[k].marked && same_call(&calls[i], &tui->calls[k]) &&
                               str_eq(calls[i].digest, tui->calls[k].digest);
    struct arena old = arena_take(&tui->arena);
    const struct tui_call *open = tui_open(tui);
    tui->arena = arena_take(arena);
    tui->all = calls;
    tui->all_count = count;
    list_calls(tui, open);
    arena_done(&old);
}

size_t tui_marked(const struct tui *tui)
{
    size_t count = 0;
    for (size_t i = 0; i < tui->count; i++)
        count += tui->calls[i].marked;
    return count;
}

/* The whole of a call that the list had only in part. Keys pressed before it was there do not count: it is shown
 * anew. */
void tui_fill(struct tui *tui, struct tui_call whole)
{
    CHECK(tui->count && tui->calls[tui->at].cut);
    whole.where = tui->calls[tui->at].where;
    for (size_t i = 0; i < tui->all_count; i++)
        if (same_call(&tui->all[i], &whole))
            tui->all[i] = whole;
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

/* The filter is what has been typed; marks outside it stay listed. */
static enum tui_act end_filter(struct tui *tui)
{
    struct tui_call *open = tui->count ? &tui->calls[tui->at] : NULL;
    tui->filter_bytes = tui->words_bytes < sizeof tui->filter ? tui->words_bytes : 0;
    memcpy(tui->filter, tui->words, tui->filter_bytes);
    tui->words_bytes = 0;
    tui->mode = TUI_LOOK;
    for (size_t i = 0; i < tui->all_count; i++)
        for (size_t k = 0; k < tui->count; k++)
            if (same_call(&tui->all[i], &tui->calls[k]))
                tui->all[i].marked = tui->calls[k].marked;
    list_calls(tui, open);
    return TUI_NOTHING;
}

static enum tui_act end_words(struct tui *tui)
{
    if (tui->mode == TUI_ANSWERING)
        return end_answer(tui);
    if (tui->mode == TUI_FINDING)
        return end_filter(tui);
    if (tui->mode == TUI_SNOOZING || tui->mode == TUI_ASSIGNING) {
        enum tui_act mark = tui->mode == TUI_SNOOZING ? TUI_SNOOZE : TUI_ASSIGN;
        tui->mode = TUI_LOOK;
        return mark;
    }
    enum tui_act act = tui->mode == TUI_ABORTING ? TUI_ABORT : tui_marked(tui) ? TUI_DENY_MARKED : TUI_DENY;
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

/* A choice counts only once the call has been on the screen for a moment (tui_armed), as every allow. */
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

/* A rule for the future may only be made by somebody who has seen the whole call. */
static enum tui_act begin_always(struct tui *tui, const struct tui_call *open)
{
    if (open->suggestions == 0)
        tui_say(tui, "no safe rule to suggest; make one with `nod policy add`");
    else if (tui->seen < count_lines(open))
        tui_say(tui, "scroll to the end to enable \"always\"");
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
    tui_say(tui, tui->live ? "the call has just come on screen: wait half a second" : "the server is away");
    return TUI_NOTHING;
}

/* Begins a reply that is typed or chosen. */
static enum tui_act begin_reply(struct tui *tui, enum tui_mode mode)
{
    tui->answers_bytes = 0;
    tui->answered = 0;
    tui->words_bytes = 0;
    tui->mode = mode;
    return TUI_NOTHING;
}

/* Marks the call on screen, or takes its mark away, and goes on to the next. Only what was seen whole can be marked. */
static void mark(struct tui *tui)
{
    struct tui_call *open = tui->count ? &tui->calls[tui->at] : NULL;
    if (!open)
        return;
    if (open->marked)
        open->marked = false;
    else if (open->kind != BODY_USE)
        tui_say(tui, "this call needs an answer of its own");
    else if (open->risky)
        tui_say(tui, "this call is risky: answer it by itself");
    else if (!tui_armed(tui))
        tui_say(tui, "the call has just come on screen: wait half a second");
    else if (tui->seen < count_lines(open))
        tui_say(tui, "scroll to the end first");
    else
        open->marked = true;
    if (open->marked)
        move(tui, 1);
}

static void click(struct tui *tui, uint32_t place)
{
    uint32_t row = place & ((1u << TUI_CLICK_SHIFT) - 1), column = place >> TUI_CLICK_SHIFT;
    if (column < tui->list_width && row >= 1 && row <= tui->list_rows && tui->list_first + row - 1 < tui->count)
        show(tui, tui->list_first + row - 1);
}

static void unmark_all(struct tui *tui)
{
    for (size_t i = 0; i < tui->count; i++)
        tui->calls[i].marked = false;
}

/* Keys while calls are marked: an answer is for all of them. */
static enum tui_act press_marked(struct tui *tui, uint32_t key)
{
    switch (key) {
    case 'y': return tui->live ? TUI_ALLOW_MARKED : TUI_NOTHING;
    case 'n': tui->mode = TUI_DENYING; break;
    case TUI_KEY_ESCAPE: unmark_all(tui); break;
    default: tui_say(tui, "calls are marked: y or n answers them together, Esc unmarks them");
    }
    return TUI_NOTHING;
}

/* Denying, aborting and snoozing are open at once, since they let nothing happen; what allows goes through answer or
 * a choice. */
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
    case 'h': return begin_reply(tui, TUI_SNOOZING);
    case 'p': return begin_reply(tui, TUI_ASSIGNING);
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
    case 'm': mark(tui); break;
    case '/': tui->mode = TUI_FINDING; tui->words_bytes = 0; break;
    default:
        if (key >= TUI_KEY_CLICK)
            click(tui, key - TUI_KEY_CLICK);
        else if (key == TUI_KEY_ESCAPE && tui->filter_bytes && !tui_marked(tui))
            return end_filter(tui);
        else
            return tui_marked(tui) ? press_marked(tui, key) : press_answer(tui, key);
    }
    return TUI_NOTHING;
}

/* One key, and the act that follows from it for the caller. It makes no request and draws nothing, so that tests can
 * press keys. */
enum tui_act tui_press(struct tui *tui, uint32_t key)
{
    tui->notice[0] = '\0';
    switch (tui->mode) {
    case TUI_DENYING:
    case TUI_ABORTING:
    case TUI_FINDING:
    case TUI_SNOOZING:
    case TUI_ASSIGNING:
    case TUI_ANSWERING: return press_words(tui, key);
    case TUI_PLANNING: return press_plan(tui, key);
    case TUI_CHOOSING: return press_choice(tui, key);
    case TUI_HELP: tui->mode = TUI_LOOK; return TUI_NOTHING;
    case TUI_LOOK: break;
    }
    return press_look(tui, key);
}
