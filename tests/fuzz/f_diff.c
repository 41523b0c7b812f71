/* Differences: of any two texts the preview is JSON. A NUL stands between them. */
#include "base/limits.h"
#include "base/utf8.h"
#include "tools/tool.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str after, before = str_cut((struct str){(const char *)data, size}, '\0', &after);
    const struct json *parsed;
    struct err err;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    diff_write(&out, STR("a/b"), before, after);
    json_close(&out, '}');
    if (utf8_valid(before) && utf8_valid(after) && rc_bad(json_parse(&arena, buf_str(&buf), &parsed, &err)))
        abort();
    return 0;
}
