/* Hexadecimal digits (hex.h). */
#include "base/hex.h"

/* The compiler's vectors, so that any machine has them. */
typedef unsigned char sixteen __attribute__((vector_size(16)));

/* Sixteen half bytes as digits: those above nine get the letters. */
static sixteen digits_of(sixteen halves)
{
    return halves + '0' + ((sixteen)(halves > 9) & ('a' - '0' - 10));
}

/* Sixteen bytes as 32 digits at once. */
static void write_sixteen(const unsigned char *bytes, char *out)
{
    sixteen all;
    memcpy(&all, bytes, sizeof all);
    sixteen high = digits_of(all >> 4), low = digits_of(all & 15);
    sixteen first = __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    sixteen second = __builtin_shufflevector(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    memcpy(out, &first, sizeof first);
    memcpy(out + 16, &second, sizeof second);
}

void hex_write(const unsigned char *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t i = 0;
    for (; n - i >= 16; i += 16)
        write_sixteen(bytes + i, out + 2 * i);
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
