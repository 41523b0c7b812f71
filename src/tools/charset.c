/* From the charsets of the web to UTF-8, by iconv. Only charsets of this table reach it: a page does not choose
 * which of the C library's converters it meets. */
#include "tools/web.h"

#include "base/utf8.h"

#include <errno.h>
#include <iconv.h>

enum { HEAD_BYTES = 1024, GROWTH = 4 };

static const struct {
    const char *label, *name; /* the name in web pages, the name for iconv */
} charsets[] = {
    {"utf-8", NULL},           {"utf8", NULL},              {"us-ascii", "CP1252"},     {"ascii", "CP1252"},
    {"iso-8859-1", "CP1252"},  {"latin1", "CP1252"},        {"windows-1252", "CP1252"}, {"iso-8859-2", "ISO-8859-2"},
    {"iso-8859-5", "ISO-8859-5"}, {"iso-8859-7", "ISO-8859-7"}, {"iso-8859-9", "ISO-8859-9"},
    {"iso-8859-15", "ISO-8859-15"}, {"windows-1250", "CP1250"}, {"windows-1251", "CP1251"},
    {"windows-1253", "CP1253"}, {"windows-1254", "CP1254"}, {"windows-1255", "CP1255"}, {"windows-1256", "CP1256"},
    {"koi8-r", "KOI8-R"},      {"koi8-u", "KOI8-U"},        {"shift_jis", "CP932"},     {"shift-jis", "CP932"},
    {"euc-jp", "EUC-JP"},      {"gb2312", "GBK"},           {"gbk", "GBK"},             {"gb18030", "GB18030"},
    {"big5", "BIG5"},          {"euc-kr", "EUC-KR"},        {"utf-16", "UTF-16LE"},     {"utf-16le", "UTF-16LE"},
    {"utf-16be", "UTF-16BE"},
};

/* The word behind `charset=`, in a Content-Type or in the head of a page. */
static struct str named_in(struct str text)
{
    static const struct str key = {"charset", 7};
    for (size_t i = 0; i + key.n < text.n; i++) {
        if (!str_same_letters(str_sub(text, i, i + key.n), key))
            continue;
        struct str rest = str_trim(str_sub(text, i + key.n, text.n));
        if (rest.n == 0 || rest.p[0] != '=')
            continue;
        rest = str_trim(str_sub(rest, 1, rest.n));
        if (rest.n && (rest.p[0] == '"' || rest.p[0] == '\''))
            rest = str_sub(rest, 1, rest.n);
        size_t end = 0;
        while (end < rest.n && !strchr("\"' \t\r\n;/>", rest.p[end]))
            end++;
        return str_sub(rest, 0, end);
    }
    return STR_NONE;
}

/* A byte order mark wins over what the server says of the page, as in browsers. It is removed from the text. */
static struct str marked(struct str *bytes)
{
    static const struct {
        struct str mark;
        const char *label;
    } marks[] = {{{"\xef\xbb\xbf", 3}, "utf-8"}, {{"\xff\xfe", 2}, "utf-16le"}, {{"\xfe\xff", 2}, "utf-16be"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (!str_starts(*bytes, marks[i].mark))
            continue;
        *bytes = str_sub(*bytes, marks[i].mark.n, bytes->n);
        return str_of(marks[i].label);
    }
    return STR_NONE;
}

/* Bytes that are no UTF-8 become U+FFFD, one each. */
static struct str repaired(struct arena *arena, struct str text)
{
    if (utf8_valid(text))
        return text;
    BUF_SCOPE(buf, text.n * 3);
    for (size_t i = 0; i < text.n;) {
        size_t n = utf8_valid_one(str_sub(text, i, text.n));
        buf_put(&buf, n ? str_sub(text, i, i + n) : STR("\xef\xbf\xbd"));
        i += n ? n : 1;
    }
    return arena_str(arena, buf_str(&buf));
}

/* A byte that iconv refuses becomes U+FFFD, and the rest is read on. */
static struct str converted(struct arena *arena, iconv_t cd, struct str bytes)
{
    BUF_SCOPE(buf, bytes.n * GROWTH + 16);
    char *room = buf_room(&buf, bytes.n * GROWTH + 16);
    char *from = (char *)bytes.p, *to = room;
    size_t left = bytes.n, room_left = bytes.n * GROWTH + 16;
    CHECK(room);
    while (left && iconv(cd, &from, &left, &to, &room_left) == (size_t)-1 && errno != E2BIG && room_left > 3) {
        memcpy(to, "\xef\xbf\xbd", 3);
        to += 3;
        room_left -= 3;
        from++;
        left--;
    }
    return arena_str(arena, (struct str){room, (size_t)(to - room)});
}

/* A byte order mark comes before the header, the header before the page's own words. */
struct rc charset_to_utf8(struct arena *arena, struct str bytes, struct str content_type, struct str *ret_text,
                          struct err *err)
{
    struct str label = marked(&bytes);
    if (label.n == 0)
        label = named_in(content_type);
    if (label.n == 0 && str_has(content_type, STR("html")))
        label = named_in(str_sub(bytes, 0, bytes.n < HEAD_BYTES ? bytes.n : HEAD_BYTES));
    if (label.n == 0)
        label = utf8_valid(bytes) ? STR("utf-8") : STR("windows-1252");
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++) {
        if (!str_same_letters(label, str_of(charsets[i].label)))
            continue;
        if (!charsets[i].name) {
            *ret_text = repaired(arena, bytes);
            return RC_OK;
        }
        iconv_t cd = iconv_open("UTF-8", charsets[i].name);
        if (cd == (iconv_t)-1)
            break;
        *ret_text = repaired(arena, converted(arena, cd, bytes));
        (void)iconv_close(cd);
        return RC_OK;
    }
    return err_set(err, ERR_INVALID, "the text is in %.*s, which is not known here", STR_ARG(label));
}
