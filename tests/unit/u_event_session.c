/* A session and a token are the sum of their events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/session.h"
#include "event/token.h"

static void apply(struct session *session, uint64_t seq, const char *data)
{
    struct event event = {.seq = seq, .kind = EVENT_SESSION_CHANGED, .at_ms = (int64_t)seq, .data = str_of(data)};
    session_apply(session, &event);
}

static struct session *created(void)
{
    struct session *session = session_new(STR("ses_1"));
    apply(session, 5, "{\"change\":\"created\",\"threadId\":\"ses_1.main\",\"title\":\"t\",\"cwd\":\"/w\","
                      "\"toolPolicies\":{\"Bash\":\"deny\"},\"approvalTimeoutSeconds\":7,\"owner\":\"tok_1\"}");
    return session;
}

static struct str effect(const struct session *session, const char *tool)
{
    for (size_t i = 0; i < session->tool_count; i++)
        if (str_is(session->tools[i].tool, tool))
            return session->tools[i].effect;
    return STR("none");
}

static void creation_sets_everything(void **state)
{
    (void)state;
    struct session *session = created();
    assert_true(str_is(session->title, "t") && str_is(session->cwd, "/w") && str_is(session->mode, "default"));
    assert_true(str_is(session->owner, "tok_1") && str_is(session->main_thread, "ses_1.main"));
    assert_int_equal(session->timeout_seconds, 7);
    assert_int_equal(session->changed_seq, 5);
    assert_true(str_is(effect(session, "Bash"), "deny"));
    assert_non_null(session_thread_find(session, STR("ses_1.main")));
    session_free(session);
}

static void settings_are_merged(void **state)
{
    (void)state;
    struct session *session = created();
    apply(session, 6, "{\"change\":\"settings\",\"toolPolicies\":{\"Bash\":\"allow\",\"Write\":\"ask\"},"
                      "\"permissionMode\":\"plan\"}");
    assert_true(str_is(effect(session, "Bash"), "allow") && str_is(effect(session, "Write"), "ask"));
    assert_true(str_is(session->mode, "plan") && str_is(session->title, "t"));
    apply(session, 7, "{\"change\":\"settings\",\"toolPolicies\":{\"Bash\":null},\"title\":\"\"}");
    assert_true(str_is(effect(session, "Bash"), "none") && str_is(effect(session, "Write"), "ask"));
    assert_true(str_empty(session->title));
    session_free(session);
}

static void an_event_counts_once(void **state)
{
    (void)state;
    struct session *session = created();
    apply(session, 6, "{\"change\":\"settings\",\"title\":\"new\"}");
    apply(session, 5, "{\"change\":\"settings\",\"title\":\"old\"}");
    apply(session, 6, "{\"change\":\"settings\",\"title\":\"again\"}");
    assert_true(str_is(session->title, "new"));
    session_free(session);
}

static void threads_have_parents(void **state)
{
    (void)state;
    struct session *session = created();
    apply(session, 6, "{\"change\":\"thread\",\"thread\":{\"id\":\"ses_1.x\",\"parentId\":\"ses_1.main\"}}");
    const struct session_thread *thread = session_thread_find(session, STR("ses_1.x"));
    assert_non_null(thread);
    assert_true(str_is(thread->parent, "ses_1.main"));
    assert_true(str_is(session_of_thread(thread->id), "ses_1"));
    assert_true(str_empty(session_of_thread(STR("nodot"))));
    session_free(session);
}

static void tokens_come_and_go(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct token token;
    struct event made = {.kind = EVENT_TOKEN_CHANGED, .at_ms = 3,
                         .data = STR("{\"change\":\"created\",\"id\":\"tok_1\",\"name\":\"n\",\"role\":\"agent\","
                                     "\"sessionId\":\"ses_1\",\"hash\":\"h\"}")};
    struct event gone = {.kind = EVENT_TOKEN_CHANGED, .data = STR("{\"change\":\"revoked\",\"id\":\"tok_1\"}")};
    assert_true(token_created(&arena, &made, &token));
    assert_int_equal(token.role, ROLE_AGENT);
    assert_true(str_is(token.session, "ses_1") && str_is(token.hash, "h"));
    assert_false(token_created(&arena, &gone, &token));
    assert_true(str_is(token_revoked(&arena, &gone), "tok_1"));
    assert_true(str_empty(token_revoked(&arena, &made)));
    made.data = STR("{\"change\":\"created\",\"id\":\"tok_1\",\"role\":\"king\"}");
    assert_false(token_created(&arena, &made, &token));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_sets_everything), cmocka_unit_test(settings_are_merged),
        cmocka_unit_test(an_event_counts_once),     cmocka_unit_test(threads_have_parents),
        cmocka_unit_test(tokens_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
