/* Listening on TCP and Unix sockets; a new connection is counted, limited and started here. */
#include "http/listen.h"

#include "base/log.h"
#include "http/server.h"
#include "http/strangers.h"
#include "http/tls.h"

#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* One socket that accepts connections. */
struct listener {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct listener *next;
    struct http_server *server;
    bool local;
    bool agents;
    bool secure;
    bool waits; /* a connection is there and was not accepted: libuv asks for no other until it is */
};

enum { LISTEN_BACKLOG = 4096, WARN_EVERY_MS = 60000 };

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    struct http_server *server = listener->server;
    free(listener);
    http_server_released(server);
}

static void close_listener(struct listener *listener) { uv_close(&listener->uv.handle, on_listener_closed); }

void http_listeners_close(struct http_server *server)
{
    struct listener *next;
    for (struct listener *at = server->listeners; at; at = next) {
        next = at->next;
        close_listener(at);
    }
    server->listeners = NULL;
}

static struct listener *listener_new(struct http_server *server, bool local)
{
    struct listener *listener = heap_new(sizeof *listener);
    CHECK((local ? uv_pipe_init(server->uv, &listener->uv.pipe, 0)
                 : uv_tcp_init(server->uv, &listener->uv.tcp)) == 0);
    listener->uv.handle.data = listener;
    listener->server = server;
    listener->local = local;
    server->handles++;
    return listener;
}

/* While there is no room for strangers the connection stays in the kernel's queue. */
static void accept_one(struct listener *listener)
{
    struct http_server *server = listener->server;
    listener->waits = !listener->local && !http_strangers_room(server);
    if (listener->waits) {
        http_server_sweep(server);
        return;
    }
    struct http_connection *connection = http_connection_new(server, listener->local);
    connection->agents = listener->agents;
    if (uv_accept(&listener->uv.stream, &connection->uv.stream) != 0)
        http_connection_close(connection);
    else
        http_connection_start(connection, listener->secure);
}

/* Errors (no descriptors left) are logged now and then, not each time. */
static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *listener = stream->data;
    int64_t now_ms = (int64_t)uv_now(listener->server->uv);
    if (status == 0) {
        accept_one(listener);
    } else if (now_ms >= listener->server->warn_ms) {
        listener->server->warn_ms = now_ms + WARN_EVERY_MS;
        log_line(LOG_WARN, "cannot accept a connection", LOG_C("error", uv_strerror(status)));
    }
}

void http_listeners_resume(struct http_server *server)
{
    for (struct listener *at = server->listeners; at; at = at->next)
        if (at->waits)
            accept_one(at);
}

/* On an error the listener is closed and must not be used any more; else the server owns it. */
static struct rc start_listening(struct listener *listener, const char *address, struct err *err)
{
    int failed = uv_listen(&listener->uv.stream, LISTEN_BACKLOG, on_connection);
    if (failed) {
        close_listener(listener);
        return err_set(err, failed == UV_EADDRINUSE ? ERR_CONFLICT : ERR_IO, "cannot listen on %s: %s",
                       address, uv_strerror(failed));
    }
    CHECK(!listener->server->stopping);
    listener->next = listener->server->listeners;
    listener->server->listeners = listener;
    return RC_OK;
}

/* "host:port", the host in brackets when it has colons itself. */
static struct rc split_address(const char *address, char host[256], char port[6], struct err *err)
{
    struct str s = str_of(address);
    const char *colon = strrchr(address, ':');
    uint64_t number;
    if (!colon || !str_to_u64(str_of(colon + 1), &number) || number > 65535 || strlen(colon + 1) > 5)
        return err_set(err, ERR_INVALID, "\"%s\" is not an address: write HOST:PORT", address);
    struct str name = str_sub(s, 0, (size_t)(colon - address));
    if (name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
        name = str_sub(name, 1, name.n - 1);
    else if (str_find(name, ':') < name.n)
        return err_set(err, ERR_INVALID, "\"%s\" needs brackets: [HOST]:PORT", address);
    if (name.n == 0 || !str_c(name, host, 256) || !str_c(str_of(colon + 1), port, 6))
        return err_set(err, ERR_INVALID, "\"%s\" is not an address: write HOST:PORT", address);
    return RC_OK;
}

/* The first address that the name has; used when the server starts only. */
static struct rc resolve(const char *address, struct sockaddr_storage *ret_where, struct err *err)
{
    char host[256];
    char port[6];
    TRY(split_address(address, host, port, err));
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed)
        return err_set(err, ERR_INVALID, "cannot listen on %s: %s", address, gai_strerror(failed));
    CHECK(found->ai_addrlen <= sizeof *ret_where);
    memcpy(ret_where, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return RC_OK;
}

static int port_of(const struct listener *listener)
{
    struct sockaddr_storage where;
    int n = sizeof where;
    CHECK(uv_tcp_getsockname(&listener->uv.tcp, (struct sockaddr *)&where, &n) == 0);
    return ntohs(where.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&where)->sin6_port
                                             : ((struct sockaddr_in *)&where)->sin_port);
}

