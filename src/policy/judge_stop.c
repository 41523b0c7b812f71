/* Objections to a part: deny and ask rules, protected targets, doubts.
 *
 * Generous where judge_cover.c is strict: it looks into everything that could run, takes every spelling it
 * knows, and tries words as paths that may be something else. A rule that fits is noted (stop_note) and a
 * person or the rule decides; where a rule only might fit, the call is noted as not understood (note_unknown)
 * and asked about.
 */
#include "policy/judge_sweep.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/local.h"
#include "policy/effects.h"
#include "policy/groups.h"

/* The first doubt is kept: it is shown to the person. */
static void note_unknown(struct judging *j, const char *why)
{
    if (!j->unknown)
        j->unknown = why;
}

/* ---- rules on words ---- */

/* Matches the rules that are filed under one key. A rule whose words fit only if an expansion does is a doubt. */
static void stops_under(struct judging *j, const struct rule_key *key, struct argv *argv)
{
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while ((rule = rule_set_next(j->set, SIDE_STOP, key, &hash, &at))) {
        bool maybe = false;
        /* A rule on the whole tool was found before. */
        if (rule->rule.kind == RULE_TOOL || !str_is(rule->rule.tool, "Bash") ||
            !rule_in_force(rule, j->q->now_ms))
            continue;
        if (rule->rule.kind == RULE_GROUP ? group_stops(j->arena, &rule->rule, argv, j->studied)
                                          : words_stopped(j->arena, &rule->rule, argv, &maybe)) {
            if (!rule->rule.host_count || groups_stop_hosts(j->arena, &rule->rule, j->studied))
                stop_note(j, rule);
        }
        else if (maybe)
            note_unknown(j, "its words are known only when bash runs it, and there are rules against some commands");
    }
}

/* Rules are filed under their first word, or their first two. The second word on the line may be an option or
 * the value of one, so each word that could be the rule's second is tried. */
static void stops_by_program(struct judging *j, struct argv *argv, struct str program)
{
    struct rule_key key = {.kind = KEY_WORD, .first = program};
    if (!word_marked(j->set->first_words, word_mark(program)))
        return;
    stops_under(j, &key, argv);
    key.kind = KEY_WORDS;
    /* The second word of a rule is the first that is neither option nor, perhaps, an option's value. */
    bool value = false;
    for (size_t i = 1; i < argv->count; i++) {
        key.second = argv->words[i].text;
        if (!word_literal(&argv->words[i]))
            note_unknown(j, "its words are known only when bash runs it, and there are rules against some commands");
        if (is_option(key.second)) {
            value = str_find(key.second, '=') == key.second.n;
            continue;
        }
        stops_under(j, &key, argv);
        if (!value)
            return;
        value = false;
    }
}

/* Matches rules against the command as if `program` were its first word. */
static void package_stops(struct judging *j, const struct argv *argv, struct str program)
{
    struct word *words = arena_array(j->arena, struct word, argv->count);
    memcpy(words, argv->words, argv->count * sizeof *words);
    words[0] = (struct word){.raw = program, .text = program, .shape = program};
    struct argv named = {.words = words, .count = argv->count};
    stops_by_program(j, &named, program);
}

/* Matches a command's words against rules on commands, by the program as it is written and by its bare name. */
static void words_stops(struct judging *j, struct argv *argv)
{
    bool unknown = argv->count && !word_literal(&argv->words[0]);
    /* `{cat,.env}`, `$x`: bash may find both the program and its files in one word. */
    if (unknown && (j->set->stops_commands || j->set->stops_paths || j->set->stops_hosts))
        note_unknown(j, "only bash knows which command it runs");
    if (!j->set->stops_commands || !argv->count)
        return;
    struct rule_key any = {.kind = KEY_TOOL, .first = STR("Bash")};
    struct str program = argv->words[0].text, name = match_program_name(program);
    stops_under(j, &any, argv);
    if (unknown)
        return;
    stops_by_program(j, argv, program);
    if (name.n != program.n)
        stops_by_program(j, argv, name);
    /* `npx npm@latest`: the program of a package. */
    size_t version = str_find(name, '@');
    if (version && version < name.n)
        package_stops(j, argv, str_sub(name, 0, version));
}

/* ---- words as paths ---- */

