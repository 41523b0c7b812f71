/* The loop hears what other processes keep, while the follower's thread sleeps: that spares a change of thread for each
 * small group. The thread does all that may wait: it connects, and reads what did not come in a notification.
 *
 * The follower's handle has one owner at a time: the loop while `lent` is set, else the thread. The socket may be
 * watched meanwhile, or still be watched when its connection is gone: the watch has a descriptor of its own, and ends
 * when it is rung for a handle that is not lent.
 */
#include "store/inner.h"

static void end_watch(struct store *store)
{
    if (store->watch)
        loop_watch_free(store->watch);
    store->watch = NULL;
    store->watched = 0;
}

/* Hands over what notifications have brought. False: the thread must read. It must, too, while somebody else feeds the
 * loop, because the loop does not wait for that. */
static bool feed_told(struct store *store)
{
    bool more;
    if (pthread_mutex_trylock(&store->feeding) != 0)
        return false;
    struct read *read = read_new(READ_EVENTS);
    read->after = store->handed_seq;
    bool told = store->backend->told(store->follower, read), any = read->event_count > 0;
    bool fed = told && any && store_feed(store, read, &more);
    unlock(&store->feeding);
    if (!fed)
        read_free(read);
    return fed || (told && !any);
}

/* The outbox needs no ring: it is delivered next. */
static void be_awake(struct store *store)
{
    lock(&store->outbox);
    store->rung = true;
    unlock(&store->outbox);
}

/* On the loop: the socket can be read. */
static void on_news(void *arg)
{
    struct store *store = arg;
    lock(&store->hearing.lock);
    bool news = store->lent && store->backend->hear(store->follower, store->writer);
    if (news)
        be_awake(store);
    if (!store->lent || (news && !feed_told(store))) {
        store->lent = false;
        end_watch(store);
        monitor_signal(&store->hearing);
    } else {
        unlock(&store->hearing.lock);
    }
    if (news)
        (void)store_deliver(store);
}

/* On the loop: the handle was lent, with a socket that is not watched yet. */
static void on_lent(void *arg)
{
    struct store *store = arg;
    lock(&store->hearing.lock);
    if (store->lent && store->watched != store->ear_connection) {
        end_watch(store);
        store->watch = loop_watch_new(store->loop, store->ear_fd, on_news, store);
        store->watched = store->watch ? store->ear_connection : 0;
    }
    unlock(&store->hearing.lock);
}

enum listened store_listen(struct store *store)
{
    uint64_t connection;
    int fd = store->backend->ear ? store->backend->ear(store->follower, &connection) : -1;
    if (fd < 0)
        return LISTENED_NOT;
    if (store->backend->hear(store->follower, store->writer))
        return LISTENED_NEWS;
    lock(&store->hearing.lock);
    store->lent = !store->hearing.closing;
    store->ear_fd = fd;
    store->ear_connection = connection;
    if (store->lent && store->watched != connection)
        waker_wake(store->lent_waker);
    bool time_left = true;
    while (store->lent && !store->hearing.closing && time_left)
        time_left = monitor_wait(&store->hearing, (int64_t)store->look_ms * 1000);
    bool news = !store->lent && !store->hearing.closing;
    store->lent = false;
    unlock(&store->hearing.lock);
    return news ? LISTENED_NEWS : LISTENED_IN_VAIN;
}

void store_open_ear(struct store *store)
{
    monitor_init(&store->hearing);
    store->lent_waker = waker_new(store->loop, on_lent, store);
}

/* The follower's thread has ended. */
void store_close_ear(struct store *store)
{
    end_watch(store);
    waker_free(store->lent_waker);
    monitor_done(&store->hearing);
}
