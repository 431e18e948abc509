/* probe/affinity.c - see affinity.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "probe/affinity.h"

#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* With OMP_PROC_BIND or GOMP_CPU_AFFINITY set, libgomp narrows the main thread's mask to one place before main()
 * runs. The places together are what the process was given. */
static void add_omp_places(struct cpus *mask)
{
    for (int place = 0; place < omp_get_num_places(); place++) {
        int n = omp_get_place_num_procs(place);
        int *cpu = n > 0 ? malloc((size_t)n * sizeof *cpu) : NULL;
        if (!cpu)
            continue;
        omp_get_place_proc_ids(place, cpu);
        for (int i = 0; i < n; i++)
            cpus_add(mask, cpu[i]);
        free(cpu);
    }
}

static bool live_mask(struct cpus *mask)
{
    memset(mask, 0, sizeof *mask);
    /* struct cpus is laid out as the kernel's mask: bit i of 64-bit word i / 64 */
    bool known = sched_getaffinity(0, sizeof mask->word, (cpu_set_t *)(void *)mask->word) == 0;
    add_omp_places(mask);
    return known && cpus_next(mask, -1) >= 0;
}

/* The affinity in proc/self/status of a recorded machine. */
static bool recorded_mask(struct cpus *mask, const struct sysroot *root)
{
    static const char key[] = "Cpus_allowed_list:";
    FILE *f = sysroot_fopen(root, "proc/self/status");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (!f)
        return false;
    while (!found && getline(&line, &room, f) > 0)
        found = strncmp(line, key, sizeof key - 1) == 0 && cpus_parse(mask, line + sizeof key - 1) == 0;
    free(line);
    fclose(f);
    return found;
}

/* From the folders cpuN of kernels or recordings that have no list. CPU 0 often has no file "online", because it
 * cannot be taken offline; an absent file means online. */
static bool online_from_folders(struct cpus *online, const struct sysroot *root)
{
    int number[CPUS_MAX];
    int n = sysroot_numbered(root, "sys/devices/system/cpu", "cpu", number, CPUS_MAX);
    for (int i = 0; i < n; i++) {
        int64_t on;
        if (sysroot_number(root, &on, "sys/devices/system/cpu/cpu%d/online", number[i]) || on != 0)
            cpus_add(online, number[i]);
    }
    return cpus_next(online, -1) >= 0;
}

static void read_online(struct affinity *a, const struct sysroot *root, struct notes *notes)
{
    char text[8192];
    int n = sysroot_text(root, text, sizeof text, "sys/devices/system/cpu/online");
    if (n >= 0 && cpus_parse(&a->online, text) == 0) {
        a->online_known = true;
        a->online_source = "sys/devices/system/cpu/online";
    } else if (n >= 0) {
        notes_add(notes, "the list of online CPUs (sys/devices/system/cpu/online) is %s: using the affinity mask alone",
                  n ? "not a list" : "empty");
    } else if (online_from_folders(&a->online, root)) {
        a->online_known = true;
        a->online_source = "folders of sys/devices/system/cpu";
    }
}

/* Keeps of usable what set has too. If that is nothing, set itself is taken: a live mask may have nothing to do
 * with the CPUs of a recorded machine. */
static void narrow(struct cpus *usable, const struct cpus *set, const char *what, struct notes *notes)
{
    char text[64], other[64];
    struct cpus both = cpus_and(usable, set);
    if (cpus_next(&both, -1) >= 0) {
        *usable = both;
        return;
    }
    notes_add(notes, "none of the CPUs %s is %s: using CPUs %s", cpus_format(usable, text, sizeof text), what,
              cpus_format(set, other, sizeof other));
    *usable = *set;
}

void affinity_read(struct affinity *a, const struct sysroot *root, const struct cgroup *cgroup, struct notes *notes)
{
    memset(a, 0, sizeof *a);
    read_online(a, root, notes);
    bool recorded = !root->live && recorded_mask(&a->mask, root);
    if (recorded)
        a->mask_source = "proc/self/status of the recorded machine";
    else if (live_mask(&a->mask))
        a->mask_source = root->live ? "affinity mask" : "affinity mask of this process";
    else if (a->online_known) {
        a->mask = a->online;
        a->mask_source = "list of online CPUs";
    } else {
        cpus_add(&a->mask, 0);
        a->mask_source = "nothing: one CPU is assumed";
    }
    a->usable = a->mask;
    if (a->online_known)
        narrow(&a->usable, &a->online, "online", notes);
    if (!root->live && !recorded && cgroup->has_cpuset)
        narrow(&a->usable, &cgroup->cpuset, "in the cpuset", notes);
}
