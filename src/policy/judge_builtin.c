/* The read-only default: commands that only read inside the session's folder, and constructs that change nothing
 * about the command they stand around. All of it is switched off in policy_covers, where rules are judged alone. */
#include "policy/judge_sweep.h"

#include "base/err.h"
#include "policy/effects.h"

/* ---- variables ---- */

/* Variables that name no file, program or module, whatever their value. */
static const char *const harmless_variables[] = {
    "CI", "NODE_ENV", "RUST_BACKTRACE", "RUST_LOG", "DEBUG", "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR",
    "TERM", "COLUMNS", "LINES", "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE", "CARGO_TERM_COLOR", "CLICOLOR", "VERBOSE",
    "PYTHONWARNINGS", "PYTHONHASHSEED", "GOMAXPROCS", "GOTRACEBACK", "MAKE_TERMOUT", "RUST_TEST_THREADS", "JOBS"};

/* Names that programs or bash itself look at, beside what their beginnings tell. */
static const char *const telling_variables[] = {
    "PATH", "IFS", "HOME", "PWD", "OLDPWD", "SHELL", "USER", "ENV", "BASH_ENV", "CDPATH", "EDITOR", "VISUAL", "PAGER",
    "BROWSER", "MANPAGER", "LESS", "LESSOPEN", "LESSCLOSE", "TMPDIR", "MAKEFLAGS", "CC", "CXX", "LD", "CFLAGS",
    "CPPFLAGS", "LDFLAGS", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "HISTFILE", "CLASSPATH", "NODE_PATH", "NODE_OPTIONS",
    "GOFLAGS", "GOPATH", "GOROOT", "RUSTFLAGS", "RUSTC_WRAPPER", "JAVA_HOME", "JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS",
    "DISPLAY", "MAIL", "SHELLOPTS", "BASHOPTS", "GLOBIGNORE", "FIGNORE", "INPUTRC", "TERMINFO", "GCONV_PATH"};

/* NAME of the word NAME=value or NAME+=value. */
static struct str assigned_name(const struct word *word)
{
    struct str value, name = str_cut(word->raw, '=', &value);
    if (name.n && name.p[name.n - 1] == '+')
        name.n--;
    return name;
}

/* Letters, digits and a few signs: nothing that bash or a program could take for more than a text. */
static bool plain_value(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (!(value.p[i] >= 'a' && value.p[i] <= 'z') && !(value.p[i] >= 'A' && value.p[i] <= 'Z') &&
            !(value.p[i] >= '0' && value.p[i] <= '9') && !strchr("_.,:=/@ +-", value.p[i]))
            return false;
    return true;
}

/* Whether an assignment in front of a command cannot change what the command does. Of GOFLAGS and PYTHONPATH only
 * some values are harmless: they hold options of go, and folders that Python loads code from. */
static bool harmless_prefix(struct judging *j, const struct folder *folder, const struct word *word)
{
    struct str value, name = assigned_name(word);
    (void)str_cut(word->text, '=', &value);
    if (!word_literal(word) || !plain_value(value))
        return false;
    if (str_is(name, "PYTHONWARNINGS") && str_find(value, '.') < value.n) /* a category in a module, which is loaded */
        return false;
    if (STR_IN(name, harmless_variables) || str_starts(name, STR("LC_")))
        return str_find(value, '/') == value.n;
    if (str_is(name, "GOFLAGS"))
        return str_starts(value, STR("-count=")) || str_is(value, "-v") || str_is(value, "-race") ||
               str_is(value, "-mod=mod") || str_is(value, "-mod=readonly") || str_is(value, "-mod=vendor") ||
               str_is(value, "-short");
    if (!str_is(name, "PYTHONPATH"))
        return false;
    while (!str_empty(value)) {
        struct place place;
        struct str part = str_cut(value, ':', &value);
        if (str_empty(part) || !place_of(j, folder, part, &place) || !place_inside(j, &place))
            return false;
    }
    return true;
}

/* Whether an assignment without a command sets a variable that no program sees: one whose name is not among those
 * that are usually exported. */
