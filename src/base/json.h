/* JSON: a strict reader that keeps the bytes it read, and a writer.
 *
 * The reader takes RFC 8259 and nothing else: one value, no trailing bytes, valid UTF-8 without NUL
 * (neither raw nor as \u0000), no lone surrogates, no duplicate keys at any level (compared decoded),
 * at most LIMIT_JSON_DEPTH levels. Every value knows its exact bytes in the text (`raw`), which is how a
 * tool's input is stored and run as it came: numbers are never converted.
 * Nodes live in the arena; `raw`, and strings without escapes, are views into the text.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A parsed value. It lives in the arena of the parse, and its raw bytes point into the parsed text, which must
 * live as long. */
struct json {
    enum json_type type;
    unsigned count;            /* children */
    struct str raw;            /* the value's bytes as they came */
    struct str text;           /* a string's characters, decoded */
    struct str key;            /* decoded, when this is a member of an object */
    const struct json *first;  /* children, in order */
    const struct json *next;
};

struct rc json_parse(struct arena *arena, struct str text, const struct json **ret_value, struct err *err);
/* Like json_parse, for input from outside: at most LIMIT_JSON_VALUES values, so that no message blocks the loop for
 * long. */
struct rc json_parse_given(struct arena *arena, struct str text, const struct json **ret_value, struct err *err);

/* The member of that name, NULL when there is none (or `object` is NULL or no object). */
const struct json *json_get_str(const struct json *object, struct str key);
static inline const struct json *json_get(const struct json *object, const char *key)
{
    return json_get_str(object, str_of(key));
}

/* The first child of the member of that name; NULL when there is no such member, or it is empty. */
const struct json *json_first(const struct json *object, const char *key);
/* The text of a string member, STR_NONE when it is missing or no string. */
struct str json_text(const struct json *object, const char *key);
/* The bytes of the member of that name; these words when there is none. */
struct str json_raw(const struct json *object, const char *key, struct str otherwise);
bool json_bool(const struct json *object, const char *key, bool otherwise);
/* An integer that fits and was written without fraction or exponent. */
bool json_i64(const struct json *number, int64_t *ret_value);

/* Typed reading of a request. */
#include "base/json_want.h"

/* Whether objects and arrays are nested in it more than `levels` deep. */
bool json_deeper(const struct json *value, unsigned levels);
/* Whether two values are written alike but for blanks between tokens. */
bool json_same_tokens(struct str a, struct str b);

/* The writer puts commas by itself. */
struct json_out {
    struct buf *buf;
    bool comma;
};

static inline struct json_out json_out(struct buf *buf) { return (struct json_out){buf, false}; }
/* A buffer that is freed at the end of the block, and a writer into it. */
#define JSON_SCOPE(buf, out, bytes_max) \
    BUF_SCOPE(buf, bytes_max); \
    struct json_out out = json_out(&(buf))
void json_open(struct json_out *out, char bracket);   /* '{' or '[' */
void json_close(struct json_out *out, char bracket);  /* '}' or ']' */
/* Turns the buffer's content into one line: line breaks between tokens become blanks. */
void json_end_line(struct json_out *out);
void json_key_str(struct json_out *out, struct str key);
/* For a key that has nothing to escape, which is not looked at again; with a text behind it, one look for room. */
void json_key_plain(struct json_out *out, struct str key);
void json_text_plain(struct json_out *out, struct str key, struct str value);
/* A key whose length the compiler knows stands in the source, where none has anything to escape. */
static inline void json_key(struct json_out *out, const char *key)
{
    struct str text = str_of(key);
    if (__builtin_constant_p(text.n))
        json_key_plain(out, text);
    else
        json_key_str(out, text);
}

/* Invalid UTF-8 becomes U+FFFD: what we write can always be read. Characters that hide (utf8_hidden) are
 * escaped: it can be shown on a terminal too. */
void json_put_str(struct json_out *out, struct str value);
void json_put_u64(struct json_out *out, uint64_t value);
void json_put_i64(struct json_out *out, int64_t value);
void json_put_double(struct json_out *out, double value);
void json_put_bool(struct json_out *out, bool value);
void json_put_null(struct json_out *out);
/* Bytes that are JSON already. */
void json_put_raw(struct json_out *out, struct str json);
/* RFC 3339 with milliseconds, UTC. */
void json_put_time(struct json_out *out, int64_t at_ms);

/* Write a member, key and value; json_member and json_member_raw write nothing for an empty value. */
static inline void json_member(struct json_out *out, const char *key, struct str value)
{
    if (str_empty(value))
        return;
    if (__builtin_constant_p(strlen(key))) {
        json_text_plain(out, str_of(key), value);
        return;
    }
    json_key(out, key);
    json_put_str(out, value);
}

static inline void json_member_raw(struct json_out *out, const char *key, struct str json)
{
    if (str_empty(json))
        return;
    json_key(out, key);
    json_put_raw(out, json);
}

/* Writes the member also when the string is empty. */
static inline void json_member_always(struct json_out *out, const char *key, struct str value)
{
    json_key(out, key);
    json_put_str(out, value);
}

/* null for an empty one. */
static inline void json_member_or_null(struct json_out *out, const char *key, struct str value)
{
    json_key(out, key);
    if (str_empty(value))
        json_put_null(out);
    else
        json_put_str(out, value);
}

static inline void json_member_u64(struct json_out *out, const char *key, uint64_t value)
{
    json_key(out, key);
    json_put_u64(out, value);
}

static inline void json_member_i64(struct json_out *out, const char *key, int64_t value)
{
    json_key(out, key);
    json_put_i64(out, value);
}

static inline void json_member_bool(struct json_out *out, const char *key, bool value)
{
    json_key(out, key);
    json_put_bool(out, value);
}

/* true, or nothing. */
static inline void json_member_flag(struct json_out *out, const char *key, bool value)
{
    if (value)
        json_member_bool(out, key, true);
}

static inline void json_member_null(struct json_out *out, const char *key)
{
    json_key(out, key);
    json_put_null(out);
}

static inline void json_member_time(struct json_out *out, const char *key, int64_t at_ms)
{
    json_key(out, key);
    json_put_time(out, at_ms);
}

static inline void json_open_member(struct json_out *out, const char *key, char bracket)
{
    json_key(out, key);
    json_open(out, bracket);
}

/* A member of another object, as it came there. */
void json_put_member(struct json_out *out, const struct json *member);
/* All members of another object (NULL: none) but the one of this name. */
void json_put_members(struct json_out *out, const struct json *object, const char *but);

/* Objects as expressions. */
#include "base/json_items.h"

#endif
