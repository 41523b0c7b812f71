/* Withdraws a question: see take_back.h. A killed process cannot do that; then the server notices the closed
 * connection. */
#include "cli/take_back.h"

#include "http/http.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { CANCEL_MS_MAX = 5000, LOOK_NS = 500000000 };

/* Owned by the thread that cancels: it may run on when the rest of the command has been freed. */
struct call_canceller {
    struct http_client *client;
    char *target;
    bool has_reader;
    int status;
};

/* Held while speaking to the server and while ending the process: OpenSSL must not be used after exit(). */
static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;

static sigset_t ending_signals(void)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGHUP);
    return signals;
}

static bool has_no_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP | POLLNVAL));
}

static void wait_for_end(const struct call_canceller *canceller)
{
    static const struct timespec every = {.tv_nsec = LOOK_NS};
    sigset_t signals = ending_signals();
    for (;;) {
        if (canceller->has_reader && has_no_reader())
            return;
        if ((canceller->has_reader ? sigtimedwait(&signals, NULL, &every) : sigwaitinfo(&signals, NULL)) > 0)
            return;
    }
}

/* The thread that waits for a signal or for the reader to go; then withdraws the call and ends the process. */
static void *cancel_at_end(void *arg)
{
    const struct call_canceller *canceller = arg;
    ARENA_SCOPE(arena);
    struct http_response response = {0};
    sigset_t signals = ending_signals();
    wait_for_end(canceller);
    (void)pthread_mutex_lock(&ending);
    (void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* a second one ends us at once */
    struct rc rc = http_client_call(canceller->client, &arena, "POST", str_of(canceller->target), STR("{}"),
                                    CANCEL_MS_MAX, &response, NULL);
    (void)pthread_mutex_unlock(&ending);
    /* The waiting thread now gets its answer, whichever came first, and ends the process. A thread that ended beside it
     * would be met by exit() in the middle of giving back what OpenSSL keeps for it. */
    while (rc_ok(rc) && response.status < 400)
        (void)pause();
    if (!canceller->has_reader)
        cli_note("nod: the call could not be taken back; it may still be waiting");
    _exit(canceller->status);
}

struct rc take_back_on_end(struct cli *cli, const struct taking_back *what, struct err *err)
{
    static struct call_canceller canceller;
    struct arena *arena = &cli->arena;
    sigset_t signals = ending_signals();
    CHECK(!canceller.client && what->call.n > 0);
    canceller = (struct call_canceller){.has_reader = what->has_reader, .status = what->status};
    struct str target = arena_printf(arena, "/api/tool-calls/%s/cancel%s%s", remote_escape(arena, what->call).p,
                                     what->session ? "?session=" : "",
                                     what->session ? remote_escape(arena, str_of(what->session)).p : "");
    canceller.target = heap_new(target.n + 1);
    memcpy(canceller.target, target.p, target.n);
    TRY(remote_client(cli, &canceller.client, err));
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
    return cli_start_thread(cancel_at_end, &canceller, err);
}

void take_back_over(void) { (void)pthread_mutex_lock(&ending); }
