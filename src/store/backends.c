/* The table of backends: to add one, add a line. */
#include "store/backend.h"

/* The numbers that stand in the statements of the backends (sqlite_sql.h, postgres_sql.h, sqlite_verify.c). */
_Static_assert(EVENT_TOOL_CALL == 3, "a kind in SQL");
_Static_assert(EVENT_TOOL_APPROVAL_REQUEST == 4, "a kind in SQL");
_Static_assert(EVENT_TOOL_APPROVAL_RESPONSE == 5, "a kind in SQL");
_Static_assert(EVENT_RUN_STATUS == 12, "a kind in SQL");
_Static_assert(EVENT_SESSION_CHANGED == 13, "a kind in SQL");
_Static_assert(EVENT_TOKEN_CHANGED == 14, "a kind in SQL");
_Static_assert(EVENT_RULE_CHANGED == 15, "a kind in SQL");

#define BACKENDS(X) \
    X(sqlite)    \
    X(postgres)

#define X(name) extern const struct backend backend_##name;
BACKENDS(X)
#undef X

static const struct backend *const backends[] = {
#define X(name) &backend_##name,
    BACKENDS(X)
#undef X
};

enum { BACKEND_COUNT = sizeof backends / sizeof backends[0] };

const struct backend *backend_at(size_t index) { return index < BACKEND_COUNT ? backends[index] : NULL; }

/* By the scheme of the URL. NULL: no such backend, or nothing behind the colon. */
const struct backend *backend_find(const char *url, const char **ret_place)
{
    struct str place;
    struct str scheme = str_cut(str_of(url), ':', &place);
    for (size_t i = 0; i < BACKEND_COUNT; i++) {
        if (str_is(scheme, backends[i]->scheme) && !str_empty(place)) {
            *ret_place = place.p;
            return backends[i];
        }
    }
    return NULL;
}

struct rc store_shed(const char *url, struct err *err)
{
    const char *place;
    const struct backend *backend = backend_find(url, &place);
    return backend && backend->shed ? backend->shed(place, err) : RC_OK;
}

bool store_has_nodes(const char *url)
{
    const char *place;
    const struct backend *backend = backend_find(url, &place);
    return backend && backend->note_key;
}

struct rc store_note_key(const char *url, uint64_t key, bool *ret_same, struct err *err)
{
    const char *place;
    const struct backend *backend = backend_find(url, &place);
    uint64_t noted = key;
    if (backend && backend->note_key)
        TRY(backend->note_key(place, key, &noted, err));
    *ret_same = noted == key;
    return RC_OK;
}

struct rc store_verify(const char *url, struct store_check *ret_check, struct err *err)
{
    const char *place;
    const struct backend *backend = backend_find(url, &place);
    if (!backend)
        return err_set(err, ERR_INVALID, "there is no store \"%s\": try sqlite:/path/to/nod.db or "
                       "postgres://user@host/database", url);
    return backend->verify(place, ret_check, err);
}
