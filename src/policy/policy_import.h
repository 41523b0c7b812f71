/* Imports the rules of other programs as rules of Nod. */
#ifndef POLICY_POLICY_IMPORT_H
#define POLICY_POLICY_IMPORT_H

#include "base/arena.h"
#include "base/err.h"

struct rule_source;

#define IMPORT_KINDS(X)                 \
    X(CLAUDE_CODE, "claude-code")       \
    X(CODEX, "codex")                   \
    X(OPENCODE, "opencode")             \
    X(GEMINI, "gemini")

enum import_kind {
#define X(name, wire) IMPORT_##name,
    IMPORT_KINDS(X)
#undef X
    IMPORT_KIND_COUNT
};

struct import_remark {
    unsigned line;  /* line in the file; 0: the whole file */
    struct str what;
    struct str words;
};

/* The result of an import. Nothing of it holds before somebody adds it. */
struct imported {
    struct rule_source *rules; /* effect, text, reason, examples; the caller gives the rest */
    size_t rule_count;
    struct import_remark *remarks; /* rules that could not be imported or were changed */
    size_t remark_count;
    size_t lost; /* number of deny and ask rules that could not be imported */
};

bool import_kind_parse(struct str name, enum import_kind *ret_kind);
struct rc policy_import(struct arena *arena, enum import_kind kind, struct str text,
                        struct imported *ret_imported, struct err *err);

#endif
