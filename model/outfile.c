/* model/outfile.c - see outfile.h. */
#include "model/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A full or broken disk is input/output whichever call met it. */
static int failed(const char *path, const char *what, int error, struct err *e)
{
    bool disk = error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG;
    return err_set(e, disk ? ERR_IO : ERR_CANNOT_CREATE, "%s: cannot %s: %s", path, what, strerror(error));
}

/* The name to replace, with links resolved, and the permissions that are to be kept; 0: there is no such file. */
static int resolve(struct outfile *out, const char *path, mode_t *mode, struct err *e)
{
    struct stat st;
    *mode = 0;
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return err_set(e, ERR_CANNOT_CREATE, "%s: is there and is not a regular file", path);
        *mode = st.st_mode & 0777;
        out->path = realpath(path, NULL);
    } else if (errno != ENOENT) {
        return failed(path, "create", errno, e);
    } else if (lstat(path, &st) == 0) {
        return err_set(e, ERR_CANNOT_CREATE, "%s: is a link that leads nowhere", path);
    } else {
        out->path = strdup(path);
    }
    return out->path ? 0 : failed(path, "create", errno, e);
}

static int open_directory(struct outfile *out, struct err *e)
{
    char *slash = strrchr(out->path, '/');
    char *name = !slash ? strdup(".") : strndup(out->path, slash == out->path ? 1 : (size_t)(slash - out->path));
    if (name)
        out->directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    free(name);
    return out->directory >= 0 ? 0 : failed(out->path, "open its directory", error, e);
}

static int create(struct outfile *out, mode_t mode, struct err *e)
{
    size_t room = strlen(out->path) + 32;
    out->temporary = malloc(room);
    if (!out->temporary)
        return err_set(e, ERR_MEMORY, "%s: no memory for its name", out->path);
    snprintf(out->temporary, room, "%s.tmp-%ld", out->path, (long)getpid());
    /* O_EXCL: never write through a link somebody put there. What a dead process of the same number left is removed. */
    enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC };
    out->fd = open(out->temporary, FLAGS, mode ? mode : 0666);
    if (out->fd < 0 && errno == EEXIST && unlink(out->temporary) == 0)
        out->fd = open(out->temporary, FLAGS, mode ? mode : 0666);
    if (out->fd < 0) {
        int error = errno;
        free(out->temporary); /* not ours to remove */
        out->temporary = NULL;
        return failed(out->path, "create a file beside it", error, e);
    }
    if (mode && fchmod(out->fd, mode) && errno != EPERM &&
        errno != EOPNOTSUPP) /* what the umask would take away, too */
        return failed(out->path, "give a file beside it its permissions", errno, e);
    return 0;
}

int outfile_open(struct outfile *out, const char *path, struct err *e)
{
    *out = (struct outfile){.fd = -1, .directory = -1};
    mode_t mode;
    if (resolve(out, path, &mode, e) || open_directory(out, e) || create(out, mode, e)) {
        outfile_abort(out);
        return -1;
    }
    return 0;
}

int outfile_write(struct outfile *out, const void *from, size_t n, struct err *e)
{
    const char *at = from;
    while (n) {
        ssize_t put = write(out->fd, at, n); /* Linux moves at most 2 GiB per call */
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return err_set(e, ERR_IO, "%s: cannot write: %s", out->path, strerror(put < 0 ? errno : EIO));
        at += put;
        n -= (size_t)put;
    }
    return 0;
}

int outfile_commit(struct outfile *out, struct err *e)
{
    int rc = 0, fd = out->fd;
    out->fd = -1;
    bool synced = fsync(fd) == 0;
    int error = errno;
    if (close(fd) && synced) {
        synced = false;
        error = errno;
    }
    if (!synced) {
        rc = err_set(e, ERR_IO, "%s: cannot write: %s", out->path, strerror(error));
    } else if (rename(out->temporary, out->path)) {
        rc = failed(out->path, "replace", errno, e);
    } else {
        free(out->temporary); /* it has the right name now */
        out->temporary = NULL;
        if (fsync(out->directory) && errno != EINVAL) /* EINVAL: a file system that does not know how */
            rc = err_set(e, ERR_IO, "%s: written, but its directory could not be synced: %s", out->path,
                         strerror(errno));
    }
    outfile_abort(out);
    return rc;
}

void outfile_abort(struct outfile *out)
{
    if (out->fd >= 0)
        close(out->fd);
    if (out->directory >= 0)
        close(out->directory);
    if (out->temporary)
        unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (struct outfile){.fd = -1, .directory = -1};
}
