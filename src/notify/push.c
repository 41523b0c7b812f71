/* Web Push (RFC 8030, 8291, 8292): a message to every browser of a person. One JSON serves both ways of handling it:
 * browsers that show it themselves (declarative) and those that hand it to the page's worker. */
#include "notify/inner.h"

#include "base/base64.h"
#include "io/clock.h"

enum { PAYLOAD_BYTES_MAX = SEAL_PLAIN_BYTES_MAX, TTL_SECONDS = 4 * 3600, TOKEN_SECONDS = 12 * 3600 };

static struct rc check(const struct channel *channel, struct err *err)
{
    (void)channel;
    (void)err;
    return RC_OK;
}

/* The declarative form of Safari with our own data in it; older service workers read the same members. */
static void write_payload(struct json_out *out, const struct message *message)
{
    json_open(out, '{');
    json_member_i64(out, "web_push", 8030);
    json_open_member(out, "notification", '{');
    json_members(out, J("title", message->title), J("body", message->body),
                 J("navigate", message->url.n ? message->url : STR("/")),
                 J("tag", message->purpose == PURPOSE_ALERT ? message->call : STR("nod")),
                 J_BOOL("silent", message->purpose == PURPOSE_WITHDRAW));
    json_open_member(out, "data", '{');
    words_payload(out, message);
    json_members(out, J_OBJECT("answers", J("deny", message->deny), J("allow", message->allow)));
    json_close(out, '}');
    json_close(out, '}');
    json_members(out, J("app_badge", message->waiting), J_BOOL("mutable", true));
    json_close(out, '}');
}

/* "https://push.example:1234" of an endpoint: for whom the token is good. */
static struct str origin_of(struct str endpoint)
{
    size_t scheme = str_starts(endpoint, STR("https://")) ? 8 : 7;
    struct str rest;
    struct str host = str_cut(str_sub(endpoint, scheme, endpoint.n), '/', &rest);
    return str_sub(endpoint, 0, scheme + host.n);
}

/* A token for this push service alone (`aud`), so that one service cannot use it at another. */
static const char *authorization(const struct sending *sending, struct str endpoint)
{
    unsigned char point[SEAL_POINT_BYTES];
    char key[BASE64_BYTES(SEAL_POINT_BYTES)];
    struct arena *arena = sending->arena;
    long long until_s = clock_wall_ms() / 1000 + TOKEN_SECONDS;
    struct str claims = arena_printf(arena, "{\"aud\":\"%.*s\",\"exp\":%lld,\"sub\":\"%.*s\"}",
                                     STR_ARG(origin_of(endpoint)), until_s, STR_ARG(sending->contact));
    seal_key_public(sending->key, point);
    base64_url_encode(point, SEAL_POINT_BYTES, key);
    struct str token = seal_token(arena, sending->key, claims);
    return arena_printf(arena, "Authorization: vapid t=%.*s,k=%s", STR_ARG(token), key).p;
}

/* A newer message replaces an older one that the person's phone has not got yet; only an alert stays. */
static const char *topic(const struct sending *sending)
{
    char hex[DIGEST_HEX_BYTES];
    const struct message *message = sending->message;
    struct digest digest = digest_of(message->purpose == PURPOSE_ALERT ? message->call : message->person);
    digest_hex(&digest, hex);
    return arena_printf(sending->arena, "Topic: %.26s", hex).p;
}

/* 404 and 410 mean that the browser has given up the subscription: the device is forgotten. */
static struct rc send_one(struct sending *sending, struct device *device, struct str payload, struct err *err)
{
    struct str body;
    if (!seal_message(sending->arena, device->point, device->auth, payload, &body)) {
        device->gone = true;
        return err_set(err, ERR_INVALID, "the device's key is not on the curve");
    }
    bool withdraw = sending->message->purpose == PURPOSE_WITHDRAW;
    const char *const headers[] = {
        "Content-Type: application/octet-stream", "Content-Encoding: aes128gcm",
        arena_printf(sending->arena, "TTL: %d", TTL_SECONDS).p, withdraw ? "Urgency: low" : "Urgency: high",
        topic(sending), authorization(sending, device->endpoint), NULL};
    sending->url = arena_c(sending->arena, device->endpoint);
    struct rc rc = channel_post(sending, headers, body, err);
    device->gone = sending->status == 404 || sending->status == 410;
    return rc;
}

/* A message that fits every push service: that something waits, and nothing about the call but its ids. */
static struct message brief(const struct message *message)
{
    return (struct message){.purpose = message->purpose, .delivery = message->delivery, .session = message->session,
                            .call = message->call, .title = STR("Nod: a request needs an answer"),
                            .body = STR("Open Nod to see the request."), .url = message->base,
                            .waiting = message->waiting, .count = message->count};
}

/* Sent if one of the person's devices took it; tried again if one of the others may still. */
static struct rc send(struct sending *sending, struct err *err)
{
    JSON_SCOPE(buf, out, PAYLOAD_BYTES_MAX);
    struct rc last = err_set(err, ERR_UNAVAILABLE, "this person has no device that wants messages");
    bool sent = false, again = false;
    write_payload(&out, sending->message);
    if (buf.over) {
        struct message less = brief(sending->message);
        buf_clear(&buf);
        out = json_out(&buf);
        write_payload(&out, &less);
    }
    for (size_t i = 0; i < sending->device_count; i++) {
        sending->status = 0;
        sending->final = false;
        struct rc rc = send_one(sending, &sending->devices[i], buf_str(&buf), err);
        sent = sent || rc_ok(rc);
        again = again || (rc_bad(rc) && !sending->final);
        if (rc_bad(rc))
            last = rc;
    }
    sending->final = !again;
    return sent ? RC_OK : last;
}

const struct channel_kind channel_push = {.name = "push", .built_in = true, .coalesces = true, .withdraws = true,
                                          .carries_answers = true, .detail = DETAIL_KIND, .check = check,
                                          .send = send};
