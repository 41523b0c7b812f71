/* Addresses: parsed strictly into scheme, host, port and rest, and compared with rules on hosts and URLs. An
 * address that two programs could read as two hosts is not parsed, and then no rule allows it. */
#include "policy/match.h"

#include "base/err.h"
#include "base/utf8.h"

/* Whether the host has labels of letters, digits and dashes, separated by single dots. */
static bool good_host(struct str host)
{
    if (str_empty(host) || host.n > 253 || host.p[0] == '.' || host.p[host.n - 1] == '.')
        return false;
    return !ANY(size_t i = 0; i < host.n; i++,
                !match_host_letter(host.p[i]) || (host.p[i] == '.' && host.p[i - 1] == '.'));
}

/* No letter that some reader of URLs strips, turns around or takes as the end of the host. */
static bool plain(struct str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t code;
        size_t n = utf8_decode(str_sub(text, i, text.n), &code);
        if (n == 0 || code <= ' ' || code == '\\' || utf8_hidden(code))
            return false;
        i += n;
    }
    return !str_empty(text);
}

/* No user, no IPv6 literal, no escapes in the host: such addresses are asked about. */
bool url_parse(struct arena *arena, struct str text, struct url *ret_url)
{
    struct str after, port;
    if (!plain(text))
        return false;
    struct str scheme = arena_lower(arena, str_cut(text, ':', &after));
    if ((!str_is(scheme, "https") && !str_is(scheme, "http")) || !str_starts(after, STR("//")))
        return false;
    after = str_sub(after, 2, after.n);
    size_t end = 0;
    while (end < after.n && !strchr("/?#", after.p[end]))
        end++;
    struct str authority = str_sub(after, 0, end);
    struct str host = arena_lower(arena, str_cut(authority, ':', &port));
    uint64_t number = 0;
    bool has_port = host.n < authority.n;
    if (!good_host(host) || (has_port && (!str_to_u64(port, &number) || number == 0 || number > 65535)))
        return false;
    /* Programs disagree on the host of `host#@other` and `host?@other`. */
    struct str rest = str_sub(after, end, after.n);
    if (rest.n && rest.p[0] != '/' && str_find(rest, '@') < rest.n)
        return false;
    *ret_url =
        (struct url){.scheme = scheme, .host = host, .port = port, .rest = rest};
    return true;
}

/* `*.example.com` fits every host below it, not example.com itself. */
static bool host_matches(const struct rule *rule, struct str host)
{
    if (str_empty(rule->host))
        return true;
    if (!rule->below)
        return str_eq(rule->host, host);
    return host.n > rule->host.n + 1 && str_ends(host, rule->host) &&
           host.p[host.n - rule->host.n - 1] == '.';
}

/* Whether the path has `..` or an encoded `.` or `/`, which would lead to another path. */
static bool climbs(struct str rest)
{
    for (size_t i = 0; i + 2 < rest.n; i++) {
        if (rest.p[i] == '/' && rest.p[i + 1] == '.' && rest.p[i + 2] == '.')
            return true;
        if (rest.p[i] == '%' && rest.p[i + 1] == '2' && strchr("eEfF", rest.p[i + 2]))
            return true;
    }
    return false;
}

static bool front_page(struct str rest) { return str_empty(rest) || str_is(rest, "/"); }

/* 127.0.0.1 and its like: numbers and dots, not a name that begins so. */
static bool is_loopback(struct str host)
{
    return str_starts(host, STR("127.")) && !ANY(size_t i = 0; i < host.n; i++,
                                                 host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9'));
}

/* A rule on a host means its usual web port. Another port is another service, except on this machine. */
static bool own_port(const struct url *url)
{
    return str_empty(url->port) || str_is(url->port, "80") || str_is(url->port, "443") ||
           str_is(url->host, "localhost") || is_loopback(url->host);
}

/* A rule on a host means its usual port when it allows, and every port when it denies. */
bool url_matches(const struct rule *rule, const struct url *url, bool strictly)
{
    CHECK((rule->kind == RULE_HOST || rule->kind == RULE_URL) && !str_empty(url->host));
    if (!host_matches(rule, url->host))
        return false;
    if (rule->kind == RULE_HOST)
        return !strictly || own_port(url);
    if (!str_empty(rule->scheme) && !str_eq(rule->scheme, url->scheme))
        return false;
    if (!str_eq(rule->port, url->port))
        return false;
    if (front_page(rule->url_rest) && front_page(url->rest))
        return true;
    return !climbs(url->rest) && match_glob(rule->url_rest, url->rest);
}
