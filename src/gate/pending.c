/* How calls that wait are shown to whoever may answer them: one whole, or many in a list.
 *
 * A list never grows with the inputs of its calls: an input or preview over LIMIT_SHOWN_BYTES is left out, its size
 * is told, and whoever wants to see it asks for the one call. It is written from the view in memory, so that it costs
 * the same however large the calls are.
 */
#include "gate/inner.h"
#include "gate/verdict.h"

#include "event/shapes.h"
#include "io/clock.h"
#include "tools/tools.h"

#include <stdlib.h>

/* The verdict of the current rules: the parts of a command, each with its verdict, and rules that would let
 * the call pass. Remembered until a rule changes, because people look often. */
static struct str judged(struct gate *gate, struct arena *arena, const struct open_approval *approval,
                         const struct tool_facts *facts, struct str cwd)
{
    struct open *open = open_find(gate, approval->request.session, approval->request.call);
    struct session_slot *slot = map_get(&gate->sessions, approval->request.session);
    if (!open || !slot || !slot->session || !facts->input || facts->input->type != JSON_OBJECT)
        return STR("\"suggestions\":[]");
    uint64_t version = gate->rules.version ^ slot->session->changed_seq << 20;
    if (open->judged && open->judged_version == version)
        return str_of(open->judged);
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    struct question question = gate_question(gate, arena, slot->session, facts, cwd);
    struct verdict verdict = policy_judge(arena, &question);
    verdict_write_suggestions(&out, arena, &question);
    verdict_write_parts(&out, &verdict);
    if (!str_empty(open->brief)) /* a large call is looked at once; what is remembered stays small */
        return arena_str(arena, buf_str(&buf));
    free(open->judged);
    open->judged = strdup(buf_c(&buf));
    open->judged_version = version;
    return str_of(open->judged);
}

/* Writes the value, or its size where it is too large for a list. */
static void put_or_size(struct json_out *out, const char *key, const char *size_key, struct str raw, bool cut)
{
    if (cut)
        json_member_u64(out, size_key, raw.n);
    else
        json_member_raw(out, key, raw);
}

/* Members that do not depend on rules: they are written once per call and can be kept. */
static void put_call(struct json_out *out, const struct open_approval *open, struct str name, struct str input,
                     bool cut)
{
    json_members(out, J("toolCallId", open->request.call), J("sessionId", open->request.session),
                 J("threadId", open->request.thread));
    json_open_member(out, "toolCall", '{');
    json_members(out, J("id", open->request.call), J("name", name));
    put_or_size(out, "input", "inputBytes", input, cut);
    json_close(out, '}');
    json_members(out, J("agent", open->call.actor), J_TIME("requestedAt", open->request.at_ms));
    json_key(out, "deadline");
    if (open->deadline_ms)
        json_put_time(out, open->deadline_ms);
    else
        json_put_null(out);
}

static struct str preview_of(struct arena *arena, const struct tool_facts *facts, struct str kept, struct str cwd)
{
    if (kept.n)
        return kept;
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    tool_preview(&out, facts, cwd);
    return arena_str(arena, buf_str(&buf));
}

/* A preview of the call's own texts, with what a look at the file found: that it is new, or why the change would
 * fail. */
static struct str with_found(struct arena *arena, struct str own, const struct json *found)
{
    const struct json *preview = NULL;
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES);
    if (rc_bad(json_parse(arena, own, &preview, NULL)))
        return own;
    json_open(&out, '{');
    for (const struct json *member = preview->first; member; member = member->next)
        if (!str_is(member->key, "fragment") && (!str_is(member->key, "note") || json_get(found, "problem")))
            json_put_member(&out, member);
    for (const struct json *member = found->first; member; member = member->next)
        json_put_member(&out, member);
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}

/* For those who may answer: the difference in the file as it was when the person was asked. */
static struct str preview_in_file(struct arena *arena, struct str own, struct str in_file)
{
    const struct json *found = NULL;
    if (str_empty(in_file) || rc_bad(json_parse(arena, in_file, &found, NULL)) || found->type != JSON_OBJECT)
        return own;
    return json_get(found, "type") ? in_file : with_found(arena, own, found);
}

