/* Every setting of the program, in one table.
 *
 * A value comes from a flag, else from the environment, else from the configuration file, else from its
 * default. The table makes the structure, reads all four, and prints --help, the example file, `nod config`
 * and the manual: a new setting is one row in settings_table.h. Modules never see this structure, only the values they
 * need.
 *
 * The file holds lines `name = value`; `#` at the start of a line or after a blank begins a comment. An
 * unknown name, a name given twice or a bad value is an error that says file and line.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/settings_table.h"

#include <stdint.h>

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct setting_list {
    const char **items;
    size_t count;
};

enum setting_kind {
    SETTING_PATH,     /* `~/` at its start is the home folder */
    SETTING_TEXT,
    SETTING_SECRET,   /* never printed */
    SETTING_FLAG,     /* yes or no; as a flag it takes no value */
    SETTING_CHOICE,   /* the number of a word of `choices` */
    SETTING_DURATION, /* seconds, or with a unit: 90, 90s, 5m, 2h, 7d */
    SETTING_NUMBER,   /* a whole number */
    SETTING_LIST,     /* words, with commas or blanks between them */
};

/* The C type of a value of each kind. */
#define SETTING_TYPE_PATH const char *
#define SETTING_TYPE_TEXT const char *
#define SETTING_TYPE_SECRET const char *
#define SETTING_TYPE_FLAG bool
#define SETTING_TYPE_CHOICE int
#define SETTING_TYPE_DURATION int64_t
#define SETTING_TYPE_NUMBER int64_t
#define SETTING_TYPE_LIST struct setting_list

enum setting_id {
#define X(field, ...) SETTING_ID_##field,
    SETTINGS(X)
#undef X
    SETTING_COUNT
};

/* A line of the table of settings. */
struct setting {
    const char *name;
    const char *environment; /* NULL: none */
    unsigned where;          /* IN_FLAGS, IN_FILE */
    unsigned audience;
    enum setting_kind kind;
    size_t offset;
    const char *otherwise;   /* the default */
    const char *value;       /* placeholder of the value in --help; NULL for a flag */
    const char *words;
    const char *choices;
    int64_t min, max;
};

extern const struct setting settings_table[SETTING_COUNT];

/* In rising strength. */
enum origin_kind { ORIGIN_DEFAULT, ORIGIN_FILE, ORIGIN_ENVIRONMENT, ORIGIN_FLAG };

/* Where a value came from, for `nod config` and for errors. */
struct origin {
    enum origin_kind kind;
    const char *file; /* set for ORIGIN_FILE */
    unsigned line;
};

struct settings {
#define X(field, kind, ...) SETTING_TYPE_##kind field;
    SETTINGS(X)
#undef X
    struct origin origins[SETTING_COUNT];
    struct arena *arena; /* where the values live */
    char *(*environment)(const char *name); /* getenv, or a test's */
    bool pinned; /* an identity is in use: environment and file are ignored */
};

static inline struct settings settings_init(struct arena *arena, char *(*environment)(const char *name))
{
    return (struct settings){.arena = arena, .environment = environment};
}
/* Sets a value from one source; a stronger source wins, and of equal ones the later value. */
struct rc settings_take(struct settings *settings, enum setting_id id, struct str text, struct origin origin,
                        struct err *err);
/* After the flags: environment, file, defaults. On an error, too, every setting has a value. */
struct rc settings_load(struct settings *settings, struct err *err);
/* The setting of that name that may stand there (IN_FLAGS, IN_FILE); SETTING_COUNT when there is none. */
enum setting_id settings_find(struct str name, unsigned where);
/* The value, and where it comes from, as text; a secret is masked. */
struct str settings_show(const struct settings *settings, enum setting_id id);
struct str settings_origin(const struct settings *settings, enum setting_id id);
/* `90`, `90s`, `5m`, `2h`, `7d` in seconds. */
bool settings_parse_duration(struct str text, int64_t *ret_seconds);

#endif
