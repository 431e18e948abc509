/*
 * tests/check_health.c - the state of a node over a run, read from small trees of /sys and /proc that change between the
 * readings, as machines do.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/health.h"
#include "probe/watch.h"
#include "tests/tree.h"

#define SECOND 1000000000u

static struct probe probe;
static struct notes notes;
static struct health health;

static void fini(void)
{
    probe_fini(&probe);
    tree_close();
}

static void open_tree(const char *folder)
{
    tree_probe(&probe, folder, &notes);
    health_open(&health, &probe);
}

static void remove_file(const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", tree_folder(), path);
    ck_assert_int_eq(unlink(full), 0);
}

static double value(enum health_column column, int i)
{
    return health_value(&health, column, i);
}

static void write_energy(const char *uj)
{
    tree_write("sys/class/powercap/intel-rapl:0/energy_uj", uj);
}

static void an_intel_laptop(void)
{
    tree_write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\n");
    tree_write("sys/devices/system/cpu/online", "0-1\n");
    for (int cpu = 0; cpu < 2; cpu++) {
        char path[128];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
        tree_write(path, cpu ? "3200000\n" : "3000000\n");
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
        tree_write(path, cpu ? "0\n" : "1234\n");
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/thermal_throttle/package_throttle_count", cpu);
        tree_write(path, "9\n");
    }
    tree_write("sys/class/hwmon/hwmon3/name", "coretemp\n");
    tree_write("sys/class/hwmon/hwmon3/temp1_label", "Package id 0\n");
    tree_write("sys/class/hwmon/hwmon3/temp1_input", "71000\n");
    tree_write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    write_energy("262143000000\n");
    tree_write("sys/class/power_supply/AC/type", "Mains\n");
    tree_write("sys/class/power_supply/AC/online", "1\n");
    tree_write("sys/class/power_supply/BAT0/type", "Battery\n");
    tree_write("sys/class/power_supply/BAT0/status", "Charging\n");
    tree_write("sys/class/power_supply/BAT0/capacity", "90\n");
    tree_write("proc/loadavg", "0.50 0.40 0.30 3/200 4711\n");
    tree_write("proc/stat", "cpu  1000 0 500 9000 3 10 20 250 0 0\n");
}

static void two_readings(const char *second_uj)
{
    an_intel_laptop();
    open_tree(tree_folder());
    health_take(&health, 5 * (uint64_t)SECOND);
    write_energy(second_uj);
    health_take(&health, 6 * (uint64_t)SECOND);
    ck_assert_int_eq(health.n, 2);
}

/* 262143328850 - 262143000000 + 671150 = 1000000 microjoules, in one second. */
START_TEST(energy_across_a_wrap)
{
    two_readings("671150\n");
    ck_assert_double_eq_tol(value(HEALTH_ENERGY_J, 1), 1.0, 1e-6);
    ck_assert_double_eq_tol(value(HEALTH_POWER_W, 1), 1.0, 1e-6);
    ck_assert_double_eq(value(HEALTH_ENERGY_J, 0), 0);
    ck_assert(isnan(value(HEALTH_POWER_W, 0))); /* a rate needs two rows */
}
END_TEST

START_TEST(energy_across_a_wrap_of_unknown_range)
{
    an_intel_laptop();
    remove_file("sys/class/powercap/intel-rapl:0/max_energy_range_uj");
    open_tree(tree_folder());
    health_take(&health, 0);
    write_energy("671150\n");
    health_take(&health, SECOND);
    char why[240];
    ck_assert(isnan(value(HEALTH_ENERGY_J, 1)));
    ck_assert(isnan(value(HEALTH_POWER_W, 1)));
    ck_assert_ptr_nonnull(strstr(health_why(&health, HEALTH_POWER_W, why, sizeof why), "wrapped"));
}
END_TEST

START_TEST(energy_of_0_after_an_error)
{
    two_readings("0\n");
    write_energy("900000\n"); /* what was used meanwhile is not known any more */
    health_take(&health, 7 * (uint64_t)SECOND);
    for (int i = 1; i < 3; i++) {
        ck_assert(isnan(value(HEALTH_ENERGY_J, i)));
        ck_assert(isnan(value(HEALTH_POWER_W, i)));
    }
}
END_TEST

