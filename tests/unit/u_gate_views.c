/* What the gate holds in memory follows from events: open calls, tokens, rules, sessions. The same events make the same
 * views after every start. */
#include "u_gate_views.h"

/* ---- open calls ---- */

static struct event of_call(enum event_kind kind, uint64_t seq, const char *call, const char *data)
{
    return (struct event){.seq = seq, .kind = kind, .at_ms = 1000, .session = STR("ses_1"), .thread = STR("ses_1.main"),
                          .call = str_of(call), .actor = STR("agent"), .data = str_of(data)};
}

#define REQUEST "{\"toolCallId\":\"c\",\"tool\":\"Bash\",\"reason\":{},\"digest\":\"d\""
#define CALL "{\"id\":\"c\",\"name\":\"Bash\",\"input\":{},\"verdict\":{\"effect\":\"ask\"}}"

static void tell(struct event event) { open_follow(&gate, &event, NULL); }

static void request(const char *call, uint64_t seq, const char *data)
{
    struct event asked = of_call(EVENT_TOOL_CALL, seq - 1, call, CALL);
    struct event event = of_call(EVENT_TOOL_APPROVAL_REQUEST, seq, call, data);
    open_follow(&gate, &event, &asked);
}

static struct open *open_of(const char *call) { return open_find(&gate, STR("ses_1"), str_of(call)); }

static void a_call_is_open_from_its_request_to_its_response(void **state)
{
    ARENA_SCOPE(arena);
    static const char denied[] = "{\"toolCallId\":\"c\",\"decision\":\"deny\"}";
    struct call call;
    (void)state;
    request("c", 2, REQUEST ",\"deadline\":\"1970-01-01T00:00:09Z\",\"people\":2,"
                    "\"callback\":\"http://x\",\"routine\":true}");
    const struct open *open = open_of("c");
    assert_true(str_is(open->session, "ses_1") && str_is(open->thread, "ses_1.main") && str_is(open->actor, "agent"));
    assert_true(str_is(open->name, "Bash") && str_is(open->digest, "d") && str_is(open->callback, "http://x"));
    assert_true(str_is(open->call_data, CALL) && open->routine);
    assert_true(open->seq == 2 && open->requested_ms == 1000 && open->deadline_ms == 9000 && open->people == 2);
    assert_null(core_due_first(&gate.core, 8999));
    assert_ptr_equal(core_due_first(&gate.core, 9000), open);
    request("c", 5, REQUEST "}"); /* told twice: the first counts */
    assert_int_equal(open_of("c")->seq, 2);
    tell(of_call(EVENT_TOOL_APPROVAL_RESPONSE, 3, "d", denied)); /* of another call */
    assert_non_null(open_of("c"));
    tell(of_call(EVENT_TOOL_APPROVAL_RESPONSE, 3, "c", denied));
    assert_null(open_of("c"));
    assert_int_equal(gate.core.due.count, 0);
    assert_true(recent_find(&gate.core.recent, &arena, STR("ses_1"), STR("c"), &call)); /* for whoever waits for it */
    assert_int_equal(call.status, CALL_DENIED);
    tell(of_call(EVENT_TOOL_APPROVAL_RESPONSE, 3, "c", denied)); /* nothing is open: nothing happens */
}

/* Lists show a brief of it; its data is read from the store when it is looked at. */
static void the_data_of_a_large_call_is_not_held(void **state)
{
    ARENA_SCOPE(arena);
    char *large = arena_bytes(&arena, 10001);
    (void)state;
    memset(large, 'x', 10000);
    struct event asked = of_call(EVENT_TOOL_CALL, 1, "c", NULL);
    struct event event = of_call(EVENT_TOOL_APPROVAL_REQUEST, 2, "c", REQUEST "}");
    asked.data = arena_printf(&arena, "{\"id\":\"c\",\"name\":\"Bash\",\"input\":{\"command\":\"%.10000s\"}}", large);
    open_follow(&gate, &event, &asked);
    assert_true(str_empty(open_of("c")->call_data) && str_empty(open_of("c")->request_data));
    assert_true(open_of("c")->brief.n > 0 && open_of("c")->brief.n < 5000);
    assert_true(str_is(open_of("c")->digest, "d"));
    assert_true(open_of("c")->size < 6000);
}

