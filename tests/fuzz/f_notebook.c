/* Edits of notebooks: the preview is JSON, and a notebook that was edited is one again. NULs stand between the cell,
 * the new source and the notebook; the first byte chooses the edit. */
#include "base/limits.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], path[80];

static void remove_files(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

static void write_file(struct str text)
{
    if (!folder[0]) {
        (void)snprintf(folder, sizeof folder, "/dev/shm/nod-fuzz-notebook.%d", (int)getpid());
        (void)snprintf(path, sizeof path, "%s/n.ipynb", folder);
        if (mkdir(folder, 0700) != 0)
            abort();
        (void)atexit(remove_files);
    }
    FILE *file = fopen(path, "we");
    if (!file || fwrite(text.p ? text.p : "", 1, text.n, file) != text.n || fclose(file) != 0)
        abort();
}

static const struct json *make_input(struct arena *arena, unsigned choice, struct str cell, struct str source)
{
    static const char *const modes[] = {"replace", "insert", "delete"};
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    struct json_out out = json_out(&buf);
    const struct json *input = NULL;
    json_open(&out, '{');
    json_member(&out, "notebook_path", STR("n.ipynb"));
    json_member(&out, "cell_id", cell);
    json_member(&out, "new_source", source);
    json_member(&out, "cell_type", choice & 8 ? STR("code") : STR("markdown"));
    json_member(&out, "edit_mode", str_of(modes[choice % 3]));
    json_close(&out, '}');
    return rc_ok(json_parse(arena, arena_str(arena, buf_str(&buf)), &input, NULL)) ? input : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct str rest = {(const char *)data + 1, size - 1};
    const struct json *parsed;
    if (size < 1)
        return 0;
    struct str cell = str_cut(rest, '\0', &rest), source = str_cut(rest, '\0', &rest);
    struct tool_use use = {.arena = &arena, .name = STR("NotebookEdit"), .root = str_of(folder)};
    write_file(rest);
    use.root = str_of(folder);
    use.input = make_input(&arena, data[0], cell, source);
    if (!use.input)
        return 0;
    struct tool_look look = tool_look(&use);
    if (rc_bad(json_parse(&arena, look.preview, &parsed, NULL)))
        abort();
    if (tool_do(&use, look.files).is_error)
        return 0;
    FILE *file = fopen(path, "re");
    char *text = arena_alloc(&arena, LIMIT_BODY_BYTES);
    size_t n = file ? fread(text, 1, LIMIT_BODY_BYTES, file) : 0;
    if (!file || fclose(file) != 0 || rc_bad(json_parse(&arena, (struct str){text, n}, &parsed, NULL)) ||
        !json_get(parsed, "cells"))
        abort();
    return 0;
}
