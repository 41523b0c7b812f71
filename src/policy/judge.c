/* Decides a call. The order in which rules, modes and defaults count is the table "Who wins" of docs/RULES.md; decide()
 * has a line for each of its lines.
 *
 * policy_judge is the entry, called by the gate on the loop for every call, and by the command line for `nod
 * policy test` and the like. A call that runs a command is taken apart by judge_command.c, a call on files here
 * (judge_paths); all other calls are matched as a whole (whole_fits). Pure: links of paths are looked up by the
 * caller's function.
 */
#include "policy/judge_sweep.h"

#include "base/err.h"
#include "base/grow.h"
#include "base/local.h"
#include "base/utf8.h"
#include "policy/table.h"

const char judge_no_rule[] = "no rule allows it";

/* ---- names ---- */

static const char *const mode_names[MODE_COUNT] = {
#define X(name, wire) [MODE_##name] = wire,
    PERMISSION_MODES(X)
#undef X
};

static const struct {
    const char *name;
    enum permission_mode mode;
} mode_aliases[] = {
    {"yolo", MODE_BYPASS},
    {"safe-yolo", MODE_DEFAULT},
};

static const char *const effect_names[] = {
    [EFFECT_ASK] = "ask", [EFFECT_ALLOW] = "allow", [EFFECT_DENY] = "deny"};

const char *policy_mode_name(enum permission_mode mode) { return mode_names[mode]; }
const char *effect_name(enum effect effect) { return effect_names[effect]; }

bool policy_mode_parse(struct str name, enum permission_mode *ret_mode)
{
    size_t mode = str_index(name, mode_names, MODE_COUNT);
    if (mode < MODE_COUNT) {
        *ret_mode = (enum permission_mode)mode;
        return true;
    }
    for (size_t i = 0; i < sizeof mode_aliases / sizeof *mode_aliases; i++) {
        if (str_is(name, mode_aliases[i].name)) {
            *ret_mode = mode_aliases[i].mode;
            return true;
        }
    }
    return false;
}

bool effect_parse(struct str name, enum effect *ret_effect)
{
    size_t effect = str_index(name, effect_names, sizeof effect_names / sizeof *effect_names);
    bool known = effect < sizeof effect_names / sizeof *effect_names;
    *ret_effect = known ? (enum effect)effect : EFFECT_ASK;
    return known || str_is(name, "require-approval"); /* the name that some agents' configurations have for asking */
}

/* ---- notes ---- */

struct verdict_rule verdict_rule_of(const struct compiled *rule)
{
    const struct rule_source *source = &rule->source;
    return (struct verdict_rule){.id = source->id, .text = source->text, .author = source->author,
                                 .reason = source->reason, .layer = source->layer, .effect = rule->effect,
                                 .project = source->project.path};
}

/* The strictest rule wins: deny before ask. The number of persons is the largest that any of the rules wants. */
void stop_note(struct judging *j, const struct compiled *rule)
{
    CHECK(rule->effect != EFFECT_ALLOW);
    bool stricter = !j->stop.rule || (rule->effect == EFFECT_DENY && j->stop.effect != EFFECT_DENY);
    /* Among equals, the layer that stands higher. */
    bool higher =
        j->stop.rule && rule->effect == j->stop.effect && rule->source.layer < j->stop.rule->source.layer;
    if (stricter || higher)
        j->stop = (struct stop){rule, rule->effect, j->stop.people};
    if (rule->source.people > j->stop.people)
        j->stop.people = rule->source.people;
}

/* Each rule once, though several parts of a command may need it. */
void judge_note_used(struct judging *j, const struct compiled *rule)
{
    for (size_t i = 0; i < j->used_count; i++)
        if (j->used[i].text.p == rule->source.text.p)
            return;
    ARENA_GROW(j->arena, j->used, j->used_count, j->used_room);
    j->used[j->used_count++] = verdict_rule_of(rule);
}

/* ---- beginning ---- */

static bool is_command(const struct tool_facts *facts) { return facts->class == TOOL_COMMAND; }

static bool is_file_tool(const struct tool_facts *facts)
{
    return facts->class == TOOL_READ || facts->class == TOOL_EDIT;
}

