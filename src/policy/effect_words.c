/* Programs whose arguments are a language of their own (find, sed, git, sqlite3): which table row uses which reader,
 * and which files the arguments read or write. The readers are here, in effect_programs.c, effect_git.c and
 * effect_text.c. */
#include "policy/effects.h"

#include "base/err.h"

/* Adds the act of reading or writing `value`, which is the word or a part of it, as the program's natural work. */
static struct act *touch(struct studying *s, enum act_kind kind, size_t word, struct str value, unsigned flags)
{
    CHECK(word < s->count);
    struct act *act = act_add(s, kind, word, kind == ACT_READS ? "it reads a file" : "it writes a file");
    const struct word *whole = &s->words[word];
    act->flags = flags | ACT_NATURAL;
    act->path = *whole;
    if (value.p != whole->text.p || value.n != whole->text.n)
        act->path = (struct word){.raw = value, .text = value, .shape = value, .flags = whole->flags};
    return act;
}

/* Whether one of the row's options that write is the beginning of the word: -i, -i.bak, --in-place. */
static bool option_writes(const struct table_row *row, struct str word)
{
    for (unsigned i = 0; i < row->option_count; i++) {
        const struct table_option *option = &table_options[row->options + i];
        if ((option->mark == ROLE_WRITES || option->mark == ROLE_WRITE) && str_starts(word, table_str(option->name)))
            return true;
    }
    return false;
}

/* Whether the command that find runs, from its program on, only reads. */
static bool find_reads(const struct word *words, size_t count)
{
    const struct table_row *row = word_literal(&words[0]) ? effects_find(words[0].text) : NULL;
    for (size_t i = 1; row && i < count && !word_is(&words[i], ";") && !word_is(&words[i], "+"); i++)
        if (option_writes(row, words[i].text))
            return false;
    return row && (row->styles & STYLE_READS);
}

/* Whether find gives the files that it finds to a command. */
static bool find_hands_on(const struct studying *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (str_starts(s->words[i].text, STR("-exec")) || str_starts(s->words[i].text, STR("-ok")))
            return true;
    return false;
}

/* The starting points stand before the expression; without one it is the folder itself. */
static void read_find(struct studying *s)
{
    bool removes = false, runs = false;
    size_t at = 1;
    for (size_t i = 1; i < s->count; i++) {
        removes = removes || word_is(&s->words[i], "-delete");
        s->study->follows |= word_is(&s->words[i], "-L") || word_is(&s->words[i], "-follow");
    }
    for (size_t i = 1; i + 1 < s->count; i++)
        runs = runs || (str_starts(s->words[i].text, STR("-exec")) && !find_reads(&s->words[i + 1], s->count - i - 1));
    while (at < s->count && (word_is(&s->words[at], "-L") || word_is(&s->words[at], "-P") ||
                             word_is(&s->words[at], "-H") || word_is(&s->words[at], "-E")))
        at++;
    size_t first = at;
    for (; at < s->count; at++) {
        struct str text = s->words[at].text;
        if (text.n && strchr("-(!,", text.p[0]))
            break;
        touch(s, ACT_READS, at, text, ACT_TREE);
        if (removes)
            touch(s, ACT_REMOVES, at, text, ACT_TREE | (str_is(text, ".") ? ACT_PERHAPS : 0));
        else if (runs)
            touch(s, ACT_WRITES, at, text, ACT_TREE | ACT_PERHAPS);
    }
    if (at == first) {
        touch(s, ACT_READS, 0, STR("."), ACT_TREE);
        if (removes || runs)
            touch(s, removes ? ACT_REMOVES : ACT_WRITES, 0, STR("."), ACT_TREE | ACT_PERHAPS);
    }
    /* With -exec, a name behind -name or -path may be that of a file which the command reads. */
    for (size_t i = at; i + 1 < s->count && find_hands_on(s); i++)
        if (word_is(&s->words[i], "-name") || word_is(&s->words[i], "-iname") || word_is(&s->words[i], "-path"))
            touch(s, ACT_READS, i + 1, s->words[i + 1].text, 0);
    for (size_t i = at; i < s->count; i++)
        if (word_is(&s->words[i], "-files0-from"))
            act_other(s, i, "it takes its starting points from a file");
    study_find(s);
}

