/* WebFetch: the text of a page.
 *
 * One GET, without cookies, without credentials, and within limits of size and time. The address that is connected
 * to is looked at when it is connected to, not when its name is read: pages of this machine and of the networks
 * around it are refused unless a setting allows them. curl follows no redirect; each one is read, judged anew
 * (tool_use.may_follow), and either asked for or told to the model, who may then ask for it by itself.
 */
#include "tools/tool.h"
#include "tools/web.h"

#include "http/http.h"

enum {
    PAGE_BYTES_MAX = 5 << 20,
    SILENCE_SECONDS = 20,
    SECONDS_MAX = 60,
    HOPS_MAX = 5,
    ERROR_BYTES_MAX = 2000, /* most text taken from an error page */
};

enum wanted { WANTED_TYPE, WANTED_COUNT };

struct visit {
    const struct tool_use *use;
    struct fetch_line *line;
    struct fetch fetch;
    struct fetch_header wanted[WANTED_COUNT];
    struct web_url url;
};

static void line_done(struct fetch_line **line) { fetch_line_free(*line); }

/* Refuses an address early, before anyone is asked. A name is checked when it is connected to. */
static struct rc check(const struct tool_use *use, struct err *err)
{
    struct web_url url;
    TRY(web_url_read(use->arena, json_text(use->input, "url"), &url, err));
    const char *kind = use->private_net ? NULL : fetch_host_kind(url.host);
    if (kind)
        return err_set(err, ERR_FORBIDDEN, "not fetched: %.*s is %s", STR_ARG(url.host), kind);
    return RC_OK;
}

static void show(struct json_out *out, const struct tool_use *use)
{
    web_url_warn(out, json_text(use->input, "url"));
}

/* ---- the page ---- */

static bool is_html(struct str type)
{
    return str_starts(type, STR("text/html")) || str_starts(type, STR("application/xhtml"));
}

/* A server that names no type is believed when the bytes hold no zero. */
static bool is_text(struct str type, struct str body)
{
    static const char *const kinds[] = {"text/",           "application/json", "application/xml",
                                        "application/xhtml", "application/javascript", "application/yaml",
                                        "application/x-yaml", "application/toml", "application/x-ndjson",
                                        "application/ld+json"};
    struct str name = str_trim(str_cut(type, ';', &(struct str){0}));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_starts(name, str_of(kinds[i])))
            return true;
    if (str_ends(name, STR("+json")) || str_ends(name, STR("+xml")))
        return true;
    return name.n == 0 && (body.n == 0 || !memchr(body.p, '\0', body.n));
}

/* At most so many bytes, whole letters. */
static struct str cut(struct arena *arena, struct str text, size_t bytes_max)
{
    if (text.n <= bytes_max)
        return text;
    size_t end = bytes_max;
    while (end > 0 && ((unsigned char)text.p[end] & 0xC0) == 0x80)
        end--;
    return arena_printf(arena, "%.*s\n… (%zu bytes left out)", (int)end, text.p, text.n - end);
}

/* HTML becomes text with links; everything else that is text stays as it is. */
static struct rc page_text(struct visit *visit, struct str *ret_text, struct err *err)
{
    struct arena *arena = visit->use->arena;
    struct str type = visit->wanted[WANTED_TYPE].value, body = visit->fetch.answer, text;
    if (!is_text(type, body))
        return err_set(err, ERR_INVALID, "%s is %.*s of %zu bytes: only text can be read", visit->url.text,
                       STR_ARG(type.n ? type : STR("something binary")), body.n);
    TRY(charset_to_utf8(arena, body, type, &text, err));
    if (!is_html(type)) {
        *ret_text = text;
        return RC_OK;
    }
    BUF_SCOPE(buf, (size_t)PAGE_BYTES_MAX * 2);
    html_text(&buf, text, &visit->url);
    *ret_text = arena_str(arena, buf_str(&buf));
    return RC_OK;
}

/* The body of an error page is shown, too, but less of it: it often says what to do. */
static struct rc told(struct visit *visit, struct str *ret_text, struct err *err)
{
    struct arena *arena = visit->use->arena;
    struct str text = STR_NONE;
    long status = visit->fetch.status;
    struct rc rc = page_text(visit, &text, err);
    if (status >= 200 && status < 300) {
        TRY(rc);
        *ret_text = text.n ? cut(arena, text, RESULT_BYTES_MAX) : STR("(the page is empty)");
        return RC_OK;
    }
    *ret_text = arena_printf(arena, "%s answers with status %ld\n%.*s", visit->url.text, status,
                             STR_ARG(rc_ok(rc) ? cut(arena, text, ERROR_BYTES_MAX) : STR_NONE));
    return err_set(err, ERR_INVALID, "status %ld", status);
}

