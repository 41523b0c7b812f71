/* Renders the server's preview of a call as lines for a terminal (body.h): commands with their parts and risks,
 * changes of files, questions, plans. Everything passes through text_line, so no control character reaches the
 * terminal. */
#include "cli/body.h"

#include "cli/markdown.h"
#include "event/call.h"

#include <stdio.h>

enum {
    BODY_BYTES_MAX = 8 << 20,
    TAB_COLUMNS = 4,
    PRINTED_LINES = 400, /* the most lines of a body, unless the whole was asked for */
    PRINTED_BYTES = 32 << 10,
};
#define TOO_LONG "!This is too long for a terminal: look at it on the page.\n"

/* ---- lines ---- */

/* Writes each line of the text, with the mark and the lead before it. Tabs become blanks, because in a body a tab
 * stands between the left and the right column. */
void body_put_lines(struct buf *buf, char mark, const char *lead, struct str text)
{
    ARENA_SCOPE(scratch);
    do {
        struct str line = str_cut(text, '\n', &text);
        buf_putc(buf, mark);
        buf_puts(buf, lead);
        for (struct str rest = line; rest.n;) {
            struct str piece = str_cut(rest, '\t', &rest);
            buf_put(buf, text_line(&scratch, piece));
            if (piece.p + piece.n < line.p + line.n)
                buf_printf(buf, "%*s", TAB_COLUMNS, "");
        }
        buf_putc(buf, '\n');
    } while (text.n);
}

/* `left`, and at the right end of the line `right`. */
static void put_ends(struct buf *buf, char mark, struct str left, struct str right)
{
    body_put_lines(buf, mark, "", left);
    if (str_empty(right))
        return;
    ARENA_SCOPE(scratch);
    buf->n--;
    BUF_ADD(buf, STR("\t"), text_line(&scratch, right), STR("\n"));
}

/* Each line of a body begins with a mark that says what it is; whoever writes it chooses the colour from the mark. */
enum tint body_tint(char mark)
{
    switch (mark) {
    case '+':
    case '=': return TINT_GREEN;
    case '-':
    case '^': return TINT_RED;
    case '!': return TINT_YELLOW;
    case '?': return TINT_MAGENTA;
    case '#': return TINT_DIM;
    case '*': return TINT_BOLD;
    }
    return TINT_NONE;
}

/* Adds the words for the right end of the line to `shown`, if this is the last row of the line and they fit. */
static struct str with_right(struct arena *arena, struct body_rows *rows, struct str shown)
{
    unsigned taken = text_width(shown) + text_width(rows->right);
    if (rows->line.n || !rows->right.n || (rows->width && taken + 2 > rows->width))
        return shown;
    unsigned pad = rows->width ? rows->width - taken : 2;
    shown = arena_printf(arena, "%.*s%*s%.*s", STR_ARG(shown), (int)pad, "", STR_ARG(rows->right));
    rows->right = STR_NONE;
    return shown;
}

/* Wraps a body to the terminal's width: one row per call. A continued row is indented like the text of its list
 * item. */
bool body_next_row(struct arena *arena, struct body_rows *rows, struct str *ret_row)
{
    unsigned hang = rows->hang;
    if (!rows->line.n) {
        if (!rows->body.n)
            return false;
        struct str line = str_cut(rows->body, '\n', &rows->body);
        rows->mark = line.n ? line.p[0] : ' ';
        rows->line = str_cut(str_sub(line, line.n ? 1 : 0, line.n), '\t', &rows->right);
        rows->hang = text_hang(rows->line) < rows->width / 3 ? text_hang(rows->line) : 0;
        rows->hang = rows->hang > rows->indent ? rows->hang : rows->indent;
        rows->number++;
        hang = 0;
    }
    size_t n = rows->width ? text_fitting(rows->line, rows->width - hang) : rows->line.n;
    struct str shown = arena_printf(arena, "%*s%.*s", (int)hang, "", STR_ARG(str_sub(rows->line, 0, n)));
    rows->line = str_sub(rows->line, n, rows->line.n);
    *ret_row = with_right(arena, rows, shown);
    if (!rows->line.n) { /* words for the right end that do not fit beside the line stand below it */
        rows->line = rows->right;
        rows->right = STR_NONE;
    }
    return true;
}

