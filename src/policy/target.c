/* Words with holes and patterns, compared with paths: could bash find this file by that word?
 *
 * The lexer writes a shape for every word (shell.h): letters as they are, and marks for `*`, `?`, brackets,
 * braces and parts that are not known. targets_of expands the braces and makes a path of each, still with marks
 * in it; target_meets then asks whether a target and a path pattern have a file in common. It answers yes when
 * in doubt or when it takes too many steps, because it is used for protections and denials only, never to
 * allow. The lists of protected names and of names of secrets are here, too.
 */
#include "policy/target.h"

#include "base/err.h"
#include "base/local.h"

/* ---- protected names ---- */

/* Each begins at a folder's border, at any depth of a path; `*` is any text inside one name. A name is protected
 * whether or not the file exists. `secret`: a person is also asked before it is read. */
static const struct {
    struct str part;
    bool secret;
} protected_parts[] = {
#define P(name) {STR("/" name), false}
#define S(name) {STR("/" name), true}
    P(".git"), P(".nod"), P(".claude"), P(".claude.json"), P(".mcp.json"), P(".codex"), P(".gemini"), P(".qwen"),
    P(".opencode"), P(".config/opencode"), P(".cursor"), P(".continue"), P(".roo"), P(".cline"), P(".goose"),
    P(".config/goose"), P(".openhands"), P(".aider*"), P(".copilot"), P(".windsurf"), P(".amp"), P(".kiro"),
    P(".vscode"), P(".config/code/user"), P(".idea"), P(".devcontainer"), P(".husky"), P(".envrc"),
    P(".gitconfig"), P(".config/git"), P(".npmrc"), P(".yarnrc"), P(".yarnrc.yml"), P(".pypirc"), P(".bashrc"),
    P(".bash_profile"), P(".bash_login"), P(".bash_logout"), P(".bash_aliases"), P(".profile"), P(".zshrc"),
    P(".zshenv"), P(".zprofile"), P(".zlogin"), P(".zlogout"), P(".kshrc"), P(".cshrc"), P(".tcshrc"), P(".login"),
    P(".inputrc"), P(".config/fish"), P(".config/autostart"), P(".config/systemd"), P(".local/share/systemd"),
    P(".config/environment.d"), P(".pam_environment"), P(".xinitrc"), P(".xprofile"), P(".xsession"),
    P(".xsessionrc"), P(".vimrc"), P(".config/nvim"), P(".emacs"), P(".emacs.d"), P(".local/bin"),
    S(".ssh"), S(".gnupg"), S(".netrc"), S(".git-credentials"), S(".config/nod"), S(".local/share/nod"),
    S(".local/state/nod"), S(".aws/credentials"), S(".aws/config"), S(".azure"), S(".config/gcloud"),
    S(".config/gh"), S(".config/hub"), S(".kube"), S(".docker/config.json"), S(".pgpass"), S(".my.cnf"),
    S(".cargo/credentials*"), S(".gem/credentials"), S(".claude/.credentials.json"), S(".codex/auth.json"),
    S(".gemini/oauth_creds.json"), S(".qwen/oauth_creds.json"), S(".local/share/opencode/auth.json"),
    S(".terraform.d/credentials*"), S(".vault-token"), S(".password-store"), S(".local/share/keyrings"),
    S(".mozilla"), S(".config/google-chrome"), S(".config/chromium"), S(".bash_history"), S(".zsh_history"),
    S(".*_history"), S(".local/share/fish/fish_history"), S(".htpasswd"),
    S(".s3cfg"), S(".boto"), S(".config/rclone"), S(".config/op"), S(".age"),
#undef P
#undef S
};

/* Files that hold keys by their names, anywhere: a rule may name them, no default does. The first ones are not meant
 * by a rule on a program either. */
