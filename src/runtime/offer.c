/* The tools for the model: our own, and those of MCP servers whose definitions are pinned (gate/definitions.c).
 *
 * Before each question to the model the servers are asked for their tools. A definition that is seen for the
 * first time is kept as an event; a changed one is asked about, and the run goes on without that tool until a
 * person has agreed.
 */
#include "runtime/inner.h"

enum { ROUNDS_MAX = 64, AGAIN_MAX = 8 };

static bool withdrawn(const struct ask *ask)
{
    return !ask->op.err &&
           (ask->call->decision == DECISION_CANCELLED || ask->call->decision == DECISION_TIMEOUT);
}

/* Equal questions have the same call id in the whole session; a question that was withdrawn is asked again. */
static struct rc ask_person(struct worker *w, const struct ask *question, struct err *err)
{
    struct ask ask = *question;
    for (int again = 0; again < AGAIN_MAX; again++) {
        ask = *question;
        if (again)
            ask.id = arena_printf(ask.op.arena, "%.*s.%d", STR_ARG(question->id), again + 1);
        worker_ask(w, &ask, 1);
        if (!withdrawn(&ask))
            break;
    }
    if (!ask.op.err)
        return RC_OK;
    *err = *ask.op.err;
    return (struct rc){err->code};
}

/* *ret_more: something was pinned, so that the list may be complete only in the next round. */
static struct rc look(struct worker *w, struct arena *arena, bool *ret_more, struct err *err)
{
    struct gate_news news;
    const struct ask like = {.op = {.arena = arena}, .session = w->run->session, .thread = w->run->thread,
                             .cwd = w->root, .actor = w->actor};
    gate_tool_news(w->runtime->gate, &like, &w->job->cancelled, &news);
    *ret_more = news.pins != NULL;
    if (news.pins)
        TRY(worker_append(w, news.pins, err));
    for (size_t i = 0; i < news.ask_count && !*ret_more; i++)
        TRY(ask_person(w, &news.asks[i], err));
    return RC_OK;
}

/* In the run's thread; may wait for servers. *ret_tools is JSON in the worker's arena. */
struct rc offer_tools(struct worker *w, struct str *ret_tools, struct err *err)
{
    bool more = gate_has_servers(w->runtime->gate);
    *ret_tools = w->runtime->tools;
    if (!more)
        return RC_OK;
    for (int round = 0; more && round < ROUNDS_MAX && !worker_cancelled(w); round++) {
        ARENA_SCOPE(arena);
        TRY(look(w, &arena, &more, err));
    }
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    gate_tool_definitions(w->runtime->gate, w->root, &out);
    *ret_tools = arena_str(&w->arena, buf_str(&buf));
    return RC_OK;
}
