/*
 * probe/affinity.h - which CPUs this process may use: its affinity mask and what is online.
 *
 * usable = affinity and online (and, on a recorded machine without a recorded affinity, what its cpuset
 * allows). A mask may list CPUs that are absent, and the online list may be missing or odd; each case is
 * decided here and said in the notes. usable is never empty.
 */
#ifndef PROBE_AFFINITY_H
#define PROBE_AFFINITY_H

#include "base/notes.h"
#include "probe/cgroup.h"
#include "probe/cpus.h"
#include "probe/sysroot.h"

struct affinity {
    struct cpus mask; /* CPUs the process is bound to */
    const char *mask_source;
    bool online_known;
    struct cpus online; /* empty if unknown */
    const char *online_source;
    struct cpus usable;
};

void affinity_read(struct affinity *a, const struct sysroot *root, const struct cgroup *cgroup, struct notes *notes);

#endif
