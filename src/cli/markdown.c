/* Markdown for a terminal by md4c, loaded when first needed (markdown.h). Callbacks of the parser fill a struct
 * writer; at the end of each block its lines are put out with their indentation. */
#include "cli/markdown.h"

#include "base/library.h"
#include "cli/body.h"

#include <md4c.h>
#include <stdio.h>

enum {
    NESTED_MAX = 16,   /* containers that are set in; deeper ones stand where these do */
    CELLS_MAX = 4096,
    TABLE_COLUMNS = 76, /* a table that is wider becomes a list of its rows */
    OUTPUT_BYTES_MAX = 8 << 20,
};

#define MARKDOWN_FUNCTIONS(X) X(md_parse)
#define RULE "────────────────────────────────────────"

static struct {
    MARKDOWN_FUNCTIONS(LIBRARY_POINTER)
} lib;

/* A list, an item of one, or a quotation. */
struct container {
    bool quote, tight, ordered;
    unsigned number;  /* of the next item */
    char delimiter;
    char lead[24];    /* of an item: its number or bullet, until its first line is written */
    unsigned columns; /* by which its other lines are set in */
};

/* The state of the parser's callbacks. */
struct writer {
    struct arena *arena;
    struct buf *out;
    struct buf line;   /* text of the block under way */
    struct container nested[NESTED_MAX];
    unsigned depth;    /* may be more than NESTED_MAX */
    bool gap;          /* a blank line comes before the next block */
    unsigned level;    /* of the heading under way; 0: none */
    struct str *cells; /* of the table under way; NULL: none */
    unsigned columns, cell_count;
};

/* ---- lines ---- */

/* The container of this depth; the last one that we have stands for those below it. */
static struct container *top(struct writer *w)
{
    return w->depth ? &w->nested[(w->depth < NESTED_MAX ? w->depth : NESTED_MAX) - 1] : NULL;
}

/* Deeper nesting than NESTED_MAX shares the last place: the layout suffers, nothing else. */
static struct container *enter(struct writer *w)
{
    w->depth++;
    struct container *container = top(w);
    *container = (struct container){0};
    return container;
}

static bool in_tight_list(struct writer *w)
{
    for (unsigned i = w->depth < NESTED_MAX ? w->depth : NESTED_MAX; i > 0; i--)
        if (!w->nested[i - 1].quote && !w->nested[i - 1].columns)
            return w->nested[i - 1].tight;
    return false;
}

/* The lead of a line: a number or a bullet once, then blanks; `>` for a quotation. */
static void put_lead(struct writer *w, struct buf *lead)
{
    for (unsigned i = 0; i < w->depth && i < NESTED_MAX; i++) {
        struct container *c = &w->nested[i];
        if (c->quote)
            buf_puts(lead, "> ");
        else if (c->lead[0])
            buf_puts(lead, c->lead);
        else
            buf_printf(lead, "%*s", (int)c->columns, "");
        c->lead[0] = '\0';
    }
}

/* Ends a block: writes each line of `text` behind the indentation and marks of its lists and quotations. */
static void put_block(struct writer *w, char mark, const char *edge, struct str text)
{
    if (w->gap)
        buf_puts(w->out, " \n");
    w->gap = false;
    do {
        BUF_SCOPE(lead, 1024);
        struct str line = str_cut(text, '\n', &text);
        put_lead(w, &lead);
        buf_puts(&lead, edge);
        body_put_lines(w->out, mark, buf_c(&lead), line);
    } while (text.n);
}

/* The text that was collected, if there is any, as a block. */
static void flush(struct writer *w, char mark)
{
    if (str_trim(buf_str(&w->line)).n)
        put_block(w, mark, "", str_trim(buf_str(&w->line)));
    buf_clear(&w->line);
}

static void put_heading(struct writer *w)
{
    unsigned columns = text_width(buf_str(&w->line));
    flush(w, '*');
    if (w->level > 2)
        return;
    for (unsigned i = 0; i < columns && i < 72; i++)
        buf_puts(&w->line, w->level == 1 ? "═" : "─");
    flush(w, '#');
}

/* ---- tables ---- */

