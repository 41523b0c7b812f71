/* The table of channels. To add one: a file with its `struct channel_kind channel_NAME`, and its name here. */
#include "notify/inner.h"

#define CHANNELS(X) \
    X(webhook) X(command) X(ntfy) X(push) X(telegram) X(slack) X(email) X(discord) X(callback)

#define X(name) extern const struct channel_kind channel_##name;
CHANNELS(X)
#undef X

static const struct channel_kind *const kinds[] = {
#define X(name) &channel_##name,
    CHANNELS(X)
#undef X
};

const struct channel_kind *channel_kind(struct str name)
{
    return ROW_VALUE(kinds, row, str_is(name, (*row)->name), *row, NULL);
}

struct str channel_kinds_words(struct arena *arena)
{
    BUF_SCOPE(buf, 1024);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!kinds[i]->built_in)
            buf_printf(&buf, "%s%s", buf.n ? ", " : "", kinds[i]->name);
    return arena_str(arena, buf_str(&buf));
}

int64_t channel_number(const struct json *object, const char *key, int64_t otherwise)
{
    int64_t value;
    const struct json *number = json_get(object, key);
    return number && json_i64(number, &value) ? value : otherwise;
}

enum { ANSWER_BYTES_MAX = 64 << 10 };

/* Whether the status is final, so that the same message would be refused again: a wrong address or secret, too large.
 * */
static bool is_final(long status)
{
    return status == 400 || status == 401 || status == 403 || status == 404 || status == 405 || status == 410 ||
           status == 413;
}

/* Errors never show the address where that is the secret. */
struct rc channel_post(struct sending *sending, const char *const *headers, struct str body, struct err *err)
{
    const char *url = sending->url ? sending->url : sending->channel->url;
    struct fetch fetch = {.arena = sending->arena, .url = url, .headers = headers, .body = body,
                          .bytes_max = ANSWER_BYTES_MAX, .silence_seconds_max = sending->seconds_max,
                          .seconds_max = sending->seconds_max,
                          .only_public = sending->guarded && !sending->private_net, .method = sending->method,
                          .cancelled = sending->cancelled};
    sending->status = 0;
    sending->answer = STR_NONE;
    struct rc rc = fetch_run(sending->line, &fetch, err);
    if (rc_bad(rc) && sending->url && rc.code != ERR_FORBIDDEN) /* the address may hold a secret */
        return err_set(err, rc.code, "its server cannot be reached, or does not answer as it should");
    TRY(rc);
    sending->answer = fetch.answer;
    sending->status = fetch.status;
    sending->retry_after_ms = fetch.retry_after_ms;
    sending->final = is_final(fetch.status);
    if (fetch.status >= 200 && fetch.status < 300)
        return RC_OK;
    if (fetch.status == 401 || fetch.status == 403)
        return err_set(err, ERR_INVALID, "it refuses the secret: status %ld", fetch.status);
    return err_set(err, sending->final ? ERR_INVALID : ERR_UNAVAILABLE, "it answered with status %ld", fetch.status);
}
