/* nod answer: an agent's questions, shown and answered.
 *
 * The answers go to the gate as an allow of the call with them filled in. On a terminal each question is asked
 * in turn; elsewhere they come with -a, in the order of the questions.
 */
#include "agents/questions.h"
#include "base/limits.h"
#include "cli/view.h"

#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 4096, ANSWERS_MAX = 64 };

struct answer_ask {
    const struct json *call; /* the call as the server lists it */
    struct questions questions;
};

static bool asks(struct cli *cli, const struct json *call, struct answer_ask *ret_asked)
{
    if (rc_bad(view_whole(cli, &cli->arena, call, &call, NULL)))
        return false;
    const struct json *tool_call = json_get(call, "toolCall");
    ret_asked->call = call;
    return questions_read(&cli->arena, json_text(tool_call, "name"), json_get(tool_call, "input"),
                          &ret_asked->questions);
}

/* The one that was named, or the only one that asks. */
static struct rc find_asked(struct cli *cli, struct answer_ask *ret_asked, struct err *err)
{
    struct reply pending;
    const struct json *call = NULL;
    struct answer_ask other;
    unsigned found = 0;
    TRY(view_pending_all(cli, &cli->arena, option_text(cli, "session"), NULL, &pending, err));
    if (cli->argc > 0) {
        TRY(view_match(pending.json, cli->argv[0], &call, err));
        if (!call)
            return err_set(err, ERR_NOT_FOUND, "no call '%s' is waiting; see nod pending", cli->argv[0]);
        if (!asks(cli, call, ret_asked))
            return err_set(err, ERR_INVALID, "this call asks no questions: use nod approve or nod deny");
        return RC_OK;
    }
    for (call = json_get(pending.json, "pendingApprovals")->first; call; call = call->next)
        if (questions_tool(json_text(json_get(call, "toolCall"), "name")) &&
            asks(cli, call, found ? &other : ret_asked))
            found++;
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND, "no question is waiting; nod pending lists every call that waits");
    if (found > 1)
        return err_set(err, ERR_AMBIGUOUS, "%u calls ask questions: name one of them; nod pending lists them", found);
    return RC_OK;
}

/* ---- showing ---- */

static void show_question(struct cli *cli, struct buf *out, const struct asked_question *q)
{
    struct arena *arena = &cli->arena;
    unsigned number = 0;
    if (!str_empty(q->header))
        buf_printf(out, "%.*s: ", STR_ARG(text_line(arena, q->header)));
    buf_printf(out, "%.*s", STR_ARG(text_line(arena, q->words)));
    if (!str_eq(q->key, q->words))
        buf_printf(out, " (%.*s)", STR_ARG(text_line(arena, q->key)));
    if (q->type == QUESTION_YES_NO)
        buf_puts(out, " (yes or no)");
    buf_puts(out, q->several ? " (several, with commas)\n" : "\n");
    for (const struct json *o = q->options ? q->options->first : NULL; o; o = o->next) {
        buf_printf(out, "  %u  %.*s", ++number, STR_ARG(text_line(arena, question_option_label(o))));
        if (!str_empty(question_option_about(o)))
            buf_printf(out, ": %.*s", STR_ARG(text_line(arena, question_option_about(o))));
        buf_putc(out, '\n');
    }
}

static void show_heading(struct cli *cli, struct buf *out, const struct answer_ask *asked)
{
    if (!str_empty(asked->questions.heading))
        buf_printf(out, "%.*s\n", STR_ARG(text_line(&cli->arena, asked->questions.heading)));
}

static void show_all(struct cli *cli, const struct answer_ask *asked)
{
    BUF_SCOPE(out, TEXT_BYTES_MAX);
    show_heading(cli, &out, asked);
    for (size_t i = 0; i < asked->questions.count; i++)
        show_question(cli, &out, &asked->questions.all[i]);
    cli_out(buf_str(&out));
}

/* ---- answers ---- */

/* False: the person ended the input instead. */
static bool ask_each(struct cli *cli, const struct answer_ask *asked, struct str *answers)
{
    BUF_SCOPE(heading, TEXT_BYTES_MAX);
    show_heading(cli, &heading, asked);
    cli_out(buf_str(&heading));
    for (size_t i = 0; i < asked->questions.count; i++) {
        BUF_SCOPE(out, TEXT_BYTES_MAX);
        char line[LINE_BYTES_MAX];
        show_question(cli, &out, &asked->questions.all[i]);
        buf_puts(&out, "> ");
        cli_out(buf_str(&out));
        (void)fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            return false;
        answers[i] = arena_str(&cli->arena, str_trim(str_of(line)));
    }
    return true;
}

/* Answers by -a come before the terminal, so that scripts never wait for input. */
static struct rc collect(struct cli *cli, const struct answer_ask *asked, struct str *answers, size_t *ret_count,
                         struct err *err)
{
    size_t at = 0, count = 0;
    for (const char *each; (each = option_each(cli, "answer", &at));) {
        if (count == ANSWERS_MAX)
            return err_set(err, ERR_INVALID, "more than %d answers", ANSWERS_MAX);
        answers[count++] = str_of(each);
    }
    *ret_count = count;
    if (count)
        return RC_OK;
    if (!isatty(STDIN_FILENO)) {
        show_all(cli, asked);
        return err_set(err, ERR_INVALID, "nothing was answered: say -a ANSWER for each question, in this order");
    }
    if (!ask_each(cli, asked, answers))
        return err_set(err, ERR_INVALID, "nothing was answered");
    *ret_count = asked->questions.count;
    return RC_OK;
}

/* An answer is a permission with another input: the tool's own, with the answers in it. */
static struct rc send(struct cli *cli, const struct answer_ask *asked, struct str input, struct err *err)
{
    JSON_SCOPE(body, out, LIMIT_BODY_BYTES);
    struct arena *arena = &cli->arena;
    struct reply reply;
    struct str call = json_text(asked->call, "toolCallId"), session = json_text(asked->call, "sessionId");
    json_object(&out, J("decision", "allow_once"), J_RAW("updatedInput", input),
                J("digest", json_text(asked->call, "digest")));
    TRY(remote_post(cli, arena_printf(arena, "/api/sessions/%s/approvals/%s", remote_escape(arena, session).p,
                                      remote_escape(arena, call).p), buf_str(&body), &reply, err));
    if (!remote_printed(cli, &reply))
        cli_out(arena_printf(arena, "answered %.*s\n", STR_ARG(text_line(arena, call))));
    return RC_OK;
}

/* Everything is collected before anything is sent: Ctrl-C in between answers nothing. */
struct rc answer_command(struct cli *cli, struct err *err)
{
    BUF_SCOPE(input, LIMIT_BODY_BYTES);
    struct answer_ask asked;
    struct str answers[ANSWERS_MAX] = {0};
    size_t count = 0;
    TRY(find_asked(cli, &asked, err));
    TRY(collect(cli, &asked, answers, &count, err));
    TRY(questions_answer(&input, &asked.questions, answers, count, err));
    return send(cli, &asked, buf_str(&input), err);
}
