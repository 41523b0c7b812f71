/* The words of a message. The default names the kind of act and not its content: a message may pass through servers of
 * others and lie on a locked screen. File contents are never in it. */
#include "notify/outbox.h"

#include "base/stamp.h"
#include "base/utf8.h"
#include "event/shapes.h"

enum { SUMMARY_CHARACTERS = 160, FULL_BYTES = 2000 };

/* ---- masking ---- */

/* A word that is followed by a value nobody should read on a phone's screen. */
static const char *const secret_names[] = {"password", "passwd", "secret", "token", "api_key", "apikey", "api-key",
                                           "authorization", "bearer", "credential", "private_key"};
static const char *const secret_starts[] = {"sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "xapp-",
                                            "AKIA", "ASIA", "eyJ", "nod_", "npm_", "pypi-", "AIza", "whsec_"};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool begins(struct str text, const char *with, bool any_case)
{
    size_t i = 0;
    for (; with[i]; i++)
        if (i >= text.n || (any_case ? lower(text.p[i]) : text.p[i]) != with[i])
            return false;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '+' || c == '/' || c == '=' || (unsigned char)c >= 0x80;
}

/* Bytes from here on that are a secret; 0: none. */
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

struct str words_mask(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, text.n * 2 + 64);
    for (size_t i = 0; i < text.n;) {
        struct str rest = str_sub(text, i, text.n);
        size_t name = 0, more, secret;
        while ((more = name_at(str_sub(rest, name, rest.n)))) /* "Authorization: Bearer …" are two */
            name += more;
        secret = secret_at(str_sub(rest, name, rest.n));
        if (name && !secret)
            while (name + secret < rest.n && is_word(rest.p[name + secret]))
                secret++;
        if (!secret) {
            buf_put(&buf, str_sub(text, i, i + 1));
            i++;
            continue;
        }
        buf_put(&buf, str_sub(rest, 0, name));
        buf_puts(&buf, "****");
        i += name + secret;
    }
    return arena_str(arena, buf_str(&buf));
}

/* ---- describing ---- */

static struct str act_of(struct str type, struct str tool, struct arena *arena)
{
    if (str_is(type, "command"))
        return STR("Run a command");
    if (str_is(type, "diff") || str_is(type, "multi_diff"))
        return STR("Change a file");
    return arena_printf(arena, "Use %.*s", STR_ARG(tool));
}

/* The line that says most: the command, the path, the address. */
static struct str subject_of(const struct json *input)
{
    static const char *const names[] = {"command", "file_path", "path", "notebook_path", "url", "query", "pattern"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct str text = json_text(input, names[i]);
        if (text.n)
            return text;
    }
    return STR_NONE;
}

static struct str cut_at(struct arena *arena, struct str text, size_t bytes)
{
    if (text.n <= bytes)
        return text;
    while (bytes > 0 && ((unsigned char)text.p[bytes] & 0xC0) == 0x80)
        bytes--;
    return arena_printf(arena, "%.*s…", STR_ARG(str_sub(text, 0, bytes)));
}

/* The text as one line, without control characters and characters that hide text. */
static struct str visible(struct arena *arena, struct str text)
{
    BUF_SCOPE(buf, text.n * 10 + 64);
    utf8_show(&buf, text, false);
    return arena_str(arena, buf_str(&buf));
}

bool words_describe(struct arena *arena, const struct json *pending, enum detail detail, struct message *message)
{
    const struct json *call = json_get(pending, "toolCall"), *input = json_get(call, "input");
    struct str tool = json_text(call, "name");
    struct str act = act_of(json_text(json_get(pending, "preview"), "type"), tool, arena);
    struct str subject = subject_of(input), agent = json_text(pending, "agent");
    message->tool = tool;
    message->title = agent.n ? arena_printf(arena, "Nod: %.*s needs an answer", STR_ARG(agent))
                             : STR("Nod: an agent needs an answer");
    message->body = act;
    if (detail == DETAIL_KIND || subject.n == 0)
        return false;
    struct str masked = words_mask(arena, subject);
    size_t most = detail == DETAIL_SUMMARY ? SUMMARY_CHARACTERS : FULL_BYTES;
    struct str line = visible(arena, cut_at(arena, masked, most));
    message->body = arena_printf(arena, "%.*s: %.*s", STR_ARG(act), STR_ARG(line));
    /* The text is complete only if the call has no other input, and the line is neither cut nor masked. */
    return detail == DETAIL_FULL && str_eq(masked, subject) && subject.n <= most && input && input->count == 1 &&
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

void words_payload_ids(struct json_out *out, const struct message *message)
{
    json_member(out, "type", str_of(purpose_name(message->purpose)));
    json_member(out, "sessionId", message->session);
    json_member(out, "requestId", message->call);
    json_member(out, "tool", message->tool);
}

struct str words_ids_line(struct arena *arena, const struct message *message)
{
    return arena_printf(arena, "%s %.*s%s%.*s %.*s", purpose_name(message->purpose), STR_ARG(message->tool),
                        message->tool.n ? " " : "", STR_ARG(message->session), STR_ARG(message->call));
}

void words_payload(struct json_out *out, const struct message *message)
{
    words_payload_ids(out, message);
    json_member(out, "person", message->person);
    json_member(out, "deliveryId", message->delivery);
    json_member(out, "title", message->title);
    json_member(out, "body", message->body);
    json_member(out, "url", message->url);
    json_member(out, "decision", message->decision);
    json_member(out, "actor", message->actor);
    if (message->count > 1)
        json_member_u64(out, "count", message->count);
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
    buf_put(&buf, base);
    buf_puts(&buf, "/#/request/");
    put_escaped(&buf, session);
    buf_puts(&buf, "/");
    put_escaped(&buf, call);
    return arena_str(arena, buf_str(&buf));
}
