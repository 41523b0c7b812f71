/* The output of table_make: rows and options as static arrays, texts once, names sorted. The arrays hold
 * offsets and no pointers, so that the program needs no relocation and shares the pages between processes. */
#include "policy/table_hash.h"
#include "policy/table_make.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text_pool;
static size_t text_size = 1, text_room;
static struct { size_t *slots; size_t count; } text_map = {.count = 1 << 17};

/* Offset of `text` in table_text; equal texts are one. */
static uint32_t put_text(const char *text)
{
    if (!text || !*text)
        return 0;
    if (!text_map.slots && !(text_map.slots = calloc(text_map.count, sizeof *text_map.slots)))
        exit(1);
    size_t hash = 5381, size = strlen(text) + 1;
    for (const char *at = text; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    size_t slot = hash % text_map.count;
    for (; text_map.slots[slot]; slot = (slot + 1) % text_map.count)
        if (strcmp(text_pool + text_map.slots[slot], text) == 0)
            return (uint32_t)text_map.slots[slot];
    text_pool = grow(text_pool, text_size + size, &text_room, 1);
    memcpy(text_pool + text_size, text, size);
    text_map.slots[slot] = text_size;
    text_size += size;
    return (uint32_t)text_map.slots[slot];
}

static int compare_options(const void *left, const void *right)
{
    return strcmp(((const struct made_option *)left)->name, ((const struct made_option *)right)->name);
}

/* `gcc` and `cc`, `grep` and `egrep`: the largest part of the table are options, and many rows have the same
 * ones. */
static bool same_options(const struct row *a, const struct row *b)
{
    if (a->option_count != b->option_count)
        return false;
    for (size_t i = 0; i < a->option_count; i++) {
        const struct made_option *x = &a->options[i], *y = &b->options[i];
        if (strcmp(x->name, y->name) != 0 || x->arity != y->arity || x->mark != y->mark || x->arg != y->arg ||
            x->lang != y->lang)
            return false;
    }
    return true;
}

/* Writes all options; returns where those of each row begin. Rows with the same options share them. */
static size_t *write_options(FILE *out)
{
    size_t *begins = calloc(row_count, sizeof *begins), total = 0;
    if (!begins)
        exit(1);
    (void)fprintf(out, "const struct table_option table_options[] = {\n");
    for (size_t i = 0; i < row_count; i++) {
        struct row *row = &rows[i];
        if (row->option_count)
            qsort(row->options, row->option_count, sizeof *row->options, compare_options);
        size_t same = 0;
        while (same < i && !same_options(row, &rows[same]))
            same++;
        if (same < i) {
            begins[i] = begins[same];
            continue;
        }
        begins[i] = total;
        total += row->option_count;
        for (size_t k = 0; k < row->option_count; k++) {
            const struct made_option *o = &row->options[k];
            uint32_t name = put_text(o->name);
            if (name >= 1u << 20 || o->mark >= 1u << 6 || o->arg >= 1u << 4) {
                (void)fprintf(stderr, "table_make: `%s` does not fit into struct table_option\n", o->name);
                exit(1);
            }
            (void)fprintf(out, "{%u,%u,%u,%u},\n", name, o->arity, o->mark, o->arg);
        }
    }
    (void)fprintf(out, "{0}};\n");
    return begins;
}

/* Operands are few: each row has its own. */
static size_t *write_operands(FILE *out)
{
    size_t *begins = calloc(row_count, sizeof *begins), total = 0;
    if (!begins)
        exit(1);
    (void)fprintf(out, "const struct table_operand table_operands[] = {\n");
    for (size_t i = 0; i < row_count; i++) {
        begins[i] = total;
        total += rows[i].operand_count;
        for (size_t k = 0; k < rows[i].operand_count; k++)
            (void)fprintf(out, "{%u,%u,%u},\n", rows[i].operands[k].role, rows[i].operands[k].arg,
                          rows[i].operands[k].repeat);
    }
    (void)fprintf(out, "{0}};\n");
    return begins;
}

/* Which of table_lists each row has. */
static size_t *write_lists(FILE *out)
{
    struct table_lists *all = calloc(row_count + 1, sizeof *all);
    size_t *found = calloc(row_count, sizeof *found), count = 1;
    if (!all || !found)
        exit(1);
    for (size_t i = 0; i < row_count; i++) {
        const struct row *r = &rows[i];
        struct table_lists own = {put_text(r->behind), put_text(r->touches), put_text(r->prefixes), put_text(r->paths),
                                  put_text(r->does)};
        all[count] = own;
        while (memcmp(&all[found[i]], &own, sizeof own) != 0)
            found[i]++;
        count += found[i] == count;
    }
    (void)fprintf(out, "const struct table_lists table_lists[] = {\n");
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "{%u,%u,%u,%u,%u},\n", all[i].behind, all[i].touches, all[i].prefixes, all[i].paths,
                      all[i].does);
    (void)fprintf(out, "};\n");
    free(all);
    return found;
}

