/* Sessions of nod mcp proxy --listen: each is a child of its own, with two threads. See listen.h. */
#include "cli/relay/listen.h"

#include "base/list.h"
#include "base/lock.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    LISTEN_QUEUE_BYTES = 16 << 20,
    LISTEN_PATIENCE_MS = 10000, /* for a child to end by itself; it gives its own server 5 s */
};

/* A line on its way between the loop and a session's child. */
struct listen_line {
    struct listen_line *next;
    struct listen_session *session;
    bool last;                  /* the child has ended */
    size_t n;
    char bytes[];
};

/* ---- queues; with the lock held ---- */

/* With the listener's lock. The line is copied: its source is a buffer that is used again. */
static void push(struct listen_queue *queue, struct listen_session *session, struct str text, bool last)
{
    struct listen_line *line = heap_new(sizeof *line + text.n);
    line->session = session;
    line->last = last;
    line->n = text.n;
    if (text.n)
        memcpy(line->bytes, text.p, text.n);
    if (!queue->first)
        queue->end = &queue->first;
    *queue->end = line;
    queue->end = &line->next;
    queue->bytes += text.n;
}

/* With the listener's lock. The caller frees the line. */
static struct listen_line *pop(struct listen_queue *queue)
{
    struct listen_line *line = queue->first;
    if (!line)
        return NULL;
    queue->first = line->next;
    queue->bytes -= line->n;
    return line;
}

/* ---- the threads of a session ---- */

/* The writer sends nothing more. */
static void close_queue(struct listen_session *session)
{
    LOCK_SCOPE(&session->listener->lock);
    session->closing = true;
    (void)pthread_cond_broadcast(&session->more);
}

/* A thread per session, because a child that does not read would block the loop. */
static void *write_child(void *arg)
{
    struct listen_session *session = arg;
    struct listen_server *listener = session->listener;
    for (;;) {
        lock_take(&listener->lock);
        while (!session->to_child.first && !session->closing)
            (void)pthread_cond_wait(&session->more, &listener->lock);
        struct listen_line *line = session->closing ? NULL : pop(&session->to_child);
        lock_drop(&listener->lock);
        if (!line)
            break;
        (void)relay_pipe_put(&session->child.in, (struct str){line->bytes, line->n});
        free(line);
    }
    relay_pipe_close(&session->child.in);
    return NULL;
}

/* On the reading thread. It waits while the loop is behind, so that a child that writes much is slowed down and costs
 * no memory. */
static void take_line(void *arg, struct str line)
{
    struct listen_session *session = arg;
    struct listen_server *listener = session->listener;
    lock_take(&listener->lock);
    while (listener->from_children.bytes > LISTEN_QUEUE_BYTES)
        (void)pthread_cond_wait(&listener->room, &listener->lock);
    push(&listener->from_children, session, line, false);
    lock_drop(&listener->lock);
    waker_wake(listener->waker);
}

/* The session's last thread: it joins the writer, waits for the child's end and tells the loop, which then frees the
 * session. */
static void *read_child(void *arg)
{
    struct listen_session *session = arg;
    struct listen_server *listener = session->listener;
    (void)relay_read_lines(session->child.out, PROXY_LINE_BYTES, take_line, session);
    close_queue(session);
    (void)pthread_join(session->writer, NULL);
    lock_take(&listener->lock);
    session->reaping = true;
    lock_drop(&listener->lock);
    (void)relay_child_end(&session->child);
    (void)close(session->child.out);
    lock_take(&listener->lock);
    push(&listener->from_children, session, STR_NONE, true);
    lock_drop(&listener->lock);
    waker_wake(listener->waker);
    return NULL;
}

/* ---- sessions, on the loop ---- */

/* A child that is blocked, because its server reads nothing, does not see the end of its input. */
static void lose_patience(void *arg)
{
    struct listen_session *session = arg;
    LOCK_SCOPE(&session->listener->lock);
    if (!session->reaping)
        (void)kill(-session->child.pid, SIGKILL);
}

void listen_session_end(struct listen_session *session)
{
    close_queue(session);
    session->ended = true;
    timer_start(session->patience, LISTEN_PATIENCE_MS);
}

/* On the loop. A child that lets its queue fill up is ended, and its session with it. */
void listen_session_tell(struct listen_session *session, struct str message)
{
    struct listen_server *listener = session->listener;
    lock_take(&listener->lock);
    bool room = session->to_child.bytes + message.n <= LISTEN_QUEUE_BYTES;
    if (room)
        push(&session->to_child, session, message, false);
    (void)pthread_cond_broadcast(&session->more);
    lock_drop(&listener->lock);
    if (!room)
        listen_session_end(session);
}

