/* Where paths lead, which rules are about them, and which of them are protected whatever rules say.
 *
 * A place is a path as it is named on the line and as it is behind symbolic links; an allow must fit both, an
 * objection either. The disk is asked through question.look, at most PLACES_MAX times per call.
 */
#include "policy/judge_sweep.h"

#include "base/err.h"
#include "base/local.h"
#include "policy/effects.h"

/* ---- places ---- */

/* Looks up where the links of the home folder lead. Whoever compares real paths with the places calls it first; most
 * calls name no path, and need no look at the disk for it. */
static void look_home_up(struct judging *j)
{
    if (j->home_look)
        j->places.home = place_from(j, j->q->home, j->home_look);
    j->home_look = NULL;
}

/* The path with the symbolic links of cwd, project and home resolved. */
static struct str through_places(struct judging *j, struct str path)
{
    const struct place *const places[] = {&j->places.cwd, &j->places.project, &j->places.home};
    struct str rest;
    look_home_up(j);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (str_empty(places[i]->named) || str_eq(places[i]->named, places[i]->real))
            continue;
        if (str_eq(path, places[i]->named))
            return places[i]->real;
        if (path_below(path, places[i]->named, &rest))
            return arena_printf(j->arena, "%.*s/%.*s", STR_ARG(places[i]->real), STR_ARG(rest));
    }
    return path;
}

enum { PLACES_MAX = 2048 };

/* Relative paths need a known folder. Without `look` (rules judged alone) the path is taken as it is named. */
bool place_of(struct judging *j, const struct folder *folder, struct str path, struct place *ret_place)
{
    if (++j->place_count > PLACES_MAX) {
        j->unknown = "it names too many paths";
        return false;
    }
    struct str cwd = folder->known ? folder->path : STR_NONE;
    struct str home = j->places.home.named, normal;
    if (!path_normal(j->arena, cwd, home, path, &normal))
        return false;
    *ret_place = (struct place){.named = normal, .real = normal};
    if (!j->q->look)
        return true;
    const struct resolved_path *found = j->q->look(j->q->look_arg, path_joined(j->arena, cwd, home, path), false);
    ret_place->shared = found->shared;
    ret_place->exists = found->exists;
    ret_place->file = found->file;
    return path_normal(j->arena, STR_NONE, STR_NONE, found->real, &ret_place->real);
}

static struct str folder_of(struct str path)
{
    while (path.n > 0 && path.p[--path.n] != '/')
        ;
    return path;
}

/* For targets_of. The name stays where it says what the kernel finds: below a project's folder that is a link itself,
 * too. */
static bool look_up(void *arg, struct str path, struct str *ret_above)
{
    struct judging *j = arg;
    struct str above = folder_of(path);
    j->place_count += 2;
    if (j->place_count > PLACES_MAX) {
        j->unknown = "it names too many paths";
        return false;
    }
    struct str real = j->q->look(j->q->look_arg, path, true)->real;
    struct str other = str_empty(above) ? STR_NONE : j->q->look(j->q->look_arg, above, true)->real;
    struct str opened = folder_of(real);
    *ret_above = str_eq(opened, str_is(other, "/") ? STR_NONE : other) ? above : opened;
    return !str_empty(real);
}

size_t judge_targets(struct judging *j, const struct word *word, struct str folder, struct str targets[TARGETS_MAX])
{
    struct target_base base = {.folder = folder, .home = j->places.home.named, .up = j->q->look ? look_up : NULL,
                               .arg = j};
    return targets_of(j->arena, word, &base, targets);
}

bool place_inside(const struct judging *j, const struct place *place)
{
    return !str_empty(j->places.project.named) && path_within(place->named, j->places.project.named) &&
           path_within(place->real, j->places.project.real);
}

/* Headers, libraries and manuals that packages install, and what Linux tells everybody about the machine. Not
 * /usr/local and /usr/share: people keep configuration there. */
