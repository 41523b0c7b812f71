/* nod policy list, add, remove, bind, explain, try, trust. */
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/signing.h"
#include "cli/text.h"
#include "io/clock.h"

/* ---- list ---- */

/* How long the rule holds, how often it may be used, and its reason. */
static struct str rule_remark(struct arena *arena, const struct json *rule)
{
    const struct json *left = json_get(rule, "usesLeft"), *people = json_get(rule, "people");
    struct str until = json_text(rule, "expiresAt");
    struct str remark = text_line(arena, json_text(rule, "reason"));
    struct str where = text_line(arena, json_text(rule, "where")), asleep = text_line(arena, json_text(rule, "asleep"));
    if (!str_empty(where))
        remark = arena_printf(arena, "%.*s%s%.*s", STR_ARG(where), remark.n ? "; " : "", STR_ARG(remark));
    if (!str_empty(asleep))
        remark = arena_printf(arena, "sleeps: %.*s%s%.*s", STR_ARG(asleep), remark.n ? "; " : "", STR_ARG(remark));
    if (people)
        remark = arena_printf(arena, "%.*s%s%.*s persons", STR_ARG(remark), remark.n ? "; " : "",
                              STR_ARG(people->raw));
    if (left)
        remark = arena_printf(arena, "%.*s%s%.*s left", STR_ARG(remark), remark.n ? "; " : "", STR_ARG(left->raw));
    if (!str_empty(until))
        remark = arena_printf(arena, "%.*s%suntil %.*s", STR_ARG(remark), remark.n ? "; " : "",
                              STR_ARG(text_time(arena, until, clock_wall_ms())));
    return remark;
}

static void rule_row(struct table *table, struct arena *arena, const struct json *rule)
{
    table_row(table, (struct str[]){text_line(arena, json_text(rule, "layer")),
                                    text_line(arena, json_text(rule, "effect")),
                                    text_line(arena, json_text(rule, "rule")),
                                    text_fit(arena, text_line(arena, json_text(rule, "author")), 24),
                                    text_line(arena, json_text(rule, "id")),
                                    rule_remark(arena, rule)});
}

static void rule_rows(struct table *table, struct arena *arena, const struct json *rules)
{
    for (const struct json *rule = rules ? rules->first : NULL; rule; rule = rule->next)
        rule_row(table, arena, rule);
}

static void note_file(const char *what, struct arena *arena, const struct json *file)
{
    struct str problem = json_text(file, "problem");
    if (!str_empty(problem))
        cli_note("%s %.*s cannot be used: %.*s", what, STR_ARG(text_line(arena, json_text(file, "path"))),
                 STR_ARG(text_line(arena, problem)));
}

static void note_project(struct arena *arena, const struct json *project)
{
    note_file("the project's policy file", arena, project);
    if (!json_bool(project, "there", false) || json_bool(project, "trusted", true))
        return;
    cli_note("%.*s is not trusted: it tightens, its allows do not count (nod policy trust)",
             STR_ARG(text_line(arena, json_text(project, "path"))));
}

static struct str policy_target(struct cli *cli)
{
    const char *session = option_text(cli, "session");
    return session ? arena_printf(&cli->arena, "/api/policy?session=%s",
                                  remote_escape(&cli->arena, str_of(session)).p)
                   : STR("/api/policy");
}

/* From the widest layer to the narrowest: managed, user, project, session. Problems of the files come last, where
 * they are seen. */
