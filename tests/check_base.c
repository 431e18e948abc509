/*
 * tests/check_base.c - errors, notes, statistics, random numbers, suggestions, arenas, JSON and time.
 *
 * Expected values are closed forms or published ones; each says which.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/notes.h"
#include "base/rng.h"
#include "base/stats.h"
#include "base/suggest.h"

static struct notes notes;

START_TEST(err_is_a_code_and_a_sentence)
{
    struct err e = {0};
    ck_assert_int_eq(err_set(&e, ERR_NO_INPUT, "%s: no such file", "a.bin"), -1);
    ck_assert_int_eq(e.code, ERR_NO_INPUT);
    ck_assert_str_eq(e.text, "a.bin: no such file");
    ck_assert_int_eq(err_context(&e, "checkpoint %d", 7), -1);
    ck_assert_str_eq(e.text, "checkpoint 7: a.bin: no such file");
    ck_assert_int_eq(e.code, ERR_NO_INPUT);
    ck_assert_int_eq(err_set(NULL, ERR_IO, "nobody asked"), -1);
    ck_assert_int_eq(err_context(NULL, "nobody asked"), -1);
}
END_TEST

START_TEST(err_is_cut_at_its_end)
{
    struct err e = {0};
    char longest[1000], context[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    err_set(&e, ERR_IO, "begin %s", longest);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert(strncmp(e.text, "begin x", 7) == 0);
    err_context(&e, "outer");
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert(strncmp(e.text, "outer: begin x", 14) == 0);
    memset(context, 'c', sizeof context - 1); /* longer than the whole text: no room for what was there */
    context[sizeof context - 1] = '\0';
    err_context(&e, "%s", context);
    ck_assert_uint_eq(strlen(e.text), sizeof e.text - 1);
    ck_assert_uint_eq(strspn(e.text, "c"), sizeof e.text - 1);
}
END_TEST

