/* A rule that a person gave for a project belongs to its folder: the top of the repository in which the session's
 * folder lies, else that folder itself, by its real path and its inode. When another folder stands there an
 * allow does not hold, until that folder is back; denies and asks do. */
#include "gate/inner.h"

#include "io/links.h"

static bool stat_at(struct str path, struct stat *ret_stat)
{
    ARENA_SCOPE(scratch);
    return links_stat(&scratch, path, ret_stat);
}

static struct str parent_of(struct str path)
{
    size_t end = path.n;
    while (end > 1 && path.p[end - 1] != '/')
        end--;
    return str_sub(path, 0, end > 1 ? end - 1 : 1);
}

/* Walks up to the folder that holds .git. Without one the session's folder itself is the project. */
struct rule_project project_of(struct arena *arena, struct str folder)
{
    struct rule_project project = {0};
    struct stat st;
    if (str_empty(folder))
        return project;
    struct str real = links_follow(arena, folder), at = real;
    if (str_empty(real))
        return project;
    while (at.n > 1 && !stat_at(arena_printf(arena, "%.*s/.git", STR_ARG(at)), &st))
        at = parent_of(at);
    project.path = at.n > 1 ? at : real;
    if (stat_at(project.path, &st)) {
        project.dev = (uint64_t)st.st_dev;
        project.ino = (uint64_t)st.st_ino;
    }
    return project;
}

bool project_stands(const struct rule_project *project)
{
    struct stat st;
    return str_empty(project->path) || (stat_at(project->path, &st) && (uint64_t)st.st_dev == project->dev &&
                                        (uint64_t)st.st_ino == project->ino);
}

/* Both must be real paths. */
static bool within(struct str path, struct str folder)
{
    bool top = str_is(folder, "/");
    return str_eq(path, folder) || top || (str_starts(path, folder) && path.n > folder.n && path.p[folder.n] == '/');
}

bool project_has(const struct rule_project *project, struct str root)
{
    if (str_empty(project->path))
        return str_empty(root);
    return !str_empty(root) && within(root, project->path);
}

/* ---- in words and in events ---- */

/* Where the rule holds, in words for people. */
struct str project_words(struct arena *arena, struct str home, const struct rule_source *source)
{
    struct str path = source->project.path;
    if (source->reach != REACH_PROJECT)
        return STR_NONE;
    if (str_empty(path))
        return STR("in sessions without a folder");
    if (!str_empty(home) && !str_is(home, "/") && within(path, home))
        return arena_printf(arena, "in ~%.*s", STR_ARG(str_sub(path, home.n, path.n)));
    return arena_printf(arena, "in %.*s", STR_ARG(path));
}

void project_write(struct json_out *out, const struct rule_source *source)
{
    if (source->reach == REACH_UNSAID)
        return;
    json_member(out, "scope", source->reach == REACH_PROJECT ? STR("project") : STR("everywhere"));
    if (source->reach != REACH_PROJECT || str_empty(source->project.path))
        return;
    json_members(out, J_OBJECT("project", J("path", source->project.path), J("dev", source->project.dev),
                               J("ino", source->project.ino)));
}

/* {"scope","project"}: a project is a folder's path, or what project_write wrote. */
struct rc project_read(struct arena *arena, const struct json *object, struct rule_source *source, struct err *err)
{
    const struct json *project = json_get(object, "project");
    struct str scope = STR_NONE;
    int64_t dev = 0, ino = 0;
    TRY(json_want_str(object, "scope", LIMIT_ID_BYTES, &scope, err));
    if (str_is(scope, "everywhere"))
        source->reach = REACH_EVERYWHERE;
    else if (str_is(scope, "project") || project)
        source->reach = REACH_PROJECT;
    else if (!str_empty(scope))
        return err_set(err, ERR_INVALID, "\"scope\" of a rule must be project or everywhere");
    if (source->reach != REACH_PROJECT || !project)
        return RC_OK;
    if (project->type == JSON_STRING) {
        if (project->text.n == 0 || project->text.p[0] != '/' || project->text.n > LIMIT_PATH_BYTES)
            return err_set(err, ERR_INVALID, "\"project\" must be an absolute path");
        source->project = project_of(arena, project->text);
        if (!source->project.ino)
            return err_set(err, ERR_INVALID, "\"project\": there is no such folder");
        return RC_OK;
    }
    TRY(json_want_str(project, "path", LIMIT_PATH_BYTES, &source->project.path, err));
    TRY(json_want_i64(project, "dev", 0, INT64_MAX, &dev, err));
    TRY(json_want_i64(project, "ino", 0, INT64_MAX, &ino, err));
    source->project.path = arena_str(arena, source->project.path);
    source->project.dev = (uint64_t)dev;
    source->project.ino = (uint64_t)ino;
    return RC_OK;
}
