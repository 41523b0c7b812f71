/* Writes a box as arguments of a command line, and reads them. The launcher gets the box this way because arguments
 * need no file format and ps shows them. */
#include "box/inner.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static char *word(struct arena *arena, const char *key, const char *value)
{
    return (char *)arena_printf(arena, "%s=%s", key, value).p;
}

static size_t list(struct arena *arena, const char *key, const char *const *paths, char **words)
{
    size_t n = 0;
    for (; paths[n]; n++)
        words[n] = word(arena, key, paths[n]);
    return n;
}

char **box_words(struct arena *arena, const struct box *box)
{
    char **words = arena_alloc(arena, (BOX_WORDS_MAX + 1) * sizeof *words);
    size_t n = 0;
    if (box->project)
        words[n++] = word(arena, box->project_read_only ? "project-read" : "project", box->project);
    words[n++] = (char *)arena_printf(arena, "dev=%llu", (unsigned long long)box->project_dev).p;
    words[n++] = (char *)arena_printf(arena, "ino=%llu", (unsigned long long)box->project_ino).p;
    words[n++] = word(arena, "home", box->home);
    words[n++] = word(arena, "locks", box->locks);
    if (box->home_from)
        words[n++] = word(arena, "home-from", box->home_from);
    if (box->keeps_streams)
        words[n++] = "streams=keep";
    if (box->git_open)
        words[n++] = "git=open";
    if (box->no_user_namespace)
        words[n++] = "user=host";
    if (box->proxy)
        words[n++] = "net=proxy";
    for (size_t i = 0; i < BOX_PORTS_MAX && box->ports[i]; i++)
        words[n++] = (char *)arena_printf(arena, "port=%u", box->ports[i]).p;
    n += list(arena, "hide", box->hidden, words + n);
    n += list(arena, "read", box->read, words + n);
    n += list(arena, "write", box->write, words + n);
    CHECK(n < BOX_WORDS_MAX);
    words[n++] = "--";
    words[n] = NULL;
    return words;
}

static bool add(const char **paths, const char *path)
{
    for (size_t i = 0; i < BOX_PATHS_MAX; i++) {
        if (!paths[i]) {
            paths[i] = path;
            return path[0] == '/';
        }
    }
    return false;
}

static bool add_port(struct box *box, const char *value)
{
    char *end;
    unsigned long port = strtoul(value, &end, 10);
    for (size_t i = 0; i < BOX_PORTS_MAX; i++) {
        if (!box->ports[i]) {
            box->ports[i] = (uint16_t)port;
            return *end == '\0' && port > 0 && port < 65536 && port != BOX_PROXY_PORT;
        }
    }
    return false;
}

static bool take(struct box *box, const char *key, const char *value)
{
    if (strcmp(key, "project") == 0 || strcmp(key, "project-read") == 0) {
        box->project = value;
        box->project_read_only = key[strlen("project")] != '\0';
    } else if (strcmp(key, "dev") == 0)
        box->project_dev = (dev_t)strtoull(value, NULL, 10);
    else if (strcmp(key, "ino") == 0)
        box->project_ino = (ino_t)strtoull(value, NULL, 10);
    else if (strcmp(key, "home") == 0)
        box->home = value;
    else if (strcmp(key, "home-from") == 0)
        box->home_from = value;
    else if (strcmp(key, "streams") == 0)
        box->keeps_streams = strcmp(value, "keep") == 0;
    else if (strcmp(key, "locks") == 0)
        box->locks = value;
    else if (strcmp(key, "git") == 0)
        box->git_open = strcmp(value, "open") == 0;
    else if (strcmp(key, "user") == 0)
        box->no_user_namespace = strcmp(value, "host") == 0;
    else if (strcmp(key, "net") == 0)
        box->proxy = strcmp(value, "proxy") == 0;
    else if (strcmp(key, "port") == 0)
        return add_port(box, value);
    else if (strcmp(key, "hide") == 0)
        return add(box->hidden, value);
    else if (strcmp(key, "read") == 0)
        return add(box->read, value);
    else if (strcmp(key, "write") == 0)
        return add(box->write, value);
    else
        return false;
    return true;
}

static bool is_whole(const struct box *box)
{
    return (box->project ? box->project[0] == '/' : box->home_from != NULL) && box->home && box->home[0] == '/' &&
           box->locks;
}

/* Returns the index behind `--`, 0 on any mistake. Changes the words in place. */
int box_read_words(int argc, char **argv, struct box *box)
{
    *box = (struct box){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return is_whole(box) ? i + 1 : 0;
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return 0;
        *equals = '\0';
        if (!take(box, argv[i], equals + 1))
            return 0;
    }
    return 0;
}
