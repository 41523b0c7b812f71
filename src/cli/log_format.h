/* Events as lines for other programs: as they are kept, as CSV, as CloudEvents 1.0. */
#ifndef CLI_LOG_FORMAT_H
#define CLI_LOG_FORMAT_H

#include "base/json.h"

#define LOG_FORMATS(X)            \
    X(TEXT, "text")               \
    X(JSONL, "jsonl")             \
    X(CSV, "csv")                 \
    X(CLOUDEVENTS, "cloudevents")

enum log_format {
#define X(name, wire) LOG_FORMAT_##name,
    LOG_FORMATS(X)
#undef X
    LOG_FORMAT_COUNT
};

bool log_format_parse(struct str name, enum log_format *ret_format);
/* One line; not for LOG_FORMAT_TEXT. */
void log_format_put(struct buf *buf, enum log_format format, const struct json *event);
/* The line before the first event; empty where there is none. */
struct str log_format_head(enum log_format format);

#endif
