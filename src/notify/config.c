/* notify.json: channels by name, and routes.
 *
 *     {"channels": {"phone": {"type": "ntfy", "url": "https://ntfy.example", "topic": "…", "token": {"file": "…"}},
 *                   "waker": {"type": "command", "command": ["notify-send", "Nod"]}},
 *      "routes": [{"person": "owner", "steps": [{"after": "10s", "to": ["phone"]}, {"after": "5m", "to": ["waker"]}]}]}
 *
 * A secret is {"file": PATH} or {"env": NAME}, never the text itself: the file may be shown to others. */
#include "notify/inner.h"

#include "io/file.h"

#include <stdlib.h>

enum { FILE_BYTES_MAX = 256 << 10, SECRET_BYTES_MAX = 4096, WORDS_MAX = 64, AFTER_DEFAULT_MS = 10000,
       REMIND_DEFAULT_MS = 300000, ZONE_BYTES_MAX = 64 << 10, LEASE_DEFAULT_MS = 30000, LEASE_MIN_MS = 3000 };

/* ---- values ---- */

/* "10s", "5m", "2h". */
static bool read_duration(struct str text, int64_t *ret_ms)
{
    int64_t number = 0;
    if (text.n < 2 || text.n > 6)
        return false;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        number = number * 10 + (text.p[i] - '0');
    }
    switch (text.p[text.n - 1]) {
    case 's': *ret_ms = number * 1000; return true;
    case 'm': *ret_ms = number * 60000; return true;
    case 'h': *ret_ms = number * 3600000; return true;
    default: return false;
    }
}

/* Secrets are never in the configuration itself, which people copy and show: it names a file or a variable. */
static struct rc read_secret(struct arena *arena, const struct json *options, const char *key, struct str *ret_secret,
                             struct err *err)
{
    const struct json *value = json_get(options, key);
    struct str file = json_text(value, "file"), name = json_text(value, "env");
    if (!value)
        return RC_OK;
    if (file.n) {
        TRY(file_read(arena, arena_c(arena, file), SECRET_BYTES_MAX, ret_secret, err));
        *ret_secret = str_trim(*ret_secret);
        return RC_OK;
    }
    const char *text = name.n ? getenv(arena_c(arena, name)) : NULL;
    if (!text)
        return err_set(err, ERR_INVALID,
                       "\"%s\" must be {\"file\": PATH} or {\"env\": NAME} of a variable that is set", key);
    *ret_secret = arena_str(arena, str_of(text));
    return RC_OK;
}

/* A list of words and no line: no shell reads it, so that nothing in a message can become a command. */
static struct rc read_command(struct arena *arena, const struct json *options, struct channel *channel, struct err *err)
{
    const struct json *words = json_get(options, "command");
    size_t n = 0;
    if (!words)
        return RC_OK;
    if (words->type != JSON_ARRAY || words->count == 0 || words->count > WORDS_MAX)
        return err_set(err, ERR_INVALID, "\"command\" must be a list of words, the program first");
    channel->command = arena_array(arena, char *, words->count + 1);
    for (const struct json *word = words->first; word; word = word->next) {
        if (word->type != JSON_STRING || word->text.n == 0)
            return err_set(err, ERR_INVALID, "\"command\" must be a list of words, the program first");
        channel->command[n++] = (char *)arena_c(arena, word->text);
    }
    channel->command[n] = NULL;
    return RC_OK;
}

static struct rc read_users(struct arena *arena, const struct json *users, struct channel *channel, struct err *err)
{
    if (!users)
        return RC_OK;
    if (users->type != JSON_ARRAY || users->count > USERS_MAX)
        return err_set(err, ERR_INVALID, "\"users\" must be a list of at most %d ids", USERS_MAX);
    for (const struct json *user = users->first; user; user = user->next)
        channel->users[channel->user_count++] = arena_str(arena, user->text);
    return RC_OK;
}

static struct rc read_detail(const struct json *options, struct channel *channel, struct err *err)
{
    static const char *const names[] = {[DETAIL_KIND] = "kind", [DETAIL_SUMMARY] = "summary", [DETAIL_FULL] = "full"};
    struct str text = STR_NONE;
    TRY(json_want_str(options, "detail", 16, &text, err));
    size_t i = str_index(text, names, sizeof names / sizeof *names);
    if (str_empty(text))
        return RC_OK;
    if (i == sizeof names / sizeof *names)
        return err_set(err, ERR_INVALID, "\"detail\" must be kind, summary or full");
    channel->detail = (enum detail)i;
    return RC_OK;
}

