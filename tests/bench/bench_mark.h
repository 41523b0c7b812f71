/* How a reader knows that it has the event of this round: a mark in it, and the blank line that ends it.
 * Bytes come in pieces of any size; between them a reader remembers one number. Pure. */
#ifndef BENCH_BENCH_MARK_H
#define BENCH_BENCH_MARK_H

#include "base/str.h"

enum { MARK_BYTES = 9 };

/* What stands for it in a text: ~ and eight digits. */
#define MARK_BLANK "~00000000"

/* Its first byte must not come again in it, except where a repeat begins anew. */
struct mark {
    struct str text;
    bool ends_event; /* only the blank line behind it is the end */
};

/* The end of an answer's header block. */
#define MARK_OF_HEAD ((struct mark){STR("\r\n\r\n"), false})

struct mark mark_of_round(char text[MARK_BYTES], uint32_t round);
/* *matched is 0 at first. True as soon as all of it has been seen. */
bool mark_seen(struct mark mark, uint8_t *matched, struct str bytes);

#endif
