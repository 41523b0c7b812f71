/* The current content of the file that a call names, for a person who wants to see the text around a change. The agent
 * chooses the name: a file that searches leave out is not shown, or asking to write Nod's own token would be a way to
 * read it. */
#include "tools/link.h"

#include "base/utf8.h"
#include "io/links.h"

#include <errno.h>
#include <unistd.h>

enum { SHOWN_BYTES_MAX = 2 << 20 };

/* Here and not in place_read: a Write must not take a missing folder for a missing file, which it would make. */
static struct rc check_root(const struct tool_use *use, struct err *err)
{
    if (access(arena_printf(use->arena, "%.*s/.", STR_ARG(use->root)).p, F_OK) == 0)
        return RC_OK;
    return err_set(err, errno == EACCES ? ERR_FORBIDDEN : ERR_NOT_FOUND,
                   "the session's folder %.*s cannot be opened here: %s", STR_ARG(use->root), strerror(errno));
}

struct rc tool_named_file(const struct tool_use *use, struct str *ret_text, struct err *err)
{
    struct tool_facts facts = tool_facts(use->name, use->input);
    struct str within, text;
    if (facts.class != TOOL_EDIT || facts.path_count != 1)
        return err_set(err, ERR_INVALID, "the call does not change one file");
    if (use->link)
        return link_named_file(use, ret_text, err);
    TRY(place_within(use->arena, use->root, facts.paths[0], &within, err));
    struct str path = arena_printf(use->arena, "%.*s/%.*s", STR_ARG(use->root), STR_ARG(within));
    if (use->hides && (use->hides(use, path) || use->hides(use, links_follow(use->arena, path))))
        return err_set(err, ERR_FORBIDDEN, "it is a protected file or a secret, which is not shown");
    TRY(check_root(use, err));
    TRY(place_read(use, within, &text, err));
    if (text.n > SHOWN_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the file has %zu bytes, more than the %d that are shown", text.n,
                       SHOWN_BYTES_MAX);
    if (!utf8_valid(text) || memchr(text.p, '\0', text.n))
        return err_set(err, ERR_INVALID, "the file is not text");
    *ret_text = text;
    return RC_OK;
}
