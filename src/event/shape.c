/* One writer and one reader for the data of every event, over the tables of shapes_*.h. */
#include "event/shapes.h"

#include "base/limits.h"
#include "base/stamp.h"
#include "base/utf8.h"

/* ---- the tables ---- */

#define SHAPE_T_text .type = SHAPE_TEXT
#define SHAPE_T_raw .type = SHAPE_RAW
#define SHAPE_T_flag .type = SHAPE_FLAG
#define SHAPE_T_number .type = SHAPE_NUMBER
#define SHAPE_T_time .type = SHAPE_TIME
#define SHAPE_T_texts .type = SHAPE_TEXTS
#define SHAPE_T_decision .type = SHAPE_WORD, .choice = &decision_choice
#define SHAPE_T_verdict .type = SHAPE_NESTED, .nested = shape_verdict
#define SHAPE_T_reason .type = SHAPE_NESTED, .nested = shape_reason
#define SHAPE_T_permissions .type = SHAPE_NESTED, .nested = shape_permissions
#define SHAPE_T_thread .type = SHAPE_NESTED, .nested = shape_thread
#define SHAPE_T_usage .type = SHAPE_NESTED, .nested = shape_usage
#define SHAPE_T_parent .type = SHAPE_NESTED, .nested = shape_parent
#define SHAPE_T_basis .type = SHAPE_NESTED, .nested = shape_basis

static const char *const decision_names[DECISION_COUNT] = {
#define X(name, wire, words, status, by_person) [DECISION_##name] = wire,
    DECISIONS(X)
#undef X
};
static const struct shape_words decision_choice = {decision_names, DECISION_COUNT};

/* `struct_of` is a name for the struct within each function that SHAPE makes. */
#define FIELD(type_, member_, wire_, presence_, words_) \
    {.wire = (wire_),                                   \
     .wire_bytes = sizeof(wire_) - 1,                   \
     .offset = offsetof(struct_of, member_),            \
     SHAPE_T_##type_,                                   \
     .presence = SHAPE_##presence_,                     \
     .words = (words_)},
#define SHAPE(name_, kind_, change_, FIELDS, words_)                                             \
    const struct shape *shape_##name_(void)                                                      \
    {                                                                                            \
        typedef struct data_##name_ struct_of;                                                   \
        static const struct shape_field fields[] = {FIELDS(FIELD)};                              \
        static const struct shape shape = {                                                      \
            .name = #name_, .kind = EVENT_##kind_, .change = (change_), .size = sizeof(struct_of), \
            .fields = fields, .count = sizeof fields / sizeof *fields, .words = (words_)};       \
        return &shape;                                                                           \
    }
SHAPES(SHAPE)

const struct shape *shape_at(size_t index)
{
    static const struct shape *(*const all[])(void) = {
#define S(name, kind, change, FIELDS, words) shape_##name,
        SHAPES(S)
#undef S
    };
    return index < sizeof all / sizeof *all ? all[index]() : NULL;
}

/* ---- writing ---- */

static const void *member_of(const void *data, const struct shape_field *field)
{
    return (const char *)data + field->offset;
}

static bool is_there(const struct shape_field *field, const void *member)
{
    bool given = field->presence == SHAPE_GIVEN;
    const struct str *text = member;
    if (field->presence == SHAPE_ALWAYS)
        return true;
    switch (field->type) {
    case SHAPE_TEXT:
    case SHAPE_RAW: return given ? text->p != NULL : text->n > 0;
    case SHAPE_FLAG: return *(const bool *)member;
    case SHAPE_NUMBER:
    case SHAPE_TIME: return given ? *(const int64_t *)member >= 0 : *(const int64_t *)member != 0;
    case SHAPE_TEXTS: return ((const struct shape_texts *)member)->count > 0;
    case SHAPE_WORD: return *(const unsigned *)member != 0;
    case SHAPE_NESTED: return *(const void *const *)member != NULL;
    }
    return false;
}