static bool own_variable(struct str name)
{
    static const char *const beginnings[] = {"LD_",   "GIT_",  "PYTHON", "BASH", "NODE_",  "NPM_",   "GO",   "RUST",
                                             "CARGO", "JAVA",  "PERL",   "RUBY", "XDG_",   "DOCKER", "KUBE", "AWS_",
                                             "SSH_",  "DYLD_", "MALLOC", "LC_",  "GLIBC_", "NOD_",   "PIP_", "HTTP"};
    bool small = false;
    if (str_empty(name) || STR_IN(name, telling_variables))
        return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (str_starts(name, str_of(beginnings[i])))
            return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        small = small || (c >= 'a' && c <= 'z');
        /* `read 'a[$(id)]'`: bash evaluates what stands in the brackets. */
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return small ? !str_has(name, STR("_proxy")) : name.n <= 24;
}

/* An assignment alone sets a variable of the shell, in front of a command one of that command's environment:
 * the second is allowed for a short list only. */
bool judge_assignments_harmless(struct judging *j, const struct node *node, const struct folder *folder)
{
    bool alone = node->assign_count == node->word_count;
    bool reads = !alone && word_is(&node->words[node->assign_count], "read");
    for (size_t i = 0; i < node->assign_count; i++) {
        const struct word *word = &node->words[i];
        if (word->flags & WORD_DOUBT)
            return false;
        bool fine = alone ? own_variable(assigned_name(word)) : harmless_prefix(j, folder, word);
        if (!fine && !(reads && str_is(assigned_name(word), "IFS")))
            return false;
    }
    return true;
}

/* ---- paths that only bash knows ---- */

/* Commands that list files, and the options with which they print nothing but names. */
struct lister {
    const char *program, *second;
    const char *letters, *telling; /* short options without a value; if there is `telling`, one of it is needed */
    const char *words[9];          /* long options and other whole words; `x=`: every word that begins so */
    const char *values[7];         /* options whose value is the next word */
};
static const struct lister listers[] = {
    {"ls", NULL, "aA1trSdRcuvUX", NULL, {0}, {0}},
    {"pwd", NULL, "", NULL, {0}, {0}},
    {"nproc", NULL, "", NULL, {0}, {0}},
    {"fd", NULL, "HIa", NULL, {"--hidden", "--no-ignore"}, {"-e", "-t", "-g", "-d", "-E", "--type", "--extension"}},
    {"git", "ls-files", "zocmdk", NULL,
     {"--others", "--cached", "--modified", "--deleted", "--exclude-standard"}, {"-x"}},
    {"git", "diff", "zr", "", {"--cached", "--staged", "--diff-filter=", "--relative"}, {0}},
    {"git", "grep", "lLniwEFPhHIvzx", "lL", {0}, {"-e", "-m"}},
    {"grep", NULL, "lLrRniwEFPhHsIvzaxZ", "lL", {"--include=", "--exclude=", "--exclude-dir="}, {"-e", "-m"}},
    {"rg", NULL, "liwnFPsvxuSaH0", "l", {"--hidden", "--no-ignore", "--glob=", "--type="},
     {"-e", "-g", "-t", "-T", "-m", "--glob", "--type"}},
};

/* Whether the lister prints nothing but names with this option; *tells becomes true for one that it needs for
 * that. */
static bool lister_has(const struct lister *lister, struct str text, bool *tells)
{
    static const char *const quiet[] = {"--files-with-matches", "--files", "--name-only"};
    bool known = lister->telling && STR_IN(text, quiet);
    *tells = *tells || known;
    for (size_t i = 0; i < sizeof lister->words / sizeof *lister->words && lister->words[i]; i++) {
        struct str word = str_of(lister->words[i]);
        known = known || (word.p[word.n - 1] == '=' ? str_starts(text, word) : str_eq(text, word));
    }
    if (known || str_starts(text, STR("--")))
        return known;
    for (size_t i = 1; i < text.n; i++) {
        if (!strchr(lister->letters, text.p[i]))
            return false;
        *tells = *tells || (lister->telling && strchr(lister->telling, text.p[i]));
    }
    return true;
}

/* Goes over the options as the program does, up to `--`; a word that the line makes while it runs may be an
 * option. */
static bool lister_prints_names(const struct lister *lister, const struct node *node)
{
    bool tells = !lister->telling;
    for (size_t i = lister->second ? 2 : 1; i < node->word_count; i++) {
        struct str text = node->words[i].text;
        bool valued = false;
        for (size_t k = 0; k < sizeof lister->values / sizeof *lister->values && lister->values[k]; k++)
            valued = valued || str_is(text, lister->values[k]);
        if ((node->words[i].flags & WORD_CHOSEN) || str_is(text, "--"))
            return tells && !(node->words[i].flags & WORD_CHOSEN);
        i += valued;
        if (!valued && text.n > 1 && text.p[0] == '-' && !lister_has(lister, text, &tells))
            return false;
    }
    return tells;
}