static void put_rows(struct writer *w, const unsigned *widths)
{
    for (unsigned row = 0; row * w->columns < w->cell_count; row++) {
        buf_clear(&w->line);
        for (unsigned i = 0; i < w->columns; i++) {
            struct str cell = w->cells[row * w->columns + i];
            int pad = i + 1 < w->columns ? (int)(widths[i] - text_width(cell)) : 0;
            buf_printf(&w->line, "%s%.*s%*s", i ? " │ " : "", STR_ARG(cell), pad, "");
        }
        put_block(w, row ? ' ' : '*', "", buf_str(&w->line));
        buf_clear(&w->line);
        for (unsigned i = 0; i < w->columns && row == 0; i++) {
            buf_puts(&w->line, i ? "─┼─" : "");
            for (unsigned k = 0; k < widths[i]; k++)
                buf_puts(&w->line, "─");
        }
        if (row == 0)
            put_block(w, '#', "", buf_str(&w->line));
    }
    buf_clear(&w->line);
}

/* One line for each cell, behind the heading of its column. */
static void put_cells(struct writer *w)
{
    for (unsigned i = w->columns; i < w->cell_count; i++) {
        w->gap = w->gap || i % w->columns == 0;
        put_block(w, ' ', i % w->columns ? "  " : "",
                  arena_printf(w->arena, "%.*s: %.*s", STR_ARG(w->cells[i % w->columns]), STR_ARG(w->cells[i])));
    }
}

/* A table that is too wide is written cell by cell instead. */
static void put_table(struct writer *w)
{
    unsigned total = 0, *widths = arena_array(w->arena, unsigned, w->columns + 1);
    w->cell_count -= w->cell_count % w->columns;
    for (unsigned i = 0; i < w->cell_count; i++) {
        unsigned wide = text_width(w->cells[i]), *width = &widths[i % w->columns];
        *width = wide > *width ? wide : *width;
    }
    for (unsigned i = 0; i < w->columns; i++)
        total += widths[i] + 3;
    if (total <= TABLE_COLUMNS || w->cell_count == w->columns)
        put_rows(w, widths);
    else
        put_cells(w);
    w->cells = NULL;
}

/* -1 ends the parser: the text is then shown as it is. The limit is on cells, because rows and columns come from the
 * model. */
static int begin_table(struct writer *w, const MD_BLOCK_TABLE_DETAIL *table)
{
    w->columns = table->col_count;
    w->cell_count = 0;
    if (!w->columns || table->body_row_count >= CELLS_MAX || (table->body_row_count + 1) * w->columns > CELLS_MAX)
        return -1;
    w->cells = arena_array(w->arena, struct str, CELLS_MAX);
    return 0;
}

static void end_cell(struct writer *w)
{
    if (w->cells && w->cell_count < CELLS_MAX)
        w->cells[w->cell_count++] = text_line(w->arena, str_trim(buf_str(&w->line)));
    buf_clear(&w->line);
}

/* ---- the library's calls ---- */

static void begin_item(struct writer *w, const MD_BLOCK_LI_DETAIL *item)
{
    struct container list = w->depth ? *top(w) : (struct container){0};
    if (w->depth && w->depth <= NESTED_MAX)
        top(w)->number++;
    struct container *c = enter(w);
    if (list.ordered)
        (void)snprintf(c->lead, sizeof c->lead, "%u%c ", list.number, list.delimiter);
    else
        (void)snprintf(c->lead, sizeof c->lead, "%s", item->is_task ? item->task_mark == ' ' ? "☐ " : "☑ " : "• ");
    c->columns = text_width(str_of(c->lead));
}

