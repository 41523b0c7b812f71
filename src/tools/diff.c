/* The difference of two texts, as people read it.
 *
 * Lines are compared by Myers' algorithm, bounded: after EDITS_MAX differences the rest is shown as taken out and
 * put in, which is true, only longer. Pairs of changed lines get marks for the part that differs.
 *
 * Written as members of an object:
 *   "unified": ["--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", " same", "-old", "+new"]
 *   "marks":   [[line, from, to], …]    in "unified", bytes of the line behind its sign
 *   "added", "removed": lines           "cut": true when not all is shown
 */
#include "tools/tool.h"

enum {
    EDITS_MAX = 1000,
    LINES_MAX = 200000,
    CONTEXT = 3,
    SHOWN_LINES_MAX = 2000,
    SHOWN_BYTES_MAX = 256 << 10,
};

struct text {
    struct str *lines;
    int n;
    bool no_newline; /* the last line has none */
};

/* The comparison: which lines are gone, which are added. */
struct diff {
    struct text a, b;
    bool *gone, *added; /* per line: deleted from a, inserted in b */
};

/* Lines beyond LINES_MAX are left out of the comparison; the texts of the lines point into the caller's. */
static struct text split(struct arena *arena, struct str text)
{
    struct text lines = {.no_newline = text.n && text.p[text.n - 1] != '\n'};
    size_t count = lines.no_newline;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == '\n';
    lines.lines = arena_array(arena, struct str, count + 1);
    while (text.n && lines.n < LINES_MAX) {
        size_t end = str_find(text, '\n');
        end += end < text.n; /* the line end belongs to the line: its absence is a difference */
        lines.lines[lines.n++] = str_sub(text, 0, end);
        text = str_sub(text, end, text.n);
    }
    return lines;
}

/* ---- Myers ---- */

/* Walks back along the furthest points of each round and marks deleted and inserted lines. */
static void trace_back(struct diff *diff, int *const *rounds, int d)
{
    int x = diff->a.n, y = diff->b.n;
    for (; d > 0; d--) {
        const int *v = rounds[d - 1] + d; /* the previous round, centred */
        int k = x - y;
        bool down = k == -d || (k != d && v[k - 1] < v[k + 1]);
        int before_k = down ? k + 1 : k - 1;
        int before_x = v[before_k], before_y = before_x - before_k;
        if (down)
            diff->added[before_y] = true;
        else
            diff->gone[before_x] = true;
        x = before_x;
        y = before_y;
    }
}

static void mark_all(struct diff *diff, int from)
{
    for (int i = from; i < diff->a.n; i++)
        diff->gone[i] = true;
    for (int i = from; i < diff->b.n; i++)
        diff->added[i] = true;
}

static int slide(const struct diff *diff, int x, int k)
{
    while (x < diff->a.n && x - k < diff->b.n && str_eq(diff->a.lines[x], diff->b.lines[x - k]))
        x++;
    return x;
}

/* Equal lines at the beginning are skipped; beyond EDITS_MAX rounds the rest counts as replaced. */
static void compare(struct arena *arena, struct diff *diff)
{
    int same = 0;
    int **rounds = arena_array(arena, int *, EDITS_MAX + 1);
    while (same < diff->a.n && same < diff->b.n && str_eq(diff->a.lines[same], diff->b.lines[same]))
        same++;
    if (diff->a.n + diff->b.n > LINES_MAX) {
        mark_all(diff, same);
        return;
    }
    for (int d = 0; d <= EDITS_MAX; d++) {
        /* Round d of Myers' algorithm: diagonals -d..d, with one spare element on each side. */
        int *v = arena_array(arena, int, (size_t)d * 2 + 3);
        int *mid = v + d + 1;
        const int *before = d ? rounds[d - 1] + d : NULL;
        rounds[d] = v;
        for (int k = -d; k <= d; k += 2) {
            bool down = d == 0 || k == -d || (k != d && before[k - 1] < before[k + 1]);
            int x = d == 0 ? 0 : down ? before[k + 1] : before[k - 1] + 1;
            bool inside = x <= diff->a.n && x - k <= diff->b.n;
            mid[k] = inside ? slide(diff, x, k) : x;
            if (mid[k] >= diff->a.n && mid[k] - k >= diff->b.n && inside) {
                trace_back(diff, rounds, d);
                return;
            }
        }
    }
    mark_all(diff, same);
}

/* ---- writing ---- */

/* The preview while it is written: limits on lines and bytes, and the places inside lines that changed (`marks`). */
struct diff_page {
    struct json_out *out;
    struct arena *arena;
    struct buf marks;
    int line;            /* line number in the unified diff */
    size_t bytes;
    bool cut;
    bool first_mark;
};

/* Everything of the unified form goes through here, so that one limit holds for all of it. */
static void put(struct diff_page *page, char sign, struct str line)
{
    if (page->line >= SHOWN_LINES_MAX || page->bytes + line.n > SHOWN_BYTES_MAX) {
        page->cut = true;
        return;
    }
    bool whole = line.n && line.p[line.n - 1] == '\n';
    struct str text = whole ? str_sub(line, 0, line.n - 1) : line;
    json_put_str(page->out, arena_printf(page->arena, "%c%.*s", sign, STR_ARG(text)));
    page->line++;
    page->bytes += line.n;
    if (whole)
        return;
    json_put_str(page->out, STR("\\ No newline at end of file"));
    page->line++;
}

static void mark(struct diff_page *page, int line, size_t from, size_t to)
{
    if (from >= to || line >= SHOWN_LINES_MAX)
        return;
    buf_printf(&page->marks, "%s[%d,%zu,%zu]", page->first_mark ? "" : ",", line, from, to);
    page->first_mark = false;
}

