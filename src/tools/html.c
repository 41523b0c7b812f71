/* One pass over the bytes, no tree: a page that is nested without end or broken anywhere costs no more than its
 * length. */
#include "tools/web.h"

#include "base/utf8.h"

enum { NAME_BYTES_MAX = 16, ENTITY_BYTES_MAX = 12 };

enum html_act {
    ACT_NONE,
    ACT_LINE,      /* begins on a line of its own */
    ACT_PARAGRAPH, /* with an empty line before it */
    ACT_HEADING,
    ACT_ITEM,
    ACT_CELL,
    ACT_BREAK,
    ACT_RULE,
    ACT_LINK,
    ACT_IMAGE,
    ACT_PRE,
    ACT_SKIP,      /* its content is not visible */
};

static const struct {
    const char *name;
    enum html_act act;
} tags[] = {
    {"a", ACT_LINK},           {"address", ACT_LINE},    {"article", ACT_PARAGRAPH}, {"aside", ACT_PARAGRAPH},
    {"blockquote", ACT_PARAGRAPH}, {"br", ACT_BREAK},    {"canvas", ACT_SKIP},       {"dd", ACT_LINE},
    {"details", ACT_PARAGRAPH}, {"div", ACT_LINE},       {"dl", ACT_PARAGRAPH},      {"dt", ACT_LINE},
    {"figcaption", ACT_LINE},  {"figure", ACT_PARAGRAPH}, {"footer", ACT_PARAGRAPH}, {"form", ACT_LINE},
    {"h1", ACT_HEADING},       {"h2", ACT_HEADING},      {"h3", ACT_HEADING},        {"h4", ACT_HEADING},
    {"h5", ACT_HEADING},       {"h6", ACT_HEADING},      {"header", ACT_PARAGRAPH},  {"hr", ACT_RULE},
    {"iframe", ACT_SKIP},      {"img", ACT_IMAGE},       {"li", ACT_ITEM},           {"main", ACT_PARAGRAPH},
    {"nav", ACT_PARAGRAPH},    {"noscript", ACT_SKIP},   {"object", ACT_SKIP},       {"ol", ACT_PARAGRAPH},
    {"option", ACT_LINE},      {"p", ACT_PARAGRAPH},     {"pre", ACT_PRE},           {"script", ACT_SKIP},
    {"section", ACT_PARAGRAPH}, {"style", ACT_SKIP},     {"summary", ACT_LINE},      {"svg", ACT_SKIP},
    {"table", ACT_PARAGRAPH},  {"td", ACT_CELL},         {"template", ACT_SKIP},     {"th", ACT_CELL},
    {"title", ACT_HEADING},    {"tr", ACT_LINE},         {"ul", ACT_PARAGRAPH},
};

static const struct {
    const char *name;
    uint32_t code;
} entities[] = {
    {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},     {"apos", '\''},    {"nbsp", ' '},
    {"mdash", 0x2014}, {"ndash", 0x2013}, {"hellip", 0x2026}, {"copy", 0xa9},   {"reg", 0xae},     {"trade", 0x2122},
    {"lsquo", 0x2018}, {"rsquo", 0x2019}, {"ldquo", 0x201c}, {"rdquo", 0x201d}, {"laquo", 0xab},   {"raquo", 0xbb},
    {"bull", 0x2022},  {"middot", 0xb7},  {"times", 0xd7},   {"deg", 0xb0},     {"euro", 0x20ac},  {"pound", 0xa3},
    {"sect", 0xa7},    {"para", 0xb6},    {"larr", 0x2190},  {"rarr", 0x2192},  {"auml", 0xe4},    {"ouml", 0xf6},
    {"uuml", 0xfc},    {"Auml", 0xc4},    {"Ouml", 0xd6},    {"Uuml", 0xdc},    {"szlig", 0xdf},   {"eacute", 0xe9},
    {"egrave", 0xe8},  {"agrave", 0xe0},  {"ccedil", 0xe7},  {"ntilde", 0xf1},  {"le", 0x2264},    {"ge", 0x2265},
};

/* The position in the page, and what is to be written before the next letter. */
struct html_page {
    struct str in;
    size_t at;
    struct buf *out;
    const struct web_url *base;
    struct arena arena; /* holds only the open link: a page may have millions */
    unsigned breaks;    /* line breaks to write before the next letter */
    bool space;         /* a blank to write before the next letter */
    bool started;       /* some text has been written */
    unsigned pre;       /* how deep in <pre> */
    struct str link;    /* where the open <a> leads */
    size_t link_from;   /* position in `out` at which the text of the open link begins; 0: no link is open */
};

struct tag {
    struct str name, inside; /* inside: its attributes */
    enum html_act act;
    bool closes;
};

/* ---- letters ---- */

/* Called before anything visible is written: the line ends and the blank that were asked for since the last text come
 * now. */
static void settle(struct html_page *page)
{
    for (; page->breaks && page->started; page->breaks--)
        buf_putc(page->out, '\n');
    if (page->space && page->started && page->out->n && page->out->p[page->out->n - 1] != '\n')
        buf_putc(page->out, ' ');
    page->breaks = 0;
    page->space = false;
    page->started = true;
}

