/*
 * tests/check_blas_choice.c - the choice of OpenBLAS's kernel, mostly on machines that are not at hand.
 *
 * The decision is pure, so each machine is a struct of facts and a record of made-up rates; the right action
 * follows from the contract in model/blas_choice.h. With the argument --apply this program is instead what
 * tests/blas_choice.sh drives: it makes the real choice on this machine and prints it as JSON.
 */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "model/gemm.h"
#include "tests/blas_machine.h"

static struct notes notes;
static struct err error;
static struct blas_choice choice;

static void reset(void)
{
    notes = (struct notes){0};
    error = (struct err){0};
}

static enum blas_action decide(const struct blas_facts *f, bool with_record)
{
    return blas_choice_decide(f, with_record ? &machine_record : NULL, &choice, &notes, &error);
}

START_TEST(classes_of_kernels_and_cpus)
{
    ck_assert_int_eq(blas_core_class("Prescott"), BLAS_CLASS_SSE);
    ck_assert_int_eq(blas_core_class("Nehalem"), BLAS_CLASS_SSE);
    ck_assert_int_eq(blas_core_class("Sandybridge"), BLAS_CLASS_AVX);
    ck_assert_int_eq(blas_core_class("haswell"), BLAS_CLASS_AVX2);
    ck_assert_int_eq(blas_core_class("Zen"), BLAS_CLASS_AVX2);
    ck_assert_int_eq(blas_core_class("SKYLAKEX"), BLAS_CLASS_AVX512);
    ck_assert_int_eq(blas_core_class("neoversen1"), BLAS_CLASS_UNKNOWN);

    struct blas_cpu cpu = {.features = 0};
    ck_assert_int_eq(blas_cpu_class(&cpu), BLAS_CLASS_SSE);
    cpu.features = BLAS_AVX;
    ck_assert_int_eq(blas_cpu_class(&cpu), BLAS_CLASS_AVX);
    cpu.features = BLAS_AVX | BLAS_AVX2; /* a hypervisor that hides FMA: the Haswell kernel would die */
    ck_assert_int_eq(blas_cpu_class(&cpu), BLAS_CLASS_AVX);
    cpu.features = AVX2_CPU | BLAS_AVX512F | BLAS_AVX512CD; /* Knights Landing */
    ck_assert_int_eq(blas_cpu_class(&cpu), BLAS_CLASS_AVX2);
    cpu.features = AVX512_CPU;
    ck_assert_int_eq(blas_cpu_class(&cpu), BLAS_CLASS_AVX512);
}
END_TEST

static void candidates(unsigned features, const char *expected)
{
    struct blas_cpu cpu = {.features = features};
    const char *core[BLAS_CANDIDATES_MAX];
    char list[128] = "";
    int n = blas_cpu_candidates(&cpu, core);
    for (int i = 0; i < n; i++) {
        strcat(list, core[i]);
        strcat(list, " ");
    }
    ck_assert_str_eq(list, expected);
}

START_TEST(candidates_are_what_the_cpu_can_run)
{
    candidates(BF16_CPU, "Cooperlake SkylakeX Haswell Zen ");
    candidates(AVX512_CPU, "SkylakeX Haswell Zen ");
    candidates(AVX2_CPU, "Haswell Zen ");
    candidates(BLAS_AVX, "Sandybridge ");
    candidates(0, "");
}
END_TEST

