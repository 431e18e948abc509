/* comm/link.c - see link.h: orders and answers. How bytes move is in link_motion.c, all-reduce in link_reduce.c. */
#include "comm/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/data_socket.h"
#include "comm/link_busy.h"
#include "comm/link_motion.h"
#include "comm/link_reduce.h"
#include "comm/wait.h"

/* An order that lasts is no silence: whether the peer lives, its heartbeat tells. */
#define ANSWER_S (2 * LINK_WINDOW_MAX_S)

int link_start(struct link *l, int rank, int out_fd, int in_fd, int stop_fd, const char *peer, struct err *e)
{
    *l = (struct link){.rank = rank,
                       .out_fd = out_fd,
                       .in_fd = in_fd,
                       .stop_fd = stop_fd,
                       .stall_ns = (uint64_t)LINK_STALL_S * 1000000000u,
                       .low_water = 1,
                       .alter = -1};
    snprintf(l->peer, sizeof l->peer, "%s", peer);
    struct data_socket out, in;
    if (data_socket_init(&out, l->out_fd, l->peer, e) || data_socket_init(&in, l->in_fd, l->peer, e))
        return -1;
    l->memory = mmap(NULL, 2 * (size_t)LINK_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l->memory == MAP_FAILED) {
        l->memory = NULL;
        return err_set(e, ERR_MEMORY, "no memory for two buffers of %d MiB", LINK_MEMORY_BYTES >> 20);
    }
    madvise(l->memory, 2 * (size_t)LINK_MEMORY_BYTES, MADV_HUGEPAGE);
    for (size_t i = 0; i < 2 * (size_t)LINK_MEMORY_BYTES; i += 4096) /* pages exist before anything is timed */
        l->memory[i] = (char)(i >> 12);
    return 0;
}

int link_open(struct link *l, struct session *s, struct err *e)
{
    *l = (struct link){.out_fd = -1, .in_fd = -1};
    if (s->world != 2)
        return err_set(e, ERR_USAGE, "a link has two ends, not %d", s->world);
    int out_fd = session_take_next(s), in_fd = session_take_prev(s);
    return link_start(l, s->rank, out_fd, in_fd, s->stop_fd, s->next_name, e);
}

void link_close(struct link *l)
{
    link_reduction_free(l);
    if (l->memory)
        munmap(l->memory, 2 * (size_t)LINK_MEMORY_BYTES);
    if (l->out_fd > 0)
        close(l->out_fd);
    if (l->in_fd > 0)
        close(l->in_fd);
    *l = (struct link){.out_fd = -1, .in_fd = -1};
}

static int pings(struct link *l, const struct link_order *o, struct link_result *r, struct err *e)
{
    struct link_cpu from = link_cpu_now();
    for (int i = 0; i < o->repeats; i++)
        if (link_motion_ping(l, l->rank == 0 ? &r->time_s[i] : NULL, e))
            return -1;
    r->n = l->rank == 0 ? o->repeats : 0;
    link_cpu_since(&from, r);
    return 0;
}

static int messages(struct link *l, const struct link_order *o, struct link_result *r, struct err *e)
{
    struct link_cpu from = link_cpu_now();
    int result = 0;
    for (int i = 0; i < o->repeats && result == 0; i++)
        result = link_motion_message(l, o, r, e);
    link_cpu_since(&from, r);
    return result;
}

static const struct link_work *find_work(const struct link *l, const char *name)
{
    for (const struct link_work *w = l->works; w && w->name; w++)
        if (strcmp(w->name, name) == 0)
            return w;
    return NULL;
}

/* The computation begins before the link is used and ends after it; only units within the window count. */
static int beside_work(struct link *l, const struct link_order *o, struct link_result *r, struct err *e)
{
    struct link_busy busy = {.work = NULL};
    const char *name = o->kind == LINK_REDUCE ? o->beside : o->work;
    uint64_t window_ns[2] = {0, 0};
    if (*name) {
        const struct link_work *work = find_work(l, name);
        if (!work)
            return err_set(e, ERR_PROTOCOL, "the work '%s' is unknown here", name);
        if (link_busy_start(&busy, work, o->threads[l->rank], e))
            return -1;
    }
    int result =
        o->kind == LINK_REDUCE ? link_reduce(l, o, r, window_ns, e) : link_motion_stream(l, o, r, window_ns, e);
    if (*name && link_busy_end(&busy, window_ns, r, result ? NULL : e))
        return -1;
    return result;
}

int link_perform(struct link *l, const struct link_order *o, struct link_result *r, struct err *e)
{
    *r = (struct link_result){.time_s = calloc((size_t)LINK_REPEATS_MAX, sizeof(double))};
    if (!r->time_s)
        return err_set(e, ERR_MEMORY, "out of memory");
    switch (o->kind) {
    case LINK_PING:
        return pings(l, o, r, e);
    case LINK_MESSAGES:
        return messages(l, o, r, e);
    case LINK_STREAM:
    case LINK_REDUCE:
        return beside_work(l, o, r, e);
    case LINK_KINDS:
        break;
    }
    return err_set(e, ERR_PROTOCOL, "an order of an unknown kind");
}

int link_lead(struct link *l, struct session *s, const struct link_order *o, struct link_result result[2],
              struct err *e)
{
    json_t *message;
    result[0] = result[1] = (struct link_result){.n = 0};
    if (session_send(s, 0, link_order_json(o), e))
        return -1;
    if (link_perform(l, o, &result[0], e))
        return session_reason(s, e);
    if (session_receive(s, 0, "seen", &message, wait_deadline(ANSWER_S), e))
        return -1;
    int read = link_result_read(&result[1], o, message, e);
    json_decref(message);
    return read;
}

int link_follow(struct link *l, struct session *s, struct err *e)
{
    for (;;) {
        struct link_order order;
        struct link_result result = {.n = 0};
        json_t *message;
        if (session_receive(s, 0, "order", &message, wait_deadline(ANSWER_S), e))
            return -1;
        bool last = json_is_true(json_object_get(message, "last"));
        int failed = last ? 0 : link_order_read(&order, message, e);
        json_decref(message);
        if (failed)
            return -1;
        if (last)
            return session_send(s, 0, json_pack("{s:s}", "type", "done"), e);
        failed = link_perform(l, &order, &result, e);
        if (failed)
            session_reason(s, e);
        else
            failed = session_send(s, 0, link_result_json(&result), e);
        link_result_fini(&result);
        if (failed)
            return -1;
    }
}

int link_lead_end(struct session *s, struct err *e)
{
    json_t *message;
    if (session_send(s, 0, json_pack("{s:s, s:b}", "type", "order", "last", 1), e) ||
        session_receive(s, 0, "done", &message, wait_deadline(20), e))
        return -1;
    json_decref(message);
    return 0;
}
