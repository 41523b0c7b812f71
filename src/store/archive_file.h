/* An archive while it is written, under a temporary name. */
#ifndef STORE_ARCHIVE_FILE_H
#define STORE_ARCHIVE_FILE_H

#include "store/verify.h"

struct archive_file;

/* Creates the file; fails when it exists. */
struct rc archive_file_new(const char *path, struct archive_file **ret_file, struct err *err);
struct rc archive_file_event(struct archive_file *file, const struct filed_event *filed, struct err *err);
/* Adds the head of a session; all of its events must have been added before. */
struct rc archive_file_head(struct archive_file *file, const struct filed_head *head, struct err *err);
/* Removes the events of a session that has no head yet; `chain` is the seq of its first event. */
struct rc archive_file_drop(struct archive_file *file, uint64_t chain, struct err *err);
/* Closes the file: complete and synced when this returns; nothing can be added afterwards. */
struct rc archive_file_end(struct archive_file *file, struct err *err);
void archive_file_free(struct archive_file *file);

/* Refuses a file that is not an archive. */
struct rc archive_file_recognise(const char *path, struct err *err);

/* A store opened for reading while another process may write to it. */
struct archive_source {
    const struct backend *backend;
    struct backend_handle *reader;
    const _Atomic bool *stop; /* may be NULL */
};
struct rc archive_stopped(const struct archive_source *source, struct err *err);

/* archive_export.c: copies every finished session whose last event is old enough into a new file at `path`, which is
 * synced. `*ret_count` is their number; with none there is no file. */
struct rc archive_export(const struct archive_source *source, int64_t until_ms, const char *path,
                         uint64_t *ret_count, struct err *err);
/* The next page of a session's events, or of all sessions'; the caller frees it. */
struct rc archive_page(const struct archive_source *source, struct str session, uint64_t kinds, uint64_t after,
                       struct read **ret_page, struct err *err);

#endif
