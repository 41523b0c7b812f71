/* The table of programs as static data: what marks/ and facts.tab say, one row per program or sub-command.
 *
 * table_make (a host tool) writes the arrays below from the two files. effects.c reads them. All names are
 * offsets into `table_text`, so that nothing is relocated or built when Nod starts.
 *
 * facts.tab (generated) says which options exist and whether they take a value, marks/ (by hand) what they do. The
 * grammar of marks, line by line; `#` begins a comment:
 *   row     = NAME { "," NAME } ":" { OPERAND } [ ";" { STYLE } ]
 *   mark    = blank MARK { OPTION }              belongs to the row above it
 *   NAME    = program { " " sub-command }        "git worktree add", "python -m pytest", "./gradlew"
 *   OPERAND = ROLE [ ":" ARG ] [ "*" | "+" ]     in order; behind a repeated one the others count from the end
 *   MARK    = ROLE [ ":" ARG ]
 *   OPTION  = "-x" | "--long" | "-long" | "+" | "@"
 *             with "=" it takes a value, with "?" it may (attached only); without either facts.tab decides (else none)
 *   STYLE   = a word of TABLE_STYLES | WORD ":" ARG | WORD "=" VALUE { "," VALUE }
 * Options that facts.tab knows and no mark names are harmless. A row that says neither `reads` nor anything
 * that acts (a role beyond text and read, `changes`, `code`, `talks`, `state`) is refused: someone forgot to
 * decide. An option of a row without facts must stand in marks/; those without effect under the mark `text`. */
#ifndef POLICY_TABLE_H
#define POLICY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* Roles of operands and of option values. */
#define TABLE_ROLES(X)                                                                                    \
    X(TEXT, "text")       /* data without further meaning */                                              \
    X(READ, "read") X(LINK, "link") /* a file or folder it reads; one that gets another name (ln) */      \
    X(WRITE, "write")     /* a file or folder it makes or changes */                                      \
    X(REMOVE, "remove") X(MOVE, "move") X(PACK, "pack") /* a path it removes; reads and removes; gzip's */ \
    X(INTO, "into")       /* target of a copy or move: a file, or a folder that gets the names */         \
    X(PERHAPS, "perhaps") /* a path or something else: protected like a write, covered like a text */     \
    X(SCRIPT, "script")   /* a file it runs; missing or "-": code from standard input. The rest is text */\
    X(CODE, "code")       /* code:LANG, in the word itself */                                             \
    X(RUN, "run")         /* operand: the rest is a command. Option: the value is a program */            \
    X(SH, "sh")           /* the value is shell text; operands: all of them joined */                     \
    X(REMOTE, "remote")   /* operand: the rest is a command for another machine or container */           \
    X(CMD, "cmd")         /* option: a command up to `;` or `+` */                                        \
    X(MODULE, "module")   /* the row "NAME -m VALUE" applies to the words behind it */                    \
    X(ASSIGN, "assign")   /* operands NAME=value, as many as there are */                                 \
    X(URL, "url")         /* an address it talks to */                                                    \
    X(HOST, "host") X(DATA, "data") /* data that leaves; a file if it begins with `@` */                  \
    X(SEND, "send")       /* a file whose contents leave */                                               \
    X(OBEY, "obey")       /* a path it takes configuration, plugins or code from */                       \
    X(CHDIR, "chdir")     /* works in that folder */                                                      \
    X(SUB, "sub")         /* operand: a sub-command, by the row "NAME SUB" */                             \
    X(BAD, "bad")         /* its effect cannot be known from its words */                                 \
    X(TREE, "tree") X(FOLLOWS, "follows") /* option: with everything below its operands; through links, too */ \
    X(WRITES, "writes")   /* option: operands of the role read are written (sed -i, gofmt -w) */          \
    X(READS, "reads")     /* option: with it the row only reads (--dry-run, --list, --version) */         \
    X(CHANGES, "changes") /* option: changes state that no path names */                                  \
    X(STEM, "stem")       /* writes files whose names begin with it (split's prefix) */                     \
    X(SETS, "sets")       /* operand: sets the value that it would otherwise print (date, hostname) */     \
    X(INSTEAD, "instead") /* option: instead:ROLE[=LANG], its value takes the first operand's place */    \
    X(RISK, "risk")       /* option: risk:CLASS, harmless but for that */                                 \
    X(OUT, "out")         /* the program's own product: written as its name says (gcc -o, cmake -B) */   \
    X(NAMED, "named")     /* configuration from a file, unless the value is a plain name (jest --env) */       \
    X(BELOW, "below")     /* configuration; harmless below the folder it runs in (pip -r) */                \
    X(SHOWS, "shows")     /* option: shows contents of files (git log -p) */                              \
    X(NAMES, "names")     /* option: shows only names and numbers, no contents (git diff --stat) */      \
    X(SPREADS, "spreads") /* option: what it copies may lie anywhere below its target (cp -T, --parents) */ \
    X(SETTING, "setting") /* a setting of ~/.npmrc, perhaps a secret, which it prints */