/* The second socket is counted although the first one has been hotter since boot. */
START_TEST(heat_of_the_cooler_socket)
{
    an_intel_laptop();
    tree_write("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    tree_write("sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
    tree_write("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "500\n");
    tree_write("sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "20\n");
    open_tree(tree_folder());
    health_take(&health, 0);
    tree_write("sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "80\n");
    health_take(&health, SECOND);
    ck_assert_double_eq(value(HEALTH_PACKAGE_EVENTS, 1), 60);
}
END_TEST

/* Seventy drives come before the processor: its sensor is kept all the same. */
START_TEST(the_processor_among_many_sensors)
{
    an_intel_laptop();
    tree_write("sys/class/hwmon/hwmon0/name", "nvme\n");
    for (int i = 1; i <= 70; i++) {
        char path[128];
        snprintf(path, sizeof path, "sys/class/hwmon/hwmon0/temp%d_input", i);
        tree_write(path, "40000\n");
    }
    open_tree(tree_folder());
    ck_assert_int_eq(probe.heat.n, HEAT_SENSORS_MAX);
    ck_assert_int_eq(probe.heat.left_out, 71 - HEAT_SENSORS_MAX);
    ck_assert_int_ge(probe.heat.cpu, 0);
    ck_assert_str_eq(probe.heat.sensor[probe.heat.cpu].label, "coretemp Package id 0");
}
END_TEST

START_TEST(throttle_counters_since_boot)
{
    an_intel_laptop();
    open_tree(tree_folder());
    health_take(&health, 0);
    health_take(&health, SECOND);
    tree_write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "1240\n");
    health_take(&health, 2 * (uint64_t)SECOND);
    ck_assert_double_eq(value(HEALTH_CORE_EVENTS, 0), 0);
    ck_assert_double_eq(value(HEALTH_CORE_EVENTS, 1), 0);
    ck_assert_double_eq(value(HEALTH_CORE_EVENTS, 2), 6);
    ck_assert_double_eq(value(HEALTH_PACKAGE_EVENTS, 2), 0);
    /* around [1.2 s, 1.7 s] lie the rows at 1 s and 2 s; around [0.2 s, 0.9 s] those at 0 s and 1 s */
    ck_assert_double_eq(health_growth(&health, HEALTH_CORE_EVENTS, 1200000000u, 1700000000u), 6);
    ck_assert_double_eq(health_growth(&health, HEALTH_CORE_EVENTS, 200000000u, 900000000u), 0);
    tree_write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"); /* it was offline */
    health_take(&health, 3 * (uint64_t)SECOND);
    ck_assert(isnan(value(HEALTH_CORE_EVENTS, 3)));
}
END_TEST

START_TEST(values_of_an_intel_laptop)
{
    two_readings("262143000500\n");
    ck_assert_double_eq(value(HEALTH_CLOCK_HZ, 0), 3.1e9); /* the median of 3.0 and 3.2 */
    ck_assert_double_eq_tol(value(HEALTH_CPU_DEGC, 0), 71, 1e-9);
    ck_assert_double_eq_tol(value(HEALTH_ENERGY_J, 1), 0.0005, 1e-9);
    ck_assert_double_eq(value(HEALTH_RUNNING, 0), 2); /* without the one that reads */
    ck_assert_double_eq(value(HEALTH_ON_BATTERY, 0), 0);
    ck_assert_double_eq(value(HEALTH_BATTERY_PERCENT, 0), 90);
    ck_assert(isnan(value(HEALTH_OTHER_CPUS, 1))); /* this process does not run there */
    tree_write("sys/class/power_supply/AC/online", "0\n");
    tree_write("sys/class/power_supply/BAT0/status", "Discharging\n");
    tree_write("sys/class/power_supply/BAT0/capacity", "89\n");
    tree_write("proc/stat", "cpu  1100 0 500 9000 3 10 20 350 0 0\n");
    health_take(&health, 7 * (uint64_t)SECOND);
    ck_assert_double_eq(value(HEALTH_ON_BATTERY, 2), 1);
    ck_assert_double_eq(value(HEALTH_BATTERY_PERCENT, 2), 89);
    ck_assert_double_eq_tol(value(HEALTH_STOLEN_S, 2), 100.0 / (double)sysconf(_SC_CLK_TCK), 1e-9);
}
END_TEST

/* No throttle counters, a driver of its own, the package's energy under the name the kernel uses for both makers. */
START_TEST(values_of_an_amd_desktop)
{
    tree_write("proc/self/status", "Cpus_allowed_list:\t0\n");
    tree_write("sys/devices/system/cpu/online", "0\n");
    tree_write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "4650000\n");
    tree_write("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "amd-pstate-epp\n");
    tree_write("sys/class/hwmon/hwmon0/name", "nvme\n");
    tree_write("sys/class/hwmon/hwmon0/temp1_input", "99000\n");
    tree_write("sys/class/hwmon/hwmon2/name", "k10temp\n");
    tree_write("sys/class/hwmon/hwmon2/temp1_label", "Tctl\n");
    tree_write("sys/class/hwmon/hwmon2/temp1_input", "84500\n");
    tree_write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "65532610987\n");
    write_energy("1000000\n");
    open_tree(tree_folder());
    health_take(&health, 0);
    write_energy("66000000\n");
    health_take(&health, SECOND / 2);
    ck_assert_double_eq(value(HEALTH_CLOCK_HZ, 1), 4.65e9);
    ck_assert_double_eq_tol(value(HEALTH_CPU_DEGC, 1), 84.5, 1e-9); /* and not the disk's */
    ck_assert_double_eq_tol(value(HEALTH_POWER_W, 1), 130, 1e-6);   /* 65 J in half a second */
    ck_assert(isnan(value(HEALTH_CORE_EVENTS, 1)));
    char why[240];
    ck_assert_ptr_nonnull(strstr(health_why(&health, HEALTH_CORE_EVENTS, why, sizeof why), "counts no thermal"));
}
END_TEST

START_TEST(two_packages)
{
    an_intel_laptop();
    tree_write("sys/class/hwmon/hwmon4/name", "coretemp\n");
    tree_write("sys/class/hwmon/hwmon4/temp1_label", "Package id 1\n");
    tree_write("sys/class/hwmon/hwmon4/temp1_input", "88000\n");
    tree_write("sys/class/powercap/intel-rapl:1/name", "package-1\n");
    tree_write("sys/class/powercap/intel-rapl:1/energy_uj", "5000000\n");
    open_tree(tree_folder());
    health_take(&health, 0);
    write_energy("262143200000\n");
    tree_write("sys/class/powercap/intel-rapl:1/energy_uj", "5300000\n");
    health_take(&health, SECOND);
    ck_assert_int_eq(health.sensors, 2);
    ck_assert_double_eq_tol(value(HEALTH_CPU_DEGC, 0), 88, 1e-9); /* the hotter one */
    ck_assert_double_eq_tol(value(HEALTH_POWER_W, 1), 0.5, 1e-6); /* 0.2 J + 0.3 J */
}
END_TEST

START_TEST(nothing_to_read)
{
    tree_write("proc/self/status", "Cpus_allowed_list:\t0\n");
    tree_write("sys/devices/system/cpu/online", "0\n");
    open_tree(tree_folder());
    health_take(&health, 0);
    health_take_last(&health, SECOND);
    for (int c = 0; c < HEALTH_COLUMNS; c++) {
        char why[240];
        ck_assert_msg(c == HEALTH_SUSPENDED_S || isnan(value((enum health_column)c, 1)), "%s is known",
                      health_column_names[c]);
        ck_assert_int_gt((int)strlen(health_why(&health, (enum health_column)c, why, sizeof why)), 10);
    }
}
END_TEST

START_TEST(sensors_that_vanish)
{
    an_intel_laptop();
    open_tree(tree_folder());
    health_take(&health, 0);
    remove_file("sys/class/hwmon/hwmon3/temp1_input");
    remove_file("sys/class/powercap/intel-rapl:0/energy_uj");
    remove_file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
    remove_file("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq");
    remove_file("sys/class/power_supply/BAT0/status");
    remove_file("sys/class/power_supply/BAT0/capacity");
    remove_file("proc/loadavg");
    for (int i = 1; i < 4; i++)
        health_take(&health, (uint64_t)i * SECOND);
    static const enum health_column gone[] = {HEALTH_CPU_DEGC, HEALTH_ENERGY_J, HEALTH_CLOCK_HZ, HEALTH_BATTERY_PERCENT,
                                              HEALTH_RUNNING};
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++) {
        ck_assert_msg(isfinite(value(gone[k], 0)), "%s", health_column_names[gone[k]]);
        for (int i = 1; i < 4; i++)
            ck_assert_msg(isnan(value(gone[k], i)), "%s in row %d", health_column_names[gone[k]], i);
    }
    ck_assert_double_eq(value(HEALTH_CORE_EVENTS, 3), 0); /* the others stay */
}
END_TEST

START_TEST(temperatures_that_cannot_be)
{
    static const char *const odd[] = {"0\n", "255000\n", "-128000\n", "", "-1\n hot", "999999\n"};
    static const bool known[] = {false, false, false, false, true, false}; /* -0.001 degrees can be, in a cold room */
    an_intel_laptop();
    open_tree(tree_folder());
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        tree_write("sys/class/hwmon/hwmon3/temp1_input", odd[i]);
        health_take(&health, i * (uint64_t)SECOND);
        ck_assert_msg(isfinite(value(HEALTH_CPU_DEGC, (int)i)) == known[i], "'%s'", odd[i]);
    }
}
END_TEST

