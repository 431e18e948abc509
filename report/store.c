/*
 * report/store.c - see store.h. Start at store_write(); claim() is the step that must not overwrite.
 */
#include "config.h" /* _GNU_SOURCE, for renameat2 */

#include "report/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 10000 };

/* A full or broken disk is 74, whatever was being done; anything else that keeps a file away is 73. */
static int fail(const char *doing, const char *path, struct err *e)
{
    int error = errno;
    bool disk = error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG;
    return err_set(e, disk ? ERR_IO : ERR_CANNOT_CREATE, "cannot %s %s: %s", doing, path, strerror(error));
}

static int too_long(const char *folder, struct err *e)
{
    return err_set(e, ERR_CANNOT_CREATE, "the path is too long: %.200s...", folder);
}

/* mkdir -p */
static int make_folder(const char *folder, struct err *e)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
        return too_long(folder, e);
    for (char *slash = path + 1; *slash; slash++) {
        if (*slash != '/')
            continue;
        *slash = '\0';
        mkdir(path, 0777); /* if it fails, so does what follows, with the better message */
        *slash = '/';
    }
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return 0;
        errno = ENOTDIR;
    }
    return fail("make the results folder", path, e);
}

static bool usable(const char *folder)
{
    struct stat st;
    return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && access(folder, W_OK | X_OK) == 0;
}

int store_place(char *folder, size_t size, const char *asked, struct err *e)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n;
    if (asked)
        n = snprintf(folder, size, "%s", asked);
    else if (usable("results"))
        n = snprintf(folder, size, "results");
    else if (xdg && xdg[0] == '/') /* the XDG specification: a relative path is to be ignored */
        n = snprintf(folder, size, "%s/ddpbench/results", xdg);
    else if (home && *home)
        n = snprintf(folder, size, "%s/.local/share/ddpbench/results", home);
    else
        return err_set(e, ERR_CANNOT_CREATE,
                       "no place for the result: ./results is not writable and neither XDG_DATA_HOME nor HOME is set");
    if (n < 0 || (size_t)n >= size)
        return too_long(asked ? asked : home, e);
    return 0;
}

int store_folder(char *folder, size_t size, const char *asked, struct err *e)
{
    return store_place(folder, size, asked, e) ? -1 : make_folder(folder, e);
}

void store_doubt(struct notes *notes, const char *asked)
{
    char folder[PATH_MAX];
    struct err e = {0};
    if (store_folder(folder, sizeof folder, asked, &e))
        notes_add(notes, "the result will be shown but not saved: %.240s", e.text);
}

/* Gives the finished file its name unless somebody has that name: 0, or -1 with errno EEXIST or another.
 * renameat2() does it in one step; file systems that cannot (NFS, some FUSE) can nearly always link. On one
 * that has neither, only a process doing the same in the same microsecond could be overwritten. */
static int claim(const char *temporary, const char *path)
{
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(temporary, path) == 0)
        return unlink(temporary);
    if (errno != EPERM && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    if (access(path, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(temporary, path);
}

static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* Content and name are only safe once the folder itself is on the disk; file systems that cannot sync a
 * folder say EINVAL and need no sync. */
static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* writable but not readable: allowed, and nothing more can be done */
    int failed = fsync(fd) && errno != EINVAL ? errno : 0;
    close(fd);
    errno = failed;
    return failed ? -1 : 0;
}

static int fill(int fd, const char *text, size_t bytes)
{
    mode_t mask = umask(0);
    umask(mask);
    if (write_all(fd, text, bytes) || fsync(fd))
        return -1;
    fchmod(fd, 0666 & ~mask); /* mkstemp makes private files; some file systems have no modes to change */
    return 0;
}

int store_write(char *path, size_t size, const char *folder, const char *stem, const char *suffix, const char *text,
                size_t bytes, struct err *e)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s/.%s-XXXXXX", folder, stem) >= (int)sizeof temporary)
        return too_long(folder, e);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail("write into", folder, e);
    if (fill(fd, text, bytes)) {
        fail("write the result into", folder, e);
        close(fd);
        unlink(temporary);
        return -1;
    }
    if (close(fd)) {
        fail("write the result into", folder, e);
        unlink(temporary);
        return -1;
    }
    for (int i = 1; i < NAMES_MAX; i++) {
        int n = i == 1 ? snprintf(path, size, "%s/%s%s", folder, stem, suffix)
                       : snprintf(path, size, "%s/%s-%d%s", folder, stem, i, suffix);
        if (n < 0 || (size_t)n >= size) {
            unlink(temporary);
            return too_long(folder, e);
        }
        if (claim(temporary, path) == 0)
            return sync_folder(folder) ? fail("sync the folder", folder, e) : 0;
        if (errno != EEXIST)
            break;
    }
    fail("name the result", path, e);
    unlink(temporary);
    return -1;
}

static int write_into(const char *path, const char *text, size_t bytes, struct err *e)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail("write to", path, e);
    int result = write_all(fd, text, bytes) ? fail("write to", path, e) : 0;
    if (close(fd) && result == 0)
        return fail("write to", path, e);
    return result;
}

int store_file(const char *path, const char *text, size_t bytes, struct err *e)
{
    struct stat st;
    char temporary[PATH_MAX], folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_into(path, text, bytes, e);
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return too_long(path, e);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return fail("write", path, e);
    int failed = fill(fd, text, bytes) ? errno : 0;
    if (close(fd) && !failed)
        failed = errno;
    if (!failed && rename(temporary, path))
        failed = errno;
    if (failed) {
        unlink(temporary);
        errno = failed;
        return fail("write", path, e);
    }
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return sync_folder(folder) ? fail("sync the folder", folder, e) : 0;
}
