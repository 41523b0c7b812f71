/* The file in which MCP servers are set up, in the shape that other programs use for theirs:
 *
 *   {"mcpServers": {"files":  {"command": "mcp-files", "args": ["--root", "${HOME}/notes"], "env": {"KEY": "${KEY}"}},
 *                   "issues": {"type": "http", "url": "https://issues.example/mcp",
 *                              "headers": {"Authorization": "Bearer ${ISSUES_TOKEN}"}, "timeout": 60000}}}
 *
 * A program may have "hosts", which its box lets it reach, and "box": false in the person's own file.
 * Values may hold secrets: they go to the server and nowhere else.
 */
#include "tools/mcp.h"

#include <stdlib.h>

enum {
    TIMEOUT_MS = 120000,
    TIMEOUT_MS_MAX = 3600000,
    VALUE_BYTES_MAX = 8192,
    LIST_MAX = 200,
};

/* An entry that is being read. */
struct reading {
    struct arena *arena;
    bool foreign;  /* the file belongs to a repository: it gets none of our keys */
};

/* A repository's file sees only the variables that any program gets: it must not send our keys to a server of its
 * choice. */
static const char *value_of(const struct reading *r, struct str name)
{
    char *kept[ENVIRONMENT_KEPT_MAX];
    if (!r->foreign)
        return getenv(arena_c(r->arena, name));
    for (size_t i = environment_kept(r->arena, kept); i-- > 0;) {
        struct str value;
        if (str_eq(str_cut(str_of(kept[i]), '=', &value), name))
            return value.p;
    }
    return NULL;
}

/* ${NAME} and ${NAME:-otherwise}; a name that is not set is an error, so that no server is asked with half a key. */
static struct rc expand(const struct reading *r, struct str text, const char **ret_value, struct err *err)
{
    BUF_SCOPE(buf, VALUE_BYTES_MAX);
    while (text.n) {
        if (!str_starts(text, STR("${"))) {
            buf_putc(&buf, text.p[0]);
            text = str_sub(text, 1, text.n);
            continue;
        }
        size_t end = str_find(text, '}');
        if (end == text.n)
            return err_set(err, ERR_INVALID, "\"${\" without \"}\"");
        struct str inside = str_sub(text, 2, end), otherwise = STR_NONE;
        const char *border = memmem(inside.p, inside.n, ":-", 2);
        if (border) {
            otherwise = str_sub(inside, (size_t)(border - inside.p) + 2, inside.n);
            inside = str_sub(inside, 0, (size_t)(border - inside.p));
        }
        const char *value = value_of(r, inside);
        if (!value && !border)
            return err_set(err, ERR_INVALID, "%.*s is not set in the environment%s", STR_ARG(inside),
                           r->foreign ? ", or not for repositories" : "");
        buf_put(&buf, value ? str_of(value) : otherwise);
        text = str_sub(text, end + 1, text.n);
    }
    if (buf.over || (buf.n && memchr(buf.p, '\0', buf.n)))
        return err_set(err, ERR_INVALID, "a value is too long");
    *ret_value = arena_c(r->arena, buf_str(&buf));
    return RC_OK;
}

/* Writes the members of an object of strings into `list`, each as "key<between>value". */
static struct rc read_pairs(const struct reading *r, const struct json *object, const char *between, const char **list,
                            struct err *err)
{
    for (const struct json *m = object ? object->first : NULL; m; m = m->next) {
        const char *value;
        if (m->type != JSON_STRING || m->key.n == 0 || str_has(m->text, STR("\n")) || str_has(m->text, STR("\r")))
            return err_set(err, ERR_INVALID, "\"%.*s\" must be a string on one line", STR_ARG(m->key));
        TRY(expand(r, m->text, &value, err));
        *list++ = arena_printf(r->arena, "%.*s%s%s", STR_ARG(m->key), between, value).p;
    }
    return RC_OK;
}

/* "host" or "host:port"; 443 is the usual port. */
static struct rc read_hosts(const struct json *list, struct server *server, struct err *err)
{
    for (const struct json *one = list ? list->first : NULL; one; one = one->next) {
        struct str port_text, host = str_cut(one->text, ':', &port_text);
        uint64_t port = 443;
        bool good = one->type == JSON_STRING && (host.n == one->text.n || str_to_u64(port_text, &port)) &&
                    port < 65536 && server->host_count < MCP_HOSTS_MAX;
        if (!good || !egress_target_set(&server->hosts[server->host_count++], host, (unsigned)port))
            return err_set(err, ERR_INVALID, "\"hosts\" must be an array of at most %d hosts, like api.example.com or "
                                             "db.example.com:5432", MCP_HOSTS_MAX);
    }
    return RC_OK;
}

/* A repository's file may name hosts, which are shown when the file is to be trusted; it cannot switch the box off.
 */
