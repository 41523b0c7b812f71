/* The power fails. Every write and sync of the SQLite store is recorded below its own layers; then, for every
 * prefix of that record, the disk is built as it may be found afterwards: writes that were not synced are there,
 * are not there, or are there in part, sector by sector, whatever their order. Each such image must open, verify,
 * and hold everything that was acknowledged by then, whole groups only, and nothing that was never handed over.
 * Groups of more than 64 KiB are among them, because the log is then written in several pieces; and checkpoints. So is
 * the very first start: the database is made under another name and renamed, which is there or not until the folder is
 * synced, and nod.lock may name the database before its name is there (sqlite_make.c, sqlite_place.c; the build wraps
 * their calls of the system).
 *
 * That this finds something is part of the test: it must with every sync of the log left out, or only every 16th, and
 * with that of the new database or of its folder. */
#include "sqlite_layer.h"
#include "store/backend.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 2, OPS_MOST = 20000, GROUPS = 88, EVENTS_MOST = 2000, SECTOR = 512, LARGE_BYTES = 150000 };
enum { FILE_DB, FILE_LOG, FILE_FOLDER, FILE_OTHER };
enum op_kind {
    OP_WRITE,
    OP_TRUNCATE,
    OP_SYNC,
    OP_ACKNOWLEDGED,
    OP_OPENED, /* of the log, which is made then */
    OP_NAMED,  /* the new database was renamed into its place */
    OP_NOTED,  /* nod.lock names it */
};

struct op {
    enum op_kind kind;
    int file;
    int64_t at;       /* of a truncation: the size; of an acknowledgement: the last seq */
    size_t n;
    char *bytes;
};

static struct op ops[OPS_MOST];
static size_t op_count;
static bool recording;
static unsigned syncs_lost; /* of the log: every so many-th is not recorded, as if it had been left out; 0: none */
static unsigned log_syncs;
static bool cut; /* the log is truncated between two groups */
static int made_lost = FILE_OTHER; /* FILE_DB, FILE_FOLDER: its sync, while the database is made, is left out */
static struct digest digests[EVENTS_MOST + 1]; /* over all events up to a seq */

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((chance_state >> 33) % below);
}

/* ---- the record ---- */

static void record(enum op_kind kind, int file, int64_t at, const void *bytes, size_t n)
{
    if (!recording || file == FILE_OTHER)
        return;
    assert_true(op_count < OPS_MOST);
    struct op *op = &ops[op_count++];
    *op = (struct op){.kind = kind, .file = file, .at = at, .n = n};
    if (n) {
        op->bytes = malloc(n);
        assert_non_null(op->bytes);
        memcpy(op->bytes, bytes, n);
    }
}

static void forget_record(void)
{
    for (size_t i = 0; i < op_count; i++)
        free(ops[i].bytes);
    op_count = 0;
}

static struct {
    sqlite3_file *file;
    int which;
} opened[64];

static int which_file(sqlite3_file *file)
{
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (opened[i].file == file)
            return opened[i].which;
    return FILE_OTHER;
}

static int on_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    record(OP_WRITE, which_file(file), at, bytes, (size_t)n);
    return layer_below(file)->xWrite(file, bytes, n, at);
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    record(OP_TRUNCATE, which_file(file), size, NULL, 0);
    return layer_below(file)->xTruncate(file, size);
}

static int on_sync(sqlite3_file *file, int flags)
{
    int which = which_file(file);
    log_syncs += which == FILE_LOG;
    bool lost = which == FILE_LOG && syncs_lost && log_syncs % syncs_lost == 0;
    if (!lost)
        record(OP_SYNC, which, 0, NULL, 0);
    (void)flags; /* nothing is read from a disk that lost its power: the real sync would only take time */
    return SQLITE_OK;
}

static int on_close(sqlite3_file *file)
{
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (opened[i].file == file)
            opened[i].file = NULL;
    return layer_below(file)->xClose(file);
}

