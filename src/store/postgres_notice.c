/* Notifications between nodes. Each says how far the store is durable; a small group travels in it:
 *
 *   NODE SEQ                           the store is durable up to SEQ
 *   NODE SEQ LAST KNOWN LINK EVENTS    and EVENTS follow event LAST, whose link is LINK
 *
 * EVENTS are written before the group has its place: numbers above KNOWN move by LAST - KNOWN, as put() moves them in
 * the tables (postgres_schema.c). A number is DIGITS: and a text LENGTH:BYTES.
 *
 * A notification spares a look and replaces none: its events are taken only if they continue the last event that this
 * process knows, by number and by link. After a gap, a notification without events or a lost connection the store is
 * read, unless all that was told has been read already; and so it is once a second at least, which compares the last
 * link again.
 *
 * Every role that may connect to the database can notify. So events, and how far the store is durable, are believed
 * only when the connection that sent them belongs to the follower's own role, which might as well have written them
 * into the tables. The server names the process that sent a notification; which processes are of this role is asked
 * with a look, and holds for a second: the system gives out a process number again only after all the others.
 */
#include "store/postgres_notice.h"

#include "io/clock.h"

enum { PEERS_ASK_US = 400000, PEERS_HOLD_US = 1000000, HEARD_MOST = 64 };

/* ---- text ---- */

static void put_number(struct buf *out, uint64_t value)
{
    buf_u64(out, value);
    buf_putc(out, ':');
}

static void put_text(struct buf *out, struct str text)
{
    put_number(out, text.n);
    buf_put(out, text);
}

void notice_write(struct buf *out, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count && !out->over; i++) {
        const struct event *event = rows->events[i].event;
        char hex[DIGEST_HEX_BYTES];
        digest_hex(&rows->events[i].hash, hex);
        put_number(out, event->seq);
        put_number(out, event->no);
        put_number(out, (uint64_t)event->kind);
        put_number(out, (uint64_t)event->at_ms);
        put_number(out, rows->events[i].chain);
        put_text(out, str_of(hex));
        put_text(out, event->session);
        put_text(out, event->thread);
        put_text(out, event->actor);
        put_text(out, event_kind_of_call(event->kind) ? event->call : STR_NONE);
        put_text(out, event->data);
    }
    if (out->over)
        buf_clear(out);
}

static bool take_number(struct str *rest, uint64_t *ret_value)
{
    return str_to_u64(str_cut(*rest, ':', rest), ret_value);
}

static bool take_text(struct str *rest, struct str *ret_text)
{
    uint64_t bytes;
    if (!take_number(rest, &bytes) || bytes > rest->n)
        return false;
    *ret_text = str_sub(*rest, 0, bytes);
    *rest = str_sub(*rest, bytes, rest->n);
    return true;
}

static bool take_event(struct str *rest, struct notice_event *ret_event)
{
    struct event *event = &ret_event->event;
    uint64_t kind, at_ms;
    struct str hex;
    if (!take_number(rest, &event->seq) || !take_number(rest, &event->no) || !take_number(rest, &kind) ||
        !take_number(rest, &at_ms) || !take_number(rest, &ret_event->chain) || !take_text(rest, &hex) ||
        !take_text(rest, &event->session) || !take_text(rest, &event->thread) || !take_text(rest, &event->actor) ||
        !take_text(rest, &event->call) || !take_text(rest, &event->data))
        return false;
    event->kind = (enum event_kind)kind;
    event->at_ms = (int64_t)at_ms;
    return kind > EVENT_NONE && kind < EVENT_KIND_END && digest_parse(hex, &ret_event->hash);
}

bool notice_read_head(struct str text, struct str *ret_node, uint64_t *ret_seq, struct str *ret_rest)
{
    *ret_node = str_cut(text, ' ', ret_rest);
    return str_to_u64(str_cut(*ret_rest, ' ', ret_rest), ret_seq);
}

