/*
 * tests/check_units.c - rates and times with their units: what is read, what is refused, what is printed.
 *
 * Expected values are the definitions (SI prefixes, 8 bits to the byte, 0.9415 x nominal for a medium).
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/units.h"

#define NEAR(x, y) ck_assert_double_eq_tol((x), (y), 1e-12 * (y))

static double rate(const char *text)
{
    double x = -1;
    struct err e = {0};
    ck_assert_msg(units_parse_rate(text, &x, &e) == 0, "%s: %s", text, e.text);
    return x;
}

static double seconds(const char *text)
{
    double x = -1;
    struct err e = {0};
    ck_assert_msg(units_parse_time(text, &x, &e) == 0, "%s: %s", text, e.text);
    return x;
}

START_TEST(rates_are_bytes_per_second)
{
    NEAR(rate("100Mbit"), 12.5e6);
    NEAR(rate("941.5Mbit"), 117.6875e6);
    NEAR(rate("1Gbit"), 125e6);
    NEAR(rate("2.5Gbit/s"), 312.5e6);
    NEAR(rate("125MB/s"), 125e6);
    NEAR(rate("12.5MB/s"), 12.5e6);
    NEAR(rate("1MiB/s"), 1048576.0);
    NEAR(rate("1GiB/s"), 1073741824.0);
    NEAR(rate("64KiB/s"), 65536.0);
    NEAR(rate("1kbit"), 125.0);
    NEAR(rate(".5Mbit"), 62500.0);
    NEAR(rate("10Tbit"), 1.25e12);
}
END_TEST

START_TEST(media_are_their_payload)
{
    NEAR(rate("100M-eth"), 0.9415 * 12.5e6);
    NEAR(rate("1G-eth"), 117.6875e6); /* 941.5 Mbit/s */
    NEAR(rate("2.5G-eth"), 0.9415 * 312.5e6);
    NEAR(rate("10G-eth"), 0.9415 * 1250e6);
    ck_assert(units_medium_find("1G-eth") && units_medium_find("1G-eth")->nominal_bits_per_s == 1e9);
    ck_assert_ptr_null(units_medium_find("1Gbit"));
}
END_TEST

START_TEST(times_are_seconds)
{
    NEAR(seconds("2ms"), 2e-3);
    NEAR(seconds("250us"), 250e-6);
    NEAR(seconds("1.5s"), 1.5);
    NEAR(seconds("800ns"), 800e-9);
    ck_assert_double_eq(seconds("0"), 0);
    ck_assert_double_eq(seconds("0ms"), 0);
}
END_TEST

/* Each could be meant in more than one way, or in none. */
START_TEST(what_is_no_rate_is_refused)
{
    static const char *const bad[] = {"",       "1000",    "100",       "941,5Mbit", "1gb",       "1Gb",    "100M",
                                      "Mbit",   "-5Mbit",  "+5Mbit",    "1e3Mbit",   "0x10Mbit",  " 5Mbit", "5 Mbit",
                                      "5Mbit ", "nanMbit", "infMbit",   "1.2.3Mbit", ".Mbit",     "5mbit",  "5Mbits",
                                      "1G-ETH", "3G-eth",  "5Mbit,1ms", "1MB",       "5Mbit/sec", "1GbitX"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x = -1;
        struct err e = {0};
        ck_assert_msg(units_parse_rate(bad[i], &x, &e) == -1, "%s", bad[i]);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_msg(strstr(e.text, bad[i]) && strstr(e.text, "941.5Mbit"), "%s", e.text);
        ck_assert_double_eq(x, -1);
    }
}
END_TEST

START_TEST(rates_beyond_reason_are_refused)
{
    static const char *const bad[] = {"0Mbit", "0.0001kbit", "10.1Tbit", "99999999999999999999Gbit"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x;
        struct err e = {0};
        ck_assert_msg(units_parse_rate(bad[i], &x, &e) == -1, "%s", bad[i]);
        ck_assert_int_eq(e.code, ERR_USAGE);
        ck_assert_msg(strstr(e.text, "outside"), "%s", e.text);
    }
    char longest[200];
    memset(longest, '9', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(units_parse_rate(longest, &(double){0}, NULL), -1);
}
END_TEST

START_TEST(what_is_no_time_is_refused)
{
    static const char *const bad[] = {"", "2", "2m", "2min", "-1ms", "1,5ms", "2000s", "1e-3s", "ms", "0.1ns"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double x;
        struct err e = {0};
        ck_assert_msg(units_parse_time(bad[i], &x, &e) == -1, "%s", bad[i]);
        ck_assert_int_eq(e.code, ERR_USAGE);
    }
}
END_TEST

START_TEST(numbers_are_plain)
{
    double x;
    ck_assert(units_parse_number("2", &x) && x == 2);
    ck_assert(units_parse_number("0.25", &x) && x == 0.25);
    ck_assert(!units_parse_number("1e3", &x));
    ck_assert(!units_parse_number("-1", &x));
    ck_assert(!units_parse_number("1x", &x));
    ck_assert(!units_parse_number("", &x));
    ck_assert(!units_parse_number(".", &x));
}
END_TEST

START_TEST(rates_are_printed_both_ways)
{
    char buf[64];
    ck_assert_str_eq(units_format_rate(buf, sizeof buf, 117.6875e6), "941.5 Mbit/s (117.7 MB/s)");
    ck_assert_str_eq(units_format_rate(buf, sizeof buf, 12.5e6), "100 Mbit/s (12.5 MB/s)");
    ck_assert_str_eq(units_format_rate(buf, sizeof buf, 125e6), "1 Gbit/s (125 MB/s)");
    ck_assert_str_eq(units_format_rate(buf, sizeof buf, 312.5e6), "2.5 Gbit/s (312.5 MB/s)");
    ck_assert_str_eq(units_format_rate(buf, sizeof buf, 125), "1 kbit/s (0.125 kB/s)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *t = tcase_create("units");
    tcase_add_test(t, rates_are_bytes_per_second);
    tcase_add_test(t, media_are_their_payload);
    tcase_add_test(t, times_are_seconds);
    tcase_add_test(t, what_is_no_rate_is_refused);
    tcase_add_test(t, rates_beyond_reason_are_refused);
    tcase_add_test(t, what_is_no_time_is_refused);
    tcase_add_test(t, numbers_are_plain);
    tcase_add_test(t, rates_are_printed_both_ways);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