/* Input by `if=`; output by study_dd, marked so that a rule on the file is needed besides the one on dd. */
static void read_dd(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++) {
        struct str value, name = str_cut(s->words[i].text, '=', &value);
        if (str_is(name, "if") && !str_empty(value))
            touch(s, ACT_READS, i, value, 0);
    }
    study_dd(s);
    for (struct act *act = s->study->acts; act; act = act->next)
        if (act->kind == ACT_WRITES)
            act->flags |= ACT_EDITS;
}

/* The operation of tar: the letters of its first word, or of its options. */
static bool tar_does(const struct studying *s, const char *letters, const char *name)
{
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        bool first = i == 1 && text.n && text.p[0] != '-';
        bool cluster = first || (text.n > 1 && text.p[0] == '-' && text.p[1] != '-');
        for (size_t k = 0; cluster && k < text.n; k++)
            if (strchr(letters, text.p[k]))
                return true;
        if (text.n > 3 && str_starts(str_of(name), text))
            return true;
    }
    return false;
}

/* Three modes: extracting writes below -C or here (all files of the archive, so `touches_all`), creating reads
 * its operands and writes the archive, listing only reads. */
static void read_tar(struct studying *s)
{
    bool extracts = tar_does(s, "x", "--extract") || tar_does(s, "x", "--get");
    bool lists = tar_does(s, "t", "--list");
    s->study->follows |= tar_does(s, "h", "--dereference");
    study_tar(s);
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text, value;
        bool folder = i > 1 && (word_is(&s->words[i - 1], "-C") || word_is(&s->words[i - 1], "--directory"));
        struct str name = str_cut(text, '=', &value);
        if (folder && extracts)
            touch(s, ACT_WRITES, i, text, ACT_TREE);
        else if (extracts && !str_empty(value) &&
                 (str_starts(STR("--directory"), name) || str_is(name, "--one-top-level")))
            touch(s, ACT_WRITES, i, value, ACT_TREE);
        else if (i > 1 && !is_option(text) && !extracts && !lists)
            touch(s, ACT_READS, i, text, ACT_TREE);
        if (!lists && !extracts && i > 1 && !is_option(text) && tar_does(s, "f", "--file") &&
            str_find(s->words[i - 1].text, 'f') < s->words[i - 1].text.n)
            touch(s, ACT_WRITES, i, text, ACT_PERHAPS);
    }
    act_add(s, ACT_CHANGES, 0, "it packs or unpacks files");
    s->study->touches_all = extracts;
    if (lists && !extracts)
        s->study->only_reads = true;
}

/* Reads the options and the program's own argument language. */
static void read_both(struct studying *s, const struct table_row *row, void (*language)(struct studying *s))
{
    language(s);
    effects_of_row(s, row, 1);
}

static bool is_sqlite(const struct table_row *row)
{
    return str_is(table_str(row->name), "sqlite3") || str_is(table_str(row->name), "duckdb");
}

