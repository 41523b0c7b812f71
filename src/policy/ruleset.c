/* Compiles rules (rule_source) into a struct rule_set, and finds those that could fit a call.
 *
 * Every rule is filed in one hash table per side (allow; deny and ask) under what it begins with: the program,
 * the program and its sub-command, the folder, the host or the tool. The judge looks up the keys of a call, so
 * its cost does not grow with the number of rules. A set is immutable once made; the gate makes a new one when
 * a rule changes (gate/rules.c).
 */
#include "policy/ruleset.h"

#include "base/limits.h"
#include "base/local.h"
#include "base/map.h"
#include "policy/examples.h"

static const char *const layer_names[LAYER_COUNT] = {
#define X(name, wire) [LAYER_##name] = wire,
    RULE_LAYERS(X)
#undef X
};

const char *policy_layer_name(enum rule_layer layer)
{
    CHECK(layer >= 0 && layer < LAYER_COUNT);
    return layer_names[layer];
}

bool policy_layer_parse(struct str name, enum rule_layer *ret_layer)
{
    size_t layer = str_index(name, layer_names, LAYER_COUNT);
    if (layer < LAYER_COUNT)
        *ret_layer = (enum rule_layer)layer;
    return layer < LAYER_COUNT;
}

struct rc rule_check(struct arena *arena, struct str text, struct str *ret_canonical, struct err *err)
{
    struct rule rule;
    TRY(rule_parse(arena, text, &rule, err));
    *ret_canonical = rule.text;
    return RC_OK;
}

/* ---- keys ---- */

struct str ruleset_path_family(struct str tool)
{
    static const char *const editing[] = {"Edit", "Write", "MultiEdit", "NotebookEdit"};
    if (str_starts(tool, STR("box."))) /* box rules are kept apart from rules on calls */
        return tool;
    if (STR_IN(tool, editing))
            return STR("edit");
    return STR("read");
}

/* Long names are cut: keys that collide cost a comparison and no mistake, because every rule found is still
 * matched. */
static uint64_t key_hash(const struct rule_key *key)
{
    char bytes[600] NOT_ZEROED;
    size_t n = 0, room = sizeof bytes - 4;
    bytes[n++] = (char)key->kind;
    bytes[n++] = key->base;
    CHECK(key->kind != 0);
    size_t first = key->first.n < room / 2 ? key->first.n : room / 2;
    size_t second = key->second.n < room / 2 ? key->second.n : room / 2;
    if (first)
        memcpy(bytes + n, key->first.p, first);
    n += first;
    bytes[n++] = '\0';
    if (second)
        memcpy(bytes + n, key->second.p, second);
    return map_hash((struct str){bytes, n + second});
}

static uint32_t kind_bit(const struct rule_key *key) { return UINT32_C(1) << ((int)key->kind - 'A'); }

/* The folders of a pattern before its first component with a wildcard; all of it when there is none. */
static struct str literal_folders(struct str pattern)
{
    size_t end = 0, at = 0;
    while (at <= pattern.n) {
        size_t slash = at + str_find(str_sub(pattern, at, pattern.n), '/');
        struct str part = str_sub(pattern, at, slash);
        if (str_find(part, '*') < part.n || str_find(part, '?') < part.n)
            break;
        end = slash;
        at = slash + 1;
    }
    return str_sub(pattern, 0, end);
}

/* Rules whose first word is a pattern are filed under the tool and met by every command. */
static struct rule_key command_key(const struct rule *rule, enum rule_side side)
{
    size_t named = rule->kind == RULE_GLOB ? rule->glob_named : rule->word_count;
    struct rule_key key = {.kind = KEY_TOOL, .first = STR("Bash")};
    if (named == 0 || rule->spelled_count)
        return key;
    key = (struct rule_key){.kind = KEY_WORD, .first = rule->words[0]};
    /* A deny or ask rule matches its second word also behind options, and an option in any position. */
    bool option = named > 1 && rule->words[1].p[0] == '-';
    if (named > 1 && !(side == SIDE_STOP && (option || rule->kind == RULE_GLOB))) {
        key.kind = KEY_WORDS;
        key.second = rule->words[1];
    }
    return key;
}

