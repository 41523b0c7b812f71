#include "sim/fiber.h"

#include "base/err.h"
#include "sim/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define SWITCH_BEGIN(save, bottom, size) __sanitizer_start_switch_fiber((save), (bottom), (size))
#define SWITCH_END(saved, bottom, size) __sanitizer_finish_switch_fiber((saved), (bottom), (size))
#else
#define SWITCH_BEGIN(save, bottom, size) ((void)(save), (void)(bottom), (void)(size))
#define SWITCH_END(saved, bottom, size) ((void)(saved), (void)(bottom), (void)(size))
#endif

enum { STACK_BYTES = 512 << 10, MUTEXES_MAX = 64, DESCRIPTORS_MAX = 256, DESCRIPTOR_FIRST = 100000 };

enum wait { WAIT_NOTHING, WAIT_MUTEX, WAIT_CONDITION, WAIT_FLAG, WAIT_DESCRIPTOR, WAIT_OVER };

struct fiber {
    ucontext_t context;
    char *stack;           /* stays with the place */
    void *fake;            /* the sanitizer's */
    void *(*run)(void *arg);
    void *arg;
    bool used, signalled;
    enum wait wait;
    const void *on;        /* a mutex, a condition, a flag */
    int64_t until_us;      /* 0: for ever */
    int node, descriptor;
};

static struct fiber fibers[FIBERS_MAX];
static struct fiber *current;
static ucontext_t main_context;
static const void *main_bottom;
static size_t main_size;
static const void *held[MUTEXES_MAX];
static size_t held_count;
static bool written[DESCRIPTORS_MAX];
static int descriptors;
static const void *main_on; /* the condition that the main context waits for; NULL: it does not, or was signalled */
static bool hurried; /* times that are waited for are over */

/* ---- switching ---- */

/* The C library's own: the sanitizer's warns of what SWITCH_BEGIN takes care of. */
static int swap(ucontext_t *from, const ucontext_t *to)
{
    static int (*own)(ucontext_t *from, const ucontext_t *to);
    if (!own)
        *(void **)&own = dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "swapcontext");
    CHECK(own);
    return own(from, to);
}

static void enter(void)
{
    struct fiber *me = current;
    SWITCH_END(NULL, &main_bottom, &main_size);
    (void)me->run(me->arg);
    me->wait = WAIT_OVER;
    SWITCH_BEGIN(NULL, main_bottom, main_size);
    (void)setcontext(&main_context);
}

static void go(struct fiber *fiber)
{
    void *fake = NULL;
    current = fiber;
    SWITCH_BEGIN(&fake, fiber->stack, STACK_BYTES);
    CHECK(swap(&main_context, &fiber->context) == 0);
    SWITCH_END(fake, NULL, NULL);
    current = NULL;
}

static void leave(enum wait wait, const void *on, int64_t until_us)
{
    struct fiber *me = current;
    CHECK(me);
    me->wait = wait;
    me->on = on;
    me->until_us = until_us;
    me->signalled = false;
    SWITCH_BEGIN(&me->fake, main_bottom, main_size);
    CHECK(swap(&me->context, &main_context) == 0);
    SWITCH_END(me->fake, &main_bottom, &main_size);
    me->wait = WAIT_NOTHING;
}

static bool is_held(const void *mutex)
{
    for (size_t i = 0; i < held_count; i++)
        if (held[i] == mutex)
            return true;
    return false;
}

static bool is_written(int descriptor) { return written[(descriptor - DESCRIPTOR_FIRST) % DESCRIPTORS_MAX]; }

static bool can_go_on(const struct fiber *fiber)
{
    bool in_time = fiber->until_us == 0 || (fiber->until_us > sim_steady_us() && !hurried);
    switch (fiber->wait) {
    case WAIT_NOTHING: return true;
    case WAIT_MUTEX: return !is_held(fiber->on);
    case WAIT_CONDITION: return fiber->signalled || !in_time;
    case WAIT_FLAG: return !in_time || (fiber->on && !*(void *const *)fiber->on);
    case WAIT_DESCRIPTOR: return !in_time || is_written(fiber->descriptor);
    case WAIT_OVER: return false;
    }
    return false;
}

bool fiber_step(uint64_t (*pick)(uint64_t below))
{
    struct fiber *ready[FIBERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < FIBERS_MAX; i++)
        if (fibers[i].used && can_go_on(&fibers[i]))
            ready[count++] = &fibers[i];
    if (count)
        go(ready[pick(count)]);
    return count != 0;
}

static size_t last;

void fiber_begin(void)
{
    CHECK(!fiber_any());
    last = 0;
    descriptors = 0;
}

/* One after the other. */
static bool step_of(int node)
{
    for (size_t n = 0; n < FIBERS_MAX; n++) {
        struct fiber *fiber = &fibers[++last % FIBERS_MAX];
        if (!fiber->used || fiber->node != node || !can_go_on(fiber))
            continue;
        go(fiber);
        return true;
    }
    return false;
}

void fiber_drain(int node)
{
    enum { STEPS_MAX = 64 };
    for (int i = 0; i < STEPS_MAX; i++)
        hurried = !step_of(node);
    hurried = false;
}