static const char *const system_folders[] = {"/usr/include", "/usr/lib", "/usr/lib64", "/usr/share/doc",
                                             "/usr/share/man"};
static const char *const system_files[] = {"/etc/os-release", "/etc/debian_version", "/proc/cpuinfo", "/proc/meminfo",
                                           "/proc/version", "/proc/loadavg", "/proc/uptime"};

static bool path_of_system(struct str path)
{
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        if (path_within(path, str_of(system_folders[i])))
            return true;
    return STR_IN(path, system_files);
}

bool place_readable(const struct judging *j, const struct place *place)
{
    return place_inside(j, place) || (path_of_system(place->named) && path_of_system(place->real));
}

bool folder_inside(struct judging *j, struct str path)
{
    struct folder here = {.path = path, .known = true};
    struct place place;
    return !str_empty(j->places.project.named) && place_of(j, &here, path, &place) && place_inside(j, &place);
}

/* ---- git ---- */

static bool exists_below(struct judging *j, struct str folder, const char *name)
{
    struct folder here = {.path = folder, .known = true};
    struct place place;
    return place_of(j, &here, str_of(name), &place) && place.exists;
}

/* Searches as git does: from the folder up to the session's folder, in each first `.git`, then the folder itself. */
static bool finds_strange(struct judging *j, struct str folder)
{
    struct str root = j->places.project.named;
    struct folder here = {.path = folder, .known = true};
    struct place place;
    /* Behind a link, git goes up another way than the path says. */
    if (!place_of(j, &here, folder, &place) || !str_eq(place.real, through_places(j, place.named)))
        return true;
    while (path_within(folder, root)) {
        bool own = exists_below(j, folder, ".git"), head = exists_below(j, folder, "HEAD");
        bool refs = exists_below(j, folder, "refs"), elsewhere = exists_below(j, folder, "commondir");
        if (own)
            return false;
        if (head && (refs || elsewhere))
            return true;
        if (str_eq(folder, root))
            break;
        while (folder.n > 1 && folder.p[--folder.n] != '/')
            ;
    }
    return false;
}

/* Git obeys the configuration and hooks of the repository it finds; kept for the last folder, because commands ask
 * often. */
bool folder_strange_to_git(struct judging *j, const struct folder *folder)
{
    /* Without a look at the disk nothing can be found. */
    if (str_empty(j->places.project.named) || !j->q->look)
        return false;
    if (str_empty(folder->path) || folder->vague)
        return true;
    if (str_empty(j->git_folder) || !str_eq(j->git_folder, folder->path)) {
        j->git_strange = finds_strange(j, folder->path);
        /* A `cd` before it may have failed. */
        if (!folder->known)
            j->git_strange |= finds_strange(j, j->places.cwd.named);
        j->git_folder = folder->path;
    }
    return j->git_strange;
}

/* ---- rules on paths ---- */

/* A search for rules on one path. A rule is written relative to one of four bases (root, session's folder, project,
 * home), so the path is looked up below each of them. */
struct path_search {
    struct judging *j;
    enum rule_side side;
    struct str who; /* tool or family */
    const struct place *place;
    const struct compiled *found;
};

/* Rules of the allow side end the search with the first that fits; those against it are all noted. */
static void search_key(struct path_search *s, const struct rule_key *key)
{
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while (!s->found && (rule = rule_set_next(s->j->set, s->side, key, &hash, &at))) {
        if (rule->rule.kind != RULE_PATH || !rule_in_force(rule, s->j->q->now_ms))
            continue;
        bool allow = s->side == SIDE_ALLOW;
        if (allow && rule->rule.base == BASE_CWD && s->j->elsewhere)
            continue;
        struct str who = allow ? rule->rule.tool : ruleset_path_family(rule->rule.tool);
        if (!str_eq(who, s->who))
            continue;
        bool fits = allow ? path_covered(s->j->arena, &rule->rule, &s->j->places, s->place)
                          : path_stopped(s->j->arena, &rule->rule, &s->j->places, s->place);
        if (fits && allow)
            s->found = rule;
        else if (fits)
            stop_note(s->j, rule);
    }
}

