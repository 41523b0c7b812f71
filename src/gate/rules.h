/* The rules that hold, by layer; for the files of gate/ only.
 *
 * managed   a file that belongs to root; nothing below loosens it
 * user      RULE_CHANGED events of the installation
 * project   .nod/policy.json in the session's folder: it tightens, and loosens only when a person has trusted
 *           its exact content (a RULE_CHANGED event with the content's hash)
 * session   the session's own events
 *
 * A rule of the user's layer has "scope":"project" with {"path","dev","ino"} of the folder it belongs to, or
 * "scope":"everywhere". Relative rules from "always" that have neither, from before there were projects, are
 * unbound: they hold nowhere until a person binds them.
 * A policy file: {"deny":[…],"ask":[…],"allow":[…]}, each entry a rule's text or an object {"rule","reason",
 * "expiresAt","uses","people","match","notMatch"}.
 */
#ifndef GATE_RULES_H
#define GATE_RULES_H

#include "base/digest.h"
#include "base/limits.h"
#include "base/map.h"
#include "event/session.h"
#include "policy/policy.h"

#include <sys/stat.h>

struct gate;
struct gate_options;

/* A rule of the user's layer as its events say; in the arena of struct rules. */
struct rule_record {
    struct rule_source source;
    int64_t at_ms;
    uint64_t uses;      /* uses allowed in all; only meaningful with source.counted */
    uint64_t used;      /* counted from events */
    uint64_t reserved;  /* uses of calls that were judged and are being stored */
    bool unbound;       /* no folder is recorded for it, so it applies nowhere */
    struct rule_record *next;
};

/* A policy file as it was last read. */
struct policy_file {
    char *path;
    int64_t stamp[4];       /* device and inode, size, change time: when one of them differs, the file is read again */
    struct arena arena;
    struct rule_source *rules;
    size_t count;
    bool there;
    char hash[DIGEST_HEX_BYTES];
    char problem[400];      /* empty: it can be read */
};

/* The stat of a policy file, taken once per turn of the loop: all calls of a turn are judged by the same rules, and
 * sessions in one folder share it. */
struct file_look {
    uint64_t turn;
    char path[LIMIT_PATH_BYTES + 32];
    bool there, silent; /* silent: its place did not answer */
    struct stat st;
};

/* The user's layer, the managed file and the trust in project files; sets for sessions are made from them. */
struct rules {
    struct arena arena;
    struct rule_record *user; /* in order */
    struct map trusted;       /* path → hash, a heap string */
    struct map hits;          /* rule id → struct rule_hits */
    struct policy_file managed;
    struct file_look look_managed, look_project; /* the last ones */
    uint64_t turn;            /* of the loop; from 1 */
    const char *protected;    /* Nod's own data */
    const char *socket;       /* Nod's own socket; NULL: none */
    bool asks_reads;          /* commands that only read need a rule, too */
    int own_ports[OWN_PORTS_MAX]; /* ports on which Nod itself listens; 0: not yet */
    uint64_t version;         /* grows with every change */
};

/* How often a rule decided, and when last, in the part of the log that was read. */
struct rule_hits {
    uint64_t count;
    int64_t last_ms;
};

/* The rules for a session's calls, compiled again when one of them has changed. */
struct session_rules {
    struct rule_set *set;
    struct policy_file project;
    uint64_t version, changed_seq;
    uint64_t projects;  /* mark of the projects whose rules apply and whose folders still exist */
    size_t count;       /* rules in the set */
    bool trusted;
};

void rules_init(struct gate *gate, const struct gate_options *options);
void rules_done(struct gate *gate);
void rules_follow(struct gate *gate, const struct event *event);
void session_rules_done(struct session_rules *rules);

/* The set for a session; `rules` remembers it between calls. */
const struct rule_set *rules_for(struct gate *gate, const struct session *session, struct session_rules *rules);
/* The rules of all layers, also those of other projects; in the arena, or as long as the rules themselves. */
const struct rule_source *rules_all(struct gate *gate, struct arena *arena, const struct session *session,
                                    const struct session_rules *rules, size_t *ret_count);
/* Reads a rule as the API and events write it; ERR_INVALID with words. */
struct rc rule_read(struct arena *arena, const struct json *object, struct rule_source *ret_source,
                    uint64_t *ret_uses, struct err *err);
/* Only a rule that asks can ask several persons. */
struct rc rule_check_people(const struct rule_source *source, struct err *err);
void rule_write(struct json_out *out, const struct rule_source *source);
/* ---- projects.c ---- */
struct rule_project project_of(struct arena *arena, struct str folder);
/* Whether the project's folder still exists with the same inode. */
bool project_stands(const struct rule_project *project);
/* Whether the session's folder, by its real path, lies in the project. */
bool project_has(const struct rule_project *project, struct str root);
/* "in ~/shop"; empty for a rule of no project. */
struct str project_words(struct arena *arena, struct str home, const struct rule_source *source);
void project_write(struct json_out *out, const struct rule_source *source);
struct rc project_read(struct arena *arena, const struct json *object, struct rule_source *source, struct err *err);

struct rule_record *rules_find(const struct gate *gate, struct str id);

/* ---- uses, counted from calls: rule_hits.c ---- */
void rule_hits_follow(struct gate *gate, const struct event *event);
/* Counts uses in the last events stored before the rules were read; call it after that read. */
void rule_hits_begin(struct gate *gate);

#endif