/* Called by md4c at the start of each block; leave_block writes it, when its text is complete. */
static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct writer *w = arg;
    const MD_BLOCK_OL_DETAIL *ordered = detail;
    flush(w, ' '); /* of an item, before a list inside it */
    switch (type) {
    case MD_BLOCK_QUOTE: enter(w)->quote = true; break;
    case MD_BLOCK_UL: enter(w)->tight = ((const MD_BLOCK_UL_DETAIL *)detail)->is_tight; break;
    case MD_BLOCK_OL: {
        struct container *c = enter(w);
        *c = (struct container){.ordered = true, .tight = ordered->is_tight, .number = ordered->start,
                                .delimiter = ordered->mark_delimiter};
        break;
    }
    case MD_BLOCK_LI: begin_item(w, detail); break;
    case MD_BLOCK_H: w->level = ((const MD_BLOCK_H_DETAIL *)detail)->level; break;
    case MD_BLOCK_TABLE: return begin_table(w, detail);
    case MD_BLOCK_HR: put_block(w, '#', "", STR(RULE)); w->gap = true; break;
    case MD_BLOCK_DOC: case MD_BLOCK_CODE: case MD_BLOCK_HTML: case MD_BLOCK_P: case MD_BLOCK_THEAD:
    case MD_BLOCK_TBODY: case MD_BLOCK_TR: case MD_BLOCK_TH: case MD_BLOCK_TD: break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct writer *w = arg;
    struct str code = buf_str(&w->line);
    (void)detail;
    switch (type) {
    case MD_BLOCK_H: put_heading(w); w->level = 0; break;
    case MD_BLOCK_CODE:
        put_block(w, ' ', "  │ ", str_sub(code, 0, code.n - (code.n && code.p[code.n - 1] == '\n')));
        buf_clear(&w->line);
        break;
    case MD_BLOCK_TABLE: put_table(w); break;
    case MD_BLOCK_TH: case MD_BLOCK_TD: end_cell(w); return 0;
    case MD_BLOCK_QUOTE: case MD_BLOCK_UL: case MD_BLOCK_OL: flush(w, ' '); w->depth--; break;
    case MD_BLOCK_LI:
        flush(w, ' ');
        if (top(w)->lead[0])
            put_block(w, ' ', "", STR_NONE); /* an empty item */
        w->depth--;
        break;
    case MD_BLOCK_P: case MD_BLOCK_HTML: flush(w, ' '); break;
    case MD_BLOCK_DOC: case MD_BLOCK_HR: case MD_BLOCK_THEAD: case MD_BLOCK_TBODY: case MD_BLOCK_TR: return 0;
    }
    w->gap = !in_tight_list(w);
    return w->out->over ? -1 : 0;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct writer *w = arg;
    (void)detail;
    buf_puts(&w->line, type == MD_SPAN_CODE ? "`" : type == MD_SPAN_DEL ? "~~" : type == MD_SPAN_IMG ? "picture " : "");
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct writer *w = arg;
    const MD_ATTRIBUTE *to = type == MD_SPAN_A     ? &((const MD_SPAN_A_DETAIL *)detail)->href
                             : type == MD_SPAN_IMG ? &((const MD_SPAN_IMG_DETAIL *)detail)->src : NULL;
    struct str address = to && to->text ? (struct str){to->text, to->size} : STR_NONE;
    buf_puts(&w->line, type == MD_SPAN_CODE ? "`" : type == MD_SPAN_DEL ? "~~" : "");
    if (address.n && !str_ends(buf_str(&w->line), address))
        buf_printf(&w->line, " (%.*s)", STR_ARG(address));
    return 0;
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *arg)
{
    static const struct {
        const char *entity, *text;
    } entities[] = {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}};
    struct writer *w = arg;
    struct str piece = {text, size};
    if (type == MD_TEXT_BR)
        piece = w->cells ? STR(" ") : STR("\n");
    else if (type == MD_TEXT_SOFTBR)
        piece = STR(" ");
    for (size_t i = 0; type == MD_TEXT_ENTITY && i < sizeof entities / sizeof *entities; i++)
        if (str_is((struct str){text, size}, entities[i].entity))
            piece = str_of(entities[i].text);
    buf_put(&w->line, piece);
    return w->line.over ? -1 : 0;
}

/* Loaded when the first plan is shown, on the thread that shows it. */
static bool load(void)
{
    static const struct library_function functions[] = {MARKDOWN_FUNCTIONS(LIBRARY_FUNCTION)};
    static bool tried, there;
    there = tried ? there : !library_load("libmd4c.so.0", functions, LIBRARY_COUNT(functions));
    tried = true;
    return there;
}

/* False: nothing was put, and the caller shows the text as it is. */
bool markdown_put(struct buf *buf, struct str text)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(out, OUTPUT_BYTES_MAX);
    struct writer w = {.arena = &arena, .out = &out, .line = buf_init(OUTPUT_BYTES_MAX)};
    const MD_PARSER parser = {.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS,
                              .enter_block = enter_block, .leave_block = leave_block, .enter_span = enter_span,
                              .leave_span = leave_span, .text = add_text};
    bool done = text.n <= OUTPUT_BYTES_MAX && load() && lib.md_parse(text.p, (MD_SIZE)text.n, &parser, &w) == 0 &&
                !out.over && out.n;
    buf_done(&w.line);
    if (done)
        buf_put(buf, buf_str(&out));
    return done;
}
