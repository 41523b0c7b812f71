/* Openings that rules make in the boxes of commands, and which commands may write a repository; see policy.h. */
#ifndef POLICY_POLICY_BOX_H
#define POLICY_POLICY_BOX_H

#include "base/arena.h"

struct question;

enum { OPENINGS_MAX = 64 };

/* One opening that a rule makes: box.read, box.write, box.socket (an absolute path) or box.port (a number). */
struct opening {
    struct str tool, what;
    bool is_folder; /* the rule says so: `box.write(~/.cache/npm/)` */
};

/* The openings by allow rules of the managed and user layers, without wildcards, that no other rule denies. Each must
 * still be judged as a call of its own, because the path may be protected. */
size_t policy_openings(struct arena *arena, const struct question *question, struct opening ret_openings[OPENINGS_MAX]);

/* Whether a line has only plain git commands, and commands that only print: its box may write to the repository. */
bool policy_plain_git(struct arena *arena, struct str command);

#endif
