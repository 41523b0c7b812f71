/* nod approve, nod deny.
 *
 * A decision is sent for exactly the call that was shown: its id, its session and the digest of what was
 * asked. A call that is not waiting any more is sent all the same, so that the server names the winner.
 */
#include "agents/questions.h"
#include "base/limits.h"
#include "base/public_key.h"
#include "cli/body.h"
#include "cli/local.h"
#include "cli/signing.h"
#include "cli/view.h"
#include "event/call.h"
#include "io/clock.h"

/* The answer that the options describe. */
struct deciding {
    const char *decision;
    bool allows;
    const char *feedback, *mode, *scope;
    int64_t rules_end_ms;
    uint64_t rules_uses;
    const struct json *input; /* NULL: as asked */
};

/* The call to decide: its session, and its data as far as known. */
struct target {
    struct str call, session, digest, line;
    bool asks; /* questions, which an allow alone does not answer */
};

/* The answer carries the digest of what was listed: a call that is changed in between is not the one that was meant,
 * and is refused. */
static struct target target_of(struct arena *arena, const struct json *call)
{
    const struct json *tool = json_get(call, "toolCall");
    struct questions questions;
    return (struct target){.call = json_text(call, "toolCallId"),
                           .session = json_text(call, "sessionId"),
                           .digest = json_text(call, "digest"),
                           .line = view_line(arena, call),
                           .asks = questions_tool(json_text(tool, "name")) &&
                                   (json_bool(call, "cut", false) ||
                                    questions_read(arena, json_text(tool, "name"), json_get(tool, "input"),
                                                   &questions))};
}

/* Somebody else was first. The exit status says so, and the text says who. */
static struct rc lost(struct cli *cli, const struct target *target, const struct reply *reply,
                      struct err *err)
{
    const struct json *winner = json_get(reply->json, "winner");
    if (cli->json)
        remote_print(reply);
    if (!winner)
        return err_set(err, ERR_ALREADY_DECIDED, "%.*s is already decided", STR_ARG(target->call));
    return err_set(err, ERR_ALREADY_DECIDED, "%.*s is already decided: %.*s", STR_ARG(target->call),
                   STR_ARG(body_decision(&cli->arena, winner)));
}

/* The members of a decision, from the opening brace on: what closes it comes later. */
static struct str decision_members(struct arena *arena, const struct target *target, const struct deciding *deciding)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    CHECK(deciding->decision && target->call.n > 0 && target->session.n > 0);
    json_open(&out, '{');
    json_members(&out, J("decision", deciding->decision), J("feedback", deciding->feedback),
                 J("mode", deciding->mode), J("scope", deciding->scope),
                 J_IF(deciding->rules_end_ms, J_TIME("expiresAt", deciding->rules_end_ms)),
                 J_IF(deciding->rules_uses, J("uses", deciding->rules_uses)),
                 J_RAW("updatedInput", deciding->input ? deciding->input->raw : STR_NONE),
                 J("digest", target->digest));
    return arena_str(arena, buf_str(&body));
}

/* Adds a signature to the decision, over the call as it was shown here (by its digest). */
static struct rc sign_decision(struct cli *cli, const struct target *target, const struct deciding *deciding,
                               struct str *members, struct err *err)
{
    struct arena *arena = &cli->arena;
    struct private_key *key = NULL;
    struct str signature = STR_NONE;
    JSON_SCOPE(asked, out, LIMIT_BODY_BYTES);
    bool always = str_is(str_of(deciding->decision), "allow_always");
    const struct decision_facts facts = {
        .session = target->session, .call = target->call, .digest = target->digest,
        .decision = str_of(deciding->decision), .mode = str_of(deciding->mode), .feedback = str_of(deciding->feedback),
        .scope = always && !deciding->scope ? STR("project") : str_of(deciding->scope),
        .rules_end_ms = deciding->rules_end_ms, .rules_uses = (int64_t)deciding->rules_uses,
        .input = deciding->input ? deciding->input->raw : STR_NONE};
    cli_note("%.*s needs your signature: %s, %.*s", STR_ARG(text_line(arena, target->call)), deciding->decision,
             STR_ARG(target->line));
    TRY(signing_open(cli, &key, err));
    json_open(&out, '{');
    json_members(&out, J("for", "decision"), J("sessionId", target->session), J("toolCallId", target->call));
    struct str rest = str_sub(*members, 1, members->n);
    struct rc rc = signing_make(cli, key, statement_of_decision(arena, &facts),
                                arena_printf(arena, "%.*s,%.*s", STR_ARG(buf_str(&asked)), STR_ARG(rest)), &signature,
                                err);
    private_key_free(key);
    TRY(rc);
    *members = arena_printf(arena, "%.*s,\"signature\":%.*s", STR_ARG(*members), STR_ARG(signature));
    return RC_OK;
}

