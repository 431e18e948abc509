/*
 * comm/link_motion.c - see link_motion.h. Start at run(): wait until something can be done, then marks, then at most one
 * chunk in and one chunk out, so that a ping never waits longer than that.
 *
 * A message is timed where it is received, from the "go" that this end says to the last byte: a round trip and the message.
 * Payload only leaves after "go" has come, so none of it can wait in a buffer before the clock runs.
 *
 * A stream's window at its receiver goes from the first arrival after the warm-up to the first arrival after the window's
 * length, and the bytes are those that came after the former: bytes and time of one and the same interval. At an end that
 * only sends, the window goes from the warm-up's end to the receiver's "done"; the CPU time is taken over it.
 */
#include "config.h" /* _GNU_SOURCE, for ppoll */

#include "comm/link_motion.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "comm/data_socket.h"

enum mark { GO = 1, PING, PONG, DONE, SENT, END };
enum { MARK_BYTES = 4, NUMBER_MAX = 0xffffff };

/* Long sleeps are cut: a look at the clock now and then costs nothing. */
#define NAP_MAX_NS 100000000u

struct motion {
    struct link *link;
    const struct link_order *order;
    struct link_result *result;
    bool stream, sends, receives, idle, leads;

    bool go_got, done, done_got, sent_said, end_said, end_got;
    uint64_t start_ns;       /* the clock of this motion runs; 0: not yet */
    uint64_t sent, received; /* payload */
    uint64_t total;          /* to be received; UINT64_MAX: not known yet */
    uint64_t moved_ns;       /* the last byte of anything */

    /* a stream's window */
    bool open;
    uint64_t from_ns, to_ns, from_sent, from_received;
    struct link_cpu cpu;

    uint64_t ping_ns, next_ping_ns; /* ping: sent and unanswered */
};

