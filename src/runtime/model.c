/* One answer of a model: asked, read as it streams, asked again when that may help, and of the next provider when
 * it does not. Nothing of an answer is kept before all of it is there. */
#include "runtime/inner.h"

#include "base/log.h"
#include "http/http.h"
#include "io/clock.h"
#include "runtime/prices.h"

#include <unistd.h>

enum {
    ATTEMPTS_MAX = 6,
    BACKOFF_MS = 500,
    BACKOFF_MS_MAX = 30000,
    RETRY_AFTER_MS_MAX = 120000,
    SILENCE_SECONDS_MAX = 300,
    ERROR_BYTES_MAX = 1 << 20,
    STREAM_BYTES_MAX = 256 << 20, /* of all events of an answer: a server may send each letter as an event */
    NAP_US = 20000,
};

const struct provider *provider_find(const char *kind)
{
    static const struct provider *const all[] = {
#define X(name) &provider_##name,
        PROVIDERS(X)
#undef X
    };
    return ROW_VALUE(all, row, str_is(str_of(kind), (*row)->kind), *row, NULL);
}

/* ---- telling people ---- */

/* To people who watch the run live; nothing of it is kept. */
static void tell(struct worker *w, const char *type, struct str text)
{
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    json_object(&out, J("type", type), J("sessionId", w->run->session), J("threadId", w->run->thread),
                J("runId", w->talk.run.id), J("text", text));
    worker_say(w, buf_str(&buf));
}

static void say(void *arg, struct str text) { tell(arg, "text_chunk", text); }

/* Tells watchers, and keeps a message of the system, so that the history shows why an answer took long. */
static void tell_retry(struct worker *w, const char *why, int64_t wait_ms)
{
    struct err ignored;
    struct str words = arena_printf(&w->arena, "The model could not answer (%s); asking again in %lld.%lld s", why,
                                    (long long)(wait_ms / 1000), (long long)(wait_ms % 1000 / 100));
    struct str data = DATA(&w->arena, local_system_message, .run = w->talk.run.id, .text = words);
    log_line(LOG_WARN, "model", LOG_S("thread", w->run->thread), LOG_C("error", why), LOG_I("retry_ms", wait_ms));
    tell(w, "retry", words);
    /* For people only: when it cannot be kept the run notices at its next step. */
    (void)worker_keep(w, EVENT_LOCAL_SYSTEM_MESSAGE, data, NULL, &ignored).code;
}

static void nap(struct worker *w, int64_t ms)
{
    int64_t until_us = clock_steady_us() + ms * 1000;
    while (clock_steady_us() < until_us && !worker_cancelled(w))
        (void)usleep(NAP_US);
}

/* ---- one attempt ---- */

/* One question to one provider. */
struct attempt {
    const struct provider *provider;
    const struct provider_options *options;
    struct answer *answer;
    size_t bytes; /* bytes received so far */
    int64_t retry_after_ms;
    bool passing; /* a retry may help */
};

static bool on_event(void *arg, struct str type, struct str data)
{
    struct attempt *attempt = arg;
    attempt->bytes += data.n;
    if (attempt->bytes > STREAM_BYTES_MAX)
        (void)err_set(&attempt->answer->err, ERR_TOO_LARGE, "the model's answer does not end");
    return attempt->bytes <= STREAM_BYTES_MAX && attempt->provider->take(attempt->answer, type, data);
}

/* The provider's own words, when it has some. */
static struct rc refused(struct arena *arena, const struct fetch *fetch, struct err *err)
{
    const struct json *body = NULL;
    (void)json_parse(arena, fetch->answer, &body, NULL).code;
    struct str words = json_text(json_get(body, "error"), "message");
    if (fetch->status >= 200 && fetch->status < 300)
        return err_set(err, ERR_INVALID, "the model's server did not answer with an event stream");
    if (words.n == 0)
        words = STR("no reason given");
    return err_set(err, fetch->status == 413 ? ERR_TOO_LARGE : ERR_INVALID, "status %ld: %.*s", fetch->status,
                   STR_ARG(words));
}

