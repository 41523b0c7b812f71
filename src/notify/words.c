/* The words of a message. The default names the kind of act and not its content: a message may pass through servers of
 * others and lie on a locked screen. File contents are never in it. */
#include "notify/outbox.h"

#include "base/stamp.h"
#include "base/utf8.h"
#include "event/shapes.h"

enum { SUMMARY_BYTES = 160, FULL_BYTES = 800, TOOL_BYTES = 80, RANDOM_BYTES = 24, DEPTH_MAX = 32 };

/* ---- masking ---- */

/* A word that is followed by a value nobody should read on a phone's screen. */
static const char *const secret_names[] = {"password", "passwd", "secret", "token", "api_key", "apikey", "api-key",
                                           "authorization", "bearer", "credential", "private_key"};
static const char *const secret_starts[] = {"sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-",
                                            "AKIA", "ASIA", "eyJ", "nod_", "npm_", "pypi-", "AIza", "whsec_"};

static bool begins(struct str text, const char *with, bool any_case)
{
    size_t i = 0;
    return !ANY(; with[i]; i++, i >= text.n || (any_case ? str_lower(text.p[i]) : text.p[i]) != with[i]);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '+' || c == '/' || c == '=' || (unsigned char)c >= 0x80;
}

/* How many bytes at the start of `text` belong to a secret (a known prefix and what follows it); 0: there is none. */
static size_t secret_at(struct str text)
{
    size_t n = 0;
    bool starts = false;
    for (size_t i = 0; i < sizeof secret_starts / sizeof *secret_starts && !starts; i++)
        starts = begins(text, secret_starts[i], false);
    while (starts && n < text.n && is_word(text.p[n]))
        n++;
    return n >= 12 ? n : 0;
}

/* Length of a secret's name (password, token) at the start, with the separator before its value; 0: none. */
static size_t name_at(struct str text)
{
    for (size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++) {
        if (!begins(text, secret_names[i], true))
            continue;
        size_t n = strlen(secret_names[i]), from = n;
        while (n < text.n && (text.p[n] == '=' || text.p[n] == ':' || text.p[n] == ' ' || text.p[n] == '"' ||
                              text.p[n] == '\''))
            n++;
        return n > from ? n : 0;
    }
    return 0;
}

/* 1 digit, 2 upper case, 3 lower case, 4 what keys have beside these; 0: none of them. */
static int kind_of(char c)
{
    if (c >= '0' && c <= '9')
        return 1;
    if (c >= 'A' && c <= 'Z')
        return 2;
    return c >= 'a' && c <= 'z' ? 3 : c == '_' || c == '-' || c == '+' || c == '=' ? 4 : 0;
}

/* Length of a run of characters that looks random, as keys do and words do not: with digits, and the kind of character
 * changes often. 0: there is none here. */
static size_t random_at(struct str text)
{
    size_t n = 0, changes = 0, digits = 0;
    for (int before = 0, kind; n < text.n && (kind = kind_of(text.p[n])); n++, before = kind) {
        digits += kind == 1;
        changes += before && kind != before && kind != 4 && before != 4;
    }
    return n >= RANDOM_BYTES && digits > 1 && changes * 5 >= n ? n : 0;
}

/* Length of "://user:password@", of which the part between is masked; 0: an address without a user. */
static size_t user_at(struct str text)
{
    if (!begins(text, "://", false))
        return 0;
    for (size_t n = 3; n < text.n && text.p[n] > ' ' && !strchr("/?#\"'<>", text.p[n]); n++)
        if (text.p[n] == '@')
            return n + 1;
    return 0;
}

/* Looks for a secret at the beginning of the text: `ret_name` bytes of its name stay, the `ret_secret` bytes behind it
 * are masked; 0: there is none. `run_begins`: a run of letters and digits begins here, which may be a random key. */
static void find_secret(struct str text, bool run_begins, size_t *ret_name, size_t *ret_secret)
{
    size_t name = 0, secret, more = user_at(text);
    *ret_name = 3;
    *ret_secret = more ? more - 4 : 0;
    if (more)
        return;
    while ((more = name_at(str_sub(text, name, text.n)))) /* "Authorization: Bearer …" is two names */
        name += more;
    struct str rest = str_sub(text, name, text.n);
    secret = secret_at(rest);
    if (begins(rest, "-----BEGIN", false))
        secret = rest.n;
    if (!secret && (run_begins || name))
        secret = random_at(rest);
    if (name && !secret)
        while (secret < rest.n && is_word(rest.p[secret]))
            secret++;
    *ret_name = name;
    *ret_secret = secret;
}

