#include "io/qr.h"

#include <dlfcn.h>
#include <qrencode.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1024, SIZE_MAX_MODULES = 177 };

static struct {
    typeof(QRcode_encodeString8bit) *encode;
    typeof(QRcode_free) *free;
} lib;

/* Loaded when it is first needed; without it links are typed. On the loop only. */
static bool load(void)
{
    static bool tried;
    void *library = tried ? NULL : dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL);
    tried = true;
    if (library) {
        void *encode = dlsym(library, "QRcode_encodeString8bit"), *give_back = dlsym(library, "QRcode_free");
        memcpy(&lib.encode, &encode, sizeof encode);
        memcpy(&lib.free, &give_back, sizeof give_back);
    }
    return lib.encode && lib.free;
}

struct qr qr_make(struct arena *arena, struct str text)
{
    struct qr qr = {0};
    char letters[TEXT_BYTES_MAX];
    if (!str_c(text, letters, sizeof letters) || !load())
        return qr;
    QRcode *code = lib.encode(letters, 0, QR_ECLEVEL_M);
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
    lib.free(code);
    return qr;
}
