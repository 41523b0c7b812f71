/* Statements and signatures: the three kinds of keys, and everything that must not pass for one of them. */
#include "sign/sign.h"

#include "base/base64.h"
#include "base/public_key.h"
#include "event/shapes.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define ORIGIN "http://localhost:7171"

static struct statement decision(struct str word)
{
    struct statement s = {.form = "nod-decision-v1", .key = STR("k1"), .until_ms = 1700000000000};
    statement_add(&s, "session", STR("ses 1\nkey x"));
    statement_add(&s, "decision", word);
    statement_add(&s, "mode", STR_NONE);
    statement_add(&s, "scope", STR("-"));
    return s;
}

static void a_statement_has_one_form(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct statement s = decision(STR("allow_once"));
    assert_string_equal(arena_c(&arena, statement_text(&arena, &s)),
                        "nod-decision-v1\nsession ses%201%0Akey%20x\ndecision allow_once\nmode -\nscope %2D\n"
                        "key k1\nnonce -\nuntil 2023-11-14T22:13:20.000Z\n");
    struct str text = statement_text(&arena, &s);
    assert_true(str_is(statement_field(&arena, text, "session"), "ses 1\nkey x"));
    assert_true(str_is(statement_field(&arena, text, "key"), "k1"));
    assert_true(str_empty(statement_field(&arena, text, "mode")));
}

static void a_nonce_is_for_one_statement_and_one_installation(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct digest secret = digest_of(STR("a")), other = digest_of(STR("b"));
    struct statement s = decision(STR("allow_once")), changed;
    statement_issue(&s, &arena, &secret);
    assert_true(statement_issued(&s, &secret));
    assert_false(statement_issued(&s, &other));
    changed = s;
    changed.fields[1].value = STR("allow_always");
    assert_false(statement_issued(&changed, &secret));
    changed = s;
    changed.until_ms++;
    assert_false(statement_issued(&changed, &secret));
    changed = s;
    changed.nonce = STR_NONE;
    assert_false(statement_issued(&changed, &secret));
}

static void a_passphrase_opens_its_file(void **state)
{
    (void)state;
    ARENA_SCOPE(arena);
    struct err err = {0};
    struct private_key *key = private_key_new();
    struct str pem = private_key_write(&arena, key, STR("correct horse"));
    assert_true(str_has(pem, STR("BEGIN ENCRYPTED PRIVATE KEY")));
    assert_null(private_key_read(pem, STR("correct hors"), &err));
    assert_int_equal(err.code, ERR_INVALID);
    struct private_key *again = private_key_read(pem, STR("correct horse"), &err);
    assert_non_null(again);
    struct str spki = private_key_public(&arena, key);
    assert_true(str_eq(spki, private_key_public(&arena, again)));
    assert_int_equal(public_key_algorithm(spki), KEY_EDDSA);
    struct str longer = arena_printf(&arena, "%.*sx", (int)spki.n, "                                            ");
    assert_int_equal(public_key_algorithm(longer), KEY_NONE);
    private_key_free(key);
    private_key_free(again);
}

/* ---- passkeys ---- */

struct rig {
    struct arena arena;
    struct private_key *pair;
    struct person_key key;
    struct str text;
};

static int set_up(void **state)
{
    static struct rig rig;
    rig = (struct rig){.pair = private_key_new()};
    rig.text = arena_str(&rig.arena, STR("nod-decision-v1\ndecision allow_once\n"));
    rig.key = (struct person_key){.id = STR("k1"), .kind = KEY_KIND_WEBAUTHN, .rp_id = STR("localhost"),
                                  .origin = STR(ORIGIN), .spki = private_key_public(&rig.arena, rig.pair)};
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    private_key_free(rig->pair);
    arena_done(&rig->arena);
    return 0;
}

