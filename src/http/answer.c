/* One request, one answer: a status line, the headers and the body in one write. */
#include "http/answer.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/stamp.h"
#include "http/output.h"
#include "http/reader.h"
#include "http/server.h"
#include "io/clock.h"

#include <stdio.h>

#define STATUSES(X)                        \
    X(101, "Switching Protocols")          \
    X(200, "OK")                           \
    X(201, "Created")                      \
    X(202, "Accepted")                     \
    X(204, "No Content")                   \
    X(206, "Partial Content")              \
    X(301, "Moved Permanently")            \
    X(302, "Found")                        \
    X(303, "See Other")                    \
    X(304, "Not Modified")                 \
    X(307, "Temporary Redirect")           \
    X(308, "Permanent Redirect")           \
    X(400, "Bad Request")                  \
    X(401, "Unauthorized")                 \
    X(403, "Forbidden")                    \
    X(404, "Not Found")                    \
    X(405, "Method Not Allowed")           \
    X(406, "Not Acceptable")               \
    X(408, "Request Timeout")              \
    X(409, "Conflict")                     \
    X(410, "Gone")                         \
    X(411, "Length Required")              \
    X(412, "Precondition Failed")          \
    X(413, "Content Too Large")            \
    X(414, "URI Too Long")                 \
    X(415, "Unsupported Media Type")       \
    X(416, "Range Not Satisfiable")        \
    X(421, "Misdirected Request")          \
    X(422, "Unprocessable Content")        \
    X(425, "Too Early")                    \
    X(426, "Upgrade Required")             \
    X(428, "Precondition Required")        \
    X(429, "Too Many Requests")            \
    X(431, "Request Header Fields Too Large") \
    X(500, "Internal Server Error")        \
    X(501, "Not Implemented")              \
    X(502, "Bad Gateway")                  \
    X(503, "Service Unavailable")          \
    X(504, "Gateway Timeout")              \
    X(507, "Insufficient Storage")

enum { STATUS_MIN = 100, STATUS_MAX = 599 };

/* Indexed by the status: looked up once for each answer. */
static const struct str status_lines[STATUS_MAX - STATUS_MIN + 1] = {
#define LINE(status, reason) "HTTP/1.1 " #status " " reason "\r\n"
#define X(status, reason) [status - STATUS_MIN] = {LINE(status, reason), sizeof(LINE(status, reason)) - 1},
    STATUSES(X)
#undef X
#undef LINE
};

struct str http_status_line(int status)
{
    CHECK(status >= STATUS_MIN && status <= STATUS_MAX);
    struct str line = status_lines[status - STATUS_MIN];
    CHECK(line.p);
    return line;
}

void http_request_free(struct http_request *request)
{
    if (request->answered) {
        arena_done(&request->spare);
        arena_free(request);
    } else {
        http_reader_free(http_reader_of(request));
    }
}

/* The one header that an answer is made with. */
static void keep_proof(struct http_request *request)
{
    struct str proof = request->prover ? http_header(request, "authorization") : STR_NONE;
    struct http_header *kept = str_empty(proof) ? NULL : arena_new(&request->arena, struct http_header);
    if (kept)
        *kept = (struct http_header){STR("authorization"), arena_str(&request->arena, proof)};
    request->headers = kept;
    request->header_count = kept != NULL;
}

void http_shed(struct http_request *request)
{
    keep_proof(request);
    request->method = arena_str(&request->arena, request->method);
    request->body = STR_NONE;
    arena_done(&request->spare);
    if (request->answered)
        return;
    buf_done(&http_reader_of(request)->body);
    http_reader_of(request)->in = NULL;
}

void http_drop(struct http_request *request)
{
    struct http_connection *connection = request->connection;
    CHECK(!connection || request->answered);
    http_request_free(request);
}

static bool has_content(int status) { return status >= 200 && status != 204 && status != 304; }

/* "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", made anew once in a second at most. */
static struct str date_line(struct http_server *server)
{
    static const char days[] = "ThuFriSatSunMonTueWed"; /* 1970 began on a Thursday */
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t now_ms = (int64_t)uv_now(server->uv);
    if (server->date[0] && now_ms - server->date_ms < 1000)
        return str_of(server->date);
    char stamp[STAMP_BYTES]; /* 1994-11-06T08:49:37.123Z */
    int64_t wall_ms = clock_wall_ms();
    stamp_format(wall_ms, stamp);
    int month = (stamp[5] - '0') * 10 + stamp[6] - '0';
    CHECK(wall_ms >= 0 && month >= 1 && month <= 12);
    (void)snprintf(server->date, sizeof server->date, "Date: %.3s, %.2s %.3s %.4s %.8s GMT\r\n",
                   days + wall_ms / 86400000 % 7 * 3, stamp + 8, months + (month - 1) * 3, stamp, stamp + 11);
    server->date_ms = now_ms;
    return str_of(server->date);
}

