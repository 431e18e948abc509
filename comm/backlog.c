/* comm/backlog.c - see backlog.h. */
#include "comm/backlog.h"

#include <sys/socket.h>

/* Apart, so that a link in between does not flip from call to call. */
#define BUSY 0.65
#define IDLE 0.40

#ifndef SO_BUF_LOCK /* Linux 5.15; missing in older headers */
#define SO_BUF_LOCK 72
#endif

void backlog_fit(struct backlog *b, int fd, size_t bytes, double busy)
{
    if (bytes < BACKLOG_WORTH_BYTES)
        return;
    if (!b->shallow && busy > BUSY) {
        int size = BACKLOG_SHALLOW_BYTES; /* of payload; the kernel doubles it for its own book-keeping */
        b->shallow = setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0;
    } else if (b->shallow && busy < IDLE) {
        int locked = 0;
        socklen_t size = sizeof locked;
        if (getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locked, &size))
            return;
        locked &= ~1; /* SOCK_SNDBUF_LOCK; a receive buffer that somebody fixed stays fixed */
        b->shallow = setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locked, sizeof locked) != 0;
    }
}
