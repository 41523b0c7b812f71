/* Deny and ask rules on addresses hold for commands as well: a part that reaches the network, or may, and names the
 * host. */
#include "policy/judge.h"

#include "policy/effects.h"

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool host_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* Whether the rule's host, or for `*.host` one below it, stands in the text. */
static bool names_host(struct str text, const struct rule *rule)
{
    struct str host = rule->host;
    for (size_t i = 0; !str_empty(host) && i + host.n <= text.n; i++) {
        size_t n = 0;
        while (n < host.n && small(text.p[i + n]) == host.p[n])
            n++;
        if (n < host.n)
            continue;
        char before = i ? small(text.p[i - 1]) : ' ';
        size_t end = i + n + (i + n < text.n && text.p[i + n] == '.'); /* with the dot of the root */
        char behind = end < text.n ? small(text.p[end]) : ' ';
        if ((rule->below ? before == '.' : !host_letter(before)) && !host_letter(behind))
            return true;
    }
    return false;
}

/* What a part may do with an address on the line. */
enum reach { REACHES_NOT, MAY_REACH, REACHES };

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

static bool hides_address(const struct study *study)
{
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind == ACT_TALKS && act->path.text.p && !word_literal(&act->path))
            return true;
    return false;
}

const char *hosts_stops(struct judging *j, const struct argv *argv, const struct study *study)
{
    enum reach reach = j->set->stops_hosts ? reach_of(study) : REACHES_NOT;
    const char *unknown = NULL;
    if (reach == REACHES_NOT)
        return NULL;
    for (size_t i = 0; i < j->set->stop_host_count; i++) {
        const struct compiled *rule = &j->set->rules[j->set->stop_hosts[i]];
        for (size_t k = 1; k < argv->count && rule_in_force(rule, j->q->now_ms); k++) {
            if (!names_host(argv->words[k].text, &rule->rule))
                continue;
            if (reach == REACHES && rule->rule.kind == RULE_HOST)
                stop_note(j, rule);
            unknown = "a rule speaks against a host that it names";
        }
    }
    return hides_address(study) ? "only bash knows to which host it talks, and there are rules against some" : unknown;
}
