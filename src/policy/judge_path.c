/* Where paths lead, which rules speak of them, and which of them are protected whatever rules say. */
#include "policy/judge.h"

#include "base/err.h"

/* ---- places ---- */

/* The same path with the links of the places it lies in followed. */
static struct str through_places(struct judging *j, struct str path)
{
    const struct place *const places[] = {&j->places.cwd, &j->places.project, &j->places.home};
    struct str rest;
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

static void list_path(struct judging *j, struct str path)
{
    if (j->path_count == j->path_room) {
        size_t room = j->path_room ? 2 * j->path_room : 8;
        struct str *bigger = arena_array(j->arena, struct str, room);
        if (j->path_count)
            memcpy(bigger, j->paths, j->path_count * sizeof *bigger);
        j->paths = bigger;
        j->path_room = room;
    }
    j->paths[j->path_count++] = path;
}

/* Looked for from where the last one was: they come in the order in which they were listed. */
static const struct resolved_path *find_resolved(struct judging *j, struct str asked)
{
    size_t count = j->q->resolved_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = (j->resolved_at + i) % count;
        if (str_eq(j->q->resolved[at].path, asked)) {
            j->resolved_at = at;
            return &j->q->resolved[at];
        }
    }
    return NULL;
}

enum { PLACES_MAX = 2048 };

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
    struct str asked = path_joined(j->arena, cwd, home, path);
    if (j->listing)
        list_path(j, asked);
    const struct resolved_path *resolved = find_resolved(j, asked);
    if (resolved)
        return path_normal(j->arena, STR_NONE, STR_NONE, resolved->real, &ret_place->real);
    ret_place->real = through_places(j, normal);
    return true;
}

bool folder_inside(struct judging *j, struct str path)
{
    struct folder here = {.path = path, .known = true};
    struct place place;
    if (str_empty(j->places.project.named))
        return false;
    return place_of(j, &here, path, &place) && path_within(place.named, j->places.project.named) &&
           path_within(place.real, j->places.project.real);
}

/* ---- git ---- */

static bool exists_below(struct judging *j, struct str folder, const char *name)
{
    struct folder here = {.path = folder, .known = true};
    struct place place;
    if (!place_of(j, &here, str_of(name), &place))
        return false;
    struct str asked = path_joined(j->arena, folder, STR_NONE, str_of(name));
    const struct resolved_path *found = find_resolved(j, asked);
    return found && found->exists;
}

/* As git goes: from the folder up to the session's own, a `.git` before the folder itself. */
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

bool folder_strange_to_git(struct judging *j, const struct folder *folder)
{
    /* Without them nobody has looked at the disk: there is nothing to be found. */
    if (str_empty(j->places.project.named) || (!j->listing && j->q->resolved_count == 0))
        return false;
    if (str_empty(folder->path) || folder->vague)
        return true;
    if (str_empty(j->git_folder) || !str_eq(j->git_folder, folder->path)) {
        j->git_strange = finds_strange(j, folder->path);
        /* Perhaps it is still where it began. */
        if (!folder->known)
            j->git_strange |= finds_strange(j, j->places.cwd.named);
        j->git_folder = folder->path;
    }
    return j->git_strange;
}

/* ---- rules on paths ---- */

/* Looks at the rules that could speak of the path, below each of the bases they may be written from. */
struct path_search {
    struct judging *j;
    enum rule_side side;
    struct str who; /* tool or family */
    const struct place *place;
    const struct compiled *found;
};