/* A node that comes late may never see the answers: they have left with their session. */
static void calls_leave_with_their_session(void **state)
{
    (void)state;
    request("c", 2, REQUEST ",\"deadline\":\"1970-01-01T00:00:09Z\"}");
    request("d", 4, REQUEST "}");
    struct event asked = of_call(EVENT_TOOL_CALL, 5, "c", CALL);
    struct event other = of_call(EVENT_TOOL_APPROVAL_REQUEST, 6, "c", REQUEST "}");
    asked.session = other.session = STR("ses_2");
    open_follow(&gate, &other, &asked);
    tell((struct event){.kind = EVENT_SESSION_ARCHIVED, .seq = 7, .session = STR("ses_1"), .data = STR("{}")});
    assert_true(!open_of("c") && !open_of("d"));
    assert_non_null(open_find(&gate, STR("ses_2"), STR("c")));
    assert_int_equal(gate.core.open.count, 1);
    assert_int_equal(gate.core.due.count, 0);
}

static void what_several_persons_said_ends_with_their_token(void **state)
{
    static const char partial[] = "{\"toolCallId\":\"c\",\"decision\":\"allow_once\",\"person\":\"p\",\"have\":1,"
                                  "\"need\":3,\"by\":\"tok_1\"}";
    static const char revoked[] = "{\"change\":\"revoked\",\"id\":\"tok_1\"}";
    (void)state;
    gate.read_partials = 10; /* up to here they were read at the start */
    request("c", 2, REQUEST ",\"people\":3}");
    tell(of_call(EVENT_TOOL_APPROVAL_PARTIAL, 10, NULL, partial));
    assert_null(open_of("c")->partials);
    tell(of_call(EVENT_TOOL_APPROVAL_PARTIAL, 11, NULL, partial));
    assert_non_null(open_of("c")->partials->first);
    tell((struct event){.kind = EVENT_TOKEN_CHANGED, .seq = 12, .data = str_of(revoked)});
    assert_null(open_of("c")->partials->first);
}

static void people_are_told_once_that_nobody_answers(void **state)
{
    (void)state;
    gate.core.alert_ms = 500;
    request("c", 2, REQUEST "}");
    assert_ptr_equal(core_due_first(&gate.core, 1500), open_of("c"));
    tell(of_call(EVENT_TOOL_APPROVAL_ALERT, 3, "c", "{\"toolCallId\":\"c\"}")); /* by another node */
    assert_null(core_due_first(&gate.core, INT64_MAX));
    tell(of_call(EVENT_TOOL_APPROVAL_ALERT, 4, "none", "{\"toolCallId\":\"none\"}"));
}

/* ---- tokens ---- */

static void of_token(const char *data)
{
    struct event event = {.kind = EVENT_TOKEN_CHANGED, .at_ms = 5, .data = str_of(data)};
    tokens_follow(&gate, &event);
}

#define TOKEN(id, name, role, hash) \
    "{\"change\":\"created\",\"id\":\"" id "\",\"name\":\"" name "\",\"role\":\"" role "\",\"hash\":\"" hash "\"}"

static void a_token_lets_in_until_it_is_revoked(void **state)
{
#define HASH_OF_X "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" /* SHA-256 */
    static const char x[] = TOKEN("tok_1", "a", "agent", HASH_OF_X);
    (void)state;
    of_token(x);
    assert_true(str_is(gate_token(&gate, STR("x"))->id, "tok_1"));
    assert_null(gate_token(&gate, STR("y")));
    of_token(TOKEN("tok_1", "another", "admin", "00")); /* an id is given once */
    assert_true(str_is(gate_token_by_id(&gate, STR("tok_1"))->name, "a"));
    of_token(TOKEN("tok_2", "b", "emperor", "00")); /* no such role */
    assert_null(gate_token_by_id(&gate, STR("tok_2")));
    of_token("{\"change\":\"revoked\",\"id\":\"tok_2\"}");
    of_token("{\"change\":\"of another version\",\"id\":\"tok_1\"}");
    assert_false(tokens_revoked(&gate, STR("tok_1")));
    of_token("{\"change\":\"revoked\",\"id\":\"tok_1\"}");
    assert_null(gate_token(&gate, STR("x")));
    assert_null(gate_token_by_id(&gate, STR("tok_1")));
    assert_true(tokens_revoked(&gate, STR("tok_1")));
    of_token(x); /* never again */
    assert_null(gate_token(&gate, STR("x")));
}

/* ---- rules ---- */

static void of_rule(const char *data)
{
    struct event event = {.kind = EVENT_RULE_CHANGED, .at_ms = 5, .actor = STR("alice"), .data = str_of(data)};
    uint64_t version = gate.rules.version;
    rules_follow(&gate, &event);
    assert_int_equal(gate.rules.version, version + 1); /* sets of sessions are made again */
}

