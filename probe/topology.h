/*
 * probe/topology.h - packages, cores, threads, caches and NUMA nodes, and binding a thread to a CPU.
 *
 * The only door to hwloc. topology_read() takes the facts out of hwloc once; after that only the binding
 * functions need it. Counts are of the whole machine, offline CPUs left out, whether or not this process may
 * use them. What hwloc cannot find out is -1 or empty, with a reason in why; hwloc failing is no error.
 *
 * Under a foreign root hwloc reads HWLOC_FSROOT, which topology_read() sets and restores: call it before
 * other threads read the environment. Its x86 back-end, which asks this machine's CPU, is left out then.
 */
#ifndef PROBE_TOPOLOGY_H
#define PROBE_TOPOLOGY_H

#include "base/err.h"
#include "probe/cpus.h"
#include "probe/sysroot.h"

enum { TOPOLOGY_CACHES_MAX = 12 };

struct topology_cache {
    int level;
    char type;      /* 'd'ata, 'i'nstructions, 'u'nified */
    uint64_t bytes; /* of one */
    int count;      /* caches of this level, type and size */
};

struct topology {
    int packages, cores, cpus;               /* -1: unknown */
    int threads_per_core;                    /* the largest; -1: unknown */
    int numa_nodes;                          /* nodes that can be told apart; -1: unknown */
    int numa_listed;                         /* nodes the kernel lists, 0: none */
    int performance_cores, efficiency_cores; /* both 0 unless there are two kinds */
    char kinds_source[64];                   /* what told the kinds apart */
    struct cpus present;                     /* CPUs hwloc found online */
    struct cpus efficiency;                  /* those on efficiency cores */
    int16_t core_of[CPUS_MAX];               /* index of the CPU's core, neighbours adjacent; -1: unknown */
    int caches;
    struct topology_cache cache[TOPOLOGY_CACHES_MAX];
    char why[160]; /* why something above is unknown; "" if all is known */
    void *hwloc;   /* owned */
};

void topology_read(struct topology *t, const struct sysroot *root);
void topology_fini(struct topology *t); /* accepts a zeroed struct */

/* Size in bytes of the largest cache level taken together; 0: unknown. */
uint64_t topology_last_cache_bytes(const struct topology *t);

/* Binds the calling thread to a set of CPUs by the system's numbers. -1 with a sentence if the
 * system refuses or the topology is not this machine's. */
int topology_bind_self(const struct topology *t, const struct cpus *cpus, struct err *e);

/* The CPU on which the calling thread ran last; -1: unknown. */
int topology_cpu_now(const struct topology *t);

#endif