/* A folder of the session as it is named and with its links resolved (NULL: as if it had none); empty when it has no
 * such folder. */
struct place place_from(struct judging *j, struct str named, path_look *look)
{
    struct str normal, normal_real;
    if (str_empty(named) || !path_normal(j->arena, STR_NONE, STR_NONE, named, &normal))
        return (struct place){0};
    struct str real = look ? look(j->q->look_arg, named, true)->real : named;
    if (str_eq(real, named) || !path_normal(j->arena, STR_NONE, STR_NONE, real, &normal_real))
        normal_real = normal;
    return (struct place){.named = normal, .real = normal_real};
}

void judging_init(struct judging *j, struct arena *arena, const struct question *question)
{
    CHECK(question->facts);
    static uint32_t no_heads[1];
    static const struct rule_set no_rules = {.sides = {{.heads = no_heads}, {.heads = no_heads}}};
    *j =
        (struct judging){.arena = arena, .q = question, .set = question->rules ? question->rules : &no_rules};
    /* Tools without paths need no look at the disk. */
    bool paths = is_command(question->facts) || is_file_tool(question->facts) || !str_eq(question->cwd, question->root);
    path_look *look = paths ? question->look : NULL;
    j->places.cwd = place_from(j, question->cwd, look);
    j->places.project =
        str_eq(question->root, question->cwd) ? j->places.cwd : place_from(j, question->root, look);
    j->places.home = place_from(j, question->home, NULL);
    j->home_look = look;
    if (str_empty(j->places.project.named))
        j->places.project = j->places.cwd;
    if (str_empty(j->places.cwd.named))
        j->places.cwd = j->places.project;
    /* A cwd chosen by the caller is treated like a leading `cd`: it gains no rights by it. */
    j->elsewhere = !str_empty(j->places.cwd.named) &&
                   (!path_within(j->places.cwd.named, j->places.project.named) ||
                    !path_within(j->places.cwd.real, j->places.project.real));
}

/* ---- one rule against the call as a whole ---- */

/* Rules on all tools of an MCP server, `mcp__github__*`. An allow must name the server whole. */
static bool server_fits(const struct rule *rule, struct str name)
{
    if (!str_starts(name, rule->tool) || name.n == rule->tool.n)
        return false;
    struct str tool = str_sub(name, rule->tool.n, name.n);
    if (!str_empty(rule->field)) { /* a pattern for servers (deny and ask only): each `__` may end the name */
        struct str server = STR_NONE;
        for (size_t i = 1; i + 2 < tool.n; i++) {
            server = str_sub(tool, 0, i);
            if (tool.p[i] == '_' && tool.p[i + 1] == '_' && match_glob(rule->field, server) &&
                match_glob(rule->value, str_sub(tool, i + 2, tool.n)))
                return true;
        }
        return false;
    }
    /* A second border could belong to the server's name: `mcp__slack__evil__post`. */
    return !str_has(tool, STR("__")) && tool.p[0] != '_' && match_glob(rule->value, tool);
}

/* Whether the text has no character that hides or reorders others. */
static bool shows_all(struct str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t code;
        size_t n = utf8_decode(str_sub(text, i, text.n), &code);
        if (n == 0 || utf8_hidden(code))
            return false;
        i += n;
    }
    return true;
}

/* Rules on a field of the input, `Tool(field: value)`. A text with hidden characters is never allowed by one,
 * since the person who wrote the rule would not see the difference. */
static bool field_fits(const struct rule *rule, const struct tool_facts *facts, enum rule_side side)
{
    const struct json *field = json_get_str(facts->input, rule->field);
    if (!field || field->type == JSON_OBJECT || field->type == JSON_ARRAY)
        return false;
    struct str value = field->type == JSON_STRING ? field->text : field->raw;
    if (side == SIDE_ALLOW && !shows_all(value))
        return false;
    if (!rule->value_words)
        return match_glob(rule->value, value);
    return str_eq(rule->value, value) ||
           (str_starts(value, rule->value) && value.n > rule->value.n && value.p[rule->value.n] == ' ');
}

