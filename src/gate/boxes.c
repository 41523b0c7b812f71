/* The box of a command as the rules make it.
 *
 * Every box has the same tree (box/tree.c). Rules of the managed and the user's layer open more: box.read, box.write,
 * box.socket and box.port. Each of them is judged like a call of its own, so that a deny rule of any layer, or a
 * protected place, keeps it closed. `.git` is open for lines of plain git commands, or by box.write(/.git/).
 * All of it is part of the digest that an answer is bound to. */
#include "gate/inner.h"
#include "gate/boxes.h"

#include "io/links.h"
#include "io/work.h"
#include "tools/tools.h"

#include <errno.h>
#include <stdio.h>

/* The inode noted for a folder on a mount that did not answer: no box is made for it. */
#define NO_FOLDER ((ino_t)-1)

bool boxes_outside(const struct json *input) { return json_bool(input, "outside", false); }

/* ---- what is opened ---- */

/* Whether the rules deny Read or Edit of this path: then the box does not open it either. */
static bool denied(struct gate *gate, struct arena *arena, const struct session *session, struct tool_facts facts)
{
    facts.name = facts.class == TOOL_EDIT ? STR("Edit") : STR("Read");
    struct question question = gate_question(gate, arena, session, &facts, STR_NONE);
    return policy_judge(arena, &question).effect == EFFECT_DENY;
}

/* A rule that opens something is asked again as a call: another rule may deny the same path or port. */
static bool opens(struct gate *gate, struct arena *arena, const struct session *session, const struct opening *opening)
{
    const struct json *input = NULL;
    bool port = str_is(opening->tool, "box.port");
    struct str text = arena_printf(arena, "{\"port\":\"%.*s\"}", port ? (int)opening->what.n : 0, opening->what.p);
    if (rc_bad(json_parse(arena, text, &input, NULL)))
        return false;
    struct tool_facts facts = {.name = opening->tool, .input = input, .class = port ? TOOL_OTHER : TOOL_READ};
    if (!port)
        facts.paths[facts.path_count++] =
            opening->is_folder ? arena_printf(arena, "%.*s/x", STR_ARG(opening->what)) : opening->what;
    if (str_is(opening->tool, "box.write"))
        facts.class = TOOL_EDIT;
    struct question question = gate_question(gate, arena, session, &facts, STR_NONE);
    struct verdict verdict = policy_judge(arena, &question);
    return verdict.effect == EFFECT_ALLOW && str_starts(verdict.rule, STR("box.")) &&
           (port || !denied(gate, arena, session, facts));
}

/* Looks at the disk. Symbolic links are not mounted, and a folder that is to be written is made if it is
 * missing, with its parents: caches begin empty. What does not answer stays closed. */
static void add_path(struct arena *arena, const char *list[BOX_PATHS_MAX + 1], const struct opening *opening)
{
    struct stat seen;
    bool writes = str_is(opening->tool, "box.write");
    const char *path = arena_c(arena, opening->what);
    if (writes && opening->is_folder)
        links_make_folder(arena, opening->what);
    /* A link could be turned around later: what it leads to must be named itself. */
    if (!links_lstat(arena, opening->what, &seen) || S_ISLNK(seen.st_mode) ||
        (S_ISSOCK(seen.st_mode) && !str_is(opening->tool, "box.socket")))
        return;
    for (size_t i = 0; i < BOX_PATHS_MAX; i++) {
        if (!list[i]) {
            list[i] = path;
            return;
        }
    }
}

/* Nod's own ports stay closed, whatever a rule says: a command in a box must not answer calls. */
static void add_port(const struct gate *gate, struct box_opened *opened, struct str what)
{
    uint64_t port;
    if (!str_to_u64(what, &port) || port == 0 || port > 65535 || port == BOX_PROXY_PORT ||
        is_own_port(gate->rules.own_ports, (int)port))
        return;
    for (size_t i = 0; i < BOX_PORTS_MAX; i++) {
        if (!opened->ports[i]) {
            opened->ports[i] = (uint16_t)port;
            return;
        }
    }
}

static void add(struct gate *gate, struct arena *arena, const struct session *session, struct box_opened *opened,
                const struct opening *opening)
{
    struct str git = arena_printf(arena, "%.*s/.git", STR_ARG(session->cwd));
    if (str_is(opening->tool, "box.port"))
        add_port(gate, opened, opening->what);
    else if (str_is(opening->tool, "box.write") && str_eq(opening->what, git))
        opened->git_open = opened->git_by_rule = true;
    else
        add_path(arena, str_is(opening->tool, "box.write") ? opened->write : opened->read, opening);
}