/* Whether the command prints only names of files of the project. */
static bool lists_names(const struct node *node)
{
    static const char *const prints[] = {"-printf", "-fprint", "-fls", "-ls", "-exec", "-ok"};
    const struct node *at = node;
    while (at && at->kind != NODE_SIMPLE)
        at = at->first && !at->first->next ? at->first : NULL;
    if (!at || at->word_count == 0 || at->assign_count)
        return false;
    for (size_t i = 0; i < sizeof listers / sizeof *listers; i++)
        if (word_is(at->words, listers[i].program) &&
            (!listers[i].second || (at->word_count > 1 && word_is(&at->words[1], listers[i].second))))
            return lister_prints_names(&listers[i], at);
    for (size_t i = 1; i < at->word_count; i++)
        for (size_t k = 0; k < sizeof prints / sizeof *prints; k++)
            if (str_starts(at->words[i].text, str_of(prints[k])) || (at->words[i].flags & WORD_CHOSEN))
                return false;
    return word_is(at->words, "find");
}

/* Whether the part that only bash knows is the whole last name of the path: `$f`, `src/$f`, `$(git ls-files)`. */
static bool whole_hole(struct str text)
{
    size_t hole = str_find(text, WORD_HOLE);
    return hole + 1 == text.n && (hole == 0 || text.p[hole - 1] == '/');
}

/* The variable that a word uses by itself: `$f`, `"$f"`, `src/${f}`; empty: something else. */
static struct str used_name(struct str raw)
{
    size_t from = str_find(raw, '$') + 1;
    if (from < raw.n && raw.p[from] == '{')
        from++;
    size_t to = from;
    while (to < raw.n && ((raw.p[to] >= 'a' && raw.p[to] <= 'z') || (raw.p[to] >= 'A' && raw.p[to] <= 'Z') ||
                          (raw.p[to] >= '0' && raw.p[to] <= '9') || raw.p[to] == '_'))
        to++;
    return from <= raw.n ? str_sub(raw, from, to) : STR_NONE;
}

/* Whether the word is that variable and text before it, without an operator: `${f%x}` is another text. */
static bool uses_plainly(struct str raw)
{
    struct str name = used_name(raw);
    size_t end = str_empty(name) ? 0 : (size_t)(name.p + name.n - raw.p);
    if (end && name.p[-1] == '{')
        return end < raw.n && raw.p[end] == '}';
    return end > 0;
}

/* Whether a loop or an assignment of the line sets the variable. */
static bool line_sets(const struct node *node, struct str name)
{
    if (!str_empty(name) && str_eq(node->variable, name))
        return true;
    for (size_t i = 0; node->kind == NODE_SIMPLE && i < node->assign_count; i++)
        if (str_eq(assigned_name(&node->words[i]), name))
            return true;
    for (const struct node *child = node->first; child; child = child->next)
        if (line_sets(child, name))
            return true;
    return false;
}

/* A path of which only bash knows where it begins. */
static bool is_somewhere(struct str target) { return str_starts(target, STR("/\x01")); }

/* Whether the file holds keys by its name, or by the name that a link leads to. */
static bool holds_keys(struct judging *j, struct str target)
{
    struct folder here = {.path = j->places.project.named, .known = true};
    struct place place;
    if (target_secret(target, false) || !target_literal(target))
        return target_secret(target, false);
    return !place_of(j, &here, target, &place) ||
           (!str_eq(place.real, place.named) && target_secret(place.real, false));
}

/* `$f`, `src/$f`: a variable that the line sets, below a folder inside the session's. */
static bool uses_line_variable(struct judging *j, const struct word *word, const struct folder *folder)
{
    if (!whole_hole(word->text) || !uses_plainly(word->raw) || !line_sets(j->tree, used_name(word->raw)))
        return false;
    struct str before = str_sub(word->text, 0, word->text.n - 1), targets[TARGETS_MAX];
    if (str_empty(before))
        return true;
    struct word place = {.text = before, .shape = before};
    size_t count = judge_targets(j, &place, folder->known ? folder->path : STR_NONE, targets);
    return count == 1 && !is_somewhere(targets[0]) && !judge_target_outside(j, targets[0]);
}

/* Whether the text has characters of a pattern. They were quoted where the value was written, but bash expands them
 * where the variable is used without quotes. */