static struct rc read_box(const struct reading *r, const struct json *entry, struct server *server, struct err *err)
{
    const struct json *box = json_get(entry, "box"), *hosts = json_get(entry, "hosts");
    if ((box && box->type != JSON_FALSE && box->type != JSON_TRUE) || (hosts && hosts->type != JSON_ARRAY))
        return err_set(err, ERR_INVALID, "\"box\" must be true or false, \"hosts\" an array");
    server->unboxed = !json_bool(entry, "box", true);
    if (server->unboxed && r->foreign)
        return err_set(err, ERR_INVALID, "\"box\": false is for your own file, not for a repository's");
    return read_hosts(hosts, server, err);
}

/* Variables of the entry win over those that are passed on by default. */
static struct rc read_program(const struct reading *r, const struct json *entry, struct server *server, struct err *err)
{
    struct arena *arena = r->arena;
    const struct json *args = json_get(entry, "args"), *env = NULL;
    TRY(json_want_object(entry, "env", &env, err));
    if ((args && args->type != JSON_ARRAY) || (args && args->count > LIST_MAX) || (env && env->count > LIST_MAX))
        return err_set(err, ERR_INVALID, "\"args\" must be an array, \"env\" an object, of no more than %d", LIST_MAX);
    const char **list = arena_array(arena, const char *, (args ? args->count : 0) + 2);
    server->args = (char **)list;
    TRY(expand(r, json_text(entry, "command"), list++, err));
    for (const struct json *a = args ? args->first : NULL; a; a = a->next) {
        if (a->type != JSON_STRING)
            return err_set(err, ERR_INVALID, "\"args\" must be strings");
        TRY(expand(r, a->text, list++, err));
    }
    const char **environment = arena_array(arena, const char *, ENVIRONMENT_KEPT_MAX + (env ? env->count : 0) + 1);
    char *kept[ENVIRONMENT_KEPT_MAX];
    size_t kept_count = environment_kept(arena, kept);
    server->environment = (char **)environment;
    for (size_t i = 0; i < kept_count; i++)
        if (!json_get_str(env, str_cut(str_of(kept[i]), '=', &(struct str){0})))
            *environment++ = kept[i];
    server->transport = &transport_stdio;
    TRY(read_box(r, entry, server, err));
    return read_pairs(r, env, "=", environment, err);
}

static struct rc read_web(const struct reading *r, const struct json *entry, struct server *server, struct err *err)
{
    const struct json *headers = NULL;
    TRY(json_want_object(entry, "headers", &headers, err));
    TRY(expand(r, json_text(entry, "url"), &server->url, err));
    if (!str_starts(str_of(server->url), STR("https://")) && !str_starts(str_of(server->url), STR("http://")))
        return err_set(err, ERR_INVALID, "\"url\" must begin with https:// or http://");
    server->header_count = headers ? headers->count : 0;
    if (server->header_count > LIST_MAX)
        return err_set(err, ERR_INVALID, "too many headers");
    server->headers = arena_array(r->arena, const char *, server->header_count + 1);
    server->transport = &transport_http;
    return read_pairs(r, headers, ": ", server->headers, err);
}

/* Two underscores would make it unclear which server a tool belongs to, and rules go by that. */
static bool good_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        bool single = c == '_' && i > 0 && i + 1 < name.n && name.p[i - 1] != '_';
        if (!letter && !single)
            return false;
    }
    return name.n > 0 && name.n < MCP_NAME_BYTES_MAX / 2;
}

/* One entry. A mistake is an error of the file and names the server; it is never started half configured. */
struct rc server_read(struct arena *arena, const struct json *entry, struct server *server, struct err *err)
{
    struct str type = json_text(entry, "type");
    struct str name = entry->key;
    const struct reading reading = {arena, server->folder != NULL};
    bool program = json_get(entry, "command") != NULL;
    server->timeout_ms = TIMEOUT_MS;
    if (!good_name(name))
        return err_set(err, ERR_INVALID, "\"%.*s\" is not a name for a server: letters, digits, - and single _",
                       STR_ARG(name));
    server->name = arena_str(arena, name);
    struct rc rc = json_want_i64(entry, "timeout", 1, TIMEOUT_MS_MAX, &server->timeout_ms, err);
    if (rc_ok(rc) && program && (type.n == 0 || str_is(type, "stdio")))
        rc = read_program(&reading, entry, server, err);
    else if (rc_ok(rc) && !program && (type.n == 0 || str_is(type, "http") || str_is(type, "streamable-http")))
        rc = read_web(&reading, entry, server, err);
    else if (rc_ok(rc))
        rc = err_set(err, ERR_INVALID, "it has neither a \"command\" nor the \"type\" http and a \"url\"");
    return rc_ok(rc) ? rc : err_wrap(err, rc, "the server \"%.*s\"", STR_ARG(name));
}