bool word_is_path(const struct word *word)
{
    bool home = str_is(word->text, "~") || str_starts(word->text, STR("~/"));
    bool tilde = (word->flags & WORD_OPEN) == WORD_TILDE && home;
    return (word_literal(word) || tilde) && !str_empty(word->text);
}

/* Whether the text contains a part of a protected path. Such names are so rare otherwise that they count in words
 * with unknown parts, too. For commands that only read, the first five count. */
static bool names_protected(struct str text, bool writes)
{
    static const char *const marks[] = {"/.ssh",   ".gnupg/", "/.netrc", ".config/nod", "share/nod",
                                        ".git/",   ".bash",   ".zsh",    ".profile",    ".claude",
                                        ".codex",  ".mcp",    "cron",    ".husky",      "sudoers"};
    size_t count = writes ? sizeof marks / sizeof *marks : 5;
    for (size_t i = 0; i < count; i++)
        if (str_has(text, str_of(marks[i])))
            return true;
    return false;
}

/* The first protected path is kept: it is shown to the person. */
static void note_protected(struct judging *j, struct str path)
{
    if (str_empty(j->protected_path))
        j->protected_path = path;
}

void judge_note_shared(struct judging *j, struct str path)
{
    if (!str_empty(j->protected_path))
        return;
    j->protected_path = path;
    j->protected_why = "is one file under two names (a hard link): to write it changes the other one, too";
}

/* A file that holds keys by its name, which a rule on its path may open: no rule on the program does. */
static void note_secret(struct judging *j, struct str path, bool writes)
{
    if (!str_empty(j->protected_path))
        return;
    j->protected_path = path;
    j->protected_why = writes ? "may hold keys: it is asked about, unless an Edit rule names it"
                              : "may hold keys: it is asked about, unless a Read rule names it";
}

/* Notes the rules against a word taken as a path. */
static void path_stops(struct judging *j, struct str text, const struct folder *folder,
                       struct touch touch)
{
    bool writes = !touch.looks;
    struct place place;
    if (str_empty(text) || !place_of(j, folder, text, &place))
        return;
    place_stops(j, &place, STR("read"));
    if (writes)
        place_stops(j, &place, STR("edit"));
    if (place_protected(j, &place, touch))
        note_protected(j, place.named);
    if (writes && place.shared)
        judge_note_shared(j, place.named);
    bool link = !str_eq(place.named, place.real);
    bool secret = target_secret(place.named, true) || (link && target_secret(place.real, true));
    if (secret && !place_covered(j, &place, writes ? STR("Edit") : STR("Read")) &&
        !touch.perhaps)
        note_secret(j, place.named, writes);
    bool home = path_within(place.named, j->places.home.named) && !str_empty(j->places.home.named);
    bool mine =
        home || path_within(place.named, j->places.project.named) || str_starts(place.named, STR("/dev/"));
    bool around =
        str_eq(place.named, j->places.home.named) ||
        (path_within(j->places.project.named, place.named) && !str_eq(j->places.project.named, place.named));
    if (writes && !touch.perhaps && (around || (!mine && place_of_system(&place))))
        note_protected(j, place.named);
}

/* Whether a word could name a place worth a look: most words do not. */
static bool could_be_path(const struct judging *j, const struct word *word, const struct folder *folder)
{
    struct str text = word->shape.p ? word->shape : word->text;
    if (j->set->stops_paths || j->q->protected_count || !folder->known || (j->q->look && word_is_path(word)))
        return true;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == SHAPE_HOME || text.p[i] == SHAPE_PWD || strchr("/.~", text.p[i]))
            return true;
    return str_has(folder->path, STR("/.")) || str_is(text, "opencode");
}

/* Whether one of the components of a word with holes could be `name`, going by the letters it has. */
static bool could_name(const struct word *word, struct str name)
{
    char glob[128];
    struct str text = word->text;
    STR_EACH(part, text, '/') {
        size_t hole = str_find(part, WORD_HOLE);
        if (hole < part.n && (word->flags & WORD_BRACE))
            part.n = hole + 1;
        if (part.n < 2 || part.n > sizeof glob)
            continue;
        for (size_t i = 0; i < part.n; i++)
            glob[i] = part.p[i] == WORD_HOLE ? '*' : part.p[i];
        if (match_glob((struct str){glob, part.n}, name))
            return true;
    }
    return false;
}

