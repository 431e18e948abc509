/* probe/memory.c - see memory.h. */
#include "probe/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct meminfo {
    double total_bytes, available_bytes; /* NaN: not there */
    bool estimated;                      /* available is a sum of what old kernels list */
};

static struct meminfo read_meminfo(const struct sysroot *root)
{
    struct meminfo info = {NAN, NAN, false};
    double free_bytes = NAN, cached_bytes = 0;
    FILE *f = sysroot_fopen(root, "proc/meminfo");
    char line[128], key[64];
    unsigned long long kib;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%63[^:]: %llu kB", key, &kib) != 2)
            continue;
        double bytes = (double)kib * 1024;
        if (strcmp(key, "MemTotal") == 0)
            info.total_bytes = bytes;
        else if (strcmp(key, "MemAvailable") == 0)
            info.available_bytes = bytes;
        else if (strcmp(key, "MemFree") == 0)
            free_bytes = bytes;
        else if (strcmp(key, "Buffers") == 0 || strcmp(key, "Cached") == 0)
            cached_bytes += bytes;
    }
    if (f)
        fclose(f);
    info.estimated = isnan(info.available_bytes) && !isnan(free_bytes);
    if (info.estimated)
        info.available_bytes = free_bytes + cached_bytes;
    return info;
}

static void lower(struct memory *memory, double bytes, const char *source, const char *detail)
{
    if (isfinite(bytes) && !(bytes >= memory->limit_bytes)) {
        memory->limit_bytes = bytes < 0 ? 0 : bytes;
        snprintf(memory->limit_source, sizeof memory->limit_source, "%s%s%s%s", source, *detail ? " (" : "", detail,
                 *detail ? ")" : "");
    }
}

/* Limits of this process, less what is mapped already. statm: size resident shared text lib data, in pages. */
static void lower_by_process_limits(struct memory *memory)
{
    struct rlimit space, data;
    unsigned long long size = 0, heap = 0;
    double page = (double)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu %*u %*u %*u %*u %llu", &size, &heap) != 2)
        size = heap = 0;
    if (f)
        fclose(f);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        lower(memory, (double)space.rlim_cur - page * (double)size, "address-space limit of the process",
              "ulimit -v, less what is mapped");
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY)
        lower(memory, (double)data.rlim_cur - page * (double)heap, "data limit of the process",
              "ulimit -d, less what is in use");
}

void memory_read(struct memory *memory, const struct sysroot *root, const struct cgroup *cgroup,
                 struct reasons *reasons)
{
    struct meminfo info = read_meminfo(root);
    memset(memory, 0, sizeof *memory);
    memory->limit_bytes = NAN;
    memory->total_bytes = info.total_bytes;
    memory->available_bytes = info.available_bytes;
    if (!isnan(info.available_bytes))
        strcpy(memory->available_source, info.estimated ? "MemFree + Buffers + Cached" : "MemAvailable");
    lower(memory, info.available_bytes, "memory available now", memory->available_source);
    if (!root->live) {
        struct sysroot here;
        if (sysroot_init(&here, NULL, NULL) == 0)
            lower(memory, read_meminfo(&here).available_bytes, "memory available now", "on this machine");
    }
    lower(memory, cgroup->memory_left_bytes, "control group limit, less what it has taken", cgroup->memory_left_source);
    lower_by_process_limits(memory);

    if (isnan(memory->total_bytes))
        reasons_add(reasons, "memory.total_bytes", "proc/meminfo cannot be read");
    if (isnan(memory->available_bytes))
        reasons_add(reasons, "memory.available_bytes", "proc/meminfo cannot be read");
    if (!isfinite(cgroup->memory_bytes))
        reasons_add(reasons, "memory.cgroup_limit_bytes", "%s", cgroup->memory_source);
    if (isnan(memory->limit_bytes))
        reasons_add(reasons, "memory.limit_bytes", "neither free memory nor any limit is known");
}