/* Rows are wrapped to the terminal; below a width that leaves no room for text they are written as they are. */
void body_write(struct buf *buf, struct str body, bool color, unsigned width, unsigned indent)
{
    struct body_rows rows = {.body = body, .width = width > 2 * indent + 16 ? width - indent : 0};
    for (;;) {
        ARENA_SCOPE(scratch);
        struct str row;
        if (!body_next_row(&scratch, &rows, &row))
            return;
        row = text_tinted(&scratch, color, body_tint(rows.mark), row);
        buf_printf(buf, "%*s%.*s\n", (int)indent, "", STR_ARG(row));
    }
}

/* The part that fits a list. It says how much is missing: a person must not decide by a beginning taken for the
 * whole. */
struct str body_beginning(struct arena *arena, struct str body, struct str call)
{
    size_t left;
    struct str part = text_part(body, PRINTED_LINES, PRINTED_BYTES, &left);
    if (part.n == body.n)
        return body;
    const char *end = part.n && part.p[part.n - 1] == '\n' ? "" : "…\n";
    return arena_printf(arena, "%.*s%s!… %zu more line%s (%.1f KB). All of it: nod show %.*s --full\n", STR_ARG(part),
                        end, left, left == 1 ? "" : "s", (double)(body.n - part.n) / 1024,
                        STR_ARG(text_operand(arena, call)));
}

/* ---- risk ---- */

/* Worst first. */
static const struct {
    const char *class, *label;
    char mark;
} risks[] = {
    {"deletes", "Deletes", '^'},           {"sends", "Sends data", '^'},
    {"publishes", "Publishes", '^'},       {"infrastructure", "Infrastructure", '^'},
    {"database", "Database", '^'},         {"privileges", "Root access", '^'},
    {"generated code", "Generated code", '^'}, {"settings", "Settings", '^'},
    {"unknown", "Not understood", '?'},    {"network", "Network", '!'},
    {"overwrites", "Overwrites", '!'},     {"interpreter", "Runs a script", '!'},
};

static bool names(const struct json *list, const char *class)
{
    return ANY(const struct json *one = list ? list->first : NULL; one; one = one->next, str_is(one->text, class));
}

/* The table is worst first, so that the first risk found gives the mark. */
struct str body_risks(struct arena *arena, const struct json *list, char *ret_mark)
{
    struct str labels = STR("");
    char mark = ' ';
    for (size_t i = 0; i < sizeof risks / sizeof *risks; i++) {
        if (!names(list, risks[i].class))
            continue;
        mark = mark == ' ' ? risks[i].mark : mark;
        labels = arena_printf(arena, "%.*s%s%s", STR_ARG(labels), labels.n ? ", " : "", risks[i].label);
    }
    if (ret_mark)
        *ret_mark = mark;
    return labels;
}

/* Whether the class stands at a part, where it is shown. */
static bool at_a_part(const struct json *parts, struct str class)
{
    for (const struct json *part = parts ? parts->first : NULL; part; part = part->next) {
        for (const struct json *one = json_first(part, "risk"); one; one = one->next)
            if (str_eq(one->text, class))
                return true;
    }
    return false;
}

static void put_warnings(struct buf *buf, const struct json *warnings)
{
    for (const struct json *w = warnings ? warnings->first : NULL; w; w = w->next)
        body_put_lines(buf, '!', "! ", w->type == JSON_STRING ? w->text : json_text(w, "text"));
}