/* ---- channels and routes ---- */

/* The members are the same for all kinds; each kind checks those that it needs. */
static struct rc read_channel(struct arena *arena, const struct json *options, struct channel *channel, struct err *err)
{
    struct str url = STR_NONE, format = STR_NONE;
    channel->name = arena_str(arena, options->key);
    channel->kind = channel_kind(json_text(options, "type"));
    if (!channel->kind)
        return err_set(err, ERR_INVALID, "\"type\" must be one of %.*s", STR_ARG(channel_kinds_words(arena)));
    channel->detail = channel->kind->detail;
    TRY(read_detail(options, channel, err));
    TRY(json_want_str(options, "url", 2048, &url, err));
    TRY(json_want_str(options, "topic", 256, &channel->topic, err));
    TRY(json_want_str(options, "chat", 256, &channel->topic, err));
    TRY(json_want_str(options, "to", 256, &channel->topic, err));
    TRY(json_want_str(options, "from", 256, &channel->from, err));
    TRY(json_want_str(options, "format", 32, &format, err));
    TRY(json_want_bool(options, "protected", &channel->is_protected, err));
    TRY(read_secret(arena, options, "secret", &channel->secret, err));
    TRY(read_secret(arena, options, "token", &channel->secret, err));
    TRY(read_secret(arena, options, "signing", &channel->signing, err));
    TRY(read_secret(arena, options, "app", &channel->app, err));
    TRY(read_users(arena, json_get(options, "users"), channel, err));
    TRY(read_command(arena, options, channel, err));
    channel->url = url.n ? arena_c(arena, url) : NULL;
    ARENA_KEEP(arena, &channel->topic, &channel->from);
    channel->cloudevents = str_is(format, "cloudevents");
    return channel->kind->check(channel, err);
}

static struct rc find_channel(const struct config *config, struct str name, unsigned *ret_at, struct err *err)
{
    for (unsigned i = 0; i < config->channel_count; i++) {
        if (str_eq(config->channels[i].name, name) && config->channels[i].kind != channel_kind(STR("callback"))) {
            *ret_at = i;
            return RC_OK;
        }
    }
    return err_set(err, ERR_INVALID, "there is no channel \"%.*s\"", STR_ARG(name));
}

/* The channels must be defined before the routes: a name that is misspelled is found at the start and not at the
 * first message. */
static struct rc read_step(const struct config *config, const struct json *json, struct outbox_step *step,
                           struct err *err)
{
    struct str after = STR_NONE;
    const struct json *to = json_get(json, "to");
    TRY(json_want_str(json, "after", 16, &after, err));
    *step = (struct outbox_step){.after_ms = AFTER_DEFAULT_MS};
    if (after.n && !read_duration(after, &step->after_ms))
        return err_set(err, ERR_INVALID, "\"after\" must be like 10s, 5m or 2h");
    if (!to || to->type != JSON_ARRAY || to->count == 0 || to->count > CHANNELS_MAX)
        return err_set(err, ERR_INVALID, "\"to\" must be a list of channels");
    for (const struct json *name = to->first; name; name = name->next)
        TRY(find_channel(config, name->text, &step->channels[step->count++], err));
    return RC_OK;
}

static struct rc read_only(struct arena *arena, const struct json *json, struct only *only, struct err *err)
{
    struct str session = STR_NONE;
    if (!json)
        return RC_OK;
    TRY(json_want_str(json, "tool", 128, &only->tool, err));
    TRY(json_want_str(json, "agent", 128, &only->agent, err));
    TRY(json_want_str(json, "session", 256, &session, err));
    TRY(json_want_bool(json, "risky", &only->risky, err));
    ARENA_KEEP(arena, &only->tool, &only->agent);
    only->session = session.n ? arena_c(arena, session) : NULL;
    return RC_OK;
}

/* "07:30"; -1: not a time of the day. */
static int read_minute(struct str text)
{
    uint64_t hour, minute;
    struct str rest, first = str_cut(text, ':', &rest);
    bool good = first.n == 2 && rest.n == 2 && str_to_u64(first, &hour) && str_to_u64(rest, &minute) && hour < 24 &&
                minute < 60;
    return good ? (int)(hour * 60 + minute) : -1;
}

