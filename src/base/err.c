/* Errors in words (err.h): codes with their names on the wire, their HTTP status and exit status in one table. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *wire;
    int http;
    int exit;
} codes[ERR_CODE_COUNT] = {
#define X(code, wire, http, exit) [ERR_##code] = {wire, http, exit},
    ERR_CODES(X)
#undef X
};

/* A text that is too long is cut. `err` may be NULL for callers that need the code only. */
struct rc err_set(struct err *err, enum err_code code, const char *format, ...)
{
    CHECK(code != ERR_OK);
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return (struct rc){code};
}

/* Puts words in front of an error: where it happened. */
struct rc err_wrap(struct err *err, struct rc rc, const char *format, ...)
{
    if (rc_ok(rc) || !err)
        return rc;
    char before[sizeof err->text];
    char joined[sizeof err->text * 2 + 2];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(before, sizeof before, format, args);
    va_end(args);
    (void)snprintf(joined, sizeof joined, "%s: %s", before, err->text);
    joined[sizeof err->text - 1] = '\0';
    memcpy(err->text, joined, sizeof err->text);
    return rc;
}

const char *err_wire(enum err_code code)
{
    CHECK(code < ERR_CODE_COUNT);
    return codes[code].wire;
}

int err_http(enum err_code code)
{
    CHECK(code < ERR_CODE_COUNT);
    return codes[code].http;
}

int err_exit(enum err_code code)
{
    CHECK(code < ERR_CODE_COUNT);
    return codes[code].exit;
}

enum err_code err_from_wire(const char *wire)
{
    for (int i = 0; i < ERR_CODE_COUNT; i++)
        if (strcmp(codes[i].wire, wire) == 0)
            return (enum err_code)i;
    return ERR_INTERNAL;
}

void err_die(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "nod: bug: %s:%d: %s does not hold\n", file, line, what);
    abort();
}
