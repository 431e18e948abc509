/*
 * tests/check_blas_child.c - how kernels are tried in child processes, and how the figures are remembered.
 *
 * The children are small shell scripts that print, hang or kill themselves; the cache is a folder of the test's
 * own, broken in every way a file can be.
 */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "model/blas_cache.h"
#include "model/blas_child.h"
#include "tests/blas_machine.h"

static struct err error;
static char folder[64];

static void setup(void)
{
    snprintf(folder, sizeof folder, "/tmp/ddpbench-check-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_record_survives_json)
{
    struct blas_facts f = machine_fallen_back();
    machine_died("Zen", SIGILL);
    machine_measured("Haswell", "Haswell", 70, 0.25);
    ck_assert(blas_record_final(&machine_record));
    struct blas_record before = machine_record;
    json_t *doc = blas_record_json(&machine_record);
    machine_prepare(&f);
    ck_assert(blas_record_read(&machine_record, doc));
    for (int i = 0; i < before.n; i++) {
        const struct blas_candidate *a = &before.candidate[i], *b = &machine_record.candidate[i];
        ck_assert_str_eq(a->active, b->active);
        ck_assert_int_eq(a->status, b->status);
        ck_assert_int_eq(a->signal, b->signal);
        ck_assert(a->gflops == b->gflops || (isnan(a->gflops) && isnan(b->gflops)));
    }
    json_decref(doc);
}
END_TEST

/* Returns whether the record in doc is taken after the change. */
static bool taken(const struct blas_facts *f, json_t *doc)
{
    machine_prepare(f);
    bool ok = blas_record_read(&machine_record, doc);
    if (!ok)
        ck_assert_int_eq(machine_record.candidate[0].status, BLAS_UNTRIED); /* left as it was */
    return ok;
}

START_TEST(a_record_of_something_else_is_refused)
{
    struct blas_facts f = machine_fallen_back();
    json_t *doc = blas_record_json(&machine_record);
    json_t *second = json_array_get(json_object_get(doc, "candidates"), 1);
    ck_assert(taken(&f, doc));
    struct blas_facts other = f;
    other.version = "0.3.26";
    ck_assert(!taken(&other, doc));
    other = f;
    other.cpu.stepping++;
    ck_assert(!taken(&other, doc));
    other = f;
    other.cpu.features &= ~(unsigned)BLAS_AVX512_BF16;
    ck_assert(!taken(&other, doc));
    other = f;
    other.pretend = "Prescott";
    ck_assert(!taken(&other, doc));

    json_object_set_new(second, "core", json_string("../../bin/sh"));
    ck_assert(!taken(&f, doc));
    json_object_set_new(second, "core", json_string("Cooperlake"));
    ck_assert(taken(&f, doc));
    json_object_set_new(second, "gflops", json_real(-1));
    ck_assert(!taken(&f, doc));
    json_object_set_new(second, "gflops", json_string("150"));
    ck_assert(!taken(&f, doc));
    json_object_set_new(second, "gflops", json_real(150));
    json_object_set_new(second, "relative_error", json_real(0.5)); /* contradicts "ok" */
    ck_assert(!taken(&f, doc));
    json_object_set_new(second, "relative_error", json_real(0));
    json_object_set_new(second, "status", json_string("splendid"));
    ck_assert(!taken(&f, doc));
    json_array_remove(json_object_get(doc, "candidates"), 4);
    ck_assert(!taken(&f, doc));
    ck_assert(!taken(&f, NULL));
    json_decref(doc);
}
END_TEST

START_TEST(accidents_are_not_remembered)
{
    machine_fallen_back();
    ck_assert(blas_record_final(&machine_record));
    machine_died("Zen", SIGILL);
    ck_assert(blas_record_final(&machine_record));
    machine_died("Zen", SIGKILL); /* someone else's doing, e.g. the kernel short of memory */
    ck_assert(!blas_record_final(&machine_record));
    machine_record.candidate[4].status = BLAS_LATE;
    ck_assert(!blas_record_final(&machine_record));
    machine_record.candidate[4].status = BLAS_FAILED;
    ck_assert(!blas_record_final(&machine_record));
}
END_TEST

static void run(const char *command)
{
    char line[256];
    snprintf(line, sizeof line, "cd '%s' && %s", folder, command);
    ck_assert_int_eq(system(line), 0);
}

START_TEST(the_cache_remembers)
{
    struct blas_facts f = machine_fallen_back();
    ck_assert_msg(blas_cache_store(&machine_record, &error) == 0, "%s", error.text);
    machine_prepare(&f);
    ck_assert(blas_cache_load(&machine_record));
    ck_assert_double_eq(machine_record.candidate[1].gflops, 150);
    run("test \"$(ls ddpbench | wc -l)\" = 1"); /* no temporary file left */
    f.version = "0.3.26";
    machine_prepare(&f);
    ck_assert(!blas_cache_load(&machine_record));
}
END_TEST

START_TEST(a_broken_cache_is_none_and_is_replaced)
{
    static const char *const breakage[] = {
        "truncate -s 0 ddpbench/*",
        "truncate -s 100 ddpbench/*",
        "head -c 300 /dev/zero > $(ls ddpbench/*)",
        "echo '[]' > $(ls ddpbench/*)",
        "truncate -s 100M ddpbench/*",          /* far beyond any record */
        "f=$(ls ddpbench/*); rm $f; mkfifo $f", /* must not hang */
    };
    struct blas_facts f = machine_fallen_back();
    for (unsigned i = 0; i < sizeof breakage / sizeof *breakage; i++) {
        machine_fallen_back();
        ck_assert_msg(blas_cache_store(&machine_record, &error) == 0, "%s", error.text);
        run(breakage[i]);
        machine_prepare(&f);
        ck_assert_msg(!blas_cache_load(&machine_record), "%s", breakage[i]);
        ck_assert_int_eq(machine_record.candidate[0].status, BLAS_UNTRIED);
    }
    machine_fallen_back();
    ck_assert_int_eq(blas_cache_store(&machine_record, &error), 0);
    ck_assert(blas_cache_load(&machine_record));
}
END_TEST

START_TEST(a_cache_that_cannot_be_written_says_so)
{
    machine_fallen_back();
    run("mkdir x && : > x/ddpbench"); /* a file in the way stops even root */
    char path[80];
    snprintf(path, sizeof path, "%s/x", folder);
    setenv("XDG_CACHE_HOME", path, 1);
    ck_assert_int_eq(blas_cache_store(&machine_record, &error), -1);
    ck_assert_int_eq(error.code, ERR_CANNOT_CREATE);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    setenv("XDG_CACHE_HOME", "relative", 1);
    unsetenv("HOME");
    ck_assert_int_eq(blas_cache_store(&machine_record, &error), -1);
    ck_assert(!blas_cache_load(&machine_record));
    setenv("HOME", folder, 1);
    ck_assert_int_eq(blas_cache_store(&machine_record, &error), 0);
    run("test \"$(ls .cache/ddpbench | wc -l)\" = 1");
}
END_TEST

/* A child that does what the shell says. */
static struct blas_candidate child(const char *core, const char *script, double limit_s)
{
    char path[96];
    struct blas_candidate c = {.gflops = NAN, .relative_error = NAN};
    snprintf(c.core, sizeof c.core, "%s", core);
    snprintf(path, sizeof path, "%s/child", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0700), 0);
    blas_child_try(&c, path, core[0] ? NULL : "Prescott", limit_s);
    return c;
}

START_TEST(a_child_reports)
{
    struct blas_candidate c = child("Haswell", "echo Haswell 120.5 3e-7", 10);
    ck_assert_int_eq(c.status, BLAS_OK);
    ck_assert_str_eq(c.active, "Haswell");
    ck_assert_double_eq(c.gflops, 120.5);
    ck_assert_double_eq(c.relative_error, 3e-7);
    ck_assert_int_eq(child("Haswell", "echo Haswell 120 0.01", 10).status, BLAS_WRONG);
    ck_assert_int_eq(child("Haswell", "echo Haswell 120 nan", 10).status, BLAS_WRONG);
    ck_assert_int_eq(child("Haswell", "echo Prescott 33 1e-7", 10).status, BLAS_IGNORED);
}
END_TEST

START_TEST(a_child_gets_its_kernel_and_one_thread)
{
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    setenv("OMP_NUM_THREADS", "7", 1);
    setenv("OPENBLAS_L2_SIZE", "512", 1); /* not a choice of kernel: the run has it, so the child has it */
    struct blas_candidate c =
        child("Zen",
              "test \"$1 $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $OPENBLAS_L2_SIZE\" = '--blas-candidate 1 1 512' && "
              "test \"$(env | grep -c OPENBLAS_CORETYPE)\" = 1 && echo $OPENBLAS_CORETYPE 9 0",
              10);
    ck_assert_int_eq(c.status, BLAS_OK);
    ck_assert_str_eq(c.active, "Zen");
    c = child("", "echo $OPENBLAS_CORETYPE 9 0", 10); /* the pretended default */
    ck_assert_str_eq(c.active, "Prescott");
    char path[96];
    snprintf(path, sizeof path, "%s/child", folder);
    FILE *f = fopen(path, "w");
    fprintf(f, "#!/bin/sh\necho ${OPENBLAS_CORETYPE-unset} 9 0\n");
    fclose(f);
    c.core[0] = '\0';
    blas_child_try(&c, path, NULL, 10); /* the real one */
    ck_assert_str_eq(c.active, "unset");
}
END_TEST

START_TEST(a_child_dies)
{
    struct blas_candidate c = child("SkylakeX", "kill -ILL $$", 10);
    ck_assert_int_eq(c.status, BLAS_DIED);
    ck_assert_int_eq(c.signal, SIGILL);
    c = child("SkylakeX", "echo SkylakeX 200 0; kill -SEGV $$", 10); /* a line does not make up for it */
    ck_assert_int_eq(c.status, BLAS_DIED);
    ck_assert_int_eq(c.signal, SIGSEGV);
    ck_assert(isnan(c.gflops));
}
END_TEST

START_TEST(a_child_hangs)
{
    uint64_t before_ns = clock_now_ns();
    ck_assert_int_eq(child("Zen", "exec sleep 60", 0.2).status, BLAS_LATE);
    ck_assert_int_eq(child("Zen", "echo Zen 9 0; exec sleep 60 >/dev/null", 0.2).status, BLAS_LATE); /* stdout closed */
    ck_assert_double_lt(clock_seconds(before_ns, clock_now_ns()), 10);
}
END_TEST

START_TEST(a_child_talks_nonsense)
{
    ck_assert_int_eq(child("Zen", "exit 0", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "echo Zen 9 0; exit 1", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "echo Zen fast 0", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "echo Zen 9 0 0", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "echo Zen -9 0", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "echo Zen nan 0", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "echo Zen 9 0; echo Zen 9 0", 10).status, BLAS_FAILED);
    ck_assert_int_eq(child("Zen", "head -c 300000 /dev/zero", 10).status, BLAS_FAILED);
    struct blas_candidate c = {.core = "Zen"};
    blas_child_try(&c, "/nonexistent", NULL, 10);
    ck_assert_int_eq(c.status, BLAS_FAILED);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("blas_child");
    TCase *t = tcase_create("blas_child");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, a_record_survives_json);
    tcase_add_test(t, a_record_of_something_else_is_refused);
    tcase_add_test(t, accidents_are_not_remembered);
    tcase_add_test(t, the_cache_remembers);
    tcase_add_test(t, a_broken_cache_is_none_and_is_replaced);
    tcase_add_test(t, a_cache_that_cannot_be_written_says_so);
    tcase_add_test(t, a_child_reports);
    tcase_add_test(t, a_child_gets_its_kernel_and_one_thread);
    tcase_add_test(t, a_child_dies);
    tcase_add_test(t, a_child_hangs);
    tcase_add_test(t, a_child_talks_nonsense);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
