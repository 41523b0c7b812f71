/* The strict reader. See json.h for what it accepts; the writer is json_out.c. */
#include "base/json.h"

#include "base/hex.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

/* The position in the text, and the limits that are left: depth and number of values. */
struct json_reader {
    struct arena *arena;
    const char *start;
    const char *at;
    const char *end;
    unsigned depth;
    size_t values_left;
    struct err *err;
};

static struct rc bad(struct json_reader *r, const char *what)
{
    return err_set(r->err, ERR_INVALID, "not valid JSON: %s at byte %zu", what, (size_t)(r->at - r->start));
}

static __attribute__((noinline)) void skip_some_blanks(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* Mostly there is none. */
static inline void skip_blanks(struct json_reader *r)
{
    if (r->at < r->end && (unsigned char)*r->at <= ' ')
        skip_some_blanks(r);
}

static bool digit(const struct json_reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

static struct rc read_digits(struct json_reader *r)
{
    if (!digit(r))
        return bad(r, "a digit is missing");
    while (digit(r))
        r->at++;
    return RC_OK;
}

/* The number stays text (value->raw): callers convert it to the type they need. */
static struct rc read_number(struct json_reader *r, struct json *value)
{
    value->type = JSON_NUMBER;
    if (*r->at != '-' && !digit(r))
        return bad(r, "no value begins like this");
    if (*r->at == '-')
        r->at++;
    if (r->at < r->end && *r->at == '0')
        r->at++;
    else
        TRY(read_digits(r));
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        TRY(read_digits(r));
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
            r->at++;
        TRY(read_digits(r));
    }
    return RC_OK;
}

/* Four hex digits after `\u`. */
static struct rc read_unit(struct json_reader *r, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (r->end - r->at < 4)
        return bad(r, "a \\u escape is cut off");
    for (int i = 0; i < 4; i++) {
        int v = hex_digit(r->at[i]);
        if (v < 0)
            return bad(r, "a \\u escape has a character that is not a hex digit");
        unit = unit << 4 | (uint32_t)v;
    }
    r->at += 4;
    *ret_unit = unit;
    return RC_OK;
}

/* Escapes of surrogates must come in pairs; \u0000 is refused, as json.h says. */
static struct rc read_code_point(struct json_reader *r, uint32_t *ret_code)
{
    uint32_t high, low;
    TRY(read_unit(r, &high));
    if (high == 0)
        return bad(r, "\\u0000 is not allowed");
    if (high < 0xd800 || high > 0xdfff) {
        *ret_code = high;
        return RC_OK;
    }
    if (high > 0xdbff || r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
        return bad(r, "a lone surrogate");
    r->at += 2;
    TRY(read_unit(r, &low));
    if (low < 0xdc00 || low > 0xdfff)
        return bad(r, "a lone surrogate");
    *ret_code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return RC_OK;
}

/* The byte that each letter behind a backslash stands for; 0: it is no such escape. */
static const char simple_escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
};

/* One escape that is not simple, r->at behind the backslash; its bytes go to `to`. */
static struct rc read_escape(struct json_reader *r, char **to)
{
    uint32_t code = 0;
    if (r->at == r->end)
        return bad(r, "a string is not closed");
    if (*r->at != 'u')
        return bad(r, "an unknown escape");
    r->at++;
    TRY(read_code_point(r, &code));
    *to += utf8_encode(code, *to);
    return RC_OK;
}

/* Bytes that stand for themselves, up to a quote or backslash. */
static struct rc skip_plain(struct json_reader *r)
{
    r->at += utf8_plain((struct str){r->at, (size_t)(r->end - r->at)});
    while (r->at < r->end) {
        unsigned char c = (unsigned char)*r->at;
        if (c == '"' || c == '\\')
            return RC_OK;
        if (c < 0x20)
            return bad(r, "a control character in a string");
        if (c < 0x7f) {
            r->at += utf8_plain((struct str){r->at, (size_t)(r->end - r->at)});
            continue;
        }
        size_t n = utf8_valid_one((struct str){r->at, (size_t)(r->end - r->at)});
        if (n == 0)
            return bad(r, "invalid UTF-8");
        r->at += n;
    }
    return bad(r, "a string is not closed");
}

/* The quote that closes a string, from its first backslash on; NULL when there is none. */
static const char *find_close(const char *from, const char *end)
{
    for (const char *quote = from; (quote = memchr(quote, '"', (size_t)(end - quote))); quote++) {
        const char *slashes = quote;
        while (slashes > from && slashes[-1] == '\\')
            slashes--;
        if ((quote - slashes) % 2 == 0)
            return quote;
    }
    return NULL;
}

/* Bit n: byte n of 16 is special, a quote, a backslash, a control or one from 0x80 on. With their second bit turned
 * round, a quote stands right behind the controls, and those from 0x80 on are negative: one comparison finds all
 * three. */
static inline uint64_t special_of_16(utf8_sixteen bytes)
{
    return utf8_bits_of_16((utf8_sixteen)(((bytes ^ 2) < ('"' ^ 2) + 1) | (bytes == '\\')));
}

/* Copies 32 bytes; bit n: byte n is special. */
static inline uint64_t copy_32(char *to, const char *from)
{
    utf8_sixteen first = utf8_load_16(from), second = utf8_load_16(from + 16);
    memcpy(to, &first, 16);
    memcpy(to + 16, &second, 16);
    return special_of_16(first) | special_of_16(second) << 16;
}

/* Decodes 32 bytes or one more, of which those in `bits` are special; 32 bytes behind them can be read, and *at has
 * room for as many. Returns how many were read: less than 32 up to something that is no simple escape. */
static inline size_t copy_simple_of_32(char **at, const char *from, uint64_t bits)
{
    char *to = *at, simple;
    size_t n = 0, escapes = 0; /* each moves what is behind it by one byte */
    while (bits) {
        n = (size_t)__builtin_ctzll(bits);
        if (from[n] != '\\' || !(simple = simple_escapes[(unsigned char)from[n + 1]])) {
            *at = to + n - escapes;
            return n;
        }
        char *here = to + (n - escapes++);
        *here = simple;
        memcpy(here + 1, from + n + 2, 32); /* what follows, as if it were plain */
        bits &= ~UINT64_C(3) << n;
    }
    size_t done = n == 31 ? 33 : 32;
    *at = to + done - escapes;
    return done;
}

/* Plain bytes and simple escapes, up to something else or the end. */
static inline char *copy_simple(char *to, const char **from, const char *end)
{
    const char *at = *from;
    char simple;
    while (end - at >= 66) { /* 33, and 32 behind them */
        uint64_t bits = copy_32(to, at);
        size_t n = copy_simple_of_32(&to, at, bits);
        at += n;
        if (n < 32)
            break;
    }
    for (;;) {
        size_t n = utf8_copy_plain(to, (struct str){at, (size_t)(end - at)});
        to += n;
        at += n;
        if (end - at < 2 || *at != '\\' || !(simple = simple_escapes[(unsigned char)at[1]]))
            break;
        *to++ = simple;
        at += 2;
    }
    *from = at;
    return to;
}

/* From the first backslash up to the closing quote. `to` has room for all bytes up to `end`. */
static struct rc read_escaped(struct json_reader *r, const char *end, char **to)
{
    for (;;) {
        *to = copy_simple(*to, &r->at, end);
        if (r->at == end)
            return bad(r, "a string is not closed");
        unsigned char c = (unsigned char)*r->at;
        if (c == '"')
            return RC_OK;
        if (c == '\\') {
            r->at++;
            TRY(read_escape(r, to));
            continue;
        }
        if (c < 0x20)
            return bad(r, "a control character in a string");
        size_t bytes = utf8_valid_one((struct str){r->at, (size_t)(end - r->at)});
        if (bytes == 0)
            return bad(r, "invalid UTF-8");
        memcpy(*to, r->at, bytes);
        *to += bytes;
        r->at += bytes;
    }
}

/* A string with escapes, r->at at the first of them. A decoded string is never longer than its escaped form. When
 * little is left of the text there is room for all of it, and what is not needed is given back: then the end of the
 * string is not searched first. */
static struct rc read_with_escapes(struct json_reader *r, const char *start, struct str *ret_text)
{
    enum { LITTLE_BYTES = 4096 };
    const char *first = r->at, *end = r->end;
    bool little = end - start <= LITTLE_BYTES;
    const char *close = little ? NULL : find_close(first, end);
    if (!little && !close)
        return bad(r, "a string is not closed");
    if (close)
        end = close + 1;
    char *text = arena_bytes(r->arena, (size_t)(end - start)), *to = text + (first - start);
    memcpy(text, start, (size_t)(first - start));
    struct rc rc = read_escaped(r, end, &to);
    if (rc_bad(rc) && little && !find_close(first, end)) {
        r->at = first;
        return bad(r, "a string is not closed");
    }
    TRY(rc);
    r->arena->at = to;
    r->at++;
    *ret_text = (struct str){text, (size_t)(to - text)};
    return RC_OK;
}

static __attribute__((noinline)) struct rc read_any_string(struct json_reader *r, struct str *ret_text)
{
    const char *start = ++r->at;
    TRY(skip_plain(r));
    if (*r->at != '"')
        return read_with_escapes(r, start, ret_text);
    *ret_text = (struct str){start, (size_t)(r->at - start)};
    r->at++;
    return RC_OK;
}

/* r->at is at the opening quote. Most strings are short and plain: their end is seen without a call. */
static struct rc read_string(struct json_reader *r, struct str *ret_text)
{
    const char *start = r->at + 1;
    size_t near = r->end - start >= 16 ? utf8_plain_of_16(utf8_load_16(start)) : 16;
    if (near == 16 || start[near] != '"')
        return read_any_string(r, ret_text);
    *ret_text = (struct str){start, near};
    r->at = start + near + 1;
    return RC_OK;
}

static struct rc read_word(struct json_reader *r, struct json *value, struct str word, enum json_type type)
{
    if ((size_t)(r->end - r->at) < word.n || memcmp(r->at, word.p, word.n) != 0)
        return bad(r, "a word that is not null, true or false");
    r->at += word.n;
    value->type = type;
    return RC_OK;
}

static uint64_t key_hash(struct str key)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < key.n; i++)
        hash = (hash ^ (unsigned char)key.p[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

enum { FEW_KEYS = 12 };

static struct rc twice(struct json_reader *r, struct str key)
{
    return err_set(r->err, ERR_INVALID, "not valid JSON: the key \"%.*s\" stands twice in one object",
                   (int)(key.n > 60 ? 60 : key.n), key.p);
}

/* Many keys: sorted by hash, so that equal ones stand together; linear probing would invite crafted keys. */
struct hashed_key {
    uint64_t hash;
    struct str key;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed_key *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return str_cmp(x->key, y->key);
}

/* Two members of the same name are an error: programs differ about which one counts. */
static struct rc check_many_keys(struct json_reader *r, const struct json *object)
{
    ARENA_SCOPE(scratch);
    struct hashed_key *keys = arena_array(&scratch, struct hashed_key, object->count);
    size_t n = 0;
    for (const struct json *member = object->first; member; member = member->next)
        keys[n++] = (struct hashed_key){key_hash(member->key), member->key};
    qsort(keys, n, sizeof *keys, by_hash);
    for (size_t i = 1; i < n; i++)
        if (keys[i].hash == keys[i - 1].hash && str_eq(keys[i].key, keys[i - 1].key))
            return twice(r, keys[i].key);
    return RC_OK;
}

/* A key that stands twice is an error: two readers might take different ones, and one of them judges. */
static struct rc check_keys(struct json_reader *r, const struct json *object)
{
    if (object->count > FEW_KEYS)
        return check_many_keys(r, object);
    for (const struct json *a = object->first; a; a = a->next)
        for (const struct json *b = a->next; b; b = b->next)
            if (str_eq(a->key, b->key))
                return twice(r, a->key);
    return RC_OK;
}

static struct rc read_value(struct json_reader *r, struct json *value);

static struct rc read_key(struct json_reader *r, struct json *member)
{
    if (r->at == r->end || *r->at != '"')
        return bad(r, "a key is missing");
    TRY(read_string(r, &member->key));
    skip_blanks(r);
    if (r->at == r->end || *r->at != ':')
        return bad(r, "a ':' is missing");
    r->at++;
    skip_blanks(r);
    return RC_OK;
}

/* Behind a child: true when another follows, false when the bracket was closed. */
static struct rc read_separator(struct json_reader *r, char close, bool *ret_more)
{
    skip_blanks(r);
    if (r->at == r->end || (*r->at != ',' && *r->at != close))
        return bad(r, "a ',' or closing bracket is missing");
    *ret_more = *r->at++ == ',';
    if (*ret_more)
        skip_blanks(r);
    return RC_OK;
}

/* Depth and number of values are limited before memory is taken, since texts come from anyone. */
static struct rc read_children(struct json_reader *r, struct json *value, char close)
{
    const struct json **last = &value->first;
    bool more = true;
    if (++r->depth > LIMIT_JSON_DEPTH)
        return bad(r, "nested too deep");
    r->at++;
    skip_blanks(r);
    if (r->at < r->end && *r->at == close) {
        r->at++;
        more = false;
    }
    while (more) {
        if (r->values_left-- == 0)
            return bad(r, "too many values");
        struct json *child = arena_new(r->arena, struct json);
        if (close == '}')
            TRY(read_key(r, child));
        TRY(read_value(r, child));
        *last = child;
        last = &child->next;
        value->count++;
        TRY(read_separator(r, close, &more));
    }
    r->depth--;
    return RC_OK;
}

/* `raw` keeps the bytes of the value as they came: digests and stored inputs are made from them and not from a second
 * writing. */
static struct rc read_value(struct json_reader *r, struct json *value)
{
    const char *start = r->at;
    struct rc rc;
    if (r->at == r->end)
        return bad(r, "a value is missing");
    switch (*r->at) {
    case '{':
        value->type = JSON_OBJECT;
        rc = read_children(r, value, '}');
        if (rc_ok(rc))
            rc = check_keys(r, value);
        break;
    case '[':
        value->type = JSON_ARRAY;
        rc = read_children(r, value, ']');
        break;
    case '"':
        value->type = JSON_STRING;
        rc = read_string(r, &value->text);
        break;
    case 't': rc = read_word(r, value, STR("true"), JSON_TRUE); break;
    case 'f': rc = read_word(r, value, STR("false"), JSON_FALSE); break;
    case 'n': rc = read_word(r, value, STR("null"), JSON_NULL); break;
    default: rc = read_number(r, value); break;
    }
    value->raw = (struct str){start, (size_t)(r->at - start)};
    return rc;
}

static struct rc parse(struct arena *arena, struct str text, size_t values_max, const struct json **ret_value,
                       struct err *err)
{
    if (str_empty(text))
        text = STR("");
    struct json_reader r = {.arena = arena, .start = text.p, .at = text.p, .end = text.p + text.n,
                            .values_left = values_max, .err = err};
    struct json *value = arena_new(arena, struct json);
    skip_blanks(&r);
    TRY(read_value(&r, value));
    skip_blanks(&r);
    if (r.at != r.end)
        return bad(&r, "bytes after the value");
    *ret_value = value;
    return RC_OK;
}

struct rc json_parse(struct arena *arena, struct str text, const struct json **ret_value, struct err *err)
{
    return parse(arena, text, SIZE_MAX, ret_value, err);
}

struct rc json_parse_given(struct arena *arena, struct str text, const struct json **ret_value, struct err *err)
{
    return parse(arena, text, LIMIT_JSON_VALUES, ret_value, err);
}

const struct json *json_get_str(const struct json *object, struct str key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const struct json *member = object->first; member; member = member->next)
        if (str_eq(member->key, key))
            return member;
    return NULL;
}

const struct json *json_first(const struct json *object, const char *key)
{
    const struct json *member = json_get(object, key);
    return member ? member->first : NULL;
}

struct str json_text(const struct json *object, const char *key)
{
    const struct json *member = json_get(object, key);
    return member && member->type == JSON_STRING ? member->text : STR_NONE;
}

struct str json_raw(const struct json *object, const char *key, struct str otherwise)
{
    const struct json *member = json_get(object, key);
    return member ? member->raw : otherwise;
}

bool json_bool(const struct json *object, const char *key, bool otherwise)
{
    const struct json *member = json_get(object, key);
    if (member && (member->type == JSON_TRUE || member->type == JSON_FALSE))
        return member->type == JSON_TRUE;
    return otherwise;
}

/* Whole numbers as they are written. 1.0 and 1e3 are numbers of JSON and none of ours. */
bool json_i64(const struct json *number, int64_t *ret_value)
{
    uint64_t size;
    if (!number || number->type != JSON_NUMBER)
        return false;
    bool negative = number->raw.p[0] == '-';
    if (!str_to_u64(str_sub(number->raw, negative, number->raw.n), &size) ||
        size > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)-size : (int64_t)size;
    return true;
}

/* The parts of json_want_… behind the search; `key` is for the words of an error. */
struct rc json_take_str(const struct json *member, const char *key, size_t bytes_max, struct str *ret_text,
                        struct err *err)
{
    if (member->type == JSON_NULL)
        return RC_OK;
    if (member->type != JSON_STRING)
        return err_set(err, ERR_INVALID, "\"%s\" must be a string", key);
    if (member->text.n > bytes_max)
        return err_set(err, ERR_INVALID, "\"%s\" is longer than %zu bytes", key, bytes_max);
    *ret_text = member->text;
    return RC_OK;
}

struct rc json_take_i64(const struct json *member, const char *key, int64_t min, int64_t max,
                        int64_t *ret_value, struct err *err)
{
    int64_t value;
    if (member->type == JSON_NULL)
        return RC_OK;
    if (!json_i64(member, &value) || value < min || value > max)
        return err_set(err, ERR_INVALID, "\"%s\" must be a whole number from %" PRId64 " to %" PRId64, key,
                       min, max);
    *ret_value = value;
    return RC_OK;
}

struct rc json_take_bool(const struct json *member, const char *key, bool *ret_value, struct err *err)
{
    if (member->type == JSON_NULL)
        return RC_OK;
    if (member->type != JSON_TRUE && member->type != JSON_FALSE)
        return err_set(err, ERR_INVALID, "\"%s\" must be true or false", key);
    *ret_value = member->type == JSON_TRUE;
    return RC_OK;
}

struct rc json_take_object(const struct json *member, const char *key, const struct json **ret_value,
                           struct err *err)
{
    if (member->type == JSON_NULL)
        return RC_OK;
    if (member->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "\"%s\" must be an object", key);
    *ret_value = member;
    return RC_OK;
}

/* The reader has bounded the depth. */
bool json_deeper(const struct json *value, unsigned levels)
{
    if (value->type != JSON_OBJECT && value->type != JSON_ARRAY)
        return false;
    if (levels == 0)
        return true;
    for (const struct json *child = value->first; child; child = child->next)
        if (json_deeper(child, levels - 1))
            return true;
    return false;
}

/* The next byte that counts: blanks between tokens are passed over, those in strings are not. */
static int next_byte(struct str s, size_t *at, bool *in_string)
{
    while (*at < s.n) {
        char c = s.p[(*at)++];
        if (*in_string || !(c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            return (unsigned char)c;
    }
    return -1;
}

/* Compares two texts of JSON without regard to blanks between tokens; order of members and spelling of numbers count.
 */
bool json_same_tokens(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    bool in_string = false, escaped = false;
    if (str_eq(a, b))
        return true;
    for (;;) {
        bool in_b = in_string;
        int x = next_byte(a, &i, &in_string);
        int y = next_byte(b, &k, &in_b);
        if (x != y)
            return false;
        if (x < 0)
            return true;
        if (in_string)
            in_string = escaped || x != '"';
        else
            in_string = x == '"';
        escaped = in_string && !escaped && x == '\\';
    }
}
