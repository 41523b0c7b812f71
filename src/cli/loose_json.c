/* JSON with comments, made strict without moving a byte (loose_json.h), so that edits can be applied to the
 * original. */
#include "cli/loose_json.h"

#include <stdint.h>

static size_t comment_end(struct str text, size_t at)
{
    bool line = text.p[at + 1] == '/';
    size_t end = at + 2;
    while (end < text.n && (line ? text.p[end] != '\n' : text.p[end - 1] != '*' || text.p[end] != '/' || end == at + 2))
        end++;
    return line || end == text.n ? end : end + 1;
}

/* Comments and trailing commas become blanks of the same length, so that offsets into the result are offsets into the
 * file. */
struct str loose_json_strip(struct arena *arena, struct str text)
{
    char *out = arena_bytes(arena, text.n + 1);
    size_t comma = SIZE_MAX;
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = out[i] = text.p[i];
        if (quoted && c == '\\' && i + 1 < text.n) {
            out[i + 1] = text.p[i + 1];
            i++;
        } else if (c == '"') {
            quoted = !quoted;
            comma = SIZE_MAX;
        } else if (!quoted && c == '/' && i + 1 < text.n && (text.p[i + 1] == '/' || text.p[i + 1] == '*')) {
            for (size_t end = comment_end(text, i); i < end; i++)
                out[i] = text.p[i] == '\n' ? '\n' : ' ';
            i--;
        } else if (!quoted && (c == '}' || c == ']') && comma != SIZE_MAX) {
            out[comma] = ' ';
            comma = SIZE_MAX;
        } else if (!quoted && !strchr(" \t\r\n", c)) {
            comma = c == ',' ? i : SIZE_MAX;
        }
    }
    out[text.n] = '\0';
    return (struct str){out, text.n};
}
