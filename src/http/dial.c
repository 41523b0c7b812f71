/* The WebSocket client, for channels that receive button presses over a socket (notify/). Blocking, for a
 * thread of its own: dial_receive waits up to a time and answers pings meanwhile. The connection is made by
 * libcurl (fetch.c), frames are read by wslay. */
#include "http/dial.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/id.h"
#include "http/fetch.h"
#include "io/clock.h"

#include <stdlib.h>
#include <wslay/wslay.h>

enum {
    HEAD_BYTES_MAX = 16 << 10,
    MESSAGE_BYTES_MAX = 256 << 10,
    BURST_BYTES_MAX = 64 << 10,
    KEY_BYTES = 16,
    SEND_MS_MAX = 10000,
    SILENCE_MS_MAX = 60000, /* without any bytes, pings included, the connection counts as lost */
    PING_MS = 20000,
};

struct dial_message {
    struct dial_message *next;
    size_t n;
    char bytes[];
};

/* One WebSocket to another server, for one thread. */
struct dial {
    struct fetch_line *line;
    wslay_event_context_ptr frames;
    struct buf head;       /* the answer to the handshake, then what came with it */
    size_t head_read;      /* bytes of it that were handed to wslay */
    struct dial_message *first, **last; /* messages that were received and not fetched yet */
    size_t budget;         /* limit for bytes read before the answers to pings in them are sent */
    int64_t heard_us, pinged_us;
    bool gone;
};

/* ---- callbacks of wslay ---- */

/* wslay wants bytes: first those that came with the handshake's answer, then from the line. Not beyond the
 * budget, so that answers to pings are sent in between. */
