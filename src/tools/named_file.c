/* The current content of the file that a call names, for a person who wants to see the text around a change. The agent
 * chooses the name: a file that searches leave out is not shown, or asking to write Nod's own token would be a way to
 * read it. */
#include "tools/link.h"

#include "base/base64.h"
#include "base/picture.h"
#include "base/utf8.h"
#include "io/links.h"

#include <errno.h>
#include <unistd.h>

enum { SHOWN_BYTES_MAX = 2 << 20, PICTURE_BYTES_MAX = 512 << 10 };

/* Here and not in place_read: a Write must not take a missing folder for a missing file, which it would make. */
static struct rc check_root(const struct tool_use *use, struct err *err)
{
    if (access(arena_printf(use->arena, "%.*s/.", STR_ARG(use->root)).p, F_OK) == 0)
        return RC_OK;
    return err_set(err, errno == EACCES ? ERR_FORBIDDEN : ERR_NOT_FOUND,
                   "the session's folder %.*s cannot be opened here: %s", STR_ARG(use->root), strerror(errno));
}

/* Reads a file below the session's folder; protected files and secrets are refused. */
static struct rc read_bytes(const struct tool_use *use, struct str named, struct str *ret_bytes, struct err *err)
{
    struct str within, bytes;
    if (use->link) /* the executor reads for us, with its user's rights, and only the one file of an edit */
        return err_set(err, ERR_UNAVAILABLE, "only the executor of this session can read the file");
    TRY(place_within(use->arena, use->root, named, &within, err));
    struct str path = arena_printf(use->arena, "%.*s/%.*s", STR_ARG(use->root), STR_ARG(within));
    struct str real = links_follow(use->arena, path), root = links_follow(use->arena, use->root);
    if (use->hides && (use->hides(use, path) || use->hides(use, real)))
        return err_set(err, ERR_FORBIDDEN, "it is a protected file or a secret, which is not shown");
    TRY(check_root(use, err));
    TRY(place_within(use->arena, root, real, &within, err));
    TRY(place_read_plain(use->arena, root, within, &bytes, err)); /* the very file whose name was judged */
    if (bytes.n > SHOWN_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the file has %zu bytes, more than the %d that are shown", bytes.n,
                       SHOWN_BYTES_MAX);
    *ret_bytes = bytes;
    return RC_OK;
}

/* For previews of calls that others will do: what cannot be shown as text is an error, and the preview shows the
 * input instead. */
struct rc named_file_read(const struct tool_use *use, struct str path, struct str *ret_text, struct err *err)
{
    struct str text;
    TRY(read_bytes(use, path, &text, err));
    if (!utf8_valid(text) || memchr(text.p, '\0', text.n))
        return err_set(err, ERR_INVALID, "the file is not text");
    *ret_text = text;
    return RC_OK;
}

/* By the executor where there is one: the server's own user may not be able to read the files, and should not have
 * to. */
struct rc tool_named_file(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct tool_facts facts = tool_facts(use->name, use->input);
    if (facts.class != TOOL_EDIT || facts.path_count != 1)
        return err_set(err, ERR_INVALID, "the call does not change exactly one file");
    if (use->link)
        return link_named_file(use, ret_text, err);
    return named_file_read(use, facts.paths[0], ret_text, err);
}

/* ---- pictures ---- */

static struct str path_for_picture(const struct json *input)
{
    static const char *const names[] = {"path", "file_path", "filePath", "filename", "file", "output_path"};
    return ROW_VALUE(names, row, !str_empty(json_text(input, *row)), json_text(input, *row), STR_NONE);
}

static void put_before(struct json_out *out, struct arena *arena, struct str bytes, const struct picture *picture)
{
    json_open_member(out, "before", '{');
    json_members(out, J("type", picture->type), J("bytes", picture->bytes), J("width", picture->width),
                 J("height", picture->height));
    if (bytes.n <= PICTURE_BYTES_MAX) {
        char *data = arena_bytes(arena, BASE64_BYTES(bytes.n));
        base64_encode(bytes.p, bytes.n, data);
        json_member(out, "data", str_of(data));
    }
    json_close(out, '}');
}

/* The picture that a call would replace, for a comparison on the page. */
struct rc tool_named_picture(const struct tool_use *use, struct str *ret_preview, struct err *err)
{
    JSON_SCOPE(buf, out, LIMIT_ANSWER_BYTES);
    struct str path = path_for_picture(use->input), bytes = STR_NONE;
    struct picture picture;
    if (str_empty(path) || !picture_inside(use->input))
        return err_set(err, ERR_INVALID, "the call does not change exactly one file");
    TRY(check_root(use, err)); /* a missing folder says nothing of the file */
    struct err problem = {.code = ERR_OK};
    struct rc rc = read_bytes(use, path, &bytes, &problem);
    if (rc_bad(rc) && rc.code != ERR_NOT_FOUND) {
        *err = problem;
        return rc;
    }
    json_open(&out, '{');
    json_members(&out, J("type", "picture"), J("file_path", path), J_BOOL("is_new_file", rc_bad(rc)));
    if (rc_ok(rc) && picture_read(bytes, &picture))
        put_before(&out, use->arena, bytes, &picture);
    json_close(&out, '}');
    *ret_preview = arena_str(use->arena, buf_str(&buf));
    return RC_OK;
}