/* The risk of the call that stands at none of its parts, and the warnings of its preview. */
static void put_risk(struct buf *buf, const struct json *call, const struct json *preview)
{
    const struct json *class = json_first(call, "risk");
    for (const struct json *one = json_first(call, "riskWords"); one; one = one->next) {
        if (!class || !at_a_part(json_get(call, "parts"), class->text))
            body_put_lines(buf, '!', "! ", one->text);
        class = class ? class->next : NULL;
    }
    put_warnings(buf, json_get(preview, "warnings"));
    put_warnings(buf, json_get(call, "warnings")); /* of a preview that the list leaves out */
    if (!str_empty(json_text(preview, "executor")))
        body_put_lines(buf, ' ', "Files as seen by the executor of ", json_text(preview, "executor"));
    struct str box = json_text(call, "box");
    if (!str_empty(box))
        body_put_lines(buf, ' ', "", str_is(box, "inside")    ? STR("Runs in the box.")
                                     : str_is(box, "outside") ? STR("Runs outside the box.")
                                                              : STR("Runs without a box."));
    if (!str_empty(json_text(preview, "problem")))
        body_put_lines(buf, '!', "! It will fail: ", json_text(preview, "problem"));
}

/* ---- commands ---- */

static struct str verdict_of(struct arena *arena, const struct json *part)
{
    struct str effect = json_text(part, "effect"), rule = json_text(part, "rule");
    const char *words = str_is(effect, "allow") ? "✓ passes" : str_is(effect, "deny") ? "✕ denied" : "needs approval";
    return arena_printf(arena, "%s%s%.*s", words, rule.n ? " by " : "", STR_ARG(rule));
}

/* One command of a line: an edge that shows its risk, the command, its verdict at the right end, and why. */
static void put_part(struct buf *buf, const struct json *part)
{
    ARENA_SCOPE(scratch);
    char mark;
    struct str labels = body_risks(&scratch, json_get(part, "risk"), &mark);
    struct str operator = json_text(part, "operator"), why = json_text(part, "why"), text = json_text(part, "text");
    bool passes = str_is(json_text(part, "effect"), "allow"), denied = str_is(json_text(part, "effect"), "deny");
    const char *edge = mark == '?' ? "¦ " : mark == ' ' ? "  " : "┃ ";
    mark = denied ? '^' : passes && mark == ' ' ? '=' : mark;
    struct str first = str_cut(text, '\n', &text);
    put_ends(buf, mark, arena_printf(&scratch, "%s%.*s%s%.*s", edge, STR_ARG(operator), operator.n ? " " : "",
                                     STR_ARG(first)), verdict_of(&scratch, part));
    if (text.n)
        body_put_lines(buf, mark, edge, text);
    if (labels.n)
        body_put_lines(buf, mark, edge, arena_printf(&scratch, "  %.*s", STR_ARG(labels)));
    if (why.n && str_empty(json_text(part, "rule")) && !str_is(why, "no rule allows it"))
        body_put_lines(buf, '#', edge, arena_printf(&scratch, "  %.*s", STR_ARG(why)));
}

/* Whether the parts with their operators are all of the line, so that it need not be shown twice. */
static bool parts_are_all(struct arena *arena, const struct json *parts, struct str command)
{
    BUF_SCOPE(joined, BODY_BYTES_MAX);
    BUF_SCOPE(line, BODY_BYTES_MAX);
    for (const struct json *part = parts->first; part; part = part->next) {
        BUF_ADD(&joined, json_text(part, "operator"), json_text(part, "text"));
    }
    struct str texts[] = {arena_str(arena, buf_str(&joined)), str_trim(command)};
    buf_clear(&joined);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < texts[i].n; k++)
            if (!strchr(" \t\n", texts[i].p[k]) || !texts[i].p[k])
                buf_putc(i ? &line : &joined, texts[i].p[k]);
    return str_eq(buf_str(&joined), buf_str(&line));
}

/* The command itself, and its parts as the judge has read them. Where the parts are the whole command it is shown
 * once. */
static void put_command(struct buf *buf, const struct json *call, struct str command)
{
    ARENA_SCOPE(scratch);
    const struct json *parts = json_get(call, "parts");
    bool judged = parts && parts->type == JSON_ARRAY && parts->first;
    if (!judged || !parts_are_all(&scratch, parts, command))
        body_put_lines(buf, '*', "$ ", command);
    if (judged && !parts_are_all(&scratch, parts, command))
        body_put_lines(buf, '#', "", STR("How Nod reads it:"));
    for (const struct json *part = judged ? parts->first : NULL; part; part = part->next)
        put_part(buf, part);
}

/* ---- files ---- */

