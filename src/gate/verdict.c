/* The verdict on a call: the question put together from session, rules and the file system, and the
 * answer in words. Paths are resolved here, because policy/ touches nothing. */
#include "gate/inner.h"
#include "gate/nets.h"
#include "gate/verdict.h"

#include "io/clock.h"
#include "io/links.h"
#include "tools/tools.h"

#include <errno.h>

/* The paths of one question that were looked up; the last ones are remembered, since a judge asks several times. */
struct looks {
    struct arena *arena;
    struct resolved_path *last[8];
    bool reached[8]; /* whether `exists`, `file` and `shared` were looked up, too */
    unsigned count;
};

/* The disk as policy/ may ask for it: remembers the last few answers, because rules ask for the same paths
 * again. */
static const struct resolved_path *look(void *arg, struct str path, bool place)
{
    struct looks *looks = arg;
    enum { LAST = sizeof looks->last / sizeof *looks->last };
    for (unsigned i = 0; i < LAST && looks->last[i]; i++)
        if (str_eq(looks->last[i]->path, path) && (place || looks->reached[i]))
            return looks->last[i];
    struct resolved_path *found = arena_new(looks->arena, struct resolved_path);
    /* A judgement may be made in a shorter-lived arena than ours, and its paths with it. */
    *found = (struct resolved_path){.path = arena_str(looks->arena, path), .real = links_follow(looks->arena, path)};
    if (!place)
        found->exists = links_reach(looks->arena, path, &found->file, &found->shared);
    looks->reached[looks->count % LAST] = !place;
    looks->last[looks->count++ % LAST] = found;
    return found;
}

static void put_tool_policies(struct arena *arena, const struct session *session, struct question *question)
{
    struct tool_policy *policies = arena_array(arena, struct tool_policy, session->tool_count + 1);
    for (size_t i = 0; i < session->tool_count; i++) {
        struct tool_policy *policy = &policies[question->tool_policy_count++];
        policy->tool = session->tools[i].tool;
        if (!effect_parse(session->tools[i].effect, &policy->effect))
            policy->effect = EFFECT_ASK;
    }
    question->tool_policies = policies;
}

/* `policy explain` without a session: managed and user rules, and the policy file of the folder. */
static const struct rule_set *rules_of(struct gate *gate, const struct session *session)
{
    static struct session_rules nobody;
    if (!str_empty(session->id))
        return sessions_rules(gate, session);
    return rules_for(gate, session, &nobody);
}

/* Where a call runs: the folder that its input names, if it names one, seen from where the agent is. */
static struct str where(struct arena *arena, const struct tool_facts *facts, struct str cwd)
{
    if (str_empty(facts->cwd))
        return cwd;
    return facts->cwd.p[0] == '/' ? facts->cwd
                                  : arena_printf(arena, "%.*s/%.*s", STR_ARG(cwd), STR_ARG(facts->cwd));
}

void gate_add_port(struct gate *gate, int port)
{
    size_t i = 0;
    while (i + 1 < OWN_PORTS_MAX && gate->rules.own_ports[i])
        i++;
    gate->rules.own_ports[i] = port;
}

static size_t own_paths(const struct gate *gate, struct arena *arena, const struct str **ret_paths)
{
    const char *const own[] = {gate->rules.protected, gate->rules.socket};
    struct str *paths = arena_array(arena, struct str, sizeof own / sizeof *own);
    size_t count = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] && own[i][0] == '/')
            paths[count++] = str_of(own[i]);
    *ret_paths = paths;
    return count;
}

bool gate_hides(const struct gate *gate, struct str path)
{
    return policy_hides(path, gate->rules.protected ? str_of(gate->rules.protected) : STR_NONE);
}

/* Everything that a judgement depends on: session, rules, places, mode, Nod's own paths and ports. */
struct question gate_question(struct gate *gate, struct arena *arena, const struct session *session,
                              const struct tool_facts *facts, struct str cwd)
{
    struct question question = {
        .facts = facts,
        .cwd = where(arena, facts, str_empty(cwd) ? session->cwd : cwd),
        .root = session->cwd,
        .home = gate->home,
        .now_ms = clock_wall_ms(),
        .rules = rules_of(gate, session),
    };
    question.protected_count = own_paths(gate, arena, &question.protected_paths);
    memcpy(question.own_ports, gate->rules.own_ports, sizeof question.own_ports);
    question.no_builtin = gate->rules.asks_reads;
    put_tool_policies(arena, session, &question);
    if (!policy_mode_parse(session->mode, &question.mode))
        question.mode = MODE_DEFAULT;
    struct looks *looks = arena_new(arena, struct looks);
    looks->arena = arena;
    question.look = look;
    question.look_arg = looks;
    return question;
}

