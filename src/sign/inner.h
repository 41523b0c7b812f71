/* Kinds of signatures; between the files of this folder. */
#ifndef SIGN_INNER_H
#define SIGN_INNER_H

#include "sign/sign.h"

/* webauthn.c: an assertion of a browser (WebAuthn level 3, section 7.2). */
struct rc webauthn_check(const struct person_key *key, struct str text, const struct signature_claim *claim,
                         uint32_t *ret_counter, struct err *err);
/* sshsig.c: `ssh-keygen -Y sign -n nod@v1` with a key on a security key. */
struct rc sshsig_check(const struct person_key *key, struct str text, const struct signature_claim *claim,
                       uint32_t *ret_counter, struct err *err);

#endif
