/*
 * probe/probe.h - what this node is, what it may use, and how many threads a run should take.
 *
 * probe_read() collects every fact once (some ten milliseconds); the *_now functions read counters again, so
 * that a run can take differences; probe_bind_threads() pins the OpenMP pool. With sysroot the facts come from
 * a recorded machine. What is unknown is NaN, -1 or "" here, null in JSON, and has a reason; only a bad sysroot
 * or no memory is an error.
 *
 *     if (probe_read(&probe, sysroot, threads_asked_for, &notes, &e)) ...
 *     (give OpenMP and OpenBLAS probe.threads threads)
 *     if (probe_bind_threads(&probe, probe.threads, &notes, &e)) ...
 *     probe_fini(&probe);
 *
 * Call probe_read() before other threads start (see probe/topology.h). One owner thread. The struct is large,
 * about 50 KB.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include "base/err.h"
#include "base/json.h"
#include "base/notes.h"
#include "probe/affinity.h"
#include "probe/cgroup.h"
#include "probe/cpu.h"
#include "probe/frequency.h"
#include "probe/heat.h"
#include "probe/membw.h"
#include "probe/memory.h"
#include "probe/power.h"
#include "probe/reasons.h"
#include "probe/sysroot.h"
#include "probe/topology.h"

/* What was measured rather than read; NaN and NULL: not. */
struct probe_measured {
    int threads; /* 0: nothing was measured */
    struct membw memory;
    double clock_hz;
    double flops_per_s;                     /* of matrix products; comes from the caller, */
    const char *blas_kernel, *blas_version; /* as do these */
    const char *why;                        /* reason for all that is missing; NULL: each has its own */
};

struct probe {
    struct sysroot root;
    char name[65];    /* host name */
    char system[128]; /* kernel name, release, architecture; "" unknown */
    struct cpu cpu;
    struct topology topology;
    struct affinity affinity;
    struct cgroup cgroup;
    int usable_cores;            /* physical cores with a usable CPU; CPUs of unknown core count as one each */
    int cores;                   /* of the machine, at least 1; see cores_source */
    const char *cores_source;    /* how they were counted */
    int total_cpus, online_cpus; /* -1: unknown */
    struct frequency frequency;
    struct heat heat;
    struct power power;
    struct memory memory;
    int threads;              /* compute threads a run should take */
    char threads_reason[240]; /* "2 physical cores usable (2 CPUs), no CPU quota" */
    int *pinned;              /* [pinned_n] CPU on which each bound thread was seen; owned */
    int pinned_n;             /* 0: threads are not bound */
    int first_place;          /* of the bound threads: those before belong to other ranks */
    struct probe_measured measured;
    struct reasons reasons;
};

/* sysroot NULL: this machine; 66 if it is no folder. threads_asked > 0 is taken as it is, with a warning when it
 * exceeds the usable CPUs or the quota; else threads = min(usable physical cores, CPU quota rounded down), at
 * least 1. */
int probe_read(struct probe *probe, const char *sysroot, int threads_asked, struct notes *notes, struct err *e);
void probe_fini(struct probe *probe); /* accepts a zeroed or finished probe */

/* The processor's name; NULL if unknown. */
const char *probe_cpu_name(const struct probe *probe);

/* Fills threads and threads_reason again for another wish; probe_read calls it. */
void probe_choose_threads(struct probe *probe, int asked, struct notes *notes);

/* The CPU, by the system's number, for each of so many threads: a core each, fast cores first, neighbours
 * together; then the second threads of the cores. -1 if there are more threads than usable CPUs. */
int probe_place_threads(const struct probe *probe, int threads, int *cpu);

/* The same when several ranks share this node: the chosen threads are divided by ranks, at least 1 for each; asked > 0
 * is taken for every rank. A warning says when the ranks together want more threads than there are CPUs. */
void probe_share_threads(struct probe *probe, int ranks, int asked, struct notes *notes);

/* Binds the threads of the OpenMP pool as probe_place_threads says and fills pinned. Threads created later by
 * thread 0 (a larger pool, helpers, child processes) inherit its binding: call this last, and
 * probe_unbind_self() in what must roam. Threads that cannot be bound stay free, which the reasons and, if the
 * system refused, the notes say; only no memory is an error. */
int probe_bind_threads(struct probe *probe, int threads, struct notes *notes, struct err *e);

/* The same for one of several ranks: the first places go to others. */
int probe_bind_part(struct probe *probe, int first, int threads, struct notes *notes, struct err *e);

/* Lets the calling thread, which a helper is about to inherit from, use all CPUs of the bound threads. */
void probe_roam_part(const struct probe *probe);

/* Gives the calling thread all usable CPUs again; at best effort. */
void probe_unbind_self(const struct probe *probe);

/* Counters of this moment. */
struct throttle_count probe_throttled_now(const struct probe *probe);
struct heat_events probe_heat_events_now(const struct probe *probe);

/* Seconds that the hypervisor gave to others, summed over all CPUs since boot; NaN if unknown. */
double probe_stolen_s_now(const struct probe *probe);

/* Measures memory bandwidth and clock on so many threads, in about seconds + 0.1 s; the caller may add the rate
 * of matrix products. Under a sysroot everything stays unknown, with the reason. */
void probe_measure(struct probe *probe, int threads, double seconds);

/* All of it as one object with its own "reasons"; what was never measured or bound is left out. */
json_t *probe_json(const struct probe *probe);

#endif
