/*
 * probe/cgroup.h - what the control groups of this process allow: CPU time, memory, CPUs; and throttling.
 *
 * A limit of any ancestor binds, so every group from the process's own up to the hierarchy's mount is read,
 * version 1 and 2, each controller in the hierarchy that has it. Where a hierarchy is mounted comes from
 * proc/self/mountinfo, else proc/mounts, else the usual places; the process's group from proc/self/cgroup,
 * else proc/self/cpuset, else it is the top. Pure reading; nothing fails, what is unknown says why.
 */
#ifndef PROBE_CGROUP_H
#define PROBE_CGROUP_H

#include "probe/cpus.h"
#include "probe/sysroot.h"

enum cgroup_use { CGROUP_CPU, CGROUP_MEMORY, CGROUP_CPUSET, CGROUP_USES };

/* Where a controller's groups are: "mount" + "group" below the root is the process's own. */
struct cgroup_place {
    int version;     /* 1, 2; 0: not found */
    char mount[256]; /* "sys/fs/cgroup/cpu" */
    char group[512]; /* "" at the top, else "/a/b" */
};

struct cgroup {
    struct cgroup_place place[CGROUP_USES];
    double quota_cpus;      /* smallest quota / period of the chain; INFINITY no limit, NaN unknown */
    char quota_source[840]; /* the file that says so, or why unknown */
    double memory_bytes;    /* smallest memory limit of the chain; INFINITY no limit, NaN unknown */
    char memory_source[840];
    double
        memory_left_bytes; /* smallest limit less what the group has taken, of the chain; what it can give back is not taken */
    char memory_left_source[840];
    bool has_cpuset;
    struct cpus cpuset; /* CPUs the nearest group with a cpuset allows */
};

void cgroup_read(struct cgroup *cgroup, const struct sysroot *root);

/* How often the process's groups were held back since their creation: a run takes the difference. */
struct throttle_count {
    bool known;
    uint64_t periods; /* nr_throttled, of the group of the chain that was held back most */
    double seconds;   /* processor time that its threads were kept from: the kernel counts on each CPU */
};

struct throttle_count cgroup_throttled_now(const struct cgroup *cgroup, const struct sysroot *root);

/* Pure parsers. "150000 100000", "max 100000", "150000": CPUs, INFINITY for max, NaN for anything else. */
double cgroup_parse_cpu_max(const char *text);
double cgroup_quota_v1(int64_t quota_us, int64_t period_us); /* quota < 0: INFINITY; period <= 0: NaN */
double cgroup_parse_memory(const char *text);                /* "max" or 2^60 and more: INFINITY; not a number: NaN */

#endif
