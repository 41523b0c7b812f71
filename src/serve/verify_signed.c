/* `nod verify --trust`: who allowed exactly what, proven from the kept events alone.
 *
 * A signature proves something only as far as its key is somebody's. The store says whose keys are whose; a file kept
 * elsewhere says which of them to believe, so that whoever can write to the store cannot add a key of their own. */
#include "serve/verify_signed.h"

#include "base/map.h"
#include "base/stamp.h"
#include "cli/text.h"
#include "event/life.h"
#include "event/shapes.h"
#include "event/token.h"
#include "io/file.h"
#include "policy/policy.h"
#include "sign/sign.h"
#include "store/store.h"

#include <stdio.h>

enum { TRUST_FILE_BYTES_MAX = 1 << 20 };

/* A request to people that is not answered yet. */
struct verified_ask {
    char digest[DIGEST_HEX_BYTES];
    int64_t people;       /* how many persons must allow it; 0: one */
    struct arena arena;
    struct shape_texts have; /* persons who have allowed it, by valid partial answers */
    struct str input;     /* the input as they changed it */
};

/* The walk over the events: the keys known so far, and the requests that wait for their answer. */
struct proving {
    struct arena arena;
    struct key_ring ring;
    struct arena call_arena;
    struct call call;     /* the last one; its request comes in the same append */
    struct arena answer_arena;
    struct event answer;  /* the last valid signed answer; rules that it adds come in the same append */
    struct data_tool_approval_response answered;
    struct map requests;  /* "session\ncall" → struct verified_ask, on the heap */
    struct map trusted;   /* ids of keys */
    bool all_trusted;     /* no file was given */
    struct proofs *proofs;
    struct json_out *out; /* JSON output; NULL: text output */
};

/* ---- which keys ---- */

/* One id per line; whatever follows it, and lines that begin with #, are for people. */
static struct rc read_trust(struct proving *proving, const char *path, struct err *err)
{
    struct str text;
    if (str_empty(str_of(path))) {
        proving->all_trusted = true;
        return RC_OK;
    }
    TRY(file_read(&proving->arena, path, TRUST_FILE_BYTES_MAX, &text, err));
    while (text.n) {
        struct str rest, line = str_trim(str_cut(text, '\n', &text));
        struct str id = str_cut(line, ' ', &rest);
        if (!str_empty(id) && id.p[0] != '#')
            (void)map_put(&proving->trusted, id, proving);
    }
    return RC_OK;
}

/* ---- one answer ---- */

/* Ids of calls are the agent's choice and only unique within their session; a line's end cannot be part of either. */
static struct str call_name(struct arena *arena, const struct event *event)
{
    return arena_printf(arena, "%.*s\n%.*s", STR_ARG(event->session), STR_ARG(event->call));
}

static void asked_free(struct verified_ask *asked) { arena_free(asked); }

/* Copies what it needs: the event's memory is the walk's, and its next page overwrites it. */
static void take_call(struct proving *proving, const struct event *event)
{
    arena_done(&proving->call_arena);
    proving->call_arena = (struct arena){0};
    proving->call = (struct call){0};
    call_apply(&proving->call_arena, &proving->call, event);
}

/* The digest is made anew, from the call as it is kept: what the request says of it proves nothing of the call. */
static void take_request(struct proving *proving, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct call *call = &proving->call;
    struct verified_ask *asked = heap_new(sizeof *asked);
    struct data_tool_approval_request data;
    *asked = (struct verified_ask){0};
    if (str_eq(call->session, event->session) && str_eq(call->id, event->call)) {
        call_apply(&proving->call_arena, call, event);
        call_digest(call, asked->digest);
    }
    if (READ_DATA(&scratch, tool_approval_request, event->data, &data))
        asked->people = data.people;
    asked_free(map_put(&proving->requests, call_name(&scratch, event), asked));
}

