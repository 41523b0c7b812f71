/* The tripwire at the Unix socket: an answer from a process below an agent is not a person's answer.
 *
 * The kernel says which process is at the other end. Those that ask with an agent's token are remembered: a hook or an
 * MCP server stands for the program that started it, a wrapper for itself. A request that decides or changes
 * anything with a person's token is refused when its process is a descendant of one of those, or of a command that
 * a server or its executor runs.
 *
 * It is a tripwire and no boundary: a process of the same user that forks twice has other ancestors, and one that talks
 * TCP is not looked at. docs/SECURITY.md says what a boundary is. Runs on the loop. */
#include "api/below.h"

#include "base/log.h"
#include "event/shapes.h"
#include "io/clock.h"
#include "io/process.h"

#include <stdlib.h>

enum { ANCESTORS_MAX = 64, SHELLS_MAX = 4, PROCESSES_MAX = 256, ALERT_EVERY_MS = 60000 };

/* A process that asked as an agent; in a place that was never used all is 0. */
struct below_agent {
    struct process_id process;
    uint64_t came;  /* its number among all that were remembered, from 1 on */
    uint64_t asked; /* the number of its last request, of all that came from agents */
};

/* The last processes that asked as agents: the one that has not asked for longest is forgotten for a new one. */
struct below {
    struct below_agent agents[PROCESSES_MAX];
    uint64_t came, asked;
    int64_t next_alert_ms;
};

/* The kernel names the process that connected, so one look at /proc serves all requests of a connection. The mark of
 * the connection keeps what was seen: 0, nothing yet; `came` and place of the agent that it is; or PLACE_CLEAR with the
 * `came` of the newest agent, when it is below no agent and no command. PLACE_CLEAR holds until a further agent comes:
 * a process gets no new ancestors but by the end of one between them. */
enum { PLACE_CLEAR = PROCESSES_MAX, PLACES };

static uint64_t mark_of(uint64_t came, size_t place) { return came * PLACES + place; }

struct below *below_new(void) { return heap_new(sizeof(struct below)); }
void below_free(struct below *below) { free(below); }

static bool started_by_agent(const struct exchange *x)
{
    return x->route->handle == api_hooks_ask || x->route->handle == api_mcp_message;
}

/* The process that the asker stands for. A hook that a person starts by hand stands for nobody, nor does the one that
 * `nod setup` starts as a test: it answers that call itself. */
static bool find_agent(const struct exchange *x, pid_t asker, struct process_id *ret_agent)
{
    pid_t parent;
    if (!process_look(asker, ret_agent, &parent))
        return false;
    if (!started_by_agent(x))
        return true;
    for (int i = 0; i < SHELLS_MAX && process_shell(parent) == SHELL_LINE; i++) {
        struct process_id shell;
        if (!process_look(parent, &shell, &parent))
            return false;
    }
    return !process_adopts(parent) && process_shell(parent) != SHELL_INTERACTIVE && !process_is_called(parent, "nod") &&
           process_look(parent, ret_agent, &parent);
}

/* Number and start time together: a number that was given to another process since does not match. */
static struct below_agent *find(struct below *below, const struct process_id *process)
{
    for (struct below_agent *at = below->agents; at < below->agents + PROCESSES_MAX; at++)
        if (at->process.pid == process->pid && at->process.started == process->started)
            return at;
    return NULL;
}

static struct below_agent *find_silent(struct below *below)
{
    struct below_agent *silent = below->agents;
    for (struct below_agent *at = below->agents; at < below->agents + PROCESSES_MAX; at++)
        if (at->asked < silent->asked)
            silent = at;
    return silent;
}

/* Of more than PROCESSES_MAX agents one is forgotten, and the tripwire no longer sees its descendants. */
static struct below_agent *look_for_agent(const struct exchange *x)
{
    struct below *below = x->api->below;
    struct process_id process = {0};
    uint32_t uid;
    int pid;
    if (!http_peer(x->http, &uid, &pid) || !find_agent(x, pid, &process))
        return NULL;
    struct below_agent *agent = find(below, &process);
    if (!agent) {
        agent = find_silent(below);
        *agent = (struct below_agent){.process = process, .came = ++below->came};
    }
    return agent;
}

