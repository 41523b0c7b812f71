/* Codex. Claude Code's names, but PreToolUse knows only deny, or allow together with another input, and any member that
 * it does not expect voids the answer; an empty one is an allow: it goes on, or asks at its own prompt.
 *
 * It runs only hooks that it was told to trust, and skips others silently. The choice that a person makes with
 * /hooks in its terminal is a line in config.toml: a digest of the hook, under a key of file, event and position.
 * The digest is SHA-256 over the hook as sorted, compact JSON. The format is not documented: if Codex changes it, the
 * hook is not trusted, and `nod doctor` cannot tell; /hooks in Codex shows it.
 */
#include "agents/agent.h"

#include "base/digest.h"

enum { HOOK_BYTES_MAX = 64 << 10, PERSON_S = 86400 };

static void allow(struct buf *out, const struct hook *hook, struct str edited, struct str words)
{
    (void)words;
    if (hook->kind == HOOK_PERMISSION)
        hook_say_permission(out, "allow", STR_NONE, STR_NONE);
    else if (!str_empty(edited))
        hook_say_before(out, "allow", STR_NONE, edited);
}

static struct str hash_of(struct arena *arena, const struct json *group, const struct json *hook)
{
    JSON_SCOPE(buf, out, HOOK_BYTES_MAX);
    char hex[DIGEST_HEX_BYTES];
    const struct json *matcher = json_get(group, "matcher"), *timeout = json_get(hook, "timeout");
    json_object(&out, J("event_name", "pre_tool_use"),
                J_LIST("hooks", J_OBJECT(NULL, J_BOOL("async", false), J("command", json_text(hook, "command")),
                                         J_RAW("timeout", timeout ? timeout->raw : STR("600")),
                                         J("type", "command"))),
                J_IF(matcher, J_RAW("matcher", matcher->raw)));
    struct digest digest = digest_of(buf_str(&buf));
    digest_hex(&digest, hex);
    return buf.over ? STR_NONE : arena_printf(arena, "sha256:%s", hex);
}

/* The section that trusts our hook in the file; empty when the hook is not there. */
static struct str section_of(struct arena *arena, const char *path, const struct json *settings)
{
    unsigned at = 0;
    const struct json *group = json_first(json_get(settings, "hooks"), "PreToolUse");
    for (; group; group = group->next, at++) {
        const struct json *hooks = json_get(group, "hooks");
        const struct json *hook = hooks && hooks->count == 1 ? hooks->first : NULL;
        if (!hook || !str_has(json_text(hook, "command"), STR(" hook codex --wait")))
            continue;
        JSON_SCOPE(buf, out, HOOK_BYTES_MAX);
        buf_puts(&buf, "[hooks.state.");
        json_put_str(&out, arena_printf(arena, "%s:pre_tool_use:%u:0", path, at)); /* valid as TOML, too */
        buf_printf(&buf, "]\ntrusted_hash = \"%.*s\"\n", STR_ARG(hash_of(arena, group, hook)));
        return arena_str(arena, buf_str(&buf));
    }
    return STR_NONE;
}

/* Copies the text without the sections about our own hooks in this file. */
static void put_others(struct buf *buf, struct str text, struct str mark)
{
    bool skips = false;
    while (!str_empty(text)) {
        struct str line = str_cut(text, '\n', &text), plain = str_trim(line);
        if (str_starts(plain, STR("[")))
            skips = str_starts(plain, STR("[hooks.state.")) && str_has(plain, mark);
        if (skips)
            continue;
        BUF_ADD(buf, line, STR("\n"));
    }
}

static bool trust(struct arena *arena, struct buf *out, struct str old, const char *path, const struct json *settings)
{
    struct str section = section_of(arena, path, settings);
    if (!str_empty(section) && str_has(old, section))
        return false;
    put_others(out, old, arena_printf(arena, "%s:pre_tool_use:", path));
    buf_put(out, section);
    return !str_eq(old, buf_str(out));
}

/* ---- hooks on Codex' command line ---- */

static struct rc put_flags(struct arena *arena, struct agent_run *run, struct err *err)
{
    struct str command = run->command;
    BUF_SCOPE(text, HOOK_BYTES_MAX);
    BUF_SCOPE(quoted, HOOK_BYTES_MAX);
    struct json_out out = json_out(&text), word = json_out(&quoted);
    struct agent_entry entry = {.command = command, .timeout = PERSON_S, .waits = true};
    const struct json *group;
    agent_put_group(&out, &entry, "");
    json_put_str(&word, command); /* the JSON form is also a valid TOML string */
    if (text.over || quoted.over)
        return err_set(err, ERR_TOO_LARGE, "the hook's command is too long");
    TRY(json_parse(arena, arena_str(arena, buf_str(&text)), &group, err));
    struct str hash = hash_of(arena, group, json_get(group, "hooks")->first);
    run->words[0] = run->words[2] = "-c";
    run->words[1] = arena_printf(arena, "hooks.PreToolUse=[{matcher=\"*\",hooks=[{type=\"command\",command=%s,"
                                       "timeout=%d}]}]", buf_c(&quoted), PERSON_S).p;
    run->words[3] = arena_printf(arena, "hooks.state={\"/<session-flags>/config.toml:pre_tool_use:0:0\"="
                                       "{trusted_hash=\"%.*s\"}}", STR_ARG(hash)).p;
    return RC_OK;
}

/* Options that name hooks, as a feature or as settings; a prompt that mentions hooks does not count. */
static bool unhooks(struct str word)
{
    static const char *const starts[] = {"hooks", "features.hooks", "features.codex_hooks", "features={",
                                         "--disable=", "codex_hooks", "--ignore-user-config"};
    struct str value = str_starts(word, STR("--config=")) ? str_sub(word, strlen("--config="), word.n)
                       : str_starts(word, STR("-c"))      ? str_sub(word, strlen("-c"), word.n)
                                                          : word;
    return ANY(size_t i = 0; i < sizeof starts / sizeof *starts; i++,
               str_starts(value, str_of(starts[i])) && str_find(value, ' ') == value.n);
}

static const struct agent_event events[] = {
    {"PreToolUse", HOOK_BEFORE, 1}, {"PermissionRequest", HOOK_PERMISSION, 0}, {NULL, HOOK_OTHER, 0}};

const struct agent agent_codex = {
    .name = "codex",
    .title = "Codex",
    .hooks = {.events = events, .shell = "Bash", .edits = HOOK_BIT(HOOK_BEFORE), .nothing = "", .allow = allow},
    .place = {.variable = "CODEX_HOME", .folder = ".codex", .file = "hooks.json", .trust_file = "config.toml",
              .trust = trust,
              .words = "Codex skips hooks that it was not told to trust, silently: this one is written down as trusted "
                       "in config.toml (/hooks in Codex shows it). A hook that cannot be started lets the call run."},
    .once = {.put = put_flags, .unhooks = unhooks},
    .acp = {.programs = WORDS("codex-acp"), .variable = "INITIAL_AGENT_MODE", .value = "read-only",
            .safe_modes = WORDS("read-only"),
            .not_asked = "commands that read: install its hook, too (nod hook install codex); MCP servers in settings "
                         "of the folder"},
    .boxed = {.keys = {{"OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com", "authorization: Bearer "}},
              .files = WORDS(".codex/config.toml"), .credentials = ".codex/auth.json"},
    .mcp = {".codex/config.toml", "mcp_servers"},
};