enum { SECRET_SETTINGS = 5 };
static const struct str secret_names[] = {STR(".env"),        STR(".env.*"),    STR(".env-*"),   STR(".env_*"),
                                          STR(".env~"), STR("*.pem"), STR("*.key"), STR("*.p12"), STR("*.pfx"),
                                          STR("id_rsa"),      STR("id_dsa"),    STR("id_ecdsa"), STR("id_ed25519"),
                                          STR("id_*_sk"),     STR("*.keystore"), STR("*.jks"),   STR("*.kdbx"),
                                          STR("credentials.json"), STR("*.ppk"), STR(".npmrc"), STR(".pypirc"),
                                          STR("service-account*.json"), STR("service_account*.json"),
                                          STR("client_secret*.json"), STR("*.env"), STR("*.tfvars"), STR(".vault_pass"),
                                          STR(".dev.vars"), STR("secrets.json"),
                                          STR("secrets.yml"), STR("secrets.yaml"),
                                          STR("secrets.toml"), STR("*.tfstate"), STR("*.tfstate.backup"),
                                          STR("kubeconfig"),  STR(".envrc"),    STR(".dockercfg")};

/* Exceptions to these lists: example files without secrets. */
static const struct str harmless_names[] = {STR(".env.example"), STR(".env.sample"), STR(".env.template"),
                                            STR(".env.dist"),    STR(".env.defaults"), STR(".env.schema"),
                                            STR(".env-example"), STR(".env-sample"), STR(".env-template"),
                                            STR(".env_example"), STR(".env_sample"), STR(".env_template"),
                                            STR("example.env"),  STR("sample.env"), STR("template.env")};

/* Protected paths from the root on; of the first, looking at them is asked about, too. */
struct root {
    struct str path, last; /* `last` is the last name of the path */
};
#define R(folder, name) {STR(folder "/" name), STR(name)}
static const struct root secret_roots[] = {
    R("/etc", "sudoers"), R("/etc", "sudoers.d"), R("/etc", "shadow"), R("/etc", "gshadow"), R("/etc/ssh", "*key"),
    R("/proc/*", "environ"), R("/proc/*", "mem"), R("/proc/*", "maps"), R("/proc/*", "fd"), R("/proc/*", "root"),
    R("/proc/*", "cwd"), R("/proc/*", "cmdline"), R("/proc/*", "task"),
};
static const struct root other_roots[] = {
    R("/etc", "cron.d"), R("/etc", "cron.daily"), R("/etc", "cron.hourly"), R("/etc", "cron.weekly"),
    R("/etc", "cron.monthly"), R("/etc", "crontab"), R("/etc", "anacrontab"), R("/var/spool", "cron"),
    R("/etc", "profile"), R("/etc", "profile.d"), R("/etc", "bash.bashrc"), R("/etc", "bashrc"), R("/etc", "zsh"),
    R("/etc", "environment"), R("/etc", "ssh"), R("/etc", "passwd"), R("/etc", "ld.so.preload"),
    R("/etc", "systemd"), R("/etc", "init.d"), R("/etc", "gitconfig"), R("/etc", "claude-code"), R("/etc", "nod"),
    R("/etc", "pam.d"), R("", "dev"), R("", "proc"), R("", "sys"), R("", "boot"),
};
#undef R

/* ---- letters ---- */

static bool is_mark(char c)
{
    return (c >= SHAPE_ANY && c <= SHAPE_RIGHT) || c == SHAPE_HOME || c == SHAPE_PWD;
}

bool target_literal(struct str target)
{
    return !ANY(size_t i = 0; i < target.n; i++, is_mark(target.p[i]));
}

/* One letter of a component: which bytes it stands for, and where the next one begins. */
struct letter {
    bool any;    /* matches any number of any letters */
    bool one;    /* any one letter */
    bool bracket, negated;
    struct str set;
    char c;
    size_t next;
};

/* The position behind one element of a bracket expression: a letter, or [:alpha:], [.x.], [=x=], whose bracket does not
 * close the expression. */
static size_t behind_class(struct str s, size_t at)
{
    char kind = at + 1 < s.n && s.p[at] == SHAPE_OPEN ? s.p[at + 1] : '\0';
    for (size_t i = at + 2; kind && strchr(":.=", kind) && i + 1 < s.n; i++)
        if (s.p[i] == kind && s.p[i + 1] == SHAPE_CLOSE)
            return i + 2;
    return at + 1;
}

