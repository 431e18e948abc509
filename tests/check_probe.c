/* tests/check_probe.c - what the probe says about made-up machines, and pure functions against worked values. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <check.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/probe.h"
#include "tests/tree.h"

static struct probe probe;
static struct notes notes;

static void close_probe(void)
{
    probe_fini(&probe);
}

static const char *list(const struct cpus *cpus)
{
    static char text[256];
    return cpus_format(cpus, text, sizeof text);
}

/* --- sets of CPUs --- */

START_TEST(lists_of_cpus)
{
    static const struct {
        const char *text, *canonical; /* NULL: no list */
    } cases[] = {
        {"0", "0"},
        {"1\n", "1"},
        {"0-0,2", "0,2"},
        {"0-1\n", "0-1"},
        {" 0-3,8,9 ", "0-3,8-9"},
        {"3,1,2", "1-3"},
        {"0-2,2-4", "0-4"},
        {"63-64", "63-64"},
        {"8191", "8191"},
        {"", NULL},
        {"\n", NULL},
        {"8192", NULL},
        {"3-1", NULL},
        {"1,", NULL},
        {",1", NULL},
        {"0-", NULL},
        {"-1", NULL},
        {"0x3", NULL},
        {"0 1", NULL},
        {"0-1;3", NULL},
        {"99999999999999999999", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cpus c;
        int result = cpus_parse(&c, cases[i].text);
        ck_assert_msg(result == (cases[i].canonical ? 0 : -1), "'%s' gives %d", cases[i].text, result);
        ck_assert_str_eq(list(&c), cases[i].canonical ? cases[i].canonical : "");
    }
}
END_TEST

START_TEST(sets_of_cpus)
{
    struct cpus a, b;
    cpus_parse(&a, "0-70,8191");
    cpus_parse(&b, "64-80,8191");
    ck_assert_int_eq(cpus_count(&a), 72);
    struct cpus both = cpus_and(&a, &b);
    ck_assert_str_eq(list(&both), "64-70,8191");
    ck_assert_int_eq(cpus_next(&both, -1), 64);
    ck_assert_int_eq(cpus_next(&both, 70), 8191);
    ck_assert_int_eq(cpus_next(&both, 8191), -1);
    ck_assert(!cpus_has(&a, -1) && !cpus_has(&a, CPUS_MAX) && cpus_has(&a, 70) && !cpus_has(&a, 71));

    char small[12]; /* ends in dots instead of half a number */
    cpus_parse(&a, "0,2,4,6,8,10,12");
    ck_assert_str_eq(cpus_format(&a, small, sizeof small), "0,2,4,6...");
}
END_TEST

/* --- processor --- */

static struct cpu parsed(const char *text)
{
    struct cpu cpu;
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    ck_assert_ptr_nonnull(f);
    cpu_clear(&cpu);
    cpu_parse_cpuinfo(&cpu, f);
    fclose(f);
    return cpu;
}

START_TEST(cpuinfo_of_several_architectures)
{
    struct cpu x86 = parsed("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                            "model name\t:  Intel(R)   Xeon(R)\nstepping\t: 8\nflags\t\t: fpu avx2 avx512f amx_tile "
                            "avx512_bf16 hypervisor\n\nprocessor\t: 1\nmodel name\t: another\n");
    ck_assert_str_eq(x86.name, "Intel(R) Xeon(R)");
    ck_assert_str_eq(x86.vendor, "GenuineIntel");
    ck_assert(x86.family == 6 && x86.model == 143 && x86.stepping == 8 && x86.hypervisor == 1);
    ck_assert(x86.isa_known && x86.isa[ISA_AVX2] && x86.isa[ISA_AVX512F] && x86.isa[ISA_AVX512_BF16] &&
              x86.isa[ISA_AMX_TILE]);
    ck_assert(!x86.isa[ISA_AVX] && !x86.isa[ISA_AMX_BF16] && !x86.isa[ISA_AVX_VNNI]);

    struct cpu arm = parsed("Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1595.80\n"
                            "Hardware\t: a board\n");
    ck_assert_str_eq(arm.name, "ARMv7 Processor rev 1 (v7l)"); /* not the board, which comes later */
    ck_assert(!arm.isa_known && arm.hypervisor == -1 && arm.family == -1 && !*arm.vendor);

    struct cpu power = parsed("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nrevision\t: 2.2\n");
    ck_assert_str_eq(power.name, "POWER9, altivec supported");

    struct cpu none = parsed("nothing here\n");
    ck_assert(!*none.name && !*none.source && !none.isa_known);
}
END_TEST

#ifdef __x86_64__
/* The compiler's run-time library asks CPUID on its own: both must agree on what this CPU and system offer. */
START_TEST(instruction_sets_of_this_cpu)
{
    struct sysroot here;
    struct cpu cpu;
    __builtin_cpu_init();
    ck_assert_int_eq(sysroot_init(&here, NULL, NULL), 0);
    cpu_read(&cpu, &here);
    ck_assert_str_eq(cpu.source, "CPUID");
    ck_assert(cpu.isa_known);
    ck_assert_int_eq(cpu.isa[ISA_AVX], !!__builtin_cpu_supports("avx"));
    ck_assert_int_eq(cpu.isa[ISA_AVX2], !!__builtin_cpu_supports("avx2"));
    ck_assert_int_eq(cpu.isa[ISA_FMA], !!__builtin_cpu_supports("fma"));
    ck_assert_int_eq(cpu.isa[ISA_AVX512F], !!__builtin_cpu_supports("avx512f"));
    ck_assert_int_eq(cpu.isa[ISA_AVX512BW], !!__builtin_cpu_supports("avx512bw"));
    ck_assert_int_eq(cpu.isa[ISA_AVX512_VNNI], !!__builtin_cpu_supports("avx512vnni"));
    ck_assert_int_eq(cpu.isa[ISA_AVX512_BF16], !!__builtin_cpu_supports("avx512bf16"));
}
END_TEST
#endif

/* --- made-up machines (tests/fixtures/machines/README.md says what is in them) --- */

START_TEST(laptop_topology)
{
    tree_probe(&probe, tree_machine("laptop"), &notes);
    const struct topology *t = &probe.topology;
    ck_assert_int_eq(notes.n, 0);
    ck_assert_int_eq(t->packages, 1);
    ck_assert_int_eq(t->cores, 4);
    ck_assert_int_eq(t->cpus, 6);
    ck_assert_int_eq(t->threads_per_core, 2);
    ck_assert_int_eq(t->numa_nodes, 1);
    /* the favoured core (5.2 against 5.0 GHz turbo) has the same base clock: it is no third kind */
    ck_assert_int_eq(t->performance_cores, 2);
    ck_assert_int_eq(t->efficiency_cores, 2);
    ck_assert_str_eq(list(&t->efficiency), "4-5");
    ck_assert_int_eq(t->core_of[0], t->core_of[1]);
    ck_assert_int_eq(t->core_of[2], t->core_of[3]);
    ck_assert_int_ne(t->core_of[1], t->core_of[2]);
    ck_assert_int_eq(t->core_of[6], -1);
    ck_assert_int_eq(t->caches, 3);
    ck_assert_uint_eq(topology_last_cache_bytes(t), 12288 * 1024);
    ck_assert_int_eq(probe.total_cpus, 6);
    ck_assert_int_eq(probe.online_cpus, 6);
    ck_assert_str_eq(list(&probe.affinity.usable), "0-5"); /* the mask, 0-7, lists CPUs that are absent */
    ck_assert_int_eq(probe.usable_cores, 4);
    ck_assert_str_eq(probe_cpu_name(&probe), "13th Gen Made-up(R) Core(TM)");
    ck_assert_str_eq(probe.name, "laptopa");
}
END_TEST

START_TEST(laptop_clock_heat_power)
{
    tree_probe(&probe, tree_machine("laptop"), &notes);
    ck_assert_str_eq(probe.frequency.governor, "powersave");
    ck_assert_str_eq(probe.frequency.driver, "intel_pstate");
    ck_assert_double_eq(probe.frequency.current_hz, 1.25e9); /* median of 1.0, 1.1 .. 1.5 GHz */
    ck_assert_str_eq(probe.frequency.current_source, "cpufreq/scaling_cur_freq");
    ck_assert_double_eq(probe.frequency.base_hz, 2.0e9);
    ck_assert_double_eq(probe.frequency.max_hz, 5.2e9);
    ck_assert_int_eq(probe.frequency.turbo, 1);

    ck_assert_int_eq(probe.heat.n, 4);
    ck_assert_int_ge(probe.heat.cpu, 0);
    ck_assert_str_eq(probe.heat.sensor[probe.heat.cpu].label, "coretemp Package id 0");
    ck_assert_int_eq(probe.heat.sensor[probe.heat.cpu].mdegc, 72000);
    ck_assert_str_eq(probe.heat.sensor[1].place, "thermal_zone2");
    ck_assert_int_eq(probe.heat.sensor[1].mdegc, 71500);
    ck_assert_int_eq(probe.heat.events.core, 1234 + 1235 + 1236 + 1237 + 1238 + 1239);
    ck_assert_int_eq(probe.heat.events.package, 2000);

    ck_assert_int_eq(probe.power.source, POWER_BATTERY);
    ck_assert_int_eq(probe.power.battery_percent, 83); /* not the mouse's 95 */
    ck_assert_int_eq(probe.power.energy.n, 1);         /* neither the cores, which are part of it, nor psys */
    ck_assert_str_eq(probe.power.energy.package[0].name, "package-0");
    ck_assert_int_eq(probe.power.energy.package[0].uj, 262143000000);
    ck_assert_int_eq(probe.power.energy.package[0].range_uj, 262143328850);
    ck_assert_double_eq(probe_stolen_s_now(&probe), 250.0 / (double)sysconf(_SC_CLK_TCK));
}
END_TEST

START_TEST(server_with_an_offline_cpu)
{
    tree_probe(&probe, tree_machine("server"), &notes);
    const struct topology *t = &probe.topology;
    ck_assert_int_eq(notes.n, 0);
    ck_assert_int_eq(t->packages, 2);
    ck_assert_int_eq(t->cores, 4);
    ck_assert_int_eq(t->cpus, 7);
    ck_assert_int_eq(t->threads_per_core, 2);
    ck_assert_int_eq(t->numa_nodes, 2);
    ck_assert_int_eq(t->performance_cores, 0);
    ck_assert_int_eq(t->efficiency_cores, 0);
    ck_assert_int_eq(probe.total_cpus, 8);
    ck_assert_int_eq(probe.online_cpus, 7);
    ck_assert_str_eq(list(&probe.affinity.online), "0-2,4-7"); /* cpu0 has no file "online": it is online */
    ck_assert_str_eq(list(&probe.affinity.usable), "0-2,4-6");
    ck_assert_int_eq(probe.usable_cores, 3); /* 0+4, 2+6, 1+5; 3 is offline and 7 not in the mask */
    ck_assert_int_eq(probe.cpu.hypervisor, 1);
    ck_assert_str_eq(probe.frequency.current_source, "cpu MHz in proc/cpuinfo");
    ck_assert_double_eq(probe.frequency.current_hz, 2.3e9);
    ck_assert_int_eq(probe.heat.cpu, -1);
    ck_assert_int_eq(probe.heat.events.core, -1);
    ck_assert_int_eq(probe.power.source, POWER_UNKNOWN);
    ck_assert(isnan(probe_stolen_s_now(&probe)));
}
END_TEST

/* Every null in a document has its reason under its path; sysroot is null because there is none. */
static int count_nulls(json_t *root, json_t *object, const char *prefix)
{
    const char *key;
    json_t *value;
    int n = 0;
    json_object_foreach(object, key, value)
    {
        char path[128];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_null(value) && strcmp(path, "sysroot") != 0) {
            const char *why = json_string_value(json_object_get(json_object_get(root, "reasons"), path));
            ck_assert_msg(why && *why && strcmp(why, "this system does not tell") != 0, "no reason for %s", path);
            n++;
        } else if (json_is_object(value)) {
            n += count_nulls(root, value, path);
        }
        for (size_t i = 0; i < json_array_size(value); i++)
            n += count_nulls(root, json_array_get(value, i), path);
    }
    return n;
}