static struct rule_key rule_key(const struct rule *rule, enum rule_side side)
{
    struct str family = side == SIDE_STOP ? ruleset_path_family(rule->tool) : rule->tool;
    switch (rule->kind) {
    case RULE_EXACT: case RULE_PREFIX: case RULE_GLOB: return command_key(rule, side);
    case RULE_PATH: {
        bool plain = !rule->ups && (side == SIDE_ALLOW || str_find(rule->pattern, '/') < rule->pattern.n);
        if (!plain)
            return (struct rule_key){.kind = KEY_ANY_PATH, .first = family};
        return (struct rule_key){.kind = KEY_PATH, .first = family, .second = literal_folders(rule->pattern),
                                 .base = (char)('0' + (int)rule->base)};
    }
    case RULE_HOST: case RULE_URL:
        if (!str_empty(rule->host))
            return (struct rule_key){.kind = KEY_HOST, .first = rule->host};
        break;
    case RULE_TOOL: case RULE_SERVER: case RULE_GROUP: case RULE_FIELD: break;
    }
    return (struct rule_key){.kind = KEY_TOOL, .first = rule->tool};
}

/* ---- index ---- */

/* Chains by index, twice as many heads as rules: no pointers, three arrays in the set's arena. */
static void index_init(struct rule_set *set, struct rule_index *index)
{
    uint32_t cap = 16;
    while (cap < 2 * set->count)
        cap *= 2;
    index->mask = cap - 1;
    index->heads = arena_array(&set->arena, uint32_t, cap);
    index->next = arena_array(&set->arena, uint32_t, set->count);
    index->hash = arena_array(&set->arena, uint64_t, set->count);
}

static void index_add(struct rule_set *set, size_t at)
{
    CHECK(at < set->count && !set->rules[at].broken);
    const struct compiled *compiled = &set->rules[at];
    enum rule_side side = compiled->effect == EFFECT_ALLOW ? SIDE_ALLOW : SIDE_STOP;
    struct rule_index *index = &set->sides[side];
    struct rule_key key = rule_key(&compiled->rule, side);
    uint64_t hash = key_hash(&key);
    index->kinds |= kind_bit(&key);
    index->hash[at] = hash;
    index->next[at] = index->heads[hash & index->mask];
    index->heads[hash & index->mask] = (uint32_t)at + 1;
}

const struct compiled *rule_set_next(const struct rule_set *set, enum rule_side side,
                                     const struct rule_key *key, uint64_t *hash, uint32_t *at)
{
    const struct rule_index *index = &set->sides[side];
    if (*at == UINT32_MAX)
        return NULL;
    if (*at == 0) {
        bool none = !(index->kinds & kind_bit(key));
        *hash = none ? 0 : key_hash(key);
        *at = none ? 0 : index->heads[*hash & index->mask];
    } else {
        *at = index->next[*at - 1];
    }
    while (*at && index->hash[*at - 1] != *hash)
        *at = index->next[*at - 1];
    if (*at)
        return &set->rules[*at - 1];
    *at = UINT32_MAX;
    return NULL;
}

bool rule_in_force(const struct compiled *rule, int64_t now_ms)
{
    const struct rule_source *source = &rule->source;
    bool loosens = rule->effect == EFFECT_ALLOW && source->layer == LAYER_PROJECT && !source->trusted;
    bool expired = source->expires_at_ms && source->expires_at_ms <= now_ms;
    return !rule->broken && !loosens && !expired && !(source->counted && source->uses_left == 0);
}

/* ---- making ---- */

