/* The question at the terminal: what would happen, and the answer.
 *
 * y yes, once   s yes, for the rest of the session   a yes, always   n no, with words for the agent
 * e change the input first   q no, and end the run
 * While the person thinks, others may answer from elsewhere: then the question is taken back.
 */
#include "base/limits.h"
#include "cli/body.h"
#include "cli/editor.h"
#include "cli/run.h"
#include "cli/view.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { LOOK_MS = 700, LINE_BYTES_MAX = 8192 };

static const struct {
    char key;
    const char *decision;
    const char *words;
} choices[] = {
    {'y', "allow_once", "yes"},        {'n', "deny", "no"},
    {'s', "allow_session", "session"}, {'a', "allow_always", "always"},
    {'e', "allow_once", "edit"},       {'q', "abort", "quit"},
};

/* ---- showing ---- */

struct str run_sub_agent(struct str actor)
{
    struct str mark = STR("nod agent: ");
    return str_starts(actor, mark) ? str_sub(actor, mark.n, actor.n) : STR_NONE;
}

static void show(struct running *running, struct arena *arena, const struct json *call)
{
    struct cli *cli = running->cli;
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    if (!running->fresh)
        buf_puts(&buf, "\n");
    struct str who = run_sub_agent(json_text(call, "agent"));
    struct str summary = arena_printf(arena, "%.*s%s%.*s", STR_ARG(who), who.n ? ": " : "",
                                      STR_ARG(body_sentence(arena, call)));
    buf_printf(&buf, "%.*s\n", STR_ARG(text_tinted(arena, cli->color, TINT_BOLD, text_line(arena, summary))));
    struct str body = body_beginning(arena, body_lines(arena, call), json_text(call, "toolCallId"));
    body_write(&buf, body, cli->color, cli->width, 2);
    cli_out(buf_str(&buf));
    running->fresh = true;
}

/* ---- reading ---- */

/* Whether the call still waits; if not, prints who answered it. */
static bool still_waits(struct running *running, struct str call)
{
    ARENA_SCOPE(arena);
    struct cli *cli = running->cli;
    struct query query = {.method = "GET"};
    struct reply reply;
    query.target = arena_printf(&arena, "/api/tool-calls/%s?session=%s", remote_escape(&arena, call).p,
                                remote_escape(&arena, running->session).p);
    if (rc_bad(remote_ask(cli, &arena, &query, &reply, NULL)))
        return true; /* the server is unreachable for a moment: sending the answer will report it */
    if (str_is(json_text(reply.json, "status"), "awaiting"))
        return true;
    cli_out(arena_printf(&arena, "\n  %.*s\n", STR_ARG(body_decision(&arena, reply.json))));
    return false;
}

/* False when the question is not open any more, or nothing can be typed. */
static bool read_line(struct running *running, struct str call, char line[LINE_BYTES_MAX])
{
    size_t n = 0;
    for (;;) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        int ready = poll(&in, 1, LOOK_MS);
        if (ready == 0 && !still_waits(running, call))
            return false;
        if (ready <= 0)
            continue;
        ssize_t got = read(STDIN_FILENO, line + n, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        if (line[n] == '\n' || n + 2 == LINE_BYTES_MAX) {
            line[n] = '\0';
            return true;
        }
        n++;
    }
}

/* ---- answering ---- */

struct run_answer {
    const char *decision, *feedback;
    struct str input; /* empty: as asked */
};

/* Sends the answer with the digest of what was shown. Somebody else's earlier answer is shown and is not an error: the
 * run goes on with it. */
static struct rc send(struct running *running, struct arena *arena, const struct json *call,
                      const struct run_answer *answer, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct query query = {.method = "POST"};
    struct reply reply;
    json_object(&out, J("decision", answer->decision), J("feedback", answer->feedback),
                J_RAW("updatedInput", answer->input), J("digest", json_text(call, "digest")));
    query.body = buf_str(&body);
    query.target = arena_printf(arena, "/api/sessions/%s/approvals/%s", remote_escape(arena, running->session).p,
                                remote_escape(arena, json_text(call, "toolCallId")).p);
    struct rc rc = remote_ask(running->cli, arena, &query, &reply, err);
    if (rc.code == ERR_ALREADY_DECIDED) {
        cli_note("%s", err->text);
        return RC_OK;
    }
    return rc;
}

static void prompt(const struct cli *cli, struct arena *arena)
{
    struct str line = text_tinted(arena, cli->color, TINT_BOLD,
                                  STR("  Allow? [y]es, [n]o, for the [s]ession, [a]lways, [e]dit, [q]uit: "));
    cli_out(line);
    (void)fflush(stdout);
}

/* Asks until a key is understood. It ends without an answer when the call is answered elsewhere, or the input is
 * closed. */
static struct rc ask_person(struct running *running, struct arena *arena, const struct json *call, struct err *err)
{
    struct str id = json_text(call, "toolCallId");
    const struct json *asked = json_get(json_get(call, "toolCall"), "input");
    char line[LINE_BYTES_MAX], words[LINE_BYTES_MAX] = "";
    for (;;) {
        struct str input = STR_NONE;
        size_t i = 0;
        prompt(running->cli, arena);
        if (!read_line(running, id, line))
            return RC_OK;
        char key = str_trim(str_of(line)).n ? str_trim(str_of(line)).p[0] : '\0';
        while (i < sizeof choices / sizeof *choices && choices[i].key != key)
            i++;
        if (i == sizeof choices / sizeof *choices)
            continue;
        if (key == 'n') {
            cli_out(STR("  Tell the agent why (or nothing): "));
            (void)fflush(stdout);
            if (!read_line(running, id, words))
                return RC_OK;
        }
        if (key == 'e' && rc_bad(editor_change_input(arena, asked, &input, err))) {
            cli_note("nod: %s", err->text);
            continue;
        }
        struct run_answer answer = {.decision = choices[i].decision, .feedback = words, .input = input};
        return send(running, arena, call, &answer, err);
    }
}

/* Called for each request among the run's events. A call that is no longer pending was answered in between. */
struct rc run_ask(struct running *running, struct arena *arena, struct str call, struct err *err)
{
    struct reply pending;
    TRY(view_pending(running->cli, arena, arena_c(arena, running->session), &pending, err));
    for (const struct json *one = json_first(pending.json, "pendingApprovals"); one; one = one->next) {
        if (!str_eq(json_text(one, "toolCallId"), call))
            continue;
        const struct json *whole;
        TRY(view_whole(running->cli, arena, one, &whole, err));
        struct questions questions;
        show(running, arena, whole);
        if (body_kind(arena, whole, &questions) == BODY_QUESTIONS)
            cli_note("  answer with nod answer %.*s, or on the page (nod login)", STR_ARG(text_operand(arena, call)));
        else if (running->asks)
            return ask_person(running, arena, whole, err);
        else
            cli_note("  waiting for an answer: nod approve %.*s", STR_ARG(text_operand(arena, call)));
    }
    return RC_OK;
}
