/* Archive files that somebody changed: they are refused, blamed or read, and nothing else. An input is a list of
 * changes to a small archive: two bytes of place, one byte of content; an odd byte at the end cuts the file. */
#include "store/archive_file.h"
#include "store/store_archive.h"
#include "store/store_whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEED_BYTES_MAX = 1 << 18 };

static unsigned char seed[SEED_BYTES_MAX], changed[SEED_BYTES_MAX];
static size_t seed_bytes;
static char path[64];

static void remove_file(void) { (void)unlink(path); }

static void put_session(struct archive_file *file, const char *name, uint64_t first, uint64_t count)
{
    struct digest hash = {0};
    for (uint64_t seq = first; seq < first + count; seq++) {
        struct event event = {.seq = seq, .no = seq - first + 1, .kind = EVENT_SESSION_CHANGED, .at_ms = 1000,
                              .session = str_of(name), .actor = STR("ann"), .data = STR("{\"title\":\"fuzz\"}")};
        hash = chain_next(&hash, &event);
        struct filed_event filed = {.event = event, .hash = &hash, .chain = (int64_t)first};
        if (rc_bad(archive_file_event(file, &filed, NULL)))
            abort();
    }
    uint64_t last = first + count - 1;
    struct filed_head head = {.session = str_of(name), .first_seq = first, .last_seq = last, .changed_seq = last,
                              .no = count, .hash = &hash};
    if (rc_bad(archive_file_head(file, &head, NULL)))
        abort();
}

static void make_seed(void)
{
    struct archive_file *file;
    struct store_check check = {0};
    struct err err = {0};
    (void)snprintf(path, sizeof path, "/dev/shm/nod-fuzz-archive.%d", (int)getpid());
    (void)unlink(path);
    (void)atexit(remove_file);
    if (rc_bad(archive_file_new(path, &file, &err)))
        abort();
    put_session(file, "ses_one", 1, 3);
    put_session(file, "ses_two", 7, 2);
    if (rc_bad(archive_file_end(file, &err))) {
        (void)fprintf(stderr, "the archive cannot be made: %s\n", err.text);
        abort();
    }
    archive_file_free(file);
    if (rc_bad(archive_verify(path, &check, &err)) || check.bad_seq || check.events != 5) {
        (void)fprintf(stderr, "the archive to begin with is none: %s%s\n", err.text, check.why);
        abort();
    }
    FILE *stream = fopen(path, "re");
    seed_bytes = stream ? fread(seed, 1, sizeof seed, stream) : 0;
    if (!stream || fclose(stream) != 0 || seed_bytes == 0 || seed_bytes == sizeof seed)
        abort();
}

static void write_changed(const uint8_t *data, size_t size)
{
    size_t bytes = seed_bytes;
    memcpy(changed, seed, seed_bytes);
    for (; size >= 3; data += 3, size -= 3)
        changed[(size_t)(data[0] << 8 | data[1]) % seed_bytes] = data[2];
    if (size == 1)
        bytes = seed_bytes * data[0] / 256;
    FILE *file = fopen(path, "we");
    if (!file || fwrite(changed, 1, bytes, file) != bytes || fclose(file) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_check check = {0};
    struct archive *archive;
    if (seed_bytes == 0)
        make_seed();
    write_changed(data, size);
    (void)archive_verify(path, &check, NULL);
    if (rc_bad(archive_open(path, &archive, NULL)))
        return 0;
    struct read *read = read_new(READ_EVENTS);
    read->session = STR("ses_two");
    read->limit = 100;
    (void)archive_read(archive, read, NULL);
    read_free(read);
    archive_close(archive);
    return 0;
}
