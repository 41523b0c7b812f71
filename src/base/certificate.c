/* Certificates: an authority that may only sign the names given to it (name constraints), and certificates by
 * it. From OpenSSL. */
#include "base/certificate.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

enum { AUTHORITY_DAYS = 3650, SERVER_DAYS = 397, DAY_S = 86400, SERIAL_BYTES = 16, NAME_BYTES_MAX = 253,
       TEXT_BYTES_MAX = 8192 };

/* ---- names ---- */

/* Parses an IP address; the number of its bytes is 4 or 16, 0: `name` is not an address. */
static int address_bytes(struct str name, unsigned char ret_bytes[16])
{
    char text[INET6_ADDRSTRLEN];
    if (!str_c(name, text, sizeof text))
        return 0;
    if (inet_pton(AF_INET, text, ret_bytes) == 1)
        return 4;
    return inet_pton(AF_INET6, text, ret_bytes) == 1 ? 16 : 0;
}

/* Whether the name has only letters that are safe in OpenSSL's configuration syntax for extensions. */
static bool is_host_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (!letter && (c != '.' || i == 0 || name.p[i - 1] == '.'))
            return false;
    }
    return name.n > 0 && name.n <= NAME_BYTES_MAX;
}

struct rc certificate_add_name(struct certificate_names *names, struct str name, struct err *err)
{
    unsigned char bytes[16];
    if (!address_bytes(name, bytes) && !is_host_name(name))
        return err_set(err, ERR_INVALID, "\"%.*s\" is neither a host name nor an address", STR_ARG(name));
    for (size_t i = 0; i < names->count; i++)
        if (str_same_letters(names->items[i], name))
            return RC_OK;
    if (names->count == CERTIFICATE_NAMES_MAX)
        return err_set(err, ERR_INVALID, "a certificate has at most %d names", CERTIFICATE_NAMES_MAX);
    names->items[names->count++] = name;
    return RC_OK;
}

/* "DNS:a,IP:1.2.3.4", or with constraints "permitted;DNS:a,permitted;IP:1.2.3.4/255.255.255.255". */
static struct str list_names(struct arena *arena, const struct certificate_names *names, bool constraints)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    for (size_t i = 0; i < names->count; i++) {
        unsigned char bytes[16];
        int n = address_bytes(names->items[i], bytes);
        buf_puts(&buf, i ? "," : constraints ? "critical," : "");
        buf_puts(&buf, constraints ? "permitted;" : "");
        buf_puts(&buf, n ? "IP:" : "DNS:");
        buf_put(&buf, names->items[i]);
        if (n && constraints)
            buf_puts(&buf, n == 4 ? "/255.255.255.255" : "/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    }
    CHECK(!buf.over);
    return arena_str(arena, buf_str(&buf));
}

/* The names that the authority is limited to. */
struct rc certificate_names_of(struct arena *arena, struct str authority_pem, struct certificate_names *ret_names,
                               struct err *err)
{
    BIO *bio = BIO_new_mem_buf(authority_pem.p, (int)authority_pem.n);
    X509 *x509 = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    NAME_CONSTRAINTS *constraints = x509 ? X509_get_ext_d2i(x509, NID_name_constraints, NULL, NULL) : NULL;
    int count = constraints ? sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees) : 0;
    struct rc rc = count > 0 ? RC_OK : err_set(err, ERR_INVALID, "this is not an authority that Nod has made");
    for (int i = 0; rc_ok(rc) && i < count; i++) {
        const GENERAL_NAME *name = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
        const ASN1_STRING *value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
        const char *bytes = (const char *)ASN1_STRING_get0_data(value);
        int n = ASN1_STRING_length(value); /* 8 or 32: an address and its mask */
        char text[INET6_ADDRSTRLEN] = "";
        if (name->type == GEN_IPADD && (n == 8 || n == 32))
            (void)inet_ntop(n == 8 ? AF_INET : AF_INET6, bytes, text, sizeof text);
        struct str item = name->type == GEN_DNS ? (struct str){bytes, (size_t)n} : str_of(text);
        rc = certificate_add_name(ret_names, arena_str(arena, item), err);
    }
    NAME_CONSTRAINTS_free(constraints);
    X509_free(x509);
    BIO_free(bio);
    ERR_clear_error();
    return rc;
}

/* ---- making ---- */

static struct str taken_from(struct arena *arena, BIO *bio)
{
    char *bytes;
    long n = BIO_get_mem_data(bio, &bytes);
    return arena_str(arena, (struct str){bytes, (size_t)n});
}

