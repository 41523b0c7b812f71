/* Lines out of pieces (lines.h): one buffer that grows up to the limit and shrinks again after a large line. */
#include "agents/lines.h"

#include "base/err.h"

enum { PIECE_BYTES = 64 << 10 };

void lines_done(struct lines *lines) { buf_done(&lines->buf); }

/* A long line's buffer does not stay in memory. */
static void shrink(struct lines *lines)
{
    if (lines->buf.n || lines->buf.cap <= LINE_KEPT_BYTES)
        return;
    size_t max = lines->buf.max;
    buf_done(&lines->buf);
    lines->buf = buf_init(max);
}

char *lines_room(struct lines *lines, size_t *ret_room)
{
    struct buf *buf = &lines->buf;
    CHECK(lines->from <= lines->seen && lines->seen <= buf->n);
    buf_drop(buf, lines->from);
    lines->seen -= lines->from;
    lines->from = 0;
    shrink(lines);
    size_t room = buf->max - buf->n < PIECE_BYTES ? buf->max - buf->n : PIECE_BYTES;
    char *at = room && !lines->over ? buf_room(buf, room) : NULL;
    lines->over = !at;
    *ret_room = at ? room : 0;
    return at;
}

void lines_add(struct lines *lines, size_t bytes)
{
    CHECK(lines->buf.n + bytes <= lines->buf.cap || bytes == 0);
    lines->ended = lines->ended || bytes == 0;
    lines->buf.n += bytes;
}

static struct str without_return(struct str line)
{
    return line.n && line.p[line.n - 1] == '\r' ? str_sub(line, 0, line.n - 1) : line;
}

bool lines_next(struct lines *lines, struct str *ret_line)
{
    struct str all = buf_str(&lines->buf);
    if (lines->over || lines->from == all.n)
        return false;
    struct str rest = str_sub(all, lines->seen, all.n);
    size_t end = lines->seen + str_find(rest, '\n');
    if (end == all.n && !lines->ended) {
        lines->seen = end;
        return false;
    }
    struct str line = without_return(str_sub(all, lines->from, end));
    lines->over = line.n > lines->bytes_max;
    if (lines->over)
        return false;
    *ret_line = line;
    lines->from = end == all.n ? end : end + 1;
    lines->seen = lines->from;
    return true;
}
