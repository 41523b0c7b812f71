/* A call as it is shown for ever: as people saw it when it was asked, who answered what, and what came of it.
 *
 * It is written from the call's own events alone. Rules that have changed since, and files as they are now, do not
 * matter: the request keeps what was shown. An archive is read by a worker, because that blocks on disk.
 */
#include "gate/inner.h"
#include "gate/verdict.h"

#include "event/shapes.h"

#include <stdlib.h>

struct history *history_new(struct str session, struct str call)
{
    struct history *history = heap_new(sizeof *history);
    history->read = read_new_call(session, call);
    return history;
}

void history_free(struct history *history)
{
    read_free(history->read);
    free(history);
}

/* ---- reading ---- */

static void end(struct history *history)
{
    if (!history->op.err && history->read->event_count == 0)
        (void)err_set(gate_op_fail(&history->op), ERR_NOT_FOUND, "there is no such call");
    op_end(&history->op);
}

/* In a worker: archives are files and block. */
static void read_archive(struct job *job)
{
    struct history *history = job->arg;
    struct arena *arena = &history->read->arena;
    struct archive *archive = NULL;
    const char *folder = history->op.gate->options.archive_folder;
    struct str path = arena_printf(arena, "%s/%.*s", folder, STR_ARG(history->archive));
    if (rc_bad(archive_open(arena_c(arena, path), &archive, &history->err)))
        return;
    if (rc_ok(archive_read(archive, history->read, &history->err)))
        history->err = history->read->err;
    archive_close(archive);
}

static void archive_is_read(struct job *job)
{
    struct history *history = job->arg;
    gate_op_take(&history->op, &history->err);
    end(history);
}

/* Finds the archive file into which the session was moved; false when it was not moved. */
static bool find_archive(struct history *history)
{
    struct read *read = history->read;
    struct archived archived;
    for (size_t i = 0; i < read->archived_count; i++)
        if (str_eq(read->archived[i].session, read->session) &&
            archived_parse(&read->arena, read->archived[i].data, &archived) && !str_has(archived.file, STR("/")))
            history->archive = archived.file;
    return !str_empty(history->archive);
}

/* A call that is not in the store may be in an archive that its session left for. */
static void events_read(struct read *read)
{
    struct history *history = read->arg;
    gate_op_take(&history->op, &read->err);
    if (read->err.code != ERR_OK || read->event_count || !find_archive(history)) {
        end(history);
        return;
    }
    history->job = (struct job){.run = read_archive, .done = archive_is_read, .arg = history};
    execute_hand_over(history->op.gate, &history->job);
}

void gate_read_history(struct gate *gate, struct history *history)
{
    CHECK(history->op.done);
    history->op.gate = gate;
    gate_read(gate, history->read, events_read, history);
}

/* ---- writing ---- */

static void put_answer(struct json_out *out, struct arena *arena, const struct call *call, const struct event *response)
{
    struct data_tool_approval_response data;
    json_members(out, J("decision", decision_name(call->decision)), J("actor", call->actor),
                 J_TIME("at", call->decided_ms), J_BOOL("byPolicy", call->by_policy), J("by", call->by),
                 J("feedback", call->feedback), J("mode", call->mode), J_RAW("rules", call->rules),
                 J("scope", call->reach), J_IF(call->rules_end_ms, J_TIME("expiresAt", call->rules_end_ms)),
                 J_IF(call->rules_uses, J("uses", (uint64_t)call->rules_uses)),
                 J_RAW("updatedInput", call->updated_input),
                 J_IF(!str_empty(call->updated_input),
                      J_RAW("updatedPreview", pending_preview(arena, call, call->updated_input))),
                 J_IF(response && READ_DATA(arena, tool_approval_response, response->data, &data),
                      J_RAW("signature", data.signature)));
}

static void put_result(struct json_out *out, const struct call *call, const struct event *result)
{
    json_members(out, J_TIME("at", result->at_ms), J_RAW("content", call->result),
                 J_BOOL("isError", call->result_is_error), J("supersededBy", call->superseded_by));
}

/* Writes the rules' verdict at that time; for a call that was not asked about, it is in the call's own event. */
static void put_judged(struct json_out *out, struct arena *arena, const struct event *request, struct str input)
{
    struct data_tool_approval_request data;
    const struct json *shown = NULL, *called = NULL;
    if (!READ_DATA(arena, tool_approval_request, request->data, &data) || data.shown.n < 2 ||
        rc_bad(json_parse(arena, data.shown, &shown, NULL)) ||
        (input.n && rc_bad(json_parse(arena, input, &called, NULL))))
        return;
    verdict_put_kept(out, shown, called);
}

/* Written from the events alone, in the form in which a waiting call is shown, with the answer and the result
 * behind. */
void gate_write_history(struct json_out *out, struct history *history, bool in_file)
{
    struct read *read = history->read;
    struct arena *arena = &read->arena;
    const struct event *response = NULL, *result = NULL;
    struct open_approval open = {0};
    struct call call = {0};
    for (size_t i = 0; i < read->event_count; i++) {
        const struct event *event = &read->events[i];
        call_apply(arena, &call, event);
        if (event->kind == EVENT_TOOL_CALL)
            open.call = *event;
        else if (event->kind == EVENT_TOOL_APPROVAL_REQUEST)
            open.request = *event;
        else if (event->kind == EVENT_TOOL_APPROVAL_RESPONSE && call.response_seq == event->seq)
            response = event;
        else if (event->kind == EVENT_TOOL_RESULT && call.result_seq == event->seq)
            result = event;
    }
    bool asked = open.request.seq;
    if (!asked) {
        open.request = open.call;
        open.request.data = STR_NONE;
    }
    open.deadline_ms = call.deadline_ms;
    json_open(out, '{');
    (void)pending_put_kept(out, arena, &open, in_file ? PENDING_IN_FILE : PENDING_WHOLE);
    if (asked)
        put_judged(out, arena, &open.request, call.input);
    json_members(out, J_BOOL("asked", asked), J("status", call_status_name(call.status)), J("rule", call.rule),
                 J("source", call.source), J("why", call.why), J("archive", history->archive));
    if (call.decision != DECISION_NONE) {
        json_open_member(out, "answer", '{');
        put_answer(out, arena, &call, response);
        json_close(out, '}');
    }
    if (result) {
        json_open_member(out, "result", '{');
        put_result(out, &call, result);
        json_close(out, '}');
    }
    json_close(out, '}');
}
