/* The rule language: text to a rule that can be matched, and back to its one canonical spelling.
 *
 *   Tool  Tool(*)                      the whole tool
 *   Bash(words)                        exactly these words
 *   Bash(words:*)  Bash(words *)       these words, then anything
 *   Bash(a * b)                        `*` is any text inside one simple command
 *   Read(path)  Edit(path) …           //abs  ~/home  /session-folder  relative; `*`, `**`, `?`
 *   WebFetch(domain:host)              the host, or *.host for what lies below it
 *   WebFetch(url:https://host/path*)   `*` is any text behind the host
 *   mcp__server__tool  mcp__server__*  whole components; mcp__server__get_* a beginning of whole words; deny and ask
 *                                      may have `*` anywhere
 *   @group                             the commands of a group: groups.c
 *   RULE & host:a,*.b                  Bash(…) or @group, and every address it talks to is one of these
 *   RULE & readOnly                    mcp__…, and its pinned definition says so; destructive, idempotent, openWorld
 *   Tool(field:value)                  a field of the input, `*` is any text
 *   bash:ls*   web-fetch:URL*          an older spelling of the same
 *
 * Every other character means itself. A rule that fits none of these is an error, never a match.
 */
#ifndef POLICY_RULE_H
#define POLICY_RULE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum rule_kind {
    RULE_TOOL,   /* the whole tool; tool `*`: every tool */
    RULE_SERVER, /* mcp__server__*: `tool` is the prefix with its last two underscores, `value` what follows */
    RULE_GROUP,  /* @name: `value` */
    RULE_EXACT,  /* words */
    RULE_PREFIX, /* words, then anything */
    RULE_GLOB,   /* a pattern for commands */
    RULE_PATH,
    RULE_HOST,
    RULE_URL,
    RULE_FIELD,
};

enum path_base { BASE_ROOT, BASE_CWD, BASE_PROJECT, BASE_HOME, BASE_COUNT };

/* A parsed rule; which fields are set follows from `kind`. Everything lives in the arena of the parse. */
struct rule {
    enum rule_kind kind;
    struct str tool;
    struct str text;         /* canonical */
    /* RULE_EXACT, RULE_PREFIX */
    struct str *words;
    size_t word_count;
    struct str *spelled;     /* `text` split into shell words, when it contains quotes */
    size_t spelled_count;
    /* RULE_GLOB: words parted by NUL; what follows them is free when `open_end` */
    struct str glob, glob_more;
    size_t glob_named;       /* leading words without a `*` */
    bool open_end;
    /* RULE_PATH: components parted by single slashes, below `base` after going up `ups` folders */
    enum path_base base;
    unsigned ups;
    struct str pattern;
    /* RULE_HOST, RULE_URL */
    struct str host;         /* lower case; empty: every host */
    bool below;              /* matches subdomains of the host, not the host itself */
    struct str scheme;       /* RULE_URL; empty: http and https */
    struct str port;
    struct str url_rest;     /* from the first slash on, with `*` */
    /* For a command: the hosts it may connect to, `host` or `*.host`; none: any host that its words name */
    struct str *hosts;
    size_t host_count;
    unsigned hints;          /* RULE_TOOL, RULE_SERVER: what its server must say of it (enum tool_hint) */
    /* RULE_FIELD */
    struct str field;
    struct str value;        /* with `*` */
    bool value_words;        /* also matches the value followed by more words */
};

/* Everything lives in the arena. ERR_INVALID with words for the person who wrote it. */
struct rc rule_parse(struct arena *arena, struct str text, struct rule *ret_rule, struct err *err);
/* ERR_INVALID when only deny and ask rules may have this form. */
struct rc rule_for_allow(const struct rule *rule, struct err *err);


#endif
