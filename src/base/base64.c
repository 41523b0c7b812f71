/* Base 64 (RFC 4648), with and without padding, in both alphabets; decoding takes either alphabet and is strict
 * otherwise. */
#include "base/base64.h"

static const char usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void encode(const unsigned char *in, size_t n, const char *alphabet, bool pad, char *out)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        unsigned long group = (unsigned long)in[i] << 16 | (i + 1 < n ? (unsigned long)in[i + 1] << 8 : 0) |
                              (i + 2 < n ? in[i + 2] : 0);
        size_t letters = i + 2 < n ? 4 : n - i + 1;
        for (size_t k = 0; k < 4; k++) {
            if (k < letters)
                out[at++] = alphabet[group >> (18 - 6 * k) & 63];
            else if (pad)
                out[at++] = '=';
        }
    }
    out[at] = '\0';
}

void base64_encode(const void *bytes, size_t n, char *out) { encode(bytes, n, usual, true, out); }
void base64_url_encode(const void *bytes, size_t n, char *out) { encode(bytes, n, for_urls, false, out); }

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

/* Takes both alphabets, with or without padding, and refuses bits at the end that no encoder sets: a value has one
 * text, padding aside. */
bool base64_decode(struct str text, unsigned char *ret_bytes, size_t room, size_t *ret_n)
{
    unsigned long group = 0;
    unsigned bits = 0;
    size_t n = 0;
    for (size_t pad = 0; pad < 2 && text.n && text.p[text.n - 1] == '='; pad++)
        text.n--;
    if (text.n % 4 == 1)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        int value = value_of(text.p[i]);
        if (value < 0)
            return false;
        group = (group << 6 | (unsigned long)value) & 0xffffff;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (n == room)
            return false;
        ret_bytes[n++] = (unsigned char)(group >> bits);
    }
    *ret_n = n;
    return (group & ((1UL << bits) - 1)) == 0; /* the unused bits of a correct encoding are zero */
}
