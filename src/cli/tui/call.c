/* A waiting call as the screen needs it. */
#include "cli/tui/tui.h"

#include "base/stamp.h"
#include "cli/view.h"

/* In the server's order, narrow before broad. A warning about a broad rule stands beside its name, where it is
 * chosen. */
static void read_suggestions(struct arena *arena, struct tui_call *call, const struct json *suggestions)
{
    for (const struct json *s = suggestions ? suggestions->first : NULL; s; s = s->next) {
        const struct json *rules = json_get(s, "rules");
        if (call->suggestions == TUI_SUGGESTIONS || !rules || rules->count == 0)
            continue;
        size_t at = call->suggestions++;
        struct str names = STR(""), warning = json_text(s, "warning");
        for (const struct json *rule = rules->first; rule; rule = rule->next)
            names = arena_printf(arena, "%.*s%s%.*s", STR_ARG(names), names.n ? ", " : "", STR_ARG(rule->text));
        call->rules[at] = rules->raw;
        call->labels[at] = text_line(arena, arena_printf(arena, "%.*s: %.*s%s%.*s", STR_ARG(json_text(s, "label")),
                                                         STR_ARG(names), warning.n ? "  Broad: " : "",
                                                         STR_ARG(warning)));
    }
}

static struct str where_of(struct arena *arena, const struct json *pending, struct str title)
{
    struct str people = view_people(arena, pending), state = view_state(arena, pending);
    return arena_printf(arena, "%.*s, %.*s%s%.*s%s%.*s%s", STR_ARG(text_line(arena, json_text(pending, "agent"))),
                        STR_ARG(str_empty(title) ? STR("session") : title), people.n ? ", " : "", STR_ARG(people),
                        state.n ? ", " : "", STR_ARG(state),
                        json_bool(pending, "nobodyWaits", false) ? ", nobody waits for it"
                        : json_bool(pending, "alerted", false)   ? ", nobody has answered"
                                                                 : "");
}

/* All texts are made safe and laid out here, once for each list: drawing only copies them. */
struct tui_call tui_read_call(struct arena *arena, const struct json *pending, struct str title)
{
    const struct json *tool = json_get(pending, "toolCall");
    struct tui_call call = {
        .session = json_text(pending, "sessionId"),
        .call = json_text(pending, "toolCallId"),
        .digest = json_text(pending, "digest"),
        .tool = text_line(arena, json_text(tool, "name")),
        .input = json_get(tool, "input"),
        .agent = text_line(arena, json_text(pending, "agent")),
        .headline = body_headline(arena, pending),
        .sentence = body_sentence(arena, pending),
        .where = where_of(arena, pending, title),
        .snoozed = json_text(pending, "snoozedUntil").n > 0,
        .risky = json_bool(pending, "risky", true),
        .cut = view_partly(pending),
    };
    call.kind = body_kind(arena, pending, &call.questions);
    call.risks = body_risks(arena, json_get(pending, "risk"), &call.mark);
    call.body = body_lines(arena, pending);
    if (call.cut)
        call.body = arena_printf(arena, "!the whole call and its file are being read\n%.*s", STR_ARG(call.body));
    (void)stamp_parse(json_text(pending, "requestedAt"), &call.asked_ms);
    (void)stamp_parse(json_text(pending, "deadline"), &call.deadline_ms);
    read_suggestions(arena, &call, json_get(pending, "suggestions"));
    return call;
}