START_TEST(the_clock_of_a_virtual_machine)
{
    char text[9000] = "processor\t: 0\nflags\t\t:";
    size_t n = strlen(text);
    while (n < 6000) /* longer than what is read at once */
        n += (size_t)sprintf(text + n, " flag%zu", n);
    sprintf(text + n, "\ncpu MHz\t\t: 2445.400\n\nprocessor\t: 1\ncpu MHz\t\t: 9999.0\n");
    tree_write("proc/cpuinfo", text);
    tree_write("proc/self/status", "Cpus_allowed_list:\t0\n");
    tree_write("sys/devices/system/cpu/online", "0-1\n");
    open_tree(tree_folder());
    health_take(&health, 0);
    ck_assert_double_eq_tol(value(HEALTH_CLOCK_HZ, 0), 2.4454e9, 1);
}
END_TEST

/* However many readings: bounded, from the first to the last, and no event lost. */
START_TEST(long_series_are_thinned)
{
    char text[32];
    enum { READINGS = 3001 };
    tree_write("proc/self/status", "Cpus_allowed_list:\t0\n");
    tree_write("sys/devices/system/cpu/online", "0\n");
    tree_write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "100\n");
    open_tree(tree_folder());
    for (int i = 0; i < READINGS; i++) {
        snprintf(text, sizeof text, "%d\n", 100 + i);
        tree_write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", text);
        if (i < READINGS - 1)
            health_take(&health, (uint64_t)i * SECOND);
        else
            health_take_last(&health, (uint64_t)i * SECOND);
        ck_assert_int_le(health.n, HEALTH_ROWS_MAX);
    }
    ck_assert_int_ge(health.n, HEALTH_ROWS_MAX / 2);
    ck_assert_uint_eq(health.row[0].at_ns, 0);
    ck_assert_uint_eq(health.row[health.n - 1].at_ns, (READINGS - 1) * (uint64_t)SECOND);
    for (int i = 0; i < health.n; i++) {
        ck_assert(i == 0 || health.row[i].at_ns > health.row[i - 1].at_ns);
        ck_assert_double_eq(value(HEALTH_CORE_EVENTS, i), (double)health.row[i].at_ns / SECOND);
    }
    for (int i = 2; i < health.n - 1; i++) /* evenly spaced, but for the last */
        ck_assert_uint_eq(health.row[i].at_ns - health.row[i - 1].at_ns, (uint64_t)health.every * SECOND);
}
END_TEST

