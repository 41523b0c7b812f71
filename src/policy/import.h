/* Between the readers of other programs' rules. */
#ifndef POLICY_IMPORT_H
#define POLICY_IMPORT_H

#include "base/json.h"
#include "policy/policy.h"

/* One import while it runs: the file's text, and the rules and remarks so far. */
struct importing {
    struct arena *arena;
    struct str text; /* text of the imported file */
    struct imported out;
    size_t rule_room, remark_room;
    const char *counted_to; /* lines up to here were counted; NULL: none */
    unsigned counted_lines;
};

/* The number of the line that contains `at`, a pointer into the text. */
unsigned import_line(struct importing *in, const char *at);
void import_remark(struct importing *in, unsigned line, struct str what, const char *words);
/* Adds a remark about a rule that is not imported, and counts a deny or ask as lost. */
void import_left_out(struct importing *in, enum effect effect, unsigned line, struct str what, const char *words);
/* Takes the rule in its canonical spelling; a malformed one becomes a remark. NULL then. */
struct rule_source *import_rule(struct importing *in, enum effect effect, struct str text, unsigned line);

struct rc import_claude_code(struct importing *in, struct err *err);
struct rc import_codex(struct importing *in, struct err *err);
struct rc import_opencode(struct importing *in, struct err *err);
struct rc import_gemini(struct importing *in, struct err *err);
/* Reads Codex' config.toml; import_codex calls it when the file is no .rules file. */
struct rc import_codex_config(struct importing *in, struct err *err);
/* JSON, with comments blanked out. */
struct rc import_parse_json(struct importing *in, const struct json **ret_root, struct err *err);

#endif
