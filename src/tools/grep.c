/* Grep: lines that match a regular expression (PCRE2). Matching is bounded: an expression that would take for
 * ever fails and says so. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tools/tool.h"

#include <fcntl.h>
#include <pcre2.h>
#include <unistd.h>

enum { MATCH_LIMIT = 1000000, DEPTH_LIMIT = 10000, LINE_SHOWN_MAX = 500, GREP_FILE_BYTES_MAX = 4 << 20 };

enum mode { FILES, LINES, COUNTS };

/* One search. */
struct grep_search {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context; /* with the limits on backtracking */
    struct str glob; /* only files that match it; empty: all */
    enum mode mode;
    int64_t around_before, around_after, limit;
    size_t base_n; /* bytes of a path before the part that is shown and matched */
    struct buf *out;
    int64_t shown; /* lines or files in `out` so far */
    bool too_hard; /* a line ran into the limits */
};

static void search_done(struct grep_search *search)
{
    pcre2_match_data_free(search->match);
    pcre2_match_context_free(search->context);
    pcre2_code_free(search->code);
}

static bool matches(struct grep_search *search, struct str line)
{
    int found = pcre2_match(search->code, (PCRE2_SPTR)(line.n ? line.p : ""), line.n, 0, 0, search->match,
                            search->context);
    search->too_hard = search->too_hard || found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT;
    return found >= 0;
}

static void show(struct grep_search *search, struct str within, int64_t number, char mark, struct str line)
{
    bool cut = line.n > LINE_SHOWN_MAX;
    buf_printf(search->out, "%.*s%c%lld%c", STR_ARG(within), mark, (long long)number, mark);
    BUF_ADD(search->out, cut ? str_sub(line, 0, LINE_SHOWN_MAX) : line, str_of(cut ? "…\n" : "\n"));
}

/* Lines of one file, with those around them. */
static int64_t search_lines(struct grep_search *search, struct str within, struct str text)
{
    struct str *recent = NULL;
    ARENA_SCOPE(arena);
    int64_t hits = 0, number = 0, told = 0, after = 0;
    size_t keep = (size_t)search->around_before;
    if (keep)
        recent = arena_array(&arena, struct str, keep);
    while (text.n && search->shown < search->limit) {
        struct str line = str_cut(text, '\n', &text);
        number++;
        bool hit = matches(search, line);
        hits += hit;
        if (search->mode == LINES && hit) {
            for (int64_t i = number - search->around_before; i < number; i++)
                if (i > told && i > 0)
                    show(search, within, i, '-', recent[(size_t)i % keep]);
            show(search, within, number, ':', line);
            search->shown++;
            told = number;
            after = search->around_after;
        } else if (search->mode == LINES && after > 0) {
            show(search, within, number, '-', line);
            told = number;
            after--;
        }
        if (keep)
            recent[(size_t)number % keep] = line;
        if (hit && search->mode == FILES)
            break;
    }
    return hits;
}

/* Binary files are skipped, by a NUL in their first 8 KiB. */
static void search_file(struct grep_search *search, const struct tool_use *use, struct str within)
{
    ARENA_SCOPE(arena);
    struct str text;
    if (rc_bad(place_read(&arena, use->root, within, &text, NULL)) ||
        (text.n && memchr(text.p, '\0', text.n < 8192 ? text.n : 8192)))
        return;
    int64_t hits = search_lines(search, within, text);
    if (hits == 0 || search->mode == LINES)
        return;
    if (search->mode == FILES)
        buf_printf(search->out, "%.*s\n", STR_ARG(within));
    else
        buf_printf(search->out, "%.*s:%lld\n", STR_ARG(within), (long long)hits);
    search->shown++;
}

/* False ends the walk: the limit is reached, or the result is full. A pattern without a slash is meant for the file's
 * name. */
static bool take(struct place_walk *walk, struct str within, const struct stat *st)
{
    struct grep_search *search = walk->arg;
    struct str path = str_sub(within, search->base_n, within.n);
    struct str name = path;
    while (str_find(name, '/') < name.n)
        (void)str_cut(name, '/', &name);
    if (st->st_size > GREP_FILE_BYTES_MAX)
        return true;
    if (search->glob.n && !pattern_matches(search->glob, path) && !pattern_matches(search->glob, name))
        return true;
    search_file(search, walk->use, within);
    return search->shown < search->limit && !search->out->over;
}

