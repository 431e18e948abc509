/* probe/heat.c - see heat.h. */
#include "probe/heat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The first label of this list that a sensor has is the processor's temperature. */
static const char *const labels[] = {
    "coretemp Package id", "x86_pkg_temp", "k10temp Tctl", "k10temp Tdie", "zenpower Tdie", "cpu_thermal",
    "cpu-thermal",         "coretemp",     "k10temp",      "TCPU",         "acpitz"};

enum { LABELS = sizeof labels / sizeof *labels };

static bool is_processor(const char *label)
{
    for (size_t l = 0; l < LABELS; l++)
        if (strncmp(label, labels[l], strlen(labels[l])) == 0)
            return true;
    return false;
}

/* The last sensor that is no processor's makes room. */
static bool make_room(struct heat *heat)
{
    int i = heat->n - 1;
    while (i >= 0 && is_processor(heat->sensor[i].label))
        i--;
    if (i < 0)
        return false;
    memmove(&heat->sensor[i], &heat->sensor[i + 1], (size_t)(heat->n - 1 - i) * sizeof *heat->sensor);
    heat->n--;
    return true;
}

static void add_sensor(struct heat *heat, const char *place, const char *label, int64_t mdegc)
{
    if (heat->n == HEAT_SENSORS_MAX) {
        heat->left_out++;
        if (!is_processor(label) || !make_room(heat))
            return;
    }
    struct heat_sensor *s = &heat->sensor[heat->n++];
    snprintf(s->place, sizeof s->place, "%s", place);
    snprintf(s->label, sizeof s->label, "%s", label);
    s->mdegc = mdegc;
}

static void read_zones(struct heat *heat, const struct sysroot *root)
{
    int number[256];
    int n = sysroot_numbered(root, "sys/class/thermal", "thermal_zone", number, 256);
    for (int i = 0; i < n; i++) {
        char place[64], type[96];
        int64_t mdegc;
        snprintf(place, sizeof place, "thermal_zone%d", number[i]);
        if (sysroot_number(root, &mdegc, "sys/class/thermal/%s/temp", place))
            continue; /* a zone that is switched off gives an error */
        if (sysroot_text(root, type, sizeof type, "sys/class/thermal/%s/type", place) <= 0)
            snprintf(type, sizeof type, "unnamed");
        add_sensor(heat, place, type, mdegc);
    }
}

static void read_hwmon(struct heat *heat, const struct sysroot *root)
{
    int number[256];
    int n = sysroot_numbered(root, "sys/class/hwmon", "hwmon", number, 256);
    for (int i = 0; i < n; i++) {
        char file[512][64];
        char folder[64], chip[32], label[48], place[96], text[96];
        snprintf(folder, sizeof folder, "sys/class/hwmon/hwmon%d", number[i]);
        int files = sysroot_names(root, folder, file, 512);
        if (sysroot_text(root, chip, sizeof chip, "%s/name", folder) <= 0)
            snprintf(chip, sizeof chip, "unnamed");
        for (int k = 0; k < files; k++) {
            int64_t mdegc;
            int input, end = 0;
            if (sscanf(file[k], "temp%d_input%n", &input, &end) != 1 || !end || file[k][end] ||
                sysroot_number(root, &mdegc, "%s/%s", folder, file[k]))
                continue;
            if (sysroot_text(root, label, sizeof label, "%s/temp%d_label", folder, input) <= 0)
                *label = '\0';
            snprintf(place, sizeof place, "hwmon%d/temp%d", number[i], input);
            snprintf(text, sizeof text, "%s%s%s", chip, *label ? " " : "", label);
            add_sensor(heat, place, text, mdegc);
        }
    }
}

static int find_cpu_sensor(const struct heat *heat)
{
    for (size_t l = 0; l < LABELS; l++)
        for (int i = 0; i < heat->n; i++)
            if (strncmp(heat->sensor[i].label, labels[l], strlen(labels[l])) == 0)
                return i;
    return -1;
}

const char *heat_sensor_path(const struct heat_sensor *sensor, char *path, size_t size)
{
    bool zone = strncmp(sensor->place, "thermal_zone", 12) == 0;
    snprintf(path, size, zone ? "sys/class/thermal/%s/temp" : "sys/class/hwmon/%s_input", sensor->place);
    return path;
}

int heat_cpu_sensors(const struct heat *heat, int *index, int max)
{
    int n = 0;
    size_t l = 0;
    if (heat->cpu < 0 || max < 1)
        return 0;
    while (l < LABELS && strncmp(heat->sensor[heat->cpu].label, labels[l], strlen(labels[l])) != 0)
        l++;
    for (int i = heat->cpu; i < heat->n && n < max && l < LABELS; i++)
        if (strncmp(heat->sensor[i].label, labels[l], strlen(labels[l])) == 0)
            index[n++] = i;
    return n;
}

struct cpus heat_packages(const struct sysroot *root, const struct cpus *cpus)
{
    enum { PACKAGES_MAX = 64 };
    struct cpus first = {{0}};
    int64_t seen[PACKAGES_MAX];
    int n = 0;
    for (int cpu = cpus_next(cpus, -1); cpu >= 0 && n < PACKAGES_MAX; cpu = cpus_next(cpus, cpu)) {
        int64_t id;
        int i = 0;
        if (sysroot_number(root, &id, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
            id = -1; /* those that do not say are taken for one */
        while (i < n && seen[i] != id)
            i++;
        if (i < n)
            continue;
        seen[n++] = id;
        cpus_add(&first, cpu);
    }
    return first;
}

struct heat_events heat_events_now(const struct sysroot *root, const struct cpus *cpus, const struct cpus *packages)
{
    struct heat_events events = {-1, -1};
    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        int64_t count;
        if (sysroot_number(root, &count, "sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu) == 0)
            events.core = (events.core < 0 ? 0 : events.core) + count;
    }
    for (int cpu = cpus_next(packages, -1); cpu >= 0; cpu = cpus_next(packages, cpu)) {
        int64_t count;
        if (sysroot_number(root, &count, "sys/devices/system/cpu/cpu%d/thermal_throttle/package_throttle_count", cpu) ==
            0)
            events.package = (events.package < 0 ? 0 : events.package) + count;
    }
    return events;
}

int64_t heat_count_between(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

void heat_read(struct heat *heat, const struct sysroot *root, const struct cpus *cpus, struct reasons *reasons)
{
    memset(heat, 0, sizeof *heat);
    read_zones(heat, root);
    read_hwmon(heat, root);
    heat->cpu = find_cpu_sensor(heat);
    struct cpus packages = heat_packages(root, cpus);
    heat->events = heat_events_now(root, cpus, &packages);
    if (heat->n == 0)
        reasons_add(reasons, "heat.sensors", "no thermal zone and no hwmon temperature can be read%s",
                    sysroot_exists(root, "sys/class/thermal") ? ", as is usual in virtual machines" : "");
    if (heat->cpu < 0)
        reasons_add(reasons, "heat.cpu_degc", "%s",
                    heat->n ? "no sensor is known to be the processor's" : "there is no temperature sensor");
    if (heat->events.core < 0)
        reasons_add(reasons, "heat.core_throttle_count", "the kernel counts no thermal throttling here");
    if (heat->events.package < 0)
        reasons_add(reasons, "heat.package_throttle_count", "the kernel counts no thermal throttling here");
}
