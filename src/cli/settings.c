/* Reads settings from their four places. The file format and the precedence are promised in settings.h. */
#include "cli/settings.h"

#include "base/buf.h"
#include "io/file.h"

#include <pwd.h>
#include <unistd.h>

enum { CONFIG_BYTES_MAX = 256 << 10, LIST_ITEMS_MAX = 256, SETTING_TEXT_MAX = 16 << 10 };

const struct setting settings_table[SETTING_COUNT] = {
#define X(field_, kind_, name_, environment_, where_, audience_, otherwise_, value_, words_, ...) \
    [SETTING_ID_##field_] = {.name = (name_),                                                      \
                             .environment = (environment_),                                        \
                             .where = (where_),                                                    \
                             .audience = (audience_),                                              \
                             .kind = SETTING_##kind_,                                              \
                             .offset = offsetof(struct settings, field_),                          \
                             .otherwise = (otherwise_),                                            \
                             .value = (value_),                                                    \
                             .words = (words_),                                                    \
                             __VA_ARGS__},
    SETTINGS(X)
#undef X
};

/* A parsed value of any kind, before it is known whether its source is strong enough. */
union setting_value {
    const char *text;
    bool flag;
    int choice;
    int64_t duration;
    struct setting_list list;
};

static const size_t value_bytes[] = {
    [SETTING_PATH] = sizeof(const char *),   [SETTING_TEXT] = sizeof(const char *),
    [SETTING_SECRET] = sizeof(const char *), [SETTING_FLAG] = sizeof(bool),
    [SETTING_CHOICE] = sizeof(int),          [SETTING_DURATION] = sizeof(int64_t),
    [SETTING_NUMBER] = sizeof(int64_t),
    [SETTING_LIST] = sizeof(struct setting_list),
};

bool settings_parse_duration(struct str text, int64_t *ret_seconds)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    int64_t factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text.n > 1 && text.p[text.n - 1] == units[i].unit) {
            factor = units[i].seconds;
            text.n--;
            break;
        }
    uint64_t count;
    if (!str_to_u64(text, &count) || count > (uint64_t)(INT64_MAX / factor))
        return false;
    *ret_seconds = (int64_t)count * factor;
    return true;
}

static bool flag_parse(struct str text, bool *ret_flag)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (!str_is(text, yes[i]) && !str_is(text, no[i]))
            continue;
        *ret_flag = str_is(text, yes[i]);
        return true;
    }
    return false;
}

/* The number of `word` in "a|b|c", -1 when it is none of them. */
static int choice_find(const char *choices, struct str word)
{
    struct str rest = str_of(choices);
    for (int i = 0; rest.n > 0; i++)
        if (str_eq(str_cut(rest, '|', &rest), word))
            return i;
    return -1;
}

/* Choices are kept as their number; the names are parts of the table's text, "a|b|c". */
static struct str choice_name(const char *choices, int number)
{
    struct str rest = str_of(choices);
    struct str word = str_cut(rest, '|', &rest);
    for (int i = 0; i < number; i++)
        word = str_cut(rest, '|', &rest);
    CHECK(!str_empty(word));
    return word;
}

static struct setting_list list_parse(struct arena *arena, struct str text)
{
    struct setting_list list = {.items = arena_array(arena, const char *, LIST_ITEMS_MAX)};
    size_t start = 0;
    for (size_t i = 0; i <= text.n && list.count < LIST_ITEMS_MAX; i++) {
        if (i < text.n && text.p[i] != ',' && text.p[i] != ' ')
            continue;
        if (i > start)
            list.items[list.count++] = arena_c(arena, str_sub(text, start, i));
        start = i + 1;
    }
    return list;
}

