/* A POST to a program of the person's, signed as Standard Webhooks 1.0.0 says: HMAC-SHA256 over id, time and body.
 * With `format: cloudevents` the body is a CloudEvents 1.0 envelope, signed the same way. The receiver answers, if it
 * wants to, over the API with a token of its own. */
#include "notify/inner.h"

#include "base/base64.h"
#include "base/sign.h"
#include "io/clock.h"

enum { BODY_BYTES_MAX = 20000, KEY_BYTES_MAX = 128 };

static const char *event_type(enum purpose purpose)
{
    static const char *const types[] = {[PURPOSE_ASK] = "approval.requested", [PURPOSE_REMIND] = "approval.reminded",
                                        [PURPOSE_WITHDRAW] = "approval.resolved", [PURPOSE_TEST] = "test",
                                        [PURPOSE_CALLBACK] = "approval.resolved",
                                        [PURPOSE_ESCALATE] = "approval.escalated",
                                        [PURPOSE_ASSIGN] = "approval.assigned",
                                        [PURPOSE_ALERT] = "security.alert"};
    return types[purpose];
}

static struct rc read_key(const struct channel *channel, unsigned char key[KEY_BYTES_MAX], size_t *ret_n,
                          struct err *err)
{
    enum { PREFIX = sizeof "whsec_" - 1 };
    struct str text = channel->secret;
    if (str_starts(text, STR("whsec_")) && base64_decode(str_sub(text, PREFIX, text.n), key, KEY_BYTES_MAX, ret_n) &&
        *ret_n >= 24)
        return RC_OK;
    return err_set(err, ERR_INVALID, "\"secret\" must be whsec_ and the base64 of 24 to 64 bytes");
}

static struct rc check(const struct channel *channel, struct err *err)
{
    unsigned char key[KEY_BYTES_MAX];
    size_t n;
    if (!channel->url)
        return err_set(err, ERR_INVALID, "\"url\" is missing");
    return channel->secret.n ? read_key(channel, key, &n, err) : RC_OK;
}

static void write_data(struct json_out *out, const struct message *message)
{
    json_open(out, '{');
    words_payload(out, message);
    json_member_raw(out, "pending", message->pending);
    json_close(out, '}');
}

static void write_body(struct json_out *out, const struct sending *sending)
{
    const struct message *message = sending->message;
    json_open(out, '{');
    if (sending->channel->cloudevents) {
        json_members(out, J("specversion", "1.0"), J("id", message->delivery),
                     J("source", message->base.n ? message->base : STR("nod")),
                     J("type", arena_printf(sending->arena, "dev.nod.%s", event_type(message->purpose))),
                     J("subject", message->call), J_TIME("time", message->at_ms),
                     J("datacontenttype", "application/json"));
    } else {
        json_members(out, J("type", event_type(message->purpose)), J_TIME("timestamp", message->at_ms));
    }
    json_key(out, "data");
    write_data(out, message);
    json_close(out, '}');
}

static struct rc sign(const struct sending *sending, long long now_s, struct str body, const char **ret_header,
                      struct err *err)
{
    unsigned char key[KEY_BYTES_MAX];
    size_t n;
    char text[BASE64_BYTES(DIGEST_BYTES)];
    TRY(read_key(sending->channel, key, &n, err));
    struct str signed_text = arena_printf(sending->arena, "%.*s.%lld.%.*s", STR_ARG(sending->message->delivery), now_s,
                                          STR_ARG(body));
    struct digest mac = sign_mac((struct str){(const char *)key, n}, signed_text);
    base64_encode(mac.bytes, DIGEST_BYTES, text);
    *ret_header = arena_printf(sending->arena, "webhook-signature: v1,%s", text).p;
    return RC_OK;
}

static struct rc send(struct sending *sending, struct err *err)
{
    JSON_SCOPE(buf, out, BODY_BYTES_MAX);
    struct message brief = *sending->message;
    long long now_s = clock_wall_ms() / 1000;
    write_body(&out, sending);
    if (buf.over) { /* the receiver asks for the call itself */
        buf_clear(&buf);
        out = json_out(&buf);
        brief.pending = STR_NONE;
        struct sending without = *sending;
        without.message = &brief;
        write_body(&out, &without);
    }
    const char *signature = NULL;
    if (sending->channel->secret.n)
        TRY(sign(sending, now_s, buf_str(&buf), &signature, err));
    const char *const headers[] = {
        sending->channel->cloudevents ? "Content-Type: application/cloudevents+json" : "Content-Type: application/json",
        arena_printf(sending->arena, "webhook-id: %.*s", STR_ARG(sending->message->delivery)).p,
        arena_printf(sending->arena, "webhook-timestamp: %lld", now_s).p, signature, NULL};
    return channel_post(sending, headers, buf_str(&buf), err);
}

static struct rc check_callback(const struct channel *channel, struct err *err)
{
    (void)channel;
    return err_set(err, ERR_INVALID, "programs name their own address for callbacks when they ask");
}

/* Posts the answer to the program that asked, signed with a key of its own. */
const struct channel_kind channel_callback = {
    .name = "callback", .built_in = true, .detail = DETAIL_SUMMARY, .check = check_callback, .send = send};

const struct channel_kind channel_webhook = {
    .name = "webhook", .withdraws = true, .detail = DETAIL_SUMMARY, .check = check, .send = send};