START_TEST(this_cpu_agrees_with_the_kernel_log)
{
    struct blas_cpu cpu;
    char flags[128];
    blas_cpu_read(&cpu);
    FILE *f = fopen("/proc/cpuinfo", "r");
    ck_assert_ptr_nonnull(f);
    static char line[16384];
    static const char *const pick[] = {"avx", "avx2", "fma", "avx512f", "avx512vl", "avx512_bf16"};
    const struct {
        const char *format;
        const int *read;
    } number[] = {{"cpu family : %d", &cpu.family}, {"model : %d", &cpu.model}, {"stepping : %d", &cpu.stepping}};
    blas_cpu_flags(&cpu, flags, sizeof flags);
    int value, seen = 0;
    while (fgets(line, sizeof line, f) && strcmp(line, "\n") != 0) {
        for (unsigned i = 0; i < sizeof number / sizeof *number; i++)
            if (sscanf(line, number[i].format, &value) == 1) {
                ck_assert_int_eq(*number[i].read, value);
                seen++;
            }
        if (strncmp(line, "flags\t", 6) == 0) {
            char padded[160], wanted[32];
            snprintf(padded, sizeof padded, " %s ", flags);
            line[strcspn(line, "\n")] = ' ';
            for (unsigned i = 0; i < sizeof pick / sizeof *pick; i++) {
                snprintf(wanted, sizeof wanted, " %s ", pick[i]);
                ck_assert_msg(!strstr(padded, wanted) == !strstr(line, wanted), "%s", pick[i]);
            }
            seen++;
        }
    }
    fclose(f);
#ifdef __x86_64__
    ck_assert_int_eq(seen, 4);
#else
    ck_assert_int_eq(cpu.features, 0);
#endif
}
END_TEST

START_TEST(the_best_class_is_left_alone)
{
    static const struct {
        const char *core;
        unsigned features;
    } good[] = {{"SkylakeX", AVX512_CPU}, {"SkylakeX", BF16_CPU},      {"Cooperlake", BF16_CPU},
                {"Haswell", AVX2_CPU},    {"Zen", AVX2_CPU},           {"Sandybridge", BLAS_AVX},
                {"Nehalem", 0},           {"GraniteRapids", BF16_CPU}, {"neoversev1", 0}};
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        struct blas_facts f = machine(good[i].core, good[i].features);
        ck_assert_int_eq(decide(&f, false), BLAS_KEEP);
        ck_assert_str_eq(choice.core, good[i].core);
        ck_assert_str_eq(choice.default_core, good[i].core);
        ck_assert_int_eq(choice.origin, BLAS_DEFAULT);
        ck_assert(!choice.measured && isnan(choice.chosen_gflops) && isnan(choice.gain));
    }
    ck_assert_int_eq(notes.n, 0);
}
END_TEST

START_TEST(a_weaker_or_stronger_default_is_measured)
{
    static const struct {
        const char *core;
        unsigned features;
    } odd[] = {{"Prescott", AVX2_CPU}, {"Prescott", BF16_CPU}, {"Haswell", AVX512_CPU},
               {"Zen", BF16_CPU},      {"Prescott", BLAS_AVX}, {"SkylakeX", AVX2_CPU}};
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct blas_facts f = machine(odd[i].core, odd[i].features);
        ck_assert_int_eq(decide(&f, false), BLAS_MEASURE);
    }
}
END_TEST

START_TEST(a_faster_kernel_starts_again)
{
    struct blas_facts f = machine_fallen_back();
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_str_eq(choice.core, "Cooperlake");
    ck_assert_int_eq(choice.origin, BLAS_CHOSEN);
    ck_assert_str_eq(choice.default_core, "Prescott");
    ck_assert_double_eq(choice.chosen_gflops, 150);
    ck_assert_double_eq(choice.default_gflops, 33);
    ck_assert_double_eq_tol(choice.gain, 150.0 / 33, 1e-12);
    ck_assert_str_eq(choice.text,
                     "OpenBLAS 0.3.21 picks Prescott on this CPU: 33 GFLOP/s per core; Cooperlake gives 150");
    f.origin = BLAS_CACHED;
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_int_eq(choice.origin, BLAS_CACHED);
    ck_assert_int_eq(notes.n, 0);
}
END_TEST

START_TEST(near_equals_go_to_the_preferred)
{
    struct blas_facts f = machine_fallen_back();
    machine_measured("SkylakeX", "SkylakeX", 157, 2e-7); /* 150 is 95.5 % of it */
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_str_eq(choice.core, "Cooperlake");
    machine_measured("SkylakeX", "SkylakeX", 159, 2e-7); /* 94.3 % */
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_str_eq(choice.core, "SkylakeX");
    machine_measured("", "Prescott", 152, 2e-7); /* a default that keeps up stays, although its class is lower */
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_str_eq(choice.core, "Prescott");
    ck_assert_int_eq(choice.origin, BLAS_DEFAULT);
    ck_assert_double_eq(choice.gain, 1);
}
END_TEST