static bool address_fits(struct judging *j, const struct rule *rule, enum rule_side side)
{
    struct url url;
    return url_parse(j->arena, j->q->facts->url, &url) && url_matches(rule, &url, side == SIDE_ALLOW);
}

/* Whether the rule's conditions on an MCP tool's hints hold. An allow needs hints from a pinned definition; a deny or
 * ask holds also when there are none. */
static bool hints_fit(const struct rule *rule, const struct tool_facts *facts, enum rule_side side)
{
    if (!rule->hints || (side == SIDE_STOP && !(facts->hints & HINT_TOLD)))
        return true;
    return (facts->hints & HINT_TOLD) && (facts->hints & rule->hints) == rule->hints;
}

/* Whether a rule matches the call as a whole: every kind but those on commands and paths, which are judged part by
 * part. */
static bool whole_fits(struct judging *j, const struct rule *rule, enum rule_side side)
{
    const struct tool_facts *facts = j->q->facts;
    if (!hints_fit(rule, facts, side))
        return false;
    bool named = !str_empty(facts->asked) && str_eq(rule->tool, facts->asked);
    bool same = str_is(rule->tool, "*") || named ||
                ((side == SIDE_STOP || !facts->foreign) &&
                 (str_eq(rule->tool, facts->name) || (is_command(facts) && str_is(rule->tool, "Bash"))));
    switch (rule->kind) {
    case RULE_TOOL: return same;
    case RULE_SERVER: return server_fits(rule, facts->name);
    case RULE_HOST: case RULE_URL: return same && address_fits(j, rule, side);
    case RULE_FIELD: return same && field_fits(rule, facts, side);
    case RULE_EXACT: case RULE_PREFIX: case RULE_GLOB: case RULE_GROUP: case RULE_PATH: break;
    }
    return false;
}

typedef bool rule_taken(struct judging *j, const struct compiled *rule);

/* Offers the rules of one side under a key that fit the call; stops at the first that is taken. */
static bool offer(struct judging *j, enum rule_side side, struct rule_key key, rule_taken *taken)
{
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while ((rule = rule_set_next(j->set, side, &key, &hash, &at)))
        if (rule_in_force(rule, j->q->now_ms) && whole_fits(j, &rule->rule, side) && taken(j, rule))
            return true;
    return false;
}

/* mcp__server__ of mcp__server__tool. */
static struct str server_of(struct str name)
{
    if (!str_starts(name, STR("mcp__")))
        return STR_NONE;
    const char *bar = memmem(name.p + 5, name.n - 5, "__", 2);
    return bar ? str_sub(name, 0, (size_t)(bar - name.p) + 2) : STR_NONE;
}

/* Rules on the host of an address, from the whole name to its domains: a.b.c, b.c, c. */
static bool offer_hosts(struct judging *j, enum rule_side side, rule_taken *taken)
{
    struct url url;
    if (str_empty(j->q->facts->url) || !url_parse(j->arena, j->q->facts->url, &url))
        return false;
    for (struct str host = url.host; !str_empty(host); (void)str_cut(host, '.', &host))
        if (offer(j, side, (struct rule_key){.kind = KEY_HOST, .first = host}, taken))
            return true;
    return false;
}

/* Offers every rule that could fit the call as a whole, found by what it begins with: the tool's name, the name
 * that the agent used, the server, the host, then rules on all tools. A Net call is allowed by rules on hosts
 * alone. */
static bool offer_all(struct judging *j, enum rule_side side, rule_taken *taken)
{
    const struct tool_facts *facts = j->q->facts;
    struct str server = server_of(facts->name);
    if (j->q->hosts_alone && side == SIDE_ALLOW)
        return offer_hosts(j, side, taken);
    if (offer(j, side, (struct rule_key){.kind = KEY_TOOL, .first = facts->name}, taken))
        return true;
    if (!str_empty(facts->asked) &&
        offer(j, side, (struct rule_key){.kind = KEY_TOOL, .first = facts->asked}, taken))
        return true;
    if (is_command(facts) && !str_is(facts->name, "Bash") &&
        offer(j, side, (struct rule_key){.kind = KEY_TOOL, .first = STR("Bash")}, taken))
        return true;
    if (!str_empty(server) && offer(j, side, (struct rule_key){.kind = KEY_TOOL, .first = server}, taken))
        return true;
    if (!str_empty(server) && side == SIDE_STOP &&
        offer(j, side, (struct rule_key){.kind = KEY_TOOL, .first = STR("mcp__")}, taken))
        return true;
    if (offer_hosts(j, side, taken))
        return true;
    return offer(j, side, (struct rule_key){.kind = KEY_TOOL, .first = STR("*")}, taken);
}