/* The statement as the events say it, with the three lines that only the signer and the server knew. */
static struct rc own_text(struct arena *arena, const struct event *event,
                          const struct data_tool_approval_response *data, struct str digest,
                          struct str said, struct str *ret_text, struct err *err)
{
    const struct decision_facts facts = {
        .server = statement_field(arena, said, "server"), .session = event->session, .call = event->call,
        .digest = digest, .decision = str_of(decision_name(data->decision)), .mode = data->mode, .scope = data->reach,
        .rules_end_ms = data->rules_end, .rules_uses = data->rules_uses,
        .rules = data->rules_chosen ? STR_NONE : data->rules, .input = data->updated_input,
        .feedback = data->feedback};
    struct statement own = statement_of_decision(arena, &facts);
    own.key = statement_field(arena, said, "key");
    own.nonce = statement_field(arena, said, "nonce");
    if (!stamp_parse(statement_field(arena, said, "until"), &own.until_ms))
        return err_set(err, ERR_CORRUPT, "the statement has no end");
    *ret_text = statement_text(arena, &own);
    return RC_OK;
}

/* The statement is built again from the kept events and compared with the one that was signed; then key, time
 * and trust. */
static struct rc prove(struct proving *proving, struct arena *arena, const struct event *event,
                       const struct data_tool_approval_response *data, struct str digest,
                       const struct person_key **ret_key, struct err *err)
{
    struct signature_claim claim;
    struct str said, own;
    uint32_t counter;
    TRY(sign_read_signature(arena, data->signature, &claim, &said, err));
    *ret_key = key_ring_at(&proving->ring, claim.key, event->seq);
    if (!*ret_key)
        return err_set(err, ERR_CORRUPT, "the key was not known, or was revoked");
    if ((*ret_key)->from_ms > event->at_ms)
        return err_set(err, ERR_CORRUPT, "the key could not sign yet: it was added with a recovery code");
    TRY(own_text(arena, event, data, digest, said, &own, err));
    if (!str_eq(own, said))
        return err_set(err, ERR_CORRUPT, "what was signed is not what is kept");
    TRY(sign_check_signature(*ret_key, said, &claim, &counter, err));
    if (!proving->all_trusted && !map_get(&proving->trusted, (*ret_key)->id))
        return err_set(err, ERR_FORBIDDEN, "the key is not among those to trust");
    return RC_OK;
}

/* Names come from agents and people: text_line shows control characters instead of sending them to the terminal. */
static void say(struct proving *proving, const struct event *event, enum decision decision, const char *state,
                const struct person_key *key, const char *why)
{
    ARENA_SCOPE(scratch);
    struct str person = key ? key->person : event->actor;
    if (!proving->out) {
        (void)printf("call %.*s of %.*s: %s by %.*s%s%.*s: %s%s%s\n", STR_ARG(text_line(&scratch, event->call)),
                     STR_ARG(text_line(&scratch, event->session)), decision_name(decision),
                     STR_ARG(text_line(&scratch, person)), key ? ", key " : "", key ? (int)key->id.n : 0,
                     key ? key->id.p : "", state, why[0] ? ": " : "", why);
        return;
    }
    json_object(proving->out, J("sessionId", event->session), J("toolCallId", event->call), J("seq", event->seq),
                J("decision", decision_name(decision)), J("person", person), J_IF(key, J("key", key->id)),
                J("state", state), J("why", why));
}

/* Checks whether the answer is valid, and reports it for each allow. */
static bool take_answer(struct proving *proving, const struct event *event,
                        const struct data_tool_approval_response *data, const char *digest, struct str *ret_person)
{
    ARENA_SCOPE(scratch);
    const struct person_key *key = NULL;
    struct err err = {0};
    *ret_person = token_person(event->actor);
    if (str_empty(data->signature)) {
        proving->proofs->without++;
        say(proving, event, data->decision, "not signed", NULL, "");
        return true;
    }
    if (rc_ok(prove(proving, &scratch, event, data, str_of(digest), &key, &err))) {
        proving->proofs->proven++;
        say(proving, event, data->decision, "proven", key, "");
        *ret_person = token_person(key->person);
        return true;
    }
    proving->proofs->bad++;
    say(proving, event, data->decision, err.code == ERR_FORBIDDEN ? "not trusted" : "bad", key, err.text);
    return false;
}

static bool is_among(const struct shape_texts *names, struct str name)
{
    return ANY(size_t i = 0; i < names->count; i++, str_eq(names->items[i], name));
}

