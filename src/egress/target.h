/* The target that a client of the proxy asks for, read from its first bytes. Pure: no descriptor, no clock. */
#ifndef EGRESS_TARGET_H
#define EGRESS_TARGET_H

#include "base/buf.h"

#include <stdint.h>

enum { EGRESS_HOST_BYTES = 254, EGRESS_HEAD_BYTES_MAX = 16 << 10, EGRESS_HELLO_BYTES_MAX = 32 << 10 };

/* A host and port as rules and people see them; made only by egress_target_set, which checks both. */
struct egress_target {
    char host[EGRESS_HOST_BYTES]; /* lower case, of letters, digits, `-`, `_` and `.` */
    uint16_t port;
    bool is_address;              /* an IPv4 address, or a name that means this machine */
};

/* False when programs could read the host in different ways. */
bool egress_target_set(struct egress_target *target, struct str host, unsigned port);

enum egress_read { HEAD_MORE, HEAD_DONE, HEAD_BAD };

enum egress_speech { SPEECH_CONNECT, SPEECH_HTTP, SPEECH_SOCKS };

/* A head of HTTP: CONNECT, or a request in absolute form. */
struct egress_head {
    enum egress_speech speech;
    struct egress_target target;
    size_t bytes;            /* length of the head; the bytes after it belong to the other end */
    struct str method, rest; /* of a request in absolute form (GET http://host/rest) */
    struct str headers;      /* lines, each with its end */
};
enum egress_read egress_head_read(struct str bytes, struct egress_head *ret_head);
/* The request as the other end wants it: origin form, Host from the target, one request per connection. */
void egress_head_write(struct buf *buf, const struct egress_head *head);

/* SOCKS5. The greeting must offer no authentication; the request must be CONNECT. `ret_bytes`: what was read. */
enum egress_read egress_socks_greeting(struct str bytes, size_t *ret_bytes);
enum egress_read egress_socks_request(struct str bytes, size_t *ret_bytes, struct egress_target *ret_target);

/* The server that a TLS ClientHello names; HEAD_BAD: it is none, or names none. `ret_name` points into `bytes`, or
 * into `whole` (EGRESS_HELLO_BYTES_MAX) when it came in several records. */
enum egress_read egress_hello_read(struct str bytes, char *whole, struct str *ret_name);

#endif