/* A path without the folder of the session before it. */
static struct str relative(struct str path, struct str cwd)
{
    if (cwd.n > 1 && str_starts(path, cwd) && path.n > cwd.n && path.p[cwd.n] == '/')
        return str_sub(path, cwd.n + 1, path.n);
    return path;
}

/* A preview without `is_new_file` was made without a look at the file, so that it cannot say "Replaced". */
static const char *file_state(const struct json *file, bool writes)
{
    if (json_bool(file, "deleted", false))
        return "Deleted";
    if (!str_empty(json_text(file, "moved_to")))
        return "Moved";
    if (json_bool(file, "is_new_file", false))
        return "New file";
    if (!writes)
        return "Changed";
    return json_get(file, "is_new_file") ? "Replaced" : "Written";
}

static void put_file_head(struct buf *buf, const struct json *file, struct str path, struct str cwd, bool writes)
{
    ARENA_SCOPE(scratch);
    struct str moved = json_text(file, "moved_to"), counts = STR("");
    int64_t added = 0, removed = 0;
    if (json_i64(json_get(file, "added"), &added) && json_i64(json_get(file, "removed"), &removed))
        counts = arena_printf(&scratch, "+%lld −%lld", (long long)added, (long long)removed);
    put_ends(buf, '*', arena_printf(&scratch, "%s  %.*s%s%.*s", file_state(file, writes), STR_ARG(relative(path, cwd)),
                                    moved.n ? " → " : "", STR_ARG(moved)), counts);
}

/* The function that a hunk names after its second `@@`. */
static struct str hunk_words(struct str head)
{
    for (size_t i = 3; i + 2 < head.n; i++)
        if (head.p[i] == '@' && head.p[i + 1] == '@')
            return str_trim(str_sub(head, i + 2, head.n));
    return STR("");
}

/* The lines of a difference, each with its number: that of the new text, for removed lines that of the old one. */
static void put_unified(struct buf *buf, const struct json *unified)
{
    unsigned long old_line = 0, new_line = 0, hunks = 0;
    for (const struct json *line = unified->first; line; line = line->next) {
        ARENA_SCOPE(scratch);
        struct str text = line->text;
        char sign = text.n ? text.p[0] : ' ';
        if (str_starts(text, STR("--- ")) || str_starts(text, STR("+++ ")) || sign == '\\')
            continue;
        if (sign == '@') {
            if (sscanf(arena_c(&scratch, text), "@@ -%lu%*[,0-9] +%lu", &old_line, &new_line) != 2)
                (void)sscanf(arena_c(&scratch, text), "@@ -%lu +%lu", &old_line, &new_line);
            struct str words = hunk_words(text);
            if (hunks++ || words.n)
                body_put_lines(buf, '#', "      ⋯ ", words);
            continue;
        }
        struct str lead = arena_printf(&scratch, "%5lu %s ", sign == '-' ? old_line : new_line,
                                       sign == '-' ? "−" : sign == '+' ? "+" : " ");
        body_put_lines(buf, sign == '+' || sign == '-' ? sign : ' ', lead.p, str_sub(text, text.n ? 1 : 0, text.n));
        old_line += sign != '+';
        new_line += sign != '-';
    }
}

static void put_file(struct buf *buf, const struct json *file, const struct json *preview, bool writes)
{
    const struct json *unified = json_get(file, "unified");
    struct str path = json_text(file, "file_path"), note = json_text(file, "note");
    put_file_head(buf, file, path.n ? path : json_text(preview, "file_path"), json_text(preview, "cwd"), writes);
    if (note.n)
        body_put_lines(buf, '#', "", note);
    if (unified && unified->type == JSON_ARRAY)
        put_unified(buf, unified);
    if (json_bool(file, "cut", false))
        body_put_lines(buf, '!', "! ", STR("The difference is longer than what is shown."));
}

static void put_files(struct buf *buf, const struct json *preview, bool writes)
{
    const struct json *files = json_get(preview, "files");
    if (!files || files->type != JSON_ARRAY) {
        put_file(buf, preview, preview, writes);
        return;
    }
    for (const struct json *file = files->first; file; file = file->next)
        put_file(buf, file, preview, writes);
}

