/* The person's editor on a file of their own (editor.h): made in a folder that only they can enter, removed
 * afterwards. */
#include "cli/editor.h"

#include "base/json.h"
#include "base/limits.h"
#include "io/file.h"
#include "io/process.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static const char *editor_of(void)
{
    static const char *const names[] = {"VISUAL", "EDITOR"};
    return ROW_VALUE(names, row, getenv(*row) && getenv(*row)[0], getenv(*row), "vi");
}

/* The variable may hold options; the path is an argument of the script, not a part of its text. */
static struct rc run_editor(const char *path, struct err *err)
{
    char *argv[] = {"sh", "-c", "exec ${0} \"$1\"", (char *)editor_of(), (char *)path, NULL};
    pid_t child;
    int failed = posix_spawnp(&child, "sh", NULL, NULL, argv, environ);
    if (failed)
        return err_set(err, ERR_IO, "cannot start an editor: %s", strerror(failed));
    return process_wait(child) == 0 ? RC_OK : err_set(err, ERR_IO, "the editor ended with an error");
}

static struct rc edit_text(struct arena *arena, const char *name, struct str text, struct str *ret_text,
                           struct err *err)
{
    char folder[] = "/tmp/nod-edit-XXXXXX";
    if (!mkdtemp(folder))
        return err_set(err, ERR_IO, "cannot make a folder for the file to edit: %s", strerror(errno));
    const char *path = arena_printf(arena, "%s/%s", folder, name).p;
    struct rc rc = file_write_private(path, text, err);
    if (rc_ok(rc))
        rc = run_editor(path, err);
    if (rc_ok(rc))
        rc = file_read(arena, path, LIMIT_BODY_BYTES, ret_text, err);
    (void)unlink(path);
    (void)rmdir(folder);
    return rc;
}

/* The member of the input to edit, and a file name by which editors know how to colour it. */
static const struct json *main_text(const struct json *input, const char **ret_name)
{
    static const struct {
        const char *key, *name;
    } texts[] = {{"command", "command.sh"}, {"content", "content"}, {"new_string", "new_text"},
                 {"new_source", "cell"},    {"plan", "plan.md"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct json *member = json_get(input, texts[i].key);
        *ret_name = texts[i].name;
        if (member && member->type == JSON_STRING)
            return member;
    }
    return NULL;
}

static struct str with_text(struct arena *arena, const struct json *input, const struct json *changed, struct str text)
{
    JSON_SCOPE(buf, out, LIMIT_BODY_BYTES * 2);
    json_open(&out, '{');
    for (const struct json *member = input->first; member; member = member->next) {
        json_key_str(&out, member->key);
        if (member == changed)
            json_put_str(&out, text);
        else
            json_put_raw(&out, member->raw);
    }
    json_close(&out, '}');
    return arena_str(arena, buf_str(&buf));
}

static struct rc edit_main_text(struct arena *arena, const struct json *input, const struct json *member,
                                const char *name, struct str *ret_input, struct err *err)
{
    struct str text;
    TRY(edit_text(arena, name, member->text, &text, err));
    if (str_ends(text, STR("\n")) && !str_ends(member->text, STR("\n")))
        text.n--; /* editors end the last line */
    *ret_input = str_eq(text, member->text) ? STR_NONE : with_text(arena, input, member, text);
    return RC_OK;
}

struct rc editor_change_input(struct arena *arena, const struct json *input, struct str *ret_input, struct err *err)
{
    const char *name;
    const struct json *member = main_text(input, &name), *value;
    struct str text;
    if (member)
        return edit_main_text(arena, input, member, name, ret_input, err);
    TRY(edit_text(arena, "input.json", input->raw, &text, err));
    text = str_trim(text);
    *ret_input = str_eq(text, input->raw) ? STR_NONE : text;
    if (rc_bad(json_parse(arena, text, &value, NULL)) || value->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID, "the edited text is not a JSON object");
    return RC_OK;
}
