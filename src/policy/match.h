/* Whether a rule fits words, a path or an address.
 *
 * There are two questions. `covers` is asked for allow rules and is strict: what the rule names must be there
 * literally, and nothing is guessed. `stops` is asked for deny and ask rules and is generous: another
 * spelling of the same program, options in another order, a folder above the file all count.
 */
#ifndef POLICY_MATCH_H
#define POLICY_MATCH_H

#include "policy/rule.h"
#include "policy/shell.h"

/* The words of one simple command. Does not own them; `joined` and `bare` are made at first use. */
struct argv {
    const struct word *words;
    size_t count;
    size_t assign_count;     /* leading words that are assignments */
    struct str joined,
        bare; /* match_words.c's: the words parted by NUL; the same without the program's folder */
};

/* Whether it may stand in the name of a host, in lower case. */
static inline bool match_host_letter(char c)
{
    return (c >= 'a' && c <= 'z') || str_digit(c) || c == '-' || c == '_' || c == '.';
}

/* `*` is any text. Linear. */
bool match_glob(struct str glob, struct str text);

/* How many leading words the rule names, 0 when it does not cover the command; SIZE_MAX: all there is. */
size_t words_covered(struct arena *arena, const struct rule *rule, struct argv *argv);
/* *ret_maybe: the words have parts that are known only at run time, so the rule may match. */
bool words_stopped(struct arena *arena, const struct rule *rule, struct argv *argv, bool *ret_maybe);
/* The name of the program without the folders before it. */
struct str match_program_name(struct str word);

/* ---- paths ---- */

/* A path as named, and with links followed (`real`; the same when links are not known). */
struct place {
    struct str named, real;
    bool exists;
    bool shared; /* the file has another name, too (a hard link) */
    bool file;   /* a regular file: nothing is below it */
};

/* The three folders that relative rules begin in. */
struct places {
    struct place cwd, project, home;
};

/* Absolute, without `.`, `..`, empty components and a slash at the end; false: not a plain path. */
bool path_normal(struct arena *arena, struct str cwd, struct str home, struct str path, struct str *ret_path);
/* The absolute path without normalization, as the operating system would get it. */
struct str path_joined(struct arena *arena, struct str cwd, struct str home, struct str path);
/* Whether `path` is `folder` or lies below it; both normal. */
bool path_within(struct str path, struct str folder);
/* The name of `path` relative to `folder`; false when it is not below it. */
bool path_below(struct str path, struct str folder, struct str *ret_rest);

/* Components against components: `**` any number of them, `*` and `?` inside one. */
bool path_pattern_match(struct str pattern, struct str path);
/* The folder in which the rule's pattern begins; false when it is not known. */
bool path_rule_base(struct arena *arena, const struct rule *rule, const struct places *places, bool real,
                    struct str *ret_base);
/* A name alone, which as a deny or ask fits at any depth. */
bool path_means_anywhere(const struct rule *rule);
bool path_covered(struct arena *arena, const struct rule *rule, const struct places *places,
                  const struct place *path);
bool path_stopped(struct arena *arena, const struct rule *rule, const struct places *places,
                  const struct place *path);

/* ---- addresses ---- */

struct url {
    struct str scheme, host, port, rest; /* lower case but for `rest` */
};

/* Accepts only URLs that all parsers read alike: no user, no escapes or unusual letters in the host. */
bool url_parse(struct arena *arena, struct str text, struct url *ret_url);
/* `strictly`: for allow rules, only the usual ports of the host match. */
bool url_matches(const struct rule *rule, const struct url *url, bool strictly);

#endif
