/* The line reader, in pieces of every size, and what is made of each line. The pieces must not matter; nor must the
 * ceiling, for lines that are below it: the real one of 64 MiB, and a low one that inputs can reach. */
#include "agents/agent.h"
#include "agents/claude.h"
#include "agents/lines.h"
#include "agents/mcp.h"
#include "agents/questions.h"

#include <stdlib.h>

enum { CEILING_LOW = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is made of an agent's questions is JSON, whatever they are. */
static void answer_questions(struct arena *arena, struct str tool, const struct json *input)
{
    BUF_SCOPE(out, 1 << 20);
    static const struct str answers[] = {{"1, 2", 4}, {"yes", 3}, {"7", 1}};
    struct questions questions;
    const struct json *json;
    if (!questions_read(arena, tool, input, &questions))
        return;
    size_t count = questions.count < 3 ? questions.count : 3;
    if (rc_ok(questions_answer(&out, &questions, answers, count, NULL)) && !out.over)
        CHECK(rc_ok(json_parse(arena, arena_str(arena, buf_str(&out)), &json, NULL)));
}

/* Every reader that takes a line from outside; none may do more than fail. */
static void read_line(struct str line)
{
    ARENA_SCOPE(arena);
    BUF_SCOPE(out, 1 << 20);
    struct claude_message claude;
    struct mcp_message mcp;
    struct hook hook;
    const struct json *json;
    if (rc_ok(claude_read(&arena, line, &claude, NULL)) && claude.kind == CLAUDE_ASK) {
        struct call call = {.status = CALL_ALLOWED, .decision = DECISION_ALLOW_ALWAYS, .feedback = STR("a\nb")};
        claude_answer(&out, &claude, &call, true);
        CHECK(out.over || str_find(buf_str(&out), '\n') == out.n - 1);
        answer_questions(&arena, claude.tool, claude.input);
    }
    (void)claude_request_in(line);
    buf_clear(&out);
    if (rc_ok(mcp_read(&arena, line, &mcp, NULL)) && !mcp_needs_gate(&mcp))
        mcp_answer(&out, &mcp);
    if (rc_ok(json_parse(&arena, line, &json, NULL)))
        (void)!hook_read(&agent_gemini, json, &hook, NULL).code;
}

static unsigned read_all(const uint8_t *data, size_t size, size_t piece, size_t ceiling)
{
    struct lines lines = lines_init(ceiling);
    unsigned count = 0;
    for (bool more = true; more;) {
        size_t room;
        struct str line;
        char *to = lines_room(&lines, &room);
        if (!to)
            break;
        size_t n = size < piece ? size : piece;
        n = n < room ? n : room;
        if (n)
            memcpy(to, data, n);
        lines_add(&lines, n);
        data += n;
        size -= n;
        more = n > 0;
        while (lines_next(&lines, &line)) {
            CHECK(line.n <= ceiling && memchr(line.p ? line.p : "", '\n', line.n) == NULL);
            count++;
            if (piece == SIZE_MAX && ceiling == LINE_BYTES_MAX)
                read_line(line);
        }
    }
    unsigned result = lines.over ? UINT32_MAX : count;
    lines_done(&lines);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned whole = read_all(data, size, SIZE_MAX, LINE_BYTES_MAX);
    unsigned low = read_all(data, size, SIZE_MAX, CEILING_LOW);
    CHECK(whole != UINT32_MAX && (low == whole || low == UINT32_MAX));
    CHECK(size > CEILING_LOW || low == whole);
    CHECK(read_all(data, size, 1, LINE_BYTES_MAX) == whole && read_all(data, size, 1, CEILING_LOW) == low);
    CHECK(read_all(data, size, 7, LINE_BYTES_MAX) == whole && read_all(data, size, 7, CEILING_LOW) == low);
    return 0;
}