/* Whether an allow does not count because no person has confirmed the session's folder: an agent started the session
 * and named the folder itself. Rules that a person gave the session, and bypassPermissions, do not depend on the
 * folder. */
static bool not_opened(const struct session *session, const struct tool_facts *facts, struct str cwd,
                       const struct verdict *verdict)
{
    bool somewhere = !str_empty(session->cwd) || !str_empty(cwd);
    bool harmless = facts->class == TOOL_TASK || facts->class == TOOL_AGENT;
    return session->cwd_proposed && somewhere && !harmless && verdict->effect == EFFECT_ALLOW &&
           !str_is(verdict->source, "session") && !str_is(session->mode, "bypassPermissions");
}

/* Names that one look at the disk reads, which takes some ten milliseconds; with more files a person is asked. */
enum { LOOK_ENTRIES = 16384 };

static bool is_secret(struct str path, struct str real)
{
    return policy_hides(path, STR_NONE) || policy_hides(real, STR_NONE);
}

static bool ends_so(struct str name, struct str endings)
{
    STR_EACH(ending, endings, ',') {
        size_t i = 0, before = name.n > ending.n ? name.n - ending.n : 0;
        while (before && i < ending.n && str_lower(name.p[before + i]) == str_lower(ending.p[i]))
            i++;
        if (before && i == ending.n && name.p[before - 1] == '.')
            return true;
    }
    return false;
}

/* Whether the name, or that of a folder above it which a search may go through, has one of the endings of the sweep. In
 * either case of letters, as patterns may be meant. */
static bool is_meant(const struct sweep *sweep, struct str path)
{
    struct str rest = str_sub(path, str_starts(path, sweep->folder) ? sweep->folder.n : 0, path.n);
    STR_EACH(name, rest, '/') {
        if (ends_so(name, sweep->endings))
            return true;
    }
    return str_empty(sweep->endings);
}

/* Called for each file of a sweep: whether it holds keys by its name, or by the name that a link leads to. */
static bool is_unsafe(const void *arg, struct str path, struct str real)
{
    const struct sweep *sweep = arg;
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '/')
        at--;
    if (!is_meant(sweep, path))
        return false;
    switch (sweep->kind) {
    case SWEEP_NONE: return false;
    case SWEEP_LINKS: return path.p != real.p && is_secret(real, real);
    case SWEEP_SHOWN: return at < path.n && path.p[at] != '.' && is_secret(path, real);
    case SWEEP_ALL: break;
    }
    return is_secret(path, real);
}

/* For a thread (links_search.keep). */
static const void *keep_sweep(struct arena *arena, const void *arg)
{
    const struct sweep *sweep = arg;
    struct sweep *kept = arena_new(arena, struct sweep);
    *kept = (struct sweep){.kind = sweep->kind, .levels = sweep->levels, .folder = arena_str(arena, sweep->folder),
                           .endings = arena_str(arena, sweep->endings)};
    return kept;
}

static void ask_instead(struct verdict *verdict, struct str why)
{
    verdict->effect = EFFECT_ASK;
    verdict->source = STR("default");
    verdict->why = why;
    verdict->rule = STR_NONE;
    verdict->rule_count = 0;
}

/* Asks about a command that reads files which it does not name where the session's folder is not here: the agent may
 * run on another machine, where the folder may hold keys. Below a folder that is here, a missing one holds nothing. */
static void check_here(struct arena *arena, const struct session *session, struct verdict *verdict)
{
    struct stat st;
    if ((verdict->sweep.kind == SWEEP_NONE && !verdict->listed) || verdict->effect != EFFECT_ALLOW ||
        str_empty(session->cwd))
        return;
    bool there = links_stat(arena, session->cwd, &st);
    if (there && S_ISDIR(st.st_mode))
        return;
    const char *what = there || errno != ENOENT ? "cannot be looked at" : "is not";
    ask_instead(verdict, arena_printf(arena, "it reads files that it does not name, and the folder %.*s %s on the "
                                             "server's machine, so files with secrets in it could not be looked for",
                                      STR_ARG(session->cwd), what));
}