/* Writes the warnings of a preview that the list leaves out. */
static void put_warnings(struct json_out *out, struct arena *arena, struct str preview)
{
    const struct json *parsed = NULL;
    if (rc_bad(json_parse(arena, preview, &parsed, NULL)))
        return;
    const struct json *warnings = json_get(parsed, "warnings");
    if (warnings && warnings->raw.n <= LIMIT_SHOWN_BYTES)
        json_member_raw(out, "warnings", warnings->raw);
}

/* The number of simple commands that the person was shown. */
static size_t shown_parts(struct arena *arena, struct str shown)
{
    const struct json *kept = NULL;
    if (str_empty(shown) || rc_bad(json_parse(arena, shown, &kept, NULL)))
        return 0;
    const struct json *parts = json_get(kept, "parts");
    return parts ? parts->count : 0;
}

static void put_title(struct json_out *out, struct arena *arena, const struct tool_facts *facts, struct str preview,
                      struct str shown)
{
    const struct json *parsed = NULL;
    if (rc_bad(json_parse(arena, preview, &parsed, NULL)))
        return;
    struct tool_title title = tool_title(arena, facts, parsed,
                                         facts->class == TOOL_COMMAND ? shown_parts(arena, shown) : 0);
    json_open_member(out, "title", '{');
    json_members(out, J("kind", title.kind), J("verb", title.verb), J("object", title.object), J("tail", title.tail),
                 J("where", title.where));
    json_close(out, '}');
}

/* Writes all members of a waiting call except the present verdict of the rules. */
static bool put_shown(struct json_out *out, struct arena *arena, const struct open_approval *open,
                      enum pending_form form, struct tool_facts *ret_facts, struct str *ret_cwd, bool *ret_cut)
{
    bool whole = form != PENDING_LISTED;
    struct data_tool_call call;
    struct data_tool_approval_request request = {0};
    const struct json *input = NULL;
    if (!READ_DATA(arena, tool_call, open->call.data, &call) ||
        (open->request.data.n && !READ_DATA(arena, tool_approval_request, open->request.data, &request)) ||
        (call.input.n && rc_bad(json_parse(arena, call.input, &input, NULL))))
        return false;
    static const struct data_reason none = {0};
    struct str raw = input ? call.input : STR("{}"), name = call.name;
    *ret_cwd = call.cwd;
    *ret_facts = tool_facts_from(arena, call.dialect, name, input);
    struct str preview = preview_of(arena, ret_facts, request.preview, *ret_cwd);
    if (form == PENDING_IN_FILE)
        preview = preview_in_file(arena, preview, request.in_file);
    bool input_cut = !whole && raw.n > LIMIT_SHOWN_BYTES, preview_cut = !whole && preview.n > LIMIT_SHOWN_BYTES;
    put_call(out, open, name, raw, input_cut);
    json_key(out, "reason");
    shape_write(out, shape_reason(), request.reason ? request.reason : &none);
    BUF_SCOPE(summary, LIMIT_TITLE_BYTES);
    tool_summary(&summary, ret_facts);
    json_member(out, "summary", buf_str(&summary));
    put_title(out, arena, ret_facts, preview, request.shown);
    put_or_size(out, "preview", "previewBytes", preview, preview_cut);
    if (preview_cut)
        put_warnings(out, arena, preview);
    json_member(out, "digest", request.digest);
    json_member(out, "box", request.box);
    json_member_flag(out, "inFile", !whole && !str_empty(request.in_file));
    *ret_cut = input_cut || preview_cut;
    return true;
}

static void put_marks(struct json_out *out, const struct marks *marks)
{
    json_members(out, J_IF(marks && marks->snoozed_ms > clock_wall_ms(), J_TIME("snoozedUntil", marks->snoozed_ms)),
                 J_IF(marks, J("assignee", ((struct str){marks->assignee, marks->assignee_bytes}))));
}

/* Writes what has happened to the call since it was asked. */
static void put_state(struct json_out *out, const struct open *open)
{
    if (open)
        put_marks(out, open->marks);
    json_members(out, J_FLAG("alerted", open && open->alerted), J_FLAG("nobodyWaits", open && open->left));
}

