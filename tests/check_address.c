/*
 * tests/check_address.c - lists of peers, what a name leads to, and words from other machines.
 *
 * Nothing here needs a network: numeric addresses, this host's own, and names that no resolver is asked about.
 */
#include <check.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/address.h"
#include "comm/peer_list.h"
#include "comm/peer_text.h"

static struct peer_list list;

static void accept_one(const char *text, const char *host, int port, const char *name)
{
    struct err e = {0};
    ck_assert_msg(peer_list_parse(&list, text, false, &e) == 0, "%s: %s", text, e.text);
    ck_assert_int_eq(list.n, 1);
    ck_assert_str_eq(list.peer[0].host, host);
    ck_assert_int_eq(list.peer[0].port, port);
    ck_assert_str_eq(list.peer[0].name, name);
}

/* ssh: and tcp: in front say how; what is in front of an @ is for ssh alone. */
START_TEST(ways_to_a_peer)
{
    struct err e;
    ck_assert_msg(peer_list_parse(&list, "laptopb,ssh:u.x@laptopc,tcp:laptopd:99,v@laptope", false, &e) == 0, "%s",
                  e.text);
    const struct {
        enum peer_way way;
        const char *host, *login, *name;
    } right[] = {{PEER_ANY, "laptopb", "laptopb", "laptopb"},
                 {PEER_SSH, "laptopc", "u.x@laptopc", "laptopc"},
                 {PEER_TCP, "laptopd", "laptopd", "laptopd:99"},
                 {PEER_ANY, "laptope", "v@laptope", "laptope"}};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(list.peer[i].way, right[i].way);
        ck_assert_str_eq(list.peer[i].host, right[i].host);
        ck_assert_str_eq(list.peer[i].login, right[i].login);
        ck_assert_str_eq(list.peer[i].name, right[i].name);
    }
}
END_TEST

START_TEST(names_and_addresses_with_and_without_ports)
{
    accept_one("laptopB", "laptopB", PEER_PORT, "laptopB");
    accept_one("node-7.lab_2:5000", "node-7.lab_2", 5000, "node-7.lab_2:5000");
    accept_one("10.77.0.2", "10.77.0.2", PEER_PORT, "10.77.0.2");
    accept_one("10.77.0.2:27124", "10.77.0.2", PEER_PORT, "10.77.0.2");
    accept_one("fe80::1%eth0", "fe80::1%eth0", PEER_PORT, "fe80::1%eth0");
    accept_one("[fd00::2]", "fd00::2", PEER_PORT, "fd00::2");
    accept_one("[fd00::2]:65535", "fd00::2", 65535, "[fd00::2]:65535");

    struct err e = {0};
    ck_assert_int_eq(peer_list_parse(&list, "a,b:1,10.0.0.3", false, &e), 0);
    ck_assert_int_eq(list.n, 3);
    ck_assert_str_eq(list.peer[2].host, "10.0.0.3");
}
END_TEST

static void refuse(const char *text, const char *says)
{
    struct err e = {0};
    ck_assert_msg(peer_list_parse(&list, text, false, &e) == -1, "'%s' was accepted", text);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert_msg(strstr(e.text, says) != NULL, "'%s': %s", text, e.text);
    for (const char *c = e.text; *c; c++)
        ck_assert_msg((unsigned char)*c >= 0x20, "a control character reached the sentence about '%s'", says);
}

/* What other programs took for an option, a command or a second host. */
START_TEST(lists_that_are_none)
{
    refuse("", "empty");
    refuse("laptopb,", "empty name");
    refuse(",laptopb", "empty name");
    refuse("laptopb,,laptopc", "empty name");
    refuse("laptopb,laptopb", "twice");
    refuse("laptopb,LAPTOPB", "twice");
    refuse("laptopb,laptopb:27124", "twice");
    refuse("laptopb,ssh:laptopb", "twice");
    refuse("tcp:laptopb,u@laptopb", "twice");
    refuse("ssh:", "empty name");
    refuse("ssh:laptopb:22", "tells where it listens");
    refuse("ssh:-oProxyCommand", "minus sign");
    refuse("ssh:u@-oProxyCommand", "no peer");
    refuse("u@", "no peer");
    refuse("a@b@c", "no peer");
    refuse("-oProxyCommand=x", "minus sign");
    refuse("laptopb,-v", "minus sign");
    refuse("a b", "only letters");
    refuse("a;reboot", "only letters");
    refuse("$(reboot)", "only letters");
    refuse("a/b", "only letters");
    refuse("a\033[31m", "only letters");
    refuse("a\nb", "only letters");
    refuse("l\xc3\xa4ptop", "only letters");
    refuse("host:", "NAME:PORT");
    refuse("host:0", "NAME:PORT");
    refuse("host:65536", "NAME:PORT");
    refuse("host:123456", "NAME:PORT");
    refuse("host:ssh", "NAME:PORT");
    refuse(":5000", "NAME:PORT");
    refuse("[host]", "NAME:PORT");
    refuse("[fd00::2", "NAME:PORT");
    refuse("[fd00::2]5000", "NAME:PORT");
    refuse("a[b]", "NAME:PORT");
    refuse("]", "NAME:PORT");
    refuse("[-0::2]:5", "NAME:PORT");
    char *longest = calloc(1, 400);
    memset(longest, 'a', 399);
    refuse(longest, "NAME:PORT");
    free(longest);
    char many[64 * 4 + 1] = "";
    for (int i = 0; i < 64; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "%sn%d", i ? "," : "", 10 + i);
    refuse(many, "more than 63");
}
END_TEST

