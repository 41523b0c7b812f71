/* The state of an agent's conversations in a relay. */
#include "cli/relay/acp.h"

#include "base/limits.h"
#include "cli/local.h"

#include <stdlib.h>

/* With the lock held. Sessions are never freed: threads that wait point to them. Their number is limited instead. */
struct acp_session *acp_session(struct acp *acp, struct str id, struct str cwd)
{
    for (struct acp_session *s = acp->sessions; s; s = s->next)
        if (str_eq(s->id, id))
            return s;
    if (str_empty(id) || id.n > LIMIT_ID_BYTES || acp->session_count == ACP_SESSIONS_MAX)
        return NULL;
    struct acp_session *session = heap_new(sizeof *session);
    session->id = arena_str(&session->arena, id);
    session->said = buf_init(ACP_SAID_BYTES_MAX);
    session->words = buf_init(LIMIT_FEEDBACK_BYTES);
    relay_gate_init(&session->gate, acp->cli, &acp->record);
    session->gate.cwd = arena_str(&session->arena, str_empty(cwd) ? acp->cwd : cwd);
    session->gate.title = arena_printf(&session->arena, "%s in %.*s", acp->agent->name,
                                       STR_ARG(local_title(session->gate.cwd)));
    session->gate.agent = acp->name;
    session->gate.agent_session = session->id;
    session->next = acp->sessions;
    acp->sessions = session;
    acp->session_count++;
    return session;
}

/* Frees the oldest tool call when there are too many. */
static void forget_last(struct acp_session *session)
{
    struct acp_known **link = &session->first;
    while ((*link)->next)
        link = &(*link)->next;
    arena_done(&(*link)->arena);
    free(*link);
    *link = NULL;
    session->known_count--;
}

/* With the lock held. The oldest is forgotten when there are many; its result is then not recorded. */
struct acp_known *acp_known(struct acp_session *session, struct str tool)
{
    for (struct acp_known *known = session->first; known; known = known->next)
        if (str_eq(known->id, tool))
            return known;
    struct acp_known *known = heap_new(sizeof *known);
    known->id = arena_str(&known->arena, tool);
    known->next = session->first;
    session->first = known;
    if (++session->known_count > ACP_TOOLS_MAX)
        forget_last(session);
    return known;
}

/* ---- what an allow covers ---- */

static struct digest digest_of_cover(struct str what, struct str text)
{
    const struct str pieces[] = {what, text};
    return digest_of_pieces(pieces, 2);
}

void acp_cover(struct acp_session *session, struct str what, struct str text)
{
    session->covers[session->cover_next++ % ACP_COVERS_MAX] = (struct acp_cover){digest_of_cover(what, text), true};
}

/* Used up by the first match: one permission covers one act. */
bool acp_covered(struct acp_session *session, struct str what, struct str text)
{
    struct digest digest = digest_of_cover(what, text);
    for (size_t i = 0; i < ACP_COVERS_MAX; i++) {
        struct acp_cover *cover = &session->covers[i];
        if (!cover->open || !digest_eq(&cover->what, &digest))
            continue;
        cover->open = false;
        return true;
    }
    return false;
}
