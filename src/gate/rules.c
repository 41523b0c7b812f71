/* The rules of all layers: the managed file, the user's (events), the project's file (if it is trusted) and the
 * session's, gathered and compiled into a rule set per session.
 *
 * On the loop. A set is kept with the session and made anew when the version of the rules, the session, the
 * project file or the trust in it has changed (rules_for). Files are read again when their inode, size or times
 * differ; they are looked at at most once per turn of the loop. A file that cannot be read is a problem that is
 * shown; while a managed file cannot be read, what would be allowed is asked about (verdict.c); denies hold.
 */
#include "gate/rules.h"

#include "base/list.h"
#include "base/log.h"
#include "base/stamp.h"
#include "event/shapes.h"
#include "gate/inner.h"
#include "io/links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLICY_FILE_BYTES = 256 << 10, RULES_MAX = 20000 };

/* ---- one rule, from JSON and to it ---- */

static struct rc read_examples(struct arena *arena, const struct json *object, const char *key,
                               const struct str **ret_list, size_t *ret_count, struct err *err)
{
    const struct json *list = json_get(object, key);
    if (!list || list->type == JSON_NULL)
        return RC_OK;
    if (list->type != JSON_ARRAY)
        return err_set(err, ERR_INVALID, "\"%s\" must be an array of strings", key);
    struct str *items = arena_array(arena, struct str, list->count + 1);
    size_t count = 0;
    for (const struct json *item = list->first; item; item = item->next) {
        if (item->type != JSON_STRING)
            return err_set(err, ERR_INVALID, "\"%s\" must be an array of strings", key);
        items[count++] = arena_str(arena, item->text);
    }
    *ret_list = items;
    *ret_count = count;
    return RC_OK;
}

static struct rc check_alone(const struct rule_source *source, struct err *err)
{
    const struct rule_problem *problems;
    struct rule_set *set = rule_set_new(source, 1);
    struct rc rc = RC_OK;
    if (rule_set_problems(set, &problems))
        rc = err_set(err, ERR_INVALID, "%.*s", STR_ARG(problems[0].words));
    rule_set_free(set);
    return rc;
}

/* A rule as it comes in a request, stands in a file or was kept in an event: all three have this form. */
struct rc rule_read(struct arena *arena, const struct json *object, struct rule_source *ret_source,
                    uint64_t *ret_uses, struct err *err)
{
    struct rule_source source = {.layer = LAYER_USER};
    struct str effect = STR("allow"), layer = STR("user"), expires = STR_NONE, text = STR_NONE;
    int64_t uses = 0, people = 0;
    if (object->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "a rule must be an object");
    TRY(json_want_str(object, "id", LIMIT_ID_BYTES, &source.id, err));
    TRY(json_want_str(object, "rule", LIMIT_PATH_BYTES, &text, err));
    TRY(json_want_str(object, "effect", LIMIT_ID_BYTES, &effect, err));
    TRY(json_want_str(object, "layer", LIMIT_ID_BYTES, &layer, err));
    TRY(json_want_str(object, "reason", LIMIT_TITLE_BYTES, &source.reason, err));
    TRY(json_want_str(object, "expiresAt", LIMIT_ID_BYTES, &expires, err));
    TRY(json_want_i64(object, "uses", 1, INT32_MAX, &uses, err));
    TRY(json_want_i64(object, "people", 1, LIMIT_PEOPLE, &people, err));
    TRY(project_read(arena, object, &source, err));
    TRY(read_examples(arena, object, "match", &source.match, &source.match_count, err));
    TRY(read_examples(arena, object, "notMatch", &source.not_match, &source.not_match_count, err));
    if (str_empty(text))
        return err_set(err, ERR_INVALID, "\"rule\" is missing");
    if (!effect_parse(effect, &source.effect))
        return err_set(err, ERR_INVALID, "\"effect\" must be deny, ask or allow");
    if (!policy_layer_parse(layer, &source.layer))
        return err_set(err, ERR_INVALID, "\"layer\" must be user or session");
    if (expires.p && !stamp_parse(expires, &source.expires_at_ms))
        return err_set(err, ERR_INVALID, "\"expiresAt\" must be a time like 2030-01-31T12:00:00Z");
    source.counted = uses > 0;
    source.uses_left = *ret_uses = (uint64_t)uses;
    source.people = people > 1 ? (unsigned)people : 0;
    TRY(rule_check(arena, text, &source.text, err));
    ARENA_KEEP(arena, &source.text, &source.id, &source.reason);
    TRY(check_alone(&source, err));
    *ret_source = source;
    return RC_OK;
}