/* Properties of the whole command: keywords behind the semicolon of its row. */
#define TABLE_STYLES(X)                                                                                   \
    X(READS, "reads")         /* does nothing but read what its words name: passes without a rule */      \
    X(CHANGES, "changes")     /* changes state that no path names: a repository, a service, a database */ \
    X(CODE, "code")           /* runs code of the project or of a package: tests, builds, scripts */      \
    X(TALKS, "talks")         /* reaches the network, whatever its words say */                           \
    X(STATE, "state")         /* changes what later commands of the line mean */                          \
    X(BAD, "bad")             /* its words do not tell what it does: only a rule that names all of them */ \
    X(POSIX, "posix")         /* options end at the first operand */                                      \
    X(SINGLE, "single")       /* long option names begin with one dash; short ones cannot be joined */    \
    X(TWODASH, "twodash")     /* Go: --x is -x */                                                         \
    X(NOABBREV, "noabbrev")   /* long names must be whole */                                              \
    X(SHORTSUBS, "shortsubs") /* sub-commands may be shortened */                                         \
    X(GLOBALS, "globals")     /* its options are also those of its sub-commands */                        \
    X(PLUS, "plus")           /* a first word `+x` chooses a toolchain */                                 \
    X(AT, "at")               /* an operand `@file`: further arguments are in that file */                \
    X(OPEN, "open")           /* hands its arguments on: unknown options are judged by their names */     \
    X(PIPE, "pipe")           /* a path that begins with `|` is a command */                              \
    X(TREE, "tree")           /* acts on operands (none: on its folder) with everything below (rm -r) */  \
    X(DISCARDS, "discards")   /* discards data that is stored nowhere else */                                \
    X(ANYWHERE, "anywhere")   /* also allowed outside the session's folder: cd, echo, pwd */              \
    X(STDOUT, "stdout")       /* `-` in place of a file to write is standard output */                    \
    X(ALONE, "alone")         /* without operands it starts a shell or console */                         \
    X(KEYS, "keys")           /* operands are name=value; marks name them as `name=` (dd of=) */            \
    X(EDITS, "edits")         /* a write by it needs a rule on the path, too (tee, sponge) */               \
    X(SHOWS, "shows")         /* prints possible secrets (the environment): needs a rule */                  \
    X(TARGET, "target")       /* its first operand says what it runs (npm run, make) */                      \
    X(IDLE, "idle")           /* runs a command, and does nothing where there is none (nice, time) */        \
    X(CODERS, "coders")       /* `x:y` is y read or written by x: only those that `path=` names are known */ \
    X(LOCAL, "local")         /* the project's files choose the program: --version, too, may run their code */ \
    X(CONTENTS, "contents")   /* shows contents of files that no word of it names: those of a repository */    \
    X(LISTS, "lists")         /* prints names of files, sizes and the like, never contents */

#define TABLE_RISKS(X)                                                                                    \
    X(DELETES, "deletes") X(OVERWRITES, "overwrites") X(NETWORK, "network") X(SENDS, "sends")             \
    X(PUBLISHES, "publishes") X(INFRASTRUCTURE, "infrastructure") X(DATABASE, "database")                 \
    X(PRIVILEGES, "privileges") X(INTERPRETER, "interpreter") X(GENERATED, "generated code")              \
    X(SETTINGS, "settings") X(UNKNOWN, "unknown")

/* Languages of code on the line or from standard input. */
#define TABLE_LANGS(X)                                                                                    \
    X(NONE, "") X(SH, "sh") X(PYTHON, "python") X(PERL, "perl") X(RUBY, "ruby") X(NODE, "node")           \
    X(LUA, "lua") X(PHP, "php") X(SED, "sed") X(AWK, "awk") X(SQL, "sql") X(JQ, "jq") X(YQ, "yq")         \
    X(TCL, "tcl") X(R, "r") X(OTHER, "other")

