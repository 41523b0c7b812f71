/* Bytes become one request. No sockets here: the connection feeds it, and so do the tests and the fuzzer.
 *
 * A reader gathers the header block, has it checked (header_check.h), and then lets llhttp read the same bytes, without
 * the target and the fields that mean nothing to it: two readers, and where they do not agree about the end of the
 * message it is refused.
 * The reader is the request: it lives on until the request is answered or dropped.
 */
#ifndef HTTP_READER_H
#define HTTP_READER_H

#include "base/buf.h"
#include "http/header_check.h"
#include "http/http.h"

#include <llhttp.h>

enum http_progress {
    HTTP_IN_HEAD, /* the header block is not whole yet */
    HTTP_IN_BODY,
    HTTP_WHOLE,   /* the request is complete; nothing more may be fed */
};

/* State that is needed only until the request is read whole; freed when an agent begins to wait. */
struct http_reading {
    llhttp_t parser;
    struct buf head;      /* the header block while it is not whole */
    size_t head_line;     /* the start of its last line */
    uint64_t body_left;   /* bytes still to come, when there is a Content-Length */
    size_t body_max;      /* limit for this request */
    struct http_chunks chunks;
};

/* A request while it comes in, and afterwards: the request is its first member. */
struct http_reader {
    struct http_request request; /* first: a request that came by a socket is its reader */
    struct http_reading *in;     /* in request.spare; NULL: http_shed has freed it */
    struct buf body;      /* a body that came in pieces */
    size_t body_counted;  /* bytes of it that are counted in the server's body_bytes */
    size_t (*body_max_of)(struct str target); /* NULL: LIMIT_BODY_BYTES */
    enum http_progress progress;
    bool chunked;
    bool old;             /* HTTP/1.0 */
    bool wants_continue;
    bool body_began;      /* some of it has come */
    bool keep_alive;      /* valid when whole */
    bool head_only;       /* HEAD: the answer must not have a body */
    bool skipped_line;    /* one empty line before the request was skipped */
    bool parser_done;     /* llhttp has seen the end of the message */
};

struct http_reader *http_reader_new(void);
void http_reader_free(struct http_reader *reader);
static inline struct http_reader *http_reader_of(struct http_request *request)
{
    return (struct http_reader *)request;
}
/* Takes what belongs to this request off the front of *bytes. After an error the reader is useless. */
struct rc http_reader_feed(struct http_reader *reader, struct str *bytes, struct err *err);

/* Percent-decoding. In a path %2F is refused, since it would no longer be told from a slash; in a query
 * '+' is a blank. %00 is refused in both. */
enum http_decode { HTTP_DECODE_PATH, HTTP_DECODE_QUERY };
struct rc http_decode(struct arena *arena, struct str s, enum http_decode how, struct str *ret_text,
                      struct err *err);

#endif
