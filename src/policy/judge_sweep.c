/* Files that a command reads and does not name (`grep -r x .`, `cat *.c`, `cat $(git ls-files)`): noted here, without a
 * look at the disk, so that the gate can look whether one of them holds keys (policy_sweep.h). Called by
 * judge_builtin.c for commands that would pass without a rule. */
#include "policy/judge.h"

#include "policy/effects.h"

/* ---- which files a search looks at ---- */

/* Whether a pattern of rg -g lets hidden files in that may hold keys, as `*` and `.e*` do; `*.ts`, `src*` and `!x` do
 * not. Any letter may be meant in either case (--iglob). */
static bool glob_takes_keys(struct arena *arena, struct str glob)
{
    size_t last = glob.n;
    while (last && glob.p[last - 1] != '/')
        last--;
    struct str name = str_sub(glob, last, glob.n);
    if (str_starts(glob, STR("!")) || str_empty(name) || !strchr(".*?[{\\", name.p[0]))
        return false;
    if (!str_starts(name, STR("*.")))
        return true;
    struct str kinds = str_sub(name, 2, name.n);
    if (str_starts(kinds, STR("{")) && kinds.p[kinds.n - 1] == '}') /* *.{ts,tsx} */
        kinds = str_sub(kinds, 1, kinds.n - 1);
    STR_EACH(kind, kinds, ',') {
        char *path = arena_bytes(arena, kind.n + 4);
        memcpy(path, "/x.", 3);
        for (size_t i = 0; i < kind.n; i++)
            path[3 + i] = str_lower(kind.p[i]);
        if (ANY(size_t i = 0; i < kind.n; i++, strchr("*?[]{}\\", kind.p[i])) ||
            target_secret((struct str){path, kind.n + 3}, false))
            return true;
    }
    return false;
}

/* The pattern of -g and --glob in word `i`, which stands there or in the word before it; empty: none. */
static struct str glob_of(const struct word *words, size_t i)
{
    static const char *const names[] = {"--glob=", "--iglob="};
    struct str text = words[i].text, before = words[i - 1].text;
    bool letters = before.n > 1 && before.p[0] == '-' && before.p[1] != '-' && before.p[before.n - 1] == 'g';
    if (letters || str_is(before, "--glob") || str_is(before, "--iglob"))
        return text;
    if (text.n > 1 && text.p[0] == '-' && text.p[1] != '-') {
        struct str value;
        (void)str_cut(text, 'g', &value);
        return str_starts(value, STR("=")) ? str_sub(value, 1, value.n) : value;
    }
    return ROW_VALUE(names, row, str_starts(text, str_of(*row)), str_sub(text, strlen(*row), text.n), STR_NONE);
}

/* Whether the option in word `i` is rg's -t or --type with a type that takes .env, *.env or *.tfvars. */
static bool type_takes_keys(const struct word *words, size_t i)
{
    static const char *const types[] = {"all", "sh", "tf", "terraform"};
    struct str text = words[i].text, before = words[i - 1].text, value = text;
    bool letters = before.n > 1 && before.p[0] == '-' && before.p[1] != '-' && before.p[before.n - 1] == 't';
    if (!letters && !str_is(before, "--type"))
        value = STR_NONE;
    if (str_starts(text, STR("--type=")))
        value = str_sub(text, 7, text.n);
    else if (text.n > 1 && text.p[0] == '-' && text.p[1] != '-')
        (void)str_cut(text, 't', &value);
    return STR_IN(str_starts(value, STR("=")) ? str_sub(value, 1, value.n) : value, types);
}

/* Whether options let rg, ag or git look at hidden or untracked files: --hidden, -., -u, -o, also among other letters,
 * and patterns that rg takes files by. */
static bool looks_at_hidden(struct arena *arena, const struct word *words, size_t count)
{
    static const char *const names[] = {"--hi", "--un", "--no-ignore", "--all-types", "--search-binary", "--others",
                                        "--type-add"}; /* ag takes shortened ones */
    bool rg = count && str_is(match_program_name(words[0].text), "rg"), git = count && word_is(&words[0], "git");
    for (size_t i = 1; i < count; i++) {
        struct str text = words[i].text;
        bool letters = text.n > 1 && text.p[0] == '-' && text.p[1] != '-';
        if ((!git && !word_literal(&words[i])) ||
            ANY(size_t k = 0; k < sizeof names / sizeof *names; k++, str_starts(text, str_of(names[k]))))
            return true;
        if (letters && (git ? str_find(text, 'o') < text.n
                            : str_find(text, 'u') < text.n || str_find(text, '.') < text.n))
            return true;
        if (rg && (glob_takes_keys(arena, glob_of(words, i)) || type_takes_keys(words, i)))
            return true;
    }
    return false;
}