struct listen_session *listen_session_find(struct listen_server *listener, struct str id)
{
    struct listen_session *session = listener->sessions;
    while (session && (session->ended || session->stateless || !str_is(id, session->id.text)))
        session = session->next;
    return session;
}

static bool is_idle(const struct listen_session *session)
{
    return !session->events && !ANY(size_t i = 0; i < LISTEN_OPEN_MAX; i++, session->open[i].text);
}

static bool is_full(const struct listen_session *session)
{
    size_t i = 0;
    while (i < LISTEN_OPEN_MAX && session->open[i].text)
        i++;
    return i == LISTEN_OPEN_MAX;
}

/* Clients go without saying so: when there is no room, the oldest session without a connection ends. Those that have
 * ended count for a while, as long as their processes are there. */
static bool make_room(struct listen_server *listener)
{
    struct listen_session *oldest = NULL;
    unsigned count = 0;
    for (struct listen_session *one = listener->sessions; one; one = one->next) {
        count += one->ended ? 0 : 1;
        if (!one->ended && is_idle(one))
            oldest = one;
    }
    if (count >= LISTEN_SESSIONS_MAX && oldest)
        listen_session_end(oldest);
    return (count < LISTEN_SESSIONS_MAX || oldest) && listener->session_count < 2 * LISTEN_SESSIONS_MAX;
}

/* On an error no thread and no child is left. */
static struct rc start_threads(struct listen_session *session, struct err *err)
{
    bool writes = pthread_create(&session->writer, NULL, write_child, session) == 0;
    if (writes && pthread_create(&session->reader, NULL, read_child, session) == 0) {
        (void)pthread_detach(session->reader);
        return RC_OK;
    }
    (void)kill(-session->child.pid, SIGKILL);
    close_queue(session);
    if (writes)
        (void)pthread_join(session->writer, NULL);
    relay_pipe_close(&session->child.in);
    (void)relay_child_wait(&session->child);
    (void)close(session->child.out);
    return err_set(err, ERR_INTERNAL, "no thread could be started");
}

/* On the loop. NULL: too many sessions, or the program cannot be started; `err` says which. */
struct listen_session *listen_session_new(struct listen_server *listener, struct err *err)
{
    if (!make_room(listener)) {
        (void)err_set(err, ERR_TOO_MANY, "there are too many sessions already");
        return NULL;
    }
    struct listen_session *session = heap_new(sizeof *session);
    session->listener = listener;
    session->id = id_new("mcp");
    (void)pthread_cond_init(&session->more, NULL);
    if (rc_bad(relay_child_start(listener->argv, NULL, &session->child, err)) || rc_bad(start_threads(session, err))) {
        (void)pthread_cond_destroy(&session->more);
        free(session);
        return NULL;
    }
    session->patience = timer_new(listener->loop, lose_patience, session);
    session->next = listener->sessions;
    listener->sessions = session;
    listener->session_count++;
    return session;
}

struct listen_session *listen_session_shared(struct listen_server *listener, struct err *err)
{
    struct listen_session *session = listener->sessions;
    while (session && (session->ended || !session->stateless || is_full(session)))
        session = session->next;
    if (!session && (session = listen_session_new(listener, err)))
        session->stateless = true;
    return session;
}

/* Called whenever one of its conditions may have become true; does nothing while a thread or a stream still uses it.
 */
void listen_session_free(struct listen_session *session)
{
    if (!session->over || session->stream_count)
        return;
    LIST_REMOVE(session->listener->sessions, session);
    session->listener->session_count--;
    for (unsigned i = 0; i < session->early_count; i++)
        shared_unref(session->early[i]);
    for (struct listen_line *line; (line = pop(&session->to_child));)
        free(line);
    timer_free(session->patience);
    (void)pthread_cond_destroy(&session->more);
    free(session);
}

/* On the loop, woken by reading threads. Waiting readers are let go on as soon as there is room. */
void listen_take(void *arg)
{
    struct listen_server *listener = arg;
    for (;;) {
        lock_take(&listener->lock);
        struct listen_line *line = pop(&listener->from_children);
        (void)pthread_cond_broadcast(&listener->room);
        lock_drop(&listener->lock);
        if (!line)
            return;
        if (line->last)
            proxy_listen_ended(line->session);
        else
            proxy_listen_pass(line->session, (struct str){line->bytes, line->n});
        free(line);
    }
}
