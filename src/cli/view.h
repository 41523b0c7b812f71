/* Calls in the form in which people see them. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/remote.h"
#include "cli/text.h"

#define NOTHING_WAITS "nothing is waiting; nod pending --watch shows what comes, nod log what was decided"

/* The waiting calls (of a session, when one is given), oldest first: {"pendingApprovals":[…]}. Where many wait, a page
 * of them in which every agent has its turn. */
struct rc view_pending(struct cli *cli, struct arena *arena, const char *session, struct reply *ret_reply,
                        struct err *err);
/* Warns of those keys that were added with a recovery code and cannot sign yet; empty: there are none. */
struct str view_new_keys(struct arena *arena, const struct json *keys);
/* All waiting calls, or those of one agent when one is named. */
struct rc view_pending_all(struct cli *cli, struct arena *arena, const char *session, const char *agent,
                           struct reply *ret_reply, struct err *err);
/* A call that waits, as whoever may answer it sees it: whole, with its difference in the file as it is now. */
struct rc view_waiting(struct cli *cli, struct arena *arena, struct str session, struct str call,
                       const struct json **ret_call, struct err *err);
/* Whether the call, as a list shows it, is incomplete. */
bool view_partly(const struct json *call);
/* Adds to a call that was answered what people were shown of it when it was asked. */
struct rc view_kept(struct cli *cli, struct arena *arena, const struct json **call, struct err *err);
/* Like view_waiting, for a call from a list. */
struct rc view_whole(struct cli *cli, struct arena *arena, const struct json *listed, const struct json **ret_call,
                     struct err *err);
/* The only waiting call whose id is `id`, or begins or ends with it; NULL when there is none. Several are
 * ERR_AMBIGUOUS, with words that list them. */
struct rc view_match(const struct json *pending, const char *id, const struct json **ret_call,
                     struct err *err);
/* One call by its id, or by a part of it as above, as GET /api/tool-calls shows it. */
struct rc view_find(struct cli *cli, const char *id, struct reply *ret_reply, struct err *err);
/* How many of several persons have allowed it, and who; empty: one person is enough. */
struct str view_people(struct arena *arena, const struct json *call);
/* When the first snooze of the listed calls is over, of which no event tells, and the list is to be read again; 0: none
 * is snoozed. The server says when: where its clock is behind ours, it is asked once in a second. */
int64_t view_wake_ms(const struct json *calls);
/* `snoozed until 14:30:00, assigned to bob`; empty: neither. */
struct str view_state(struct arena *arena, const struct json *call);
/* The summary with the call's warnings in front of it. */
struct str view_warned(struct arena *arena, const struct json *call);
/* The call in one line, with its tool. */
struct str view_summary(struct arena *arena, const struct json *call);
struct str view_line(struct arena *arena, const struct json *call);
/* Everything about a call. `title` of its session may be empty. Unless `full`, long texts are cut, and say so. */
void view_call(struct buf *buf, const struct cli *cli, const struct json *call, struct str title, bool full);
/* The title of a session within {"sessions":[…]}. */
struct str view_title(struct arena *arena, const struct json *sessions, struct str session);

#endif
