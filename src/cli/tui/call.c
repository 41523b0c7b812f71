/* A waiting call as lines of text, from the call itself. */
#include "cli/tui/tui.h"

#include "base/stamp.h"
#include "cli/view.h"

#include <stdio.h>

enum { BODY_BYTES_MAX = 8 << 20 };

/* Writes the lines of `text` without control characters, each after this mark. */
static void put_lines(struct buf *buf, char mark, const char *lead, struct str text)
{
    ARENA_SCOPE(scratch);
    do {
        struct str line = str_cut(text, '\n', &text);
        buf_putc(buf, mark);
        buf_puts(buf, lead);
        buf_put(buf, text_line(&scratch, line));
        buf_putc(buf, '\n');
    } while (text.n);
}

static void put_tree(struct buf *buf, const struct json *value)
{
    BUF_SCOPE(lines, BODY_BYTES_MAX);
    text_json(&lines, value, 2);
    struct str left = buf_str(&lines);
    while (left.n) {
        struct str line = str_cut(left, '\n', &left);
        buf_putc(buf, ' ');
        buf_put(buf, line);
        buf_putc(buf, '\n');
    }
}

static void put_parts(struct buf *buf, const struct json *parts)
{
    for (const struct json *part = parts ? parts->first : NULL; part; part = part->next) {
        struct str effect = json_text(part, "effect");
        struct str why = json_text(part, "rule");
        if (str_empty(why))
            why = json_text(part, "why");
        put_lines(buf, '#', "  part: ", json_text(part, "text"));
        const char *lead = str_is(effect, "allow") ? "    passes: " : str_is(effect, "deny") ? "    denied: "
                                                                                              : "    asked: ";
        put_lines(buf, str_is(effect, "allow") ? '=' : '!', lead, why);
    }
}

static void put_unified(struct buf *buf, const struct json *preview)
{
    const struct json *unified = json_get(preview, "unified");
    put_lines(buf, '*', "", json_text(preview, "file_path"));
    for (const struct json *line = unified ? unified->first : NULL; line; line = line->next) {
        char sign = line->text.n ? line->text.p[0] : ' ';
        put_lines(buf, sign == '+' || sign == '-' ? sign : sign == '@' ? '#' : ' ', "", line->text);
    }
    if (!str_empty(json_text(preview, "note")))
        put_lines(buf, '#', "", json_text(preview, "note"));
    if (json_bool(preview, "cut", false))
        put_lines(buf, '!', "", STR("the difference is longer than what is shown"));
}

static void put_questions(struct buf *buf, const struct questions *questions)
{
    ARENA_SCOPE(scratch);
    if (!str_empty(questions->heading))
        put_lines(buf, ' ', "", questions->heading);
    for (size_t i = 0; i < questions->count; i++) {
        const struct question *q = &questions->all[i];
        unsigned number = 0;
        put_lines(buf, '*', "", q->words);
        if (q->several)
            put_lines(buf, '#', "  ", STR("several, with commas between them"));
        for (const struct json *o = q->options ? q->options->first : NULL; o; o = o->next) {
            struct str about = option_about(o), label = option_label(o);
            put_lines(buf, ' ', "  ", arena_printf(&scratch, "%u  %.*s%s%.*s", ++number, STR_ARG(label),
                                                   str_empty(about) ? "" : ": ", STR_ARG(about)));
        }
    }
}

static void put_preview(struct buf *buf, const struct json *preview, const struct json *input)
{
    const struct json *files = json_get(preview, "files");
    struct str command = json_text(preview, "command");
    if (json_get(preview, "unified")) {
        put_unified(buf, preview);
    } else if (files && files->type == JSON_ARRAY) {
        for (const struct json *file = files->first; file; file = file->next)
            put_unified(buf, file);
    } else if (!str_empty(command)) {
        put_lines(buf, '*', "$ ", command);
    } else if (json_get(input, "new_string") && json_get(input, "old_string")) {
        put_lines(buf, '*', "", json_text(input, "file_path"));
        put_lines(buf, '-', "- ", json_text(input, "old_string"));
        put_lines(buf, '+', "+ ", json_text(input, "new_string"));
    } else if (input) {
        put_tree(buf, input);
    }
}

/* Writes the warnings of a call (key riskWords) or of its preview (key warnings). */
static void put_warnings(struct buf *buf, const struct json *of, const char *key)
{
    const struct json *warnings = json_get(of, key);
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next)
        put_lines(buf, '!', "! ", w->type == JSON_STRING ? w->text : json_text(w, "text"));
}

