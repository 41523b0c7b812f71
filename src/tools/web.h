/* The parts of WebFetch: addresses of pages, and their text. Private to tools/. */
#ifndef TOOLS_WEB_H
#define TOOLS_WEB_H

#include "base/err.h"
#include "base/json.h"

/* ---- web_url.c ---- */

/* An address read so strictly that no two readers take it for different places: http or https, no name or password
 * in it, a host of letters, digits, dashes and dots or an IPv6 address in brackets, no letter that some would strip
 * or turn around. */
struct web_url {
    bool secure;
    struct str host;  /* in small letters, an IPv6 address with its brackets */
    unsigned port;
    struct str rest;  /* path and query, at least "/" */
    const char *text; /* all of it, as it is asked for; without the fragment */
};

struct rc web_url_read(struct arena *arena, struct str text, struct web_url *ret_url, struct err *err);
/* Whether host and port are equal; http and https of one host at their usual ports count as equal. */
bool web_url_same_place(const struct web_url *a, const struct web_url *b);
/* A link on the page at `base`, whole; empty when it leads to no other page. */
struct str web_url_join(struct arena *arena, const struct web_url *base, struct str link);
/* Writes "host" and "warnings" for an address; the text need not be a valid URL. */
void web_url_warn(struct json_out *out, struct str text);

/* ---- charset.c ---- */

/* Converts a page to UTF-8 from the charset that its Content-Type, a byte order mark or the page itself names.
 * ERR_INVALID: that charset is not known here. Bytes that cannot be read become U+FFFD. */
struct rc charset_to_utf8(struct arena *arena, struct str bytes, struct str content_type, struct str *ret_text,
                          struct err *err);

/* ---- html.c ---- */

/* The text that a reader would see, and where links lead: headings as #, lists as -, links as [text](address). No
 * scripts, no styles, no comments, no letters that hide. Any bytes are taken; valid UTF-8 comes out if it went in. */
void html_text(struct buf *out, struct str html, const struct web_url *base);

#endif
