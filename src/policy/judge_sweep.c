/* Files that a command reads and does not name (`grep -r x .`, `cat *.c`, `cat $(git ls-files)`): noted here, without a
 * look at the disk, so that the gate can look whether one of them holds keys (policy_sweep.h). Called by
 * judge_builtin.c for commands that would pass without a rule. */
#include "policy/judge_sweep.h"

#include "base/grow.h"
#include "policy/effects.h"

/* ---- which files a search looks at ---- */

/* Endings of sources and texts: neither `.env.STAGE` nor credentials.json ends so. */
static const char *const sources[] = {
    "adoc", "astro", "bash", "bat", "bazel", "c",   "cc",    "cfg",  "cjs",   "clj",   "cmake", "cpp",     "cs",
    "css",  "csv",   "cts",  "cxx", "dart",  "diff", "ejs",  "el",   "erl",   "ex",    "exs",   "fish",    "fs",
    "go",   "gql",   "gradle", "graphql", "h", "haml", "hbs", "hh",  "hpp",   "hrl",   "hs",    "htm",     "html",
    "hxx",  "ini",   "ipynb", "j2", "java",  "jl",  "js",    "jsx",  "kt",    "kts",   "less",  "lock",    "log",
    "lua",  "m",     "markdown", "md", "mdx", "mjs", "mk",   "ml",   "mli",   "mm",    "mts",   "nim",     "nix",
    "patch", "php",  "pl",   "pm",  "properties", "proto", "ps1", "pug", "py", "pyi",  "pyx",   "r",       "rake",
    "rb",   "rs",    "rst",  "sass", "scala", "scss", "sh",  "snap", "sol",   "sql",   "svelte", "svg",    "swift",
    "tex",  "tf",    "tmpl", "toc", "ts",    "tsv", "tsx",   "txt",  "vim",   "vue",   "xhtml", "xml",     "zig",
    "zsh"};
/* Endings of data: files of such names may hold keys, but seldom hidden ones. */
static const char *const formats[] = {"json", "json5", "jsonc", "jsonl", "toml", "yaml", "yml"};

/* The endings of a pattern: "ts,tsx" of `*.{ts,tsx}`; empty: it says none, or more than one text each. */
static struct str endings_of(struct arena *arena, struct str glob)
{
    bool ends = glob.n > 2 && (glob.p[0] == '*' || glob.p[0] == SHAPE_STAR) && glob.p[1] == '.';
    struct str kinds = ends ? str_sub(glob, 2, glob.n) : STR_NONE;
    if (str_starts(kinds, STR("{")) && kinds.p[kinds.n - 1] == '}') /* *.{ts,tsx} */
        kinds = str_sub(kinds, 1, kinds.n - 1);
    bool plain = ALL(size_t i = 0; i < kinds.n; i++,
                     (unsigned char)kinds.p[i] > SHAPE_PWD && !strchr("*?[]{}\\/'\"$`", kinds.p[i]));
    return plain ? arena_lower(arena, kinds) : STR_NONE;
}

/* Whether a pattern of rg -g lets hidden files in that may hold keys, as `*` and `.e*` do; `*.ts`, `src*` and `!x` do
 * not. Any letter may be meant in either case (--iglob). */
static bool glob_takes_keys(struct arena *arena, struct str glob)
{
    size_t last = glob.n;
    while (last && glob.p[last - 1] != '/')
        last--;
    struct str name = str_sub(glob, last, glob.n), endings = endings_of(arena, name), rest = endings;
    if (str_starts(glob, STR("!")) || str_empty(name) || !strchr(".*?[{\\", name.p[0]))
        return false;
    STR_EACH(kind, rest, ',') {
        if (!STR_IN(kind, sources) && !STR_IN(kind, formats))
            return true;
    }
    return str_empty(endings);
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
static void sweep_add(struct judging *j, enum sweep_kind kind, struct str endings, struct str folder, unsigned levels)
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
    sweep->endings = first || str_eq(endings, sweep->endings) ? endings : STR_NONE;
}

/* The folder in which the target's first pattern is, or the whole target, and how many levels below that the pattern
 * can find. */
static struct str folder_of(struct str target, bool tree, unsigned *ret_levels)
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
    *ret_levels = tree ? SWEEP_DEEP : levels;
    return hole == target.n ? target : str_sub(target, 0, slash);
}

