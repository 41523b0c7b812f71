/* The question at the terminal: what would happen, and the answer.
 *
 * y yes, once   s yes, for the rest of the session   a yes, always   n no, with words for the agent
 * e change the input first   q no, and end the run
 * While the person thinks, others may answer from elsewhere: then the question is taken back.
 */
#include "base/limits.h"
#include "cli/run.h"
#include "cli/view.h"
#include "io/file.h"

#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LOOK_MS = 700, LINE_BYTES_MAX = 8192, DIFF_LINES_SHOWN = 200 };

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

static enum tint tint_of(struct str line)
{
    char first = line.n ? line.p[0] : ' ';
    if (str_starts(line, STR("--- ")) || str_starts(line, STR("+++ ")))
        return TINT_BOLD;
    return first == '+' ? TINT_GREEN : first == '-' ? TINT_RED : first == '@' ? TINT_CYAN : TINT_NONE;
}

static void show_diff(struct buf *buf, const struct cli *cli, struct arena *arena, const struct json *preview)
{
    const struct json *lines = json_get(preview, "unified");
    unsigned shown = 0;
    for (const struct json *line = lines->first; line && shown < DIFF_LINES_SHOWN; line = line->next, shown++)
        buf_printf(buf, "  %.*s\n",
                   STR_ARG(text_tinted(arena, cli->color, tint_of(line->text), text_line(arena, line->text))));
    if (lines->count > DIFF_LINES_SHOWN)
        buf_printf(buf, "  … %u more lines\n", lines->count - DIFF_LINES_SHOWN);
}

/* Shows the warnings of a call (key riskWords) or of its preview (key warnings). */
static void show_warnings(struct buf *buf, const struct cli *cli, struct arena *arena, const struct json *of,
                          const char *key)
{
    const struct json *warnings = json_get(of, key);
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next)
        buf_printf(buf, "  %.*s\n",
                   STR_ARG(text_tinted(arena, cli->color, TINT_YELLOW,
                                       arena_printf(arena, "! it %.*s", STR_ARG(text_line(arena, w->text))))));
}

void run_show_preview(struct buf *buf, const struct cli *cli, struct arena *arena, const struct json *preview)
{
    if (json_get(preview, "unified")) {
        show_diff(buf, cli, arena, preview);
    } else if (str_is(json_text(preview, "type"), "command")) {
        text_block(buf, json_text(preview, "command"), 4);
    } else if (preview) {
        text_json(buf, json_get(preview, "input") ? json_get(preview, "input") : preview, 4);
        buf_puts(buf, "\n");
    }
    show_warnings(buf, cli, arena, preview, "warnings");
}

struct str run_sub_agent(struct str actor)
{
    struct str mark = STR("nod agent: ");
    return str_starts(actor, mark) ? str_sub(actor, mark.n, actor.n) : STR_NONE;
}

static void show(struct running *running, struct arena *arena, const struct json *call)
{
    struct cli *cli = running->cli;
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    const struct json *reason = json_get(call, "reason");
    if (!running->fresh)
        buf_puts(&buf, "\n");
    struct str who = run_sub_agent(json_text(call, "agent"));
    struct str summary = arena_printf(arena, "%.*s%s%.*s", STR_ARG(who), who.n ? ": " : "",
                                      STR_ARG(json_text(call, "summary")));
    buf_printf(&buf, "%.*s\n", STR_ARG(text_tinted(arena, cli->color, TINT_BOLD, text_line(arena, summary))));
    run_show_preview(&buf, cli, arena, json_get(call, "preview"));
    show_warnings(&buf, cli, arena, call, "riskWords");
    buf_printf(&buf, "  %.*s\n",
               STR_ARG(text_tinted(arena, cli->color, TINT_DIM, text_line(arena, json_text(reason, "why")))));
    cli_out(buf_str(&buf));
    running->fresh = true;
}

/* ---- reading ---- */

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
    return str_is(json_text(reply.json, "status"), "awaiting");
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

static struct rc run_editor(const char *path, struct err *err)
{
    const char *editor = getenv("VISUAL") ? getenv("VISUAL") : getenv("EDITOR");
    char *argv[] = {"sh", "-c", "exec ${0} \"$1\"", (char *)(editor && editor[0] ? editor : "vi"), (char *)path, NULL};
    pid_t child;
    int status;
    int failed = posix_spawnp(&child, "sh", NULL, NULL, argv, environ);
    if (failed)
        return err_set(err, ERR_IO, "cannot start an editor: %s", strerror(failed));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        return err_set(err, ERR_IO, "the editor ended with an error");
    return RC_OK;
}

/* The input as the person leaves it in the editor. */
static struct rc edit(struct arena *arena, const struct json *input, const struct json **ret_input, struct err *err)
{
    char path[] = "/tmp/nod-input-XXXXXX.json";
    struct str text;
    int fd = mkstemps(path, 5);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a file to edit: %s", strerror(errno));
    ssize_t put = write(fd, input->raw.p, input->raw.n);
    (void)close(fd);
    struct rc rc = put == (ssize_t)input->raw.n ? run_editor(path, err) : err_set(err, ERR_IO, "cannot write %s", path);
    if (rc_ok(rc))
        rc = file_read(arena, path, LIMIT_BODY_BYTES, &text, err);
    if (rc_ok(rc))
        rc = json_parse(arena, str_trim(text), ret_input, err);
    (void)unlink(path);
    return rc;
}

/* ---- answering ---- */

struct answer {
    const char *decision, *feedback;
    const struct json *input; /* NULL: as asked */
};

static struct rc send(struct running *running, struct arena *arena, const struct json *call,
                      const struct answer *answer, struct err *err)
{
    BUF_SCOPE(body, LIMIT_BODY_BYTES);
    struct json_out out = json_out(&body);
    struct query query = {.method = "POST"};
    struct reply reply;
    json_open(&out, '{');
    json_member(&out, "decision", str_of(answer->decision));
    json_member(&out, "feedback", str_of(answer->feedback));
    json_member_raw(&out, "updatedInput", answer->input ? answer->input->raw : STR_NONE);
    json_member(&out, "digest", json_text(call, "digest"));
    json_close(&out, '}');
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

static struct rc ask_person(struct running *running, struct arena *arena, const struct json *call, struct err *err)
{
    struct str id = json_text(call, "toolCallId");
    char line[LINE_BYTES_MAX], words[LINE_BYTES_MAX] = "";
    for (;;) {
        const struct json *input = NULL;
        size_t i = 0;
        prompt(running->cli, arena);
        if (!read_line(running, id, line)) {
            cli_out(STR("\n"));
            return RC_OK;
        }
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
        if (key == 'e' && rc_bad(edit(arena, json_get(json_get(call, "toolCall"), "input"), &input, err))) {
            cli_note("nod: %s", err->text);
            continue;
        }
        struct answer answer = {.decision = choices[i].decision, .feedback = words, .input = input};
        return send(running, arena, call, &answer, err);
    }
}

struct rc run_ask(struct running *running, struct arena *arena, struct str call, struct err *err)
{
    struct reply pending;
    TRY(view_pending(running->cli, arena, arena_c(arena, running->session), &pending, err));
    const struct json *calls = json_get(pending.json, "pendingApprovals");
    for (const struct json *one = calls ? calls->first : NULL; one; one = one->next) {
        if (!str_eq(json_text(one, "toolCallId"), call))
            continue;
        show(running, arena, one);
        if (running->asks)
            return ask_person(running, arena, one, err);
        cli_note("  waiting for an answer: nod approve %.*s", STR_ARG(text_operand(arena, call)));
    }
    return RC_OK;
}
