/* The table of routes: which one a path finds, and whose token may use it. */
#include "u_api.h"

#include "io/file.h"

/* ---- which route ---- */

enum { SEGMENTS_MAX = 16 };

static size_t split(struct str path, struct str segments[SEGMENTS_MAX])
{
    size_t count = 0;
    struct str left = str_sub(path, 1, path.n);
    for (bool more = true; more && count < SEGMENTS_MAX; count++) {
        more = str_find(left, '/') < left.n;
        segments[count] = str_cut(left, '/', &left);
    }
    return count;
}

/* Segment by segment: what the table means. */
static bool fits(const char *pattern, struct str path, struct str params[PARAMS_MAX])
{
    struct str wanted[SEGMENTS_MAX], there[SEGMENTS_MAX];
    size_t count = split(str_of(pattern), wanted), taken = 0;
    if (path.n == 0 || path.p[0] != '/' || count != split(path, there))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!str_starts(wanted[i], STR(":"))) {
            if (!str_eq(wanted[i], there[i]))
                return false;
        } else if (str_empty(there[i])) {
            return false;
        } else {
            params[taken++] = there[i];
        }
    }
    return true;
}

static const struct route *first_that_fits(struct str method, struct str path, struct str params[PARAMS_MAX],
                                           bool *ret_known)
{
    size_t count;
    const struct route *routes = routes_all(&count), *found = NULL;
    *ret_known = false;
    for (size_t i = 0; i < count && !found; i++) {
        struct str taken[PARAMS_MAX] = {0};
        if (!fits(routes[i].path, path, taken))
            continue;
        *ret_known = true;
        if (!str_is(method, routes[i].method))
            continue;
        found = &routes[i];
        memcpy(params, taken, sizeof taken);
    }
    return found;
}

/* What the API finds for it, by a token that is known. */
static void check_finds(struct str method, struct str path)
{
    ARENA_SCOPE(arena);
    struct str line = arena_printf(&arena, "%.*s %.*s", STR_ARG(method), STR_ARG(path)), params[PARAMS_MAX] = {0};
    struct http_request *request = request_new(line.p, HOST "Authorization: Bearer one", STR_NONE);
    struct err err = {0};
    bool known;
    const struct route *wanted = first_that_fits(method, path, params, &known);
    bool is_open = wanted && wanted->right.scope == SCOPE_NONE;
    (void)rc_ok(api_admit(api, request, &err));
    const struct exchange *x = request->admitted;
    bool of_page = page_has(request);
    if (wanted && !is_open) {
        assert_non_null(x);
        assert_string_equal(x->route->name, wanted->name);
        for (size_t i = 0; i < PARAMS_MAX; i++)
            assert_true(str_eq(x->params[i], params[i]));
    } else {
        assert_null(x);
    }
    http_drop(request);
    if (!wanted && !of_page) {
        struct token admin = token_of(ROLE_ADMIN, NULL);
        assert_int_equal(status_of(line.p, NULL, NULL, &admin), known ? 405 : 404);
    }
}

static struct str filled(struct arena *arena, const char *pattern, const char *value)
{
    struct str path = STR_NONE, segments[SEGMENTS_MAX];
    size_t count = split(str_of(pattern), segments);
    for (size_t i = 0; i < count; i++)
        path = arena_printf(arena, "%.*s/%.*s", STR_ARG(path),
                            STR_ARG(str_starts(segments[i], STR(":")) ? str_of(value) : segments[i]));
    return path;
}

/* Every path of the table, also with what is nearly it. */
static void a_path_finds_the_first_route_that_it_fits(void **state)
{
    static const char *const values[] = {"x", "ses_1.main", "pending", ":session", "a%2Fb", "-"};
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "get", ""};
    size_t count;
    const struct route *routes = routes_all(&count);
    (void)state;
    api_set_ready(api, true);
    token_add("tok_1", "admin", "one");
    for (size_t i = 0; i < count; i++) {
        ARENA_SCOPE(arena);
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            struct str path = filled(&arena, routes[i].path, values[v]);
            check_finds(str_of(routes[i].method), path);
            for (size_t m = 0; m < sizeof methods / sizeof *methods && v == 0; m++)
                check_finds(str_of(methods[m]), path);
        }
        struct str method = str_of(routes[i].method), path = filled(&arena, routes[i].path, "x");
        for (size_t at = 1; at < path.n; at++) {
            struct str before = str_sub(path, 0, at), from = str_sub(path, at, path.n);
            check_finds(method, before);
            check_finds(method, arena_printf(&arena, "%.*s/%.*s", STR_ARG(before), STR_ARG(from)));
            check_finds(method, arena_printf(&arena, "%.*sX%.*s", STR_ARG(before), (int)from.n - 1, from.p + 1));
        }
        check_finds(method, arena_printf(&arena, "%.*sx", STR_ARG(path)));
        check_finds(method, filled(&arena, routes[i].path, ""));
    }
}

/* A literal segment stands before a parameter in its place. */
static void no_route_is_hidden_by_another(void **state)
{
    size_t count;
    const struct route *routes = routes_all(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        ARENA_SCOPE(arena);
        struct str params[PARAMS_MAX];
        bool known;
        struct str path = filled(&arena, routes[i].path, "x");
        assert_ptr_equal(first_that_fits(str_of(routes[i].method), path, params, &known), &routes[i]);
    }
}

/* ---- whose token ---- */

static const char *const kinds[] = {"none", "viewer", "agent", "approver", "approver+", "admin",
                                    "viewer@", "agent@", "approver@"};
enum { KINDS = sizeof kinds / sizeof *kinds, CELLS = 4 + KINDS };

