/* Words of people from elsewhere: another prompt, stop, another permission mode; on the page, with `nod session`, or
 * together with a decision. It comes as events of the session, of which only those count that people made. */
#include "cli/claude.h"

#include "base/id.h"
#include "base/limits.h"
#include "cli/follow.h"
#include "http/http.h"

#include <unistd.h>

enum { AGAIN_US = 500000, PROMPT_BYTES_MAX = 4 << 20 };

static void pass_prompt(struct claude_follower *follower, const struct json *data)
{
    BUF_SCOPE(line, PROMPT_BYTES_MAX);
    struct str text = json_text(data, "text");
    if (str_empty(text))
        return;
    claude_prompt(&line, text);
    atomic_fetch_add(follower->prompts, 1);
    (void)relay_pipe_send(follower->pipe, &line);
}

static void pass_stop(struct claude_follower *follower, const struct json *data)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    if (!str_is(json_text(data, "status"), "interrupting"))
        return;
    claude_interrupt(&line, str_of(id_new("int").text));
    (void)relay_pipe_send(follower->pipe, &line);
}

static void pass_mode(struct claude_follower *follower, const struct json *data)
{
    BUF_SCOPE(line, LIMIT_BODY_BYTES);
    struct str mode = json_text(data, "permissionMode");
    if (str_empty(mode) || !str_is(json_text(data, "change"), "settings"))
        return;
    claude_set_mode(&line, str_of(id_new("mode").text), mode);
    (void)relay_pipe_send(follower->pipe, &line);
}

/* Only events that a person made count: an agent must not prompt itself. */
static bool take_event(void *arg, struct str id, struct str type, struct str data)
{
    struct claude_follower *follower = arg;
    ARENA_SCOPE(arena);
    const struct json *event = NULL;
    uint64_t seq;
    if (rc_bad(json_parse(&arena, data, &event, NULL)))
        return true;
    const struct json *told = json_get(event, "data");
    bool by_a_person = str_is(json_text(told, "source"), "person");
    if (str_is(type, "SESSION_CHANGED"))
        pass_mode(follower, told);
    else if (by_a_person && str_is(type, "USER_MESSAGE"))
        pass_prompt(follower, told);
    else if (by_a_person && str_is(type, "RUN_STATUS"))
        pass_stop(follower, told);
    if (str_to_u64(id, &seq))
        follower->after = seq;
    return true;
}

/* The thread's whole life. A stream that ends is opened again behind the last event; the process ends without joining
 * it. */
static void *follow_events(void *arg)
{
    struct claude_follower *follower = arg;
    for (;;) {
        ARENA_SCOPE(arena);
        struct str target =
            arena_printf(&arena, "/api/events?session=%.*s&after=%llu&types=USER_MESSAGE,RUN_STATUS,SESSION_CHANGED",
                         STR_ARG(follower->session), (unsigned long long)follower->after);
        (void)!http_client_stream(follower->client, target, take_event, follower, NULL).code;
        (void)usleep(AGAIN_US);
    }
    return NULL;
}

struct rc claude_follow_start(struct claude_follower *follower, struct cli *cli, struct err *err)
{
    struct follow follow = {.cli = cli};
    follow.scope = arena_printf(&cli->arena, "&session=%.*s", STR_ARG(follower->session));
    TRY(follow_last(&follow, &follower->after, err));
    TRY(remote_client(cli, &follower->client, err));
    return cli_start_thread(follow_events, follower, err);
}
