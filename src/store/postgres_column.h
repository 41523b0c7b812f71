/* Rows as arrays, one per column: a statement with unnest() takes any number of them in one go. */
#ifndef STORE_POSTGRES_COLUMN_H
#define STORE_POSTGRES_COLUMN_H

#include "store/postgres.h"

/* PostgreSQL's numbers for these types. */
enum column_type { COLUMN_BYTES = 17, COLUMN_BIGINT = 20, COLUMN_INT = 23, COLUMN_TEXT = 25 };

enum { COLUMNS_MAX = 12 };

struct column {
    struct buf buf;
    enum column_type type;
    uint32_t rows;
};

/* Rows on their way to the server: one array parameter per column. */
struct columns {
    struct column columns[COLUMNS_MAX];
    int count;
};

void columns_begin(struct columns *columns, const enum column_type *types, int count);
void columns_done(struct columns *columns);
#define COLUMNS_SCOPE(name, ...)                                                               \
    static const enum column_type name##_types[] = {__VA_ARGS__};                              \
    __attribute__((cleanup(columns_done))) struct columns name = {0};                          \
    columns_begin(&name, name##_types, (int)(sizeof name##_types / sizeof name##_types[0]))

void column_int(struct column *column, int64_t value);
void column_str(struct column *column, struct str value);
void column_null(struct column *column);
static inline uint32_t columns_rows(const struct columns *columns) { return columns->columns[0].rows; }
/* Adds the columns to the parameters, which refer to them: they are complete now. */
void columns_params(struct columns *columns, struct params *params);

#endif
