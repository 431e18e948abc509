/* probe/probe.c - see probe.h. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_names(struct probe *probe)
{
    const struct sysroot *root = &probe->root;
    struct utsname u;
    if (root->live && uname(&u) == 0) {
        snprintf(probe->name, sizeof probe->name, "%s", u.nodename);
        snprintf(probe->system, sizeof probe->system, "%.20s %.64s %.20s", u.sysname, u.release, u.machine);
    } else if (!root->live) {
        char release[64];
        if (sysroot_text(root, probe->name, sizeof probe->name, "proc/sys/kernel/hostname") < 0)
            *probe->name = '\0';
        if (sysroot_text(root, release, sizeof release, "proc/sys/kernel/osrelease") > 0)
            snprintf(probe->system, sizeof probe->system, "Linux %s", release);
    }
    if (!*probe->name)
        reasons_add(&probe->reasons, "name", "the recorded machine has no proc/sys/kernel/hostname");
    if (!*probe->system)
        reasons_add(&probe->reasons, "system", "the recorded machine has no proc/sys/kernel/osrelease");
}

static void explain_cpu(struct probe *probe)
{
    const struct cpu *cpu = &probe->cpu;
    struct reasons *reasons = &probe->reasons;
    const char *from = probe->root.live ? "neither CPUID nor proc/cpuinfo tells" : "proc/cpuinfo does not tell";
    if (!*cpu->name)
        reasons_add(reasons, "cpu", "%s", from);
    if (!*cpu->vendor)
        reasons_add(reasons, "processor.vendor", "%s", from);
    if (cpu->family < 0)
        reasons_add(reasons, "processor.family", "%s", from);
    if (cpu->model < 0)
        reasons_add(reasons, "processor.model", "%s", from);
    if (cpu->stepping < 0)
        reasons_add(reasons, "processor.stepping", "%s", from);
    if (!*cpu->source)
        reasons_add(reasons, "processor.source", "%s", from);
    if (!cpu->isa_known)
        reasons_add(reasons, "isa", "%s, or this is no x86 processor", from);
    if (cpu->hypervisor < 0)
        reasons_add(reasons, "processor.hypervisor", "%s", from);
    if (!*cpu->hypervisor_name)
        reasons_add(reasons, "processor.hypervisor_name", "%s",
                    cpu->hypervisor > 0    ? "it does not give its name"
                    : cpu->hypervisor == 0 ? "no hypervisor shows itself"
                                           : from);
    if (!cpu->hint_cores || !cpu->hint_threads) {
        const char *why = probe->root.live ? "CPUID claims none" : "not asked for a recorded machine";
        reasons_add(reasons, "processor.cpuid_cores", "%s", why);
        reasons_add(reasons, "processor.cpuid_threads", "%s", why);
    }
}

static int count_usable_cores(const struct probe *probe)
{
    const struct topology *t = &probe->topology;
    struct cpus seen = {{0}};
    int alone = 0;
    for (int cpu = cpus_next(&probe->affinity.usable, -1); cpu >= 0; cpu = cpus_next(&probe->affinity.usable, cpu)) {
        if (t->core_of[cpu] < 0)
            alone++;
        else
            cpus_add(&seen, t->core_of[cpu]);
    }
    return cpus_count(&seen) + alone;
}

/* Where nothing tells which CPUs share a core, each counts as one: said as such, and never 0. */
static void count_cores(struct probe *probe)
{
    probe->usable_cores = count_usable_cores(probe);
    probe->cores = probe->topology.cores;
    probe->cores_source = "hwloc";
    if (probe->cores < 1) {
        probe->cores = probe->online_cpus > 0 ? probe->online_cpus : probe->usable_cores;
        probe->cores_source = "one per CPU: neither /sys nor CPUID tells which CPUs share a core";
    }
}

/* Numbers of CPUs: those the system knows of, and those online. */
static void count_cpus(struct probe *probe)
{
    char text[8192];
    struct cpus present;
    int folder[CPUS_MAX];
    struct reasons *reasons = &probe->reasons;
    probe->online_cpus = probe->affinity.online_known ? cpus_count(&probe->affinity.online) : probe->topology.cpus;
    probe->total_cpus = sysroot_numbered(&probe->root, "sys/devices/system/cpu", "cpu", folder, CPUS_MAX);
    if (sysroot_text(&probe->root, text, sizeof text, "sys/devices/system/cpu/present") > 0 &&
        cpus_parse(&present, text) == 0)
        probe->total_cpus = cpus_count(&present);
    if (probe->total_cpus < probe->online_cpus)
        probe->total_cpus = probe->online_cpus;
    if (probe->root.live && probe->online_cpus < 1)
        probe->online_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (probe->root.live && probe->total_cpus < 1)
        probe->total_cpus = probe->online_cpus;
    if (probe->online_cpus < 1)
        probe->online_cpus = -1;
    if (probe->total_cpus < 1)
        probe->total_cpus = -1;
    if (probe->online_cpus < 0)
        reasons_add(reasons, "topology.online_cpus", "there is no list of online CPUs");
    if (probe->total_cpus < 0)
        reasons_add(reasons, "topology.cpus", "there is no list of CPUs");
}