static void sweep_target(struct judging *j, enum sweep_kind kind, struct str endings, struct str target, bool tree)
{
    unsigned levels;
    struct str folder = folder_of(target, tree, &levels);
    sweep_add(j, kind, endings, folder, levels);
}

enum { FINDS_MAX = 64 };

/* Returns the search for the pattern, new or already there; NULL if it is no pattern, lies outside the session's
 * folder, or there are too many. `tree`: a path may stand in its place. */
static struct sweep_find *find_by(struct judging *j, struct str pattern, bool tree)
{
    struct sweep *sweep = &j->sweep;
    struct sweep_find find = {.pattern = pattern, .tree = tree};
    find.folder = folder_of(pattern, tree, &find.levels);
    if ((target_literal(pattern) && !tree) || !path_within(find.folder, j->places.project.named))
        return NULL;
    for (size_t i = 0; i < sweep->find_count; i++)
        if (tree == sweep->finds[i].tree && str_eq(pattern, sweep->finds[i].pattern))
            return &sweep->finds[i];
    if (sweep->find_count == FINDS_MAX) {
        j->unknown = j->unknown ? j->unknown : "too many of its words are patterns";
        return NULL;
    }
    ARENA_GROW(j->arena, sweep->finds, sweep->find_count, sweep->find_room);
    sweep->finds[sweep->find_count] = find;
    return &sweep->finds[sweep->find_count++];
}

static void note_find(struct judging *j, struct str pattern, bool tree)
{
    struct sweep_find *find = find_by(j, pattern, tree);
    if (find)
        find->away = true;
}

static void note_finds_from(struct judging *j, const struct word *word, struct str folder, bool tree)
{
    struct str targets[TARGETS_MAX];
    size_t count = judge_targets(j, word, folder, targets);
    for (size_t i = 0; i < count; i++)
        if ((word->flags & WORD_GLOB) || tree || str_find(targets[i], SHAPE_ANY) == targets[i].n)
            note_find(j, targets[i], tree);
}

/* Of a part that runs in one of two folders, from both. */
static void note_finds(struct judging *j, const struct word *word, const struct folder *folder, bool tree)
{
    if (!folder->known)
        note_finds_from(j, word, j->places.cwd.named, tree);
    if (folder->known || !str_empty(folder->path))
        note_finds_from(j, word, folder->path, tree);
}

/* Whether it runs a command, as find does with the files that it finds. */
static bool hands_on(const struct study *study)
{
    return ANY(const struct act *act = study->acts; act; act = act->next, act->kind == ACT_RUNS);
}

void sweep_stopped(struct judging *j, struct str pattern, struct touch touch)
{
    /* Of a name with an expansion in it nobody knows how deep it lies: it is a doubt where the rules are. */
    bool made = str_find(pattern, SHAPE_ANY) < pattern.n;
    struct sweep_find *find = made || touch.lists ? NULL : find_by(j, pattern, touch.tree && touch.follows);
    if (!find)
        return;
    size_t count;
    const struct str *stops = judge_stopped_paths(j, touch.looks, &count);
    if (count > find->stop_count) { /* those against a change are those against a look, and others */
        find->stops = stops;
        find->stop_count = count;
    }
}

void sweep_without_rules(struct sweep *sweep)
{
    size_t kept = 0;
    for (size_t i = 0; i < sweep->find_count; i++) {
        sweep->finds[i].away = false;
        if (sweep->finds[i].stop_count)
            sweep->finds[kept++] = sweep->finds[i];
    }
    sweep->find_count = kept;
}

/* Whether the rule is about one name at any depth: below `*ret_top`, or (that is empty) anywhere. */
static bool is_of_one_name(struct str rule, struct str *ret_top)
{
    struct str mark = STR("**/");
    size_t at = rule.n;
    while (at && rule.p[at - 1] != '/')
        at--;
    bool below = at >= mark.n && str_eq(str_sub(rule, at - mark.n, at), mark);
    bool deep = below && !str_is(str_sub(rule, at, rule.n), "**");
    *ret_top = str_sub(rule, 0, deep && at > mark.n ? at - mark.n - 1 : 0);
    return deep && !memchr(ret_top->p, '*', ret_top->n) && !memchr(ret_top->p, '?', ret_top->n);
}

