/*
 * tests/check_probe_limits.c - which CPUs, how many threads and how much memory a process may use, on small trees
 * of /sys and /proc. Trees carry their own affinity (proc/self/status), so that the tests do not depend on the
 * machine they run on.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe/probe.h"
#include "tests/tree.h"

static struct probe probe;
static struct notes notes;

static void close_probe(void)
{
    probe_fini(&probe);
}

static void read_tree(void)
{
    probe_fini(&probe);
    tree_probe(&probe, tree_folder(), &notes);
}

static void two_cpus(void)
{
    tree_write("proc/self/status", "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n");
    tree_write("sys/devices/system/cpu/online", "0-1\n");
}

static const char *usable(void)
{
    static char text[256];
    return cpus_format(&probe.affinity.usable, text, sizeof text);
}

/* --- online CPUs and the mask --- */

START_TEST(odd_lists_of_online_cpus)
{
    static const struct {
        const char *online, *usable;
        int warnings;
    } cases[] = {
        {"1", "1", 0},  {"1\n", "1", 0},  {"0-0,2", "0", 0}, {"0-0,2\n", "0", 0}, {"0-1\n", "0-1", 0},
        {"", "0-1", 1}, {"\n", "0-1", 1}, {"0-", "0-1", 1},  {"none", "0-1", 1},  {"0-255", "0-1", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        two_cpus();
        tree_write("sys/devices/system/cpu/online", cases[i].online);
        read_tree();
        ck_assert_msg(strcmp(usable(), cases[i].usable) == 0, "online '%s': usable %s", cases[i].online, usable());
        ck_assert_msg(notes.n == cases[i].warnings, "online '%s': %d warnings", cases[i].online, notes.n);
        ck_assert_int_ge(probe.threads, 1);
        ck_assert_int_ge(probe.cores, 1);
    }
}
END_TEST

START_TEST(mask_that_has_no_online_cpu)
{
    two_cpus();
    tree_write("sys/devices/system/cpu/online", "4-5\n");
    read_tree();
    ck_assert_str_eq(usable(), "4-5");
    ck_assert_int_eq(notes.n, 1);
}
END_TEST

START_TEST(online_from_the_cpus_own_files)
{
    tree_write("proc/self/status", "Cpus_allowed_list:\t0-7\n");
    tree_write("sys/devices/system/cpu/cpu0/uevent", ""); /* no file "online": cannot be taken offline */
    tree_write("sys/devices/system/cpu/cpu1/online", "0\n");
    tree_write("sys/devices/system/cpu/cpu2/online", "1\n");
    tree_write("sys/devices/system/cpu/cpufreq/boost", "1\n"); /* begins with "cpu" too */
    read_tree();
    ck_assert_str_eq(usable(), "0,2");
    ck_assert_int_eq(notes.n, 0);
    ck_assert_int_eq(probe.frequency.turbo, 1);
}
END_TEST

START_TEST(cpuset_of_a_machine_without_a_recorded_mask)
{
    tree_write("sys/devices/system/cpu/online", "8-15\n"); /* not this machine's: its mask has no say */
    tree_write("proc/self/cgroup", "0::/jobs/one\n");
    tree_write("sys/fs/cgroup/jobs/one/cpuset.cpus.effective", "9-10\n");
    tree_write("sys/fs/cgroup/jobs/cpuset.cpus.effective", "8-12\n");
    read_tree();
    /* a live mask that reaches CPU 8 keeps only some of them, and then the cpuset still narrows it */
    ck_assert(cpus_has(&probe.affinity.usable, 9) || cpus_has(&probe.affinity.usable, 10));
    ck_assert(!cpus_has(&probe.affinity.usable, 8) && !cpus_has(&probe.affinity.usable, 12));
}
END_TEST

/* --- CPU quota --- */

START_TEST(quota_texts)
{
    ck_assert(isinf(cgroup_parse_cpu_max("max 100000")));
    ck_assert(isinf(cgroup_parse_cpu_max("max")));
    ck_assert_double_eq(cgroup_parse_cpu_max("150000 100000"), 1.5);
    ck_assert_double_eq(cgroup_parse_cpu_max("150000"), 1.5); /* the kernel's default period */
    ck_assert_double_eq(cgroup_parse_cpu_max("300000 100000"), 3.0);
    ck_assert_double_eq(cgroup_parse_cpu_max("5000 50000"), 0.1);
    ck_assert(isnan(cgroup_parse_cpu_max("")));
    ck_assert(isnan(cgroup_parse_cpu_max("maximum")));
    ck_assert(isnan(cgroup_parse_cpu_max("150000 0")));
    ck_assert(isnan(cgroup_parse_cpu_max("-1 100000")));
    ck_assert(isnan(cgroup_parse_cpu_max("150000 100000 7")));
    ck_assert(isinf(cgroup_quota_v1(-1, 100000)));
    ck_assert_double_eq(cgroup_quota_v1(250000, 100000), 2.5);
    ck_assert(isnan(cgroup_quota_v1(0, 100000)));
    ck_assert(isnan(cgroup_quota_v1(250000, 0)));
}
END_TEST

static void expect_threads(int threads, double quota)
{
    read_tree();
    ck_assert_int_eq(probe.threads, threads);
    if (isnan(quota))
        ck_assert(isnan(probe.cgroup.quota_cpus));
    else
        ck_assert_double_eq(probe.cgroup.quota_cpus, quota);
    ck_assert_str_ne(probe.threads_reason, "");
}

START_TEST(threads_under_a_version_2_quota)
{
    two_cpus();
    expect_threads(2, NAN);
    tree_write("sys/fs/cgroup/cpu.max", "max 100000\n");
    expect_threads(2, INFINITY);
    ck_assert_ptr_nonnull(strstr(probe.threads_reason, "no CPU quota"));
    tree_write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    expect_threads(1, 1.5);
    ck_assert_ptr_nonnull(strstr(probe.threads_reason, "1.50"));
    ck_assert_ptr_nonnull(strstr(probe.threads_reason, "sys/fs/cgroup/cpu.max"));
    tree_write("sys/fs/cgroup/cpu.max", "20000 100000\n");
    expect_threads(1, 0.2); /* rounded down to 0, but at least 1 */
    tree_write("sys/fs/cgroup/cpu.max", "400000 100000\n");
    expect_threads(2, 4.0);
}
END_TEST

START_TEST(threads_under_a_version_1_quota)
{
    two_cpus();
    tree_write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    tree_write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    expect_threads(2, INFINITY);
    tree_write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
    expect_threads(1, 1.5);
    tree_write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "0\n"); /* no such quota exists: not a reason to stop at none */
    expect_threads(2, NAN);
}
END_TEST

