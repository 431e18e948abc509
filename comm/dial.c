/* comm/dial.c - see dial.h. */
#include "comm/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/wait.h"

struct attempt {
    struct dial *dial;
    const struct address *to;
    int fd; /* -1: over */
};

struct dialling {
    struct attempt *attempt;
    struct pollfd *poll; /* one for each attempt and one for stop_fd */
    int n;
    const char *interface;
    int error[PEERS_MAX]; /* the last failure of each peer */
    const struct dial *first;
};

static void fail(struct dialling *d, struct attempt *a, int error)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    d->error[a->dial - d->first] = error;
}

static void begin(struct dialling *d, struct attempt *a, struct err *e)
{
    a->fd = socket(a->to->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (a->fd < 0) {
        fail(d, a, errno);
        return;
    }
    if (d->interface && address_bind_interface(a->fd, d->interface, a->to, e)) {
        fail(d, a, EADDRNOTAVAIL);
        return;
    }
    if (connect(a->fd, (const struct sockaddr *)&a->to->sa, a->to->bytes) && errno != EINPROGRESS)
        fail(d, a, errno);
}

/* poll says that the connection is there or has failed. */
static void settle(struct dialling *d, struct attempt *a)
{
    int error = 0, on = 1;
    socklen_t size = sizeof error;
    struct dial *dial = a->dial;
    if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error) {
        fail(d, a, error ? error : errno);
        return;
    }
    if (dial->fd >= 0) { /* another address was faster */
        fail(d, a, 0);
        return;
    }
    setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    dial->remote = *a->to;
    dial->local = (struct address){.bytes = sizeof dial->local.sa};
    getsockname(a->fd, (struct sockaddr *)&dial->local.sa, &dial->local.bytes);
    dial->fd = a->fd;
    a->fd = -1;
}

/* Attempts that are still of use: their peer has no connection yet. */
static int pending(struct dialling *d)
{
    int n = 0;
    for (int i = 0; i < d->n; i++) {
        struct attempt *a = &d->attempt[i];
        if (a->fd >= 0 && a->dial->fd >= 0)
            fail(d, a, 0);
        d->poll[i] = (struct pollfd){a->fd, POLLOUT, 0};
        n += a->fd >= 0;
    }
    return n;
}

static int run(struct dialling *d, uint64_t deadline_ns, int stop_fd, struct err *e)
{
    while (pending(d) > 0) {
        d->poll[d->n] = (struct pollfd){stop_fd, POLLIN, 0};
        int left = wait_left_ms(deadline_ns);
        if (poll(d->poll, (nfds_t)d->n + 1, left) < 0 && errno != EINTR)
            return err_set(e, ERR_IO, "poll: %m");
        if (d->poll[d->n].revents)
            return err_set(e, ERR_INTERRUPTED, "interrupted while connecting");
        for (int i = 0; i < d->n; i++)
            if (d->attempt[i].fd >= 0 && d->poll[i].revents)
                settle(d, &d->attempt[i]);
        if (left == 0)
            break;
    }
    return 0;
}

static const char *reason(int error)
{
    switch (error) {
    case 0:
        return "no answer";
    case ECONNREFUSED:
        return "nothing listens there (start 'serve' on it)";
    case EHOSTUNREACH:
        return "no machine has that address";
    default:
        return strerror(error);
    }
}

/* Closes everything and names those that are missing. */
static int missing(struct dialling *d, struct dial *dials, int n, struct err *e)
{
    char names[400] = "";
    int count = 0;
    for (int i = 0; i < n; i++) {
        size_t used = strlen(names);
        if (dials[i].fd < 0 && !dials[i].optional)
            snprintf(names + used, sizeof names - used, "%s%.60s, port %d: %s", count++ ? "; " : "", dials[i].name,
                     ntohs(((const struct sockaddr_in *)&dials[i].addresses->address[0].sa)->sin_port),
                     reason(d->error[i]));
    }
    return count ? err_set(e, ERR_UNAVAILABLE, "cannot reach %s", names) : 0;
}

int dial_all(struct dial *dials, int n, const char *interface, uint64_t deadline_ns, int stop_fd, struct err *e)
{
    struct attempt attempt[PEERS_MAX * ADDRESSES_MAX];
    struct pollfd polls[PEERS_MAX * ADDRESSES_MAX + 1];
    struct dialling d = {.attempt = attempt, .poll = polls, .interface = interface, .first = dials};
    struct err bound = {0}; /* of a peer that no attempt can reach from that interface */
    for (int i = 0; i < n; i++) {
        int unbound = 0;
        struct err why = {0};
        dials[i].fd = -1;
        for (int k = 0; k < dials[i].addresses->n; k++) {
            struct attempt *a = &attempt[d.n++];
            *a = (struct attempt){&dials[i], &dials[i].addresses->address[k], -1};
            struct err one = {0};
            begin(&d, a, &one);
            unbound += one.code != 0;
            if (one.code)
                why = one;
        }
        if (unbound == dials[i].addresses->n && !dials[i].optional && !bound.code)
            bound = why;
    }
    int result = run(&d, deadline_ns, stop_fd, e);
    for (int i = 0; i < d.n; i++)
        if (attempt[i].fd >= 0)
            close(attempt[i].fd);
    if (result == 0)
        result = missing(&d, dials, n, e);
    if (result && bound.code && e && e->code == ERR_UNAVAILABLE)
        *e = bound;
    for (int i = 0; result && i < n; i++) {
        if (dials[i].fd >= 0)
            close(dials[i].fd);
        dials[i].fd = -1;
    }
    return result;
}
