/* The threads of the program as fibers of one thread: which of them runs next is the seed's choice, never the system's.
 *
 * The simulator is linked so that calls of the thread functions come here (CMakeLists.txt, --wrap). The main context is
 * the loop's thread of every node. A fiber runs until it waits: for a mutex, a condition, a time, a descriptor, or
 * because it says so (fiber_yield, in the virtual database).
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>
#include <stdint.h>

enum { FIBERS_MAX = 96 };

/* All as at the beginning. */
void fiber_begin(void);
/* Lets one that can go on do so; false: none can. `pick` chooses among so many. */
bool fiber_step(uint64_t (*pick)(uint64_t below));
/* Some of this node; times that are waited for count as over when nothing else goes on. */
void fiber_drain(int node);
/* From a fiber: another may run. */
void fiber_yield(void);
/* From a fiber: until this time, or until *flag is NULL. */
void fiber_wait(void *const *flag, int64_t until_us);
/* The node whose fiber runs; -1: the main context does. */
int fiber_node(void);
/* Whether any is left: all threads of a world must have ended with it. */
bool fiber_any(void);
void fiber_free_stacks(void);

/* sim.c: the node on whose behalf a thread is started; the time. */
int sim_node(void);
int64_t sim_steady_us(void);

#endif