START_TEST(every_null_has_a_reason)
{
    const char *empty = tree_folder(), *roots[] = {NULL, empty, tree_machine("laptop")};
    for (int i = 0; i < 3; i++) {
        tree_probe(&probe, roots[i], &notes);
        struct err e;
        ck_assert_int_eq(probe_bind_threads(&probe, probe.threads, &notes, &e), 0);
        probe.measured.threads = 1; /* as if everything measured had failed */
        probe.measured.flops_per_s = probe.measured.clock_hz = NAN;
        probe.measured.memory.read_bytes_per_s = probe.measured.memory.triad_bytes_per_s = NAN;
        probe.measured.why = "a test";
        json_t *d = probe_json(&probe);
        int n = count_nulls(d, d, "");
        ck_assert_int_ge(n, 6); /* the measured values at least */
        ck_assert(json_array_size(json_object_get(d, "usable_cpus")) > 0);
        ck_assert(json_integer_value(json_object_get(d, "threads")) >= 1);
        ck_assert(json_integer_value(json_object_get(json_object_get(d, "topology"), "cores")) >= 1);
        char *text = json_dumps(d, 0);
        ck_assert_ptr_nonnull(text);
        free(text);
        json_decref(d);
        if (i == 1)
            ck_assert_int_eq(notes.n, 0);
        probe_fini(&probe);
    }
    memset(&probe, 0, sizeof probe);
}
END_TEST

