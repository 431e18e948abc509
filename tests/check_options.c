/* tests/check_options.c - what the command line accepts, what it refuses, and in which words. */
#include <check.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

enum { ARGS_MAX = 16 };

static struct options o;
static struct err e;

/* Arguments end with NULL; the command's own word is put before them. */
static int parse_for(enum options_of command, ...)
{
    char *argv[ARGS_MAX] = {(char *)"run"};
    int argc = 1;
    va_list ap;
    va_start(ap, command);
    for (char *a; (a = va_arg(ap, char *));)
        argv[argc++] = a;
    va_end(ap);
    e = (struct err){0};
    return options_parse(&o, command, argc, argv, &e);
}

#define parse(...) parse_for(OPTIONS_RUN, __VA_ARGS__, (char *)NULL)

#define refused(word, ...)                                                             \
    do {                                                                               \
        ck_assert_int_eq(parse(__VA_ARGS__), -1);                                      \
        ck_assert_int_eq(e.code, ERR_USAGE);                                           \
        ck_assert_msg(strstr(e.text, word) != NULL, "no '%s' in: %s", word, e.text);   \
        ck_assert_msg(strchr(e.text, '\n') == NULL, "more than one line: %s", e.text); \
    } while (0)

/* The values documented in ddp/run.h and by --help. */
START_TEST(defaults_as_documented)
{
    ck_assert_int_eq(parse_for(OPTIONS_RUN, (char *)NULL), 0);
    ck_assert_str_eq(o.run.model, "shakespeare-char");
    ck_assert_int_eq(o.run.batch, 0);
    ck_assert_int_eq(o.run.seq, 0);
    ck_assert_int_eq(o.run.steps, -1);
    ck_assert(o.run.time_s == 60);
    ck_assert_int_eq(o.run.warmup, 2);
    ck_assert_uint_eq(o.run.seed, 1);
    ck_assert(o.run.lr < 0);
    ck_assert(o.run.clip == 0);
    ck_assert_int_eq(o.run.accum, 1);
    ck_assert(o.run.split == 1);
    ck_assert_int_eq(o.run.world, 1);
    ck_assert(o.run.floor);
    ck_assert_int_eq(o.run.poison_step, -1);
    ck_assert_int_eq(o.threads, 0);
    ck_assert(!o.json && !o.help && !o.run.drop_last);
    ck_assert_ptr_null(o.run.data);
}
END_TEST

START_TEST(values_arrive)
{
    ck_assert_int_eq(parse("--model", "gpt2-124m", "--batch=4", "--seq", "64", "--steps", "0", "--lr", "6e-4"), 0);
    ck_assert_str_eq(o.run.model, "gpt2-124m");
    ck_assert_int_eq(o.run.batch, 4);
    ck_assert_int_eq(o.run.seq, 64);
    ck_assert_int_eq(o.run.steps, 0);
    ck_assert(o.run.lr == 6e-4);
    ck_assert_int_eq(parse("--seed", "9223372036854775807", "--time", ".5", "--no-floor", "--drop-last", "--json"), 0);
    ck_assert(o.run.seed == INT64_MAX);
    ck_assert(o.run.time_s == 0.5);
    ck_assert(!o.run.floor && o.run.drop_last && o.json);
    ck_assert_int_eq(parse("--label=--json", "--threads", "2", "--threads", "3"), 0);
    ck_assert_str_eq(o.label, "--json");
    ck_assert(!o.json);
    ck_assert_int_eq(o.threads, 3); /* the last one counts */
}
END_TEST

START_TEST(validation_implies_a_split)
{
    ck_assert_int_eq(parse("--eval", "3"), 0);
    ck_assert(o.run.split == 0.9);
    ck_assert_int_eq(parse("--eval", "3", "--split", "0.5"), 0);
    ck_assert(o.run.split == 0.5);
    ck_assert_int_eq(parse("--eval", "0"), 0);
    ck_assert(o.run.split == 1);
}
END_TEST

