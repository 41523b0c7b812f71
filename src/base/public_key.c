/* Keys with which people sign, from OpenSSL (public_key.h). */
#include "base/public_key.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <stdlib.h>

enum { RSA_BITS_MIN = 2048, SCRYPT_N = 1 << 14, SCRYPT_R = 8, SCRYPT_P = 1, SALT_BYTES = 16 };

struct private_key {
    EVP_PKEY *pair;
};

/* ---- public keys ---- */

static EVP_PKEY *read_public(struct str spki)
{
    const unsigned char *at = (const unsigned char *)spki.p;
    if (spki.n == 0 || spki.n > PUBLIC_KEY_BYTES_MAX)
        return NULL;
    EVP_PKEY *key = d2i_PUBKEY(NULL, &at, (long)spki.n);
    if (key && at == (const unsigned char *)spki.p + spki.n)
        return key;
    EVP_PKEY_free(key); /* bytes behind the key would make two texts of one key */
    return NULL;
}

static enum key_algorithm algorithm_of(const EVP_PKEY *key)
{
    char group[32];
    size_t n = 0;
    if (EVP_PKEY_is_a(key, "ED25519"))
        return KEY_EDDSA;
    if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, &n) == 1 &&
        str_is(str_of(group), "prime256v1"))
        return KEY_ES256;
    if (EVP_PKEY_is_a(key, "RSA") && EVP_PKEY_get_bits(key) >= RSA_BITS_MIN)
        return KEY_RS256;
    return KEY_NONE;
}

enum key_algorithm public_key_algorithm(struct str spki)
{
    EVP_PKEY *key = read_public(spki);
    enum key_algorithm algorithm = key ? algorithm_of(key) : KEY_NONE;
    EVP_PKEY_free(key);
    return algorithm;
}

/* The algorithm follows from the key, never from what the signature claims. */
bool public_key_check(struct str spki, struct str message, struct str signature)
{
    EVP_PKEY *key = read_public(spki);
    enum key_algorithm algorithm = key ? algorithm_of(key) : KEY_NONE;
    bool good = false;
    if (algorithm != KEY_NONE && signature.n && signature.n <= SIGNATURE_BYTES_MAX) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        CHECK(context);
        const EVP_MD *digest = algorithm == KEY_EDDSA ? NULL : EVP_sha256();
        good = EVP_DigestVerifyInit(context, NULL, digest, NULL, key) == 1 &&
               EVP_DigestVerify(context, (const unsigned char *)signature.p, signature.n,
                                (const unsigned char *)message.p, message.n) == 1;
        EVP_MD_CTX_free(context);
    }
    EVP_PKEY_free(key);
    return good;
}

static struct str write_public(struct arena *arena, const EVP_PKEY *key)
{
    unsigned char *der = NULL;
    int n = i2d_PUBKEY(key, &der);
    CHECK(n > 0);
    struct str spki = arena_str(arena, (struct str){(const char *)der, (size_t)n});
    OPENSSL_free(der);
    return spki;
}

struct str public_key_from_ed25519(struct arena *arena, struct str raw)
{
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)raw.p, raw.n);
    struct str spki = key ? write_public(arena, key) : STR_NONE;
    EVP_PKEY_free(key);
    return spki;
}

/* ---- private keys ---- */

struct private_key *private_key_new(void)
{
    struct private_key *key = heap_new(sizeof *key);
    key->pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    CHECK(key->pair);
    return key;
}

/* scrypt makes each guess at the passphrase expensive; the file may be copied by a backup. */
struct str private_key_write(struct arena *arena, const struct private_key *key, struct str passphrase)
{
    unsigned char salt[SALT_BYTES];
    BIO *bio = BIO_new(BIO_s_mem());
    PKCS8_PRIV_KEY_INFO *plain = EVP_PKEY2PKCS8(key->pair);
    CHECK(bio && plain && RAND_bytes(salt, sizeof salt) == 1 && passphrase.n <= INT32_MAX);
    X509_ALGOR *how = PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), salt, sizeof salt, NULL, SCRYPT_N, SCRYPT_R, SCRYPT_P);
    CHECK(how);
    X509_SIG *sealed = PKCS8_set0_pbe(passphrase.p, (int)passphrase.n, plain, how);
    CHECK(sealed && PEM_write_bio_PKCS8(bio, sealed) == 1);
    char *text = NULL;
    long n = BIO_get_mem_data(bio, &text);
    struct str pem = arena_str(arena, (struct str){text, (size_t)n});
    X509_SIG_free(sealed);
    PKCS8_PRIV_KEY_INFO_free(plain);
    BIO_free(bio);
    return pem;
}

/* OpenSSL asks for the passphrase by a callback. */
static int give_passphrase(char *room, int size, int writing, void *arg)
{
    const struct str *passphrase = arg;
    (void)writing;
    if (size < 0 || passphrase->n > (size_t)size)
        return -1;
    memcpy(room, passphrase->p, passphrase->n);
    return (int)passphrase->n;
}

struct private_key *private_key_read(struct str pem, struct str passphrase, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    CHECK(bio);
    EVP_PKEY *pair = PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, &passphrase);
    BIO_free(bio);
    if (!pair || !EVP_PKEY_is_a(pair, "ED25519")) {
        EVP_PKEY_free(pair);
        (void)err_set(err, ERR_INVALID, "the passphrase is wrong, or the file holds no key of `nod key create`");
        return NULL;
    }
    struct private_key *key = heap_new(sizeof *key);
    key->pair = pair;
    return key;
}

struct str private_key_public(struct arena *arena, const struct private_key *key)
{
    return write_public(arena, key->pair);
}

struct str private_key_sign(struct arena *arena, const struct private_key *key, struct str message)
{
    unsigned char signature[64];
    size_t n = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pair) == 1);
    CHECK(EVP_DigestSign(context, signature, &n, (const unsigned char *)message.p, message.n) == 1);
    EVP_MD_CTX_free(context);
    return arena_str(arena, (struct str){(const char *)signature, n});
}

void private_key_free(struct private_key *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pair);
    free(key);
}
