/* Hexadecimal digits (hex.h). */
#include "base/hex.h"

#include <endian.h>

/* Four bytes as eight digits at once: each half byte gets a byte of its own, and those above nine get the letters. */
static void write_four(const unsigned char *bytes, char *out)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), low = UINT64_C(0x000f000f000f000f);
    uint32_t four;
    memcpy(&four, bytes, sizeof four);
    uint64_t wide = le32toh(four);
    wide = (wide | wide << 16) & UINT64_C(0x0000ffff0000ffff);
    wide = (wide | wide << 8) & UINT64_C(0x00ff00ff00ff00ff);
    wide = (wide >> 4 & low) | (wide & low) << 8;
    uint64_t letters = ((wide + 6 * ones) >> 4) & ones;
    wide = htole64(wide + '0' * ones + letters * ('a' - '0' - 10));
    memcpy(out, &wide, sizeof wide);
}

void hex_write(const unsigned char *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t i = 0;
    for (; n - i >= 4; i += 4)
        write_four(bytes + i, out + 2 * i);
    for (; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int small_digit(char c) { return c >= 'A' && c <= 'F' ? -1 : hex_digit(c); }

/* Small letters only and exactly the length, so that a value has one text and can be compared as such. */
bool hex_read(struct str hex, unsigned char *ret_bytes, size_t n)
{
    if (hex.n != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = small_digit(hex.p[2 * i]), low = small_digit(hex.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
