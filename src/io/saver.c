/* See saver.h. */
#include "io/saver.h"

#include "base/arena.h"
#include "base/heap.h"
#include "base/log.h"
#include "io/file.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* In the saver's arena. The thread sets `err`. */
struct saved {
    const char *path, *else_say;
    struct str text;
    struct err err;
    struct saved *next;
};

/* The thread has it from saver_begin to its end; else it is the caller's. */
struct saver {
    struct arena arena;
    const char *folder;
    struct saved *first, **last;
    struct err err; /* of the folder */
    pthread_t thread;
    bool runs;
};

struct saver *saver_new(const char *folder)
{
    struct saver *saver = heap_new(sizeof *saver);
    saver->folder = arena_c(&saver->arena, str_of(folder));
    saver->last = &saver->first;
    return saver;
}

void saver_add(struct saver *saver, const char *path, struct str text, const char *else_say)
{
    struct saved *saved = arena_new(&saver->arena, struct saved);
    CHECK(!saver->runs);
    *saved = (struct saved){.path = arena_c(&saver->arena, str_of(path)), .else_say = else_say,
                            .text = arena_str(&saver->arena, text)};
    *saver->last = saved;
    saver->last = &saved->next;
}

static void *save(void *arg)
{
    struct saver *saver = arg;
    for (struct saved *saved = saver->first; saved; saved = saved->next)
        (void)file_write_private(saved->path, saved->text, &saved->err).code;
    (void)file_sync(saver->folder, &saver->err).code;
    return NULL;
}

/* Signals belong to the loop's thread. */
void saver_begin(struct saver *saver)
{
    sigset_t all, before;
    if (!saver->first)
        return;
    CHECK(sigfillset(&all) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    CHECK(pthread_create(&saver->thread, NULL, save, saver) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    saver->runs = true;
}

static struct rc result(const struct saver *saver, struct err *err)
{
    for (const struct saved *saved = saver->first; saved; saved = saved->next) {
        if (saved->err.code != ERR_OK && !saved->else_say)
            return err_set(err, saved->err.code, "%s", saved->err.text);
        if (saved->err.code != ERR_OK)
            log_line(LOG_WARN, saved->else_say, LOG_C("why", saved->err.text));
    }
    return saver->err.code == ERR_OK ? RC_OK : err_set(err, saver->err.code, "%s", saver->err.text);
}

struct rc saver_end(struct saver **saver, struct err *err)
{
    struct saver *of = *saver;
    struct rc rc = RC_OK;
    if (of && of->runs) {
        CHECK(pthread_join(of->thread, NULL) == 0);
        rc = result(of, err);
    }
    if (of)
        arena_done(&of->arena);
    free(of);
    *saver = NULL;
    return rc;
}