static void rules_come_are_used_and_go(void **state)
{
    (void)state;
    of_rule("{\"change\":\"added\",\"rule\":{\"id\":\"r1\",\"rule\":\"Bash( ls:* )\",\"effect\":\"deny\"}}");
    of_rule("{\"change\":\"added\",\"rule\":{\"id\":\"r2\",\"rule\":\"Read\",\"uses\":2}}");
    of_rule("{\"change\":\"added\",\"rule\":{\"id\":\"r1\",\"rule\":\"Read\"}}");  /* an id is given once */
    of_rule("{\"change\":\"added\",\"rule\":{\"id\":\"r3\",\"rule\":\"Bash(\"}}"); /* of a version that took it */
    of_rule("{\"change\":\"added\",\"rule\":[]}");
    const struct rule_record *first = gate.rules.user, *second = first->next;
    assert_true(str_is(first->source.id, "r1") && str_is(first->source.author, "alice"));
    assert_int_equal(first->source.effect, EFFECT_DENY);
    assert_true(str_is(second->source.id, "r2") && second->source.effect == EFFECT_ALLOW && second->source.counted);
    assert_null(second->next);
    gate.rules.user->next->reserved = 1;
    of_rule("{\"change\":\"used\",\"id\":\"r2\"}");
    assert_true(second->used == 1 && second->reserved == 0); /* what was reserved for it is used */
    of_rule("{\"change\":\"used\",\"id\":\"r2\"}");
    assert_true(second->used == 2 && second->reserved == 0);
    of_rule("{\"change\":\"removed\",\"id\":\"r1\"}");
    of_rule("{\"change\":\"removed\",\"id\":\"r1\"}");
    assert_ptr_equal(gate.rules.user, second);
    assert_null(rules_find(&gate, STR("r1")));
}

/* From "always", before there were projects: nobody knows of which folder it is. */
static void a_relative_rule_of_no_folder_holds_nowhere_until_it_is_bound(void **state)
{
    (void)state;
    of_rule("{\"change\":\"added\",\"toolCallId\":\"c\",\"rule\":{\"id\":\"r1\",\"rule\":\"Edit(src/**)\"}}");
    of_rule("{\"change\":\"added\",\"toolCallId\":\"c\",\"rule\":{\"id\":\"r2\",\"rule\":\"Edit(src/**)\","
            "\"effect\":\"deny\"}}");
    of_rule("{\"change\":\"added\",\"rule\":{\"id\":\"r3\",\"rule\":\"Edit(src/**)\"}}");
    assert_true(rules_find(&gate, STR("r1"))->unbound);
    assert_false(rules_find(&gate, STR("r2"))->unbound); /* it tightens */
    assert_false(rules_find(&gate, STR("r3"))->unbound); /* a person has written it */
    of_rule("{\"change\":\"bound\",\"id\":\"r1\",\"rule\":{\"scope\":\"everywhere\"}}");
    assert_false(rules_find(&gate, STR("r1"))->unbound);
    assert_int_equal(rules_find(&gate, STR("r1"))->source.reach, REACH_EVERYWHERE);
}

static void a_file_is_trusted_with_one_content(void **state)
{
    (void)state;
    of_rule("{\"change\":\"trusted\",\"path\":\"/p\",\"hash\":\"h1\"}");
    of_rule("{\"change\":\"trusted\",\"path\":\"/p\",\"hash\":\"h2\"}");
    assert_string_equal(map_get(&gate.rules.trusted, STR("/p")), "h2");
    of_rule("{\"change\":\"distrusted\",\"path\":\"/p\"}");
    assert_null(map_get(&gate.rules.trusted, STR("/p")));
}

/* ---- sessions ---- */

static struct loop *loop;
static char order[16];

struct looking {
    struct session_look look;
    struct arena arena;
    char name;
    bool found;
};

static void looked(struct op *op)
{
    struct looking *l = op->owner;
    order[strlen(order)] = l->name;
    l->found = l->look.session != NULL;
}

static void look(struct looking *l, char name, const char *id)
{
    *l = (struct looking){.name = name};
    l->look = (struct session_look){.op = gate_op(&l->arena, looked, l), .id = str_of(id)};
    gate_session(&gate, &l->look);
    assert_null(strchr(order, name)); /* never from inside the call */
}

#define CREATED "{\"change\":\"created\",\"threadId\":\"ses_1.main\",\"title\":\"x\"}"

static struct event of_session(uint64_t seq, const char *data)
{
    return (struct event){.kind = EVENT_SESSION_CHANGED, .seq = seq, .session = STR("ses_1"), .data = str_of(data)};
}

