/* An agent is one file in agents/known/, its line in AGENTS below, and its rows in event/tool_names.c.
 *
 * `nod hook`, `nod setup`, `nod doctor`, `nod acp`, `nod mcp install`, /api/hooks/:agent and completion read nothing
 * else about it. The files are pure: they translate, and say what is written where; cli/ does the writing.
 */
#ifndef AGENTS_AGENT_H
#define AGENTS_AGENT_H

#include "agents/agents.h"

#define AGENTS(X) \
    X(claude)     \
    X(codex)      \
    X(gemini)     \
    X(qwen)       \
    X(copilot)    \
    X(opencode)   \
    X(cline)      \
    X(cursor)

/* " claude codex …", for texts that are constants. */
#define AGENT_WORD(name) " " #name
#define AGENT_WORDS AGENTS(AGENT_WORD)

enum {
#define X(name) AGENT_NUMBER_##name,
    AGENTS(X)
#undef X
    AGENT_COUNT
};

/* One of the agent's events. */
struct agent_event {
    const char *name;
    enum hook_kind kind;
    int64_t unit; /* unit of its timeout: 1 for seconds, 1000 for milliseconds; 0: understood, but not installed */
};

/* Our hook, as it is written into the agent's settings. */
struct agent_entry {
    struct str command;       /* a line of the shell */
    struct str url;           /* a URL that the agent calls; empty: the hook is the command */
    int64_t timeout;          /* in the event's unit */
    bool waits;               /* a person may have to answer */
};

struct agent_hooks {
    const struct agent_event *events; /* ends with an entry without name; NULL: the agent has no hooks */
    const char *shell;                /* its tool that runs commands, used by the test call of nod setup */
    unsigned edits;                   /* HOOK_BIT of each kind whose answer may change the input */
    const char *nothing;              /* output that makes the agent go on as without a hook */
    /* NULL: as Claude Code does it. */
    struct rc (*read)(const struct agent *agent, const struct json *message, struct hook *ret_hook, struct err *err);
    void (*put)(struct buf *out, const struct hook *hook); /* a message as the agent would send it */
    void (*allow)(struct buf *out, const struct hook *hook, struct str edited, struct str words);
    void (*deny)(struct buf *out, const struct hook *hook, struct str words);
};
#define HOOK_BIT(kind) (1u << (kind))

/* Where hooks are set up. In a file that is ours as a whole, {command} stands for the command, {json} for the same as a
 * string of JSON, and a line holds " nod: {command}", by which it is found again. */
struct agent_place {
    const char *variable, *folder, *file; /* the folder is the value of $variable, else `folder` in the home folder */
    const char *blank;                    /* initial content of a new file; NULL: "{}" */
    const char *text; /* content of a file that is ours as a whole; NULL: it is JSON, and only "hooks" is ours */
    bool runs;                            /* the file must be executable */
    int64_t seconds; /* the agent's own timeout for an answer, where it ignores ours; 0: it uses ours */
    bool by_http;                         /* the agent can call a URL as a hook */
    void (*entry)(struct json_out *out, const struct agent_entry *entry); /* NULL: written as for Claude Code */
    /* The file beside the settings in which the agent records trusted hooks; NULL: it trusts its settings. `path` has
     * no links in it. The function writes the file's text with our hooks trusted; false: they are already. */
    const char *trust_file;
    bool (*trust)(struct arena *arena, struct buf *out, struct str old, const char *path, const struct json *settings);
    const char *words;                    /* a remark for the person */
};

/* One run of the agent with our hook, its settings unchanged. */
struct agent_run {
    struct str command;           /* of the hook */
    const char *file, *given;     /* a file that is ours; value of `once.variable` until now, NULL: none */
    /* Filled in by `once.put`: */
    const char *words[4];         /* before all others on its command line; NULL: no more */
    struct str text;              /* content of the file; empty: it is not needed */
    struct str value;             /* of `once.variable` */
};
struct agent_once {
    struct rc (*put)(struct arena *arena, struct agent_run *run, struct err *err); /* NULL: there is no such way */
    bool (*unhooks)(struct str word); /* whether a word of its command line could take the hook away again */
    const char *variable;             /* that is set for it */
    const char *unset;                /* a variable that would take the hook away; NULL: none */
    /* A variable that is 1 unless it is set, also over ACP: the repository's settings are not read. NULL: none. */
    const char *closes;
};

/* How the agent is made to ask about everything over ACP, and the modes it may be switched to. */
struct agent_acp {
    const char *const *programs;    /* names of its programs on a command line, without their endings */
    const char *const *more_args;   /* "{file}" stands for the file below */
    const char *variable, *value;   /* "{file}": the same */
    const char *file;               /* content of that file; NULL: none is needed */
    const char *file_name;          /* its name; agents skip files of other endings, and say nothing */
    const char *session_meta;       /* "_meta" of session/new; NULL: none */
    const char *const *safe_modes;
    bool missing_is_empty;          /* without an editor: a missing file is read as empty, since the agent fails else */
    const char *not_asked;          /* in words: what the agent does over ACP without asking anybody */
};

/* The agent in a box. A key of its model stays outside: the agent gets an address on its own loopback device. */
enum { AGENT_KEYS_MAX = 2 };
struct agent_boxed {
    struct agent_key {
        const char *key, *url;       /* names of variables; `key` of the second entry is set to a placeholder */
        const char *address;         /* the address to use when the variable `url` is not set */
        const char *header;          /* the header's name and what stands in front of the key */
    } keys[AGENT_KEYS_MAX];
    const char *const *variables;    /* that it gets as they are; a key among them can be read in the box */
    const char *const *files;        /* its settings, below the home folder */
    const char *credentials;         /* of a login, likewise; in the box only when there is no key */
};

/* Where the agent's settings name its MCP servers. */
struct agent_mcp {
    const char *file;   /* below the home folder; NULL: not known */
    const char *member; /* JSON: the member's name; TOML: the tables [member.NAME] */
};

/* All that Nod knows of an agent: one file in known/ each. */
struct agent {
    const char *name, *title;
    struct agent_hooks hooks;
    struct agent_place place;
    struct agent_once once;
    struct agent_acp acp;   /* programs NULL: the agent has no ACP mode that is known */
    struct agent_boxed boxed;
    struct agent_mcp mcp;
};
#define X(name) extern const struct agent agent_##name;
AGENTS(X)
#undef X

const struct agent *agent_at(size_t number);
/* NULL: no agent of this name, or none with hooks. */
const struct agent *agent_named(struct str name);
const struct agent *agent_with_hooks(struct str name);
size_t agent_number(const struct agent *agent);

/* ---- for the files in known/: Claude Code's way, which most have taken over ---- */
struct rc hook_read_plain(const struct agent *agent, const struct json *message, struct hook *ret_hook,
                          struct err *err);
void hook_allow_plain(struct buf *out, const struct hook *hook, struct str edited, struct str words);
void hook_say_before(struct buf *out, const char *decision, struct str words, struct str input);
void hook_say_permission(struct buf *out, const char *behavior, struct str words, struct str input);
/* {"matcher":"*","hooks":[{…}]}, with more members, as JSON with a comma before it, in the inner object. */
void agent_put_group(struct json_out *out, const struct agent_entry *entry, const char *more);

/* A text of `place` with the command filled in. ERR_INVALID: the command has line breaks. */
struct rc agent_put_text(struct buf *out, const char *text, struct str command, struct err *err);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