/* Persons are counted as the gate counts them: another input makes the answers before it void. */
static void count_person(struct verified_ask *asked, struct str person, struct str input)
{
    struct str *names = arena_array(&asked->arena, struct str, asked->have.count + 1);
    if (!json_same_tokens(asked->input, input) && asked->input.n + input.n)
        asked->have.count = 0;
    for (size_t i = 0; i < asked->have.count; i++)
        names[i] = asked->have.items[i];
    size_t count = asked->have.count;
    if (!is_among(&asked->have, person))
        names[count++] = arena_str(&asked->arena, person);
    asked->have = (struct shape_texts){names, count};
    asked->input = arena_str(&asked->arena, input);
}

/* Partial answers count once per person, for the same input. */
static void take_partial(struct proving *proving, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_partial data;
    struct str person;
    struct event of_call = *event;
    if (!READ_DATA(&scratch, tool_approval_partial, event->data, &data))
        return;
    of_call.call = data.call;
    struct verified_ask *asked = map_get(&proving->requests, call_name(&scratch, &of_call));
    struct data_tool_approval_response as_response = {.call = data.call, .decision = data.decision,
                                                      .feedback = data.feedback, .updated_input = data.updated_input,
                                                      .signature = data.signature};
    if (asked && take_answer(proving, &of_call, &as_response, asked->digest, &person))
        count_person(asked, person, data.updated_input);
}

/* ---- what follows from an answer ---- */

/* The texts of `answered` point into the copy of the event's data, in the same arena. */
static void keep_answer(struct proving *proving, const struct event *event)
{
    struct arena *arena = &proving->answer_arena;
    arena_done(arena);
    proving->answer_arena = (struct arena){0};
    proving->answer = *event;
    ARENA_KEEP(arena, &proving->answer.session, &proving->answer.call, &proving->answer.actor);
    if (!READ_DATA(arena, tool_approval_response, arena_str(arena, event->data), &proving->answered))
        proving->answer.call = STR_NONE;
}

static bool is_named(const struct json *names, struct str name)
{
    return ANY(const struct json *one = names ? names->first : NULL; one; one = one->next,
               one->type == JSON_STRING && str_eq(one->text, name));
}

/* Whether the rule, as it is kept, is one of those that the answer has signed: text, end, number of calls, reach. */
static bool is_signed_rule(struct arena *arena, const struct data_tool_approval_response *answer,
                           const struct json *rule)
{
    const struct json *rules = NULL;
    struct str end = json_text(rule, "expiresAt"), scope = json_text(rule, "scope");
    int64_t end_ms = 0, uses = 0;
    bool read = rc_ok(json_parse(arena, answer->rules, &rules, NULL)) && (!end.n || stamp_parse(end, &end_ms)) &&
                rc_ok(json_want_i64(rule, "uses", 1, INT32_MAX, &uses, NULL));
    bool session = str_is(json_text(rule, "layer"), policy_layer_name(LAYER_SESSION));
    return read && is_named(rules, json_text(rule, "rule")) && end_ms == answer->rules_end &&
           uses == answer->rules_uses && str_is(json_text(rule, "effect"), effect_name(EFFECT_ALLOW)) &&
           (session ? str_empty(answer->reach) || str_is(answer->reach, "session") : str_eq(scope, answer->reach));
}

/* Rules that came with an answer must be those that the person signed. */
static void take_rules(struct proving *proving, struct str call, struct str text)
{
    ARENA_SCOPE(scratch);
    const struct json *given = NULL;
    if (str_empty(call) || !str_eq(call, proving->answer.call) || str_empty(text))
        return;
    bool good = rc_ok(json_parse(&scratch, text, &given, NULL));
    bool list = good && given->type == JSON_ARRAY;
    for (const struct json *rule = list ? given->first : given; good && rule; rule = list ? rule->next : NULL)
        good = is_signed_rule(&scratch, &proving->answered, rule);
    if (good)
        return;
    proving->proofs->bad++;
    say(proving, &proving->answer, proving->answered.decision, "bad", NULL,
        "a rule is kept that is not what was signed");
}

/* Rules of the whole server are events of their own; those of a session come with its settings. */
static void take_change(struct proving *proving, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_rule_added added;
    struct data_session_settings settings;
    if (str_is(shape_change(event->data), "added") && READ_DATA(&scratch, rule_added, event->data, &added))
        take_rules(proving, added.call, added.rule);
    if (str_is(shape_change(event->data), "settings") && str_eq(event->session, proving->answer.session) &&
        READ_DATA(&scratch, session_settings, event->data, &settings))
        take_rules(proving, settings.call, settings.rules);
}

