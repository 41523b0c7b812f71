/* nod codex talk: the client of Codex' app-server, in the place of its own terminal.
 *
 * Every command, patch and call of an MCP server's tool that Codex asks about waits at the gate, in a thread of its
 * own. The words of a denial follow it within the turn. All other requests are refused. The conversation goes into the
 * log.
 */
#include "cli/relay/relay.h"

#include "agents/codex_app.h"
#include "agents/agents.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/lock.h"
#include "cli/agent_box.h"
#include "cli/identity.h"
#include "cli/local.h"
#include "cli/remote.h"
#include "cli/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    CODEX_LINE_BYTES = 32 << 20,
    PROMPT_BYTES_MAX = 1 << 20,
    HELD_MAX = 64,
    ITEMS_MAX = 256,
    ITEM_BYTES_MAX = 8 << 20,
    DROPPED_MAX = 1000,
    OUR_WORDS_MAX = 8,
};

/* An item that Codex has announced: its JSON, and the gate's id of the call when it was allowed. */
struct codex_item {
    struct arena arena;
    struct str id, json, call;
};

/* A request of Codex that waits for an answer. Its thread owns it; others only set `cancelled` and `answered`. */
struct codex_held {
    struct codex_held *next;
    struct arena arena;
    struct codex_talk *talk;
    struct codex_message message;
    struct str call, item;
    bool answered;             /* with the lock held */
    atomic_bool cancelled;
};

/* One `nod codex talk`; static, because threads use it until the process ends. */
struct codex_talk {
    struct cli *cli;
    struct relay_child child;
    struct agent_box *box;     /* NULL: it runs in none */
    struct relay_gate gate;
    struct relay_record record;
    pthread_mutex_t lock;      /* for everything below */
    pthread_cond_t moved; /* a turn, the talk or Codex has ended, or has begun */
    struct codex_held *held;
    unsigned held_count, item_next, dropped; /* dropped: lines that could not be read */
    struct codex_item items[ITEMS_MAX];
    struct arena arena;        /* of the two ids */
    struct str thread, turn; /* Codex's own ids; `thread` is empty before it has begun */
    struct buf said; /* the agent's words in this turn */
    struct str trouble;        /* what Codex refused, in its own words */
    bool in_turn, ended; /* ended: Codex has closed its output */
};

static const struct str source = {"codex", 5};

/* ---- the gate ---- */

/* Asks the gate and waits, in a thread of its own, until there is an answer or the asker takes it back. */
static struct rc judge(struct codex_held *held, struct codex_ask *ask, struct call *ret_call, struct err *err)
{
    struct relay_gate *gate = &held->talk->gate;
    struct relay_ask asked = {.gate = gate, .arena = &held->arena, .cancelled = &held->cancelled};
    TRY(codex_ask_read(&held->arena, &held->message, held->item, ask, err));
    struct relay_question question = {.id = held->call, .name = ask->name, .input = ask->input,
                                      .dialect = ask->dialect, .cwd = str_empty(ask->cwd) ? gate->cwd : ask->cwd};
    TRY(relay_ask_about(&asked, &question, err));
    *ret_call = asked.call;
    return RC_OK;
}

static void leave(struct codex_held *held)
{
    struct codex_talk *talk = held->talk;
    lock_take(&talk->lock);
    LIST_REMOVE(talk->held, held);
    talk->held_count--;
    lock_drop(&talk->lock);
    arena_free(held);
}

/* With the lock held. */
static struct codex_item *find_item(struct codex_talk *talk, struct str id)
{
    return ROW_FIND(talk->items, ITEMS_MAX, row, !str_empty(id) && str_eq(row->id, id));
}

/* With the lock held: the one call of this server's tools that is announced and not over. */
static struct codex_item *find_tool(struct codex_talk *talk, struct str server)
{
    ARENA_SCOPE(arena);
    struct codex_item *found = NULL;
    for (size_t i = 0; i < ITEMS_MAX; i++) {
        const struct json *item = NULL;
        struct codex_item *one = &talk->items[i];
        if (str_empty(one->json) || !str_empty(one->call) || rc_bad(json_parse(&arena, one->json, &item, NULL)) ||
            !str_is(json_text(item, "type"), "mcpToolCall") || !str_eq(json_text(item, "server"), server))
            continue;
        if (found)
            return NULL;
        found = one;
    }
    return found;
}

