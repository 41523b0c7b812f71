/* Rules of the user's layer and trust in project files: listed, added, taken away, tried. */
#include "gate/inner.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "tools/tools.h"

/* ---- changes ---- */

static struct str change_data(struct arena *arena, const struct rule_change *change)
{
    if (str_is(change->change, "added"))
        return DATA(arena, rule_added, .rule = change->rule);
    if (str_is(change->change, "removed"))
        return DATA(arena, rule_removed, .id = change->id);
    if (str_is(change->change, "bound"))
        return DATA(arena, rule_bound, .id = change->id, .rule = change->rule);
    if (str_is(change->change, "trusted"))
        return DATA(arena, rule_trusted, .path = change->path, .hash = change->hash);
    CHECK(str_is(change->change, "distrusted"));
    return DATA(arena, rule_distrusted, .path = change->path, .hash = change->hash);
}

/* Checks a rule of a request and writes it as the event will hold it. Makes the rule's id. */
struct rc gate_prepare_rule(struct arena *arena, const struct json *object, struct str *ret_json,
                            struct rule_source *ret_source, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    uint64_t uses;
    TRY(rule_read(arena, object, ret_source, &uses, err));
    TRY(rule_check_people(ret_source, err));
    ret_source->id = arena_str(arena, str_of(id_new("rule").text));
    json_open(&out, '{');
    rule_write(&out, ret_source);
    if (ret_source->counted)
        json_member_u64(&out, "uses", uses);
    json_close(&out, '}');
    *ret_json = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

/* The place that an existing rule is bound to: a project, or everywhere. */
struct rc gate_prepare_bond(struct arena *arena, const struct json *object, struct str *ret_json, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    struct rule_source source = {0};
    TRY(project_read(arena, object, &source, err));
    if (source.reach == REACH_UNSAID || (source.reach == REACH_PROJECT && str_empty(source.project.path)))
        return err_set(err, ERR_INVALID, "say \"project\", the path of a folder, or \"scope\":\"everywhere\"");
    json_open(&out, '{');
    project_write(&out, &source);
    json_close(&out, '}');
    *ret_json = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

void gate_change_rule(struct gate *gate, struct rule_change *change)
{
    change->op.gate = gate;
    bool known = str_is(change->change, "removed") || str_is(change->change, "bound");
    if (known && !rules_find(gate, change->id)) {
        (void)err_set(gate_op_fail(&change->op), ERR_NOT_FOUND, "there is no rule %.*s of the user's layer",
                      STR_ARG(change->id));
        op_end(&change->op);
        return;
    }
    op_keep(gate, &change->kept, (struct event){.kind = EVENT_RULE_CHANGED, .actor = change->actor,
                                                .data = change_data(change->op.arena, change)});
}

const struct str *gate_user_rule_ids(const struct gate *gate, struct arena *arena, size_t *ret_count)
{
    size_t count = 0;
    for (const struct rule_record *r = gate->rules.user; r; r = r->next)
        count++;
    struct str *ids = arena_array(arena, struct str, count + 1);
    *ret_count = 0;
    for (const struct rule_record *r = gate->rules.user; r; r = r->next)
        ids[(*ret_count)++] = arena_str(arena, r->source.id);
    return ids;
}

struct str gate_user_rule_effect(const struct gate *gate, struct str id)
{
    for (const struct rule_record *r = gate->rules.user; r; r = r->next)
        if (str_eq(r->source.id, id))
            return str_of(effect_name(r->source.effect));
    return str_of(effect_name(EFFECT_ALLOW));
}

bool gate_project_file(struct gate *gate, struct arena *arena, const struct session *session, struct str *ret_path,
                       struct str *ret_hash)
{
    (void)sessions_rules(gate, session);
    const struct policy_file *file = &sessions_rules_slot(gate, session)->project;
    if (!file->there || !file->hash[0])
        return false;
    *ret_path = arena_str(arena, str_of(file->path));
    *ret_hash = arena_str(arena, str_of(file->hash));
    return true;
}

/* ---- the list ---- */

static void write_hits(struct json_out *out, const struct gate *gate, struct str id)
{
    const struct rule_hits *hits = map_get(&gate->rules.hits, id);
    json_members(out, J("used", hits ? hits->count : 0), J_IF(hits, J_TIME("lastUsedAt", hits->last_ms)));
}

static void write_source(struct json_out *out, const struct gate *gate, const struct rule_source *source)
{
    json_open(out, '{');
    rule_write(out, source);
    write_hits(out, gate, source->id);
    json_close(out, '}');
}

/* Writes a rule with the place where it holds, or why it applies nowhere. */
static void write_user_rule(struct json_out *out, const struct gate *gate, const struct rule_record *record,
                            const struct rule_source *source)
{
    ARENA_SCOPE(scratch);
    json_open(out, '{');
    rule_write(out, source);
    json_member(out, "where", project_words(&scratch, gate->home, source));
    if (record->unbound)
        json_member(out, "asleep", STR("from before rules belonged to projects: bind it to one, or to everywhere"));
    else if (source->reach == REACH_PROJECT && source->effect == EFFECT_ALLOW && !project_stands(&source->project))
        json_member(out, "asleep", STR("its folder is gone, or another stands in its place"));
    json_member_flag(out, "unbound", record->unbound);
    json_member_time(out, "addedAt", record->at_ms);
    write_hits(out, gate, source->id);
    json_close(out, '}');
}

static void write_file(struct json_out *out, const struct gate *gate, const struct policy_file *file)
{
    json_open(out, '{');
    json_members(out, J("path", file->path), J_BOOL("there", file->there), J("hash", file->hash),
                 J("problem", file->problem));
    JSON_LIST(out, "rules")
        for (size_t i = 0; i < file->count; i++)
            write_source(out, gate, &file->rules[i]);
}

static void write_problems(struct json_out *out, const struct rule_set *set)
{
    const struct rule_problem *problems;
    size_t count = rule_set_problems(set, &problems);
    JSON_LIST(out, "problems")
        for (size_t i = 0; i < count; i++)
            json_put_str(out, problems[i].words);
}

static void write_session_rules(struct json_out *out, const struct gate *gate, const struct session *session)
{
    ARENA_SCOPE(scratch);
    JSON_LIST(out, "session")
        for (const struct session_rule *r = session->rules; r; r = r->next) {
            const struct json *json = NULL;
            struct rule_source source;
            uint64_t uses = 0;
            if (rc_bad(json_parse(&scratch, r->json, &json, NULL)) ||
                rc_bad(rule_read(&scratch, json, &source, &uses, NULL)))
                continue;
            source.id = r->id;
            source.author = r->author;
            source.layer = LAYER_SESSION;
            source.uses_left = uses > r->used ? uses - r->used : 0;
            write_source(out, gate, &source);
        }
}

struct rc gate_check_rule(struct arena *arena, const struct rule_source *source, struct err *err)
{
    return policy_lint_check(arena, source, tool_known_name, err);
}

/* Writes the rules that do not have the effect they seem to have. */
static void write_lint(struct json_out *out, struct gate *gate, const struct session *session,
                       const struct session_rules *rules)
{
    ARENA_SCOPE(scratch);
    size_t count;
    const struct rule_source *sources = rules_all(gate, &scratch, session, rules, &count);
    struct linted linted = policy_lint(&scratch, sources, count, tool_known_name, clock_wall_ms());
    JSON_LIST(out, "lint")
        for (size_t i = 0; i < linted.count; i++) {
            const struct lint *lint = &linted.items[i];
            const struct rule_source *source = &sources[lint->index];
            json_object(out, J("id", source->id), J("effect", effect_name(source->effect)), J("rule", source->text),
                        J("layer", policy_layer_name(source->layer)), J("level", lint_level_name(lint->level)),
                        J("words", lint->words), J("instead", lint->instead));
        }
}

void gate_write_policy(struct gate *gate, struct json_out *out, const struct session *session, bool lint)
{
    struct session none = {.mode = STR("default")};
    struct session_rules scratch = {0};
    const struct session *of = session ? session : &none;
    const struct rule_set *set = session ? sessions_rules(gate, session) : rules_for(gate, of, &scratch);
    struct session_rules *rules = session ? sessions_rules_slot(gate, session) : NULL;
    json_open(out, '{');
    json_key(out, "managed");
    write_file(out, gate, &gate->rules.managed);
    json_close(out, '}');
    JSON_LIST(out, "user")
        for (const struct rule_record *r = gate->rules.user; r; r = r->next) {
            struct rule_source source = r->source;
            source.uses_left = r->uses > r->used ? r->uses - r->used : 0;
            write_user_rule(out, gate, r, &source);
        }
    if (rules) {
        json_key(out, "project");
        write_file(out, gate, &rules->project);
        json_member_bool(out, "trusted", rules->trusted);
        json_close(out, '}');
        write_session_rules(out, gate, session);
    }
    write_problems(out, set);
    json_member_bool(out, "readOnlyCommands", !gate->rules.asks_reads);
    if (lint)
        write_lint(out, gate, of, rules ? rules : &scratch);
    json_close(out, '}');
    session_rules_done(&scratch);
}

/* ---- what a rule would have done ---- */

/* Whether the rule alone would have covered a call of the log, in the folder in which the call was made. */
static bool covers(struct gate *gate, struct arena *arena, const struct rule_set *set, const struct event *event,
                   struct call *ret_call)
{
    const struct json *input = NULL;
    *ret_call = (struct call){0};
    call_apply(arena, ret_call, event);
    if (rc_bad(json_parse(arena, ret_call->input, &input, NULL)) || input->type != JSON_OBJECT)
        return false;
    struct tool_facts facts = tool_facts_from(arena, ret_call->dialect, ret_call->name, input);
    struct question question = {.facts = &facts, .rules = set, .cwd = ret_call->cwd, .root = ret_call->cwd,
                                .home = gate->home, .now_ms = clock_wall_ms()};
    return policy_covers(arena, &question);
}

enum { TRIED_SHOWN = 20 };

/* Shows what a rule would have done to the last calls, before anyone adds it. */
void gate_try(struct gate *gate, struct json_out *out, const struct rule_source *source, const struct read *read)
{
    struct rule_set *set = rule_set_new(source, 1);
    uint64_t covered = 0, asked = 0, shown = 0;
    json_open(out, '{');
    json_members(out, J("rule", source->text), J("calls", read->event_count));
    JSON_LIST(out, "examples")
        for (size_t i = read->event_count; i-- > 0;) {
            ARENA_SCOPE(scratch);
            struct call call;
            if (!covers(gate, &scratch, set, &read->events[i], &call))
                continue;
            covered++;
            asked += !call.by_policy;
            if (shown++ >= TRIED_SHOWN)
                continue;
            json_object(out, J("toolCallId", call.id), J("sessionId", call.session), J("name", call.name),
                        J_RAW("input", call.input), J_BOOL("asked", !call.by_policy));
        }
    json_members(out, J("covered", covered), J("asked", asked));
    json_close(out, '}');
    rule_set_free(set);
}