static double cpu_s(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct link_cpu link_cpu_now(void)
{
    return (struct link_cpu){clock_now_ns(), cpu_s(CLOCK_THREAD_CPUTIME_ID), cpu_s(CLOCK_PROCESS_CPUTIME_ID)};
}

void link_cpu_since(const struct link_cpu *from, struct link_result *r)
{
    struct link_cpu now = link_cpu_now();
    r->cpu_window_s = clock_seconds(from->at_ns, now.at_ns);
    r->cpu_s = now.thread_s - from->thread_s;
    r->process_cpu_s = now.process_s - from->process_s;
}

static int lost(const struct link *l, const char *what, struct err *e)
{
    return err_set(e, ERR_PEER_LOST, "the data connection to %s %s", l->peer, what);
}

/* ---- marks ---- */

static int put_mark(struct link *l, enum mark kind, uint32_t number, struct err *e)
{
    uint32_t word = (uint32_t)kind << 24 | (number & NUMBER_MAX);
    unsigned char bytes[MARK_BYTES] = {(unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                                       (unsigned char)(word >> 24)};
    /* Nothing else goes this way, so there is always room for four bytes. */
    ssize_t n;
    do
        n = send(l->in_fd, bytes, sizeof bytes, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n == MARK_BYTES)
        return 0;
    return n < 0 && errno != EAGAIN ? lost(l, "is broken", e) : lost(l, "takes nothing any more", e);
}

/* What is there; nothing is no failure. */
static int read_marks(struct link *l, struct err *e)
{
    ssize_t n = recv(l->out_fd, l->marks + l->marks_n, sizeof l->marks - l->marks_n, MSG_DONTWAIT);
    if (n > 0)
        l->marks_n += (size_t)n;
    else if (n == 0)
        return lost(l, "was closed", e);
    else if (errno != EAGAIN && errno != EINTR)
        return lost(l, "is broken", e);
    return 0;
}

static bool take_mark(struct link *l, enum mark *kind, uint32_t *number)
{
    const unsigned char *b = l->marks;
    if (l->marks_n < MARK_BYTES)
        return false;
    *number = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
    *kind = (enum mark)b[3];
    l->marks_n -= MARK_BYTES;
    memmove(l->marks, l->marks + MARK_BYTES, l->marks_n);
    return true;
}

static int wait_mark(struct link *l, enum mark wanted, struct err *e)
{
    enum mark kind;
    uint32_t number;
    while (!take_mark(l, &kind, &number)) {
        struct pollfd p[] = {{l->out_fd, POLLIN, 0}, {l->stop_fd, POLLIN, 0}};
        int n = poll(p, 2, (int)(l->stall_ns / 1000000u));
        if (n < 0 && errno != EINTR)
            return err_set(e, ERR_IO, "poll: %m");
        if (n == 0)
            return lost(l, "carries nothing any more", e);
        if (p[1].revents)
            return err_set(e, ERR_INTERRUPTED, "interrupted while waiting for %s", l->peer);
        if (n > 0 && read_marks(l, e))
            return -1;
    }
    return kind == wanted ? 0 : err_set(e, ERR_PROTOCOL, "%s is at another point of the measurement", l->peer);
}

int link_motion_ping(struct link *l, double *time_s, struct err *e)
{
    uint64_t from = clock_now_ns();
    if (!time_s)
        return wait_mark(l, PING, e) || put_mark(l, PONG, 0, e) ? -1 : 0;
    if (put_mark(l, PING, 0, e) || wait_mark(l, PONG, e))
        return -1;
    *time_s = clock_seconds(from, clock_now_ns());
    return 0;
}

/* ---- the window of a stream ---- */

static void open_window(struct motion *m, uint64_t now)
{
    m->open = true;
    m->from_ns = now;
    m->from_sent = m->sent;
    m->from_received = m->received;
    double busy = cpu_s(CLOCK_THREAD_CPUTIME_ID) - m->cpu.thread_s, all = clock_seconds(m->cpu.at_ns, now);
    if (m->sends && all > 0) /* as the ring does after each of its transfers */
        backlog_fit(&m->link->backlog, m->link->out_fd, m->sent, busy / all);
    m->cpu = link_cpu_now();
}

static void close_window(struct motion *m, uint64_t now)
{
    struct link_result *r = m->result;
    m->to_ns = now;
    link_cpu_since(&m->cpu, r);
    r->sent_bytes = m->sent - m->from_sent;
    r->received_bytes = m->received - m->from_received;
    r->window_bytes = m->receives ? r->received_bytes : 0;
    r->window_s = m->receives || m->idle ? clock_seconds(m->from_ns, now) : 0;
}

static bool past(uint64_t from, double seconds, uint64_t now)
{
    return clock_seconds(from, now) >= seconds;
}

/* Called when something has arrived, and in idle by the clock. */
static int advance_window(struct motion *m, struct err *e)
{
    const struct link_order *o = m->order;
    uint64_t now = clock_now_ns();
    if (!m->stream || !m->start_ns || m->done || m->to_ns)
        return 0;
    if (!m->open) {
        if (past(m->start_ns, o->warmup_s, now))
            open_window(m, now);
        return 0;
    }
    if (!past(m->from_ns, o->window_s, now))
        return 0;
    close_window(m, now);
    m->done = true;
    return put_mark(m->link, DONE, 0, e);
}

/* An end without arrivals: its window is between the end of the warm-up and the other end's "done". */
static void follow_window(struct motion *m, bool over)
{
    uint64_t now = clock_now_ns();
    if (!m->stream || m->to_ns || !m->start_ns)
        return;
    if (!m->open && past(m->start_ns, m->order->warmup_s, now))
        open_window(m, now);
    if (m->open && over)
        close_window(m, now);
}

/* Who measures by its own arrivals, or in idle by its own clock. */
static bool measures(const struct motion *m)
{
    return m->receives || (m->idle && m->leads);
}

/* ---- marks within a motion ---- */

static int say_go(struct motion *m, struct err *e)
{
    uint64_t now = clock_now_ns();
    if (put_mark(m->link, GO, 0, e))
        return -1;
    if (!m->stream || (!m->sends && !m->idle))
        m->start_ns = now;
    return 0;
}

/* The count of chunks, of which a mark has the lower bits: the least one that is not below what has come. */
static uint64_t whole_total(uint64_t had, uint32_t number)
{
    uint64_t total = (had & ~(uint64_t)NUMBER_MAX) | number;
    return total >= had ? total : total + NUMBER_MAX + 1;
}

static int heed(struct motion *m, enum mark kind, uint32_t number, struct err *e)
{
    uint64_t now = clock_now_ns();
    m->moved_ns = now;
    switch (kind) {
    case GO:
        m->go_got = true;
        if (m->stream || !m->receives)
            m->start_ns = now;
        m->cpu = link_cpu_now();
        return 0;
    case PING:
        return put_mark(m->link, PONG, number, e);
    case PONG:
        if (m->ping_ns && m->open && !m->to_ns && m->result->n < LINK_REPEATS_MAX)
            m->result->time_s[m->result->n++] = clock_seconds(m->ping_ns, now);
        m->ping_ns = 0;
        m->next_ping_ns = now + (uint64_t)(m->order->ping_gap_s * 1e9);
        return 0;
    case DONE:
        m->done_got = true;
        if (!measures(m))
            follow_window(m, true);
        return 0;
    case SENT:
        m->total = whole_total(m->received / LINK_CHUNK_BYTES, number) * LINK_CHUNK_BYTES;
        return 0;
    case END:
        m->end_got = true;
        return 0;
    }
    return err_set(e, ERR_PROTOCOL, "%s sent a mark of no known kind", m->link->peer);
}

static int heed_all(struct motion *m, struct err *e)
{
    enum mark kind;
    uint32_t number;
    while (!m->end_got && take_mark(m->link, &kind, &number))
        if (heed(m, kind, number, e))
            return -1;
    return 0;
}

/* ---- payload ---- */

/* A stream ends with a whole chunk once everybody who measures has measured enough. */
static bool sending_over(const struct motion *m)
{
    if (!m->sends)
        return true;
    if (!m->stream)
        return m->sent == m->order->bytes;
    return m->done_got && (!m->receives || m->done) && m->sent % LINK_CHUNK_BYTES == 0;
}

static uint64_t due_ns(const struct motion *m)
{
    double rate = m->stream ? m->order->rate_bytes_per_s : 0;
    return rate > 0 ? m->start_ns + (uint64_t)((double)m->sent / rate * 1e9) : 0;
}

/* To the end of the chunk, or of everything. */
static size_t next_bytes(uint64_t at, uint64_t end)
{
    uint64_t left = LINK_CHUNK_BYTES - at % LINK_CHUNK_BYTES;
    return (size_t)(end - at < left ? end - at : left);
}

static bool may_send(const struct motion *m, uint64_t now)
{
    return m->sends && m->go_got && !m->sent_said && !sending_over(m) && due_ns(m) <= now;
}

static int send_some(struct motion *m, struct err *e)
{
    struct link *l = m->link;
    size_t bytes = next_bytes(m->sent, m->stream ? UINT64_MAX : m->order->bytes);
    ssize_t n = send(l->out_fd, l->memory + m->sent % LINK_MEMORY_BYTES, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return lost(l, errno == EPIPE || errno == ECONNRESET ? "was closed" : "is broken", e);
    if (n > 0) {
        m->sent += (uint64_t)n;
        m->moved_ns = clock_now_ns();
    }
    return 0;
}

/* The end of what is to be received, as far as it is known. */
static uint64_t receive_end(const struct motion *m)
{
    return m->stream ? m->total : m->order->bytes;
}

static int receive_some(struct motion *m, struct err *e)
{
    struct link *l = m->link;
    size_t bytes = next_bytes(m->received, receive_end(m));
    ssize_t n = recv(l->in_fd, l->memory + LINK_MEMORY_BYTES + m->received % LINK_MEMORY_BYTES, bytes, MSG_DONTWAIT);
    if (n == 0)
        return lost(l, "was closed", e);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : lost(l, "is broken", e);
    m->received += (uint64_t)n;
    m->moved_ns = clock_now_ns();
    if (!m->stream && m->received == m->order->bytes)
        m->result->time_s[m->result->n++] = clock_seconds(m->start_ns, m->moved_ns);
    return advance_window(m, e);
}

/* The kernel wakes this thread for a chunk, not for a packet; as the ring does with its frames. */
static void ask_for_chunk(struct motion *m)
{
    data_socket_wake_for(m->link->in_fd, next_bytes(m->received, receive_end(m)), &m->link->low_water);
}

/* ---- the loop ---- */

static bool receiving(const struct motion *m)
{
    return m->receives && m->received < receive_end(m);
}

static int ping_if_due(struct motion *m, struct err *e)
{
    uint64_t now = clock_now_ns();
    bool over = m->to_ns || m->done_got || m->end_said;
    if (!m->stream || !m->leads || m->order->ping_gap_s <= 0 || !m->start_ns || m->ping_ns || over || !m->open ||
        now < m->next_ping_ns)
        return 0;
    m->ping_ns = now;
    return put_mark(m->link, PING, 0, e);
}

/* What has become possible to say. */
static int speak(struct motion *m, struct err *e)
{
    if (m->idle && m->leads && advance_window(m, e))
        return -1;
    if (!measures(m))
        follow_window(m, false);
    if (ping_if_due(m, e))
        return -1;
    if (m->stream && m->sends && m->go_got && !m->sent_said && sending_over(m)) {
        m->sent_said = true;
        if (put_mark(m->link, SENT, (uint32_t)(m->sent / LINK_CHUNK_BYTES), e))
            return -1;
    }
    bool measured = !m->stream || (measures(m) ? m->done : m->done_got);
    bool all_sent = !m->sends || (m->go_got && sending_over(m) && (m->sent_said || !m->stream));
    if (!m->end_said && measured && all_sent && !receiving(m) && (m->go_got || !(m->sends || m->idle)) && !m->ping_ns) {
        m->end_said = true;
        return put_mark(m->link, END, 0, e);
    }
    return 0;
}

/* When there is something to do although nothing arrives. */
static uint64_t next_ns(const struct motion *m, uint64_t now)
{
    uint64_t at = now + NAP_MAX_NS, due = due_ns(m);
    if (m->sends && m->go_got && !sending_over(m) && due > now && due < at)
        at = due; /* if it is due already, the socket says when it has room */
    if (m->stream && m->leads && m->open && !m->ping_ns && m->order->ping_gap_s > 0 && !m->to_ns && !m->done_got &&
        m->next_ping_ns < at)
        at = m->next_ping_ns;
    if (m->stream && m->start_ns && !m->to_ns && (!m->receives || m->idle)) {
        uint64_t edge = m->open ? m->from_ns + (uint64_t)(m->order->window_s * 1e9) + 1
                                : m->start_ns + (uint64_t)(m->order->warmup_s * 1e9) + 1;
        if (edge < at && (!m->open || (m->idle && m->leads)))
            at = edge;
    }
    return at > now ? at : now;
}

static int step(struct motion *m, struct err *e)
{
    struct link *l = m->link;
    uint64_t now = clock_now_ns(), left = next_ns(m, now) - now;
    bool in = receiving(m), out = may_send(m, now);
    if (in)
        ask_for_chunk(m);
    struct pollfd p[] = {{l->out_fd, (short)(POLLIN | (out ? POLLOUT : 0)), 0},
                         {l->in_fd, (short)(in ? POLLIN : 0), 0},
                         {l->stop_fd, POLLIN, 0}};
    struct timespec limit = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    int n = ppoll(p, 3, &limit, NULL);
    if (n < 0 && errno != EINTR)
        return err_set(e, ERR_IO, "poll: %m");
    if (n > 0 && p[2].revents)
        return err_set(e, ERR_INTERRUPTED, "interrupted while %s was measured", l->peer);
    if (n <= 0)
        return clock_now_ns() - m->moved_ns > l->stall_ns && !m->idle ? lost(l, "carries nothing any more", e) : 0;
    if ((p[0].revents & (POLLIN | POLLERR | POLLHUP)) && (read_marks(l, e) || heed_all(m, e)))
        return -1;
    if (in && p[1].revents && receive_some(m, e))
        return -1;
    if (!in && (p[1].revents & (POLLERR | POLLHUP)))
        return lost(l, "was closed", e);
    if ((p[0].revents & POLLOUT) && may_send(m, clock_now_ns()) && send_some(m, e))
        return -1;
    return 0;
}

static int run(struct motion *m, struct err *e)
{
    const struct link *l = m->link;
    enum link_mode mode = m->order->mode;
    m->idle = mode == LINK_IDLE;
    m->leads = l->rank == 0;
    m->sends = mode == LINK_DUPLEX || (mode == LINK_A_TO_B && l->rank == 0) || (mode == LINK_B_TO_A && l->rank == 1);
    m->receives = !m->idle && (mode == LINK_DUPLEX || !m->sends);
    m->total = UINT64_MAX;
    m->moved_ns = clock_now_ns();
    m->cpu = link_cpu_now();
    if (((m->receives || m->idle) && say_go(m, e)) || heed_all(m, e))
        return -1;
    for (;;) {
        if (speak(m, e))
            return -1;
        if (m->end_said && m->end_got)
            return 0;
        if (step(m, e))
            return -1;
    }
}

int link_motion_message(struct link *l, const struct link_order *order, struct link_result *result, struct err *e)
{
    struct motion m = {.link = l, .order = order, .result = result};
    if (run(&m, e))
        return -1;
    result->sent_bytes += m.sent;
    result->received_bytes += m.received;
    return 0;
}

int link_motion_stream(struct link *l, const struct link_order *order, struct link_result *result,
                       uint64_t window_ns[2], struct err *e)
{
    struct motion m = {.link = l, .order = order, .result = result, .stream = true};
    if (run(&m, e))
        return -1;
    window_ns[0] = m.from_ns;
    window_ns[1] = m.to_ns;
    return 0;
}