/* One element of a shape: a letter, any one letter, any text, or a bracket expression. */
static struct letter shape_letter(struct str s, size_t i)
{
    CHECK(i < s.n);
    struct letter l = {.c = s.p[i], .next = i + 1};
    if (l.c == SHAPE_STAR || l.c == SHAPE_ANY || l.c == SHAPE_HOME || l.c == SHAPE_PWD)
        l.any = true;
    else if (l.c == SHAPE_ONE)
        l.one = true;
    else if (l.c == SHAPE_LEFT)
        l.c = '{';
    else if (l.c == SHAPE_COMMA)
        l.c = ',';
    else if (l.c == SHAPE_RIGHT)
        l.c = '}';
    else if (l.c == SHAPE_CLOSE)
        l.c = ']';
    if (l.c != SHAPE_OPEN)
        return l;
    size_t from = i + 1;
    bool negated = from < s.n && (s.p[from] == '!' || s.p[from] == '^');
    from += negated;
    size_t to = from;
    do
        to = behind_class(s, to);
    while (to < s.n && s.p[to] != SHAPE_CLOSE);
    if (to >= s.n) {
        l.c = '[';
        return l;
    }
    return (struct letter){.bracket = true, .negated = negated, .set = str_sub(s, from, to), .next = to + 1};
}

/* Letters of either case count. */
static bool set_has(struct str set, char c)
{
    for (size_t i = 0; i < set.n; i++) {
        if (set.p[i] == SHAPE_OPEN || is_mark(set.p[i]))
            return true; /* [[:alpha:]], or a hole: nobody counts them */
        if (i + 2 < set.n && set.p[i + 1] == '-') {
            if (str_lower(c) >= str_lower(set.p[i]) && str_lower(c) <= str_lower(set.p[i + 2]))
                return true;
            i += 2;
        } else if (str_lower(set.p[i]) == str_lower(c)) {
            return true;
        }
    }
    return false;
}

static bool letter_is(const struct letter *l, char c)
{
    if (l->bracket)
        return set_has(l->set, c) != l->negated || !target_literal(l->set);
    return l->one || str_lower(l->c) == str_lower(c);
}

enum { NAME_MAX_BYTES = 256, MEET_STEPS_MAX = 4096 };

static bool is_spelled(char have, char want) { return !is_mark(have) && want != '*' && want != '?'; }

/* Whether both spell their first letter out, and different ones: nearly every name is told apart by it. */
static inline bool begin_differently(struct str shape, struct str name)
{
    return shape.n && name.n && is_spelled(shape.p[0], name.p[0]) && str_lower(shape.p[0]) != str_lower(name.p[0]);
}

/* Removes equal last letters from pattern and name, up to a wildcard; false when they differ. This tells most pairs of
 * a pattern that begins with a star and a long name apart by their last letter. */
static bool cut_same_end(struct str *shape, struct str *name)
{
    while (shape->n && name->n) {
        char have = shape->p[shape->n - 1], want = name->p[name->n - 1];
        if (!is_spelled(have, want))
            return true;
        if (str_lower(have) != str_lower(want))
            return false;
        shape->n--;
        name->n--;
    }
    return true;
}

/* Matches one letter of the pattern. `row` marks the positions in the name that the letters before it reach, and is
 * updated. Returns whether any position is reached. */
static bool meet_letter(bool row[], struct str name, const struct letter *l)
{
    bool before = row[0], now, reached;
    reached = row[0] = row[0] && l->any;
    for (size_t k = 0; k < name.n; k++, before = now) {
        char c = name.p[k];
        now = row[k + 1];
        if (!before && !now && !row[k])
            continue;
        bool fits = c == '?' || c == '*' || l->any || letter_is(l, c);
        /* Both move on; the shape's star stays; the name's star stays, or stands for nothing. */
        row[k + 1] = (before && fits) || (l->any && (now || row[k])) || (c == '*' && (now || row[k]));
        reached |= row[k + 1];
    }
    return reached;
}

/* Whether some name fits both: a component of a shape, and a name with `*` and `?`. A pattern of bash finds no
 * leading dot that it does not spell. */