/* The numbers are promised to scripts (sysexits.h where it has one, 130 = 128 + SIGINT). */
START_TEST(err_codes_have_fixed_numbers_and_names)
{
    static const struct {
        enum err_code code;
        int number;
        const char *name;
    } known[] = {
        {ERR_OK, 0, "ok"},
        {ERR_REGRESSION, 1, "regression"},
        {ERR_USAGE, 64, "usage"},
        {ERR_DATA, 65, "bad data"},
        {ERR_NO_INPUT, 66, "missing file"},
        {ERR_NO_HOST, 68, "unknown host"},
        {ERR_UNAVAILABLE, 69, "unavailable"},
        {ERR_WRONG_RESULT, 70, "wrong result"},
        {ERR_MEMORY, 71, "out of memory"},
        {ERR_CANNOT_CREATE, 73, "cannot create"},
        {ERR_IO, 74, "input/output"},
        {ERR_PEER_LOST, 75, "peer lost"},
        {ERR_PROTOCOL, 76, "protocol"},
        {ERR_NOT_PAIRED, 77, "not paired"},
        {ERR_CONFIG, 78, "configuration"},
        {ERR_INTERRUPTED, 130, "interrupted"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert_int_eq((int)known[i].code, known[i].number);
        ck_assert_str_eq(err_code_name(known[i].code), known[i].name);
    }
    ck_assert_ptr_nonnull(err_code_name((enum err_code)99));
}
END_TEST

START_TEST(notes_keep_a_text_once)
{
    notes_add(&notes, "%s is %d", "governor", 1);
    notes_add(&notes, "other");
    notes_add(&notes, "governor is 1");
    ck_assert_int_eq(notes.n, 2);
    ck_assert_str_eq(notes.text[0], "governor is 1");
    ck_assert_str_eq(notes.text[1], "other");
    ck_assert_int_eq(notes.dropped, 0);
    notes_add(NULL, "nobody listens");
}
END_TEST

START_TEST(notes_count_what_does_not_fit)
{
    for (int i = 0; i < NOTES_MAX + 3; i++)
        notes_add(&notes, "note %d", i);
    notes_add(&notes, "note 0"); /* known, so not left out */
    ck_assert_int_eq(notes.n, NOTES_MAX);
    ck_assert_int_eq(notes.dropped, 3);
    ck_assert_str_eq(notes.text[0], "note 0");
}
END_TEST

START_TEST(notes_are_cut_at_their_end)
{
    char longest[500];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    notes_add(&notes, "begin %s", longest);
    notes_add(&notes, "begin %s", longest);
    ck_assert_int_eq(notes.n, 1); /* equal as far as they are kept */
    ck_assert_uint_eq(strlen(notes.text[0]), sizeof notes.text[0] - 1);
    ck_assert(strncmp(notes.text[0], "begin x", 7) == 0);
}
END_TEST

START_TEST(stats_median_of_odd_even_and_none)
{
    double odd[] = {9, -1, 4}, even[] = {8, 1, 2, 4}, one[] = {5};
    ck_assert_double_eq(stats_median(odd, 3), 4);
    ck_assert_double_eq(stats_median(even, 4), 3);
    ck_assert_double_eq(stats_median(one, 1), 5);
    ck_assert(isnan(stats_median(one, 0)));
    ck_assert_double_eq(even[0], 1); /* sorted in place */
    ck_assert_double_eq(even[3], 8);
}
END_TEST

/* 1 1 2 2 4 6 9: deviations from the median 2 are 1 1 0 0 2 4 7, their median is 1. */
START_TEST(stats_summary_is_median_and_unscaled_mad)
{
    const double x[] = {6, 1, 9, 2, 1, 4, 2};
    double scratch[7], before[7];
    memcpy(before, x, sizeof x);
    struct summary s = stats_summary(x, 7, scratch);
    ck_assert_double_eq(s.median, 2);
    ck_assert_double_eq(s.mad, 1);
    ck_assert_uint_eq(s.n, 7);
    ck_assert_mem_eq(before, x, sizeof x);
    s = stats_summary(x, 0, scratch);
    ck_assert(isnan(s.median) && isnan(s.mad));
    ck_assert_uint_eq(s.n, 0);
}
END_TEST

/* R's default: rank q (n - 1), so for 1 2 4 8 the quartile lies at rank 0.75, 1 + 0.75. */
START_TEST(stats_quantile_is_r_type_7)
{
    const double x[] = {1, 2, 4, 8};
    ck_assert_double_eq(stats_quantile_sorted(x, 4, 0), 1);
    ck_assert_double_eq(stats_quantile_sorted(x, 4, 0.25), 1.75);
    ck_assert_double_eq(stats_quantile_sorted(x, 4, 0.5), 3);
    ck_assert_double_eq_tol(stats_quantile_sorted(x, 4, 0.9), 4 + 0.7 * 4, 1e-12);
    ck_assert_double_eq(stats_quantile_sorted(x, 4, 1), 8);
    ck_assert_double_eq(stats_quantile_sorted(x, 1, 0.3), 1);
    ck_assert(isnan(stats_quantile_sorted(x, 0, 0.5)));
}
END_TEST

/* The first outputs of splitmix64 from state 1234567, as published with test vectors of the reference code. */
START_TEST(rng_mix_is_splitmix64)
{
    static const uint64_t published[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                         4593380528125082431u, 16408922859458223821u};
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_uint_eq(rng_mix(1234567u + i * 0x9e3779b97f4a7c15u), published[i]);
}
END_TEST

static struct rng one_two_three_four(void)
{
    return (struct rng){.s = {1, 2, 3, 4}};
}

/* The reference code's output from state 1 2 3 4, the vector that other implementations are tested with too. */
START_TEST(rng_next_is_xoshiro256_starstar)
{
    static const uint64_t published[] = {11520u,
                                         0u,
                                         1509978240u,
                                         1215971899390074240u,
                                         1216172134540287360u,
                                         607988272756665600u,
                                         16172922978634559625u,
                                         8476171486693032832u,
                                         10595114339597558777u,
                                         2904607092377533576u};
    struct rng r = one_two_three_four();
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(rng_next(&r), published[i]);
}
END_TEST

/* Seeding is this project's own: the state is four splitmix64 outputs in a row from mix(seed) ^ mix(key + a
 * constant). The values are from an independent implementation in Python; initial weights hang on them. */
START_TEST(rng_init_is_the_same_everywhere)
{
    static const struct {
        uint64_t seed, key, first[3];
    } known[] = {
        {0u, 0u, {7626365595775727208u, 3113019647872920351u, 4740363460581070513u}},
        {1u, 0u, {15590456853542666085u, 15609813880153503143u, 10925506131610026557u}},
        {1u, 1u, {4922980276129533312u, 6506326495179198982u, 14017277420808468623u}},
        {42u, 147u, {9213805114455086373u, 7150624989710739029u, 454684363919496629u}},
        {18446744073709551615u,
         18446744073709551615u,
         {13835071749438778235u, 4954648565543574067u, 1254662207041814466u}},
    };
    struct rng r;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        rng_init(&r, known[i].seed, known[i].key);
        for (int j = 0; j < 3; j++)
            ck_assert_uint_eq(rng_next(&r), known[i].first[j]);
    }
}
END_TEST

