/* Requests to other servers, by libcurl (loaded when first needed): models, MCP servers, web pages, webhooks,
 * mail. Blocking, in worker threads. A fetch_line keeps its connection between requests and belongs to one
 * thread at a time. */
#include "http/fetch.h"

#include "base/buf.h"
#include "base/library.h"
#include "http/address.h"
#include "http/event_lines.h"
#include "io/clock.h"

#define CURL_DISABLE_TYPECHECK /* its macros have the names of functions that we need as pointers */
#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { CONNECT_SECONDS_MAX = 20, RETRY_AFTER_SECONDS_MAX = 600 };

/* ---- the library, when it is first needed ---- */

#define CURL_FUNCTIONS(X)                                                                          \
    X(curl_global_init) X(curl_easy_init) X(curl_easy_setopt) X(curl_easy_perform)                  \
    X(curl_easy_getinfo) X(curl_easy_reset) X(curl_easy_cleanup) X(curl_easy_strerror)              \
    X(curl_slist_append) X(curl_slist_free_all) X(curl_easy_send) X(curl_easy_recv)

static struct {
    CURL_FUNCTIONS(LIBRARY_POINTER)
} lib;
static const char *missing; /* NULL: all is there */

static void load(void)
{
    static const struct library_function functions[] = {CURL_FUNCTIONS(LIBRARY_FUNCTION)};
    missing = library_load("libcurl.so.4", functions, LIBRARY_COUNT(functions));
    if (missing && !library_load("libcurl-gnutls.so.4", functions, LIBRARY_COUNT(functions)))
        missing = NULL;
    if (!missing && lib.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        missing = "curl_global_init";
}

static bool library_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CHECK(pthread_once(&once, load) == 0);
    return !missing;
}

/* ---- one request ---- */

struct fetch_line {
    CURL *curl;
};

/* One transfer. */
struct receiving {
    CURL *curl;
    struct fetch *fetch;
    struct event_lines lines;
    struct buf body;
    struct err *err;
    const char *refused; /* the kind of an address that was not connected to */
    bool streams, decided, enough, bad;
    struct curl_slist *recipients; /* recipients of a mail */
    size_t mailed;                 /* bytes of it that were handed over */
};

struct fetch_line *fetch_line_new(void) { return heap_new(sizeof(struct fetch_line)); }

void fetch_line_free(struct fetch_line *line)
{
    if (line->curl)
        lib.curl_easy_cleanup(line->curl);
    free(line);
}

static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    struct receiving *r = arg;
    r->fetch->event_id = id;
    r->enough = r->enough || !r->fetch->event(r->fetch->arg, type, data);
    return !r->enough;
}

/* Called with the first bytes of the body: decides whether it is an event stream. */
static void decide(struct receiving *r)
{
    char *type = NULL;
    (void)lib.curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &r->fetch->status);
    (void)lib.curl_easy_getinfo(r->curl, CURLINFO_CONTENT_TYPE, &type);
    bool good = r->fetch->status >= 200 && r->fetch->status < 300;
    r->streams = good && r->fetch->event && str_starts(str_of(type), STR("text/event-stream"));
    r->decided = true;
}

/* Returning fewer bytes than came ends the transfer: that is how a limit, an error or a satisfied reader stops
 * it. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct receiving *r = arg;
    struct str text = {bytes, size * count};
    if (!r->decided)
        decide(r);
    if (r->streams)
        r->bad = r->bad || rc_bad(event_lines_feed(&r->lines, text, r->err));
    else
        buf_put(&r->body, text);
    return r->bad || r->enough || r->body.over ? 0 : text.n;
}

static void keep_wanted(struct fetch *fetch, struct str name, struct str value)
{
    for (size_t i = 0; i < fetch->wanted_count; i++)
        if (str_same_letters(name, str_of(fetch->wanted[i].name)))
            fetch->wanted[i].value = arena_str(fetch->arena, str_trim(value));
}

/* Only what callers ask for is kept, and how long to wait before trying again. */
static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct receiving *r = arg;
    struct str value;
    struct str name = str_cut((struct str){bytes, size * count}, ':', &value);
    uint64_t seconds;
    keep_wanted(r->fetch, name, value);
    if (str_same_letters(name, STR("retry-after-ms")) && str_to_u64(str_trim(value), &seconds) && seconds < 600000)
        r->fetch->retry_after_ms = (int64_t)seconds;
    if (str_same_letters(name, STR("retry-after")) && str_to_u64(str_trim(value), &seconds) &&
        seconds <= RETRY_AFTER_SECONDS_MAX && r->fetch->retry_after_ms < 0)
        r->fetch->retry_after_ms = (int64_t)seconds * 1000;
    return size * count;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct receiving *r = arg;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return r->fetch->cancelled && atomic_load_explicit(r->fetch->cancelled, memory_order_relaxed);
}

