/* comm/slice.c - see slice.h. glibc 2.36 has neither the calls nor the structure. */
#include "config.h" /* syscall */

#include "comm/slice.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes { /* struct sched_attr of linux/sched/types.h, as of its second version */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
    uint32_t util_min, util_max;
};

static int get(struct attributes *a)
{
    memset(a, 0, sizeof *a);
    return (int)syscall(SYS_sched_getattr, 0, a, sizeof *a, 0);
}

uint64_t slice_shorten(void)
{
    struct attributes a;
    if (get(&a) || a.policy != SCHED_OTHER || a.runtime_ns == 0) /* 0: a kernel whose slices are its own affair */
        return 0;
    if (a.runtime_ns > SLICE_NS) {
        a.runtime_ns = SLICE_NS;
        syscall(SYS_sched_setattr, 0, &a, 0); /* whether it was granted shows below */
    }
    return get(&a) ? 0 : a.runtime_ns;
}