static struct token token_of_kind(const char *kind)
{
    struct str name = str_of(kind);
    bool bound = name.p[name.n - 1] == '@', more = name.p[name.n - 1] == '+';
    enum role role = role_parse(str_sub(name, 0, name.n - (bound || more)));
    struct token token = token_of(role, bound ? "ses_1" : NULL);
    assert_int_not_equal(token.role, ROLE_NONE);
    if (more)
        token.scopes |= SCOPE_RULES_USER | SCOPE_TRUST | SCOPE_RUN;
    return token;
}

static const struct route *route_of(const char *method, struct str path)
{
    size_t count;
    const struct route *routes = routes_all(&count);
    for (size_t i = 0; i < count; i++)
        if (str_is(str_of(method), routes[i].method) && str_is(path, routes[i].path))
            return &routes[i];
    fail_msg("%s %.*s is no route", method, STR_ARG(path));
    return NULL;
}

/* The right of a row's route ("GET /api/x"). A message ("MESSAGE /api/ws decide") has a right of its own, behind that
 * of the route by which its socket is opened. */
static enum err_code allow(const struct token *token, struct str row, struct err *err)
{
    ARENA_SCOPE(arena);
    struct str path, name, method = str_cut(row, ' ', &path);
    bool is_message = str_is(method, "MESSAGE");
    path = str_cut(path, ' ', &name);
    const struct route *route = route_of(is_message ? "GET" : arena_c(&arena, method), path);
    enum err_code code = auth_allow(token, route->right, err).code;
    if (!is_message || code != ERR_OK)
        return code;
    const struct socket_kind *(*next)(size_t) = str_is(path, "/api/ws") ? socket_message : terminal_message;
    for (size_t i = 0; next(i); i++)
        if (str_is(name, next(i)->name))
            return auth_allow(token, next(i)->right, err).code;
    fail_msg("%.*s is no message", STR_ARG(row));
    return ERR_INTERNAL;
}

/* A row with a body that asks for more than its route (a rule for always) may be refused where the route is not. So a
 * route is refused to a kind of token if all its rows are; these look at what they are asked for before they refuse. */
static bool is_refused_later(struct str route, const char *kind)
{
    return str_is(route, "GET /api/approvals/pending") && str_is(str_of(kind), "agent");
}

struct told {
    struct str route;
    bool allowed[KINDS], is_open;
};

static void take_row(struct told *told, const struct str cells[CELLS])
{
    told->route = cells[0];
    told->is_open = !str_is(cells[4], "401") || str_is(cells[0], "POST /api/login");
    for (size_t k = 0; k < KINDS; k++)
        told->allowed[k] = told->allowed[k] || (!str_is(cells[4 + k], "401") && !str_is(cells[4 + k], "403"));
}

static void check_told(const struct told *told)
{
    struct err err;
    assert_int_equal(allow(NULL, told->route, &err) == ERR_OK, told->is_open);
    for (size_t k = 1; k < KINDS && !told->is_open; k++) {
        struct token token = token_of_kind(kinds[k]);
        bool allowed = allow(&token, told->route, &err) == ERR_OK;
        if (allowed != (told->allowed[k] || is_refused_later(told->route, kinds[k])))
            fail_msg("%.*s: %s %s", STR_ARG(told->route), kinds[k], allowed ? "may" : err.text);
        token.revoked_ms = 1;
        assert_int_equal(allow(&token, told->route, &err), ERR_UNAUTHENTICATED);
    }
}

/* talks/authority.tsv says who may; tests/talks/authority.py tries the same with a process. */
static void every_route_asks_for_the_right_that_the_table_of_authority_says(void **state)
{
    ARENA_SCOPE(arena);
    struct str text, line;
    struct err err;
    struct told told = {0};
    size_t rows = 0, routes;
    (void)state;
    if (rc_bad(file_read(&arena, TESTS_DIR "/talks/authority.tsv", 1 << 20, &text, &err)))
        fail_msg("%s", err.text);
    while (text.n) {
        struct str cells[CELLS] = {0};
        line = str_cut(text, '\n', &text);
        if (str_starts(line, STR("#")) || str_empty(line))
            continue;
        for (size_t i = 0; i < CELLS; i++)
            cells[i] = str_cut(line, '\t', &line);
        if (!str_eq(cells[0], told.route) && rows++)
            check_told(&told);
        if (!str_eq(cells[0], told.route))
            told = (struct told){0};
        take_row(&told, cells);
    }
    check_told(&told);
    (void)routes_all(&routes);
    assert_true(rows > routes);
}

static void a_bound_token_is_told_that_it_is_bound(void **state)
{
    struct token bound = token_of_kind("approver@"), agent = token_of_kind("agent");
    struct err err;
    (void)state;
    bound.scopes |= SCOPE_RUN; /* its role may have it, beyond a session */
    assert_int_equal(auth_allow(&bound, (struct right){SCOPE_RUN, BOUND_NEVER}, &err).code, ERR_SESSION_BOUND);
    assert_int_equal(auth_allow(&bound, (struct right){SCOPE_RUN, BOUND_HERE}, &err).code, ERR_OK);
    assert_int_equal(auth_allow(&agent, (struct right){SCOPE_DECIDE, BOUND_HERE}, &err).code, ERR_FORBIDDEN);
    assert_string_equal(err.text, "this token has the role agent, without the scope decide, and may not do this");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_path_finds_the_first_route_that_it_fits),
        TEST(no_route_is_hidden_by_another),
        TEST(every_route_asks_for_the_right_that_the_table_of_authority_says),
        TEST(a_bound_token_is_told_that_it_is_bound),
    };
    return cmocka_run_group_tests_name("api routes", tests, NULL, NULL);
}