static bool take_stop(struct judging *j, const struct compiled *rule)
{
    stop_note(j, rule);
    return false; /* a stricter one may follow */
}

static bool take_allow(struct judging *j, const struct compiled *rule)
{
    judge_note_used(j, rule);
    return true;
}

/* ---- paths of a tool ---- */

/* Whether another field of the input than the tool's own also seems to name a file, and a different one. */
static bool names_another(const struct tool_facts *facts, const struct json *field)
{
    static const char *const marks[] = {"path", "file", "dir", "cwd", "root"};
    bool tells = false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        tells = tells || str_has(field->key, str_of(marks[i]));
    if (!tells || field->type != JSON_STRING)
        return false;
    for (size_t i = 0; i < facts->path_count; i++)
        if (str_eq(facts->paths[i], field->text))
            return false;
    return true;
}

/* Whether a Glob pattern may lead out of its folder. */
static bool pattern_leaves(const struct tool_facts *facts)
{
    const struct json *pattern = json_get(facts->input, "pattern");
    if (!str_is(facts->name, "Glob") || !pattern || pattern->type != JSON_STRING || str_empty(pattern->text))
        return false;
    struct str rest = pattern->text;
    if (strchr("/~\\", rest.p[0]))
        return true;
    while (!str_empty(rest))
        if (str_is(str_cut(rest, '/', &rest), ".."))
            return true;
    return false;
}

/* Whether the tool reads everything below its folder. */
static bool searches(const struct tool_facts *facts)
{
    return str_is(facts->name, "Grep") || str_is(facts->name, "Glob");
}

/* The letter as a mark of patterns, if it is one to Grep: `*.{c,h}`, `[ab]?`. */
static char filter_mark(char c)
{
    static const char letters[] = "*?[]{,}";
    static const char marks[] = {SHAPE_STAR, SHAPE_ONE, SHAPE_OPEN, SHAPE_CLOSE, SHAPE_LEFT, SHAPE_COMMA, SHAPE_RIGHT};
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? marks[at - letters] : c;
}

/* Grep's own filter may name a secret: `.env*`. */
static void judge_filter(struct judging *j)
{
    const struct json *filter = json_get(j->q->facts->input, "glob");
    char shape[256];
    if (!str_is(j->q->facts->name, "Grep") || !filter || filter->type != JSON_STRING ||
        filter->text.n > sizeof shape || str_empty(filter->text))
        return;
    for (size_t i = 0; i < filter->text.n; i++)
        shape[i] = filter_mark(filter->text.p[i]);
    struct word word = {.text = filter->text, .shape = {shape, filter->text.n}};
    struct str targets[TARGETS_MAX] NOT_ZEROED;
    size_t count = targets_of(j->arena, &word, &(struct target_base){.folder = STR("/")}, targets);
    for (size_t i = 0; i < count; i++)
        if (judge_target_protected(j, targets[i], (struct touch){.looks = true}))
            j->protected_path = filter->text;
        else if (target_secret(targets[i], false))
            j->secret = true;
}

/* Grep shows lines of the files below its folder: a rule against all that lies below it is one against the search. */
static void grep_stops(struct judging *j, const struct place *place)
{
    if (str_is(j->q->facts->name, "Grep"))
        judge_target_stops(j, place->named, (struct touch){.looks = true});
}

