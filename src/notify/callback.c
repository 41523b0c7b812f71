/* Addresses that programs name for their answers. They come from agents, so they lead only where whoever set Nod up has
 * said: to listed hosts, over TLS, and to private addresses only if the file says so; redirects are never followed. */
#include "notify/outbox.h"

#include "base/base64.h"
#include "base/sign.h"

enum { URL_BYTES_MAX = 2048 };

/* "host" or "host:port" of an address; the port is left out where it is the scheme's. */
static struct str place_of(struct str url)
{
    struct str rest, place;
    bool tls = str_starts(url, STR("https://"));
    place = str_cut(str_sub(url, tls ? 8 : 7, url.n), '/', &rest);
    place = str_cut(str_cut(place, '?', &rest), '#', &rest);
    struct str port = tls ? STR(":443") : STR(":80");
    if (place.n > port.n && str_eq(str_sub(place, place.n - port.n, place.n), port))
        place = str_sub(place, 0, place.n - port.n);
    return place;
}

/* "public" stands for every host with the usual port; a host alone stands for all of its ports only where private
 * networks are allowed. */
static bool is_listed(const struct callbacks *callbacks, struct str place)
{
    struct str port;
    struct str host = str_cut(place, ':', &port);
    for (size_t i = 0; i < callbacks->count; i++) {
        struct str listed = callbacks->hosts[i];
        if (str_eq(listed, place) || (str_is(listed, "public") && port.n == 0) ||
            (callbacks->private_net && str_eq(listed, host)))
            return true;
    }
    return false;
}

/* Checked when the call is made, not when the answer is sent: the agent learns at once that it will not be
 * called. */
struct rc notify_check_callback(const struct notify *n, struct str url, struct err *err)
{
    const struct callbacks *callbacks = n ? &n->config.callbacks : NULL;
    if (!callbacks || callbacks->count == 0)
        return err_set(err, ERR_FORBIDDEN, "callbacks are off: name their hosts in notify.json (docs/NOTIFY.md)");
    bool tls = str_starts(url, STR("https://")), plain = callbacks->private_net && str_starts(url, STR("http://"));
    if (url.n > URL_BYTES_MAX || (!tls && !plain))
        return err_set(err, ERR_INVALID, "\"callback\" must be {\"url\": \"https://…\"}");
    for (size_t i = 0; i < url.n; i++)
        if (url.p[i] <= ' ' || url.p[i] >= 127 || url.p[i] == '\\')
            return err_set(err, ERR_INVALID, "\"callback\": the address holds characters that must be escaped");
    struct str place = place_of(url);
    if (memchr(place.p, '@', place.n))
        return err_set(err, ERR_INVALID, "\"callback\": an address with a user is not accepted");
    if (!is_listed(callbacks, place))
        return err_set(err, ERR_FORBIDDEN, "\"callback\": %.*s is not among the hosts that may be called back",
                       STR_ARG(place));
    return RC_OK;
}

void notify_callback_secret(const struct notify *n, struct str agent, char ret_secret[NOTIFY_SECRET_BYTES])
{
    struct digest root = sign_key_secret(gate_key(n->options.gate), STR("nod-callbacks-v1"));
    struct digest key = sign_mac((struct str){(const char *)root.bytes, DIGEST_BYTES}, agent);
    _Static_assert(6 + BASE64_BYTES(DIGEST_BYTES) <= NOTIFY_SECRET_BYTES, "it fits");
    memcpy(ret_secret, "whsec_", 6);
    base64_encode(key.bytes, DIGEST_BYTES, ret_secret + 6);
}