/* Whether a rule opens exactly the session's .git for writing: such a rule lifts the usual protection of .git. */
static bool names_git(const struct session *session, const struct opening *opening)
{
    return str_is(opening->tool, "box.write") && opening->what.n == session->cwd.n + 5 &&
           str_starts(opening->what, session->cwd) && str_ends(opening->what, STR("/.git"));
}

/* On the loop, when the call is judged and again when it runs: the digest of the plan shows whether it is still
 * the same. */
struct box_opened *boxes_plan(struct gate *gate, struct arena *arena, const struct boxes_want *want)
{
    struct stat seen;
    struct opening openings[OPENINGS_MAX];
    struct box_opened *opened = arena_new(arena, struct box_opened);
    const struct tool_facts none = {.name = STR("Bash"), .input = want->input, .class = TOOL_OTHER};
    struct question question = gate_question(gate, arena, want->session, &none, STR_NONE);
    size_t count = policy_openings(arena, &question, openings);
    for (size_t i = 0; i < count; i++)
        if (names_git(want->session, &openings[i]) || opens(gate, arena, want->session, &openings[i]))
            add(gate, arena, want->session, opened, &openings[i]);
    if (policy_plain_git(arena, json_text(want->input, "command")))
        opened->git_open = true;
    if (links_stat(arena, want->session->cwd, &seen)) {
        opened->project_dev = seen.st_dev;
        opened->project_ino = seen.st_ino;
    } else if (errno == ETIMEDOUT && !str_empty(want->session->cwd)) {
        opened->project_ino = NO_FOLDER;
    }
    return opened;
}

/* ---- the programs of MCP servers ---- */

struct server_look {
    struct loop_call loop_call;
    struct gate *gate;
    struct arena *arena;
    struct str root;
    struct servers_plan *plan;
};

static void plan_on_loop(struct loop_call *loop_call)
{
    struct server_look *look = loop_call->arg;
    const struct session nobody = {.cwd = look->root};
    const struct json *input;
    CHECK(rc_ok(json_parse(look->arena, STR("{}"), &input, NULL)));
    look->plan->opened = boxes_plan(look->gate, look->arena, &(struct boxes_want){.session = &nobody, .input = input});
    look->plan->own_ports = look->gate->rules.own_ports;
    loop_call_finish(loop_call);
}

void boxes_plan_server(void *arg, struct arena *arena, struct str root, struct servers_plan *ret_plan)
{
    struct gate *gate = arg;
    struct server_look look = {.gate = gate, .arena = arena, .root = root, .plan = ret_plan};
    look.loop_call = (struct loop_call){.start = plan_on_loop, .arg = &look};
    work_call_loop(gate->workers, &look.loop_call);
}

/* ---- the digest that binds an answer to the box ---- */

static void put_list(struct buf *buf, const char *name, const char *const *paths)
{
    for (size_t i = 0; paths[i]; i++)
        buf_printf(buf, "%s %s\n", name, paths[i]);
}

/* The digest has the folder's inode instead of its path, so that another folder under the same name is another box. */
struct str boxes_digest(struct arena *arena, const struct box_opened *opened)
{
    BUF_SCOPE(buf, 1 << 20);
    char hex[DIGEST_HEX_BYTES];
    buf_printf(&buf, "box %llu %llu %d\n", (unsigned long long)opened->project_dev,
               (unsigned long long)opened->project_ino, opened->git_by_rule);
    put_list(&buf, "read", opened->read);
    put_list(&buf, "write", opened->write);
    for (size_t i = 0; i < BOX_PORTS_MAX && opened->ports[i]; i++)
        buf_printf(&buf, "port %u\n", opened->ports[i]);
    struct digest digest = digest_of(buf_str(&buf));
    digest_hex(&digest, hex);
    return arena_str(arena, str_of(hex));
}

/* A command that would run without a box, because it wants to or because none can be made here, is never
 * allowed by a rule alone. */
void boxes_ask(const struct gate *gate, struct arena *arena, const struct json *input, struct verdict *verdict)
{
    bool outside = boxes_outside(input);
    if (verdict->effect != EFFECT_ALLOW || (!outside && box_order_of(gate->options.box) != BOX_NONE))
        return;
    *verdict = (struct verdict){
        .effect = EFFECT_ASK, .source = STR("box"), .risk = verdict->risk, .risky = true,
        .why = outside ? STR("it is to run outside the box")
                       : arena_printf(arena, "no box can be made here (%s), so it would run without one",
                                      gate->options.box->why)};
}
