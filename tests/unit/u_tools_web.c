/* What WebFetch is made of: which addresses are of the open network, how a URL is read, what becomes of a page. */
#include "http/address.h"
#include "tools/web.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

/* ---- addresses: this is what is asked about each one that a name has led to, when it is connected to ---- */

static const char *kind_of(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_kind((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return address_kind((const struct sockaddr *)&v6);
}

static void addresses_connected_to(void **state)
{
    static const char *const open[] = {
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1"};
    static const char *const closed[] = {
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1",
        "127.255.255.254", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1",
        "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::127.0.0.1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
        "2001:db8::1", "2001::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:a00:1::", "100::1", "3fff::1"};
    (void)state;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (kind_of(open[i]))
            fail_msg("%s is said to be %s", open[i], kind_of(open[i]));
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (!kind_of(closed[i]))
            fail_msg("%s is said to be of the open network", closed[i]);
    struct sockaddr local = {.sa_family = AF_UNIX};
    assert_non_null(address_kind(&local));
}

static void hosts_as_written(void **state)
{
    static const char *const closed[] = {"localhost", "LocalHost", "a.localhost", "localhost.", "127.0.0.1", "127.1",
                                         "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0", "[::1]",
                                         "::1", "[::ffff:10.0.0.1]", "169.254.169.254", "[fe80::1]"};
    static const char *const open[] = {"example.com", "localhost.example.com", "1.1.1.1", "[2606:4700::1111]", "",
                                       "127.0.0.1.example.com", "notlocalhost"};
    (void)state;
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (!address_kind_of_host(str_of(closed[i])))
            fail_msg("%s passes", closed[i]);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (address_kind_of_host(str_of(open[i])))
            fail_msg("%s does not pass", open[i]);
}

/* ---- URLs ---- */

static void urls(void **state)
{
    ARENA_SCOPE(arena);
    static const struct {
        const char *given, *asked; /* asked: NULL when it is refused */
    } cases[] = {
        {"https://Example.COM", "https://example.com/"},
        {"HTTP://example.com:80/a?b=c#d", "http://example.com/a?b=c"},
        {"https://example.com:8443/x", "https://example.com:8443/x"},
        {"https://example.com?q", "https://example.com/?q"},
        {"https://[2606:4700::1111]:8443/", "https://[2606:4700::1111]:8443/"},
        {"https://example.com/gr\xc3\xbc\xc3\x9f", "https://example.com/gr%C3%BC%C3%9F"},
        {"https://example.com/../x", "https://example.com/../x"},
        {"ftp://example.com/", NULL},
        {"https:/example.com/", NULL},
        {"https:///etc/passwd", NULL},
        {"https://user@example.com/", NULL},
        {"https://example.com:pw@evil.example/", NULL},
        {"https://example.com\\@evil.example/", NULL},
        {"https://example.com /", NULL},
        {"https://example.com/a b", NULL},
        {"https://example.com/a\nHost: x", NULL},
        {"https://ex\xc3\xa4mple.com/", NULL},
        {"https://.example.com/", NULL},
        {"https://a..b/", NULL},
        {"https://example.com:0/", NULL},
        {"https://example.com:65536/", NULL},
        {"https://example.com:80:80/", NULL},
        {"https://[::1%25eth0]/", NULL},
        {"https://%65xample.com/", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct web_url url = {0};
        struct rc rc = web_url_read(&arena, str_of(cases[i].given), &url, NULL);
        if (rc_ok(rc) != (cases[i].asked != NULL))
            fail_msg("\"%s\" was %s", cases[i].given, rc_ok(rc) ? "taken" : "refused");
        if (cases[i].asked)
            assert_string_equal(url.text, cases[i].asked);
    }
}

static void places(void **state)
{
    ARENA_SCOPE(arena);
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"http://a.example/", "https://a.example/x", true},
        {"https://a.example/", "https://A.example:443/x", true},
        {"https://a.example/", "https://www.a.example/", false},
        {"https://a.example/", "https://a.example:8443/", false},
        {"http://a.example:8080/", "http://a.example:8080/x", true},
        {"http://a.example:8080/", "https://a.example:8080/x", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct web_url a, b;
        assert_true(rc_ok(web_url_read(&arena, str_of(cases[i].a), &a, NULL)));
        assert_true(rc_ok(web_url_read(&arena, str_of(cases[i].b), &b, NULL)));
        assert_int_equal(web_url_same_place(&a, &b), cases[i].same);
    }
}

static void warnings(void **state)
{
    static const struct {
        const char *url, *part;
    } cases[] = {
        {"http://example.com/", "not https"},
        {"https://10.1.2.3/", "private network"},
        {"https://2852039166/", "link-local"},
        {"https://printer/", "local network"},
        {"https://a.internal/", "local network"},
        {"https://good.example@evil.example/", "before the host"},
        {"https://xn--80ak6aa92e.com/", "punycode"},
        {"https://\xd0\xb5xample.com/", "mistaken"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BUF_SCOPE(buf, 10000);
        struct json_out out = json_out(&buf);
        json_open(&out, '{');
        web_url_warn(&out, str_of(cases[i].url));
        json_close(&out, '}');
        if (!str_has(buf_str(&buf), str_of(cases[i].part)))
            fail_msg("%s: %s", cases[i].url, buf_c(&buf));
    }
    BUF_SCOPE(quiet, 10000);
    struct json_out out = json_out(&quiet);
    json_open(&out, '{');
    web_url_warn(&out, STR("https://user:x@docs.example.com:8443/a?b"));
    assert_true(str_has(buf_str(&quiet), STR("\"host\":\"docs.example.com\"")));
}

/* ---- pages ---- */

static void pages(void **state)
{
    ARENA_SCOPE(arena);
    struct web_url base;
    static const struct {
        const char *html, *text;
    } cases[] = {
        {"plain  \n text", "plain text"},
        {"<p>a<p>b", "a\n\nb"},
        {"a<br>b<BR/>c", "a\nb\nc"},
        {"<h1>One</h1>x<h3>Two</h3>y", "# One\n\nx\n\n### Two\n\ny"},
        {"<ul><li>a</li><li>b</li></ul>", "- a\n- b"},
        {"<a href=\"x.html\">x</a> <a href='#top'>top</a> <a href=javascript:alert(1)>no</a>",
         "[x](https://e.example/d/x.html) top no"},
        {"<a href=\"//o.example/\"><img src=x></a>z", "z"},
        {"<a href=/p?a=1&amp;b=2>q</a>", "[q](https://e.example/p?a=1&b=2)"},
        {"<img alt='a cat'>", "(image: a cat)"},
        {"<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 | 2 |\n3 |"},
        {"a<script>if (a < b) x('</p>')</script>b", "ab"},
        {"a<script>never ends", "a"},
        {"a<!-- > -- -->b<!doctype html>c<?php x ?>d", "abcd"},
        {"<!-->a", "a"},
        {"a<!-- never ends", "a"},
        {"<p title=\"a>b\">c", "c"},
        {"1 < 2 && 3 > 2", "1 < 2 && 3 > 2"},
        {"&lt;b&gt; &#65;&#x42; &unknown; &amp;amp; &#0; &#xD800; &#x110000; & &#99999999999;",
         "<b> AB &unknown; &amp; \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd & &#99999999999;"},
        {"<pre>a\n  b</pre>c", "a\n  b\n\nc"},
        {"a\xe2\x80\x8b" "b\xe2\x80\xae" "c\x1b[31m", "abc[31m"},
        {"<", "<"},
        {"</", "</"},
        {"<a", ""},
        {"<a href", ""},
        {"", ""},
    };
    (void)state;
    assert_true(rc_ok(web_url_read(&arena, STR("https://e.example/d/p.html?q"), &base, NULL)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BUF_SCOPE(buf, 10000);
        html_text(&buf, str_of(cases[i].html), &base);
        if (!str_is(buf_str(&buf), cases[i].text))
            fail_msg("%s\nbecomes\n%s\nnot\n%s", cases[i].html, buf_c(&buf), cases[i].text);
    }
}

static void charsets(void **state)
{
    ARENA_SCOPE(arena);
    struct str text;
    (void)state;
    assert_true(rc_ok(charset_to_utf8(&arena, STR("gr\xfc\xdf"), STR("text/plain"), &text, NULL)));
    assert_true(str_is(text, "gr\xc3\xbc\xc3\x9f"));
    assert_true(rc_ok(charset_to_utf8(&arena, STR("a\xff"), STR("text/plain; charset=\"UTF-8\""), &text, NULL)));
    assert_true(str_is(text, "a\xef\xbf\xbd"));
    assert_true(rc_ok(charset_to_utf8(&arena, STR("\xff\xfe" "a\0b\0"), STR("text/plain"), &text, NULL)));
    assert_true(str_is(text, "ab"));
    assert_true(rc_ok(charset_to_utf8(&arena, STR("\x82\xa0\x82"), STR("x; charset=shift_jis"), &text, NULL)));
    assert_true(str_is(text, "\xe3\x81\x82\xef\xbf\xbd"));
    assert_true(rc_ok(charset_to_utf8(&arena, STR(""), STR("text/html"), &text, NULL)));
    assert_int_equal(text.n, 0);
    struct err err;
    assert_int_equal(charset_to_utf8(&arena, STR("x"), STR("x; charset=utf-7"), &text, &err).code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_connected_to), cmocka_unit_test(hosts_as_written), cmocka_unit_test(urls),
        cmocka_unit_test(places), cmocka_unit_test(warnings), cmocka_unit_test(pages), cmocka_unit_test(charsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
