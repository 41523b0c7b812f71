/* Errors: a result that cannot be ignored, and words for the person who meets it.
 *
 * Every function that can fail returns `struct rc`; the compiler refuses to drop it. The words go into
 * a `struct err` that the caller owns. One table maps each code to what the outside world sees: the name
 * on the wire, the HTTP status and the exit status of a command. Absence is not an error: a lookup that
 * finds nothing succeeds and says so in its result.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

/*      code             wire name            http exit */
#define ERR_CODES(X)                                    \
    X(OK,                "ok",                200, 0)   \
    X(MORE_PEOPLE,       "more_people",       202, 6)   \
    X(INVALID,           "invalid",           400, 2)   \
    X(UNAUTHENTICATED,   "unauthenticated",   401, 3)   \
    X(FORBIDDEN,         "forbidden",         403, 3)   \
    X(SESSION_BOUND,     "session_bound",     403, 3)   \
    X(BELOW_AN_AGENT,    "below_an_agent",    403, 3)   \
    X(SIGNATURE_REQUIRED, "signature_required", 403, 3) \
    X(NOT_FOUND,         "not_found",         404, 4)   \
    X(METHOD,            "method_not_allowed",405, 2)   \
    X(TIMEOUT,           "timeout",           408, 6)   \
    X(CONFLICT,          "conflict",          409, 5)   \
    X(CALL_DIFFERS,      "call_differs",      409, 5)   \
    X(ALREADY_DECIDED,   "already_decided",   409, 5)   \
    X(AMBIGUOUS,         "ambiguous",         409, 5)   \
    X(NOT_ALLOWED,       "not_allowed",       409, 5)   \
    X(GONE,              "gone",              410, 4)   \
    X(TOO_LARGE,         "too_large",         413, 2)   \
    X(MEDIA_TYPE,        "unsupported_media_type", 415, 2) \
    X(HEADERS_TOO_LARGE, "headers_too_large", 431, 2)   \
    X(TOO_MANY,          "too_many",          429, 6)   \
    X(TOO_MANY_WAITING,  "too_many_waiting",  429, 6)   \
    X(INTERNAL,          "internal",          500, 1)   \
    X(IO,                "io",                500, 1)   \
    X(CORRUPT,           "corrupt",           500, 1)   \
    X(HISTORY,           "history_changed",   503, 1)   \
    X(OUTDATED,          "outdated",          503, 1)   \
    X(UNAVAILABLE,       "unavailable",       503, 6)

enum err_code {
#define X(code, wire, http, exit) ERR_##code,
    ERR_CODES(X)
#undef X
    ERR_CODE_COUNT
};

struct [[nodiscard]] rc {
    enum err_code code;
};

struct err {
    enum err_code code;
    char text[400];
};

#define RC_OK ((struct rc){ERR_OK})

/* Fills `err` (which may be NULL) and returns the code, so that `return err_set(...)` reads as one act. */
struct rc err_set(struct err *err, enum err_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts words in front of those already there: what was being done when it failed. */
struct rc err_wrap(struct err *err, struct rc rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *err_wire(enum err_code code);
int err_http(enum err_code code);
int err_exit(enum err_code code);
/* The code whose wire name this is; ERR_INTERNAL when there is none. */
enum err_code err_from_wire(const char *wire);

static inline bool rc_ok(struct rc rc) { return rc.code == ERR_OK; }
static inline bool rc_bad(struct rc rc) { return rc.code != ERR_OK; }

/* The one macro with hidden control flow (api/ has EXCHANGE_TRY): leaves the function when `call` fails. */
#define TRY(call)                          \
    do {                                   \
        struct rc rc_of_try = (call);      \
        if (rc_bad(rc_of_try))             \
            return rc_of_try;              \
    } while (0)

/* Our own mistakes, checked in release builds too. Input is never asserted. */
#define CHECK(cond) ((cond) ? (void)0 : err_die(__FILE__, __LINE__, #cond))
_Noreturn void err_die(const char *file, int line, const char *what);

#endif
