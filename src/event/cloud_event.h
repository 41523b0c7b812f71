/* Events as CloudEvents 1.0, for other programs: in the log's lines and in streams. */
#ifndef EVENT_CLOUD_EVENT_H
#define EVENT_CLOUD_EVENT_H

#include "base/json.h"

/* `event`: as event_write puts it. One line. */
void cloud_event_put(struct buf *buf, const struct json *event);
/* The call that the event is about; empty: it is about none. */
struct str cloud_event_call(const struct json *event);
struct str cloud_event_seq(const struct json *event);

#endif