/* Judges a search; without a path it begins in the call's folder. */
static void judge_search(struct judging *j, const struct folder *here)
{
    struct place place;
    j->outside = true;
    if (!here->known || !place_of(j, here, here->path, &place))
        return;
    j->outside = !place_readable(j, &place);
    grep_stops(j, &place);
    if (place_protected(j, &place, (struct touch){.looks = true, .tree = true}))
        j->protected_path = place.named;
}

/* Notes the objections to each path: deny and ask rules, protected targets. True when allow rules cover all paths. */
static bool judge_paths(struct judging *j)
{
    const struct tool_facts *facts = j->q->facts;
    for (const struct json *field = facts->input ? facts->input->first : NULL; field; field = field->next)
        if (names_another(facts, field))
            j->unknown = "its input names another path beside its own";
    if (pattern_leaves(facts))
        j->unknown = "its pattern leaves the folder it begins in";
    judge_filter(j);
    struct folder here = {.path = j->places.cwd.named, .known = !str_empty(j->places.cwd.named)};
    if (facts->path_count == 0 && searches(facts))
        judge_search(j, &here);
    bool edits = facts->class == TOOL_EDIT, covered = facts->path_count > 0;
    for (size_t i = 0; i < facts->path_count; i++) {
        struct place place;
        if (!place_of(j, &here, facts->paths[i], &place)) {
            j->unknown = "its path cannot be read plainly";
            covered = false;
            continue;
        }
        place_stops(j, &place, edits ? STR("edit") : STR("read"));
        grep_stops(j, &place);
        if (place_protected(j, &place, (struct touch){.looks = !edits, .tree = searches(facts)}))
            j->protected_path = place.named;
        else if (edits && place.shared)
            judge_note_shared(j, place.named);
        j->outside = j->outside || !(edits ? place_inside(j, &place) : place_readable(j, &place));
        j->secret = j->secret || target_secret(place.named, false) || target_secret(place.real, false);
        const struct compiled *rule = place_covered(j, &place, facts->name);
        /* Edit(path) is every way to change a file; Write(path) only makes and replaces. */
        if (!rule && edits && !str_is(facts->name, "Edit"))
            rule = place_covered_by_path(j, &place, STR("Edit"));
        if (rule)
            judge_note_used(j, rule);
        covered = covered && rule;
    }
    return covered;
}

/* acceptEdits is about files inside the session's folder. */
static bool edits_inside(struct judging *j)
{
    const struct tool_facts *facts = j->q->facts;
    struct folder here = {.path = j->places.cwd.named, .known = !str_empty(j->places.cwd.named)};
    for (size_t i = 0; i < facts->path_count; i++) {
        struct place place;
        if (!place_of(j, &here, facts->paths[i], &place) || str_empty(j->places.project.named) ||
            !path_within(place.named, j->places.project.named) ||
            !path_within(place.real, j->places.project.real))
            return false;
    }
    return facts->path_count > 0;
}

/* ---- the session, the mode, the defaults ---- */

/* The session's own policy for the tool (`toolPolicies`), the strictest of those that name it. */
static const struct tool_policy *session_says(const struct question *q)
{
    const struct tool_facts *facts = q->facts;
    const struct tool_policy *strictest = NULL;
    for (size_t i = 0; i < q->tool_policy_count; i++) {
        const struct tool_policy *policy = &q->tool_policies[i];
        bool named = !str_empty(facts->asked) && str_eq(policy->tool, facts->asked);
        bool ours = str_eq(policy->tool, facts->name) && !(facts->foreign && policy->effect == EFFECT_ALLOW);
        if ((named || ours) && (!strictest || policy->effect == EFFECT_DENY || strictest->effect == EFFECT_ALLOW))
            strictest = policy;
    }
    return strictest;
}

static struct verdict say(enum effect effect, struct str source, struct str why)
{
    return (struct verdict){.effect = effect, .source = source, .why = why};
}

#define ONLY_READS "it only reads inside the session's folder or the system's own files"
#define ACCEPTS_EDITS "the session accepts edits of its files (acceptEdits)"

