/* tests/scratch.c - see scratch.h. */
#include "tests/scratch.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

void scratch_open(void)
{
    const char *top = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/ddpbench-check.XXXXXX", top ? top : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* Calls f on each name; files lie flat or are empty folders. */
static int each(void (*f)(const char *path))
{
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        n++;
        if (f)
            f(scratch_path(entry->d_name));
    }
    if (d)
        closedir(d);
    return n;
}

static void erase(const char *path)
{
    remove(path); /* unlink or rmdir */
}

void scratch_close(void)
{
    each(erase);
    rmdir(folder);
}

int scratch_count(void)
{
    return each(NULL);
}

const char *scratch_path(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

const char *scratch_write(const char *name, const void *bytes, size_t n)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(n ? fwrite(bytes, 1, n, f) : 0, n);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

const char *scratch_sparse(const char *name, long long bytes)
{
    const char *path = scratch_write(name, "", 0);
    return truncate(path, bytes) ? NULL : path;
}

unsigned char *scratch_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*n + 1);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}