static void put_texts(struct json_out *out, const struct shape_texts *texts)
{
    JSON_LIST(out, NULL)
        for (size_t i = 0; i < texts->count; i++)
            json_put_str(out, texts->items[i]);
}

static void put_word(struct json_out *out, const struct shape_words *choice, unsigned value)
{
    CHECK(value < (unsigned)choice->count && choice->names[value]);
    json_put_str(out, str_of(choice->names[value]));
}

static void put_value(struct json_out *out, const struct shape_field *field, const void *member)
{
    switch (field->type) {
    case SHAPE_TEXT: json_put_str(out, *(const struct str *)member); break;
    case SHAPE_RAW:
        CHECK(((const struct str *)member)->n > 0);
        json_put_raw(out, *(const struct str *)member);
        break;
    case SHAPE_FLAG: json_put_bool(out, *(const bool *)member); break;
    case SHAPE_NUMBER: json_put_i64(out, *(const int64_t *)member); break;
    case SHAPE_TIME: json_put_time(out, *(const int64_t *)member); break;
    case SHAPE_TEXTS: put_texts(out, member); break;
    case SHAPE_WORD: put_word(out, field->choice, *(const unsigned *)member); break;
    case SHAPE_NESTED:
        CHECK(*(const void *const *)member);
        shape_write(out, field->nested(), *(const void *const *)member);
        break;
    }
}

/* Where a text or raw value stands that was written from `from` on: 0 when its bytes are not there as they are. */
static size_t place_of(const struct shape_field *field, const struct str *text, size_t from, size_t end)
{
    size_t quote = field->type == SHAPE_TEXT;
    return end - from == text->n + 2 * quote ? from + quote : 0;
}

/* `places`: one for each field, or NULL. */
static void write_members(struct json_out *out, const struct shape *shape, const void *data, size_t places[])
{
    json_open(out, '{');
    if (shape->change)
        json_member(out, "change", str_of(shape->change));
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *field = &shape->fields[i];
        const void *member = member_of(data, field);
        if (!is_there(field, member))
            continue;
        struct str key = {field->wire, field->wire_bytes};
        size_t from = out->buf->n + out->comma + key.n + 3; /* where the value begins */
        if (field->type == SHAPE_TEXT) {
            json_text_plain(out, key, *(const struct str *)member);
        } else {
            json_key_plain(out, key);
            put_value(out, field, member);
        }
        if (places && (field->type == SHAPE_TEXT || field->type == SHAPE_RAW))
            places[i] = place_of(field, member, from, out->buf->n);
    }
    json_close(out, '}');
}

void shape_write(struct json_out *out, const struct shape *shape, const void *data)
{
    write_members(out, shape, data, NULL);
}

struct str shape_data(struct arena *arena, const struct shape *shape, const void *data)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    shape_write(&out, shape, data);
    CHECK(!buf.over);
    return arena_str(arena, buf_str(&buf));
}

/* The data as a reader would get it from the bytes: `made` is a copy of the struct they were written from. */
static void view_members(struct arena *arena, const struct shape *shape, struct str bytes, const size_t places[],
                         void *made)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *field = &shape->fields[i];
        char *member = (char *)made + field->offset;
        struct str *text = (struct str *)member;
        switch (field->type) {
        case SHAPE_TEXT:
        case SHAPE_RAW:
            if (!is_there(field, member) || (field->type == SHAPE_RAW && str_is(*text, "null")))
                *text = STR_NONE;
            else
                *text = places[i] ? str_sub(bytes, places[i], places[i] + text->n) : arena_str(arena, *text);
            break;
        case SHAPE_TEXTS: *(struct shape_texts *)member = (struct shape_texts){0}; break;
        case SHAPE_NESTED: memset(member, 0, sizeof(void *)); break;
        case SHAPE_FLAG:
        case SHAPE_NUMBER:
        case SHAPE_TIME:
        case SHAPE_WORD: break;
        }
    }
}