static bool names_meet(struct str shape, struct str name)
{
    if (name.n > NAME_MAX_BYTES || shape.n > 4 * NAME_MAX_BYTES)
        return true;
    if (begin_differently(shape, name))
        return false;
    if (shape.n && name.n && name.p[0] == '.') {
        struct letter first = shape_letter(shape, 0);
        if ((first.any && shape.p[0] != SHAPE_ANY) || first.one || first.bracket)
            return false;
    }
    if (!cut_same_end(&shape, &name))
        return false;
    bool row[NAME_MAX_BYTES + 1] NOT_ZEROED;
    memset(row, 0, name.n + 1);
    row[0] = true;
    for (size_t k = 0; k < name.n && name.p[k] == '*'; k++)
        row[k + 1] = true;
    for (size_t i = 0; i < shape.n;) {
        struct letter l = shape_letter(shape, i);
        if (!meet_letter(row, name, &l))
            return false;
        i = l.next;
    }
    return row[name.n];
}

/* ---- components ---- */

static struct str after_slashes(struct str path)
{
    size_t at = 0;
    while (at < path.n && path.p[at] == '/')
        at++;
    return (struct str){path.p + at, path.n - at};
}

/* Names are short: a plain loop is quicker than a search. */
static struct str next_part(struct str *path)
{
    struct str rest = after_slashes(*path);
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/')
        end++;
    size_t after = end < rest.n ? end + 1 : end;
    *path = (struct str){rest.p + after, rest.n - after};
    return (struct str){rest.p, end};
}

static bool only_any(struct str part) { return part.n == 1 && part.p[0] == SHAPE_ANY; }

static bool meets(struct str target, struct str path, bool tree, unsigned *steps);

/* How many components a target has; SIZE_MAX when one of them is an unknown folder. */
static size_t count_parts(struct str target)
{
    size_t count = 0;
    for (struct str part; !str_empty(part = next_part(&target)); count++)
        if (only_any(part))
            return SIZE_MAX;
    return count;
}

/* Whether a target may be `path` of a rule when the line says only how the target ends (`$x/src/a.c`: `known` is
 * src/a.c). `known` is compared with each end of the path that has at most as many names, which are `parts` (SIZE_MAX
 * with `tree`); a `**` counts as none. */
static bool ends_meet(struct str known, size_t parts, struct str path, bool tree, unsigned *steps)
{
    size_t left = parts;
    for (size_t i = path.n; i-- > 0 && left;) {
        if (i > 0 && path.p[i - 1] != '/')
            continue;
        struct str rest = {path.p + i, path.n - i};
        if (rest.p[0] == '/')
            continue;
        if (!begin_differently(known, rest) && meets(known, rest, tree, steps))
            return true;
        left -= !str_starts(rest, STR("**"));
    }
    return false;
}

/* Component by component. `**` in `path` stands for any folders; a mark at the end of `target` with `tree`
 * reaches all that lies below. */
static bool meets(struct str target, struct str path, bool tree, unsigned *steps)
{
    if (++*steps > MEET_STEPS_MAX)
        return true;
    struct str target_rest = target, path_rest = path;
    struct str have = next_part(&target_rest), want = next_part(&path_rest);
    if (str_empty(want))
        return true;
    if (str_is(want, "**"))
        return meets(target, path_rest, tree, steps) ||
               (!str_empty(have) && meets(target_rest, path, tree, steps));
    if (str_empty(have))
        return tree;
    /* An unknown folder: whatever lies before the letters that are known. */
    if (only_any(have)) {
        struct str known = after_slashes(target_rest);
        return !str_empty(target_rest) && ends_meet(known, tree ? SIZE_MAX : count_parts(known), path, tree, steps);
    }
    return names_meet(have, want) && meets(target_rest, path_rest, tree, steps);
}

bool target_meets(struct str target, struct str path, bool tree)
{
    unsigned steps = 0;
    return meets(target, path, tree, &steps);
}

static bool harmless_name(struct str part)
{
    return ANY(size_t i = 0; i < sizeof harmless_names / sizeof *harmless_names; i++,
               str_eq(part, harmless_names[i]));
}

/* Whether the components at the beginning of `rest` could be those of `part`; a component of which no letter is
 * known could be anything, and says nothing. */
