/* TLS for connections (tls.h), by libssl, loaded when the first secure listener is opened. Sessions are fed and
 * drained through memory: no OpenSSL call touches a socket. Certificates are read again when their files
 * change. */
#include "http/tls.h"

#include "base/arena.h"
#include "base/library.h"
#include "base/log.h"
#include "io/clock.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    RECORD_BYTES = SSL3_RT_MAX_PLAIN_LENGTH,
    SHAKE_BYTES_MAX = 32 << 10,  /* a client's part of a handshake; without client certificates it is far less */
    HELLO_BYTES_MAX = 16 << 10,
    HELLO_START = 9,             /* record header, and the type and length of the first message */
    LOOK_EVERY_US = 1000000,     /* at the files */
};

/* ---- the library, when it is first needed: most processes of Nod speak no TLS ---- */

#define TLS_FUNCTIONS(X)                                                                                       \
    X(TLS_server_method) X(SSL_CTX_new) X(SSL_CTX_free) X(SSL_CTX_ctrl) X(SSL_CTX_set_options)                 \
    X(SSL_CTX_use_certificate_chain_file) X(SSL_CTX_use_PrivateKey_file) X(SSL_CTX_check_private_key)          \
    X(SSL_CTX_set_alpn_select_cb) X(SSL_CTX_get0_certificate) X(SSL_CTX_set_default_passwd_cb) X(SSL_new)      \
    X(SSL_free) X(SSL_set_bio) X(SSL_set_accept_state) X(SSL_read) X(SSL_write) X(SSL_shutdown)                \
    X(SSL_get_error) X(SSL_is_init_finished)

static struct {
    TLS_FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct rc load(struct err *err)
{
    static const struct library_function functions[] = {TLS_FUNCTIONS(LIBRARY_FUNCTION)};
    const char *missing = library_load("libssl.so.3", functions, LIBRARY_COUNT(functions));
    if (missing)
        return err_set(err, ERR_UNAVAILABLE, "TLS needs libssl.so.3 (%s is missing): install libssl3", missing);
    return RC_OK;
}

/* ---- the certificate ---- */

struct stamp { /* of a file: when it differs, the file was changed or replaced */
    struct timespec changed;
    ino_t inode;
    off_t bytes;
};

/* The certificate, shared by all sessions; replaced when its files change. */
struct tls {
    SSL_CTX *context;
    BIO_METHOD *method;
    const char *cert_file, *key_file;
    struct stamp cert, key;
    int64_t looked_us;
    char opened[RECORD_BYTES];
    char gathered[RECORD_BYTES];
};

static struct stamp stamp_of(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 ? (struct stamp){st.st_mtim, st.st_ino, st.st_size} : (struct stamp){0};
}

static bool same(const struct stamp *a, const struct stamp *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
           a->inode == b->inode && a->bytes == b->bytes;
}

/* OpenSSL's own words for what went wrong last. */
static const char *reason(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return words ? words : "no reason was given";
}

/* Chooses HTTP/1.1. Clients that offer only HTTP/2 are refused in the handshake, so that they get a clear error. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in,
                           unsigned in_n, void *arg)
{
    (void)ssl, (void)arg;
    for (unsigned at = 0; at < in_n && in[at] < in_n - at; at += in[at] + 1u) {
        *out = in + at + 1;
        *out_n = in[at];
        if (str_is((struct str){(const char *)*out, *out_n}, "http/1.1"))
            return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A server cannot be asked for a passphrase: a key that has one is refused. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
    (void)buf, (void)size, (void)writing, (void)arg;
    return -1;
}

static struct rc read_files(const struct tls *tls, SSL_CTX *context, struct err *err)
{
    if (lib.SSL_CTX_use_certificate_chain_file(context, tls->cert_file) != 1)
        return err_set(err, ERR_INVALID, "%s is not a certificate in PEM: %s", tls->cert_file, reason());
    if (lib.SSL_CTX_use_PrivateKey_file(context, tls->key_file, SSL_FILETYPE_PEM) != 1 ||
        lib.SSL_CTX_check_private_key(context) != 1)
        return err_set(err, ERR_INVALID, "%s is not the key of %s, in PEM and without a passphrase: %s", tls->key_file,
                       tls->cert_file, reason());
    return RC_OK;
}

/* TLS 1.2 at least; no renegotiation, no compression; tickets instead of a cache. */
static struct rc make_context(const struct tls *tls, SSL_CTX **ret_context, struct err *err)
{
    SSL_CTX *context = lib.SSL_CTX_new(lib.TLS_server_method());
    CHECK(context);
    lib.SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    lib.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    lib.SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    lib.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL); /* tickets do that */
    (void)lib.SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    lib.SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    struct rc rc = read_files(tls, context, err);
    if (rc_bad(rc))
        lib.SSL_CTX_free(context);
    else
        *ret_context = context;
    return rc;
}

