/* What streams and sockets are sent is written when the loop's turn ends: what came together leaves in one write, and
 * the writes to many readers are shared between threads (io/team.h). A write takes the kernel 6 to 9 microseconds when
 * the reader is on the same machine, and with 10,000 readers that is nearly all of the time.
 *
 * While threads write, the loop waits for them: they look at queues and write to sockets, and change nothing else.
 */
#include "http/due.h"

#include "http/output.h"
#include "http/server.h"
#include "io/loop.h"
#include "io/team.h"

#include <stdlib.h>

enum {
    DUE_MAX = 2048,  /* with so many the turn's end is not waited for */
    CROWD_MIN = 64,  /* from here on threads share the writes */
};

struct due_write {
    struct http_connection *connection; /* NULL: it was closed */
    ssize_t took;
};

/* Two lists: who is told that its queue has left may send more, which is due anew. */
struct dues {
    struct loop *loop;
    struct before_sleep before;
    struct team *team; /* from the first crowd on */
    struct due_write lists[2][DUE_MAX], *due;
    unsigned count;    /* in `due`, with those that were closed */
    bool writing;
};

static void write_one(void *arg, size_t number)
{
    struct due_write *due = (struct due_write *)arg + number;
    due->took = due->connection->first ? http_output_push(due->connection) : 0;
}

/* Takes those that are still to be written out of the list; another one begins. One whose queue has left already,
 * because it was long, stays: its owner is to hear that. */
static struct due_write *take_list(struct dues *dues, size_t *ret_count)
{
    struct due_write *list = dues->due;
    *ret_count = 0;
    for (unsigned i = 0; i < dues->count; i++) {
        struct http_connection *connection = list[i].connection;
        if (!connection)
            continue;
        connection->due = 0;
        if (!connection->flush && !connection->broken)
            list[(*ret_count)++].connection = connection;
    }
    dues->due = list == dues->lists[0] ? dues->lists[1] : dues->lists[0];
    dues->count = 0;
    return list;
}

/* Connections that are closed meanwhile keep their memory until the loop goes on. */
static void write_all(struct dues *dues)
{
    size_t count;
    struct due_write *list = take_list(dues, &count);
    if (count >= CROWD_MIN) {
        if (!dues->team)
            dues->team = team_new();
        team_run(dues->team, count, write_one, list);
    } else {
        for (size_t i = 0; i < count; i++)
            write_one(list, i);
    }
    dues->writing = true;
    for (size_t i = 0; i < count; i++)
        if (list[i].connection->first)
            http_output_took(list[i].connection, list[i].took);
    for (size_t i = 0; i < count; i++)
        if (!list[i].connection->first && !list[i].connection->broken)
            http_connection_drained(list[i].connection);
    dues->writing = false;
}

/* At the end of the loop's turn. */
static bool write_due(void *arg)
{
    struct dues *dues = arg;
    if (dues->count)
        write_all(dues);
    return dues->count > 0;
}

struct dues *http_dues_new(struct loop *loop)
{
    struct dues *dues = heap_new(sizeof *dues);
    dues->loop = loop;
    dues->due = dues->lists[0];
    dues->before = (struct before_sleep){.before = write_due, .arg = dues};
    loop_before_sleep(loop, &dues->before);
    return dues;
}

void http_dues_free(struct dues *dues)
{
    loop_forget(dues->loop, &dues->before);
    if (dues->team)
        team_free(dues->team);
    free(dues);
}

bool http_due(struct http_connection *connection)
{
    struct dues *dues = connection->server->dues;
    if (connection->due)
        return true;
    if (dues->count == DUE_MAX && !dues->writing)
        write_all(dues);
    if (dues->count == DUE_MAX)
        return false;
    if (dues->count == 0)
        loop_again(dues->loop);
    dues->due[dues->count++].connection = connection;
    connection->due = (uint16_t)dues->count;
    return true;
}

void http_due_leave(struct http_connection *connection)
{
    if (connection->due)
        connection->server->dues->due[connection->due - 1].connection = NULL;
    connection->due = 0;
}
