/* The text that people sign: a name and a value per line, so that it can be read aloud and has one form only. */
#include "sign/sign.h"

#include "base/limits.h"
#include "base/sign.h"
#include "base/stamp.h"

#include <inttypes.h>

void statement_add(struct statement *statement, const char *name, struct str value)
{
    CHECK(statement->count < STATEMENT_FIELDS_MAX);
    statement->fields[statement->count++] = (struct statement_field){name, value};
}

void statement_add_digest(struct statement *statement, struct arena *arena, const char *name, struct str value)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(value);
    digest_hex(&digest, hex);
    statement_add(statement, name, str_empty(value) ? STR_NONE : arena_str(arena, str_of(hex)));
}

/* Blanks, control characters and % are escaped: a value can neither end its line nor look like an absent one. */
static void put_value(struct buf *buf, struct str value)
{
    static const char digits[] = "0123456789ABCDEF";
    if (str_empty(value))
        buf_putc(buf, '-');
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if (c > ' ' && c != '%' && c != 0x7f && !(c == '-' && value.n == 1)) {
            buf_putc(buf, (char)c);
            continue;
        }
        buf_putc(buf, '%');
        buf_putc(buf, digits[c >> 4]);
        buf_putc(buf, digits[c & 15]);
    }
}

static void put_line(struct buf *buf, const char *name, struct str value)
{
    BUF_ADD(buf, str_of(name), STR(" "));
    put_value(buf, value);
    buf_putc(buf, '\n');
}

struct str statement_text(struct arena *arena, const struct statement *statement)
{
    BUF_SCOPE(buf, LIMIT_EVENT_BYTES);
    char until[STAMP_BYTES];
    stamp_format(statement->until_ms, until);
    BUF_ADD(&buf, str_of(statement->form), STR("\n"));
    for (size_t i = 0; i < statement->count; i++)
        put_line(&buf, statement->fields[i].name, statement->fields[i].value);
    put_line(&buf, "key", statement->key);
    put_line(&buf, "nonce", statement->nonce);
    put_line(&buf, "until", str_of(until));
    return arena_str(arena, buf_str(&buf));
}

static struct str nonce_of(struct arena *arena, struct statement statement, const struct digest *secret)
{
    char hex[DIGEST_HEX_BYTES];
    statement.nonce = STR_NONE;
    struct digest mac = sign_mac((struct str){(const char *)secret->bytes, DIGEST_BYTES},
                                 statement_text(arena, &statement));
    digest_hex(&mac, hex);
    return arena_str(arena, (struct str){hex, NONCE_HEX_BYTES - 1});
}

void statement_issue(struct statement *statement, struct arena *arena, const struct digest *secret)
{
    statement->nonce = nonce_of(arena, *statement, secret);
}

bool statement_issued(const struct statement *statement, const struct digest *secret)
{
    ARENA_SCOPE(arena);
    struct digest given = digest_of(statement->nonce), own = digest_of(nonce_of(&arena, *statement, secret));
    return sign_mac_eq(&given, &own); /* digests of both, so that the time taken says nothing of either */
}

/* Everything that the answer does is in it, rules and their end included. */
struct statement statement_of_decision(struct arena *arena, const struct decision_facts *facts)
{
    struct statement s = {.form = "nod-decision-v1"};
    statement_add(&s, "server", facts->server);
    statement_add(&s, "session", facts->session);
    statement_add(&s, "call", facts->call);
    statement_add(&s, "digest", facts->digest);
    statement_add(&s, "decision", facts->decision);
    statement_add(&s, "mode", facts->mode);
    statement_add(&s, "scope", facts->scope);
    if (facts->rules_end_ms) {
        char at[STAMP_BYTES];
        stamp_format(facts->rules_end_ms, at);
        statement_add(&s, "expires", arena_str(arena, str_of(at)));
    }
    if (facts->rules_uses)
        statement_add(&s, "uses", arena_printf(arena, "%" PRId64, facts->rules_uses));
    statement_add_digest(&s, arena, "rules", facts->rules);
    statement_add_digest(&s, arena, "input", facts->input);
    statement_add_digest(&s, arena, "feedback", facts->feedback);
    return s;
}

struct statement statement_of_request(struct arena *arena, struct str server, struct str method, struct str path,
                                      struct str body)
{
    struct statement s = {.form = "nod-request-v1"};
    statement_add(&s, "server", server);
    statement_add(&s, "method", method);
    statement_add(&s, "path", path);
    statement_add_digest(&s, arena, "body", body);
    return s;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct str unescape(struct arena *arena, struct str value)
{
    char *out = arena_bytes(arena, value.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        bool escaped = value.p[i] == '%' && i + 2 < value.n && hex_digit(value.p[i + 1]) >= 0 &&
                       hex_digit(value.p[i + 2]) >= 0;
        out[n++] = escaped ? (char)(hex_digit(value.p[i + 1]) * 16 + hex_digit(value.p[i + 2])) : value.p[i];
        i += escaped ? 2 : 0;
    }
    return (struct str){out, n};
}

struct str statement_field(struct arena *arena, struct str text, const char *name)
{
    while (text.n) {
        struct str value, line = str_cut(text, '\n', &text);
        struct str given = str_cut(line, ' ', &value);
        if (str_is(given, name))
            return str_is(value, "-") ? STR_NONE : unescape(arena, value);
    }
    return STR_NONE;
}
