/* QR codes by libqrencode, loaded when first needed (qr.h). */
#include "io/qr.h"

#include "base/library.h"

#include <qrencode.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1024, SIZE_MAX_MODULES = 177 };

#define QR_FUNCTIONS(X) X(QRcode_encodeString8bit) X(QRcode_free)

static struct {
    QR_FUNCTIONS(LIBRARY_POINTER)
} lib;

/* Loaded when it is first needed; without it links are typed. On the loop only. */
static bool load(void)
{
    static const struct library_function functions[] = {QR_FUNCTIONS(LIBRARY_FUNCTION_SHARED)};
    static bool tried, there;
    there = tried ? there : !library_load("libqrencode.so.4", functions, LIBRARY_COUNT(functions));
    tried = true;
    return there;
}

struct qr qr_make(struct arena *arena, struct str text)
{
    struct qr qr = {0};
    char letters[TEXT_BYTES_MAX];
    if (!str_c(text, letters, sizeof letters) || !load())
        return qr;
    QRcode *code = lib.QRcode_encodeString8bit(letters, 0, QR_ECLEVEL_M);
    if (!code || code->width <= 0 || code->width > SIZE_MAX_MODULES)
        return qr;
    qr.size = (size_t)code->width;
    qr.rows = arena_array(arena, struct str, qr.size);
    for (size_t y = 0; y < qr.size; y++) {
        char *row = arena_bytes(arena, qr.size);
        for (size_t x = 0; x < qr.size; x++)
            row[x] = code->data[y * qr.size + x] & 1 ? '1' : '0';
        qr.rows[y] = (struct str){row, qr.size};
    }
    lib.QRcode_free(code);
    return qr;
}