struct rc policy_list_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct table table = {.arena = arena, .columns = 6, .width = cli->width, .color = cli->color};
    struct reply reply;
    TRY(remote_get(cli, policy_target(cli), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    table.none = "no rules yet: nod policy add makes one, and so does Always on the page and in nod watch";
    table_row(&table, (struct str[]){STR("LAYER"), STR("EFFECT"), STR("RULE"), STR("AUTHOR"), STR("ID"),
                                     STR("REMARK")});
    rule_rows(&table, arena, json_get(json_get(reply.json, "managed"), "rules"));
    rule_rows(&table, arena, json_get(reply.json, "user"));
    rule_rows(&table, arena, json_get(json_get(reply.json, "project"), "rules"));
    rule_rows(&table, arena, json_get(reply.json, "session"));
    table_write(&buf, &table);
    cli_out(buf_str(&buf));
    note_file("the managed policy file", arena, json_get(reply.json, "managed"));
    if (json_get(reply.json, "project"))
        note_project(arena, json_get(reply.json, "project"));
    for (const struct json *p = json_first(reply.json, "problems"); p; p = p->next)
        cli_note("problem: %.*s", STR_ARG(text_line(arena, p->text)));
    return RC_OK;
}

/* ---- add, try ---- */

static void put_examples(struct json_out *out, const struct cli *cli, const char *option, const char *key)
{
    size_t at = 0;
    const char *example = option_each(cli, option, &at);
    if (!example)
        return;
    JSON_LIST(out, key)
        for (; example; example = option_each(cli, option, &at))
            json_put_str(out, str_of(example));
}

/* Writes where the rule holds, if an option says so. */
static struct rc put_project(struct cli *cli, struct json_out *out, struct err *err)
{
    const char *project = option_text(cli, "project");
    if (project)
        TRY(local_folder(cli, project, &project, err));
    json_member(out, "project", str_of(project));
    return RC_OK;
}

/* A time span becomes a point in time by this machine's clock, because the server stores and compares points in time.
 */
static struct rc rule_body(struct cli *cli, struct buf *body, struct err *err)
{
    struct json_out out = json_out(body);
    const char *session = option_text(cli, "session");
    uint64_t uses = 0, people = 0;
    int64_t seconds = 0;
    struct str effect = str_of(cli->argv[0]);
    if (!str_is(effect, "allow") && !str_is(effect, "ask") && !str_is(effect, "deny"))
        return err_set(err, ERR_INVALID, "'%s' is not an effect: give allow, ask or deny, then the rule", cli->argv[0]);
    TRY(option_number(cli, "uses", INT32_MAX, &uses, err));
    TRY(option_number(cli, "people", LIMIT_PEOPLE, &people, err));
    TRY(option_time(cli, "for", INT32_MAX, &seconds, err));
    json_open(&out, '{');
    json_members(&out, J("effect", effect), J("rule", cli->argv[1]), J("reason", option_text(cli, "reason")),
                 J("layer", session ? "session" : "user"), J("sessionId", session));
    TRY(put_project(cli, &out, err));
    json_members(&out, J_FLAG("force", option_flag(cli, "force")), J_IF(uses, J("uses", uses)),
                 J_IF(people, J("people", people)),
                 J_IF(seconds, J_TIME("expiresAt", clock_wall_ms() + seconds * 1000)));
    put_examples(&out, cli, "match", "match");
    put_examples(&out, cli, "not-match", "notMatch");
    json_close(&out, '}');
    return RC_OK;
}

struct rc policy_add_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(body, LIMIT_BODY_BYTES);
    struct reply reply;
    CHECK(cli->argc == 2);
    TRY(rule_body(cli, &body, err));
    TRY(signing_post(cli, STR("/api/policy/rules"), buf_str(&body), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    struct arena *arena = &cli->arena;
    cli_note("%s %.*s holds from now on", cli->argv[0], STR_ARG(text_line(arena, json_text(reply.json, "rule"))));
    cli_out(arena_printf(arena, "%.*s\n", STR_ARG(text_line(arena, json_text(reply.json, "id")))));
    return RC_OK;
}

/* Rules that hold nowhere until a person says where. */
static struct rc list_unbound(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct reply reply;
    TRY(remote_get(cli, STR("/api/policy"), &reply, err));
    for (const struct json *rule = json_first(reply.json, "user"); rule; rule = rule->next)
        if (json_bool(rule, "unbound", false))
            buf_printf(&buf, "%.*s  %.*s\n", STR_ARG(text_line(arena, json_text(rule, "id"))),
                       STR_ARG(text_line(arena, json_text(rule, "rule"))));
    if (buf_str(&buf).n == 0) {
        cli_note("every rule says where it holds");
        return RC_OK;
    }
    cli_note("these are from before rules belonged to projects, and ask until they are bound: "
             "nod policy bind ID --project DIR, or --everywhere");
    cli_out(buf_str(&buf));
    return RC_OK;
}

/* One request for each rule: those before a failure stay bound, and the error names the one that failed. */
struct rc policy_bind_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    bool everywhere = option_flag(cli, "everywhere");
    struct reply reply;
    if (cli->argc == 0)
        return list_unbound(cli, err);
    if (everywhere == (option_text(cli, "project") != NULL))
        return err_set(err, ERR_INVALID, "say --project DIR or --everywhere");
    json_open(&out, '{');
    TRY(put_project(cli, &out, err));
    json_member(&out, "scope", everywhere ? STR("everywhere") : STR("project"));
    json_close(&out, '}');
    for (int i = 0; i < cli->argc; i++) {
        struct str id = remote_escape(&cli->arena, str_of(cli->argv[i]));
        struct str where = arena_printf(&cli->arena, "/api/policy/rules/%.*s/bind", STR_ARG(id));
        TRY(signing_post(cli, where, buf_str(&body), &reply, err));
        cli_note("%s is bound", text_line(&cli->arena, str_of(cli->argv[i])).p);
    }
    return RC_OK;
}

struct rc policy_remove_command(struct cli *cli, struct err *err)
{
    struct query query = {.method = "DELETE"};
    const char *session = option_text(cli, "session");
    struct arena *arena = &cli->arena;
    struct reply reply;
    CHECK(cli->argc == 1);
    query.target = arena_printf(arena, "/api/policy/rules/%s%s%s", remote_escape(arena, str_of(cli->argv[0])).p,
                                session ? "?session=" : "",
                                session ? remote_escape(arena, str_of(session)).p : "");
    query.body = STR("{}");
    TRY(signing_ask(cli, &query, &reply, err));
    if (!remote_printed(cli, &reply))
        cli_note("%s is gone", text_line(arena, str_of(cli->argv[0])).p);
    return RC_OK;
}

struct rc policy_try_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct arena *arena = &cli->arena;
    struct reply reply;
    int64_t calls = 0, covered = 0, asked = 0;
    CHECK(cli->argc == 1);
    TRY(remote_post(cli, STR("/api/policy/try"), json_object_str(arena, J("rule", str_of(cli->argv[0]))), &reply, err));
    if (remote_printed(cli, &reply))
        return RC_OK;
    (void)json_i64(json_get(reply.json, "calls"), &calls);
    (void)json_i64(json_get(reply.json, "covered"), &covered);
    (void)json_i64(json_get(reply.json, "asked"), &asked);
    buf_printf(&buf, "%.*s names %lld of the last %lld calls; a person was asked about %lld of them\n",
               STR_ARG(text_line(arena, json_text(reply.json, "rule"))), (long long)covered, (long long)calls,
               (long long)asked);
    for (const struct json *e = json_first(reply.json, "examples"); e; e = e->next)
        buf_printf(&buf, "  %s %.*s %.*s\n", json_bool(e, "asked", false) ? "asked " : "passed",
                   STR_ARG(text_line(arena, json_text(e, "name"))),
                   STR_ARG(text_fit(arena, text_summary(arena, json_get(e, "input")), 90)));
    cli_out(buf_str(&buf));
    return RC_OK;
}