static struct str challenge_of(struct rig *rig, struct str text)
{
    char out[BASE64_BYTES(DIGEST_BYTES)];
    struct digest digest = digest_of(text);
    base64_url_encode(digest.bytes, DIGEST_BYTES, out);
    return arena_str(&rig->arena, str_of(out));
}

static struct str client_of(struct rig *rig, struct str text)
{
    return arena_printf(&rig->arena,
                        "{\"type\":\"webauthn.get\",\"challenge\":\"%.*s\",\"origin\":\"" ORIGIN "\","
                        "\"crossOrigin\":false,\"other_keys_can_be_added_here\":\"do not compare\"}",
                        STR_ARG(challenge_of(rig, text)));
}

static struct signature_claim assertion(struct rig *rig, struct str client, const char *host, char flags, char counter)
{
    struct digest rp = digest_of(str_of(host));
    struct digest hash = digest_of(client);
    char *message = arena_bytes(&rig->arena, 37 + DIGEST_BYTES);
    memcpy(message, rp.bytes, DIGEST_BYTES);
    message[32] = flags;
    memcpy(message + 33, (const char[]){0, 0, 0, counter}, 4);
    memcpy(message + 37, hash.bytes, DIGEST_BYTES);
    struct str whole = {message, 37 + DIGEST_BYTES};
    return (struct signature_claim){.client = client, .auth = str_sub(whole, 0, 37),
                                    .sig = private_key_sign(&rig->arena, rig->pair, whole)};
}

static void assert_refused(struct rig *rig, struct signature_claim claim, const char *why)
{
    struct err err = {0};
    uint32_t counter;
    assert_int_equal(sign_check_signature(&rig->key, rig->text, &claim, &counter, &err).code, ERR_FORBIDDEN);
    if (!strstr(err.text, why))
        print_error("said: %s\n", err.text);
    assert_non_null(strstr(err.text, why));
}

static void a_passkey_signs_one_statement(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    uint32_t counter = 0;
    struct signature_claim claim = assertion(rig, client_of(rig, rig->text), "localhost", 5, 7);
    assert_int_equal(sign_check_signature(&rig->key, rig->text, &claim, &counter, &err).code, ERR_OK);
    assert_int_equal(counter, 7);
    assert_refused(rig, assertion(rig, client_of(rig, STR("another")), "localhost", 5, 7), "another statement");
    assert_refused(rig, assertion(rig, client_of(rig, rig->text), "example.org", 5, 7), "another host");
    assert_refused(rig, assertion(rig, client_of(rig, rig->text), "localhost", 4, 7), "touched");
    assert_refused(rig, assertion(rig, client_of(rig, rig->text), "localhost", 1, 7), "recognize");
    assert_refused(rig, assertion(rig, client_of(rig, rig->text), "localhost", 5 | 16, 7), "contradict");
    rig->key.counter = 7;
    assert_refused(rig, claim, "counter");
    rig->key.counter = 0;
}

static void a_changed_byte_is_found(void **state)
{
    struct rig *rig = *state;
    struct signature_claim claim = assertion(rig, client_of(rig, rig->text), "localhost", 5, 0), other = claim;
    char *sig = arena_bytes(&rig->arena, claim.sig.n);
    memcpy(sig, claim.sig.p, claim.sig.n);
    sig[10] ^= 1;
    other.sig = (struct str){sig, claim.sig.n};
    assert_refused(rig, other, "not made by this key");
    other = claim;
    other.client = arena_printf(&rig->arena, "%.*s ", STR_ARG(claim.client));
    assert_refused(rig, other, "not made by this key");
    other = claim;
    other.auth = str_sub(claim.auth, 0, 36);
    assert_refused(rig, other, "too short");
    other.auth = STR_NONE;
    assert_refused(rig, other, "too short");
    other.client = STR("[]");
    assert_refused(rig, other, "not a JSON object");
}

