/* Patterns on paths: a pattern without signs matches itself alone. A line end stands between pattern and path. */
#include "tools/tool.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str path, pattern = str_cut((struct str){(const char *)data, size < 512 ? size : 512}, '\n', &path);
    bool plain = true;
    for (size_t i = 0; i < pattern.n; i++)
        plain = plain && (pattern.p[i] == '/' || pattern.p[i] == '.' || (pattern.p[i] >= 'a' && pattern.p[i] <= 'z'));
    bool matches = pattern_matches(pattern, path);
    if (plain && pattern.n && matches != str_eq(pattern, path))
        abort();
    return 0;
}
