/* Sessions and their threads. */
#include "api/cursor.h"

#include "base/id.h"
#include "event/shapes.h"
#include "policy/policy.h"

enum { THREAD_NAME_BYTES = 64 };

/* Settings of a session as a person or agent sends them; absent members stay untouched. */
struct session_settings {
    struct str title, cwd, mode;
    const struct json *policies;
    int64_t timeout_seconds; /* -1: not said */
    bool loosens;
    bool lifts;    /* for an existing session: removes a tool's policy, or opens another folder */
    bool proposed; /* an agent names a folder that it was not given */
};

/* null takes a tool's policy away; "allow" loosens. */
static struct rc check_policies(const struct json *policies, bool *ret_loosens, struct err *err)
{
    enum effect effect;
    if (policies->count > LIMIT_TOOL_POLICIES)
        return err_set(err, ERR_INVALID, "\"toolPolicies\" has more than %d tools", LIMIT_TOOL_POLICIES);
    for (const struct json *p = policies->first; p; p = p->next) {
        if (p->type == JSON_NULL)
            continue;
        if (p->key.n == 0 || p->key.n > LIMIT_NAME_BYTES)
            return err_set(err, ERR_INVALID, "\"toolPolicies\" has a tool name that is empty or too long");
        if (p->type != JSON_STRING || !effect_parse(p->text, &effect))
            return err_set(err, ERR_INVALID, "\"toolPolicies\": each must be \"allow\", \"deny\" or \"ask\"");
        *ret_loosens = *ret_loosens || effect == EFFECT_ALLOW;
    }
    return RC_OK;
}

/* loosens: the change lets more pass than before, which agents may not do and people may have to sign. */
static struct rc read_settings(const struct json *body, struct session_settings *ret_settings, struct err *err)
{
    struct session_settings s = {.timeout_seconds = -1};
    enum permission_mode mode = MODE_DEFAULT;
    TRY(json_want_str(body, "title", LIMIT_TITLE_BYTES, &s.title, err));
    TRY(json_want_str(body, "cwd", LIMIT_PATH_BYTES, &s.cwd, err));
    TRY(json_want_str(body, "permissionMode", LIMIT_NAME_BYTES, &s.mode, err));
    TRY(json_want_i64(body, "approvalTimeoutSeconds", 0, LIMIT_TIMEOUT_SECONDS, &s.timeout_seconds, err));
    TRY(json_want_object(body, "toolPolicies", &s.policies, err));
    if (s.cwd.n && s.cwd.p[0] != '/')
        return err_set(err, ERR_INVALID, "\"cwd\" must be an absolute path");
    if (s.mode.p && !policy_mode_parse(s.mode, &mode))
        return err_set(err, ERR_INVALID,
                       "\"permissionMode\" must be default, acceptEdits, plan, read-only or "
                       "bypassPermissions");
    if (s.mode.p)
        s.mode = str_of(policy_mode_name(mode));
    s.loosens = mode == MODE_ACCEPT_EDITS || mode == MODE_BYPASS;
    if (s.policies)
        TRY(check_policies(s.policies, &s.loosens, err));
    for (const struct json *p = s.policies ? s.policies->first : NULL; p; p = p->next)
        s.lifts = s.lifts || p->type == JSON_NULL;
    s.lifts = s.lifts || !str_empty(s.cwd);
    *ret_settings = s;
    return RC_OK;
}

static struct str settings_data(struct arena *arena, const struct session_settings *s)
{
    return DATA(arena, session_settings, .title = s->title, .cwd = s->cwd, .mode = s->mode,
                .policies = s->policies ? s->policies->raw : STR_NONE, .timeout_seconds = s->timeout_seconds);
}

static struct data_session_created created_data(const struct session_settings *s, struct str owner)
{
    return (struct data_session_created){.title = s->title,
                                         .cwd = s->cwd,
                                         .cwd_proposed = s->proposed,
                                         .mode = s->mode,
                                         .policies = s->policies ? s->policies->raw : STR_NONE,
                                         .timeout_seconds = s->timeout_seconds,
                                         .owner = owner};
}