struct str shape_made(struct arena *arena, const struct shape *shape, const void *data, const void **ret_made)
{
    size_t places[SHAPE_FIELDS_MAX] = {0};
    CHECK(shape->count <= SHAPE_FIELDS_MAX);
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    write_members(&out, shape, data, places);
    CHECK(!buf.over);
    struct str bytes = arena_str(arena, buf_str(&buf));
    void *made = arena_alloc(arena, shape->size);
    memcpy(made, data, shape->size);
    view_members(arena, shape, bytes, places, made);
    *ret_made = made;
    return bytes;
}

struct str shape_quote(struct arena *arena, struct str text)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_put_str(&out, text);
    return arena_str(arena, buf_str(&buf));
}

/* ---- reading ---- */

struct shape_cursor {
    const char *at, *end;
};

static void pass_blanks(struct shape_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
}

static bool pass(struct shape_cursor *c, char byte)
{
    pass_blanks(c);
    if (c->at == c->end || *c->at != byte)
        return false;
    c->at++;
    return true;
}

/* The next quote, or NULL. Most stand near: they are found without a call. */
static const char *find_quote(const char *at, const char *end)
{
    if (end - at >= 16) {
        size_t near = utf8_first_of_16((utf8_sixteen)(utf8_load_16(at) == '"'));
        if (near < 16)
            return at + near;
        at += 16;
    }
    return memchr(at, '"', (size_t)(end - at));
}

/* Moves behind the closing quote; false when there is none. A quote behind an odd number of backslashes belongs to
 * the string. */
static bool pass_string(struct shape_cursor *c)
{
    const char *from = ++c->at;
    for (const char *quote; c->at < c->end && (quote = find_quote(c->at, c->end));) {
        const char *slash = quote;
        while (slash > from && slash[-1] == '\\')
            slash--;
        c->at = quote + 1;
        if ((quote - slash) % 2 == 0)
            return true;
    }
    c->at = c->end;
    return false;
}

