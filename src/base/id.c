/* Ids and secrets from the kernel's randomness. Ids begin with the time, so that those of one kind sort by when
 * they were made; secrets are random as a whole. */
#include "base/id.h"

#include "base/err.h"
#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* From the kernel, which blocks only in the first moments after the machine has started. */
void id_random(void *bytes, size_t n)
{
    char *to = bytes;
    while (n) {
        ssize_t got = getrandom(to, n, 0);
        CHECK(got > 0 || errno == EINTR);
        if (got > 0) {
            to += got;
            n -= (size_t)got;
        }
    }
}

static void letters(char *out, size_t count)
{
    unsigned char random[64];
    CHECK(count <= sizeof random);
    id_random(random, count);
    for (size_t i = 0; i < count; i++)
        out[i] = alphabet[random[i] & 31];
    out[count] = '\0';
}

/* Time first: ids made one after the other lie side by side in an index. */
struct id id_new(const char *prefix)
{
    struct id id;
    struct timespec now;
    char text[27];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    for (int i = 0; i < 10; i++)
        text[i] = alphabet[ms >> (45 - 5 * i) & 31];
    letters(text + 10, 16);
    (void)snprintf(id.text, sizeof id.text, "%s_%s", prefix, text);
    return id;
}

struct id id_short(void)
{
    struct id id;
    letters(id.text, 8);
    return id;
}

void id_secret_from(const unsigned char bytes[ID_SECRET_BYTES], char out[ID_SECRET_BYTES])
{
    enum { LETTERS = 52 };
    memcpy(out, "nod_", 4);
    for (size_t i = 0; i < LETTERS; i++)
        out[4 + i] = alphabet[bytes[i] & 31];
    out[4 + LETTERS] = '\0';
}

void id_secret(char out[ID_SECRET_BYTES])
{
    memcpy(out, "nod_", 4);
    letters(out + 4, 52);
}

/* For ids that clients choose: visible ASCII without characters that would have to be escaped in a path or a
 * shell. */
bool id_acceptable(struct str s)
{
    static const bool refused[256] = {
        [0 ... ' '] = true, ['"'] = true, ['\''] = true, ['`'] = true, ['/'] = true, ['\\'] = true, ['?'] = true,
        ['#'] = true, ['%'] = true, [0x7f ... 0xff] = true,
    };
    size_t dots = 0;
    if (s.n == 0 || s.n > LIMIT_ID_BYTES)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (refused[(unsigned char)s.p[i]])
            return false;
        dots += s.p[i] == '.';
    }
    return dots < s.n;
}