/* A service may have no HOME; then the user database says it. */
static const char *home_folder(const struct settings *settings)
{
    const char *home = settings->environment("HOME");
    if (home && home[0] == '/')
        return home;
    const struct passwd *user = getpwuid(geteuid());
    return user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

static const char *path_parse(const struct settings *settings, struct str text)
{
    const char *home = str_starts(text, STR("~/")) ? home_folder(settings) : NULL;
    if (home)
        return arena_printf(settings->arena, "%s%.*s", home, STR_ARG(str_sub(text, 1, text.n))).p;
    return arena_c(settings->arena, text);
}

/* One value of any kind; the same for flags, environment and file. */
static struct rc value_parse(const struct settings *settings, const struct setting *setting, struct str text,
                             union setting_value *ret_value, struct err *err)
{
    uint64_t number;
    struct arena *arena = settings->arena;
    if (text.n > SETTING_TEXT_MAX || memchr(text.p ? text.p : "", '\0', text.n))
        return err_set(err, ERR_INVALID, "%s is too long or holds a NUL byte", setting->name);
    switch (setting->kind) {
    case SETTING_PATH:
        ret_value->text = path_parse(settings, text);
        return RC_OK;
    case SETTING_TEXT:
    case SETTING_SECRET:
        ret_value->text = arena_c(arena, text);
        return RC_OK;
    case SETTING_LIST:
        ret_value->list = list_parse(arena, text);
        return RC_OK;
    case SETTING_FLAG:
        if (flag_parse(text, &ret_value->flag))
            return RC_OK;
        return err_set(err, ERR_INVALID, "%s must be yes or no, not '%.*s'", setting->name, STR_ARG(text));
    case SETTING_CHOICE:
        ret_value->choice = choice_find(setting->choices, text);
        if (ret_value->choice >= 0)
            return RC_OK;
        return err_set(err, ERR_INVALID, "%s must be one of %s, not '%.*s'", setting->name, setting->choices,
                       STR_ARG(text));
    case SETTING_DURATION:
        if (settings_parse_duration(text, &ret_value->duration) && ret_value->duration >= setting->min &&
            ret_value->duration <= setting->max)
            return RC_OK;
        return err_set(
            err, ERR_INVALID,
            "%s must be a time from %lld to %lld seconds, such as 90, 90s, 5m, 2h or 7d, not '%.*s'",
            setting->name, (long long)setting->min, (long long)setting->max, STR_ARG(text));
    case SETTING_NUMBER:
        if (str_to_u64(text, &number) && number <= (uint64_t)setting->max && (int64_t)number >= setting->min) {
            ret_value->duration = (int64_t)number;
            return RC_OK;
        }
        return err_set(err, ERR_INVALID, "%s must be a whole number from %lld to %lld, not '%.*s'", setting->name,
                       (long long)setting->min, (long long)setting->max, STR_ARG(text));
    }
    CHECK(false);
    return RC_OK;
}

/* The value is checked even when another origin wins: a mistake in the file is told, whatever the flags say. */
struct rc settings_take(struct settings *settings, enum setting_id id, struct str text, struct origin origin,
                        struct err *err)
{
    CHECK(id < SETTING_COUNT && settings->arena);
    const struct setting *setting = &settings_table[id];
    union setting_value value = {0};
    TRY(value_parse(settings, setting, text, &value, err));
    if (origin.kind < settings->origins[id].kind)
        return RC_OK;
    memcpy((char *)settings + setting->offset, &value, value_bytes[setting->kind]);
    settings->origins[id] = origin;
    return RC_OK;
}

enum setting_id settings_find(struct str name, unsigned where)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if ((settings_table[i].where & where) && str_is(name, settings_table[i].name))
            return (enum setting_id)i;
    return SETTING_COUNT;
}

/* ---- the file ---- */

/* The line without its comment and the blanks around it. */
static struct str line_content(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '#' && (i == 0 || line.p[i - 1] == ' ' || line.p[i - 1] == '\t'))
            return str_trim(str_sub(line, 0, i));
    return str_trim(line);
}