static bool part_meets(struct str rest, struct str part)
{
    while (!str_empty(part)) {
        struct str want = next_part(&part), have = next_part(&rest);
        if (str_empty(want))
            break;
        if (str_empty(have) || only_any(have) || harmless_name(have) || !names_meet(have, want))
            return false;
    }
    return true;
}

/* A pattern tells only by the letters it has: `*.pem` and `id_r*` do, `*` and `src*` do not. An expansion in front may
 * be empty. */
static bool secret_name(struct str last, size_t count)
{
    while (last.n > 1 && last.p[0] == SHAPE_ANY)
        last = str_sub(last, 1, last.n);
    bool begins = !is_mark(last.p[0]), ends = !is_mark(last.p[last.n - 1]) || last.p[last.n - 1] == SHAPE_CLOSE;
    return ANY(size_t i = 0; i < count; i++,
               (secret_names[i].p[0] == '*' ? ends : begins) && names_meet(last, secret_names[i]));
}

/* Names that are protected in every folder: .git, .ssh, .claude and so on. */
static bool parts_protected(struct str target, bool looks)
{
    struct str rest = target;
    while (!str_empty(rest)) {
        struct str here = rest, part = next_part(&rest);
        if (part.n < 2 || part.p[0] != '.')
            continue;
        for (size_t i = 0; i < sizeof protected_parts / sizeof *protected_parts; i++)
            if ((protected_parts[i].secret || !looks) && part_meets(here, protected_parts[i].part))
                return true;
    }
    return false;
}

/* Whether the last name of the path says that the file holds keys: .env, id_rsa, *.pem. `settings_only`: by the short
 * list that even a rule on the program does not open. */
bool target_secret(struct str target, bool settings_only)
{
    struct str last = STR_NONE;
    while (!str_empty(target)) {
        struct str part = next_part(&target);
        last = str_empty(part) ? last : part;
    }
    return !str_empty(last) && !harmless_name(last) &&
           secret_name(last, settings_only ? SECRET_SETTINGS : sizeof secret_names / sizeof *secret_names);
}

/* The same for a name with marks in it. */
bool target_could_be_secret(struct str target)
{
    struct str last = STR_NONE;
    while (!str_empty(target)) {
        struct str part = next_part(&target);
        last = str_empty(part) ? last : part;
    }
    return ANY(size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++,
               !str_empty(last) && names_meet(last, secret_names[i]));
}

/* Above what everybody keeps secret: the home folder, the system's own. */
static bool above_protected(struct str target, struct touch touch, const struct places *places)
{
    if (touch.perhaps)
        return false;
    if (!str_empty(places->home.named) && target_meets(target, places->home.named, true) &&
        !target_meets(target, places->home.named, false))
        return true;
    if (!str_empty(places->home.named) && str_eq(target, places->home.named))
        return true;
    return !touch.looks && !str_empty(places->project.named) && target_literal(target) &&
           path_within(places->project.named, target);
}

/* Below an unknown folder only the end of the target is compared, which is what target_meets does, without taking the
 * target apart for each of them. Mostly that is one name, which can be the last of a path alone. */
static bool roots_meet(const struct root roots[], size_t count, struct str target, bool tree)
{
    struct str first = after_slashes(target), known = target;
    bool anywhere = only_any(next_part(&known));
    if (anywhere && str_empty(known))
        return false;
    known = after_slashes(known);
    size_t parts = !anywhere || tree ? SIZE_MAX : count_parts(known);
    for (size_t i = 0; i < count; i++) {
        struct str path = roots[i].path;
        unsigned steps = 0;
        bool met = parts == 1 ? !begin_differently(known, roots[i].last) && meets(known, roots[i].last, tree, &steps)
                   : anywhere ? ends_meet(known, parts, path, tree, &steps)
                              : !begin_differently(first, (struct str){path.p + 1, path.n - 1}) &&
                                    meets(target, path, tree, &steps);
        if (met)
            return true;
    }
    return false;
}

static bool roots_protected(struct str target, struct touch touch)
{
    return roots_meet(secret_roots, sizeof secret_roots / sizeof *secret_roots, target, touch.tree) ||
           (!touch.looks && roots_meet(other_roots, sizeof other_roots / sizeof *other_roots, target, touch.tree));
}

