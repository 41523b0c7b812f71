/* Reads the text of an event stream (Server-Sent Events). Pure; private to http/. */
#ifndef HTTP_EVENT_LINES_H
#define HTTP_EVENT_LINES_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* The reader of one stream. */
struct event_lines {
    struct buf line; /* the line that is not whole yet */
    struct buf id;   /* the last id; it stays for following events that have none, as the standard says */
    struct buf type;
    struct buf data;
    bool after_cr;   /* the last byte was CR: a following LF belongs to the same line end */
    bool started;    /* the byte order mark has been looked for */
    bool stopped;    /* the callback asked to stop */
    bool (*event)(void *arg, struct str id, struct str type, struct str data);
    void *arg;
};

void event_lines_init(struct event_lines *lines);
void event_lines_done(struct event_lines *lines);
/* Calls `event` for each event that is whole; ERR_TOO_LARGE when one exceeds LIMIT_ANSWER_BYTES. */
struct rc event_lines_feed(struct event_lines *lines, struct str bytes, struct err *err);

#endif
