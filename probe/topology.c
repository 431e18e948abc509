/* probe/topology.c - see topology.h. Nothing else includes hwloc.h. Start at topology_read(). */
#include "probe/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

/* One environment variable set for the time of a call. */
struct env {
    const char *name;
    char *old;
};

static void env_set(struct env *env, const char *name, const char *value)
{
    const char *old = getenv(name);
    env->name = name;
    env->old = old ? strdup(old) : NULL;
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void env_restore(struct env *env)
{
    if (env->old)
        setenv(env->name, env->old, 1);
    else
        unsetenv(env->name);
    free(env->old);
}

/* The variables that would make hwloc describe something else than root are set aside; the user's choice of
 * components (HWLOC_COMPONENTS) is kept. Disallowed CPUs are included: the machine is described as it is. */
static hwloc_topology_t load(const struct sysroot *root)
{
    struct env env[4];
    hwloc_topology_t h;
    bool ok = false;
    env_set(&env[0], "HWLOC_FSROOT", root->live ? NULL : root->prefix);
    env_set(&env[1], "HWLOC_XMLFILE", NULL);
    env_set(&env[2], "HWLOC_SYNTHETIC", NULL);
    env_set(&env[3], "HWLOC_THISSYSTEM", NULL);
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* hwloc would print on stderr what it found odd */
    if (hwloc_topology_init(&h) == 0) {
        ok = hwloc_topology_set_flags(h, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0;
        if (ok && !root->live)
            ok = hwloc_topology_set_components(h, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") == 0;
        ok = ok && hwloc_topology_load(h) == 0;
        if (!ok)
            hwloc_topology_destroy(h);
    }
    for (int i = 3; i >= 0; i--)
        env_restore(&env[i]);
    return ok ? h : NULL;
}

static void read_cores(struct topology *t, hwloc_topology_t h)
{
    int cores = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_CORE);
    for (int i = 0; i < cores; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(h, HWLOC_OBJ_CORE, (unsigned)i);
        int threads = hwloc_bitmap_weight(core->cpuset);
        if (threads > t->threads_per_core)
            t->threads_per_core = threads;
        for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(core->cpuset, cpu))
            if (cpu < CPUS_MAX)
                t->core_of[cpu] = (int16_t)i;
    }
    if (cores > 0)
        t->cores = cores;
}

static void read_caches(struct topology *t, hwloc_topology_t h)
{
    static const char types[] = {
        [HWLOC_OBJ_CACHE_UNIFIED] = 'u', [HWLOC_OBJ_CACHE_DATA] = 'd', [HWLOC_OBJ_CACHE_INSTRUCTION] = 'i'};
    for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; type++) {
        for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(h, (hwloc_obj_type_t)type, o));) {
            struct topology_cache c = {(int)o->attr->cache.depth, types[o->attr->cache.type], o->attr->cache.size, 1};
            int i = 0;
            while (i < t->caches &&
                   (t->cache[i].level != c.level || t->cache[i].type != c.type || t->cache[i].bytes != c.bytes))
                i++;
            if (i < t->caches)
                t->cache[i].count++;
            else if (i < TOPOLOGY_CACHES_MAX && c.bytes > 0)
                t->cache[t->caches++] = c;
        }
    }
}

static int count_cores(hwloc_topology_t h, const struct cpus *among, bool inside)
{
    int n = 0;
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_CORE, core));)
        if (cpus_has(among, hwloc_bitmap_first(core->cpuset)) == inside)
            n++;
    return n;
}

static const char *kind_info(const struct hwloc_info_s *info, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(info[i].name, name) == 0)
            return info[i].value;
    return NULL;
}

/*
 * Performance and efficiency cores. hwloc makes a kind for every difference, also for the few favoured cores
 * of an ordinary CPU that may clock 2 % higher. Two kinds of cores it is only if the kernel names the type
 * (Intel), rates the capacity differently (Arm) or gives different *base* clocks: favoured cores differ in the
 * turbo clock alone. The kinds below the best by that measure are the efficiency cores.
 */