struct rc rule_check_people(const struct rule_source *source, struct err *err)
{
    if (source->people && source->effect != EFFECT_ASK)
        return err_set(err, ERR_INVALID, "\"people\" goes with a rule that asks");
    return RC_OK;
}

static void write_examples(struct json_out *out, const char *key, const struct str *list, size_t count)
{
    if (count == 0)
        return;
    JSON_LIST(out, key)
        for (size_t i = 0; i < count; i++)
            json_put_str(out, list[i]);
}

/* The form in which rules are listed; rule_read takes it back. */
void rule_write(struct json_out *out, const struct rule_source *source)
{
    json_members(out, J("id", source->id), J("effect", effect_name(source->effect)), J("rule", source->text),
                 J("layer", policy_layer_name(source->layer)), J("author", source->author),
                 J("reason", source->reason), J_IF(source->expires_at_ms, J_TIME("expiresAt", source->expires_at_ms)),
                 J_IF(source->counted, J("usesLeft", source->uses_left)),
                 J_IF(source->people, J("people", source->people)));
    project_write(out, source);
    write_examples(out, "match", source->match, source->match_count);
    write_examples(out, "notMatch", source->not_match, source->not_match_count);
}

/* ---- policy files ---- */

/* An entry of a policy file: a text, or an object with examples and a reason. */
static struct rc take_entry(struct policy_file *file, const struct json *entry, enum effect effect,
                            enum rule_layer layer, struct err *err)
{
    struct rule_source *source = &file->rules[file->count];
    uint64_t uses = 0;
    *source = (struct rule_source){0};
    if (entry->type == JSON_STRING)
        source->text = arena_str(&file->arena, entry->text);
    else
        TRY(rule_read(&file->arena, entry, source, &uses, err));
    source->effect = effect;
    TRY(rule_check_people(source, err));
    source->layer = layer;
    source->counted = false; /* uses are events; a rule of a file has none */
    source->author = arena_str(&file->arena, str_of(file->path));
    source->id = arena_printf(&file->arena, "%s:%zu", policy_layer_name(layer), file->count + 1);
    file->count++;
    return RC_OK;
}

/* Refuses a list under an unknown name: its rules would never be applied, and nobody would notice. */
static struct rc check_members(const struct json *top, struct err *err)
{
    for (const struct json *member = top->first; member; member = member->next)
        if (!str_is(member->key, "deny") && !str_is(member->key, "ask") && !str_is(member->key, "allow"))
            return err_set(err, ERR_INVALID, "\"%.*s\" is not \"deny\", \"ask\" or \"allow\"",
                           STR_ARG(member->key));
    return RC_OK;
}

static struct rc parse_file(struct policy_file *file, struct str text, enum rule_layer layer, struct err *err)
{
    static const enum effect effects[] = {EFFECT_DENY, EFFECT_ASK, EFFECT_ALLOW};
    const struct json *top = NULL;
    size_t total = 0;
    TRY(json_parse(&file->arena, text, &top, err));
    if (top->type == JSON_OBJECT)
        TRY(check_members(top, err));
    for (size_t i = 0; i < 3; i++) {
        const struct json *list = json_get(top, effect_name(effects[i]));
        if (list && list->type != JSON_ARRAY)
            return err_set(err, ERR_INVALID, "\"%s\" must be an array", effect_name(effects[i]));
        total += list ? list->count : 0;
    }
    if (top->type != JSON_OBJECT || total > RULES_MAX)
        return err_set(err, ERR_INVALID, "it must be an object with \"deny\", \"ask\" and \"allow\"");
    file->rules = arena_array(&file->arena, struct rule_source, total + 1);
    for (size_t i = 0; i < 3; i++) {
        for (const struct json *entry = json_first(top, effect_name(effects[i])); entry; entry = entry->next)
            TRY(take_entry(file, entry, effects[i], layer, err));
    }
    return RC_OK;
}

/* A managed file that others may write would not be managed. */
static struct rc load_file(struct policy_file *file, enum rule_layer layer, const struct stat *st,
                           struct err *err)
{
    struct str text;
    if (layer == LAYER_MANAGED && (st->st_uid != 0 || (st->st_mode & 022)))
        return err_set(err, ERR_FORBIDDEN, "it must belong to root, and nobody else may write to it");
    TRY(links_read(&file->arena, file->path, POLICY_FILE_BYTES, &text, err));
    struct digest digest = digest_of(text);
    digest_hex(&digest, file->hash);
    return parse_file(file, text, layer, err);
}