static struct str *copy_list(struct arena *arena, const struct str *list, size_t count)
{
    struct str *copy = arena_array(arena, struct str, count);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_str(arena, list[i]);
    return copy;
}

/* The set must not depend on the caller's texts: it outlives the request that added the rule. */
static void copy_source(struct arena *arena, struct rule_source *source)
{
    ARENA_KEEP(arena, &source->id, &source->text, &source->author, &source->reason, &source->project.path);
    source->match = copy_list(arena, source->match, source->match_count);
    source->not_match = copy_list(arena, source->not_match, source->not_match_count);
}

/* Rules on commands count: a command is judged in the session's folder. */
bool rule_relative(struct str text)
{
    ARENA_SCOPE(scratch);
    struct rule rule;
    if (rc_bad(rule_parse(&scratch, text, &rule, NULL)))
        return false;
    return rule.kind == RULE_EXACT || rule.kind == RULE_PREFIX || rule.kind == RULE_GLOB || rule.kind == RULE_GROUP ||
           (rule.kind == RULE_PATH && (rule.base == BASE_CWD || rule.base == BASE_PROJECT));
}

static void add_problem(struct rule_set *set, size_t index, const char *words)
{
    CHECK(set->problem_count < set->count);
    set->problems[set->problem_count++] = (struct rule_problem){index, arena_str(&set->arena, str_of(words))};
}

/* A deny or ask that nobody can read still means that somebody wanted to be careful with this tool. */
static void ask_instead(struct rule_set *set, struct compiled *compiled)
{
    struct err ignored;
    struct str rest, name = str_trim(str_cut(compiled->source.text, '(', &rest));
    struct rule whole;
    struct rc rc = rule_parse(&set->arena, name, &whole, &ignored);
    if (rc_bad(rc) || (whole.kind != RULE_TOOL && whole.kind != RULE_SERVER))
        whole = (struct rule){.kind = RULE_TOOL, .tool = STR("*"), .text = STR("*")};
    compiled->rule = whole;
    compiled->effect = EFFECT_ASK;
}

/* Relative patterns of a rule that belongs to a project begin at the project's folder, wherever below it the session
 * is; but a name alone that is denied or asked about means every folder, as in rules of no project (path_stopped).
 * False: the project's path cannot be written as a pattern. */
static bool hang_on_project(struct rule_set *set, struct compiled *compiled)
{
    struct rule *rule = &compiled->rule;
    struct str path = compiled->source.project.path;
    if (compiled->source.reach != REACH_PROJECT || rule->kind != RULE_PATH ||
        (rule->base != BASE_CWD && rule->base != BASE_PROJECT) ||
        (compiled->effect != EFFECT_ALLOW && path_means_anywhere(rule)))
        return true;
    if (compiled->source.project_is_root) {
        rule->base = BASE_PROJECT;
        return true;
    }
    if (str_empty(path) || rule->ups || str_find(path, '*') < path.n || str_find(path, '?') < path.n)
        return false;
    rule->base = BASE_ROOT;
    rule->pattern = arena_printf(&set->arena, "%.*s/%.*s", STR_ARG(str_sub(path, 1, path.n)), STR_ARG(rule->pattern));
    return true;
}

/* A broken allow is not used. A broken deny or ask becomes an ask on every call of its tool (ask_instead):
 * somebody wanted to stop something, and it is not known what. */
static void compile(struct rule_set *set, size_t at)
{
    struct compiled *compiled = &set->rules[at];
    struct err err = {0};
    copy_source(&set->arena, &compiled->source);
    compiled->effect = compiled->source.effect;
    bool allows = compiled->effect == EFFECT_ALLOW;
    struct rc rc = rule_parse(&set->arena, compiled->source.text, &compiled->rule, &err);
    if (rc_ok(rc) && allows)
        rc = rule_for_allow(&compiled->rule, &err);
    if (rc_bad(rc)) {
        add_problem(set, at, err.text);
        compiled->broken = allows;
        if (!allows)
            ask_instead(set, compiled);
        return;
    }
    compiled->source.text = compiled->rule.text;
    rc = examples_check(&compiled->rule, &compiled->source, &err);
    if (rc_bad(rc)) {
        add_problem(set, at, err.text);
        compiled->broken = allows;
    }
    if (!hang_on_project(set, compiled))
        compiled->broken = compiled->broken || allows;
}

