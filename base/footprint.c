/* base/footprint.c - see footprint.h. From /proc/self, which belongs to this process and not to the machine it describes. */
#include "base/footprint.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int64_t resident_bytes(void)
{
    int64_t pages = -1;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return -1;
    if (fscanf(f, "%*d %" SCNd64, &pages) != 1)
        pages = -1;
    fclose(f);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return -1;
    for (const struct dirent *entry; (entry = readdir(d));)
        n += entry->d_name[0] != '.';
    closedir(d);
    return n - 1; /* the folder itself was one of them */
}

struct footprint footprint_now(void)
{
    return (struct footprint){resident_bytes(), open_descriptors()};
}