static void only_the_page_itself_may_ask(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *format, *why;
    } rows[] = {
        {"{\"type\":\"webauthn.create\",\"challenge\":\"%.*s\",\"origin\":\"" ORIGIN "\"}", "not of a signature"},
        {"{\"type\":\"webauthn.get\",\"challenge\":\"%.*s\",\"origin\":\"http://localhost:7172\"}", "another page"},
        {"{\"type\":\"webauthn.get\",\"challenge\":\"%.*s\",\"origin\":\"" ORIGIN "\",\"crossOrigin\":true}", "inside"},
        {"{\"type\":\"webauthn.get\",\"challenge\":\"%.*s\",\"origin\":\"" ORIGIN "\",\"topOrigin\":\"x\"}", "inside"},
        {"{\"type\":\"webauthn.get\",\"challenge\":\"%.*sAA\",\"origin\":\"" ORIGIN "\"}", "another statement"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char client[400];
        (void)snprintf(client, sizeof client, rows[i].format, STR_ARG(challenge_of(rig, rig->text)));
        assert_refused(rig, assertion(rig, str_of(client), "localhost", 5, 0), rows[i].why);
    }
}

/* ---- security keys of SSH ---- */

static void put(struct buf *buf, struct str text)
{
    buf_put(buf, (struct str){(const char[]){0, 0, (char)(text.n >> 8), (char)text.n}, 4});
    buf_put(buf, text);
}

static struct str ssh_key(struct rig *rig) { return str_sub(rig->key.spki, rig->key.spki.n - 32, rig->key.spki.n); }

static struct str ssh_signature(struct rig *rig, const char *namespace, const char *type, char flags)
{
    struct digest text = digest_of(rig->text), app = digest_of(STR("ssh:"));
    BUF_SCOPE(inner, 4096);
    BUF_SCOPE(device, 4096);
    BUF_SCOPE(public, 4096);
    BUF_SCOPE(sig, 4096);
    BUF_SCOPE(all, 4096);
    buf_puts(&inner, "SSHSIG");
    put(&inner, str_of(namespace));
    put(&inner, STR_NONE);
    put(&inner, STR("sha256"));
    put(&inner, (struct str){(const char *)text.bytes, DIGEST_BYTES});
    struct digest message = digest_of(buf_str(&inner));
    struct str tail = {(const char[]){flags, 0, 0, 0, 9}, 5};
    buf_put(&device, (struct str){(const char *)app.bytes, DIGEST_BYTES});
    buf_put(&device, tail);
    buf_put(&device, (struct str){(const char *)message.bytes, DIGEST_BYTES});
    put(&public, str_of(type));
    put(&public, ssh_key(rig));
    put(&public, STR("ssh:"));
    put(&sig, str_of(type));
    put(&sig, private_key_sign(&rig->arena, rig->pair, buf_str(&device)));
    buf_put(&sig, tail);
    buf_put(&all, (struct str){"SSHSIG\0\0\0\1", 10});
    put(&all, buf_str(&public));
    put(&all, str_of(namespace));
    put(&all, STR_NONE);
    put(&all, STR("sha256"));
    put(&all, buf_str(&sig));
    char base64[2048];
    base64_encode(all.p, all.n, base64);
    return arena_printf(&rig->arena, "-----BEGIN SSH SIGNATURE-----\n%.70s\n%s\n-----END SSH SIGNATURE-----\n", base64,
                        base64 + 70);
}

