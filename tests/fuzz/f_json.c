/* Our JSON reader against jansson: both take a document or both refuse it, and what they took is the same.
 *
 * Known differences, each allowed only where it applies:
 *   depth     we stop at LIMIT_JSON_DEPTH, jansson at 2048
 *   numbers   we keep the bytes; jansson refuses what a double cannot hold
 *   NUL       is never part of a document; jansson overlooks one right behind a number
 * Duplicate keys, \u0000 and trailing bytes are refused by both (jansson is asked to).
 */
/* jansson gives some of our names to other things. */
#define json_type jansson_type
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_TRUE JANSSON_TRUE
#define JSON_FALSE JANSSON_FALSE
#define JSON_NULL JANSSON_NULL
#include <jansson.h>
#undef json_type
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

#define MUST(cond, ...)                                             \
    do {                                                            \
        if (!(cond)) {                                              \
            (void)fprintf(stderr, "f_json: " __VA_ARGS__);          \
            (void)fprintf(stderr, " (%s, line %d)\n", #cond, __LINE__); \
            abort();                                                \
        }                                                           \
    } while (0)

static json_t *oracle(struct str text, json_error_t *error)
{
    return json_loadb(text.p ? text.p : "", text.n,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, error);
}

/* The deepest bracket outside strings; exact for every document that both would take. */
static unsigned depth_of(struct str text)
{
    unsigned depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if ((c == ']' || c == '}') && depth) {
            depth--;
        }
    }
    return deepest;
}

static void compare(const struct json *ours, const json_t *theirs);

static void compare_children(const struct json *ours, const json_t *theirs)
{
    unsigned count = 0;
    for (const struct json *child = ours->first; child; child = child->next, count++) {
        const json_t *other;
        if (ours->type == JSON_OBJECT) {
            ARENA_SCOPE(arena);
            MUST(utf8_valid(child->key), "a key is no UTF-8");
            other = json_object_get(theirs, arena_c(&arena, child->key));
        } else {
            other = json_array_get(theirs, count);
        }
        MUST(other, "a child is missing there");
        compare(child, other);
    }
    MUST(count == ours->count, "the count is wrong");
    MUST(count == (ours->type == JSON_OBJECT ? json_object_size(theirs) : json_array_size(theirs)),
         "the number of children differs");
}

static void compare(const struct json *ours, const json_t *theirs)
{
    ARENA_SCOPE(arena);
    switch (ours->type) {
    case JSON_NULL: MUST(json_typeof(theirs) == JANSSON_NULL, "not null there"); break;
    case JSON_TRUE: MUST(json_typeof(theirs) == JANSSON_TRUE, "not true there"); break;
    case JSON_FALSE: MUST(json_typeof(theirs) == JANSSON_FALSE, "not false there"); break;
    case JSON_NUMBER:
        MUST(json_typeof(theirs) == JSON_REAL, "no number there");
        MUST(strtod(arena_c(&arena, ours->raw), NULL) == json_real_value(theirs), "another number there");
        break;
    case JSON_STRING:
        MUST(json_typeof(theirs) == JANSSON_STRING, "no string there");
        MUST(utf8_valid(ours->text), "a string is no UTF-8");
        MUST(str_eq(ours->text, (struct str){json_string_value(theirs), json_string_length(theirs)}),
             "another string there");
        break;
    case JSON_ARRAY:
        MUST(json_typeof(theirs) == JANSSON_ARRAY, "no array there");
        compare_children(ours, theirs);
        break;
    case JSON_OBJECT:
        MUST(json_typeof(theirs) == JANSSON_OBJECT, "no object there");
        compare_children(ours, theirs);
        break;
    }
}

static void write_again(struct json_out *out, const struct json *value)
{
    switch (value->type) {
    case JSON_STRING: json_put_str(out, value->text); break;
    case JSON_OBJECT:
    case JSON_ARRAY:
        json_open(out, value->type == JSON_OBJECT ? '{' : '[');
        for (const struct json *child = value->first; child; child = child->next) {
            if (value->type == JSON_OBJECT)
                json_key_str(out, child->key);
            write_again(out, child);
        }
        json_close(out, value->type == JSON_OBJECT ? '}' : ']');
        break;
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_NUMBER: json_put_raw(out, value->raw); break;
    }
}

/* `raw` is the value and nothing around it: it lies in the text and is itself a document of that type. */
static void check_raw(struct str text, const struct json *value)
{
    ARENA_SCOPE(arena);
    const struct json *again = NULL;
    MUST(value->raw.p >= text.p && value->raw.p + value->raw.n <= text.p + text.n, "raw is elsewhere");
    MUST(str_eq(str_trim(value->raw), value->raw), "raw has blanks around it");
    MUST(rc_ok(json_parse(&arena, value->raw, &again, NULL)), "raw is no document");
    MUST(again->type == value->type && again->count == value->count, "raw is another value");
    if (value->type == JSON_STRING)
        MUST(str_eq(again->text, value->text), "raw is another string");
    for (const struct json *child = value->first; child; child = child->next)
        if (child->raw.n < 200)
            check_raw(text, child);
}

static void accepted(struct str text, const struct json *ours, const json_t *theirs)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(buf, 8 * text.n + 64);
    json_error_t error;
    const struct json *again = NULL;
    compare(ours, theirs);
    check_raw(text, ours);
    struct json_out out = json_out(&buf);
    write_again(&out, ours);
    MUST(rc_ok(json_parse(&arena, buf_str(&buf), &again, NULL)), "what was written again cannot be read");
    compare(again, theirs);
    json_t *theirs_again = oracle(buf_str(&buf), &error);
    MUST(theirs_again, "what was written again cannot be read there: %s", error.text);
    MUST(json_equal(theirs_again, theirs), "what was written again is different there");
    json_decref(theirs_again);
    MUST(json_same_tokens(text, ours->raw), "the value and the text around it are not the same tokens");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    ARENA_SCOPE(arena);
    struct str text = {(const char *)data, bytes};
    struct err err = {0};
    json_error_t error = {0};
    const struct json *ours = NULL;
    if (bytes > LIMIT_BODY_BYTES)
        return 0;
    bool taken = rc_ok(json_parse(&arena, text, &ours, &err));
    json_t *theirs = oracle(text, &error);
    if (taken && theirs)
        accepted(text, ours, theirs);
    else if (taken)
        MUST(json_error_code(&error) == json_error_numeric_overflow, "only we take it; there: %s",
             error.text);
    else if (theirs)
        MUST(depth_of(text) > LIMIT_JSON_DEPTH || memchr(data, '\0', bytes),
             "only jansson takes it; here: %s", err.text);
    else
        MUST(err.code == ERR_INVALID && err.text[0], "refused without words");
    json_decref(theirs);
    return 0;
}
