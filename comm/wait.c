/* comm/wait.c - see wait.h. */
#include "comm/wait.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

uint64_t wait_deadline(double seconds)
{
    return clock_now_ns() + (uint64_t)(seconds * 1e9);
}

int wait_left_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_now_ns();
    if (now >= deadline_ns)
        return 0;
    uint64_t ms = (deadline_ns - now + 999999) / 1000000;
    return ms > 3600000 ? 3600000 : (int)ms;
}

int wait_ready(int fd, short events, uint64_t deadline_ns, int stop_fd, const char *who, struct err *e)
{
    for (;;) {
        struct pollfd p[] = {{fd, events, 0}, {stop_fd, POLLIN, 0}};
        int left = wait_left_ms(deadline_ns), n = poll(p, 2, left);
        if (n < 0 && errno != EINTR)
            return err_set(e, ERR_IO, "poll: %m");
        if (n > 0 && p[1].revents)
            return err_set(e, ERR_INTERRUPTED, "interrupted while waiting for %s", who);
        if (n > 0 && p[0].revents)
            return 0;
        if (left == 0)
            return err_set(e, ERR_UNAVAILABLE, "%s does not answer", who);
    }
}

static int broken(const char *who, struct err *e)
{
    return err_set(e, ERR_PEER_LOST, "the connection to %s is broken: %m", who);
}

int wait_send(int fd, const void *data, size_t bytes, uint64_t deadline_ns, int stop_fd, const char *who, struct err *e)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t n = send(fd, from, bytes, MSG_NOSIGNAL);
        if (n > 0) {
            from += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return broken(who, e);
        } else if (wait_ready(fd, POLLOUT, deadline_ns, stop_fd, who, e)) {
            return -1;
        }
    }
    return 0;
}

int wait_receive_some(int fd, void *data, size_t bytes, size_t *got, const char *who, struct err *e)
{
    ssize_t n = recv(fd, data, bytes, 0);
    *got = n > 0 ? (size_t)n : 0;
    if (n == 0 && bytes > 0)
        return err_set(e, ERR_PEER_LOST, "%s closed the connection", who);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return broken(who, e);
    return 0;
}

int wait_receive(int fd, void *data, size_t bytes, uint64_t deadline_ns, int stop_fd, const char *who, struct err *e)
{
    char *to = data;
    while (bytes > 0) {
        size_t got;
        if (wait_receive_some(fd, to, bytes, &got, who, e))
            return -1;
        to += got;
        bytes -= got;
        if (bytes > 0 && got == 0 && wait_ready(fd, POLLIN, deadline_ns, stop_fd, who, e))
            return -1;
    }
    return 0;
}
