/* Which addresses are not public: loopback, private, link-local, reserved, and IPv4 addresses inside IPv6 ones.
 * Used where Nod connects to an address that somebody else chose (WebFetch, redirects, the proxy of a box,
 * webhooks). */
#include "http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* The special-purpose registries of IANA, and one address of a cloud's own services that lies outside of them. */
static const struct range4 {
    uint32_t address;
    unsigned bits;
    const char *kind;
} ranges4[] = {
    {0x00000000, 8, "an address of this machine"},
    {0x0a000000, 8, "an address of a private network"},
    {0x64400000, 10, "an address of a private network"},     /* 100.64: carrier-grade NAT */
    {0x7f000000, 8, "an address of this machine"},
    {0xa83f8110, 32, "an address of a cloud's own services"}, /* 168.63.129.16 */
    {0xa9fe0000, 16, "a link-local address"},                 /* 169.254: also clouds' metadata */
    {0xac100000, 12, "an address of a private network"},
    {0xc0000000, 24, "a reserved address"},
    {0xc0000200, 24, "a reserved address"},
    {0xc0586300, 24, "a reserved address"},
    {0xc0a80000, 16, "an address of a private network"},
    {0xc6120000, 15, "a reserved address"},
    {0xc6336400, 24, "a reserved address"},
    {0xcb007100, 24, "a reserved address"},
    {0xe0000000, 4, "a multicast address"},
    {0xf0000000, 4, "a reserved address"},
};

static const struct range6 {
    unsigned char prefix[16];
    unsigned bits;
    const char *kind;
} ranges6[] = {
    {{0}, 127, "an address of this machine"},                 /* :: and ::1 */
    {{0xfc}, 7, "an address of a private network"},
    {{0xfe, 0x80}, 10, "a link-local address"},
    {{0xff}, 8, "a multicast address"},
    {{0x20, 0x01, 0x00}, 23, "a reserved address"},           /* Teredo and other protocols */
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "a reserved address"},
    {{0x3f, 0xff, 0x00}, 20, "a reserved address"},
};

/* Where an IPv6 address of this prefix holds an IPv4 one. */
static const struct inner4 {
    unsigned char prefix[16];
    unsigned bits, at;
} inner4[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12}, /* mapped */
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},                   /* NAT64 */
    {{0x20, 0x02}, 16, 2},                                /* 6to4 */
};

static bool has_prefix(const unsigned char *address, const unsigned char *prefix, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    unsigned char mask = (unsigned char)(0xff00 >> rest);
    return memcmp(address, prefix, whole) == 0 &&
           (rest == 0 || (address[whole] & mask) == (prefix[whole] & mask));
}

static const char *kind4(uint32_t address)
{
    for (size_t i = 0; i < sizeof ranges4 / sizeof *ranges4; i++) {
        uint32_t mask = (uint32_t)(0xffffffffULL << (32 - ranges4[i].bits));
        if ((address & mask) == ranges4[i].address)
            return ranges4[i].kind;
    }
    return NULL;
}

/* IPv4 addresses that are embedded in IPv6 (mapped, NAT64, 6to4) are judged as IPv4. Only 2000::/3 is public. */
static const char *kind6(const unsigned char *bytes)
{
    static const unsigned char global[16] = {0x20};
    for (size_t i = 0; i < sizeof inner4 / sizeof *inner4; i++) {
        const unsigned char *p = bytes + inner4[i].at;
        if (has_prefix(bytes, inner4[i].prefix, inner4[i].bits))
            return kind4((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
    }
    for (size_t i = 0; i < sizeof ranges6 / sizeof *ranges6; i++)
        if (has_prefix(bytes, ranges6[i].prefix, ranges6[i].bits))
            return ranges6[i].kind;
    return has_prefix(bytes, global, 3) ? NULL : "a reserved address";
}

const char *address_kind(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return kind4(ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr));
    if (address->sa_family == AF_INET6)
        return kind6(((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return "no address of a network";
}

/* The kind of an address, from its text alone, in every form that inet_aton reads (0x7f.1, 2130706433); NULL also for
 * names, which must be looked up. */
const char *address_kind_of_host(struct str host)
{
    char text[INET6_ADDRSTRLEN + 1];
    struct in_addr v4;
    struct in6_addr v6;
    if (host.n && host.p[host.n - 1] == '.')
        host.n--;
    if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = str_sub(host, 1, host.n - 1);
    if (str_same_letters(host, STR("localhost")) ||
        (host.n > 10 && str_same_letters(str_sub(host, host.n - 10, host.n), STR(".localhost"))))
        return ranges4[0].kind;
    if (!str_c(host, text, sizeof text))
        return NULL;
    if (inet_aton(text, &v4))
        return kind4(ntohl(v4.s_addr));
    return inet_pton(AF_INET6, text, &v6) == 1 ? kind6(v6.s6_addr) : NULL;
}
