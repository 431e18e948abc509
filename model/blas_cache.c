/* model/blas_cache.c - see blas_cache.h. */
#include "model/blas_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 << 10 };

/* FNV-1a, for a file name only: the key stands in the file too and is compared whole. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static int path_of(const struct blas_record *r, char path[static PATH_MAX], struct err *e)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    /* the XDG specification: a relative path is to be ignored */
    if (cache && cache[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/ddpbench/blas-%016llx.json", cache, (unsigned long long)hash(r->key));
    else if (home && home[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/.cache/ddpbench/blas-%016llx.json", home, (unsigned long long)hash(r->key));
    else
        return err_set(e, ERR_CANNOT_CREATE, "no cache folder: neither XDG_CACHE_HOME nor HOME is set");
    if (n >= PATH_MAX)
        return err_set(e, ERR_CANNOT_CREATE, "no cache folder: its path is too long");
    return 0;
}

bool blas_cache_load(struct blas_record *r)
{
    char path[PATH_MAX];
    struct stat st;
    if (path_of(r, path, NULL))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* should someone have put a pipe there */
    if (fd < 0)
        return false;
    json_t *doc = NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_BYTES_MAX)
        doc = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
    close(fd);
    bool found = blas_record_read(r, doc);
    json_decref(doc);
    return found;
}

static int make_folders(char *path, struct err *e)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = mkdir(path, 0700) && errno != EEXIST; /* a file in the way shows when the next part is made */
        if (failed)
            err_set(e, ERR_CANNOT_CREATE, "cannot create %s: %s", path, strerror(errno));
        *slash = '/';
        if (failed)
            return -1;
    }
    return 0;
}

int blas_cache_store(const struct blas_record *r, struct err *e)
{
    char path[PATH_MAX], temp[PATH_MAX + 24];
    if (path_of(r, path, e) || make_folders(path, e))
        return -1;
    snprintf(temp, sizeof temp, "%s.tmp-%ld", path, (long)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(e, ERR_CANNOT_CREATE, "cannot create %s: %s", temp, strerror(errno));
    json_t *doc = blas_record_json(r);
    errno = 0;
    int failed = json_dumpfd(doc, fd, JSON_INDENT(2));
    json_decref(doc);
    failed |= close(fd);
    /* not synced: what a power cut leaves is read as corrupt and measured again */
    failed |= !failed && rename(temp, path);
    if (!failed)
        return 0;
    err_set(e, ERR_IO, "cannot write %s: %s", path, errno ? strerror(errno) : "out of memory");
    unlink(temp);
    return -1;
}