/* A rule is filed under the literal beginning of its path below its base: each beginning of the path is looked
 * up. */
static void search_below(struct path_search *s, char base, struct str folder, struct str path)
{
    struct str rest;
    if (str_empty(folder) || !path_below(path, folder, &rest))
        return;
    for (size_t end = 0; end <= rest.n && !s->found; end++) {
        if (end && end < rest.n && rest.p[end] != '/')
            continue;
        struct rule_key key = {
            .kind = KEY_PATH, .first = s->who, .second = str_sub(rest, 0, end), .base = base};
        search_key(s, &key);
    }
}

/* A rule against paths counts for its base as it is named and for what that really is. */
static void search_path(struct path_search *s, struct str path)
{
    const struct places *places = &s->j->places;
    struct place root = {.named = STR("/"), .real = STR("/")};
    const struct place *const bases[BASE_COUNT] = {&root, &places->cwd, &places->project, &places->home};
    for (int i = 0; i < BASE_COUNT && !s->found; i++) {
        search_below(s, (char)('0' + i), bases[i]->named, path);
        if (s->side == SIDE_STOP && !str_eq(bases[i]->named, bases[i]->real))
            search_below(s, (char)('0' + i), bases[i]->real, path);
    }
}

static void search(struct path_search *s)
{
    struct rule_key any = {.kind = KEY_ANY_PATH, .first = s->who};
    look_home_up(s->j);
    search_path(s, s->place->named);
    /* A link may lead to a place that a rule forbids by its real name. */
    if (s->side == SIDE_STOP && !str_eq(s->place->named, s->place->real))
        search_path(s, s->place->real);
    search_key(s, &any);
}

/* `family` is "edit" or "read" (ruleset_path_family). A caller that judges a write asks for both: a rule
 * against reading a file is one against replacing it, too. */
void place_stops(struct judging *j, const struct place *place, struct str family)
{
    CHECK(str_is(family, "edit") || str_is(family, "read"));
    struct path_search s = {.j = j, .side = SIDE_STOP, .who = family, .place = place};
    if (j->set->stops_paths)
        search(&s);
}

/* A rule that allows the whole tool allows every path. */
static const struct compiled *whole_tool(struct judging *j, struct str tool)
{
    struct rule_key key = {.kind = KEY_TOOL, .first = tool};
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while ((rule = rule_set_next(j->set, SIDE_ALLOW, &key, &hash, &at)))
        if (rule->rule.kind == RULE_TOOL && str_eq(rule->rule.tool, tool) &&
            rule_in_force(rule, j->q->now_ms))
            return rule;
    return NULL;
}

const struct compiled *place_covered_by_path(struct judging *j, const struct place *place, struct str tool)
{
    struct path_search s = {.j = j, .side = SIDE_ALLOW, .who = tool, .place = place};
    search(&s);
    return s.found;
}

const struct compiled *place_covered(struct judging *j, const struct place *place, struct str tool)
{
    const struct compiled *rule = place_covered_by_path(j, place, tool);
    return rule ? rule : whole_tool(j, tool);
}

/* ---- protected targets ---- */

/* Whether the path is an agent's settings file at the top of the project; elsewhere these names have no effect. */
static bool protected_in_project(const struct judging *j, struct str path)
{
    static const char *const names[] = {"opencode.json", "opencode.jsonc", ".cursorrules"};
    struct str rest;
    if (str_empty(j->places.project.named) || !path_below(path, j->places.project.named, &rest))
        return false;
    return STR_IN(rest, names);
}

/* Whether the target is a protected name or Nod's own data, or may contain it: a folder above it that is touched as a
 * whole (touch.tree), a pattern that could match it. */
