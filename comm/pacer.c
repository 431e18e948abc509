/* comm/pacer.c - see pacer.h; start at move(), the thread. */
#include "config.h" /* ppoll */

#include "comm/pacer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/data_socket.h"
#include "comm/loopback.h"

#define IDLE_NS 1000000000u /* between looks at nothing */

int pacer_open(struct pacer *p, const struct emulate *emulate, uint64_t seed, struct err *e)
{
    *p = (struct pacer){.emulate = *emulate, .seed = seed, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    atomic_store(&p->end_ns, UINT64_MAX);
    if (p->wake_fd < 0)
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    p->open = true;
    if (emulate->rate_bytes_per_s > 0)
        p->shared.ns_per_byte = 1e9 / emulate->rate_bytes_per_s;
    return 0;
}

/* ---- connections ---- */

static void close_connection(struct pacer_connection *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->fd[i] >= 0)
            close(c->fd[i]);
        c->fd[i] = -1;
        pacer_lane_fini(&c->lane[i]);
    }
}

static int init_lanes(struct pacer *p, struct pacer_connection *c, enum pacer_side side, struct err *e)
{
    const struct emulate *m = &p->emulate;
    for (int i = 0; i < 2; i++) {
        bool link = side == PACER_LINK || i == 0;
        struct pacer_medium *medium = m->half_duplex ? &p->shared : link ? &c->own[i] : NULL;
        uint64_t seed = rng_mix(p->seed + 2 * (uint64_t)p->n + (uint64_t)i);
        c->own[i].ns_per_byte = p->shared.ns_per_byte;
        if (pacer_lane_init(&c->lane[i], c->fd[i], c->fd[1 - i], medium, link ? m->rtt_s / 2 : 0,
                            link ? m->jitter_s : 0, seed, e))
            return -1;
    }
    return 0;
}

int pacer_insert(struct pacer *p, int *fd, enum pacer_side side, struct err *e)
{
    int pair[2];
    struct pacer_connection **list = realloc(p->connection, ((size_t)p->n + 1) * sizeof(struct pacer_connection *));
    struct pacer_connection *c = calloc(1, sizeof *c);
    if (list)
        p->connection = list;
    if (!list || !c) {
        free(c);
        return err_set(e, ERR_MEMORY, "no memory for an emulated link");
    }
    if (loopback_pair(pair)) {
        free(c);
        return err_set(e, ERR_MEMORY, "cannot make an emulated link: %m");
    }
    c->side = side;
    c->fd[0] = pair[0];
    c->fd[1] = *fd;
    struct data_socket here, there;
    if (init_lanes(p, c, side, e) || data_socket_init(&here, c->fd[0], "an emulated link", e) ||
        data_socket_init(&there, c->fd[1], "an emulated link's peer", e)) {
        c->fd[1] = -1;
        close_connection(c);
        close(pair[1]);
        free(c);
        return -1;
    }
    p->connection[p->n++] = c;
    *fd = pair[1];
    return 0;
}

/* ---- the thread ---- */

/* When one way is broken the other one delivers what it has. Between this host and another one nobody here is left to
 * read what comes in once the way out has ended. */
static bool is_over(const struct pacer_connection *c)
{
    const struct pacer_lane *out = &c->lane[0], *in = &c->lane[1];
    if (c->side == PACER_OUT && out->over)
        return true;
    return (out->over && in->over) || (out->broken && (in->broken || in->bytes == 0)) ||
           (in->broken && out->bytes == 0);
}

/* Everything that can move does, each turn in another order; true while something is open. */
static bool move_all(struct pacer *p, int turn)
{
    bool moved, open;
    do {
        moved = open = false;
        uint64_t now_ns = clock_now_ns();
        for (int i = 0; i < p->n; i++) {
            struct pacer_connection *c = p->connection[(turn + i) % p->n];
            if (c->fd[0] < 0)
                continue;
            moved |= pacer_lane_turn(&c->lane[turn & 1], now_ns);
            moved |= pacer_lane_turn(&c->lane[1 - (turn & 1)], now_ns);
            if (is_over(c))
                close_connection(c);
            else
                open = true;
        }
    } while (moved);
    return open;
}

