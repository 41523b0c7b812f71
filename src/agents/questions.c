/* Questions of agents as one list (questions.h), and a person's answers as the edited input of the call. */
#include "agents/questions.h"

enum { QUESTIONS_MAX = 64, ANSWER_BYTES_MAX = 64 << 10 };

/* ---- reading ---- */

static const struct json *list_of(const struct json *object, const char *key)
{
    const struct json *list = json_get(object, key);
    return list && list->type == JSON_ARRAY && list->count ? list : NULL;
}

static bool read_asked(struct arena *arena, const struct json *input, struct questions *q)
{
    const struct json *list = list_of(input, "questions");
    if (!list || list->count > QUESTIONS_MAX)
        return false;
    q->all = arena_array(arena, struct asked_question, list->count);
    for (const struct json *one = list->first; one; one = one->next) {
        struct str words = json_text(one, "question");
        if (str_empty(words))
            return false;
        q->all[q->count++] = (struct asked_question){.key = words, .words = words, .header = json_text(one, "header"),
                                                     .options = list_of(one, "options"),
                                                     .several = json_bool(one, "multiSelect", false)};
    }
    return true;
}

static const struct {
    const char *name;
    enum question_type type;
} field_types[] = {
    {"string", QUESTION_TEXT},
    {"number", QUESTION_NUMBER},
    {"integer", QUESTION_INTEGER},
    {"boolean", QUESTION_YES_NO},
};

static bool read_field(const struct json *schema, const struct json *field, struct asked_question *ret_question)
{
    const struct json *required = list_of(schema, "required");
    struct str type = json_text(field, "type"), words = json_text(field, "description");
    struct asked_question q = {.key = field->key, .words = str_empty(words) ? json_text(field, "title") : words};
    for (const struct json *name = required ? required->first : NULL; name; name = name->next)
        q.required = q.required || str_eq(name->text, field->key);
    if (str_empty(q.words))
        q.words = field->key;
    q.options = list_of(field, "enum");
    q.closed = q.options != NULL;
    *ret_question = q;
    for (size_t i = 0; i < sizeof field_types / sizeof *field_types; i++) {
        if (str_is(type, field_types[i].name)) {
            ret_question->type = field_types[i].type;
            return true;
        }
    }
    return false;
}

/* A form with a field of another kind can only be answered with an input of one's own. */
static bool read_form(struct arena *arena, const struct json *input, struct questions *q)
{
    const struct json *schema = json_get(input, "requested_schema");
    const struct json *fields = json_get(schema, "properties");
    q->form = true;
    q->heading = json_text(input, "message");
    if (!fields || fields->type != JSON_OBJECT || fields->count > QUESTIONS_MAX)
        return false;
    q->all = arena_array(arena, struct asked_question, fields->count + 1);
    return ALL(const struct json *field = fields->first; field; field = field->next,
               read_field(schema, field, &q->all[q->count++]));
}

bool questions_tool(struct str tool) { return str_is(tool, "AskUserQuestion") || str_is(tool, "Elicitation"); }

bool questions_read(struct arena *arena, struct str tool, const struct json *input, struct questions *ret_questions)
{
    *ret_questions = (struct questions){.input = input};
    if (!input || input->type != JSON_OBJECT)
        return false;
    if (str_is(tool, "AskUserQuestion"))
        return read_asked(arena, input, ret_questions);
    return str_is(tool, "Elicitation") && read_form(arena, input, ret_questions);
}

struct str question_option_label(const struct json *option)
{
    return option->type == JSON_OBJECT ? json_text(option, "label") : option->text;
}

struct str question_option_about(const struct json *option)
{
    return json_text(option, "description");
}

/* ---- answering ---- */

static const struct json *chosen(const struct asked_question *q, struct str answer)
{
    uint64_t number = 0, at = 0;
    bool counted = str_to_u64(answer, &number);
    const struct json *found = NULL;
    for (const struct json *o = q->options ? q->options->first : NULL; o; o = o->next) {
        at++;
        if (str_same_letters(question_option_label(o), answer))
            return o;
        if (counted && at == number)
            found = o;
    }
    return found;
}