static const struct stat *look_at(struct file_look *look, const char *path, uint64_t turn)
{
    if (look->turn != turn || strcmp(look->path, path) != 0) {
        look->turn = turn;
        if (strcmp(look->path, path) != 0)
            (void)snprintf(look->path, sizeof look->path, "%s", path);
        ARENA_SCOPE(scratch);
        look->there = links_stat(&scratch, str_of(path), &look->st);
        look->silent = !look->there && errno == ETIMEDOUT;
    }
    return look->there ? &look->st : NULL;
}

/* True when the file is another than the one read last. */
static bool refresh_file(struct policy_file *file, enum rule_layer layer, struct file_look *look, uint64_t turn)
{
    struct err err;
    int64_t stamp[4] = {0};
    const struct stat *st = file->path ? look_at(look, file->path, turn) : NULL;
    bool there = st != NULL;
    if (!there && file->path && look->silent)
        return false; /* what was read last holds */
    if (there) {
        stamp[0] = (int64_t)st->st_ino ^ (int64_t)st->st_dev << 32;
        stamp[1] = st->st_size;
        stamp[2] = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
        stamp[3] = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
    }
    if (there == file->there && memcmp(stamp, file->stamp, sizeof stamp) == 0)
        return false;
    memcpy(file->stamp, stamp, sizeof stamp);
    arena_done(&file->arena);
    file->rules = NULL;
    file->count = 0;
    file->there = there;
    file->hash[0] = file->problem[0] = '\0';
    if (there && rc_bad(load_file(file, layer, st, &err))) {
        file->count = 0;
        (void)snprintf(file->problem, sizeof file->problem, "%s", err.text);
        log_line(LOG_WARN, "a policy file cannot be used", LOG_C("file", file->path), LOG_C("why", err.text));
    }
    return true;
}

static void file_done(struct policy_file *file)
{
    arena_done(&file->arena);
    free(file->path);
    *file = (struct policy_file){0};
}

/* ---- the set of a session ---- */

void session_rules_done(struct session_rules *rules)
{
    rule_set_free(rules->set);
    file_done(&rules->project);
    *rules = (struct session_rules){0};
}

struct gathering {
    struct rule_source *sources;
    size_t count;
};

static uint64_t uses_left(const struct rule_record *record)
{
    uint64_t taken = record->used + record->reserved;
    return record->uses > taken ? record->uses - taken : 0;
}

/* The project that was looked up last: most rules of a session belong to the same one. */
struct stand {
    const struct rule_project *project;
    bool stands;
};

static bool stands(struct stand *last, const struct rule_project *project)
{
    if (!last->project || last->project->ino != project->ino || last->project->dev != project->dev ||
        !str_eq(last->project->path, project->path))
        *last = (struct stand){project, project_stands(project)};
    return last->stands;
}

/* Whether a rule applies in a session with this folder. An allow needs that its project's folder still exists; a deny
 * or ask does not. */
static bool speaks(const struct rule_record *record, struct str root, struct stand *last)
{
    const struct rule_source *source = &record->source;
    if (record->unbound)
        return false;
    return source->reach != REACH_PROJECT ||
           (project_has(&source->project, root) &&
            (source->effect != EFFECT_ALLOW || stands(last, &source->project)));
}

/* Rules that are bound to another project than this session's are left out. */
static void gather_user(struct gate *gate, struct str root, struct gathering *all)
{
    struct stand last = {0};
    for (struct rule_record *r = gate->rules.user; r && all->count < RULES_MAX; r = r->next) {
        if (!speaks(r, root, &last))
            continue;
        all->sources[all->count] = r->source;
        all->sources[all->count].project_is_root = str_eq(r->source.project.path, root);
        if (r->source.counted)
            all->sources[all->count].uses_left = uses_left(r);
        all->count++;
    }
}

static void gather_session(struct arena *arena, const struct session *session, struct gathering *all)
{
    for (const struct session_rule *r = session->rules; r && all->count < RULES_MAX; r = r->next) {
        struct rule_source *source = &all->sources[all->count];
        const struct json *json = NULL;
        uint64_t uses = 0;
        if (rc_bad(json_parse(arena, r->json, &json, NULL)) || rc_bad(rule_read(arena, json, source, &uses, NULL)))
            continue; /* the rule's text was checked when it was added */
        source->id = r->id;
        source->layer = LAYER_SESSION;
        source->author = r->author;
        source->uses_left = uses > r->used ? uses - r->used : 0;
        all->count++;
    }
}

