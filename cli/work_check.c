/*
 * cli/work_check.c - the smallest work that a session can do; see work.h.
 *
 * Barriers for as long as rank 0 likes, then one long sum. After each batch of barriers the ranks add up whether rank 0 has
 * had enough, so that all of them stop after the same one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "cli/work.h"
#include "comm/ring.h"
#include "comm/wait.h"

enum { BATCH = 50, SAMPLES_MAX = 10000, COUNT = 100000 };

struct check {
    struct session *session;
    struct ring ring;
    double seconds;     /* rank 0 */
    double *took_s;     /* of barriers, the latest SAMPLES_MAX */
    size_t n;           /* barriers so far */
    float *x;           /* COUNT elements */
    uint32_t operation; /* for what errors say */
};

json_t *work_check_plan(bool encrypt)
{
    return json_pack("{s:s, s:i, s:i, s:s}", "work", "check", "batch", BATCH, "elements", COUNT, "wire",
                     encrypt ? "tls" : "clear");
}

int work_check_accept(const json_t *asked, const struct options *serving, json_t **own, struct err *e)
{
    const char *wire = json_string_value(json_object_get(asked, "wire"));
    (void)serving;
    *own = work_check_plan(wire && strcmp(wire, "tls") == 0);
    return *own ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

static int open_ring(struct check *c, struct err *e)
{
    struct session *s = c->session;
    struct ring_options o = {.rank = s->rank,
                             .world = s->world,
                             .next_name = s->next_name,
                             .prev_name = s->prev_name,
                             .timeout_ns = 60000000000u,
                             .stop_fd = s->stop_fd,
                             .direct_bytes = RING_DIRECT_BYTES};
    o.next_fd = session_take_next(s);
    o.prev_fd = session_take_prev(s);
    if (session_seals(s)) {
        o.next_key = s->next_key;
        o.prev_key = s->prev_key;
    }
    return ring_init(&c->ring, &o, e);
}

static int one_batch(struct check *c, struct err *e)
{
    for (int i = 0; i < BATCH; i++) {
        struct call call = {.step = c->operation++};
        if (ring_barrier(&c->ring, &call, e))
            return -1;
        c->took_s[c->n++ % SAMPLES_MAX] = clock_seconds(call.start_ns, call.end_ns);
    }
    return 0;
}

static int barriers(struct check *c, struct err *e)
{
    uint64_t start_ns = clock_now_ns();
    float enough = 0;
    while (enough < 1) {
        if (one_batch(c, e))
            return -1;
        struct call call = {.step = c->operation++};
        enough = c->session->rank == 0 && clock_seconds(start_ns, clock_now_ns()) >= c->seconds ? 1 : 0;
        if (ring_allreduce(&c->ring, &enough, 1, &call, e))
            return -1;
    }
    return 0;
}

/* Rank r brings r + 1, so every element becomes N (N + 1) / 2, which single precision holds exactly. */
static int sum(struct check *c, struct err *e)
{
    int world = c->session->world;
    float right = (float)(world * (world + 1) / 2);
    struct call call = {.step = c->operation++};
    for (int i = 0; i < COUNT; i++)
        c->x[i] = (float)(c->session->rank + 1);
    if (ring_allreduce(&c->ring, c->x, COUNT, &call, e))
        return -1;
    for (int i = 0; i < COUNT; i++)
        if (!(c->x[i] >= right && c->x[i] <= right))
            return err_set(e, ERR_WRONG_RESULT, "the sum over all nodes is %g instead of %g at element %d",
                           (double)c->x[i], (double)right, i);
    return 0;
}

static int run(struct session *s, double seconds, double *barrier_s, struct err *e)
{
    struct check c = {.session = s,
                      .ring = {.stop_fd = -1},
                      .seconds = seconds,
                      .took_s = calloc(SAMPLES_MAX, sizeof(double)),
                      .x = calloc(COUNT, sizeof(float))};
    int result = c.took_s && c.x ? 0 : err_set(e, ERR_MEMORY, "out of memory");
    if (result == 0)
        result = open_ring(&c, e) || barriers(&c, e) || sum(&c, e) ? -1 : 0;
    if (result)
        session_reason(s, e);
    else
        *barrier_s = stats_median(c.took_s, c.n < SAMPLES_MAX ? c.n : SAMPLES_MAX);
    ring_fini(&c.ring);
    free(c.took_s);
    free(c.x);
    return result;
}

int work_check_serve(struct session *session, const struct options *serving, struct err *e)
{
    (void)serving;
    double unused_s;
    json_t *message;
    if (run(session, 0, &unused_s, e) || session_receive(session, 0, "done", &message, wait_deadline(20), e))
        return -1;
    json_decref(message);
    return session_send(session, 0, json_pack("{s:s}", "type", "done"), e);
}

/* Everybody is told when it is over and says so too: then no end can be mistaken for a loss. */
int work_check_call(struct session *session, double seconds, double *barrier_s, struct err *e)
{
    if (run(session, seconds, barrier_s, e))
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
