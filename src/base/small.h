/* Small things that live long: entries of maps, calls and runs that wait.
 *
 * Between the large and short-lived blocks of requests each of them would keep a page of the heap from being given
 * back. Here they lie together, by size, and a slab that is empty goes back as a whole: a few of them when the program
 * rests (io/system.h), what is more at once. From any thread.
 */
#ifndef BASE_SMALL_H
#define BASE_SMALL_H

#include <stddef.h>

/* Zeroed, aligned for any type, never NULL. Any size; from SMALL_BYTES_MAX on it comes from the heap. */
enum { SMALL_BYTES_MAX = 2048 };
void *small_new(size_t bytes);
/* The same, for a caller that writes all of it: not zeroed. */
void *small_bytes(size_t bytes);
/* `bytes` must be the size that was asked for. NULL is ignored. */
void small_free(void *p, size_t bytes);
/* Slabs in which nothing lies give their pages back to the system. */
void small_trim(void);

#endif
