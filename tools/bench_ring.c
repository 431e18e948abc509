/*
 * tools/bench_ring.c - how fast the ring is: a table over sizes, like nccl-tests'.
 *
 *     bench_ring [option=value ...]                   both ranks on this machine, over loopback TCP
 *     bench_ring listen=PORT ... / connect=HOST:PORT ...   one rank each, started by hand (IPv4 address)
 *
 * Options: segment=BYTES direct=BYTES (what ring.h calls segment_bytes and direct_bytes), sizes=4,1024,..., time=SECONDS
 * per size (default 1), sealed=1 (TLS 1.3 with a key that everybody knows), pin=0|1 (rank r on CPU r, default 1 when both are here). Both sides take the same ones.
 *
 * Times are medians over calls of rank 0; CPU seconds are of both ranks together, threads and kernel, per GB of
 * vector; wrong counts elements that differ from the exact sum. Bus bandwidth is size / time x 2 (N-1) / N.
 * A maintainer's tool: it is not installed.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "comm/crypto.h"
#include "comm/ring.h"

enum { CALLS_MAX = 20000, SIZES_MAX = 32 };

struct options {
    int listen_port;
    const char *connect_to;
    size_t segment_bytes, direct_bytes;
    double time_s;
    int sealed;
    int pin; /* -1: not said */
    size_t sizes[SIZES_MAX];
    int n_sizes;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_ring: %s: %s\n", what, strerror(errno));
    exit(74);
}

static void require(int rc, const struct err *e)
{
    if (rc == 0)
        return;
    fprintf(stderr, "bench_ring: %s\n", e->text);
    exit(e->code);
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Whole numbers below 2^24 add up exactly. */
static float share(int rank, size_t i)
{
    return (float)((i + (size_t)rank * 7) % 1021);
}

/* First one exact reduction, then timed ones. */
static size_t count_wrong(struct ring *ring, float *data, size_t n)
{
    struct err e = {0};
    struct call call = {0};
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        data[i] = share(ring->rank, i);
    require(ring_allreduce(ring, data, n, &call, &e), &e);
    for (size_t i = 0; i < n; i++)
        wrong += data[i] != share(0, i) + share(1, i);
    memset(data, 0, n * sizeof *data);
    return wrong;
}

/* The sum over both ranks of one small number. */
static double both(struct ring *ring, double x)
{
    struct err e = {0};
    struct call call = {0};
    float f = (float)x;
    require(ring_allreduce(ring, &f, 1, &call, &e), &e);
    return f;
}

static void measure(struct ring *ring, float *data, size_t bytes, const struct options *o, double *took_s)
{
    size_t n = bytes / sizeof *data;
    struct err e = {0};
    struct call call = {0};
    double wrong = both(ring, (double)count_wrong(ring, data, n));
    uint64_t from = clock_now_ns();
    require(ring_allreduce(ring, data, n, &call, &e), &e);
    /* both ranks must make the same number of calls */
    double each_s = both(ring, clock_seconds(from, clock_now_ns())) / 2;
    int calls = o->time_s / each_s > CALLS_MAX ? CALLS_MAX : o->time_s / each_s < 5 ? 5 : (int)(o->time_s / each_s);
    require(ring_barrier(ring, &call, &e), &e);
    double cpu = cpu_seconds(), sum_s = 0, check_s = 0, move_s = 0, wait_s = 0, seal_s = 0;
    for (int k = 0; k < calls; k++) {
        from = clock_now_ns();
        require(ring_allreduce(ring, data, n, &call, &e), &e);
        took_s[k] = clock_seconds(from, clock_now_ns());
        sum_s += (double)call.sum_ns * 1e-9;
        check_s += (double)call.check_ns * 1e-9;
        move_s += (double)call.move_ns * 1e-9;
        wait_s += (double)call.wait_ns * 1e-9;
        seal_s += (double)call.seal_ns * 1e-9;
    }
    cpu = both(ring, cpu_seconds() - cpu);
    if (ring->rank != 0)
        return;
    double median = stats_median(took_s, (size_t)calls), gb = (double)bytes * 1e-9 * calls;
    double all_s = wait_s + move_s + sum_s + check_s + seal_s;
    printf("%11zu %7d %12.1f %10.1f %12.1f %9.1f %9.1f %10.3f %6.1f %6.1f %6.1f %6.1f %6.1f %6.0f\n", bytes, calls,
           median * 1e6, stats_quantile_sorted(took_s, (size_t)calls, 0.05) * 1e6, took_s[calls - 1] * 1e6,
           (double)bytes / median * 1e-6, (double)bytes / median * 1e-6, cpu / gb, wait_s / all_s * 100,
           move_s / all_s * 100, sum_s / all_s * 100, check_s / all_s * 100, seal_s / all_s * 100, wrong);
    fflush(stdout);
}

static void run(int rank, int fd, const struct options *o)
{
    struct ring ring;
    struct err e = {0};
    struct ring_options options = {
        .rank = rank,
        .world = 2,
        .next_fd = fd,
        .prev_fd = fd,
        .next_name = "the other rank",
        .prev_name = "the other rank",
        .timeout_ns = 30000000000u,
        .stop_fd = -1,
        .segment_bytes = o->segment_bytes,
        .direct_bytes = o->direct_bytes,
    };
    static const unsigned char key[CRYPTO_KEY_BYTES] = {1};
    if (o->sealed)
        options.next_key = options.prev_key = key;
    if (o->pin) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(rank, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    require(ring_init(&ring, &options, &e), &e);
    size_t most = 4;
    for (int i = 0; i < o->n_sizes; i++)
        most = o->sizes[i] > most ? o->sizes[i] : most;
    float *data = aligned_alloc(64, (most + 63) / 64 * 64);
    double *took_s = malloc(CALLS_MAX * sizeof *took_s);
    if (!data || !took_s)
        die("memory");
    if (rank == 0)
        printf("%11s %7s %12s %10s %12s %9s %9s %10s %6s %6s %6s %6s %6s %6s\n", "bytes", "calls", "median us", "p5 us",
               "max us", "alg MB/s", "bus MB/s", "CPU-s/GB", "wait%", "move%", "sum%", "crc%", "seal%", "wrong");
    for (int i = 0; i < o->n_sizes; i++)
        measure(&ring, data, o->sizes[i], o, took_s);
    free(data);
    free(took_s);
    ring_fini(&ring);
}

static int open_server(int port, struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    socklen_t size = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address->sin_addr.s_addr = htonl(port ? INADDR_ANY : INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, size) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)address, &size))
        die("listen");
    return fd;
}

