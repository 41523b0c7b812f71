/* The configuration file: what is taken can be shown, and what is shown means the same when it is taken again. */
#include "cli/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void remove_file(void) { (void)unlink(path); }

static char *environment(const char *name) { return strcmp(name, "HOME") == 0 ? "/home/ann" : NULL; }

static void write_file(const uint8_t *data, size_t size)
{
    if (!path[0]) {
        (void)snprintf(path, sizeof path, "/dev/shm/nod-fuzz-config.%d", (int)getpid());
        (void)atexit(remove_file);
    }
    FILE *file = fopen(path, "we");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void check_again(struct arena *arena, const struct settings *settings, enum setting_id id)
{
    struct settings again = settings_init(arena, environment);
    struct str shown = settings_show(settings, id);
    struct err err;
    if (settings->origins[id].kind != ORIGIN_FILE)
        return;
    if (rc_bad(settings_take(&again, id, shown, (struct origin){.kind = ORIGIN_FLAG}, &err)) ||
        !str_eq(settings_show(&again, id), shown))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ARENA_SCOPE(arena);
    struct settings settings = settings_init(&arena, environment);
    struct err err;
    write_file(data, size);
    if (rc_bad(settings_take(&settings, SETTING_ID_config, str_of(path), (struct origin){.kind = ORIGIN_FLAG}, &err)))
        abort();
    if (rc_bad(settings_load(&settings, &err)))
        return 0;
    for (int id = 0; id < SETTING_COUNT; id++)
        check_again(&arena, &settings, (enum setting_id)id);
    return 0;
}