static bool begins_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

/* The part between the common beginning and the common end; nothing when little is common. */
static void mark_pair(struct diff_page *page, int old_line, struct str old, int new_line, struct str new)
{
    size_t least = old.n < new.n ? old.n : new.n, head = 0, tail = 0;
    while (head < least && old.p[head] == new.p[head])
        head++;
    while (head > 0 && head < old.n && !begins_character(old.p[head]))
        head--;
    while (tail < least - head && old.p[old.n - 1 - tail] == new.p[new.n - 1 - tail])
        tail++;
    while (tail > 0 && !begins_character(old.p[old.n - tail]))
        tail--;
    if ((head + tail) * 3 < least)
        return;
    mark(page, old_line, head, old.n - tail);
    mark(page, new_line, head, new.n - tail);
}

/* Lines taken out and put in between two that stayed. */
static void put_change(struct diff_page *page, const struct diff *diff, int a, int a_end, int b, int b_end)
{
    int first = page->line, gone = a_end - a, added = b_end - b;
    for (int i = a; i < a_end; i++)
        put(page, '-', diff->a.lines[i]);
    int between = page->line;
    for (int i = b; i < b_end; i++)
        put(page, '+', diff->b.lines[i]);
    bool plain = between == first + gone && page->line == between + added;
    for (int i = 0; plain && i < gone && i < added; i++)
        mark_pair(page, first + i, diff->a.lines[a + i], between + i, diff->b.lines[b + i]);
}

static bool changed_at(const struct diff *diff, int a, int b)
{
    return (a < diff->a.n && diff->gone[a]) || (b < diff->b.n && diff->added[b]);
}

/* Extends a hunk from its first change over all changes that belong to it. */
static void hunk_end(const struct diff *diff, int *a, int *b)
{
    int quiet = 0, x = *a, y = *b;
    while (x < diff->a.n || y < diff->b.n) {
        if (changed_at(diff, x, y)) {
            while (x < diff->a.n && diff->gone[x])
                x++;
            while (y < diff->b.n && diff->added[y])
                y++;
            quiet = 0;
            *a = x;
            *b = y;
            continue;
        }
        if (++quiet > CONTEXT * 2)
            return;
        x++;
        y++;
    }
}

static const char *range(struct arena *arena, int first, int n)
{
    return n == 1 ? arena_printf(arena, "%d", first + 1).p : arena_printf(arena, "%d,%d", n ? first + 1 : first, n).p;
}

/* The lines around a change, CONTEXT at each end. */
static void put_hunk(struct diff_page *page, const struct diff *diff, const int from[2], const int to[2])
{
    int lead = from[0] < CONTEXT ? from[0] : CONTEXT;
    int tail = diff->a.n - to[0] < CONTEXT ? diff->a.n - to[0] : CONTEXT;
    int a = from[0] - lead, b = from[1] - lead, a_n = to[0] + tail - a, b_n = to[1] + tail - b;
    put(page, '@', arena_printf(page->arena, "@ -%s +%s @@\n", range(page->arena, a, a_n),
                                range(page->arena, b, b_n)));
    while (a < to[0] + tail || b < to[1] + tail) {
        int a_end = a, b_end = b;
        while (a_end < diff->a.n && diff->gone[a_end])
            a_end++;
        while (b_end < diff->b.n && diff->added[b_end])
            b_end++;
        if (a_end > a || b_end > b) {
            put_change(page, diff, a, a_end, b, b_end);
        } else {
            put(page, ' ', diff->a.lines[a]);
            a_end++;
            b_end++;
        }
        a = a_end;
        b = b_end;
    }
}

static void put_hunks(struct diff_page *page, const struct diff *diff)
{
    int a = 0, b = 0;
    while (a < diff->a.n || b < diff->b.n) {
        if (!changed_at(diff, a, b)) {
            a++;
            b++;
            continue;
        }
        int from[2] = {a, b}, to[2] = {a, b};
        hunk_end(diff, &to[0], &to[1]);
        put_hunk(page, diff, from, to);
        a = to[0];
        b = to[1];
    }
}

static int count(const bool *flags, int n)
{
    int set = 0;
    for (int i = 0; i < n; i++)
        set += flags[i];
    return set;
}

/* Texts of any size end in a bounded preview: "cut" says that a part of it is missing, the counts are of the whole.
 */
void diff_write(struct json_out *out, struct str path, struct str before, struct str after)
{
    ARENA_SCOPE(arena);
    struct diff diff = {.a = split(&arena, before), .b = split(&arena, after)};
    struct diff_page page = {.out = out, .arena = &arena, .marks = buf_init(1 << 20), .first_mark = true};
    diff.gone = arena_array(&arena, bool, (size_t)diff.a.n + 1);
    diff.added = arena_array(&arena, bool, (size_t)diff.b.n + 1);
    compare(&arena, &diff);
    json_open_member(out, "unified", '[');
    put(&page, '-', arena_printf(&arena, "-- a/%.*s\n", STR_ARG(path)));
    put(&page, '+', arena_printf(&arena, "++ b/%.*s\n", STR_ARG(path)));
    put_hunks(&page, &diff);
    json_close(out, ']');
    json_members(out, J_RAW("marks", arena_printf(&arena, "[%.*s]", STR_ARG(buf_str(&page.marks)))),
                 J("added", count(diff.added, diff.b.n)), J("removed", count(diff.gone, diff.a.n)),
                 J_FLAG("cut", page.cut));
    buf_done(&page.marks);
}