static bool has_quoted_pattern(struct str text)
{
    return str_find(text, '*') < text.n || str_find(text, '?') < text.n || str_find(text, '[') < text.n ||
           str_find(text, '\\') < text.n;
}

/* Whether the values that loops and assignments of the line give to variables come from the line itself, and are no
 * secrets. */
static bool values_stay(struct judging *j, const struct node *node, const struct folder *folder)
{
    bool loop = node->kind == NODE_BRANCH;
    for (size_t i = 0; i < node->word_count; i++) {
        const struct word *word = &node->words[i];
        if (!loop && i >= node->assign_count)
            break;
        if (word->flags & WORD_RUNS) {
            for (const struct node *inner = node->inside; inner; inner = inner->next) {
                if (!lists_names(inner))
                    return false;
                sweep_listed(j, inner);
            }
            continue;
        }
        struct word value = *word;
        if (!loop) {
            (void)str_cut(word->text, '=', &value.text);
            (void)str_cut(word->shape, '=', &value.shape);
        }
        struct str targets[TARGETS_MAX], text = value.text;
        /* Another variable of the line: its own values are looked at. */
        if ((word->flags & WORD_VAR) && uses_line_variable(j, &value, folder))
            continue;
        if ((word->flags & (WORD_VAR | WORD_DOUBT | WORD_CHOSEN)) || has_quoted_pattern(text))
            return false;
        /* Where the variable is used without quotes, each blank begins a new word. */
        do {
            struct word part = {.text = str_cut(text, ' ', &text), .flags = value.flags};
            part.shape = word_literal(&value) ? part.text : value.shape;
            size_t count = judge_targets(j, &part, folder->known ? folder->path : STR_NONE, targets);
            for (size_t k = 0; k < count; k++) {
                if (is_somewhere(targets[k]) || judge_target_outside(j, targets[k]) || holds_keys(j, targets[k]))
                    return false;
                sweep_pattern(j, targets[k]);
            }
        } while (!str_empty(text) && word_literal(&value));
    }
    for (const struct node *child = node->first; child; child = child->next)
        if (!values_stay(j, child, folder))
            return false;
    return true;
}

/* Whether a part of the path is hidden: `.git`, `a/.b`; `.` and `..` do not count. */
static bool goes_into_hidden(struct str path)
{
    STR_EACH(part, path, '/') {
        if (part.n > 1 && part.p[0] == '.' && !str_is(part, ".."))
            return true;
    }
    return false;
}

/* `! -path './a'` of find: fewer names. */
static bool leaves_out(const struct node *node, size_t i)
{
    static const char *const negations[] = {"!", "-not"}, *const paths[] = {"-path", "-ipath", "-wholename"};
    return i + 2 < node->word_count && STR_IN(node->words[i].text, negations) && STR_IN(node->words[i + 1].text, paths);
}

/* The `-o` of `-name '*.c' -o -name '*.h'`: each of both has an ending. */
static bool joins_names(const struct node *node, size_t i, const char *name)
{
    return i > 2 && i + 2 < node->word_count && word_is(&node->words[i], "-o") &&
           word_is(&node->words[i - 2], name) && word_is(&node->words[i + 1], name);
}

/* Not in a hidden folder, whose files are seldom what their ending says: `find .git -name '*.pack'`. */
static bool names_ending(const struct word *word, struct str text)
{
    static const char *const of_git[] = {"*.pack", "*.idx", "*.rev", "*.bitmap", "*.graph", "*.keep", "*.lock"};
    return word_literal(word) && str_starts(text, STR("*.")) && str_find(text, '/') == text.n && text.n > 2 &&
           !STR_IN(text, of_git);
}

/* Where find has all words of the command that it runs; `from` is its -exec. */
static size_t end_of_handed(const struct node *node, size_t from)
{
    size_t i = from + 1;
    while (i < node->word_count && !word_is(&node->words[i], ";") &&
           !(word_is(&node->words[i], "+") && word_is(&node->words[i - 1], "{}")))
        i++;
    return i;
}