/* The context of a new session: that of the files as they are now. Sessions that exist hold theirs. */
static void reload_if_changed(struct tls *tls)
{
    struct err err;
    SSL_CTX *context;
    int64_t now_us = clock_steady_us();
    if (now_us - tls->looked_us < LOOK_EVERY_US)
        return;
    tls->looked_us = now_us;
    struct stamp cert = stamp_of(tls->cert_file), key = stamp_of(tls->key_file);
    if (same(&cert, &tls->cert) && same(&key, &tls->key))
        return;
    tls->cert = cert;
    tls->key = key;
    if (rc_bad(make_context(tls, &context, &err))) {
        log_line(LOG_WARN, "the new certificate is not used, the old one stays", LOG_C("why", err.text));
        return;
    }
    lib.SSL_CTX_free(tls->context);
    tls->context = context;
    log_line(LOG_INFO, "the certificate was read anew", LOG_C("file", tls->cert_file));
}

/* The names that the certificate is for: a request's Host must be one of them or localhost. */
void tls_each_name(const struct tls *tls, void (*add)(void *arg, struct str name), void *arg)
{
    const X509 *x509 = lib.SSL_CTX_get0_certificate(tls->context);
    GENERAL_NAMES *names = X509_get_ext_d2i(x509, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        char text[INET6_ADDRSTRLEN], address[INET6_ADDRSTRLEN + 2];
        const ASN1_STRING *value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
        int n = name->type == GEN_DNS || name->type == GEN_IPADD ? ASN1_STRING_length(value) : 0;
        const unsigned char *bytes = n ? ASN1_STRING_get0_data(value) : NULL;
        if (name->type == GEN_DNS && n)
            add(arg, (struct str){(const char *)bytes, (size_t)n});
        else if ((n == 4 || n == 16) && inet_ntop(n == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text)) {
            (void)snprintf(address, sizeof address, n == 4 ? "%s" : "[%s]", text);
            add(arg, str_of(address));
        }
    }
    GENERAL_NAMES_free(names);
}

/* ---- one session ---- */

/* The TLS state of one connection. */
struct tls_session {
    SSL *ssl;
    struct tls *tls;
    bool (*send)(void *arg, struct str sealed);
    void *arg;
    struct str came;             /* lent, while it is fed and read */
    unsigned shaken;             /* bytes of the handshake that came */
    unsigned char hello[HELLO_START];
    bool refused;
};

/* OpenSSL reads from the bytes that libuv has brought, and is told to come again when there are none. */
static int bio_read(BIO *bio, char *to, int n_max)
{
    struct tls_session *session = BIO_get_data(bio);
    size_t n = session->came.n < (size_t)n_max ? session->came.n : (size_t)n_max;
    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, session->came.p, n);
    session->came = str_sub(session->came, n, session->came.n);
    return (int)n;
}

static int bio_write(BIO *bio, const char *bytes, int n)
{
    struct tls_session *session = BIO_get_data(bio);
    return session->send(session->arg, (struct str){bytes, (size_t)n}) ? n : -1;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "connection");
    CHECK(method && BIO_meth_set_read(method, bio_read) && BIO_meth_set_write(method, bio_write) &&
          BIO_meth_set_ctrl(method, bio_ctrl));
    return method;
}

/* The files' names must outlive it: the certificate is read again when its file changes. */
struct rc tls_open(const char *cert_file, const char *key_file, struct tls **ret_tls, struct err *err)
{
    TRY(load(err));
    struct tls *tls = heap_new(sizeof *tls);
    tls->cert_file = cert_file;
    tls->key_file = key_file;
    tls->cert = stamp_of(cert_file);
    tls->key = stamp_of(key_file);
    struct rc rc = make_context(tls, &tls->context, err);
    if (rc_bad(rc)) {
        free(tls);
        return rc;
    }
    tls->method = make_method();
    *ret_tls = tls;
    return RC_OK;
}