/* The name was resolved just now, and this is the address that would be connected to: no later answer of a name
 * server can change it. */
static curl_socket_t on_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct receiving *r = arg;
    const char *kind = r->fetch->only_public ? address_kind(&address->addr) : NULL;
    CHECK(purpose == CURLSOCKTYPE_IPCXN);
    if (!kind)
        return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    r->refused = kind;
    return CURL_SOCKET_BAD;
}

static size_t on_mail(char *to, size_t size, size_t count, void *arg)
{
    struct receiving *r = arg;
    struct str left = str_sub(r->fetch->body, r->mailed, r->fetch->body.n);
    size_t n = left.n < size * count ? left.n : size * count;
    if (n)
        memcpy(to, left.p, n);
    r->mailed += n;
    return n;
}

/* STARTTLS where the server offers it; an address with smtps:// insists on TLS. */
static void set_up_mail(struct receiving *r)
{
    const struct fetch *fetch = r->fetch;
    CURL *curl = r->curl;
#define SET(option, value) CHECK(lib.curl_easy_setopt(curl, (option), (value)) == CURLE_OK)
    r->recipients = lib.curl_slist_append(NULL, fetch->mail_to);
    SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    SET(CURLOPT_MAIL_FROM, fetch->mail_from);
    SET(CURLOPT_MAIL_RCPT, r->recipients);
    SET(CURLOPT_USE_SSL, (long)CURLUSESSL_TRY);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, on_mail);
    SET(CURLOPT_READDATA, r);
    SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)fetch->body.n);
    if (fetch->login)
        SET(CURLOPT_USERPWD, fetch->login);
#undef SET
}

/* Every option for every request: the handle is reset, so that nothing of the last one is left. Redirects are
 * not followed here; callers judge them first. */
static void set_up(struct receiving *r, struct curl_slist *headers)
{
    const struct fetch *fetch = r->fetch;
    CURL *curl = r->curl;
    lib.curl_easy_reset(curl);
#define SET(option, value) CHECK(lib.curl_easy_setopt(curl, (option), (value)) == CURLE_OK)
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS_MAX);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)fetch->silence_seconds_max);
    SET(CURLOPT_WRITEFUNCTION, on_bytes);
    SET(CURLOPT_WRITEDATA, r);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, r);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, r);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_socket);
    SET(CURLOPT_OPENSOCKETDATA, r);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_TIMEOUT, (long)fetch->seconds_max);
    if (fetch->only_public)
        SET(CURLOPT_PROXY, "");
    if (fetch->packed)
        SET(CURLOPT_ACCEPT_ENCODING, "");
    if (fetch->mail_from) {
        set_up_mail(r);
    } else if (fetch->body.n) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDS, fetch->body.p);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)fetch->body.n);
        if (fetch->method)
            SET(CURLOPT_CUSTOMREQUEST, fetch->method);
    }
#undef SET
}

/* A refused address (only_public) is an error of its own, so that callers can say why. */
static struct rc perform(struct receiving *r, struct err *err)
{
    struct fetch *fetch = r->fetch;
    if (lib.curl_easy_setopt(r->curl, CURLOPT_URL, fetch->url) != CURLE_OK)
        return err_set(err, ERR_INVALID, "\"%s\" is not a URL", fetch->url);
    CURLcode code = lib.curl_easy_perform(r->curl);
    if (!r->decided)
        decide(r);
    if (r->bad)
        return (struct rc){err->code};
    if (r->body.over)
        return err_set(err, ERR_TOO_LARGE, "the answer is larger than %zu bytes", fetch->bytes_max);
    if (code != CURLE_OK && r->refused)
        return err_set(err, ERR_FORBIDDEN, "%s leads to %s", fetch->url, r->refused);
    if (code != CURLE_OK && fetch->mail_from && fetch->status >= 400)
        return RC_OK; /* the mail server has said no */
    if (code != CURLE_OK && !r->enough)
        return err_set(err, ERR_UNAVAILABLE, "%s: %s", fetch->url, lib.curl_easy_strerror(code));
    char *redirect = NULL;
    (void)lib.curl_easy_getinfo(r->curl, CURLINFO_REDIRECT_URL, &redirect);
    fetch->redirect = arena_str(fetch->arena, str_of(redirect));
    fetch->answer = arena_str(fetch->arena, buf_str(&r->body));
    return RC_OK;
}

