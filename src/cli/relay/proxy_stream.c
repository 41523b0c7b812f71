/* The stream in which an MCP server on the web speaks by itself (GET).
 *
 * Streamable HTTP: requests and notifications that belong to no answer; a server may have none. A stream that breaks is
 * asked for again from the last event on. HTTP+SSE, the transport before it: the first event names the address for
 * messages, and every answer comes in this stream; when it ends, so does the session.
 */
#include "base/lock.h"
#include "cli/relay/proxy_web.h"

#include <unistd.h>

enum { PAUSE_S_MAX = 30, BEGIN_S_MAX = 60 };

struct stream_reading {
    struct proxy *proxy;
    struct fetch fetch;
    char event[WEB_ID_BYTES]; /* id of the last event */
    bool older, heard;
};

/* ---- the older transport's address ---- */

/* "https://host" of a URL. */
static struct str origin_of(struct str url)
{
    size_t scheme = strlen("https://"); /* also right for http://, where it skips one letter of the host */
    struct str rest = str_sub(url, url.n < scheme ? url.n : scheme, url.n);
    return str_sub(url, 0, url.n - rest.n + str_find(rest, '/'));
}

/* The address `named` relative to `url`; NULL when it is on another server, which must not get messages and tokens. */
static const char *address_of(struct arena *arena, struct str url, struct str named)
{
    struct str origin = origin_of(url);
    struct str rest = str_sub(named, origin.n, named.n);
    for (size_t i = 0; i < named.n; i++)
        if (named.p[i] <= ' ' || named.p[i] > '~')
            return NULL;
    if (str_starts(named, origin) && str_starts(rest, STR("/")))
        return arena_str(arena, named).p;
    if (!str_starts(named, STR("/")) || str_starts(named, STR("//")))
        return NULL;
    return arena_printf(arena, "%.*s%.*s", STR_ARG(origin), STR_ARG(named)).p;
}

static void take_endpoint(struct proxy *proxy, struct str named)
{
    struct proxy_web *web = proxy->web;
    LOCK_SCOPE(&web->lock);
    if (!web->endpoint && !web->older_failed)
        web->endpoint = address_of(&proxy->cli->arena, str_of(web->url), named);
    if (!web->endpoint) {
        web->older_failed = true;
        cli_note("nod mcp proxy: the server names an address for messages that is not its own, so it gets none");
    }
    (void)pthread_cond_broadcast(&web->moved);
}

/* ---- reading ---- */

static bool take_event(void *arg, struct str type, struct str data)
{
    struct stream_reading *reading = arg;
    reading->heard = true;
    proxy_web_keep_event(reading->event, reading->fetch.event_id);
    if (reading->older && str_is(type, "endpoint"))
        take_endpoint(reading->proxy, str_trim(data));
    else if (!str_empty(data) && str_is(type, "message"))
        proxy_web_take(reading->proxy, data);
    return true;
}

/* Reads the stream until it ends; false: the server offers none. */
static bool read_stream(struct stream_reading *reading)
{
    ARENA_SCOPE(arena);
    struct proxy_web *web = reading->proxy->web;
    struct fetch_line *line = fetch_line_new();
    reading->heard = false;
    reading->fetch = (struct fetch){.arena = &arena, .url = web->url, .bytes_max = PROXY_LINE_BYTES,
                                    .headers = proxy_web_headers(web, &arena, reading->event, NULL),
                                    .silence_seconds_max = WEB_SILENCE_S, .event = take_event, .arg = reading};
    struct rc rc = fetch_run(line, &reading->fetch, NULL);
    fetch_line_free(line);
    return reading->heard || rc_bad(rc) || (reading->fetch.status < 300 && str_empty(reading->fetch.answer));
}

static void *listen_on(void *arg)
{
    struct stream_reading reading = {.proxy = arg};
    struct proxy_web *web = reading.proxy->web;
    for (unsigned pause_s = 1; read_stream(&reading); pause_s = pause_s < PAUSE_S_MAX ? pause_s * 2 : PAUSE_S_MAX) {
        if (reading.heard)
            pause_s = 1;
        (void)sleep(pause_s);
    }
    LOCK_SCOPE(&web->lock);
    web->listening = false;
    return NULL;
}

static void *listen_older(void *arg)
{
    struct stream_reading reading = {.proxy = arg, .older = true};
    struct proxy_web *web = reading.proxy->web;
    (void)read_stream(&reading);
    (void)pthread_mutex_lock(&web->lock);
    bool began = web->endpoint != NULL;
    web->older_failed = true;
    (void)pthread_cond_broadcast(&web->moved);
    (void)pthread_mutex_unlock(&web->lock);
    if (began)
        proxy_server_gone(reading.proxy);
    return NULL;
}

static bool start(struct proxy *proxy, void *(*run)(void *))
{
    struct proxy_web *web = proxy->web;
    LOCK_SCOPE(&web->lock);
    bool first = !web->listening;
    web->listening = web->listening || rc_ok(cli_start_thread(run, proxy, NULL));
    return first && web->listening;
}

void proxy_stream_listen(struct proxy *proxy) { (void)start(proxy, listen_on); }

bool proxy_stream_begin_older(struct proxy *proxy)
{
    struct proxy_web *web = proxy->web;
    struct timespec until;
    int late = 0;
    if (!start(proxy, listen_older))
        return false;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BEGIN_S_MAX;
    LOCK_SCOPE(&web->lock);
    while (!web->endpoint && !web->older_failed && !late)
        late = pthread_cond_timedwait(&web->moved, &web->lock, &until);
    bool began = web->endpoint != NULL;
    web->older_failed = web->older_failed || !began;
    return began;
}
