/* That Codex runs our hook; see codex_trust.c. */
#ifndef CLI_CODEX_TRUST_H
#define CLI_CODEX_TRUST_H

#include "base/json.h"
#include "cli/cli.h"

/* Brings config.toml beside the hooks' file in line with it: our hook is trusted as it stands there, or gone. */
struct rc codex_trust(struct cli *cli, const char *path, const struct json *settings, struct err *err);
/* That config.toml. */
const char *codex_config(struct arena *arena, const char *path);
bool codex_trusts(struct cli *cli, const char *path, const struct json *settings);

#endif