/* A denial needs no proof: it lets nothing happen. A call that needs several persons counts those of the partial
 * answers before it. */
static void take_response(struct proving *proving, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_tool_approval_response data;
    struct str person;
    struct verified_ask *asked = map_take(&proving->requests, call_name(&scratch, event));
    bool read = READ_DATA(&scratch, tool_approval_response, event->data, &data);
    bool allows = read && decision_condition(data.decision) == LIFE_ALLOW;
    bool good = allows && take_answer(proving, event, &data, asked ? asked->digest : "", &person);
    if (good && !str_empty(data.signature))
        keep_answer(proving, event);
    if (good && asked && asked->people > 1) {
        count_person(asked, person, data.updated_input);
        if ((int64_t)asked->have.count < asked->people) {
            proving->proofs->bad++;
            say(proving, event, data.decision, "bad", NULL, "fewer persons have allowed it than must");
        }
    }
    asked_free(asked);
}

/* Reports keys that were added or revoked without the signature of another key. */
static void say_unsigned(struct proving *proving, const struct event *event)
{
    ARENA_SCOPE(scratch);
    struct data_key_revoked gone;
    struct data_key_added came;
    struct str change = shape_change(event->data), id = STR_NONE;
    const char *what = "";
    if (str_is(change, "key_revoked") && READ_DATA(&scratch, key_revoked, event->data, &gone) &&
        str_empty(gone.signature)) {
        id = gone.id;
        what = "was revoked without a signature";
    } else if (str_is(change, "key_added") && READ_DATA(&scratch, key_added, event->data, &came) &&
               !str_empty(came.recovery)) {
        id = came.id;
        what = "was added with a recovery code";
    }
    if (!str_empty(id) && !proving->out)
        (void)printf("key %.*s %s (event %llu, by %.*s)\n", STR_ARG(text_line(&scratch, id)), what,
                     (unsigned long long)event->seq, STR_ARG(text_line(&scratch, event->actor)));
}

/* For store_each_event, in the order of seq. It never fails: a bad event is counted and reported, and the walk goes
 * on. */
static struct rc take_event(void *arg, const struct event *event, struct err *err)
{
    struct proving *proving = arg;
    (void)err;
    if (event->kind == EVENT_TOKEN_CHANGED) {
        key_ring_follow(&proving->ring, event);
        say_unsigned(proving, event);
    } else if (event->kind == EVENT_RULE_CHANGED || event->kind == EVENT_SESSION_CHANGED)
        take_change(proving, event);
    else if (event->kind == EVENT_TOOL_CALL)
        take_call(proving, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
        take_request(proving, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_PARTIAL)
        take_partial(proving, event);
    else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE)
        take_response(proving, event);
    return RC_OK;
}

static void proving_done(struct proving *proving)
{
    key_ring_done(&proving->ring);
    MAP_EACH(&proving->requests, each)
        asked_free(each.value);
    map_done(&proving->requests);
    map_done(&proving->trusted);
    arena_done(&proving->answer_arena);
    arena_done(&proving->call_arena);
    arena_done(&proving->arena);
}

/* Walks the store once, in order: keys count as they were known at each event. */
struct rc verify_signed(struct cli *cli, const char *trust, struct json_out *out, struct proofs *ret_proofs,
                        struct err *err)
{
    __attribute__((cleanup(proving_done))) struct proving proving = {.proofs = ret_proofs, .out = out};
    *ret_proofs = (struct proofs){0};
    TRY(read_trust(&proving, trust, err));
    return store_each_event(cli->settings.store,
                            (uint64_t)1 << EVENT_TOKEN_CHANGED | (uint64_t)1 << EVENT_TOOL_CALL |
                                (uint64_t)1 << EVENT_RULE_CHANGED | (uint64_t)1 << EVENT_SESSION_CHANGED |
                                (uint64_t)1 << EVENT_TOOL_APPROVAL_REQUEST |
                                (uint64_t)1 << EVENT_TOOL_APPROVAL_PARTIAL |
                                (uint64_t)1 << EVENT_TOOL_APPROVAL_RESPONSE,
                            take_event, &proving, err);
}
