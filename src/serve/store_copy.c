/* `nod store copy`: from one kind of store to another, without a server. */
#include "base/json.h"
#include "cli/cli.h"
#include "io/clock.h"
#include "store/store.h"

#include <stdio.h>
#include <unistd.h>

/* Called after each batch that was copied; prints at most once a second, on one line of a terminal. */
static void show(void *arg, uint64_t done, uint64_t all)
{
    int64_t *shown_us = arg, now_us = clock_steady_us();
    if (done < all && now_us - *shown_us < 1000000)
        return;
    *shown_us = now_us;
    (void)fprintf(stderr, "%s%llu of %llu events (%.0f %%)%s", isatty(STDERR_FILENO) ? "\r" : "",
                  (unsigned long long)done, (unsigned long long)all, 100.0 * (double)done / (double)all,
                  isatty(STDERR_FILENO) && done < all ? "" : "\n");
}

struct rc store_copy_command(struct cli *cli, struct err *err)
{
    int64_t shown_us = clock_steady_us();
    struct store_copying copying = {.from = cli->argv[0], .to = cli->argv[1], .progress = show, .arg = &shown_us};
    struct store_copied copied;
    char hex[DIGEST_HEX_BYTES];
    TRY(store_copy(&copying, &copied, err));
    digest_hex(&copied.digest, hex);
    if (!cli->json) {
        (void)printf("ok: %llu events in both (%llu were there already), %llu waiting for an answer, hash %s\n",
                     (unsigned long long)copied.check.events, (unsigned long long)copied.already,
                     (unsigned long long)copied.check.open, hex);
        return RC_OK;
    }
    JSON_SCOPE(buf, out, 4096);
    json_object(&out, J("events", copied.check.events), J("already", copied.already), J("open", copied.check.open),
                J("hash", hex));
    buf_putc(&buf, '\n');
    cli_out(buf_str(&buf));
    return RC_OK;
}
