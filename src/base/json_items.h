/* JSON objects as expressions, in the words of the writer. Included by json.h.
 *
 *     json_object(&out, J("id", id), J_TIME("at", at_ms), J_OBJECT("by", J("name", name)));
 *
 * Items and what they point to live in the block that writes them.
 */
#ifndef BASE_JSON_ITEMS_H
#define BASE_JSON_ITEMS_H

#include "base/json.h"

enum json_item_kind {
    JSON_ITEM_END, JSON_ITEM_NOTHING, JSON_ITEM_TEXT, JSON_ITEM_ALWAYS, JSON_ITEM_OR_NULL, JSON_ITEM_RAW, JSON_ITEM_U64,
    JSON_ITEM_I64, JSON_ITEM_BOOL, JSON_ITEM_FLAG, JSON_ITEM_TIME, JSON_ITEM_OBJECT, JSON_ITEM_LIST
};

struct json_item {
    const char *key;    /* NULL: a value in a list */
    unsigned key_bytes; /* of a key that stands in the source; 0: not known */
    enum json_item_kind kind;
    union {
        struct str text;
        uint64_t u64;
        int64_t i64;
        bool flag;
        const struct json_item *items;
    };
};

static inline unsigned json_item_key_bytes(const char *key)
{
    return key && __builtin_constant_p(strlen(key)) ? (unsigned)strlen(key) : 0;
}

#define JSON_ITEM(name, item_kind, member, value) \
    ((struct json_item){ \
        .key = (name), .key_bytes = json_item_key_bytes(name), .kind = (item_kind), .member = (value)})
#define JSON_ITEM_OF(type, item_kind, member) \
    static inline struct json_item json_item_of_##member(const char *key, type value) \
    { \
        return JSON_ITEM(key, item_kind, member, value); \
    }
JSON_ITEM_OF(struct str, JSON_ITEM_TEXT, text)
JSON_ITEM_OF(uint64_t, JSON_ITEM_U64, u64)
JSON_ITEM_OF(int64_t, JSON_ITEM_I64, i64)
JSON_ITEM_OF(bool, JSON_ITEM_BOOL, flag)
static inline struct json_item json_item_of_words(const char *key, const char *value)
{
    return json_item_of_text(key, str_of(value));
}

/* A text, left out when it is empty, a number or a bool. The outcome of a comparison is an int in C: use J_BOOL. */
#define J(key, value) \
    _Generic((value), struct str: json_item_of_text, char *: json_item_of_words, const char *: json_item_of_words, \
             bool: json_item_of_flag, int: json_item_of_i64, long: json_item_of_i64, long long: json_item_of_i64, \
             unsigned char: json_item_of_u64, unsigned short: json_item_of_u64, unsigned: json_item_of_u64, \
             unsigned long: json_item_of_u64, unsigned long long: json_item_of_u64)(key, value)
#define J_ALWAYS(key, text_value) JSON_ITEM(key, JSON_ITEM_ALWAYS, text, text_value)   /* an empty text, too */
#define J_OR_NULL(key, text_value) JSON_ITEM(key, JSON_ITEM_OR_NULL, text, text_value) /* null for an empty one */
#define J_RAW(key, json_value) JSON_ITEM(key, JSON_ITEM_RAW, text, json_value)         /* left out when empty */
#define J_BOOL(key, bool_value) JSON_ITEM(key, JSON_ITEM_BOOL, flag, bool_value)
#define J_FLAG(key, bool_value) JSON_ITEM(key, JSON_ITEM_FLAG, flag, bool_value)       /* true, or nothing */
#define J_TIME(key, ms) JSON_ITEM(key, JSON_ITEM_TIME, i64, ms)
#define J_NULL(key) J_OR_NULL(key, STR_NONE)
/* The item, or nothing; it is evaluated only if the condition holds. */
#define J_IF(condition, item) ((condition) ? (item) : (struct json_item){.kind = JSON_ITEM_NOTHING})
#define JSON_ITEMS(...) ((const struct json_item[]){__VA_ARGS__, {0}})
#define J_OBJECT(key, ...) JSON_ITEM(key, JSON_ITEM_OBJECT, items, JSON_ITEMS(__VA_ARGS__))
#define J_LIST(key, ...) JSON_ITEM(key, JSON_ITEM_LIST, items, JSON_ITEMS(__VA_ARGS__)) /* an array */

/* An object; members of the object that is open; an object in the arena. */
#define json_object(out, ...) json_put_item((out), &J_OBJECT(NULL, __VA_ARGS__))
#define json_members(out, ...) json_put_items((out), JSON_ITEMS(__VA_ARGS__))
#define json_object_str(arena, ...) json_item_str((arena), &J_OBJECT(NULL, __VA_ARGS__))
void json_put_item(struct json_out *out, const struct json_item *item);
void json_put_items(struct json_out *out, const struct json_item *items);
struct str json_item_str(struct arena *arena, const struct json_item *item);

/* A list of what the next statement writes, as a member of this name (NULL: as a value). It must not be left early:
 *     JSON_LIST(&out, "names")
 *         for (…)
 *             json_put_str(&out, name);
 */
#define JSON_LIST(out, key) \
    for (bool in_list = json_list_begin((out), (key)); in_list; in_list = json_list_end(out))
static inline bool json_list_begin(struct json_out *out, const char *key)
{
    if (key)
        json_key(out, key);
    json_open(out, '[');
    return true;
}

static inline bool json_list_end(struct json_out *out)
{
    json_close(out, ']');
    return false;
}

#endif
