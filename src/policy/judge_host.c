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

/* One part of a number that programs take for an address: decimal, 0x and hexadecimal, 0 and octal. */
static bool number_part(struct str part, uint64_t *ret_value)
{
    bool hex = str_starts(part, STR("0x"));
    unsigned base = hex ? 16 : str_starts(part, STR("0")) ? 8 : 10;
    *ret_value = 0;
    for (size_t i = hex ? 2 : 0; i < part.n; i++) {
        char c = part.p[i];
        unsigned digit = str_digit(c) ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
        if (digit >= base || *ret_value > UINT32_MAX)
            return false;
        *ret_value = *ret_value * base + digit;
    }
    return part.n > 0;
}

/* 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 are 127.0.0.1 for programs: the last part stands for all that are missing,
 * too. */
static bool number_stops(struct judging *j, struct str name, bool reaches)
{
    uint64_t address = 0, value = 0;
    unsigned parts = 0;
    struct str rest = name;
    if (!str_digit(name.p[0]))
        return false;
    STR_EACH(part, rest, '.') {
        address = address << 8 | value;
        if (++parts > 4 || value > 255 || !number_part(part, &value))
            return false;
    }
    if (value >> (40 - 8 * parts))
        return false;
    address = address << (40 - 8 * parts) | value;
    struct str plain = arena_printf(j->arena, "%u.%u.%u.%u", (unsigned)(address >> 24) & 255,
                                    (unsigned)(address >> 16) & 255, (unsigned)(address >> 8) & 255,
                                    (unsigned)address & 255);
    return !str_eq(plain, name) && name_stops(j, plain, reaches);
}

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
        found = (n && number_stops(j, (struct str){name, n}, reaches)) || found;
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

/* The host of an address, with user and port: between a scheme, which a `/` must follow, and the path. curl takes any
 * number of slashes, and a `\\` in front of `@` for a letter of the user. */
static struct str host_of(struct str address)
{
    size_t from = 0, end;
    while (from < address.n && (match_host_letter(str_lower(address.p[from])) || address.p[from] == '+'))
        from++;
    from = from + 1 < address.n && address.p[from] == ':' && strchr("/\\", address.p[from + 1]) ? from + 1 : 0;
    while (from < address.n && strchr("/\\", address.p[from]))
        from++;
    for (end = from; end < address.n && !strchr("/?#", address.p[end]);)
        end++;
    return str_sub(address, from, end);
}

/* Whether the host of the address cannot be read plainly: patterns of curl, escapes, letters beyond ASCII. */
static bool is_veiled(struct str address)
{
    struct str host = host_of(address);
    return ANY(size_t i = 0; i < host.n; i++,
               !match_host_letter(str_lower(host.p[i])) && !strchr(":@_,+~", host.p[i]));
}

/* Whether the text begins with a scheme: `https://…`. */
static bool has_scheme(struct str text)
{
    size_t colon = str_find(text, ':');
    return colon && str_starts(str_sub(text, colon, text.n), STR("://")) &&
           ALL(size_t i = 0; i < colon; i++, match_host_letter(str_lower(text.p[i])) || text.p[i] == '+');
}

/* Whether the word, or its part behind `=`, is an address whose host cannot be read plainly:
 * `-c http.proxy=http://x%2eexample`. A proxy needs no scheme. */
static bool hides_host(struct str text)
{
    struct str value, name = str_cut(text, '=', &value);
    bool proxy = str_ends(name, STR("_proxy")) || str_ends(name, STR("_PROXY"));
    return (has_scheme(text) && is_veiled(text)) || ((proxy || has_scheme(value)) && is_veiled(value));
}

bool judge_hides_host(struct judging *j, struct str text) { return j->set->stops_hosts && hides_host(text); }

/* Whether the program's operands are addresses. */
static bool takes_addresses(const struct table_row *row)
{
    return row && ANY(size_t i = 0; i < row->operand_count; i++,
                      table_operands[row->operands + i].role == ROLE_URL ||
                          table_operands[row->operands + i].role == ROLE_HOST);
}