START_TEST(own_host_is_no_peer)
{
    char own[256], local[sizeof own + 8];
    struct err e = {0};
    ck_assert_int_eq(gethostname(own, sizeof own), 0);
    if (strspn(own, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != strlen(own))
        return; /* a name that no list can hold */
    refuse(own, "peer is this host");
    refuse("localhost", "peer is this host");
    own[strcspn(own, ".")] = '\0';
    snprintf(local, sizeof local, "%s.local", own);
    refuse(local, "peer is this host");
    ck_assert_int_eq(peer_list_parse(&list, own, true, &e), 0);
}
END_TEST

/* An address of this host by its number is a mistake in the list; a name that leads to the loopback is one in the hosts
 * file, which is another code. */
START_TEST(own_addresses_are_no_peers)
{
    struct addresses found;
    struct err e = {0};
    const char *const own[] = {"127.0.0.1", "127.0.1.1", "[::1]", NULL};
    for (int i = 0; own[i]; i++) {
        ck_assert_int_eq(peer_list_parse(&list, own[i], true, &e), 0);
        ck_assert_int_eq(address_resolve(&found, &list.peer[0], false, &e), -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_msg(strstr(e.text, "peer is this host") != NULL, "%s", e.text);
        ck_assert_int_eq(address_resolve(&found, &list.peer[0], true, &e), 0);
        ck_assert_int_eq(found.n, 1);
        ck_assert(address_is_loopback(&found.address[0]));
    }
    uint64_t from = clock_now_ns();
    ck_assert_int_eq(peer_list_parse(&list, "localhost", true, &e), 0);
    if (address_resolve(&found, &list.peer[0], true, &e) == 0) { /* the hosts file may lack it */
        ck_assert_int_eq(address_resolve(&found, &list.peer[0], false, &e), -1);
        ck_assert_int_eq(e.code, ERR_NO_HOST);
        ck_assert_msg(strstr(e.text, "loopback") != NULL, "%s", e.text);
        ck_assert(clock_now_ns() - from < 5000000000u); /* a name server that is not there takes that long */
    }
}
END_TEST

/* 0.0.0.0 would connect to this host; 224/4 and ff00::/8 are groups (RFC 5771, RFC 4291), 240/4 and 255.255.255.255 no
 * hosts (RFC 1112, RFC 919); a link-local address is unique on its link only (RFC 4007). */
START_TEST(numbers_that_no_machine_has)
{
    struct addresses found;
    struct err e = {0};
    static const char *const numbers[] = {"0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255",
                                          "[::]",    "ff02::1", "fe80::1",   "[::ffff:0.0.0.0]"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bool here = i % 2; /* allowing this host allows none of them */
        ck_assert_int_eq(peer_list_parse(&list, numbers[i], here, &e), 0);
        ck_assert_msg(address_resolve(&found, &list.peer[0], here, &e) == -1, "%s", numbers[i]);
        ck_assert_msg(e.code == ERR_USAGE, "%s: %d", numbers[i], (int)e.code);
        ck_assert_msg(strstr(e.text, i == 6 ? "name the interface" : "no single machine") != NULL, "%s", e.text);
    }
    static const char *const hosts[] = {"1.0.0.1", "223.255.255.254", "fe80::1%lo", "fec0::1"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        ck_assert_int_eq(peer_list_parse(&list, hosts[i], false, &e), 0);
        ck_assert_msg(address_resolve(&found, &list.peer[0], false, &e) == 0, "%s: %s", hosts[i], e.text);
    }
}
END_TEST

START_TEST(a_name_that_nobody_knows)
{
    struct addresses found;
    struct err e = {0};
    /* .invalid is reserved for names that do not exist (RFC 2606) */
    ck_assert_int_eq(peer_list_parse(&list, "laptopb.invalid", false, &e), 0);
    ck_assert_int_eq(address_resolve(&found, &list.peer[0], false, &e), -1);
    ck_assert_int_eq(e.code, ERR_NO_HOST);
    ck_assert_msg(strstr(e.text, "laptopb.invalid") != NULL, "%s", e.text);
}
END_TEST

/* RFC 1918, RFC 3927, RFC 4193, RFC 4291; the neighbours of each range are public. */
START_TEST(private_ranges)
{
    static const struct {
        const char *text;
        bool is_private;
    } cases[] = {
        {"127.0.0.1", true},       {"10.0.0.0", true},     {"10.255.255.255", true}, {"9.255.255.255", false},
        {"11.0.0.0", false},       {"172.16.0.1", true},   {"172.31.255.255", true}, {"172.15.0.1", false},
        {"172.32.0.1", false},     {"192.168.1.1", true},  {"192.167.1.1", false},   {"192.169.0.1", false},
        {"169.254.7.7", true},     {"169.253.0.1", false}, {"8.8.8.8", false},       {"::1", true},
        {"fe80::1", true},         {"febf::1", true},      {"fec0::1", false},       {"fc00::1", true},
        {"fdff::1", true},         {"fe00::1", false},     {"2001:db8::1", false},   {"::ffff:10.1.2.3", true},
        {"::ffff:8.8.8.8", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address a;
        ck_assert_int_eq(address_parse(&a, cases[i].text, 1), 0);
        ck_assert_msg(address_is_private(&a) == cases[i].is_private, "%s", cases[i].text);
    }
    struct address a, b;
    ck_assert_int_eq(address_parse(&a, "::ffff:10.1.2.3", 1), 0);
    ck_assert_int_eq(address_parse(&b, "10.1.2.3", 2), 0);
    ck_assert(address_same_host(&a, &b));
    char text[ADDRESS_TEXT_BYTES];
    address_text(&a, text);
    ck_assert_str_eq(text, "10.1.2.3");
    ck_assert_int_eq(address_parse(&a, "laptopb", 1), -1);
}
END_TEST

START_TEST(unknown_interfaces_are_answered_with_the_known_ones)
{
    struct err e = {0};
    char first[IF_NAMESIZE];
    ck_assert_ptr_nonnull(if_indextoname(1, first)); /* the loopback, in every network namespace */
    ck_assert_int_eq(address_check_interface(first, &e), 0);
    const char *const wrong[] = {"nosuch0", "^lo", "", "lo,eth0", NULL};
    for (int i = 0; wrong[i]; i++) {
        ck_assert_int_eq(address_check_interface(wrong[i], &e), -1);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_msg(strstr(e.text, "there are") && strstr(e.text, first), "%s", e.text);
    }
}
END_TEST

START_TEST(words_of_peers_are_harmless)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {NULL, ""},
        {"laptopb", "laptopb"},
        {"\033[2J\033]0;x\007b", "[2J]0;xb"},
        {"a\r\nb\tc\x7f", "abc"},
        {"l\xc3\xa4ptop", "l\xc3\xa4ptop"}, /* ä */
        {"\xc2\x9b"
         "31m",
         "31m"}, /* CSI as one character */
        {"a\xe2\x80\xae"
         "b",
         "ab"},                       /* right-to-left override */
        {"\xef\xbb\xbfx", "x"},       /* byte order mark */
        {"\xff\xc3", "??"},           /* no UTF-8, and one cut short */
        {"\xc0\xaf", "??"},           /* '/' in too many bytes */
        {"\xed\xa0\x80", "???"},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
    };
    char out[PEER_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        peer_text_clean(out, sizeof out, cases[i].in);
        ck_assert_str_eq(out, cases[i].out);
    }
    peer_text_clean(out, 4, "abc\xc3\xa4");
    ck_assert_str_eq(out, "abc");
    peer_text_clean(out, 4, "ab\xc3\xa4"); /* no half characters */
    ck_assert_str_eq(out, "ab");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("address");
    TCase *t = tcase_create("address");
    tcase_add_test(t, ways_to_a_peer);
    tcase_add_test(t, names_and_addresses_with_and_without_ports);
    tcase_add_test(t, lists_that_are_none);
    tcase_add_test(t, own_host_is_no_peer);
    tcase_add_test(t, own_addresses_are_no_peers);
    tcase_add_test(t, numbers_that_no_machine_has);
    tcase_add_test(t, a_name_that_nobody_knows);
    tcase_add_test(t, private_ranges);
    tcase_add_test(t, unknown_interfaces_are_answered_with_the_known_ones);
    tcase_add_test(t, words_of_peers_are_harmless);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
