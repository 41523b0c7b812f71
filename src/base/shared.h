/* Bytes made once and sent to many: counted, freed with the last holder. One thread only. */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include "base/str.h"

struct shared {
    unsigned refs;
    size_t n;
    char p[];
};

struct shared *shared_new(struct str bytes);
struct shared *shared_ref(struct shared *shared);
void shared_unref(struct shared *shared);

#endif
