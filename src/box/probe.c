/* Which boundary this machine can make: found by making one. Runs in the server at its start and in `nod doctor`. */
#include "box/supervisor.h"
#include "base/digest.h"
#include "io/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The supervisor wants its descriptors above the numbers it uses itself. */
static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        int above = fcntl(ends[i], F_DUPFD_CLOEXEC, SUPERVISOR_DESCRIPTORS);
        (void)close(ends[i]);
        ends[i] = above;
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_pipe(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
}

/* Whether /bin/true ends well in a box around `folder`; else the report says what failed. */
static bool try_box(const struct box *box, const char *folder, struct supervisor_report *report)
{
    ARENA_SCOPE(arena);
    int report_pipe[2] = {-1, -1}, life[2] = {-1, -1};
    pid_t pid;
    char *args[] = {"true", NULL}, *environment[] = {NULL};
    *report = (struct supervisor_report){.word = SUPERVISOR_FAILED, .value = EMFILE};
    int out = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, SUPERVISOR_DESCRIPTORS);
    if (out >= 0 && make_pipe(report_pipe) && make_pipe(life)) {
        struct supervisor_start start = {
            .path = "/bin/true", .args = args, .environment = environment, .folder = folder,
            .box = box_words(&arena, box), .out = out, .report = report_pipe[1], .life = life[0]};
        int failed = supervisor_spawn(&start, &pid);
        (void)close(report_pipe[1]);
        report_pipe[1] = -1;
        if (failed)
            report->value = failed;
        else {
            if (read(report_pipe[0], report, sizeof *report) != sizeof *report)
                *report = (struct supervisor_report){.word = SUPERVISOR_FAILED, .value = ECHILD};
            (void)process_wait(pid);
        }
    }
    if (out >= 0)
        (void)close(out);
    close_pipe(report_pipe);
    close_pipe(life);
    return report->word == SUPERVISOR_ENDED && report->value == 0;
}

/* The folder that the box is made around. Its name is always the same for one data folder, so that a process that was
 * killed here leaves one that the next probe takes and removes. */
struct probed {
    char path[64];
    int fd; /* locked, so that nobody else takes it; -1: it has a name of its own */
};

/* Whether nobody else may write to it, has it, or has removed it meanwhile. */
static bool is_ours(int fd)
{
    struct stat st;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077) &&
           st.st_nlink > 0;
}

/* False: errno says why not. The usual name may be taken, by another user or by `nod doctor` at this moment. */
static bool take_folder(struct probed *probed, const char *data)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(str_of(data));
    digest_hex(&digest, hex);
    (void)snprintf(probed->path, sizeof probed->path, "/tmp/nod-probe-%u-%.16s", (unsigned)geteuid(), hex);
    (void)mkdir(probed->path, 0700);
    probed->fd = open(probed->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (probed->fd >= 0 && is_ours(probed->fd))
        return true;
    if (probed->fd >= 0)
        (void)close(probed->fd);
    probed->fd = -1;
    (void)snprintf(probed->path, sizeof probed->path, "/tmp/nod-probe-XXXXXX");
    return mkdtemp(probed->path) != NULL;
}

/* The box of a process that was killed is perhaps just ending, and takes what it has made from the folder. */
static void leave_folder(const struct probed *probed)
{
    enum { TRIES = 25, WAIT_US = 20000 };
    for (int i = 0; rmdir(probed->path) != 0 && errno == ENOTEMPTY && i < TRIES; i++)
        (void)usleep(WAIT_US);
    if (probed->fd >= 0)
        (void)close(probed->fd);
}

/* Makes a box for real. *ret_why says which step failed, also when a weaker kind of box works. */
enum box_order box_probe(const struct box_setting *setting, char *ret_why, size_t why_bytes)
{
    char locks[4096];
    struct probed probed;
    struct supervisor_report report;
    enum box_order order = BOX_NONE;
    if (!take_folder(&probed, setting->data)) {
        (void)snprintf(ret_why, why_bytes, "make a folder in /tmp: %s", strerror(errno));
        return BOX_NONE;
    }
    (void)snprintf(locks, sizeof locks, "%s/boxes", setting->data);
    struct box box = {.project = probed.path, .home = setting->home, .locks = locks, .hidden = {setting->data}};
    if (try_box(&box, probed.path, &report))
        order = BOX_NAMESPACES;
    else {
        (void)snprintf(ret_why, why_bytes, "%.*s: %s", (int)sizeof report.step, report.step, strerror(report.value));
        box.no_user_namespace = true;
        if (geteuid() == 0 && try_box(&box, probed.path, &report))
            order = BOX_ROOT_NAMESPACES;
    }
    leave_folder(&probed);
    return order;
}

/* ---- beside the start of a server ---- */

/* Made by box_probe_begin, freed by box_probe_end. `known` is set once, by the thread, after it has filled in the
 * setting; whoever wants that earlier waits at `ended`. */
struct box_probing {
    struct box_setting *setting;
    void (*told)(const struct box_setting *setting);
    pthread_t thread;
    sem_t ended;
    atomic_bool known;
    char why[BOX_STEP_BYTES * 2];
};

static void *probe_main(void *arg)
{
    struct box_probing *probing = arg;
    struct box_setting *setting = probing->setting;
    setting->order = box_probe(setting, probing->why, sizeof probing->why);
    setting->why = probing->why;
    atomic_store_explicit(&probing->known, true, memory_order_release);
    CHECK(sem_post(&probing->ended) == 0);
    probing->told(setting);
    return NULL;
}

/* Signals belong to the loop's thread. */
void box_probe_begin(struct box_setting *setting, void (*told)(const struct box_setting *setting))
{
    struct box_probing *probing = heap_new(sizeof *probing);
    sigset_t all, before;
    probing->setting = setting;
    probing->told = told;
    setting->probing = probing;
    CHECK(sem_init(&probing->ended, 0, 0) == 0);
    CHECK(sigfillset(&all) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    CHECK(pthread_create(&probing->thread, NULL, probe_main, probing) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

enum box_order box_order_of(const struct box_setting *setting)
{
    struct box_probing *probing = setting->probing;
    if (probing && !atomic_load_explicit(&probing->known, memory_order_acquire)) {
        while (sem_wait(&probing->ended) != 0)
            CHECK(errno == EINTR);
        CHECK(sem_post(&probing->ended) == 0); /* for the next one */
    }
    return setting->order;
}

void box_probe_end(struct box_setting *setting)
{
    struct box_probing *probing = setting->probing;
    if (!probing)
        return;
    CHECK(pthread_join(probing->thread, NULL) == 0);
    CHECK(sem_destroy(&probing->ended) == 0);
    setting->probing = NULL;
    setting->why = "";
    free(probing);
}

const char *box_order_text(enum box_order order)
{
    static const char *const texts[] = {
        [BOX_NAMESPACES] = ("commands run in a box, programs of MCP servers in one each: own namespaces, an allow-list "
                            "of files, the network by rules"),
        [BOX_ROOT_NAMESPACES] = ("commands run in a box, programs of MCP servers in one each: own namespaces but for "
                                 "the user's (switched off here), an allow-list of files, the network by rules"),
        [BOX_NONE] = "this machine cannot make a box",
    };
    return texts[order];
}