enum { HOLE_LOOKS_MAX = 100000 };

/* A word with a pattern, a brace or a variable: only bash knows whether it becomes a file that a rule is against. */
static void holes_stop(struct judging *j, const struct word *word)
{
    if (!j->set->stops_paths || j->unknown)
        return;
    j->hole_looks += j->set->stop_name_count;
    if (j->hole_looks > HOLE_LOOKS_MAX) {
        note_unknown(j, "too many of its words are patterns");
        return;
    }
    for (size_t i = 0; i < j->set->stop_name_count; i++) {
        if (could_name(word, j->set->stop_names[i])) {
            note_unknown(j, "a file it names is known only when bash runs it, and there are rules against some");
            return;
        }
    }
}

/* Whether the text names a file that a rule speaks against: by the letters of its last name. */
static bool names_stopped_path(struct judging *j, struct str text)
{
    if (!j->set->stops_paths || j->hole_looks > HOLE_LOOKS_MAX)
        return false;
    for (size_t i = 0; i < j->set->stop_name_count; i++) {
        struct str name = j->set->stop_names[i];
        j->hole_looks++;
        /* The longest piece of the pattern without a star. */
        struct str best = STR_NONE;
        for (struct str rest = name; !str_empty(rest);) {
            struct str piece = str_cut(rest, '*', &rest);
            best = piece.n > best.n ? piece : best;
        }
        if (best.n >= 3 ? str_has(text, best) : best.n == 0)
            return true;
        /* A rule on a whole folder is found by the folder's name. */
        const struct compiled *rule = &j->set->rules[j->set->stop_rules[i]];
        struct str folder, pattern = rule->rule.pattern;
        folder = str_cut(pattern, '/', &pattern);
        if (folder.n >= 3 && str_find(folder, '*') == folder.n && str_has(text, folder))
            return true;
    }
    return false;
}

/* The parts of a word that a program may take apart: `$PWD:/x`, `type=bind,src=.`, `-v$PWD:/x`. */
static void pieces_stop(struct judging *j, const struct word *word, const struct folder *folder, struct touch touch)
{
    struct str rest = word->shape.p ? word->shape : word->text;
    size_t value = is_option(rest) && !is_long_option(rest) ? 2 : 0;
    for (size_t at = value, from = value; j->set->stops_paths && at <= rest.n; at++) {
        if (at < rest.n && rest.p[at] != SHAPE_COMMA && !strchr(":,=", rest.p[at]))
            continue;
        struct str piece = str_sub(rest, from, at);
        struct word part = {.raw = piece, .text = piece, .shape = piece, .flags = word->flags};
        from = at + 1;
        if (piece.n && piece.n < rest.n)
            judge_word_targets(j, &part, folder, touch);
    }
}

/* Whether one of the paths that the word could become is protected; also notes the rules against them. */
static bool word_may_be_protected(struct judging *j, const struct word *word, const struct folder *folder,
                                  struct touch touch)
{
    struct str targets[TARGETS_MAX] NOT_ZEROED;
    size_t count = judge_targets(j, word, folder->known ? folder->path : STR_NONE, targets);
    bool hit = false;
    for (size_t i = 0; i < count; i++) {
        hit = hit || judge_target_protected(j, targets[i], touch) || target_secret(targets[i], true);
    }
    if (j->set->stops_paths)
        judge_word_targets(j, word, folder, touch);
    return hit;
}

/* Notes the names of secret files among the words of these commands: their output, or the values they set, become
 * names of files that another command reads. */
static void secrets_stop(struct judging *j, const struct node *node)
{
    for (; node; node = node->next) {
        for (size_t i = 0; i < node->word_count; i++) {
            struct str value, text = node->words[i].text;
            (void)str_cut(text, '=', &value);
            if (target_secret(text, true) || target_secret(value, true))
                note_secret(j, node->words[i].raw, false);
        }
        secrets_stop(j, node->first);
    }
}

/* `cat $(echo .env)`, `echo .env | xargs cat`: the names are made elsewhere on the line. */
static void made_names_stop(struct judging *j, const struct node *node, const struct study *study)
{
    for (const struct act *act = study->acts; act; act = act->next) {
        if (act->kind == ACT_READS && (act->path.flags & WORD_RUNS))
            secrets_stop(j, node->inside);
        if (act->kind == ACT_RUNS && j->piped && study->table && study->table->reader == READER_XARGS &&
            j->piped->kind == NODE_SIMPLE) {
            struct node before = *j->piped;
            before.next = NULL;
            secrets_stop(j, &before);
        }
    }
}

