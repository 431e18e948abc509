/*
 * ddp/team.c - see team.h. Words are gathered by a sum: each rank fills in its own row and leaves zeros elsewhere, so
 * the sum of all rows is all words. Adding zero changes no number, a loss that is not finite included, and a checksum
 * travels in four parts of 16 bits, which single precision holds exactly.
 */
#include "ddp/team.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "ddp/patience.h"

#define SECOND_NS 1000000000u

enum { WISH, STOP, LOSS, CHECKSUM, WORD_FLOATS = CHECKSUM + 4 };

int team_open(struct team *team, const struct team_options *o, struct err *e)
{
    char next[RING_NAME_BYTES], prev[RING_NAME_BYTES];
    snprintf(next, sizeof next, "rank %d", (o->rank + 1) % o->world);
    snprintf(prev, sizeof prev, "rank %d", (o->rank + o->world - 1) % o->world);
    struct ring_options ring = {.rank = o->rank,
                                .world = o->world,
                                .next_fd = o->next_fd,
                                .prev_fd = o->prev_fd,
                                .next_key = o->next_key,
                                .prev_key = o->prev_key,
                                .next_name = o->next_name ? o->next_name : next,
                                .prev_name = o->prev_name ? o->prev_name : prev,
                                .timeout_ns = (uint64_t)(PATIENCE_FIRST_S * SECOND_NS),
                                .stop_fd = o->stop_fd,
                                .direct_bytes = RING_DIRECT_BYTES};
    *team = (struct team){.rank = o->rank, .world = o->world, .stop_fd = o->stop_fd, .patience_ns = ring.timeout_ns};
    team->backend = o->backend ? o->backend : backend_find("tcp");
    team->agree = o->launch ? &team->other : &team->ring;
    if (o->launch ? launch_transport(o->launch, &team->other, e) : transport_open_tcp(&team->ring, &ring, e))
        return -1;
    transport_set_timeout(team->agree, team->patience_ns);
    team->word = calloc((size_t)o->world, sizeof *team->word);
    team->wire = calloc((size_t)o->world * WORD_FLOATS, sizeof *team->wire);
    if (team->word && team->wire)
        return 0;
    team_close(team);
    return err_set(e, ERR_MEMORY, "no memory for %d ranks", o->world);
}

int team_open_gradients(struct team *team, struct err *e)
{
    if (team->backend->kind == BACKEND_RING || team->backend->kind == BACKEND_LAUNCHED) {
        team->gradients = team->agree;
        return 0;
    }
    if (backend_open(&team->other, team->backend, &team->ring, team->stop_fd, e))
        return -1;
    team->gradients = &team->other;
    transport_set_timeout(team->gradients, team->patience_ns);
    return 0;
}

static void encode(float *wire, const struct team_word *word)
{
    wire[WISH] = (float)word->wish;
    wire[STOP] = word->stop;
    wire[LOSS] = word->loss;
    for (int i = 0; i < 4; i++)
        wire[CHECKSUM + i] = (float)(word->checksum >> 16 * i & 0xffff);
}

static struct team_word decode(const float *wire)
{
    struct team_word word = {.wish = (int)wire[WISH], .stop = wire[STOP] != 0, .loss = wire[LOSS]};
    for (int i = 0; i < 4; i++)
        word.checksum |= (uint64_t)wire[CHECKSUM + i] << 16 * i;
    return word;
}

int team_agree(struct team *team, uint32_t step, const struct team_word *mine, struct err *e)
{
    size_t n = (size_t)team->world * WORD_FLOATS;
    struct call call = {.step = step};
    memset(team->wire, 0, n * sizeof *team->wire);
    encode(team->wire + team->rank * WORD_FLOATS, mine);
    if (transport_allreduce(team->agree, team->wire, n, &call, e))
        return -1;
    for (int r = 0; r < team->world; r++)
        team->word[r] = decode(team->wire + r * WORD_FLOATS);
    return 0;
}

int team_broadcast(struct team *team, void *data, size_t bytes, struct err *e)
{
    struct call call = {0};
    return transport_broadcast(team->agree, data, bytes, 0, &call, e);
}

int team_barrier(struct team *team, struct err *e)
{
    struct call call = {0};
    return transport_barrier(team->agree, &call, e);
}

void team_set_patience(struct team *team, double patience_s)
{
    team->patience_ns = (uint64_t)(patience_s * SECOND_NS);
    transport_set_timeout(team->agree, team->patience_ns);
    if (team->gradients)
        transport_set_timeout(team->gradients, team->patience_ns);
}

const char *team_wire(const struct team *team, char *text, size_t size)
{
    const char *suite = ring_suite(&team->ring.ring);
    snprintf(text, size, suite ? "tls1.3 %s" : "clear", suite ? suite : "");
    return text;
}

int64_t team_sent_bytes(const struct team *team)
{
    int fd = team->ring.ring.next.fd, queued = 0;
    if (team->backend->kind == BACKEND_BESIDE || team->backend->kind == BACKEND_LAUNCHED)
        return -1;
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) || ioctl(fd, SIOCOUTQNSD, &queued) ||
        size < offsetof(struct tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans)
        return -1;
    return (int64_t)(info.tcpi_bytes_sent - info.tcpi_bytes_retrans) + queued;
}

void team_close(struct team *team)
{
    transport_close(&team->other); /* beside the ring */
    transport_close(&team->ring);
    free(team->word);
    free(team->wire);
    *team = (struct team){0};
}
