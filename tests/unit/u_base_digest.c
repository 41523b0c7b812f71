/* SHA-256, SHA-1, HMAC and Ed25519 against published values; pieces against the whole. */
#include "base/hex.h"
#include "base/sign.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

static void assert_hex(struct digest digest, const char *want)
{
    char hex[DIGEST_HEX_BYTES];
    digest_hex(&digest, hex);
    assert_string_equal(hex, want);
}

static void known_values(void **state)
{
    (void)state;
    assert_hex(digest_of(STR("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hex(digest_of(STR_NONE), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hex(digest_of(STR("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hex(digest_of(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void pieces_carry_their_length(void **state)
{
    (void)state;
    struct str joined = {"\0\0\0\0\0\0\0\2ab\0\0\0\0\0\0\0\1c", 19};
    struct str pieces[] = {STR("ab"), STR("c")};
    struct str other[] = {STR("a"), STR("bc")};
    struct digest whole = digest_of(joined);
    struct digest one = digest_of_pieces(pieces, 2), two = digest_of_pieces(other, 2);
    assert_true(digest_eq(&whole, &one));
    assert_false(digest_eq(&one, &two));
    struct str empty[] = {STR_NONE, STR_NONE};
    struct digest none = digest_of_pieces(empty, 0), first = digest_of_pieces(empty, 1),
                  second = digest_of_pieces(empty, 2);
    assert_false(digest_eq(&none, &first));
    assert_false(digest_eq(&first, &second));
}

/* RFC 4231, cases 1, 2 and 6: keys shorter than a block, and one that is longer. */
static void keyed_digests(void **state)
{
    char twenty[20], longer[131];
    (void)state;
    memset(twenty, 0x0b, sizeof twenty);
    memset(longer, 0xaa, sizeof longer);
    assert_hex(sign_mac((struct str){twenty, sizeof twenty}, STR("Hi There")),
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_hex(sign_mac(STR("Jefe"), STR("what do ya want for nothing?")),
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    assert_hex(sign_mac((struct str){longer, sizeof longer},
                        STR("Test Using Larger Than Block-Size Key - Hash Key First")),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void *public_half(void *key)
{
    struct sign_public public = sign_public_of(key);
    return memcmp(public.bytes, "\xd7\x5a\x98\x01\x82\xb1\x0a\xb7", 8) == 0 ? key : NULL;
}

/* RFC 8032, section 7.1, test 1. The pair is made when it is first wanted, by several threads at once. */
static void a_pair_is_made_once(void **state)
{
    unsigned char seed[SIGN_SEED_BYTES];
    pthread_t threads[4];
    (void)state;
    assert_true(hex_read(STR("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"), seed, sizeof seed));
    struct sign_key *key = sign_key_new(seed);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, public_half, key), 0);
    for (int i = 0; i < 4; i++) {
        void *right = NULL;
        assert_int_equal(pthread_join(threads[i], &right), 0);
        assert_ptr_equal(right, key);
    }
    struct digest what = digest_of(STR("abc"));
    struct sign_public public = sign_public_of(key);
    struct signature signature = sign_make(key, &what);
    assert_true(sign_check(&public, &what, &signature));
    signature.bytes[0] ^= 1;
    assert_false(sign_check(&public, &what, &signature));
    sign_key_free(key);
    sign_key_free(sign_key_new(seed)); /* never used */
}

/* The example of RFC 6455, section 1.3. */
static void handshake(void **state)
{
    (void)state;
    char out[32];
    digest_sha1_base64(STR("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"), out);
    assert_string_equal(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void *hash_much(void *arg)
{
    struct digest want = digest_of(STR("abc"));
    for (int i = 0; i < 2000; i++) {
        struct digest have = digest_of(STR("abc"));
        if (!digest_eq(&want, &have))
            return arg;
    }
    return NULL;
}

static void several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hash_much, &threads), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = &threads;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* Sixteen bytes are written at once: every byte in every place of them, and lengths on both sides of a multiple. */
static void hexadecimal_of_every_length(void **state)
{
    unsigned char bytes[256 + 16];
    char hex[2 * sizeof bytes + 2], want[2 * sizeof bytes + 1];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
        (void)snprintf(want + 2 * i, 3, "%02x", bytes[i]);
    }
    for (size_t from = 0; from < 16; from++)
        for (size_t n = 0; from + n <= sizeof bytes; n++) {
            hex[2 * n + 1] = '#';
            hex_write(bytes + from, n, hex);
            assert_memory_equal(hex, want + 2 * from, 2 * n);
            assert_true(hex[2 * n] == '\0' && hex[2 * n + 1] == '#');
        }
}

static void hexadecimal_there_and_back(void **state)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of(STR("abc")), back;
    (void)state;
    digest_hex(&digest, hex);
    assert_true(digest_parse(str_of(hex), &back) && digest_eq(&digest, &back));
    assert_false(digest_parse(STR("abc"), &back));
    hex[5] = 'G';
    assert_false(digest_parse(str_of(hex), &back));
}

/* In pieces of any size it is the sum of the whole, whatever else is hashed meanwhile. */
static void a_sum_in_pieces(void **state)
{
    struct str whole = STR("a sum over bytes that come piece by piece");
    struct digest expected = digest_of(whole);
    (void)state;
    for (size_t size = 1; size <= whole.n; size++) {
        struct digest_sum *sum = digest_sum_new();
        for (size_t at = 0; at < whole.n; at += size) {
            digest_sum_add(sum, str_sub(whole, at, at + size < whole.n ? at + size : whole.n));
            (void)digest_of(STR("something else"));
        }
        struct digest digest = digest_sum_end(sum);
        assert_true(digest_eq(&digest, &expected));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(pieces_carry_their_length),
        cmocka_unit_test(keyed_digests),
        cmocka_unit_test(a_pair_is_made_once),
        cmocka_unit_test(handshake),
        cmocka_unit_test(several_threads),
        cmocka_unit_test(hexadecimal_of_every_length),
        cmocka_unit_test(hexadecimal_there_and_back),
        cmocka_unit_test(a_sum_in_pieces),
    };
    return cmocka_run_group_tests_name("base/digest", tests, NULL, NULL);
}