/* The commands in the loop are judged by themselves; here only the names that it goes over are. */
void judge_values_stop(struct judging *j, const struct node *node, const struct folder *folder)
{
    struct node values = {.words = node->words, .word_count = node->word_count};
    secrets_stop(j, &values);
    judge_assigned_stops(j, node, folder);
    for (size_t i = 0; j->set->stops_paths && i < node->word_count; i++)
        judge_word_targets(j, &node->words[i], folder, (struct touch){0});
}

/* `rm -rf "$x"/`, `rm -rf /$x`: the root, when the variable is empty. */
static bool may_be_root(const struct word *word)
{
    bool slash = false;
    for (size_t i = 0; i < word->shape.n; i++) {
        slash = slash || word->shape.p[i] == '/';
        if (word->shape.p[i] != '/' && word->shape.p[i] != SHAPE_ANY)
            return false;
    }
    return slash;
}

/* One word as a path, in every way that programs take it apart: whole, behind `=`, behind an option's letter,
 * before a colon. Words with expansions are compared by the shapes they could take (target.h). */
static void word_stops(struct judging *j, const struct word *word, const struct folder *folder,
                       struct touch touch)
{
    struct str text = word->text, value;
    if (!could_be_path(j, word, folder))
        return;
    struct folder guess = {.path = folder->path, .known = !str_empty(folder->path)};
    if (!word_is_path(word) || !folder->known) {
        if (names_protected(word->raw, !touch.looks) || (!touch.looks && may_be_root(word)) ||
            word_may_be_protected(j, word, folder, touch) ||
            (!folder->known && guess.known && word_may_be_protected(j, word, &guess, touch)))
            note_protected(j, word->raw);
        pieces_stop(j, word, folder, touch);
        if (!word_is_path(word)) {
            holes_stop(j, word);
            if (j->set->stops_paths && str_is(word->raw, "…")) /* xargs takes its operands from standard input */
                note_unknown(j, "its files come from another command, and there are rules against some files");
            /* Another command of the line may produce the name of a denied file, if the line contains it. */
            bool made = word->flags & (WORD_RUNS | WORD_CHOSEN);
            if (names_stopped_path(j, made ? j->q->facts->command : word->raw))
                note_unknown(j, "one of its files is named elsewhere on the line");
            return;
        }
        if (guess.known) /* otherwise it is the folder itself */
            path_stops(j, text, &guess, touch);
    }
    path_stops(j, text, folder, touch);
    if ((touch.tree || !touch.looks) && j->set->stops_paths) {
        judge_word_targets(j, word, folder, touch);
        pieces_stop(j, word, folder, touch);
    }
    for (struct str rest = text; str_find(rest, '=') < rest.n;) { /* --emit=link=x, sarif:file=x */
        (void)str_cut(rest, '=', &rest);
        path_stops(j, rest, folder, touch);
    }
    if (text.n > 2 && text.p[0] == '-')
        path_stops(j, str_sub(text, 2, text.n), folder, touch);
    (void)str_cut(text, '@', &value);
    path_stops(j, value, folder, touch);
    if (str_find(text, ':') < text.n)
        path_stops(j, str_sub(text, 0, str_find(text, ':')), folder, touch);
}

/* `--exclude=.git`: what is left out is not touched. Sets *ret_next when it is the next word. */
static bool leaves_out(struct str text, bool *ret_next)
{
    static const char *const names[] = {"--exclude", "--exclude-dir", "--ignore", "--ignore-pattern"};
    struct str value, name = str_cut(text, '=', &value);
    if (!is_long_option(text) || !STR_IN(name, names))
        return false;
    *ret_next = name.n == text.n;
    return true;
}

/* Whether any of its words may be a path that it changes: the program is not known, or does what its words do not
 * tell, or all that is known of its options is a help text. */
static bool words_are_open(const struct study *study)
{
    const struct table_row *row = study->table;
    if (!row || (row->styles & STYLE_BAD))
        return true;
    return !row->known && !(row->styles & STYLE_READS) && !study->only_reads && !study->packs &&
           row->reader != READER_GIT;
}