/* attempt->passing tells whether asking again may help: overload, rate limits, lost connections. */
static struct rc attempt_once(struct worker *w, struct attempt *attempt, const struct request *request,
                              struct err *err)
{
    ARENA_SCOPE(arena);
    const char *headers[HEADERS_MAX];
    JSON_SCOPE(body, out, LIMIT_ANSWER_BYTES);
    attempt->provider->write(&out, &arena, request);
    attempt->provider->headers(&arena, attempt->options->key, headers);
    struct fetch fetch = {
        .arena = &arena,
        .url = arena_printf(&arena, "%s%s", attempt->options->url, attempt->provider->path).p,
        .headers = headers,
        .body = buf_str(&body),
        .bytes_max = ERROR_BYTES_MAX,
        .silence_seconds_max = SILENCE_SECONDS_MAX,
        .cancelled = &w->job->cancelled,
        .event = on_event,
        .arg = attempt,
    };
    if (!w->line)
        w->line = fetch_line_new();
    attempt->bytes = 0;
    struct rc rc = fetch_run(w->line, &fetch, err);
    attempt->retry_after_ms = fetch.retry_after_ms;
    attempt->passing = rc.code == ERR_UNAVAILABLE || fetch.status == 408 || fetch.status == 429 || fetch.status >= 500;
    TRY(rc);
    bool streamed = fetch.status == 200 && (attempt->answer->count || attempt->answer->stop_reason.n ||
                                            attempt->answer->err.code != ERR_OK || attempt->answer->model.n);
    if (!streamed)
        return refused(&arena, &fetch, err);
    attempt->answer->ended = attempt->answer->ended || attempt->answer->stop_reason.n > 0;
    rc = answer_check(attempt->answer, err);
    attempt->passing = rc.code == ERR_UNAVAILABLE;
    return rc;
}

static int64_t wait_of(const struct attempt *attempt, unsigned number)
{
    int64_t wait_ms = (int64_t)BACKOFF_MS << number;
    if (attempt->retry_after_ms >= 0)
        wait_ms = attempt->retry_after_ms;
    int64_t most = attempt->retry_after_ms >= 0 ? RETRY_AFTER_MS_MAX : BACKOFF_MS_MAX;
    return wait_ms < most ? wait_ms : most;
}

static void clear(struct answer *answer, struct worker *w)
{
    answer_done(answer);
    *answer = (struct answer){.say = say, .say_arg = w};
}

/* ---- all attempts ---- */

/* Asks one provider up to ATTEMPTS_MAX times, and waits in between as long as it asks for, else longer each time. */
static struct rc ask_provider(struct worker *w, struct attempt *attempt, const struct request *request,
                              struct err *err)
{
    for (unsigned number = 0;; number++) {
        clear(attempt->answer, w);
        struct rc rc = attempt_once(w, attempt, request, err);
        if (rc_ok(rc) || worker_cancelled(w) || !attempt->passing || number + 1 == ATTEMPTS_MAX)
            return rc;
        int64_t wait_ms = wait_of(attempt, number);
        tell_retry(w, err->text, wait_ms);
        nap(w, wait_ms);
    }
}

/* Blocks. Each provider in the order of the settings; the cost is computed by the model that answered. */
struct rc model_ask(struct worker *w, struct request *request, struct answer *answer, struct err *err)
{
    const struct runtime_options *options = &w->runtime->options;
    struct str wanted = request->model;
    if (options->provider_count == 0)
        return err_set(err, ERR_INVALID, "no model is set up: set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and "
                                         "OPENAI_MODEL, for the server");
    for (size_t i = 0; i < options->provider_count; i++) {
        struct attempt attempt = {.options = &options->providers[i], .answer = answer};
        attempt.provider = provider_find(attempt.options->kind);
        CHECK(attempt.provider);
        /* The model that was asked for is the first provider's; the others have their own. */
        request->model = i == 0 && wanted.n ? wanted : str_of(attempt.options->model);
        struct rc rc = ask_provider(w, &attempt, request, err);
        if (rc_ok(rc))
            price_usage(options, answer->model.n ? answer->model : request->model, &answer->usage);
        if (rc_ok(rc) || worker_cancelled(w) || i + 1 == options->provider_count)
            return rc;
        log_line(LOG_WARN, "next provider", LOG_C("after", attempt.options->kind), LOG_C("error", err->text));
        tell(w, "retry", arena_printf(&w->arena, "%s could not answer (%s); asking %s", attempt.options->kind,
                                      err->text, options->providers[i + 1].kind));
    }
    return err_set(err, ERR_INTERNAL, "no provider");
}