START_TEST(bytes_that_are_no_text)
{
    tree_write("proc/cpuinfo", "processor\t: 0\nmodel name\t: \xff\xfe"
                               "chip\nflags\t: avx\n");
    tree_write("proc/sys/kernel/hostname", "n\xc3\xb6"
                                           "de\n");
    tree_probe(&probe, tree_folder(), &notes);
    json_t *d = probe_json(&probe);
    ck_assert_str_eq(json_string_value(json_object_get(d, "cpu")), "??chip");
    ck_assert_str_eq(json_string_value(json_object_get(d, "name")), "n\xc3\xb6"
                                                                    "de");
    json_decref(d);
}
END_TEST

START_TEST(a_root_that_is_none)
{
    struct err e;
    ck_assert_int_eq(probe_read(&probe, "/no/such/folder", 0, &notes, &e), -1);
    ck_assert_int_eq(e.code, ERR_NO_INPUT);
    ck_assert_ptr_nonnull(strstr(e.text, "/no/such/folder"));
    probe_fini(&probe);
    ck_assert_int_eq(probe_read(&probe, "/dev/null", 0, &notes, &e), -1);
    ck_assert_int_eq(e.code, ERR_NO_INPUT);
    ck_assert_int_eq(probe_read(&probe, "", 0, &notes, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
}
END_TEST

/* --- where threads go --- */

static void places(const char *machine, int threads, const int *expected)
{
    int cpu[16];
    tree_probe(&probe, tree_machine(machine), &notes);
    ck_assert_int_eq(probe_place_threads(&probe, threads, cpu), 0);
    for (int i = 0; i < threads; i++)
        ck_assert_msg(cpu[i] == expected[i], "%s: thread %d on CPU %d, not %d", machine, i, cpu[i], expected[i]);
    ck_assert_int_eq(probe_place_threads(&probe, 7, cpu), -1); /* both machines have six usable CPUs */
    ck_assert_int_eq(probe_place_threads(&probe, 0, cpu), -1);
    probe_fini(&probe);
}

START_TEST(one_core_each_then_second_threads)
{
    places("laptop", 6, (const int[]){0, 2, 4, 5, 1, 3});
    places("server", 6, (const int[]){0, 2, 1, 4, 6, 5});
}
END_TEST

/* A process bound to a single CPU: that one is usable, by the system's number, and there the thread runs. */
START_TEST(bound_to_the_usable_cpu)
{
    struct err e = {ERR_OK, ""};
    cpu_set_t before, one;
    int last = -1;
    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before))
            last = cpu;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    tree_probe(&probe, NULL, &notes);
    ck_assert_int_eq(cpus_count(&probe.affinity.usable), 1);
    ck_assert(cpus_has(&probe.affinity.usable, last));
    ck_assert_int_eq(probe.threads, 1);
    omp_set_num_threads(1);
    ck_assert_int_eq(probe_bind_threads(&probe, 1, &notes, &e), 0);
    ck_assert_int_eq(probe.pinned_n, 1);
    ck_assert_int_eq(probe.pinned[0], last);
    ck_assert_int_eq(sched_getcpu(), last);

    ck_assert_int_eq(probe_bind_threads(&probe, 2, &notes, &e), 0); /* two on one CPU stay free */
    ck_assert_int_eq(probe.pinned_n, 0);
    ck_assert_ptr_nonnull(reasons_find(&probe.reasons, "pinned_cpus"));
}
END_TEST

