/* `--archive-after`: finished sessions move into an archive by themselves.
 *
 * The server looks soon after its start and then every so often, on the loop; the work itself is done beside it
 * (gate/archive.c), as when somebody asks for it. One that is under way already is left to its end.
 */
#include "base/log.h"
#include "gate/gate.h"
#include "io/loop.h"
#include "serve/serve.h"

enum { LOOK_MS_MIN = 1000, LOOK_MS_MAX = 3600 * 1000, LOOKS_PER_AGE = 8 };

struct auto_archive {
    struct gate *gate;
    struct timer *timer;
    struct arena arena;
    struct gate_archiving archiving;
    int64_t look_ms;
    bool working, freed;
};

/* Called when a round of archiving has ended; after auto_archive_free it only frees the memory. */
static void archived(struct op *op)
{
    struct gate_archiving *archiving = (struct gate_archiving *)op;
    struct auto_archive *archive = archiving->op.owner;
    archive->working = false;
    if (archive->freed) {
        arena_free(archive);
        return;
    }
    if (archiving->op.err && archiving->op.err->code != ERR_CONFLICT)
        log_line(LOG_WARN, "old sessions cannot be archived", LOG_C("error", archiving->op.err->text));
    else if (archiving->result.sessions)
        log_line(LOG_INFO, "old sessions archived", LOG_I("sessions", (int64_t)archiving->result.sessions),
                 LOG_I("events", (int64_t)archiving->result.events), LOG_C("file", archiving->result.file));
    timer_start(archive->timer, archive->look_ms);
}

/* The same operation is used again for each look: it is never under way twice, because the timer starts when it is
 * done. */
static void look(void *arg)
{
    struct auto_archive *archive = arg;
    archive->working = true;
    archive->archiving.op.err = NULL;
    arena_done(&archive->arena);
    gate_archive(archive->gate, &archive->archiving);
}

struct auto_archive *auto_archive_new(struct loop *loop, struct gate *gate, int64_t after_s)
{
    if (after_s <= 0)
        return NULL;
    struct auto_archive *archive = heap_new(sizeof *archive);
    int64_t look_ms = after_s * 1000 / LOOKS_PER_AGE;
    archive->gate = gate;
    archive->timer = timer_new(loop, look, archive);
    archive->look_ms = look_ms < LOOK_MS_MIN ? LOOK_MS_MIN : look_ms > LOOK_MS_MAX ? LOOK_MS_MAX : look_ms;
    archive->archiving = (struct gate_archiving){.op = gate_op(&archive->arena, archived, archive),
                                                 .older_than_ms = after_s * 1000, .actor = STR("nod")};
    timer_start(archive->timer, LOOK_MS_MIN);
    return archive;
}

/* Frees the timer; an archiving under way ends with the gate and frees the rest. */
void auto_archive_free(struct auto_archive *archive)
{
    if (!archive)
        return;
    timer_free(archive->timer);
    archive->freed = true;
    if (!archive->working)
        arena_free(archive);
}
