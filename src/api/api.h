/* The HTTP and WebSocket interface.
 *
 * Every request is authenticated and matched against one table (routes.c), which says who may use a route
 * and which function answers it. To add a route: one file (or function) and one line in that table; role
 * check, body parsing, error bodies, access log and the OpenAPI document come from it.
 */
#ifndef API_API_H
#define API_API_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct api;
struct arena;
struct gate;
struct http_request;
struct http_server;
struct notify;
struct runtime;

/* Read once by api_new; the strings must live as long as the API. */
struct api_options {
    struct gate *gate;
    struct runtime *runtime;  /* runs of our own agent */
    struct notify *notify;    /* messages to people; NULL: none */
    const char *hosts;        /* further Host values that are ours, separated by commas or blanks */
    const char *public_url;   /* where people reach the page; NULL: at the address we listen on */
    struct str authority;     /* certificate of our own authority, PEM, for devices that shall trust it */
    bool tripwire;            /* processes below agents do not count as persons at the Unix socket */
    int64_t timeout_seconds;  /* how long an approval waits in sessions that set no timeout; 0: forever */
    struct str warning;       /* what is wrong with this node though it works, for /readyz; empty: nothing */
};

struct api *api_new(const struct api_options *options);
void api_free(struct api *api);
/* Tells the API an address that the server listens on: requests whose Host header names it are accepted. */
void api_add_address(struct api *api, const char *host, int port);
/* Tells the API a name and port under which the server listens with TLS. */
void api_add_secure(struct api *api, struct str name, int port);
/* Makes a link that logs one browser in as an admin of this name, once, within minutes. After api_add_address. */
struct str api_login_link(struct api *api, struct arena *arena, const char *name);
/* For connection figures; may be NULL. */
void api_set_server(struct api *api, const struct http_server *server);
void api_set_ready(struct api *api, bool ready);
/* `handle` of the HTTP server; arg is the api. */
void api_handle(void *arg, struct http_request *request);

/* `admit` of the HTTP server: token, origin and role, before the body is read. */
struct rc api_admit(void *arg, struct http_request *request, struct err *err);
/* How large the body of a request to this target may be, for the HTTP server. */
size_t api_body_max(struct str target);

/* Every route as "METHOD PATH", one per line, for checks from outside. */
void api_print_routes(void);

/* A valid token of this person that may decide in the session; NULL: there is none. For answers that come by notify/.
 * */
const struct token *api_find_person(const struct gate *gate, struct str person, struct str session);
/* Whether the person had tokens and all were revoked: then no message is sent to them. */
bool api_was_revoked(const struct gate *gate, struct str person);

#endif