struct str words_mask(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, text.n * 2 + 64);
    for (size_t i = 0; i < text.n;) {
        struct str rest = str_sub(text, i, text.n);
        size_t name, secret;
        find_secret(rest, i == 0 || !kind_of(text.p[i - 1]), &name, &secret);
        if (!secret) {
            buf_put(&buf, str_sub(text, i, i + 1));
            i++;
            continue;
        }
        BUF_ADD(&buf, str_sub(rest, 0, name), STR("****"));
        i += name + secret;
    }
    return arena_str(arena, buf_str(&buf));
}

/* ---- describing ---- */

static bool changes_file(const struct json *pending)
{
    struct str type = json_text(json_get(pending, "preview"), "type");
    return str_is(type, "diff") || str_is(type, "multi_diff");
}

/* The line that says most: the command, the path, the address. */
static const char *const subjects[] = {"command", "file_path", "path", "notebook_path", "url", "query", "pattern"};

static struct str subject_of(const struct json *input)
{
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        struct str text = json_text(input, subjects[i]);
        if (text.n)
            return text;
    }
    return STR_NONE;
}

static struct str cut_at(struct arena *arena, struct str text, size_t bytes)
{
    struct str start = utf8_start(text, bytes);
    return start.n < text.n ? arena_printf(arena, "%.*s…", STR_ARG(start)) : text;
}

/* The text as one line, without control characters and characters that hide text. */
static struct str visible(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, text.n * 10 + 64);
    utf8_show(&buf, text, false);
    return arena_str(arena, buf_str(&buf));
}

/* The kind of act by the call's title; a tool that Nod does not know is named. */
static struct str act_of(struct arena *arena, const struct json *pending, struct str tool)
{
    struct str kind = json_text(json_get(pending, "title"), "kind");
    if (kind.n && !str_is(kind, "Use a tool"))
        return kind;
    return arena_printf(arena, "Use %.*s", STR_ARG(cut_at(arena, visible(arena, tool), TOOL_BYTES)));
}

bool words_describe(struct arena *arena, const struct json *pending, enum detail detail, struct message *message)
{
    const struct json *call = json_get(pending, "toolCall"), *input = json_get(call, "input");
    struct str tool = json_text(call, "name");
    struct str act = act_of(arena, pending, tool);
    struct str subject = subject_of(input), agent = visible(arena, json_text(pending, "agent"));
    message->tool = tool;
    message->title = message->purpose == PURPOSE_ASSIGN ? STR("Nod: a request was assigned to you")
                     : agent.n ? arena_printf(arena, "Nod: %.*s needs an answer", STR_ARG(agent))
                             : STR("Nod: an agent needs an answer");
    message->body = act;
    if (detail == DETAIL_KIND || subject.n == 0)
        return false;
    struct str masked = words_mask(arena, subject);
    size_t most = detail == DETAIL_SUMMARY ? SUMMARY_BYTES : FULL_BYTES;
    struct str line = visible(arena, masked); /* before it is cut: hidden characters become longer */
    message->body = arena_printf(arena, "%.*s: %.*s", STR_ARG(act), STR_ARG(cut_at(arena, line, most)));
    /* The text is complete only if the call has no other input, and the line is neither cut nor masked. */
    return detail == DETAIL_FULL && str_eq(line, subject) && subject.n <= most && input && input->count == 1 &&
           !json_bool(pending, "cut", false);
}

struct str words_key_alert(struct arena *arena, const struct data_key_added *added)
{
    char from[STAMP_BYTES];
    stamp_format(added->from_ms, from);
    return arena_printf(arena,
                        "Nod: a recovery code was used\n"
                        "The key \"%.*s\" was added for %.*s with a recovery code. It signs from %s on. If that was "
                        "not you, revoke it before: nod key revoke %.*s, or Settings on the page.",
                        STR_ARG(visible(arena, added->name)), STR_ARG(visible(arena, added->person)), from,
                        STR_ARG(added->id));
}

struct str words_token_alert(struct arena *arena, const struct data_token_tripped *tripped)
{
    return arena_printf(arena,
                        "Nod: an agent tried to act as you\n"
                        "A process that an agent has started used the token \"%.*s\" for %.*s. It was refused. The "
                        "agent can read that token: look at what it ran, and make another one.",
                        STR_ARG(visible(arena, tripped->person)), STR_ARG(visible(arena, tripped->what)));
}

/* ---- the call, for programs ---- */

