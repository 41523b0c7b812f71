/* The proxy of one box (egress.h): accepts connections on its listeners and gives each a thread (line.c), until
 * the box ends. Counts what each target has sent and received, and keeps an event per target. */
#include "base/lock.h"
#include "egress/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- what was done ---- */

/* NULL when the box has used too many hosts already. Entries are never removed, so that the pointer stays good. */
struct used *egress_used(struct egress *egress, const struct egress_target *target)
{
    struct used *found = NULL;
    LOCK_SCOPE(&egress->lock);
    for (unsigned i = 0; i < egress->used_count && !found; i++) {
        const struct egress_target *other = &egress->used[i].use.target;
        if (other->port == target->port && strcmp(other->host, target->host) == 0)
            found = &egress->used[i];
    }
    if (!found && egress->used_count < HOSTS_MAX) {
        found = &egress->used[egress->used_count++];
        *found = (struct used){.use.target = *target};
    }
    return found;
}

/* Each state of a host is stored once. Two locks: storing may take long, and counting bytes must not wait for it. */
bool egress_keep(struct egress *egress, struct used *used, enum egress_state state, const char *why)
{
    lock_take(&egress->keeping);
    lock_take(&egress->lock);
    struct egress_use use = used->use;
    bool kept = used->kept[state];
    lock_drop(&egress->lock);
    use.state = state;
    (void)snprintf(use.why, sizeof use.why, "%s", why);
    if (!kept)
        kept = egress->host->keep(egress->host, &use);
    used->kept[state] = kept;
    lock_drop(&egress->keeping);
    return kept;
}

void egress_count(struct egress *egress, struct used *used, uint64_t up, uint64_t down)
{
    LOCK_SCOPE(&egress->lock);
    used->use.connections++;
    used->use.up += up;
    used->use.down += down;
}

static void keep_rest(struct egress *egress)
{
    for (unsigned i = 0; i < egress->used_count; i++)
        if (egress->used[i].kept[EGRESS_OPENED])
            (void)egress_keep(egress, &egress->used[i], EGRESS_CLOSED, "");
}

/* ---- connections ---- */

static void *serve(void *arg)
{
    struct line *line = arg;
    struct egress *egress = line->egress;
    line_serve(line);
    free(line);
    LOCK_SCOPE(&egress->lock);
    egress->lines--;
    CHECK(pthread_cond_signal(&egress->left) == 0);
    return NULL;
}

/* A detached thread for each connection, with a small stack: there may be many. egress_end waits for their number to
 * be 0. */
static void begin_line(struct egress *egress, int client, uint16_t forward)
{
    pthread_attr_t attributes;
    pthread_t thread;
    struct line *line = heap_new(sizeof *line);
    *line = (struct line){.egress = egress, .client = client, .server = -1, .forward = forward};
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, LINE_STACK_BYTES) == 0);
    lock_take(&egress->lock);
    egress->lines++;
    lock_drop(&egress->lock);
    if (pthread_create(&thread, &attributes, serve, line) != 0) {
        lock_take(&egress->lock);
        egress->lines--;
        lock_drop(&egress->lock);
        (void)close(client);
        free(line);
    }
    CHECK(pthread_attr_destroy(&attributes) == 0);
}

static bool is_full(struct egress *egress)
{
    LOCK_SCOPE(&egress->lock);
    return egress->lines >= LINES_MAX;
}

static void accept_one(struct egress *egress, unsigned number)
{
    int client = accept4(egress->listeners[number].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0)
        begin_line(egress, client, egress->listeners[number].port);
}

/* ---- listeners ---- */

/* One message of the box per listener: the port of the host it leads to, and its descriptor. */
static bool receive(struct egress *egress)
{
    uint16_t port;
    struct iovec part = {.iov_base = &port, .iov_len = sizeof port};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(egress->channel, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    const struct cmsghdr *head = got == sizeof port ? CMSG_FIRSTHDR(&message) : NULL;
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
        return false;
    int fd;
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    egress->listeners[egress->listener_count].fd = fd;
    egress->listeners[egress->listener_count++].port = port;
    return true;
}

/* The proxy's own thread: it takes the listeners that the box passes out, and accepts. While too many connections are
 * open it does not accept, and further clients wait. */
static void *attend(void *arg)
{
    enum { STOP, CHANNEL, FIRST };
    struct egress *egress = arg;
    while (!egress_ended(egress)) {
        struct pollfd polls[FIRST + 1 + EGRESS_PORTS_MAX] = {
            [STOP] = {.fd = egress->stop[0], .events = POLLIN},
            [CHANNEL] = {.fd = egress->listener_count < egress->wanted ? egress->channel : -1, .events = POLLIN},
        };
        bool full = is_full(egress);
        unsigned count = egress->listener_count;
        for (unsigned i = 0; i < count; i++)
            polls[FIRST + i] = (struct pollfd){.fd = full ? -1 : egress->listeners[i].fd, .events = POLLIN};
        (void)poll(polls, FIRST + count, full ? LOOK_MS : -1);
        for (unsigned i = 0; i < count; i++)
            if (polls[FIRST + i].revents && !is_full(egress))
                accept_one(egress, i);
        if (polls[CHANNEL].revents && !receive(egress))
            egress->wanted = egress->listener_count; /* the box was not made */
    }
    return NULL;
}

/* ---- all of it ---- */

/* Always returns a proxy; where its thread cannot be started, connections of the box are never accepted. */
struct egress *egress_start(const struct egress_options *options)
{
    struct egress *egress = heap_new(sizeof *egress);
    CHECK(options->listeners <= 1 + EGRESS_PORTS_MAX);
    *egress = (struct egress){.host = options->host, .channel = options->channel,
                              .wanted = options->listeners, .stop = {-1, -1}};
    if (options->own_ports)
        memcpy(egress->own_ports, options->own_ports, sizeof egress->own_ports);
    CHECK(pthread_mutex_init(&egress->lock, NULL) == 0);
    CHECK(pthread_mutex_init(&egress->keeping, NULL) == 0);
    CHECK(pthread_cond_init(&egress->left, NULL) == 0);
    egress->has_thread = pipe2(egress->stop, O_CLOEXEC) == 0 &&
                         pthread_create(&egress->thread, NULL, attend, egress) == 0;
    return egress;
}

void egress_end(struct egress *egress)
{
    if (!egress)
        return;
    atomic_store(&egress->ended, true);
    if (egress->stop[1] >= 0)
        (void)close(egress->stop[1]);
    if (egress->has_thread)
        CHECK(pthread_join(egress->thread, NULL) == 0);
    lock_take(&egress->lock);
    while (egress->lines)
        CHECK(pthread_cond_wait(&egress->left, &egress->lock) == 0);
    lock_drop(&egress->lock);
    keep_rest(egress);
    for (unsigned i = 0; i < egress->listener_count; i++)
        (void)close(egress->listeners[i].fd);
    if (egress->stop[0] >= 0)
        (void)close(egress->stop[0]);
    (void)close(egress->channel);
    egress->host->release(egress->host);
    CHECK(pthread_mutex_destroy(&egress->lock) == 0);
    CHECK(pthread_mutex_destroy(&egress->keeping) == 0);
    CHECK(pthread_cond_destroy(&egress->left) == 0);
    free(egress);
}