/* Protected names anywhere, protected paths from the root, and for a whole tree also folders above one of them. */
bool target_protected(struct str target, struct touch touch, const struct places *places)
{
    if (str_is(target, "/dev/null"))
        return false;
    if (parts_protected(target, touch.looks))
        return true;
    if ((target.n == 0 || target.p[0] == '/') && roots_protected(target, touch))
        return true;
    return touch.tree && above_protected(target, touch, places);
}

bool target_name_protected(struct str path, bool looks)
{
    static const struct places nowhere = {0};
    CHECK(!str_empty(path));
    return target_protected(path, (struct touch){.looks = looks}, &nowhere);
}

/* ---- words ---- */

/* The first brace expansion of the shape: where it opens and closes; false when there is none. */
static bool find_brace(struct str shape, size_t *ret_open, size_t *ret_close)
{
    unsigned depth = 0;
    bool comma = false;
    for (size_t i = 0; i < shape.n; i++) {
        if (shape.p[i] == SHAPE_LEFT && depth++ == 0) {
            *ret_open = i;
            comma = false;
        } else if (shape.p[i] == SHAPE_COMMA && depth == 1) {
            comma = true;
        } else if (shape.p[i] == SHAPE_RIGHT && depth && --depth == 0 && comma) {
            *ret_close = i;
            return true;
        }
    }
    return false;
}

/* Whether the text is a number of a sequence, as it is printed: `{1..3}`, not `{01..03}`. */
static bool sequence_number(struct str text, unsigned *ret_number)
{
    *ret_number = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!str_digit(text.p[i]))
            return false;
        *ret_number = *ret_number * 10 + (unsigned)(text.p[i] - '0');
    }
    return text.n > 0 && text.n < 6 && (text.p[0] != '0' || text.n == 1);
}

/* The alternatives of a word's braces so far. */
struct expansion {
    struct arena *arena;
    struct str *list;
    size_t count;
    bool over;
};

static void expand(struct expansion *e, struct str shape);

/* `{a..c}`, `{1..3}`: the first sequence of a shape without other braces. Letters and short numbers are put in one by
 * one, a step of theirs is not counted; anything else becomes a star. The shape itself stays an alternative, since dots
 * in quotes make no sequence. */
static void expand_sequence(struct expansion *e, struct str shape)
{
    size_t open = str_find(shape, SHAPE_LEFT), close = str_find(shape, SHAPE_RIGHT);
    struct str inner = open < close && close < shape.n ? str_sub(shape, open + 1, close) : STR_NONE;
    size_t dots = 0;
    while (dots + 1 < inner.n && !(inner.p[dots] == '.' && inner.p[dots + 1] == '.'))
        dots++;
    struct str from = str_sub(inner, 0, dots), to = dots + 1 < inner.n ? str_sub(inner, dots + 2, inner.n) : STR_NONE;
    e->list[e->count++] = shape;
    if (str_empty(from) || str_empty(to))
        return;
    to = str_cut(to, '.', &(struct str){0});
    unsigned first = (unsigned char)from.p[0], last = to.n ? (unsigned char)to.p[0] : 0;
    bool letters = from.n == 1 && to.n == 1 && !str_digit(from.p[0]) && !str_digit(to.p[0]);
    bool numbers = !letters && sequence_number(from, &first) && sequence_number(to, &last);
    unsigned low = first < last ? first : last, high = first < last ? last : first;
    struct str after = str_sub(shape, close + 1, shape.n);
    if ((!letters && !numbers) || high - low >= TARGETS_MAX)
        expand(e, arena_printf(e->arena, "%.*s%c%.*s", (int)open, shape.p, SHAPE_STAR, STR_ARG(after)));
    else
        for (unsigned at = low; at <= high && !e->over; at++)
            expand(e, numbers ? arena_printf(e->arena, "%.*s%u%.*s", (int)open, shape.p, at, STR_ARG(after))
                              : arena_printf(e->arena, "%.*s%c%.*s", (int)open, shape.p, (char)at, STR_ARG(after)));
}

