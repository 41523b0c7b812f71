/* The operator's log: one line per fact on standard error, key=value or JSON.
 *
 *   log_line(LOG_INFO, "approval resolved", LOG_S("call", id), LOG_I("ms", took));
 *
 * The event log is for users, this one for whoever runs the process. Only the layer that answers
 * the client (api/, cli/) logs an operation. Tool input appears at trace level only; secrets never. A value may hold
 * anything: it is quoted, what hides is escaped, and it is cut at 8 KiB.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/str.h"

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };

/* One key with its value; made by LOG_S, LOG_C and LOG_I at the call. */
struct log_field {
    const char *key; /* NULL ends the list */
    size_t key_bytes;
    bool is_number;
    struct str text;
    int64_t number;
};

#define LOG_KEY(k) .key = "" k, .key_bytes = sizeof(k) - 1
#define LOG_S(k, s) ((struct log_field){LOG_KEY(k), .text = (s)})
#define LOG_C(k, c) ((struct log_field){LOG_KEY(k), .text = str_of(c)})
#define LOG_I(k, i) ((struct log_field){LOG_KEY(k), .is_number = true, .number = (int64_t)(i)})

extern enum log_level log_level_now;

void log_setup(enum log_level level, bool as_json);
/* Lines wait until log_flush (or until there are many): one write for all of a turn of the loop. Errors and
 * warnings are written at once, with what waits before them. */
void log_hold(bool hold);
void log_flush(void);
void log_write(enum log_level level, const char *what, const struct log_field *fields);

#define log_line(level, what, ...)                                                            \
    do {                                                                                      \
        if ((level) <= log_level_now)                                                         \
            log_write((level), (what), (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}}); \
    } while (0)

#endif
