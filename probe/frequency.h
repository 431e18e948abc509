/*
 * probe/frequency.h - the clock: what cpufreq says, who chooses it, and what the cores really run at.
 *
 * Figures are of the CPUs given. cpufreq reads follow the machine at this moment, so on an idle machine they
 * are low; frequency_measure_hz() counts the clock of busy cores instead. Unknown: NaN or "".
 */
#ifndef PROBE_FREQUENCY_H
#define PROBE_FREQUENCY_H

#include "probe/cpus.h"
#include "probe/reasons.h"
#include "probe/sysroot.h"

struct frequency {
    char governor[64]; /* "powersave"; "a, b" if CPUs differ */
    char driver[32];
    double current_hz;       /* median over the CPUs */
    char current_source[64]; /* file the values come from */
    double base_hz, max_hz;  /* largest over the CPUs */
    int turbo;               /* 1 allowed, 0 switched off, -1 unknown */
};

void frequency_read(struct frequency *f, const struct sysroot *root, const struct cpus *cpus, struct reasons *reasons);

/* The clock now by the source that current_source names, median over at most FREQUENCY_WATCHED CPUs; NaN if it does not
 * tell (any more). Allocates nothing. */
enum { FREQUENCY_WATCHED = 16 };
double frequency_now_hz(const struct frequency *f, const struct sysroot *root, const struct cpus *cpus);

/* Clock of the slowest of so many threads, all busy for that long, from a chain of dependent additions: one per
 * cycle on every x86-64 and AArch64 core of this century. NaN on other architectures. Uses the OpenMP pool. */
double frequency_measure_hz(int threads, double seconds);

#endif
