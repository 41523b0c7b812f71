/* Codex with our hook in its command line instead of its settings. */
#ifndef AGENTS_CODEX_H
#define AGENTS_CODEX_H

#include "base/json.h"

enum { CODEX_FLAGS = 4 };

/* The words that make Codex run this command before every call, and trust it. ERR_INVALID: it cannot be written so. */
struct rc codex_flags(struct arena *arena, struct str command, const char *ret_words[CODEX_FLAGS], struct err *err);
/* Whether a word of Codex's command line could take the hook away again. */
bool codex_unhooks(struct str word);

#endif