/* Whether the word is only a file to read, or a text with blanks. */
static bool only_read(const struct study *study, const struct word *word, size_t at)
{
    if (!study->table || (study->table->styles & STYLE_BAD))
        return false;
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind == ACT_READS && !(act->flags & ACT_GUESSED) && act->word == at)
            return true;
    return str_find(word->text, ' ') < word->text.n;
}

/* Every word that might be a path is compared with rules against paths: which words a program opens is not always
 * known. */
static void paths_stops(struct judging *j, const struct argv *argv, const struct study *study,
                        const struct folder *folder)
{
    size_t from = 1;
    /* Sub-commands that chose the row are no paths: `npm test`. */
    while (study->table && from < study->named && from < argv->count && !is_option(argv->words[from].text))
        from++;
    for (size_t i = from; i < argv->count; i++) {
        bool next = false;
        if (leaves_out(argv->words[i].text, &next)) {
            i += next;
            continue;
        }
        if (only_read(study, &argv->words[i], i))
            continue;
        word_stops(j, &argv->words[i], folder, (struct touch){.perhaps = true});
    }
}

void redirs_stops(struct judging *j, const struct node *node, const struct folder *folder)
{
    for (const struct redir *redir = node->redirs; redir; redir = redir->next) {
        bool tcp = str_starts(redir->target.text, STR("/dev/tcp/"));
        if (tcp && judge_has_own_port(j->q, redir->target.text))
            note_protected(j, redir->target.raw);
        if (j->set->stops_hosts && (tcp || str_starts(redir->target.text, STR("/dev/udp/"))))
            note_unknown(j, "it talks to a host by a redirection, and there are rules against some");
        switch (redir->kind) {
        case REDIR_IN: word_stops(j, &redir->target, folder, (struct touch){.looks = true}); break;
        case REDIR_OUT:
        case REDIR_APPEND:
        case REDIR_INOUT: word_stops(j, &redir->target, folder, (struct touch){0}); break;
        case REDIR_DUP: case REDIR_HEREDOC: case REDIR_HERESTRING: break;
        }
    }
}

/* ---- what a part runs ---- */

static void tree_stops(struct judging *j, struct node *node, const struct folder *folder);

enum { SUFFIXES_MAX = 64 };

/* The word at which the inner command begins depends on options; so each word is tried. */
static void suffixes_stop(struct judging *j, const struct argv *argv)
{
    if (!j->set->stops_commands)
        return;
    if (argv->count > SUFFIXES_MAX)
        note_unknown(j, "it runs its arguments, and there are too many of them");
    for (size_t i = 1; i < argv->count && i < SUFFIXES_MAX; i++) {
        struct argv suffix = {.words = argv->words + i, .count = argv->count - i};
        if (word_literal(&suffix.words[0]))
            words_stops(j, &suffix);
    }
}

/* Holds the rules against a packed command that is a sub-command of the program itself, as of git for-each-repo. */
static void own_suffixes_stop(struct judging *j, const struct argv *argv)
{
    struct word *words = arena_array(j->arena, struct word, argv->count);
    for (size_t i = 0; i < argv->count; i++)
        words[i] = argv->words[i];
    for (size_t i = 1; i < argv->count && i < SUFFIXES_MAX; i++) {
        words[i - 1] = argv->words[0];
        words_stops(j, &(struct argv){.words = words + i - 1, .count = argv->count - i + 1});
    }
}

/* A part does something that its words do not tell: it may be what another part of the line says, in a
 * here-document, a pipe, a variable. So if the line names something forbidden anywhere, it is not
 * understood. */
static void doubt_stops(struct judging *j, const char *why)
{
    if (names_stopped_path(j, j->q->facts->command))
        note_unknown(j, why);
    if (!j->set->stops_commands)
        return;
    if (j->net == NET_NOT_ASKED)
        j->net = judge_text_stops(j, j->q->facts->command, false) ? NET_HIT : NET_CLEAN;
    if (j->net == NET_HIT)
        note_unknown(j, why);
}

/* A script of sed or awk that is not known to be harmless may write to each file that it names. awk can also compute
 * names, so any deny or ask rule on paths or hosts may concern it. */