bool notice_read_group(struct str rest, uint64_t last_seq, struct arena *arena, struct notice *ret_notice)
{
    uint64_t known;
    *ret_notice = (struct notice){.last_seq = last_seq};
    rest = arena_str(arena, rest);
    struct anchor *before = &ret_notice->before;
    if (!str_to_u64(str_cut(rest, ' ', &rest), &before->seq) || !str_to_u64(str_cut(rest, ' ', &rest), &known))
        return false;
    struct str link = str_cut(rest, ' ', &rest);
    if ((before->seq && !digest_parse(link, &before->hash)) || known > before->seq || last_seq <= before->seq ||
        last_seq - before->seq > rest.n)
        return false;
    uint64_t shift = before->seq - known;
    ret_notice->count = last_seq - before->seq;
    ret_notice->events = arena_array(arena, struct notice_event, ret_notice->count);
    for (size_t i = 0; i < ret_notice->count; i++) {
        struct notice_event *event = &ret_notice->events[i];
        if (!take_event(&rest, event) || event->event.seq != known + i + 1)
            return false;
        event->event.seq += shift;
        event->chain += event->chain > known ? shift : 0;
    }
    return str_empty(rest);
}

/* ---- what was heard ---- */

void notices_clear(struct notices *notices)
{
    arena_done(&notices->arena);
    notices->first = notices->last = NULL;
    notices->count = 0;
    notices->missed = notices->heard = false;
}

bool notices_peers_due(const struct notices *notices)
{
    return !notices->peers_hidden &&
           (notices->peers_us == 0 || clock_steady_us() - notices->peers_us >= PEERS_ASK_US);
}

static bool is_peer(const struct notices *notices, int pid)
{
    size_t i = 0;
    while (i < notices->peer_count && notices->peers[i] != pid)
        i++;
    return i < notices->peer_count && clock_steady_us() - notices->peers_us < PEERS_HOLD_US;
}

static bool add_notice(struct notices *notices, struct str rest, uint64_t last_seq)
{
    struct notice *notice = arena_new(&notices->arena, struct notice);
    if (notices->count >= HEARD_MOST || !notice_read_group(rest, last_seq, &notices->arena, notice) ||
        (notices->last && notices->last->last_seq != notice->before.seq))
        return false;
    if (notices->last)
        notices->last->next = notice;
    else
        notices->first = notice;
    notices->last = notice;
    notices->count++;
    return true;
}

bool notices_take(struct notices *notices, struct memory *memory, struct str own, int pid, const char *text)
{
    struct str node, rest;
    uint64_t seq;
    if (!notice_read_head(str_of(text), &node, &seq, &rest)) {
        notices->missed = true;
        return true;
    }
    bool believed = is_peer(notices, pid);
    if (believed)
        memory_note_durable(memory, seq);
    if (str_eq(node, own))
        return false;
    notices->heard = believed && !notices->stranger;
    if (!believed) {
        notices->stranger = pid;
        notices->stranger_seq = seq;
    }
    notices->missed = notices->missed || !believed || !add_notice(notices, rest, seq);
    return true;
}

void notices_know_peers(struct notices *notices, struct memory *memory)
{
    if (is_peer(notices, notices->stranger))
        memory_note_durable(memory, notices->stranger_seq);
    notices->stranger = 0; /* its number may be given to another */
}

/* When peers told nothing new, the writer or a reader was faster: what others have written meanwhile comes with their
 * own notifications, when it is durable. */
static bool is_old_news(const struct notices *notices, struct memory *memory, uint64_t after)
{
    return notices->heard && memory_durable(memory) <= after;
}

bool notices_answer(struct notices *notices, struct memory *memory, struct read *read)
{
    if (is_old_news(notices, memory, read->after)) {
        notices_clear(notices);
        read->covered = read->seen = read->after;
        return true;
    }
    struct anchor known = memory_anchor(memory);
    const struct notice *first = notices->first;
    size_t count = 0;
    if (notices->missed || !first || first->before.seq != read->after || known.seq != read->after ||
        (known.seq && !digest_eq(&known.hash, &first->before.hash)))
        return false;
    for (const struct notice *notice = first; notice; notice = notice->next)
        count += notice->count;
    read->events = arena_array(&read->arena, struct event, count);
    for (const struct notice *notice = first; notice; notice = notice->next) {
        for (size_t i = 0; i < notice->count; i++) {
            const struct notice_event *told = &notice->events[i];
            memory_follow(memory, &told->event, told->chain, &told->hash);
            read->events[read->event_count++] = event_copy(&read->arena, &told->event);
        }
    }
    read->covered = read->seen = notices->last->last_seq;
    notices_clear(notices);
    return true;
}
