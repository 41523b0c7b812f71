/* Deny and ask rules on addresses, applied to commands: such a rule stops a part that names its host and reaches the
 * network, or may reach it. Nod's own port in a text. */
#include "policy/judge.h"

#include "policy/effects.h"

/* Notes the rules against the host `name`, and those on hosts below its domains; true when there is one. */
static bool name_stops(struct judging *j, struct str name, bool reaches)
{
    bool found = false;
    for (struct str host = name; !str_empty(host); (void)str_cut(host, '.', &host)) {
        const struct rule_key key = {.kind = KEY_HOST, .first = host};
        const struct compiled *rule;
        uint64_t hash;
        uint32_t at = 0;
        while ((rule = rule_set_next(j->set, SIDE_STOP, &key, &hash, &at))) {
            bool whole = host.n == name.n;
            if ((rule->rule.kind != RULE_HOST && rule->rule.kind != RULE_URL) || rule->rule.below == whole ||
                !str_eq(rule->rule.host, host) || !rule_in_force(rule, j->q->now_ms))
                continue;
            found = true;
            if (reaches && rule->rule.kind == RULE_HOST)
                stop_note(j, rule);
        }
    }
    return found;
}

enum { HOST_BYTES_MAX = 253 };

/* Visits every name in the text that could be a host. */
static bool names_stop(struct judging *j, struct str text, bool reaches)
{
    bool found = false;
    char name[HOST_BYTES_MAX];
    for (size_t i = 0; i < text.n; i++) {
        size_t n = 0;
        while (i < text.n && match_host_letter(str_lower(text.p[i]))) {
            if (n < sizeof name)
                name[n++] = str_lower(text.p[i]);
            i++;
        }
        while (n && name[n - 1] == '.') /* the trailing dot of the DNS root */
            n--;
        found = (n && name_stops(j, (struct str){name, n}, reaches)) || found;
    }
    return found;
}

bool judge_names_host(struct judging *j, struct str text) { return j->set->stops_hosts && names_stop(j, text, false); }

/* Whether a part may connect to an address among its words. */
enum reach { REACHES_NOT, MAY_REACH, REACHES };

/* A program that is not in the table, or runs other code, may reach anything. */
static enum reach reach_of(const struct study *study)
{
    enum reach reach = study->table ? REACHES_NOT : MAY_REACH;
    for (const struct act *act = study->acts; act; act = act->next) {
        if (act->kind == ACT_TALKS)
            return REACHES;
        if (act->kind == ACT_CODE || act->kind == ACT_TEXT || act->kind == ACT_OTHER || act->kind == ACT_OBEYS ||
            act->kind == ACT_PROJECT)
            reach = MAY_REACH;
    }
    return reach;
}

/* Whether the name is a number that programs take for another one: 127.1, 0x7f.1 and 2130706433 are 127.0.0.1. */
static bool is_odd_number(struct str host)
{
    size_t dots = 0;
    bool number = host.n && str_digit(host.p[0]), odd = false;
    for (size_t i = 0; i < host.n && number; i++) {
        bool begins = i == 0 || host.p[i - 1] == '.', more = i + 1 < host.n && host.p[i + 1] != '.';
        dots += host.p[i] == '.';
        odd = odd || (begins && host.p[i] == '0' && more) || str_lower(host.p[i]) == 'x';
        number = str_digit(host.p[i]) || strchr(".xabcdef", str_lower(host.p[i]));
    }
    return number && (odd || dots != 3);
}

/* Whether the host of the address cannot be read plainly: patterns of curl, escapes, letters beyond ASCII, numbers. */
static bool is_veiled(struct str address)
{
    size_t scheme = 0;
    while (scheme + 2 < address.n && !str_starts(str_sub(address, scheme, address.n), STR("://")))
        scheme++;
    struct str host = str_sub(address, scheme + 2 < address.n ? scheme + 3 : 0, address.n), rest;
    size_t end = 0;
    while (end < host.n && !strchr("/?#", host.p[end]))
        end++;
    host.n = end;
    bool plain = ALL(size_t i = 0; i < host.n; i++,
                     match_host_letter(str_lower(host.p[i])) || strchr(":@_,+~", host.p[i]));
    if (str_find(host, '@') < host.n)
        (void)str_cut(host, '@', &host);
    return !plain || is_odd_number(str_cut(host, ':', &rest));
}

/* `curl "$url"`: the host is known only while the line runs; `curl -K list`: it stands in a file. */
static bool hides_address(const struct study *study)
{
    bool named = false, obeys = false, talks = false;
    for (const struct act *act = study->acts; act; act = act->next) {
        bool address = act->kind == ACT_TALKS && act->path.text.p;
        if (address && (!word_literal(&act->path) || is_veiled(act->path.text)))
            return true;
        named = named || address;
        talks = talks || act->kind == ACT_TALKS;
        obeys = obeys || (act->kind == ACT_OBEYS && (act->flags & ACT_BY_OPTION));
    }
    return talks && obeys && !named;
}

/* Every word is searched, not only the address: a proxy, a header or a configuration may name the host as well. */
const char *judge_hosts(struct judging *j, const struct argv *argv, const struct study *study)
{
    enum reach reach = j->set->stops_hosts ? reach_of(study) : REACHES_NOT;
    bool named = false;
    if (reach == REACHES_NOT)
        return NULL;
    for (size_t i = 1; i < argv->count; i++)
        named = names_stop(j, argv->words[i].text, reach == REACHES) || named;
    if (hides_address(study))
        return "only bash knows to which host it talks, and there are rules against some";
    return named ? "a rule speaks against a host that it names" : NULL;
}

/* ---- Nod's own port ---- */

/* Whether the port stands in the text as a number by itself. */
static bool text_has_port(struct str text, int port)
{
    for (size_t i = 0; i < text.n;) {
        int value = 0;
        size_t from = i;
        for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9' && i - from < 8; i++)
            value = value * 10 + (text.p[i] - '0');
        if (i > from && value == port)
            return true;
        i += i == from;
    }
    return false;
}

bool judge_has_own_port(const struct question *question, struct str text)
{
    const int *own = question->own_ports;
    return (own[0] && text_has_port(text, own[0])) || (own[1] && text_has_port(text, own[1]));
}
