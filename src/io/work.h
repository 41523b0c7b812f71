/* Blocking work away from the loop, and the way back to it.
 *
 * A pool runs jobs in threads of its own, as many at a time as it may have threads; an idle thread ends after
 * a while. A job touches nothing that the loop owns. When its `run` has returned, `done` is called on the loop.
 *
 * A job that needs something of the loop sends a loop_call: `start` is called on the loop, and the job's thread
 * sleeps until someone calls loop_call_finish on the loop. So a job reads like plain sequential code.
 */
#ifndef IO_WORK_H
#define IO_WORK_H

#include <pthread.h>
#include <stdbool.h>

struct loop;
struct work_pool;

struct job {
    void (*run)(struct job *job);  /* in a thread of the pool */
    void (*done)(struct job *job); /* on the loop; the job is the receiver's again */
    void *arg;
    struct job *next;              /* private to the pool */
};

struct loop_call {
    void (*start)(struct loop_call *loop_call); /* on the loop */
    void *arg;
    struct loop_call *next;           /* private to the pool */
    struct work_pool *pool;
    pthread_cond_t over;
    bool finished;
};

struct work_pool *work_pool_new(struct loop *loop, unsigned threads_max);
/* Call it on the loop's thread. */
void work_submit(struct work_pool *pool, struct job *job);
/* Jobs that were submitted and whose `done` has not been called. On the loop. */
unsigned work_open(const struct work_pool *pool);
/* All jobs must be over: work_open is 0. */
void work_pool_free(struct work_pool *pool);
/* Instead of it, when the process ends and jobs are not over: the loop may be freed, `done` is called for none of them,
 * and the pool stays for their threads. On the loop. */
void work_pool_leave(struct work_pool *pool);

/* From a job: returns when the loop_call is finished. */
void work_call_loop(struct work_pool *pool, struct loop_call *loop_call);
/* On the loop, exactly once per loop_call; it belongs to the job again at once. */
void loop_call_finish(struct loop_call *loop_call);

#endif