/* -Wl,… hands words to the linker, -Wp,… to the preprocessor. */
static void read_cc(struct studying *s)
{
    static const char *const tells[] = {"plugin", "-dynamic-linker", "-load", "@", "-Map", "-T", "-MD", "-MF", "-MMD",
                                        "-o", "-specs", "-fplugin", "-wrapper"};
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        bool list = str_starts(text, STR("-Wl,")) || str_starts(text, STR("-Wp,")) || str_starts(text, STR("-Wa,"));
        bool value = i > 1 && (word_is(&s->words[i - 1], "-Xlinker") || word_is(&s->words[i - 1], "-Xclang") ||
                               word_is(&s->words[i - 1], "-Xpreprocessor") || word_is(&s->words[i - 1], "-mllvm"));
        struct str rest = list ? str_sub(text, 4, text.n) : value ? text : STR_NONE;
        STR_EACH(part, rest, ',') {
            while (part.n > 1 && part.p[0] == '-' && part.p[1] == '-')
                part = str_sub(part, 1, part.n);
            bool acts = false;
            for (size_t k = 0; k < sizeof tells / sizeof *tells; k++)
                acts = acts || str_starts(part, str_of(tells[k])) ||
                       (part.n && str_starts(str_sub(part, 1, part.n), str_of(tells[k])));
            if (acts)
                act_other(s, i, "it hands an option on that runs or writes something");
        }
        if (str_starts(text, STR("-MF")) || str_starts(text, STR("-MQ")) || str_starts(text, STR("-dumpdir"))) {
            bool attached = text.n > 3 || i + 1 >= s->count;
            touch(s, ACT_WRITES, attached ? i : i + 1,
                  attached ? str_sub(text, text.n > 3 ? 3 : text.n, text.n) : s->words[i + 1].text, 0);
        }
    }
}

/* Whether the name in -DNAME=VALUE stands for something that the build runs, loads or writes. */
static bool define_acts(struct str name)
{
    static const char *const tells[] = {"COMPILER", "LINKER", "LAUNCHER", "PROGRAM", "COMMAND", "TOOLCHAIN", "RULE",
                                        "INCLUDE", "MODULE_PATH", "EMULATOR", "CPPCHECK", "TIDY", "CPPLINT", "IWYU",
                                        "WRAPPER", "EXECUTABLE", "COMPILE_OBJECT", "CREATE", "ARCHIVE", "_AR", "RANLIB",
                                        "PREFIX", "java.home", "init", "jdk", "agent", "exec", "user.home", "Djava",
                                        "_STRIP", "_NM", "SHELL"};
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (str_has(name, str_of(tells[i])))
            return true;
    return false;
}

/* Properties of Maven's plugins may name agents, programs and class paths: only those that choose or skip are known. */
static bool chooses(struct str name)
{
    static const char *const names[] = {"test", "it.test", "failIfNoTests", "failIfNoSpecifiedTests", "style.color",
                                        "revision", "groups", "excludedGroups", "maven.test.failure.ignore",
                                        "surefire.failIfNoSpecifiedTests", "maven.compiler.source",
                                        "maven.compiler.target", "maven.compiler.release", "forkCount"};
    return STR_IN(name, names) || str_starts(name, STR("skip")) || str_ends(name, STR(".skip"));
}

/* The definition in word `i`, which may say it in the next: `-DX=y`, `-D X=y`, `--define X=y`; empty: none. */
static struct str defined_in(const struct studying *s, size_t i, bool *ret_next)
{
    static const char *const names[] = {"--define=", "--system-prop=", "-D"};
    struct str text = s->words[i].text;
    *ret_next = (word_is(&s->words[i], "-D") || word_is(&s->words[i], "--define") ||
                 word_is(&s->words[i], "--system-prop")) && i + 1 < s->count;
    if (*ret_next)
        return s->words[i + 1].text;
    return ROW_VALUE(names, row, str_starts(text, str_of(*row)), str_sub(text, strlen(*row), text.n), STR_NONE);
}

/* -D of cmake, Maven and Gradle: harmless values pass, names of programs, launchers and agents do not. cmake is
 * judged by a list of dangerous parts, Maven by a list of harmless names, because every plugin of Maven has
 * properties. */
