/* model/infile.c - see infile.h. */
#include "model/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_failed(const char *path, int error, struct err *e)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
        return err_set(e, ERR_NO_INPUT, "%s: %s", path, strerror(error));
    case ENXIO: /* what opening a socket file gives */
    case ENODEV:
        return err_set(e, ERR_DATA, "%s: not a regular file", path);
    default:
        return err_set(e, ERR_IO, "%s: cannot open: %s", path, strerror(error));
    }
}

int infile_open(struct infile *in, const char *path, struct err *e)
{
    *in = (struct infile){.path = path, .fd = -1};
    /* O_NONBLOCK: a fifo without a writer would hold a plain open for ever */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return open_failed(path, errno, e);
    struct stat st;
    int rc = 0;
    if (fstat(fd, &st))
        rc = err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        rc = err_set(e, ERR_DATA, "%s: is a directory, not a file", path);
    else if (!S_ISREG(st.st_mode))
        rc = err_set(e, ERR_DATA, "%s: not a regular file", path);
    if (rc) {
        close(fd);
        return -1;
    }
    in->fd = fd;
    in->bytes = (uint64_t)st.st_size;
    return 0;
}

int infile_read(struct infile *in, void *to, size_t n, struct err *e)
{
    char *at = to;
    while (n) {
        ssize_t got = read(in->fd, at, n); /* Linux moves at most 2 GiB per call */
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(e, ERR_IO, "%s: cannot read: %s", in->path, strerror(errno));
        if (got == 0)
            return err_set(e, ERR_IO, "%s: ended at byte %" PRIu64 " of %" PRIu64 "; did it change while it was read?",
                           in->path, in->done, in->bytes);
        at += got;
        n -= (size_t)got;
        in->done += (uint64_t)got;
    }
    return 0;
}

int infile_rewind(struct infile *in, struct err *e)
{
    if (lseek(in->fd, 0, SEEK_SET) != 0)
        return err_set(e, ERR_IO, "%s: cannot seek: %s", in->path, strerror(errno));
    in->done = 0;
    return 0;
}

int infile_finish(struct infile *in, struct err *e)
{
    struct stat st;
    if (fstat(in->fd, &st))
        return err_set(e, ERR_IO, "%s: %s", in->path, strerror(errno));
    if ((uint64_t)st.st_size != in->bytes)
        return err_set(e, ERR_IO, "%s: had %" PRIu64 " bytes and now has %jd; it changed while it was read", in->path,
                       in->bytes, (intmax_t)st.st_size);
    return 0;
}

void infile_close(struct infile *in)
{
    if (in->fd >= 0)
        close(in->fd);
    in->fd = -1;
}