bool judge_target_protected(const struct judging *j, struct str target, struct touch touch)
{
    if (target_protected(target, touch, &j->places))
        return true;
    for (size_t i = 0; i < j->q->protected_count; i++)
        if (target_meets(target, j->q->protected_paths[i], touch.tree))
            return true;
    return false;
}

static bool is_protected(const struct judging *j, struct str path, struct touch touch)
{
    return judge_target_protected(j, path, touch) || (!touch.looks && protected_in_project(j, path));
}

bool place_protected(const struct judging *j, const struct place *place, struct touch touch)
{
    CHECK(!str_empty(place->named) && !str_empty(place->real));
    if (str_is(place->named, "/dev/null") && str_is(place->real, "/dev/null"))
        return false;
    return is_protected(j, place->named, touch) ||
           (!str_eq(place->named, place->real) && is_protected(j, place->real, touch));
}

/* The path of the rule, from the root on. */
static struct str below(struct judging *j, const struct rule *rule, struct str base)
{
    if (path_means_anywhere(rule))
        base = STR("**");
    return arena_printf(j->arena, "%.*s/%.*s", STR_ARG(base), STR_ARG(rule->pattern));
}

const struct str *judge_stopped_paths(struct judging *j, bool looks, size_t *ret_count)
{
    size_t count = 0;
    if (!j->stopped[looks]) {
        j->stopped[looks] = arena_array(j->arena, struct str, 2 * j->set->stop_name_count + 1);
        look_home_up(j);
        for (size_t i = 0; i < j->set->stop_name_count; i++) {
            const struct compiled *rule = &j->set->rules[j->set->stop_rules[i]];
            struct str named, real;
            if (!rule_in_force(rule, j->q->now_ms) || rule->rule.kind != RULE_PATH ||
                (looks && str_is(ruleset_path_family(rule->rule.tool), "edit")) ||
                !path_rule_base(j->arena, &rule->rule, &j->places, false, &named))
                continue;
            j->stopped[looks][count++] = below(j, &rule->rule, named);
            if (path_rule_base(j->arena, &rule->rule, &j->places, true, &real) && !str_eq(real, named))
                j->stopped[looks][count++] = below(j, &rule->rule, real);
        }
        j->stopped_count[looks] = count;
    }
    *ret_count = j->stopped_count[looks];
    return j->stopped[looks];
}

/* Whether the target could be a path that the rule is about, below its base as it is named or as it really is. */
static bool rule_meets(struct judging *j, const struct rule *rule, struct str target, bool tree)
{
    struct str named, real;
    if (!path_rule_base(j->arena, rule, &j->places, false, &named))
        return false;
    if (target_meets(target, below(j, rule, named), tree))
        return true;
    if (rule->base == BASE_HOME)
        look_home_up(j);
    return path_rule_base(j->arena, rule, &j->places, true, &real) && !str_eq(real, named) &&
           target_meets(target, below(j, rule, real), tree);
}

enum { TARGET_LOOKS_MAX = 100000 };

/* The folder in which a pattern begins; a target without one is its own. */
static struct str beginning_of(struct str target)
{
    size_t at = 0, slash = 0;
    for (; at < target.n && (unsigned char)target.p[at] > SHAPE_PWD; at++)
        slash = target.p[at] == '/' ? at : slash;
    return at == target.n ? target : str_sub(target, 0, slash);
}

/* The target below the folder that the links of its beginning lead to; false: it is below no link, or the place is not
 * known. */
static bool behind_links(struct judging *j, struct str target, struct str *ret_target)
{
    struct str folder = beginning_of(target);
    if (!j->q->look || str_empty(folder))
        return false;
    if (++j->place_count > PLACES_MAX) {
        j->unknown = "it names too many paths";
        return false;
    }
    struct str real = j->q->look(j->q->look_arg, folder, true)->real;
    if (str_empty(real))
        j->unknown = j->unknown ? j->unknown : "where the links of a path lead is not known";
    if (str_empty(real) || str_eq(real, folder))
        return false;
    struct str rest = str_sub(target, folder.n, target.n);
    *ret_target = str_is(real, "/") && rest.n ? rest : arena_printf(j->arena, "%.*s%.*s", STR_ARG(real), STR_ARG(rest));
    return true;
}

