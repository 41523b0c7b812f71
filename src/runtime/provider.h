/* How a model is asked and how its answer is read. Private to runtime/.
 *
 * To add a provider: one file with a `const struct provider`, one line in PROVIDERS. It writes the request's body
 * and takes the events of the stream; the rest (retries, fallback, keeping) is done in model.c for all alike.
 * Answers are kept in the form of the Messages API; others are translated to it and from it.
 */
#ifndef RUNTIME_PROVIDER_H
#define RUNTIME_PROVIDER_H

#include "base/buf.h"
#include "base/limits.h"
#include "runtime/talk.h"

enum { BLOCKS_MAX = 64, BLOCK_BYTES_MAX = 1 << 20, HEADERS_MAX = 6 };

enum block_kind { BLOCK_TEXT, BLOCK_THINKING, BLOCK_TOOL_USE, BLOCK_OTHER };

struct block {
    enum block_kind kind;
    struct buf text;       /* text or thought; for a tool use, its input */
    struct buf signature;  /* signature of a thought */
    struct str id, name;   /* id and name of a tool use */
    struct str raw;        /* BLOCK_OTHER: the block unchanged; an input that was streamed after it is in `text` */
};

/* A model's answer while it streams; see answer.c. */
struct answer {
    struct arena arena;
    struct block blocks[BLOCKS_MAX];
    size_t count;
    struct str stop_reason, model;
    struct run_usage usage;
    bool ended;            /* the stream came to its end */
    bool overloaded;       /* a temporary error */
    struct err err;        /* the provider reports an error within the stream */
    void (*say)(void *arg, struct str text); /* each piece of text as it comes; may be NULL */
    void *say_arg;
};

struct request {
    const struct talk *talk;
    struct str model, system, tools; /* tools: JSON array; empty: none may be used */
    struct str closing;              /* one more message of the user; may be empty */
    int64_t answer_tokens;
    bool web_search;                 /* by the provider itself; one that has no such tool leaves it out */
    bool parallel_tools;
};

/* An API of a model: one file each. */
struct provider {
    const char *kind;
    const char *path;      /* behind the base URL */
    void (*headers)(struct arena *arena, const char *key, const char *headers[HEADERS_MAX]);
    void (*write)(struct json_out *out, struct arena *arena, const struct request *request);
    /* An event of the stream; false when no more is wanted. */
    bool (*take)(struct answer *answer, struct str type, struct str data);
};

#define PROVIDERS(X) X(anthropic) X(openai)
#define X(name) extern const struct provider provider_##name;
PROVIDERS(X)
#undef X
const struct provider *provider_find(const char *kind);

/* ---- answer.c ---- */
void answer_done(struct answer *answer);
/* NULL when there are too many. */
struct block *answer_add(struct answer *answer, enum block_kind kind);
void answer_say(struct answer *answer, struct block *block, struct str text);
/* Whether it is whole and fit to be kept; words when not. */
struct rc answer_check(struct answer *answer, struct err *err);
/* The blocks as the Messages API has them. */
void answer_write(struct json_out *out, const struct answer *answer);

#endif
