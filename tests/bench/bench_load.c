/* Many clients at once, each with one request under way: epoll, one read and one write per answer. */
#include "bench/bench_wire.h"

#include "io/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { READY_MAX = 256, WARM_UP = 4, SILENCE_MS_MAX = 20000 };

struct running {
    struct load *load;
    int epoll;
    uint64_t sent, warm, busy;
    int64_t end_us, window_us, last_us;
};

void digits_put(char *at, uint32_t number)
{
    for (unsigned i = 0; i < DIGITS; i++)
        at[i] = "0123456789abcdef"[number >> (4 * (DIGITS - 1 - i)) & 15];
}

static struct rc ask_next(struct running *run, struct asker *asker, struct err *err)
{
    struct load *load = run->load;
    if (asker->next >= asker->end || run->sent >= load->requests_max || clock_steady_us() >= run->end_us)
        return RC_OK;
    if (asker->digits_at)
        digits_put(asker->request.p + asker->digits_at, asker->next);
    asker->next++;
    run->sent++;
    run->busy++;
    return line_send(&asker->line, buf_str(&asker->request), err);
}

/* The first answers of each line pay for what is made once; they do not count. */
static void count_answer(struct running *run, const struct asker *asker)
{
    struct load *load = run->load;
    int64_t now_us = clock_steady_us();
    load->answered++;
    run->busy--;
    if (load->answered <= run->warm) {
        run->window_us = now_us;
        return;
    }
    run->last_us = now_us;
    samples_add(&load->samples, now_us - asker->line.sent_us);
}

static struct rc hear(struct running *run, struct asker *asker, struct err *err)
{
    bool complete;
    TRY(line_look(&asker->line, &complete, err));
    if (!complete)
        return RC_OK;
    count_answer(run, asker);
    return ask_next(run, asker, err);
}

static struct rc drive(struct running *run, struct err *err)
{
    struct epoll_event ready[READY_MAX];
    for (size_t i = 0; i < run->load->count; i++)
        TRY(ask_next(run, &run->load->askers[i], err));
    while (run->busy) {
        int n = epoll_wait(run->epoll, ready, READY_MAX, SILENCE_MS_MAX);
        if (n < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "cannot wait for answers: %s", strerror(errno));
        if (n == 0)
            return err_set(err, ERR_TIMEOUT, "no answer for %d s", SILENCE_MS_MAX / 1000);
        for (int i = 0; i < n; i++)
            TRY(hear(run, ready[i].data.ptr, err));
    }
    return RC_OK;
}

static struct rc watch_lines(struct running *run, struct err *err)
{
    for (size_t i = 0; i < run->load->count; i++) {
        struct asker *asker = &run->load->askers[i];
        struct epoll_event want = {.events = EPOLLIN, .data.ptr = asker};
        CHECK(asker->request.n && !asker->request.over);
        CHECK(asker->digits_at + DIGITS <= asker->request.n);
        if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, asker->line.fd, &want) != 0)
            return err_set(err, ERR_IO, "cannot wait for answers: %s", strerror(errno));
    }
    return RC_OK;
}

struct rc load_run(struct load *load, struct err *err)
{
    load->answered = 0;
    load->per_second = 0;
    samples_done(&load->samples);
    int64_t now_us = clock_steady_us();
    struct running run = {.load = load, .epoll = epoll_create1(EPOLL_CLOEXEC), .warm = load->count * WARM_UP,
                          .end_us = now_us + load->time_us, .window_us = now_us, .last_us = now_us};
    if (run.epoll < 0)
        return err_set(err, ERR_IO, "cannot wait for answers: %s", strerror(errno));
    struct rc rc = watch_lines(&run, err);
    if (rc_ok(rc))
        rc = drive(&run, err);
    (void)close(run.epoll);
    if (run.last_us > run.window_us)
        load->per_second = (double)load->samples.count * 1e6 / (double)(run.last_us - run.window_us);
    return rc;
}

void load_done(struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        line_close(&load->askers[i].line);
        buf_done(&load->askers[i].request);
    }
    samples_done(&load->samples);
}
