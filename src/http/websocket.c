/* WebSocket (RFC 6455): text messages both ways. Frames are read by wslay; we put messages together.
 *
 * A message that breaks the protocol is answered by a close frame with the code the standard has for it, and the
 * socket ends. No extensions; binary messages are refused. A subprotocol is chosen when the owner
 * names one and the client offers it (http_socket_options).
 */
#include "http/owners.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "http/answer.h"
#include "http/handshake.h"
#include "http/output.h"
#include "http/server.h"

#include <stdlib.h>
#include <wslay/wslay.h>

enum { CONTROL_BYTES_MAX = 125, FRAME_HEAD_BYTES_MAX = 10, NO_MESSAGE = 0xff };

/* A WebSocket's state behind its connection. */
struct http_socket {
    struct http_connection *connection;
    struct http_socket_options owner;
    wslay_frame_context_ptr frames;
    struct str input;      /* input that wslay has not read yet; valid during http_socket_input */
    struct buf message;    /* the text message being put together */
    struct buf control;    /* the payload of the control frame being read */
    uint64_t frame_left;   /* payload bytes left in the frame being read */
    uint8_t claim[FRAME_HEAD_BYTES_MAX]; /* the head of the frame that comes, as far as it says a length */
    uint8_t claim_bytes;
    uint64_t claim_left;   /* bytes of that frame that are still to come after its head: mask and payload */
    uint64_t taken_bytes;  /* bytes that the client had received at the last beat */
    uint8_t message_opcode;/* opcode of the message being put together, or NO_MESSAGE */
    bool in_frame;
    uint8_t silent_beats;  /* pings since anything came */
};

/* ---- sending ---- */

static bool is_open(const struct http_socket *socket)
{
    const struct http_connection *connection = socket->connection;
    return connection->phase == PHASE_SOCKET && !connection->broken && !connection->ending;
}

static size_t put_frame_head(uint8_t head[FRAME_HEAD_BYTES_MAX], enum wslay_opcode opcode, uint64_t n)
{
    size_t at = 0;
    unsigned length_bytes = n <= CONTROL_BYTES_MAX ? 0 : n <= UINT16_MAX ? 2 : 8;
    head[at++] = (uint8_t)(0x80 | opcode);
    head[at++] = (uint8_t)(length_bytes == 0 ? n : length_bytes == 2 ? 126 : 127);
    for (unsigned i = length_bytes; i > 0; i--)
        head[at++] = (uint8_t)(n >> (8 * (i - 1)));
    return at;
}

/* Closes a socket whose client does not read; the bytes queued for it are bounded. */
static bool has_room(struct http_socket *socket)
{
    if (socket->connection->queued < LIMIT_STREAM_QUEUE_BYTES)
        return true;
    socket->connection->server->figures.dropped_slow_total++;
    http_connection_break(socket->connection);
    return false;
}

static void send_control(struct http_socket *socket, enum wslay_opcode opcode, struct str payload)
{
    uint8_t head[FRAME_HEAD_BYTES_MAX];
    CHECK(payload.n <= CONTROL_BYTES_MAX);
    if (!is_open(socket) || !has_room(socket))
        return;
    struct str pieces[] = {{(char *)head, put_frame_head(head, opcode, payload.n)}, payload};
    (void)http_output_write(socket->connection, pieces, payload.n ? 2 : 1);
}

/* `code` 0: a close frame without one. */
static void send_close(struct http_socket *socket, int code, struct str reason)
{
    char payload[CONTROL_BYTES_MAX];
    size_t n = 0;
    CHECK(reason.n <= sizeof payload - 2);
    if (code) {
        payload[n++] = (char)(code >> 8);
        payload[n++] = (char)(code & 0xff);
        memcpy(payload + n, reason.p, reason.n);
        n += reason.n;
    }
    send_control(socket, WSLAY_CONNECTION_CLOSE, (struct str){payload, n});
    http_connection_end(socket->connection);
}

static void fail(struct http_socket *socket, int code) { send_close(socket, code, STR("")); }

bool http_socket_send(struct http_socket *socket, struct shared *text)
{
    uint8_t head[FRAME_HEAD_BYTES_MAX];
    if (!is_open(socket) || !has_room(socket))
        return false;
    struct str frame_head = {(char *)head, put_frame_head(head, WSLAY_TEXT_FRAME, text->n)};
    if (!http_output_share(socket->connection, frame_head, text))
        return false;
    if (!socket->connection->first)
        http_watch(socket->connection, WATCH_SOCKET);
    return true;
}

size_t http_socket_queued(const struct http_socket *socket) { return socket->connection->queued; }

void http_socket_end(struct http_socket *socket, int code, const char *reason)
{
    CHECK(code >= 1000 && code <= 4999);
    struct str words = str_of(reason);
    if (words.n > CONTROL_BYTES_MAX - 2)
        words.n = CONTROL_BYTES_MAX - 2;
    if (is_open(socket))
        send_close(socket, code, words);
}

/* ---- receiving ---- */

