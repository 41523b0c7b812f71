/* The inbox in a terminal.
 *
 * Pure: the state is a value, a key changes it and may ask for an act, and the screen is a function of the
 * state. Time and the size of the terminal are members. terminal.c alone knows a terminal, ../watch.c alone
 * knows a server; so everything here is tested without either.
 *
 * Promises
 *  1. No allow is asked for unless the call has been on screen, unchanged, for TUI_ARM_US, and the server is
 *     there; deny and abort are always live.
 *  2. Text of agents passes through cli/text.h: no control character reaches a line of the screen.
 *  3. A line is never wider than the terminal.
 */
#ifndef CLI_TUI_TUI_H
#define CLI_TUI_TUI_H

#include "base/arena.h"
#include "base/json.h"
#include "cli/body.h"

#include <stdint.h>

enum {
    TUI_ARM_US = 500000,
    TUI_WORDS_BYTES = 2048,
    TUI_ANSWERS_BYTES = 8192,
    TUI_SUGGESTIONS = 5,
    TUI_NOTICE_BYTES = 240,
    TUI_FILTER_BYTES = 100,
};

/* Keys that are no characters; characters are their code points. */
enum tui_key {
    TUI_KEY_UP = 0x110000, TUI_KEY_DOWN, TUI_KEY_PAGE_UP, TUI_KEY_PAGE_DOWN, TUI_KEY_HOME, TUI_KEY_END,
    TUI_KEY_ENTER, TUI_KEY_ESCAPE, TUI_KEY_BACKSPACE, TUI_KEY_TAB, TUI_KEY_WHEEL_UP, TUI_KEY_WHEEL_DOWN, TUI_KEY_NONE,
    TUI_KEY_CLICK = 0x200000, /* and above: a click, see tui_click */
};
enum { TUI_CLICK_SHIFT = 12 };
static inline uint32_t tui_click(unsigned row, unsigned column)
{
    return TUI_KEY_CLICK + (column << TUI_CLICK_SHIFT) + row;
}

#define TUI_REACHES(X)                      \
    X("project", "in this project")         \
    X("session", "in this session")         \
    X("everywhere", "everywhere")
enum { TUI_REACH_COUNT = 3 };
/* When the rule of an always ends: after seconds, or after a number of calls; 0: neither. */
#define TUI_ENDS(X)                         \
    X(0, 0, "")                             \
    X(3600, 0, ", for an hour")             \
    X(86400, 0, ", for a day")              \
    X(0, 5, ", for 5 calls")
enum { TUI_END_COUNT = 4 };

enum tui_act {
    TUI_NOTHING, TUI_ALLOW_ONCE, TUI_ALLOW_SESSION, TUI_ALLOW_ALWAYS, TUI_DENY, TUI_ABORT, TUI_EDIT, TUI_ANSWER,
    TUI_CARRY_OUT, TUI_ALLOW_MARKED, TUI_DENY_MARKED, TUI_SNOOZE, TUI_ASSIGN, TUI_QUIT,
};

enum tui_mode { TUI_LOOK, TUI_DENYING, TUI_ABORTING, TUI_CHOOSING, TUI_ANSWERING, TUI_PLANNING, TUI_FINDING,
                TUI_SNOOZING, TUI_ASSIGNING, TUI_HELP };

/* X(wire name, words): the modes that may follow a plan, in the order of their keys. */
#define TUI_PLAN_MODES(X)                                          \
    X("default", "Ask first: each change is asked about")          \
    X("acceptEdits", "Accept edits: changes to files pass")        \
    X("bypassPermissions", "Allow everything that no rule denies")

