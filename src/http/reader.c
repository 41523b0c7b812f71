/* One request out of bytes: head (header_check.h), then body, each also fed to llhttp, which must agree. Made
 * when the first byte of a request comes and freed when it is answered. */
#include "http/reader.h"

#include "base/block.h"
#include "base/limits.h"

/* A body that comes in one piece is copied once, into an arena of the request. */
static int on_body(llhttp_t *parser, const char *at, size_t n)
{
    struct http_reader *reader = parser->data;
    struct str piece = {at, n};
    CHECK(reader->progress == HTTP_IN_BODY);
    if (reader->parser_done)
        return HPE_USER;
    if (reader->body.n == 0 && n == reader->in->body_left && !reader->chunked)
        reader->request.body = arena_str(&reader->request.spare, piece);
    else
        buf_put(&reader->body, piece);
    return reader->body.over ? HPE_USER : HPE_OK;
}

static int on_message_complete(llhttp_t *parser)
{
    struct http_reader *reader = parser->data;
    if (reader->parser_done) /* llhttp sees a second message where header_check.c saw one */
        return HPE_USER;
    reader->parser_done = true;
    reader->keep_alive = llhttp_should_keep_alive(parser) != 0;
    return HPE_OK;
}

static const llhttp_settings_t settings = {
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* The reader lies in a block that most requests fit into: a call that waits for a person keeps this block and nothing
 * else of the request. */
struct http_reader *http_reader_new(void)
{
    struct http_reader *reader = ARENA_HOME(BLOCK_REQUEST_BYTES, struct http_reader, request.arena);
    reader->in = arena_new(&reader->request.spare, struct http_reading);
    llhttp_init(&reader->in->parser, HTTP_REQUEST, &settings);
    reader->in->parser.data = reader;
    reader->in->head = buf_init(LIMIT_HEADER_BYTES);
    reader->body = buf_init(LIMIT_BODY_BYTES);
    reader->in->body_max = LIMIT_BODY_BYTES;
    return reader;
}

void http_reader_free(struct http_reader *reader)
{
    if (reader->in)
        buf_done(&reader->in->head);
    buf_done(&reader->body);
    arena_done(&reader->request.spare);
    arena_leave(reader->request.arena);
}

/* The bytes are known to belong to this message; llhttp must come to the same end as we did. */
static struct rc feed_parser(struct http_reader *reader, struct str bytes, bool last, struct err *err)
{
    llhttp_errno_t failed = llhttp_execute(&reader->in->parser, bytes.p, bytes.n);
    if (failed != HPE_OK && failed != HPE_PAUSED_UPGRADE)
        return err_set(err, ERR_INVALID, "the request is malformed (%s)", llhttp_errno_name(failed));
    if (reader->parser_done != last)
        return err_set(err, ERR_INVALID, "the request's length is ambiguous");
    if (last)
        reader->progress = HTTP_WHOLE;
    return RC_OK;
}

/* Whether llhttp does nothing with a field of this name but to look at its letters, which header_check.c has done more
 * strictly. Those that it acts on have these first letters and lengths. */
static bool means_nothing(struct str name)
{
    switch (str_lower(name.p[0])) {
    case 'c': return name.n != sizeof "connection" - 1 && name.n != sizeof "content-length" - 1;
    case 'p': return name.n != sizeof "proxy-connection" - 1;
    case 't': return name.n != sizeof "transfer-encoding" - 1;
    case 'u': return name.n != sizeof "upgrade" - 1;
    default: return true;
    }
}

/* llhttp reads the request line, with "/" for its target, of whose letters header_check.c has seen more, and all fields
 * that could say where the message ends. They are put together, because it takes one piece quicker than several. */
static struct rc feed_parser_head(struct http_reader *reader, struct str block, const struct http_head *head,
                                  struct err *err)
{
    const char *end = block.p + block.n - 2; /* of the last field */
    const char *fields = head->header_count ? head->headers[0].name.p : end;
    const char *target = head->target.p + 1, *behind = head->target.p + head->target.n;
    char *text = arena_bytes(&reader->request.spare, block.n), *to = text;
    (void)str_pack(&to, (struct str){block.p, (size_t)(target - block.p)});
    (void)str_pack(&to, (struct str){behind, (size_t)(fields - behind)});
    for (size_t i = 0; i < head->header_count; i++) {
        const struct http_header *field = &head->headers[i];
        const char *next = i + 1 < head->header_count ? field[1].name.p : end;
        if (!means_nothing(field->name))
            (void)str_pack(&to, (struct str){field->name.p, (size_t)(next - field->name.p)});
    }
    (void)str_pack(&to, STR("\r\n"));
    bool last = !head->chunked && head->content_length == 0;
    return feed_parser(reader, (struct str){text, (size_t)(to - text)}, last, err);
}

/* Cuts the target at '?' and decodes the path. Handlers keep parts of it, so it outlives the head. */
static struct rc take_target(struct http_request *request, struct str target, struct err *err)
{
    request->target = arena_str(&request->arena, target);
    struct str path = str_cut(request->target, '?', &request->query);
    request->plain_query = str_find(request->query, '%') == request->query.n &&
                           str_find(request->query, '+') == request->query.n;
    return http_decode(&request->arena, path, HTTP_DECODE_PATH, &request->path, err);
}

/* The limit of the body depends on the route (body_max_of). */
static struct rc take_head(struct http_reader *reader, struct str block, struct err *err)
{
    struct http_request *request = &reader->request;
    struct http_head head;
    block = arena_str(&request->spare, block);
    TRY(http_head_check(&request->spare, block, &head, err));
    TRY(take_target(request, head.target, err));
    if (reader->body_max_of)
        reader->in->body_max = reader->body.max = reader->body_max_of(head.target);
    if (head.content_length > reader->in->body_max)
        return err_set(err, ERR_TOO_LARGE, "the body is larger than %zu bytes", reader->in->body_max);
    request->method = head.method;
    request->headers = head.headers;
    request->header_count = head.header_count;
    reader->in->body_left = head.content_length;
    reader->chunked = head.chunked;
    reader->old = head.old;
    reader->wants_continue = head.wants_continue;
    reader->head_only = str_eq(head.method, STR("HEAD"));
    reader->progress = HTTP_IN_BODY;
    return feed_parser_head(reader, block, &head, err);
}

/* Finds the end of the header block in the bytes so far; keeps them when more are needed. */
static struct rc feed_head(struct http_reader *reader, struct str *bytes, struct err *err)
{
    struct str all = *bytes;
    size_t before = reader->in->head.n;
    size_t end;
    if (before) {
        size_t room = LIMIT_HEADER_BYTES - before;
        buf_put(&reader->in->head, str_sub(*bytes, 0, bytes->n < room ? bytes->n : room));
        CHECK(!reader->in->head.over);
        all = buf_str(&reader->in->head);
    }
    TRY(http_head_end(all, &reader->in->head_line, &end, err));
    if (end == 0) {
        if (before == 0)
            buf_put(&reader->in->head, all);
        *bytes = STR_NONE;
        return RC_OK;
    }
    CHECK(end > before);
    *bytes = str_sub(*bytes, end - before, bytes->n);
    reader->in->head_line = 0;
    if (end == 2 && !reader->skipped_line) {
        reader->skipped_line = true;
        buf_clear(&reader->in->head);
        return RC_OK;
    }
    if (end == 2)
        return err_set(err, ERR_INVALID, "there is no request line");
    TRY(take_head(reader, str_sub(all, 0, end), err));
    buf_done(&reader->in->head);
    return RC_OK;
}

/* Takes what belongs to this body and leaves the rest in `bytes`: a client may have sent the next request with it. */
static struct rc feed_body(struct http_reader *reader, struct str *bytes, struct err *err)
{
    CHECK(reader->chunked || reader->in->body_left > 0);
    reader->body_began = true;
    size_t used = bytes->n < reader->in->body_left ? bytes->n : (size_t)reader->in->body_left;
    if (reader->chunked)
        TRY(http_chunks_check(&reader->in->chunks, *bytes, reader->in->body_max, &used, err));
    bool last = reader->chunked ? reader->in->chunks.state == CHUNK_OVER : used == reader->in->body_left;
    TRY(feed_parser(reader, str_sub(*bytes, 0, used), last, err));
    if (!reader->chunked)
        reader->in->body_left -= used;
    if (reader->body.n)
        reader->request.body = buf_str(&reader->body);
    CHECK(!reader->body.over);
    *bytes = str_sub(*bytes, used, bytes->n);
    return RC_OK;
}

struct rc http_reader_feed(struct http_reader *reader, struct str *bytes, struct err *err)
{
    CHECK(reader->progress != HTTP_WHOLE);
    while (bytes->n && reader->progress == HTTP_IN_HEAD)
        TRY(feed_head(reader, bytes, err));
    if (bytes->n && reader->progress == HTTP_IN_BODY)
        TRY(feed_body(reader, bytes, err));
    return RC_OK;
}