static void read_defines(struct studying *s)
{
    bool maven = str_starts(table_str(s->study->table->name), STR("mvn"));
    for (size_t i = 1; i < s->count && !word_is(&s->words[i], "--"); i++) {
        bool next;
        struct str value, name = str_cut(defined_in(s, i, &next), '=', &value);
        name = str_cut(name, ':', &(struct str){0});
        bool tame = str_is(name, "CMAKE_INSTALL_PREFIX") || str_is(name, "CMAKE_EXPORT_COMPILE_COMMANDS") ||
                    str_is(name, "CMAKE_PREFIX_PATH");
        if (name.n && (maven ? !chooses(name) : define_acts(name) && !tame))
            act_other(s, next ? i + 1 : i, "it defines what the build runs or loads");
    }
}

/* Every word that is not an option may be a file that it writes. */
static void read_ffmpeg(struct studying *s)
{
    for (size_t i = 1; i < s->count; i++) {
        struct str text = s->words[i].text;
        bool input = word_is(&s->words[i - 1], "-i");
        if (is_option(text) || str_empty(text))
            continue;
        if (str_starts(text, STR("file:")))
            text = str_sub(text, 5, text.n);
        /* concat:, subfile,…:, http: and devices; filters that load a library; several outputs in one word. */
        struct str rest, protocol = str_cut(text, ':', &rest);
        bool option = i > 1 && is_option(s->words[i - 1].text);
        bool named = protocol.n < text.n && str_find(protocol, '/') == protocol.n;
        bool loads = str_has(text, STR("frei0r")) || str_has(text, STR("ladspa")) || str_has(text, STR("lv2=")) ||
                     str_has(text, STR("movie=")) || str_find(text, '|') < text.n;
        if ((named && (input || !option)) || str_has(text, STR("://")) || loads)
            act_other(s, i, "it reads or writes by a protocol, or loads a filter");
        touch(s, input ? ACT_READS : ACT_WRITES, i, text, input ? 0 : ACT_PERHAPS);
    }
}

/* The readers in one switch. Some replace effects_of_row (find, tar, dd, the shell), others run beside it
 * (read_both): then options and operands of the row are read as for any program. */
void effects_words(struct studying *s, const struct table_row *row)
{
    s->study->table = row;
    s->study->named = s->study->named ? s->study->named : 1;
    s->study->risk |= row->risk;
    switch ((enum table_reader)row->reader) {
    case READER_FIND: read_find(s); break;
    case READER_SED: read_both(s, row, study_sed); break;
    case READER_AWK: read_both(s, row, study_awk); break;
    case READER_GIT: read_both(s, row, study_git); break;
    case READER_MAKE: read_both(s, row, study_make); break;
    case READER_TAR: read_tar(s); break;
    case READER_DD: read_dd(s); break;
    case READER_SET: study_set(s); break;
    case READER_TEST: study_test(s); break;
    case READER_PRINTF: study_test(s); break;
    case READER_SQL:
        if (is_sqlite(row)) {
            study_sqlite(s);
            for (size_t i = 1; i < s->count; i++)
                if (!is_option(s->words[i].text)) {
                    touch(s, ACT_WRITES, i, s->words[i].text, ACT_PERHAPS);
                    break;
                }
        }
        else
            effects_of_row(s, row, 1);
        break;
    case READER_CC: read_both(s, row, read_cc); break;
    case READER_CMAKE: read_both(s, row, read_defines); break;
    case READER_DEFINES: read_both(s, row, read_defines); break;
    case READER_FFMPEG: read_both(s, row, read_ffmpeg); break;
    case READER_SHELL: study_shell(s); break;
    case READER_CD: case READER_ECHO: break; /* echo prints options that it does not know */
    case READER_COMMAND:
        if (s->count > 1 && (word_is(&s->words[1], "-v") || word_is(&s->words[1], "-V")))
            break;
        [[fallthrough]];
    case READER_NONE: case READER_XARGS: case READER_ENV: case READER_GITCONFIG:
    case READER_RSYNC: case READER_OPENSSL:
    case READER_COUNT:
        effects_of_row(s, row, 1);
    }
}