static struct rc ready(struct fetch_line *line, struct err *err)
{
    if (!library_ready())
        return err_set(err, ERR_UNAVAILABLE, "requests need libcurl (%s is missing): install libcurl4", missing);
    if (!line->curl)
        line->curl = lib.curl_easy_init();
    CHECK(line->curl);
    return RC_OK;
}

/* The answer is in the fetch's arena; with `event` set, a stream is given event by event instead. */
struct rc fetch_run(struct fetch_line *line, struct fetch *fetch, struct err *err)
{
    struct err own;
    struct receiving r = {.fetch = fetch, .body = buf_init(fetch->bytes_max), .err = err ? err : &own};
    struct curl_slist *headers = NULL;
    TRY(ready(line, err));
    fetch->status = 0;
    fetch->redirect = STR_NONE;
    fetch->retry_after_ms = -1;
    r.curl = line->curl;
    event_lines_init(&r.lines);
    r.lines.event = on_event;
    r.lines.arg = &r;
    for (const char *const *header = fetch->headers; header && *header; header++)
        headers = lib.curl_slist_append(headers, *header);
    set_up(&r, headers);
    struct rc rc = perform(&r, r.err);
    lib.curl_slist_free_all(headers);
    lib.curl_slist_free_all(r.recipients);
    event_lines_done(&r.lines);
    buf_done(&r.body);
    return rc;
}

/* ---- another protocol ---- */

/* Only connects; the caller then speaks over the connection by fetch_send and fetch_receive (dial.c). */
struct rc fetch_connect(struct fetch_line *line, struct fetch *fetch, struct err *err)
{
    struct err own;
    struct receiving r = {.fetch = fetch, .body = buf_init(fetch->bytes_max), .err = err ? err : &own};
    TRY(ready(line, err));
    r.curl = line->curl;
    set_up(&r, NULL);
    CHECK(lib.curl_easy_setopt(r.curl, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK);
    CHECK(lib.curl_easy_setopt(r.curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK);
    return perform(&r, r.err);
}

/* Whether the connection is ready for it; false when the time is over. */
static bool wait_for(struct fetch_line *line, short what, int64_t until_us)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    int64_t left_ms = (until_us - clock_steady_us() + 999) / 1000;
    (void)lib.curl_easy_getinfo(line->curl, CURLINFO_ACTIVESOCKET, &fd);
    struct pollfd ready = {.fd = fd, .events = what};
    return left_ms > 0 && fd != CURL_SOCKET_BAD && poll(&ready, 1, left_ms < INT32_MAX ? (int)left_ms : -1) > 0;
}

void fetch_wait(struct fetch_line *line, int64_t wait_ms)
{
    (void)wait_for(line, POLLIN, clock_steady_us() + wait_ms * 1000);
}

/* Blocks up to wait_ms. A part may have been sent before an error, so that the connection is of no more use. */
struct rc fetch_send(struct fetch_line *line, struct str bytes, int64_t wait_ms, struct err *err)
{
    int64_t until_us = clock_steady_us() + wait_ms * 1000;
    while (bytes.n) {
        size_t sent = 0;
        CURLcode code = lib.curl_easy_send(line->curl, bytes.p, bytes.n, &sent);
        if (code != CURLE_OK && (code != CURLE_AGAIN || !wait_for(line, POLLOUT, until_us)))
            return err_set(err, ERR_GONE, "nothing can be sent to the server: %s", lib.curl_easy_strerror(code));
        bytes = str_sub(bytes, sent, bytes.n);
    }
    return RC_OK;
}

/* No bytes and RC_OK: nothing came in time, and the connection is still open. */
struct rc fetch_receive(struct fetch_line *line, char *to, size_t bytes_max, int64_t wait_ms, size_t *ret_n,
                        struct err *err)
{
    int64_t until_us = clock_steady_us() + wait_ms * 1000;
    for (;;) {
        *ret_n = 0;
        CURLcode code = lib.curl_easy_recv(line->curl, to, bytes_max, ret_n);
        if (code == CURLE_OK && *ret_n)
            return RC_OK;
        if (code != CURLE_AGAIN)
            return err_set(err, ERR_GONE, "the server has ended the connection");
        if (!wait_for(line, POLLIN, until_us))
            return RC_OK;
    }
}

const char *fetch_host_kind(struct str host) { return address_kind_of_host(host); }
const char *fetch_address_kind(const struct sockaddr *address) { return address_kind(address); }
