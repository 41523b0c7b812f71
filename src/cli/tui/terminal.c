/* The terminal, by ncurses; no other file knows ncurses. The lines it gets are safe text already (tui.h). */
#include "cli/tui/tui.h"

#include "base/err.h"

#include <locale.h>
#include <unistd.h>
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

static bool colors;

/* ncurses is known to this file alone. From here on only tui_terminal_show may write to the terminal, until the
 * close. */
struct rc tui_terminal_open(bool color, struct err *err)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_INVALID, "this needs a terminal; without one use `nod pending --watch`");
    (void)setlocale(LC_CTYPE, "");
    SCREEN *made = newterm(NULL, stdout, stdin);
    if (!made)
        return err_set(err, ERR_INVALID, "this terminal (TERM) is not known; use `nod pending --watch`");
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(25);
    (void)mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    (void)mouseinterval(0);
    colors = color && has_colors();
    if (colors) {
        (void)start_color();
        (void)use_default_colors();
        (void)init_pair(TINT_RED, COLOR_RED, -1);
        (void)init_pair(TINT_GREEN, COLOR_GREEN, -1);
        (void)init_pair(TINT_YELLOW, COLOR_YELLOW, -1);
        (void)init_pair(TINT_CYAN, COLOR_CYAN, -1);
        (void)init_pair(TINT_MAGENTA, COLOR_MAGENTA, -1);
    }
    return RC_OK;
}

void tui_terminal_close(void) { (void)endwin(); }

void tui_terminal_pause(void)
{
    (void)def_prog_mode();
    (void)endwin();
}

void tui_terminal_resume(void)
{
    (void)reset_prog_mode();
    (void)clearok(stdscr, TRUE);
    (void)refresh();
}

void tui_terminal_size(unsigned *ret_width, unsigned *ret_height)
{
    int height, width;
    getmaxyx(stdscr, height, width);
    *ret_width = (unsigned)width;
    *ret_height = (unsigned)height;
}

static uint32_t mouse(void)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return TUI_KEY_NONE;
    if (event.bstate & BUTTON1_PRESSED)
        return tui_click((unsigned)event.y, (unsigned)event.x);
    return event.bstate & BUTTON4_PRESSED ? TUI_KEY_WHEEL_UP : TUI_KEY_WHEEL_DOWN;
}

static uint32_t function_key(wint_t key)
{
    switch (key) {
    case KEY_UP: return TUI_KEY_UP;
    case KEY_DOWN: return TUI_KEY_DOWN;
    case KEY_PPAGE: return TUI_KEY_PAGE_UP;
    case KEY_NPAGE: return TUI_KEY_PAGE_DOWN;
    case KEY_HOME: return TUI_KEY_HOME;
    case KEY_END: return TUI_KEY_END;
    case KEY_ENTER: return TUI_KEY_ENTER;
    case KEY_BACKSPACE: return TUI_KEY_BACKSPACE;
    case KEY_MOUSE: return mouse();
    }
    return TUI_KEY_NONE;
}

/* Does not block. Keys without a meaning here, Ctrl-L among them, are passed over. */
uint32_t tui_terminal_key(void)
{
    for (;;) {
        wint_t key;
        int kind = get_wch(&key);
        if (kind == ERR)
            return TUI_KEY_NONE;
        uint32_t found = kind == KEY_CODE_YES ? function_key(key)
                         : key == '\r' || key == '\n' ? TUI_KEY_ENTER
                         : key == 27 ? TUI_KEY_ESCAPE
                         : key == '\t' ? TUI_KEY_TAB
                         : key == 127 || key == 8 ? TUI_KEY_BACKSPACE
                         : key == 12 ? TUI_KEY_NONE : (uint32_t)key;
        if (found != TUI_KEY_NONE)
            return found;
    }
}

static attr_t attributes(enum tint tint, bool reverse)
{
    attr_t attr = reverse ? A_REVERSE : A_NORMAL;
    if (tint == TINT_BOLD)
        return attr | A_BOLD;
    if (tint == TINT_DIM)
        return attr | A_DIM;
    if (tint == TINT_NONE)
        return attr;
    return colors ? attr | (attr_t)COLOR_PAIR(tint) : attr | A_BOLD;
}

/* Text from this column on; reversed, it fills the row up to `end`. */
static void put_text(unsigned y, unsigned x, unsigned end, struct str text, enum tint tint, bool reverse)
{
    (void)attrset((int)attributes(tint, reverse));
    if (reverse)
        (void)mvhline((int)y, (int)x, ' ', (int)(end - x));
    (void)mvaddnstr((int)y, (int)x, text.p ? text.p : "", (int)text.n);
}

void tui_terminal_show(const struct tui_screen *screen)
{
    (void)erase();
    for (unsigned y = 0; y < screen->count; y++) {
        const struct tui_line *line = &screen->lines[y];
        put_text(y, 0, line->split ? line->split - 2 : (unsigned)COLS, line->text, line->tint, line->reverse);
        if (!line->split)
            continue;
        put_text(y, line->split - 2, line->split, STR("│"), TINT_DIM, false);
        put_text(y, line->split, (unsigned)COLS, line->beside, line->beside_tint, line->beside_reverse);
    }
    (void)attrset(A_NORMAL);
    (void)curs_set(screen->cursor >= 0);
    if (screen->cursor >= 0)
        (void)move((int)screen->cursor_row, screen->cursor);
    (void)refresh();
}