static bool names_secret(struct arena *arena, struct str key)
{
    struct str text = arena_printf(arena, "%.*s=", STR_ARG(key));
    return ANY(size_t i = 0; i < text.n; i++, name_at(str_sub(text, i, text.n)));
}

/* Copies a value, strings masked: as text, and whole where their name is that of a secret. */
static void put_masked(struct json_out *out, struct arena *arena, const struct json *value, unsigned depth)
{
    bool list = value->type == JSON_ARRAY;
    if (value->type == JSON_STRING) {
        json_put_str(out, words_mask(arena, value->text));
    } else if ((!list && value->type != JSON_OBJECT) || depth == DEPTH_MAX) {
        json_put_raw(out, depth == DEPTH_MAX ? STR("null") : value->raw);
    } else {
        json_open(out, list ? '[' : '{');
        for (const struct json *one = value->first; one; one = one->next) {
            if (!list)
                json_key_str(out, one->key);
            if (!list && one->type == JSON_STRING && names_secret(arena, one->key))
                json_put_str(out, STR("****"));
            else
                put_masked(out, arena, one, depth + 1);
        }
        json_close(out, list ? ']' : '}');
    }
}

/* The tool's input is there where all is to be said; of a call that changes a file only which file. */
static void put_tool_call(struct json_out *out, struct arena *arena, const struct json *pending, enum detail detail)
{
    const struct json *call = json_get(pending, "toolCall"), *input = json_get(call, "input");
    json_open_member(out, "toolCall", '{');
    json_members(out, J("id", json_text(call, "id")), J("name", json_text(call, "name")));
    if (detail == DETAIL_FULL && input && !changes_file(pending)) {
        json_key(out, "input");
        put_masked(out, arena, input, 0);
    } else if (detail == DETAIL_FULL && input) {
        json_open_member(out, "input", '{');
        for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
            if (json_get(input, subjects[i]))
                json_member(out, subjects[i], words_mask(arena, json_text(input, subjects[i])));
        json_close(out, '}');
    }
    json_close(out, '}');
}

struct str words_pending(struct arena *arena, const struct json *pending, enum detail detail)
{
    static const char *const kept[] = {"toolCallId", "sessionId", "threadId", "agent", "requestedAt", "deadline",
                                       "digest", "risk", "risky", "riskWords", "alerted", "nobodyWaits", "cut"};
    JSON_SCOPE(buf, out, pending->raw.n * 2 + 1024);
    json_open(&out, '{');
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const struct json *value = json_get(pending, kept[i]);
        if (value)
            json_member_raw(&out, kept[i], value->raw);
    }
    if (detail >= DETAIL_SUMMARY)
        json_member(&out, "summary", words_mask(arena, json_text(pending, "summary")));
    put_tool_call(&out, arena, pending, detail);
    json_close(&out, '}');
    return buf.over ? STR_NONE : arena_str(arena, buf_str(&buf));
}

void words_payload_ids(struct json_out *out, const struct message *message)
{
    json_members(out, J("type", purpose_name(message->purpose)), J("sessionId", message->session),
                 J("requestId", message->call), J("tool", message->tool));
}

struct str words_ids_line(struct arena *arena, const struct message *message)
{
    struct str line = arena_printf(arena, "%s %.*s%s%.*s %.*s", purpose_name(message->purpose), STR_ARG(message->tool),
                                   message->tool.n ? " " : "", STR_ARG(message->session), STR_ARG(message->call));
    return visible(arena, line);
}

void words_payload(struct json_out *out, const struct message *message)
{
    words_payload_ids(out, message);
    json_members(out, J("person", message->person), J("deliveryId", message->delivery), J("title", message->title),
                 J("body", message->body), J("url", message->url), J("decision", message->decision),
                 J("actor", message->actor), J_IF(message->count > 1, J("count", message->count)));
}

static void put_escaped(struct buf *buf, struct str text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] && strchr(plain, text.p[i]))
            buf_put(buf, str_sub(text, i, i + 1));
        else
            buf_printf(buf, "%%%02X", (unsigned char)text.p[i]);
    }
}

struct str words_link(struct arena *arena, struct str base, struct str session, struct str call)
{
    BUF_SCOPE(buf, base.n + 3 * (session.n + call.n) + 64);
    if (base.n == 0)
        return STR_NONE;
    BUF_ADD(&buf, base, STR("/#/request/"));
    put_escaped(&buf, session);
    buf_puts(&buf, "/");
    put_escaped(&buf, call);
    return arena_str(arena, buf_str(&buf));
}
