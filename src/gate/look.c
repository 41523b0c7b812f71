/* The file that an agent's call names, as it is now: for a person who looks at the call while it waits, and once before
 * the person is asked, so that the request keeps what it showed.
 *
 * It is read by a worker, beneath the folder that a person gave the session; no secret, and nothing that is protected.
 * Only those who may answer see it. The agent named the file and may have no right to read it, so events are told
 * without it (event_hides).
 */
#include "gate/core/core.h"
#include "gate/inner.h"

#include "tools/tools.h"

#include <stdlib.h>
#include <unistd.h>

/* LOOKS_MAX: with more work under way a question is kept without a look, rather than wait behind running tools.
 * LOOK_MS: a file system that does not answer keeps the worker, but not the question. */
enum { IN_FILE_BYTES_MAX = 256 << 10, LOOKS_MAX = 32, LOOK_MS = 2000 };

struct named_file *named_file_new(void) { return heap_new(sizeof(struct named_file)); }

void named_file_free(struct named_file *file) { arena_free(file); }

static bool hides(const struct tool_use *use, struct str path) { return gate_hides(use->asker, path); }

/* In a worker. */
static void read_file(struct job *job)
{
    struct named_file *file = job->arg;
    struct tool_use use = {.arena = &file->arena, .name = file->name, .root = file->root, .hides = hides,
                           .asker = file->gate, .link = file->gate->options.link};
    if (rc_bad(json_parse(&file->arena, file->input, &use.input, &file->err)))
        return;
    struct tool_facts facts = tool_facts_from(&file->arena, file->dialect, use.name, use.input);
    use.name = facts.name;
    use.input = facts.input;
    file->is_here = access(arena_printf(&file->arena, "%.*s/.", STR_ARG(file->root)).p, F_OK) == 0;
    if (!str_empty(facts.patch))
        file->preview = tool_named_patch(&use, facts.patch);
    else if (facts.class != TOOL_EDIT)
        (void)tool_named_picture(&use, &file->preview, &file->err).code;
    else if (rc_ok(tool_named_file(&use, &file->text, &file->err))) {
        use.seen = use.link ? NULL : &file->text;
        file->preview = tool_look(&use).preview;
    } else if (file->err.code == ERR_NOT_FOUND && str_is(use.name, "Write"))
        file->is_new = file->is_here;
}

static void file_is_read(struct job *job)
{
    struct named_file *file = job->arg;
    gate_op_take(&file->op, &file->err);
    op_end(&file->op);
}

void gate_read_named_file(struct gate *gate, struct named_file *file)
{
    CHECK(file->op.done && !str_empty(file->input));
    file->gate = gate;
    file->job = (struct job){.run = read_file, .done = file_is_read, .arg = file};
    file->op.gate = gate;
    execute_hand_over(gate, &file->job);
}

/* ---- before a person is asked ---- */

bool look_wants(const struct gate *gate, const struct session *session, const struct ask *ask,
                const struct tool_facts *facts)
{
    return (facts->class == TOOL_EDIT || facts->patch.n) && !ask->looked && str_empty(ask->preview) &&
           !str_empty(session->cwd) && !session->cwd_proposed && work_open(gate->workers) < LOOKS_MAX &&
           !open_find(gate, ask->session, ask->id);
}

static void put_found(struct json_out *out, const struct named_file *file, const struct json *preview)
{
    const struct json *problem = json_get(preview, "problem");
    json_open(out, '{');
    if (file->is_new)
        json_member_bool(out, "is_new_file", true);
    else if (problem)
        json_put_member(out, problem);
    else
        for (const struct json *member = preview->first; member; member = member->next)
            if (!str_is(member->key, "original_content") && !str_is(member->key, "new_content"))
                json_put_member(out, member); /* the difference is enough for ever, and smaller */
    json_close(out, '}');
}

static bool is_cut(const struct json *preview)
{
    for (const struct json *file = json_first(preview, "files"); file; file = file->next)
        if (json_bool(file, "cut", false))
            return true;
    return json_bool(preview, "cut", false);
}

struct ask_look {
    struct ask *ask; /* NULL: it went on without the look */
    struct timer *timer;
};

/* A file that cannot be read or shown whole leaves the request as it is: people see the call's own texts. */
static void keep_found(struct ask *ask, const struct named_file *file)
{
    const struct json *preview = NULL;
    ARENA_SCOPE(scratch);
    bool shows = !file->op.err && !str_empty(file->preview) && (file->is_here || file->gate->options.link) &&
                 rc_ok(json_parse(&scratch, file->preview, &preview, NULL)) && preview->type == JSON_OBJECT &&
                 !is_cut(preview);
    JSON_SCOPE(buf, out, IN_FILE_BYTES_MAX);
    if (shows || file->is_new)
        put_found(&out, file, preview);
    if (!buf.over)
        ask->in_file = arena_str(ask->op.arena, buf_str(&buf));
}

static void looked(struct op *op)
{
    struct ask_look *look = op->owner;
    struct ask *ask = look->ask;
    if (ask)
        keep_found(ask, (struct named_file *)op);
    named_file_free((struct named_file *)op);
    timer_free(look->timer);
    free(look);
    if (ask)
        op_go(&ask->op);
}

static void look_is_late(void *arg)
{
    struct ask_look *look = arg;
    struct ask *ask = look->ask;
    look->ask = NULL;
    op_go(&ask->op);
}

void look_work(struct op *op, unsigned work)
{
    struct ask *ask = (struct ask *)op;
    struct named_file *file = named_file_new();
    struct ask_look *look = heap_new(sizeof *look);
    CHECK(work == WORK_LOOK);
    file->dialect = arena_str(&file->arena, ask->dialect);
    file->name = arena_str(&file->arena, ask->name);
    file->input = arena_str(&file->arena, ask->input->raw);
    file->root = arena_str(&file->arena, ask->look_root);
    file->op = gate_op(&file->arena, looked, look);
    look->ask = ask;
    look->timer = timer_new(op->gate->loop, look_is_late, look);
    timer_start(look->timer, LOOK_MS);
    gate_read_named_file(op->gate, file);
}