/* Holds every rule against paths against the names that a pattern could match, and (tree) all below them. */
static void target_stops(struct judging *j, struct str target, struct touch touch)
{
    j->hole_looks += j->set->stop_name_count;
    if (j->hole_looks > TARGET_LOOKS_MAX) {
        j->unknown = "too many of its words are patterns";
        return;
    }
    for (size_t i = 0; i < j->set->stop_name_count; i++) {
        const struct compiled *rule = &j->set->rules[j->set->stop_rules[i]];
        if (!rule_in_force(rule, j->q->now_ms) || rule->rule.kind != RULE_PATH ||
            (touch.looks && str_is(ruleset_path_family(rule->rule.tool), "edit")))
            continue;
        if (!rule_meets(j, &rule->rule, target, touch.tree && !touch.lists))
            continue;
        const char *why = NULL;
        if (touch.stored)
            why = "it shows stored contents of a repository, and a rule denies or asks about a file of it";
        else if (touch.perhaps && !rule_meets(j, &rule->rule, target, false))
            why = "one of its words may be a folder, and a rule denies or asks about a file in it";
        if (why)
            j->unknown = j->unknown ? j->unknown : why;
        else
            stop_note(j, rule);
    }
}

void judge_target_stops(struct judging *j, struct str target, struct touch touch)
{
    struct str real;
    target_stops(j, target, touch);
    if (j->set->stop_name_count && behind_links(j, target, &real))
        target_stops(j, real, touch);
    if (j->set->stop_name_count)
        sweep_stopped(j, target, touch);
}

void judge_word_targets(struct judging *j, const struct word *word, const struct folder *folder, struct touch touch)
{
    struct str targets[TARGETS_MAX] NOT_ZEROED;
    size_t count = judge_targets(j, word, folder->known ? folder->path : STR_NONE, targets);
    touch.tree = touch.tree || touch.perhaps;
    for (size_t i = 0; i < count; i++)
        judge_target_stops(j, targets[i], touch);
}

/* Notes the rules against what lies behind the link that a value names; a value that is no link stands on the line with
 * its letters, which are compared elsewhere. */
static bool value_stops(struct judging *j, struct str text, const struct word *value, const struct folder *folder)
{
    struct stop before = j->stop;
    struct word word = {.text = text, .flags = value->flags, .shape = word_literal(value) ? text : value->shape};
    struct str targets[TARGETS_MAX] NOT_ZEROED, real;
    size_t count = judge_targets(j, &word, folder->known ? folder->path : STR_NONE, targets);
    j->stop = (struct stop){0};
    for (size_t i = 0; i < count && !str_empty(text); i++)
        if (behind_links(j, targets[i], &real) && !str_eq(real, through_places(j, targets[i])))
            target_stops(j, real, (struct touch){.looks = true, .tree = true});
    bool stops = j->stop.rule;
    j->stop = before;
    return stops;
}

void judge_assigned_stops(struct judging *j, const struct node *node, const struct folder *folder)
{
    bool loop = node->kind == NODE_BRANCH;
    for (size_t i = 0; j->set->stop_name_count && i < (loop ? node->word_count : node->assign_count); i++) {
        struct word value = node->words[i];
        if (!loop) {
            (void)str_cut(node->words[i].text, '=', &value.text);
            (void)str_cut(node->words[i].shape, '=', &value.shape);
        }
        bool stops = value_stops(j, value.text, &value, folder);
        for (struct str rest = value.text; word_literal(&value) && !str_empty(rest);)
            stops = value_stops(j, str_cut(rest, ' ', &rest), &value, folder) || stops;
        if (stops && !j->unknown)
            j->unknown = "a variable names a link, and a rule denies or asks about a file that it leads to";
    }
}