/* A setting that stands twice is an error: which of the two lines was meant is not for us to guess. */
static struct rc line_take(struct settings *settings, struct str line, struct origin origin, unsigned *seen,
                           struct err *err)
{
    struct str value;
    size_t equals = str_find(line, '=');
    if (equals == line.n)
        return err_set(err, ERR_INVALID, "expected `name = value`");
    struct str name = str_trim(str_cut(line, '=', &value));
    enum setting_id id = settings_find(name, IN_FILE);
    if (id == SETTING_COUNT)
        return err_set(err, ERR_INVALID, "there is no setting '%.*s'; `nod config --example` shows them all",
                       STR_ARG(name));
    if (seen[id])
        return err_set(err, ERR_INVALID, "%s is already set in line %u", settings_table[id].name, seen[id]);
    seen[id] = origin.line;
    return settings_take(settings, id, str_trim(value), origin, err);
}

static struct rc file_take(struct settings *settings, const char *path, struct str text, struct err *err)
{
    unsigned seen[SETTING_COUNT] = {0};
    struct origin origin = {.kind = ORIGIN_FILE, .file = path};
    while (text.n > 0) {
        struct str line = line_content(str_cut(text, '\n', &text));
        origin.line++;
        if (str_empty(line))
            continue;
        struct rc rc = line_take(settings, line, origin, seen, err);
        if (rc_bad(rc))
            return err_wrap(err, rc, "%s:%u", path, origin.line);
    }
    return RC_OK;
}

/* $VARIABLE/nod, else HOME/UNDER/nod; empty when neither is known. */
static struct str own_folder(const struct settings *settings, const char *variable, const char *under)
{
    const char *base = settings->environment(variable);
    const char *home = home_folder(settings);
    if (base && base[0] == '/')
        return arena_printf(settings->arena, "%s/nod", base);
    if (home)
        return arena_printf(settings->arena, "%s/%s/nod", home, under);
    return STR("");
}

/* The file need not exist unless somebody named it. One that cannot be read is an error and not an empty one. */
static struct rc file_load(struct settings *settings, struct err *err)
{
    struct str text;
    bool named = settings->origins[SETTING_ID_config].kind != ORIGIN_DEFAULT;
    if (settings->config[0] == '\0')
        return RC_OK;
    struct err why = {0};
    struct rc rc = file_read(settings->arena, settings->config, CONFIG_BYTES_MAX, &text, &why);
    if (rc.code == ERR_NOT_FOUND && !named)
        return RC_OK;
    if (rc_bad(rc))
        return err_set(err, ERR_INVALID, "the configuration file: %s", why.text);
    return file_take(settings, settings->config, text, err);
}

/* ---- defaults ---- */

/* `text` with the word DATA or SOCKET, if it is there, replaced by that setting's value. */
static struct str default_expand(const struct settings *settings, const char *text)
{
    const struct {
        const char *word;
        const char *value;
    } words[] = {{"DATA", settings->data}, {"SOCKET", settings->socket}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(text, words[i].word);
        if (!at)
            continue;
        return arena_printf(settings->arena, "%.*s%s%s", (int)(at - text), text,
                            words[i].value ? words[i].value : "", at + strlen(words[i].word));
    }
    return str_of(text);
}

/* A default that does not parse is our mistake, hence the CHECK. */
static void default_take(struct settings *settings, enum setting_id id, struct str text)
{
    struct err err = {0};
    if (settings->origins[id].kind != ORIGIN_DEFAULT)
        return;
    struct rc rc = settings_take(settings, id, text, (struct origin){.kind = ORIGIN_DEFAULT}, &err);
    CHECK(rc_ok(rc));
}

/* The order of the table is the order in which defaults may refer to each other. */
static void defaults_take(struct settings *settings)
{
    default_take(settings, SETTING_ID_data, own_folder(settings, "XDG_DATA_HOME", ".local/share"));
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (i == SETTING_ID_config || i == SETTING_ID_data)
            continue;
        default_take(settings, (enum setting_id)i, default_expand(settings, settings_table[i].otherwise));
    }
}

