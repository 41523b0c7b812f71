/* A certificate authority of one's own, which can vouch for a few names and addresses only. The only file that knows
 * OpenSSL's part in it is certificate.c. */
#ifndef BASE_CERTIFICATE_H
#define BASE_CERTIFICATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { CERTIFICATE_NAMES_MAX = 16 };

/* Host names and addresses. */
struct certificate_names {
    struct str items[CERTIFICATE_NAMES_MAX];
    size_t count;
};
/* A name that is there already is not added again. ERR_INVALID when it is neither a host name nor an address. */
struct rc certificate_add_name(struct certificate_names *names, struct str name, struct err *err);

/* Both in PEM, in the arena of the call. */
struct certificate {
    struct str pem, key;
};

/* Makes an authority for these names only (critical name constraints): its key, if stolen, is useless for other sites.
 * */
struct rc certificate_make_authority(struct arena *arena, struct str title, const struct certificate_names *names,
                                     struct certificate *ret_authority, struct err *err);
/* The names that the certificates of an authority made here may contain. */
struct rc certificate_names_of(struct arena *arena, struct str authority_pem, struct certificate_names *ret_names,
                               struct err *err);
/* Makes a server's certificate for these names, valid for as long as browsers accept. */
struct rc certificate_make(struct arena *arena, const struct certificate *authority,
                           const struct certificate_names *names, struct certificate *ret_certificate, struct err *err);

#endif