static void answer_session(struct exchange *x, const struct session *session)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    session_write(&out, session);
    exchange_answer(x, x->route->status, &buf);
}

/* A session that is made under an id that exists is answered as it is: the same request may be sent twice. */
static void session_changed(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct exchange *x = change->op.owner;
    bool known = gate_op_code(&change->op) == ERR_CONFLICT && !str_empty(change->new_id);
    if (change->op.err && !known)
        exchange_fail(x, change->op.err);
    else
        exchange_with_session(x, change->id, answer_session);
}

static struct session_change *new_change(struct exchange *x)
{
    struct session_change *change = arena_new(x->arena, struct session_change);
    *change = (struct session_change){.op = gate_op(x->arena, session_changed, x), .actor = x->actor};
    return change;
}

/* "ses_" and 26 hexadecimal digits of what makes it this session and no other. */
struct str sessions_id_of(struct exchange *x, struct str agent, struct str theirs)
{
    char hex[DIGEST_HEX_BYTES];
    const struct str pieces[] = {x->token_id, agent, theirs};
    struct digest digest = digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
    digest_hex(&digest, hex);
    return arena_printf(x->arena, "ses_%.26s", hex);
}

/* An agent that brings its own session's id gets the same session for it every time. */
static struct rc read_new_id(struct exchange *x, struct str *ret_id, struct err *err)
{
    struct str agent = STR_NONE, theirs = STR_NONE;
    TRY(json_want_str(x->body, "agent", LIMIT_NAME_BYTES, &agent, err));
    TRY(json_want_str(x->body, "agentSession", LIMIT_ID_BYTES, &theirs, err));
    if (!str_empty(theirs))
        *ret_id = sessions_id_of(x, agent, theirs);
    return RC_OK;
}

/* A folder that the token's owner has not opened is only proposed. */
void api_sessions_create(struct exchange *x)
{
    struct str new_id = STR_NONE;
    struct session_settings settings;
    struct err err;
    struct str signature = STR_NONE;
    EXCHANGE_TRY(x, read_settings(x->body, &settings, &err));
    EXCHANGE_TRY(x, read_new_id(x, &new_id, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, settings.loosens, &signature, &err));
    EXCHANGE_REFUSE(x, !(x->token->scopes & SCOPE_SETTINGS) && settings.loosens, ERR_FORBIDDEN,
                    "an agent may tighten a session's policy, not loosen it");
    if (settings.timeout_seconds < 0)
        settings.timeout_seconds = x->api->timeout_seconds;
    settings.proposed = !auth_gives_folder(x, settings.cwd);
    struct data_session_created created = created_data(&settings, x->token_id);
    struct session_change *change = new_change(x);
    change->new_id = new_id;
    change->created = &created;
    gate_change_session(x->gate, change);
}

void api_sessions_show(struct exchange *x) { exchange_with_session(x, x->params[0], answer_session); }

/* A signature is needed for a mode or tool policy that allows more, for one that is removed, and for another folder.
 */
static void change_found(struct exchange *x, const struct session *session)
{
    struct session_settings settings;
    struct str signature = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, read_settings(x->body, &settings, &err));
    EXCHANGE_TRY(x, exchange_check_signed(x, settings.loosens || settings.lifts, &signature, &err));
    struct session_change *change = new_change(x);
    change->id = arena_str(x->arena, session->id);
    change->data = settings_data(x->arena, &settings);
    gate_change_session(x->gate, change);
}

void api_sessions_change(struct exchange *x) { exchange_with_session(x, x->params[0], change_found); }

/* ---- the list ---- */

/* The events of one session stand together in this read; a session is built from them and freed before the next. */
static void write_sessions(struct exchange *x, struct json_out *out, const struct read *read)
{
    size_t i = 0;
    while (i < read->event_count) {
        struct str id = read->events[i].session;
        struct session *session = session_new(id);
        while (i < read->event_count && str_eq(read->events[i].session, id))
            session_apply(session, &read->events[i++]);
        if (token_may_see(x->token, session))
            session_write(out, session);
        session_free(session);
    }
}

