/* The list of far mounts, and threads that wait for them.
 *
 * Everything is under one lock. A thread that nobody waits for any more may hang until its mount answers or the process
 * ends; there are at most THREADS_MOST, OF_MOUNT_MOST of them on one mount, so that it leaves some for others, and a
 * mount that was silent is not asked again for SILENT_US. What cannot be asked counts as what did not answer.
 */
#include "io/far.h"

#include "base/lock.h"
#include "io/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    ANSWER_MS = 250,
    SILENT_US = 5 * 1000000,
    THREADS_MOST = 16,
    OF_MOUNT_MOST = 4,
    LIST_BYTES_MAX = 1 << 20,
    STACK_BYTES = 256 << 10,
};

struct far_mount {
    struct str at;
    int64_t silent_us; /* it is not asked before */
    unsigned threads;  /* that are at work on it, or hang there */
    struct far_mount *next;
};

static pthread_mutex_t lock_of_all = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int list_fd = -1;       /* /proc/self/mountinfo: poll says that it has changed */
static struct arena list_arena;
static struct far_mount *mounts;
static unsigned threads;

/* ---- the list ---- */

/* File systems of this kernel, on disks or in memory. All others are far, also those that nobody knows. */
static bool is_near(struct str type)
{
    static const char *const near[] = {
        "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "bcachefs", "f2fs", "jfs", "nilfs2", "reiserfs", "udf",
        "iso9660", "vfat", "msdos", "exfat", "ntfs3", "hfsplus", "squashfs", "erofs", "overlay", "aufs", "tmpfs",
        "ramfs", "devtmpfs", "proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "hugetlbfs", "securityfs",
        "debugfs", "tracefs", "configfs", "pstore", "bpf", "efivarfs", "binfmt_misc", "fusectl", "rpc_pipefs", "nsfs",
        "selinuxfs",
    };
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (str_is(type, near[i]))
            return true;
    return false;
}

/* A blank in a name is written \040. */
static struct str unescape(struct arena *arena, struct str text)
{
    char *out = arena_bytes(arena, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned value = (unsigned char)text.p[i];
        if (text.p[i] == '\\' && i + 3 < text.n) {
            value = 0;
            for (int digit = 0; digit < 3; digit++)
                value = value * 8 + (unsigned)(text.p[++i] - '0');
        }
        out[n++] = (char)value;
    }
    out[n] = '\0';
    return (struct str){out, n};
}

static void add_mount(struct far_mount *mount, struct far_mount **list)
{
    for (const struct far_mount *old = mounts; old; old = old->next)
        if (str_eq(old->at, mount->at)) {
            mount->silent_us = old->silent_us;
            mount->threads = old->threads;
        }
    mount->next = *list;
    *list = mount;
}

/* ID PARENT DEVICE ROOT AT OPTIONS… - TYPE SOURCE OPTIONS. Where all lies on a far mount there is nothing to spare. */
static void take_line(struct arena *arena, struct str line, struct far_mount **list)
{
    struct str at = STR_NONE, type;
    for (int i = 0; i < 5; i++)
        at = str_cut(line, ' ', &line);
    while (line.n && !str_is(str_cut(line, ' ', &line), "-"))
        continue;
    type = str_cut(line, ' ', &line);
    if (str_empty(type) || is_near(type) || str_is(at, "/"))
        return;
    struct far_mount *mount = arena_new(arena, struct far_mount);
    mount->at = unescape(arena, at);
    add_mount(mount, list);
}

/* Without a list, or with a part of it, every path is far: the mount at nothing is that of all. */
static void read_list(void)
{
    ARENA_SCOPE(scratch);
    struct arena arena = {0};
    struct far_mount *list = NULL;
    char *text = arena_bytes(&scratch, LIST_BYTES_MAX);
    size_t n = 0;
    ssize_t got = list_fd >= 0 && lseek(list_fd, 0, SEEK_SET) == 0 ? 1 : -1;
    while (got > 0 && n < LIST_BYTES_MAX) {
        got = read(list_fd, text + n, LIST_BYTES_MAX - n);
        n += got > 0 ? (size_t)got : 0;
    }
    struct str left = {text, n};
    while (left.n)
        take_line(&arena, str_cut(left, '\n', &left), &list);
    if (got != 0)
        add_mount(arena_new(&arena, struct far_mount), &list);
    arena_done(&list_arena);
    list_arena = arena;
    mounts = list;
}

static void begin(void)
{
    pthread_condattr_t steady;
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&ended, &steady) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
}

bool far_any(void)
{
    CHECK(pthread_once(&once, begin) == 0);
    LOCK_SCOPE(&lock_of_all);
    bool opened = list_fd < 0;
    if (opened)
        list_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    struct pollfd changed = {.fd = list_fd, .events = POLLPRI};
    if (opened || poll(&changed, 1, 0) > 0)
        read_list();
    return mounts != NULL;
}

/* The lock is held. */
static struct far_mount *mount_of(struct str path)
{
    for (struct far_mount *mount = mounts; mount; mount = mount->next)
        if (str_starts(path, mount->at) && (path.n == mount->at.n || path.p[mount->at.n] == '/'))
            return mount;
    return NULL;
}

bool far_is(struct str path)
{
    LOCK_SCOPE(&lock_of_all);
    return mount_of(path) != NULL;
}

/* ---- work ---- */

void *far_new(size_t bytes, void (*run)(struct far_work *work))
{
    struct far_work *work = heap_new(bytes);
    work->run = run;
    return work;
}

void far_free(struct far_work *work) { arena_free(work); }

/* The thread of one far_work. The work is freed by the last user: this thread, or the caller that waited for it. */
static void *do_work(void *arg)
{
    struct far_work *work = arg;
    work->run(work);
    LOCK_SCOPE(&lock_of_all);
    threads--;
    for (struct far_mount *mount = mounts; mount && work->counted; mount = mount->next)
        if (str_eq(mount->at, work->at) && mount->threads) /* it may be mounted anew */
            mount->threads--;
    if (work->left)
        far_free(work);
    else
        work->over = true;
    CHECK(pthread_cond_broadcast(&ended) == 0);
    return NULL;
}

/* Signals belong to the loop's thread. */
static bool start_thread(struct far_work *work)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    CHECK(sigfillset(&all) == 0);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
    CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    bool started = pthread_create(&thread, &attributes, do_work, work) == 0;
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return started;
}

/* The lock is held. */
static bool may_ask(const struct far_mount *mount)
{
    bool silent = mount && (clock_steady_us() < mount->silent_us || mount->threads >= OF_MOUNT_MOST);
    return !silent && threads < THREADS_MOST;
}

bool far_do(struct far_work *work, struct str path)
{
    struct timespec until;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_nsec += (long)ANSWER_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    LOCK_SCOPE(&lock_of_all);
    struct far_mount *mount = mount_of(path);
    work->counted = mount != NULL;
    work->at = mount ? arena_str(&work->arena, mount->at) : STR_NONE;
    if (!may_ask(mount) || !start_thread(work)) {
        far_free(work);
        return false;
    }
    threads++;
    if (mount)
        mount->threads++;
    while (!work->over && pthread_cond_timedwait(&ended, &lock_of_all, &until) == 0)
        continue;
    if (work->over)
        return true;
    work->left = true;
    mount = mount_of(path); /* the list may be another one by now */
    if (mount && !work->long_work)
        mount->silent_us = clock_steady_us() + SILENT_US;
    return false;
}