/* ---- explain ---- */

/* One part of a compound command, indented below the one that contains it. */
static void print_part(struct buf *buf, struct arena *arena, const struct cli *cli, const struct json *part)
{
    struct str effect = json_text(part, "effect");
    struct str rule = json_text(part, "rule");
    int64_t depth = 0;
    (void)json_i64(json_get(part, "depth"), &depth);
    enum tint tint = str_is(effect, "allow") ? TINT_GREEN : str_is(effect, "deny") ? TINT_RED : TINT_YELLOW;
    struct str padded = arena_printf(arena, "%-6.*s", STR_ARG(effect));
    buf_printf(buf, "  %*s%.*s %.*s", (int)(depth < 10 ? depth * 2 : 20), "",
               STR_ARG(text_tinted(arena, cli->color, tint, padded)),
               STR_ARG(text_line(arena, json_text(part, "text"))));
    if (!str_empty(rule))
        buf_printf(buf, "   by %.*s", STR_ARG(text_line(arena, rule)));
    else if (!str_empty(json_text(part, "why")))
        buf_printf(buf, "   %.*s", STR_ARG(text_line(arena, json_text(part, "why"))));
    buf_putc(buf, '\n');
}

/* With --json nothing of this is printed: the server's answer is passed on as it came. */
static void print_verdict(const struct cli *cli, struct arena *arena, const struct json *verdict)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    buf_printf(&buf, "%.*s: %.*s (%.*s)\n", STR_ARG(text_line(arena, json_text(verdict, "effect"))),
               STR_ARG(text_line(arena, json_text(verdict, "why"))),
               STR_ARG(text_line(arena, json_text(verdict, "source"))));
    for (const struct json *part = json_first(verdict, "parts"); part; part = part->next)
        print_part(&buf, arena, cli, part);
    for (const struct json *rule = json_first(verdict, "rules"); rule; rule = rule->next)
        buf_printf(&buf, "  rule %.*s, layer %.*s, by %.*s%s%.*s\n", STR_ARG(text_line(arena, json_text(rule, "rule"))),
                   STR_ARG(text_line(arena, json_text(rule, "layer"))),
                   STR_ARG(text_line(arena, json_text(rule, "author"))),
                   str_empty(json_text(rule, "project")) ? "" : ", in ",
                   STR_ARG(text_line(arena, json_text(rule, "project"))));
    const struct json *suggestions = json_get(verdict, "suggestions");
    bool asks = str_is(json_text(verdict, "effect"), "ask");
    if (asks && suggestions && suggestions->count)
        buf_puts(&buf, "it would pass with:\n");
    for (const struct json *s = asks && suggestions ? suggestions->first : NULL; s; s = s->next) {
        buf_printf(&buf, "  %.*s:", STR_ARG(text_line(arena, json_text(s, "label"))));
        for (const struct json *text = json_first(s, "rules"); text; text = text->next)
            buf_printf(&buf, " %.*s", STR_ARG(text_line(arena, text->text)));
        buf_putc(&buf, '\n');
    }
    cli_out(buf_str(&buf));
}

