/* Which addresses belong to the open network, and which to this machine or the networks around it. Pure; private
 * to http/. */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

#include "base/str.h"

#include <sys/socket.h>

/* The kind of an address, in words; NULL: a public address. An IPv6 address that contains an IPv4 one (mapped,
 * NAT64, 6to4) has the kind of the IPv4 address. */
const char *address_kind(const struct sockaddr *address);
/* The kind of a host that is written as an address in any form that resolvers take (127.1, 0x7f000001, [::1]), or
 * whose name means this machine; NULL for every other name. */
const char *address_kind_of_host(struct str host);

#endif
