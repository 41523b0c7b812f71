/* Searches as expressions. Whether something holds for one, or for all, of what a loop goes over:
 *
 *     return ANY(size_t i = 0; i < text.n; i++, text.p[i] == '\n');
 *     return ALL(const struct act *act = acts; act; act = act->next, only_reads(act));
 *
 * The first row of an array for which a condition on `row` holds, or NULL; and a value of it, for a table:
 *
 *     return ROW_FIND(session->tools, session->tool_count, row, str_eq(row->tool, tool));
 *     return ROW_VALUE(roles, row, row->role == role, row->wire, "none");
 *
 * Each ends at the first that decides.
 */
#ifndef BASE_ANY_H
#define BASE_ANY_H

#include <stdbool.h>
#include <stddef.h>

#define ANY(loop, condition) \
    __extension__({ \
        bool found_any = false; \
        for (loop) \
            if (condition) { \
                found_any = true; \
                break; \
            } \
        found_any; \
    })
#define ALL(loop, condition) (!ANY(loop, !(condition)))

#define ROW_FIND(rows, count, row, condition) \
    __extension__({ \
        __typeof__((rows) + 0) row = (rows), end_of_rows = row + (count); \
        while (row < end_of_rows && !(condition)) \
            row++; \
        row < end_of_rows ? row : NULL; \
    })
#define ROW_VALUE(rows, row, condition, value, otherwise) \
    __extension__({ \
        __typeof__((rows) + 0) row = (rows), end_of_rows = row + sizeof(rows) / sizeof *(rows); \
        while (row < end_of_rows && !(condition)) \
            row++; \
        row < end_of_rows ? (value) : (otherwise); \
    })

#endif
