/* Bytes that several readers hold; freed with the last of them (shared.h). */
#include "base/shared.h"

#include "base/arena.h"
#include "base/err.h"

#include <stdlib.h>

struct shared *shared_new(struct str bytes)
{
    struct shared *shared = heap_new(sizeof *shared + bytes.n);
    shared->refs = 1;
    shared->n = bytes.n;
    if (bytes.n)
        memcpy(shared->p, bytes.p, bytes.n);
    return shared;
}

struct shared *shared_ref(struct shared *shared)
{
    CHECK(shared->refs > 0);
    shared->refs++;
    return shared;
}

void shared_unref(struct shared *shared)
{
    CHECK(shared->refs > 0);
    if (--shared->refs == 0)
        free(shared);
}