void tls_close(struct tls *tls)
{
    if (!tls)
        return;
    lib.SSL_CTX_free(tls->context);
    BIO_meth_free(tls->method);
    free(tls);
}

struct tls_session *tls_session_new(struct tls *tls, bool (*send)(void *arg, struct str sealed), void *arg)
{
    struct tls_session *session = heap_new(sizeof *session);
    reload_if_changed(tls);
    *session = (struct tls_session){.ssl = lib.SSL_new(tls->context), .tls = tls, .send = send, .arg = arg};
    BIO *bio = BIO_new(tls->method);
    CHECK(session->ssl && bio);
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    lib.SSL_set_bio(session->ssl, bio, bio);
    lib.SSL_set_accept_state(session->ssl);
    return session;
}

void tls_session_free(struct tls_session *session)
{
    if (!session)
        return;
    lib.SSL_free(session->ssl);
    free(session);
}

/* OpenSSL makes room for a first message of up to 128 KB as soon as its length was said; here the limit is lower. A
 * first record without that length is no client's either. */
static bool hello_fits(struct tls_session *session, struct str sealed)
{
    unsigned char *hello = session->hello;
    for (size_t i = 0; i < sealed.n && session->shaken + i < HELLO_START; i++)
        hello[session->shaken + i] = (unsigned char)sealed.p[i];
    if (session->shaken + sealed.n < HELLO_START)
        return true;
    return hello[0] == SSL3_RT_HANDSHAKE && (hello[3] << 8 | hello[4]) >= 4 &&
           (hello[6] << 16 | hello[7] << 8 | hello[8]) <= HELLO_BYTES_MAX;
}

void tls_feed(struct tls_session *session, struct str sealed)
{
    session->came = sealed;
    if (lib.SSL_is_init_finished(session->ssl))
        return;
    session->refused = session->refused || (session->shaken < HELLO_START && !hello_fits(session, sealed));
    session->shaken += (unsigned)sealed.n;
    session->refused = session->refused || session->shaken > SHAKE_BYTES_MAX;
}

/* The text lies in a buffer that all sessions share, until the next call of any of them: the loop is one thread. */
struct str tls_read(struct tls_session *session, enum tls_state *ret_state)
{
    struct tls *tls = session->tls;
    *ret_state = TLS_BROKEN;
    if (session->refused)
        return STR_NONE;
    ERR_clear_error();
    int n = lib.SSL_read(session->ssl, tls->opened, sizeof tls->opened);
    int why = n > 0 ? SSL_ERROR_NONE : lib.SSL_get_error(session->ssl, n);
    ERR_clear_error();
    if (why == SSL_ERROR_NONE || why == SSL_ERROR_WANT_READ)
        *ret_state = lib.SSL_is_init_finished(session->ssl) ? TLS_OPEN : TLS_SHAKING;
    else if (why == SSL_ERROR_ZERO_RETURN)
        *ret_state = TLS_ENDED;
    return n > 0 ? (struct str){tls->opened, (size_t)n} : STR_NONE;
}

static bool write_record(struct tls_session *session, const char *bytes, size_t n)
{
    ERR_clear_error();
    bool good = n == 0 || lib.SSL_write(session->ssl, bytes, (int)n) == (int)n;
    ERR_clear_error();
    return good;
}

/* Small pieces are gathered into one record: a head and a body would otherwise cost two. */
bool tls_write(struct tls_session *session, const struct str *pieces, unsigned count)
{
    struct tls *tls = session->tls;
    size_t gathered = 0;
    for (unsigned i = 0; i < count; i++) {
        for (struct str left = pieces[i]; left.n;) {
            size_t room = sizeof tls->gathered - gathered, n = left.n < room ? left.n : room;
            memcpy(tls->gathered + gathered, left.p, n);
            left = str_sub(left, n, left.n);
            gathered += n;
            if (gathered == sizeof tls->gathered) {
                if (!write_record(session, tls->gathered, gathered))
                    return false;
                gathered = 0;
            }
        }
    }
    return write_record(session, tls->gathered, gathered);
}

void tls_end(struct tls_session *session)
{
    ERR_clear_error();
    if (!session->refused && lib.SSL_is_init_finished(session->ssl))
        (void)lib.SSL_shutdown(session->ssl);
    ERR_clear_error();
}
