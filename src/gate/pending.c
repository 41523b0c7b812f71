/* How a call that waits is shown to whoever may answer it. */
#include "gate/inner.h"

#include "tools/tools.h"

#include <stdlib.h>

/* What the rules of this moment say: the parts of a command, each with its verdict, and rules that would let
 * the call pass. Remembered until a rule changes, because people look often. */
static const char *judged(struct gate *gate, struct arena *arena, const struct open_approval *approval,
                          const struct tool_facts *facts, struct str cwd)
{
    struct open *open = open_find(gate, approval->request.session, approval->request.call);
    struct session_slot *slot = map_get(&gate->sessions, approval->request.session);
    if (!open || !slot || !slot->session || !facts->input || facts->input->type != JSON_OBJECT)
        return NULL;
    uint64_t version = gate->rules.version ^ slot->session->changed_seq << 20;
    if (open->judged && open->judged_version == version)
        return open->judged;
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    struct json_out out = json_out(&buf);
    struct question question = gate_question(gate, arena, slot->session, facts, cwd);
    struct verdict verdict = policy_judge(arena, &question);
    verdict_write_suggestions(&out, arena, &question);
    verdict_write_parts(&out, &verdict);
    free(open->judged);
    open->judged = strdup(buf_c(&buf));
    open->judged_version = version;
    return open->judged;
}

void gate_write_pending(struct gate *gate, struct json_out *out, struct arena *arena,
                        const struct open_approval *open)
{
    const struct json *call = NULL, *request = NULL;
    if (rc_bad(json_parse(arena, open->call.data, &call, NULL)) ||
        rc_bad(json_parse(arena, open->request.data, &request, NULL)))
        return;
    const struct json *input = json_get(call, "input");
    const struct json *reason = json_get(request, "reason");
    struct str name = json_text(call, "name");
    struct tool_facts facts = tool_facts_from(arena, json_text(call, "dialect"), name, input);
    json_open(out, '{');
    json_member(out, "toolCallId", open->request.call);
    json_member(out, "sessionId", open->request.session);
    json_member(out, "threadId", open->request.thread);
    json_key(out, "toolCall");
    json_open(out, '{');
    json_member(out, "id", open->request.call);
    json_member(out, "name", name);
    json_member_raw(out, "input", input ? input->raw : STR("{}"));
    json_close(out, '}');
    json_member(out, "agent", open->call.actor);
    json_member_time(out, "requestedAt", open->request.at_ms);
    json_key(out, "deadline");
    if (open->deadline_ms)
        json_put_time(out, open->deadline_ms);
    else
        json_put_null(out);
    json_member_raw(out, "reason", reason ? reason->raw : STR("{}"));
    BUF_SCOPE(summary, LIMIT_TITLE_BYTES);
    tool_summary(&summary, &facts);
    json_member(out, "summary", buf_str(&summary));
    const struct json *preview = json_get(request, "preview");
    json_key(out, "preview");
    if (preview)
        json_put_raw(out, preview->raw);
    else
        tool_preview(out, &facts, json_text(call, "cwd"));
    const char *by_rules = judged(gate, arena, open, &facts, json_text(call, "cwd"));
    json_put_raw(out, by_rules ? str_of(by_rules) : STR("\"suggestions\":[]"));
    json_member(out, "digest", json_text(request, "digest"));
    json_close(out, '}');
}
