/* DATA/setup/record.json, and beside it the old bytes of every file that was changed. */
#include "cli/setup.h"
#include "io/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 1 << 20, FILE_BYTES_MAX = 4 << 20 };

static const char *record_path(struct cli *cli)
{
    return arena_printf(&cli->arena, "%s/setup/record.json", cli->settings.data).p;
}

/* Named by the file's path, so that a second run finds the same. */
static const char *copy_path(struct cli *cli, struct str path)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(path);
    digest_hex(&digest, hex);
    return arena_printf(&cli->arena, "%s/setup/%.16s.before", cli->settings.data, hex).p;
}

static const char *folder_of(struct cli *cli, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_c(&cli->arena, str_sub(str_of(path), 0, (size_t)(slash - path))) : ".";
}

/* ---- reading and writing ---- */

static bool read_file(const struct json *json, struct setup_file *file)
{
    file->path = json_text(json, "path");
    file->was_there = json_bool(json, "wasThere", true);
    file->edited = json_bool(json, "edited", false);
    file->made_folder = json_bool(json, "madeFolder", false);
    return !str_empty(file->path) && digest_parse(json_text(json, "after"), &file->after);
}

/* A record that is not understood is an error, not ignored: removal would leave behind what it does not know of. */
static bool read_record(const struct json *json, struct setup_record *record)
{
    const struct json *pid = json_get(json, "pid");
    record->unit = json_text(json, "unit");
    if (pid && !json_i64(pid, &record->pid))
        return false;
    for (const struct json *one = json_first(json, "files"); one; one = one->next)
        if (record->file_count == SETUP_FILES_MAX || !read_file(one, &record->files[record->file_count++]))
            return false;
    for (const struct json *one = json_first(json, "rules"); one; one = one->next) {
        if (record->rule_count == SETUP_RULES_MAX)
            return false;
        record->rules[record->rule_count++] = one->text;
    }
    for (const struct json *one = json_first(json, "agents"); one; one = one->next) {
        const struct agent *agent = agent_with_hooks(one->text);
        if (!agent)
            return false;
        record->agents[agent_number(agent)] = true;
    }
    return true;
}

struct rc setup_record_load(struct cli *cli, struct setup_record *ret_record, struct err *err)
{
    const char *path = record_path(cli);
    const struct json *json;
    struct str text;
    *ret_record = (struct setup_record){0};
    struct rc rc = file_read(&cli->arena, path, RECORD_BYTES_MAX, &text, err);
    if (rc.code == ERR_NOT_FOUND)
        return RC_OK;
    TRY(rc);
    if (rc_bad(json_parse(&cli->arena, text, &json, NULL)) || !read_record(json, ret_record))
        return err_set(err, ERR_CORRUPT, "%s cannot be read; to go on without it, move it away", path);
    return RC_OK;
}

static void put_file(struct json_out *out, const struct setup_file *file)
{
    char hex[DIGEST_HEX_BYTES];
    digest_hex(&file->after, hex);
    json_object(out, J("path", file->path), J("after", hex), J_BOOL("wasThere", file->was_there),
                J_BOOL("edited", file->edited), J_BOOL("madeFolder", file->made_folder));
}

static struct rc have_folder(struct cli *cli, struct err *err)
{
    TRY(file_own_folder(cli->settings.data, err));
    return file_own_folder(arena_printf(&cli->arena, "%s/setup", cli->settings.data).p, err);
}

/* Written after each step of setup, so that a setup that was interrupted can be undone as far as it went. */
struct rc setup_record_save(struct cli *cli, const struct setup_record *record, struct err *err)
{
    JSON_SCOPE(buf, out, RECORD_BYTES_MAX);
    json_open(&out, '{');
    json_members(&out, J("unit", record->unit), J("pid", record->pid));
    JSON_LIST(&out, "agents")
        for (size_t i = 0; i < AGENT_COUNT; i++)
            if (record->agents[i])
                json_put_str(&out, str_of(agent_at(i)->name));
    JSON_LIST(&out, "files")
        for (size_t i = 0; i < record->file_count; i++)
            put_file(&out, &record->files[i]);
    JSON_LIST(&out, "rules")
        for (size_t i = 0; i < record->rule_count; i++)
            json_put_str(&out, record->rules[i]);
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    TRY(have_folder(cli, err));
    return file_write_private(record_path(cli), buf_str(&buf), err);
}