START_TEST(wrong_dead_and_missing_kernels_are_out)
{
    struct blas_facts f = machine_fallen_back();
    machine_measured("Cooperlake", "Cooperlake", 300, 0.5);
    machine_died("SkylakeX", SIGILL);
    machine_measured("Zen", "Prescott", 500, 2e-7); /* a library without it runs another */
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_str_eq(choice.core, "Haswell");
    ck_assert_int_eq(choice.record.candidate[1].status, BLAS_WRONG);
    ck_assert_int_eq(choice.record.candidate[4].status, BLAS_IGNORED);
    machine_measured("Haswell", "Haswell", 400, NAN); /* an error that is no number is no small error */
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_str_eq(choice.core, "Prescott");
    ck_assert_double_eq(choice.chosen_gflops, 33);
}
END_TEST

START_TEST(a_default_that_is_wrong_or_dies_is_replaced)
{
    struct blas_facts f = machine_fallen_back();
    machine_measured("", "Prescott", 900, 0.01);
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_str_eq(choice.core, "Cooperlake");
    ck_assert(isnan(choice.default_gflops) && isnan(choice.gain));
    ck_assert_int_eq(notes.n, 1);
    ck_assert_ptr_nonnull(strstr(notes.text[0], "Prescott"));
    machine_died("", SIGILL);
    ck_assert_int_eq(decide(&f, true), BLAS_RESTART);
    ck_assert_str_eq(choice.core, "Cooperlake");
}
END_TEST

START_TEST(nothing_right_is_an_error)
{
    struct blas_facts f = machine("Prescott", AVX2_CPU);
    machine_prepare(&f);
    machine_measured("", "Prescott", 33, 2e-4);
    machine_died("Haswell", SIGILL);
    machine_died("Zen", SIGILL);
    ck_assert_int_eq(decide(&f, true), BLAS_REFUSE);
    ck_assert_int_eq(error.code, ERR_WRONG_RESULT);
    ck_assert_ptr_nonnull(strstr(error.text, "Prescott"));
    machine_died("", SIGILL);
    ck_assert_int_eq(decide(&f, true), BLAS_REFUSE);
    ck_assert_int_eq(error.code, ERR_WRONG_RESULT);
    ck_assert_ptr_nonnull(strstr(error.text, "SIGILL"));
}
END_TEST

START_TEST(nothing_measurable_keeps_the_default)
{
    struct blas_facts f = machine("Prescott", AVX2_CPU);
    machine_prepare(&f); /* all untried, as if no process could be started */
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_str_eq(choice.core, "Prescott");
    ck_assert_int_eq(notes.n, 1);
}
END_TEST

START_TEST(the_users_kernel_wins_with_a_note)
{
    struct blas_facts f = machine("Haswell", BF16_CPU);
    f.user = "Haswell";
    ck_assert_int_eq(decide(&f, false), BLAS_MEASURE);
    machine_prepare(&f);
    machine_measured("", "Cooperlake", 235, 2e-7);
    machine_measured("Cooperlake", "Cooperlake", 234, 2e-7);
    machine_measured("SkylakeX", "SkylakeX", 226, 2e-7);
    machine_measured("Haswell", "Haswell", 120, 2e-7);
    machine_measured("Zen", "Zen", 121, 2e-7);
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_str_eq(choice.core, "Haswell");
    ck_assert_int_eq(choice.origin, BLAS_USER);
    ck_assert_str_eq(choice.default_core, "Cooperlake");
    ck_assert_double_eq(choice.chosen_gflops, 120);
    ck_assert_double_eq_tol(choice.gain, 120.0 / 235, 1e-12);
    ck_assert_int_eq(notes.n, 1);
    ck_assert_str_eq(notes.text[0],
                     "OPENBLAS_CORETYPE=Haswell is set: 120 GFLOP/s per core; Cooperlake would give 235");
}
END_TEST

