/* The data of events, described once.
 *
 * A shape is a JSON object as events hold it: its members in the order in which they are written, each with its type,
 * when it is there, and what it means. shapes_*.h list them all; from these tables come the C struct (struct data_x),
 * the writer, the reader, the schemas of OpenAPI, web/src/events.gen.ts and docs/EVENTS.md.
 *
 *     DATA(arena, tool_started, .call = id)                         the bytes
 *     struct data_tool_started started;
 *     READ_DATA(arena, tool_started, event->data, &started)         and back
 *
 * The reader is for bytes that a writer has made: it is safe with any, and finds in an object what the table names, but
 * it does not check the rest. Strings and raw values that it returns are views of the bytes it was given; only strings
 * with escapes are decoded into the arena.
 */
#ifndef EVENT_SHAPE_H
#define EVENT_SHAPE_H

#include "base/arena.h"
#include "base/json.h"
#include "event/event.h"

enum shape_type {
    SHAPE_TEXT,
    SHAPE_RAW,    /* any JSON, kept as it is */
    SHAPE_FLAG,
    SHAPE_NUMBER, /* a whole number */
    SHAPE_TIME,   /* milliseconds since 1970; as text in RFC 3339 */
    SHAPE_TEXTS,  /* an array of strings */
    SHAPE_WORD,   /* one of a fixed set: an enum */
    SHAPE_NESTED, /* another shape */
};

enum shape_presence {
    SHAPE_ALWAYS,
    SHAPE_SET,   /* left out when it is empty, zero, false */
    SHAPE_GIVEN, /* text: left out when its pointer is NULL; a number: when it is negative */
};

enum { SHAPE_FIELDS_MAX = 24 };

struct shape;

struct shape_words {
    const char *const *names; /* by the enum's value; NULL: has none */
    int count;
};

struct shape_texts {
    const struct str *items;
    size_t count;
};

/* A member of an event's data: its name on the wire, its place in the struct, its type. */
struct shape_field {
    const char *wire;
    size_t wire_bytes;
    size_t offset;
    enum shape_type type;
    enum shape_presence presence;
    const struct shape *(*nested)(void); /* SHAPE_NESTED */
    const struct shape_words *choice;    /* SHAPE_WORD */
    const char *words;
};

/* The description of one kind of data, from which reading, writing, documents and types are made. */
struct shape {
    const char *name;
    enum event_kind kind; /* EVENT_NONE: only part of others */
    const char *change;   /* for kinds with several shapes: value of their first member, "change"; else NULL */
    size_t size;          /* size of the struct */
    const struct shape_field *fields;
    size_t count;
    const char *words;
};

/* The C type of a member. */
#define SHAPE_C_text struct str
#define SHAPE_C_raw struct str
#define SHAPE_C_flag bool
#define SHAPE_C_number int64_t
#define SHAPE_C_time int64_t
#define SHAPE_C_texts struct shape_texts
#define SHAPE_MEMBER(type, member, wire, presence, words) SHAPE_C_##type member;
#define SHAPE_STRUCT(name, kind, change, FIELDS, words) \
    struct data_##name {                                \
        FIELDS(SHAPE_MEMBER)                            \
    };                                                  \
    const struct shape *shape_##name(void);

void shape_write(struct json_out *out, const struct shape *shape, const void *data);
/* The JSON as a string of its own. It must fit an event. */
struct str shape_data(struct arena *arena, const struct shape *shape, const void *data);
/* The same, and the struct that the reader would make of it, in the arena, but without nested shapes and lists: whoever
 * gets both need not read what this process has just written. */
struct str shape_made(struct arena *arena, const struct shape *shape, const void *data, const void **ret_made);
/* Reads the members that the table names; those of another type and all others are ignored. False when the text is no
 * object. */
bool shape_read(struct arena *arena, const struct shape *shape, struct str json, void *ret_data);
/* The member "change" of an object; empty when there is none. */
struct str shape_change(struct str json);
/* Text as a JSON string, for a raw member. */
struct str shape_quote(struct arena *arena, struct str text);

#define DATA(arena, name, ...) shape_data((arena), shape_##name(), &(const struct data_##name){__VA_ARGS__})
#define READ_DATA(arena, name, json, ret_data) \
    shape_read((arena), shape_##name(), (json), _Generic((ret_data), struct data_##name *: (ret_data)))

/* All shapes, those of events in the order of their kinds, then those that are only part of others; NULL after the
 * last. */
const struct shape *shape_at(size_t index);

/* ---- printed from the tables (shape_print.c) ---- */
/* Members of `components.schemas`: one schema per shape. */
void shape_print_schemas(struct json_out *out);
/* The name of the schema: tool_call → ToolCallData. */
void shape_put_name(struct buf *buf, const struct shape *shape);

#endif
