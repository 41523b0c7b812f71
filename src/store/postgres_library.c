/* libpq, loaded when the first postgres: store is opened. Linked, it would bring TLS, LDAP and Kerberos into
 * every process that keeps its events in SQLite. */
#include "store/postgres.h"

#include <dlfcn.h>
#include <pthread.h>

struct pq pq;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing; /* NULL: all is there */

static void load(void)
{
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL); /* stays for the life of the process */
    if (!library) {
        missing = "libpq.so.5";
        return;
    }
    /* POSIX lets a pointer to a function come out of dlsym; ISO C has no cast for it. */
#define X(name)                                      \
    {                                                \
        void *found = dlsym(library, #name);         \
        memcpy(&pq.name, &found, sizeof found);      \
        if (!found)                                  \
            missing = #name;                         \
    }
    PQ_FUNCTIONS(X)
#undef X
}

struct rc pq_load(struct err *err)
{
    CHECK(pthread_once(&once, load) == 0);
    if (missing)
        return err_set(err, ERR_UNAVAILABLE,
                       "PostgreSQL's client library is missing (%s): install libpq5, version 14 or later", missing);
    return RC_OK;
}
