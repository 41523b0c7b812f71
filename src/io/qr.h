/* A text as a QR code. */
#ifndef IO_QR_H
#define IO_QR_H

#include "base/arena.h"
#include "base/str.h"

struct qr {
    size_t size;       /* modules in a row, and rows; 0: there is no picture */
    struct str *rows;  /* '1': dark, '0': light */
};

/* Without the library, or for a text that is too long, there is no picture. */
struct qr qr_make(struct arena *arena, struct str text);

#endif