START_TEST(a_thread_that_takes_readings)
{
    static struct watch watch;
    const struct timespec nap = {0, 20000000};
    open_tree(NULL);
    uint64_t from_ns = clock_now_ns();
    watch_start(&watch, &health, &probe, probe.threads);
    int seen = 0;
    while (seen < 4 && clock_seconds(from_ns, clock_now_ns()) < 30) { /* a busy machine may be late */
        nanosleep(&nap, NULL);
        watch_pause(&watch, true);
        seen = health.n;
        watch_pause(&watch, false);
    }
    ck_assert_int_ge(seen, 4);
    watch_pause(&watch, true);
    seen = health.n;
    for (int i = 0; i < 60; i++)
        nanosleep(&nap, NULL);
    ck_assert_int_eq(health.n, seen); /* paused for longer than an interval */
    watch_pause(&watch, false);
    watch_stop(&watch);
    ck_assert_int_gt(health.n, seen);
    ck_assert(watch.cpu_s > 0);
    ck_assert(watch.interval_s >= HEALTH_INTERVAL_S);
    ck_assert(isfinite(health.row[health.n - 1].own_s) && health.row[health.n - 1].own_s > health.row[0].own_s);
    ck_assert(clock_seconds(health.row[0].at_ns, health.row[3].at_ns) >= 3 * HEALTH_INTERVAL_S);
    watch_stop(&watch); /* once more does nothing */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("health");
    TCase *c = tcase_create("readings");
    tcase_add_checked_fixture(c, tree_open, fini);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, energy_across_a_wrap);
    tcase_add_test(c, energy_across_a_wrap_of_unknown_range);
    tcase_add_test(c, energy_of_0_after_an_error);
    tcase_add_test(c, heat_of_the_cooler_socket);
    tcase_add_test(c, the_processor_among_many_sensors);
    tcase_add_test(c, throttle_counters_since_boot);
    tcase_add_test(c, values_of_an_intel_laptop);
    tcase_add_test(c, values_of_an_amd_desktop);
    tcase_add_test(c, two_packages);
    tcase_add_test(c, nothing_to_read);
    tcase_add_test(c, sensors_that_vanish);
    tcase_add_test(c, temperatures_that_cannot_be);
    tcase_add_test(c, the_clock_of_a_virtual_machine);
    tcase_add_test(c, long_series_are_thinned);
    tcase_add_test(c, a_thread_that_takes_readings);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
