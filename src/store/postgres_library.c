/* libpq, loaded when the first postgres: store is opened. Linked, it would bring TLS, LDAP and Kerberos into
 * every process that keeps its events in SQLite. */
#include "store/postgres.h"

#include <pthread.h>

struct pq pq;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *missing; /* NULL: all is there */

static void load(void)
{
#define X(name) LIBRARY_FUNCTION_OF(pq, name)
    static const struct library_function functions[] = {PQ_FUNCTIONS(X)};
#undef X
    missing = library_load("libpq.so.5", functions, LIBRARY_COUNT(functions));
}

struct rc pq_load(struct err *err)
{
    CHECK(pthread_once(&once, load) == 0);
    if (missing)
        return err_set(err, ERR_UNAVAILABLE,
                       "PostgreSQL's client library is missing (%s): install libpq5, version 14 or later", missing);
    return RC_OK;
}