/* Little languages, read by a function of effect_words.c (`reader=`). */
#define TABLE_READERS(X)                                                                                  \
    X(NONE, "") X(FIND, "find") X(XARGS, "xargs") X(ENV, "env") X(SED, "sed") X(AWK, "awk") X(GIT, "git") \
    X(MAKE, "make") X(TAR, "tar") X(DD, "dd") X(SET, "set") X(TEST, "test") X(SQL, "sql") X(CC, "cc")     \
    X(CMAKE, "cmake") X(SHELL, "shell") X(PRINTF, "printf") X(CD, "cd") X(ECHO, "echo") X(GITCONFIG, "gitconfig") \
    X(DEFINES, "defines") X(COMMAND, "command") X(RSYNC, "rsync") X(FFMPEG, "ffmpeg") X(OPENSSL, "openssl")

enum table_role {
#define X(name, word) ROLE_##name,
    TABLE_ROLES(X)
#undef X
    ROLE_COUNT
};
enum table_style_bit {
#define X(name, word) STYLE_BIT_##name,
    TABLE_STYLES(X)
#undef X
};
enum table_style {
#define X(name, word) STYLE_##name = 1 << STYLE_BIT_##name,
    TABLE_STYLES(X)
#undef X
};
enum table_risk_bit {
#define X(name, word) RISK_BIT_##name,
    TABLE_RISKS(X)
#undef X
    RISK_COUNT
};
enum table_risk {
#define X(name, word) RISK_##name = 1 << RISK_BIT_##name,
    TABLE_RISKS(X)
#undef X
};
enum table_lang {
#define X(name, word) LANG_##name,
    TABLE_LANGS(X)
#undef X
    LANG_COUNT
};
enum table_reader {
#define X(name, word) READER_##name,
    TABLE_READERS(X)
#undef X
    READER_COUNT
};
enum table_arity { ARITY_NONE, ARITY_VALUE, ARITY_MAYBE };
enum table_repeat { REPEAT_ONCE, REPEAT_ANY };
struct table_option { /* four bytes: there are sixty thousand of them */
    uint32_t name : 20; /* with its dashes */
    uint32_t arity : 2;
    uint32_t mark : 6;  /* enum table_role; ROLE_TEXT: harmless */
    uint32_t arg : 4;   /* ROLE_CODE: language; ROLE_RISK: number of the class; ROLE_INSTEAD: role */
};

struct table_operand {
    uint8_t role;
    uint8_t arg;    /* ROLE_CODE, ROLE_SCRIPT: language */
    uint8_t repeat; /* at most one operand of a row repeats */
};

/* Values in marks/: reader=NAME  stdin:LANG  behind:ROW  touches=PATH,…  prefix=--x-,…  path=file:,…
 * risk=CLASS,…  does=PROGRAM+SUB,…  Lists are one string, parted by commas, in the order of the file. */
struct table_lists {
    uint32_t behind, touches; /* row of the words behind `--`; what it writes whatever its words say */
    uint32_t prefixes, paths; /* what may stand before an option's name, before a path */
    uint32_t does; /* commands of the same effect: a deny or ask of theirs holds here, where the row removes or risks */
};
struct table_row {
    uint32_t name;          /* the first of its names */
    uint32_t options;       /* first of `option_count` in table_options, sorted by name as bytes */
    uint16_t option_count;
    uint16_t operands;      /* first of `operand_count` in table_operands */
    uint8_t operand_count, reader;
    uint8_t stdin_lang;     /* reads code of that language from standard input */
    bool known;             /* facts.tab lists its options: others do not exist */
    uint32_t styles;
    uint16_t risk;          /* set of classes */
    uint16_t lists;         /* index of its texts in table_lists; rows without texts share entry 0 */
    bool subs;              /* a longer name begins with one of its names */
};

/* All names of all rows, sorted as bytes. */
struct table_name { uint32_t name; uint16_t row; };
extern const char table_text[]; /* offset 0 is the empty string */
extern const struct table_name table_names[];
extern const struct table_row table_rows[];
extern const size_t table_name_count, table_row_count;
extern const struct table_option table_options[];
extern const struct table_operand table_operands[];
extern const struct table_lists table_lists[];
#endif
