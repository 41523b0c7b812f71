#include "bench/bench_measure.h"

#include "base/arena.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { YARD_BYTES = 1024, PERMILLE = 1000 };

/* ---- samples ---- */

void samples_add(struct samples *samples, int64_t us)
{
    if (samples->count == samples->room) {
        samples->room = samples->room ? samples->room * 2 : 1024;
        samples->us = heap_grow(samples->us, samples->room * sizeof *samples->us);
    }
    CHECK(samples->count < samples->room);
    samples->us[samples->count++] = us < 0 ? 0 : us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

void samples_join(struct samples *samples, const struct samples *more)
{
    for (size_t i = 0; i < more->count; i++)
        samples_add(samples, more->us[i]);
}

static int by_time(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int64_t samples_at(struct samples *samples, unsigned permille)
{
    CHECK(permille <= PERMILLE);
    if (samples->count == 0)
        return 0;
    qsort(samples->us, samples->count, sizeof *samples->us, by_time);
    size_t rank = (samples->count * permille + PERMILLE - 1) / PERMILLE;
    return samples->us[rank ? rank - 1 : 0];
}

void samples_done(struct samples *samples)
{
    free(samples->us);
    *samples = (struct samples){0};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- the yardstick ---- */

struct rc yard_open(struct yard *yard, const char *folder, struct err *err)
{
    ARENA_SCOPE(scratch);
    struct str template = arena_printf(&scratch, "%s/bench.XXXXXX", folder);
    char *path = arena_bytes(&scratch, template.n + 1);
    memcpy(path, template.p, template.n + 1);
    *yard = (struct yard){.fd = mkostemp(path, O_CLOEXEC)};
    if (yard->fd < 0)
        return err_set(err, ERR_IO, "cannot measure the disk in '%s': %s", folder, strerror(errno));
    (void)unlink(path);
    return RC_OK;
}

void yard_close(struct yard *yard)
{
    if (yard->fd >= 0)
        (void)close(yard->fd);
    yard->fd = -1;
    samples_done(&yard->all);
}

struct rc yard_take(struct yard *yard, int64_t time_us, size_t times, double *ret_per_second,
                    struct err *err)
{
    char block[YARD_BYTES];
    int64_t began_us = clock_steady_us();
    int64_t now_us = began_us;
    size_t done = 0;
    CHECK(yard->fd >= 0 && times > 0);
    memset(block, 'y', sizeof block);
    while (done < times && now_us - began_us < time_us) {
        int64_t from_us = now_us;
        if (write(yard->fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(yard->fd) != 0)
            return err_set(err, ERR_IO, "cannot measure the disk: %s", strerror(errno));
        now_us = clock_steady_us();
        samples_add(&yard->all, now_us - from_us);
        done++;
    }
    *ret_per_second = now_us > began_us ? (double)done * 1e6 / (double)(now_us - began_us) : 0;
    return RC_OK;
}