/* Sends the decision, signed only when the server asks for that. A lost race names the winner and is an error. */
static struct rc send(struct cli *cli, const struct target *target, const struct deciding *deciding,
                      struct err *err)
{
    struct arena *arena = &cli->arena;
    struct reply reply = {0};
    struct str members = decision_members(arena, target, deciding);
    struct str where =
        arena_printf(arena, "/api/sessions/%s/approvals/%s", remote_escape(arena, target->session).p,
                     remote_escape(arena, target->call).p);
    struct rc rc = remote_post(cli, where, arena_printf(arena, "%.*s}", STR_ARG(members)), &reply, err);
    if (rc.code == ERR_SIGNATURE_REQUIRED) {
        TRY(sign_decision(cli, target, deciding, &members, err));
        rc = remote_post(cli, where, arena_printf(arena, "%.*s}", STR_ARG(members)), &reply, err);
    }
    if (rc.code == ERR_ALREADY_DECIDED)
        return lost(cli, target, &reply, err);
    TRY(rc);
    if (target->asks && deciding->allows && !deciding->input && !deciding->feedback)
        cli_note("%.*s asked questions and went ahead without answers; `nod answer` gives them",
                 STR_ARG(text_line(arena, target->call)));
    bool needs_more = json_get(reply.json, "need"); /* the answers of other people */
    if (needs_more)
        cli_note("%.*s: %.*s", STR_ARG(text_line(arena, target->call)),
                 STR_ARG(text_line(arena, json_text(reply.json, "message"))));
    if (!remote_printed(cli, &reply) && !needs_more)
        cli_out(arena_printf(arena, "%.*s %.*s: %.*s\n", STR_ARG(decision_words(str_of(deciding->decision))),
                             STR_ARG(text_line(arena, target->call)), STR_ARG(target->line)));
    return RC_OK;
}

/* ---- which calls ---- */

/* Finds the call by its id or a part of it: among those that wait, else among all. */
static struct rc find_target(struct cli *cli, const struct json *pending, const char *id,
                             struct target *ret_target, struct err *err)
{
    const struct json *call = NULL;
    struct reply reply;
    TRY(view_match(pending, id, &call, err));
    if (!call) {
        const char *session = option_text(cli, "session");
        struct str where = arena_printf(&cli->arena, "/api/tool-calls/%s%s%s",
                                        remote_escape(&cli->arena, str_of(id)).p, session ? "?session=" : "",
                                        session ? remote_escape(&cli->arena, str_of(session)).p : "");
        struct rc rc = remote_get(cli, where, &reply, err);
        if (rc.code == ERR_NOT_FOUND)
            return err_set(err, ERR_NOT_FOUND, "no call '%s' is waiting; see nod pending", id);
        TRY(rc);
        call = reply.json;
    }
    *ret_target = target_of(&cli->arena, call);
    return RC_OK;
}

/* Without an operand there must be exactly one call: a call that arrives in this moment is never answered by mistake.
 */
static struct rc decide_only(struct cli *cli, const struct json *calls, const struct deciding *deciding,
                             struct err *err)
{
    CHECK(calls->type == JSON_ARRAY && cli->argc == 0);
    if (calls->count == 0)
        return err_set(err, ERR_NOT_FOUND, NOTHING_WAITS);
    if (calls->count > 1)
        return err_set(err, ERR_AMBIGUOUS, "%u calls are waiting: name one of them; nod pending lists them",
                       calls->count);
    struct target target = target_of(&cli->arena, calls->first);
    return send(cli, &target, deciding, err);
}

/* Risky calls, and calls that were cut and so not shown, are not allowed together with others. */
static bool only_alone(const struct json *call)
{
    return json_bool(call, "cut", false) || json_bool(call, "risky", true);
}

/* Calls that must be answered alone are left out of a bulk approval, and counted. */
static struct rc decide_all(struct cli *cli, const struct json *calls, const struct deciding *deciding,
                            struct err *err)
{
    unsigned left_out = 0;
    CHECK(calls->type == JSON_ARRAY && cli->argc == 0);
    if (calls->count == 0)
        cli_note(NOTHING_WAITS);
    for (const struct json *call = calls->first; call; call = call->next) {
        if (deciding->allows && only_alone(call)) {
            left_out++;
            continue;
        }
        struct target target = target_of(&cli->arena, call);
        struct rc rc = send(cli, &target, deciding, err);
        if (rc.code == ERR_ALREADY_DECIDED) /* somebody else has answered first, which is not an error here */
            cli_note("nod: %s", text_line(&cli->arena, str_of(err->text)).p);
        else
            TRY(rc);
    }
    if (left_out)
        cli_note("%u %s left out: look at risky and large calls one by one, see nod pending", left_out,
                 left_out == 1 ? "call is" : "calls are");
    return RC_OK;
}