/* Codex is told why in a second message, because its answers to a request hold no words. */
static void answer(struct codex_held *held, bool allowed, bool stops, struct str words)
{
    struct codex_talk *talk = held->talk;
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    lock_take(&talk->lock);
    bool mine = !held->answered;
    held->answered = true;
    bool is_tool = codex_ask_kind(&held->message) == CODEX_TOOL;
    struct codex_item *item = is_tool ? find_tool(talk, json_text(held->message.params, "serverName"))
                                      : find_item(talk, held->message.item);
    if (item && mine && allowed)
        item->call = arena_str(&item->arena, held->call);
    lock_drop(&talk->lock);
    if (!mine)
        return;
    codex_answer(&line, &held->message, allowed ? CODEX_ACCEPT : stops ? CODEX_STOP : CODEX_DECLINE);
    (void)relay_pipe_send(&talk->child.in, &line);
    if (allowed || stops)
        return;
    buf_clear(&line);
    codex_steer(&line, held->message.thread, held->message.turn, words);
    if (!line.over)
        (void)relay_pipe_send(&talk->child.in, &line);
}

/* A thread for each request, detached. An edited call is refused with the person's input, which the agent may use
 * itself. */
static void *wait_at_gate(void *arg)
{
    struct codex_held *held = arg;
    struct err err = {.code = ERR_OK};
    struct call call = {0};
    struct codex_ask ask = {0};
    struct rc rc = judge(held, &ask, &call, &err);
    bool allowed = rc_ok(rc) && call.status == CALL_ALLOWED && call_allowed(&call);
    bool edited = allowed && !str_empty(call.updated_input);
    struct str words = rc_bad(rc) ? arena_printf(&held->arena, "Nod did not allow this: %s", err.text)
                       : edited   ? arena_printf(&held->arena, "A person wants another input; use it instead: %.*s",
                                                 STR_ARG(call.updated_input))
                                  : agent_words(&held->arena, &call);
    if (edited)
        relay_report(&held->talk->gate, held->call, STR("\"Codex cannot run an edited call\""), true);
    answer(held, allowed && !edited, rc_ok(rc) && call.status == CALL_ABORTED,
           arena_printf(&held->arena, "%.*s was not allowed: %.*s", STR_ARG(ask.name), STR_ARG(words)));
    leave(held);
    return NULL;
}

/* Each question has a thread; at most HELD_MAX at a time, the others are refused. */
static void hold(struct codex_talk *talk, const struct codex_message *m)
{
    struct codex_held *held = heap_new(sizeof *held);
    held->talk = talk;
    held->call = arena_str(&held->arena, str_of(id_new("call").text));
    CHECK(rc_ok(codex_read(&held->arena, arena_str(&held->arena, m->json->raw), &held->message, NULL)));
    lock_take(&talk->lock);
    struct codex_item *item = codex_ask_kind(m) == CODEX_TOOL ? find_tool(talk, json_text(m->params, "serverName"))
                                                              : find_item(talk, m->item);
    held->item = item ? arena_str(&held->arena, item->json) : STR_NONE;
    bool room = talk->held_count < HELD_MAX;
    held->next = talk->held;
    talk->held = held;
    talk->held_count++;
    lock_drop(&talk->lock);
    if (room && rc_ok(cli_start_thread(wait_at_gate, held, NULL)))
        return;
    answer(held, false, false, STR("Too many requests wait already: answer some of them, then try again."));
    leave(held);
}

/* An answer to one of two open requests of the same id could be taken for the other's. */
static bool is_open(struct codex_talk *talk, struct str id)
{
    LOCK_SCOPE(&talk->lock);
    const struct codex_held *held = talk->held;
    while (held && !str_eq(held->message.id, id))
        held = held->next;
    return held;
}

static void refuse(struct codex_talk *talk, const struct codex_message *m, const char *why)
{
    BUF_SCOPE(no, LIMIT_BODY_BYTES);
    cli_note("nod codex: refused, as %s: %.*s", why, STR_ARG(m->method));
    codex_refuse(&no, m->id, str_of(why));
    (void)relay_pipe_send(&talk->child.in, &no);
}