/* Limits of PCRE2 instead of a timeout: a pattern that backtracks without end fails on its line, and the search goes
 * on. */
static struct rc prepare(const struct tool_use *use, struct grep_search *search, struct err *err)
{
    struct str pattern = json_text(use->input, "pattern"), mode = json_text(use->input, "output_mode");
    uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    int code;
    PCRE2_SIZE at;
    int64_t around = 0;
    TRY(json_want_i64(use->input, "-C", 0, 100, &around, err));
    search->around_before = search->around_after = around;
    TRY(json_want_i64(use->input, "-B", 0, 100, &search->around_before, err));
    TRY(json_want_i64(use->input, "-A", 0, 100, &search->around_after, err));
    TRY(json_want_i64(use->input, "head_limit", 1, 10000, &search->limit, err));
    if (json_bool(use->input, "-i", false))
        flags |= PCRE2_CASELESS;
    search->mode = str_is(mode, "content") ? LINES : str_is(mode, "count") ? COUNTS : FILES;
    search->glob = json_text(use->input, "glob");
    search->code = pcre2_compile((PCRE2_SPTR)(pattern.n ? pattern.p : ""), pattern.n, flags, &code, &at, NULL);
    if (!search->code) {
        PCRE2_UCHAR words[200];
        (void)pcre2_get_error_message(code, words, sizeof words);
        return err_set(err, ERR_INVALID, "\"pattern\" is not a regular expression: %s at %zu", (char *)words, at);
    }
    search->match = pcre2_match_data_create_from_pattern(search->code, NULL);
    search->context = pcre2_match_context_create(NULL);
    CHECK(search->match && search->context);
    (void)pcre2_set_match_limit(search->context, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(search->context, DEPTH_LIMIT);
    return RC_OK;
}

/* `path` may name a file or a folder; it is opened by place_open, which follows no link out of the session's folder.
 */
static struct rc run(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    BUF_SCOPE(buf, RESULT_BYTES_MAX);
    __attribute__((cleanup(search_done))) struct grep_search search = {.out = &buf, .limit = 250};
    struct place_walk walk = {.use = use, .take = take, .arg = &search};
    struct stat st;
    DESCRIPTOR_SCOPE(fd);
    TRY(prepare(use, &search, err));
    TRY(place_within(use->arena, use->root, json_text(use->input, "path"), &walk.from, err));
    TRY(place_open(use->root, walk.from, O_PATH, &fd, err));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        search_file(&search, use, walk.from);
    } else {
        search.base_n = str_is(walk.from, ".") ? 0 : walk.from.n + 1;
        TRY(place_walk(&walk, err));
    }
    if (search.too_hard)
        buf_puts(&buf, "(some lines took too long to match; use a simpler pattern)\n");
    if (walk.hidden)
        buf_printf(&buf, "(%u protected places were left out)\n", walk.hidden);
    if (search.shown >= search.limit || buf.over)
        *ret_text = arena_printf(use->arena, "%.*s(there is more; narrow it down)", STR_ARG(buf_str(&buf)));
    else
        *ret_text = buf.n ? arena_str(use->arena, buf_str(&buf)) : STR("No matches");
    return RC_OK;
}

const struct executor executor_grep = {
    .name = "Grep",
    .files = true,
    .description = "Searches the project's files for a regular expression (PCRE).",
    .schema = "{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\"},"
              "\"path\":{\"type\":\"string\",\"description\":\"A folder or file; else the project\"},"
              "\"glob\":{\"type\":\"string\",\"description\":\"Only files that match, e.g. *.c\"},"
              "\"output_mode\":{\"type\":\"string\",\"enum\":[\"content\",\"files_with_matches\",\"count\"]},"
              "\"-i\":{\"type\":\"boolean\",\"description\":\"Ignore case\"},"
              "\"-n\":{\"type\":\"boolean\",\"description\":\"Line numbers; always shown\"},"
              "\"-A\":{\"type\":\"integer\"},\"-B\":{\"type\":\"integer\"},\"-C\":{\"type\":\"integer\"},"
              "\"head_limit\":{\"type\":\"integer\"}},\"required\":[\"pattern\"]}",
    .looks = true,
    .run = run,
};
