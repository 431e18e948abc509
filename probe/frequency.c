/*
 * probe/frequency.c - see frequency.h.
 *
 * libcpuid can estimate the clock too (cpu_clock_by_ic), but it assumes an instruction rate that current cores
 * exceed: on a Zen 5 it answers 5.9 GHz where the clock is 4.1. Hence the chain of additions.
 */
#include "probe/frequency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"

/* Adds word to a list "a, b" unless it is there already. */
static void add_word(char *list, size_t size, const char *word)
{
    size_t n = strlen(list), m = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += m)
        if ((p == list || p[-1] == ' ') && (p[m] == '\0' || p[m] == ','))
            return;
    if (m && n + m + 3 < size)
        snprintf(list + n, size - n, "%s%s", n ? ", " : "", word);
}

static double largest_khz(const struct sysroot *root, const struct cpus *cpus, const char *name)
{
    double best = NAN;
    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        int64_t khz;
        if (sysroot_number(root, &khz, "sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, name) == 0 && khz > 0 &&
            !((double)khz * 1e3 <= best))
            best = (double)khz * 1e3;
    }
    return best;
}

/* Values of one cpufreq file, or with name NULL of "cpu MHz" in proc/cpuinfo, in Hz; returns how many. */
static size_t collect_hz(double *hz, const struct sysroot *root, const struct cpus *cpus, const char *name)
{
    size_t n = 0;
    for (int cpu = cpus_next(cpus, -1); name && cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        int64_t khz;
        if (sysroot_number(root, &khz, "sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, name) == 0 && khz > 0)
            hz[n++] = (double)khz * 1e3;
    }
    FILE *f = name ? NULL : sysroot_fopen(root, "proc/cpuinfo");
    if (!f)
        return n;
    char *line = NULL;
    size_t room = 0;
    int cpu = -1;
    while (n < CPUS_MAX && getline(&line, &room, f) > 0) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        if (strncmp(line, "processor\t", 10) == 0)
            cpu = atoi(colon + 1);
        else if (strncmp(line, "cpu MHz", 7) == 0 && cpus_has(cpus, cpu)) {
            double mhz = strtod(colon + 1, NULL); /* LC_NUMERIC is never set, see base/json.h */
            if (mhz > 0)
                hz[n++] = mhz * 1e6;
        }
    }
    free(line);
    fclose(f);
    return n;
}

static void read_current(struct frequency *f, const struct sysroot *root, const struct cpus *cpus,
                         struct reasons *reasons)
{
    static const char *const names[] = {"scaling_cur_freq", "cpuinfo_cur_freq", NULL};
    double *hz = malloc(CPUS_MAX * sizeof *hz);
    size_t n = 0;
    for (int i = 0; hz && i < 3 && n == 0; i++) {
        n = collect_hz(hz, root, cpus, names[i]);
        if (n > 0)
            snprintf(f->current_source, sizeof f->current_source, "%s%s", names[i] ? "cpufreq/" : "",
                     names[i] ? names[i] : "cpu MHz in proc/cpuinfo");
    }
    f->current_hz = n > 0 ? stats_median(hz, n) : NAN;
    free(hz);
    if (n == 0)
        reasons_add(reasons, "frequency.current_hz", "neither cpufreq nor proc/cpuinfo gives a frequency");
}

/* "cpu MHz" of the CPUs in proc/cpuinfo, line by line in a piece of memory that is not taken anew. */
static int clocks_in_cpuinfo(double *hz, int max, const struct sysroot *root, const struct cpus *cpus)
{
    char text[4096];
    size_t have = 0;
    ssize_t got;
    int n = 0, cpu = -1, fd = sysroot_open(root, "proc/cpuinfo");
    if (fd < 0)
        return 0;
    while (n < max && (got = read(fd, text + have, sizeof text - 1 - have)) > 0) {
        have += (size_t)got;
        text[have] = '\0';
        char *line = text, *end;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            const char *colon = memchr(line, ':', (size_t)(end - line));
            if (colon && strncmp(line, "processor\t", 10) == 0)
                cpu = atoi(colon + 1);
            else if (colon && strncmp(line, "cpu MHz", 7) == 0 && cpus_has(cpus, cpu) && n < max &&
                     strtod(colon + 1, NULL) > 0)
                hz[n++] = strtod(colon + 1, NULL) * 1e6;
        }
        have = (size_t)(text + have - line);
        memmove(text, line, have);
        if (have == sizeof text - 1) /* the flags of a processor can be long, and are not looked at */
            have = 0;
    }
    close(fd);
    return n;
}