/* The typed answer, with numbers of options turned into their words. */
static struct rc put_choice(struct buf *buf, const struct asked_question *q, struct str answer, struct err *err)
{
    const struct json *whole = chosen(q, answer);
    if (whole) {
        buf_put(buf, question_option_label(whole));
        return RC_OK;
    }
    if (q->closed)
        return err_set(err, ERR_INVALID, "'%.*s' is not one of the choices for '%.*s'", STR_ARG(answer),
                       STR_ARG(q->key));
    while (q->several && !str_empty(answer)) {
        struct str piece = str_trim(str_cut(answer, ',', &answer));
        const struct json *option = chosen(q, piece);
        BUF_ADD(buf, str_of(buf->n ? ", " : ""), option ? question_option_label(option) : piece);
    }
    buf_put(buf, answer);
    return RC_OK;
}

static struct rc put_number(struct json_out *out, const struct asked_question *q, struct str answer, struct err *err)
{
    ARENA_SCOPE(scratch);
    const struct json *value = NULL;
    int64_t whole;
    bool good = rc_ok(json_parse(&scratch, answer, &value, NULL)) && value->type == JSON_NUMBER;
    if (!good || (q->type == QUESTION_INTEGER && !json_i64(value, &whole)))
        return err_set(err, ERR_INVALID, "'%.*s' must be %s, not '%.*s'", STR_ARG(q->key),
                       q->type == QUESTION_INTEGER ? "a whole number" : "a number", STR_ARG(answer));
    json_put_raw(out, value->raw);
    return RC_OK;
}

static struct rc put_yes_no(struct json_out *out, const struct asked_question *q, struct str answer, struct err *err)
{
    static const char *const yes[] = {"yes", "y", "true"}, *const no[] = {"no", "n", "false"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        bool says_yes = str_same_letters(answer, str_of(yes[i]));
        if (says_yes || str_same_letters(answer, str_of(no[i]))) {
            json_put_bool(out, says_yes);
            return RC_OK;
        }
    }
    return err_set(err, ERR_INVALID, "'%.*s' must be yes or no, not '%.*s'", STR_ARG(q->key), STR_ARG(answer));
}

static struct rc put_answer(struct json_out *out, const struct asked_question *q, struct str answer, struct err *err)
{
    BUF_SCOPE(text, ANSWER_BYTES_MAX);
    json_key_str(out, q->key);
    switch (q->type) {
    case QUESTION_NUMBER:
    case QUESTION_INTEGER: return put_number(out, q, answer, err);
    case QUESTION_YES_NO: return put_yes_no(out, q, answer, err);
    case QUESTION_TEXT: break;
    }
    TRY(put_choice(&text, q, answer, err));
    if (text.over)
        return err_set(err, ERR_TOO_LARGE, "the answer is longer than %d bytes", ANSWER_BYTES_MAX);
    json_put_str(out, buf_str(&text));
    return RC_OK;
}

struct rc questions_answer(struct buf *buf, const struct questions *questions, const struct str *answers,
                           size_t answer_count, struct err *err)
{
    const char *place = questions->form ? "content" : "answers";
    struct json_out out = json_out(buf);
    if (answer_count > questions->count)
        return err_set(err, ERR_INVALID, "%zu answers to %zu questions", answer_count, questions->count);
    json_open(&out, '{');
    json_put_members(&out, questions->input, place);
    json_open_member(&out, place, '{');
    for (size_t i = 0; i < questions->count; i++) {
        struct str answer = i < answer_count ? str_trim(answers[i]) : STR_NONE;
        if (!str_empty(answer))
            TRY(put_answer(&out, &questions->all[i], answer, err));
        else if (questions->all[i].required)
            return err_set(err, ERR_INVALID, "'%.*s' has to be answered", STR_ARG(questions->all[i].key));
    }
    json_close(&out, '}');
    json_close(&out, '}');
    return RC_OK;
}