static ssize_t on_want_bytes(uint8_t *to, size_t n, int flags, void *arg)
{
    struct http_socket *socket = arg;
    (void)flags;
    if (n > socket->input.n)
        n = socket->input.n;
    if (n == 0)
        return -1; /* wslay comes back with WSLAY_ERR_WANT_READ */
    memcpy(to, socket->input.p, n);
    socket->input = str_sub(socket->input, n, socket->input.n);
    return (ssize_t)n;
}

static bool is_control(uint8_t opcode) { return wslay_is_ctrl_frame(opcode); }

/* The code by which a frame is refused at its start, 0 when it is welcome. */
static int refuse_frame(const struct http_socket *socket, const struct wslay_frame_iocb *frame)
{
    bool in_message = socket->message_opcode != NO_MESSAGE;
    bool continues = frame->opcode == WSLAY_CONTINUATION_FRAME;
    if (!frame->mask || frame->rsv)
        return WSLAY_CODE_PROTOCOL_ERROR;
    if (is_control(frame->opcode))
        return frame->opcode > WSLAY_PONG ? WSLAY_CODE_PROTOCOL_ERROR : 0;
    if (continues != in_message)
        return WSLAY_CODE_PROTOCOL_ERROR;
    if (frame->opcode == WSLAY_BINARY_FRAME)
        return WSLAY_CODE_UNSUPPORTED_DATA;
    if (!continues && frame->opcode != WSLAY_TEXT_FRAME)
        return WSLAY_CODE_PROTOCOL_ERROR;
    if (frame->payload_length > LIMIT_BODY_BYTES - socket->message.n)
        return WSLAY_CODE_MESSAGE_TOO_BIG;
    return 0;
}

