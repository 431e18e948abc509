/* comm/transport_tcp.c - the ring as a transport; see transport.h. */
#include "comm/transport.h"

static int allreduce(struct transport *t, float *data, size_t n, struct call *call, struct err *e)
{
    return ring_allreduce(&t->ring, data, n, call, e);
}

static int broadcast(struct transport *t, void *data, size_t bytes, int root, struct call *call, struct err *e)
{
    return ring_broadcast(&t->ring, data, bytes, root, call, e);
}

static int barrier(struct transport *t, struct call *call, struct err *e)
{
    return ring_barrier(&t->ring, call, e);
}

static void set_timeout(struct transport *t, uint64_t timeout_ns)
{
    t->ring.timeout_ns = timeout_ns;
}

static void close_ring(struct transport *t)
{
    ring_fini(&t->ring);
}

static const struct transport_ops tcp = {"tcp", NULL, allreduce, broadcast, barrier, set_timeout, close_ring};

int transport_open_tcp(struct transport *t, const struct ring_options *options, struct err *e)
{
    *t = (struct transport){.ops = &tcp, .rank = options->rank, .world = options->world};
    if (ring_init(&t->ring, options, e) == 0)
        return 0;
    transport_close(t);
    return -1;
}
