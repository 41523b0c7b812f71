/* One work at a time, under a lock that is taken twice by each who does parts of it; the parts are handed out by a
 * counter (team.h). */
#include "io/team.h"

#include "base/heap.h"
#include "base/lock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <uv.h>

enum {
    MEMBERS_MAX = 3,
    PARTS_AT_ONCE = 16,
};

struct team {
    pthread_mutex_t lock;
    pthread_cond_t begun, left; /* there is work, or the team ends; the last member has left the work */
    pthread_t threads[MEMBERS_MAX];
    unsigned members;
    bool started, ending;
    bool open;                  /* members may begin with the work */
    uint64_t works;             /* how many there were */
    unsigned busy;              /* members in it */
    /* The work: written under the lock while nobody is in it. */
    void (*part)(void *arg, size_t number);
    void *arg;
    size_t count;
    atomic_size_t next;
};

static void do_share(struct team *team)
{
    size_t at;
    while ((at = atomic_fetch_add_explicit(&team->next, PARTS_AT_ONCE, memory_order_relaxed)) < team->count)
        for (size_t end = at + PARTS_AT_ONCE; at < end && at < team->count; at++)
            team->part(team->arg, at);
}

/* The thread of a member. */
static void *help(void *arg)
{
    struct team *team = arg;
    uint64_t seen = 0;
    lock_take(&team->lock);
    for (;;) {
        while (!team->ending && (!team->open || team->works == seen))
            CHECK(pthread_cond_wait(&team->begun, &team->lock) == 0);
        if (team->ending)
            break;
        seen = team->works;
        team->busy++;
        lock_drop(&team->lock);
        do_share(team);
        lock_take(&team->lock);
        if (--team->busy == 0)
            CHECK(pthread_cond_signal(&team->left) == 0);
    }
    lock_drop(&team->lock);
    return NULL;
}

struct team *team_new(void)
{
    struct team *team = heap_new(sizeof *team);
    CHECK(pthread_mutex_init(&team->lock, NULL) == 0);
    CHECK(pthread_cond_init(&team->begun, NULL) == 0);
    CHECK(pthread_cond_init(&team->left, NULL) == 0);
    return team;
}

/* Fewer members, or none, when the system has no room for more threads. */
static void start_members(struct team *team)
{
    unsigned processors = uv_available_parallelism();
    team->started = true;
    while (team->members < MEMBERS_MAX && team->members + 1 < processors &&
           pthread_create(&team->threads[team->members], NULL, help, team) == 0)
        team->members++;
}

void team_run(struct team *team, size_t count, void (*part)(void *arg, size_t number), void *arg)
{
    if (!team->started)
        start_members(team);
    lock_take(&team->lock);
    CHECK(!team->open && team->busy == 0);
    team->part = part;
    team->arg = arg;
    team->count = count;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    team->open = true;
    team->works++;
    CHECK(pthread_cond_broadcast(&team->begun) == 0);
    lock_drop(&team->lock);
    do_share(team);
    lock_take(&team->lock);
    team->open = false;
    while (team->busy)
        CHECK(pthread_cond_wait(&team->left, &team->lock) == 0);
    lock_drop(&team->lock);
}

void team_free(struct team *team)
{
    lock_take(&team->lock);
    team->ending = true;
    CHECK(pthread_cond_broadcast(&team->begun) == 0);
    lock_drop(&team->lock);
    for (unsigned i = 0; i < team->members; i++)
        CHECK(pthread_join(team->threads[i], NULL) == 0);
    CHECK(pthread_cond_destroy(&team->begun) == 0);
    CHECK(pthread_cond_destroy(&team->left) == 0);
    CHECK(pthread_mutex_destroy(&team->lock) == 0);
    free(team);
}