/* ---- everything else ---- */

static void put_tree(struct buf *buf, const struct json *value, unsigned indent)
{
    BUF_SCOPE(lines, BODY_BYTES_MAX);
    text_json(&lines, value, indent);
    if (lines.n)
        body_put_lines(buf, ' ', "", str_sub(buf_str(&lines), 0, lines.n - (lines.p[lines.n - 1] == '\n')));
}

struct str body_tree(struct arena *arena, const struct json *value)
{
    BUF_SCOPE(buf, BODY_BYTES_MAX);
    put_tree(&buf, value, 0);
    return buf.over ? STR(TOO_LONG) : arena_str(arena, buf_str(&buf));
}

/* The input member by member, each under the title and with the description that the tool's schema gives it. */
static void put_fields(struct buf *buf, const struct json *input, const struct json *fields)
{
    for (const struct json *member = input->first; member; member = member->next) {
        ARENA_SCOPE(scratch);
        const struct json *about = json_get(fields, arena_c(&scratch, member->key));
        struct str title = json_text(about, "title"), description = json_text(about, "description");
        struct json one = *member, alone = *input;
        if (title.n && !str_eq(title, member->key))
            one.key = arena_printf(&scratch, "%.*s (%.*s)", STR_ARG(title), STR_ARG(member->key));
        one.next = NULL;
        alone.first = &one;
        alone.count = 1;
        put_tree(buf, &alone, 2);
        if (description.n)
            body_put_lines(buf, '#', "      ", description);
    }
}

/* Writes the path of a picture, and the size of the picture that the call would replace. */
static void put_before(struct buf *buf, const struct json *preview)
{
    ARENA_SCOPE(scratch);
    const struct json *before = json_get(preview, "before");
    BUF_SCOPE(words, TEXT_BYTES_MAX);
    int64_t bytes = 0, width = 0, height = 0;
    (void)(json_i64(json_get(before, "bytes"), &bytes) && json_i64(json_get(before, "width"), &width) &&
           json_i64(json_get(before, "height"), &height));
    text_picture(&words, &(struct picture){.type = arena_c(&scratch, json_text(before, "type")), .bytes = (size_t)bytes,
                                           .width = (unsigned)width, .height = (unsigned)height});
    bool is_new = json_bool(preview, "is_new_file", false);
    struct str path = json_text(preview, "file_path");
    struct str now = before ? arena_printf(&scratch, ", now %.*s", STR_ARG(buf_str(&words))) : STR("");
    body_put_lines(buf, '*', is_new ? "New file  " : "Replaces  ",
                   arena_printf(&scratch, "%.*s%.*s", STR_ARG(path), STR_ARG(now)));
}

/* Prints the input with the tool's own labels where its schema has some, else as a tree of names and values. */
static void put_input(struct buf *buf, const struct json *input, const struct json *preview)
{
    const struct json *fields = json_get(preview, "fields");
    struct str said = json_text(preview, "description");
    if (said.n)
        body_put_lines(buf, '#', "", said);
    if (str_is(json_text(preview, "type"), "picture"))
        put_before(buf, preview);
    if (fields && input->type == JSON_OBJECT && input->first)
        put_fields(buf, input, fields);
    else
        put_tree(buf, input, 2);
}

static void put_questions(struct buf *buf, const struct questions *questions)
{
    ARENA_SCOPE(scratch);
    if (!str_empty(questions->heading))
        body_put_lines(buf, ' ', "", questions->heading);
    for (size_t i = 0; i < questions->count; i++) {
        const struct asked_question *q = &questions->all[i];
        unsigned number = 0;
        body_put_lines(buf, '*', "", q->words);
        if (q->several)
            body_put_lines(buf, '#', "  ", STR("several, with commas between them"));
        for (const struct json *o = q->options ? q->options->first : NULL; o; o = o->next) {
            struct str about = question_option_about(o), label = question_option_label(o);
            body_put_lines(buf, ' ', "  ", arena_printf(&scratch, "%u  %.*s%s%.*s", ++number, STR_ARG(label),
                                                   str_empty(about) ? "" : ": ", STR_ARG(about)));
        }
    }
}