START_TEST(the_tightest_group_of_the_chain_counts)
{
    two_cpus();
    tree_write("proc/self/cgroup", "0::/a/b/c\n");
    tree_write("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    tree_write("sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
    tree_write("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    tree_write("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
    expect_threads(1, 1.0);
    ck_assert_str_eq(probe.cgroup.quota_source, "sys/fs/cgroup/a/cpu.max");
}
END_TEST

/* Version 1 for CPU time, version 2 beside it with nothing in it, as systemd's "hybrid" layout has it. */
START_TEST(hybrid_layout)
{
    two_cpus();
    tree_write("proc/self/cgroup", "5:memory:/s\n4:cpu,cpuacct:/s\n1:name=systemd:/s\n0::/s\n");
    tree_write("proc/self/mountinfo",
               "30 25 0:26 / /sys/fs/cgroup/unified rw shared:1 - cgroup2 cgroup2 rw\n"
               "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:2 - cgroup cgroup rw,cpu,cpuacct\n"
               "32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    tree_write("sys/fs/cgroup/unified/cgroup.controllers", "");
    tree_write("sys/fs/cgroup/cpu,cpuacct/s/cpu.cfs_quota_us", "100000\n");
    tree_write("sys/fs/cgroup/cpu,cpuacct/s/cpu.cfs_period_us", "100000\n");
    tree_write("sys/fs/cgroup/memory/s/memory.limit_in_bytes", "1000000\n");
    expect_threads(1, 1.0);
    ck_assert_double_eq(probe.cgroup.memory_bytes, 1e6);
}
END_TEST

/* A process moved out of its namespace's part of the hierarchy sees its path go up: only the mount can be read. */
START_TEST(group_outside_of_what_is_mounted)
{
    two_cpus();
    tree_write("proc/self/cgroup", "0::/../../elsewhere\n");
    tree_write("sys/fs/cgroup/cpu.max", "100000 100000\n");
    tree_write("elsewhere/cpu.max", "1000 100000\n");
    expect_threads(1, 1.0);
}
END_TEST

START_TEST(container_that_mounts_a_part)
{
    tree_probe(&probe, tree_machine("server"), &notes);
    /* /docker/abc/job below a mount of /docker/abc: the job has 2.5 CPUs, the container 6 */
    ck_assert_double_eq(probe.cgroup.quota_cpus, 2.5);
    ck_assert_str_eq(probe.cgroup.quota_source, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us");
    ck_assert_double_eq(probe.cgroup.memory_bytes, 4294967296.0);
    ck_assert_int_eq(probe.threads, 2); /* of 3 usable cores */
    struct throttle_count t = probe_throttled_now(&probe);
    ck_assert(t.known);
    ck_assert_uint_eq(t.periods, 4); /* of the job; the container's 3 are in them, or beside them */
    ck_assert_double_eq_tol(t.seconds, 1.5, 1e-9);
}
END_TEST

START_TEST(limits_of_the_parent)
{
    tree_probe(&probe, tree_machine("laptop"), &notes);
    ck_assert_double_eq(probe.cgroup.quota_cpus, 3.5);
    ck_assert_int_eq(probe.threads, 3); /* of 4 usable cores */
    ck_assert_double_eq(probe.cgroup.memory_bytes, 8589934592.0);
    ck_assert_double_le(probe.memory.limit_bytes, 8589934592.0); /* less if this machine has less */
    struct throttle_count t = probe_throttled_now(&probe);
    ck_assert(t.known);
    ck_assert_uint_eq(t.periods, 5);
    ck_assert_double_eq_tol(t.seconds, 0.5, 1e-9);
}
END_TEST

START_TEST(throttling_unknown_is_not_zero)
{
    two_cpus();
    read_tree();
    ck_assert(!probe_throttled_now(&probe).known);
    tree_write("sys/fs/cgroup/cpu.max", "max 100000\n");
    tree_write("sys/fs/cgroup/cpu.stat", "usage_usec 77\nuser_usec 70\n"); /* as at the top of version 2 */
    read_tree();
    ck_assert(!probe_throttled_now(&probe).known);
    tree_write("sys/fs/cgroup/cpu.stat", "usage_usec 77\nnr_periods 3\nnr_throttled 0\nthrottled_usec 0\n");
    ck_assert(probe_throttled_now(&probe).known);
    ck_assert_uint_eq(probe_throttled_now(&probe).periods, 0);
}
END_TEST

/* --- threads asked for --- */

START_TEST(threads_asked_for)
{
    static const struct {
        int asked, threads, warnings;
        const char *says;
    } cases[] = {
        {0, 2, 0, NULL},
        {1, 1, 0, NULL},
        {2, 2, 0, NULL},
        {3, 3, 1, "3 threads on 2 CPUs"},
    };
    two_cpus();
    for (int i = 0; i < 4; i++) {
        read_tree();
        probe_choose_threads(&probe, cases[i].asked, &notes);
        ck_assert_int_eq(probe.threads, cases[i].threads);
        ck_assert_int_eq(notes.n, cases[i].warnings);
        ck_assert(!cases[i].says || strstr(notes.text[0], cases[i].says));
    }
    tree_write("proc/self/status", "Cpus_allowed_list:\t1\n");
    read_tree();
    ck_assert_str_eq(usable(), "1");
    ck_assert_int_eq(probe.threads, 1);
    probe_choose_threads(&probe, 2, &notes);
    ck_assert_ptr_nonnull(strstr(notes.text[0], "2 threads on 1 CPU"));

    two_cpus();
    tree_write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    read_tree();
    probe_choose_threads(&probe, 2, &notes);
    ck_assert_int_eq(probe.threads, 2); /* the user's word stands */
    ck_assert_ptr_nonnull(strstr(notes.text[0], "quota of 1.50"));
}
END_TEST

/* --- memory --- */

START_TEST(memory_limit_texts)
{
    ck_assert(isinf(cgroup_parse_memory("max")));
    ck_assert_double_eq(cgroup_parse_memory("1073741824"), 1073741824.0);
    ck_assert_double_eq(cgroup_parse_memory("0"), 0.0);
    ck_assert(isinf(cgroup_parse_memory("9223372036854771712"))); /* version 1's "no limit" */
    ck_assert(isinf(cgroup_parse_memory("18446744073709551615")));
    ck_assert(isinf(cgroup_parse_memory("99999999999999999999999")));
    ck_assert(isnan(cgroup_parse_memory("")));
    ck_assert(isnan(cgroup_parse_memory("-1")));
    ck_assert(isnan(cgroup_parse_memory("1073741824k")));
}
END_TEST

/* Limits far below what any machine that runs this has free, so that they are what binds. */
START_TEST(memory_limit_of_a_group)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        {"sys/fs/cgroup/memory.max", "10485760\n"},
        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "10485760\n"},
    };
    for (int i = 0; i < 2; i++) {
        tree_close();
        tree_open();
        tree_write("proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 4000000 kB\n");
        tree_write(cases[i].path, cases[i].text);
        read_tree();
        ck_assert_double_eq(probe.memory.limit_bytes, 10485760.0);
        ck_assert_ptr_nonnull(strstr(probe.memory.limit_source, cases[i].path));
        ck_assert_double_eq(probe.memory.total_bytes, 8000000.0 * 1024);
        ck_assert_double_eq(probe.memory.available_bytes, 4000000.0 * 1024);
    }
}
END_TEST

START_TEST(memory_limit_of_a_parent_group)
{
    tree_write("proc/self/cgroup", "0::/a/b\n");
    tree_write("sys/fs/cgroup/a/b/memory.max", "max\n");
    tree_write("sys/fs/cgroup/a/memory.max", "10485760\n");
    read_tree();
    ck_assert_double_eq(probe.memory.limit_bytes, 10485760.0);
    ck_assert_ptr_nonnull(strstr(probe.memory.limit_source, "sys/fs/cgroup/a/memory.max"));
}
END_TEST

/* 10 MB less 6 that are in use, of which 2 are files' that the kernel can take back; a parent's 9 less 7 bind more. */
START_TEST(memory_that_a_group_has_left)
{
    tree_write("proc/meminfo", "MemTotal: 40960 kB\nMemAvailable: 20480 kB\n");
    tree_write("proc/self/cgroup", "0::/a/b\n");
    tree_write("sys/fs/cgroup/a/b/memory.max", "10000000\n");
    tree_write("sys/fs/cgroup/a/b/memory.current", "6000000\n");
    tree_write("sys/fs/cgroup/a/b/memory.stat",
               "anon 4000000\nfile 2500000\ninactive_file 2000000\nactive_file 500000\n");
    read_tree();
    ck_assert_double_eq(probe.cgroup.memory_bytes, 10000000.0);
    ck_assert_double_eq(probe.memory.limit_bytes, 6000000.0);
    tree_write("sys/fs/cgroup/a/memory.max", "9000000\n");
    tree_write("sys/fs/cgroup/a/memory.current", "7000000\n");
    read_tree();
    ck_assert_double_eq(probe.memory.limit_bytes, 2000000.0);
    ck_assert_ptr_nonnull(strstr(probe.memory.limit_source, "sys/fs/cgroup/a/memory.max"));
}
END_TEST

START_TEST(no_memory_limit)
{
    static const char *const paths[] = {"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"};
    static const char *const texts[] = {"max\n", "9223372036854771712\n"};
    for (int i = 0; i < 2; i++) {
        tree_close();
        tree_open();
        tree_write("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 2048 kB\n");
        tree_write(paths[i], texts[i]);
        read_tree();
        ck_assert(isinf(probe.cgroup.memory_bytes));
        ck_assert_double_eq(probe.memory.limit_bytes, 2048.0 * 1024); /* what is free binds */
        ck_assert_ptr_nonnull(strstr(probe.memory.limit_source, "MemAvailable"));
    }
}
END_TEST

START_TEST(memory_of_an_old_kernel)
{
    tree_write("proc/meminfo",
               "MemTotal: 5000 kB\nMemFree: 1000 kB\nBuffers: 20 kB\nCached: 300 kB\nSwapCached: 9 kB\n");
    read_tree();
    ck_assert_double_eq(probe.memory.available_bytes, 1320.0 * 1024);
    ck_assert_str_eq(probe.memory.available_source, "MemFree + Buffers + Cached");
}
END_TEST

/* The address-space limit counts what is mapped already: with 64 MiB above that, about 64 MiB are left. */
START_TEST(address_space_limit)
{
    struct sysroot here;
    struct cgroup none;
    struct memory memory;
    struct reasons reasons = {0};
    struct rlimit before, limit;
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(f, "%llu", &pages), 1);
    fclose(f);
    ck_assert_int_eq(sysroot_init(&here, tree_folder(), NULL), 0);
    cgroup_read(&none, &here);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64u << 20);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    memory_read(&memory, &here, &none, &reasons);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert_double_le(memory.limit_bytes, 64.0 * (1 << 20));
    ck_assert_double_ge(memory.limit_bytes, 32.0 * (1 << 20)); /* the test itself takes some */
    ck_assert_ptr_nonnull(strstr(memory.limit_source, "address-space limit"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe limits");
    TCase *cpus = tcase_create("cpus"), *memory = tcase_create("memory");
    tcase_add_checked_fixture(cpus, tree_open, tree_close);
    tcase_add_checked_fixture(cpus, NULL, close_probe);
    tcase_set_timeout(cpus, 30);
    tcase_add_test(cpus, odd_lists_of_online_cpus);
    tcase_add_test(cpus, mask_that_has_no_online_cpu);
    tcase_add_test(cpus, online_from_the_cpus_own_files);
    tcase_add_test(cpus, cpuset_of_a_machine_without_a_recorded_mask);
    tcase_add_test(cpus, quota_texts);
    tcase_add_test(cpus, threads_under_a_version_2_quota);
    tcase_add_test(cpus, threads_under_a_version_1_quota);
    tcase_add_test(cpus, the_tightest_group_of_the_chain_counts);
    tcase_add_test(cpus, hybrid_layout);
    tcase_add_test(cpus, group_outside_of_what_is_mounted);
    tcase_add_test(cpus, container_that_mounts_a_part);
    tcase_add_test(cpus, limits_of_the_parent);
    tcase_add_test(cpus, throttling_unknown_is_not_zero);
    tcase_add_test(cpus, threads_asked_for);
    suite_add_tcase(suite, cpus);

    tcase_add_checked_fixture(memory, tree_open, tree_close);
    tcase_add_checked_fixture(memory, NULL, close_probe);
    tcase_set_timeout(memory, 30);
    tcase_add_test(memory, memory_limit_texts);
    tcase_add_test(memory, memory_limit_of_a_group);
    tcase_add_test(memory, memory_limit_of_a_parent_group);
    tcase_add_test(memory, memory_that_a_group_has_left);
    tcase_add_test(memory, no_memory_limit);
    tcase_add_test(memory, memory_of_an_old_kernel);
    tcase_add_test(memory, address_space_limit);
    suite_add_tcase(suite, memory);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