static bool begins_another(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < row_count; i++)
        for (size_t k = 0; k < rows[i].name_count; k++)
            if (strncmp(rows[i].names[k], name, n) == 0 && rows[i].names[k][n] == ' ')
                return true;
    return false;
}

static bool has_subs(const struct row *row)
{
    for (size_t k = 0; k < row->name_count; k++)
        if (begins_another(row->names[k]))
            return true;
    return false;
}

/* In the order of the fields of struct table_row. Rows whose facts may be incomplete are written as not known. */
static void write_rows(FILE *out, const size_t *options, const size_t *operands, const size_t *lists)
{
    (void)fprintf(out, "const size_t table_row_count = %zu;\nconst struct table_row table_rows[] = {\n", row_count);
    for (size_t i = 0; i < row_count; i++) {
        const struct row *r = &rows[i];
        (void)fprintf(out, "{%u,%zu,%zu,%zu,%u,%u,%u,%s,0x%xu,0x%x,%zu,%s},\n", put_text(r->names[0]),
                      options[i], r->option_count, operands[i], r->operand_count, r->reader, r->stdin_lang,
                      r->known && r->exact ? "true" : "false", r->styles, r->risk,
                      lists[i], has_subs(r) ? "true" : "false");
    }
    (void)fprintf(out, "{0}};\n");
}

struct named_row { const char *name; size_t row; };

static int compare_names(const void *left, const void *right)
{
    return strcmp(((const struct named_row *)left)->name, ((const struct named_row *)right)->name);
}

static void write_places(FILE *out, const struct named_row *all, size_t count)
{
    size_t room = 1;
    while (room < 2 * count)
        room *= 2;
    uint16_t *places = calloc(room, sizeof *places);
    if (!places || count >= UINT16_MAX) {
        (void)fprintf(stderr, "table_make: no room for %zu names\n", count);
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = table_hash(all[i].name, strlen(all[i].name)) & (room - 1);
        while (places[at])
            at = (at + 1) & (room - 1);
        places[at] = (uint16_t)(i + 1);
    }
    (void)fprintf(out, "const size_t table_place_count = %zu;\nconst uint16_t table_places[] = {\n", room);
    for (size_t i = 0; i < room; i++)
        (void)fprintf(out, "%u,%s", places[i], i % 16 == 15 ? "\n" : "");
    (void)fprintf(out, "};\n");
    free(places);
}

/* Sorted as bytes, in the order that name_bound of effects.c searches. */
static void write_names(FILE *out)
{
    struct named_row *all = NULL;
    size_t count = 0, room = 0;
    for (size_t i = 0; i < row_count; i++)
        for (size_t k = 0; k < rows[i].name_count; k++) {
            all = grow(all, count, &room, sizeof *all);
            all[count++] = (struct named_row){rows[i].names[k], i};
        }
    if (count)
        qsort(all, count, sizeof *all, compare_names);
    (void)fprintf(out, "const size_t table_name_count = %zu;\nconst struct table_name table_names[] = {\n", count);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "{%u,%zu},\n", put_text(all[i].name), all[i].row);
    (void)fprintf(out, "{0}};\n");
    write_places(out, all, count);
}

/* Written as characters: compilers need not accept a string literal of this size. */
static void write_text(FILE *out)
{
    (void)fprintf(out, "const char table_text[] = {\n0,");
    for (size_t i = 1; i < text_size; i++)
        (void)fprintf(out, "%d,%s", text_pool[i], i % 32 ? "" : "\n");
    (void)fprintf(out, "};\n");
}

void table_write(const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    (void)fprintf(out, "/* Made by table_make from marks and facts. */\n#include \"policy/table.h\"\n"
                       "#include \"policy/table_hash.h\"\n");
    size_t *options = write_options(out), *operands = write_operands(out), *lists = write_lists(out);
    write_rows(out, options, operands, lists);
    write_names(out);
    write_text(out);
    if (fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}
