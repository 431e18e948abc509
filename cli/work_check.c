/* cli/work_check.c - the smallest work that a session can do; see work.h. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/stats.h"
#include "cli/work.h"
#include "comm/ring.h"
#include "comm/wait.h"

enum { ROUNDS = 200, COUNT = 100000 };

json_t *work_check_plan(void)
{
    return json_pack("{s:s, s:i, s:i}", "work", "check", "rounds", ROUNDS, "elements", COUNT);
}

int work_check_accept(const json_t *asked, json_t **own, struct err *e)
{
    (void)asked;
    *own = work_check_plan();
    return *own ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

static int open_ring(struct ring *ring, struct session *s, struct err *e)
{
    struct ring_options o = {.rank = s->rank,
                             .world = s->world,
                             .next_name = s->next_name,
                             .prev_name = s->prev_name,
                             .timeout_ns = 60000000000u,
                             .stop_fd = s->stop_fd,
                             .direct_bytes = RING_DIRECT_BYTES};
    o.next_fd = session_take_next(s);
    o.prev_fd = session_take_prev(s);
    return ring_init(ring, &o, e);
}

static int rounds(struct ring *ring, double *took_s, struct err *e)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct call call = {.step = (uint32_t)i};
        if (ring_barrier(ring, &call, e))
            return -1;
        took_s[i] = clock_seconds(call.start_ns, call.end_ns);
    }
    return 0;
}

/* Rank r brings r + 1, so every element becomes N (N + 1) / 2, which single precision holds exactly. */
static int sum(struct ring *ring, float *x, struct err *e)
{
    float right = (float)(ring->world * (ring->world + 1) / 2);
    struct call call = {.step = ROUNDS};
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(ring->rank + 1);
    if (ring_allreduce(ring, x, COUNT, &call, e))
        return -1;
    for (int i = 0; i < COUNT; i++)
        if (!(x[i] >= right && x[i] <= right))
            return err_set(e, ERR_WRONG_RESULT, "the sum over all nodes is %g instead of %g at element %d",
                           (double)x[i], (double)right, i);
    return 0;
}

static int run(struct session *s, double *barrier_s, struct err *e)
{
    struct ring ring = {.stop_fd = -1};
    double took_s[ROUNDS];
    float *x = malloc(COUNT * sizeof *x);
    int result = x ? open_ring(&ring, s, e) : err_set(e, ERR_MEMORY, "out of memory");
    if (result == 0)
        result = rounds(&ring, took_s, e);
    if (result == 0)
        result = sum(&ring, x, e);
    if (result)
        session_reason(s, e);
    else
        *barrier_s = stats_median(took_s, ROUNDS);
    ring_fini(&ring);
    free(x);
    return result;
}

int work_check_serve(struct session *session, struct err *e)
{
    double unused_s;
    json_t *message;
    if (run(session, &unused_s, e) || session_receive(session, 0, "done", &message, wait_deadline(20), e))
        return -1;
    json_decref(message);
    return session_send(session, 0, json_pack("{s:s}", "type", "done"), e);
}

/* Everybody is told when it is over and says so too: then no end can be mistaken for a loss. */
int work_check_call(struct session *session, double *barrier_s, struct err *e)
{
    if (run(session, barrier_s, e))
        return -1;
    for (int i = 0; i < session->peers_n; i++)
        if (session_send(session, i, json_pack("{s:s}", "type", "done"), e))
            return -1;
    for (int i = 0; i < session->peers_n; i++) {
        json_t *message;
        if (session_receive(session, i, "done", &message, wait_deadline(20), e))
            return -1;
        json_decref(message);
    }
    return 0;
}