/* `nod pending --data DIR` means the server of DIR, also where NOD_URL names another. */
static void url_yields(struct settings *settings)
{
    struct origin *url = &settings->origins[SETTING_ID_url];
    if (settings->origins[SETTING_ID_data].kind > url->kind ||
        settings->origins[SETTING_ID_socket].kind > url->kind)
        *url = (struct origin){.kind = ORIGIN_DEFAULT};
}

static struct rc environment_take(struct settings *settings, struct err *err)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        const char *name = settings_table[i].environment;
        const char *text = name ? settings->environment(name) : NULL;
        if (!text || text[0] == '\0')
            continue;
        struct rc rc = settings_take(settings, (enum setting_id)i, str_of(text),
                                     (struct origin){.kind = ORIGIN_ENVIRONMENT}, err);
        if (rc_bad(rc))
            return err_wrap(err, rc, "in the environment, %s", name);
    }
    return RC_OK;
}

/* After the flags were taken. Defaults come last, because some are made from other settings. */
struct rc settings_load(struct settings *settings, struct err *err)
{
    CHECK(settings->arena && settings->environment);
    struct rc rc = settings->pinned ? RC_OK : environment_take(settings, err);
    struct str folder = own_folder(settings, "XDG_CONFIG_HOME", ".config");
    default_take(settings, SETTING_ID_config,
                 str_empty(folder) ? folder : arena_printf(settings->arena, "%s/config", folder.p));
    if (rc_ok(rc) && !settings->pinned)
        rc = file_load(settings, err);
    url_yields(settings);
    defaults_take(settings);
    return rc;
}

/* ---- in words ---- */

static struct str duration_show(struct arena *arena, int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}};
    for (size_t i = 0; seconds > 0 && i < sizeof units / sizeof *units; i++)
        if (seconds % units[i].seconds == 0)
            return arena_printf(arena, "%lld%s", (long long)(seconds / units[i].seconds), units[i].unit);
    return arena_printf(arena, "%llds", (long long)seconds);
}

static struct str list_show(struct arena *arena, const struct setting_list *list)
{
    struct str shown = STR("");
    for (size_t i = 0; i < list->count; i++)
        shown = arena_printf(arena, "%.*s%s%s", STR_ARG(shown), i ? "," : "", list->items[i]);
    return shown;
}

/* The value as `nod config` prints it; secrets are never shown. */
struct str settings_show(const struct settings *settings, enum setting_id id)
{
    CHECK(id < SETTING_COUNT);
    const struct setting *setting = &settings_table[id];
    const void *at = (const char *)settings + setting->offset;
    switch (setting->kind) {
    case SETTING_PATH:
    case SETTING_TEXT: return str_of(*(const char *const *)at);
    case SETTING_SECRET: return **(const char *const *)at ? STR("(set, not shown)") : STR("");
    case SETTING_FLAG: return *(const bool *)at ? STR("yes") : STR("no");
    case SETTING_CHOICE: return choice_name(setting->choices, *(const int *)at);
    case SETTING_DURATION: return duration_show(settings->arena, *(const int64_t *)at);
    case SETTING_NUMBER: return arena_printf(settings->arena, "%lld", (long long)*(const int64_t *)at);
    case SETTING_LIST: return list_show(settings->arena, at);
    }
    CHECK(false);
    return STR_NONE;
}

struct str settings_origin(const struct settings *settings, enum setting_id id)
{
    CHECK(id < SETTING_COUNT);
    const struct origin *origin = &settings->origins[id];
    switch (origin->kind) {
    case ORIGIN_DEFAULT: return STR("default");
    case ORIGIN_FLAG: return arena_printf(settings->arena, "flag --%s", settings_table[id].name);
    case ORIGIN_FILE: return arena_printf(settings->arena, "file %s:%u", origin->file, origin->line);
    case ORIGIN_ENVIRONMENT:
        return arena_printf(settings->arena, "environment %s", settings_table[id].environment);
    }
    CHECK(false);
    return STR_NONE;
}