static void program_stops(struct judging *j, const struct argv *argv, const struct study *study, const char *why)
{
    if (!study->table || (study->table->reader != READER_SED && study->table->reader != READER_AWK))
        return;
    if ((j->set->stops_paths || j->set->stops_hosts) && study->table->reader == READER_AWK)
        note_unknown(j, why);
    for (size_t i = 1; i < argv->count; i++)
        if (names_protected(argv->words[i].text, true))
            note_protected(j, argv->words[i].text);
}

/* Commands that could connect to Nod's own port are asked about: an agent must not answer its own calls. */
static void port_stops(struct judging *j, const struct argv *argv)
{
    static const char *const talkers[] = {"curl", "wget", "nc", "ncat", "netcat", "telnet", "socat", "http", "https",
                                          "xh", "websocat", "aria2c", "lynx", "w3m", "ssh", "openssl"};
    struct str name = argv->count ? match_program_name(argv->words[0].text) : STR_NONE;
    bool talks = STR_IN(name, talkers);
    for (size_t i = 1; talks && j->q->own_ports[0] && i < argv->count; i++) {
        bool hole = str_has(argv->words[i].text, STR(":\x01")) && !str_has(argv->words[i].text, STR("/:\x01"));
        if (hole || judge_has_own_port(j->q, argv->words[i].text)) {
            note_protected(j, argv->words[i].raw);
            j->protected_why = "is, or may be, Nod's own address: it is always asked about";
        }
    }
}

/* Matches rules against the command with its first word replaced by the words of `name`, separated by `part`. */
static void named_stops(struct judging *j, const struct argv *argv, struct str name, char part)
{
    size_t count = 0;
    struct word *words = arena_array(j->arena, struct word, argv->count + 4);
    while (!str_empty(name) && count < 4) {
        struct str word = str_cut(name, part, &name);
        words[count++] = (struct word){.raw = word, .text = word, .shape = word};
    }
    for (size_t i = 1; i < argv->count; i++)
        words[count++] = argv->words[i];
    struct argv named = {.words = words, .count = count};
    words_stops(j, &named);
}

/* Whether the command does more than read and print: it removes something, an option makes it change something, or its
 * program has a risk class. */
static bool acts_beyond(const struct study *study)
{
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind == ACT_REMOVES || (act->kind == ACT_CHANGES && (act->flags & ACT_BY_OPTION)))
            return true;
    return study->risk != 0;
}

/* The full names in the command's row: `npm publ` as `npm publish`, python3.11 as python; and the commands whose effect
 * it has by another way: `git lfs push` is a `git push`. A sub-command that is not known may be any of them. */
static void row_stops(struct judging *j, const struct argv *argv, const struct study *study)
{
    if (!study->table || !j->set->stops_commands || !argv->count)
        return;
    struct str name = table_str(study->table->name), rest;
    named_stops(j, argv, name, ' ');
    struct str does = acts_beyond(study) ? table_str(row_lists(study->table)->does) : STR_NONE;
    while (!str_empty(does))
        named_stops(j, argv, str_cut(does, ',', &does), '+');
    if (study->strange_sub && word_marked(j->set->first_words, word_mark(str_cut(name, ' ', &rest))))
        note_unknown(j, "its sub-command is not known, and a rule speaks against one of them");
}

/* `cargo run -- rm x`, `fab -- rm x`: words behind the target that code of the project or a plugin may run. */
static void handed_stops(struct judging *j, const struct argv *argv, const struct study *study)
{
    size_t from = study->named > 1 ? study->named + 1 : 2;
    if (!j->set->stops_commands || !study->table || !(study->table->styles & (STYLE_OPEN | STYLE_CODE)))
        return;
    BUF_SCOPE(text, LIMIT_EVENT_BYTES);
    for (size_t i = from; i < argv->count; i++) {
        BUF_ADD(&text, argv->words[i].text, STR(" "));
    }
    if (text.n && judge_text_stops(j, buf_str(&text), false))
        note_unknown(j, "it hands its words on, and they name a command that a rule speaks against");
}