/* ["22:00-07:00"] */
static struct rc read_quiet(const struct json *json, struct outbox_route *route, struct err *err)
{
    if (!json)
        return RC_OK;
    if (json->type != JSON_ARRAY || json->count > QUIETS_MAX)
        return err_set(err, ERR_INVALID, "\"quiet\" must be a list of at most %d", QUIETS_MAX);
    for (const struct json *one = json->first; one; one = one->next) {
        struct str to, from = str_cut(one->text, '-', &to);
        struct quiet *quiet = &route->quiet[route->quiet_count++];
        *quiet = (struct quiet){read_minute(from), read_minute(to)};
        if (one->type != JSON_STRING || quiet->from < 0 || quiet->to < 0 || quiet->from == quiet->to)
            return err_set(err, ERR_INVALID, "\"quiet\" has hours like \"22:00-07:00\"");
    }
    return RC_OK;
}

/* "Europe/Berlin": a file of the system's time zones, and no other file. */
static struct rc read_zone(struct arena *arena, const struct json *json, struct outbox_route *route, struct err *err)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    struct str name = STR_NONE, file;
    TRY(json_want_str(json, "zone", 64, &name, err));
    if (name.n == 0)
        return RC_OK;
    for (size_t i = 0; i < name.n; i++)
        if (!strchr(letters, name.p[i]) || name.p[0] == '/')
            return err_set(err, ERR_INVALID, "\"zone\" must be like \"Europe/Berlin\"");
    const char *path = arena_printf(arena, "/usr/share/zoneinfo/%.*s", STR_ARG(name)).p;
    if (rc_ok(file_read(arena, path, ZONE_BYTES_MAX, &file, NULL)))
        route->zone = zone_parse(arena, file);
    if (!route->zone)
        return err_set(err, ERR_INVALID, "\"zone\": this system does not know %.*s (%s; package tzdata)", STR_ARG(name),
                       path);
    return RC_OK;
}

/* A step for somebody else is a route of its own, for the same calls. */
static struct rc read_escalation(struct arena *arena, struct config *config, unsigned of, const struct json *step,
                                 struct err *err)
{
    if (config->route_count == ROUTES_MAX)
        return err_set(err, ERR_INVALID, "with their escalations there are more than %d routes", ROUTES_MAX);
    struct outbox_route *route = &config->routes[config->route_count++];
    *route = (struct outbox_route){.person = arena_str(arena, json_text(step, "person")),
                                   .only = config->routes[of].only,
                                   .instead_of = of, .count = 1};
    config->routes[of].has_escalation = true;
    return read_step(config, step, &route->steps[0], err);
}

/* A step for another person is an escalation and becomes a route of its own. */
static struct rc read_route(struct arena *arena, struct config *config, const struct json *json, struct err *err)
{
    const struct json *steps = json_get(json, "steps");
    unsigned at = config->route_count++;
    struct outbox_route *route = &config->routes[at];
    *route = (struct outbox_route){.person = arena_str(arena, json_text(json, "person"))};
    TRY(read_only(arena, json_get(json, "only"), &route->only, err));
    TRY(read_quiet(json_get(json, "quiet"), route, err));
    TRY(read_zone(arena, json, route, err));
    if (route->person.n == 0)
        return err_set(err, ERR_INVALID, "\"person\" is missing: the name of a token that may answer");
    if (!steps || steps->type != JSON_ARRAY || steps->count == 0 || steps->count > STEPS_MAX)
        return err_set(err, ERR_INVALID, "\"steps\" must be a list of 1 to %d", STEPS_MAX);
    for (const struct json *step = steps->first; step; step = step->next) {
        struct str person = json_text(step, "person");
        if (person.n && !str_eq(person, route->person))
            TRY(read_escalation(arena, config, at, step, err));
        else
            TRY(read_step(config, step, &route->steps[route->count++], err));
    }
    if (route->count == 0)
        return err_set(err, ERR_INVALID, "one of \"steps\" must be for the route's own \"person\"");
    return RC_OK;
}

static struct rc read_times(const struct json *json, struct config *config, struct err *err)
{
    struct str text = STR_NONE, answers = STR_NONE;
    TRY(json_want_str(json, "answers", 16, &answers, err));
    if (answers.n && (!read_duration(answers, &config->answers_ms) || config->answers_ms == 0))
        return err_set(err, ERR_INVALID, "\"answers\" must be like 10m: how long buttons and links are good");
    TRY(json_want_str(json, "lease", 16, &text, err));
    if (text.n && (!read_duration(text, &config->lease_ms) || config->lease_ms < LEASE_MIN_MS))
        return err_set(err, ERR_INVALID, "\"lease\" must be like 30s, at least 3s");
    return RC_OK;
}