/* A command that reads files which it does not name passes without a rule only where none of them is a secret. Looks at
 * all of them, and blocks for the time of that; where they are too many, or cannot be looked at, a person is asked. */
static void check_sweep(struct arena *arena, const struct session *session, struct verdict *verdict)
{
    struct sweep *sweep = &verdict->sweep;
    if (sweep->kind == SWEEP_NONE || verdict->effect != EFFECT_ALLOW || str_empty(session->cwd))
        return;
    struct links_search search = {.arena = arena, .wanted = is_unsafe, .arg = sweep, .keep = keep_sweep,
                                  .levels = sweep->levels, .whole = sweep->levels == SWEEP_DEEP,
                                  .entries = LOOK_ENTRIES};
    struct str found = links_find(&search, sweep->folder);
    if (search.gave_up)
        ask_instead(verdict, arena_printf(arena, "it reads files that it does not name, and %.*s has too many of them "
                                                 "to check whether one holds keys", STR_ARG(found)));
    else if (!str_empty(found))
        ask_instead(verdict, arena_printf(arena, "it reads files that it does not name, and %.*s may hold keys",
                                          STR_ARG(found)));
}

/* The argument of a search for links; a search that goes on in a thread has a copy of its own (keep_hunt). */
struct hunt {
    struct sweep_find find;
    struct str root;
};

static size_t depth_of(struct str path)
{
    size_t depth = 0;
    for (size_t i = 0; i < path.n; i++)
        depth += path.p[i] == '/';
    return depth;
}

/* A link to a folder of a tool elsewhere (node_modules) is left out as such a folder is, but where the pattern finds
 * names below it. */
static bool leads_away(const void *arg, struct str path, struct str real)
{
    const struct hunt *hunt = arg;
    struct sweep_find find = hunt->find;
    bool below = !find.tree && find.levels != SWEEP_DEEP && depth_of(path) < depth_of(find.pattern);
    if (path.p == real.p)
        return false;
    find.away = find.away && (below || !links_is_of_tool(path));
    return sweep_leads_away(&find, hunt->root, path, real);
}

static bool goes_on(const void *arg, struct str path)
{
    const struct hunt *hunt = arg;
    return sweep_goes_on(&hunt->find, path);
}

static const void *keep_hunt(struct arena *arena, const void *arg)
{
    const struct hunt *hunt = arg;
    struct hunt *kept = arena_new(arena, struct hunt);
    *kept = (struct hunt){.find = hunt->find, .root = arena_str(arena, hunt->root)};
    kept->find.pattern = arena_str(arena, hunt->find.pattern);
    kept->find.folder = STR_NONE; /* the search has its own */
    struct str *stops = arena_array(arena, struct str, hunt->find.stop_count + 1);
    for (size_t i = 0; i < hunt->find.stop_count; i++)
        stops[i] = arena_str(arena, hunt->find.stops[i]);
    kept->find.stops = stops;
    return kept;
}

/* A link that a pattern finds is read as if it were named: where one leads away, a person is asked. */
static void check_finds(struct arena *arena, const struct session *session, struct verdict *verdict)
{
    size_t entries = LOOK_ENTRIES; /* of all patterns together */
    for (size_t i = 0; i < verdict->sweep.find_count && verdict->effect == EFFECT_ALLOW; i++) {
        struct hunt *hunt = arena_new(arena, struct hunt);
        *hunt = (struct hunt){.find = verdict->sweep.finds[i]};
        hunt->root = links_follow(arena, hunt->find.tree ? hunt->find.folder : session->cwd);
        struct links_search search = {.arena = arena, .wanted = leads_away, .arg = hunt, .keep = keep_hunt,
                                      .levels = hunt->find.levels, .whole = hunt->find.levels == SWEEP_DEEP,
                                      .entries = entries};
        search.enters = hunt->find.tree || search.whole ? NULL : goes_on;
        struct str found = links_find(&search, hunt->find.folder);
        entries = search.entries;
        if (search.gave_up)
            ask_instead(verdict, arena_printf(arena, "it reads files that it does not name, and %.*s has too many to "
                                                     "check whether one is a link to another place", STR_ARG(found)));
        else if (!str_empty(found))
            ask_instead(verdict, arena_printf(arena, "it reads files that it does not name, and %.*s is a link "
                                                     "out of their folder, to a file with keys, or to one that a "
                                                     "rule denies or asks about", STR_ARG(found)));
    }
}