static int accept_one(int server)
{
    int fd = accept(server, NULL, NULL);
    if (fd < 0)
        die("accept");
    close(server);
    return fd;
}

/* The other side may be a moment late. */
static int connect_to(const struct sockaddr_in *address)
{
    for (int tries = 0;; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            return fd;
        if (tries == 50)
            die("connect");
        close(fd);
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
}

static void parse_sizes(struct options *o, char *list)
{
    o->n_sizes = 0;
    for (char *word = strtok(list, ","); word && o->n_sizes < SIZES_MAX; word = strtok(NULL, ","))
        o->sizes[o->n_sizes++] = strtoull(word, NULL, 10) / sizeof(float) * sizeof(float);
}

static void parse(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) {
            fprintf(stderr, "bench_ring: %s: expected option=value; see the head of tools/bench_ring.c\n", argv[i]);
            exit(64);
        }
        *value++ = '\0';
        if (!strcmp(argv[i], "listen"))
            o->listen_port = atoi(value);
        else if (!strcmp(argv[i], "connect"))
            o->connect_to = value;
        else if (!strcmp(argv[i], "segment"))
            o->segment_bytes = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "direct"))
            o->direct_bytes = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "time"))
            o->time_s = atof(value);
        else if (!strcmp(argv[i], "pin"))
            o->pin = atoi(value);
        else if (!strcmp(argv[i], "sealed"))
            o->sealed = atoi(value);
        else if (!strcmp(argv[i], "sizes"))
            parse_sizes(o, value);
        else {
            fprintf(stderr, "bench_ring: no option %s\n", argv[i]);
            exit(64);
        }
    }
}

static void run_both(struct options *o)
{
    struct sockaddr_in address;
    int server = open_server(0, &address), status = 0;
    o->pin = o->pin != 0;
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        close(server);
        run(1, connect_to(&address), o);
        exit(0);
    }
    run(0, accept_one(server), o);
    waitpid(child, &status, 0);
    exit(status != 0);
}

int main(int argc, char **argv)
{
    struct options o = {
        .direct_bytes = RING_DIRECT_BYTES,
        .time_s = 1,
        .pin = -1,
        .sizes = {4, 4096, 16384, 65536, 262144, 1048576, 4194304, 26214400, 124000000},
        .n_sizes = 9,
    };
    struct sockaddr_in address;
    parse(&o, argc, argv);
    if (!o.listen_port && !o.connect_to)
        run_both(&o);
    o.pin = o.pin == 1;
    if (o.listen_port) {
        run(0, accept_one(open_server(o.listen_port, &address)), &o);
        return 0;
    }
    char *colon = strrchr(o.connect_to, ':');
    if (!colon)
        return 64;
    *colon++ = '\0';
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon))};
    if (inet_pton(AF_INET, o.connect_to, &address.sin_addr) != 1)
        return 64;
    run(1, connect_to(&address), &o);
    return 0;
}