static void mark_word(uint64_t marks[64], struct str word)
{
    uint32_t mark = word_mark(word);
    marks[mark >> 6 & 63] |= (uint64_t)1 << (mark & 63);
}

/* The last component of a rule's pattern that is a name. */
static struct str last_name(struct str pattern)
{
    struct str found = STR_NONE;
    STR_EACH(part, pattern, '/') {
        if (str_find(part, '*') == part.n && str_find(part, '?') == part.n)
            found = part;
    }
    return found;
}

/* Files a rule, and notes for the whole set what kinds of objections there are, so that the judge can skip a
 * look. */
static void take_in(struct rule_set *set, size_t at)
{
    const struct rule *rule = &set->rules[at].rule;
    if (set->rules[at].broken)
        return;
    index_add(set, at);
    if (set->rules[at].effect == EFFECT_ALLOW)
        return;
    set->stops_paths |= rule->kind == RULE_PATH;
    struct str name = rule->kind == RULE_PATH ? last_name(rule->pattern) : STR_NONE;
    if (!str_empty(name)) {
        set->stop_rules[set->stop_name_count] = (uint32_t)at;
        set->stop_names[set->stop_name_count++] = name;
    }
    set->stops_hosts |= rule->kind == RULE_HOST || rule->kind == RULE_URL;
    set->stops_commands |= str_is(rule->tool, "Bash") && rule->kind != RULE_TOOL;
    bool by_command = str_is(rule->tool, "Bash") || rule->kind == RULE_PATH || rule->kind == RULE_HOST ||
                      rule->kind == RULE_URL;
    if (by_command && set->rules[at].source.people > set->people)
        set->people = set->rules[at].source.people;
    if (rule->word_count)
        mark_word(set->first_words, rule->words[0]);
    if (rule->word_count > 1)
        mark_word(set->second_words, rule->words[1]);
}

/* Never fails: a rule that cannot be used is listed in `problems`, which `nod policy lint` and the page show. */
struct rule_set *rule_set_new(const struct rule_source *sources, size_t count)
{
    struct rule_set *set = heap_new(sizeof *set);
    bool too_many = count > LIMIT_RULES;
    size_t taken = too_many ? LIMIT_RULES : count;
    set->count = taken + too_many;
    set->rules = arena_array(&set->arena, struct compiled, set->count);
    set->problems = arena_array(&set->arena, struct rule_problem, set->count);
    set->stop_names = arena_array(&set->arena, struct str, set->count);
    set->stop_rules = arena_array(&set->arena, uint32_t, set->count);
    for (int side = 0; side < SIDE_COUNT; side++)
        index_init(set, &set->sides[side]);
    for (size_t i = 0; i < taken; i++) {
        set->rules[i].source = sources[i];
        compile(set, i);
        take_in(set, i);
    }
    if (too_many) {
        /* The unused rules may be denies: this rule on every tool stops all calls. */
        set->rules[taken] =
            (struct compiled){.source = {.text = STR("*"), .reason = STR("there are too many rules")},
                              .rule = {.kind = RULE_TOOL, .tool = STR("*"), .text = STR("*")}};
        add_problem(set, taken, "there are too many rules: this one and those behind it are not used");
        take_in(set, taken);
    }
    return set;
}

void rule_set_free(struct rule_set *set) { arena_free(set); }

size_t rule_set_problems(const struct rule_set *set, const struct rule_problem **ret_problems)
{
    *ret_problems = set->problems;
    return set->problem_count;
}
