/* A rule set, compiled: rules lie in buckets under the words, folders or hosts they begin with, so that a
 * call meets only those that could fit it, however many there are. */
#ifndef POLICY_RULESET_H
#define POLICY_RULESET_H

#include "policy/match.h"
#include "policy/policy.h"

/* A rule as the judge uses it. */
struct compiled {
    struct rule rule;
    struct rule_source source; /* copied; `text` is canonical */
    enum effect effect;
    bool broken;               /* never used */
};

/* Which of the two questions (match.h) a rule answers. */
enum rule_side { SIDE_ALLOW, SIDE_STOP, SIDE_COUNT };

/* A hash table with chains by index, over the rules of one side. */
struct rule_index {
    uint32_t *heads; /* by hash; 0: empty, else the number of a rule + 1 */
    uint32_t mask;
    uint32_t *next;  /* by rule */
    uint64_t *hash;  /* hash values, one per rule */
    uint32_t kinds;  /* kinds of keys (enum ruleset_key) that some rule has: bit 0 is 'A', bit 1 'B' */
};

/* All rules that hold for a session; immutable, freed as a whole (rule_set_free). */
struct rule_set {
    struct arena arena;
    struct compiled *rules;
    size_t count;
    struct rule_index sides[SIDE_COUNT];
    bool stops_commands; /* there is a deny or ask rule on commands */
    bool stops_paths;    /* … of paths */
    bool stops_hosts;    /* … of addresses */
    unsigned people;     /* the largest number of people that any rule requires */
    /* The last component of each path pattern in deny and ask rules, matched against words with unknown parts. */
    struct str *stop_names;
    uint32_t *stop_rules; /* the rule of each entry of stop_names */
    size_t stop_name_count;
    /* For judge_text_stops (judge_text.c): a bloom filter of the first and second words of deny and ask rules. */
    uint64_t first_words[64], second_words[64];
    struct rule_problem *problems;
    size_t problem_count;
};

/* A cheap hash of a word, letter by letter; a word without a mark is in no rule. */
static inline uint32_t word_mark_add(uint32_t mark, char c) { return mark * 31 + (unsigned char)c; }
static inline uint32_t word_mark(struct str word)
{
    uint32_t mark = 0;
    for (size_t i = 0; i < word.n; i++)
        mark = word_mark_add(mark, word.p[i]);
    return mark;
}
static inline bool word_marked(const uint64_t marks[64], uint32_t mark)
{
    return marks[mark >> 6 & 63] >> (mark & 63) & 1;
}

/* The kind of key under which a rule is indexed. */
enum ruleset_key {
    KEY_TOOL = 'T',     /* tool */
    KEY_WORD = 'W',     /* first word */
    KEY_WORDS = 'V',    /* first and second word */
    KEY_PATH = 'P',     /* tool or family, base, folders up to the first wildcard */
    KEY_ANY_PATH = 'A', /* tool or family */
    KEY_HOST = 'H',     /* host */
};

/* By which word of a call a rule is found, so that few rules are compared with each call. */
struct rule_key {
    enum ruleset_key kind;
    struct str first, second;
    char base;
};

/* Iterates over the rules in force under a key: start with *at = 0; NULL at the end. Hashes collide, so each rule must
 * still be matched. */
const struct compiled *rule_set_next(const struct rule_set *set, enum rule_side side,
                                     const struct rule_key *key, uint64_t *hash, uint32_t *at);
bool rule_in_force(const struct compiled *rule, int64_t now_ms);

/* The family of a tool, "edit" or "read": deny and ask rules on paths hold for all tools of the family. */
struct str ruleset_path_family(struct str tool);

#endif
