/* Functions of the program and of the C library that the simulator takes the place of; the list of them is in
 * CMakeLists.txt, too. Threads are in fiber.c, the rest of the machine in machine.c,
 * what notify/ reads and sends in messages.c. */
#ifndef SIM_WRAP_H
#define SIM_WRAP_H

#include "base/digest.h"
#include "base/id.h"
#include "base/log.h"
#include "http/http.h"
#include "io/loop.h"
#include "notify/notify.h"
#include "store/backend.h"
#include "tools/tools.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <time.h>

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **ret_value);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_eventfd(unsigned count, int flags);
int __wrap_eventfd_write(int descriptor, eventfd_t value);
int __wrap_close(int descriptor);
int __real_close(int descriptor);
bool __wrap_far_any(void);
int __wrap_poll(struct pollfd *descriptors, nfds_t count, int timeout_ms);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);
int64_t __wrap_clock_wall_ms(void);
int64_t __wrap_clock_steady_us(void);
_Noreturn void __wrap_err_die(const char *file, int line, const char *what);
int __wrap_malloc_trim(size_t pad);
void __wrap_log_write(enum log_level level, const char *what, const struct log_field *fields);
struct id __wrap_id_new(const char *prefix);
struct id __wrap_id_short(void);
void __wrap_id_secret(char out[ID_SECRET_BYTES]);
void __wrap_id_random(void *bytes, size_t n);
struct timer *__wrap_timer_new(struct loop *loop, void (*fire)(void *arg), void *arg);
void __wrap_timer_start(struct timer *timer, int64_t after_ms);
void __wrap_timer_stop(struct timer *timer);
void __wrap_timer_free(struct timer *timer);
struct waker *__wrap_waker_new(struct loop *loop, void (*rung)(void *arg), void *arg);
void __wrap_waker_wake(struct waker *waker);
void __wrap_waker_free(struct waker *waker);
void __wrap_loop_before_sleep(struct loop *loop, struct before_sleep *before);
void __wrap_loop_forget(struct loop *loop, struct before_sleep *before);
void __wrap_loop_again(struct loop *loop);
struct store;
struct append;
void __wrap_store_append(struct store *store, struct append *append);
void __real_store_append(struct store *store, struct append *append);
const struct backend *__wrap_backend_find(const char *url, const char **ret_place);
struct worker;
struct request;
struct answer;
struct rc __wrap_model_ask(struct worker *w, struct request *request, struct answer *answer, struct err *err);
struct tool_result __wrap_tool_do(const struct tool_use *use, struct str files);
struct tool_look __wrap_tool_look(const struct tool_use *use);

/* messages.c */
struct config;
struct devices;
struct sign_key;
struct digest __wrap_sign_key_secret(const struct sign_key *key, struct str purpose);
struct rc __wrap_config_read(struct arena *arena, const char *file, struct config *ret_config, struct err *err);
struct rc __wrap_devices_open(struct devices *devices, struct arena *arena, const char *folder, struct err *err);
struct rc __wrap_fetch_run(struct fetch_line *line, struct fetch *fetch, struct err *err);

#endif