/* The effect where no rule and no mode decides. */
static struct verdict by_default(enum tool_class class)
{
    switch (class) {
    case TOOL_READ: return say(EFFECT_ALLOW, STR("default"), STR(ONLY_READS));
    case TOOL_TASK: return say(EFFECT_ALLOW, STR("default"), STR("the agent's own list of tasks"));
    case TOOL_AGENT: return say(EFFECT_ALLOW, STR("default"), STR("a sub-agent asks for itself"));
    case TOOL_EDIT: return say(EFFECT_ASK, STR("default"), STR("it changes files, and no rule allows it"));
    case TOOL_COMMAND:
        return say(EFFECT_ASK, STR("default"), STR("it runs a command, and no rule allows it"));
    case TOOL_FETCH:
        return say(EFFECT_ASK, STR("default"), STR("it reaches the network, and no rule allows it"));
    case TOOL_PLAN: return say(EFFECT_ASK, STR("default"), STR("it is a question for a person"));
    case TOOL_OTHER: break;
    }
    return say(EFFECT_ASK, STR("default"), STR("no rule for this tool yet"));
}

static bool harmless(enum tool_class class) { return class == TOOL_READ || class == TOOL_TASK; }

/* The verdict of the permission mode, or the default where the mode has none. Plan and read-only deny all that acts,
 * also where a rule allows it (decide); bypass allows all but questions to a person; acceptEdits allows edits inside
 * the session's folder. */
static struct verdict by_mode(struct judging *j)
{
    enum tool_class class = j->q->facts->class;
    switch (j->q->mode) {
    case MODE_BYPASS:
        if (class != TOOL_PLAN)
            return say(EFFECT_ALLOW, STR("mode"),
                       STR("the session lets everything pass (bypassPermissions)"));
        break;
    case MODE_ACCEPT_EDITS:
        if (class == TOOL_EDIT && !j->q->facts->foreign && edits_inside(j))
            return say(EFFECT_ALLOW, STR("mode"), STR(ACCEPTS_EDITS));
        break;
    case MODE_PLAN:
        if (!harmless(class) && class != TOOL_PLAN && class != TOOL_AGENT)
            return say(EFFECT_DENY, STR("mode"), STR("the session only plans; nothing is changed or run"));
        break;
    case MODE_READ_ONLY:
        if (!harmless(class) && class != TOOL_PLAN && class != TOOL_AGENT)
            return say(EFFECT_DENY, STR("mode"), STR("the session is read-only"));
        break;
    case MODE_DEFAULT:
    case MODE_COUNT:
        break;
    }
    if (j->q->facts->foreign && by_default(class).effect == EFFECT_ALLOW)
        return say(EFFECT_ASK, STR("default"), STR("another agent's name for a tool, and no rule allows it"));
    return by_default(class);
}

/* ---- the verdict ---- */

/* The verdict in the words of the first rule; the others are listed with it. */
static struct verdict by_rule(struct judging *j, enum effect effect, const struct verdict_rule *rules,
                              size_t count)
{
    CHECK(count > 0);
    const struct verdict_rule *first = &rules[0];
    struct verdict verdict = {.effect = effect,
                              .rule = first->text,
                              .source = str_of(policy_layer_name(first->layer)),
                              .rules = rules,
                              .rule_count = count};
    verdict.why =
        arena_printf(j->arena, "the %s rule %.*s %s it%s%.*s", policy_layer_name(first->layer), STR_ARG(first->text),
                     effect == EFFECT_ALLOW  ? "allows"
                     : effect == EFFECT_DENY ? "denies"
                                             : "asks about",
                     str_empty(first->reason) ? "" : ": ", STR_ARG(first->reason));
    return verdict;
}

/* The pieces, one behind the other: for words that nearly every call needs, instead of printf. */
#define JOINED(arena, ...) \
    joined((arena), (const struct str[]){__VA_ARGS__}, sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))
static struct str joined(struct arena *arena, const struct str pieces[], size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += pieces[i].n;
    char *text = arena_bytes(arena, n + 1), *at = text;
    for (size_t i = 0; i < count; i++)
        (void)str_pack(&at, pieces[i]);
    *at = '\0';
    return (struct str){text, n};
}