void setup_record_drop(struct cli *cli, const struct setup_record *record)
{
    for (size_t i = 0; i < record->file_count; i++)
        (void)unlink(copy_path(cli, record->files[i].path));
    (void)unlink(arena_printf(&cli->arena, "%s/" SETUP_LEADER, cli->settings.data).p);
    (void)unlink(record_path(cli));
    (void)rmdir(arena_printf(&cli->arena, "%s/setup", cli->settings.data).p);
}

/* ---- files ---- */

struct rc setup_file_look(struct cli *cli, const char *path, struct setup_look *ret_look, struct err *err)
{
    *ret_look = (struct setup_look){.path = path, .had_folder = access(folder_of(cli, path), F_OK) == 0};
    struct rc rc = file_read(&cli->arena, path, FILE_BYTES_MAX, &ret_look->before, err);
    ret_look->was_there = rc_ok(rc);
    return rc.code == ERR_NOT_FOUND ? RC_OK : rc;
}

static struct setup_file *find_file(struct setup_record *record, const char *path)
{
    return ROW_FIND(record->files, record->file_count, row, str_is(row->path, path));
}

/* Called after a file was changed: keeps the old bytes the first time, and notes whether somebody else edited
 * it since. */
struct rc setup_file_changed(struct cli *cli, struct setup_record *record, const struct setup_look *look,
                             struct err *err)
{
    struct digest before = digest_of(look->before);
    struct setup_look now;
    struct setup_file *file = find_file(record, look->path);
    TRY(setup_file_look(cli, look->path, &now, err));
    if (now.was_there == look->was_there && str_eq(now.before, look->before))
        return RC_OK;
    if (file) {
        file->edited = file->edited || !digest_eq(&before, &file->after);
        file->after = digest_of(now.before);
        return RC_OK;
    }
    if (record->file_count == SETUP_FILES_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %d files were changed", SETUP_FILES_MAX);
    TRY(have_folder(cli, err));
    if (look->was_there)
        TRY(file_write_private(copy_path(cli, str_of(look->path)), look->before, err));
    record->files[record->file_count++] = (struct setup_file){
        .path = arena_str(&cli->arena, str_of(look->path)), .was_there = look->was_there,
        .made_folder = !look->had_folder, .after = digest_of(now.before)};
    return RC_OK;
}

void setup_files_check(struct cli *cli, struct setup_record *record)
{
    for (size_t i = 0; i < record->file_count; i++) {
        struct setup_file *file = &record->files[i];
        struct setup_look now;
        bool read = rc_ok(setup_file_look(cli, arena_c(&cli->arena, file->path), &now, NULL));
        struct digest digest = digest_of(now.before);
        file->edited = file->edited || !read || !now.was_there || !digest_eq(&digest, &file->after);
    }
}

/* The old bytes with the mode that the file has now; a file that was not there is removed. */
static struct rc restore(struct cli *cli, const struct setup_file *file, struct err *err)
{
    const char *path = arena_c(&cli->arena, file->path);
    struct str old;
    struct stat st;
    if (!file->was_there) {
        if (unlink(path) != 0 && errno != ENOENT)
            return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
        if (file->made_folder)
            (void)rmdir(folder_of(cli, path)); /* stays when something else is in it by now */
        return RC_OK;
    }
    TRY(file_read(&cli->arena, copy_path(cli, file->path), FILE_BYTES_MAX, &old, err));
    bool there = stat(path, &st) == 0;
    TRY(file_write_private(path, old, err));
    if (there && chmod(path, st.st_mode & 07777) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return RC_OK;
}

struct rc setup_files_restore(struct cli *cli, const struct setup_record *record, struct err *err)
{
    for (size_t i = 0; i < record->file_count; i++)
        if (!record->files[i].edited)
            TRY(restore(cli, &record->files[i], err));
    return RC_OK;
}
