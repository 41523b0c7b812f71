#include "event/archived.h"

#include "base/buf.h"

enum { DATA_BYTES_MAX = 8192 };

static void put_digest(struct json_out *out, const char *key, const struct digest *digest)
{
    char hex[DIGEST_HEX_BYTES];
    digest_hex(digest, hex);
    json_member(out, key, str_of(hex));
}

struct str archived_data(struct arena *arena, const struct archived *archived)
{
    BUF_SCOPE(buf, DATA_BYTES_MAX);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "archive", archived->file);
    put_digest(&out, "archiveDigest", &archived->file_digest);
    json_member_u64(&out, "events", archived->events);
    json_member_u64(&out, "calls", archived->calls);
    json_member_u64(&out, "firstSeq", archived->first_seq);
    json_member_u64(&out, "lastSeq", archived->last_seq);
    put_digest(&out, "hash", &archived->hash);
    json_close(&out, '}');
    CHECK(!buf.over);
    return arena_str(arena, buf_str(&buf));
}

static bool take_number(const struct json *data, const char *key, uint64_t *ret_value)
{
    int64_t value = -1;
    if (!json_i64(json_get(data, key), &value) || value < 0)
        return false;
    *ret_value = (uint64_t)value;
    return true;
}

bool archived_parse(struct arena *arena, struct str data, struct archived *ret_archived)
{
    const struct json *json = NULL;
    struct archived archived;
    if (rc_bad(json_parse(arena, data, &json, NULL)) || json->type != JSON_OBJECT)
        return false;
    archived.file = json_text(json, "archive");
    if (str_empty(archived.file) || !digest_parse(json_text(json, "archiveDigest"), &archived.file_digest) ||
        !digest_parse(json_text(json, "hash"), &archived.hash) ||
        !take_number(json, "events", &archived.events) || !take_number(json, "calls", &archived.calls) ||
        !take_number(json, "firstSeq", &archived.first_seq) || !take_number(json, "lastSeq", &archived.last_seq))
        return false;
    if (archived.first_seq == 0 || archived.last_seq < archived.first_seq || archived.events == 0 ||
        archived.calls > archived.events || archived.events > archived.last_seq - archived.first_seq + 1)
        return false;
    *ret_archived = archived;
    return true;
}