/* For calls that several persons must allow: who has, and with which change of the input. */
static void put_people(struct json_out *out, const struct open *open, bool whole)
{
    if (!open || open->people < 2)
        return;
    const struct partials *partials = open->partials;
    json_open_member(out, "people", '{');
    json_member_u64(out, "need", open->people);
    JSON_LIST(out, "have")
        for (const struct partial *p = partials ? partials->first : NULL; p; p = p->next)
            json_object(out, J("person", p->person), J_TIME("at", p->at_ms), J_BOOL("signed", p->is_signed));
    if (partials && !str_empty(partials->input))
        put_or_size(out, "updatedInput", "updatedInputBytes", partials->input,
                    !whole && partials->input.n > LIMIT_SHOWN_BYTES);
    json_close(out, '}');
}

/* Writes the risk of a call, and leaves out the parts and suggestions, which are too long for a list. `by_rules` is the
 * verdict as JSON. */
static void put_risk(struct json_out *out, struct arena *arena, struct str by_rules)
{
    static const char *const keys[] = {"risk", "risky", "riskWords"};
    const struct json *all = NULL;
    json_member_raw(out, "suggestions", STR("[]"));
    if (rc_bad(json_parse(arena, by_rules, &all, NULL)))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct json *value = json_get(all, keys[i]);
        if (value)
            json_member_raw(out, keys[i], value->raw);
    }
}

/* Writes a waiting call, as one or for a list, with its parts judged now; what is too long is left out and marked. */
void gate_write_pending(struct gate *gate, struct json_out *out, struct arena *arena,
                        const struct open_approval *open, enum pending_form form)
{
    JSON_SCOPE(shown, members, LIMIT_ANSWER_BYTES);
    bool whole = form != PENDING_LISTED;
    struct tool_facts facts;
    struct str cwd;
    bool cut;
    if (!put_shown(&members, arena, open, form, &facts, &cwd, &cut))
        return;
    struct str by_rules = judged(gate, arena, open, &facts, cwd);
    bool too_long = !whole && by_rules.n > 4 * LIMIT_SHOWN_BYTES;
    cut = cut || too_long;
    json_open(out, '{');
    json_put_raw(out, buf_str(&shown));
    if (too_long)
        put_risk(out, arena, arena_printf(arena, "{%.*s}", STR_ARG(by_rules)));
    else
        json_put_raw(out, by_rules);
    json_member_flag(out, "cut", cut);
    const struct open *known = open_find(gate, open->request.session, open->request.call);
    put_state(out, known);
    put_people(out, known, whole);
    json_close(out, '}');
}

bool pending_put_kept(struct json_out *out, struct arena *arena, const struct open_approval *open,
                      enum pending_form form)
{
    struct tool_facts facts;
    struct str cwd;
    bool cut;
    return put_shown(out, arena, open, form, &facts, &cwd, &cut);
}

struct str pending_preview(struct arena *arena, const struct call *call, struct str input)
{
    const struct json *parsed = NULL;
    if (rc_bad(json_parse(arena, input, &parsed, NULL)))
        return STR_NONE;
    struct tool_facts facts = tool_facts_from(arena, call->dialect, call->name, parsed);
    return preview_of(arena, &facts, STR_NONE, call->cwd);
}

/* The same without rules, made once when a large call begins to wait, so that lists need not read its input
 * again. */
struct str pending_brief(struct arena *arena, const struct open_approval *open)
{
    JSON_SCOPE(shown, members, LIMIT_ANSWER_BYTES);
    struct tool_facts facts;
    struct str cwd;
    bool cut;
    struct data_tool_approval_request request = {0};
    if (!put_shown(&members, arena, open, PENDING_LISTED, &facts, &cwd, &cut))
        return STR_NONE;
    (void)READ_DATA(arena, tool_approval_request, open->request.data, &request);
    put_risk(&members, arena, request.shown);
    json_member_bool(&members, "cut", true);
    return arena_str(arena, buf_str(&shown));
}

