/* The functions that answer requests, one for each row of the two tables. Included by exchange.h. */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api/routes_admin.h"
#include "api/routes_calls.h"

struct exchange;

/* A schema in a row of the tables: SCHEMA({"type": "object", …}). */
#define SCHEMA(...) #__VA_ARGS__

#define ROUTES(R)   \
    ROUTES_CALLS(R) \
    ROUTES_ADMIN(R)

#define R(name, ...) void api_##name(struct exchange *x);
ROUTES(R)
#undef R

#endif
