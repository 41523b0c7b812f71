/* Answers that come back: over the API with a token, or as presses that a channel asks its service for. */
#include "notify/outbox.h"

#include "base/log.h"
#include "io/loop.h"

/* ---- an answer ---- */

static void finish(struct notify_taking *taking, const struct err *err)
{
    taking->op.err = err;
    taking->notify->answers_taken += !err;
    taking->notify->answers_refused += err != NULL;
    gate_op_tell(&taking->op);
}

static void decided(struct op *op)
{
    struct notify_taking *taking = ((struct decide *)op)->op.owner;
    struct decide *decide = &taking->decide;
    bool again = gate_op_code(op) == ERR_ALREADY_DECIDED && decide->call.decision == decide->decision;
    finish(taking, again ? NULL : op->err);
}

/* An answer with a token from a message: the person behind it must still be able to decide. */
void notify_take(struct notify *n, struct notify_taking *taking)
{
    struct notify_answer answer;
    const struct token *person;
    struct decide *decide = &taking->decide;
    struct arena *arena = taking->op.arena;
    struct err err;
    taking->notify = n;
    if (rc_bad(notify_find_person(n, taking->token, &answer, &person, &err))) {
        gate_op_take(&taking->op, &err);
        finish(taking, taking->op.err);
        return;
    }
    *decide = (struct decide){.op = gate_op(arena, decided, taking),
                              .session = arena_str(arena, answer.session),
                              .call_id = arena_str(arena, answer.call),
                              .actor = arena_str(arena, answer.person),
                              .by = arena_str(arena, person->id),
                              .feedback = taking->feedback,
                              .decision = answer.allow ? DECISION_ALLOW_ONCE : DECISION_DENY};
    gate_decide(n->options.gate, decide);
}

struct rc notify_find_person(struct notify *n, struct str token, struct notify_answer *ret_answer,
                             const struct token **ret_person, struct err *err)
{
    TRY(notify_read_token(n, token, ret_answer, err));
    *ret_person = n->options.find_person(n->options.gate, ret_answer->person, ret_answer->session);
    if (!*ret_person)
        return err_set(err, ERR_GONE, "%.*s may not answer any more", STR_ARG(ret_answer->person));
    return RC_OK;
}

/* ---- presses ---- */

struct rc notify_read_press(const struct notify *n, struct arena *arena, const struct notify_press *press,
                            struct str *ret_token, struct err *err)
{
    for (unsigned i = 0; i < n->config.channel_count; i++) {
        const struct channel *channel = &n->config.channels[i];
        if (str_eq(channel->name, press->channel) && channel->kind->read_press)
            return channel->kind->read_press(arena, channel, press, ret_token, err);
    }
    return err_set(err, ERR_NOT_FOUND, "there is no such channel, or it takes no button presses");
}

enum { WAIT_MS = 5000, WAIT_LONG_MS = 45000 };

/* The polling of one channel: one job at a time, again and again while the server runs. */
struct poller {
    struct job job;
    struct notify *notify;
    struct channel *channel;
    struct polling polling;
    struct arena arena;
    struct timer *timer;
    struct err err;
    bool ok;
};

struct press {
    struct loop_call loop_call;
    struct poller *poller;
    struct notify_taking taking;
};

static void press_taken(struct op *op)
{
    struct press *press = op->owner;
    loop_call_finish(&press->loop_call);
}

static void take_press(struct loop_call *loop_call)
{
    struct press *press = loop_call->arg;
    notify_take(press->poller->notify, &press->taking);
}

/* In the poller's thread; waits for the loop. The words go back to the person's phone. */
struct str polling_answer(struct polling *polling, struct str token)
{
    struct poller *poller = polling->arg;
    struct press press = {.poller = poller,
                          .taking = {.op = gate_op(&poller->arena, press_taken, &press), .token = token},
                          .loop_call = {.start = take_press, .arg = &press}};
    work_call_loop(poller->notify->pollers, &press.loop_call);
    if (gate_op_code(&press.taking.op) == ERR_MORE_PEOPLE)
        return arena_str(&poller->arena, str_of(press.taking.op.err->text));
    if (!press.taking.op.err)
        return press.taking.decide.decision == DECISION_DENY ? STR("Denied.") : STR("Allowed once.");
    log_line(LOG_WARN, "an answer from a notification was refused", LOG_S("channel", poller->channel->name),
             LOG_C("why", press.taking.op.err->text));
    return gate_op_code(&press.taking.op) == ERR_ALREADY_DECIDED ? STR("Somebody else has answered.")
                                                           : STR("This answer is not valid any more. Open Nod.");
}

/* One poll in a thread: asks the service once, with its own connection. */
static void run(struct job *job)
{
    struct poller *poller = job->arg;
    struct polling *polling = &poller->polling;
    polling->sending = (struct sending){.arena = &poller->arena, .channel = poller->channel, .retry_after_ms = -1,
                                        .line = fetch_line_new()};
    poller->err = (struct err){0};
    poller->ok = rc_ok(poller->channel->kind->poll(polling, &poller->err));
    if (!poller->ok) {
        dial_close(polling->dial);
        polling->dial = NULL;
    }
    fetch_line_free(polling->sending.line);
}

static void go_on(void *arg)
{
    struct poller *poller = arg;
    work_submit(poller->notify->pollers, &poller->job);
}

/* On the loop, after each poll. The arena of a poll is given back before the next one begins. */
static void done(struct job *job)
{
    struct poller *poller = job->arg;
    struct notify *n = poller->notify;
    arena_done(&poller->arena);
    poller->arena = (struct arena){0};
    if (n->closing)
        return;
    poller->channel->last_poll = poller->err;
    if (poller->ok) {
        go_on(poller);
        return;
    }
    /* 409: another process polls the same bot; wait longer. */
    int64_t wait_ms = poller->polling.sending.status == 409 ? WAIT_LONG_MS : poller->polling.sending.retry_after_ms;
    timer_start(poller->timer, wait_ms > WAIT_MS ? wait_ms : WAIT_MS);
}

/* One poller for each channel that is asked for presses; each has one job under way or a timer, never both. */
void answer_poll_channels(struct notify *n)
{
    for (unsigned i = 0; i < n->config.channel_count; i++) {
        struct channel *channel = &n->config.channels[i];
        if (!channel->kind->poll || (channel->kind->polls_with_app && !channel->app.n))
            continue;
        struct poller *poller = arena_new(&n->arena, struct poller);
        *poller = (struct poller){.notify = n, .channel = channel, .polling = {.arg = poller},
                                  .job = {.run = run, .done = done, .arg = poller}};
        poller->timer = timer_new(n->options.loop, go_on, poller);
        channel->poll_timer = poller->timer;
        go_on(poller);
    }
}
