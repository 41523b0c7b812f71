/* The proxy's readers: what is called a target has a host that two readers take for the same, and nothing depends on
 * how many bytes have come beyond those that were read. The first byte chooses the reader. */
#include "base/limits.h"
#include "egress/target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_target(const struct egress_target *target)
{
    size_t n = strnlen(target->host, sizeof target->host);
    if (n == 0 || n == sizeof target->host || target->port == 0)
        abort();
    for (size_t i = 0; i < n; i++) {
        char c = target->host[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr("-_.", c)))
            abort();
    }
}

static void check_head(struct str bytes)
{
    struct egress_head head, again;
    if (egress_head_read(bytes, &head) != HEAD_DONE)
        return;
    check_target(&head.target);
    if (head.bytes > bytes.n || egress_head_read(str_sub(bytes, 0, head.bytes), &again) != HEAD_DONE ||
        strcmp(head.target.host, again.target.host) != 0)
        abort();
    BUF_SCOPE(buf, LIMIT_BODY_BYTES);
    if (head.speech == SPEECH_HTTP)
        egress_head_write(&buf, &head);
}

static void check_socks(struct str bytes)
{
    struct egress_target target;
    size_t n = 0;
    if (egress_socks_greeting(bytes, &n) == HEAD_DONE && n > bytes.n)
        abort();
    if (egress_socks_request(bytes, &n, &target) != HEAD_DONE)
        return;
    check_target(&target);
    if (n > bytes.n)
        abort();
}

static void check_hello(struct str bytes)
{
    static char whole[EGRESS_HELLO_BYTES_MAX];
    struct str name;
    if (egress_hello_read(bytes, whole, &name) == HEAD_DONE && (name.n == 0 || name.n > bytes.n))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(struct str bytes) = {check_head, check_socks, check_hello};
    if (size < 1)
        return 0;
    checks[data[0] % 3]((struct str){(const char *)data + 1, size - 1});
    return 0;
}
