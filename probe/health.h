/*
 * probe/health.h - the state of a node over a run: clock, heat, power, what else ran, in a bounded series of readings.
 *
 * What is to be read is found once, in health_open(); a reading opens those files, allocates nothing, and is added to the
 * series. When the series is full every other reading is dropped and twice as many are skipped from then on, so a run of any
 * length fits and no counter loses anything: rows hold readings of counters, and rates are differences between rows. What
 * cannot be read is NaN or -1 in its row. A sensor that goes away is unknown from then on; one whose files come back
 * under the same name is read again, but energy stays unknown, since what was used meanwhile is.
 *
 *     health_open(&health, &probe);
 *     health_take(&health, clock_now_ns()) ...       see probe/watch.h for the thread that does it
 *     health_value(&health, HEALTH_POWER_W, i) ...
 *
 * One thread at a time.
 */
#ifndef PROBE_HEALTH_H
#define PROBE_HEALTH_H

#include "probe/probe.h"

enum { HEALTH_ROWS_MAX = 200, HEALTH_SENSORS_MAX = 4 };

#define HEALTH_INTERVAL_S 0.5 /* between readings, before any are skipped */

struct health_row {
    uint64_t at_ns;
    double clock_hz;
    int64_t mdegc;             /* hottest of the packages; INT64_MIN: unknown */
    double joules;             /* of all packages since the first row */
    struct heat_events events; /* since boot, of the watched CPUs */
    double busy_s, stolen_s;   /* all CPUs since boot */
    double own_s;              /* processor time of this process */
    int running;               /* threads on the machine that run or could; -1: unknown */
    struct throttle_count quota;
    double suspended_s; /* for which the machine slept, since boot */
    enum power_source source;
    int battery_percent;
};

struct health {
    const struct probe *probe; /* borrowed */
    struct cpus watched;       /* of the compute threads, else the usable ones; at most FREQUENCY_WATCHED */
    struct cpus packages;      /* one of them in each package */
    int sensors;
    char sensor[HEALTH_SENSORS_MAX][128], label[HEALTH_SENSORS_MAX][96];
    struct power_domains domains;
    struct power_supplies supplies;
    struct power_energy energy; /* of the reading before, kept or not */
    double joules;
    int n, every, skipped; /* of `every` readings one is kept */
    struct health_row row[HEALTH_ROWS_MAX];
};

/* Probe has bound its threads. Takes no reading. */
void health_open(struct health *health, const struct probe *probe);

void health_take(struct health *health, uint64_t at_ns);

/* The last one of a run, kept in any case. */
void health_take_last(struct health *health, uint64_t at_ns);

enum health_column {
    HEALTH_CLOCK_HZ,
    HEALTH_CPU_DEGC,
    HEALTH_POWER_W,     /* since the row before, as all that follow from differences; NaN in the first row */
    HEALTH_ENERGY_J,    /* since the first row, as are */
    HEALTH_CORE_EVENTS, /* these, */
    HEALTH_PACKAGE_EVENTS,
    HEALTH_QUOTA_PERIODS,
    HEALTH_QUOTA_S,
    HEALTH_STOLEN_S,
    HEALTH_SUSPENDED_S, /* and this */
    HEALTH_RUNNING,
    HEALTH_OTHER_CPUS, /* processors that other processes used: busy time less this process's, since the row before */
    HEALTH_ON_BATTERY, /* 1 or 0 */
    HEALTH_BATTERY_PERCENT,
    HEALTH_COLUMNS
};

extern const char *const health_column_names[HEALTH_COLUMNS]; /* as in the document */

/* Of row i; NaN: unknown. */
double health_value(const struct health *health, enum health_column column, int i);

/* Why a column has no value in any row, in a sentence that buf may hold. */
const char *health_why(const struct health *health, enum health_column column, char *buf, size_t size);

/* Growth of a counting column between two instants, by the rows around them; NaN: unknown. */
double health_growth(const struct health *health, enum health_column column, uint64_t from_ns, uint64_t to_ns);

/* First and last row around the interval: the last one before it and the first one after it, as far as there are. */
void health_rows_around(const struct health *health, uint64_t from_ns, uint64_t to_ns, int *first, int *last);

#endif