/* Braces, from the left; nested ones by recursion. Too many alternatives make the word any path. */
static void expand(struct expansion *e, struct str shape)
{
    size_t open = 0, close = 0;
    if (e->count >= TARGETS_MAX) {
        e->over = true;
        return;
    }
    if (!find_brace(shape, &open, &close)) {
        expand_sequence(e, shape);
        return;
    }
    unsigned depth = 0;
    for (size_t i = open, from = open + 1; i <= close && !e->over; i++) {
        char c = shape.p[i];
        bool ends = (depth == 1 && c == SHAPE_COMMA) || i == close;
        depth = depth + (c == SHAPE_LEFT) - (c == SHAPE_RIGHT);
        if (!ends)
            continue;
        expand(e, arena_printf(e->arena, "%.*s%.*s%.*s", (int)open, shape.p, (int)(i - from), shape.p + from,
                               (int)(shape.n - close - 1), shape.p + close + 1));
        from = i + 1;
    }
}

/* `..` removes the part before it, as the kernel would without links. */
static void put_part(char *text, size_t *n, struct str part)
{
    if (str_empty(part) || str_is(part, "."))
        return;
    if (!str_is(part, "..")) {
        text[(*n)++] = '/';
        memcpy(text + *n, part.p, part.n);
        *n += part.n;
        return;
    }
    while (*n > 0 && text[--*n] != '/')
        ;
}

/* The folder in which a pattern begins; *ret_letters is how many letters of the pattern name it. */
static struct str beginning(struct str shape, struct str folder, struct str home, size_t *ret_letters)
{
    static const struct str anywhere = STR("/\x01");
    char first = shape.n ? shape.p[0] : '\0', second = shape.n > 1 ? shape.p[1] : '/';
    struct str here = str_empty(folder) ? anywhere : folder;
    *ret_letters = 1;
    if (first == SHAPE_HOME || (first == '~' && second == '/'))
        return str_empty(home) ? anywhere : home;
    if (first == SHAPE_PWD)
        return here;
    if (first == '~') { /* ~+ is the current folder; ~user and ~- are unknown folders */
        *ret_letters = str_find(shape, '/');
        return str_is(str_sub(shape, 0, *ret_letters), "~+") ? here : anywhere;
    }
    *ret_letters = 0;
    /* An expansion may be a whole path of its own. */
    return first == '/' ? STR_NONE : first == SHAPE_ANY ? anywhere : here;
}

/* The folder above, as if there were no links: the text before the last name. */
static struct str taken_out(struct str folder)
{
    while (folder.n > 0 && folder.p[--folder.n] != '/')
        ;
    return folder;
}

/* The path that the kernel would open: `..` behind a link is beside what the link leads to. Behind a pattern, which may
 * match links, and where `up` does not know, the place may be any. */
static struct str as_opened(struct arena *arena, struct str path, const struct target_base *base)
{
    char *text = arena_bytes(arena, path.n + 4);
    size_t n = 0;
    while (!str_empty(path)) {
        struct str part = str_cut(path, '/', &path), reached = {text, n}, above;
        if (str_is(part, "..") && n >= 2 && text[n - 1] == SHAPE_ANY && text[n - 2] == '/')
            continue; /* above a folder that nobody knows is another one */
        if (!str_is(part, "..") || n == 0 || str_find(reached, SHAPE_ANY) < n) {
            put_part(text, &n, part);
            continue;
        }
        if (!target_literal(reached) || !base->up(base->arg, reached, &above))
            above = STR("\x01");
        if (str_eq(above, taken_out(reached))) {
            n = above.n;
            continue;
        }
        text = arena_bytes(arena, above.n + path.n + 4);
        n = above.n;
        if (n)
            memcpy(text, above.p, n);
    }
    return n ? (struct str){text, n} : STR("/");
}

static bool climbs(struct str path)
{
    return ANY(struct str rest = path; !str_empty(rest);, str_is(str_cut(rest, '/', &rest), ".."));
}

/* The absolute path without dots. A leading expansion stays the first component. *ret_opened is what the kernel would
 * open by it, which is another path behind links. */