static void gather_file(const struct policy_file *file, bool trusted, struct gathering *all)
{
    for (size_t i = 0; i < file->count && all->count < RULES_MAX; i++) {
        all->sources[all->count] = file->rules[i];
        all->sources[all->count++].trusted = trusted;
    }
}

static bool is_trusted(const struct gate *gate, const struct policy_file *file)
{
    const char *hash = file->path ? map_get(&gate->rules.trusted, str_of(file->path)) : NULL;
    return hash && file->hash[0] && strcmp(hash, file->hash) == 0;
}

/* The session's folder without links, if there are rules of projects; *ret_mark is a hash of the rules that apply. */
static struct str real_root(struct arena *arena, const struct gate *gate, const struct session *session,
                            uint64_t *ret_mark)
{
    struct str root = STR_NONE;
    bool looked = false;
    struct stand last = {0};
    *ret_mark = 0;
    for (const struct rule_record *r = gate->rules.user; r; r = r->next) {
        if (r->source.reach != REACH_PROJECT)
            continue;
        if (!looked && !str_empty(session->cwd))
            root = links_follow(arena, session->cwd);
        looked = true;
        *ret_mark = *ret_mark * 31 + 1 + (speaks(r, root, &last) ? 1 : 0) +
                    (str_eq(r->source.project.path, root) ? 2 : 0);
    }
    return root;
}

/* Room for every rule of every layer. */
static struct gathering gather_begin(struct arena *arena, const struct gate *gate, const struct session *session,
                                     const struct session_rules *rules)
{
    size_t room = gate->rules.managed.count + rules->project.count;
    for (struct rule_record *r = gate->rules.user; r; r = r->next)
        room++;
    for (const struct session_rule *r = session->rules; r; r = r->next)
        room++;
    return (struct gathering){.sources = arena_array(arena, struct rule_source, room + 1)};
}

/* For listings and lint: also rules that do not hold in this session. */
const struct rule_source *rules_all(struct gate *gate, struct arena *arena, const struct session *session,
                                    const struct session_rules *rules, size_t *ret_count)
{
    struct gathering all = gather_begin(arena, gate, session, rules);
    gather_file(&gate->rules.managed, true, &all);
    for (struct rule_record *r = gate->rules.user; r && all.count < RULES_MAX; r = r->next) {
        all.sources[all.count] = r->source;
        all.sources[all.count++].uses_left = uses_left(r);
    }
    gather_file(&rules->project, rules->trusted, &all);
    gather_session(arena, session, &all);
    *ret_count = all.count;
    return all.sources;
}

static void rebuild(struct gate *gate, const struct session *session, struct str root, struct session_rules *rules)
{
    ARENA_SCOPE(scratch);
    struct gathering all = gather_begin(&scratch, gate, session, rules);
    gather_file(&gate->rules.managed, true, &all);
    gather_user(gate, root, &all);
    gather_file(&rules->project, rules->trusted, &all);
    gather_session(&scratch, session, &all);
    rule_set_free(rules->set);
    rules->set = rule_set_new(all.sources, all.count);
    rules->count = all.count;
}

#define POLICY_NAME "/.nod/policy.json"

/* Whether that is the path of the policy file in this folder. */
static bool is_policy_of(const char *path, struct str folder)
{
    return path && strncmp(path, folder.p, folder.n) == 0 && strcmp(path + folder.n, POLICY_NAME) == 0;
}

/* The set by which a session's calls are judged now. Valid until the next call of this function. */
const struct rule_set *rules_for(struct gate *gate, const struct session *session, struct session_rules *rules)
{
    ARENA_SCOPE(scratch);
    struct rules *all = &gate->rules;
    uint64_t projects;
    struct str root = real_root(&scratch, gate, session, &projects);
    if (session->cwd.n && !is_policy_of(rules->project.path, session->cwd)) {
        file_done(&rules->project);
        rules->project.path = strdup(arena_printf(&scratch, "%.*s%s", STR_ARG(session->cwd), POLICY_NAME).p);
    }
    if (refresh_file(&all->managed, LAYER_MANAGED, &all->look_managed, all->turn))
        all->version++;
    bool changed = refresh_file(&rules->project, LAYER_PROJECT, &all->look_project, all->turn);
    bool trusted = is_trusted(gate, &rules->project);
    changed = changed || trusted != rules->trusted || !rules->set || rules->version != all->version ||
              rules->changed_seq != session->changed_seq || rules->projects != projects;
    rules->projects = projects;
    rules->trusted = trusted;
    rules->version = all->version;
    rules->changed_seq = session->changed_seq;
    if (changed)
        rebuild(gate, session, root, rules);
    return rules->set;
}