static void sessions_read(struct read *read)
{
    struct exchange *x = read->arg;
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    if (read->err.code != ERR_OK) {
        exchange_fail(x, &read->err);
        read_free(read);
        return;
    }
    json_open(&out, '{');
    json_open_member(&out, "sessions", '[');
    write_sessions(x, &out, read);
    json_close(&out, ']');
    if (read->covered)
        cursor_write(&out, read->covered);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
    read_free(read);
}

void api_sessions_list(struct exchange *x)
{
    struct err err;
    uint64_t limit = 100, before = 0;
    EXCHANGE_TRY(x, api_query_u64(x, "limit", LIMIT_PAGE_EVENTS, &limit, &err));
    EXCHANGE_TRY(x, cursor_query(x, "before", &before, &err));
    struct read *read = read_new(READ_SESSIONS);
    read->limit = (unsigned)limit;
    read->before = before;
    gate_read(x->gate, read, sessions_read, x);
}

/* ---- threads ---- */

static void answer_thread(struct exchange *x, const struct session *session)
{
    const struct session_change *change = x->state;
    const struct session_thread *thread = session_thread_find(session, change->thread);
    CHECK(thread);
    exchange_object(x, 201, J("sessionId", session->id), J_ALWAYS("threadId", thread->id), J("id", thread->id),
                    J_OR_NULL("parentId", thread->parent), J("title", thread->title),
                    J_TIME("createdAt", thread->at_ms));
}

static void thread_added(struct op *op)
{
    struct session_change *change = (struct session_change *)op;
    struct exchange *x = change->op.owner;
    exchange_with_session(x, change->id, answer_thread);
}

/* The part of the thread's id behind the dot, for whoever brings one: the same again is the same thread. */
static struct rc read_thread_name(const struct json *body, struct str *ret_name, struct err *err)
{
    TRY(json_want_str(body, "name", THREAD_NAME_BYTES, ret_name, err));
    for (size_t i = 0; i < ret_name->n; i++) {
        char c = ret_name->p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return err_set(err, ERR_INVALID, "\"name\" of a thread is letters, digits, _ and -");
    }
    return RC_OK;
}

/* A thread with the name exists already: it is answered as it is, so that a client may ask for the same thread twice.
 */
static void thread_session_found(struct exchange *x, const struct session *session)
{
    struct str title = STR_NONE, parent = STR_NONE, name = STR_NONE;
    struct err err;
    EXCHANGE_TRY(x, json_want_str(x->body, "title", LIMIT_TITLE_BYTES, &title, &err));
    EXCHANGE_TRY(x, json_want_str(x->body, "parentId", LIMIT_ID_BYTES, &parent, &err));
    EXCHANGE_TRY(x, read_thread_name(x->body, &name, &err));
    EXCHANGE_REFUSE(x, !str_empty(parent) && !session_thread_find(session, parent), ERR_NOT_FOUND,
                    "there is no such parent thread in this session");
    struct session_change *change = arena_new(x->arena, struct session_change);
    x->state = change;
    change->op = exchange_op(x, thread_added);
    change->id = arena_str(x->arena, session->id);
    struct id made = id_short();
    name = str_empty(name) ? str_of(made.text) : name;
    change->thread = arena_printf(x->arena, "%.*s.%.*s", STR_ARG(session->id), STR_ARG(name));
    if (session_thread_find(session, change->thread)) {
        answer_thread(x, session);
        return;
    }
    struct data_thread thread = {.id = change->thread, .parent = parent, .title = title};
    change->data = DATA(x->arena, session_thread, .thread = &thread);
    change->actor = x->actor;
    gate_change_session(x->gate, change);
}

void api_threads_create(struct exchange *x) { exchange_with_session(x, x->params[0], thread_session_found); }

static void write_threads(struct exchange *x, const struct session *session)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    json_open(&out, '{');
    JSON_LIST(&out, "threads")
        for (const struct session_thread *t = session->threads; t; t = t->next)
            session_thread_write(&out, t);
    json_close(&out, '}');
    exchange_answer(x, 200, &buf);
}

void api_threads_list(struct exchange *x) { exchange_with_session(x, x->params[0], write_threads); }