static struct str normal(struct arena *arena, struct str shape, const struct target_base *at, struct str *ret_opened)
{
    size_t letters;
    struct str base = beginning(shape, at->folder, at->home, &letters), rest = str_sub(shape, letters, shape.n);
    /* `$PWD/x` is below the folder, `$PWDx` beside it. */
    struct str path = arena_printf(arena, "%.*s%s%.*s", STR_ARG(base), letters ? "" : "/", STR_ARG(rest)), left = path;
    char *text = arena_bytes(arena, path.n + 4);
    size_t n = 0;
    while (!str_empty(left))
        put_part(text, &n, str_cut(left, '/', &left));
    struct str named = n ? (struct str){text, n} : STR("/");
    *ret_opened = at->up && climbs(path) ? as_opened(arena, path, at) : named;
    return named;
}

/* The shape as it is where its expansions are empty; itself where it has none, or begins with a whole folder that
 * nobody knows. */
static struct str without_expansions(struct arena *arena, struct str shape)
{
    char *text = arena_bytes(arena, shape.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < shape.n; i++)
        if (shape.p[i] != SHAPE_ANY)
            text[n++] = shape.p[i];
    bool folder = n < shape.n && shape.p[0] == SHAPE_ANY && (n == 0 || text[0] == '/');
    return n == shape.n || folder ? shape : (struct str){text, n};
}

/* The text that `${x:-text}` or `${x+text}` at the beginning of `raw` may stand for; empty: it says none. */
static struct str default_of(struct str raw)
{
    size_t at = 2;
    if (!str_starts(raw, STR("${")))
        return STR_NONE;
    while (at < raw.n && !strchr(":-+}", raw.p[at]))
        at++;
    at += at < raw.n && raw.p[at] == ':';
    if (at >= raw.n || !strchr("-+", raw.p[at]))
        return STR_NONE;
    raw = str_sub(raw, at + 1, raw.n);
    return str_sub(raw, 0, str_find(raw, '}'));
}

/* The word's shape with the texts that stand on the line for its expansions, `${x:-text}`; empty: there are none, or it
 * is not plain which expansion is which. */
static struct str with_defaults(struct arena *arena, const struct word *word)
{
    struct str raw = word->raw, shape = word->shape;
    char *text = arena_bytes(arena, raw.n + shape.n + 1);
    size_t n = 0, at = str_find(raw, '$');
    bool given = false;
    for (size_t i = 0; i < shape.n; i++) {
        bool hole = shape.p[i] == SHAPE_ANY || shape.p[i] == SHAPE_HOME || shape.p[i] == SHAPE_PWD;
        struct str value = hole ? default_of(str_sub(raw, at, raw.n)) : STR_NONE;
        given = given || !str_empty(value);
        for (size_t k = 0; k < value.n; k++)
            text[n++] = value.p[k] == '*' ? SHAPE_STAR : value.p[k] == '?' ? SHAPE_ONE : value.p[k];
        if (str_empty(value))
            text[n++] = shape.p[i];
        if (hole && at >= raw.n)
            return STR_NONE;
        at += hole ? 1 + str_find(str_sub(raw, at + 1, raw.n), '$') : 0;
    }
    return given && at >= raw.n ? (struct str){text, n} : STR_NONE;
}

static void put_target(struct expansion *e, struct str target)
{
    if (e->count == TARGETS_MAX)
        e->over = true;
    else
        e->list[e->count++] = target;
}

/* With too many alternatives the only target is a mark that stands for every path. */
size_t targets_of(struct arena *arena, const struct word *word, const struct target_base *base,
                  struct str targets[TARGETS_MAX])
{
    struct expansion e = {.arena = arena, .list = targets};
    expand(&e, word->shape.p ? word->shape : word->text);
    struct str given = str_find(word->raw, '$') < word->raw.n ? with_defaults(arena, word) : STR_NONE;
    if (given.n)
        expand(&e, given);
    size_t named = e.count;
    for (size_t i = 0; i < named && !e.over; i++) {
        struct str opened, bare = without_expansions(arena, targets[i]);
        bool may_be_bare = base->up && bare.p != targets[i].p;
        targets[i] = normal(arena, targets[i], base, &opened);
        if (!str_eq(opened, targets[i]))
            put_target(&e, opened);
        if (may_be_bare) {
            (void)normal(arena, bare, base, &opened);
            put_target(&e, opened);
        }
    }
    if (!e.over)
        return e.count;
    targets[0] = STR("\x01");
    return 1;
}
