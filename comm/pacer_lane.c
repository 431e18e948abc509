/* comm/pacer_lane.c - see pacer_lane.h; start at pacer_lane_turn(). */
#include "comm/pacer_lane.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>

/* A millisecond of the rate at once: fine enough for what waits for it, coarse enough to cost little. */
#define QUANTUM_S 1e-3

enum {
    QUANTUM_MIN = 1448, /* a packet's payload */
    QUANTUM_MAX = 256 * 1024,
    FREE_CAPACITY = 512 * 1024,       /* without rate and delay */
    DELAY_CAPACITY = 64 * 1024 * 1024 /* with a delay and no rate to say how much is on the way */
};

static size_t capacity_of(const struct pacer_lane *lane)
{
    double way_ns = lane->delay_ns + lane->jitter_ns;
    if (lane->medium && lane->medium->ns_per_byte > 0)
        return (size_t)((way_ns + 2.0 * PACER_AHEAD_NS) / lane->medium->ns_per_byte) + 4 * lane->quantum;
    return way_ns > 0 ? DELAY_CAPACITY : FREE_CAPACITY;
}

int pacer_lane_init(struct pacer_lane *lane, int from, int to, struct pacer_medium *medium, double delay_s,
                    double jitter_s, uint64_t seed, struct err *e)
{
    *lane = (struct pacer_lane){
        .from = from, .to = to, .medium = medium, .delay_ns = delay_s * 1e9, .jitter_ns = jitter_s * 1e9};
    double quantum = medium && medium->ns_per_byte > 0 ? QUANTUM_S * 1e9 / medium->ns_per_byte : QUANTUM_MAX;
    lane->quantum = (size_t)fmin(fmax(quantum, QUANTUM_MIN), QUANTUM_MAX);
    lane->capacity = capacity_of(lane);
    rng_init(&lane->rng, seed, 0);
    lane->queue = malloc(lane->capacity);
    lane->record = malloc(PACER_RECORDS * sizeof *lane->record);
    if (lane->queue && lane->record)
        return 0;
    size_t bytes = lane->capacity;
    pacer_lane_fini(lane);
    return err_set(e, ERR_MEMORY, "no memory for the %zu bytes that an emulated link may hold", bytes);
}

/* The instant at which bytes read now arrive, and the medium's time for them. */
static uint64_t reserve(struct pacer_lane *lane, size_t bytes, uint64_t now_ns)
{
    struct pacer_medium *m = lane->medium;
    uint64_t there_ns = now_ns;
    bool idle = lane->record_n == 0;
    if (m && m->ns_per_byte > 0) {
        uint64_t busy_ns = (uint64_t)llround((double)bytes * m->ns_per_byte);
        if (m->wanted && now_ns > m->free_ns)
            m->short_s += (double)(now_ns - m->free_ns) * 1e-9;
        idle = m->free_ns < now_ns;
        m->wanted = false;
        m->free_ns = (idle ? now_ns : m->free_ns) + busy_ns;
        m->busy_s += (double)busy_ns * 1e-9;
        m->bytes += bytes;
        there_ns = m->free_ns;
    }
    if (lane->jitter_ns > 0 && (idle || now_ns >= lane->redraw_ns)) {
        lane->extra_ns = lane->jitter_ns * rng_uniform(&lane->rng);
        lane->redraw_ns = now_ns + PACER_REDRAW_NS;
    }
    there_ns += (uint64_t)(lane->delay_ns + lane->extra_ns);
    if (there_ns < lane->release_ns)
        there_ns = lane->release_ns;
    lane->release_ns = there_ns;
    return there_ns;
}

static void take_due(struct pacer_lane *lane, uint64_t now_ns)
{
    while (lane->record_n > 0 && lane->record[lane->record_head].release_ns <= now_ns) {
        lane->due += lane->record[lane->record_head].bytes;
        lane->record_head = (lane->record_head + 1) % PACER_RECORDS;
        lane->record_n--;
    }
}

static bool write_some(struct pacer_lane *lane)
{
    size_t straight = lane->capacity - lane->head;
    size_t asked = lane->due < straight ? lane->due : straight;
    ssize_t n = send(lane->to, lane->queue + lane->head, asked, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
        lane->blocked = errno == EAGAIN;
        lane->broken = errno != EAGAIN && errno != EINTR;
        return false;
    }
    lane->head = (lane->head + (size_t)n) % lane->capacity;
    lane->bytes -= (size_t)n;
    lane->due -= (size_t)n;
    lane->blocked = (size_t)n < asked;
    return true;
}

/* Whether there is anything but the medium in the way of reading. */
static bool may_read(const struct pacer_lane *lane)
{
    return !lane->eof && lane->bytes < lane->capacity && lane->record_n < PACER_RECORDS;
}

static bool read_some(struct pacer_lane *lane, uint64_t now_ns)
{
    struct pacer_medium *m = lane->medium;
    lane->ahead = m && m->ns_per_byte > 0 && m->free_ns >= now_ns + PACER_AHEAD_NS;
    if (lane->ahead) {
        m->wanted = true;
        return false;
    }
    size_t tail = (lane->head + lane->bytes) % lane->capacity;
    size_t room = tail >= lane->head ? lane->capacity - tail : lane->head - tail;
    size_t asked = room < lane->quantum ? room : lane->quantum;
    ssize_t n = recv(lane->from, lane->queue + tail, asked, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        lane->empty = errno == EAGAIN;
        if (m)
            m->wanted = false;
        return false;
    }
    if (n <= 0) { /* a connection that was torn down has ended too: what came before is still delivered */
        lane->eof = true;
        return true;
    }
    lane->bytes += (size_t)n;
    int at = (lane->record_head + lane->record_n) % PACER_RECORDS;
    lane->record[at] = (struct pacer_record){reserve(lane, (size_t)n, now_ns), (size_t)n};
    lane->record_n++;
    if (m)
        m->wanted = (size_t)n == asked; /* there is probably more */
    return true;
}

bool pacer_lane_turn(struct pacer_lane *lane, uint64_t now_ns)
{
    bool moved = false;
    if (lane->over || lane->broken)
        return false;
    take_due(lane, now_ns);
    if (lane->due > 0 && !lane->blocked)
        moved |= write_some(lane);
    if (may_read(lane) && !lane->empty)
        moved |= read_some(lane, now_ns);
    else if (lane->medium && !lane->empty && !lane->eof) /* the receiver holds it up, not this thread */
        lane->medium->wanted = false;
    if (lane->eof && lane->bytes == 0) {
        shutdown(lane->to, SHUT_WR);
        lane->over = true;
    }
    return moved;
}

uint64_t pacer_lane_next_ns(const struct pacer_lane *lane)
{
    uint64_t next = UINT64_MAX;
    if (lane->over || lane->broken)
        return next;
    if (lane->record_n > 0)
        next = lane->record[lane->record_head].release_ns;
    if (may_read(lane) && !lane->empty && lane->ahead) {
        uint64_t read_ns = lane->medium->free_ns - PACER_AHEAD_NS / 2;
        next = read_ns < next ? read_ns : next;
    }
    return next;
}

bool pacer_lane_wants_input(const struct pacer_lane *lane)
{
    return !lane->over && !lane->broken && may_read(lane) && lane->empty;
}

bool pacer_lane_wants_room(const struct pacer_lane *lane)
{
    return !lane->over && !lane->broken && lane->due > 0 && lane->blocked;
}

void pacer_lane_fini(struct pacer_lane *lane)
{
    free(lane->queue);
    free(lane->record);
    *lane = (struct pacer_lane){.from = -1, .to = -1};
}