/* Whether the word is an option for such a file: among other letters (-sK), shortened (--inp). */
static bool names_list(struct str option)
{
    static const char *const names[] = {"--config", "--input-file"};
    struct str name = str_sub(option, 0, str_find(option, '='));
    if (is_long_option(option))
        return name.n > 4 && ANY(size_t i = 0; i < sizeof names / sizeof *names; i++,
                                 str_starts(str_of(names[i]), name) || str_starts(name, str_of(names[i])));
    size_t at = 1; /* behind letters of curl, wget and ssh that take no value */
    while (is_option(option) && at + 1 < option.n && strchr("sSfLkqvngaNIjlGO46#cCtyA0123", option.p[at]))
        at++;
    return is_option(option) && strchr("KiF", option.p[at]);
}

/* An option whose file may name further addresses: curl -K, wget -i, ssh -F. */
static bool has_further(const struct argv *argv, const struct act *act)
{
    if (act->kind != ACT_OBEYS || !(act->flags & ACT_BY_OPTION) || (act->flags & ACT_SENDS) || !act->word ||
        act->word >= argv->count)
        return false;
    return names_list(argv->words[act->word].text) || names_list(argv->words[act->word - 1].text);
}

/* `curl --url "$url"`, and `--url @list`, since curl 8.13. */
static bool hides_url(const struct argv *argv)
{
    for (size_t i = 1; i < argv->count; i++) {
        bool attached = str_starts(argv->words[i].text, STR("--url="));
        struct str text = argv->words[i].text, value = attached ? str_sub(text, 6, text.n) : text;
        if ((attached || word_is(&argv->words[i - 1], "--url")) && (str_starts(value, STR("@")) || is_veiled(value)))
            return true;
    }
    return false;
}

/* `curl "$url"`: the host is known only while the line runs; `curl -K list`: it stands in a file. */
static bool hides_address(const struct argv *argv, const struct study *study)
{
    bool named = false, obeys = false, talks = false;
    for (const struct act *act = study->acts; act; act = act->next) {
        bool address = act->kind == ACT_TALKS && act->path.text.p;
        /* `"http://x/$y"` has a host that is known; without quotes, $y may be two words. */
        bool open = address && (act->path.flags & (WORD_SPLITS | WORD_DOUBT));
        if (open || (address && is_veiled(act->path.text)) || has_further(argv, act))
            return true;
        named = named || address;
        talks = talks || act->kind == ACT_TALKS;
        obeys = obeys || (act->kind == ACT_OBEYS && (act->flags & ACT_BY_OPTION));
    }
    return (talks && obeys && !named && takes_addresses(study->table)) || hides_url(argv);
}

/* `mysql -hx.example`: any of the first letters may be the option's last. */
static bool glued_stops(struct judging *j, struct str text, bool reaches)
{
    bool found = false;
    for (size_t i = 2; i < 6 && i < text.n && is_option(text) && !is_long_option(text); i++)
        found = names_stop(j, str_sub(text, i, text.n), reaches) || found;
    return found;
}

/* Every word is searched, not only the address: a proxy, a header or a configuration may name the host as well. */
const char *judge_hosts(struct judging *j, const struct argv *argv, const struct study *study)
{
    enum reach reach = j->set->stops_hosts ? reach_of(study) : REACHES_NOT;
    bool named = false;
    if (reach == REACHES_NOT)
        return NULL;
    for (size_t i = 1; i < argv->count; i++)
        named = names_stop(j, argv->words[i].text, reach == REACHES) ||
                glued_stops(j, argv->words[i].text, reach == REACHES) || named;
    bool hides = reach == REACHES && ANY(size_t i = 1; i < argv->count; i++, hides_host(argv->words[i].text));
    if (hides || hides_address(argv, study))
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