START_TEST(every_thread_on_its_own_cpu)
{
    struct err e = {ERR_OK, ""};
    tree_probe(&probe, NULL, &notes);
    int cpus = cpus_count(&probe.affinity.usable), threads = cpus < 4 ? cpus : 4;
    struct cpus seen = {{0}};
    omp_set_num_threads(threads);
    ck_assert_int_eq(probe_bind_threads(&probe, threads, &notes, &e), 0);
    ck_assert_int_eq(probe.pinned_n, threads);
    int wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    wrong += sched_getcpu() != probe.pinned[omp_get_thread_num()];
    ck_assert_int_eq(wrong, 0);
    for (int i = 0; i < threads; i++)
        cpus_add(&seen, probe.pinned[i]);
    ck_assert_int_eq(cpus_count(&seen), threads);

    cpu_set_t mask;
    probe_unbind_self(&probe);
    ck_assert_int_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    ck_assert_int_eq(CPU_COUNT(&mask), cpus);
}
END_TEST

/* --- counters --- */

START_TEST(energy_across_the_wrap)
{
    const int64_t range = 262143328850;
    /* 262143328850 - 262143000000 + 671150 = 1000000 microjoules; in one second that is 1 W */
    ck_assert_double_eq_tol(power_joules_between(262143000000, 671150, range), 1.0, 1e-6);
    ck_assert(isnan(power_joules_between(262143000000, 671150, -1))); /* wrapped, range unreadable */
    ck_assert(isnan(power_joules_between(262143000000, 0, range)));   /* 0 after an error */
    ck_assert(isnan(power_joules_between(0, 671150, range)));
    ck_assert(isnan(power_joules_between(-1, 671150, range)));
    ck_assert(isnan(power_joules_between(1000, -1, range)));
    ck_assert(isnan(power_joules_between(range + 1, 5, range))); /* outside of the range */
    ck_assert_double_eq_tol(power_joules_between(1000000, 3500000, range), 2.5, 1e-12);
    ck_assert_double_eq_tol(power_joules_between(1000000, 3500000, -1), 2.5, 1e-12); /* no wrap to correct */
}
END_TEST

