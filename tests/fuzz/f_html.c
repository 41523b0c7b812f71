/* Pages of any bytes: what comes out is valid UTF-8 when it went in as such, holds nothing that hides, and is not
 * much longer than the page. */
#include "base/utf8.h"
#include "tools/web.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str bytes = {(const char *)data, size}, text;
    struct web_url base;
    BUF_SCOPE(out, size * 64 + 4096);
    if (rc_bad(web_url_read(&arena, STR("https://e.example/d/p.html"), &base, NULL)))
        abort();
    if (rc_bad(charset_to_utf8(&arena, bytes, STR("text/html"), &text, NULL)))
        return 0;
    if (!utf8_valid(text))
        abort();
    html_text(&out, text, &base);
    if (out.over || !utf8_valid(buf_str(&out)))
        abort();
    for (size_t i = 0; i < out.n;) {
        uint32_t code;
        i += utf8_decode(str_sub(buf_str(&out), i, out.n), &code);
        if (utf8_hidden(code) && code != '\n' && code != '\t')
            abort();
    }
    return 0;
}