/* Withdraws the call of one question (`id` empty: of all) that Codex no longer wants answered. */
static void take_back(struct codex_talk *talk, struct str id)
{
    ARENA_SCOPE(arena);
    struct str calls[HELD_MAX];
    size_t count = 0;
    lock_take(&talk->lock);
    for (struct codex_held *held = talk->held; held && count < HELD_MAX; held = held->next) {
        if (held->answered || !(str_empty(id) || str_eq(held->message.id, id)))
            continue;
        held->answered = true;
        atomic_store(&held->cancelled, true);
        calls[count++] = arena_str(&arena, held->call);
    }
    lock_drop(&talk->lock);
    for (size_t i = 0; i < count; i++)
        relay_ask_cancel(&talk->gate, calls[i]);
}

/* ---- from Codex ---- */

/* A ring of the newest items: a permission names its item, whose content was told when the item began. */
static void take_started(struct codex_talk *talk, const struct json *item)
{
    struct str id = json_text(item, "id"), type = json_text(item, "type");
    bool acts = str_is(type, "commandExecution") || str_is(type, "fileChange") || str_is(type, "mcpToolCall");
    if (!acts || str_empty(id) || item->raw.n > ITEM_BYTES_MAX)
        return;
    LOCK_SCOPE(&talk->lock);
    struct codex_item *known = find_item(talk, id);
    if (!known)
        known = &talk->items[talk->item_next++ % ITEMS_MAX];
    arena_done(&known->arena);
    *known = (struct codex_item){0};
    known->id = arena_str(&known->arena, id);
    known->json = arena_str(&known->arena, item->raw);
}

static void take_completed(struct codex_talk *talk, const struct json *item)
{
    ARENA_SCOPE(arena);
    struct str call = STR_NONE, said = json_text(item, "text");
    lock_take(&talk->lock);
    struct codex_item *known = find_item(talk, json_text(item, "id"));
    if (known) {
        call = arena_str(&arena, known->call);
        arena_done(&known->arena);
        *known = (struct codex_item){0};
    }
    bool speaks = str_is(json_text(item, "type"), "agentMessage");
    if (speaks)
        buf_put(&talk->said, said);
    lock_drop(&talk->lock);
    if (!str_empty(call))
        relay_report(&talk->gate, call, json_raw(item, "aggregatedOutput", STR_NONE),
                     !str_is(json_text(item, "status"), "completed"));
    if (!speaks)
        return;
    BUF_SCOPE(safe, TEXT_BYTES_MAX);
    text_block(&safe, said, 0);
    cli_out(buf_str(&safe));
    cli_out(STR("\n"));
    (void)fflush(stdout);
}

static void take_end(struct codex_talk *talk, const struct json *turn)
{
    ARENA_SCOPE(arena);
    struct str status = json_text(turn, "status");
    take_back(talk, STR_NONE);
    lock_take(&talk->lock);
    struct str said = arena_str(&arena, buf_str(&talk->said));
    buf_clear(&talk->said);
    lock_drop(&talk->lock);
    relay_note(&talk->gate, source, "AGENT_MESSAGE", NULL, said);
    relay_note(&talk->gate, source, "RUN_STATUS", str_is(status, "completed") ? "completed" : "failed", status);
    lock_take(&talk->lock);
    talk->in_turn = false;
    (void)pthread_cond_broadcast(&talk->moved);
    lock_drop(&talk->lock);
}

static void take_answer(struct codex_talk *talk, const struct codex_message *m)
{
    const struct json *result = json_get(m->json, "result"), *error = json_get(m->json, "error");
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    struct str thread = json_text(json_get(result, "thread"), "id");
    bool words = str_is(m->id, "\"nod:words\""); /* a failure of this message is ignored: its turn may be over */
    lock_take(&talk->lock);
    if (!str_empty(thread))
        talk->thread = arena_str(&talk->arena, thread);
    if (error && !words)
        talk->trouble = arena_str(&talk->arena, json_text(error, "message"));
    (void)pthread_cond_broadcast(&talk->moved);
    lock_drop(&talk->lock);
    if (result && str_is(m->id, "\"nod:init\"")) {
        codex_initialized(&line);
        (void)relay_pipe_send(&talk->child.in, &line);
        buf_clear(&line);
        codex_start_thread(&line, talk->gate.cwd);
        (void)relay_pipe_send(&talk->child.in, &line);
    }
}