/* Whether a link to `real` leads to what the rule is against, or above it. A name at any depth has the same name behind
 * a link to a folder, so there the pattern itself is held against it. */
static bool leads_to_stopped(struct str real, struct str rule, bool tree)
{
    struct str top;
    if (tree || !is_of_one_name(rule, &top))
        return target_meets(real, rule, true);
    return target_meets(real, rule, false) || (!str_empty(top) && path_within(top, real));
}

bool sweep_leads_away(const struct sweep_find *find, struct str root, struct str path, struct str real)
{
    if (!target_meets(find->pattern, path, find->tree) && !(find->tree && path_within(path, find->pattern)))
        return false;
    return (find->away &&
            (str_empty(root) || !path_within(real, root) || (!find->tree && target_secret(real, true)))) ||
           ANY(size_t i = 0; i < find->stop_count; i++, leads_to_stopped(real, find->stops[i], find->tree));
}

bool sweep_goes_on(const struct sweep_find *find, struct str path) { return target_meets(find->pattern, path, false); }

/* Notes the patterns among the values of the line's loops. */
static void note_values(struct judging *j, const struct node *node, const struct folder *folder)
{
    for (size_t i = 0; node->kind == NODE_BRANCH && i < node->word_count; i++)
        if (node->words[i].flags & WORD_GLOB)
            note_finds(j, &node->words[i], folder, false);
    for (const struct node *child = node->first; child; child = child->next)
        note_values(j, child, folder);
}

/* Whether links may be among the names that the command prints or hands on: of ls, and of find and fd unless they take
 * plain files alone. What has an ending is looked at as a sweep. */
static bool lists_links(const struct node *node)
{
    static const char *const listers[] = {"ls", "find", "fd", "fdfind"}, *const types[] = {"-type", "-t", "--type"};
    static const char *const follows[] = {"-L", "-follow", "--follow"}, *const nots[] = {"!", "-not"};
    static const char *const joins[] = {"-o", "-or", ","};
    const struct node *at = node;
    while (at && at->kind != NODE_SIMPLE)
        at = at->first && !at->first->next ? at->first : NULL;
    size_t first = 0;
    while (at && first < at->word_count && !STR_IN(at->words[first].text, listers)) /* `timeout 5 find` */
        first++;
    if (!at || first >= at->word_count)
        return false;
    bool endings = judge_lists_ending(at), plain = endings;
    for (size_t i = first + 1; i < at->word_count; i++) {
        if (STR_IN(at->words[i].text, follows) || (STR_IN(at->words[i].text, joins) && !endings))
            return true;
        plain = plain || (word_is(&at->words[i], "f") && STR_IN(at->words[i - 1].text, types) &&
                          !STR_IN(at->words[i - 2].text, nots));
    }
    return !plain;
}

/* Whether what lies behind links is read with what lies below the operands: `grep -R`, `find . -exec cat {} +`. */
static bool reads_through(const struct study *study, const struct node *node)
{
    return study->follows || (hands_on(study) && node && lists_links(node));
}

/* The links of the whole folder: how deep a listing goes is not looked at. */
static void note_listed(struct judging *j, const struct node *node)
{
    if (lists_links(node))
        note_find(j, j->places.project.named, true);
}

void sweep_covered(struct judging *j, const struct study *study, const struct node *node, const struct folder *folder,
                   size_t named)
{
    if (named == SIZE_MAX || (study->table && (study->table->styles & STYLE_LISTS) && !hands_on(study)))
        return;
    bool through = reads_through(study, node);
    for (const struct act *act = study->acts; act; act = act->next) {
        bool tree = through && (act->flags & ACT_TREE);
        bool open = tree || (act->path.flags & (WORD_GLOB | WORD_VAR));
        bool reads = act->kind == ACT_READS, changes = act->kind == ACT_WRITES || act->kind == ACT_REMOVES;
        if ((!act->word || act->word >= named) && ((reads && open) || (changes && (act->path.flags & WORD_GLOB))))
            note_finds(j, &act->path, folder, tree);
        if (reads && str_is(act->path.raw, "…") && study->follows)
            note_find(j, j->places.project.named, true);
        else if (reads && str_is(act->path.raw, "…") && j->pipe)
            note_listed(j, j->pipe);
        else if (reads && node && (act->path.flags & WORD_RUNS))
            note_listed(j, node->inside);
        if (act->kind == ACT_READS && (act->path.flags & (WORD_VAR | WORD_CHOSEN)) && j->tree)
            note_values(j, j->tree, folder);
    }
}

