/* Text for a terminal. Pure: what time it is and how wide the terminal is are arguments.
 *
 * Text from outside passes through text_line, text_block or text_json before it is printed: hidden characters are
 * shown, never obeyed.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/picture.h"

enum { TEXT_BYTES_MAX = 16 << 20 };

enum tint { TINT_NONE, TINT_BOLD, TINT_DIM, TINT_RED, TINT_GREEN, TINT_YELLOW, TINT_CYAN, TINT_MAGENTA };

/* One safe line; line breaks are shown as ⏎. */
struct str text_line(struct arena *arena, struct str s);
/* Safe lines, each with this many blanks before it and a line break after it. */
void text_block(struct buf *buf, struct str s, unsigned indent);
/* A JSON value, spread over lines; texts are shown safe, numbers as they came, pictures by their kind and size. */
void text_json(struct buf *buf, const struct json *value, unsigned indent);
/* image/png, 320 × 160 pixels, 58.4 KB */
void text_picture(struct buf *buf, const struct picture *picture);
/* JSON as it came, for programs; what hides in its texts is escaped, so that a terminal does not obey it either. */
void text_raw_json(struct buf *buf, struct str json);
/* Columns that safe text takes on a terminal. */
unsigned text_width(struct str s);
/* The text cut to `width` columns, with … at the cut. 0: all of it. */
struct str text_fit(struct arena *arena, struct str s, unsigned width);
/* Bytes of the line that fit into `width` columns, at least one character: up to a blank in the second half of it. */
size_t text_fitting(struct str line, unsigned width);
/* Columns by which the further rows of a wrapped line are indented: its own blanks, and the number or bullet after
 * them. */
unsigned text_hang(struct str line);
/* The beginning of a text, at most so many lines and bytes (and the rest of a character); *ret_left: lines after it. */
struct str text_part(struct str text, size_t lines, size_t bytes, size_t *ret_left);
/* Words at `indent`, broken at blanks before `width`; the first line starts where the buffer stands. */
void text_wrap(struct buf *buf, struct str s, unsigned indent, unsigned width);
/* 5s, 3m, 2h, 4d. */
struct str text_age(struct arena *arena, int64_t ms);
/* 14:03:05, or with the date when it is not of the same day as `now_ms`, in local time; `at` is RFC 3339. */
struct str text_time(struct arena *arena, struct str at, int64_t now_ms);
struct str text_tinted(struct arena *arena, bool color, enum tint tint, struct str s);

/* An id as an operand that can be copied into a shell: quoted where a shell would see more in it than a word. */
struct str text_operand(struct arena *arena, struct str id);

/* One line about a call: the most telling part of its input. */
struct str text_summary(struct arena *arena, const struct json *input);

/* ---- tables ---- */
enum { TABLE_COLUMNS_MAX = 8 };

/* Rows with aligned columns; the last column is cut to the terminal's width. */
struct table {
    struct arena *arena;
    unsigned columns;
    unsigned width;    /* columns of the terminal; 0: rows are never cut */
    bool color;
    const char *none;  /* stands in place of a heading without rows; NULL: the heading stands alone */
    struct text_row *first, *last;
};

/* Safe texts, one per column; the first row is the heading. */
void table_row(struct table *table, const struct str *cells);
/* Writes the table: columns are as wide as needed; the last one is cut when there is no room. */
void table_write(struct buf *buf, const struct table *table);

#endif