/* A mark is of the asker itself; where it stands for another process, that is looked for each time. */
static void remember(const struct exchange *x)
{
    struct below *below = x->api->below;
    uint64_t *mark = http_mark(x->http);
    size_t place = *mark % PLACES;
    bool marks = !started_by_agent(x);
    bool known = marks && *mark && place < PROCESSES_MAX && *mark == mark_of(below->agents[place].came, place);
    struct below_agent *agent = known ? &below->agents[place] : look_for_agent(x);
    if (agent)
        agent->asked = ++below->asked;
    if (agent && marks)
        *mark = mark_of(agent->came, (size_t)(agent - below->agents));
}

/* A process that ends during the walk leaves its children to others: then nothing is known of the ancestors, or not of
 * all of them (*ret_whole is false). */
static bool is_below(struct below *below, pid_t pid, bool *ret_whole)
{
    struct process_id process, first = {0};
    pid_t at = pid, parent;
    for (int i = 0; i < ANCESTORS_MAX && at > 1 && process_look(at, &process, &parent); i++, at = parent) {
        if (i == 0)
            first = process;
        if (find(below, &process) || process_is_called(at, "nod-supervisor"))
            return true;
    }
    *ret_whole = at <= 1;
    return first.pid && (!process_look(pid, &process, &parent) || process.started != first.started);
}

/* Whether the process lives and is below no agent and no command that Nod runs, as far as can be seen. */
static bool is_clear(const struct exchange *x, pid_t pid)
{
    struct below *below = x->api->below;
    uint64_t *mark = http_mark(x->http), clear = mark_of(below->came, PLACE_CLEAR);
    bool whole = false;
    if (!process_lives(pid))
        return false;
    if (*mark == clear)
        return true;
    if (is_below(below, pid, &whole))
        return false;
    if (whole)
        *mark = clear;
    return true;
}

static void alert_kept(struct append *append) { append_free(append); }

/* Tells the person whose token it was; once a minute, so that a loop of it fills no log. */
static void tell(const struct exchange *x)
{
    int64_t now_ms = clock_wall_ms();
    if (now_ms < x->api->below->next_alert_ms)
        return;
    x->api->below->next_alert_ms = now_ms + ALERT_EVERY_MS;
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    (void)append_event(append, (struct event){
        .kind = EVENT_TOKEN_CHANGED, .at_ms = now_ms, .actor = arena_str(arena, x->token->name),
        .data = DATA(arena, token_tripped, .id = x->token->id, .person = x->token->name,
                     .what = arena_printf(arena, "%.*s %.*s", STR_ARG(x->http->method), STR_ARG(x->http->path)))});
    append->done = alert_kept;
    gate_keep(x->gate, append);
}

/* For every request over the Unix socket. An agent's requests are noted, a person's are compared with those. */
struct rc below_check(struct exchange *x, struct err *err)
{
    uint32_t uid;
    int pid;
    bool looks = str_is(x->http->method, "GET") && !http_header(x->http, "upgrade").p;
    if (looks || !x->api->below || !x->token || !http_mark(x->http)) /* `nod setup` tries an agent's token by looking */
        return RC_OK;
    if (x->token->role == ROLE_AGENT) {
        remember(x);
        return RC_OK;
    }
    if (!http_peer(x->http, &uid, &pid) || pid <= 0 || is_clear(x, pid))
        return RC_OK;
    log_line(LOG_WARN, "a process below an agent tried to act as a person", LOG_S("token", x->token->name),
             LOG_I("pid", pid), LOG_S("method", x->http->method), LOG_S("path", x->http->path));
    tell(x);
    return err_set(err, ERR_BELOW_AN_AGENT,
                   "this comes from a process that an agent has started, so it counts as no person's; answer in "
                   "another terminal or on the page, or set `tripwire = no` at the server");
}
