/* Watchers of events: each sees every event of its scope after its position exactly once, in order.
 *
 * 1. A watcher is either catching up (a page is being read, or waits to be asked for) or live.
 * 2. It turns live only when a page has covered everything that was told to live watchers so far; what is
 *    told meanwhile it reads in its next page.
 *    A page that cannot be read while the store is away is asked for again when it is back.
 *    A live watcher that lags catches up again: its next page begins where it was.
 * 3. A watcher is told of nothing that this process was not told of: what a page has beyond that comes when it is
 *    told. A standby that is promoted may lack the last events; a process that never knew of them goes on with other
 *    events in their place.
 */
#include "gate/inner.h"

enum { PAGE_EVENTS = 256 };

/* The first of those who watch this session; without a name, of those who watch all. */
static struct watcher *first_of(const struct gate *gate, struct str session)
{
    return str_empty(session) ? gate->watchers_of_all : map_get(&gate->watchers, session);
}

static void set_first(struct gate *gate, struct str session, struct watcher *first)
{
    if (str_empty(session))
        gate->watchers_of_all = first;
    else if (first)
        (void)map_put(&gate->watchers, session, first);
    else
        (void)map_take(&gate->watchers, session);
}

static bool wants(const struct watcher *w, const struct event *event)
{
    return event->seq > w->after && (w->what->kinds == 0 || (w->what->kinds & (uint64_t)1 << event->kind)) &&
           (str_empty(w->what->session) || str_eq(w->what->session, event->session)) &&
           (str_empty(w->what->thread) || str_eq(w->what->thread, event->thread));
}

static void tell(struct watcher *w, struct happening *happening)
{
    w->after = happening->event->seq;
    w->what->tell(w, happening);
}

static void forget_forms(struct happening *happening)
{
    for (int i = 0; i < HAPPENING_FORMS; i++)
        if (happening->forms[i])
            shared_unref(happening->forms[i]);
}

/* Tells only events that this process has delivered; what lies beyond comes when it is followed. */
static void page_read(struct read *read)
{
    struct watcher *w = read->arg;
    uint64_t delivered;
    if (!w) { /* the watcher was removed meanwhile */
        read_free(read);
        return;
    }
    w->reading = NULL;
    delivered = w->gate->core.delivered;
    for (size_t i = 0; i < read->event_count && read->events[i].seq <= delivered && !w->stopped; i++) {
        struct happening happening = {.event = &read->events[i]};
        tell(w, &happening);
        forget_forms(&happening);
    }
    if (!w->stopped && read->err.code == ERR_OK) {
        uint64_t covered = read->covered < delivered ? read->covered : delivered;
        if (covered > w->after)
            w->after = covered;
        w->live = covered == w->gate->core.delivered;
    }
    w->postponed = read->err.code != ERR_OK && w->gate->store_away; /* read again when the store is back */
    w->failed = read->err.code != ERR_OK && !w->postponed;
    if (!w->stopped && w->what->caught_up && !w->postponed)
        w->what->caught_up(w);
    read_free(read);
}

/* Asks for the next page, unless the watcher is live, a page is under way, or it waits for the store: owners ask
 * whenever what they sent has left, which a heartbeat does, too. */
void gate_watch_more(struct watcher *w)
{
    if (w->live || w->reading || w->stopped || w->postponed)
        return;
    w->reading = read_new_of((struct read){.kind = READ_EVENTS, .session = w->what->session, .thread = w->what->thread,
                                           .kinds = w->what->kinds, .after = w->after, .limit = PAGE_EVENTS});
    gate_read(w->gate, w->reading, page_read, w);
}

void gate_watch(struct gate *gate, struct watcher *w)
{
    struct watcher *first = first_of(gate, w->what->session);
    w->gate = gate;
    w->prev = NULL;
    w->next = first;
    if (first)
        first->prev = w;
    set_first(gate, w->what->session, w);
    gate->watcher_count++;
    /* A watcher whose position is the last delivered event has nothing to catch up with. */
    w->live = w->after >= gate->core.delivered;
    gate_watch_more(w);
}

/* May be called from inside the watcher's own callbacks; a page that is still being read finds no watcher then. */
void gate_unwatch(struct watcher *w)
{
    if (w->stopped)
        return;
    struct gate *gate = w->gate;
    w->stopped = true;
    if (w->reading)
        w->reading->arg = NULL;
    if (w->next)
        w->next->prev = w->prev;
    if (w->prev)
        w->prev->next = w->next;
    else
        set_first(gate, w->what->session, w->next);
    gate->watcher_count--;
}

/* A watcher that lags is left behind and reads from the store again: nothing is queued for it without bound. */
static void tell_list(struct watcher *w, struct happening *happening)
{
    while (w) {
        struct watcher *next = w->next;
        if (w->live && wants(w, happening->event)) {
            w->live = !w->what->lags || !w->what->lags(w);
            if (w->live)
                tell(w, happening);
        }
        w = next;
    }
}

/* For output that is not kept (what a command writes while it runs): live watchers hear it, others do not. */
void gate_say(struct gate *gate, struct str session, struct str thread, struct str json)
{
    struct str lists[] = {STR(""), session};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct watcher *next;
        for (struct watcher *w = first_of(gate, lists[i]); w; w = next) {
            next = w->next;
            if (w->live && w->what->hear && (str_empty(w->what->thread) || str_eq(w->what->thread, thread)))
                w->what->hear(w, json);
        }
    }
}

static struct watcher **list_all(struct gate *gate, struct arena *arena)
{
    struct watcher **all = arena_array(arena, struct watcher *, gate->watcher_count + 1);
    size_t count = 0;
    for (struct watcher *w = gate->watchers_of_all; w; w = w->next)
        all[count++] = w;
    MAP_EACH(&gate->watchers, each)
        for (struct watcher *w = each.value; w; w = w->next)
            all[count++] = w;
    CHECK(count == gate->watcher_count);
    return all;
}

void watch_broken(struct gate *gate, const struct err *err)
{
    ARENA_SCOPE(scratch);
    struct watcher **all = list_all(gate, &scratch);
    for (size_t i = 0, count = gate->watcher_count; i < count; i++)
        if (all[i]->what->broken)
            all[i]->what->broken(all[i], err);
}

/* When the store comes back, every watcher asks again for what it could not read. */
void watch_away(struct gate *gate, bool away)
{
    ARENA_SCOPE(scratch);
    struct watcher **all = list_all(gate, &scratch);
    gate->store_away = away;
    for (size_t i = 0, count = gate->watcher_count; i < count; i++) {
        if (all[i]->what->away)
            all[i]->what->away(all[i], away);
        all[i]->postponed = all[i]->postponed && away;
        if (!away && all[i]->what->caught_up)
            all[i]->what->caught_up(all[i]);
    }
}

void watch_follow(struct gate *gate, const struct event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct happening happening = {.event = &events[i]};
        gate->core.delivered = events[i].seq;
        if (gate->watcher_count == 0)
            continue;
        tell_list(gate->watchers_of_all, &happening);
        if (!str_empty(events[i].session))
            tell_list(map_get(&gate->watchers, events[i].session), &happening);
        forget_forms(&happening);
    }
}
