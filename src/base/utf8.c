/* UTF-8 (utf8.h): strict decoding, and the characters that hide or reorder others (bidirectional marks, zero
 * width, controls): they are shown by number, never written to a screen as they are. */
#include "base/utf8.h"

static bool tail(unsigned char c) { return (c & 0xc0) == 0x80; }

struct str utf8_start(struct str s, size_t bytes)
{
    size_t n = s.n < bytes ? s.n : bytes;
    while (n > 0 && n < s.n && tail((unsigned char)s.p[n]))
        n--;
    return str_sub(s, 0, n);
}

size_t utf8_decode(struct str s, uint32_t *ret_code)
{
    const unsigned char *p = (const unsigned char *)s.p;
    if (s.n == 0)
        return 0;
    if (p[0] < 0x80) {
        *ret_code = p[0];
        return 1;
    }
    if (p[0] >= 0xc2 && p[0] <= 0xdf && s.n >= 2 && tail(p[1])) {
        *ret_code = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
        return 2;
    }
    if ((p[0] & 0xf0) == 0xe0 && s.n >= 3 && tail(p[1]) && tail(p[2])) {
        uint32_t code = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
        *ret_code = code;
        return code >= 0x800 && (code < 0xd800 || code > 0xdfff) ? 3 : 0;
    }
    if ((p[0] & 0xf8) == 0xf0 && s.n >= 4 && tail(p[1]) && tail(p[2]) && tail(p[3])) {
        uint32_t code = (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
                        (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
        *ret_code = code;
        return code >= 0x10000 && code <= 0x10ffff ? 4 : 0;
    }
    return 0;
}

size_t utf8_valid_one(struct str s)
{
    uint32_t code;
    return utf8_decode(s, &code);
}

size_t utf8_plain(struct str s)
{
    size_t i = 0;
    for (; s.n - i >= 64; i += 64) { /* long texts: where the first byte is that is not plain, is looked at below */
        const char *p = s.p + i;
        if (utf8_first_of_16(utf8_not_plain(utf8_load_16(p)) | utf8_not_plain(utf8_load_16(p + 16)) |
                             utf8_not_plain(utf8_load_16(p + 32)) | utf8_not_plain(utf8_load_16(p + 48))) < 16)
            break;
    }
    for (; s.n - i >= 16; i += 16) {
        size_t n = utf8_plain_of_16(utf8_load_16(s.p + i));
        if (n < 16)
            return i + n;
    }
    if (i == s.n)
        return i;
    return i + utf8_plain_short((struct str){s.p + i, s.n - i});
}

/* Which of 16 bytes are visible ASCII, blank, tab or newline; one more than 0x7f is negative. */
static utf8_sixteen seen(utf8_sixteen bytes)
{
    utf8_sixteen more = (utf8_sixteen)((unsigned char __attribute__((vector_size(16))))bytes + 1);
    return (utf8_sixteen)((more > 0x20) | (bytes == '\n') | (bytes == '\t'));
}

bool utf8_only_seen(struct str s)
{
    utf8_sixteen all = (utf8_sixteen){0} == 0;
    size_t i = 0;
    for (; s.n - i >= 64; i += 64)
        all &= seen(utf8_load_16(s.p + i)) & seen(utf8_load_16(s.p + i + 16)) & seen(utf8_load_16(s.p + i + 32)) &
               seen(utf8_load_16(s.p + i + 48));
    for (; s.n - i >= 16; i += 16)
        all &= seen(utf8_load_16(s.p + i));
    bool fine = utf8_first_of_16(~all) == 16;
    for (; fine && i < s.n; i++)
        fine = (s.p[i] >= ' ' && s.p[i] < 0x7f) || s.p[i] == '\n' || s.p[i] == '\t';
    return fine;
}

bool utf8_valid(struct str s)
{
    for (size_t i = 0; i < s.n;) {
        size_t n = utf8_valid_one(str_sub(s, i, s.n));
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

size_t utf8_encode(uint32_t code, char *to)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* In order. */
static const struct {
    uint32_t from, to;
} hidden[] = {
    {0x00, 0x08},     {0x0b, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},     {0x34f, 0x34f},
    {0x61c, 0x61c},   {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
    {0x2000, 0x200f}, {0x2028, 0x202f}, {0x205f, 0x206f}, {0x2800, 0x2800}, {0x3164, 0x3164},
    {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool utf8_hidden(uint32_t code)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && code >= hidden[i].from; i++)
        if (code <= hidden[i].to)
            return true;
    return false;
}

void utf8_show(struct buf *buf, struct str s, bool lines)
{
    for (size_t i = 0; i < s.n;) {
        uint32_t code;
        size_t n = utf8_decode(str_sub(s, i, s.n), &code);
        bool layout = n == 1 && (code == '\n' || code == '\t');
        if (n == 0) {
            buf_printf(buf, "<0x%02X>", (unsigned char)s.p[i]);
            n = 1;
        } else if (utf8_hidden(code) || (layout && !lines)) {
            buf_printf(buf, "<U+%04X>", code);
        } else {
            buf_put(buf, str_sub(s, i, i + n));
        }
        i += n;
    }
}