/* The parts of an answer before they are put together into bytes. */
struct http_answer {
    int status;
    struct str content_type;
    struct str headers;
    struct str proof;
    struct str body;
    bool lasting;
};

/* Inline, so that a literal is copied without a call. */
static inline char *add(char *to, struct str s)
{
    if (s.n)
        memcpy(to, s.p, s.n);
    return to + s.n;
}

static char *add_number(char *to, size_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return add(to, (struct str){digits + at, sizeof digits - at});
}

/* The head of every answer: no-store and nosniff unless the handler says otherwise. Room for all of it is taken at
 * once. */
static void put_head(struct http_server *server, const struct http_answer *answer, bool old, bool keep)
{
    enum { OUR_BYTES = 256 }; /* more than the lines that stand here and the number */
    struct buf *head = &server->head;
    struct str status = http_status_line(answer->status), date = date_line(server);
    buf_clear(head);
    char *to = buf_room(head, OUR_BYTES + status.n + date.n + answer->content_type.n + answer->headers.n +
                                  answer->proof.n);
    CHECK(to);
    to = add(add(to, status), date);
    to = add(to, STR("X-Content-Type-Options: nosniff\r\n"));
    if (!str_starts(answer->headers, STR("Cache-Control:")))
        to = add(to, STR("Cache-Control: no-store\r\n"));
    if (has_content(answer->status)) {
        to = add(to, STR("Content-Length: "));
        to = add(add_number(to, answer->body.n), STR("\r\n"));
    }
    if (answer->content_type.n)
        to = add(add(add(to, STR("Content-Type: ")), answer->content_type), STR("\r\n"));
    if (!keep)
        to = add(to, STR("Connection: close\r\n"));
    else if (old)
        to = add(to, STR("Connection: keep-alive\r\n"));
    to = add(add(add(to, answer->headers), answer->proof), STR("\r\n"));
    head->n = (size_t)(to - head->p);
}

/* One write for head and body. The connection goes on with the next request or ends, as both sides want it. */
static void send_answer(struct http_connection *connection, const struct http_answer *answer)
{
    CHECK(connection->phase == PHASE_BUSY && connection->reader);
    struct http_server *server = connection->server;
    const struct http_reader *reader = connection->reader;
    bool keep = reader->keep_alive && !server->stopping;
    bool bodyless = reader->head_only || !has_content(answer->status) || answer->body.n == 0;
    put_head(server, answer, reader->old, keep);
    const struct str pieces[] = {buf_str(&server->head), answer->body};
    (void)http_output_last(connection, pieces, bodyless ? 1 : 2, answer->lasting ? 1 : 2);
    http_connection_answered(connection, keep);
}

static void give(struct http_request *request, const struct http_answer *answer)
{
    CHECK(answer->body.n <= LIMIT_ANSWER_BYTES);
    if (request->answered)
        request->answered(request, answer->status, answer->body);
    else if (request->connection)
        send_answer(request->connection, answer);
    http_request_free(request);
}

void http_answer(struct http_request *request, int status, struct str content_type, struct str headers,
                 struct str body)
{
    char proof[PROOF_LINE_BYTES];
    struct str signature = proof_line(request, status, body, proof);
    give(request, &(struct http_answer){status, content_type, headers, signature, body, false});
}

void http_answer_lasting(struct http_request *request, int status, struct str content_type, struct str headers,
                         struct str body)
{
    give(request, &(struct http_answer){status, content_type, headers, STR_NONE, body, true});
}

void http_answer_json(struct http_request *request, int status, struct str body)
{
    http_answer(request, status, STR("application/json"), STR_NONE, body);
}

void http_answer_error_as(struct http_request *request, int status, struct str headers,
                          const struct err *err)
{
    JSON_SCOPE(body, out, 4096);
    json_open(&out, '{');
    json_open_member(&out, "error", '{');
    json_member(&out, "code", str_of(err_wire(err->code)));
    json_member(&out, "message", str_of(err->text));
    json_close(&out, '}');
    json_close(&out, '}');
    CHECK(!body.over);
    http_answer(request, status, STR("application/json"), headers, buf_str(&body));
}

void http_answer_error(struct http_request *request, const struct err *err)
{
    bool later = err->code == ERR_UNAVAILABLE || err_http(err->code) == 429;
    struct str headers = later ? STR("Retry-After: 1\r\n") : STR_NONE;
    http_answer_error_as(request, err_http(err->code), headers, err);
}
