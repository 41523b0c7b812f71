/* Finding a command in the table. */
#include "policy/commands.h"

#include <stdlib.h>

static int by_name(const void *key, const void *row)
{
    return str_cmp(*(const struct str *)key, str_of(((const struct command_row *)row)->name));
}

typedef const struct command_row *rows_of(size_t *ret_count);
static rows_of *const tables[] = {command_rows, command_doors};
enum { TABLE_COUNT = sizeof tables / sizeof *tables };

const struct command_row *command_row_find(struct str name)
{
    const struct command_row *row = NULL;
    for (int i = 0; i < TABLE_COUNT && !row; i++) {
        size_t count;
        const struct command_row *rows = tables[i](&count);
        row = bsearch(&name, rows, count, sizeof *rows, by_name);
    }
    return row;
}

/* The first row whose name begins with `start`. */
static const struct command_row *find_beginning(struct str start)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        size_t count;
        const struct command_row *rows = tables[i](&count);
        for (size_t k = 0; k < count; k++)
            if (str_starts(str_of(rows[k].name), start))
                return &rows[k];
    }
    return NULL;
}

const struct command_row *command_row_sub(struct str name, struct str sub, bool shortened)
{
    char both[64];
    if (name.n + 1 + sub.n > sizeof both)
        return NULL;
    memcpy(both, name.p, name.n);
    both[name.n] = ' ';
    if (sub.n)
        memcpy(both + name.n + 1, sub.p, sub.n);
    struct str whole = {both, name.n + 1 + sub.n};
    const struct command_row *row = command_row_find(whole);
    return row || !shortened || str_empty(sub) ? row : find_beginning(whole);
}

bool command_is_door(struct str name)
{
    const struct command_row *row = command_row_find(program_name(name));
    if (!row)
        return false;
    switch (row->way) {
    case WAY_RUNS:
    case WAY_SHELL:
    case WAY_CODE:
    case WAY_EVAL:
    case WAY_FIRST:
    case WAY_REMOTE:
    case WAY_NEVER:
    case WAY_XARGS: case WAY_ENV: case WAY_COMMAND: case WAY_STATE:
        return true;
    case WAY_PLAIN: case WAY_READS: case WAY_WRITES: case WAY_SUBS: case WAY_FIND: case WAY_SED: case WAY_AWK:
    case WAY_GIT: case WAY_MAKE: case WAY_TAR: case WAY_TEE: case WAY_DD: case WAY_SET: case WAY_TEST:
    case WAY_SQLITE: case WAY_CONFIG: case WAY_SECOND: case WAY_SETS: case WAY_SERVICE:
        break;
    }
    return false;
}
