/* Cookies: a value that is found stands in the header behind its name, and holds no semicolon. A NUL stands between the
 * name and the header. */
#include "http/http.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str header, name = str_cut((struct str){(const char *)data, size}, '\0', &header);
    const struct http_header headers[] = {{.name = STR("cookie"), .value = header}};
    const struct http_request request = {.headers = headers, .header_count = 1};
    struct str value = http_cookie(&request, name);
    if (!value.p)
        return 0;
    if (value.p < header.p || value.p + value.n > header.p + header.n || str_find(value, ';') < value.n)
        abort();
    if ((size_t)(value.p - header.p) < name.n ||
        (value.n && memcmp(value.p - 1 - name.n, name.p, name.n) != 0))
        abort();
    return 0;
}