START_TEST(rng_streams_differ_by_seed_and_key)
{
    enum { STREAMS = 64 };
    uint64_t first[STREAMS];
    struct rng r;
    for (uint64_t i = 0; i < STREAMS; i++) {
        rng_init(&r, i / 8, i % 8);
        first[i] = rng_next(&r);
        for (uint64_t j = 0; j < i; j++)
            ck_assert_uint_ne(first[i], first[j]);
    }
    rng_init(&r, 3, 5);
    r.has_spare = 1;
    rng_init(&r, 3, 5); /* leaves nothing of what was */
    ck_assert_int_eq(r.has_spare, 0);
    ck_assert_uint_eq(rng_next(&r), first[3 * 8 + 5]);
}
END_TEST

START_TEST(rng_uniform_is_53_bits)
{
    struct rng r = one_two_three_four();
    ck_assert_double_eq(rng_uniform(&r), 5 * 0x1p-53); /* 11520 / 2^11 = 5.6 */
    ck_assert_double_eq(rng_uniform(&r), 0);
    rng_init(&r, 1, 1);
    enum { N = 100000 };
    double sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&r);
        ck_assert(u >= 0 && u < 1);
        sum += u;
        square += u * u;
    }
    /* five standard errors: deviation sqrt(1/12) of u, sqrt(4/45) of u^2 */
    ck_assert_double_eq_tol(sum / N, 1.0 / 2, 5 * sqrt(1.0 / 12 / N));
    ck_assert_double_eq_tol(square / N, 1.0 / 3, 5 * sqrt(4.0 / 45 / N));
}
END_TEST

/* For n = 2^63 + 1, 2^64 mod n = 2^63 - 1: the first six published outputs are under it and would be counted twice;
 * the seventh is 16172922978634559625, less n 6949550941779783816. */
START_TEST(rng_below_rejects_what_would_bias)
{
    struct rng r = one_two_three_four();
    ck_assert_uint_eq(rng_below(&r, 9223372036854775809u), 6949550941779783816u);
    ck_assert_uint_eq(rng_next(&r), 8476171486693032832u); /* seven were drawn */
    ck_assert_uint_eq(rng_below(&r, 1), 0);
    int count[7] = {0};
    enum { N = 70000 };
    for (int i = 0; i < N; i++)
        count[rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++) /* five standard deviations of a binomial count */
        ck_assert_double_eq_tol(count[i], N / 7, 5 * sqrt(N / 7.0 * 6 / 7));
}
END_TEST

/* Moments of the normal distribution: 0, 1, 0, 3; 4.550 % of it lies beyond two deviations. Tolerances are five
 * standard errors (the variances of x, x^2, x^3, x^4 are 1, 2, 15, 96). */
START_TEST(rng_normal_has_the_right_moments)
{
    enum { N = 200000 };
    struct rng r;
    double moment[5] = {0}, beyond = 0, neighbours = 0, last = 0;
    rng_init(&r, 7, 3);
    for (int i = 0; i < N; i++) {
        double x = rng_normal(&r), power = 1;
        for (int m = 1; m <= 4; m++) {
            power *= x;
            moment[m] += power / N;
        }
        beyond += fabs(x) > 2;
        neighbours += x * last / N; /* the two of a pair are independent */
        last = x;
    }
    ck_assert_double_eq_tol(moment[1], 0, 5 * sqrt(1.0 / N));
    ck_assert_double_eq_tol(moment[2], 1, 5 * sqrt(2.0 / N));
    ck_assert_double_eq_tol(moment[3], 0, 5 * sqrt(15.0 / N));
    ck_assert_double_eq_tol(moment[4], 3, 5 * sqrt(96.0 / N));
    ck_assert_double_eq_tol(beyond / N, 0.0455003, 5 * sqrt(0.0455 * 0.9545 / N));
    ck_assert_double_eq_tol(neighbours, 0, 5 * sqrt(1.0 / N));
}
END_TEST

/* Edit distances: kitten/sitting 3 and saturday/sunday 3 are the textbook examples. */
START_TEST(suggest_finds_the_nearest_word)
{
    static const char *const models[] = {"gpt2-124m", "shakespeare-char", "mlp-768", "linear-10x2", NULL};
    static const char *const words[] = {"sitting", "sunday", NULL};
    static const char *const none[] = {NULL};
    ck_assert_str_eq(suggest_nearest("shakespear-char", models), "shakespeare-char");
    ck_assert_str_eq(suggest_nearest("gtp2-124m", models), "gpt2-124m"); /* two exchanged letters: 2 */
    ck_assert_str_eq(suggest_nearest("mlp768", models), "mlp-768");
    ck_assert_str_eq(suggest_nearest("kitten", words), "sitting");
    ck_assert_str_eq(suggest_nearest("saturday", words), "sunday");
    ck_assert_ptr_null(suggest_nearest("llama", models));
    ck_assert_ptr_null(suggest_nearest("kit", words)); /* 4 away */
    ck_assert_ptr_null(suggest_nearest("", models));
    ck_assert_ptr_null(suggest_nearest("gpt2", none));
}
END_TEST