static void a_session_is_read_once_for_all_who_look(void **state)
{
    struct looking a, b, c;
    struct event created = of_session(1, CREATED);
    (void)state;
    look(&a, 'a', "ses_1");
    look(&b, 'b', "ses_1");
    struct read *read = asked_of_store();
    assert_int_equal(read->kind, READ_SESSION);
    store_answers(read, &created, 1, 1);
    look(&c, 'c', "ses_1"); /* it is here */
    assert_null(asked_of_store());
    assert_int_equal(order[0], '\0');
    assert_false(ops_serve(&gate));
    assert_true(a.found && b.found && c.found);
    assert_int_equal(strlen(order), 3);
    assert_int_equal(order[2], 'c');
}

/* It may have been read before the change. */
static void a_session_that_changes_while_it_is_read_is_read_again(void **state)
{
    struct looking a;
    struct event events[] = {of_session(1, CREATED), of_session(2, "{\"change\":\"settings\",\"title\":\"new\"}")};
    (void)state;
    look(&a, 'a', "ses_1");
    struct read *read = asked_of_store();
    sessions_follow(&gate, &events[1]);
    store_answers(read, events, 1, 1);
    (void)ops_serve(&gate);
    assert_int_equal(order[0], '\0');
    store_answers(asked_of_store(), events, 2, 2);
    (void)ops_serve(&gate);
    assert_true(a.found && str_is(a.look.session->title, "new"));
    assert_int_equal(a.look.session->changed_seq, 2);
    struct event third = of_session(3, "{\"change\":\"settings\",\"title\":\"third\"}");
    sessions_follow(&gate, &third);
    assert_true(str_is(a.look.session->title, "third")); /* kept true by following */
}

static void a_session_that_is_not_there_is_none(void **state)
{
    struct looking none, failed, left, later, empty;
    struct event created = of_session(1, CREATED);
    (void)state;
    look(&none, 'n', "ses_1");
    store_answers(asked_of_store(), NULL, 0, 0);
    look(&failed, 'f', "ses_1"); /* nobody remembers that there was none */
    store_fails(asked_of_store());
    look(&empty, 'e', "");
    (void)ops_serve(&gate);
    assert_true(!none.found && !none.look.op.err && !empty.found);
    assert_true(!failed.found && gate_op_code(&failed.look.op) == ERR_UNAVAILABLE);
    look(&left, 'l', "ses_1");
    store_answers(asked_of_store(), &created, 1, 1);
    struct event archived = {.kind = EVENT_SESSION_ARCHIVED, .seq = 2, .session = STR("ses_1"), .data = STR("{}")};
    sessions_follow(&gate, &archived); /* before the look was given back: it is read again */
    (void)ops_serve(&gate);
    assert_null(strchr(order, 'l'));
    struct read *read = asked_of_store();
    read->archived = &archived;
    read->archived_count = 1;
    store_answers(read, NULL, 0, 2);
    (void)ops_serve(&gate);
    assert_int_equal(gate_op_code(&left.look.op), ERR_GONE);
    look(&later, 'x', "ses_1");
    assert_non_null(later.look.op.gate);
    store_answers(asked_of_store(), NULL, 0, 0);
    arena_done(&failed.arena);
    arena_done(&left.arena);
}

static int begin(void **state)
{
    (void)views_begin(state);
    memset(order, 0, sizeof order);
    assert_true(rc_ok(loop_new(&loop, NULL)));
    gate.loop = loop;
    gate.rules.version = 1;
    ops_init(&gate);
    sessions_init(&gate);
    return 0;
}

static int end(void **state)
{
    (void)state;
    loop_forget(loop, &gate.before_sleep);
    open_done(&gate);
    due_done(&gate.core.due);
    sessions_done(&gate);
    tokens_done(&gate);
    rules_done(&gate);
    recent_clear(&gate.core.recent);
    quota_done(&gate);
    loop_free(loop);
    return 0;
}

#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VIEW_TEST(a_call_is_open_from_its_request_to_its_response),
        VIEW_TEST(the_data_of_a_large_call_is_not_held),
        VIEW_TEST(calls_leave_with_their_session),
        VIEW_TEST(what_several_persons_said_ends_with_their_token),
        VIEW_TEST(people_are_told_once_that_nobody_answers),
        VIEW_TEST(a_token_lets_in_until_it_is_revoked),
        VIEW_TEST(rules_come_are_used_and_go),
        VIEW_TEST(a_relative_rule_of_no_folder_holds_nowhere_until_it_is_bound),
        VIEW_TEST(a_file_is_trusted_with_one_content),
        VIEW_TEST(a_session_is_read_once_for_all_who_look),
        VIEW_TEST(a_session_that_changes_while_it_is_read_is_read_again),
        VIEW_TEST(a_session_that_is_not_there_is_none),
    };
    return cmocka_run_group_tests_name("gate views", tests, NULL, NULL);
}
