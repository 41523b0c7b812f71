/* Many rows as one parameter per column: arrays in PostgreSQL's binary form. */
#include "store/postgres_column.h"

#include "base/limits.h"

enum { COLUMN_BYTES_MAX = 4 * LIMIT_GROUP_BYTES + 8 * LIMIT_EVENT_BYTES, HEADER_BYTES = 20, COUNT_AT = 12 };

static void put_int(struct buf *buf, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        buf_putc(buf, (char)(value >> (8 * i)));
}

void columns_done(struct columns *columns)
{
    for (int i = 0; i < columns->count; i++)
        buf_done(&columns->columns[i].buf);
}

/* Arrays in PostgreSQL's binary form: a group of any size is one statement with one parameter per column. */
void columns_begin(struct columns *columns, const enum column_type *types, int count)
{
    CHECK(count <= COLUMNS_MAX);
    columns->count = count;
    for (int i = 0; i < count; i++) {
        struct column *column = &columns->columns[i];
        *column = (struct column){.buf = buf_init(COLUMN_BYTES_MAX), .type = types[i]};
        put_int(&column->buf, 1, 4); /* one dimension */
        put_int(&column->buf, 0, 4);
        put_int(&column->buf, types[i], 4);
        put_int(&column->buf, 0, 4); /* number of elements: filled in at the end */
        put_int(&column->buf, 1, 4); /* counted from 1 */
    }
}

void column_int(struct column *column, int64_t value)
{
    int bytes = column->type == COLUMN_INT ? 4 : 8;
    CHECK(column->type == COLUMN_INT || column->type == COLUMN_BIGINT);
    put_int(&column->buf, (uint64_t)bytes, 4);
    put_int(&column->buf, (uint64_t)value, bytes);
    column->rows++;
}

void column_str(struct column *column, struct str value)
{
    CHECK(column->type == COLUMN_TEXT || column->type == COLUMN_BYTES);
    put_int(&column->buf, value.n, 4);
    buf_put(&column->buf, value);
    column->rows++;
}

void column_null(struct column *column)
{
    put_int(&column->buf, UINT32_MAX, 4);
    column->rows++;
    column->buf.p[7] = 1; /* some are NULL */
}

void columns_params(struct columns *columns, struct params *params)
{
    for (int i = 0; i < columns->count; i++) {
        struct column *column = &columns->columns[i];
        CHECK(!column->buf.over && column->buf.n >= HEADER_BYTES);
        CHECK(column->rows == columns->columns[0].rows);
        for (int b = 0; b < 4; b++)
            column->buf.p[COUNT_AT + b] = (char)(column->rows >> (8 * (3 - b)));
        params_str(params, buf_str(&column->buf));
    }
}