static void record_all(sqlite3_io_methods *methods)
{
    methods->xWrite = on_write;
    methods->xTruncate = on_truncate;
    methods->xSync = on_sync;
    methods->xClose = on_close;
}

static void on_opened(sqlite3_file *file, int flags)
{
    for (size_t k = 0; k < sizeof opened / sizeof *opened; k++) {
        if (opened[k].file)
            continue;
        opened[k].file = file;
        opened[k].which = flags & SQLITE_OPEN_MAIN_DB ? FILE_DB : flags & SQLITE_OPEN_WAL ? FILE_LOG : FILE_OTHER;
        if (opened[k].which == FILE_LOG)
            record(OP_OPENED, FILE_LOG, 0, NULL, 0);
        break;
    }
}

/* ---- the load ---- */

static char folder[64], place[128];

static void make_folder(const char *name)
{
    (void)snprintf(folder, sizeof folder, "%s/nod-power-%d-%s", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                   (int)getpid(), name);
    (void)snprintf(place, sizeof place, "%s/nod.db", folder);
    assert_true(mkdir(folder, 0700) == 0);
}

static const char *made_path(void)
{
    static char path[160];
    (void)snprintf(path, sizeof path, "%s.new.%d", place, (int)getpid());
    return path;
}

static void remove_files(void)
{
    static const char *const names[] = {"nod.db", "nod.db-wal", "nod.db-shm", "nod.lock"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)unlink(made_path());
}

static void remove_folder(void)
{
    remove_files();
    assert_true(rmdir(folder) == 0);
}

/* ---- what is done without SQLite: io/file.c and sqlite_place.c call these ---- */

/* The name of the file in its folder, "" for the folder itself, NULL for any other file. */
static const char *name_of(int fd)
{
    static char path[160];
    char link[40];
    size_t n = strlen(folder);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = recording ? readlink(link, path, sizeof path - 1) : -1;
    path[got > 0 ? got : 0] = '\0';
    return got < (ssize_t)n || memcmp(path, folder, n) != 0 ? NULL : path[n] == '/' ? path + n + 1 : path + n;
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    const char *name = name_of(fd);
    if (name && strncmp(name, "nod.db.new.", 11) == 0)
        record(OP_WRITE, FILE_DB, lseek(fd, 0, SEEK_CUR), bytes, n);
    return __real_write(fd, bytes, n);
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    const char *name = name_of(fd);
    if (name && strcmp(name, "nod.lock") == 0)
        record(OP_NOTED, FILE_DB, 0, NULL, 0);
    return __real_pwrite(fd, bytes, n, at);
}

int __wrap_fsync(int fd)
{
    const char *name = name_of(fd);
    int file = !name ? FILE_OTHER : name[0] ? FILE_DB : FILE_FOLDER;
    if (file != made_lost)
        record(OP_SYNC, file, 0, NULL, 0);
    return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
    if (strcmp(to, place) == 0)
        record(OP_NAMED, FILE_DB, 0, NULL, 0);
    return __real_rename(from, to);
}

/* ---- groups ---- */

static struct append *make_append(unsigned number, bool large)
{
    struct append *append = append_new();
    struct arena *arena = &append->arena;
    struct event event = {.kind = EVENT_TOOL_CALL, .at_ms = number, .session = arena_printf(arena, "s%u", number % 3),
                          .thread = STR("t"), .actor = STR("a"), .call = arena_printf(arena, "c%u", number)};
    char *bytes = arena_bytes(arena, LARGE_BYTES);
    memset(bytes, 'a' + (int)(number % 26), LARGE_BYTES);
    event.data = (struct str){bytes, large ? LARGE_BYTES : 300};
    append_need(append, (struct need){.need = NEED_ABSENT, .kind = EVENT_TOOL_CALL, .session = event.session,
                                      .call = event.call});
    (void)append_event(append, event);
    event.kind = EVENT_TOOL_APPROVAL_REQUEST;
    event.data = STR("{}");
    (void)append_event(append, event);
    if (number % 3 == 0) {
        event.kind = EVENT_TOOL_APPROVAL_RESPONSE;
        (void)append_event(append, event);
    }
    return append;
}

