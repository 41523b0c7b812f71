/* The page: the files that `web/` is built into, gzipped, in the binary.
 *
 * They are for anyone who may speak to us at all (Host and Origin are checked): they hold no data. Names of
 * assets carry a digest of their content, so they are kept for ever; the document itself is asked for anew
 * each time. The policy lets nothing run but our own files and nothing be reached but ourselves; the one Trusted
 * Types policy that may be made names the worker (web/src/worker.ts), and is made before anything else runs.
 */
#include "api/exchange.h"

/* PAGE_FILES(X) is made by web/embed.mjs: X(number, path, content type, digest, file, kept for ever). */
#include PAGE_TABLE

#define X(number, path, type, digest, file, forever)          \
    __asm__(".section .rodata\n"                              \
            ".global nod_page_" #number "\n"                  \
            "nod_page_" #number ":\n"                         \
            ".incbin \"" NOD_SOURCE_DIR "/web/dist/" file "\"\n" \
            ".global nod_page_end_" #number "\n"              \
            "nod_page_end_" #number ":\n"                     \
            ".byte 0\n"                                       \
            ".previous\n");                                   \
    extern const char nod_page_##number[], nod_page_end_##number[];
PAGE_FILES(X)
#undef X

/* The table is made by the build; `bytes` to `end` is the gzipped file in the program. */
static const struct page_file {
    const char *path, *type, *digest;
    const char *bytes, *end;
    bool forever;
} files[] = {
#define X(number, path, type, digest, file, forever) \
    {path, type, digest, nod_page_##number, nod_page_end_##number, forever},
    PAGE_FILES(X)
#undef X
};

#define PAGE_POLICY                                                                                       \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "   \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types nod-worker\r\n"            \
    "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"                                           \
    "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"            \
    "Permissions-Policy: camera=(), microphone=(), geolocation=()\r\n"

static const struct page_file *find(struct str path)
{
    if (str_is(path, "/a")) /* the link of a message: the same page, which shows one call */
        path = STR("/");
    return ROW_VALUE(files, row, str_is(path, row->path), row, NULL);
}

bool page_has(const struct http_request *http)
{
    return (str_is(http->method, "GET") || str_is(http->method, "HEAD")) && find(http->path);
}

/* The body lies in the program and is sent without a copy. */
void page_answer(struct exchange *x)
{
    const struct page_file *file = find(x->http->path);
    CHECK(file);
    struct str tag = arena_printf(x->arena, "\"%s\"", file->digest);
    struct str headers = arena_printf(x->arena, "Cache-Control: %s\r\nETag: %.*s\r\n%s",
                                      file->forever ? "public, max-age=31536000, immutable" : "no-cache",
                                      STR_ARG(tag), PAGE_POLICY);
    if (str_eq(http_header(x->http, "if-none-match"), tag)) {
        http_answer(x->http, 304, STR_NONE, headers, STR_NONE);
        return;
    }
    headers = arena_printf(x->arena, "%.*sContent-Encoding: gzip\r\n", STR_ARG(headers));
    struct str body = {file->bytes, (size_t)(file->end - file->bytes)};
    http_answer_lasting(x->http, 200, str_of(file->type), headers, body);
}