/* The shell cuts `a /etc/b` into two names and makes several of `*`, xargs reads quotes, too. */
static bool is_cut_in_two(const void *arg, struct str path, struct str real)
{
    (void)arg;
    (void)real;
    size_t at = path.n;
    while (at > 0 && path.p[at - 1] != '/' && !strchr(" \t\n\"'\\*?", path.p[at - 1]))
        at--;
    return at > 0 && path.p[at - 1] != '/';
}

/* `cat $(git ls-files)`, `find . | xargs cat`: a file whose name has a blank in it is read as other files, anywhere.
 * Looks below the session's folder as far as a listing goes. */
static void check_listed(struct arena *arena, const struct session *session, struct verdict *verdict)
{
    if (!verdict->listed || verdict->effect != EFFECT_ALLOW || str_empty(session->cwd))
        return;
    struct links_search search = {.arena = arena, .wanted = is_cut_in_two, .levels = SWEEP_DEEP, .whole = true,
                                  .entries = LOOK_ENTRIES};
    struct str found = links_find(&search, session->cwd);
    if (search.gave_up)
        ask_instead(verdict, STR("it reads the files of a list that is too long to check for names with blanks"));
    else if (!str_empty(found))
        ask_instead(verdict, arena_printf(arena, "it reads the files of a list, and %.*s has blanks or quotes in its "
                                                 "name, which make other names of it", STR_ARG(found)));
}

/* The verdict of the rules, then the checks that need the disk (sweeps) or the session (folders that an agent
 * named). */
struct verdict gate_judge(struct gate *gate, struct arena *arena, const struct session *session,
                          const struct tool_facts *facts, struct str cwd)
{
    struct question question = gate_question(gate, arena, session, facts, cwd);
    struct verdict verdict = str_is(facts->name, "Net") ? nets_judge(arena, &question) : policy_judge(arena, &question);
    check_here(arena, session, &verdict);
    check_sweep(arena, session, &verdict);
    check_finds(arena, session, &verdict);
    check_listed(arena, session, &verdict);
    if (not_opened(session, facts, cwd, &verdict)) {
        verdict.effect = EFFECT_ASK;
        verdict.source = STR("folder");
        verdict.why = arena_printf(arena, "%.*s was named by the agent, and no person has opened it for this session",
                                   STR_ARG(str_empty(session->cwd) ? cwd : session->cwd));
        verdict.rule = STR_NONE;
        verdict.rule_count = 0;
    }
    /* The managed file cannot be read, and might deny the call. */
    if (gate->rules.managed.problem[0] && verdict.effect == EFFECT_ALLOW) {
        verdict.effect = EFFECT_ASK;
        verdict.source = STR("managed");
        verdict.why = STR("the managed policy file cannot be used, so nothing passes unasked");
    }
    return verdict;
}

/* ---- in words ---- */

enum { NAMED_BYTES = 32 }; /* a shorter text is kept itself */

static void write_rule(struct json_out *out, const struct verdict_rule *rule)
{
    json_object(out, J("id", rule->id), J("effect", effect_name(rule->effect)), J("rule", rule->text),
                J("layer", policy_layer_name(rule->layer)), J("author", rule->author), J("reason", rule->reason),
                J("project", rule->project));
}

static void write_risk(struct json_out *out, unsigned risk)
{
    json_open_member(out, "risk", '[');
    for (unsigned left = risk; left; left &= left - 1)
        json_put_str(out, str_of(risk_name((unsigned)__builtin_ctz(left))));
    json_close(out, ']');
}

/* The member of the input whose text this is; NULL for a piece of one. */
static const struct json *member_with(const struct json *input, struct str text)
{
    const struct json *member = input && input->type == JSON_OBJECT ? input->first : NULL;
    while (member && (str_empty(member->key) || member->text.p != text.p || member->text.n != text.n))
        member = member->next;
    return member;
}

/* A part is often all of the command. A request that is kept names the member then, which stands in the call's own
 * event. */
static void write_text(struct json_out *out, struct str text, const struct json *kept_input)
{
    const struct json *member = text.n < NAMED_BYTES ? NULL : member_with(kept_input, text);
    json_members(out, J("textOf", member ? member->key : STR_NONE), J("text", member ? STR_NONE : text));
}