static struct verdict by_session(struct judging *j, const struct tool_policy *policy)
{
    struct verdict verdict = say(policy->effect, STR("session"), STR_NONE);
    verdict.rule = policy->tool;
    verdict.why = JOINED(j->arena, STR("the session's policy for "), policy->tool, STR(" is "),
                         str_of(effect_name(policy->effect)));
    return verdict;
}

static struct verdict by_stop(struct judging *j)
{
    struct verdict_rule *rule = arena_new(j->arena, struct verdict_rule);
    *rule = verdict_rule_of(j->stop.rule);
    return by_rule(j, j->stop.effect, rule, 1);
}

/* Why the rules do not let a command pass, in words. */
static struct str uncovered_words(struct judging *j)
{
    if (!j->uncovered)
        return STR_NONE;
    bool no_rule = j->uncovered == judge_no_rule;
    size_t shown = j->uncovered_text.n > 80 ? 80 : j->uncovered_text.n;
    return JOINED(j->arena, no_rule ? STR("no rule allows `") : STR("`"), str_sub(j->uncovered_text, 0, shown),
                  shown < j->uncovered_text.n ? STR("…") : STR_NONE, STR("`"), no_rule ? STR_NONE : STR(": "),
                  no_rule ? STR_NONE : str_of(j->uncovered));
}

/* Looks at everything; true when allow rules let the call pass. */
static bool look(struct judging *j)
{
    const struct tool_facts *facts = j->q->facts;
    bool covered = false;
    (void)offer_all(j, SIDE_STOP, take_stop);
    if (is_command(facts))
        judge_command(j);
    if (facts->unclear)
        j->unknown = facts->unclear;
    if (is_command(facts) && !facts->foreign)
        return !j->uncovered && !j->unknown;
    if (is_file_tool(facts))
        covered = judge_paths(j);
    if (facts->foreign) { /* rules on our name for the tool stop it, but do not let it pass */
        covered = false;
        j->used_count = 0;
    }
    if (facts->class == TOOL_FETCH && judge_has_own_port(j->q, facts->url)) {
        j->protected_path = facts->url;
        j->protected_why = "may be Nod's own address: it is always asked about";
    }
    if (facts->class == TOOL_FETCH && !shows_all(facts->url))
        j->unknown = "its address has hidden characters";
    return (offer_all(j, SIDE_ALLOW, take_allow) || covered) && !j->unknown && shows_all(facts->name);
}

/* Whether an address cannot be parsed while rules deny hosts: programs might find a denied host in it. */
static bool address_in_doubt(struct judging *j)
{
    struct url url;
    return j->set->stops_hosts && str_is(j->q->facts->name, "WebFetch") &&
           !url_parse(j->arena, j->q->facts->url, &url);
}

/* The order is the policy: it is the table "Who wins" of docs/RULES.md. Each line may only be reached when those
 * before it did not decide. */
