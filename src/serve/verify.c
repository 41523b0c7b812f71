/* `nod verify`: the hash chains, recomputed from the kept bytes, beside a running server or without one. */
#include "base/json.h"
#include "cli/cli.h"
#include "store/store.h"

#include <stdio.h>

static void print_json(const struct store_check *check)
{
    BUF_SCOPE(buf, 4096);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_member_bool(&out, "ok", check->bad_seq == 0 && check->why[0] == '\0');
    json_member_u64(&out, "events", check->events);
    json_member_u64(&out, "sessions", check->sessions);
    json_member_u64(&out, "open", check->open);
    if (check->bad_seq)
        json_member_u64(&out, "badSeq", check->bad_seq);
    json_member(&out, "why", str_of(check->why));
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    cli_out(buf_str(&buf));
}

struct rc verify_command(struct cli *cli, struct err *err)
{
    struct store_check check = {0};
    TRY(store_verify(cli->settings.store, &check, err));
    bool bad = check.bad_seq != 0 || check.why[0] != '\0';
    cli->status = bad ? 1 : 0;
    if (cli->json)
        print_json(&check);
    else if (bad)
        (void)printf("bad: event %llu: %s\n", (unsigned long long)check.bad_seq, check.why);
    else
        (void)printf("ok: %llu events in %llu sessions, %llu waiting for an answer\n",
                     (unsigned long long)check.events, (unsigned long long)check.sessions,
                     (unsigned long long)check.open);
    return RC_OK;
}
