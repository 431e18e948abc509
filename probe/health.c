/* probe/health.c - see health.h. Start at health_take(). */
#include "probe/health.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

const char *const health_column_names[HEALTH_COLUMNS] = {
    [HEALTH_CLOCK_HZ] = "clock_hz",
    [HEALTH_CPU_DEGC] = "cpu_degc",
    [HEALTH_POWER_W] = "package_w",
    [HEALTH_ENERGY_J] = "package_j",
    [HEALTH_CORE_EVENTS] = "core_heat_events",
    [HEALTH_PACKAGE_EVENTS] = "package_heat_events",
    [HEALTH_QUOTA_PERIODS] = "throttled_periods",
    [HEALTH_QUOTA_S] = "throttled_s",
    [HEALTH_STOLEN_S] = "stolen_s",
    [HEALTH_SUSPENDED_S] = "suspended_s",
    [HEALTH_RUNNING] = "running_threads",
    [HEALTH_OTHER_CPUS] = "other_cpus",
    [HEALTH_ON_BATTERY] = "on_battery",
    [HEALTH_BATTERY_PERCENT] = "battery_percent",
};

/* ---- what is to be read ---- */

/* Evenly spread, if there are more than are looked at. */
static void choose_cpus(struct health *health, const struct probe *probe)
{
    struct cpus all = {{0}};
    for (int i = 0; i < probe->pinned_n; i++)
        cpus_add(&all, probe->pinned[i]);
    if (cpus_count(&all) == 0)
        all = probe->affinity.usable;
    int n = cpus_count(&all), i = 0, taken = 0;
    for (int cpu = cpus_next(&all, -1); cpu >= 0; cpu = cpus_next(&all, cpu), i++)
        if (n <= FREQUENCY_WATCHED || (int64_t)i * FREQUENCY_WATCHED >= (int64_t)taken * n) {
            cpus_add(&health->watched, cpu);
            taken++;
        }
}

void health_open(struct health *health, const struct probe *probe)
{
    int index[HEALTH_SENSORS_MAX];
    memset(health, 0, sizeof *health);
    health->probe = probe;
    health->every = 1;
    choose_cpus(health, probe);
    health->packages = heat_packages(&probe->root, &health->watched);
    health->sensors = heat_cpu_sensors(&probe->heat, index, HEALTH_SENSORS_MAX);
    for (int i = 0; i < health->sensors; i++) {
        const struct heat_sensor *sensor = &probe->heat.sensor[index[i]];
        heat_sensor_path(sensor, health->sensor[i], sizeof health->sensor[i]);
        snprintf(health->label[i], sizeof health->label[i], "%s", sensor->label);
    }
    power_domains_find(&health->domains, &probe->root);
    power_supplies_find(&health->supplies, &probe->root);
}

/* ---- one reading ---- */

/* Below the boiling point of the solder and above deep space: some sensors give -1, 0 or 255 degrees for "unknown". */
static bool is_plausible(int64_t mdegc)
{
    return mdegc > -40000 && mdegc != 0 && mdegc <= 150000;
}

static int64_t hottest(const struct health *health)
{
    int64_t most = INT64_MIN, mdegc;
    for (int i = 0; i < health->sensors; i++)
        if (sysroot_number(&health->probe->root, &mdegc, "%s", health->sensor[i]) == 0 && is_plausible(mdegc) &&
            mdegc > most)
            most = mdegc;
    return most;
}

/* First line of proc/stat: cpu user nice system idle iowait irq softirq steal, in clock ticks; guests are in user. */
static void read_stat(struct health_row *row, const struct sysroot *root)
{
    unsigned long long user, nice, system, irq, softirq, steal;
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    char text[256];
    row->busy_s = row->stolen_s = NAN;
    if (sysroot_text(root, text, sizeof text, "proc/stat") <= 0 ||
        sscanf(text, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system, &irq, &softirq, &steal) != 6)
        return;
    row->busy_s = (double)(user + nice + system + irq + softirq) * tick_s;
    row->stolen_s = (double)steal * tick_s;
}