static uint64_t next_instant(const struct pacer *p)
{
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < 2 * p->n; i++) {
        uint64_t at = pacer_lane_next_ns(&p->connection[i / 2]->lane[i % 2]);
        next = p->connection[i / 2]->fd[0] >= 0 && at < next ? at : next;
    }
    return next;
}

/* Only what is waited for is looked at: a connection that has ended would wake poll for ever. */
static void fill_poll(const struct pacer *p, struct pollfd *fds)
{
    for (int i = 0; i < p->n; i++) {
        const struct pacer_connection *c = p->connection[i];
        for (int side = 0; side < 2; side++) {
            bool input = pacer_lane_wants_input(&c->lane[side]), room = pacer_lane_wants_room(&c->lane[1 - side]);
            fds[2 * i + side] = (struct pollfd){.fd = c->fd[0] >= 0 && (input || room) ? c->fd[side] : -1,
                                                .events = (short)((input ? POLLIN : 0) | (room ? POLLOUT : 0))};
        }
    }
}

static void take_poll(struct pacer *p, const struct pollfd *fds)
{
    for (int i = 0; i < 2 * p->n; i++) {
        struct pacer_connection *c = p->connection[i / 2];
        if (fds[i].revents & ~POLLOUT)
            c->lane[i % 2].empty = false;
        if (fds[i].revents & ~POLLIN)
            c->lane[1 - i % 2].blocked = false;
    }
}

static void rest(struct pacer *p, struct pollfd *fds)
{
    uint64_t now_ns = clock_now_ns(), next_ns = next_instant(p), end_ns = atomic_load(&p->end_ns), count;
    next_ns = end_ns < next_ns ? end_ns : next_ns;
    uint64_t nap_ns = next_ns <= now_ns ? 0 : next_ns - now_ns < IDLE_NS ? next_ns - now_ns : IDLE_NS;
    struct timespec limit = {(time_t)(nap_ns / 1000000000u), (long)(nap_ns % 1000000000u)};
    fill_poll(p, fds);
    fds[2 * p->n] = (struct pollfd){.fd = p->wake_fd, .events = POLLIN};
    if (ppoll(fds, (nfds_t)(2 * p->n + 1), &limit, NULL) <= 0)
        return;
    take_poll(p, fds);
    if (fds[2 * p->n].revents)
        while (read(p->wake_fd, &count, sizeof count) < 0 && errno == EINTR)
            ;
}

static void *move(void *argument)
{
    struct pacer *p = argument;
    struct pollfd *fds = calloc(2 * (size_t)p->n + 1, sizeof *fds);
    struct timespec cpu;
    prctl(PR_SET_TIMERSLACK, 1UL); /* else the kernel rounds every nap up by 50 us */
    prctl(PR_SET_NAME, "ddp-pacer");
    for (int turn = 0; fds && move_all(p, turn) && clock_now_ns() < atomic_load(&p->end_ns); turn = (turn + 1) % 65536)
        rest(p, fds);
    for (int i = 0; i < p->n; i++) /* nobody waits for an answer any more */
        close_connection(p->connection[i]);
    free(fds);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    p->cost.cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9;
    return NULL;
}

int pacer_start(struct pacer *p, struct err *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->running = p->n > 0 && pthread_create(&p->thread, NULL, move, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p->running || p->n == 0 ? 0 : err_set(e, ERR_MEMORY, "no thread for the emulated link");
}

static void add_cost(struct pacer_cost *cost, const struct pacer_medium *m)
{
    cost->busy_s += m->busy_s;
    cost->short_s += m->short_s;
    cost->bytes += (double)m->bytes;
}

void pacer_close(struct pacer *p, double patience_s)
{
    uint64_t one = 1;
    if (!p->open)
        return;
    if (p->running) {
        atomic_store(&p->end_ns, clock_now_ns() + (uint64_t)(patience_s * 1e9));
        while (write(p->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(p->thread, NULL);
    }
    add_cost(&p->cost, &p->shared);
    for (int i = 0; i < p->n; i++) {
        add_cost(&p->cost, &p->connection[i]->own[0]);
        add_cost(&p->cost, &p->connection[i]->own[1]);
        close_connection(p->connection[i]);
        free(p->connection[i]);
    }
    free(p->connection);
    close(p->wake_fd);
    struct pacer_cost cost = p->cost;
    *p = (struct pacer){.wake_fd = -1, .cost = cost};
}