static void read_kinds(struct topology *t, hwloc_topology_t h)
{
    static const char *const measures[] = {"CoreType", "LinuxCapacity", "FrequencyBaseMHz"};
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int kinds = set ? hwloc_cpukinds_get_nr(h, 0) : 0;
    for (int m = 0; m < 3 && kinds > 1 && !t->efficiency_cores; m++) {
        double best = -1, value[64];
        int known = 0;
        for (int k = 0; k < kinds && k < 64; k++) {
            struct hwloc_info_s *info = NULL;
            unsigned n = 0;
            const char *text = NULL;
            if (hwloc_cpukinds_get_info(h, (unsigned)k, set, NULL, &n, &info, 0) == 0)
                text = kind_info(info, n, measures[m]);
            value[k] = !text ? -1 : m == 0 ? strcmp(text, "IntelAtom") != 0 : (double)strtol(text, NULL, 10);
            known += text != NULL;
            if (value[k] > best)
                best = value[k];
        }
        for (int k = 0; k < kinds && k < 64 && known == kinds; k++) {
            if (value[k] >= best || hwloc_cpukinds_get_info(h, (unsigned)k, set, NULL, NULL, NULL, 0))
                continue;
            for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
                cpus_add(&t->efficiency, cpu);
        }
        t->efficiency_cores = count_cores(h, &t->efficiency, true);
        if (t->efficiency_cores)
            snprintf(t->kinds_source, sizeof t->kinds_source, "%s",
                     m == 0   ? "core type named by the kernel or CPUID"
                     : m == 1 ? "cpu_capacity of the kernel"
                              : "base frequency of cpufreq");
    }
    if (t->efficiency_cores)
        t->performance_cores = count_cores(h, &t->efficiency, false);
    hwloc_bitmap_free(set);
}

void topology_read(struct topology *t, const struct sysroot *root)
{
    int nodes[1024];
    memset(t, 0, sizeof *t);
    t->packages = t->cores = t->cpus = t->threads_per_core = t->numa_nodes = -1;
    memset(t->core_of, 0xff, sizeof t->core_of);
    t->numa_listed = sysroot_numbered(root, "sys/devices/system/node", "node", nodes, 1024);

    hwloc_topology_t h = load(root);
    if (!h) {
        snprintf(t->why, sizeof t->why, "hwloc cannot read the topology: %s", strerror(errno));
        return;
    }
    t->hwloc = h;
    read_cores(t, h);
    read_caches(t, h);
    read_kinds(t, h);
    if (t->cores < 0) { /* hwloc fell back to a count of CPUs, under a foreign root even to a guess */
        snprintf(t->why, sizeof t->why, "neither /sys nor CPUID tells which CPUs share a core");
        return;
    }
    for (hwloc_obj_t pu = NULL; (pu = hwloc_get_next_obj_by_type(h, HWLOC_OBJ_PU, pu));)
        cpus_add(&t->present, (int)pu->os_index);
    t->cpus = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PU);
    if (hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PACKAGE) > 0)
        t->packages = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_PACKAGE);
    t->numa_nodes = hwloc_get_nbobjs_by_type(h, HWLOC_OBJ_NUMANODE);
}

void topology_fini(struct topology *t)
{
    if (t->hwloc)
        hwloc_topology_destroy(t->hwloc);
    t->hwloc = NULL;
}

uint64_t topology_last_cache_bytes(const struct topology *t)
{
    int level = 0;
    uint64_t bytes = 0;
    for (int i = 0; i < t->caches; i++) {
        const struct topology_cache *c = &t->cache[i];
        if (c->type == 'i' || c->level < level)
            continue;
        bytes = (c->level > level ? 0 : bytes) + c->bytes * (uint64_t)c->count;
        level = c->level;
    }
    return bytes;
}

int topology_bind_self(const struct topology *t, const struct cpus *cpus, struct err *e)
{
    char text[64];
    if (!t->hwloc || !hwloc_topology_is_thissystem(t->hwloc))
        return err_set(e, ERR_CONFIG, "threads cannot be bound: the topology is not this machine's");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (int cpu = cpus_next(cpus, -1); set && cpu >= 0; cpu = cpus_next(cpus, cpu))
        hwloc_bitmap_set(set, (unsigned)cpu);
    int ret = set ? hwloc_set_cpubind(t->hwloc, set, HWLOC_CPUBIND_THREAD) : -1;
    int error = errno;
    hwloc_bitmap_free(set);
    if (ret)
        return err_set(e, ERR_CONFIG, "a thread cannot be bound to CPU %s: %s", cpus_format(cpus, text, sizeof text),
                       strerror(error));
    return 0;
}

int topology_cpu_now(const struct topology *t)
{
    hwloc_bitmap_t set = t->hwloc ? hwloc_bitmap_alloc() : NULL;
    int cpu = -1;
    if (set && hwloc_get_last_cpu_location(t->hwloc, set, HWLOC_CPUBIND_THREAD) == 0)
        cpu = hwloc_bitmap_first(set);
    hwloc_bitmap_free(set);
    return cpu;
}