static void explain_topology(struct probe *probe, struct notes *notes)
{
    static const char *const paths[] = {"topology.packages", "topology.threads_per_core", "topology.numa_nodes"};
    struct topology *t = &probe->topology;
    const int values[] = {t->packages, t->threads_per_core, t->numa_nodes};
    for (int i = 0; i < 3; i++)
        if (values[i] < 0)
            reasons_add(&probe->reasons, paths[i], "%s", *t->why ? t->why : "hwloc does not tell");
    if (!t->performance_cores) {
        reasons_add(&probe->reasons, "topology.performance_cores", "the cores are of one kind");
        reasons_add(&probe->reasons, "topology.efficiency_cores", "the cores are of one kind");
    }
    if (!t->caches)
        reasons_add(&probe->reasons, "topology.caches", "neither /sys nor CPUID describes the caches");
    if (t->numa_nodes > 0 && t->numa_listed > t->numa_nodes)
        notes_add(notes,
                  "the system lists %d memory nodes, but only %d can be told apart by their CPUs: the firmware's "
                  "memory layout is not to be trusted",
                  t->numa_listed, t->numa_nodes);
}

static void explain_limits(struct probe *probe)
{
    const struct cgroup *c = &probe->cgroup;
    if (!isfinite(c->quota_cpus))
        reasons_add(&probe->reasons, "limits.cpu_quota", "%s", c->quota_source);
    if (!cgroup_throttled_now(c, &probe->root).known)
        reasons_add(&probe->reasons, "throttled_periods", "no control group of this process counts throttling");
    if (isnan(probe_stolen_s_now(probe)))
        reasons_add(&probe->reasons, "stolen_s", "proc/stat cannot be read");
}

int probe_read(struct probe *probe, const char *sysroot, int threads_asked, struct notes *notes, struct err *e)
{
    memset(probe, 0, sizeof *probe);
    if (sysroot_init(&probe->root, sysroot, e))
        return -1;
    const struct sysroot *root = &probe->root;
    if (root->live && !sysroot_exists(root, "sys/devices/system/cpu"))
        notes_add(notes, "/sys is empty or not mounted: topology, limits, clock and sensors are partly unknown");
    read_names(probe);
    cpu_read(&probe->cpu, root);
    topology_read(&probe->topology, root);
    cgroup_read(&probe->cgroup, root);
    affinity_read(&probe->affinity, root, &probe->cgroup, notes);
    count_cpus(probe);
    count_cores(probe);
    frequency_read(&probe->frequency, root, &probe->affinity.usable, &probe->reasons);
    heat_read(&probe->heat, root, &probe->affinity.usable, &probe->reasons);
    power_read(&probe->power, root, &probe->reasons);
    memory_read(&probe->memory, root, &probe->cgroup, &probe->reasons);
    explain_cpu(probe);
    explain_topology(probe, notes);
    explain_limits(probe);
    probe_choose_threads(probe, threads_asked, notes);
    if (root->live && probe->power.source == POWER_BATTERY)
        notes_add(notes, "this node runs on its battery: the clock may be held down, and speeds will differ on mains");
    return 0;
}

void probe_fini(struct probe *probe)
{
    topology_fini(&probe->topology);
    free(probe->pinned);
    probe->pinned = NULL;
    probe->pinned_n = 0;
}

const char *probe_cpu_name(const struct probe *probe)
{
    return *probe->cpu.name ? probe->cpu.name : NULL;
}

struct throttle_count probe_throttled_now(const struct probe *probe)
{
    return cgroup_throttled_now(&probe->cgroup, &probe->root);
}

struct heat_events probe_heat_events_now(const struct probe *probe)
{
    struct cpus packages = heat_packages(&probe->root, &probe->affinity.usable);
    return heat_events_now(&probe->root, &probe->affinity.usable, &packages);
}

/* First line of proc/stat: cpu user nice system idle iowait irq softirq steal ..., in clock ticks. */
double probe_stolen_s_now(const struct probe *probe)
{
    unsigned long long ticks;
    char text[256];
    if (sysroot_text(&probe->root, text, sizeof text, "proc/stat") <= 0 ||
        sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
        return NAN;
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void probe_measure(struct probe *probe, int threads, double seconds)
{
    struct probe_measured *m = &probe->measured;
    memset(m, 0, sizeof *m);
    m->threads = threads;
    m->clock_hz = m->flops_per_s = m->memory.read_bytes_per_s = m->memory.triad_bytes_per_s = NAN;
    if (!probe->root.live) {
        m->why = "a recorded machine cannot be measured";
        return;
    }
    m->memory = membw_measure(threads, seconds, topology_last_cache_bytes(&probe->topology), probe->memory.limit_bytes);
    m->clock_hz = frequency_measure_hz(threads, 0.1);
}
