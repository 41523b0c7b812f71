/* Three lists under one lock: jobs that wait for a thread, jobs that are over, loop_calls for the loop. The waker
 * brings the loop to the last two. */
#include "io/work.h"

#include "base/arena.h"
#include "base/list.h"
#include "base/lock.h"
#include "io/loop.h"
#include "io/system.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
enum { STACK_BYTES = 4 << 20 }; /* the sanitizer's own data of each thread lies on its stack, 900 KB */
#else
enum { STACK_BYTES = 512 << 10 };
#endif
enum { IDLE_SECONDS = 10 };

struct job_list {
    struct job *first, *last;
    unsigned count;
};

/* A thread; it is joined when it has ended, by whoever comes next, so that none outlives the pool. One that ends after
 * the loop has left is joined by nobody, and its stack stays. */
struct pool_thread {
    struct work_pool *pool;
    pthread_t id;
    char *stack;
    struct pool_thread *next;
};

/* Threads and the jobs for them. Everything is under `lock`. */
struct work_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;     /* a job came, or the pool ends */
    pthread_cond_t finished; /* a thread has ended */
    struct waker *waker;       /* NULL: the loop has been closed */
    struct job_list waiting, over;
    struct loop_call *loop_calls, *last_loop_call;
    struct pool_thread *ended;
    unsigned threads, threads_max, idle;
    unsigned open;           /* used on the loop's thread only */
    bool ending;
};

/* The lock is held. */
static void ring(struct work_pool *pool)
{
    if (pool->waker)
        waker_wake(pool->waker);
}

static void list_add(struct job_list *list, struct job *job)
{
    job->next = NULL;
    LIST_ADD(list, job);
    list->count++;
}

static struct job *list_take(struct job_list *list)
{
    struct job *job = list->first;
    if (!job)
        return NULL;
    list->first = job->next;
    if (!list->first)
        list->last = NULL;
    list->count--;
    return job;
}

/* The next job; NULL when there was none for a while. The lock is held. */
static struct job *wait_for_job(struct work_pool *pool)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_sec += IDLE_SECONDS;
    for (;;) {
        struct job *job = list_take(&pool->waiting);
        if (job || pool->ending)
            return job;
        pool->idle++;
        int failed = pthread_cond_timedwait(&pool->work, &pool->lock, &until);
        pool->idle--;
        CHECK(failed == 0 || failed == ETIMEDOUT);
        if (failed && !pool->waiting.first)
            return NULL;
    }
}

/* A thread of the pool. It ends after some idle time; the loop joins it. */
static void *work(void *arg)
{
    struct pool_thread *thread = arg;
    struct work_pool *pool = thread->pool;
    struct job *job;
    lock_take(&pool->lock);
    while ((job = wait_for_job(pool))) {
        lock_drop(&pool->lock);
        job->run(job);
        lock_take(&pool->lock);
        list_add(&pool->over, job);
        ring(pool);
    }
    pool->threads--;
    thread->next = pool->ended;
    pool->ended = thread;
    CHECK(pthread_cond_broadcast(&pool->finished) == 0);
    if (!pool->waker)
        CHECK(pthread_detach(pthread_self()) == 0);
    ring(pool); /* the loop joins this thread, which uses its stack until it has returned */
    lock_drop(&pool->lock);
    return NULL;
}

static size_t guard_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Stacks are our own: libc keeps those of threads that have ended, and 24 KB in each of them. The first page cannot be
 * touched. NULL: there is no memory. */
static char *new_stack(void)
{
    char *stack = mmap(NULL, guard_bytes() + STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    CHECK(mprotect(stack, guard_bytes(), PROT_NONE) == 0);
    return stack;
}

static void free_thread(struct pool_thread *thread)
{
    if (thread->stack)
        CHECK(munmap(thread->stack, guard_bytes() + STACK_BYTES) == 0);
    free(thread);
}

static int start_thread(struct pool_thread *thread)
{
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, thread->stack + guard_bytes(), STACK_BYTES) == 0);
    int failed = pthread_create(&thread->id, &attributes, work, thread);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return failed;
}

/* The lock is held. */
static void add_thread(struct work_pool *pool)
{
    struct pool_thread *thread = heap_new(sizeof *thread);
    thread->pool = pool;
    thread->stack = new_stack();
    bool failed = !thread->stack || start_thread(thread) != 0;
    /* Without a new thread the job waits for an old one. */
    CHECK(!failed || pool->threads > 0);
    if (failed)
        free_thread(thread);
    else
        pool->threads++;
}

/* The lock is not held. */
static void join_ended(struct pool_thread *ended)
{
    while (ended) {
        struct pool_thread *next = ended->next;
        CHECK(pthread_join(ended->id, NULL) == 0);
        free_thread(ended);
        ended = next;
    }
}

