/* The last check for a text that was not understood (a script with unknown syntax, code in another language):
 * whether it contains the words of a command that a rule forbids. The text is cut at everything that could end
 * a word, and quotes are dropped, so that r"m" and $(rm) are found. One pass; marks (ruleset.h) exclude most
 * words at once. */
#include "policy/judge.h"

enum { NET_WORD_BYTES = 128 };

/* A word of the text, quotes taken out. */
struct net_word {
    char bytes[NET_WORD_BYTES];
    size_t n;
    uint32_t mark, name_mark; /* marks (word_mark_add) of the whole word, and of its part after the last slash */
    bool over;
};

/* Three words in a row, options left out of the first two: between a rule's words a value may stand. */
struct net {
    struct judging *j;
    bool note, hit;
    struct net_word words[3];
    unsigned at; /* index of the word being read; the one before is (at + 2) % 3 */
};

static struct str net_text(const struct net_word *word) { return (struct str){word->bytes, word->n}; }

/* Compares words as bytes, not as patterns: a rule with a `*` in its first words is not found here. */
static void net_under(struct net *net, const struct rule_key *key)
{
    uint64_t hash;
    uint32_t at = 0;
    const struct compiled *rule;
    while ((rule = rule_set_next(net->j->set, SIDE_STOP, key, &hash, &at))) {
        bool words =
            rule->rule.kind == RULE_EXACT || rule->rule.kind == RULE_PREFIX || rule->rule.kind == RULE_GLOB;
        if (!words || !rule_in_force(rule, net->j->q->now_ms) || !str_eq(rule->rule.words[0], key->first))
            continue;
        if (key->kind == KEY_WORDS && !str_eq(rule->rule.words[1], key->second))
            continue;
        net->hit = true;
        if (net->note)
            stop_note(net->j, rule);
    }
}

/* Looks for stopping rules by a word that has been read: by the word alone as a program, and as the second word after
 * each of the two words before it. */
static void net_look(struct net *net, const struct net_word *word)
{
    struct rule_key key = {.kind = KEY_WORD, .first = match_program_name(net_text(word))};
    if (word_marked(net->j->set->first_words, word->name_mark))
        net_under(net, &key);
    if (!word_marked(net->j->set->second_words, word->mark))
        return;
    key.kind = KEY_WORDS;
    key.second = net_text(word);
    for (unsigned back = 1; back <= 2; back++) {
        key.first = match_program_name(net_text(&net->words[(net->at + back) % 3]));
        if (!str_empty(key.first))
            net_under(net, &key);
    }
}

/* Compares the word that has ended, and keeps it unless it is an option: so `git -C x push` is found as `git push`. */
static void net_end_word(struct net *net)
{
    struct net_word *word = &net->words[net->at];
    if (word->n && !word->over) {
        net_look(net, word);
        if (word->bytes[0] != '-') {
            net->at = (net->at + 1) % 3;
            word = &net->words[net->at];
        }
    }
    word->n = 0;
    word->mark = word->name_mark = 0;
    word->over = false;
}

enum net_class { NET_LETTER, NET_QUOTE, NET_BORDER };

/* How each byte parts a text into words: borders part words, quotes do not. */
static const unsigned char net_classes[256] = {
    ['"'] = NET_QUOTE, ['\''] = NET_QUOTE, ['\\'] = NET_QUOTE,
    [' '] = NET_BORDER, ['\t'] = NET_BORDER, ['\n'] = NET_BORDER, ['\r'] = NET_BORDER, [';'] = NET_BORDER,
    ['&'] = NET_BORDER, ['|'] = NET_BORDER, ['('] = NET_BORDER, [')'] = NET_BORDER, ['<'] = NET_BORDER,
    ['>'] = NET_BORDER, ['`'] = NET_BORDER, ['$'] = NET_BORDER, ['='] = NET_BORDER, ['{'] = NET_BORDER,
    ['['] = NET_BORDER, [']'] = NET_BORDER,
    ['}'] = NET_BORDER, [','] = NET_BORDER, [':'] = NET_BORDER, ['!'] = NET_BORDER,
};

/* Looks for the words of denied commands in a text that cannot be parsed; it may find some that would never run. */
bool judge_text_stops(struct judging *j, struct str text, bool note)
{
    struct net net = {.j = j, .note = note};
    if (!j->set->stops_commands)
        return false;
    for (size_t i = 0; i < text.n && !(net.hit && !note); i++) {
        struct net_word *word = &net.words[net.at];
        enum net_class class = (enum net_class)net_classes[(unsigned char)text.p[i]];
        if (class == NET_BORDER) {
            net_end_word(&net);
        } else if (class == NET_LETTER) {
            word->mark = word_mark_add(word->mark, text.p[i]);
            word->name_mark = text.p[i] == '/' ? 0 : word_mark_add(word->name_mark, text.p[i]);
            if (word->n < NET_WORD_BYTES)
                word->bytes[word->n++] = text.p[i];
            else
                word->over = true;
        }
    }
    net_end_word(&net);
    return net.hit;
}
