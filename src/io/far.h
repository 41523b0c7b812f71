/* Places that may not answer: mounts of a program (FUSE) or of another machine (NFS, SMB, 9P). A look at one can block
 * for as long as the other side likes. Who must not wait, above all the loop, lets a thread look and goes on after a
 * moment without its answer.
 */
#ifndef IO_FAR_H
#define IO_FAR_H

#include "base/arena.h"
#include "base/str.h"

/* Begins a struct of one's own, made with far_new. */
struct far_work {
    void (*run)(struct far_work *work); /* in a thread; uses nothing but the work */
    struct arena arena;                 /* owns what the work needs and finds */
    bool long_work;                     /* that it has not ended in time says nothing of the mount */
    bool over, left;                    /* private: it has ended; nobody waits for it any more */
    bool counted;                       /* private: as one of the mount at `at` */
    struct str at;
};

/* Whether there is such a mount. The system's list is read again when it has changed. Any thread. */
bool far_any(void);
/* Whether an absolute path without links lies on one, by the list that far_any has seen. */
bool far_is(struct str path);

void *far_new(size_t bytes, void (*run)(struct far_work *work));
/* Does the work on the mount that `path` lies on. False: it has not ended in time, this mount did not answer a moment
 * ago, or too many threads hang; the work is no longer the caller's then. True: the caller takes what was found, and
 * frees it. */
bool far_do(struct far_work *work, struct str path);
void far_free(struct far_work *work);

#endif
