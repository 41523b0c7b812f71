/* Streams of both providers, cut anywhere: whatever comes, an answer that is called whole can be kept and sent
 * back. The first byte chooses the provider and the size of the pieces. */
#include "http/event_lines.h"
#include "runtime/provider.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct feed {
    const struct provider *provider;
    struct answer answer;
    size_t said;
};

static void say(void *arg, struct str text) { ((struct feed *)arg)->said += text.n; }

static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    struct feed *feed = arg;
    (void)id;
    return feed->provider->take(&feed->answer, type, data);
}

static void check_answer(struct answer *answer)
{
    ARENA_SCOPE(arena);
    struct err err;
    const struct json *content;
    BUF_SCOPE(buf, LIMIT_ANSWER_BYTES);
    struct json_out out = json_out(&buf);
    if (rc_bad(answer_check(answer, &err)))
        return;
    answer_write(&out, answer);
    if (rc_bad(json_parse(&arena, buf_str(&buf), &content, &err)) || content->type != JSON_ARRAY)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct feed feed = {.provider = data[0] & 1 ? &provider_openai : &provider_anthropic};
    struct event_lines lines;
    struct err err;
    size_t step = (size_t)(data[0] >> 1) + 1;
    feed.answer.say = say;
    feed.answer.say_arg = &feed;
    event_lines_init(&lines);
    lines.event = on_event;
    lines.arg = &feed;
    for (size_t at = 1; at < size && !lines.stopped; at += step) {
        size_t n = size - at < step ? size - at : step;
        if (rc_bad(event_lines_feed(&lines, (struct str){(const char *)data + at, n}, &err)))
            break;
    }
    feed.answer.ended = feed.answer.ended || feed.answer.stop_reason.n > 0;
    check_answer(&feed.answer);
    event_lines_done(&lines);
    answer_done(&feed.answer);
    return 0;
}