/* find tests and acts in the order of its words: `-print -name '*.o'` prints every name. */
static bool find_lists_ending(const struct node *node)
{
    static const char *const names[] = {"-name", "-iname"}, *const others[] = {"-o", "-or", "!", "-not", ","};
    static const char *const acts[] = {"-exec", "-ok", "-print", "-fprint", "-ls", "-fls", "-delete"};
    bool found = false;
    for (size_t i = 1; i < node->word_count; i++) {
        struct str text = node->words[i].text;
        bool does = ANY(size_t k = 0; k < sizeof acts / sizeof *acts; k++, str_starts(text, str_of(acts[k])));
        if (leaves_out(node, i)) {
            i += 2;
        } else if (does) {
            if (!found)
                return false;
            if (str_starts(text, STR("-exec")) || str_starts(text, STR("-ok")))
                i = end_of_handed(node, i);
        } else if (STR_IN(node->words[i - 1].text, names)) {
            if (!names_ending(&node->words[i], text))
                return false;
            found = true;
        } else if (!joins_names(node, i, names[0]) && (STR_IN(text, others) || goes_into_hidden(text))) {
            return false;
        }
    }
    return found;
}

/* The words of rg, fd and `git ls-files`. A file that rg is given by its name is listed whatever -g says. */
static bool others_list_ending(const struct node *node)
{
    static const char *const globs[] = {"-g", "--glob"}, *const others[] = {"-x", "-X", "--exclude"};
    static const char *const valued[] = {"-e", "-t", "-T", "-m", "--type"}, *const bare[] = {"-e", "--files"};
    bool git = word_is(&node->words[0], "git"), rg = word_is(&node->words[0], "rg"), found = false;
    size_t patterns = rg && !ANY(size_t i = 1; i < node->word_count; i++, STR_IN(node->words[i].text, bare));
    for (size_t i = git ? 2 : 1; i < node->word_count; i++) {
        struct str text = node->words[i].text, before = node->words[i - 1].text, glob = text;
        bool attached = str_starts(text, STR("--glob="));
        if (attached)
            (void)str_cut(text, '=', &glob);
        bool operand = !str_starts(text, STR("-")), names = attached || STR_IN(before, globs) || (git && operand);
        if (STR_IN(text, others) || str_starts(text, STR("--exclude=")) || goes_into_hidden(text) ||
            (names && !names_ending(&node->words[i], glob)))
            return false;
        if (rg && operand && !names && !STR_IN(before, valued) && patterns-- == 0)
            return false;
        found = found || names;
    }
    return found;
}

bool judge_lists_ending(const struct node *node)
{
    while (node && node->kind != NODE_SIMPLE)
        node = node->first && !node->first->next ? node->first : NULL;
    if (!node || !node->word_count)
        return false;
    if (word_is(&node->words[0], "git") && node->word_count > 1 && word_is(&node->words[1], "grep"))
        return false; /* its first operand is no path */
    return word_is(&node->words[0], "find") ? find_lists_ending(node) : others_list_ending(node);
}

/* Whether the command only leaves out or sorts lines of what it reads from the pipe. */
static bool filters_lines(const struct node *node)
{
    static const char *const sorters[] = {"sort", "uniq", "tac"}, *const cutters[] = {"head", "tail", "shuf"};
    if (node->kind != NODE_SIMPLE || node->assign_count || !node->word_count || node->redirs)
        return false;
    bool greps = word_is(&node->words[0], "grep") || word_is(&node->words[0], "egrep");
    bool cuts = STR_IN(node->words[0].text, cutters), patterns = false;
    for (size_t i = 1; i < node->word_count; i++) {
        struct str text = node->words[i].text;
        const char *letters = greps ? "vEFiwxz" : cuts ? "n0123456789z" : "urnVfz";
        bool option = text.n > 1 && text.p[0] == '-', number = cuts && word_is(&node->words[i - 1], "-n");
        bool pattern = greps && !option && !patterns;
        for (size_t k = number && str_starts(text, STR("+")) ? 1 : option; (option || number) && k < text.n; k++)
            if (!strchr(number ? "0123456789" : letters, text.p[k]))
                return false;
        if (!word_literal(&node->words[i]) || !(option || number || pattern))
            return false;
        patterns = patterns || pattern;
    }
    return greps || cuts || STR_IN(node->words[0].text, sorters);
}

/* The command whose file names of the project come through the pipe, if those in between only filter or sort them;
 * NULL: something else comes. */
static const struct node *lister_of_pipe(const struct judging *j)
{
    const struct node *at = j->pipe;
    if (!at || !j->piped || !lists_names(at))
        return NULL;
    while (at != j->piped) {
        at = at->next;
        if (!at || !filters_lines(at))
            return NULL;
    }
    return j->pipe;
}

