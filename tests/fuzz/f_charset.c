/* Pages in any charset: the text is UTF-8 whatever the bytes are. The first line is the Content-Type. */
#include "base/utf8.h"
#include "tools/web.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str rest, type = str_cut((struct str){(const char *)data, size}, '\n', &rest), text;
    struct err err;
    if (rc_ok(charset_to_utf8(&arena, rest, type, &text, &err)) && !utf8_valid(text))
        abort();
    return 0;
}
