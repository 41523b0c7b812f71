/* Names for many commands at once, and the hosts that a rule on commands may be bound to.
 *
 * A rule on a group means the same as a rule on each of its commands. Groups are one table in groups.c: one grows only
 * with a release, which says so.
 */
#ifndef POLICY_GROUPS_H
#define POLICY_GROUPS_H

#include "base/arena.h"
#include "policy/commands.h"

bool group_known(struct str name);
/* How many words of the command the rule means by its group; 0: it is not in the group. */
size_t group_covers(struct arena *arena, const struct rule *rule, struct argv *argv, const struct study *study);
/* Whether a deny or ask rule on a group applies, matched broadly; `study` is NULL for an unknown command. */
bool group_stops(struct arena *arena, const struct rule *rule, struct argv *argv, const struct study *study);

/* Whether every address that the command connects to is known and one of the rule's hosts; true for a rule without
 * hosts. */
bool groups_cover_hosts(struct arena *arena, const struct rule *rule, const struct argv *argv,
                        const struct study *study);
/* For deny and ask: whether some address is one of the rule's hosts, or may be. `study` NULL: the command is unknown.
 * */
bool groups_stop_hosts(struct arena *arena, const struct rule *rule, const struct study *study);

#endif
