/* Texts that are not what they seem: characters that cannot be seen or that reorder what is read, and letters of other
 * alphabets that look like Latin ones.
 *
 * A letter alone proves nothing, people write in many alphabets. It is odd inside a word of Latin letters; and in a
 * name (a command, a path, an address) also when all letters of another alphabet in it look like Latin ones.
 */
#include "tools/tool.h"

#include "base/utf8.h"

static const char hidden_words[] = "contains characters that cannot be seen or that reorder the text";
static const char alike_words[] = "contains letters of another alphabet that look like Latin ones";

struct odd_text {
    bool hidden, alike;
};

static bool ascii_letter(uint32_t code) { return (code | 0x20) >= 'a' && (code | 0x20) <= 'z'; }

/* Greek, Cyrillic, Armenian, Cherokee: alphabets with letters that are drawn like Latin ones. */
static bool other_letter(uint32_t code)
{
    return (code >= 0x370 && code <= 0x58F) || (code >= 0x13A0 && code <= 0x13FF);
}

/* Letters of other alphabets that look like Latin ones. The list is short on purpose: it is for a warning, not for a
 * refusal. */
static bool looks_latin(uint32_t code)
{
    static const uint16_t alike[] = {
        0x391, 0x392, 0x395, 0x396, 0x397, 0x399, 0x39A, 0x39C, 0x39D, 0x39F, 0x3A1, 0x3A4, 0x3A5, 0x3A7, 0x3BF, 0x3BD,
        0x405, 0x406, 0x408, 0x410, 0x412, 0x415, 0x41A, 0x41C, 0x41D, 0x41E, 0x420, 0x421, 0x422, 0x423, 0x425, 0x430,
        0x435, 0x43E, 0x440, 0x441, 0x443, 0x445, 0x455, 0x456, 0x458, 0x4AE, 0x4AF, 0x4BB, 0x4C0, 0x4CF, 0x501, 0x51B,
        0x51D, 0x555, 0x578, 0x57D, 0x581, 0x585, 0x13A0, 0x13A1, 0x13A2, 0x13AA, 0x13AB, 0x13AC, 0x13B3, 0x13B7,
        0x13C0, 0x13C2, 0x13CF, 0x13D9, 0x13DA, 0x13DE, 0x13DF, 0x13E2, 0x13E6, 0x13F4};
    if ((code >= 0xFF21 && code <= 0xFF5A) || (code >= 0x1D400 && code <= 0x1D7FF))
        return true; /* full-width forms and mathematical letters look like Latin ones, too */
    return ANY(size_t i = 0; i < sizeof alike / sizeof *alike; i++, alike[i] == code);
}

/* Word by word: letters that look Latin are odd only beside real Latin ones, or in names. */
static void look(struct odd_text *odd, struct str text, bool name)
{
    bool latin = false, alike_in_word = false, alike = false, unlike = false;
    for (size_t at = 0; at < text.n;) {
        uint32_t code;
        size_t n = utf8_decode(str_sub(text, at, text.n), &code);
        if (n == 0 || (utf8_hidden(code) && code != '\n' && code != '\t'))
            odd->hidden = true;
        at += n ? n : 1;
        bool same = n > 1 && looks_latin(code), other = n > 1 && !same && other_letter(code);
        if (n <= 1 && !ascii_letter(n ? code : 0)) {
            latin = alike_in_word = false;
            continue;
        }
        latin = latin || n == 1;
        alike_in_word = alike_in_word || same;
        alike = alike || same;
        unlike = unlike || other;
        odd->alike = odd->alike || (latin && alike_in_word);
    }
    odd->alike = odd->alike || (name && alike && !unlike);
}

/* Names of members are checked as strictly as paths: they, too, are read as names. */
static void look_at_tree(struct odd_text *odd, const struct json *value)
{
    if (value->type == JSON_STRING)
        look(odd, value->text, str_ends(value->key, STR("path")) || str_is(value->key, "url"));
    for (const struct json *child = value->first; child; child = child->next) {
        look(odd, child->key, true);
        look_at_tree(odd, child);
    }
}

static void put(struct json_out *out, const struct odd_text *odd)
{
    if (odd->hidden)
        json_put_str(out, str_of(hidden_words));
    if (odd->alike)
        json_put_str(out, str_of(alike_words));
}

void odd_text_put(struct json_out *out, struct str name)
{
    struct odd_text odd = {0};
    look(&odd, name, true);
    put(out, &odd);
}

void odd_text_member(struct json_out *out, const struct json *input)
{
    struct odd_text odd = {0};
    look_at_tree(&odd, input);
    if (!odd.hidden && !odd.alike)
        return;
    json_open_member(out, "warnings", '[');
    put(out, &odd);
    json_close(out, ']');
}

void odd_text_warn(struct json_out *out, struct str command)
{
    json_open_member(out, "warnings", '[');
    odd_text_put(out, command);
    json_close(out, ']');
}