START_TEST(suggest_knows_prefixes_and_short_words)
{
    static const char *const options[] = {"--steps", "--seq", "--seed", "--batch", "ab", NULL};
    ck_assert_str_eq(suggest_nearest("--b", options), "--batch"); /* 4 away, but its only prefix */
    ck_assert_str_eq(suggest_nearest("--st", options), "--steps");
    ck_assert_str_eq(suggest_nearest("--seqq", options), "--seq");
    ck_assert_ptr_null(suggest_nearest("xy", options)); /* everything is 2 away from "ab" */
    char word[200];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    ck_assert_ptr_null(suggest_nearest(word, options));
}
END_TEST

START_TEST(arena_is_planned_then_taken)
{
    struct arena a = {0};
    struct err e = {0};
    const size_t mib = 1 << 20;
    size_t small = arena_plan(&a, "small", 1), next = arena_plan(&a, "next", 100),
           large = arena_plan(&a, "large", 2 * mib), last = arena_plan(&a, "last", 3);
    ck_assert_uint_eq(small, 0);
    ck_assert_uint_eq(next, 64);
    ck_assert_uint_eq(large, 2 * mib);
    ck_assert_uint_eq(last, 4 * mib);
    ck_assert_uint_eq(a.bytes, 4 * mib + 3);
    ck_assert_int_eq(a.n, 4);
    ck_assert_str_eq(a.item[2].name, "large");
    ck_assert_uint_eq(a.item[2].bytes, 2 * mib);
    ck_assert_ptr_null(a.base);
    ck_assert_msg(arena_take(&a, &e) == 0, "%s", e.text);
    ck_assert_uint_eq((uintptr_t)arena_at(&a, large) % (2 * mib), 0);
    const char *p = a.base;
    for (size_t i = 0; i < a.bytes; i += 4096)
        ck_assert_int_eq(p[i], 0);
    memset(a.base, 1, a.bytes); /* every byte is ours */
    arena_fini(&a);
    ck_assert_ptr_null(a.base);
    ck_assert_int_eq(a.n, 0);
    arena_fini(&a);
}
END_TEST

START_TEST(arena_that_is_too_large_says_how_large)
{
    struct arena a = {0};
    struct err e = {0};
    arena_plan(&a, "more than an address space", (size_t)1 << 60);
    ck_assert_int_eq(arena_take(&a, &e), -1);
    ck_assert_int_eq(e.code, ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(e.text, "1152921504606846976"));
    ck_assert_ptr_null(a.base);
    arena_fini(&a);
}
END_TEST

static void dumps_to(json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    ck_assert_str_eq(text, expected);
    free(text);
    json_decref(value);
}

START_TEST(json_numbers_that_are_none_are_null)
{
    dumps_to(json_num(NAN), "null");
    dumps_to(json_num(INFINITY), "null");
    dumps_to(json_num(-INFINITY), "null");
    dumps_to(json_num(0), "0.0");
    dumps_to(json_num(-2.5), "-2.5");
    json_t *third = json_num(1.0 / 3);
    char *text = json_dumps(third, JSON_ENCODE_ANY);
    ck_assert_double_eq(strtod(text, NULL), 1.0 / 3); /* 17 digits give the same double back */
    free(text);
    json_decref(third);
}
END_TEST

START_TEST(json_summaries)
{
    dumps_to(json_summary((struct summary){1.5, 0.25, 12}), "{\"mad\":0.25,\"median\":1.5,\"n\":12}");
    dumps_to(json_summary((struct summary){NAN, NAN, 0}), "{\"mad\":null,\"median\":null,\"n\":0}");
}
END_TEST

START_TEST(json_unknown_gives_its_reason)
{
    json_t *root = json_object(), *cpu = json_object();
    json_object_set_new(root, "cpu", cpu);
    json_unknown(root, cpu, "hz", "cpu.hz", "no cpufreq");
    json_unknown(root, root, "watts", "watts", "no RAPL");
    json_unknown(root, cpu, "hz", "cpu.hz", "not readable"); /* the last word counts */
    dumps_to(root,
             "{\"cpu\":{\"hz\":null},\"reasons\":{\"cpu.hz\":\"not readable\",\"watts\":\"no RAPL\"},\"watts\":null}");
}
END_TEST