START_TEST(broken_numbers)
{
    static const char *const whole[] = {"",      "-1",  "+1",   " 1",      "1 ",
                                        "1.0",   "1e3", "0x10", "4k",      "nan",
                                        "1,2,4", "٣",   "0",    "1048577", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        refused("--batch", "--batch", whole[i]);
        ck_assert_ptr_nonnull(strstr(e.text, whole[i]));
        ck_assert_ptr_nonnull(strstr(e.text, "a whole number from 1 to 1048576"));
    }
    static const char *const real[] = {"",    "-1", "+1", " 1",    "1 ", "0,5", "1.5.2",  "0x1p3",    "inf",
                                       "nan", "1e", "e1", "1e999", ".",  "--5", "1000.1", "infinity", "1_0"};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        char option[64];
        snprintf(option, sizeof option, "--lr=%s", real[i]);
        refused("--lr", option);
        ck_assert_ptr_nonnull(strstr(e.text, real[i]));
        ck_assert_ptr_nonnull(strstr(e.text, "a number from 0 to 1000"));
    }
    refused("--seed", "--seed", "9223372036854775808");
    refused("--split", "--split", "0");
    refused("--split", "--split", "1.1");
    refused("--time", "--time", "-0.1");
}
END_TEST

/* One decimal sign everywhere: what a German shell shows as 2,5 is still written 2.5 here. */
START_TEST(decimal_point_only)
{
    ck_assert_int_eq(parse("--time", "2.5"), 0);
    ck_assert(o.run.time_s == 2.5);
    refused("2,5", "--time", "2,5");
}
END_TEST

START_TEST(unknown_options)
{
    refused("did you mean --steps?", "--stepps", "3");
    refused("did you mean --model?", "--modle=gpt2-124m");
    refused("did you mean --steps?", "--step", "3"); /* no abbreviations */
    refused("'--frobnicate'", "--frobnicate");
    refused("'-b'", "-b", "4");
    refused("'gpt2-124m'; did you mean --model gpt2-124m?", "gpt2-124m");
    refused("unexpected argument", "--", "x");
    refused("unexpected argument 'x'", "--steps", "1", "x");
    ck_assert_int_eq(parse_for(OPTIONS_INFO, "--steps", "1", (char *)NULL), -1); /* not one of info's */
    ck_assert_int_eq(parse("--test-nan-step", "0"), 0);
    refused("unknown option '--test-nan-ste'", "--test-nan-ste");
    ck_assert_ptr_null(strstr(e.text, "--test-nan-step")); /* hidden options are not suggested */
}
END_TEST

START_TEST(missing_and_superfluous_values)
{
    refused("option --batch needs a whole number", "--batch");
    refused("option --data needs a value (FILE)", "--data", "--json");
    refused("option --data takes a value (FILE), not an empty text", "--data", "");
    refused("option --json takes no value", "--json=yes");
    refused("--batch", "--batch=");
}
END_TEST

START_TEST(not_in_this_version)
{
    refused("--spawn", "--spawn", "0");
    refused("ddp or split", "--schedule", "ring");
    refused("yes, no or auto", "--optimizer-per-bucket", "never");
    refused("tcp, gloo, mpi or null", "--comm", "nccl");
    refused("per rank", "--batch", "2", "--global-batch", "4");
    refused("--dtype", "--dtype", "bf16");
    ck_assert_int_eq(parse("--spawn", "1", "--dtype", "fp32"), 0);
}
END_TEST

START_TEST(help_lists_every_option)
{
    char *text = options_help(OPTIONS_RUN, "x [OPTION...]", "before", "after\n");
    ck_assert_ptr_nonnull(text);
    static const char *const names[] = {
        "--model",   "--batch",      "--seq",      "--accum",     "--lr",     "--clip",        "--dtype",
        "--seed",    "--steps",      "--time",     "--warmup",    "--data",   "--split",       "--eval",
        "--save",    "--checkpoint", "--json",     "--threads",   "--label",  "--results-dir", "--help",
        "--sysroot", "--spawn",      "--no-floor", "--drop-last", "--version"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(strstr(text, names[i]) != NULL, "%s is missing", names[i]);
    ck_assert_ptr_null(strstr(text, "test-nan-step"));
    ck_assert_ptr_nonnull(strstr(text, "Usage: x [OPTION...]"));
    free(text);
    ck_assert_int_eq(parse("-h"), 0);
    ck_assert(o.help);
    ck_assert_int_eq(parse("--version"), 0);
    ck_assert(o.version);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");
    tcase_add_test(t, defaults_as_documented);
    tcase_add_test(t, values_arrive);
    tcase_add_test(t, validation_implies_a_split);
    tcase_add_test(t, broken_numbers);
    tcase_add_test(t, decimal_point_only);
    tcase_add_test(t, unknown_options);
    tcase_add_test(t, missing_and_superfluous_values);
    tcase_add_test(t, not_in_this_version);
    tcase_add_test(t, help_lists_every_option);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
