/* A mail over SMTP (RFC 5321, 5322), as plain text with a link. Replies are not read: whoever writes to the address
 * could name any sender. */
#include "notify/inner.h"

#include "base/base64.h"
#include "io/clock.h"

#include <time.h>

enum { TEXT_BYTES_MAX = 6000, LINE_BYTES = 57 }; /* 57 bytes are a line of 76 characters */

/* Characters that end a header or begin a list are refused: the address goes into both as it is. */
static struct rc check_address(struct str address, const char *key, struct err *err)
{
    bool at = false;
    for (size_t i = 0; i < address.n; i++) {
        char c = address.p[i];
        at = at || c == '@';
        if (c <= ' ' || c >= 127 || c == '<' || c == '>' || c == ',')
            return err_set(err, ERR_INVALID, "\"%s\" must be one plain address", key);
    }
    return at ? RC_OK : err_set(err, ERR_INVALID, "\"%s\" must be an address like owner@example.com", key);
}

static struct rc check(const struct channel *channel, struct err *err)
{
    if (!channel->url || (strncmp(channel->url, "smtp://", 7) != 0 && strncmp(channel->url, "smtps://", 8) != 0))
        return err_set(err, ERR_INVALID, "\"url\" must be smtp://HOST:PORT or smtps://HOST:PORT");
    TRY(check_address(channel->from, "from", err));
    return check_address(channel->topic, "to", err);
}

static void put_base64(struct buf *buf, struct str text)
{
    for (size_t at = 0; at < text.n; at += LINE_BYTES) {
        char line[BASE64_BYTES(LINE_BYTES)];
        struct str piece = str_sub(text, at, at + LINE_BYTES < text.n ? at + LINE_BYTES : text.n);
        base64_encode((const unsigned char *)piece.p, piece.n, line);
        buf_printf(buf, "%s\r\n", line);
    }
}

/* A header line may hold nothing that ends it; it is encoded whole, so it cannot. */
static void put_subject(struct buf *buf, struct str text)
{
    char word[BASE64_BYTES(42)]; /* an encoded word is at most 75 characters */
    buf_puts(buf, "Subject:");
    for (size_t at = 0, end; at < text.n; at = end) {
        end = at + 42 < text.n ? at + 42 : text.n;
        while (end < text.n && ((unsigned char)text.p[end] & 0xC0) == 0x80)
            end--;
        base64_encode((const unsigned char *)text.p + at, end - at, word);
        buf_printf(buf, " =?utf-8?B?%s?=\r\n", word);
    }
}

/* For programs that sort mail: JSON in base 64, for a tool's name may hold anything. */
static void put_payload(struct buf *buf, const struct message *message)
{
    JSON_SCOPE(payload, out, TEXT_BYTES_MAX);
    json_open(&out, '{');
    words_payload_ids(&out, message);
    json_close(&out, '}');
    buf_puts(buf, "X-Nod-Payload:");
    for (size_t at = 0; at < payload.n; at += LINE_BYTES) {
        char line[BASE64_BYTES(LINE_BYTES)];
        base64_encode(payload.p + at, at + LINE_BYTES < payload.n ? LINE_BYTES : payload.n - at, line);
        buf_printf(buf, " %s\r\n", line);
    }
}

/* Everything that came from outside is in base 64: no line of it can become a header. */
static struct str write_mail(const struct sending *sending)
{
    BUF_SCOPE(buf, 4 * TEXT_BYTES_MAX);
    const struct message *message = sending->message;
    const struct channel *channel = sending->channel;
    struct str link = message->look.n ? message->look : message->url;
    char date[64];
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm parts;
    (void)gmtime_r(&now, &parts);
    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &parts);
    buf_printf(&buf, "Date: %s\r\nFrom: Nod <%.*s>\r\nTo: <%.*s>\r\n", date, STR_ARG(channel->from),
               STR_ARG(channel->topic));
    put_subject(&buf, message->title);
    put_payload(&buf, message);
    buf_printf(&buf, "Message-ID: <%.*s@nod>\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                     "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n",
               STR_ARG(message->delivery));
    put_base64(&buf, arena_printf(sending->arena, "%.*s\r\n\r\n%.*s\r\n", STR_ARG(message->body), STR_ARG(link)));
    return buf.over ? STR_NONE : arena_str(sending->arena, buf_str(&buf));
}

/* 5xx is final, 4xx is tried again, as the protocol means it. */
static struct rc send(struct sending *sending, struct err *err)
{
    const struct channel *channel = sending->channel;
    struct str mail = write_mail(sending);
    if (mail.n == 0)
        return err_set(err, ERR_TOO_LARGE, "the message is too large for a mail");
    struct fetch fetch = {.arena = sending->arena, .url = channel->url, .body = mail, .bytes_max = TEXT_BYTES_MAX,
                          .silence_seconds_max = sending->seconds_max, .seconds_max = sending->seconds_max,
                          .mail_from = arena_c(sending->arena, channel->from),
                          .mail_to = arena_c(sending->arena, channel->topic),
                          .login = channel->secret.n ? arena_c(sending->arena, channel->secret) : NULL};
    TRY(fetch_run(sending->line, &fetch, err));
    sending->status = fetch.status;
    sending->final = fetch.status >= 500;
    if (fetch.status >= 200 && fetch.status < 300)
        return RC_OK;
    return err_set(err, sending->final ? ERR_INVALID : ERR_UNAVAILABLE, "the mail server answered with %ld%s",
                   fetch.status, fetch.status == 535 ? ": it does not know the user or the password" : "");
}

const struct channel_kind channel_email = {.name = "email", .coalesces = true, .distance_ms = 300000,
                                           .carries_answers = true,
                                           .detail = DETAIL_KIND, .check = check, .send = send};
