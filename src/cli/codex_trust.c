/* Codex runs only hooks that it was told to trust, and skips others silently. What a person does with /hooks in its
 * terminal is a line in config.toml: a digest of the hook, under a key of file, event and position.
 *
 * The digest is SHA-256 over the hook as sorted, compact JSON. It is no documented format: if Codex changes it, the
 * hook is not trusted, and `nod doctor` cannot tell; /hooks in Codex shows it. */
#include "cli/codex_trust.h"

#include "base/digest.h"
#include "base/json.h"
#include "io/file.h"

#include <stdlib.h>

enum { CONFIG_BYTES_MAX = 1 << 20 };

struct trusted {
    struct str key, hash;
};

static struct str hash_of(struct arena *arena, const struct json *group, const struct json *hook)
{
    BUF_SCOPE(buf, CONFIG_BYTES_MAX);
    struct json_out out = json_out(&buf);
    char hex[DIGEST_HEX_BYTES];
    const struct json *matcher = json_get(group, "matcher"), *timeout = json_get(hook, "timeout");
    json_open(&out, '{');
    json_member(&out, "event_name", STR("pre_tool_use"));
    json_key(&out, "hooks");
    json_open(&out, '[');
    json_open(&out, '{');
    json_member_bool(&out, "async", false);
    json_member(&out, "command", json_text(hook, "command"));
    json_member_raw(&out, "timeout", timeout ? timeout->raw : STR("600"));
    json_member(&out, "type", STR("command"));
    json_close(&out, '}');
    json_close(&out, ']');
    if (matcher)
        json_member_raw(&out, "matcher", matcher->raw);
    json_close(&out, '}');
    struct digest digest = digest_of(buf_str(&buf));
    digest_hex(&digest, hex);
    return arena_printf(arena, "sha256:%s", hex);
}

/* Our hook in the file, with its position; false when there is none. */
static bool find(struct arena *arena, const char *path, const struct json *settings, struct trusted *ret_trusted)
{
    const struct json *groups = json_get(json_get(settings, "hooks"), "PreToolUse");
    unsigned at = 0;
    char *real = realpath(path, NULL);
    struct str file = arena_str(arena, str_of(real ? real : path));
    free(real);
    for (const struct json *group = groups ? groups->first : NULL; group; group = group->next, at++) {
        const struct json *hooks = json_get(group, "hooks");
        const struct json *hook = hooks && hooks->count == 1 ? hooks->first : NULL;
        if (!hook || !str_has(json_text(hook, "command"), STR(" hook codex --wait")))
            continue;
        ret_trusted->key = arena_printf(arena, "%.*s:pre_tool_use:%u:0", STR_ARG(file), at);
        ret_trusted->hash = hash_of(arena, group, hook);
        return true;
    }
    return false;
}

const char *codex_config(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return arena_printf(arena, "%.*sconfig.toml", slash ? (int)(slash - path + 1) : 0, path).p;
}

static struct str read_config(struct arena *arena, const char *config)
{
    struct str text;
    return rc_ok(file_read(arena, config, CONFIG_BYTES_MAX, &text, NULL)) ? text : STR("");
}

/* Everything but sections about hooks of ours in this file. */
static void put_others(struct buf *buf, struct arena *arena, struct str text, const char *path)
{
    char *real = realpath(path, NULL);
    struct str mark = arena_printf(arena, "%s:pre_tool_use:", real ? real : path);
    bool skips = false;
    free(real);
    while (!str_empty(text)) {
        struct str line = str_cut(text, '\n', &text), plain = str_trim(line);
        if (str_starts(plain, STR("[")))
            skips = str_starts(plain, STR("[hooks.state.")) && str_has(plain, mark);
        if (skips)
            continue;
        buf_put(buf, line);
        buf_putc(buf, '\n');
    }
}

struct rc codex_trust(struct cli *cli, const char *path, const struct json *settings, struct err *err)
{
    BUF_SCOPE(buf, CONFIG_BYTES_MAX * 2);
    struct arena *arena = &cli->arena;
    const char *config = codex_config(arena, path);
    struct trusted trusted;
    struct str old = read_config(arena, config);
    put_others(&buf, arena, old, path);
    if (find(arena, path, settings, &trusted)) {
        struct json_out out = json_out(&buf);
        buf_puts(&buf, "[hooks.state.");
        json_put_str(&out, trusted.key); /* as a TOML string, too */
        buf_printf(&buf, "]\ntrusted_hash = \"%.*s\"\n", STR_ARG(trusted.hash));
    }
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "%s is too large", config);
    if (str_eq(old, buf_str(&buf)))
        return RC_OK;
    TRY(file_write_private(config, buf_str(&buf), err));
    cli_note("written: %s (Codex trusts this hook)", config);
    return RC_OK;
}

bool codex_trusts(struct cli *cli, const char *path, const struct json *settings)
{
    struct arena *arena = &cli->arena;
    struct trusted trusted;
    struct str text = read_config(arena, codex_config(arena, path));
    return find(arena, path, settings, &trusted) && str_has(text, trusted.key) && str_has(text, trusted.hash);
}