void fiber_yield(void) { leave(WAIT_NOTHING, NULL, 0); }
void fiber_wait(void *const *flag, int64_t until_us) { leave(WAIT_FLAG, flag, until_us); }
int fiber_node(void) { return current ? current->node : -1; }

bool fiber_any(void)
{
    for (size_t i = 0; i < FIBERS_MAX; i++)
        if (fibers[i].used)
            return true;
    return held_count != 0;
}

void fiber_free_stacks(void)
{
    for (size_t i = 0; i < FIBERS_MAX; i++)
        if (fibers[i].stack)
            CHECK(munmap(fibers[i].stack, STACK_BYTES) == 0);
}

/* ---- the thread functions ---- */

static struct fiber *find_place(void)
{
    struct fiber *fiber = fibers;
    while (fiber->used)
        CHECK(++fiber < fibers + FIBERS_MAX);
    if (!fiber->stack)
        fiber->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                            0);
    CHECK(fiber->stack != MAP_FAILED);
    return fiber;
}

static void prepare(ucontext_t *context, char *stack)
{
    CHECK(getcontext(context) == 0);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK_BYTES;
    makecontext(context, enter, 0);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
    struct fiber *fiber = find_place();
    (void)attributes;
    *fiber = (struct fiber){.stack = fiber->stack, .run = run, .arg = arg, .used = true, .node = sim_node()};
    prepare(&fiber->context, fiber->stack);
    *thread = (pthread_t)(fiber - fibers + 1);
    return 0;
}

/* On the main context only: the others of its node go on until it has ended. */
int __wrap_pthread_join(pthread_t thread, void **ret_value)
{
    struct fiber *fiber = &fibers[thread - 1];
    (void)ret_value;
    CHECK(!current && fiber->used);
    for (int i = 0; fiber->wait != WAIT_OVER; i++) {
        hurried = !step_of(fiber->node);
        CHECK(i < 1000000);
    }
    hurried = false;
    fiber->used = false;
    return 0;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
    (void)thread;
    (void)name;
    return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    CHECK(current || !is_held(mutex));
    while (is_held(mutex))
        leave(WAIT_MUTEX, mutex, 0);
    CHECK(held_count < MUTEXES_MAX);
    held[held_count++] = mutex;
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    size_t i = 0;
    while (held[i] != mutex)
        CHECK(++i < held_count);
    held[i] = held[--held_count];
    return 0;
}

/* The main context waits: the others of the node go on meanwhile. */
static void wait_in_main(const void *condition, pthread_mutex_t *mutex)
{
    (void)__wrap_pthread_mutex_unlock(mutex);
    main_on = condition;
    for (int i = 0; main_on; i++) {
        hurried = !step_of(sim_node());
        CHECK(i < 1000000);
    }
    hurried = false;
    (void)__wrap_pthread_mutex_lock(mutex);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    int64_t until_us = until ? (int64_t)until->tv_sec * 1000000 + until->tv_nsec / 1000 : 0;
    struct fiber *me = current;
    if (!me) {
        wait_in_main(condition, mutex);
        return 0;
    }
    (void)__wrap_pthread_mutex_unlock(mutex);
    leave(WAIT_CONDITION, condition, until_us);
    bool signalled = me->signalled;
    (void)__wrap_pthread_mutex_lock(mutex);
    return signalled ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    return __wrap_pthread_cond_timedwait(condition, mutex, NULL);
}

static int wake(const void *condition, bool all)
{
    if (main_on == condition)
        main_on = NULL;
    for (size_t i = 0; i < FIBERS_MAX; i++) {
        struct fiber *fiber = &fibers[i];
        if (!fiber->used || fiber->wait != WAIT_CONDITION || fiber->on != condition || fiber->signalled)
            continue;
        fiber->signalled = true;
        if (!all)
            break;
    }
    return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition) { return wake(condition, false); }
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition) { return wake(condition, true); }

/* ---- descriptors that threads wait for ---- */

int __wrap_eventfd(unsigned count, int flags)
{
    (void)flags;
    int descriptor = DESCRIPTOR_FIRST + descriptors++ % DESCRIPTORS_MAX;
    written[descriptor - DESCRIPTOR_FIRST] = count != 0;
    return descriptor;
}

int __wrap_eventfd_write(int descriptor, eventfd_t value)
{
    written[descriptor - DESCRIPTOR_FIRST] = value != 0;
    return 0;
}

int __wrap_close(int descriptor) { return descriptor >= DESCRIPTOR_FIRST ? 0 : __real_close(descriptor); }

/* The machine's mounts are not the simulator's. */
bool __wrap_far_any(void) { return false; }

int __wrap_poll(struct pollfd *descriptors_asked, nfds_t count, int timeout_ms)
{
    CHECK(count == 1);
    if (timeout_ms && !is_written(descriptors_asked->fd)) {
        current->descriptor = descriptors_asked->fd;
        leave(WAIT_DESCRIPTOR, NULL, sim_steady_us() + (int64_t)timeout_ms * 1000);
    }
    return is_written(descriptors_asked->fd) ? 1 : 0;
}
