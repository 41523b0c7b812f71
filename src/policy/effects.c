/* Applies a row of the table of programs (table.h) to the words of one command.
 *
 *   effects_words (effect_words.c)      chooses the reader of the row; most rows have none and come here
 *     effects_of_row
 *       read_words                      one pass: options (effect_options.c), sub-commands, operands
 *       take_operands                   each operand in its role (effect_roles.c)
 *       take_rest                       words that are a command of their own: env, xargs, ssh, docker exec
 *       take_styles                     effects that no word names: changes, code, talks
 *
 * The words are taken as the program itself would take them: where its options end, which take a value, which
 * letters may be joined. Reading them differently would mean that an option is judged as a harmless operand.
 * No state outlives a call.
 */
#include "policy/effects.h"

#include "base/err.h"
#include "policy/table_hash.h"
#include "policy/target.h"

/* ---- rows ---- */

/* Index of the first name of the table that is not less than `name`. */
static size_t name_bound(struct str name)
{
    size_t from = 0, to = table_name_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (table_compare(name, table_text + table_names[middle].name) > 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct table_row *effects_exact(struct str name)
{
    for (size_t at = table_hash(name.p, name.n);; at++) {
        unsigned number = table_places[at & (table_place_count - 1)];
        if (!number)
            return NULL;
        if (table_compare(name, table_text + table_names[number - 1].name) == 0)
            return &table_rows[table_names[number - 1].row];
    }
}

bool effects_has_prefix(struct str start)
{
    size_t at = name_bound(start);
    return at < table_name_count && str_starts(table_str(table_names[at].name), start);
}

/* python3.11 and gcc-12 have the rows of python and gcc. */
static struct str without_version(struct str name)
{
    while (name.n > 1 && strchr("0123456789.-", name.p[name.n - 1]))
        name.n--;
    return name;
}

/* Names with a target triple: x86_64-linux-gnu-gcc, arm-none-eabi-ld. */
static bool is_triple(struct str name)
{
    static const char *const systems[] = {"-linux", "-none-",  "-mingw",    "-elf",
                                          "-eabi",  "-apple-", "-unknown-", "-musl"};
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (str_has(name, str_of(systems[i])))
            return true;
    return false;
}

/* The exact name first: python3 and python2 may have rows of their own, and then the version is part of the
 * name. */
const struct table_row *effects_find(struct str name)
{
    const struct table_row *row = effects_exact(name);
    if (row)
        return row;
    struct str bare = without_version(name);
    row = bare.n < name.n ? effects_exact(bare) : NULL;
    /* A target triple: at least two dashes before the program's name. */
    struct str rest = bare;
    for (unsigned dashes = 0; !row && is_triple(bare) && str_find(rest, '-') < rest.n;) {
        (void)str_cut(rest, '-', &rest);
        if (++dashes >= 2)
            row = effects_exact(rest);
    }
    return row;
}

const struct table_row *effects_dashed_row(struct str name)
{
    char words[96];
    size_t dash = str_find(name, '-');
    if (dash == 0 || dash == name.n || name.n > sizeof words)
        return NULL;
    memcpy(words, name.p, name.n);
    words[dash] = ' ';
    return effects_exact((struct str){words, name.n});
}

/* ---- the row that the words choose ---- */

/* Goes on with the row of the sub-command. Its risk replaces that of the shorter name where the sub-command is
 * the harmless kind, and is added where it acts; options of the shorter name stay valid if its row says
 * `globals`. */
static bool descend_to(struct effects *e, const struct table_row *row)
{
    if ((e->row->styles & STYLE_GLOBALS) && e->parent_count < sizeof e->parents / sizeof *e->parents)
        e->parents[e->parent_count++] = e->row;
    /* A sub-command that only looks has no risk of its program: `kubectl get` does not change a cluster. */
    bool acts = row->styles & (STYLE_CHANGES | STYLE_CODE | STYLE_DISCARDS | STYLE_BAD);
    bool asks = row->operand_count && table_operands[row->operands].role == ROLE_SUB;
    if (!acts && !asks && !row->risk)
        e->s->study->risk &= ~(unsigned)e->row->risk;
    e->s->study->risk |= row->risk;
    e->s->study->local |= (row->styles & STYLE_LOCAL) != 0;
    e->row = row;
    return true;
}

/* The row of a shortened sub-command: the only row whose name begins with `start`; NULL if none or several do. */
static const struct table_row *shortened(struct str start)
{
    const struct table_row *found = NULL;
    for (size_t i = name_bound(start); i < table_name_count; i++) {
        struct str name = table_str(table_names[i].name);
        if (!str_starts(name, start))
            break;
        struct str rest = str_sub(name, start.n, name.n);
        const struct table_row *row = &table_rows[table_names[i].row];
        if (str_find(rest, ' ') < rest.n)
            continue;
        if (found && found != row)
            return NULL;
        found = row;
    }
    return found;
}

/* A program that must have a sub-command has one that is not known: an alias or a plugin may be behind it, so
 * nothing is known of its effects. Always true: the word is used up. */
static bool strange_sub(struct effects *e, size_t word)
{
    act_add(e->s, ACT_OTHER, word, "its sub-command is not known");
    e->s->study->strange_sub = true;
    return true;
}

/* Whether a word that is not fully known could become a sub-command: `git remote {add,x}`, `git stash $x`. */
static bool may_be_sub(const struct effects *e, const struct word *word)
{
    struct str known = str_sub(word->text, 0, str_find(word->text, WORD_HOLE));
    char start[sizeof e->name + 64];
    if (e->name_n + 1 + known.n > sizeof start)
        return false;
    memcpy(start, e->name, e->name_n);
    start[e->name_n] = ' ';
    memcpy(start + e->name_n + 1, known.p, known.n);
    return effects_has_prefix((struct str){start, e->name_n + 1 + known.n});
}

/* Whether the operand at `i` is a sub-command; adds an act when it must be one and is not known. */
static bool try_descend(struct effects *e, size_t i)
{
    const struct word *word = &e->s->words[i];
    bool must = e->row->operand_count && table_operands[e->row->operands].role == ROLE_SUB;
    size_t n = e->name_n + 1 + word->text.n;
    bool none = !e->row->subs && !e->shortened; /* no longer name is in the table */
    if (!word_literal(word) && !none && may_be_sub(e, word))
        return strange_sub(e, ALL_WORDS);
    if (!word_literal(word) || none || n + 1 >= sizeof e->name)
        return must && strange_sub(e, word_literal(word) ? i : ALL_WORDS);
    size_t before = e->name_n;
    e->name[e->name_n] = ' ';
    memcpy(e->name + e->name_n + 1, word->text.p, word->text.n);
    e->name_n = n;
    struct str name = {e->name, n};
    const struct table_row *row = effects_exact(name);
    if (!row && must && (e->row->styles & STYLE_SHORTSUBS)) {
        row = shortened(name);
        e->shortened = e->shortened || row;
    }
    if (row) {
        if (row->styles & STYLE_READS)
            e->bad_word = 0; /* npm config get */
        else if (row->styles & STYLE_BAD)
            e->bad_word = i; /* the deepest word counts: a rule on `docker compose` does not mean its `run` */
        e->s->study->named = i + 1;
        return descend_to(e, row);
    }
    e->name[n] = ' ';
    if (effects_has_prefix((struct str){e->name, n + 1}))
        return true; /* only longer names have rows: `aws s3 rm` has one, `aws s3` has none */
    e->name_n = before;
    return must && strange_sub(e, i);
}

/* ---- words ---- */

/* The role of the `nth` operand as the row has it, before repetition is considered; ROLE_COUNT behind the last.
 * Used to decide while reading whether options end here; take_operands does the exact assignment when all
 * operands are known. */
static enum table_role role_at(const struct effects *e, size_t nth)
{
    size_t skip = e->instead ? 1 : 0;
    if (nth + skip < e->row->operand_count)
        return (enum table_role)table_operands[e->row->operands + nth + skip].role;
    return ROLE_COUNT;
}

/* The rest belongs to another program: a command, a script's arguments. */
static bool ends_options(enum table_role role)
{
    return role == ROLE_RUN || role == ROLE_REMOTE || role == ROLE_SCRIPT || role == ROLE_ASSIGN;
}

/* `npm test -- --watch`, `cargo run -- x`: the row named by `behind:` judges the words behind `--`. They are
 * read as a command of their own, and their acts are moved back to the numbers of this command's words. */
static void study_behind(struct effects *e, size_t i)
{
    const struct table_row *row = effects_find(table_str(row_lists(e->row)->behind));
    if (!row || i + 1 > e->s->count)
        return;
    /* The words behind `--`, with that in the place of the program. */
    struct studying part = *e->s;
    struct act *before = e->s->study->acts;
    const struct table_row *own = e->s->study->table;
    part.words += i;
    part.count -= i;
    effects_words(&part, row);
    for (struct act *act = e->s->study->acts; act && act != before; act = act->next)
        act->word = act->word == ALL_WORDS ? ALL_WORDS : act->word + i;
    e->s->study->table = own;
}

/* The folder it is called in comes first where modules are looked for: `./json.py` runs in place of Python's own. */
static bool finds_modules_here(const struct studying *s, size_t word)
{
    for (size_t i = 0; i < word; i++)
        if (word_is(&s->words[i], "-I") || word_is(&s->words[i], "-P"))
            return false;
    return true;
}

/* `python -m pytest x`: the words behind the module's name belong to the module. Without a row for it nothing
 * is known. */
void effect_module(struct effects *e, size_t word, struct str value)
{
    struct str program = table_str(e->row->name);
    e->s->study->local |= finds_modules_here(e->s, word);
    e->coded = e->handed = true;
    e->rest = e->s->count;
    if (word_literal(&e->s->words[word])) {
        struct str name = arena_printf(e->s->arena, "%.*s -m %.*s", STR_ARG(program), STR_ARG(value));
        const struct table_row *row = effects_exact(name);
        if (row) {
            e->s->study->risk |= row->risk;
            e->s->study->named = word + 1;
            effects_of_row(e->s, row, word + 1);
            return;
        }
    }
    act_add(e->s, ACT_OTHER, word_literal(&e->s->words[word]) ? word : ALL_WORDS,
            "it runs a module that Nod does not know");
}

/* `x=--from-file=/etc/passwd; diff $x a`: with the values that the line gives, it is an option that names a file. */
static bool names_file_as_option(const struct word *word)
{
    struct str shape = word->shape;
    bool dash = false, path = false;
    for (size_t i = 0; i < shape.n; i++) {
        bool first = i == 0 || shape.p[i - 1] == SHAPE_LEFT || shape.p[i - 1] == SHAPE_COMMA;
        dash = dash || (first && shape.p[i] == '-');
        path = path || strchr("/.=~", shape.p[i]);
    }
    return dash && path && effect_may_be_option(word);
}

/* Whether a word that is not fully known could turn out to be an option, which would be a different command
 * from the one that a rule names. Expansions and patterns are excused only where an option could do no more
 * than the row does anyway. */
static bool may_become_option(const struct effects *e, const struct word *word)
{
    if (!effect_may_be_option(word))
        return false;
    /* The letter before the hole takes the rest for its value. */
    if (word->text.n > 2 && word->text.p[0] == '-' && word->text.p[1] != '-' && word->text.p[1] != WORD_HOLE &&
        effect_takes_value(e, str_sub(word->text, 0, 2)))
        return false;
    if (e->row->reader == READER_TAR)
        return true;
    if ((e->row->styles & STYLE_READS) && !effect_writes(e))
        return false;
    unsigned flags = word->flags & WORD_OPEN;
    bool begins = word->text.n && word->text.p[0] == WORD_HOLE;
    /* A pattern could find a file whose name looks like an option. That is not considered where the pattern has a
     * literal ending (`*.c`), or where the program works on all files of the project anyway. */
    if (begins && (flags == (WORD_VAR | WORD_GLOB) || (flags == WORD_GLOB && word_names_ending(word))))
        return false;
    bool project = e->row->styles & (STYLE_CODE | STYLE_CHANGES | STYLE_OPEN);
    return !(begins && flags == WORD_GLOB && (project || !effect_writes(e)));
}

/* `$x-o` is the option -o where x is empty. */
static void read_behind_hole(struct effects *e, size_t i)
{
    const struct word *before = e->s->words;
    struct word *words = arena_array(e->s->arena, struct word, e->s->count);
    memcpy(words, before, e->s->count * sizeof *words);
    words[i].text = str_sub(words[i].text, effect_dash_behind_hole(&words[i]), words[i].text.n);
    words[i].shape = words[i].text;
    e->s->words = words;
    if (is_option(words[i].text))
        (void)effect_option(e, i);
    e->s->words = before;
}

/* The pass over the words: options are taken at once (their effect may change how the rest is read), words that
 * choose a sub-command move e->row, all others are collected in e->operands. Ends early where the rest belongs
 * to another command (e->rest). */
static void read_words(struct effects *e, size_t from)
{
    bool descending = true;
    for (size_t i = from; i < e->s->count; i++) {
        const struct word *word = &e->s->words[i];
        struct str text = word->text;
        bool option = (may_become_option(e, word) && effect_sharp(e)) || names_file_as_option(word);
        if (!e->ended && option)
            act_add(e->s, ACT_OTHER, ALL_WORDS, "one of its words may become an option");
        else if (!e->ended && effect_dash_behind_hole(word))
            read_behind_hole(e, i);
        if (!e->ended && str_is(text, "--")) {
            if (row_lists(e->row)->behind) {
                study_behind(e, i);
                return;
            }
            e->ended = true;
            continue;
        }
        if (!e->ended && (e->row->styles & STYLE_PLUS) && i == from && str_starts(text, STR("+")))
            continue;
        if (!e->ended && is_option(text)) {
            size_t last = effect_option(e, i);
            if (e->rest != SIZE_MAX)
                return;
            i = last;
            continue;
        }
        if (text.n && ((strchr("+\\", text.p[0]) && effect_has(e, str_sub(text, 0, 1))) ||
                       (text.p[0] == '@' && (e->row->styles & STYLE_AT)))) {
            act_add(e->s, ACT_OTHER, i, "one of its words names further options or commands");
            continue;
        }
        if (descending && try_descend(e, i))
            continue;
        descending = false;
        if (ends_options(role_at(e, e->operand_count)) && !e->coded) {
            e->rest = i;
            return;
        }
        e->operands[e->operand_count++] = i;
        e->ended = e->ended || (e->row->styles & STYLE_POSIX);
    }
}

/* ---- operands ---- */

/* The last name of a path, without slashes behind it: what a copy of it is called in the folder that receives
 * it. */
static struct str last_part(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    size_t from = path.n;
    while (from > 0 && path.p[from - 1] != '/')
        from--;
    return str_sub(path, from, path.n);
}

/* The target as a folder and as a new name: both, since it is not known whether it is a folder. */
static void receive(struct effects *e, const struct word *into, size_t at, const size_t *sources, size_t count)
{
    if (effect_is_remote(e, into->text)) {
        effect_role(e, ROLE_HOST, 0, at, into->text, false);
        return;
    }
    struct act *act = act_add(e->s, ACT_WRITES, at, "it writes a file");
    act->path = *into;
    act->flags = ACT_NATURAL | (e->spreads ? ACT_TREE : 0);
    for (size_t i = 0; i < count; i++) {
        const struct word *source = &e->s->words[sources[i]];
        struct str name = last_part(source->shape.p ? source->shape : source->text);
        bool inside = e->row->reader == READER_RSYNC && str_ends(source->text, STR("/"));
        bool all = inside || str_is(name, ".") || str_is(name, "..") || str_empty(name) || str_is(name, "/");
        if (all) {
            act->flags |= e->tree ? ACT_TREE : 0;
            continue;
        }
        struct str base = into->shape.p ? into->shape : into->text;
        struct str below = arena_printf(e->s->arena, "%.*s/%.*s", STR_ARG(base), STR_ARG(name));
        struct act *inner = act_add(e->s, ACT_WRITES, at, "it writes a file");
        inner->flags = ACT_NATURAL;
        inner->path = (struct word){.raw = below, .text = below, .shape = below, .flags = into->flags | source->flags};
    }
}

/* eval and its like: the operands are one text. */
static void take_joined(struct effects *e, size_t from)
{
    struct str text;
    e->s->study->packs = true;
    if (words_joined(e->s, from, &text))
        act_script(e->s, e->s->count - 1, text);
    else
        act_text(e->s, text);
}

static bool leaves_folder(struct str text)
{
    return text.n && (text.p[0] == '/' || text.p[0] == '~' || str_has(text, STR("..")));
}

/* The operands of a row as they are here: without those that an option took the place of. */
struct operand_plan {
    struct table_operand spec[8];
    size_t count, repeat; /* `repeat`: which one repeats; SIZE_MAX: none */
    size_t behind;        /* how many stand behind the repeated one */
};

static struct operand_plan plan_operands(const struct effects *e)
{
    struct operand_plan plan = {.repeat = SIZE_MAX};
    for (size_t i = e->instead ? 1 : 0; i < e->row->operand_count && plan.count < 8; i++) {
        struct table_operand operand = table_operands[e->row->operands + i];
        if (operand.role == ROLE_INTO && e->into)
            continue;
        if (operand.repeat == REPEAT_ANY)
            plan.repeat = plan.count;
        plan.spec[plan.count++] = operand;
    }
    plan.behind = plan.repeat == SIZE_MAX ? 0 : plan.count - plan.repeat - 1;
    return plan;
}

/* Adds the act of one operand in the role `at` of the plan; behind the last: in a role that nobody knows. False: the
 * other operands belong to it. */
static bool take_operand(struct effects *e, const struct operand_plan *plan, size_t nth, size_t at)
{
    size_t word = e->operands[nth];
    struct str text = e->s->words[word].text;
    enum table_role role = at < plan->count ? (enum table_role)plan->spec[at].role : ROLE_PERHAPS;
    if (e->only_reads && (role == ROLE_MOVE || role == ROLE_PACK || role == ROLE_REMOVE || role == ROLE_WRITE))
        role = ROLE_READ; /* with such an option (gzip -c, git clean -n) it changes nothing */
    bool sources = e->s->words[word].flags & (WORD_BRACE | WORD_GLOB); /* `cp {x/.claude,.}` */
    if (role == ROLE_INTO)
        receive(e, &e->s->words[word], word, e->operands, nth + sources);
    else if (role == ROLE_SH && at == plan->repeat) {
        take_joined(e, word);
        return false;
    } else if (role == ROLE_TEXT && e->guessed && leaves_folder(text))
        effect_role(e, ROLE_READ, 0, word, text, false);
    else if (!(e->only_reads && role == ROLE_PERHAPS))
        effect_role(e, role, at < plan->count ? plan->spec[at].arg : 0, word, text, false);
    return true;
}

/* The place in the plan of an operand with `before` others in front of it and `after` behind it: before the repeated
 * one from the front, behind it from the end. */
static size_t operand_place(const struct operand_plan *plan, size_t before, size_t after)
{
    if (plan->repeat == SIZE_MAX || before < plan->repeat)
        return before < plan->count ? before : plan->count;
    bool tail = after < plan->behind && (before > plan->repeat || before + after == 0);
    return tail ? plan->count - 1 - after : plan->repeat;
}

/* How many words bash may make of the operands from `from` to `to`, at least and at most; many: 8. */
static void count_words(const struct effects *e, size_t from, size_t to, size_t *ret_least, size_t *ret_most)
{
    *ret_least = *ret_most = 0;
    for (size_t i = from; i < to && *ret_most < 8; i++) {
        const struct word *word = &e->s->words[e->operands[i]];
        *ret_least += !word_may_vanish(word);
        *ret_most += word_may_be_several(word) ? 8 : 1;
    }
}

/* `uniq *`, `grep {x,.env}`, `cp a .git/x $none`: bash may make several words of an operand, or none, and that moves
 * the others to other places. Takes the operand in every role that it may have. */
static bool take_moved_operand(struct effects *e, const struct operand_plan *plan, size_t nth)
{
    size_t before[2], after[2];
    size_t several = word_may_be_several(&e->s->words[e->operands[nth]]) ? 8 : 0;
    uint64_t taken = 0;
    count_words(e, 0, nth, &before[0], &before[1]);
    count_words(e, nth + 1, e->operand_count, &after[0], &after[1]);
    for (size_t b = before[0]; b <= before[1] + several && b <= 8; b++)
        for (size_t a = after[0]; a <= after[1] + several && a <= 8; a++) {
            size_t at = operand_place(plan, b, a);
            unsigned role = at < plan->count ? plan->spec[at].role : ROLE_PERHAPS;
            if (!(taken >> role & 1) && !take_operand(e, plan, nth, at))
                return false;
            taken |= UINT64_C(1) << role;
        }
    return true;
}

static bool operands_may_move(const struct effects *e, const struct operand_plan *plan)
{
    bool alike = plan->repeat == 0 && plan->count == 1;
    for (size_t i = 0; !alike && i < e->operand_count; i++) {
        const struct word *word = &e->s->words[e->operands[i]];
        if (word_may_be_several(word) || word_may_vanish(word))
            return true;
    }
    return false;
}

/* Operands in their roles. */
static void take_operands(struct effects *e)
{
    struct operand_plan plan = plan_operands(e);
    size_t have = e->operand_count;
    bool move = operands_may_move(e, &plan);
    bool more = true;
    for (size_t i = 0; i < have && more; i++) {
        size_t at = operand_place(&plan, i, have - 1 - i);
        more = move ? take_moved_operand(e, &plan, i) : take_operand(e, &plan, i, at);
    }
    if (e->into)
        receive(e, &e->into_word, e->into_at, e->operands, have);
    /* A recursive command without a folder operand reads the current folder. */
    bool last = plan.count && plan.repeat == plan.count - 1, reads = last && plan.spec[plan.repeat].role == ROLE_READ;
    bool none = last && !plan.repeat && plan.spec[0].role == ROLE_TEXT && (e->row->styles & STYLE_TREE);
    if (e->tree && (none || (reads && have < plan.count))) {
        struct act *act = act_add(e->s, ACT_READS, 0, "it reads a file");
        act->path = (struct word){.raw = STR("."), .text = STR("."), .shape = STR(".")};
        act->flags = ACT_TREE | ACT_NATURAL;
    }
    if (effect_git_discards(e))
        e->s->study->risk |= RISK_DELETES;
}

/* ---- the rest ---- */

/* env takes every word with a `=` for an assignment. */
static bool assigns(const struct effects *e, struct str text)
{
    return e->row->reader == READER_ENV ? str_find(text, '=') < text.n : effect_is_assignment(text);
}

/* `env -S 'a b'` packs a command line into one word. */
static void take_split(struct effects *e, size_t to)
{
    for (size_t i = 1; e->row->reader == READER_ENV && i < to; i++) {
        struct str text = e->s->words[i].text;
        bool cluster = is_option(text) && !is_long_option(text) && str_find(text, 'S') < text.n;
        if (cluster || str_starts(text, STR("--s"))) {
            act_text(e->s, text.n > 2 ? str_sub(text, 2, text.n) : STR_NONE);
            act_text(e->s, i + 1 < e->s->count ? e->s->words[i + 1].text : STR_NONE);
        }
    }
}

/* `xargs -a FILE`, `xargs -dX`: the names are not those that the pipe has. */
static bool takes_other_names(const struct effects *e, size_t i)
{
    struct str text = e->s->words[i].text, value = i + 1 < e->s->count ? e->s->words[i + 1].text : STR_NONE;
    if (str_is(text, "-d"))
        return !str_is(value, "\\n") && !str_is(value, "\n");
    if (is_long_option(text))
        return str_starts(text, STR("--a")) || str_starts(text, STR("--d"));
    return is_option(text) && (str_find(text, 'a') < text.n || str_find(text, 'd') < text.n);
}

/* xargs puts what it reads behind the words of its command; with -I anywhere, also in the place of the program. */
static void run_with_input(struct effects *e, size_t at)
{
    static const struct word from_input = {
        .raw = {"…", 3}, .text = {"\x01", 1}, .shape = {"\x01", 1}, .flags = WORD_CHOSEN | WORD_SPLITS};
    bool anywhere = false, other = false;
    for (size_t i = 1; i < at; i++) {
        struct str text = e->s->words[i].text;
        bool cluster = is_option(text) && !is_long_option(text);
        other = other || takes_other_names(e, i);
        anywhere = anywhere || str_starts(text, STR("--r")) ||
                   (cluster && (str_find(text, 'I') < text.n || str_find(text, 'i') < text.n));
    }
    act_runs(e->s, at, anywhere ? NULL : &from_input);
    if (anywhere)
        act_add(e->s, ACT_OTHER, ALL_WORDS, "it puts what it reads into the command");
    if (other)
        act_add(e->s, ACT_OTHER, ALL_WORDS, "it takes names from a file, or cuts them in two");
}

/* Whether the words stay the same when a shell parses them a second time. */
static bool plain_words(const struct effects *e, size_t from)
{
    for (size_t i = from; i < e->s->count; i++) {
        const struct word *word = &e->s->words[i];
        if (!word_literal(word) || str_empty(word->text))
            return false;
        for (size_t k = 0; k < word->text.n; k++)
            if (strchr(" \t\n\"'\\$`&|;<>()*?[]{}~#!=", word->text.p[k]))
                return false;
    }
    return true;
}

/* A command for another machine or a container: an argv there, or the words joined for a shell (ssh). */
static void take_remote(struct effects *e, size_t at)
{
    struct str text = STR_NONE;
    struct str rest, program = str_cut(table_str(e->row->name), ' ', &rest);
    bool shell = str_is(program, "ssh") || str_is(program, "vagrant");
    bool known = words_joined(e->s, at, &text);
    if (known && (!shell || plain_words(e, at))) {
        act_runs(e->s, at, NULL);
        e->s->study->acts->flags = ACT_REMOTE;
        e->s->study->acts->why = "it runs a command on another machine";
        return;
    }
    e->s->study->packs = true;
    if (!known) {
        act_code(e->s, ALL_WORDS, text, "it runs a command on another machine");
        return;
    }
    act_script(e->s, e->s->count - 1, text);
    e->s->study->acts->flags = ACT_REMOTE;
}

/* The words from e->rest on are assignments, a script with its arguments, a command for another machine, or a
 * command of this machine, as the role of the next operand says. */
static void take_rest(struct effects *e)
{
    enum table_role role = role_at(e, e->operand_count);
    size_t at = e->rest;
    if (e->row->reader == READER_ENV && word_is(&e->s->words[at], "-")) {
        act_add(e->s, ACT_OTHER, at, "it changes the environment of the command it runs");
        at++;
    }
    if (role == ROLE_ASSIGN) {
        for (; at < e->s->count && assigns(e, e->s->words[at].text); at++)
            effect_role(e, ROLE_ASSIGN, 0, at, e->s->words[at].text, false);
        role = role_at(e, e->operand_count + 1);
    }
    if (at >= e->s->count)
        return;
    e->s->study->packs = e->s->study->packs || role == ROLE_RUN;
    if (role == ROLE_SCRIPT) {
        effect_role(e, ROLE_SCRIPT, 0, at, e->s->words[at].text, false);
        study_handed(e->s, at + 1);
    } else if (role == ROLE_REMOTE) {
        take_remote(e, at);
    } else {
        if (effect_is_assignment(e->s->words[at].text))
            act_add(e->s, ACT_OTHER, ALL_WORDS, "it sets a variable for the command it runs");
        for (size_t i = 1; i < at; i++)
            if (!word_literal(&e->s->words[i]))
                act_add(e->s, ACT_OTHER, ALL_WORDS, "it runs its arguments, and a word before them is not known");
        if (e->row->reader == READER_XARGS)
            run_with_input(e, at);
        else
            act_runs(e->s, at, NULL);
    }
}

/* Adds the acts that follow from the program's row as a whole and not from one word. With an option such as --dry-run
 * the program only reads, and none of them is added. */
static void take_styles(struct effects *e)
{
    const struct table_row *row = e->row;
    struct study *study = e->s->study;
    if (e->only_reads) {
        study->only_reads = true;
        return;
    }
    if (e->bad_word) {
        act_add(e->s, ACT_OTHER, e->bad_word, "what it does cannot be told from its words");
        study->packs = true;
        /* Any word may be a command, and one with a blank in it a line. */
        for (size_t i = 1; i < e->s->count; i++)
            if (str_find(e->s->words[i].text, ' ') < e->s->words[i].text.n)
                act_text(e->s, e->s->words[i].text);
    }
    if (e->rest == SIZE_MAX && !e->coded && !(row->styles & STYLE_IDLE) && effect_hands_on(row, ROLE_RUN))
        act_add(e->s, ACT_OTHER, ALL_WORDS, "without a command it may start a shell");
    if (row->styles & STYLE_STATE)
        study_state(e->s);
    if (row->styles & STYLE_CHANGES)
        act_add(e->s, ACT_CHANGES, 0, "it changes what is there");
    if (row->styles & STYLE_CODE)
        act_add(e->s, ACT_PROJECT, 0, "it runs code of the project");
    if (row->styles & STYLE_TALKS)
        act_add(e->s, ACT_TALKS, 0, "it reaches the network");
    if (row->styles & STYLE_CONTENTS)
        effect_shows_all(e);
    struct str list = row->reader == READER_GITCONFIG ? STR_NONE : table_str(row_lists(row)->touches);
    STR_EACH(path, list, ',') {
        if (str_is(path, ".")) {
            study->risk |= RISK_OVERWRITES;
            study->touches_all = true;
        }
        else {
            act_writes(e->s, ALL_WORDS, path);
            study->acts->flags = ACT_NATURAL;
        }
    }
    if (row->styles & STYLE_DISCARDS)
        study->risk |= RISK_DELETES;
    bool script = row->operand_count && table_operands[row->operands].role == ROLE_SCRIPT;
    if ((row->stdin_lang || script || ((row->styles & STYLE_ALONE) && !e->operand_count && e->rest == SIZE_MAX)) &&
        !e->coded && e->rest == SIZE_MAX)
        act_add(e->s, ACT_OTHER, ALL_WORDS, "it reads its program from standard input")->flags = ACT_STDIN;
}

/* One option that prints and ends, unless the row says that it does more; the same as a word where it can only be a
 * sub-command: `rm version` removes a file. */
static bool asks_version(const struct effects *e, size_t from)
{
    static const char *const options[] = {"--version", "-V", "--help", "-version"};
    static const char *const words[] = {"version", "help"};
    const struct studying *s = e->s;
    if (s->count != from + 1)
        return false;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (word_is(&s->words[from], options[i]))
            return !effect_acts(e, str_of(options[i]));
    bool subs = e->row->operand_count && table_operands[e->row->operands].role == ROLE_SUB;
    for (size_t i = 0; subs && i < sizeof words / sizeof *words; i++)
        if (word_is(&s->words[from], words[i]))
            return !effects_exact(arena_printf(s->arena, "%s %s", table_text + e->row->name, words[i]));
    return false;
}

/* A reading that begins with the whole row; the name grows as sub-commands are found. */
static struct effects effects_begin(struct studying *s, const struct table_row *row)
{
    struct effects e = {.s = s, .row = row, .rest = SIZE_MAX};
    struct str name = table_str(row->name);
    CHECK(name.n < sizeof e.name);
    memcpy(e.name, name.p, name.n);
    e.name_n = name.n;
    e.operands = arena_array(s->arena, size_t, s->count + 1);
    return e;
}

void effects_options(struct studying *s, const struct table_row *row, size_t from)
{
    struct effects e = effects_begin(s, row);
    read_words(&e, from);
}

/* The styles come last, because only then it is known whether a sub-command, a script or --dry-run was on the
 * line. */
void effects_of_row(struct studying *s, const struct table_row *row, size_t from)
{
    struct effects e = effects_begin(s, row);
    e.bad_word = row->styles & STYLE_BAD ? ALL_WORDS : 0;
    s->study->table = row;
    s->study->risk |= row->risk;
    s->study->local |= (row->styles & STYLE_LOCAL) != 0;
    if (asks_version(&e, from)) {
        s->study->only_reads = true;
        return;
    }
    read_words(&e, from);
    if (e.handed)
        return;
    s->study->table = e.row;
    e.tree = e.tree || (e.row->styles & STYLE_TREE);
    if (e.row->reader == READER_GIT)
        effect_git_contents(&e);
    take_operands(&e);
    take_split(&e, e.rest == SIZE_MAX ? s->count : e.rest);
    if (e.rest != SIZE_MAX)
        take_rest(&e);
    take_styles(&e);
}