struct rc policy_explain_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    const struct json *input;
    const char *folder;
    struct reply reply;
    CHECK(cli->argc == 2);
    TRY(local_input(cli, cli->argv[1], &input, err));
    const char *cwd = option_text(cli, "cwd");
    TRY(local_folder(cli, cwd ? cwd : ".", &folder, err));
    json_object(&out, J("name", cli->argv[0]), J_RAW("input", input->raw), J("cwd", folder),
                J("sessionId", option_text(cli, "session")), J("permissionMode", option_text(cli, "mode")));
    TRY(remote_post(cli, STR("/api/policy/explain"), buf_str(&body), &reply, err));
    if (!remote_printed(cli, &reply))
        print_verdict(cli, &cli->arena, reply.json);
    return RC_OK;
}

/* ---- trust ---- */

/* The rules are shown and the hash of what was shown is sent: a file that changes in between is refused by the
 * server. */
struct rc policy_trust_command(struct cli *cli, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct arena *arena = &cli->arena;
    struct reply reply;
    bool forget = option_flag(cli, "forget");
    CHECK(cli->argc == 1);
    struct str target = arena_printf(arena, "/api/policy?session=%s",
                                     remote_escape(arena, str_of(cli->argv[0])).p);
    TRY(remote_get(cli, target, &reply, err));
    const struct json *project = json_get(reply.json, "project");
    struct str path = text_line(arena, json_text(project, "path"));
    const struct json *rules = json_get(project, "rules");
    for (const struct json *rule = !forget && rules ? rules->first : NULL; rule; rule = rule->next)
        cli_note("  %.*s %.*s", STR_ARG(text_line(arena, json_text(rule, "effect"))),
                 STR_ARG(text_line(arena, json_text(rule, "rule"))));
    json_object(&out, J("sessionId", cli->argv[0]), J("hash", json_text(project, "hash")),
                J_BOOL("trusted", !forget));
    TRY(signing_post(cli, STR("/api/policy/trust"), buf_str(&body), &reply, err));
    cli_note("%.*s is %s", STR_ARG(path), forget ? "no longer trusted" : "trusted as it is now, to the byte");
    return RC_OK;
}
