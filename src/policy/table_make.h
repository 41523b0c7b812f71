/* Between the two files of the host tool table_make. */
#ifndef POLICY_TABLE_MAKE_H
#define POLICY_TABLE_MAKE_H

#include "policy/table.h"

enum { NAMES_MAX = 64, OPERANDS_MAX = 8, WORDS_MAX = 4096 };

struct made_option {
    const char *name;
    const char *hint; /* the name of its value in the help text; "": unknown */
    uint8_t arity, mark, arg, lang;
    bool marked;
};

/* A row while it is made, from marks and facts; table_write.c turns it into struct table_row. */
struct row {
    const char *file;
    unsigned line;
    const char *names[NAMES_MAX];
    size_t name_count;
    struct table_operand operands[OPERANDS_MAX];
    uint8_t operand_count;
    struct made_option *options;
    size_t option_count, option_room;
    uint8_t reader, stdin_lang;
    bool known, long_only, exact;
    uint32_t styles;
    uint16_t risk;
    const char *behind, *touches, *prefixes, *paths, *does;
};

extern struct row *rows;
extern size_t row_count;

/* The array with room for more than `count` elements; never NULL. */
void *grow(void *array, size_t count, size_t *room, size_t size);
/* Writes the arrays of table.h as a C file; ends the program when it cannot. */
void table_write(const char *path);

#endif
