/* probe/threads.c - how many compute threads, and on which CPUs: see probe.h. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe.h"

/* Under a quota of 2.5 CPUs a third thread would be held back half of the time, and the others wait for it. */
static int whole_cpus(double quota_cpus)
{
    if (!(quota_cpus < CPUS_MAX)) /* no limit, or unknown */
        return CPUS_MAX;
    return quota_cpus < 1 ? 1 : (int)quota_cpus;
}

/* OMP_THREAD_LIMIT bounds every team, and OpenBLAS waits for ever for the threads that such a team lacks. */
static void keep_thread_limit(struct probe *probe, struct notes *notes)
{
    int limit = omp_get_thread_limit();
    if (probe->threads <= limit)
        return;
    notes_add(notes, "%d thread%s instead of %d: OMP_THREAD_LIMIT allows no more", limit, limit == 1 ? "" : "s",
              probe->threads);
    snprintf(probe->threads_reason, sizeof probe->threads_reason, "OMP_THREAD_LIMIT is %d", limit);
    probe->threads = limit;
}

static void choose(struct probe *probe, int asked, struct notes *notes)
{
    int cpus = cpus_count(&probe->affinity.usable), cores = probe->usable_cores;
    double quota = probe->cgroup.quota_cpus;
    int most = whole_cpus(quota);
    char *reason = probe->threads_reason, many[80];
    size_t size = sizeof probe->threads_reason;
    snprintf(many, sizeof many, "%d physical core%s usable (%d CPU%s)", cores, cores == 1 ? "" : "s", cpus,
             cpus == 1 ? "" : "s");
    if (asked > 0) {
        probe->threads = asked;
        snprintf(reason, size, "asked for; %s", many);
        if (asked > cpus)
            notes_add(notes, "%d threads on %d CPU%s: they take turns, and every product waits for the last of them",
                      asked, cpus, cpus == 1 ? "" : "s");
        else if (asked > most)
            notes_add(notes, "%d threads on a CPU quota of %.2f: the control group will hold them back (%.120s)", asked,
                      quota, probe->cgroup.quota_source);
        return;
    }
    probe->threads = cores < most ? cores : most;
    if (most < cores)
        snprintf(reason, size, "CPU quota of %.2f rounded down%s (%.80s); %s", quota, quota < 1 ? ", at least 1" : "",
                 probe->cgroup.quota_source, many);
    else if (isfinite(quota))
        snprintf(reason, size, "%s, CPU quota of %.2f", many, quota);
    else
        snprintf(reason, size, "%s, %s", many, isnan(quota) ? "CPU quota unknown" : "no CPU quota");
}

void probe_choose_threads(struct probe *probe, int asked, struct notes *notes)
{
    choose(probe, asked, notes);
    keep_thread_limit(probe, notes);
}

void probe_share_threads(struct probe *probe, int ranks, int asked, struct notes *notes)
{
    int cpus = cpus_count(&probe->affinity.usable), all = probe->threads;
    size_t used = strlen(probe->threads_reason);
    if (asked <= 0) {
        probe->threads = all / ranks > 1 ? all / ranks : 1;
        snprintf(probe->threads_reason + used, sizeof probe->threads_reason - used, "; divided by %d ranks", ranks);
    }
    if ((int64_t)probe->threads * ranks > cpus)
        notes_add(notes,
                  "%d ranks with %d thread%s each on %d CPU%s: they take turns, and every step waits for the last",
                  ranks, probe->threads, probe->threads == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s");
}

struct seat {
    int cpu;
    int turn;  /* how many usable CPUs of the same core come before it */
    bool slow; /* on an efficiency core */
    int core;
};

static int by_preference(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    int keys[4] = {x->turn - y->turn, x->slow - y->slow, x->core - y->core, x->cpu - y->cpu};
    for (int i = 0; i < 3; i++)
        if (keys[i])
            return keys[i];
    return keys[3];
}

int probe_place_threads(const struct probe *probe, int threads, int *cpu)
{
    const struct topology *t = &probe->topology;
    const struct cpus *usable = &probe->affinity.usable;
    int n = cpus_count(usable), i = 0;
    struct seat *seat = threads > 0 && threads <= n ? calloc((size_t)n, sizeof *seat) : NULL;
    if (!seat)
        return -1;
    for (int c = cpus_next(usable, -1); c >= 0; c = cpus_next(usable, c), i++) {
        /* CPUs of unknown core come behind the known ones, each a core of its own */
        seat[i] = (struct seat){c, 0, cpus_has(&t->efficiency, c), t->core_of[c] < 0 ? CPUS_MAX + c : t->core_of[c]};
        for (int k = 0; k < i; k++)
            seat[i].turn += seat[k].core == seat[i].core;
    }
    qsort(seat, (size_t)n, sizeof *seat, by_preference);
    for (i = 0; i < threads; i++)
        cpu[i] = seat[i].cpu;
    free(seat);
    return 0;
}

/* Binds each thread of the pool to cpu[i], which becomes the CPU it was then seen on. */
static int bind_pool(const struct probe *probe, int threads, int *cpu, struct err *e)
{
    struct err first = {ERR_OK, ""};
#pragma omp parallel num_threads(threads)
    {
        struct err mine = {ERR_OK, ""};
        struct cpus one = {{0}};
        int i = omp_get_thread_num();
        cpus_add(&one, cpu[i]);
        if (topology_bind_self(&probe->topology, &one, &mine) == 0)
            cpu[i] = topology_cpu_now(&probe->topology);
#pragma omp critical(probe_bind)
        if (mine.code && !first.code)
            first = mine;
    }
    if (!first.code)
        return 0;
#pragma omp parallel num_threads(threads)
    probe_unbind_self(probe); /* all or none: a single thread tied down would only be slower */
    return err_set(e, first.code, "%s", first.text);
}

int probe_bind_part(struct probe *probe, int first, int threads, struct notes *notes, struct err *e)
{
    struct err refused = {ERR_OK, ""};
    int own = threads > 0 ? threads : 1;
    int *cpu = calloc((size_t)(first + own), sizeof *cpu);
    if (!cpu)
        return err_set(e, ERR_MEMORY, "out of memory");
    free(probe->pinned);
    probe->pinned = NULL;
    probe->pinned_n = 0;
    probe->first_place = first;
    if (!probe->root.live) {
        reasons_add(&probe->reasons, "pinned_cpus", "the CPUs are those of a recorded machine");
    } else if (probe_place_threads(probe, first + threads, cpu)) {
        reasons_add(&probe->reasons, "pinned_cpus", "there are more threads than usable CPUs");
    } else {
        memmove(cpu, cpu + first, (size_t)own * sizeof *cpu);
        if (bind_pool(probe, threads, cpu, &refused) == 0) {
            probe->pinned = cpu;
            probe->pinned_n = threads;
            return 0;
        }
        reasons_add(&probe->reasons, "pinned_cpus", "%s", refused.text);
        notes_add(notes, "%s", refused.text);
    }
    free(cpu);
    return 0;
}

int probe_bind_threads(struct probe *probe, int threads, struct notes *notes, struct err *e)
{
    return probe_bind_part(probe, 0, threads, notes, e);
}

void probe_roam_part(const struct probe *probe)
{
    struct cpus all = {{0}};
    for (int i = 0; i < probe->pinned_n; i++)
        cpus_add(&all, probe->pinned[i]);
    if (probe->pinned_n > 0)
        topology_bind_self(&probe->topology, &all, NULL);
}

void probe_unbind_self(const struct probe *probe)
{
    if (probe->root.live)
        topology_bind_self(&probe->topology, &probe->affinity.usable, NULL);
}
