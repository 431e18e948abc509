/*
 * probe/heat.h - temperatures, and how often the processor protected itself from heat.
 *
 * Temperatures come from thermal zones and hwmon, in thousandths of a degree Celsius as the kernel gives
 * them. Throttle counters count since boot: only a difference says anything about a run.
 */
#ifndef PROBE_HEAT_H
#define PROBE_HEAT_H

#include "probe/cpus.h"
#include "probe/reasons.h"
#include "probe/sysroot.h"

enum { HEAT_SENSORS_MAX = 64 };

struct heat_sensor {
    char place[96]; /* "thermal_zone3", "hwmon1/temp2" */
    char label[96]; /* "x86_pkg_temp", "coretemp Package id 0" */
    int64_t mdegc;
};

/* Events since boot; what is not counted by the kernel is -1. */
struct heat_events {
    int64_t core;    /* core_throttle_count, summed over the CPUs (threads of a core count alike) */
    int64_t package; /* package_throttle_count, summed over the packages (all CPUs of one count alike) */
};

struct heat {
    int n;
    int left_out; /* sensors past the capacity; those of processors are kept before others */
    struct heat_sensor sensor[HEAT_SENSORS_MAX];
    int cpu; /* index of the sensor that stands for the processor, -1: none */
    struct heat_events events;
};

void heat_read(struct heat *heat, const struct sysroot *root, const struct cpus *cpus, struct reasons *reasons);

/* One of the CPUs of each package. */
struct cpus heat_packages(const struct sysroot *root, const struct cpus *cpus);

/* packages: of heat_packages(). */
struct heat_events heat_events_now(const struct sysroot *root, const struct cpus *cpus, const struct cpus *packages);

/* The file of a sensor below the root. Returns path. */
const char *heat_sensor_path(const struct heat_sensor *sensor, char *path, size_t size);

/* Sensors like the one that stands for the processor, itself first: one for each package. Returns how many, at most max. */
int heat_cpu_sensors(const struct heat *heat, int *index, int max);

/* after - before of a counter that only grows; -1 (unknown) if either is unknown or it went back. */
int64_t heat_count_between(int64_t before, int64_t after);

#endif
