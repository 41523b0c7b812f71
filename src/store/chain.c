/* The hash chain of a session: whoever changes, drops, adds or moves an event breaks every later link.
 *
 * A link is SHA-256 over these pieces in this order, each preceded by its length in bytes as 8 bytes, big
 * endian:
 *
 *   before    the previous link of this session, 32 bytes; zeros for the first
 *   place     the byte 2 and the event's number within its session, 8 bytes, big endian
 *   session   the id's bytes; empty for the installation
 *   thread    the id's bytes; empty for the session as such
 *   kind      its number, 4 bytes, big endian
 *   at_ms     8 bytes, big endian, two's complement
 *   actor     bytes
 *   call      the id's bytes; empty when it is of no call
 *   data      bytes
 *
 * The number within the session is known before the store gives out its own, so that links are ready when a group gets
 * the lock. Events that were kept without such a number have links of version 1: their `place` is seq, 8 bytes. The
 * first numbered event of a session (1) follows its last link of version 1.
 *
 * The order of all events, and where they end, is covered by a second chain, over groups: what was committed at once.
 * Its link is SHA-256 over the previous one (32 bytes; zeros for the first), the links of the group's events in their
 * order (32 bytes each) and the last event's seq (8 bytes, big endian), one after the other.
 */
#include "store/backend.h"

static void put_big_endian(char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (char)(value >> (8 * (bytes - 1 - i)));
}

/* An event without a number in its session is one of version 1 of the links: its place is the seq, without the
 * leading byte. */
struct digest chain_next(const struct digest *before, const struct event *event)
{
    char place[9] = {2}, kind[4], at[8];
    bool numbered = event->no != 0;
    CHECK(event->seq > 0);
    put_big_endian(place + 1, numbered ? event->no : event->seq, 8);
    put_big_endian(kind, (uint64_t)event->kind, sizeof kind);
    put_big_endian(at, (uint64_t)event->at_ms, sizeof at);
    const struct str pieces[] = {
        {(const char *)before->bytes, DIGEST_BYTES},
        numbered ? (struct str){place, 9} : (struct str){place + 1, 8},
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

struct digest_sum *chain_group_begin(const struct digest *before)
{
    struct digest_sum *sum = digest_sum_new();
    chain_group_add(sum, before);
    return sum;
}

void chain_group_add(struct digest_sum *sum, const struct digest *link)
{
    digest_sum_add(sum, (struct str){(const char *)link->bytes, DIGEST_BYTES});
}

struct digest chain_group_end(struct digest_sum *sum, uint64_t last_seq)
{
    char seq[8];
    put_big_endian(seq, last_seq, sizeof seq);
    digest_sum_add(sum, (struct str){seq, sizeof seq});
    return digest_sum_end(sum);
}
