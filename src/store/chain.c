/* The hash chain of a session: whoever changes, drops, adds or moves an event breaks every later link.
 *
 * A link is SHA-256 over these pieces in this order, each preceded by its length in bytes as 8 bytes, big
 * endian:
 *
 *   before    the previous link of this session, 32 bytes; zeros for the first
 *   seq       8 bytes, big endian
 *   session   the id's bytes; empty for the installation
 *   thread    the id's bytes; empty for the session as such
 *   kind      its number, 4 bytes, big endian
 *   at_ms     8 bytes, big endian, two's complement
 *   actor     bytes
 *   call      the id's bytes; empty when it is of no call
 *   data      bytes
 */
#include "store/backend.h"

static void put_big_endian(char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (char)(value >> (8 * (bytes - 1 - i)));
}

struct digest chain_next(const struct digest *before, const struct event *event)
{
    char seq[8], kind[4], at[8];
    CHECK(event->seq > 0);
    put_big_endian(seq, event->seq, sizeof seq);
    put_big_endian(kind, (uint64_t)event->kind, sizeof kind);
    put_big_endian(at, (uint64_t)event->at_ms, sizeof at);
    const struct str pieces[] = {
        {(const char *)before->bytes, DIGEST_BYTES},
        {seq, sizeof seq},
        event->session,
        event->thread,
        {kind, sizeof kind},
        {at, sizeof at},
        event->actor,
        event->call,
        event->data,
    };
    return digest_of_pieces(pieces, sizeof pieces / sizeof pieces[0]);
}