/* ---- contents that a repository has stored ---- */

/* Whether git takes the operand for a path, not for a revision: it refuses a name that could be both. */
static bool is_stored_path(struct judging *j, const struct act *act, const struct folder *folder,
                           struct place *ret_place)
{
    return (act->flags & ACT_STORED) && act->word && word_is_path(&act->path) && folder->known &&
           place_of(j, folder, act->path.text, ret_place) && ret_place->exists;
}

/* Rules name files, git shows revisions of them: a path that is not on the disk any more is still in the
 * history. That is a doubt and not a denial, since the revision shown may not hold the file. */
void judge_stored_stops(struct judging *j, const struct study *study, const struct act *act,
                        const struct folder *folder)
{
    struct touch touch = {.looks = true, .tree = true, .stored = true};
    struct place place = {0};
    if (!j->set->stops_paths)
        return;
    if (act->word) {
        bool revision = str_find(act->path.text, ':') < act->path.text.n;
        if (!revision && !(is_stored_path(j, act, folder, &place) && place.file))
            judge_word_targets(j, &act->path, folder, touch);
        return;
    }
    for (const struct act *other = study->acts; other; other = other->next)
        if (is_stored_path(j, other, folder, &place))
            return;
    judge_target_stops(j, j->places.project.named, touch);
}

void judge_strange_git_stops(struct judging *j, const struct study *study)
{
    const struct table_row *row = study->table;
    struct touch touch = {.looks = true, .tree = true, .stored = true};
    if (row && (row->reader == READER_GIT || str_starts(table_str(row->name), STR("git "))) &&
        (study->strange_sub || (row->styles & STYLE_BAD)))
        judge_target_stops(j, j->places.project.named, touch);
}

/* Whether the folder in which a pattern begins lies inside the session's folder: `a/x*`, with `a` a link, may not. */
static bool begins_inside(struct judging *j, struct str target)
{
    struct str folder = beginning_of(target);
    return folder.n <= j->places.project.named.n || folder_inside(j, folder);
}

/* Paths that only bash knows count as inside here; judge_name_made decides about them. */
bool judge_target_outside(struct judging *j, struct str target)
{
    struct str project = j->places.project.named, rest;
    /* /dev/null, and paths that only bash knows, are not in the file system: rules on the program decide. */
    if (str_is(target, "/dev/null") || str_starts(target, STR("/\x01")))
        return false;
    if (target_secret(target, true))
        return true;
    if (str_empty(project) || (!str_eq(target, project) && !path_below(target, project, &rest)))
        return true;
    struct folder here = {.path = project, .known = true};
    struct place place;
    if (!target_literal(target))
        return !begins_inside(j, target);
    if (!place_of(j, &here, target, &place) || !place_inside(j, &place))
        return true;
    return !str_eq(place.named, place.real) && target_secret(place.real, true); /* a link to .env */
}

bool judge_target_unreadable(struct judging *j, struct str target)
{
    struct folder here = {.path = j->places.project.named, .known = true};
    struct place place;
    return judge_target_outside(j, target) &&
           (target_secret(target, true) || !target_literal(target) || !place_of(j, &here, target, &place) ||
            !place_readable(j, &place));
}

bool policy_hides(struct str path, struct str own)
{
    return str_empty(path) || target_name_protected(path, true) || target_secret(path, false) ||
           (!str_empty(own) && path_within(path, own));
}

bool place_of_system(const struct place *place)
{
    static const char *const folders[] = {"/etc",   "/usr", "/bin",  "/sbin", "/lib",
                                          "/lib64", "/var", "/root", "/opt",  "/srv"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (path_within(place->named, str_of(folders[i])) || path_within(place->real, str_of(folders[i])))
            return true;
    return str_is(place->named, "/") || str_is(place->real, "/");
}
