/* The name of the server in the first message of TLS (RFC 8446, 4.1.2; RFC 6066, 3). */
#include "egress/target.h"

enum {
    RECORD_HEAD = 5,
    RECORD_HANDSHAKE = 22,
    RECORD_BYTES_MAX = 16 << 10,
    HANDSHAKE_HEAD = 4,
    HANDSHAKE_HELLO = 1,
    EXTENSION_SERVER_NAME = 0,
    NAME_HOST = 0,
};

/* The unread rest of a message; `bad`: a field was longer than the rest. */
struct hello_reading {
    const unsigned char *p;
    size_t n;
    bool bad;
};

static unsigned take_number(struct hello_reading *r, size_t bytes)
{
    unsigned value = 0;
    if (r->n < bytes) {
        r->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | r->p[i];
    r->p += bytes;
    r->n -= bytes;
    return value;
}

/* A part with its length in front of it. */
static struct hello_reading take_part(struct hello_reading *r, size_t length_bytes)
{
    size_t n = take_number(r, length_bytes);
    struct hello_reading part = {.bad = true};
    if (r->bad || n > r->n) {
        r->bad = true;
        return part;
    }
    part = (struct hello_reading){.p = r->p, .n = n};
    r->p += n;
    r->n -= n;
    return part;
}

static enum egress_read read_names(struct hello_reading extension, struct str *ret_name)
{
    struct hello_reading names = take_part(&extension, 2);
    unsigned kind = take_number(&names, 1);
    struct hello_reading name = take_part(&names, 2);
    if (extension.bad || extension.n || names.bad || names.n || kind != NAME_HOST || name.n == 0)
        return HEAD_BAD;
    *ret_name = (struct str){(const char *)name.p, name.n};
    return HEAD_DONE;
}

static enum egress_read read_hello(struct hello_reading hello, struct str *ret_name)
{
    enum { VERSION_AND_RANDOM = 34 };
    enum egress_read found = HEAD_BAD;
    for (int i = 0; i < VERSION_AND_RANDOM; i++)
        (void)take_number(&hello, 1);
    (void)take_part(&hello, 1); /* session */
    (void)take_part(&hello, 2); /* ciphers */
    (void)take_part(&hello, 1); /* compression */
    struct hello_reading extensions = take_part(&hello, 2);
    unsigned seen = 0;
    while (!extensions.bad && extensions.n) {
        unsigned kind = take_number(&extensions, 2);
        struct hello_reading extension = take_part(&extensions, 2);
        if (kind != EXTENSION_SERVER_NAME || extensions.bad)
            continue;
        found = read_names(extension, ret_name);
        seen++;
    }
    return hello.bad || extensions.bad || seen != 1 ? HEAD_BAD : found;
}

enum egress_read egress_hello_read(struct str bytes, char *whole, struct str *ret_name)
{
    struct hello_reading records = {.p = (const unsigned char *)bytes.p, .n = bytes.n};
    size_t have = 0, want = HANDSHAKE_HEAD;
    while (have < want) {
        if (records.n && records.p[0] != RECORD_HANDSHAKE)
            return HEAD_BAD;
        if (records.n < RECORD_HEAD)
            return HEAD_MORE;
        size_t n = (size_t)records.p[3] << 8 | records.p[4];
        if (records.p[1] != 3 || n == 0 || n > RECORD_BYTES_MAX || have + n > EGRESS_HELLO_BYTES_MAX)
            return HEAD_BAD;
        if (records.n < RECORD_HEAD + n)
            return HEAD_MORE;
        memcpy(whole + have, records.p + RECORD_HEAD, n);
        have += n;
        records.p += RECORD_HEAD + n;
        records.n -= RECORD_HEAD + n;
        const unsigned char *head = (const unsigned char *)whole;
        if (head[0] != HANDSHAKE_HELLO)
            return HEAD_BAD;
        if (have >= HANDSHAKE_HEAD)
            want = HANDSHAKE_HEAD + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
        if (want > EGRESS_HELLO_BYTES_MAX)
            return HEAD_BAD;
    }
    const unsigned char *hello = (const unsigned char *)whole + HANDSHAKE_HEAD;
    return read_hello((struct hello_reading){.p = hello, .n = want - HANDSHAKE_HEAD}, ret_name);
}
