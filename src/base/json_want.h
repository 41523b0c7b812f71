/* Typed reading of a request's members. Included by json.h.
 *
 * Absent is fine and leaves *ret alone; a wrong type is ERR_INVALID with words that name the field. `null` counts as
 * absent. The search is here, where the compiler knows the key: most members of most requests are absent.
 */
#ifndef BASE_JSON_WANT_H
#define BASE_JSON_WANT_H

#include "base/json.h"

struct rc json_take_str(const struct json *member, const char *key, size_t bytes_max, struct str *ret_text,
                        struct err *err);
struct rc json_take_i64(const struct json *member, const char *key, int64_t min, int64_t max, int64_t *ret_value,
                        struct err *err);
struct rc json_take_bool(const struct json *member, const char *key, bool *ret_value, struct err *err);
struct rc json_take_object(const struct json *member, const char *key, const struct json **ret_value, struct err *err);

static inline struct rc json_want_str(const struct json *object, const char *key, size_t bytes_max,
                                      struct str *ret_text, struct err *err)
{
    const struct json *member = json_get(object, key);
    return member ? json_take_str(member, key, bytes_max, ret_text, err) : RC_OK;
}

static inline struct rc json_want_i64(const struct json *object, const char *key, int64_t min, int64_t max,
                                      int64_t *ret_value, struct err *err)
{
    const struct json *member = json_get(object, key);
    return member ? json_take_i64(member, key, min, max, ret_value, err) : RC_OK;
}

static inline struct rc json_want_bool(const struct json *object, const char *key, bool *ret_value, struct err *err)
{
    const struct json *member = json_get(object, key);
    return member ? json_take_bool(member, key, ret_value, err) : RC_OK;
}

static inline struct rc json_want_object(const struct json *object, const char *key, const struct json **ret_value,
                                         struct err *err)
{
    const struct json *member = json_get(object, key);
    return member ? json_take_object(member, key, ret_value, err) : RC_OK;
}

#endif
