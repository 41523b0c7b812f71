/* The hash table of the names of table.h: written by table_write.c, read by effects.c. */
#ifndef POLICY_TABLE_HASH_H
#define POLICY_TABLE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The number of a name plus one, or 0; one that is taken is in the next free place. */
extern const uint16_t table_places[];
extern const size_t table_place_count; /* a power of two, more than the names */

/* FNV-1a: nobody can choose the table's names. */
static inline uint32_t table_hash(const char *name, size_t bytes)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash ^ hash >> 15;
}

#endif