struct gate_request gate_request(const struct gate *gate, struct arena *arena, const struct event *request)
{
    const struct open *open = open_find(gate, request->session, request->call);
    struct data_tool_approval_request data = {0};
    if (open && open->seq == request->seq)
        return (struct gate_request){open->name, open->callback, open->deadline_ms, open->routine};
    (void)READ_DATA(arena, tool_approval_request, request->data, &data);
    return (struct gate_request){data.tool, data.callback, data.deadline, data.routine};
}

/* ---- the list ---- */

void gate_write_listed(struct gate *gate, struct json_out *out, const struct listed *listed)
{
    ARENA_SCOPE(scratch);
    const struct open *open = open_find(gate, listed->session, listed->call);
    if (!open)
        return; /* answered since it was listed */
    if (!str_empty(open->brief)) {
        json_open(out, '{');
        json_put_raw(out, open->brief);
        put_state(out, open);
        put_people(out, open, false);
        json_close(out, '}');
        return;
    }
    struct open_approval approval = {
        .call = {.actor = open->actor, .data = open->call_data},
        .request = {.session = open->session, .thread = open->thread, .call = open->call, .seq = open->seq,
                    .at_ms = open->requested_ms, .data = open->request_data},
        .deadline_ms = open->deadline_ms,
    };
    gate_write_pending(gate, out, &scratch, &approval, PENDING_LISTED);
}

static int by_seq(const void *a, const void *b)
{
    const struct open *x = *(struct open *const *)a, *y = *(struct open *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_actor(const void *a, const void *b)
{
    const struct open *x = *(struct open *const *)a, *y = *(struct open *const *)b;
    int order = str_cmp(x->actor, y->actor);
    return order ? order : by_seq(a, b);
}

static int by_round(const void *a, const void *b)
{
    const struct open *x = *(struct open *const *)a, *y = *(struct open *const *)b;
    return x->round != y->round ? (x->round < y->round ? -1 : 1) : by_seq(a, b);
}

/* The first of every agent, then the second of every agent, and so on: one agent's flood hides nobody's call. */
static void take_in_turn(struct open **all, size_t count)
{
    qsort(all, count, sizeof *all, by_actor);
    for (size_t i = 0; i < count; i++)
        all[i]->round = i && str_eq(all[i]->actor, all[i - 1]->actor) ? all[i - 1]->round + 1 : 0;
    qsort(all, count, sizeof *all, by_round);
}

static bool in_scope(const struct pending_list *list, const struct open *open)
{
    return (str_empty(list->session) || str_eq(open->session, list->session)) &&
           (str_empty(list->thread) || str_eq(open->thread, list->thread)) &&
           (str_empty(list->agent) || str_eq(open->actor, list->agent)) && open->seq > list->after;
}

/* The last seq before which nothing is left out. Of `all` the first `count` are listed, by seq. */
static uint64_t listed_up_to(struct open *const *all, size_t count, size_t total)
{
    uint64_t left_out = UINT64_MAX, up_to = 0;
    for (size_t i = count; i < total; i++)
        left_out = all[i]->seq < left_out ? all[i]->seq : left_out;
    for (size_t i = 0; i < count && all[i]->seq < left_out; i++)
        up_to = all[i]->seq;
    return up_to;
}

/* From the view in memory. With a limit, sessions take turns, so that one session with many calls does not hide
 * others. */
void gate_list_pending(const struct gate *gate, struct arena *arena, struct pending_list *list)
{
    struct open **all = arena_array(arena, struct open *, gate->core.open.count);
    size_t count = 0;
    MAP_EACH(&gate->core.open, each)
        if (in_scope(list, each.value))
            all[count++] = each.value;
    list->seq = gate_figures(gate).last_seq;
    list->total = count;
    list->count = list->limit && count > list->limit ? list->limit : count;
    if (!list->in_order && list->count < count)
        take_in_turn(all, count);
    else
        qsort(all, count, sizeof *all, by_seq);
    qsort(all, list->count, sizeof *all, by_seq);
    list->calls = arena_array(arena, struct listed, list->count);
    for (size_t i = 0; i < list->count; i++)
        list->calls[i] = (struct listed){.session = arena_str(arena, all[i]->session),
                                         .call = arena_str(arena, all[i]->call)};
    list->more = list->count < count;
    list->next = listed_up_to(all, list->count, count);
}
