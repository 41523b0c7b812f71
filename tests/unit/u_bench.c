/* What `nod bench` measures with: percentiles, the eye for an answer, the eye for a mark. */
#include "bench/bench_mark.h"
#include "bench/bench_wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- samples ---- */

static void percentiles_of_nothing_and_of_one(void **state)
{
    (void)state;
    SAMPLES_SCOPE(samples);
    assert_int_equal(samples_at(&samples, 500), 0);
    samples_add(&samples, 7);
    assert_int_equal(samples_at(&samples, 0), 7);
    assert_int_equal(samples_at(&samples, 500), 7);
    assert_int_equal(samples_at(&samples, 1000), 7);
}

static void percentiles_by_nearest_rank(void **state)
{
    (void)state;
    SAMPLES_SCOPE(samples);
    for (int i = 5000; i > 0; i--) /* more than the first room, in falling order */
        samples_add(&samples, i);
    assert_int_equal(samples.count, 5000);
    assert_int_equal(samples_at(&samples, 0), 1);
    assert_int_equal(samples_at(&samples, 500), 2500);
    assert_int_equal(samples_at(&samples, 990), 4950);
    assert_int_equal(samples_at(&samples, 1000), 5000);
}

static void samples_stay_within_their_type(void **state)
{
    (void)state;
    SAMPLES_SCOPE(samples);
    SAMPLES_SCOPE(more);
    samples_add(&samples, -5);
    samples_add(&more, (int64_t)UINT32_MAX + 5);
    samples_join(&samples, &more);
    assert_int_equal(samples_at(&samples, 0), 0);
    assert_int_equal(samples_at(&samples, 1000), UINT32_MAX);
}

static void medians(void **state)
{
    (void)state;
    double odd[] = {9, 1, 5};
    double even[] = {4, 1, 3, 2};
    assert_true(median_of(odd, 3) == 5);
    assert_true(median_of(even, 4) == 2.5);
    assert_true(median_of(NULL, 0) == 0);
}

/* ---- answers ---- */

static const char answer[] = "HTTP/1.1 201 Created\r\nCache-Control: no-store\r\nContent-Length: 12\r\n"
                             "Content-Type: application/json\r\n\r\n{\"id\":\"abc\"}";

static void an_answer_is_complete_with_its_last_byte(void **state)
{
    (void)state;
    struct heard heard;
    size_t n = sizeof answer - 1;
    for (size_t i = 0; i < n; i++) {
        /* A copy of exactly so many bytes: reading behind them is seen. */
        char *piece = malloc(i ? i : 1);
        memcpy(piece, answer, i);
        assert_false(heard_read((struct str){piece, i}, &heard));
        free(piece);
    }
    assert_true(heard_read((struct str){answer, n}, &heard));
    assert_int_equal(heard.status, 201);
    assert_int_equal(heard.bytes, n);
    assert_true(str_is(heard.body, "{\"id\":\"abc\"}"));
}

static void an_answer_without_length_has_no_body(void **state)
{
    (void)state;
    struct heard heard;
    assert_true(heard_read(STR("HTTP/1.1 204 No Content\r\n\r\n"), &heard));
    assert_int_equal(heard.status, 204);
    assert_int_equal(heard.body.n, 0);
}

/* ---- digits and marks ---- */

static void digits_are_hexadecimal_and_as_many(void **state)
{
    (void)state;
    char text[] = "..........";
    digits_put(text, 0x0badf00d);
    assert_string_equal(text, "0badf00d..");
}

static bool fed_in_pieces(struct mark mark, const char *text, size_t piece)
{
    uint8_t matched = 0;
    size_t n = strlen(text);
    for (size_t at = 0; at < n; at += piece) {
        size_t size = n - at < piece ? n - at : piece;
        if (mark_seen(mark, &matched, (struct str){text + at, size}))
            return true;
    }
    return false;
}

static void a_mark_is_seen_however_it_is_cut(void **state)
{
    (void)state;
    char text[MARK_BYTES];
    struct mark mark = mark_of_round(text, 0x1c);
    const char *event = "id: 7\ndata: ~0000001 ~~0000001c\"}}\n\n";
    const char *unfinished = "id: 7\ndata: ~0000001c\"}}\n: \n";
    for (size_t piece = 1; piece < 40; piece++) {
        assert_true(fed_in_pieces(mark, event, piece));
        assert_false(fed_in_pieces(mark, unfinished, piece));
        assert_false(fed_in_pieces(mark, "data: ~0000001b\n\ndata: ~0000001\n\n", piece));
        assert_true(fed_in_pieces(MARK_OF_HEAD, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", piece));
        assert_false(fed_in_pieces(MARK_OF_HEAD, "HTTP/1.1 200 OK\r\nA: b\r\n\r", piece));
    }
}

/* ---- places ---- */

static void places(void **state)
{
    (void)state;
    struct place place;
    struct err err;
    assert_true(rc_ok(place_find("unix:/tmp/nod.sock", &place, &err)));
    assert_int_equal(place.address.ss_family, AF_UNIX);
    assert_true(rc_ok(place_find("http://127.0.0.1:7717", &place, &err)));
    assert_string_equal(place.host, "127.0.0.1:7717");
    assert_true(rc_ok(place_find("http://[::1]:7717/", &place, &err)));
    assert_int_equal(place.address.ss_family, AF_INET6);
    assert_true(rc_bad(place_find("https://127.0.0.1", &place, &err)));
    assert_true(rc_bad(place_find("http://127.0.0.1", &place, &err)));
    assert_true(rc_bad(place_find("http://", &place, &err)));
    assert_true(rc_bad(place_find("", &place, &err)));
}

/* ---- the yardstick ---- */

static void the_yardstick_counts(void **state)
{
    (void)state;
    struct yard yard;
    struct err err;
    double per_second = 0;
    assert_true(rc_ok(yard_open(&yard, ".", &err)));
    assert_true(rc_ok(yard_take(&yard, INT64_MAX, 3, &per_second, &err)));
    assert_int_equal(yard.all.count, 3);
    assert_true(per_second > 0);
    yard_close(&yard);
    assert_true(rc_bad(yard_open(&yard, "/nowhere/at/all", &err)));
    yard_close(&yard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_of_nothing_and_of_one),
        cmocka_unit_test(percentiles_by_nearest_rank),
        cmocka_unit_test(samples_stay_within_their_type),
        cmocka_unit_test(medians),
        cmocka_unit_test(an_answer_is_complete_with_its_last_byte),
        cmocka_unit_test(an_answer_without_length_has_no_body),
        cmocka_unit_test(digits_are_hexadecimal_and_as_many),
        cmocka_unit_test(a_mark_is_seen_however_it_is_cut),
        cmocka_unit_test(places),
        cmocka_unit_test(the_yardstick_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