static bool valid_close_code(int code)
{
    return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

/* The client's goodbye is answered with its own code. */
static void take_close(struct http_socket *socket, struct str payload)
{
    if (payload.n == 0) {
        send_close(socket, 0, STR_NONE);
        return;
    }
    int code = payload.n < 2 ? 0 : (uint8_t)payload.p[0] << 8 | (uint8_t)payload.p[1];
    if (!valid_close_code(code))
        fail(socket, WSLAY_CODE_PROTOCOL_ERROR);
    else if (!utf8_valid(str_sub(payload, 2, payload.n)))
        fail(socket, WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA);
    else
        fail(socket, code);
}

static void take_control(struct http_socket *socket, uint8_t opcode)
{
    struct str payload = buf_str(&socket->control);
    if (opcode == WSLAY_CONNECTION_CLOSE)
        take_close(socket, payload);
    else if (opcode == WSLAY_PING)
        send_control(socket, WSLAY_PONG, payload);
    buf_clear(&socket->control);
}

static void take_message(struct http_socket *socket)
{
    struct str text = socket->message.p ? buf_str(&socket->message) : STR("");
    CHECK(socket->message_opcode == WSLAY_TEXT_FRAME && text.n <= LIMIT_BODY_BYTES);
    if (utf8_valid(text))
        socket->owner.message(socket, socket->owner.arg, text);
    else
        fail(socket, WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA);
    socket->message_opcode = NO_MESSAGE;
    buf_done(&socket->message);
}

/* One piece of a frame: its start, a part, its end, or all of these. */
static void take_piece(struct http_socket *socket, const struct wslay_frame_iocb *frame)
{
    bool control = is_control(frame->opcode);
    if (!socket->in_frame) {
        int refused = refuse_frame(socket, frame);
        if (refused) {
            fail(socket, refused);
            return;
        }
        socket->in_frame = true;
        socket->frame_left = frame->payload_length;
        if (!control)
            socket->message_opcode = WSLAY_TEXT_FRAME;
    }
    CHECK(frame->data_length <= socket->frame_left);
    struct buf *to = control ? &socket->control : &socket->message;
    buf_put(to, (struct str){(const char *)frame->data, frame->data_length});
    CHECK(!to->over);
    socket->frame_left -= frame->data_length;
    if (socket->frame_left)
        return;
    socket->in_frame = false;
    if (control)
        take_control(socket, frame->opcode);
    else if (frame->fin)
        take_message(socket);
}

static size_t claim_size(const struct http_socket *socket)
{
    if (socket->claim_bytes < 2)
        return 2;
    uint8_t length = socket->claim[1] & 0x7f;
    return length == 127 ? 10 : length == 126 ? 4 : 2;
}

/* Reads ahead what the heads of frames claim. wslay tells of a frame when its first bytes are there; one that claims
 * more than we take is refused by its head alone. Returns how many bytes come before such a frame: all, if there is
 * none. */
static size_t bytes_welcome(struct http_socket *socket, struct str bytes)
{
    size_t all = bytes.n, before = 0;
    while (bytes.n) {
        if (socket->claim_left) {
            size_t skip = bytes.n < socket->claim_left ? bytes.n : (size_t)socket->claim_left;
            socket->claim_left -= skip;
            bytes = str_sub(bytes, skip, bytes.n);
            before = all - bytes.n;
            continue;
        }
        socket->claim[socket->claim_bytes++] = (uint8_t)bytes.p[0];
        bytes = str_sub(bytes, 1, bytes.n);
        if (socket->claim_bytes < claim_size(socket))
            continue;
        uint64_t length = socket->claim_bytes > 2 ? 0 : socket->claim[1] & 0x7f;
        for (size_t i = 2; i < socket->claim_bytes; i++)
            length = length << 8 | socket->claim[i];
        bool impossible = length >> 63; /* no length at all, which wslay says */
        if (length > LIMIT_BODY_BYTES && !impossible)
            return before;
        socket->claim_left = impossible ? length : length + (socket->claim[1] & 0x80 ? 4 : 0);
        socket->claim_bytes = 0;
        before = all - bytes.n;
    }
    return all;
}

/* Called with each piece of input, on the loop. A callback may end the socket, so that is_open is asked after each
 * frame. */
void http_socket_input(struct http_connection *connection, struct str bytes)
{
    CHECK(connection->phase == PHASE_SOCKET);
    struct http_socket *socket = connection->socket;
    if (!is_open(socket))
        return;
    socket->silent_beats = 0;
    size_t welcome = bytes_welcome(socket, bytes);
    socket->input = str_sub(bytes, 0, welcome);
    while (is_open(socket)) {
        struct wslay_frame_iocb frame = {0};
        ssize_t got = wslay_frame_recv(socket->frames, &frame);
        if (got == WSLAY_ERR_WANT_READ)
            break;
        if (got < 0)
            fail(socket, WSLAY_CODE_PROTOCOL_ERROR);
        else
            take_piece(socket, &frame);
    }
    if (is_open(socket) && welcome < bytes.n)
        fail(socket, WSLAY_CODE_MESSAGE_TOO_BIG);
    socket->input = STR_NONE;
}

/* ---- life ---- */

static const struct wslay_frame_callbacks callbacks = {.recv_callback = on_want_bytes};

struct http_socket *http_socket_start(struct http_request *request, const struct http_socket_options *options)
{
    CHECK(options->message && options->gone);
    char accept[HANDSHAKE_ACCEPT_BYTES];
    if (!http_handshake(request, accept))
        return NULL;
    struct http_connection *connection = request->connection;
    struct http_socket *socket = heap_new(sizeof *socket);
    bool offered = options->protocol && http_header_lists(request, "sec-websocket-protocol", str_of(options->protocol));
    socket->connection = connection;
    socket->owner = *options;
    socket->message = buf_init(LIMIT_BODY_BYTES);
    socket->control = buf_init(CONTROL_BYTES_MAX);
    socket->message_opcode = NO_MESSAGE;
    CHECK(wslay_frame_context_init(&socket->frames, &callbacks, socket) == 0);
    http_request_free(request);
    http_connection_turn(connection, PHASE_SOCKET);
    connection->socket = socket;
    connection->server->figures.sockets++;
    const struct str pieces[] = {
        STR("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: "),
        str_of(accept),
        offered ? STR("\r\nSec-WebSocket-Protocol: ") : STR(""),
        offered ? str_of(options->protocol) : STR(""),
        STR("\r\n\r\n"),
    };
    (void)http_output_write(connection, pieces, 5);
    return socket;
}

/* The last call to the owner; `connection` goes on without the socket. */
static void socket_free(struct http_socket *socket)
{
    socket->connection->server->figures.sockets--;
    socket->owner.gone(socket, socket->owner.arg);
    wslay_frame_context_free(socket->frames);
    buf_done(&socket->message);
    buf_done(&socket->control);
    free(socket);
}

void http_socket_left(struct http_connection *connection) { socket_free(connection->socket); }

void http_socket_finish(struct http_connection *connection)
{
    CHECK(connection->phase == PHASE_SOCKET && connection->ending);
    struct http_socket *socket = connection->socket;
    http_connection_finish(connection);
    socket_free(socket);
}

void http_socket_drained(struct http_connection *connection)
{
    struct http_socket *socket = connection->socket;
    if (socket->owner.drained && is_open(socket))
        socket->owner.drained(socket, socket->owner.arg);
}

void http_socket_stop(struct http_connection *connection)
{
    http_socket_end(connection->socket, WSLAY_CODE_GOING_AWAY, "the server stops");
}

/* Pings a socket on which nothing was sent. Closes one whose peer has neither answered a ping nor read any of its
 * output for the time limit; a peer that reads slowly stays connected. */
void http_socket_beat(struct http_connection *connection)
{
    struct http_socket *socket = connection->socket;
    const struct http_options *options = &connection->server->options;
    uint64_t taken = http_output_taken(connection);
    if (connection->first && taken != socket->taken_bytes)
        socket->silent_beats = 0;
    else if (socket->silent_beats < UINT8_MAX)
        socket->silent_beats++;
    socket->taken_bytes = taken;
    if (socket->silent_beats > 1 && socket->silent_beats > options->idle_timeout_ms / options->heartbeat_ms) {
        connection->server->figures.dropped_slow_total += connection->first != NULL;
        http_connection_break(connection);
        return;
    }
    if (!connection->first)
        (void)http_output_share(connection, STR_NONE, connection->server->ping);
    if (!connection->broken)
        http_watch(connection, WATCH_SOCKET);
}