/* Notes what speaks against the command's words themselves, without regard to its effects. */
static void command_stops(struct judging *j, struct argv *argv, const struct study *study, const struct folder *folder)
{
    /* An agent must not answer its own request: our own command is as protected as our own data. */
    if (argv->count && str_is(match_program_name(argv->words[0].text), "nod"))
        note_protected(j, argv->words[0].text);
    if (argv->count && str_is(match_program_name(argv->words[0].text), "crontab") &&
        !word_is(&argv->words[argv->count - 1], "-l"))
        note_protected(j, argv->words[0].text);
    j->studied = study;
    words_stops(j, argv);
    row_stops(j, argv, study);
    j->studied = NULL;
    if (!study->table && argv->count > 1)
        doubt_stops(j, "it is not known, and may do anything with its words");
    handed_stops(j, argv, study);
    judge_strange_git_stops(j, study);
    if (study->touches_all && j->set->stops_paths)
        note_unknown(j, "it changes files that its words do not name");
    if (j->set->stops_paths && argv->count > 1 && word_is(&argv->words[0], "shopt"))
        note_unknown(j, "it changes what patterns find");
    port_stops(j, argv);
    const char *host = judge_hosts(j, argv, study);
    if (host)
        note_unknown(j, host);
    if (words_are_open(study))
        paths_stops(j, argv, study, folder);
    if (study->packs)
        suffixes_stop(j, argv);
    if (study->packs && study->table && study->table->reader == READER_GIT)
        own_suffixes_stop(j, argv);
}

/* `node …/npm/bin/npm-cli.js publish`: a program by the folder it is installed in. */
static void script_stops(struct judging *j, const struct argv *argv, const struct act *act)
{
    struct str rest = act->path.text;
    size_t at = act->word;
    if (!j->set->stops_commands || at == 0 || at >= argv->count || !word_literal(&act->path))
        return;
    struct argv behind = {.words = argv->words + at, .count = argv->count - at};
    STR_EACH(part, rest, '/') {
        if (!word_marked(j->set->first_words, word_mark(part)))
            continue;
        package_stops(j, &behind, part);
    }
}

/* `make push`, `npm run publish`: a target of the project that is called like a sub-command which a rule speaks against
 * probably runs it. */
static void target_named_stops(struct judging *j, const struct argv *argv, const struct study *study)
{
    if (!j->set->stops_commands || !study->table || !(study->table->styles & (STYLE_TARGET | STYLE_OPEN)))
        return;
    for (size_t i = 1; i < argv->count; i++)
        if (!is_option(argv->words[i].text) && word_marked(j->set->second_words, word_mark(argv->words[i].text)))
            note_unknown(j, "it runs code of the project under the name of a command that a rule speaks against");
}

/* A name that appears while the line runs may be any path; git takes most of them for revisions. */
static void made_path_stops(struct judging *j, const struct study *study, const struct act *act)
{
    bool made = (act->path.flags & (WORD_RUNS | WORD_CHOSEN)) &&
                str_find(act->path.shape, SHAPE_ANY) < act->path.shape.n;
    bool found = word_is_found(&act->path) && (act->kind == ACT_WRITES || act->kind == ACT_REMOVES);
    bool other = study->table && study->table->reader != READER_GIT;
    if ((made || found) && j->set->stops_paths && j->q->mode == MODE_BYPASS && other)
        note_unknown(j, "its files come from another command, and there are rules against some files");
}

/* Whether the line names a host that a rule speaks against. */
static bool line_names_host(struct judging *j)
{
    if (j->hosts == NET_NOT_ASKED)
        j->hosts = judge_names_host(j, j->q->facts->command) ? NET_HIT : NET_CLEAN;
    return j->hosts == NET_HIT;
}

/* `base64 -d x | sh`: code that nobody sees may open any file, and reach any host; that of `bash <<< '…'` stands on the
 * line. */
static void piped_code_stops(struct judging *j, const struct study *study, const struct act *act)
{
    bool code = (act->flags & ACT_STDIN) || (study->table && study->table->reader == READER_SHELL);
    bool rules = j->set->stops_paths || j->set->stops_hosts;
    bool unseen = j->piped && rules && j->q->mode == MODE_BYPASS;
    if (code && act->word == ALL_WORDS && (unseen || line_names_host(j)))
        note_unknown(j, act->why);
}

/* Whether the command prints names of files, and runs nothing on them: `find . -type f`. */
static bool only_lists(const struct study *study)
{
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind != ACT_READS)
            return false;
    return study->table && (study->table->styles & STYLE_LISTS);
}

/* The acts of one command, and of the commands it runs (up to STUDY_DEPTH_MAX deep). Parsed commands are compared
 * exactly; code and unknown text are searched for names that rules mention. */
