/* An object whose members are texts, in one expression: JSON_TEXTS(arena, {"name", name}, {"role", role}). */
#ifndef BASE_JSON_TEXTS_H
#define BASE_JSON_TEXTS_H

#include "base/json.h"

struct json_text {
    const char *key; /* NULL ends the list */
    struct str value;
};

/* In the arena; empty texts are left out. */
#define JSON_TEXTS(arena, ...) json_texts((arena), (const struct json_text[]){__VA_ARGS__, {0}})
struct str json_texts(struct arena *arena, const struct json_text *members);

#endif
