/* What is measured with: samples of time, and the yardstick they are put beside. */
#ifndef BENCH_BENCH_MEASURE_H
#define BENCH_BENCH_MEASURE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Times in microseconds. A zeroed one is empty. */
struct samples {
    uint32_t *us;
    size_t count, room;
};

void samples_add(struct samples *samples, int64_t us);
void samples_join(struct samples *samples, const struct samples *more);
/* The least value that so many thousandths of all do not exceed; 0 when there are none. Sorts. */
int64_t samples_at(struct samples *samples, unsigned permille);
void samples_done(struct samples *samples);
#define SAMPLES_SCOPE(name) __attribute__((cleanup(samples_done))) struct samples name = {0}

/* Sorts. 0 when there are none. */
double median_of(double *values, size_t count);

/* Append 1 KB, fdatasync: what one durable step costs on this machine at this moment. */
struct yard {
    int fd; /* of a file without a name */
    struct samples all;
};

struct rc yard_open(struct yard *yard, const char *folder, struct err *err);
void yard_close(struct yard *yard);
/* For so long or so often, whichever is over first. */
struct rc yard_take(struct yard *yard, int64_t time_us, size_t times, double *ret_per_second,
                    struct err *err);

#endif