static void study_stops(struct judging *j, struct argv *argv, const struct study *study,
                        const struct folder *folder)
{
    bool lists = only_lists(study);
    command_stops(j, argv, study, folder);
    for (struct act *act = study->acts; act; act = act->next) {
        switch (act->kind) {
        case ACT_RUNS:
            if (j->depth < STUDY_DEPTH_MAX) {
                j->depth++;
                study_stops(j, &act->inner, act_inner_study(j, act, j->depth), folder);
                j->depth--;
            }
            break;
        case ACT_SCRIPT:
            if (act->script->doubt) {
                note_unknown(j, act->script->doubt);
                (void)judge_text_stops(j, act->code, true);
            }
            if (j->depth < STUDY_DEPTH_MAX) {
                j->depth++;
                tree_stops(j, act->script->root, folder);
                j->depth--;
            }
            break;
        case ACT_CODE:
            if (names_protected(act->code, true))
                note_protected(j, act->code);
            doubt_stops(j, act->why);
            if (j->set->stops_paths || j->set->stops_hosts)
                note_unknown(j, act->why);
            if (str_empty(act->code) || judge_text_stops(j, act->code, false))
                note_unknown(j, act->why);
            break;
        case ACT_TEXT:
            if (!judge_text_stops(j, act->code, true))
                note_unknown(j, act->why);
            break;
        case ACT_WRITES: case ACT_REMOVES: case ACT_READS:
            made_path_stops(j, study, act);
            if (act->flags & ACT_STORED)
                judge_stored_stops(j, study, act, folder);
            /* A build or test tool reads whole folders, so a write counts for everything below the path. */
            if (act->kind == ACT_WRITES && j->set->stops_paths && study->table && (study->table->styles & STYLE_CODE))
                judge_word_targets(j, &act->path, folder, (struct touch){.tree = true});
            word_stops(j, &act->path, folder, sweep_touch(j, study, act, lists, folder));
            break;
        case ACT_TALKS: case ACT_CHANGES: break;
        case ACT_PROJECT:
            script_stops(j, argv, act);
            target_named_stops(j, argv, study);
            if (names_stopped_path(j, j->q->facts->command))
                note_unknown(j, act->why);
            if (!str_empty(act->path.text))
                word_stops(j, &act->path, folder, (struct touch){.looks = true});
            break;
        case ACT_OBEYS:
            word_stops(j, &act->path, folder, (struct touch){.looks = true});
            doubt_stops(j, act->why);
            break;
        case ACT_OTHER:
            doubt_stops(j, act->why);
            program_stops(j, argv, study, act->why);
            piped_code_stops(j, study, act);
            break;
        }
    }
}

/* Called for every part, also inside substitutions and functions: all that could run is looked at. */
void judge_part_stops(struct judging *j, struct node *node, const struct folder *folder)
{
    CHECK(node->kind == NODE_SIMPLE);
    struct argv all = node_argv(node), argv = argv_command(&all);
    redirs_stops(j, node, folder);
    if (node->assign_count)
        doubt_stops(j, "it sets a variable, which may name what another program runs");
    judge_assigned_stops(j, node, folder);
    for (size_t i = 0; i < node->assign_count; i++) /* https_proxy=… */
        if (judge_names_host(j, node->words[i].text) || judge_hides_host(j, node->words[i].text))
            note_unknown(j, "it sets a variable that names a host, and a rule speaks against that");
    if (node->assign_count == node->word_count) {
        struct node values = {.words = node->words, .word_count = node->word_count};
        secrets_stop(j, &values);
    }
    if (argv.count) {
        made_names_stop(j, node, node_study(j, node));
        study_stops(j, &argv, node_study(j, node), folder);
    }
}

/* A text inside another one; its folder is followed no further than where it begins. */
static void tree_stops(struct judging *j, struct node *node, const struct folder *folder)
{
    struct folder lost = {
        .known = folder->known && !node->moves, .path = folder->path, .inside = folder->inside};
    if (node->kind == NODE_SIMPLE)
        judge_part_stops(j, node, &lost);
    else
        redirs_stops(j, node, &lost);
    for (struct node *child = node->first; child; child = child->next)
        tree_stops(j, child, &lost);
    for (struct node *inner = node->inside; inner; inner = inner->next)
        tree_stops(j, inner, &lost);
}
