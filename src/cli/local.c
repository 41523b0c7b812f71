#include "cli/local.h"

#include "base/buf.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct rc local_folder(struct cli *cli, const char *path, const char **ret_absolute, struct err *err)
{
    CHECK(path);
    char *real = realpath(path, NULL);
    struct stat st;
    if (!real)
        return err_set(err, ERR_INVALID, "the folder '%s': %s", path, strerror(errno));
    *ret_absolute = arena_c(&cli->arena, str_of(real));
    free(real);
    if (stat(*ret_absolute, &st) != 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "'%s' is not a folder", path);
    return RC_OK;
}

struct str local_title(struct str path)
{
    struct str title = path;
    for (struct str rest = path; !str_empty(rest);) {
        struct str part = str_cut(rest, '/', &rest);
        if (!str_empty(part))
            title = part;
    }
    return title;
}

static struct rc read_stdin(struct cli *cli, struct str *ret_text, struct err *err)
{
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    for (;;) {
        char piece[16 << 10];
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "standard input: %s", strerror(errno));
        if (n == 0)
            break;
        buf_put(&buf, (struct str){piece, (size_t)n});
        if (buf.over)
            return err_set(err, ERR_TOO_LARGE, "standard input is larger than %d bytes", LIMIT_BODY_BYTES);
    }
    *ret_text = arena_str(&cli->arena, buf_str(&buf));
    return RC_OK;
}

struct rc local_input(struct cli *cli, const char *operand, const struct json **ret_input, struct err *err)
{
    struct str text = str_of(operand);
    const struct json *input;
    CHECK(operand);
    if (strcmp(operand, "-") == 0)
        TRY(read_stdin(cli, &text, err));
    struct rc rc = json_parse(&cli->arena, text, &input, err);
    if (rc_bad(rc) || input->type != JSON_OBJECT)
        return err_set(err, ERR_INVALID,
                       "the input must be a JSON object, such as '{\"command\":\"make test\"}'%s%.200s",
                       rc_bad(rc) ? ": " : "",
                       rc_bad(rc) && err ? arena_printf(&cli->arena, "%s", err->text).p : "");
    *ret_input = input;
    return RC_OK;
}
