/* comm/link_reduce.c - see link_reduce.h. */
#include "comm/link_reduce.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/backend.h"
#include "comm/link_motion.h"
#include "comm/overlap.h"

enum { PERIOD = 1021, WARM_UP = 2, LINK_BACKENDS_MAX = 4 };

static float brings(int rank, size_t i)
{
    return (float)((i * 7 + (size_t)rank * 13) % PERIOD);
}

static void fill(const struct transport *t, float *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = brings(t->rank, i);
}

static uint64_t count_wrong(const struct transport *t, const float *data, size_t n)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        float right = 0;
        for (int r = 0; r < t->world; r++)
            right += brings(r, i);
        wrong += !(data[i] >= right && data[i] <= right);
    }
    return wrong;
}

static int check(struct transport *t, float *data, size_t n, int alter, struct call *call, struct link_result *r,
                 struct err *e)
{
    fill(t, data, n);
    if (transport_allreduce(t, data, n, call, e))
        return -1;
    if (alter >= 0 && (size_t)alter < n)
        data[alter] += 1;
    r->wrong += count_wrong(t, data, n);
    return 0;
}

/* As a bucket travels in training: a thread of its own is woken for it and takes its turns beside what computes. */
static int overlapped(struct transport *t, float *data, size_t n, const struct link_order *o, struct link_result *r,
                      uint64_t window_ns[2], struct err *e)
{
    struct overlap overlap;
    struct overlap_bucket bucket = {data, n};
    struct link_cpu from = {0};
    int result = overlap_start(&overlap, t, 1, e);
    for (int i = -WARM_UP; i < o->repeats && result == 0; i++) {
        if (i == 0) {
            from = link_cpu_now();
            window_ns[0] = clock_now_ns();
        }
        uint64_t start = clock_now_ns();
        result = overlap_begin(&overlap, (uint32_t)(i + WARM_UP), &bucket, 1, e);
        if (result == 0) {
            overlap_ready(&overlap, 0);
            result = overlap_wait(&overlap, 1, e);
        }
        if (result == 0 && i >= 0)
            r->time_s[r->n++] = clock_seconds(start, clock_now_ns());
    }
    window_ns[1] = clock_now_ns();
    link_cpu_since(&from, r);
    overlap_stop(&overlap);
    return result;
}

static int in_turn(struct transport *t, float *data, size_t n, const struct link_order *o, struct link_result *r,
                   uint64_t window_ns[2], struct err *e)
{
    struct call call = {.step = 0};
    for (int i = 0; i < WARM_UP; i++, call.step++)
        if (transport_allreduce(t, data, n, &call, e))
            return -1;
    struct link_cpu from = link_cpu_now();
    window_ns[0] = clock_now_ns();
    for (int i = 0; i < o->repeats; i++, call.step++) {
        uint64_t start = clock_now_ns();
        if (transport_allreduce(t, data, n, &call, e))
            return -1;
        r->time_s[r->n++] = clock_seconds(start, clock_now_ns());
    }
    window_ns[1] = clock_now_ns();
    link_cpu_since(&from, r);
    return 0;
}

int link_reduce_on(struct transport *t, float *data, const struct link_order *o, int alter, struct link_result *r,
                   uint64_t window_ns[2], struct err *e)
{
    size_t n = o->bytes / sizeof *data;
    struct call call = {.step = 0};
    if (check(t, data, n, alter, &call, r, e))
        return -1;
    memset(data, 0, n * sizeof *data);
    if (*o->beside ? overlapped(t, data, n, o, r, window_ns, e) : in_turn(t, data, n, o, r, window_ns, e))
        return -1;
    call.step = (uint32_t)(WARM_UP + o->repeats);
    r->sent_bytes = r->received_bytes = (uint64_t)o->repeats * o->bytes;
    return check(t, data, n, -1, &call, r, e);
}

struct link_reduction {
    struct transport ring;
    struct {
        const struct backend *backend;
        struct transport transport;
    } beside[LINK_BACKENDS_MAX];
    int n;
};

bool link_reduce_can(const struct backend *b)
{
    return b->kind == BACKEND_RING || b->kind == BACKEND_BESIDE;
}

static int open_ring(struct link *l, struct transport *t, struct err *e)
{
    struct ring_options o = {.rank = l->rank,
                             .world = 2,
                             .next_name = l->peer,
                             .prev_name = l->peer,
                             .timeout_ns = l->stall_ns,
                             .stop_fd = l->stop_fd,
                             .direct_bytes = RING_DIRECT_BYTES};
    o.next_fd = fcntl(l->out_fd, F_DUPFD_CLOEXEC, 0); /* the transport closes what it is given */
    o.prev_fd = fcntl(l->in_fd, F_DUPFD_CLOEXEC, 0);
    if (o.next_fd < 0 || o.prev_fd < 0) {
        if (o.next_fd >= 0)
            close(o.next_fd);
        return err_set(e, ERR_MEMORY, "no descriptor left: %m");
    }
    return transport_open_tcp(t, &o, e);
}

/* The transport of that name, open. Both ends come here with the same orders. */
static struct transport *find_transport(struct link *l, const char *name, struct err *e)
{
    const struct backend *b = backend_find(name);
    if (!b || !link_reduce_can(b)) {
        err_set(e, ERR_PROTOCOL, "the back-end '%s' cannot be measured here", name);
        return NULL;
    }
    if (!l->reduction) {
        l->reduction = calloc(1, sizeof *l->reduction);
        if (!l->reduction)
            err_set(e, ERR_MEMORY, "out of memory");
        if (!l->reduction || open_ring(l, &l->reduction->ring, e))
            return NULL;
    }
    struct link_reduction *r = l->reduction;
    if (b->kind == BACKEND_RING)
        return &r->ring;
    for (int i = 0; i < r->n; i++)
        if (r->beside[i].backend == b)
            return &r->beside[i].transport;
    if (r->n == LINK_BACKENDS_MAX) {
        err_set(e, ERR_PROTOCOL, "more back-ends than there are");
        return NULL;
    }
    if (backend_open(&r->beside[r->n].transport, b, &r->ring, l->stop_fd, e))
        return NULL;
    transport_set_timeout(&r->beside[r->n].transport, l->stall_ns);
    r->beside[r->n].backend = b;
    return &r->beside[r->n++].transport;
}

void link_reduction_free(struct link *l)
{
    struct link_reduction *r = l->reduction;
    if (!r)
        return;
    for (int i = 0; i < r->n; i++)
        transport_close(&r->beside[i].transport);
    transport_close(&r->ring);
    free(r);
    l->reduction = NULL;
}

int link_reduce(struct link *l, const struct link_order *o, struct link_result *r, uint64_t window_ns[2], struct err *e)
{
    struct transport *t = find_transport(l, o->work, e);
    /* Both remember what they last set on the socket, and neither sees the other do it. */
    l->low_water = 0;
    if (l->reduction)
        l->reduction->ring.ring.low_water = 0;
    int alter = l->alter;
    l->alter = -1; /* once */
    return t ? link_reduce_on(t, (float *)(void *)l->memory, o, alter, r, window_ns, e) : -1;
}