static void want_breaks(struct html_page *page, unsigned count)
{
    page->breaks = page->breaks > count ? page->breaks : count;
    page->space = false;
}

/* Blanks are collapsed as a browser does. Characters that show nothing are left out: a page could hide words in them.
 */
static void put_code(struct html_page *page, uint32_t code)
{
    char bytes[4];
    bool blank = code == ' ' || code == '\t' || code == '\n' || code == '\r' || code == '\f' || code == 0xa0;
    if (blank && !page->pre) {
        page->space = true;
        return;
    }
    if (code == '\r' || (utf8_hidden(code) && code != '\n' && code != '\t'))
        return;
    settle(page);
    buf_put(page->out, (struct str){bytes, utf8_encode(code, bytes)});
}

/* Decodes the letter or entity at the beginning of `s`; returns how many bytes it takes. */
static size_t next_code(struct str s, uint32_t *ret_code)
{
    size_t end = 1;
    uint64_t number = 0;
    bool fits;
    if (s.p[0] != '&') {
        size_t n = utf8_decode(s, ret_code);
        *ret_code = n ? *ret_code : 0xfffd;
        return n ? n : 1;
    }
    *ret_code = '&';
    while (end < s.n && end < ENTITY_BYTES_MAX && s.p[end] > ' ' && !strchr(";&<", s.p[end]))
        end++;
    if (end >= s.n || s.p[end] != ';')
        return 1;
    struct str name = str_sub(s, 1, end);
    if (name.n > 1 && name.p[0] == '#') {
        bool hex = name.p[1] == 'x' || name.p[1] == 'X';
        fits = name.n > (hex ? 2 : 1);
        for (size_t i = hex ? 2 : 1; i < name.n && fits; i++) {
            const char *digits = "0123456789abcdef", *found = strchr(digits, name.p[i] | 32);
            fits = found && name.p[i] && (found - digits) < (hex ? 16 : 10);
            number = fits ? number * (hex ? 16 : 10) + (uint64_t)(found - digits) : 0;
        }
        fits = fits && number && number <= 0x10ffff && (number < 0xd800 || number > 0xdfff);
        *ret_code = fits ? (uint32_t)number : 0xfffd;
        return end + 1;
    }
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        if (str_is(name, entities[i].name)) {
            *ret_code = entities[i].code;
            return end + 1;
        }
    }
    return 1;
}

static void put_text(struct html_page *page, struct str text)
{
    for (size_t i = 0; i < text.n;) {
        uint32_t code;
        i += next_code(str_sub(text, i, text.n), &code);
        put_code(page, code);
    }
}

/* ---- tags ---- */

static bool blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The value of an attribute, entities decoded, without letters that hide; empty when it has none. */
static struct str attribute(struct arena *arena, struct str inside, const char *name)
{
    size_t i = 0;
    while (i < inside.n) {
        while (i < inside.n && (blank(inside.p[i]) || inside.p[i] == '/'))
            i++;
        size_t from = i;
        while (i < inside.n && !blank(inside.p[i]) && inside.p[i] != '=')
            i++;
        struct str key = str_sub(inside, from, i), value = STR_NONE;
        while (i < inside.n && blank(inside.p[i]))
            i++;
        if (i < inside.n && inside.p[i] == '=') {
            i++;
            while (i < inside.n && blank(inside.p[i]))
                i++;
            char quote = i < inside.n && (inside.p[i] == '"' || inside.p[i] == '\'') ? inside.p[i++] : '\0';
            from = i;
            while (i < inside.n && (quote ? inside.p[i] != quote : !blank(inside.p[i])))
                i++;
            value = str_sub(inside, from, i);
            i += quote && i < inside.n;
        }
        if (!str_same_letters(key, str_of(name)))
            continue;
        BUF_SCOPE(buf, value.n * 3 + 16);
        for (size_t at = 0; at < value.n;) {
            uint32_t code;
            char bytes[4];
            at += next_code(str_sub(value, at, value.n), &code);
            if (!utf8_hidden(code))
                buf_put(&buf, (struct str){bytes, utf8_encode(code, bytes)});
        }
        return arena_str(arena, buf_str(&buf));
    }
    return STR_NONE;
}

/* Reads the tag that begins with the `<` at `at`; false: this `<` is text. */
static bool read_tag(struct html_page *page, struct tag *ret_tag)
{
    struct str rest = str_sub(page->in, page->at + 1, page->in.n);
    struct tag tag = {.closes = rest.n && rest.p[0] == '/'};
    size_t i = tag.closes, from = i;
    char quote = '\0', before = '\0';
    while (i < rest.n && (str_letter(rest.p[i]) || (i > from && rest.p[i] >= '0' && rest.p[i] <= '9')))
        i++;
    if (i == from)
        return false;
    tag.name = str_sub(rest, from, i);
    from = i;
    for (; i < rest.n && (quote || rest.p[i] != '>'); i++) {
        char c = rest.p[i];
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if ((c == '"' || c == '\'') && before == '=')
            quote = c;
        before = blank(c) ? before : c;
    }
    tag.inside = str_sub(rest, from, i);
    page->at += 1 + i + (i < rest.n);
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++)
        if (str_same_letters(tag.name, str_of(tags[t].name)))
            tag.act = tags[t].act;
    *ret_tag = tag;
    return true;
}