/* ---- the way to it ---- */

/* One request, without following redirects. `only_public` refuses addresses of this machine and its network, by the
 * address that is really connected to. */
static struct rc ask(struct visit *visit, struct err *err)
{
    static const char *const headers[] = {"Accept: text/html, text/plain, application/json, */*;q=0.5",
                                          "User-Agent: nod/" NOD_VERSION, NULL};
    const struct tool_use *use = visit->use;
    visit->wanted[WANTED_TYPE] = (struct fetch_header){.name = "content-type"};
    visit->fetch = (struct fetch){
        .arena = use->arena,
        .url = visit->url.text,
        .headers = headers,
        .bytes_max = PAGE_BYTES_MAX,
        .silence_seconds_max = SILENCE_SECONDS,
        .seconds_max = SECONDS_MAX,
        .cancelled = use->cancelled,
        .only_public = !use->private_net,
        .packed = true,
        .wanted = visit->wanted,
        .wanted_count = WANTED_COUNT,
    };
    struct rc rc = fetch_run(visit->line, &visit->fetch, err);
    if (rc_bad(rc) && use_cancelled(use))
        return err_set(err, ERR_INVALID, "Cancelled while it was fetched");
    if (rc.code == ERR_FORBIDDEN)
        return err_wrap(err, rc, "not fetched");
    return rc;
}

static bool may_follow(const struct visit *visit, const struct web_url *next)
{
    const struct tool_use *use = visit->use;
    bool same_place = web_url_same_place(&visit->url, next);
    return use->may_follow ? use->may_follow(use, str_of(next->text), same_place) : same_place;
}

/* True: there is one more page to ask for, visit->url. Else the text is the result. */
static struct rc follow(struct visit *visit, bool *ret_more, struct str *ret_text, struct err *err)
{
    const struct fetch *fetch = &visit->fetch;
    struct web_url next;
    *ret_more = false;
    struct rc rc = web_url_read(visit->use->arena, fetch->redirect, &next, err);
    if (rc_bad(rc))
        return err_wrap(err, rc, "it redirects to \"%.*s\", which is not followed", STR_ARG(fetch->redirect));
    if (visit->url.secure && !next.secure)
        return err_set(err, ERR_INVALID, "it redirects from https to http, which is not followed: %s", next.text);
    if (may_follow(visit, &next)) {
        visit->url = next;
        *ret_more = true;
        return RC_OK;
    }
    *ret_text = arena_printf(visit->use->arena,
                             "%s redirects (status %ld) to another place, which was not fetched:\n%s\n"
                             "To read it, use WebFetch with that address.",
                             visit->url.text, fetch->status, next.text);
    return RC_OK;
}

/* Redirects are followed by hand (follow), because each new host must be one that this call may reach. */
static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    __attribute__((cleanup(line_done))) struct fetch_line *line = fetch_line_new();
    struct visit visit = {.use = use, .line = line};
    TRY(web_url_read(use->arena, json_text(use->input, "url"), &visit.url, err));
    for (int hops = 0; hops <= HOPS_MAX; hops++) {
        bool more = false;
        TRY(ask(&visit, err));
        if (visit.fetch.status < 300 || visit.fetch.status >= 400 || visit.fetch.redirect.n == 0)
            return told(&visit, ret_text, err);
        TRY(follow(&visit, &more, ret_text, err));
        if (!more)
            return RC_OK;
    }
    return err_set(err, ERR_INVALID, "it redirects more than %d times", HOPS_MAX);
}

const struct executor executor_web_fetch = {
    .name = "WebFetch",
    .description = "Fetches a page of the web (GET) and returns its text: HTML becomes plain text with headings and "
                   "links. A redirect to another host is not followed but named.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"url\":{\"type\":\"string\",\"description\":\"The address, with https:// or http://\"},"
              "\"prompt\":{\"type\":\"string\","
              "\"description\":\"What is wanted from the page; whoever is asked sees it\"}},"
              "\"required\":[\"url\"]}",
    .looks = true,
    .check = check,
    .show = show,
    .run = run,
};
