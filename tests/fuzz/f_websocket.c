/* Frames of WebSockets: whatever a client sends, messages that arrive are valid text within the limit, and the same
 * however the bytes are cut. The server is real and has a thread of its own; the first byte chooses the pieces. */
#include "base/limits.h"
#include "base/utf8.h"
#include "http/http.h"
#include "io/loop.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATIENCE_MS = 60000, HEARD_BYTES_MAX = 1 << 22 };

#define UPGRADE                                                                                     \
    "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"                  \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

static struct sockaddr_un where = {.sun_family = AF_UNIX};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static bool gone;
static struct buf heard;

static void remove_socket(void) { (void)unlink(where.sun_path); }

static void on_message(struct http_socket *socket, void *arg, struct str text)
{
    (void)socket, (void)arg;
    if (!utf8_valid(text) || text.n > LIMIT_BODY_BYTES)
        abort();
    (void)pthread_mutex_lock(&lock);
    buf_printf(&heard, "%zu:", text.n);
    buf_put(&heard, text);
    (void)pthread_mutex_unlock(&lock);
}

static void on_gone(struct http_socket *socket, void *arg)
{
    (void)socket, (void)arg;
    (void)pthread_mutex_lock(&lock);
    gone = true;
    (void)pthread_cond_signal(&ended);
    (void)pthread_mutex_unlock(&lock);
}

static void handle(void *arg, struct http_request *request)
{
    (void)arg;
    (void)http_socket_start(request, &(struct http_socket_options){.message = on_message, .gone = on_gone});
}

static void *run(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void start(void)
{
    pthread_t thread;
    struct loop *loop;
    struct http_server *server;
    (void)snprintf(where.sun_path, sizeof where.sun_path, "/dev/shm/nod-fuzz-websocket.%d", (int)getpid());
    heard = buf_init(HEARD_BYTES_MAX);
    if (rc_bad(loop_new(&loop, NULL)) ||
        rc_bad(http_server_new(loop, &(struct http_options){.handle = handle}, &server, NULL)) ||
        rc_bad(http_listen_unix(server, &(struct http_unix){.path = where.sun_path}, NULL)) ||
        pthread_create(&thread, NULL, run, loop) != 0)
        abort();
    (void)atexit(remove_socket);
}

/* Reads what is there, or until the end; true at the end. */
static bool drain(int fd, int flags)
{
    char bytes[4096];
    ssize_t got;
    while ((got = recv(fd, bytes, sizeof bytes, flags)) > 0)
        ;
    return got == 0 || (flags & MSG_DONTWAIT) == 0;
}

/* A server that has refused a frame may close before all is sent. */
static void send_all(int fd, const uint8_t *data, size_t size, size_t step)
{
    while (size) {
        struct pollfd room = {.fd = fd, .events = POLLOUT | POLLIN};
        if (poll(&room, 1, PATIENCE_MS) <= 0)
            abort();
        ssize_t put = send(fd, data, size < step ? size : step, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put > 0) {
            data += put;
            size -= (size_t)put;
        } else if (drain(fd, MSG_DONTWAIT)) {
            return;
        }
    }
}

static void talk(const uint8_t *data, size_t size, size_t step, struct buf *ret_heard)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    gone = false;
    buf_clear(&heard);
    if (fd < 0 || connect(fd, (struct sockaddr *)&where, sizeof where) != 0)
        abort();
    send_all(fd, (const uint8_t *)UPGRADE, sizeof UPGRADE - 1, sizeof UPGRADE);
    send_all(fd, data, size, step);
    (void)shutdown(fd, SHUT_WR);
    (void)drain(fd, 0);
    (void)close(fd);
    (void)pthread_mutex_lock(&lock);
    while (!gone)
        (void)pthread_cond_wait(&ended, &lock);
    buf_put(ret_heard, buf_str(&heard));
    (void)pthread_mutex_unlock(&lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BUF_SCOPE(whole, HEARD_BYTES_MAX);
    BUF_SCOPE(pieces, HEARD_BYTES_MAX);
    if (size < 1)
        return 0;
    if (!where.sun_path[0])
        start();
    talk(data + 1, size - 1, size, &whole);
    talk(data + 1, size - 1, (size_t)data[0] + 1, &pieces);
    if (!str_eq(buf_str(&whole), buf_str(&pieces)))
        abort();
    return 0;
}
