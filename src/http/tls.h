/* TLS for connections of the server. Private to http/; tls.c is the only file that knows OpenSSL's libssl.
 *
 * A session has no socket: it is fed what came, gives back what that said, and hands out sealed bytes. So a connection
 * over TLS keeps its queue, its limits and its watches; only the bytes in it are sealed ones.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include "base/err.h"
#include "base/str.h"

struct tls;         /* a certificate and its key, for all sessions that begin from now on */
struct tls_session;

/* PEM files. They are read anew when they have changed (tls_session_new); files that do not fit together then leave the
 * old certificate in force. */
struct rc tls_open(const char *cert_file, const char *key_file, struct tls **ret_tls, struct err *err);
void tls_close(struct tls *tls);
/* Calls `add` with each DNS name and address of the certificate, addresses of IPv6 in brackets. */
void tls_each_name(const struct tls *tls, void (*add)(void *arg, struct str name), void *arg);

/* `send` is given sealed bytes to send, from inside the calls below; false: they cannot be sent any more. */
struct tls_session *tls_session_new(struct tls *tls, bool (*send)(void *arg, struct str sealed), void *arg);
void tls_session_free(struct tls_session *session);

enum tls_state {
    TLS_SHAKING, /* the handshake is under way */
    TLS_OPEN,
    TLS_ENDED,   /* the client has said that it sends no more */
    TLS_BROKEN,  /* the input is not TLS, fails its checks, or is too long */
};
/* Takes bytes from the client, all of them. */
void tls_feed(struct tls_session *session, struct str sealed);
/* Decrypts the next piece of the bytes that were fed; empty: there is no more, and `*ret_state` says why. The result is
 * in a buffer that all sessions share, so it is valid until the next call. */
struct str tls_read(struct tls_session *session, enum tls_state *ret_state);
/* Encrypts the pieces into as few records as possible. */
bool tls_write(struct tls_session *session, const struct str *pieces, unsigned count);
/* Sends close_notify. */
void tls_end(struct tls_session *session);

#endif