static void search_key(struct path_search *s, const struct rule_key *key)
{
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while (!s->found && (rule = rule_set_next(s->j->set, s->side, key, &hash, &at))) {
        if (rule->rule.kind != RULE_PATH || !rule_in_force(rule, s->j->q->now_ms))
            continue;
        bool allow = s->side == SIDE_ALLOW;
        struct str who = allow ? rule->rule.tool : path_family(rule->rule.tool);
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

static void search_path(struct path_search *s, bool real)
{
    const struct places *places = &s->j->places;
    struct place root = {STR("/"), STR("/")};
    const struct place *const bases[BASE_COUNT] = {&root, &places->cwd, &places->project, &places->home};
    struct str path = real ? s->place->real : s->place->named;
    for (int i = 0; i < BASE_COUNT && !s->found; i++)
        search_below(s, (char)('0' + i), real ? bases[i]->real : bases[i]->named, path);
}

static void search(struct path_search *s)
{
    struct rule_key any = {.kind = KEY_ANY_PATH, .first = s->who};
    search_path(s, false);
    /* A link may lead to a place that a rule forbids by its real name. */
    if (s->side == SIDE_STOP && !str_eq(s->place->named, s->place->real))
        search_path(s, true);
    search_key(s, &any);
}

void place_stops(struct judging *j, const struct place *place, struct str family)
{
    CHECK(str_is(family, "edit") || str_is(family, "read"));
    struct path_search s = {.j = j, .side = SIDE_STOP, .who = family, .place = place};
    if (j->set->stops_paths)
        search(&s);
}

/* The whole tool allowed is every path allowed. */
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

const struct compiled *place_covered(struct judging *j, const struct place *place, struct str tool)
{
    struct path_search s = {.j = j, .side = SIDE_ALLOW, .who = tool, .place = place};
    search(&s);
    return s.found ? s.found : whole_tool(j, tool);
}

/* ---- protected targets ---- */

/* Parts of a path, from a folder's border to the end or to the next border. Protected are names, not files:
 * what does not exist yet counts as well. `secret`: looking at it is asked about, too. */
static const struct {
    struct str part;
    bool secret;
} protected_parts[] = {
    {STR("/.git"), false},
    {STR("/.ssh"), true},
    {STR("/.gnupg"), true},
    {STR("/.netrc"), true},
    {STR("/.git-credentials"), true},
    {STR("/.aws/credentials"), true},
    {STR("/.config/nod"), true},
    {STR("/.local/share/nod"), true},
    {STR("/.nod"), false},
    {STR("/.claude"), false},
    {STR("/.claude.json"), false},
    {STR("/.mcp.json"), false},
    {STR("/.codex"), false},
    {STR("/.gemini"), false},
    {STR("/.qwen"), false},
    {STR("/.opencode"), false},
    {STR("/.config/opencode"), false},
    {STR("/.cursor"), false},
    {STR("/.continue"), false},
    {STR("/.roo"), false},
    {STR("/.cline"), false},
    {STR("/.vscode"), false},
    {STR("/.config/code/user"), false},
    {STR("/.idea"), false},
    {STR("/.devcontainer"), false},
    {STR("/.husky"), false},
    {STR("/.envrc"), false},
    {STR("/.gitconfig"), false},
    {STR("/.config/git"), false},
    {STR("/.npmrc"), false},
    {STR("/.pypirc"), false},
    {STR("/.docker/config.json"), false},
    {STR("/.kube/config"), false},
    {STR("/.aws/config"), false},
    {STR("/.bashrc"), false},
    {STR("/.bash_profile"), false},
    {STR("/.bash_login"), false},
    {STR("/.bash_logout"), false},
    {STR("/.bash_aliases"), false},
    {STR("/.profile"), false},
    {STR("/.zshrc"), false},
    {STR("/.zshenv"), false},
    {STR("/.zprofile"), false},
    {STR("/.zlogin"), false},
    {STR("/.zlogout"), false},
    {STR("/.kshrc"), false},
    {STR("/.cshrc"), false},
    {STR("/.tcshrc"), false},
    {STR("/.login"), false},
    {STR("/.inputrc"), false},
    {STR("/.config/fish"), false},
    {STR("/.config/autostart"), false},
    {STR("/.config/systemd"), false},
    {STR("/.local/share/systemd"), false},
    {STR("/.config/environment.d"), false},
    {STR("/.pam_environment"), false},
    {STR("/.xinitrc"), false},
    {STR("/.xprofile"), false},
    {STR("/.xsession"), false},
    {STR("/.xsessionrc"), false},
    {STR("/.vimrc"), false},
    {STR("/.config/nvim"), false},
    {STR("/.emacs"), false},
    {STR("/.emacs.d"), false},
    {STR("/.local/bin"), false},
};

/* The same, from the root on. */
static const struct {
    struct str path;
    bool secret;
} protected_roots[] = {
    {STR("/etc/cron.d"), false},     {STR("/etc/cron.daily"), false}, {STR("/etc/cron.hourly"), false},
    {STR("/etc/cron.weekly"), false}, {STR("/etc/cron.monthly"), false}, {STR("/etc/crontab"), false},
    {STR("/etc/anacrontab"), false}, {STR("/var/spool/cron"), false}, {STR("/etc/profile"), false},
    {STR("/etc/profile.d"), false},  {STR("/etc/bash.bashrc"), false}, {STR("/etc/bashrc"), false},
    {STR("/etc/zsh"), false},        {STR("/etc/environment"), false}, {STR("/etc/ssh"), false},
    {STR("/etc/sudoers"), false},    {STR("/etc/sudoers.d"), false}, {STR("/etc/passwd"), false},
    {STR("/etc/shadow"), true},      {STR("/etc/ld.so.preload"), false}, {STR("/etc/systemd"), false},
    {STR("/etc/init.d"), false},     {STR("/etc/gitconfig"), false}, {STR("/etc/claude-code"), false},
    {STR("/etc/nod"), false},        {STR("/etc/pam.d"), false},     {STR("/dev"), false},
    {STR("/proc"), false},           {STR("/sys"), false},           {STR("/boot"), false},
};

static bool ends_here(struct str path, size_t at) { return at == path.n || path.p[at] == '/'; }

/* `.git` in another case is the same folder on some disks. */
static bool has_part(struct str path, size_t at, struct str part)
{
    return path.n - at >= part.n && str_same_letters(str_sub(path, at, at + part.n), part) &&
           ends_here(path, at + part.n);
}

static bool protected_name(struct str path, bool looking)
{
    for (size_t at = 0; at + 1 < path.n; at++) {
        if (path.p[at] != '/' || path.p[at + 1] != '.')
            continue;
        for (size_t i = 0; i < sizeof protected_parts / sizeof *protected_parts; i++)
            if ((protected_parts[i].secret || !looking) && has_part(path, at, protected_parts[i].part))
                return true;
    }
    for (size_t i = 0; i < sizeof protected_roots / sizeof *protected_roots; i++)
        if ((protected_roots[i].secret || !looking) && has_part(path, 0, protected_roots[i].path))
            return true;
    return false;
}

bool word_could_be_protected(const struct word *word, bool looking)
{
    char glob[64];
    struct str text = word->text;
    while (!str_empty(text)) {
        struct str part = str_cut(text, '/', &text);
        /* A pattern finds a name that begins with a dot only by one; a whole name is found otherwise. */
        if (part.n < 2 || part.n > sizeof glob || part.p[0] != '.' || str_find(part, WORD_HOLE) == part.n)
            continue;
        /* Of a brace only the beginning is a hole; its letters are alternatives. */
        if (word->flags & WORD_BRACE)
            part.n = str_find(part, WORD_HOLE) + 1;
        for (size_t i = 0; i < part.n; i++)
            glob[i] = part.p[i] == WORD_HOLE ? '*' : part.p[i];
        for (size_t i = 0; i < sizeof protected_parts / sizeof *protected_parts; i++) {
            struct str rest, name = str_sub(protected_parts[i].part, 1, protected_parts[i].part.n);
            if ((protected_parts[i].secret || !looking) &&
                glob_match((struct str){glob, part.n}, str_cut(name, '/', &rest)))
                return true;
        }
    }
    return false;
}

/* Only the project's own: elsewhere the name means nothing. */
static bool protected_in_project(const struct judging *j, struct str path)
{
    static const char *const names[] = {"opencode.json", "opencode.jsonc", ".cursorrules"};
    struct str rest;
    if (str_empty(j->places.project.named) || !path_below(path, j->places.project.named, &rest))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(rest, names[i]))
            return true;
    return false;
}

static bool is_protected(const struct judging *j, struct str path, bool looking)
{
    if (protected_name(path, looking) || (!looking && protected_in_project(j, path)))
        return true;
    for (size_t i = 0; i < j->q->protected_count; i++)
        if (path_within(path, j->q->protected_paths[i]))
            return true;
    return false;
}

bool place_protected(const struct judging *j, const struct place *place, bool looking)
{
    CHECK(!str_empty(place->named) && !str_empty(place->real));
    if (str_is(place->named, "/dev/null") && str_is(place->real, "/dev/null"))
        return false;
    return is_protected(j, place->named, looking) || is_protected(j, place->real, looking);
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