static struct rc read_callbacks(struct arena *arena, const struct json *json, struct callbacks *callbacks,
                                struct err *err)
{
    const struct json *hosts = json_get(json, "hosts");
    if (!json)
        return RC_OK;
    if (!hosts || hosts->type != JSON_ARRAY || hosts->count == 0 || hosts->count > HOSTS_MAX)
        return err_set(err, ERR_INVALID, "\"callbacks\" must have \"hosts\": a list of 1 to %d, or [\"public\"]",
                       HOSTS_MAX);
    for (const struct json *host = hosts->first; host; host = host->next)
        callbacks->hosts[callbacks->count++] = arena_str(arena, host->text);
    return json_want_bool(json, "private", &callbacks->private_net, err);
}

/* Errors name the channel or the route. The server does not start with a configuration that it understands in part.
 */
static struct rc read_all(struct arena *arena, const struct json *json, struct config *config, struct err *err)
{
    TRY(read_times(json, config, err));
    TRY(read_callbacks(arena, json_get(json, "callbacks"), &config->callbacks, err));
    const struct json *channels = json_get(json, "channels"), *routes = json_get(json, "routes");
    if (!channels && !routes)
        return RC_OK;
    if (!channels || channels->type != JSON_OBJECT || channels->count > CHANNELS_MAX - 2)
        return err_set(err, ERR_INVALID, "\"channels\" must be an object of at most %d", CHANNELS_MAX - 2);
    for (const struct json *one = channels->first; one; one = one->next) {
        struct rc rc = read_channel(arena, one, &config->channels[config->channel_count++], err);
        if (rc_bad(rc))
            return err_wrap(err, rc, "channel \"%.*s\"", STR_ARG(one->key));
    }
    if (!routes || routes->type != JSON_ARRAY || routes->count >= ROUTES_MAX)
        return err_set(err, ERR_INVALID, "\"routes\" must be a list of fewer than %d", ROUTES_MAX);
    unsigned number = 0;
    for (const struct json *one = routes->first; one; one = one->next) {
        number++;
        struct rc rc = config->route_count < ROUTES_MAX ? read_route(arena, config, one, err)
                                                        : err_set(err, ERR_INVALID, "there are too many");
        if (rc_bad(rc))
            return err_wrap(err, rc, "route %u", number);
    }
    return RC_OK;
}

/* Adds the channels that need no entry in the file: browsers and programs register themselves. Routes may name the
 * first. */
static void add_push(struct config *config)
{
    config->channels[0] = (struct channel){.name = STR("push"), .kind = channel_kind(STR("push"))};
    config->channels[1] = (struct channel){.name = STR("callback"), .kind = channel_kind(STR("callback"))};
    config->channel_count = 2;
    /* The route of callbacks, which belong to no person. */
    config->routes[0] = (struct outbox_route){.person = STR_NONE};
    config->route_count = 1;
}

/* A person with a device and no route of their own is told after ten seconds, and again after five minutes. */
void config_add_person(struct config *config, struct str person)
{
    for (unsigned i = 0; i < config->route_count; i++)
        if (str_eq(config->routes[i].person, person))
            return;
    if (config->route_count == ROUTES_MAX)
        return;
    config->routes[config->route_count++] =
        (struct outbox_route){.person = person, .count = 2,
                              .steps = {{.after_ms = AFTER_DEFAULT_MS, .channels = {0}, .count = 1},
                                        {.after_ms = REMIND_DEFAULT_MS, .channels = {0}, .count = 1}}};
}

/* Without a file there is only push to browsers. */
struct rc config_read(struct arena *arena, const char *file, struct config *ret_config, struct err *err)
{
    struct str text;
    const struct json *json;
    struct rc rc = file_read(arena, file, FILE_BYTES_MAX, &text, err);
    *ret_config = (struct config){.lease_ms = LEASE_DEFAULT_MS};
    add_push(ret_config);
    if (rc.code == ERR_NOT_FOUND)
        return RC_OK;
    if (rc_ok(rc))
        rc = json_parse(arena, text, &json, err);
    if (rc_ok(rc))
        rc = read_all(arena, json, ret_config, err);
    return rc_bad(rc) ? err_wrap(err, rc, "%s", file) : RC_OK;
}
