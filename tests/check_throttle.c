/* tests/check_throttle.c - strangers are heard in moderation: a burst of 10, then one each 500 ms, by address. Times are given,
 * so nothing here depends on a clock. */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "comm/throttle.h"

#define MS UINT64_C(1000000)

static struct throttle t;
static uint64_t again_ns;

/* 10.0.HIGH.LOW, from a port that changes */
static struct address host(int high, int low)
{
    static int port = 1000;
    struct address a = {.bytes = sizeof(struct sockaddr_in)};
    struct sockaddr_in *in = (struct sockaddr_in *)&a.sa;
    in->sin_family = AF_INET;
    in->sin_port = htons((uint16_t)port++);
    in->sin_addr.s_addr = htonl(0x0a000000u | (uint32_t)high << 8 | (uint32_t)low);
    return a;
}

static int heard(struct address from, int asked, uint64_t now_ns)
{
    int n = 0;
    for (int i = 0; i < asked; i++)
        n += throttle_take(&t, &from, now_ns, &again_ns);
    return n;
}

static void reset(void)
{
    memset(&t, 0, sizeof t);
}

START_TEST(a_burst_then_two_a_second)
{
    ck_assert_int_eq(heard(host(0, 1), 25, 1000 * MS), 10);
    ck_assert_uint_ge(again_ns, 1500 * MS);
    ck_assert_uint_le(again_ns, 1501 * MS);
    ck_assert_int_eq(heard(host(0, 1), 5, 1499 * MS), 0);
    ck_assert_int_eq(heard(host(0, 1), 5, again_ns), 1);
    ck_assert_int_eq(heard(host(0, 1), 25, 4600 * MS), 6);    /* 3.1 s at two a second */
    ck_assert_int_eq(heard(host(0, 1), 25, 100000 * MS), 10); /* never more than the burst */
}
END_TEST

START_TEST(addresses_do_not_share)
{
    heard(host(0, 1), 25, 1000 * MS);
    ck_assert_int_eq(heard(host(0, 2), 25, 1000 * MS), 10);
}
END_TEST

START_TEST(who_proves_a_key_pays_nothing)
{
    struct address known = host(0, 1);
    for (int i = 0; i < 100; i++) {
        ck_assert(throttle_take(&t, &known, 1000 * MS, &again_ns));
        throttle_return(&t, &known, 1000 * MS);
    }
    ck_assert_int_eq(heard(known, 25, 1000 * MS), 10);
    throttle_return(&t, &(struct address){0}, 1000 * MS); /* one that has been forgotten */
}
END_TEST

/* More addresses than are remembered: the one that asked longest ago begins anew, the latest does not. */
START_TEST(the_oldest_is_forgotten)
{
    for (int i = 0; i < THROTTLE_ADDRESSES; i++)
        ck_assert_int_eq(heard(host(1, i), 10, (1000 + (uint64_t)i) * MS), 10);
    ck_assert_int_eq(heard(host(2, 0), 10, 1100 * MS), 10); /* in place of 1, 0 */
    ck_assert_int_eq(heard(host(1, THROTTLE_ADDRESSES - 1), 10, 1100 * MS), 0);
    ck_assert_int_eq(heard(host(1, 0), 10, 1100 * MS), 10);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("throttle");
    TCase *c = tcase_create("throttle");
    tcase_add_checked_fixture(c, reset, NULL);
    tcase_add_test(c, a_burst_then_two_a_second);
    tcase_add_test(c, addresses_do_not_share);
    tcase_add_test(c, who_proves_a_key_pays_nothing);
    tcase_add_test(c, the_oldest_is_forgotten);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