/* A value, no value, and a null; of an object and of the document itself. A summary of nothing keeps its members. */
START_TEST(json_known_is_a_value_or_null_with_a_reason)
{
    json_t *root = json_object(), *cpu = json_object();
    json_object_set_new(root, "cpu", cpu);
    json_known(root, cpu, "cpu", "cores", json_integer(4), "not counted");
    json_known(root, cpu, "cpu", "name", NULL, "it does not say");
    json_known(root, cpu, "cpu", "hz", json_num(NAN), "no cpufreq");
    json_known(root, root, "", "watts", NULL, "no RAPL");
    json_known_summary(root, cpu, "cpu", "load", (struct summary){.median = 0.5, .mad = 0, .n = 3}, "not read");
    json_known_summary(root, cpu, "cpu", "heat", (struct summary){.median = NAN, .mad = NAN, .n = 3}, "no sensor");
    char *text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    ck_assert_str_eq(text, "{\"cpu\":{\"cores\":4,\"heat\":{\"mad\":null,\"median\":null,\"n\":0},\"hz\":null,"
                           "\"load\":{\"mad\":0.0,\"median\":0.5,\"n\":3},\"name\":null},"
                           "\"reasons\":{\"cpu.heat\":\"no sensor\",\"cpu.hz\":\"no cpufreq\","
                           "\"cpu.name\":\"it does not say\",\"watts\":\"no RAPL\"},\"watts\":null}");
    free(text);
    json_decref(root);
}
END_TEST

START_TEST(clock_measures_a_nap)
{
    const struct timespec nap = {.tv_nsec = 20000000};
    uint64_t start_ns = clock_now_ns();
    nanosleep(&nap, NULL);
    double slept_s = clock_seconds(start_ns, clock_now_ns());
    ck_assert(slept_s >= 0.020 && slept_s < 50);
    ck_assert_double_eq(clock_seconds(1000000000u, 3500000000u), 2.5);
    double cost_ns = clock_cost_ns();
    ck_assert(cost_ns > 0 && cost_ns < 100000);
}
END_TEST

START_TEST(clock_utc_is_iso_8601)
{
    char text[21];
    struct tm tm = {0};
    time_t before = time(NULL);
    clock_utc(text);
    time_t after = time(NULL);
    ck_assert_uint_eq(strlen(text), 20);
    ck_assert_int_eq(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                            &tm.tm_min, &tm.tm_sec),
                     6);
    ck_assert_int_eq(text[19], 'Z');
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    time_t said = timegm(&tm);
    ck_assert(said >= before && said <= after);
}
END_TEST

static void reset(void)
{
    notes = (struct notes){0};
}

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *t = tcase_create("base");
    tcase_add_checked_fixture(t, reset, NULL);
    tcase_add_test(t, err_is_a_code_and_a_sentence);
    tcase_add_test(t, err_is_cut_at_its_end);
    tcase_add_test(t, err_codes_have_fixed_numbers_and_names);
    tcase_add_test(t, notes_keep_a_text_once);
    tcase_add_test(t, notes_count_what_does_not_fit);
    tcase_add_test(t, notes_are_cut_at_their_end);
    tcase_add_test(t, stats_median_of_odd_even_and_none);
    tcase_add_test(t, stats_summary_is_median_and_unscaled_mad);
    tcase_add_test(t, stats_quantile_is_r_type_7);
    tcase_add_test(t, rng_mix_is_splitmix64);
    tcase_add_test(t, rng_next_is_xoshiro256_starstar);
    tcase_add_test(t, rng_init_is_the_same_everywhere);
    tcase_add_test(t, rng_streams_differ_by_seed_and_key);
    tcase_add_test(t, rng_uniform_is_53_bits);
    tcase_add_test(t, rng_below_rejects_what_would_bias);
    tcase_add_test(t, rng_normal_has_the_right_moments);
    tcase_add_test(t, suggest_finds_the_nearest_word);
    tcase_add_test(t, suggest_knows_prefixes_and_short_words);
    tcase_add_test(t, arena_is_planned_then_taken);
    tcase_add_test(t, arena_that_is_too_large_says_how_large);
    tcase_add_test(t, json_numbers_that_are_none_are_null);
    tcase_add_test(t, json_summaries);
    tcase_add_test(t, json_unknown_gives_its_reason);
    tcase_add_test(t, json_known_is_a_value_or_null_with_a_reason);
    tcase_add_test(t, clock_measures_a_nap);
    tcase_add_test(t, clock_utc_is_iso_8601);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
