/* The strict look at a request, before llhttp sees it. Pure: bytes in, a verdict out.
 *
 * llhttp 8 is lenient in ways that let two programs read two different requests out of the same bytes: it
 * takes a bare CR as the end of a line, a blank before the colon, folded lines, a request without Host.
 * A request that passes here can be read in one way only:
 *   1. every line ends in CRLF and holds no other control character than HT inside a value;
 *   2. the request line is METHOD SP /target SP HTTP/1.0 or HTTP/1.1, nothing more, nothing less;
 *   3. a field is token ':' value, never folded; there is one Host (HTTP/1.0: at most one);
 *   4. the body's length is said once at most: by one Content-Length of digits alone, or by one
 *      Transfer-Encoding that is "chunked" (HTTP/1.1 only); never by both;
 *   5. a chunk is hexadecimal digits, CRLF, its bytes, CRLF; no extensions, no trailers.
 * A bad header is refused at the same byte, however the bytes are cut into pieces.
 */
#ifndef HTTP_HEADER_CHECK_H
#define HTTP_HEADER_CHECK_H

#include "http/http.h"

/* A header block that was checked. The texts point into it. */
struct http_head {
    struct str method;
    struct str target;
    const struct http_header *headers;
    size_t header_count;
    uint64_t content_length;
    bool chunked;
    bool wants_continue; /* Expect: 100-continue */
    bool old;            /* HTTP/1.0 */
};

/* Looks for the end of the header block, from *at (the start of a line) on. Moves *at to the start of the
 * first line that is not whole yet; *ret_end is the length of the block, or 0 while more is needed. */
struct rc http_head_end(struct str bytes, size_t *at, size_t *ret_end, struct err *err);
/* `block` is a whole header block with the empty line at its end; the result points into it. */
struct rc http_head_check(struct arena *arena, struct str block, struct http_head *ret_head, struct err *err);

/* Where we are in a chunked body. Zeroed at its start. */
struct http_chunks {
    enum {
        CHUNK_SIZE,
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_CR,
        CHUNK_LF,
        CHUNK_END_CR,
        CHUNK_END_LF,
        CHUNK_OVER,
    } state;
    unsigned digits;
    uint64_t size;  /* size of this chunk: first as read so far, then the rest of it */
    uint64_t total; /* bytes of content that have passed */
};

/* Walks over the bytes; *ret_used is how many belong to the body (all of them unless it is over).
 * ERR_TOO_LARGE as soon as the sizes announced exceed bytes_max. */
struct rc http_chunks_check(struct http_chunks *chunks, struct str bytes, uint64_t bytes_max,
                            size_t *ret_used, struct err *err);

#endif