static struct verdict decide(struct judging *j, bool covered)
{
    const struct tool_policy *session = session_says(j->q);
    struct verdict mode = by_mode(j);
    if (j->stop.rule && j->stop.effect == EFFECT_DENY)
        return by_stop(j);
    if (session && session->effect == EFFECT_DENY)
        return by_session(j, session);
    /* Planning and read-only sessions change nothing, whatever was allowed before. */
    bool looks = is_command(j->q->facts) && covered && j->builtin && !j->used_count;
    if (mode.effect == EFFECT_DENY && !looks)
        return mode;
    if (!str_empty(j->protected_path))
        return say(EFFECT_ASK, STR("protected"),
                   arena_printf(j->arena, "%.*s %s", STR_ARG(j->protected_path),
                                j->protected_why ? j->protected_why
                                                 : "is protected: it is always asked about"));
    if (j->stop.rule)
        return by_stop(j);
    if (session && session->effect == EFFECT_ASK)
        return by_session(j, session);
    if (address_in_doubt(j))
        return say(EFFECT_ASK, STR("default"),
                   STR("there are rules against some addresses, and this one cannot be read plainly"));
    if (covered && j->used_count)
        return by_rule(j, EFFECT_ALLOW, j->used, j->used_count);
    if (covered && j->accepted)
        return say(EFFECT_ALLOW, STR("mode"), STR(ACCEPTS_EDITS));
    if (covered && j->builtin)
        return say(EFFECT_ALLOW, STR("built-in"), STR(ONLY_READS));
    bool rules_against = j->set->stops_commands || j->set->stops_paths || j->set->stops_hosts;
    bool forbids = is_command(j->q->facts) && j->unknown && rules_against;
    if (forbids && (session || mode.effect == EFFECT_ALLOW))
        return say(EFFECT_ASK, STR("default"),
                   arena_printf(j->arena,
                                "there are rules against some commands, and this one is not understood: %s",
                                j->unknown));
    /* A file nobody can name may be a protected one. */
    if (is_file_tool(j->q->facts) && j->unknown)
        return say(EFFECT_ASK, STR("default"), str_of(j->unknown));
    if (session)
        return by_session(j, session);
    if (j->q->facts->class == TOOL_READ && j->outside && j->q->mode != MODE_BYPASS)
        return say(EFFECT_ASK, STR("default"), STR("it reads outside the session's folder, and no rule allows it"));
    if (is_file_tool(j->q->facts) && j->secret && j->q->mode != MODE_BYPASS)
        return say(EFFECT_ASK, STR("default"), STR("its name says that it holds keys, and no rule allows it"));
    struct str words = mode.effect == EFFECT_ASK && is_command(j->q->facts) ? uncovered_words(j) : STR_NONE;
    if (!str_empty(words))
        mode.why = words;
    return mode;
}

/* The risk of a call that is not a command. */
static unsigned tool_risk(const struct judging *j)
{
    unsigned risk = !str_empty(j->protected_path) ? RISK_SETTINGS : 0;
    switch (j->q->facts->class) {
    case TOOL_EDIT: return risk | (j->outside ? RISK_OVERWRITES | RISK_SETTINGS : 0);
    case TOOL_FETCH: return risk | RISK_NETWORK;
    case TOOL_OTHER: return risk | RISK_UNKNOWN; /* the effects of other programs' tools are not known */
    case TOOL_READ: case TOOL_COMMAND: case TOOL_TASK: case TOOL_AGENT: case TOOL_PLAN: break;
    }
    return risk;
}

/* How many persons must allow the call. A command that is not understood may be one that any of the rules means, so
 * it needs the largest number that a rule has. */
static unsigned people_of(const struct judging *j, const struct verdict *verdict)
{
    bool in_doubt = is_command(j->q->facts) && j->unknown;
    if (verdict->effect != EFFECT_ASK)
        return 0;
    return in_doubt && j->set->people > j->stop.people ? j->set->people : j->stop.people;
}

/* Pure but for the question's own look at the disk: the same question gives the same verdict. The texts are in
 * `arena`. */
struct verdict policy_judge(struct arena *arena, const struct question *question)
{
    struct judging j NOT_ZEROED; /* judging_init fills all of it */
    judging_init(&j, arena, question);
    bool covered = look(&j);
    struct verdict verdict = decide(&j, covered);
    verdict.parts = j.parts;
    verdict.part_count = j.parts_count;
    verdict.risk = j.risk | tool_risk(&j);
    verdict.people = people_of(&j, &verdict);
    verdict.risky = risk_holds_back(verdict.risk) || verdict.people;
    if (verdict.effect == EFFECT_ALLOW)
        verdict.sweep = j.sweep;
    /* A call that the mode lets pass without a rule may go through links, but not to what a rule is against. */
    if (verdict.sweep.find_count && decide(&j, false).effect == EFFECT_ALLOW)
        sweep_without_rules(&verdict.sweep);
    verdict.listed = verdict.effect == EFFECT_ALLOW && j.listed;
    return verdict;
}

static bool covers(struct arena *arena, const struct question *question, bool rules_alone)
{
    struct judging j;
    judging_init(&j, arena, question);
    j.rules_alone = rules_alone;
    return look(&j) && j.used_count && !j.stop.rule && str_empty(j.protected_path);
}

bool policy_covers(struct arena *arena, const struct question *question) { return covers(arena, question, true); }

bool policy_lets_pass(struct arena *arena, const struct question *question)
{
    return covers(arena, question, false);
}
