/* Lines of bytes that come in pieces of any size: the framing of every agent that speaks over pipes.
 *
 * A line ends with LF, or CR LF, or the end of the stream; it may hold any byte and be as long as the ceiling
 * it was made with, its end not counted. One that is longer ends the reading: `over` is set and no line comes any
 * more, since what follows a lost line could not be understood.
 */
#ifndef AGENTS_LINES_H
#define AGENTS_LINES_H

#include "base/buf.h"

enum { LINE_BYTES_MAX = 64 << 20, LINE_KEPT_BYTES = 1 << 20, LINE_END_BYTES = 2 };

/* Owns its buffer (lines_done frees it); the lines it gives out are valid until the next call. */
struct lines {
    struct buf buf;
    size_t bytes_max;
    size_t from;    /* where the next line begins */
    size_t seen;    /* up to here there is no LF */
    bool over, ended;
};

static inline struct lines lines_init(size_t bytes_max)
{
    return (struct lines){.buf = buf_init(bytes_max + LINE_END_BYTES), .bytes_max = bytes_max};
}
void lines_done(struct lines *lines);
/* Room for what is read next, at most *ret_room bytes; NULL when the line is over the ceiling. */
char *lines_room(struct lines *lines, size_t *ret_room);
/* Says how many bytes were read into the room of lines_room; 0 is the end of the stream. */
void lines_add(struct lines *lines, size_t bytes);
/* The next line without its end, valid until lines_room; false when there is none yet. */
bool lines_next(struct lines *lines, struct str *ret_line);

#endif