static struct str body_of(struct arena *arena, const struct tui_call *call, const struct json *pending)
{
    const struct json *preview = json_get(pending, "preview");
    const struct json *input = call->input;
    struct str cwd = json_text(preview, "cwd"), said = json_text(input, "description");
    BUF_SCOPE(buf, BODY_BYTES_MAX);
    put_warnings(&buf, pending, "riskWords");
    put_warnings(&buf, preview, "warnings");
    put_warnings(&buf, pending, "warnings"); /* the warnings of a preview that the list leaves out */
    if (call->cut)
        put_lines(&buf, '!', "", STR("the whole call and its file are being read"));
    switch (call->kind) {
    case TUI_USE: put_preview(&buf, preview, input); break;
    case TUI_QUESTIONS: put_questions(&buf, &call->questions); break;
    case TUI_PLAN: put_lines(&buf, ' ', "", json_text(input, "plan")); break;
    }
    put_parts(&buf, json_get(pending, "parts"));
    if (!str_empty(cwd))
        put_lines(&buf, '#', "in ", cwd);
    if (!str_empty(said))
        put_lines(&buf, '#', "the agent says: ", said);
    put_lines(&buf, '#', "needs your approval: ", json_text(json_get(pending, "reason"), "why"));
    if (buf.over)
        return STR("!This call is too long for a terminal: look at it on the page.\n");
    return arena_str(arena, buf_str(&buf));
}

static void read_suggestions(struct arena *arena, struct tui_call *call, const struct json *suggestions)
{
    for (const struct json *s = suggestions ? suggestions->first : NULL; s; s = s->next) {
        const struct json *rules = json_get(s, "rules");
        if (call->suggestions == TUI_SUGGESTIONS || !rules || rules->count == 0)
            continue;
        size_t at = call->suggestions++;
        call->rules[at] = rules->raw;
        call->labels[at] = text_line(arena, arena_printf(arena, "%.*s %.*s %.*s", STR_ARG(json_text(s, "label")),
                                                         STR_ARG(rules->raw), STR_ARG(json_text(s, "warning"))));
    }
}

static enum tui_kind kind_of(struct arena *arena, struct str tool, const struct json *input,
                             struct questions *ret_questions)
{
    if (questions_read(arena, tool, input, ret_questions) && ret_questions->count)
        return TUI_QUESTIONS;
    return str_is(tool, "ExitPlanMode") || str_is(tool, "exit_plan_mode") ? TUI_PLAN : TUI_USE;
}

static struct str headline_of(const struct tui_call *call, const struct json *pending)
{
    struct str command = json_text(json_get(pending, "preview"), "command");
    switch (call->kind) {
    case TUI_QUESTIONS: return call->questions.all[0].words;
    case TUI_PLAN: return STR("carry out a plan");
    case TUI_USE: break;
    }
    return str_empty(command) ? json_text(pending, "summary") : command;
}

struct tui_call tui_read_call(struct arena *arena, const struct json *pending, struct str title)
{
    const struct json *tool = json_get(pending, "toolCall");
    struct tui_call call = {
        .session = json_text(pending, "sessionId"),
        .call = json_text(pending, "toolCallId"),
        .digest = json_text(pending, "digest"),
        .tool = text_line(arena, json_text(tool, "name")),
        .input = json_get(tool, "input"),
        .cut = view_partly(pending),
    };
    call.kind = kind_of(arena, json_text(tool, "name"), call.input, &call.questions);
    call.headline = text_line(arena, headline_of(&call, pending));
    call.body = body_of(arena, &call, pending);
    struct str people = view_people(arena, pending);
    call.where = arena_printf(arena, "%.*s, %.*s%s%.*s%s", STR_ARG(text_line(arena, json_text(pending, "agent"))),
                              STR_ARG(str_empty(title) ? STR("session") : title),
                              people.n ? ", " : "", STR_ARG(people),
                              json_bool(pending, "nobodyWaits", false) ? ", nobody waits for it"
                              : json_bool(pending, "alerted", false)   ? ", nobody has answered"
                                                                       : "");
    (void)stamp_parse(json_text(pending, "requestedAt"), &call.asked_ms);
    (void)stamp_parse(json_text(pending, "deadline"), &call.deadline_ms);
    read_suggestions(arena, &call, json_get(pending, "suggestions"));
    return call;
}
