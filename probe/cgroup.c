/*
 * probe/cgroup.c - see cgroup.h.
 *
 * First find the place of each controller (locate), then walk the groups from the process's own to the mount
 * (climb) and keep the smallest limit. In a container the mount may itself be a group deep in the hierarchy
 * (field 4 of mountinfo); that part of the process's path is then taken off. Start at cgroup_read().
 */
#include "probe/cgroup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *controller;
    const char *v1_file, *v2_file; /* a file that only groups of that controller have */
    const char *v1_usual[3];       /* mount points when no mount table is there */
} uses[CGROUP_USES] = {
    [CGROUP_CPU] = {"cpu", "cpu.cfs_quota_us", "cpu.max", {"sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"}},
    [CGROUP_MEMORY] = {"memory", "memory.limit_in_bytes", "memory.max", {"sys/fs/cgroup/memory"}},
    [CGROUP_CPUSET] = {"cpuset", "cpuset.cpus", "cpuset.cpus.effective", {"sys/fs/cgroup/cpuset", "dev/cpuset"}},
};

static const char *const v2_usual[] = {"sys/fs/cgroup", "sys/fs/cgroup/unified"};

/* Is word one of the comma-separated words of list? */
static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

/* The process's path in the hierarchy of a controller (version 1) or in the unified one (2); false: not listed. */
static bool find_path(const struct sysroot *root, int version, const char *controller, char path[static 512])
{
    FILE *f = sysroot_fopen(root, "proc/self/cgroup");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    if (!f)
        return false;
    while (!found && getline(&line, &room, f) > 0) {
        char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;
        if (!at)
            continue;
        *at++ = '\0';
        names++;
        at[strcspn(at, "\n")] = '\0';
        found = version == 2 ? *names == '\0' : listed(names, controller);
        if (found)
            snprintf(path, 512, "%s", at);
    }
    free(line);
    fclose(f);
    return found;
}

/* A mount of that kind from a mount table; top is the group that is mounted there. */
struct mount {
    char point[256];
    char top[512];
};

static bool match_mount(int version, const char *controller, const char *type, const char *options)
{
    return version == 2 ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && listed(options, controller);
}

/* mountinfo: id parent major:minor TOP POINT options [tag...] - TYPE source SUPEROPTIONS */
static bool parse_mountinfo(char *line, int version, const char *controller, struct mount *m)
{
    char top[512], point[256], type[32], options[512];
    char *tail = strstr(line, " - ");
    return tail && sscanf(line, "%*s %*s %*s %511s %255s", top, point) == 2 &&
           sscanf(tail, " - %31s %*s %511s", type, options) == 2 && match_mount(version, controller, type, options) &&
           snprintf(m->top, sizeof m->top, "%s", top) > 0 && snprintf(m->point, sizeof m->point, "%s", point + 1) >= 0;
}

/* mounts: source POINT TYPE OPTIONS 0 0 */
static bool parse_mounts(char *line, int version, const char *controller, struct mount *m)
{
    char point[256], type[32], options[512];
    return sscanf(line, "%*s %255s %31s %511s", point, type, options) == 3 &&
           match_mount(version, controller, type, options) && strcpy(m->top, "/") &&
           snprintf(m->point, sizeof m->point, "%s", point + 1) >= 0;
}