/* Moves behind the end of an element whose content is not shown (script, style). */
static void skip_element(struct html_page *page, struct str name)
{
    while (page->at < page->in.n) {
        const char *found = memchr(page->in.p + page->at, '<', page->in.n - page->at);
        if (!found) {
            page->at = page->in.n;
            return;
        }
        page->at = (size_t)(found - page->in.p);
        struct str rest = str_sub(page->in, page->at, page->in.n);
        if (rest.n > name.n + 2 && rest.p[1] == '/' && str_same_letters(str_sub(rest, 2, 2 + name.n), name)) {
            page->at += str_find(rest, '>') + (str_find(rest, '>') < rest.n);
            return;
        }
        page->at++;
    }
}

static void end_link(struct html_page *page)
{
    if (!page->link_from)
        return;
    if (page->out->n <= page->link_from)
        page->out->n = page->link_from - 1; /* a link without text is dropped */
    else
        buf_printf(page->out, "](%.*s)", STR_ARG(page->link));
    page->link_from = 0;
}

/* The target is resolved against the page's address, because a model that follows it has no such address. */
static void begin_link(struct html_page *page, const struct tag *tag)
{
    end_link(page);
    arena_done(&page->arena);
    page->link = web_url_join(&page->arena, page->base, attribute(&page->arena, tag->inside, "href"));
    if (page->link.n == 0)
        return;
    settle(page);
    buf_putc(page->out, '[');
    page->link_from = page->out->n;
}

/* An image is its description; one without is decoration. */
static void put_image(struct html_page *page, const struct tag *tag)
{
    ARENA_SCOPE(arena);
    struct str words = str_trim(attribute(&arena, tag->inside, "alt"));
    if (words.n == 0)
        return;
    settle(page);
    buf_printf(page->out, "(image: %.*s)", STR_ARG(words));
}

static void take_tag(struct html_page *page, const struct tag *tag)
{
    switch (tag->act) {
    case ACT_NONE:
        return;
    case ACT_LINE:
        want_breaks(page, 1);
        return;
    case ACT_PARAGRAPH:
        want_breaks(page, 2);
        return;
    case ACT_HEADING:
        end_link(page);
        want_breaks(page, 2);
        if (tag->closes)
            return;
        settle(page);
        buf_puts(page->out, &"###### "[tag->name.n == 2 ? '6' - tag->name.p[1] : 5]);
        return;
    case ACT_ITEM:
        want_breaks(page, 1);
        if (tag->closes)
            return;
        settle(page);
        buf_puts(page->out, "- ");
        return;
    case ACT_CELL:
        if (tag->closes && !page->breaks)
            put_text(page, STR(" | "));
        return;
    case ACT_BREAK:
        want_breaks(page, 1);
        return;
    case ACT_RULE:
        want_breaks(page, 2);
        put_text(page, STR("---"));
        want_breaks(page, 2);
        return;
    case ACT_LINK:
        if (tag->closes)
            end_link(page);
        else
            begin_link(page, tag);
        return;
    case ACT_IMAGE:
        put_image(page, tag);
        return;
    case ACT_PRE:
        want_breaks(page, 2);
        page->pre = tag->closes ? (page->pre ? page->pre - 1 : 0) : page->pre + 1;
        return;
    case ACT_SKIP:
        if (!tag->closes && !str_ends(tag->inside, STR("/")))
            skip_element(page, tag->name);
        return;
    }
}

static void skip_declaration(struct html_page *page)
{
    struct str rest = str_sub(page->in, page->at, page->in.n);
    const char *end = str_starts(rest, STR("<!--")) ? memmem(rest.p + 2, rest.n - 2, "-->", 3)
                                                    : memchr(rest.p, '>', rest.n);
    size_t after = str_starts(rest, STR("<!--")) ? 3 : 1;
    page->at += end ? (size_t)(end - rest.p) + after : rest.n;
}

/* Tags become line ends, headings and links; everything else is text. */
void html_text(struct buf *out, struct str html, const struct web_url *base)
{
    struct html_page page = {.in = html, .out = out, .base = base};
    while (page.at < html.n && !out->over) {
        struct tag tag;
        uint32_t code;
        char c = html.p[page.at], next = page.at + 1 < html.n ? html.p[page.at + 1] : '\0';
        if (c == '<' && (next == '!' || next == '?')) {
            skip_declaration(&page);
        } else if (c == '<' && read_tag(&page, &tag)) {
            take_tag(&page, &tag);
        } else {
            page.at += next_code(str_sub(html, page.at, html.n), &code);
            put_code(&page, code);
        }
    }
    end_link(&page);
    arena_done(&page.arena);
}