static void a_security_key_signs_when_touched(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    uint32_t counter = 0;
    const char *sk = "sk-ssh-ed25519@openssh.com";
    rig->key.kind = KEY_KIND_SSHSIG;
    struct signature_claim claim = {.sig = ssh_signature(rig, "nod@v1", sk, 1)};
    assert_int_equal(sign_check_signature(&rig->key, rig->text, &claim, &counter, &err).code, ERR_OK);
    assert_int_equal(counter, 9);
    assert_refused(rig, (struct signature_claim){.sig = ssh_signature(rig, "file", sk, 1)}, "something else");
    assert_refused(rig, (struct signature_claim){.sig = ssh_signature(rig, "nod@v1", sk, 0)}, "touched");
    assert_refused(rig, (struct signature_claim){.sig = ssh_signature(rig, "nod@v1", "ssh-ed25519", 1)},
                   "security key");
    assert_refused(rig, (struct signature_claim){.sig = STR("-----BEGIN SSH SIGNATURE-----")}, "form");
    struct str cut = str_sub(claim.sig, 0, 100);
    assert_refused(rig, (struct signature_claim){.sig = cut}, "form");
    rig->text = STR("other words");
    assert_refused(rig, claim, "not made by this key");
}

/* ---- the ring ---- */

static struct event key_event(struct rig *rig, uint64_t seq, const char *id, bool revoked)
{
    char spki[BASE64_BYTES(PUBLIC_KEY_BYTES_MAX)];
    base64_url_encode(rig->key.spki.p, rig->key.spki.n, spki);
    struct str data = revoked ? DATA(&rig->arena, key_revoked, .id = str_of(id))
                              : DATA(&rig->arena, key_added, .id = str_of(id), .person = STR("ann"),
                                     .kind = STR("ed25519"), .spki = str_of(spki), .proof = STR("{}"));
    return (struct event){.seq = seq, .kind = EVENT_TOKEN_CHANGED, .at_ms = 5, .data = data};
}

static void a_revoked_key_proves_what_it_signed_before(void **state)
{
    struct rig *rig = *state;
    struct key_ring ring = {0};
    char id[KEY_ID_BYTES];
    ring_key_id(rig->key.spki, id);
    struct event added = key_event(rig, 10, id, false), gone = key_event(rig, 20, id, true);
    struct event borrowed = key_event(rig, 9, "0123456789abcdef0123456789abcdef", false);
    key_ring_follow(&ring, &borrowed);
    assert_null(ring.keys); /* an id that is not of this key */
    key_ring_follow(&ring, &added);
    assert_non_null(key_ring_find(&ring, str_of(id)));
    assert_true(str_eq(key_ring_find(&ring, str_of(id))->spki, rig->key.spki));
    assert_int_equal(ring.active, 1);
    key_ring_follow(&ring, &gone);
    assert_null(key_ring_find(&ring, str_of(id)));
    assert_int_equal(ring.active, 0);
    assert_null(key_ring_at(&ring, str_of(id), 9));
    assert_non_null(key_ring_at(&ring, str_of(id), 15));
    assert_null(key_ring_at(&ring, str_of(id), 21));
    struct event again = key_event(rig, 30, id, false);
    key_ring_follow(&ring, &again);
    assert_non_null(key_ring_find(&ring, str_of(id)));
    assert_null(key_ring_at(&ring, str_of(id), 25));
    key_ring_done(&ring);
}

static void kept_and_read_again_it_is_the_same(void **state)
{
    struct rig *rig = *state;
    struct err err = {0};
    struct signature_claim claim = assertion(rig, client_of(rig, rig->text), "localhost", 5, 7), read;
    struct str json = sign_write_signature(&rig->arena, &rig->key, rig->text, &claim), text;
    uint32_t counter;
    assert_int_equal(sign_read_signature(&rig->arena, json, &read, &text, &err).code, ERR_OK);
    assert_true(str_eq(text, rig->text) && str_eq(read.key, STR("k1")));
    assert_int_equal(sign_check_signature(&rig->key, text, &read, &counter, &err).code, ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_has_one_form),
        cmocka_unit_test(a_nonce_is_for_one_statement_and_one_installation),
        cmocka_unit_test(a_passphrase_opens_its_file),
        cmocka_unit_test_setup_teardown(a_passkey_signs_one_statement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_byte_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_page_itself_may_ask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_security_key_signs_when_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_revoked_key_proves_what_it_signed_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kept_and_read_again_it_is_the_same, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
