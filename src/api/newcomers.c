/* Tokens that this node does not know. On a store that several nodes share, one may have been made at another node a
 * moment ago: the node reads the newest events once before it answers 401. One read at a time serves all requests that
 * wait, and a token that was not found is not looked for again for a while. */
#include "api/exchange.h"

#include "io/clock.h"

enum { VAIN_US = 2000000, SMALL_BODY_BYTES = 64 << 10 };

/* A digest, so that no secret that was tried stays in memory. */
static struct digest credential(const struct exchange *x)
{
    const struct str pieces[] = {http_header(x->http, "authorization"), http_header(x->http, "cookie"),
                                 http_header(x->http, "nod-key")};
    return digest_of_pieces(pieces, sizeof pieces / sizeof *pieces);
}

/* Whether the credential that was refused may belong to a token that another node has made. */
static bool may_be_new(const struct exchange *x)
{
    int64_t now_us = clock_steady_us();
    if (!gate_is_shared(x->gate) ||
        (!http_header(x->http, "authorization").p && !http_header(x->http, "cookie").p))
        return false;
    struct digest digest = credential(x);
    for (size_t i = 0; i < STRANGERS_MAX; i++) {
        const struct stranger *known = &x->api->strangers[i];
        if (now_us < known->until_us && digest_eq(&known->digest, &digest))
            return false;
    }
    return true;
}

static void remember(struct exchange *x)
{
    struct api *api = x->api;
    struct stranger *stranger = &api->strangers[api->strangers_at++ % STRANGERS_MAX];
    *stranger = (struct stranger){credential(x), clock_steady_us() + VAIN_US};
}

/* A request that is held until this node has read the newest events. Lives in the exchange's arena. */
struct newcomer {
    struct exchange *x;
    struct op op;
    void (*then)(struct exchange *x);
};

static void caught_up(struct op *op)
{
    struct newcomer *newcomer = op->owner;
    struct exchange *x = newcomer->x;
    struct err ignored;
    if (op->err) {
        exchange_fail(x, op->err);
        return;
    }
    if (rc_bad(auth_identify(x, &ignored)))
        remember(x);
    newcomer->then(x);
}

bool newcomer_wait(struct exchange *x, void (*then)(struct exchange *x))
{
    if (!may_be_new(x))
        return false;
    struct newcomer *newcomer = arena_new(x->arena, struct newcomer);
    *newcomer = (struct newcomer){.x = x, .then = then, .op = gate_op(x->arena, caught_up, newcomer)};
    gate_catch_up(x->gate, &newcomer->op);
    return true;
}

/* Whether a request with a token that this node does not know yet may send its body: only a small one. */
bool newcomer_may_send(const struct exchange *x)
{
    uint64_t bytes;
    return str_to_u64(http_header(x->http, "content-length"), &bytes) && bytes <= SMALL_BODY_BYTES && may_be_new(x);
}