/* `echo a b | xargs rm`: the names are on the line, and xargs finds no quotes in them. */
static bool echoes_inside(struct judging *j, const struct folder *folder, bool writes)
{
    const struct node *node = j->piped;
    if (!node || node != j->pipe || node->kind != NODE_SIMPLE || !node->word_count || !word_is(node->words, "echo"))
        return false;
    for (size_t i = 1; i < node->word_count; i++) {
        struct str targets[TARGETS_MAX];
        size_t count = judge_targets(j, &node->words[i], folder->known ? folder->path : STR_NONE, targets);
        for (size_t k = 0; k < node->words[i].text.n; k++)
            if (strchr(" \t\n\"'\\", node->words[i].text.p[k]))
                return false;
        if (!word_literal(&node->words[i]))
            return false;
        for (size_t k = 0; k < count; k++)
            if (judge_target_outside(j, targets[k]) ||
                judge_target_protected(j, targets[k], (struct touch){.looks = !writes, .tree = true}))
                return false;
    }
    return true;
}

bool judge_name_made(struct judging *j, const struct word *word, const struct node *node, const struct folder *folder,
                     bool writes)
{
    if (word_is_found(word))
        return writes && !judge_lists_ending(node);
    if (!(word->flags & (WORD_RUNS | WORD_CHOSEN)) || str_find(word->shape, SHAPE_ANY) == word->shape.n)
        return false;
    if (str_is(word->raw, "…")) {
        const struct node *lister = lister_of_pipe(j);
        return lister ? writes && !judge_lists_ending(lister) : !echoes_inside(j, folder, writes);
    }
    const struct node *inner = node && (word->flags & WORD_RUNS) && whole_hole(word->text) ? node->inside : NULL;
    if (!inner)
        return true;
    for (; inner; inner = inner->next)
        if (!lists_names(inner) || (writes && !judge_lists_ending(inner)))
            return true;
    return false;
}

/* Whether a path that a part reads can only lie inside the session's folder and holds no keys. A name that is
 * made while the line runs passes where it can only come from a listing of the project's files; then the gate
 * looks at these files by itself before the call passes (struct sweep). */
static bool path_stays(struct judging *j, const struct act *act, const struct node *node, const struct folder *folder)
{
    const struct word *word = &act->path;
    if (word->flags & WORD_DOUBT)
        return false;
    /* xargs appends the words that it reads to its command. */
    if (str_is(word->text, "\x01") && str_is(word->raw, "…"))
        return lister_of_pipe(j) != NULL;
    /* <(command) is a pipe. */
    if (str_starts(word->raw, STR("<(")) && str_is(word->text, "\x01"))
        return true;
    bool runs = word->flags & WORD_RUNS, found = word->flags & (WORD_VAR | WORD_CHOSEN);
    bool placed = str_find(word->shape, SHAPE_ANY) == word->shape.n;
    if (runs && (!whole_hole(word->text) || !node))
        return false;
    for (const struct node *inner = runs ? node->inside : NULL; inner; inner = inner->next)
        if (!lists_names(inner))
            return false;
    if (runs)
        return true;
    if (found && !placed)
        return uses_line_variable(j, word, folder) && values_stay(j, j->tree, folder);
    struct str targets[TARGETS_MAX];
    size_t count = judge_targets(j, word, folder->known ? folder->path : STR_NONE, targets);
    for (size_t i = 0; i < count; i++)
        if (is_somewhere(targets[i]) || judge_target_unreadable(j, targets[i]) || holds_keys(j, targets[i]) ||
            judge_target_protected(j, targets[i], (struct touch){.looks = true, .tree = act->flags & ACT_TREE}))
            return false;
        else if (found)
            sweep_pattern(j, targets[i]);
    return count > 0;
}

bool judge_reads_inside(struct judging *j, const struct word *word, const struct node *node,
                        const struct folder *folder)
{
    const struct act act = {.kind = ACT_READS, .path = *word};
    if (str_find(word->shape, SHAPE_ANY) < word->shape.n || !path_stays(j, &act, node, folder))
        return false;
    sweep_redirected(j, word, folder);
    j->builtin = true;
    return true;
}

/* ---- commands ---- */

/* A program by its bare name or in /usr/bin or /bin: `./cat` is something else. */
static bool plain_program(struct str name)
{
    struct str bare = match_program_name(name);
    return bare.n == name.n || str_starts(name, STR("/usr/bin/")) || str_starts(name, STR("/bin/"));
}

/* These change time, priority or buffers of the command behind them, nothing else. */
static bool transparent(struct str row)
{
    static const char *const wrappers[] = {"timeout", "time", "nice", "stdbuf", "command", "env", "xargs", "ionice"};
    return STR_IN(row, wrappers);
}

