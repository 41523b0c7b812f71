/* RUN_STATUS, written in one place for all who move a run. */
#include "runtime/inner.h"

void run_parent_write(struct json_out *out, const struct run_parent *parent)
{
    json_member(out, "agent", parent->agent);
    if (!parent->depth)
        return;
    json_member_i64(out, "depth", parent->depth);
    json_key(out, "parent");
    json_open(out, '{');
    json_member(out, "threadId", parent->thread);
    json_member(out, "callId", parent->call);
    json_member(out, "runId", parent->run);
    json_close(out, '}');
}

struct str run_status_data(struct arena *arena, const struct run_state *run, const struct run_status *status)
{
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member(&out, "runId", run->id);
    json_member(&out, "status", str_of(status->status));
    json_member(&out, "reason", str_of(status->reason));
    json_member(&out, "owner", status->owner);
    if (status->figures) {
        json_member_i64(&out, "iterations", run->iterations);
        json_key(&out, "usage");
        run_usage_write(&out, &run->usage);
    }
    run_parent_write(&out, &run->parent);
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}