void sweep_pattern(struct judging *j, struct str target)
{
    if (target_literal(target))
        return;
    note_find(j, target, false);
    size_t last = target.n;
    while (last && target.p[last - 1] != '/')
        last--;
    sweep_target(j, target_could_be_secret(target) ? SWEEP_SHOWN : SWEEP_LINKS,
                 endings_of(j->arena, str_sub(target, last, target.n)), target, false);
}

enum { ENDINGS_BYTES_MAX = 256 };

/* `endings` and `more`; false when these say none, or are too many. */
static bool add_endings(struct arena *arena, struct str *endings, struct str more)
{
    if (str_empty(more) || endings->n + more.n > ENDINGS_BYTES_MAX)
        return false;
    *endings = str_empty(*endings) ? more : arena_printf(arena, "%.*s,%.*s", STR_ARG(*endings), STR_ARG(more));
    return true;
}

/* The endings of all names that the command prints or find hands on; empty: they may have any. */
static struct str endings_listed(struct arena *arena, const struct node *node)
{
    static const char *const listers[] = {"find", "fd", "fdfind", "git", "rg"};
    struct str endings = STR_NONE;
    const struct node *at = node;
    while (at && at->kind != NODE_SIMPLE)
        at = at->first && !at->first->next ? at->first : NULL;
    if (!at || !at->word_count || !STR_IN(at->words[0].text, listers) || !judge_lists_ending(at))
        return STR_NONE;
    for (size_t i = 1; i < at->word_count; i++)
        if (str_starts(at->words[i].text, STR("*.")) &&
            !add_endings(arena, &endings, endings_of(arena, at->words[i].text)))
            return STR_NONE;
    return endings;
}

void sweep_listed(struct judging *j, const struct node *node)
{
    sweep_add(j, sweep_of_names(j->arena, node), endings_listed(j->arena, node), j->places.project.named, SWEEP_DEEP);
    note_listed(j, node);
    j->listed = true;
}

/* The endings of --include='*.py' and the like; empty: all files. Where an --exclude stands before them, grep takes
 * what neither fits. */
static struct str endings_included(struct arena *arena, const struct argv *argv, const struct study *study)
{
    struct str endings = STR_NONE, mark = STR("--include=");
    for (size_t i = 1; i < argv->count; i++) {
        const struct word *word = &argv->words[i];
        if (str_starts(word->text, STR("--exc")) && !str_starts(word->text, STR("--exclude-d")) && str_empty(endings))
            return STR_NONE;
        if (!str_starts(word->text, STR("--inc")))
            continue;
        /* Without quotes each word that bash makes of --include=*.{c,h} is such an option, too. */
        struct str text = word->flags & WORD_OPEN & ~(unsigned)(WORD_GLOB | WORD_BRACE) ? STR_NONE
                          : word_literal(word)                                          ? word->text
                                                                                        : word->raw;
        /* `-e --include=*.py` is a pattern, behind `--` it is a file. */
        if (!str_starts(text, mark) || !effect_takes_option(arena, argv, study->table, i) ||
            !add_endings(arena, &endings, endings_of(arena, str_sub(text, mark.n, text.n))))
            return STR_NONE;
    }
    return endings;
}

/* Whether none of the endings is that of a file with keys. */
static bool only_sources(struct str endings)
{
    struct str rest = endings;
    STR_EACH(kind, rest, ',') {
        if (!STR_IN(kind, sources))
            return false;
    }
    return !str_empty(endings);
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
        size_t count = judge_targets(j, &act->path, folder->known ? folder->path : STR_NONE, targets);
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
    size_t count = judge_targets(j, &act->path, folder->known ? folder->path : STR_NONE, targets);
    for (size_t i = 0; i < count; i++) {
        struct folder here = {.path = j->places.project.named, .known = true};
        struct place place;
        if (target_literal(targets[i]) && place_of(j, &here, targets[i], &place) && !place.file &&
            (place.exists || str_eq(targets[i], here.path)))
            sweep_add(j, SWEEP_ALL, STR_NONE, targets[i], 1);
    }
}

