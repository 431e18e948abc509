/*
 * model/infile.h - an input file the user named: regular, of known size, read from front to back.
 *
 * infile_open() refuses what is not a regular file without ever waiting for it (a fifo, a device) and
 * takes the size once; readers compare what they expect with .bytes before they take memory. Fewer bytes
 * than that, or more, mean that the file changed meanwhile: ERR_IO. Every sentence starts with the path.
 * One owner thread; path is borrowed.
 */
#ifndef MODEL_INFILE_H
#define MODEL_INFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct infile {
    const char *path;
    int fd;
    uint64_t bytes; /* size when it was opened */
    uint64_t done;  /* bytes read so far */
};

/* Missing or not permitted 66; a directory, fifo, socket or device 65; anything else the system says 74. */
int infile_open(struct infile *in, const char *path, struct err *e);

/* The next n bytes, all of them: ERR_IO if the file ends before. */
int infile_read(struct infile *in, void *to, size_t n, struct err *e);

/* Back to the first byte. */
int infile_rewind(struct infile *in, struct err *e);

/* After the last read: ERR_IO if the file has grown past what was read. */
int infile_finish(struct infile *in, struct err *e);

void infile_close(struct infile *in);

#endif