static ssize_t on_want_bytes(wslay_event_context_ptr frames, uint8_t *to, size_t n, int flags, void *arg)
{
    struct dial *dial = arg;
    size_t got = dial->head.n - dial->head_read;
    (void)flags;
    if (dial->first || dial->budget < n) {
        wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (got) {
        got = got < n ? got : n;
        memcpy(to, dial->head.p + dial->head_read, got);
        dial->head_read += got;
    } else if (rc_bad(fetch_receive(dial->line, (char *)to, n, 0, &got, NULL))) {
        dial->gone = true;
        wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
        return -1;
    }
    dial->budget -= got;
    if (got)
        dial->heard_us = clock_steady_us();
    else
        wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
    return got ? (ssize_t)got : -1;
}

static ssize_t on_bytes(wslay_event_context_ptr frames, const uint8_t *bytes, size_t n, int flags, void *arg)
{
    struct dial *dial = arg;
    (void)flags;
    if (rc_ok(fetch_send(dial->line, (struct str){(const char *)bytes, n}, SEND_MS_MAX, NULL)))
        return (ssize_t)n;
    dial->gone = true;
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static int on_want_mask(wslay_event_context_ptr frames, uint8_t *to, size_t n, void *arg)
{
    (void)frames;
    (void)arg;
    id_random(to, n);
    return 0;
}

/* Pings are answered by wslay, and binary messages are nothing to us. */
static void on_message(wslay_event_context_ptr frames, const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
    struct dial *dial = arg;
    (void)frames;
    if (message->opcode != WSLAY_TEXT_FRAME || message->msg_length == 0)
        return;
    struct dial_message *heard = heap_new(sizeof *heard + message->msg_length);
    *heard = (struct dial_message){.n = message->msg_length};
    memcpy(heard->bytes, message->msg, heard->n);
    *dial->last = heard;
    dial->last = &heard->next;
}

static const struct wslay_event_callbacks callbacks = {.recv_callback = on_want_bytes, .send_callback = on_bytes,
                                                       .genmask_callback = on_want_mask,
                                                       .on_msg_recv_callback = on_message};

/* ---- the handshake ---- */

/* The value of a header of the answer; empty when it is not there. */
static struct str header_of(struct str head, struct str name)
{
    while (head.n) {
        struct str value, field = str_cut(str_cut(head, '\n', &head), ':', &value);
        if (str_same_letters(field, name))
            return str_trim(value);
    }
    return STR_NONE;
}

/* Reads the head up to the blank line; bytes behind it are frames already. */
static struct rc read_head(struct dial *dial, int64_t until_us, struct str *ret_head, struct err *err)
{
    char bytes[4096];
    size_t n;
    for (;;) {
        const char *end = dial->head.n ? memmem(dial->head.p, dial->head.n, "\r\n\r\n", 4) : NULL;
        if (end) {
            *ret_head = (struct str){dial->head.p, (size_t)(end - dial->head.p) + 2};
            dial->head_read = ret_head->n + 2;
            return RC_OK;
        }
        int64_t left_ms = (until_us - clock_steady_us()) / 1000;
        if (left_ms <= 0)
            return err_set(err, ERR_UNAVAILABLE, "the server does not answer the WebSocket's handshake");
        TRY(fetch_receive(dial->line, bytes, sizeof bytes, left_ms, &n, err));
        buf_put(&dial->head, (struct str){bytes, n});
        if (dial->head.over)
            return err_set(err, ERR_TOO_LARGE, "the server's answer to the handshake has no end");
    }
}

/* RFC 6455: a random key, and the answer must hold its digest. */
static struct rc shake_hands(struct dial *dial, struct str host, struct str target, int64_t until_us, struct err *err)
{
    ARENA_SCOPE(scratch);
    unsigned char random[KEY_BYTES];
    char key[BASE64_BYTES(KEY_BYTES)], accept[32];
    struct str head;
    id_random(random, sizeof random);
    base64_encode(random, sizeof random, key);
    struct str request = arena_printf(&scratch,
                                      "GET /%.*s HTTP/1.1\r\nHost: %.*s\r\n"
                                      "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
                                      STR_ARG(target), STR_ARG(host), key);
    TRY(fetch_send(dial->line, request, SEND_MS_MAX, err));
    TRY(read_head(dial, until_us, &head, err));
    digest_sha1_base64(arena_printf(&scratch, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key), accept);
    if (!str_starts(head, STR("HTTP/1.1 101 ")) || !str_is(header_of(head, STR("sec-websocket-accept")), accept) ||
        !str_same_letters(header_of(head, STR("upgrade")), STR("websocket")))
        return err_set(err, ERR_UNAVAILABLE, "the server does not speak WebSocket at this address");
    return RC_OK;
}

/* ---- life ---- */

/* curl makes the connection, with TLS where it is wanted; the handshake and the frames are ours. */
static struct rc connect_line(struct dial *dial, const char *url, int64_t seconds_max, struct err *err)
{
    ARENA_SCOPE(scratch);
    int64_t until_us = clock_steady_us() + seconds_max * 1000000;
    struct str target, rest = str_of(url);
    bool sealed = str_starts(rest, STR("wss://"));
    if (!sealed && !str_starts(rest, STR("ws://")))
        return err_set(err, ERR_INVALID, "a WebSocket's address begins with wss://");
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= ' ' || rest.p[i] == 0x7f)
            return err_set(err, ERR_INVALID, "a WebSocket's address has no blanks");
    rest = str_sub(rest, sealed ? 6 : 5, rest.n);
    struct str host = str_cut(rest, '/', &target);
    struct fetch fetch = {.arena = &scratch, .seconds_max = seconds_max, .silence_seconds_max = seconds_max,
                          .url = arena_printf(&scratch, "%s://%.*s/", sealed ? "https" : "http", STR_ARG(host)).p};
    TRY(fetch_connect(dial->line, &fetch, err));
    return shake_hands(dial, host, target, until_us, err);
}

/* Blocks up to `seconds_max`. The caller owns *ret_dial and ends it with dial_close. */
struct rc dial_open(const char *url, int64_t seconds_max, struct dial **ret_dial, struct err *err)
{
    struct dial *dial = heap_new(sizeof *dial);
    *dial = (struct dial){.line = fetch_line_new(), .head = buf_init(HEAD_BYTES_MAX)};
    dial->last = &dial->first;
    CHECK(wslay_event_context_client_init(&dial->frames, &callbacks, dial) == 0);
    wslay_event_config_set_max_recv_msg_length(dial->frames, MESSAGE_BYTES_MAX);
    struct rc rc = connect_line(dial, url, seconds_max, err);
    dial->heard_us = dial->pinged_us = clock_steady_us();
    if (rc_ok(rc)) {
        *ret_dial = dial;
        return rc;
    }
    dial->gone = true;
    dial_close(dial);
    return rc;
}

static struct rc queue(struct dial *dial, enum wslay_opcode opcode, struct str text, struct err *err)
{
    const struct wslay_event_msg message = {.opcode = (uint8_t)opcode, .msg = (const uint8_t *)text.p,
                                            .msg_length = text.n};
    if (dial->gone || wslay_event_queue_msg(dial->frames, &message) != 0 || wslay_event_send(dial->frames) != 0)
        return err_set(err, ERR_GONE, "the WebSocket is closed");
    return RC_OK;
}

struct rc dial_send(struct dial *dial, struct str text, struct err *err)
{
    return queue(dial, WSLAY_TEXT_FRAME, text, err);
}

/* Reads what is there, and answers pings. */
static struct rc pump(struct dial *dial, struct err *err)
{
    int64_t now_us = clock_steady_us();
    dial->budget = BURST_BYTES_MAX;
    if (dial->gone || wslay_event_recv(dial->frames) != 0 || wslay_event_send(dial->frames) != 0 ||
        wslay_event_get_close_received(dial->frames) || !wslay_event_get_read_enabled(dial->frames))
        return err_set(err, ERR_GONE, "the server has closed the WebSocket");
    if (now_us - dial->heard_us > SILENCE_MS_MAX * 1000LL)
        return err_set(err, ERR_GONE, "the server says nothing any more");
    if (now_us - dial->heard_us > PING_MS * 1000LL && now_us - dial->pinged_us > PING_MS * 1000LL) {
        dial->pinged_us = now_us;
        return queue(dial, WSLAY_PING, STR_NONE, err);
    }
    return RC_OK;
}

/* *ret_text is empty when nothing came in time. */
struct rc dial_receive(struct dial *dial, struct arena *arena, int64_t wait_ms, struct str *ret_text, struct err *err)
{
    int64_t until_us = clock_steady_us() + wait_ms * 1000;
    *ret_text = STR_NONE;
    while (!dial->first) {
        TRY(pump(dial, err));
        int64_t left_ms = (until_us - clock_steady_us()) / 1000;
        if (dial->first)
            break;
        if (left_ms <= 0)
            return RC_OK;
        fetch_wait(dial->line, left_ms < PING_MS ? left_ms : PING_MS);
    }
    struct dial_message *heard = dial->first;
    *ret_text = arena_str(arena, (struct str){heard->bytes, heard->n});
    dial->first = heard->next;
    if (!dial->first)
        dial->last = &dial->first;
    free(heard);
    return RC_OK;
}

/* Says goodbye as far as that needs no waiting. NULL is ignored. */
void dial_close(struct dial *dial)
{
    if (!dial)
        return;
    if (!dial->gone && wslay_event_queue_close(dial->frames, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) == 0)
        (void)wslay_event_send(dial->frames);
    for (struct dial_message *heard = dial->first, *next; heard; heard = next) {
        next = heard->next;
        free(heard);
    }
    wslay_event_context_free(dial->frames);
    fetch_line_free(dial->line);
    buf_done(&dial->head);
    free(dial);
}
