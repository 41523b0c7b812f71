/* Deny and ask rules on addresses, applied to commands: such a rule stops a part that names its host and reaches the
 * network, or may reach it. */
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

/* `curl "$url"`: the host is known only while the line runs. */
static bool hides_address(const struct study *study)
{
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind == ACT_TALKS && act->path.text.p && !word_literal(&act->path))
            return true;
    return false;
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