/* "0.20 0.18 0.12 1/80 11206": the number before the stroke; the thread that reads it is one of them. */
static int read_running(const struct sysroot *root)
{
    char text[128];
    int running;
    if (sysroot_text(root, text, sizeof text, "proc/loadavg") <= 0 || sscanf(text, "%*s %*s %*s %d/", &running) != 1 ||
        running < 0)
        return -1;
    return running > 0 ? running - 1 : 0;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? NAN : (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CLOCK_BOOTTIME goes on while the machine sleeps, CLOCK_MONOTONIC does not. */
static double slept_s(void)
{
    return seconds_of(CLOCK_BOOTTIME) - seconds_of(CLOCK_MONOTONIC);
}

static struct health_row read_row(struct health *health, uint64_t at_ns)
{
    const struct probe *probe = health->probe;
    const struct sysroot *root = &probe->root;
    struct health_row row = {.at_ns = at_ns,
                             .clock_hz = frequency_now_hz(&probe->frequency, root, &health->watched),
                             .mdegc = hottest(health),
                             .events = heat_events_now(root, &health->watched, &health->packages),
                             .own_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID),
                             .running = read_running(root),
                             .quota = cgroup_throttled_now(&probe->cgroup, root),
                             .suspended_s = slept_s()};
    read_stat(&row, root);
    row.source = power_supplies_now(&health->supplies, root, &row.battery_percent);
    struct power_energy energy = power_domains_now(&health->domains, root);
    if (health->n > 0 && row.suspended_s - health->row[health->n - 1].suspended_s > 0.1)
        health->joules = NAN; /* a counter may begin anew: that is no wrap */
    else if (health->n > 0)
        health->joules += power_energy_between(&health->energy, &energy); /* NaN stays */
    else
        health->joules = power_energy_between(&energy, &energy); /* 0 if it can be read */
    health->energy = energy;
    row.joules = health->joules;
    return row;
}

/* Every other row goes, from the second on. */
static void thin(struct health *health)
{
    int kept = 0;
    for (int i = 0; i < health->n; i += 2)
        health->row[kept++] = health->row[i];
    health->n = kept;
    health->every *= 2;
}

static void add(struct health *health, const struct health_row *row)
{
    if (health->n == HEALTH_ROWS_MAX)
        thin(health);
    health->row[health->n++] = *row;
    health->skipped = 0;
}

void health_take(struct health *health, uint64_t at_ns)
{
    struct health_row row = read_row(health, at_ns);
    if (health->n == 0 || ++health->skipped >= health->every)
        add(health, &row);
}

void health_take_last(struct health *health, uint64_t at_ns)
{
    struct health_row row = read_row(health, at_ns);
    add(health, &row);
}

/* ---- the series ---- */

static double count_since_first(int64_t first, int64_t now)
{
    int64_t n = heat_count_between(first, now);
    return n < 0 ? NAN : (double)n;
}

static double rate(const struct health *health, int i, double before, double after)
{
    if (i == 0)
        return NAN;
    double seconds = (double)(health->row[i].at_ns - health->row[i - 1].at_ns) * 1e-9;
    return seconds > 0 ? (after - before) / seconds : NAN;
}

double health_value(const struct health *health, enum health_column column, int i)
{
    const struct health_row *row = &health->row[i], *first = &health->row[0], *before = i ? row - 1 : row;
    switch (column) {
    case HEALTH_CLOCK_HZ:
        return row->clock_hz;
    case HEALTH_CPU_DEGC:
        return row->mdegc == INT64_MIN ? NAN : (double)row->mdegc * 1e-3;
    case HEALTH_POWER_W:
        return rate(health, i, before->joules, row->joules);
    case HEALTH_ENERGY_J:
        return row->joules;
    case HEALTH_CORE_EVENTS:
        return count_since_first(first->events.core, row->events.core);
    case HEALTH_PACKAGE_EVENTS:
        return count_since_first(first->events.package, row->events.package);
    case HEALTH_QUOTA_PERIODS:
        return first->quota.known && row->quota.known && row->quota.periods >= first->quota.periods
                   ? (double)(row->quota.periods - first->quota.periods)
                   : NAN;
    case HEALTH_QUOTA_S:
        return first->quota.known && row->quota.known && row->quota.seconds >= first->quota.seconds
                   ? row->quota.seconds - first->quota.seconds
                   : NAN;
    case HEALTH_STOLEN_S:
        return row->stolen_s >= first->stolen_s ? row->stolen_s - first->stolen_s : NAN;
    case HEALTH_SUSPENDED_S:
        return fmax(0, row->suspended_s - first->suspended_s);
    case HEALTH_RUNNING:
        return row->running < 0 ? NAN : row->running;
    case HEALTH_OTHER_CPUS:
        /* ticks are counted apart from this process's time, so a little less than nothing is nothing */
        return health->probe->root.live && i
                   ? fmax(0, rate(health, i, before->busy_s - before->own_s, row->busy_s - row->own_s))
                   : NAN;
    case HEALTH_ON_BATTERY:
        return row->source == POWER_UNKNOWN ? NAN : row->source == POWER_BATTERY;
    case HEALTH_BATTERY_PERCENT:
        return row->battery_percent < 0 ? NAN : row->battery_percent;
    case HEALTH_COLUMNS:
        break;
    }
    return NAN;
}

const char *health_why(const struct health *health, enum health_column column, char *buf, size_t size)
{
    static const char *const paths[HEALTH_COLUMNS] = {[HEALTH_CLOCK_HZ] = "frequency.current_hz",
                                                      [HEALTH_CPU_DEGC] = "heat.cpu_degc",
                                                      [HEALTH_CORE_EVENTS] = "heat.core_throttle_count",
                                                      [HEALTH_PACKAGE_EVENTS] = "heat.package_throttle_count",
                                                      [HEALTH_QUOTA_PERIODS] = "throttled_periods",
                                                      [HEALTH_QUOTA_S] = "throttled_periods",
                                                      [HEALTH_STOLEN_S] = "stolen_s",
                                                      [HEALTH_ON_BATTERY] = "power.source",
                                                      [HEALTH_BATTERY_PERCENT] = "power.battery_percent"};
    const struct reasons *reasons = &health->probe->reasons;
    const char *why = paths[column] ? reasons_find(reasons, paths[column]) : NULL;
    if (column == HEALTH_POWER_W || column == HEALTH_ENERGY_J) {
        why = reasons_find(reasons, "power.energy");
        why = why ? why : reasons_find(reasons, "power.energy.uj");
        why = why ? why
                  : "an energy counter could not be followed: unreadable, 0 after an error, or wrapped at an unknown "
                    "range";
        why = health->n < 2 ? "fewer than two readings" : why;
    } else if (column == HEALTH_RUNNING) {
        why = "proc/loadavg cannot be read";
    } else if (column == HEALTH_OTHER_CPUS) {
        why = health->probe->root.live ? "proc/stat cannot be read" : "the machine is a recorded one";
    }
    snprintf(buf, size, "%s", why ? why : "it could not be read during the run");
    return buf;
}

void health_rows_around(const struct health *health, uint64_t from_ns, uint64_t to_ns, int *first, int *last)
{
    *first = 0;
    *last = health->n - 1;
    while (*first + 1 < health->n && health->row[*first + 1].at_ns <= from_ns)
        ++*first;
    while (*last > *first && health->row[*last - 1].at_ns >= to_ns)
        --*last;
}

double health_growth(const struct health *health, enum health_column column, uint64_t from_ns, uint64_t to_ns)
{
    int first, last;
    if (health->n < 2)
        return NAN;
    health_rows_around(health, from_ns, to_ns, &first, &last);
    return health_value(health, column, last) - health_value(health, column, first);
}