START_TEST(the_users_kernel_without_a_note)
{
    struct blas_facts f = machine("SkylakeX", BF16_CPU);
    f.user = "skylakex";
    ck_assert_int_eq(decide(&f, false), BLAS_KEEP); /* best class: nothing to measure */
    ck_assert_int_eq(choice.origin, BLAS_USER);
    f = machine("Haswell", AVX512_CPU);
    f.user = "Haswell";
    machine_prepare(&f);
    machine_measured("", "SkylakeX", 100, 2e-7);
    machine_measured("SkylakeX", "SkylakeX", 100, 2e-7);
    machine_measured("Haswell", "Haswell", 97, 2e-7); /* a CPU that clocks down under wide vectors */
    machine_measured("Zen", "Zen", 97, 2e-7);
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_int_eq(notes.n, 0);
}
END_TEST

START_TEST(the_users_name_that_has_no_effect)
{
    struct blas_facts f = machine("Cooperlake", BF16_CPU);
    f.user = "Bogus";
    ck_assert_int_eq(decide(&f, false), BLAS_KEEP);
    ck_assert_int_eq(notes.n, 1);
    ck_assert_str_eq(notes.text[0], "OPENBLAS_CORETYPE=Bogus is set, but OpenBLAS 0.3.21 runs Cooperlake");
}
END_TEST

START_TEST(the_users_kernel_that_cannot_run)
{
    struct blas_facts f = machine("SkylakeX", AVX2_CPU);
    f.user = "SkylakeX";
    ck_assert_int_eq(decide(&f, false), BLAS_REFUSE);
    ck_assert_int_eq(error.code, ERR_CONFIG);
    ck_assert_str_eq(error.text,
                     "OPENBLAS_CORETYPE=SkylakeX needs AVX-512, and this CPU offers AVX2: unset OPENBLAS_CORETYPE");

    f = machine("Bulldozer", BF16_CPU); /* needs FMA4, which its class does not tell */
    f.user = "Bulldozer";
    ck_assert_int_eq(decide(&f, false), BLAS_MEASURE);
    machine_prepare(&f);
    ck_assert_str_eq(machine_record.candidate[machine_record.n - 1].core, "Bulldozer");
    machine_measured("SkylakeX", "SkylakeX", 226, 2e-7);
    machine_died("Bulldozer", SIGILL);
    ck_assert_int_eq(decide(&f, true), BLAS_REFUSE);
    ck_assert_int_eq(error.code, ERR_CONFIG);

    f = machine("Haswell", BF16_CPU);
    f.user = "Haswell";
    machine_prepare(&f);
    machine_measured("SkylakeX", "SkylakeX", 226, 2e-7);
    machine_measured("Haswell", "Haswell", 120, 1e-3);
    ck_assert_int_eq(decide(&f, true), BLAS_REFUSE);
    ck_assert_int_eq(error.code, ERR_WRONG_RESULT);
    ck_assert_ptr_nonnull(strstr(error.text, "Haswell"));
}
END_TEST

START_TEST(the_second_process_never_starts_a_third)
{
    struct blas_facts f = machine_fallen_back();
    f.restarted = true;
    f.active = "Cooperlake";
    f.origin = BLAS_CACHED;
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_str_eq(choice.core, "Cooperlake");
    ck_assert_str_eq(choice.default_core, "Prescott");
    ck_assert_int_eq(choice.origin, BLAS_CACHED);
    ck_assert_double_eq_tol(choice.gain, 150.0 / 33, 1e-12);
    ck_assert_int_eq(notes.n, 0);

    f.active = "Prescott"; /* it was asked for and did not come */
    ck_assert_int_eq(decide(&f, true), BLAS_KEEP);
    ck_assert_str_eq(choice.core, "Prescott");
    ck_assert_int_eq(choice.origin, BLAS_DEFAULT);
    ck_assert(isnan(choice.gain));
    ck_assert_int_eq(notes.n, 1);

    ck_assert_int_eq(decide(&f, false), BLAS_KEEP); /* the variable is there but says nothing of use */
    ck_assert_str_eq(choice.core, "Prescott");
}
END_TEST

