/* The only place that knows what time it is. */
#ifndef IO_CLOCK_H
#define IO_CLOCK_H

#include <stdint.h>

/* Wall clock, milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* Monotonic clock, for durations only. */
int64_t clock_steady_us(void);

#endif
