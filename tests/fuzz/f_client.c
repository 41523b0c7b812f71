/* Answers of a server, which may be an impostor: whatever it sends, the client ends with an answer within its limits or
 * an error. The first byte chooses between a call and a stream; a thread is the server, sends the rest and closes. */
#include "base/limits.h"
#include "http/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ANSWER_MS = 20000, ANSWER_BYTES_MAX = 64 << 10, STREAM_EVENTS_MAX = 1000 };

static int listener = -1;
static char url[128];
static struct sockaddr_un where = {.sun_family = AF_UNIX};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char answer[ANSWER_BYTES_MAX]; /* under the lock */
static size_t answer_bytes;

static void remove_socket(void) { (void)unlink(where.sun_path); }

static void *serve(void *arg)
{
    (void)arg;
    for (;;) {
        char request[4096];
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        (void)pthread_mutex_lock(&lock);
        if (recv(fd, request, sizeof request, 0) > 0)
            (void)send(fd, answer, answer_bytes, MSG_NOSIGNAL | MSG_DONTWAIT); /* it fits into the socket's buffer */
        (void)pthread_mutex_unlock(&lock);
        (void)shutdown(fd, SHUT_WR);
        while (recv(fd, request, sizeof request, 0) > 0)
            ;
        (void)close(fd);
    }
    return NULL;
}

static void start(void)
{
    pthread_t thread;
    (void)snprintf(where.sun_path, sizeof where.sun_path, "/dev/shm/nod-fuzz-client.%d", (int)getpid());
    (void)snprintf(url, sizeof url, "unix:%s", where.sun_path);
    (void)unlink(where.sun_path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&where, sizeof where) != 0 || listen(listener, 16) != 0 ||
        pthread_create(&thread, NULL, serve, NULL) != 0)
        abort();
    (void)atexit(remove_socket);
}

static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    unsigned *count = arg;
    (void)id, (void)type, (void)data;
    return ++*count < STREAM_EVENTS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct http_client *client;
    struct http_response response = {0};
    struct err err = {0};
    unsigned events = 0;
    if (size < 1)
        return 0;
    if (listener < 0)
        start();
    (void)pthread_mutex_lock(&lock);
    answer_bytes = size - 1 < sizeof answer ? size - 1 : sizeof answer;
    memcpy(answer, data + 1, answer_bytes);
    (void)pthread_mutex_unlock(&lock);
    if (rc_bad(http_client_new(url, "nod_fuzz", &client, &err)))
        abort();
    if (data[0] & 1) {
        (void)http_client_stream(client, STR("/api/events"), on_event, &events, &err);
    } else if (rc_ok(http_client_call(client, &arena, "GET", STR("/api/me"), STR_NONE, ANSWER_MS, &response, &err))) {
        if (response.status < 100 || response.status > 999 || response.body.n > LIMIT_ANSWER_BYTES)
            abort();
    }
    http_client_free(client);
    return 0;
}
