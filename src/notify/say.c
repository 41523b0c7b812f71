/* The message about a call, with the answer tokens that go with it; and tokens that come back. */
#include "notify/outbox.h"

#include "io/clock.h"

#include <stdio.h>

enum { DENY_HOURS = 24, ALLOW_MINUTES = 30 };

/* ---- the message ---- */

/* A token is for what this person was shown: the call's digest and the person are part of its MAC. */
static struct str bound_to(struct arena *arena, struct str digest, struct str person)
{
    return arena_printf(arena, "%.*s\n%.*s", STR_ARG(digest), STR_ARG(person));
}

/* Bound to what was shown (the digest) and to the person: a button of an older message does not answer a changed
 * call. */
static struct str make_token(struct notify *n, struct arena *arena, const struct delivery *delivery, bool allow)
{
    char token[ANSWER_TOKEN_BYTES];
    int64_t seconds = allow ? ALLOW_MINUTES * 60 : DENY_HOURS * 3600, at_most = n->config.answers_ms / 1000;
    seconds = at_most && at_most < seconds ? at_most : seconds;
    struct answer_claims claims = {.allow = allow, .until_s = clock_wall_ms() / 1000 + seconds};
    struct str person = n->config.routes[delivery->route].person;
    memcpy(claims.delivery, delivery->id, sizeof claims.delivery);
    token_make(&n->key, &claims, bound_to(arena, str_of(delivery->asked->digest), person), token);
    return arena_str(arena, str_of(token));
}

static struct str waiting_json(struct notify *n, struct arena *arena, const struct asked *asked)
{
    JSON_SCOPE(buf, out, PENDING_BYTES_MAX);
    gate_write_listed(n->options.gate, &out, &(struct listed){asked->session, asked->call});
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

static void note_digest(struct asked *asked, const struct json *pending)
{
    (void)snprintf(asked->digest, sizeof asked->digest, "%.*s", STR_ARG(json_text(pending, "digest")));
}

/* A call that is risky, or that the message does not show whole, gets no token to allow it. */
static bool describe(struct notify *n, struct send_job *s, const struct delivery *delivery)
{
    const struct channel *channel = &n->config.channels[delivery->channel];
    struct arena *arena = &s->arena;
    const struct json *pending;
    struct str waiting = waiting_json(n, arena, delivery->asked);
    if (waiting.n == 0 || rc_bad(json_parse(arena, waiting, &pending, NULL)))
        return false;
    s->message.pending = words_pending(arena, pending, channel->detail);
    bool whole = words_describe(arena, pending, channel->detail, &s->message);
    if (!channel->kind->carries_answers || s->count > 1)
        return true;
    const struct json *risky = json_get(pending, "risky");
    note_digest(delivery->asked, pending);
    s->message.deny = make_token(n, arena, delivery, false);
    if (s->message.base.n)
        s->message.look = arena_printf(arena, "%.*s/a#%.*s", STR_ARG(s->message.base), STR_ARG(s->message.deny));
    if (whole && risky && risky->type == JSON_FALSE) /* others must be looked at before an allow */
        s->message.allow = make_token(n, arena, delivery, true);
    return true;
}

static void describe_withdrawal(struct send_job *s, const struct asked *asked)
{
    /* a later version may know decisions that this one cannot name */
    s->message.decision = asked->decision ? str_of(decision_name(asked->decision)) : STR("answered");
    s->message.actor = arena_str(&s->arena, (struct str){asked->actor, asked->actor_bytes});
    s->message.title = STR("Nod: answered");
    s->message.body = arena_printf(&s->arena, "%.*s by %.*s", STR_ARG(decision_words(s->message.decision)),
                                   STR_ARG(s->message.actor));
}

static void describe_alert(struct send_job *s, const struct asked *asked)
{
    s->message.title = str_cut(arena_str(&s->arena, asked->alert), '\n', &s->message.body);
    if (s->message.base.n)
        s->message.url = arena_printf(&s->arena, "%.*s/#/settings", STR_ARG(s->message.base));
}

/* False: the call does not wait any more, and there is nothing to send. */
bool say_fill(struct notify *n, struct send_job *s)
{
    const struct delivery *delivery = s->batch[0];
    const char *url = n->options.public_url;
    s->message = (struct message){.purpose = delivery->purpose, .delivery = arena_str(&s->arena, str_of(delivery->id)),
                                  .person = n->config.routes[delivery->route].person,
                                  .session = arena_str(&s->arena, delivery->asked->session),
                                  .call = arena_str(&s->arena, delivery->asked->call),
                                  .base = url ? str_of(url) : STR_NONE, .count = (unsigned)s->count,
                                  .waiting = gate_figures(n->options.gate).pending,
                                  .at_ms = clock_wall_ms()};
    s->message.url = s->count > 1 ? s->message.base
                                  : words_link(&s->arena, s->message.base, s->message.session, s->message.call);
    if (delivery->purpose == PURPOSE_ALERT) {
        describe_alert(s, delivery->asked);
        return true;
    }
    if (!purpose_asks(delivery->purpose)) {
        describe_withdrawal(s, delivery->asked);
        return true;
    }
    if (!describe(n, s, delivery))
        return false;
    if (s->count > 1) {
        s->message.title = arena_printf(&s->arena, "Nod: %zu requests need an answer", s->count);
        s->message.body = STR("Open Nod to see them.");
    }
    return true;
}

/* ---- answers ---- */

/* A token is bound to the call's digest and the person: it dies when the call changes or is answered. */
struct rc notify_read_token(struct notify *n, struct str token, struct notify_answer *ret_answer, struct err *err)
{
    ARENA_SCOPE(scratch);
    struct answer_claims claims;
    const struct json *pending;
    if (!token_read_claims(token, &claims))
        return err_set(err, ERR_FORBIDDEN, "this answer is not one that Nod has sent");
    const struct delivery *delivery = map_get(&n->ids, (struct str){claims.delivery, 16});
    if (!delivery)
        return err_set(err, ERR_GONE, "this request does not wait any more");
    struct asked *asked = delivery->asked;
    struct str json = asked->answered ? STR_NONE : waiting_json(n, &scratch, asked);
    if (json.n && rc_ok(json_parse(&scratch, json, &pending, NULL)))
        note_digest(asked, pending); /* an answer is for the call as it is now */
    struct str person = n->config.routes[delivery->route].person;
    if (!token_right(&n->key, token, bound_to(&scratch, str_of(asked->digest), person)))
        return err_set(err, ERR_FORBIDDEN, "this answer is not one that Nod has sent for this request");
    if (clock_wall_ms() / 1000 > claims.until_s)
        return err_set(err, ERR_GONE, "this answer is too old: open Nod to answer");
    *ret_answer = (struct notify_answer){.session = asked->session, .call = asked->call, .person = person,
                                         .allow = claims.allow, .answered = asked->answered};
    return RC_OK;
}
