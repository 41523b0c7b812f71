/* The data of SESSION_ARCHIVED (archived.h). */
#include "event/archived.h"

#include "event/shapes.h"

struct str archived_data(struct arena *arena, const struct archived *archived)
{
    char file[DIGEST_HEX_BYTES], hash[DIGEST_HEX_BYTES];
    digest_hex(&archived->file_digest, file);
    digest_hex(&archived->hash, hash);
    return DATA(arena, session_archived, .file = archived->file, .file_digest = str_of(file),
                .events = (int64_t)archived->events, .calls = (int64_t)archived->calls,
                .first_seq = (int64_t)archived->first_seq, .last_seq = (int64_t)archived->last_seq,
                .hash = str_of(hash));
}

bool archived_parse(struct arena *arena, struct str data, struct archived *ret_archived)
{
    struct data_session_archived read;
    if (!READ_DATA(arena, session_archived, data, &read) || str_empty(read.file) ||
        read.events < 0 || read.calls < 0 || read.first_seq < 0 || read.last_seq < 0)
        return false;
    struct archived archived = {.file = read.file,
                                .events = (uint64_t)read.events,
                                .calls = (uint64_t)read.calls,
                                .first_seq = (uint64_t)read.first_seq,
                                .last_seq = (uint64_t)read.last_seq};
    if (!digest_parse(read.file_digest, &archived.file_digest) || !digest_parse(read.hash, &archived.hash))
        return false;
    if (archived.first_seq == 0 || archived.last_seq < archived.first_seq || archived.events == 0 ||
        archived.calls > archived.events || archived.events > archived.last_seq - archived.first_seq + 1)
        return false;
    *ret_archived = archived;
    return true;
}