/* A waiting call, made ready for the screen. */
struct tui_call {
    enum body_kind kind;
    struct str session, call, digest;
    struct str tool, agent, headline, sentence, where, risks; /* safe lines */
    char mark;                         /* mark of its worst risk class (body.h) */
    bool snoozed;                      /* a person put it off: it is listed last */
    bool risky;                        /* must be answered alone, not together with others */
    struct str body;                   /* body.h */
    int64_t asked_ms, deadline_ms;     /* 0: none */
    const struct json *input;
    struct questions questions;        /* for BODY_QUESTIONS */
    struct str labels[TUI_SUGGESTIONS], rules[TUI_SUGGESTIONS]; /* words; JSON arrays */
    size_t suggestions;
    bool cut;                          /* too large for the list: it cannot be allowed before it was read whole */
    bool marked;                       /* to be answered together with others; it was on screen to its end */
};

/* The inbox's state; everything shown is computed from it. */
struct tui {
    struct arena arena;     /* owns the calls */
    struct tui_call *all;   /* oldest first */
    size_t all_count;
    struct tui_call *calls; /* those that match the filter */
    size_t count, at;       /* `at`: index of the call on screen, if there is any */
    char filter[TUI_FILTER_BYTES];
    size_t filter_bytes;    /* 0: every call is listed */
    size_t list_first;      /* the list on screen: its first call, and its rows from row 1 on */
    unsigned list_rows, list_width;
    unsigned top;           /* first line of its body that is on screen */
    unsigned seen;          /* number of its lines that have been on screen, counted from the first */
    size_t chosen;          /* index of the chosen suggestion, or of the mode that follows a plan */
    size_t reach;           /* where the rule of an always holds: of TUI_REACHES */
    size_t end;             /* when it ends: of TUI_ENDS */
    char answers[TUI_ANSWERS_BYTES]; /* answers to the questions so far, one line each */
    size_t answers_bytes, answered;
    size_t behind;          /* calls that wait beyond these: the server's list was cut */
    enum tui_mode mode;
    char words[TUI_WORDS_BYTES];
    size_t words_bytes;
    int64_t shown_us;       /* since when the call has been on screen unchanged */
    int64_t now_us, now_ms;
    bool live;              /* the server is connected and has sent all calls */
    char notice[TUI_NOTICE_BYTES];
    unsigned width, height;
};

struct tui_line {
    struct str text; /* safe, at most as wide as the terminal */
    enum tint tint;
    bool reverse;
    unsigned split;  /* the column where `beside` begins; 0: there is nothing beside it */
    struct str beside;
    enum tint beside_tint;
    bool beside_reverse;
};

/* The lines of the terminal, computed from the state. */
struct tui_screen {
    struct tui_line *lines; /* one per line of the terminal */
    unsigned count;
    int cursor;             /* column of the cursor; -1: there is none */
    unsigned cursor_row;
};

/* Takes a new list: `arena` and what lives in it belong to the state from now on. The call on screen stays there if
 * it still waits unchanged; else the half second in which no key answers begins again. */
void tui_take(struct tui *tui, struct arena *arena, struct tui_call *calls, size_t count);
const struct tui_call *tui_open(const struct tui *tui); /* NULL: nothing waits */
/* The call on screen was read whole; it lives in the state's arena. */
void tui_fill(struct tui *tui, struct tui_call whole);
bool tui_armed(const struct tui *tui);
/* Number of calls that are marked; they are among `calls`. */
size_t tui_marked(const struct tui *tui);
enum tui_act tui_press(struct tui *tui, uint32_t key);
struct tui_screen tui_draw(struct arena *arena, struct tui *tui);
void tui_say(struct tui *tui, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A member of {"pendingApprovals":[…]} as the screen needs it; `title` is its session's and may be empty. */
struct tui_call tui_read_call(struct arena *arena, const struct json *pending, struct str title);

/* ---- the terminal (terminal.c) ---- */
struct rc tui_terminal_open(bool color, struct err *err);
void tui_terminal_close(void);
/* Gives the terminal to another program (pause) and takes it back (resume). */
void tui_terminal_pause(void);
void tui_terminal_resume(void);
void tui_terminal_size(unsigned *ret_width, unsigned *ret_height);
/* The next key that has been pressed; TUI_KEY_NONE when there is none. */
uint32_t tui_terminal_key(void);
void tui_terminal_show(const struct tui_screen *screen);

#endif
