/* comm/bucket.c - see bucket.h. */
#include "comm/bucket.h"

#include <stdint.h>

#define MIB 1048576.0
#define FIRST_MIB 1.0
#define OTHERS_MIB 25.0

static size_t whole_bytes(double mib)
{
    double bytes = mib * MIB;
    if (bytes < 1)
        return 1;
    return bytes < (double)(SIZE_MAX / 2) ? (size_t)bytes : SIZE_MAX / 2;
}

struct bucket_caps bucket_caps_for(double cap_mib)
{
    if (cap_mib > 0)
        return (struct bucket_caps){whole_bytes(cap_mib), whole_bytes(cap_mib)};
    return (struct bucket_caps){whole_bytes(FIRST_MIB), whole_bytes(OTHERS_MIB)};
}

int bucket_split(const size_t *bytes, int n, struct bucket_caps caps, struct bucket *out)
{
    int buckets = 0, open = 0;
    for (int i = 0; i < n; i++) {
        if (!open)
            out[buckets] = (struct bucket){.first = i};
        open = 1;
        out[buckets].n++;
        out[buckets].bytes += bytes[i];
        if (out[buckets].bytes >= (buckets == 0 ? caps.first_bytes : caps.other_bytes)) {
            buckets++;
            open = 0;
        }
    }
    return buckets + open;
}