static void put_plan(struct buf *buf, struct str plan)
{
    if (markdown_put(buf, plan))
        return;
    do {
        struct str line = str_cut(plan, '\n', &plan);
        body_put_lines(buf, str_starts(line, STR("#")) ? '*' : ' ', "", line);
    } while (plan.n);
}

/* Differences before commands before plain input: a preview may have several of them, and the first says most. */
static void put_preview(struct buf *buf, const struct json *call, const struct json *preview)
{
    const struct json *input = json_get(json_get(call, "toolCall"), "input");
    struct str command = json_text(preview, "command"), tool = json_text(json_get(call, "toolCall"), "name");
    if (json_get(preview, "unified") || json_get(preview, "files"))
        put_files(buf, preview, str_is(tool, "Write"));
    else if (!str_empty(command))
        put_command(buf, call, command);
    else if (input)
        put_input(buf, input, preview);
}

enum body_kind body_kind(struct arena *arena, const struct json *call, struct questions *ret_questions)
{
    const struct json *tool = json_get(call, "toolCall");
    struct str name = json_text(tool, "name");
    if (questions_read(arena, name, json_get(tool, "input"), ret_questions) && ret_questions->count)
        return BODY_QUESTIONS;
    return str_is(name, "ExitPlanMode") || str_is(name, "exit_plan_mode") ? BODY_PLAN : BODY_USE;
}

/* The whole body of a call; a text that says so when it would be too long. */
struct str body_lines(struct arena *arena, const struct json *call)
{
    const struct json *preview = json_get(call, "preview"), *input = json_get(json_get(call, "toolCall"), "input");
    struct questions questions;
    struct str said = json_text(input, "description"), why = json_text(json_get(call, "reason"), "why");
    struct str status = json_text(call, "status");
    bool waits = !status.n || str_is(status, "awaiting");
    BUF_SCOPE(buf, BODY_BYTES_MAX);
    put_risk(&buf, call, preview);
    if (!str_empty(why))
        body_put_lines(&buf, '#', waits ? "Needs your approval: " : "Needed approval: ", why);
    switch (body_kind(arena, call, &questions)) {
    case BODY_USE: put_preview(&buf, call, preview); break;
    case BODY_QUESTIONS: put_questions(&buf, &questions); break;
    case BODY_PLAN: put_plan(&buf, json_text(input, "plan")); break;
    }
    if (!str_empty(said))
        body_put_lines(&buf, '#', "The agent says: ", said);
    if (buf.over)
        return STR(TOO_LONG);
    return arena_str(arena, buf_str(&buf));
}

/* ---- in one line ---- */

/* The server's title of the call (tools/title.c) as one line. A call without one was made by an older server. */
struct str body_sentence(struct arena *arena, const struct json *call)
{
    static const char *const members[] = {"verb", "object", "tail"};
    const struct json *title = json_get(call, "title");
    struct str where = json_text(title, "where");
    BUF_SCOPE(buf, BODY_BYTES_MAX);
    if (!title)
        return text_line(arena, json_text(call, "summary"));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!str_empty(json_text(title, members[i])))
            BUF_ADD(&buf, buf.n ? STR(" ") : STR(""), json_text(title, members[i]));
    if (where.n)
        BUF_ADD(&buf, STR(" in "), where);
    return text_line(arena, buf_str(&buf));
}

struct str body_headline(struct arena *arena, const struct json *call)
{
    struct str command = json_text(json_get(call, "preview"), "command");
    return str_empty(command) ? body_sentence(arena, call) : text_line(arena, command);
}

struct str body_decision(struct arena *arena, const struct json *object)
{
    const struct json *by = json_get(object, "decidedBy");
    struct str decision = decision_words(json_text(object, "decision")), rule = json_text(by, "rule");
    struct str actor = json_text(by ? by : object, "actor"), who = actor.n ? actor : json_text(by, "kind");
    struct str words = arena_printf(arena, "%.*s%s%.*s%s%.*s", STR_ARG(decision), who.n ? " by " : "", STR_ARG(who),
                                    rule.n ? ": " : "", STR_ARG(rule));
    return text_line(arena, words);
}