static void drop(struct codex_talk *talk, const char *why)
{
    if (talk->dropped++ == 0)
        cli_note("nod codex: Codex wrote a line that is not a message: %s", why);
    if (talk->dropped < DROPPED_MAX)
        return;
    cli_note("nod codex: too many such lines; Codex is ended");
    relay_pipe_close(&talk->child.in);
    if (talk->box)
        agent_box_kill(talk->box);
    else
        (void)kill(-talk->child.pid, SIGKILL);
}

static void take_line(void *arg, struct str line)
{
    struct codex_talk *talk = arg;
    ARENA_SCOPE(arena);
    struct codex_message m;
    struct err err = {.code = ERR_OK};
    const struct json *resolved;
    if (str_empty(str_trim(line)))
        return;
    if (rc_bad(codex_read(&arena, line, &m, &err))) {
        drop(talk, err.text);
    } else if (str_empty(m.method)) {
        take_answer(talk, &m);
    } else if (!str_empty(m.id) && is_open(talk, m.id)) {
        refuse(talk, &m, "a request of this id is open already");
    } else if (!str_empty(m.id) && codex_ask_kind(&m) != CODEX_NONE) {
        hold(talk, &m);
    } else if (!str_empty(m.id)) {
        refuse(talk, &m, "Nod does not know this request");
    } else if (str_is(m.method, "item/started")) {
        take_started(talk, json_get(m.params, "item"));
    } else if (str_is(m.method, "item/completed")) {
        take_completed(talk, json_get(m.params, "item"));
    } else if (str_is(m.method, "serverRequest/resolved")) {
        resolved = json_get(m.params, "requestId");
        if (resolved && resolved->raw.n)
            take_back(talk, resolved->raw);
    } else if (str_is(m.method, "turn/completed") && str_eq(m.thread, talk->thread)) {
        take_end(talk, json_get(m.params, "turn"));
    }
}

static void *read_codex(void *arg)
{
    struct codex_talk *talk = arg;
    if (!relay_read_lines(talk->child.out, CODEX_LINE_BYTES, take_line, talk))
        cli_note("nod codex: Codex wrote a line of more than %d bytes, so Codex is ended", CODEX_LINE_BYTES);
    take_back(talk, STR_NONE);
    LOCK_SCOPE(&talk->lock);
    talk->ended = true;
    (void)pthread_cond_broadcast(&talk->moved);
    return NULL;
}

/* ---- prompts ---- */

static struct rc trouble_of(struct codex_talk *talk, struct err *err)
{
    if (!str_empty(talk->trouble))
        return err_set(err, ERR_INVALID, "Codex refuses: %.*s", STR_ARG(talk->trouble));
    return talk->ended ? err_set(err, ERR_UNAVAILABLE, "Codex has ended") : RC_OK;
}

static struct rc begin(struct codex_talk *talk, struct err *err)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    codex_initialize(&line);
    (void)relay_pipe_send(&talk->child.in, &line);
    LOCK_SCOPE(&talk->lock);
    while (str_empty(talk->thread) && !talk->ended && str_empty(talk->trouble))
        (void)pthread_cond_wait(&talk->moved, &talk->lock);
    return trouble_of(talk, err);
}

static struct rc prompt(struct codex_talk *talk, struct str text, struct err *err)
{
    BUF_SCOPE(line, PROMPT_BYTES_MAX * 8);
    codex_start_turn(&line, talk->thread, text);
    if (line.over)
        return err_set(err, ERR_TOO_LARGE, "the prompt is too long");
    relay_note(&talk->gate, source, "USER_MESSAGE", NULL, text);
    relay_note(&talk->gate, source, "RUN_STATUS", "running", STR_NONE);
    lock_take(&talk->lock);
    talk->in_turn = true;
    lock_drop(&talk->lock);
    (void)relay_pipe_send(&talk->child.in, &line);
    lock_take(&talk->lock);
    while (talk->in_turn && !talk->ended && str_empty(talk->trouble))
        (void)pthread_cond_wait(&talk->moved, &talk->lock);
    struct rc rc = talk->in_turn ? trouble_of(talk, err) : RC_OK;
    lock_drop(&talk->lock);
    return rc;
}

struct prompts {
    struct codex_talk *talk;
    struct rc rc;
    struct err *err;
};

