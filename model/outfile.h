/*
 * model/outfile.h - a file that replaces another only when it is whole.
 *
 * Bytes go to PATH.tmp-PID in the same directory; outfile_commit() syncs it, renames it over PATH and syncs
 * the directory. Until then PATH is as it was, and any failure, or outfile_abort(), removes the temporary
 * file. A symbolic link is followed, so the file it leads to is replaced; the replaced file's permissions
 * are kept. Something else than a regular file (a device, a fifo, a directory) is never replaced. One owner
 * thread.
 *
 *     if (outfile_open(&out, path, e)) return -1;
 *     if (outfile_write(&out, bytes, n, e)) { outfile_abort(&out); return -1; }
 *     return outfile_commit(&out, e);
 */
#ifndef MODEL_OUTFILE_H
#define MODEL_OUTFILE_H

#include <stddef.h>

#include "base/err.h"

struct outfile {
    int fd, directory;
    char *path, *temporary; /* owned */
};

/* 73 if it cannot be created, 74 if the disk is full or broken. */
int outfile_open(struct outfile *out, const char *path, struct err *e);
int outfile_write(struct outfile *out, const void *from, size_t n, struct err *e);

/* Finishes in either case: on failure the old file stays and the temporary one is gone (74). The one exception:
 * if only the directory's sync fails, the new file is in place and the sentence says so. */
int outfile_commit(struct outfile *out, struct err *e);
void outfile_abort(struct outfile *out);

#endif
