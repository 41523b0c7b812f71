/* The table of commands as an array, and finding one in it by what was typed. */
#include "agents/agent.h"
#include "cli/words.h"

#define OPTION(letter, name, value, words) {letter, name, value, words},

const struct command commands[] = {
#define X(function_, name_, audience_, operands_, summary_, details_, options_) \
    {.name = (name_),                                                           \
     .audience = (audience_),                                                   \
     .operands = (operands_),                                                   \
     .summary = (summary_),                                                     \
     .details = (details_),                                                     \
     .options = (const struct option[]){options_{0}},                           \
     .id = COMMAND_##function_},
    COMMANDS(X)
#undef X
    {0},
};

const struct command *command_find(struct str name)
{
    for (const struct command *c = commands; c->name; c++)
        if (str_is(name, c->name))
            return c;
    return NULL;
}

bool command_group(struct str word)
{
    for (const struct command *c = commands; c->name; c++) {
        struct str rest;
        if (str_eq(str_cut(str_of(c->name), ' ', &rest), word) && !str_empty(rest))
            return true;
    }
    return false;
}

/* A word is near when fewer than half of its letters are wrong, and not more than three. */
static unsigned near_enough(struct str word)
{
    unsigned most = (unsigned)(word.n > 6 ? 6 : word.n);
    return most / 2 + 1;
}

/* The names that `word` is compared with: the whole name, the name of its group, the second word alone. */
static struct str name_part(const struct command *command, int part)
{
    struct str second;
    struct str first = str_cut(str_of(command->name), ' ', &second);
    if (part == 0)
        return str_of(command->name);
    return part == 1 ? first : second;
}

/* Whole names first, then groups, then second words, so that `nod lst` finds "session list". A later one must be
 * nearer to win. */
struct str command_nearest(struct arena *arena, struct str word)
{
    unsigned best = near_enough(word);
    struct str found = STR_NONE;
    for (int part = 0; part < 3; part++)
        for (const struct command *c = commands; c->name; c++) {
            struct str name = name_part(c, part);
            unsigned distance = str_empty(name) ? best : str_distance(word, name);
            if (distance >= best)
                continue;
            best = distance;
            found = part == 1 ? name : str_of(c->name);
        }
    return str_empty(found) ? found : arena_str(arena, found);
}

struct rc command_unknown(struct arena *arena, struct str name, struct err *err)
{
    struct str near = command_nearest(arena, name);
    if (!str_empty(near))
        return err_set(err, ERR_INVALID, "there is no command '%.*s' (did you mean nod %.*s?); see nod help",
                       STR_ARG(name), STR_ARG(near));
    return err_set(err, ERR_INVALID, "there is no command '%.*s'; see nod help", STR_ARG(name));
}

const char *option_nearest(const struct command *command, struct str word)
{
    CHECK(command && command->options);
    unsigned best = near_enough(word);
    const char *found = NULL;
    for (const struct option *o = command->options; o->name; o++) {
        unsigned distance = str_distance(word, str_of(o->name));
        if (distance < best) {
            best = distance;
            found = o->name;
        }
    }
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *s = &settings_table[i];
        unsigned distance = str_distance(word, str_of(s->name));
        if ((s->where & IN_FLAGS) && (s->audience & command->audience) && distance < best) {
            best = distance;
            found = s->name;
        }
    }
    return found;
}

/* Read from the text that help shows, "SESSION [CALL...]", so that help and parser cannot differ. */
void command_operands(const struct command *command, int *ret_min, int *ret_max)
{
    struct str rest = str_of(command->operands);
    CHECK(command->operands);
    *ret_min = 0;
    *ret_max = 0;
    STR_EACH(word, rest, ' ') {
        bool many = str_has(word, STR("..."));
        *ret_min += word.p[0] != '[';
        *ret_max = many ? INT32_MAX : *ret_max + 1;
    }
}