static struct loop_call *take_loop_calls(struct work_pool *pool)
{
    struct loop_call *loop_calls = pool->loop_calls;
    pool->loop_calls = pool->last_loop_call = NULL;
    return loop_calls;
}

/* On the loop: first the calls that threads wait for, then the jobs that are over. */
static void rung(void *arg)
{
    struct work_pool *pool = arg;
    lock_take(&pool->lock);
    struct loop_call *loop_call = take_loop_calls(pool);
    struct job *over = pool->over.first;
    struct pool_thread *ended = pool->ended;
    bool rests = ended && pool->threads == 0;
    pool->over = (struct job_list){0};
    pool->ended = NULL;
    lock_drop(&pool->lock);
    join_ended(ended);
    if (rests)
        system_trim_heap(); /* returns the threads' caches to the system */
    while (loop_call) {
        struct loop_call *next = loop_call->next;
        loop_call->start(loop_call);
        loop_call = next;
    }
    while (over) {
        struct job *next = over->next;
        CHECK(pool->open > 0);
        pool->open--;
        over->done(over);
        over = next;
    }
}

struct work_pool *work_pool_new(struct loop *loop, unsigned threads_max)
{
    struct work_pool *pool = heap_new(sizeof *pool);
    pthread_condattr_t steady;
    CHECK(threads_max > 0);
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_mutex_init(&pool->lock, NULL) == 0);
    CHECK(pthread_cond_init(&pool->work, &steady) == 0);
    CHECK(pthread_cond_init(&pool->finished, NULL) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
    pool->waker = waker_new(loop, rung, pool);
    pool->threads_max = threads_max;
    return pool;
}

/* On the loop. A new thread is started only when more jobs wait than threads are idle. */
void work_submit(struct work_pool *pool, struct job *job)
{
    CHECK(job->run && job->done);
    lock_take(&pool->lock);
    CHECK(!pool->ending);
    pool->open++;
    list_add(&pool->waiting, job);
    if (pool->waiting.count > pool->idle && pool->threads < pool->threads_max)
        add_thread(pool);
    CHECK(pthread_cond_signal(&pool->work) == 0);
    struct pool_thread *ended = pool->ended;
    pool->ended = NULL;
    lock_drop(&pool->lock);
    join_ended(ended);
}

unsigned work_open(const struct work_pool *pool) { return pool->open; }

/* When no job is open; blocks until all threads have ended. */
void work_pool_free(struct work_pool *pool)
{
    CHECK(pool->open == 0);
    lock_take(&pool->lock);
    pool->ending = true;
    CHECK(pthread_cond_broadcast(&pool->work) == 0);
    while (pool->threads > 0)
        CHECK(pthread_cond_wait(&pool->finished, &pool->lock) == 0);
    lock_drop(&pool->lock);
    join_ended(pool->ended);
    waker_free(pool->waker);
    CHECK(pthread_cond_destroy(&pool->work) == 0);
    CHECK(pthread_cond_destroy(&pool->finished) == 0);
    CHECK(pthread_mutex_destroy(&pool->lock) == 0);
    free(pool);
}

void work_pool_leave(struct work_pool *pool)
{
    lock_take(&pool->lock);
    struct waker *waker = pool->waker;
    pool->waker = NULL;
    pool->ending = true;
    CHECK(pthread_cond_broadcast(&pool->work) == 0);
    struct pool_thread *ended = pool->ended;
    pool->ended = NULL;
    lock_drop(&pool->lock);
    join_ended(ended);
    waker_free(waker);
}

/* On a thread of the pool: blocks until the loop has called loop_call_finish, which may be much later than `start`.
 */
void work_call_loop(struct work_pool *pool, struct loop_call *loop_call)
{
    CHECK(loop_call->start);
    loop_call->next = NULL;
    loop_call->pool = pool;
    loop_call->finished = false;
    CHECK(pthread_cond_init(&loop_call->over, NULL) == 0);
    lock_take(&pool->lock);
    if (pool->last_loop_call)
        pool->last_loop_call->next = loop_call;
    else
        pool->loop_calls = loop_call;
    pool->last_loop_call = loop_call;
    ring(pool);
    while (!loop_call->finished)
        CHECK(pthread_cond_wait(&loop_call->over, &pool->lock) == 0);
    lock_drop(&pool->lock);
    CHECK(pthread_cond_destroy(&loop_call->over) == 0);
}

void loop_call_finish(struct loop_call *loop_call)
{
    struct work_pool *pool = loop_call->pool;
    LOCK_SCOPE(&pool->lock);
    CHECK(!loop_call->finished);
    loop_call->finished = true;
    CHECK(pthread_cond_signal(&loop_call->over) == 0);
}