/* ---- following ---- */

struct rule_record *rules_find(const struct gate *gate, struct str id)
{
    return LIST_FIND(gate->rules.user, r, str_eq(r->source.id, id));
}

/* A rule whose text cannot be read any more is dropped: an allow less, and a deny was checked when it was
 * added. */
static void follow_added(struct gate *gate, const struct event *event, struct arena *scratch)
{
    struct rules *rules = &gate->rules;
    struct data_rule_added data;
    const struct json *rule = NULL;
    struct rule_record *record = arena_new(&rules->arena, struct rule_record);
    if (!READ_DATA(scratch, rule_added, event->data, &data) || !data.rule.n ||
        rc_bad(json_parse(scratch, data.rule, &rule, NULL)) ||
        rc_bad(rule_read(&rules->arena, rule, &record->source, &record->uses, NULL)) ||
        rules_find(gate, record->source.id))
        return;
    record->source.author = arena_str(&rules->arena, event->actor);
    record->unbound = record->source.reach == REACH_UNSAID && record->source.effect == EFFECT_ALLOW &&
                      !str_empty(data.call) && rule_relative(record->source.text);
    record->at_ms = event->at_ms;
    struct rule_record **last = &rules->user;
    while (*last)
        last = &(*last)->next;
    *last = record;
}

static void follow_removed(struct gate *gate, struct str id)
{
    for (struct rule_record **link = &gate->rules.user; *link; link = &(*link)->next) {
        if (str_eq((*link)->source.id, id)) {
            *link = (*link)->next;
            return;
        }
    }
}

static void follow_bound(struct gate *gate, const struct event *event, struct arena *scratch)
{
    struct data_rule_bound data;
    const struct json *where = NULL;
    if (!READ_DATA(scratch, rule_bound, event->data, &data) || rc_bad(json_parse(scratch, data.rule, &where, NULL)))
        return;
    struct rule_record *record = rules_find(gate, data.id);
    if (record && rc_ok(project_read(&gate->rules.arena, where, &record->source, NULL)))
        record->unbound = false;
}

static void follow_used(struct gate *gate, struct str id)
{
    struct rule_record *record = rules_find(gate, id);
    if (!record)
        return;
    record->used++;
    if (record->reserved)
        record->reserved--;
}

static void follow_trust(struct gate *gate, struct str path, struct str hash)
{
    free(map_take(&gate->rules.trusted, path));
    if (!str_empty(hash)) {
        char *copy = heap_new(hash.n + 1);
        memcpy(copy, hash.p, hash.n);
        (void)map_put(&gate->rules.trusted, path, copy);
    }
    definitions_trusted(gate, path, hash);
}

/* Every change raises the version, so that sets are made anew when they are next used. */
void rules_follow(struct gate *gate, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_rule_removed rule; /* also read from a rule_used event, which has the same members */
    struct data_rule_trusted file;
    rule_hits_follow(gate, event);
    if (event->kind != EVENT_RULE_CHANGED)
        return;
    struct str change = shape_change(event->data);
    if (str_is(change, "added"))
        follow_added(gate, event, &scratch);
    else if (str_is(change, "removed") && READ_DATA(&scratch, rule_removed, event->data, &rule))
        follow_removed(gate, rule.id);
    else if (str_is(change, "bound"))
        follow_bound(gate, event, &scratch);
    else if (str_is(change, "used") && READ_DATA(&scratch, rule_removed, event->data, &rule))
        follow_used(gate, rule.id);
    else if (str_is(change, "trusted") && READ_DATA(&scratch, rule_trusted, event->data, &file))
        follow_trust(gate, file.path, file.hash);
    else if (str_is(change, "distrusted") && READ_DATA(&scratch, rule_trusted, event->data, &file))
        follow_trust(gate, file.path, STR_NONE);
    else if (str_is(change, "pinned"))
        definitions_pinned(gate, &scratch, event->data);
    gate->rules.version++;
}

void rules_init(struct gate *gate, const struct gate_options *options)
{
    gate->rules.managed.path = options->managed ? strdup(options->managed) : NULL;
    gate->rules.protected = options->protected;
    gate->rules.socket = options->socket;
    gate->rules.asks_reads = options->asks_reads;
    gate->rules.version = gate->rules.turn = 1;
}

void rules_done(struct gate *gate)
{
    map_free_values(&gate->rules.trusted);
    map_free_values(&gate->rules.hits);
    file_done(&gate->rules.managed);
    arena_done(&gate->rules.arena);
}
