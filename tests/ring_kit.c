/* tests/ring_kit.c - see ring_kit.h. */
#include "tests/ring_kit.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/crypto.h"

/* The receive buffer has to be small before the connection is made: its size is what the window scale follows. */
static void shrink(int fd, int bytes)
{
    if (bytes == 0)
        return;
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
}

void kit_connect(enum kit_link link, int buffer_bytes, int fds[2])
{
    if (link == KIT_UNIX) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        shrink(fds[0], buffer_bytes);
        shrink(fds[1], buffer_bytes);
        return;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    shrink(server, buffer_bytes);
    shrink(fds[0], buffer_bytes);
    ck_assert_int_eq(bind(server, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(server, 1), 0);
    ck_assert_int_eq(getsockname(server, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(connect(fds[0], (struct sockaddr *)&address, size), 0);
    fds[1] = accept(server, NULL, NULL);
    ck_assert_int_ge(fds[1], 0);
    close(server);
}

struct ring_options kit_ring_options(int rank, int world, int next_fd, int prev_fd, const struct kit_options *options)
{
    static const char *const names[] = {"rank0", "rank1", "rank2", "rank3", "rank4"};
    return (struct ring_options){
        .rank = rank,
        .world = world,
        .next_fd = next_fd,
        .prev_fd = prev_fd,
        .next_name = names[(rank + 1) % world],
        .prev_name = names[(rank + world - 1) % world],
        .timeout_ns = options->timeout_ns ? options->timeout_ns : 20000000000u,
        .stop_fd = -1,
        .segment_bytes = options->segment_bytes,
        .direct_bytes = options->direct_bytes,
        .keep_buffers = options->keep_buffers,
    };
}

/* Sealed neighbours wait for each other. */
struct opening {
    struct ring *rings;
    struct ring_options options[KIT_RANKS_MAX];
    unsigned char key[KIT_RANKS_MAX][CRYPTO_KEY_BYTES]; /* of the edge from that rank */
    struct err e[KIT_RANKS_MAX];
    int rc[KIT_RANKS_MAX];
};

static void open_ring(int rank, void *ctx)
{
    struct opening *o = ctx;
    o->rc[rank] = ring_init(&o->rings[rank], &o->options[rank], &o->e[rank]);
}

void kit_open(struct ring *rings, int world, const struct kit_options *options)
{
    int next[KIT_RANKS_MAX], prev[KIT_RANKS_MAX];
    if (options->link == KIT_DUPLEX && world == 2) {
        int fds[2];
        kit_connect(KIT_TCP, options->buffer_bytes, fds);
        for (int r = 0; r < 2; r++)
            next[r] = prev[r] = fds[r];
    } else {
        for (int r = 0; r < world && world > 1; r++) {
            int fds[2];
            kit_connect(options->link, options->buffer_bytes, fds);
            next[r] = fds[0];
            prev[(r + 1) % world] = fds[1];
        }
    }
    struct opening opening = {.rings = rings};
    for (int r = 0; r < world; r++) {
        opening.options[r] = kit_ring_options(r, world, world > 1 ? next[r] : -1, world > 1 ? prev[r] : -1, options);
        memset(opening.key[r], 'a' + r, CRYPTO_KEY_BYTES);
        if (!options->sealed)
            continue;
        opening.options[r].next_key = opening.key[r];
        opening.options[r].prev_key = opening.key[options->link == KIT_DUPLEX ? r : (r + world - 1) % world];
    }
    if (options->sealed && options->link == KIT_DUPLEX)
        opening.options[1].next_key = opening.options[1].prev_key = opening.key[0];
    kit_each_rank(world, open_ring, &opening);
    for (int r = 0; r < world; r++)
        ck_assert_msg(opening.rc[r] == 0, "%s", opening.e[r].text);
}

void kit_close_rings(struct ring *rings, int world)
{
    for (int r = 0; r < world; r++)
        ring_fini(&rings[r]);
}

struct job {
    int rank;
    void (*work)(int rank, void *ctx);
    void *ctx;
};

static void *start(void *argument)
{
    struct job *job = argument;
    job->work(job->rank, job->ctx);
    return NULL;
}

void kit_each_rank(int world, void (*work)(int rank, void *ctx), void *ctx)
{
    pthread_t threads[KIT_RANKS_MAX];
    struct job jobs[KIT_RANKS_MAX];
    for (int r = 0; r < world; r++) {
        jobs[r] = (struct job){r, work, ctx};
        ck_assert_int_eq(pthread_create(&threads[r], NULL, start, &jobs[r]), 0);
    }
    for (int r = 0; r < world; r++)
        pthread_join(threads[r], NULL);
}
