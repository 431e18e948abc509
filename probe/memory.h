/*
 * probe/memory.h - how much memory there is, and how much a run may take before something kills it.
 *
 * The limit is the lowest of: memory available now, what is left of every control group's limit, and this process's
 * address-space and data limits (less what they already count). Under a foreign root the first two come from
 * there, and what is available on this machine binds as well, since that is where a run would happen.
 */
#ifndef PROBE_MEMORY_H
#define PROBE_MEMORY_H

#include "probe/cgroup.h"
#include "probe/reasons.h"
#include "probe/sysroot.h"

struct memory {
    double total_bytes, available_bytes; /* NaN: unknown */
    char available_source[64];
    double limit_bytes;     /* NaN: nothing is known */
    char limit_source[900]; /* in words: "control group limit (sys/fs/cgroup/memory.max)" */
};

void memory_read(struct memory *memory, const struct sysroot *root, const struct cgroup *cgroup,
                 struct reasons *reasons);

#endif