START_TEST(energy_of_all_packages)
{
    struct power_energy before = {2, {{"package-0", 1000000, 5000000}, {"package-1", 4000000, 5000000}}},
                        after = before;
    after.package[0].uj = 2000000;
    after.package[1].uj = 500000; /* wrapped: 1.5 J */
    ck_assert_double_eq_tol(power_energy_between(&before, &after), 2.5, 1e-12);
    after.package[1].uj = -1;
    ck_assert(isnan(power_energy_between(&before, &after)));
    after.n = 0;
    ck_assert(isnan(power_energy_between(&before, &after)));
    before.n = 0;
    ck_assert(isnan(power_energy_between(&before, &after)));
}
END_TEST

START_TEST(throttle_counters_are_differences)
{
    ck_assert_int_eq(heat_count_between(1234, 1234), 0);
    ck_assert_int_eq(heat_count_between(1234, 1240), 6);
    ck_assert_int_eq(heat_count_between(1240, 1234), -1);
    ck_assert_int_eq(heat_count_between(-1, 1240), -1);
    ck_assert_int_eq(heat_count_between(1234, -1), -1);
}
END_TEST

START_TEST(counters_are_read_anew)
{
    tree_write("sys/devices/system/cpu/online", "0-1\n");
    tree_write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
    tree_write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "1234\n");
    tree_write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_write("sys/class/powercap/intel-rapl:0/energy_uj", "262143000000\n");
    tree_write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    tree_probe(&probe, tree_folder(), &notes);
    tree_write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "1240\n");
    tree_write("sys/class/powercap/intel-rapl:0/energy_uj", "671150\n");
    struct heat_events events = probe_heat_events_now(&probe);
    struct power_energy energy = power_energy_now(&probe.root);
    ck_assert_int_eq(heat_count_between(probe.heat.events.core, events.core), 6);
    ck_assert_int_eq(heat_count_between(probe.heat.events.package, events.package), -1);
    ck_assert_double_eq_tol(power_energy_between(&probe.power.energy, &energy), 1.0, 1e-6);
}
END_TEST