/* The files whose names the command `node` may print: for rg and git all but hidden or untracked ones, unless an option
 * adds them; for any other command all. */
static enum sweep_kind sweep_of_names(struct arena *arena, const struct node *node)
{
    const struct node *at = node;
    while (at && at->kind != NODE_SIMPLE)
        at = at->first && !at->first->next ? at->first : NULL;
    bool plain = at && at->word_count && (word_is(&at->words[0], "rg") || word_is(&at->words[0], "git"));
    return plain && !looks_at_hidden(arena, at->words, at->word_count) ? SWEEP_SHOWN : SWEEP_ALL;
}

/* ---- what is noted ---- */

/* Adds files to those that the gate looks at: `levels` levels below `folder`. */
static void sweep_add(struct judging *j, enum sweep_kind kind, struct str folder, unsigned levels)
{
    struct sweep *sweep = &j->sweep;
    if (kind == SWEEP_NONE)
        return;
    if (!path_within(folder, j->places.project.named)) {
        folder = j->places.project.named;
        levels = SWEEP_DEEP;
    }
    bool first = sweep->kind == SWEEP_NONE, same = !first && str_eq(folder, sweep->folder);
    sweep->kind = kind > sweep->kind ? kind : sweep->kind;
    sweep->levels = first ? levels : !same ? SWEEP_DEEP : levels > sweep->levels ? levels : sweep->levels;
    sweep->folder = first || same ? folder : j->places.project.named;
}

/* The target up to its first pattern, and how many levels below that the pattern can find. */
static void sweep_target(struct judging *j, enum sweep_kind kind, struct str target, bool tree)
{
    size_t hole = 0, slash = 0;
    unsigned levels = 1;
    while (hole < target.n && (unsigned char)target.p[hole] > SHAPE_PWD) {
        slash = target.p[hole] == '/' ? hole : slash;
        hole++;
    }
    for (size_t i = hole; i < target.n; i++) {
        levels += target.p[i] == '/';
        tree = tree || target.p[i] == SHAPE_ANY;
    }
    sweep_add(j, kind, hole == target.n ? target : str_sub(target, 0, slash), tree ? SWEEP_DEEP : levels);
}

void sweep_pattern(struct judging *j, struct str target)
{
    if (!target_literal(target))
        sweep_target(j, target_could_be_secret(target) ? SWEEP_SHOWN : SWEEP_LINKS, target, false);
}

void sweep_listed(struct judging *j, const struct node *node)
{
    sweep_add(j, sweep_of_names(j->arena, node), j->places.project.named, SWEEP_DEEP);
    j->listed = true;
}

/* --include='*.py' and the like: no secret ends so. Where an --exclude stands before them, grep takes what neither
 * fits. */
static bool only_of_a_kind(struct arena *arena, const struct argv *argv, const struct study *study)
{
    bool found = false;
    for (size_t i = 1; i < argv->count; i++) {
        struct str text = argv->words[i].text, mark = STR("--include=*.");
        if (str_starts(text, STR("--exc")) && !str_starts(text, STR("--exclude-d")) && !found)
            return false;
        if (!str_starts(text, STR("--inc")))
            continue;
        /* `-e --include=*.py` is a pattern, behind `--` it is a file. */
        if (!str_starts(text, mark) || text.n == mark.n || !word_literal(&argv->words[i]) ||
            !effect_takes_option(arena, argv, study->table, i))
            return false;
        struct str kind = str_sub(text, mark.n, text.n);
        if (ANY(size_t k = 0; k < kind.n; k++, strchr("*?[\\", kind.p[k])) ||
            target_secret(arena_printf(arena, "/x.%.*s", STR_ARG(kind)), false))
            return false;
        found = true;
    }
    return found;
}

/* Whether no folder from here up has a `.git`, as far as the disk tells. */
static bool is_without_git(struct judging *j, const struct folder *folder)
{
    struct str path = folder->path;
    if (!j->q->look || !folder->known)
        return false;
    while (!str_empty(path)) {
        struct folder here = {.path = path, .known = true};
        struct place place;
        if (!place_of(j, &here, STR(".git"), &place) || place.exists || str_is(path, "/"))
            return !place.exists;
        while (path.n > 1 && path.p[--path.n] != '/')
            ;
    }
    return true;
}