static void take_prompt(void *arg, struct str line)
{
    struct prompts *prompts = arg;
    if (rc_ok(prompts->rc) && !str_empty(str_trim(line)))
        prompts->rc = prompt(prompts->talk, line, prompts->err);
}

/* On the command's first thread: it writes prompts and waits for each turn; another thread reads what Codex says. */
static struct rc converse(struct codex_talk *talk, const char *once, struct err *err)
{
    TRY(begin(talk, err));
    if (once)
        return prompt(talk, str_of(once), err);
    struct prompts prompts = {.talk = talk, .rc = RC_OK, .err = err};
    if (!relay_read_lines(STDIN_FILENO, PROMPT_BYTES_MAX, take_prompt, &prompts))
        return err_set(err, ERR_TOO_LARGE, "a prompt is longer than %d bytes", PROMPT_BYTES_MAX);
    return prompts.rc;
}

/* ---- the command ---- */

/* Takes an identity of its own, limited to this folder: what Codex asks is asked by an agent and not by the person. */
static struct rc become_agent(struct codex_talk *talk, struct err *err)
{
    struct cli *cli = talk->cli;
    const char *path = option_text(cli, "identity"), *cwd;
    struct reply reply;
    TRY(local_folder(cli, ".", &cwd, err));
    struct str title = arena_printf(&cli->arena, "codex in %.*s", STR_ARG(local_title(str_of(cwd))));
    struct identity_want want = {.kind = STR("codex"), .about = str_of(cwd), .folder = str_of(cwd), .name = title};
    if (!path) {
        TRY(remote_get(cli, STR("/api/me"), &reply, err));
        TRY(identity_have(cli, &want, &path, err));
    }
    TRY(identity_use(cli, path, err));
    relay_gate_init(&talk->gate, cli, &talk->record);
    talk->gate.cwd = str_of(cwd);
    talk->gate.title = title;
    talk->gate.agent = STR("codex");
    TRY(relay_record_start(&talk->record, cli, err));
    return relay_gate_session(&talk->gate, err);
}

static struct rc start(struct codex_talk *talk, struct err *err)
{
    struct cli *cli = talk->cli;
    char **argv = arena_array(&cli->arena, char *, (size_t)cli->argc + OUR_WORDS_MAX);
    int n = 0;
    argv[n++] = (char *)cli->settings.codex;
    for (int i = 0; i < cli->argc; i++)
        argv[n++] = cli->argv[i];
    if (agent_box_wanted(cli) && getenv(agent_codex.boxed.keys[0].key)) {
        argv[n++] = "-c";
        argv[n++] = (char *)arena_printf(&cli->arena, "openai_base_url=\"http://127.0.0.1:%d/v1\"",
                                         AGENT_BOX_MODEL_PORT).p;
    }
    argv[n++] = "app-server";
    const struct agent_box_wish wish = {.agent = &agent_codex, .record = &talk->record, .session = talk->gate.session,
                                        .thread = talk->gate.thread, .cwd = talk->gate.cwd,
                                        .hint = ", or say where it is with --codex"};
    if (agent_box_wanted(cli))
        return agent_box_start(cli, &wish, argv, &talk->child, &talk->box, err);
    return relay_child_start(argv, NULL, &talk->child, err);
}

/* Ends by _exit, because threads that wait for people may still hold locks. What waits is withdrawn before. */
struct rc codex_talk_command(struct cli *cli, struct err *err)
{
    static struct codex_talk talk = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    talk.cli = cli; /* threads use it until the process ends */
    talk.said = buf_init(512 << 10);
    (void)signal(SIGPIPE, SIG_IGN);
    TRY(become_agent(&talk, err));
    TRY(start(&talk, err));
    TRY(cli_start_thread(read_codex, &talk, err));
    struct rc rc = converse(&talk, option_text(cli, "prompt"), err);
    if (rc_bad(rc))
        cli_note("nod: %s", err->text);
    take_back(&talk, STR_NONE);
    relay_pipe_close(&talk.child.in);
    (void)(talk.box ? agent_box_end(talk.box, &talk.child) : relay_child_end(&talk.child));
    relay_record_end(&talk.record);
    _exit(rc_bad(rc) ? err_exit(rc.code) : 0);
}