START_TEST(power_sources)
{
    static const struct {
        const char *mains, *status; /* NULL: not there */
        enum power_source source;
    } cases[] = {
        {"1\n", "Charging\n", POWER_MAINS},
        {"0\n", "Discharging\n", POWER_BATTERY},
        {"0\n", "Unknown\n", POWER_BATTERY},
        {"1\n", NULL, POWER_MAINS},
        {NULL, "Discharging\n", POWER_BATTERY},
        {NULL, "Full\n", POWER_MAINS},
        {NULL, NULL, POWER_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sysroot root;
        struct power power;
        struct reasons reasons = {0};
        tree_open();
        if (cases[i].mains) {
            tree_write("sys/class/power_supply/AC/type", "Mains\n");
            tree_write("sys/class/power_supply/AC/online", cases[i].mains);
        }
        if (cases[i].status) {
            tree_write("sys/class/power_supply/BAT1/type", "Battery\n");
            tree_write("sys/class/power_supply/BAT1/status", cases[i].status);
        }
        ck_assert_int_eq(sysroot_init(&root, tree_folder(), NULL), 0);
        power_read(&power, &root, &reasons);
        ck_assert_msg(power.source == cases[i].source, "case %zu gives %d", i, power.source);
        tree_close();
    }
}
END_TEST

/* --- what is measured --- */

START_TEST(bandwidth_is_measured_or_explained)
{
    struct membw m = membw_measure(1, 0.05, 0, NAN);
    ck_assert(isfinite(m.read_bytes_per_s) && m.read_bytes_per_s > 0);
    ck_assert(isfinite(m.triad_bytes_per_s) && m.triad_bytes_per_s > 0);
    ck_assert_int_ge(m.passes, 2);
    ck_assert_uint_eq(m.array_bytes, 32u << 20); /* the least, as there is no cache to outgrow */

    struct membw tight = membw_measure(1, 0.05, 8u << 20, 4e6); /* may take 1 MB for arrays: too few for such a cache */
    ck_assert(isnan(tight.read_bytes_per_s) && isnan(tight.triad_bytes_per_s));
    ck_assert_str_ne(tight.why, "");
}
END_TEST

#if defined __x86_64__ || defined __aarch64__
START_TEST(clock_is_measured)
{
    double hz = frequency_measure_hz(1, 0.02);
    ck_assert_msg(hz > 1e6 && hz < 2e10, "%g Hz", hz); /* any processor; says that cycles were counted, not how many */
}
END_TEST
#endif

START_TEST(a_recorded_machine_is_not_measured)
{
    tree_probe(&probe, tree_machine("server"), &notes);
    probe_measure(&probe, 1, 1.0);
    ck_assert(isnan(probe.measured.clock_hz) && isnan(probe.measured.flops_per_s));
    ck_assert(isnan(probe.measured.memory.read_bytes_per_s));
    ck_assert_ptr_nonnull(probe.measured.why);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *pure = tcase_create("pure"), *machines = tcase_create("machines"), *live = tcase_create("live");
    tcase_add_test(pure, lists_of_cpus);
    tcase_add_test(pure, sets_of_cpus);
    tcase_add_test(pure, cpuinfo_of_several_architectures);
    tcase_add_test(pure, energy_across_the_wrap);
    tcase_add_test(pure, energy_of_all_packages);
    tcase_add_test(pure, throttle_counters_are_differences);
    tcase_add_test(pure, power_sources);
    suite_add_tcase(suite, pure);

    tcase_add_checked_fixture(machines, tree_open, tree_close);
    tcase_add_checked_fixture(machines, NULL, close_probe);
    tcase_set_timeout(machines, 30);
    tcase_add_test(machines, laptop_topology);
    tcase_add_test(machines, laptop_clock_heat_power);
    tcase_add_test(machines, server_with_an_offline_cpu);
    tcase_add_test(machines, every_null_has_a_reason);
    tcase_add_test(machines, bytes_that_are_no_text);
    tcase_add_test(machines, a_root_that_is_none);
    tcase_add_test(machines, one_core_each_then_second_threads);
    tcase_add_test(machines, counters_are_read_anew);
    tcase_add_test(machines, a_recorded_machine_is_not_measured);
    suite_add_tcase(suite, machines);

    tcase_add_checked_fixture(live, NULL, close_probe);
    tcase_set_timeout(live, 60);
    tcase_add_test(live, bound_to_the_usable_cpu);
    tcase_add_test(live, every_thread_on_its_own_cpu);
    tcase_add_test(live, bandwidth_is_measured_or_explained);
#ifdef __x86_64__
    tcase_add_test(live, instruction_sets_of_this_cpu);
#endif
#if defined __x86_64__ || defined __aarch64__
    tcase_add_test(live, clock_is_measured);
#endif
    suite_add_tcase(suite, live);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