static struct certificate write_pem(struct arena *arena, X509 *x509, EVP_PKEY *key)
{
    struct certificate made;
    BIO *bio = BIO_new(BIO_s_mem());
    CHECK(bio && PEM_write_bio_X509(bio, x509) == 1);
    made.pem = taken_from(arena, bio);
    CHECK(BIO_reset(bio) == 1 && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
    made.key = taken_from(arena, bio);
    BIO_free(bio);
    return made;
}

static void add_extension(X509 *x509, X509V3_CTX *context, int kind, struct str value)
{
    char text[TEXT_BYTES_MAX];
    CHECK(str_c(value, text, sizeof text));
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, kind, text);
    CHECK(extension && X509_add_ext(x509, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *begin(EVP_PKEY *key, struct str title, int days)
{
    X509 *x509 = X509_new();
    unsigned char serial[SERIAL_BYTES];
    CHECK(x509 && RAND_bytes(serial, sizeof serial) == 1);
    serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and of full length */
    BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
    CHECK(number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) && X509_set_version(x509, X509_VERSION_3));
    BN_free(number);
    /* A day back: clocks of phones differ. */
    CHECK(X509_gmtime_adj(X509_getm_notBefore(x509), -DAY_S) &&
          X509_gmtime_adj(X509_getm_notAfter(x509), (long)(days - 1) * DAY_S) && X509_set_pubkey(x509, key) == 1);
    CHECK(X509_NAME_add_entry_by_NID(X509_get_subject_name(x509), NID_commonName, MBSTRING_UTF8,
                                     (const unsigned char *)title.p, (int)title.n, -1, 0) == 1);
    return x509;
}

/* Its constraints name the only hosts that it may sign for; a device that trusts it trusts it for those alone. */
struct rc certificate_make_authority(struct arena *arena, struct str title, const struct certificate_names *names,
                                     struct certificate *ret_authority, struct err *err)
{
    X509V3_CTX context;
    CHECK(names->count);
    if (title.n == 0 || title.n > 64)
        return err_set(err, ERR_INVALID, "the title of an authority has 1 to 64 bytes");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    CHECK(key);
    X509 *x509 = begin(key, title, AUTHORITY_DAYS);
    CHECK(X509_set_issuer_name(x509, X509_get_subject_name(x509)) == 1);
    X509V3_set_ctx(&context, x509, x509, NULL, NULL, 0);
    add_extension(x509, &context, NID_basic_constraints, STR("critical,CA:TRUE,pathlen:0"));
    add_extension(x509, &context, NID_key_usage, STR("critical,keyCertSign,cRLSign"));
    add_extension(x509, &context, NID_subject_key_identifier, STR("hash"));
    add_extension(x509, &context, NID_name_constraints, list_names(arena, names, true));
    CHECK(X509_sign(x509, key, EVP_sha256()) > 0);
    *ret_authority = write_pem(arena, x509, key);
    X509_free(x509);
    EVP_PKEY_free(key);
    return RC_OK;
}

/* For a server and nothing else: browsers refuse certificates whose uses are not named. */
static void finish(X509 *x509, X509 *issuer, EVP_PKEY *issuer_key, struct str names)
{
    X509V3_CTX context;
    CHECK(X509_set_issuer_name(x509, X509_get_subject_name(issuer)) == 1);
    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    add_extension(x509, &context, NID_basic_constraints, STR("critical,CA:FALSE"));
    add_extension(x509, &context, NID_key_usage, STR("critical,digitalSignature"));
    add_extension(x509, &context, NID_ext_key_usage, STR("serverAuth"));
    add_extension(x509, &context, NID_authority_key_identifier, STR("keyid"));
    add_extension(x509, &context, NID_subject_alt_name, names);
    CHECK(X509_sign(x509, issuer_key, EVP_sha256()) > 0);
}

/* The key that is made belongs to this certificate only. Errors of OpenSSL are cleared, so that none is reported by a
 * later call. */
struct rc certificate_make(struct arena *arena, const struct certificate *authority,
                           const struct certificate_names *names, struct certificate *ret_certificate, struct err *err)
{
    BIO *pem = BIO_new_mem_buf(authority->pem.p, (int)authority->pem.n);
    BIO *key_pem = BIO_new_mem_buf(authority->key.p, (int)authority->key.n);
    CHECK(pem && key_pem && names->count);
    X509 *issuer = PEM_read_bio_X509(pem, NULL, NULL, NULL);
    EVP_PKEY *issuer_key = PEM_read_bio_PrivateKey(key_pem, NULL, NULL, NULL), *key = NULL;
    X509 *x509 = NULL;
    bool good = issuer && issuer_key && X509_check_private_key(issuer, issuer_key) == 1;
    if (good) {
        key = EVP_EC_gen("P-256");
        x509 = begin(key, STR("Nod"), SERVER_DAYS);
        finish(x509, issuer, issuer_key, list_names(arena, names, false));
        *ret_certificate = write_pem(arena, x509, key);
    }
    X509_free(x509);
    X509_free(issuer);
    EVP_PKEY_free(key);
    EVP_PKEY_free(issuer_key);
    BIO_free(pem);
    BIO_free(key_pem);
    ERR_clear_error();
    return good ? RC_OK : err_set(err, ERR_INVALID, "the authority and its key do not belong together");
}