static void scaled(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
                   float beta, float *c, int ldc)
{
    gemm(ta, tb, m, n, k, alpha * 1.01f, a, lda, b, ldb, beta, c, ldc);
}

static void last_column_left_out(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
                                 const float *b, int ldb, float beta, float *c, int ldc)
{
    gemm(ta, tb, m, n - 1, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static void one_row_wrong(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                          int ldb, float beta, float *c, int ldc)
{
    gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    for (int j = 0; j < n; j++)
        c[(size_t)(m - 1) * (size_t)ldc + (size_t)j] += 1;
}

START_TEST(wrong_products_are_seen)
{
    ck_assert_double_eq(blas_choice_check(gemm), 0);
    ck_assert_double_gt(blas_choice_check(scaled), BLAS_ERROR_LIMIT);
    ck_assert(!(blas_choice_check(last_column_left_out) <= BLAS_ERROR_LIMIT)); /* NaN */
    ck_assert_double_gt(blas_choice_check(one_row_wrong), BLAS_ERROR_LIMIT);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("blas_choice");
    TCase *t = tcase_create("blas_choice");
    tcase_add_checked_fixture(t, reset, NULL);
    tcase_add_test(t, classes_of_kernels_and_cpus);
    tcase_add_test(t, candidates_are_what_the_cpu_can_run);
    tcase_add_test(t, this_cpu_agrees_with_the_kernel_log);
    tcase_add_test(t, the_best_class_is_left_alone);
    tcase_add_test(t, a_weaker_or_stronger_default_is_measured);
    tcase_add_test(t, a_faster_kernel_starts_again);
    tcase_add_test(t, near_equals_go_to_the_preferred);
    tcase_add_test(t, wrong_dead_and_missing_kernels_are_out);
    tcase_add_test(t, a_default_that_is_wrong_or_dies_is_replaced);
    tcase_add_test(t, nothing_right_is_an_error);
    tcase_add_test(t, nothing_measurable_keeps_the_default);
    tcase_add_test(t, the_users_kernel_wins_with_a_note);
    tcase_add_test(t, the_users_kernel_without_a_note);
    tcase_add_test(t, the_users_name_that_has_no_effect);
    tcase_add_test(t, the_users_kernel_that_cannot_run);
    tcase_add_test(t, the_second_process_never_starts_a_third);
    tcase_add_test(t, wrong_products_are_seen);
    suite_add_tcase(s, t);
    return s;
}

/* {"notes", "apply_s", "process", "argument", "running", "choice" or "error"}; the exit code is the error's. */
static int apply(int argc, char **argv)
{
    uint64_t start_ns = clock_now_ns();
    int failed = blas_choice_apply(&choice, argv, &notes, &error);
    uint64_t end_ns = clock_now_ns();
    json_t *doc = json_object(), *list = json_array();
    for (int i = 0; i < notes.n; i++)
        json_array_append_new(list, json_string(notes.text[i]));
    json_object_set_new(doc, "notes", list);
    json_object_set_new(doc, "apply_s", json_num(clock_seconds(start_ns, end_ns)));
    char process[16] = "";
    prctl(PR_GET_NAME, process);
    json_object_set_new(doc, "process", json_string(process));
    json_object_set_new(doc, "argument", argc > 2 ? json_string(argv[2]) : json_null());
    json_object_set_new(doc, "running", json_string(gemm_core()));
    if (failed)
        json_object_set_new(doc, "error", json_string(error.text));
    else
        json_object_set_new(doc, "choice", blas_choice_json(&choice));
    json_dumpf(doc, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(doc);
    return failed ? (int)error.code : 0;
}

int main(int argc, char **argv)
{
    int exit_code;
    if (blas_choice_child(argc, argv, &exit_code))
        return exit_code;
    if (argc > 1 && strcmp(argv[1], "--apply") == 0)
        return apply(argc, argv);
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    exit_code = srunner_ntests_failed(runner) ? 1 : 0;
    srunner_free(runner);
    return exit_code;
}
