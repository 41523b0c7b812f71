/* The conversation on its way into the log: a queue, and a thread that empties it in order.
 * Refused records are passed over (the result of a denied call, say); while it is away, the queue
 * waits, up to a ceiling. */
#include "cli/relay/relay.h"

#include "base/limits.h"
#include "base/lock.h"
#include "cli/remote.h"
#include "http/http.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE_BYTES_MAX = 64 << 20, POST_MS_MAX = 30000, AWAY_US = 300000, END_S = 5 };

/* A request that waits to be sent: target and body, one behind the other. */
struct relay_post {
    struct relay_post *next;
    size_t target_n, body_n;
    char bytes[];
};

static struct relay_post *take_first(struct relay_record *record)
{
    LOCK_SCOPE(&record->lock);
    while (!record->first && !record->ending)
        (void)pthread_cond_wait(&record->more, &record->lock);
    return record->first;
}

static void drop_first(struct relay_record *record)
{
    (void)pthread_mutex_lock(&record->lock);
    struct relay_post *post = record->first;
    CHECK(post);
    record->first = post->next;
    if (!record->first)
        record->last = &record->first;
    record->bytes -= post->target_n + post->body_n;
    (void)pthread_mutex_unlock(&record->lock);
    free(post);
}

static bool gives_up(struct relay_record *record)
{
    LOCK_SCOPE(&record->lock);
    return record->ended;
}

static void *empty_queue(void *arg)
{
    struct relay_record *record = arg;
    for (struct relay_post *post; (post = take_first(record));) {
        ARENA_SCOPE(arena);
        struct http_response response = {0};
        struct str target = {post->bytes, post->target_n};
        struct str body = {post->bytes + post->target_n, post->body_n};
        struct rc rc = http_client_call(record->client, &arena, "POST", target, body, POST_MS_MAX, &response, NULL);
        bool away = rc_bad(rc) || response.status == 503 || response.status == 429;
        if (away && gives_up(record))
            break;
        if (away)
            (void)usleep(AWAY_US);
        else
            drop_first(record);
    }
    return NULL;
}

struct rc relay_record_start(struct relay_record *record, struct cli *cli, struct err *err)
{
    record->last = &record->first;
    (void)pthread_mutex_init(&record->lock, NULL);
    (void)pthread_cond_init(&record->more, NULL);
    TRY(remote_client(cli, &record->client, err));
    if (pthread_create(&record->thread, NULL, empty_queue, record) != 0)
        return err_set(err, ERR_INTERNAL, "no thread could be started");
    return RC_OK;
}

void relay_record_post(struct relay_record *record, struct str target, struct str body)
{
    struct relay_post *post = heap_new(sizeof *post + target.n + body.n + 1);
    post->target_n = target.n;
    post->body_n = body.n;
    memcpy(post->bytes, target.p, target.n);
    memcpy(post->bytes + target.n, body.p, body.n);
    (void)pthread_mutex_lock(&record->lock);
    bool full = record->bytes + target.n + body.n > QUEUE_BYTES_MAX;
    bool tell = full && !record->lost;
    record->lost = record->lost || full;
    if (!full) {
        record->bytes += target.n + body.n;
        *record->last = post;
        record->last = &post->next;
        (void)pthread_cond_signal(&record->more);
    }
    (void)pthread_mutex_unlock(&record->lock);
    if (full)
        free(post);
    if (tell)
        cli_note("nod: the server is away for so long that the log of this conversation will have a gap");
}

void relay_record_end(struct relay_record *record)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_S;
    (void)pthread_mutex_lock(&record->lock);
    record->ending = true;
    (void)pthread_cond_signal(&record->more);
    (void)pthread_mutex_unlock(&record->lock);
    if (pthread_timedjoin_np(record->thread, NULL, &until) != 0) {
        (void)pthread_mutex_lock(&record->lock);
        record->ended = true;
        (void)pthread_mutex_unlock(&record->lock);
        (void)pthread_join(record->thread, NULL);
    }
    if (record->first)
        cli_note("nod: the server is away; the end of this conversation is not in the log");
    while (record->first)
        drop_first(record);
    http_client_free(record->client);
    (void)pthread_cond_destroy(&record->more);
    (void)pthread_mutex_destroy(&record->lock);
}

void relay_note(struct relay_gate *gate, struct str source, const char *type, const char *status, struct str text)
{
    ARENA_SCOPE(arena);
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES);
    if (str_empty(gate->thread) || (str_empty(text) && !status))
        return;
    json_object(&out, J("type", type),
                J_OBJECT("data", J("source", source), J("status", status), J(status ? "stopReason" : "text", text)));
    if (!buf.over)
        relay_record_post(gate->record, arena_printf(&arena, "/api/threads/%.*s/events", STR_ARG(gate->thread)),
                          buf_str(&buf));
}