/* Whether the command compares the files of two folders that it is given. */
static bool compares_folders(const struct study *study)
{
    static const char *const names[] = {"diff", "colordiff"};
    return study->table && STR_IN(table_str(study->table->name), names);
}

/* Whether the word may name a folder, seen from each folder in which its part may run; `<(ls)` and what is not there
 * name none. */
static bool may_be_folder(struct judging *j, const struct word *word, const struct folder *folder)
{
    struct str targets[TARGETS_MAX], from[] = {folder->path, j->places.cwd.named};
    if (!j->q->look || !word_literal(word))
        return !str_starts(word->raw, STR("<("));
    for (size_t f = 0; f < (folder->known ? 1 : 2); f++) {
        struct folder here = {.path = from[f], .known = true};
        struct place place;
        size_t count = str_empty(from[f]) ? 0 : judge_targets(j, word, from[f], targets);
        for (size_t i = 0; i < count; i++)
            if (!target_literal(targets[i]) || !place_of(j, &here, targets[i], &place) ||
                (place.exists && !place.file))
                return true;
    }
    return false;
}

struct touch sweep_touch(struct judging *j, const struct study *study, const struct act *act, bool lists,
                         const struct folder *folder)
{
    return (struct touch){.looks = act->kind == ACT_READS, .perhaps = act->flags & ACT_PERHAPS,
                          .tree = (act->flags & ACT_TREE) ||
                                  (compares_folders(study) && may_be_folder(j, &act->path, folder)),
                          .follows = study->follows, .lists = lists};
}

/* Looks on the disk for secret files that a word of a reading command may name: by its pattern, or anywhere below it
 * when the command reads a whole tree (`kind` says which files count there). */
static void sweep_word(struct judging *j, const struct act *act, enum sweep_kind kind, struct str endings, bool trees,
                       const struct folder *folder)
{
    struct str targets[TARGETS_MAX];
    bool tree = (trees || (act->flags & ACT_TREE)) && kind != SWEEP_NONE;
    /* The values of a variable are looked at where it is set. */
    bool pattern = (act->path.flags & WORD_GLOB) && !(act->path.flags & (WORD_VAR | WORD_CHOSEN | WORD_RUNS));
    if (!tree && !pattern)
        return;
    struct str here = folder->known ? folder->path : STR_NONE;
    size_t count = judge_targets(j, &act->path, here, targets);
    for (size_t i = 0; i < count; i++) {
        if (tree)
            sweep_target(j, kind, endings, targets[i], true);
        if (pattern)
            sweep_pattern(j, targets[i]);
    }
}

void sweep_redirected(struct judging *j, const struct word *word, const struct folder *folder)
{
    const struct act act = {.kind = ACT_READS, .path = *word};
    sweep_word(j, &act, SWEEP_NONE, STR_NONE, false, folder);
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
    struct str endings = STR_NONE;
    /* Names alone; `-e --files` is a pattern. */
    if (searching && ANY(size_t i = 1; i < argv->count; i++,
                         word_is(&argv->words[i], "--files") && effect_takes_option(j->arena, argv, study->table, i)))
        kind = SWEEP_NONE;
    else if (searching)
        kind = looks_at_hidden(j->arena, argv->words, argv->count) ? SWEEP_ALL : SWEEP_SHOWN;
    else if (lists && !runs)
        kind = SWEEP_NONE;
    else
        endings = lists ? endings_listed(j->arena, node) : endings_included(j->arena, argv, study);
    if (!lists && only_sources(endings)) /* find may hand on a link with such a name */
        kind = SWEEP_NONE;
    bool trees = compares_trees(j, study, folder), folders = compares_folders(study);
    for (const struct act *act = study->acts; act; act = act->next) {
        if (act->kind == ACT_READS && !(lists && !runs))
            sweep_word(j, act, kind, endings, trees, folder);
        if (act->kind == ACT_READS && !(lists && !runs) && (act->flags & ACT_TREE) && reads_through(study, node))
            note_finds(j, &act->path, folder, true);
        if (act->kind == ACT_READS && folders)
            sweep_folder(j, act, folder);
    }
}