/* Moves to the parent; false above the mount. */
static bool climb(char *group)
{
    char *slash = strrchr(group, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Does a folder without a mount table hold such a hierarchy? Yes if a group of path's chain has the
 * controller's file. In real trees the top of version 2 has none, but the list of controllers. */
static bool looks_mounted(const struct sysroot *root, int version, enum cgroup_use use, const char *point,
                          const char *path)
{
    char group[512];
    snprintf(group, sizeof group, "%s", path);
    if (version == 2 && sysroot_exists(root, "%s/cgroup.controllers", point))
        return true;
    do {
        if (sysroot_exists(root, "%s%s/%s", point, group, version == 2 ? uses[use].v2_file : uses[use].v1_file))
            return true;
    } while (climb(group));
    return false;
}

static bool find_mount(const struct sysroot *root, int version, enum cgroup_use use, const char *path, struct mount *m)
{
    static const char *const tables[] = {"proc/self/mountinfo", "proc/self/mounts", "proc/mounts"};
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    for (int i = 0; i < 3 && !found; i++) {
        FILE *f = sysroot_fopen(root, "%s", tables[i]);
        if (!f)
            continue;
        while (!found && getline(&line, &room, f) > 0)
            found = (i == 0 ? parse_mountinfo : parse_mounts)(line, version, uses[use].controller, m) &&
                    sysroot_exists(root, "%s", m->point);
        fclose(f);
    }
    free(line);
    for (int i = 0; i < 2 && !found; i++) {
        const char *usual = version == 2 ? v2_usual[i] : uses[use].v1_usual[i];
        found = usual && looks_mounted(root, version, use, usual, path);
        if (found) {
            snprintf(m->point, sizeof m->point, "%s", usual);
            strcpy(m->top, "/");
        }
    }
    return found;
}

/* The process's group relative to the mount: "" for the mount itself, which is also taken for paths that lie
 * outside of what is mounted ("/../x": the process was moved out of its namespace's part). */
static void relative_group(char group[static 512], const char *path, const char *top)
{
    size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
    bool inside = strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0') && !strstr(path, "/..");
    snprintf(group, 512, "%s", inside ? path + n : "");
    size_t end = strlen(group);
    while (end > 0 && group[end - 1] == '/')
        group[--end] = '\0';
}

/* Version 1 wins where both are there: a controller is in one hierarchy only, and then the unified one is empty. */
static void locate(struct cgroup_place *place, const struct sysroot *root, enum cgroup_use use)
{
    struct mount m;
    char path[512];
    bool table = sysroot_exists(root, "proc/self/cgroup");
    for (int version = 1; version <= 2 && !place->version; version++) {
        bool has_path = find_path(root, version, uses[use].controller, path);
        if (table && !has_path)
            continue;
        if (!table && sysroot_text(root, path, sizeof path, "proc/self/cpuset") <= 0)
            strcpy(path, "/");
        if (!find_mount(root, version, use, path, &m))
            continue;
        place->version = version;
        snprintf(place->mount, sizeof place->mount, "%s", m.point);
        relative_group(place->group, path, m.top);
    }
}

double cgroup_quota_v1(int64_t quota_us, int64_t period_us)
{
    if (quota_us < 0)
        return INFINITY;
    return quota_us > 0 && period_us > 0 ? (double)quota_us / (double)period_us : NAN;
}

double cgroup_parse_cpu_max(const char *text)
{
    int64_t period_us = 100000; /* the kernel's default, if only the quota is given */
    char *end;
    if (strncmp(text, "max", 3) == 0 && (text[3] == '\0' || text[3] == ' '))
        return INFINITY;
    int64_t quota_us = strtoll(text, &end, 10);
    if (end == text || quota_us <= 0)
        return NAN;
    if (*end == ' ')
        period_us = strtoll(end + 1, &end, 10);
    return *end ? NAN : cgroup_quota_v1(quota_us, period_us);
}

double cgroup_parse_memory(const char *text)
{
    char *end;
    if (strcmp(text, "max") == 0)
        return INFINITY;
    errno = 0;
    unsigned long long bytes = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-')
        return NAN;
    return errno == ERANGE || bytes >= 1ull << 60 ? INFINITY : (double)bytes; /* v1 writes "no limit" as 2^63 - 4096 */
}

/* The limit that one group's own files state; NaN if it has none of these files. name: the file read. */
static double group_quota(const struct sysroot *root, int version, const char *folder, const char **name)
{
    char text[128];
    int64_t quota_us, period_us;
    *name = version == 2 ? "cpu.max" : "cpu.cfs_quota_us";
    if (version == 2)
        return sysroot_text(root, text, sizeof text, "%s/cpu.max", folder) < 0 ? NAN : cgroup_parse_cpu_max(text);
    if (sysroot_number(root, &quota_us, "%s/cpu.cfs_quota_us", folder))
        return NAN;
    if (sysroot_number(root, &period_us, "%s/cpu.cfs_period_us", folder))
        period_us = 100000;
    return cgroup_quota_v1(quota_us, period_us);
}

static double group_memory(const struct sysroot *root, int version, const char *folder, const char **name)
{
    char text[128];
    *name = version == 2 ? "memory.max" : "memory.limit_in_bytes";
    return sysroot_text(root, text, sizeof text, "%s/%s", folder, *name) < 0 ? NAN : cgroup_parse_memory(text);
}

/* Of the page cache of files, what nobody used lately: the kernel takes it back before it kills. */
static double given_back(const struct sysroot *root, int version, const char *folder)
{
    char text[8192];
    const char *key = version == 2 ? "inactive_file " : "total_inactive_file ";
    if (sysroot_text(root, text, sizeof text, "%s/memory.stat", folder) <= 0)
        return 0;
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            return strtod(line + strlen(key), NULL);
    return 0;
}

static double group_memory_left(const struct sysroot *root, int version, const char *folder, const char **name)
{
    int64_t used;
    double limit = group_memory(root, version, folder, name);
    if (!isfinite(limit) ||
        sysroot_number(root, &used, "%s/%s", folder, version == 2 ? "memory.current" : "memory.usage_in_bytes"))
        return limit;
    return fmax(0, limit - fmax(0, (double)used - given_back(root, version, folder)));
}

/* Smallest limit of the chain with the file it stands in. */
static double chain_limit(const struct sysroot *root, const struct cgroup_place *place,
                          double (*group_limit)(const struct sysroot *, int, const char *, const char **), char *source,
                          size_t size)
{
    char group[512], folder[800];
    const char *name;
    double limit = NAN;
    if (!place->version) {
        snprintf(source, size, "no control group hierarchy with that controller is visible");
        return NAN;
    }
    snprintf(source, size, "no group has a limit file for that");
    strcpy(group, place->group);
    do {
        snprintf(folder, sizeof folder, "%s%s", place->mount, group);
        double here = group_limit(root, place->version, folder, &name);
        if (isnan(here) || here >= limit)
            continue;
        limit = here;
        if (isinf(here))
            snprintf(source, size, "no group sets a limit");
        else
            snprintf(source, size, "%s/%s", folder, name);
    } while (climb(group));
    return limit;
}

/* The effective set of a group already is the intersection with its ancestors', so the nearest one counts. */
static void read_cpuset(struct cgroup *cgroup, const struct sysroot *root)
{
    static const char *const files[][2] = {{"cpuset.effective_cpus", "cpuset.cpus"},
                                           {"cpuset.cpus.effective", "cpuset.cpus"}};
    const struct cgroup_place *place = &cgroup->place[CGROUP_CPUSET];
    char group[512], text[4096];
    if (!place->version)
        return;
    strcpy(group, place->group);
    do {
        for (int i = 0; i < 2 && !cgroup->has_cpuset; i++)
            cgroup->has_cpuset = sysroot_text(root, text, sizeof text, "%s%s/%s", place->mount, group,
                                              files[place->version - 1][i]) > 0 &&
                                 cpus_parse(&cgroup->cpuset, text) == 0;
    } while (!cgroup->has_cpuset && climb(group));
}

void cgroup_read(struct cgroup *cgroup, const struct sysroot *root)
{
    memset(cgroup, 0, sizeof *cgroup);
    for (int use = 0; use < CGROUP_USES; use++)
        locate(&cgroup->place[use], root, (enum cgroup_use)use);
    cgroup->quota_cpus =
        chain_limit(root, &cgroup->place[CGROUP_CPU], group_quota, cgroup->quota_source, sizeof cgroup->quota_source);
    cgroup->memory_bytes = chain_limit(root, &cgroup->place[CGROUP_MEMORY], group_memory, cgroup->memory_source,
                                       sizeof cgroup->memory_source);
    cgroup->memory_left_bytes = chain_limit(root, &cgroup->place[CGROUP_MEMORY], group_memory_left,
                                            cgroup->memory_left_source, sizeof cgroup->memory_left_source);
    read_cpuset(cgroup, root);
}

/* A group that is held back holds back those below it: the largest counts, not the sum. */
static void add_throttled(struct throttle_count *count, const char *text)
{
    char key[64];
    unsigned long long value;
    for (int length; sscanf(text, "%63s %llu%n", key, &value, &length) == 2; text += length) {
        if (strcmp(key, "nr_throttled") == 0) {
            count->known = true;
            count->periods = value > count->periods ? value : count->periods;
        } else if (strcmp(key, "throttled_usec") == 0) { /* version 2 */
            count->seconds = fmax(count->seconds, (double)value * 1e-6);
        } else if (strcmp(key, "throttled_time") == 0) { /* version 1, nanoseconds */
            count->seconds = fmax(count->seconds, (double)value * 1e-9);
        }
    }
}

struct throttle_count cgroup_throttled_now(const struct cgroup *cgroup, const struct sysroot *root)
{
    struct throttle_count count = {false, 0, 0};
    const struct cgroup_place *place = &cgroup->place[CGROUP_CPU];
    char group[512], text[2048];
    if (!place->version)
        return count;
    strcpy(group, place->group);
    do {
        if (sysroot_text(root, text, sizeof text, "%s%s/cpu.stat", place->mount, group) > 0)
            add_throttled(&count, text);
    } while (climb(group));
    return count;
}