/* `git diff src /usr/include` reads both folders as `diff -r` does, without --no-index: so does git where one of two
 * operands lies outside the repository, or there is none. */
static bool compares_trees(struct judging *j, const struct study *study, const struct folder *folder)
{
    size_t operands = 0, last = 0;
    bool outside = false;
    if (study->table->reader != READER_GIT || !str_is(table_str(study->table->name), "git diff"))
        return false;
    for (const struct act *act = study->acts; act; act = act->next) {
        if (act->kind != ACT_READS || !act->word || act->word == last || (act->flags & ACT_BY_OPTION))
            continue;
        struct str targets[TARGETS_MAX];
        size_t count = targets_of(j->arena, &act->path, folder->known ? folder->path : STR_NONE, j->places.home.named,
                                  targets);
        last = act->word;
        operands++;
        outside = outside || ANY(size_t i = 0; i < count; i++, judge_target_outside(j, targets[i]));
    }
    return operands > 1 && (outside || is_without_git(j, folder));
}

/* `diff -N . src` compares the files of two folders, as deep as they are named. */
static void sweep_folder(struct judging *j, const struct act *act, const struct folder *folder)
{
    struct str targets[TARGETS_MAX];
    size_t count = targets_of(j->arena, &act->path, folder->known ? folder->path : STR_NONE, j->places.home.named,
                              targets);
    for (size_t i = 0; i < count; i++) {
        struct folder here = {.path = j->places.project.named, .known = true};
        struct place place;
        if (target_literal(targets[i]) && place_of(j, &here, targets[i], &place) && !place.file &&
            (place.exists || str_eq(targets[i], here.path)))
            sweep_add(j, SWEEP_ALL, targets[i], 1);
    }
}

/* Looks on the disk for secret files that a word of a reading command may name: by its pattern, or anywhere below it
 * when the command reads a whole tree (`kind` says which files count there). */
static void sweep_word(struct judging *j, const struct act *act, enum sweep_kind kind, bool trees,
                       const struct folder *folder)
{
    struct str targets[TARGETS_MAX];
    bool tree = (trees || (act->flags & ACT_TREE)) && kind != SWEEP_NONE;
    /* The values of a variable are looked at where it is set. */
    bool pattern = (act->path.flags & WORD_GLOB) && !(act->path.flags & (WORD_VAR | WORD_CHOSEN | WORD_RUNS));
    if (!tree && !pattern)
        return;
    struct str here = folder->known ? folder->path : STR_NONE;
    size_t count = targets_of(j->arena, &act->path, here, j->places.home.named, targets);
    for (size_t i = 0; i < count; i++) {
        if (tree)
            sweep_target(j, kind, targets[i], true);
        if (pattern)
            sweep_pattern(j, targets[i]);
    }
}

void sweep_command(struct judging *j, const struct argv *argv, const struct study *study,
                          const struct node *node, const struct folder *folder)
{
    static const char *const searches[] = {"rg", "ag"}; /* ack looks at hidden files */
    bool runs = false, searching = STR_IN(table_str(study->table->name), searches);
    bool lists = study->table->styles & STYLE_LISTS;
    for (const struct act *act = study->acts; act; act = act->next) {
        bool by_pipe = act->kind == ACT_READS && str_is(act->path.raw, "…");
        if (by_pipe || (act->kind == ACT_READS && (act->path.flags & WORD_RUNS) && node && node->inside)) {
            sweep_listed(j, by_pipe ? j->pipe : node->inside);
            return;
        }
        runs = runs || act->kind == ACT_RUNS;
    }
    enum sweep_kind kind = SWEEP_ALL;
    /* Names alone; `-e --files` is a pattern. */
    if (searching && ANY(size_t i = 1; i < argv->count; i++,
                         word_is(&argv->words[i], "--files") && effect_takes_option(j->arena, argv, study->table, i)))
        kind = SWEEP_NONE;
    else if (searching)
        kind = looks_at_hidden(j->arena, argv->words, argv->count) ? SWEEP_ALL : SWEEP_SHOWN;
    else if ((lists && !runs) || only_of_a_kind(j->arena, argv, study))
        kind = SWEEP_NONE;
    static const char *const compares[] = {"diff", "colordiff"};
    bool trees = compares_trees(j, study, folder), folders = STR_IN(table_str(study->table->name), compares);
    for (const struct act *act = study->acts; act; act = act->next) {
        if (act->kind == ACT_READS && !(lists && !runs))
            sweep_word(j, act, kind, trees, folder);
        if (act->kind == ACT_READS && folders)
            sweep_folder(j, act, folder);
    }
}
