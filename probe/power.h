/*
 * probe/power.h - mains or battery, and the energy that the processor packages have used.
 *
 * Energy comes from the powercap folder (RAPL): counters in microjoules that wrap at max_energy_range_uj, on
 * current kernels readable by root only. A run takes two readings and asks power_energy_between().
 */
#ifndef PROBE_POWER_H
#define PROBE_POWER_H

#include "probe/reasons.h"
#include "probe/sysroot.h"

enum power_source { POWER_UNKNOWN, POWER_MAINS, POWER_BATTERY };

enum { POWER_DOMAINS_MAX = 16 };

/* Folders found once, so that a reading opens its files and nothing else. */
struct power_domains {
    int n;
    char folder[POWER_DOMAINS_MAX][64], name[POWER_DOMAINS_MAX][32];
};

enum { POWER_SUPPLIES_MAX = 8 };

struct power_supplies {
    int n;
    char name[POWER_SUPPLIES_MAX][64];
    bool battery[POWER_SUPPLIES_MAX]; /* else what charges it */
};

struct power_energy {
    int n; /* packages; 0: none can be read */
    struct {
        char name[32];    /* "package-0" */
        int64_t uj;       /* counter; -1: the read failed */
        int64_t range_uj; /* where it wraps; -1: unknown */
    } package[POWER_DOMAINS_MAX];
};

struct power {
    enum power_source source;
    int battery_percent; /* of the fullest system battery; -1: unknown or none */
    struct power_energy energy;
};

void power_read(struct power *power, const struct sysroot *root, struct reasons *reasons);

struct power_energy power_energy_now(const struct sysroot *root);

/* The same in two parts; those called "now" allocate nothing. percent: of the fullest battery, -1: unknown or none. */
void power_domains_find(struct power_domains *domains, const struct sysroot *root);
struct power_energy power_domains_now(const struct power_domains *domains, const struct sysroot *root);
void power_supplies_find(struct power_supplies *supplies, const struct sysroot *root);
enum power_source power_supplies_now(const struct power_supplies *supplies, const struct sysroot *root, int *percent);

/*
 * Joules used between two readings of one counter. Across a wrap: range - before + after, which is right if it
 * wrapped once (a package at 100 W takes about 45 minutes for the usual range). NaN if a reading failed (-1) or
 * is 0, which is what a failed read looks like in some interfaces; if the counter went back and the range is
 * unknown (-1); or if a reading lies outside the range.
 */
double power_joules_between(int64_t before_uj, int64_t after_uj, int64_t range_uj);

/* Sum over the packages; NaN if it is unknown for any of them or there are none. */
double power_energy_between(const struct power_energy *before, const struct power_energy *after);

#endif
