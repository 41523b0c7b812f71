/* Calls that several persons must allow: partial answers, and whom they count.
 *
 * Each allow is kept as a TOOL_APPROVAL_PARTIAL, until the one that completes the number is kept as the response. It is
 * kept under the need that nothing was kept in the session since the others were counted: of two persons who answer at
 * the same time one is counted after the other. A denial by one person is the response. */
#include "gate/core/core.h"

#include "event/append.h"
#include "event/life.h"
#include "event/shapes.h"
#include "event/token.h"

#include <stdlib.h>

bool people_wanted(const struct open *open, const struct decide *d)
{
    return open->people > 1 && decision_condition(d->decision) == LIFE_ALLOW;
}

void people_check_form(const struct open *open, struct decide *d)
{
    if (people_wanted(open, d) && (d->decision != DECISION_ALLOW_ONCE || !str_empty(d->mode)))
        (void)err_set(gate_op_fail(&d->op), ERR_INVALID,
                      "%u persons must allow this: each can allow it once, and nothing beyond it", open->people);
}

void people_check_person(const struct open *open, struct decide *d)
{
    struct str asker = token_person(open->actor);
    if (people_wanted(open, d) && (str_eq(d->person, asker) || str_eq(token_person(d->actor), asker)))
        (void)err_set(gate_op_fail(&d->op), ERR_FORBIDDEN,
                      "%u persons must allow this, and the one who asked cannot be among them", open->people);
}

/* ---- who has ---- */

static bool is_same_input(const struct open *open, struct str input)
{
    return str_empty(input) ? str_empty(open->partials->input) : json_same_tokens(input, open->partials->input);
}

static bool counts(const struct open *open, const struct decide *d)
{
    return open->partials && is_same_input(open, d->updated_input ? d->updated_input->raw : STR_NONE);
}

unsigned people_with(const struct open *open, const struct decide *d, bool *ret_again)
{
    unsigned count = 0;
    *ret_again = false;
    for (const struct partial *p = counts(open, d) ? open->partials->first : NULL; p; p = p->next) {
        *ret_again = *ret_again || str_eq(p->person, d->person) || str_eq(p->by, d->by);
        count++;
    }
    return count + !*ret_again;
}

/* Everyone whose allow is counted, for the response. */
struct shape_texts people_names(struct arena *arena, const struct open *open, const struct decide *d)
{
    struct str *names = arena_array(arena, struct str, LIMIT_PEOPLE + 1);
    size_t count = 0;
    if (!people_wanted(open, d))
        return (struct shape_texts){0};
    const struct partial *first = counts(open, d) ? open->partials->first : NULL;
    for (const struct partial *p = first; p && count < LIMIT_PEOPLE; p = p->next)
        names[count++] = p->person;
    names[count++] = d->person;
    return (struct shape_texts){names, count};
}

/* ---- what is kept ---- */

/* The second NEED_NONE_AFTER is on the session: two persons who answer at once are counted one after the other. */
struct append *people_append(const struct core *core, const struct decide *d, const struct open *open, struct now now)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct str session = arena_str(arena, open->session), call = arena_str(arena, open->call);
    append_need(append, (struct need){.need = NEED_PRESENT, .kind = EVENT_TOOL_APPROVAL_REQUEST, .session = session,
                                      .call = call});
    append_need(append, (struct need){.need = NEED_ABSENT, .kind = EVENT_TOOL_APPROVAL_RESPONSE, .session = session,
                                      .call = call});
    append_need(append, (struct need){.need = NEED_NONE_AFTER, .seq = d->checked_seq});
    append_need(append, (struct need){.need = NEED_NONE_AFTER, .session = session, .seq = core->delivered});
    (void)append_event(append, (struct event){
        .kind = EVENT_TOOL_APPROVAL_PARTIAL,
        .at_ms = now.wall_ms,
        .session = session,
        .thread = arena_str(arena, open->thread),
        .actor = arena_str(arena, d->actor),
        .data = DATA(arena, tool_approval_partial, .call = open->call, .decision = d->decision, .person = d->person,
                     .have = d->have, .need = open->people, .feedback = d->feedback,
                     .updated_input = d->updated_input ? d->updated_input->raw : STR_NONE, .by = d->by,
                     .signature = d->signature),
    });
    decide_add_use(append, d);
    return append;
}

/* ---- the view ---- */

void people_free(struct open *open)
{
    if (open->partials)
        arena_done(&open->partials->arena);
    free(open->partials);
    open->partials = NULL;
}

static struct partials *begin(struct str input)
{
    struct partials *partials = heap_new(sizeof *partials);
    *partials = (struct partials){0};
    partials->end = &partials->first;
    partials->input = arena_str(&partials->arena, input);
    return partials;
}

/* An allow of another input than the first one starts the count again: all must have allowed the same. */
void people_take(struct open *open, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_partial data;
    if (!READ_DATA(&scratch, tool_approval_partial, event->data, &data))
        return;
    if (open->partials && !is_same_input(open, data.updated_input))
        people_free(open);
    if (!open->partials)
        open->partials = begin(data.updated_input);
    struct arena *arena = &open->partials->arena;
    struct partial *partial = arena_new(arena, struct partial);
    *partial = (struct partial){.person = arena_str(arena, token_person(data.person)), .by = arena_str(arena, data.by),
                                .at_ms = event->at_ms, .is_signed = !str_empty(data.signature)};
    *open->partials->end = partial;
    open->partials->end = &partial->next;
}

/* Answers by a token that was revoked do not count any more. */
void people_drop(struct open *open, struct str token)
{
    struct partial **link = open->partials ? &open->partials->first : NULL;
    while (link && *link) {
        if (str_eq((*link)->by, token))
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    if (link)
        open->partials->end = link;
}