static void write_part(struct json_out *out, const struct verdict_part *part, const struct json *kept_input)
{
    json_open(out, '{');
    write_text(out, part->text, kept_input);
    json_member(out, "operator", part->operator);
    json_member(out, "effect", str_of(effect_name(part->effect)));
    json_member(out, "rule", part->rule.text);
    if (!str_empty(part->rule.text))
        json_member(out, "layer", str_of(policy_layer_name(part->rule.layer)));
    json_member(out, "why", part->why);
    json_member_u64(out, "depth", part->depth);
    write_risk(out, part->risk);
    json_close(out, '}');
}

static void write_parts(struct json_out *out, const struct verdict *verdict, const struct json *kept_input)
{
    write_risk(out, verdict->risk);
    json_member_bool(out, "risky", verdict->risky);
    json_open_member(out, "riskWords", '['); /* the risk in words for people */
    for (unsigned left = verdict->risk; left; left &= left - 1)
        json_put_str(out, str_of(risk_words((unsigned)__builtin_ctz(left))));
    json_close(out, ']');
    if (verdict->part_count == 0)
        return;
    json_open_member(out, "parts", '[');
    for (size_t i = 0; i < verdict->part_count; i++)
        write_part(out, &verdict->parts[i], kept_input);
    json_close(out, ']');
}

void verdict_write_parts(struct json_out *out, const struct verdict *verdict) { write_parts(out, verdict, NULL); }

void verdict_keep_parts(struct json_out *out, const struct verdict *verdict, const struct json *input)
{
    json_open(out, '{');
    write_parts(out, verdict, input);
    json_close(out, '}');
}

static void put_kept_part(struct json_out *out, const struct json *part, const struct json *input)
{
    const struct json *named = json_get(part, "textOf"), *text = named ? json_get_str(input, named->text) : NULL;
    json_open(out, '{');
    if (text)
        json_member(out, "text", text->text);
    json_put_members(out, part, "textOf");
    json_close(out, '}');
}

void verdict_put_kept(struct json_out *out, const struct json *kept, const struct json *input)
{
    for (const struct json *member = kept->first; member; member = member->next) {
        if (!str_is(member->key, "parts")) {
            json_put_member(out, member);
            continue;
        }
        json_open_member(out, "parts", '[');
        for (const struct json *part = member->first; part; part = part->next)
            put_kept_part(out, part, input);
        json_close(out, ']');
    }
}

void verdict_write_suggestions(struct json_out *out, struct arena *arena, const struct question *question)
{
    struct suggestion suggestions[SUGGESTIONS_MAX];
    size_t count = policy_suggest(arena, question, suggestions);
    JSON_LIST(out, "suggestions")
        for (size_t i = 0; i < count; i++) {
            json_open(out, '{');
            json_member(out, "label", suggestions[i].label);
            json_open_member(out, "rules", '[');
            for (size_t k = 0; k < suggestions[i].rule_count; k++)
                json_put_str(out, suggestions[i].rules[k]);
            json_close(out, ']');
            json_member(out, "warning", suggestions[i].warning);
            json_close(out, '}');
        }
}

/* For `nod policy test` and the page: the verdict on a call that nobody makes. */
void gate_explain(struct gate *gate, struct json_out *out, struct arena *arena, const struct explain *explain)
{
    struct tool_facts facts = tool_facts_from(arena, explain->dialect, explain->name, explain->input);
    struct err err;
    if (rc_bad(tool_facts_check(&facts, &err))) { /* a call like this is refused before any rule is looked at */
        json_object(out, J("effect", effect_name(EFFECT_DENY)), J("why", err.text), J_RAW("rules", STR("[]")));
        return;
    }
    struct question question = gate_question(gate, arena, explain->session, &facts, explain->cwd);
    struct verdict verdict = gate_judge(gate, arena, explain->session, &facts, explain->cwd);
    json_open(out, '{');
    json_members(out, J("effect", effect_name(verdict.effect)), J("rule", verdict.rule), J("source", verdict.source),
                 J("why", verdict.why));
    JSON_LIST(out, "rules")
        for (size_t i = 0; i < verdict.rule_count; i++)
            write_rule(out, &verdict.rules[i]);
    verdict_write_parts(out, &verdict);
    verdict_write_suggestions(out, arena, &question);
    json_close(out, '}');
}