/* Decides each named call, also after one has failed; the first failure is the command's. */
static struct rc decide_named(struct cli *cli, const struct json *pending, const struct deciding *deciding,
                              struct err *err)
{
    struct rc first = RC_OK;
    CHECK(cli->argc > 0);
    for (int i = 0; i < cli->argc; i++) {
        struct target target;
        struct err own = {0};
        struct rc rc = find_target(cli, pending, cli->argv[i], &target, &own);
        if (rc_ok(rc))
            rc = send(cli, &target, deciding, &own);
        if (rc_bad(rc) && rc_bad(first))
            cli_note("nod: %s", text_line(&cli->arena, str_of(own.text)).p);
        else if (rc_bad(rc))
            first = err_set(err, rc.code, "%s", own.text);
    }
    return first;
}

static struct rc decide(struct cli *cli, const struct deciding *deciding, struct err *err)
{
    struct reply pending;
    if (option_flag(cli, "all") && cli->argc > 0)
        return err_set(err, ERR_INVALID, "say --all or which calls, not both");
    if (option_text(cli, "agent") && !option_flag(cli, "all"))
        return err_set(err, ERR_INVALID, "--agent goes with --all");
    TRY(view_pending_all(cli, &cli->arena, option_text(cli, "session"), option_text(cli, "agent"), &pending, err));
    const struct json *calls = json_get(pending.json, "pendingApprovals");
    if (option_flag(cli, "all"))
        return decide_all(cli, calls, deciding, err);
    if (cli->argc == 0)
        return decide_only(cli, calls, deciding, err);
    return decide_named(cli, pending.json, deciding, err);
}

/* ---- the commands ---- */

/* Where, how long and for how many calls the rules of `--always` hold. */
static struct rc read_reach(struct cli *cli, struct deciding *deciding, struct err *err)
{
    int64_t seconds = 0;
    bool always = option_flag(cli, "always");
    deciding->scope = option_text(cli, "scope");
    TRY(option_number(cli, "uses", INT32_MAX, &deciding->rules_uses, err));
    TRY(option_time(cli, "for", INT32_MAX, &seconds, err));
    if (deciding->scope && !always)
        return err_set(err, ERR_INVALID, "--scope goes with --always");
    if ((deciding->rules_uses || seconds) && !always)
        return err_set(err, ERR_INVALID, "--for and --uses go with --always");
    deciding->rules_end_ms = seconds ? clock_wall_ms() + seconds * 1000 : 0;
    return RC_OK;
}

/* Everything that could allow more than was meant needs one more word: --yes for all, exactly one call for a changed
 * input. */
struct rc decide_approve_command(struct cli *cli, struct err *err)
{
    struct deciding deciding = {.decision = "allow_once", .allows = true};
    const char *input = option_text(cli, "input");
    if (option_flag(cli, "session-wide") && option_flag(cli, "always"))
        return err_set(err, ERR_INVALID, "say --session-wide or --always, not both");
    if (option_flag(cli, "session-wide"))
        deciding.decision = "allow_session";
    if (option_flag(cli, "always"))
        deciding.decision = "allow_always";
    TRY(read_reach(cli, &deciding, err));
    if (option_flag(cli, "all") && !option_flag(cli, "yes"))
        return err_set(err, ERR_INVALID,
                       "approve --all lets everything go ahead unseen: add --yes if you mean it");
    if (input && (option_flag(cli, "all") || cli->argc > 1))
        return err_set(err, ERR_INVALID, "--input is for one call");
    if (input)
        TRY(local_input(cli, input, &deciding.input, err));
    if (input && option_flag(cli, "always"))
        cli_note("an input that was changed adds no rule: it is allowed this once");
    deciding.feedback = option_text(cli, "message");
    deciding.mode = option_text(cli, "mode");
    return decide(cli, &deciding, err);
}

struct rc decide_deny_command(struct cli *cli, struct err *err)
{
    struct deciding deciding = {.decision = option_flag(cli, "abort") ? "abort" : "deny"};
    deciding.feedback = option_text(cli, "message");
    return decide(cli, &deciding, err);
}