static bool ends_scalar(char byte)
{
    return byte == ',' || byte == '}' || byte == ']' || byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Steps over one value, whatever is in it. */
static bool pass_value(struct shape_cursor *c, struct str *ret_value)
{
    size_t depth = 0;
    pass_blanks(c);
    const char *from = c->at;
    do {
        if (c->at == c->end)
            return false;
        char byte = *c->at;
        if (byte == '"') {
            if (!pass_string(c))
                return false;
        } else if (byte == '{' || byte == '[') {
            depth++;
            c->at++;
        } else if (byte == '}' || byte == ']') {
            if (depth == 0)
                return false;
            depth--;
            c->at++;
        } else if (depth) {
            c->at++;
        } else {
            while (c->at < c->end && !ends_scalar(*c->at))
                c->at++;
        }
    } while (depth);
    *ret_value = (struct str){from, (size_t)(c->at - from)};
    return ret_value->n > 0;
}

static bool read_text(struct arena *arena, struct str value, struct str *ret_text)
{
    const struct json *json = NULL;
    if (value.n < 2 || value.p[0] != '"')
        return false;
    if (!memchr(value.p, '\\', value.n)) {
        *ret_text = str_sub(value, 1, value.n - 1);
        return true;
    }
    if (rc_bad(json_parse(arena, value, &json, NULL)))
        return false;
    *ret_text = json->text;
    return true;
}

static bool read_number(struct str value, int64_t *ret_number)
{
    struct json json = {.type = JSON_NUMBER, .raw = value};
    bool digits = value.n > 0 && ((value.p[0] >= '0' && value.p[0] <= '9') || value.p[0] == '-');
    return digits && json_i64(&json, ret_number);
}

static void read_texts(struct arena *arena, struct str value, struct shape_texts *ret_texts)
{
    const struct json *json = NULL;
    if (rc_bad(json_parse(arena, value, &json, NULL)) || json->type != JSON_ARRAY)
        return;
    struct str *items = arena_array(arena, struct str, json->count + 1);
    size_t count = 0;
    for (const struct json *item = json->first; item; item = item->next)
        if (item->type == JSON_STRING)
            items[count++] = item->text;
    *ret_texts = (struct shape_texts){items, count};
}

static void read_word(struct arena *arena, const struct shape_words *choice, struct str value, unsigned *ret_word)
{
    struct str text;
    if (!read_text(arena, value, &text))
        return;
    for (int i = 0; i < choice->count; i++)
        if (choice->names[i] && str_is(text, choice->names[i]))
            *ret_word = (unsigned)i;
}

static void read_nested(struct arena *arena, const struct shape *shape, struct str value, void *member)
{
    void *nested = arena_alloc(arena, shape->size);
    if (shape_read(arena, shape, value, nested))
        memcpy(member, &nested, sizeof nested);
}

static void read_member(struct arena *arena, const struct shape_field *field, struct str value, void *member)
{
    struct str text;
    int64_t at_ms;
    switch (field->type) {
    case SHAPE_TEXT: (void)read_text(arena, value, member); break;
    case SHAPE_RAW:
        if (!str_eq(value, STR("null")))
            *(struct str *)member = value;
        break;
    case SHAPE_FLAG: *(bool *)member = str_eq(value, STR("true")); break;
    case SHAPE_NUMBER: (void)read_number(value, member); break;
    case SHAPE_TIME:
        if (read_text(arena, value, &text) && stamp_parse(text, &at_ms))
            *(int64_t *)member = at_ms;
        break;
    case SHAPE_TEXTS: read_texts(arena, value, member); break;
    case SHAPE_WORD: read_word(arena, field->choice, value, member); break;
    case SHAPE_NESTED: read_nested(arena, field->nested(), value, member); break;
    }
}

/* Members stand mostly in the order of the table, so the search begins behind the last that was found. */
static const struct shape_field *find_field(const struct shape *shape, struct str key, size_t *at)
{
    for (size_t i = 0; i < shape->count; i++) {
        size_t k = *at + i < shape->count ? *at + i : *at + i - shape->count;
        const struct shape_field *field = &shape->fields[k];
        if (field->wire_bytes == key.n && memcmp(field->wire, key.p, key.n) == 0) {
            *at = k + 1;
            return field;
        }
    }
    return NULL;
}

/* Reads the next member; false at the end, or when it is malformed. */
static bool next_member(struct shape_cursor *c, bool first, struct str *ret_key, struct str *ret_value)
{
    if (!first && !pass(c, ','))
        return false;
    pass_blanks(c);
    const char *from = c->at;
    if (c->at == c->end || *c->at != '"' || !pass_string(c))
        return false;
    *ret_key = (struct str){from + 1, (size_t)(c->at - from) - 2};
    return pass(c, ':') && pass_value(c, ret_value);
}

bool shape_read(struct arena *arena, const struct shape *shape, struct str json, void *ret_data)
{
    struct shape_cursor c = {json.p, json.p + json.n};
    struct str key, value;
    size_t at = 0;
    memset(ret_data, 0, shape->size);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_field *field = &shape->fields[i];
        if (field->presence == SHAPE_GIVEN && field->type == SHAPE_NUMBER)
            *(int64_t *)((char *)ret_data + field->offset) = -1;
    }
    if (!json.n || !pass(&c, '{'))
        return false;
    for (bool first = true; next_member(&c, first, &key, &value); first = false) {
        const struct shape_field *field = find_field(shape, key, &at);
        if (field)
            read_member(arena, field, value, (char *)ret_data + field->offset);
    }
    return pass(&c, '}');
}

struct str shape_change(struct str json)
{
    struct shape_cursor c = {json.p, json.p + json.n};
    struct str key, value;
    if (!json.n || !pass(&c, '{'))
        return STR_NONE;
    for (bool first = true; next_member(&c, first, &key, &value); first = false)
        if (str_is(key, "change") && value.n >= 2 && value.p[0] == '"')
            return str_sub(value, 1, value.n - 1);
    return STR_NONE;
}