static uint64_t commit_one(const struct backend *backend, struct backend_handle *writer, unsigned number)
{
    static uint64_t seq;
    struct err err = {0};
    struct append *group = make_append(number * 10, number % 8 == 5);
    if (number == 0)
        seq = 0;
    for (unsigned i = chance(4); i > 0; i--) {
        struct append *more = make_append(number * 10 + i, false);
        more->next = group;
        group = more;
    }
    assert_true(rc_ok(backend->commit(writer, group, &err)));
    for (struct append *append = group, *next; append; append = next) {
        assert_int_equal(append->outcome, APPEND_KEPT);
        for (unsigned i = 0; i < append->event_count; i++) {
            assert_true(append->events[i].seq == ++seq && seq <= EVENTS_MOST);
            digests[seq] = chain_next(&digests[seq - 1], &append->events[i]);
        }
        next = append->next;
        append_free(append);
    }
    return seq;
}

/* As the writer does when a log has grown large. */
static void cut_log(void)
{
    sqlite3 *other;
    assert_int_equal(sqlite3_open(place, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

static void make_record(const struct backend *backend)
{
    struct backend_handle *writer, *checkpointer;
    struct err err = {0};
    forget_record();
    chance_state = 1;
    log_syncs = 0;
    recording = true;
    assert_true(rc_ok(backend->open(place, BACKEND_WRITER, &writer, &err)));
    record(OP_ACKNOWLEDGED, FILE_DB, 0, NULL, 0);
    assert_true(rc_ok(backend->open(place, BACKEND_CHECKPOINTER, &checkpointer, &err)));
    for (unsigned i = 0; i < GROUPS; i++) {
        record(OP_ACKNOWLEDGED, FILE_DB, (int64_t)commit_one(backend, writer, i), NULL, 0);
        if (i % 25 == 24) { /* pages go back into the database, and the log begins anew */
            assert_true(rc_ok(backend->tidy(checkpointer, &err)));
            assert_true(rc_ok(backend->settle(writer, i % 50 == 49, &err)));
        }
        if (cut && i % 20 == 19)
            cut_log();
    }
    recording = false;
    backend->close(checkpointer);
    backend->close(writer);
    remove_files();
}

/* ---- images ---- */

struct image {
    char *bytes;
    size_t n, cap;
};

struct disk {
    struct image durable[FILES];
    size_t pending[FILES][OPS_MOST]; /* writes since the last sync of that file */
    size_t pending_count[FILES];
    bool log; /* there is one */
    bool made, named, named_durably; /* the database: under the first name, in its place */
    bool noted, noted_durably;
};

static void grow(struct image *image, size_t n)
{
    if (n > image->cap) {
        image->cap = n * 2;
        image->bytes = realloc(image->bytes, image->cap);
        assert_non_null(image->bytes);
    }
    if (n > image->n)
        memset(image->bytes + image->n, 0, n - image->n);
    image->n = n > image->n ? n : image->n;
}

/* `torn`: of every sector chance says whether it arrived. */
static void apply(struct image *image, const struct op *op, bool torn)
{
    if (op->kind == OP_TRUNCATE) {
        grow(image, (size_t)op->at);
        image->n = (size_t)op->at;
        return;
    }
    for (size_t from = 0; from < op->n;) {
        size_t at = (size_t)op->at + from, n = SECTOR - at % SECTOR;
        if (n > op->n - from)
            n = op->n - from;
        if (!torn || chance(2)) {
            grow(image, at + n);
            memcpy(image->bytes + at, op->bytes + from, n);
        }
        from += n;
    }
}

enum way { WAY_NONE, WAY_ALL, WAY_SOME, WAY_TORN, WAYS };

/* Whether something is there that was done, when it may not have arrived. */
static bool arrived(bool done, bool durably, enum way way)
{
    return done && (durably || way == WAY_ALL || (way >= WAY_SOME && chance(2)));
}

/* nod.lock as the store writes it, with the database that is in its place, or was. */
static void write_lock(void)
{
    char path[160];
    struct stat st = {.st_dev = 1, .st_ino = 1};
    (void)stat(place, &st);
    (void)snprintf(path, sizeof path, "%s/nod.lock", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fprintf(file, "%-10d\n%-20llu %-20llu\n", (int)getpid(), (unsigned long long)st.st_dev,
                        (unsigned long long)st.st_ino) > 0);
    assert_int_equal(fclose(file), 0);
}

static void write_image(const struct disk *disk, int file, enum way way, const char *path)
{
    static struct image image;
    image.n = 0;
    grow(&image, disk->durable[file].n);
    if (image.n)
        memcpy(image.bytes, disk->durable[file].bytes, image.n);
    for (size_t i = 0; i < disk->pending_count[file]; i++)
        if (way == WAY_ALL || (way >= WAY_SOME && chance(2)))
            apply(&image, &ops[disk->pending[file][i]], way == WAY_TORN);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (size_t done = 0; done < image.n;) {
        ssize_t n = write(fd, image.bytes + done, image.n - done);
        assert_true(n > 0);
        done += (size_t)n;
    }
    assert_true(close(fd) == 0);
}

static void write_files(const struct disk *disk, enum way way)
{
    char log[160];
    (void)snprintf(log, sizeof log, "%s-wal", place);
    remove_files();
    if (disk->made)
        write_image(disk, FILE_DB, way, arrived(disk->named, disk->named_durably, way) ? place : made_path());
    if (disk->log)
        write_image(disk, FILE_LOG, way, log);
    if (arrived(disk->noted, disk->noted_durably, way))
        write_lock();
}

static bool holds_events(const struct backend *backend, uint64_t last_seq)
{
    struct backend_handle *reader = NULL;
    struct err err = {0};
    struct digest digest = {0};
    uint64_t seq = 0;
    if (rc_bad(backend->open(place, BACKEND_READER, &reader, &err)))
        return false;
    for (bool more = true; more;) {
        struct read *page = read_new(READ_EVENTS);
        page->after = seq;
        more = rc_ok(backend->read(reader, page, &err)) && page->event_count;
        for (size_t i = 0; i < page->event_count; i++)
            digest = chain_next(&digest, &page->events[i]);
        seq += page->event_count;
        read_free(page);
    }
    backend->close(reader);
    return seq == last_seq && digest_eq(&digest, &digests[seq]);
}

/* Why the image is bad; NULL: it is good. It may end with `acknowledged`, or with the group at hand. */
static const char *check_image(const struct backend *backend, uint64_t acknowledged, uint64_t next)
{
    struct backend_handle *writer;
    struct store_check check = {0};
    struct err err = {0};
    uint64_t last_seq = 0;
    const char *why = NULL;
    if (rc_bad(backend->open(place, BACKEND_WRITER, &writer, &err)))
        return "it does not open";
    if (rc_bad(backend->last_seq(writer, &last_seq, &err)))
        why = "it cannot be read";
    else if (last_seq < acknowledged)
        why = "something that was acknowledged is lost";
    else if (last_seq != acknowledged && last_seq != next)
        why = "part of a group is there";
    else if (!holds_events(backend, last_seq))
        why = "the events are not those that were kept";
    backend->close(writer);
    if (!why && (rc_bad(backend->verify(place, &check, &err)) || check.bad_seq))
        why = "it does not verify";
    return why;
}

static uint64_t next_acknowledged(size_t from, uint64_t otherwise)
{
    for (size_t i = from; i < op_count; i++)
        if (ops[i].kind == OP_ACKNOWLEDGED)
            return (uint64_t)ops[i].at;
    return otherwise;
}

/* After the operation just taken. Returns how many images were bad. */
static size_t check_all_ways(const struct backend *backend, const struct disk *disk, size_t at, uint64_t acknowledged,
                             size_t *images)
{
    size_t bad = 0;
    bool unsynced = disk->pending_count[FILE_DB] || disk->pending_count[FILE_LOG] ||
                    disk->named != disk->named_durably || disk->noted != disk->noted_durably;
    for (enum way way = WAY_NONE; way < (unsynced ? WAYS : WAY_ALL); way++) {
        write_files(disk, way);
        const char *why = check_image(backend, acknowledged, next_acknowledged(at + 1, acknowledged));
        ++*images;
        if (why && bad++ == 0 && syncs_lost == 0 && made_lost == FILE_OTHER)
            print_message("after operation %zu, way %d: %s\n", at, (int)way, why);
    }
    return bad;
}

static void take(struct disk *disk, size_t at)
{
    const struct op *op = &ops[at];
    bool folder_synced = op->kind == OP_SYNC && op->file == FILE_FOLDER;
    disk->log |= op->kind == OP_OPENED;
    disk->made |= op->kind == OP_WRITE && op->file == FILE_DB;
    disk->named |= op->kind == OP_NAMED;
    disk->named_durably |= disk->named && folder_synced;
    disk->noted |= op->kind == OP_NOTED;
    disk->noted_durably |= disk->noted && op->kind == OP_ACKNOWLEDGED; /* it never is; but that was looked at */
    if (op->kind == OP_WRITE || op->kind == OP_TRUNCATE)
        disk->pending[op->file][disk->pending_count[op->file]++] = at;
    if (op->kind != OP_SYNC || folder_synced)
        return;
    for (size_t i = 0; i < disk->pending_count[op->file]; i++)
        apply(&disk->durable[op->file], &ops[disk->pending[op->file][i]], false);
    disk->pending_count[op->file] = 0;
}

/* Each prefix until the store was opened for the first time, then every `step`-th, and each that ends with an
 * acknowledgement, where a sync that is missing shows; until the first bad image when `first`. */
static size_t replay(const struct backend *backend, unsigned step, bool first, size_t *ret_images)
{
    struct disk *disk = calloc(1, sizeof *disk);
    uint64_t acknowledged = 0;
    bool begun = false; /* the store was opened */
    size_t bad = 0;
    *ret_images = 0;
    chance_state = 7;
    for (size_t i = 0; i < op_count && !(first && bad); i++) {
        take(disk, i);
        if (ops[i].kind == OP_ACKNOWLEDGED) {
            acknowledged = (uint64_t)ops[i].at;
            begun = true;
        }
        if (!begun || i % step == 0 || ops[i].kind == OP_ACKNOWLEDGED)
            bad += check_all_ways(backend, disk, i, acknowledged, ret_images);
    }
    for (int file = 0; file < FILES; file++)
        free(disk->durable[file].bytes);
    free(disk);
    return bad;
}

static const struct backend *prepare(const char *name)
{
    const char *rest;
    const struct backend *backend = backend_find("sqlite:x", &rest);
    make_folder(name);
    make_record(backend);
    return backend;
}

static void every_image_holds_what_was_acknowledged(void **state)
{
    size_t images;
    (void)state;
    syncs_lost = 0;
    const struct backend *backend = prepare("all");
    const char *every = getenv("NOD_POWER_EVERY"); /* prefix is looked at; make test looks at all of them */
    uint64_t step = 5;
    if (every)
        assert_true(str_to_u64(str_of(every), &step) && step > 0);
    size_t bad = replay(backend, (unsigned)step, false, &images);
    print_message("%zu operations, %zu images, %zu bad\n", op_count, images, bad);
    assert_true(bad == 0);
    assert_true(images >= 2000 / step);
    remove_folder();
}

/* A process was killed before this operation: all that it wrote is there. */
static void expect_log_synced_at_open(const struct backend *backend, const struct disk *disk, size_t at)
{
    struct backend_handle *writer;
    struct err err = {0};
    write_files(disk, WAY_ALL);
    log_syncs = 0;
    assert_true(rc_ok(backend->open(place, BACKEND_WRITER, &writer, &err)));
    if (!log_syncs)
        print_message("killed before operation %zu: the log is not synced\n", at);
    assert_true(log_syncs > 0);
    backend->close(writer);
}

/* A process that was killed between a write and its sync: the next one finds the group, and may tell it to no one
 * before the log is synced. Each sync of the log is tried: opening lists late events in a transaction, which syncs,
 * too, but there are none when the group had listed them itself. */
static void a_group_that_is_found_is_synced_before_it_is_told(void **state)
{
    struct disk *disk = calloc(1, sizeof *disk);
    size_t tried = 0;
    bool begun = false;
    (void)state;
    const struct backend *backend = prepare("killed");
    for (size_t i = 0; i < op_count; i++) {
        begun = begun || ops[i].kind == OP_ACKNOWLEDGED;
        if (begun && ops[i].kind == OP_SYNC && ops[i].file == FILE_LOG && disk->pending_count[FILE_LOG]) {
            expect_log_synced_at_open(backend, disk, i);
            tried++;
        }
        take(disk, i);
    }
    print_message("%zu syncs of the log were tried\n", tried);
    assert_true(tried > 0);
    for (int file = 0; file < FILES; file++)
        free(disk->durable[file].bytes);
    free(disk);
    remove_folder();
}

/* A log that begins anew has frames of before behind its header. The header that they belong to must be gone from
 * the disk before the first of them is overwritten: chance would seldom build the image in which they count again. That
 * the log was truncated is not on the disk before it is synced. */
static void expect_headers_synced(void)
{
    int64_t end = 0;
    unsigned headers = 0;
    (void)prepare("header");
    for (size_t i = 0; i < op_count; i++) {
        if (ops[i].file != FILE_LOG || ops[i].kind != OP_WRITE)
            continue;
        if (ops[i].at == 0 && end > 0) {
            assert_int_equal(ops[i].n, 32);
            assert_true(ops[i + 1].kind == OP_SYNC && ops[i + 1].file == FILE_LOG);
            headers++;
        }
        int64_t to = ops[i].at + (int64_t)ops[i].n;
        end = to > end ? to : end;
    }
    assert_true(headers > 1);
    remove_folder();
}

static void a_header_before_older_frames_is_synced_by_itself(void **state)
{
    (void)state;
    expect_headers_synced();
    cut = true;
    expect_headers_synced();
    cut = false;
}

static void syncs_that_are_left_out_are_found(void **state)
{
    static const unsigned every[] = {1, 16};
    (void)state;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        size_t images;
        syncs_lost = every[i];
        const struct backend *backend = prepare("lost");
        size_t bad = replay(backend, 1, true, &images);
        print_message("every %u. sync of the log left out: found in image %zu\n", every[i], images);
        assert_true(bad > 0);
        remove_folder();
    }
    syncs_lost = 0;
    forget_record();
}

static void a_database_that_is_made_without_a_sync_is_found(void **state)
{
    static const int files[] = {FILE_DB, FILE_FOLDER};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t images;
        made_lost = files[i];
        const struct backend *backend = prepare("made");
        size_t bad = replay(backend, 1, true, &images);
        print_message("%s not synced: found in image %zu\n", files[i] == FILE_DB ? "the database" : "its folder",
                      images);
        assert_true(bad > 0 && images < 100);
        remove_folder();
    }
    made_lost = FILE_OTHER;
    forget_record();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_image_holds_what_was_acknowledged),
        cmocka_unit_test(a_group_that_is_found_is_synced_before_it_is_told),
        cmocka_unit_test(a_header_before_older_frames_is_synced_by_itself),
        cmocka_unit_test(syncs_that_are_left_out_are_found),
        cmocka_unit_test(a_database_that_is_made_without_a_sync_is_found),
    };
    if (!layer_register(record_all, on_opened))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
