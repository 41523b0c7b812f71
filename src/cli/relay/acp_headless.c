/* nod acp -p: the client's side of one prompt, without an editor. Its files and terminals are served from the
 * session's folder; an agent in a box has its own, and asks. */
#include "cli/relay/acp.h"

#include "base/limits.h"
#include "cli/text.h"

#include <stdio.h>

/* Sends a request of our own and waits for its answer. */
static struct rc request(struct acp *acp, const struct buf *line, const char *id, struct arena *arena,
                         const struct json **ret_result, struct err *err)
{
    const struct json *answer = NULL;
    bool mine;
    acp_from_editor(acp, str_sub(buf_str(line), 0, line->n - 1));
    (void)pthread_mutex_lock(&acp->lock);
    for (;;) { /* an agent that ends with its answer has answered */
        struct str text = arena_str(arena, acp->reply);
        mine = text.n && rc_ok(json_parse(arena, text, &answer, NULL)) && str_is(json_text(answer, "id"), id);
        if (mine || acp->ending)
            break;
        (void)pthread_cond_wait(&acp->moved, &acp->lock);
    }
    acp->reply = STR_NONE;
    (void)pthread_mutex_unlock(&acp->lock);
    if (!mine)
        return err_set(err, ERR_UNAVAILABLE, "the agent has ended");
    *ret_result = json_get(answer, "result");
    const struct json *error = json_get(answer, "error");
    if (!*ret_result)
        return err_set(err, ERR_INVALID, "the agent refuses: %.*s", STR_ARG(json_text(error, "message")));
    return RC_OK;
}

/* Prints the model's text without control sequences, which it may contain. */
void acp_show(struct acp *acp, const struct json *update)
{
    BUF_SCOPE(safe, TEXT_BYTES_MAX);
    (void)acp;
    if (!str_is(json_text(update, "sessionUpdate"), "agent_message_chunk"))
        return;
    text_block(&safe, json_text(json_get(update, "content"), "text"), 0);
    cli_out(buf_str(&safe));
    (void)fflush(stdout);
}

static struct rc begin(struct acp *acp, const char *auth, struct arena *arena, struct str *ret_session, struct err *err)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    const struct json *result;
    acp_initialize(&line, !acp->box);
    TRY(request(acp, &line, "nod:init", arena, &result, err));
    if (auth) {
        buf_clear(&line);
        acp_authenticate(&line, str_of(auth));
        TRY(request(acp, &line, "nod:auth", arena, &result, err));
    }
    buf_clear(&line);
    acp_new_session(&line, acp->cwd);
    TRY(request(acp, &line, "nod:new", arena, &result, err));
    *ret_session = json_text(result, "sessionId");
    return str_empty(*ret_session) ? err_set(err, ERR_INVALID, "the agent begins no session") : RC_OK;
}

/* The words of a denial go to the agent as a prompt of their own, a few times at most. */
struct rc acp_run_prompt(struct acp *acp, struct str prompt, const char *auth, struct err *err)
{
    enum { TURNS_MAX = 8 };
    ARENA_SCOPE(arena);
    struct str session_id, text = prompt;
    const struct json *result;
    TRY(begin(acp, auth, &arena, &session_id, err));
    for (int turn = 0; turn < TURNS_MAX && !str_empty(text); turn++) {
        BUF_SCOPE(line, ACP_LINE_BYTES);
        acp_prompt(&line, session_id, text);
        TRY(request(acp, &line, "nod:prompt", &arena, &result, err));
        cli_out(STR("\n"));
        bool ended = !str_is(json_text(result, "stopReason"), "end_turn");
        (void)pthread_mutex_lock(&acp->lock);
        struct acp_session *session = acp_session(acp, session_id, STR_NONE);
        text = session && !ended ? arena_str(&arena, buf_str(&session->words)) : STR_NONE;
        if (session)
            buf_clear(&session->words);
        (void)pthread_mutex_unlock(&acp->lock);
    }
    return RC_OK;
}