double frequency_now_hz(const struct frequency *f, const struct sysroot *root, const struct cpus *cpus)
{
    double hz[FREQUENCY_WATCHED];
    int n = 0;
    if (strncmp(f->current_source, "cpufreq/", 8) != 0) {
        n = *f->current_source ? clocks_in_cpuinfo(hz, FREQUENCY_WATCHED, root, cpus) : 0;
        return n > 0 ? stats_median(hz, (size_t)n) : NAN;
    }
    for (int cpu = cpus_next(cpus, -1); cpu >= 0 && n < FREQUENCY_WATCHED; cpu = cpus_next(cpus, cpu)) {
        int64_t khz;
        if (sysroot_number(root, &khz, "sys/devices/system/cpu/cpu%d/%s", cpu, f->current_source) == 0 && khz > 0)
            hz[n++] = (double)khz * 1e3;
    }
    return n > 0 ? stats_median(hz, (size_t)n) : NAN;
}

void frequency_read(struct frequency *f, const struct sysroot *root, const struct cpus *cpus, struct reasons *reasons)
{
    int64_t value;
    memset(f, 0, sizeof *f);
    f->turbo = -1;
    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        char word[32];
        if (sysroot_text(root, word, sizeof word, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu) > 0)
            add_word(f->governor, sizeof f->governor, word);
        if (sysroot_text(root, word, sizeof word, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_driver", cpu) > 0)
            snprintf(f->driver, sizeof f->driver, "%s", word);
    }
    f->base_hz = largest_khz(root, cpus, "base_frequency");
    f->max_hz = largest_khz(root, cpus, "cpuinfo_max_freq");
    read_current(f, root, cpus, reasons);
    if (sysroot_number(root, &value, "sys/devices/system/cpu/intel_pstate/no_turbo") == 0)
        f->turbo = value == 0;
    else if (sysroot_number(root, &value, "sys/devices/system/cpu/cpufreq/boost") == 0)
        f->turbo = value != 0;

    static const char none[] = "the kernel offers no cpufreq here, as is usual in virtual machines";
    if (!*f->governor)
        reasons_add(reasons, "frequency.governor", "%s", none);
    if (!*f->driver)
        reasons_add(reasons, "frequency.driver", "%s", none);
    if (isnan(f->max_hz))
        reasons_add(reasons, "frequency.max_hz", "%s", none);
    if (isnan(f->base_hz))
        reasons_add(reasons, "frequency.base_hz", "the cpufreq driver does not tell the base frequency");
    if (f->turbo < 0)
        reasons_add(reasons, "frequency.turbo", "neither intel_pstate nor cpufreq tells whether turbo is allowed");
}

#if defined __x86_64__ || defined __aarch64__
enum { CHAIN = 8, CHAIN_ROUNDS = 50000 };

static void add_chain(void)
{
    unsigned long x = 1, y = 3; /* a register, not a constant: some cores fold chains of constants */
    for (int i = 0; i < CHAIN_ROUNDS; i++) {
#ifdef __x86_64__
        __asm__ volatile("add %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\t"
                         "add %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0"
                         : "+r"(x)
                         : "r"(y)
                         : "cc");
#else
        __asm__ volatile("add %0,%0,%1\n\tadd %0,%0,%1\n\tadd %0,%0,%1\n\tadd %0,%0,%1\n\t"
                         "add %0,%0,%1\n\tadd %0,%0,%1\n\tadd %0,%0,%1\n\tadd %0,%0,%1"
                         : "+r"(x)
                         : "r"(y));
#endif
    }
}

/* Best round, about 0.1 ms each: an interruption only makes a round longer. */
static double chain_hz(double seconds)
{
    double best_s = INFINITY;
    uint64_t start = clock_now_ns(), stop = start;
    while (clock_seconds(start, stop) < seconds) {
        uint64_t t0 = clock_now_ns();
        add_chain();
        stop = clock_now_ns();
        best_s = fmin(best_s, clock_seconds(t0, stop));
    }
    return (double)CHAIN * CHAIN_ROUNDS / best_s;
}
#else
static double chain_hz(double seconds)
{
    (void)seconds;
    return NAN;
}
#endif

double frequency_measure_hz(int threads, double seconds)
{
    double slowest = INFINITY;
#pragma omp parallel num_threads(threads) reduction(min : slowest)
    slowest = chain_hz(seconds);
    return isfinite(slowest) ? slowest : NAN;
}