static struct rc listen_tcp(struct http_server *server, const char *address, bool secure, int *ret_port,
                            struct err *err)
{
    struct sockaddr_storage where;
    TRY(resolve(address, &where, err));
    struct listener *listener = listener_new(server, false);
    listener->secure = secure;
    int failed = uv_tcp_bind(&listener->uv.tcp, (struct sockaddr *)&where, 0);
    if (failed) {
        close_listener(listener);
        return err_set(err, ERR_IO, "cannot listen on %s: %s", address, uv_strerror(failed));
    }
    TRY(start_listening(listener, address, err));
    *ret_port = port_of(listener);
    return RC_OK;
}

struct rc http_listen_tcp(struct http_server *server, const char *address, int *ret_port, struct err *err)
{
    return listen_tcp(server, address, false, ret_port, err);
}

struct rc http_listen_tls(struct http_server *server, const char *address, const struct http_certificate *certificate,
                          int *ret_port, struct err *err)
{
    CHECK(!server->tls);
    TRY(tls_open(certificate->cert_file, certificate->key_file, &server->tls, err));
    if (certificate->name)
        tls_each_name(server->tls, certificate->name, certificate->arg);
    return listen_tcp(server, address, true, ret_port, err);
}

/* A socket file nobody answers at is left over from a process that was killed. */
static struct rc remove_stale(const char *path, struct err *err)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    struct stat st;
    if (!str_c(str_of(path), where.sun_path, sizeof where.sun_path) || path[0] == '\0')
        return err_set(err, ERR_INVALID, "the path of the socket is longer than %zu bytes: %s",
                       sizeof where.sun_path - 1, path);
    if (lstat(path, &st) != 0)
        return RC_OK;
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFLICT, "%s is in the way: it is not a socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a socket: %s", strerror(errno));
    bool alive = connect(fd, (struct sockaddr *)&where, sizeof where) == 0 || errno != ECONNREFUSED;
    (void)close(fd);
    if (alive)
        return err_set(err, ERR_CONFLICT, "another process listens on %s", path);
    if (unlink(path) != 0)
        return err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    return RC_OK;
}

/* Clients cannot connect before listen(), so the mode is set in time. */
static int open_to(const struct http_unix *where)
{
    errno = 0;
    const struct group *group = where->group ? getgrnam(where->group) : NULL;
    if (where->group && (!group || chown(where->path, (uid_t)-1, group->gr_gid) != 0))
        return uv_translate_sys_error(errno ? errno : ENOENT);
    mode_t mode = where->agents ? 0666 : where->group ? 0660 : 0600;
    return chmod(where->path, mode) == 0 ? 0 : uv_translate_sys_error(errno);
}

/* A socket file that nobody listens on any more is replaced; one that is in use is an error. */
struct rc http_listen_unix(struct http_server *server, const struct http_unix *where, struct err *err)
{
    TRY(remove_stale(where->path, err));
    struct listener *listener = listener_new(server, true);
    listener->agents = where->agents;
    int failed = uv_pipe_bind(&listener->uv.pipe, where->path);
    if (!failed)
        failed = open_to(where);
    if (failed) {
        close_listener(listener);
        return err_set(err, ERR_IO, "cannot listen on %s%s%s: %s", where->path, where->group ? " for the group " : "",
                       where->group ? where->group : "", uv_strerror(failed));
    }
    return start_listening(listener, where->path, err);
}
