/* comm/loopback.c - see loopback.h. */
#include "config.h" /* _GNU_SOURCE: accept4 */

#include "comm/loopback.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

static bool same_address(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Whoever else on this host found the port first is turned away. */
static int accept_from(int server, int client)
{
    struct sockaddr_in own, peer;
    socklen_t size = sizeof own;
    if (getsockname(client, (struct sockaddr *)&own, &size))
        return -1;
    for (;;) {
        size = sizeof peer;
        int fd = accept4(server, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0 || same_address(&own, &peer))
            return fd;
        close(fd);
    }
}

int loopback_pair(int fd[static 2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fd[1] = -1;
    if (server >= 0 && fd[0] >= 0 && bind(server, (struct sockaddr *)&address, size) == 0 && listen(server, 4) == 0 &&
        getsockname(server, (struct sockaddr *)&address, &size) == 0 &&
        connect(fd[0], (struct sockaddr *)&address, size) == 0)
        fd[1] = accept_from(server, fd[0]);
    int error = errno;
    if (server >= 0)
        close(server);
    if (fd[0] >= 0 && fd[1] < 0)
        close(fd[0]);
    errno = error;
    return fd[1] < 0 ? -1 : 0;
}