/* True for rows that only read, for set, read and tee, whose acts are judged one by one, and for wrappers. False for a
 * program that the project's files choose (`local`), whatever its row says. */
static bool is_reader(const struct study *study)
{
    struct str name = table_str(study->table->name);
    bool reads = (study->table->styles & (STYLE_READS | STYLE_SHOWS)) || study->only_reads;
    if (study->local)
        return false;
    return reads || str_is(name, "set") || str_is(name, "read") || str_is(name, "tee") || transparent(name);
}

/* Names of variables whose values are secret. */
static bool secret_name(struct str name)
{
    static const char *const parts[] = {"TOKEN", "SECRET",  "KEY", "PASS",        "CREDENTIAL", "AUTH",
                                        "COOKIE", "PRIVATE", "DSN", "DATABASE_URL"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (str_has(name, str_of(parts[i])))
            return true;
    return false;
}

/* Whether the word uses a variable of the environment whose name says that its value is a secret. */
static bool uses_secret(const struct judging *j, const struct word *word)
{
    struct str raw = word->raw;
    while ((word->flags & WORD_VAR) && str_find(raw, '$') < raw.n) {
        struct str name = used_name(raw);
        if (secret_name(name) && !line_sets(j->tree, name))
            return true;
        raw = str_sub(raw, str_find(raw, '$') + 1, raw.n);
    }
    return false;
}

bool words_secret(const struct judging *j, const struct node *node)
{
    for (size_t i = 0; i < node->word_count; i++)
        if (uses_secret(j, &node->words[i]))
            return true;
    for (const struct redir *redir = node->redirs; redir; redir = redir->next)
        if (uses_secret(j, &redir->target))
            return true;
    return false;
}

/* Whether the command prints the whole environment, or a secret in it, or git's configuration. */
static bool shows_secrets(const struct judging *j, const struct argv *argv, const struct study *study)
{
    struct str name = table_str(study->table->name);
    bool shows = study->table->styles & STYLE_SHOWS;
    if (study->tells)
        return true;
    if (argv->count == 1 && (shows || str_is(name, "env") || str_is(name, "set")))
        return true;
    for (size_t i = 1; i < argv->count; i++) {
        struct str text = argv->words[i].text;
        /* `ps auxe` prints the environment of every process. */
        bool processes = str_is(name, "ps") && ((text.n && text.p[0] != '-' && str_find(text, 'e') < text.n) ||
                                                !word_literal(&argv->words[i]));
        bool told = shows && (!word_literal(&argv->words[i]) || secret_name(text));
        if (processes || told || uses_secret(j, &argv->words[i]))
            return true;
    }
    return false;
}

/* Whether the word, a value on the line, is a number or comes from commands that print one. */
static bool is_number(const struct node *node, const struct word *word, struct str value)
{
    if (word_literal(word))
        return ALL(size_t i = 0; i < value.n; i++, str_digit(value.p[i]) || value.p[i] == '.');
    bool runs = (word->flags & WORD_RUNS) && !(word->flags & WORD_VAR) && node->inside && whole_hole(value);
    for (const struct node *inner = node->inside; inner && runs; inner = inner->next)
        runs = judge_prints_number(inner);
    return runs;
}

/* Whether the words of a loop come from a listing or a pattern: the gate looks whether one of the names has a blank in
 * it. */
static bool goes_over_names(struct judging *j, const struct node *node, const struct word *word)
{
    if ((word->flags & WORD_OPEN) == WORD_GLOB || (word->flags & WORD_OPEN) == (WORD_GLOB | WORD_SPLITS)) {
        j->listed = true;
        return true;
    }
    if (!(word->flags & WORD_RUNS) || !node->inside || node->inside->next || !lists_names(node->inside))
        return false;
    sweep_listed(j, node->inside);
    return true;
}

/* Whether all that the line gives to the variable are numbers; `*ret_found`: it gives it something. */
static bool sets_number(struct judging *j, const struct node *node, struct str name, bool *ret_found)
{
    static const char *const setters[] = {"read", "mapfile", "readarray", "printf", "getopts"};
    bool loop = node->kind == NODE_BRANCH && str_eq(node->variable, name), fine = true;
    bool reads = node->kind == NODE_SIMPLE && ANY(size_t i = node->assign_count; i < node->word_count; i++,
                                                  STR_IN(node->words[i].text, setters)); /* `builtin read x` */
    for (size_t i = 0; i < node->word_count && fine; i++) {
        struct str value = node->words[i].text;
        bool assigns = node->kind == NODE_SIMPLE && i < node->assign_count &&
                       str_eq(assigned_name(&node->words[i]), name);
        if (assigns)
            (void)str_cut(value, '=', &value);
        *ret_found = *ret_found || loop || assigns;
        fine = !(loop || assigns) || is_number(node, &node->words[i], value) ||
               (loop && goes_over_names(j, node, &node->words[i]));
        fine = fine && !(reads && str_eq(node->words[i].text, name));
    }
    for (const struct node *child = node->first; child && fine; child = child->next)
        fine = sets_number(j, child, name, ret_found);
    return fine;
}

/* Whether a word of `[` that stands without quotes can only be a number: `[ $(wc -l < a) -gt 3 ]`, or one name. */
static bool tests_number(struct judging *j, const struct node *node, const struct word *word)
{
    bool found = false;
    if (!node || (word->flags & WORD_DOUBT))
        return false;
    if (word->flags & WORD_RUNS)
        return is_number(node, word, word->text);
    return uses_plainly(word->raw) && whole_hole(word->text) && sets_number(j, j->tree, used_name(word->raw), &found) &&
           found;
}

/* Whether an act that the table leaves open needs no rule: `env A=b command` with a harmless variable, `read` into the
 * line's own variables, a number that `[` compares. */
static bool act_harmless(struct judging *j, const struct folder *folder, const struct study *study,
                         const struct argv *argv, const struct node *node, const struct act *act)
{
    struct str name = table_str(study->table->name);
    if (study->table->reader == READER_TEST && act->word < argv->count)
        return tests_number(j, node, &argv->words[act->word]);
    if (act->kind == ACT_OTHER && str_is(name, "env") && act->word < argv->count)
        return harmless_prefix(j, folder, &argv->words[act->word]);
    if (act->kind == ACT_OTHER && str_is(name, "read") && act->fine_alone) {
        for (size_t i = 1; i < argv->count; i++) {
            struct str text = argv->words[i].text;
            if (!word_literal(&argv->words[i]) || !(str_is(text, "-r") || own_variable(text)))
                return false;
        }
        return true;
    }
    return false;
}

/* The read-only default for one command. It needs no rule if the table says that it only reads, nothing that it
 * reads can lie outside or be secret, and every command that it runs passes by itself. */
const char *argv_builtin(struct judging *j, const struct argv *argv, const struct study *study,
                         const struct node *node, const struct folder *folder,
                         bool (*passes)(void *arg, struct act *act), void *arg)
{
    if (j->rules_alone || j->q->no_builtin || !study->table || !argv->count || !word_literal(&argv->words[0]) ||
        !plain_program(argv->words[0].text) || !is_reader(study))
        return judge_no_rule;
    if (shows_secrets(j, argv, study) || (node && words_secret(j, node)))
        return "it would show what may be secret: variables of the environment";
    bool inside = folder->inside && !str_empty(j->places.project.named);
    if (!inside && !(study->table->styles & STYLE_ANYWHERE))
        return "it would run outside the session's folder, or nobody knows where";
    bool wraps = transparent(table_str(study->table->name)), ran = false;
    for (struct act *act = study->acts; act; act = act->next) {
        switch (act->kind) {
        case ACT_READS:
            if (!path_stays(j, act, node, folder))
                return "it reads outside the session's folder, or a file that holds keys";
            break;
        case ACT_RUNS:
            if (!passes(arg, act))
                return act->why;
            ran = true;
            break;
        case ACT_WRITES:
            if ((act->flags & ACT_PERHAPS) || !passes(arg, act))
                return "it writes a file, and no Edit rule covers that file";
            break;
        case ACT_CHANGES: case ACT_PROJECT: case ACT_TALKS:
            if (!study->only_reads || (act->flags & ACT_BY_OPTION))
                return act->why;
            break;
        case ACT_REMOVES: case ACT_OBEYS: case ACT_SCRIPT: case ACT_CODE: case ACT_TEXT: return act->why;
        case ACT_OTHER:
            if (!act_harmless(j, folder, study, argv, node, act))
                return act->why;
            break;
        }
    }
    if (wraps && !ran && argv->count > 1 && !str_is(table_str(study->table->name), "command"))
        return judge_no_rule;
    sweep_command(j, argv, study, node, folder);
    return NULL;
}
