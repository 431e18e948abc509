/* ddp/spawn_place.c - a worker finds its place and says its last word: the other side of spawn.c; see spawn.h. */
#include "config.h" /* _GNU_SOURCE: POLLRDHUP */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ddp/spawn.h"

static bool is_socket(int fd)
{
    int type;
    socklen_t size = sizeof type;
    return fd > STDERR_FILENO && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* They were there before this process was. */
static int take_keys(struct spawn_place *p, int flags)
{
    unsigned char both[2 * CRYPTO_KEY_BYTES];
    bool whole = recv(p->control_fd, both, sizeof both, flags | MSG_DONTWAIT) == (ssize_t)sizeof both;
    memcpy(p->next_key, both, CRYPTO_KEY_BYTES);
    memcpy(p->prev_key, both + CRYPTO_KEY_BYTES, CRYPTO_KEY_BYTES);
    crypto_wipe(both, sizeof both);
    return whole ? 0 : -1;
}

int spawn_place_parse(struct spawn_place *p, const char *text, struct err *e)
{
    char rest;
    int sealed = 0;
    int n = sscanf(text, "%d:%d:%d:%d:%d:%d%c", &p->rank, &p->world, &p->control_fd, &p->next_fd, &p->prev_fd, &sealed,
                   &rest);
    p->sealed = sealed == 1;
    if (n != 6 || p->rank < 1 || p->rank >= p->world || !is_socket(p->control_fd) || !is_socket(p->next_fd) ||
        !is_socket(p->prev_fd))
        return err_set(e, ERR_USAGE, "option --worker is set by the program itself; --spawn N starts N ranks");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (p->sealed && take_keys(p, MSG_PEEK)) /* this program may start itself again, and then looks again */
        return err_set(e, ERR_PEER_LOST, "rank 0 gave no keys");
    struct pollfd parent = {.fd = p->control_fd, .events = POLLRDHUP}; /* it may have gone before that took effect */
    if (poll(&parent, 1, 0) > 0)
        return err_set(e, ERR_PEER_LOST, "rank 0 is gone");
    return 0;
}

void spawn_place_keep(struct spawn_place *p)
{
    if (p->sealed)
        take_keys(p, 0);
    fcntl(p->control_fd, F_SETFD, FD_CLOEXEC);
    fcntl(p->next_fd, F_SETFD, FD_CLOEXEC);
    fcntl(p->prev_fd, F_SETFD, FD_CLOEXEC);
}

int spawn_report(const struct spawn_place *p, const json_t *document, struct err *e)
{
    char *text = json_dumps(document, JSON_COMPACT);
    size_t left = text ? strlen(text) : 0;
    if (!text)
        return err_set(e, ERR_MEMORY, "no memory for the report of rank %d", p->rank);
    for (const char *at = text; left > 0;) {
        ssize_t n = send(p->control_fd, at, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            free(text);
            return err_set(e, ERR_PEER_LOST, "rank 0 does not take the report: %s", strerror(errno));
        }
        at += n;
        left -= (size_t)n;
    }
    free(text);
    shutdown(p->control_fd, SHUT_WR);
    return 0;
}
