/* Marks on waiting calls: snoozes and assignments, as they are stored and as a start reads them back (marks.c). */
#ifndef GATE_MARKS_H
#define GATE_MARKS_H

struct event;
struct gate;

/* Takes a snooze or an assignment of an open call into memory, after it was stored (marks.c). */
void marks_follow(struct gate *gate, const struct event *event);
/* From here on the marks of the calls that are open now are unknown; marks_read begins to read them. */
void marks_expect(struct gate *gate);
void marks_read(struct gate *gate);
/* Fails those who wait for marks: nothing is read any more. marks_done, when no read is under way, frees the rest. */
void marks_stop(struct gate *gate);
void marks_done(struct gate *gate);

#endif
