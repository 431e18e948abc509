/*
 * tests/check_backends.c - the table of back-ends, what is said when one is missing, and gloo beside a ring: sums that are
 * exact in single precision, so that every rank must have precisely them, whatever the order of additions. MPI needs its
 * launcher: tests/mpi.sh.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/backend_module.h"
#include "tests/ring_kit.h"

#define FAR_NS 20000000000u

/* The tests are built in a folder beside the program and its modules. */
static void look_beside_the_program(void)
{
    static char folder[4096];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    ck_assert_int_gt(n, 0);
    folder[n] = '\0';
    *strrchr(folder, '/') = '\0';
    *strrchr(folder, '/') = '\0';
    backend_look_in(folder);
}

START_TEST(the_table_says_what_there_is)
{
    struct err e = {0};
    static const char *const names[] = {"tcp", "gloo", "mpi", "null"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(backends[i].name, names[i]);
        ck_assert_ptr_eq(backend_find(names[i]), &backends[i]);
    }
    ck_assert_ptr_null(backends[4].name);
    ck_assert_ptr_null(backend_find("nccl"));
    ck_assert_ptr_null(backend_find(""));
    ck_assert_int_eq(backend_check(backend_find("tcp"), &e), 0);
    ck_assert_int_eq(backend_check(backend_find("null"), &e), 0);
}
END_TEST

START_TEST(a_missing_module_is_told_with_what_brings_it)
{
    struct err e = {0};
    const struct backend_module *module;
    struct backend unbuilt = *backend_find("gloo"), built = unbuilt;
    unbuilt.built = false;
    built.built = true;
    backend_look_in("/nowhere");
    ck_assert_int_eq(backend_check(&unbuilt, &e), -1);
    ck_assert_int_eq(e.code, ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(e.text, "libgloo-dev"));
    ck_assert_ptr_nonnull(strstr(e.text, "--with-gloo"));
    ck_assert_int_eq(backend_check(&built, &e), -1);
    ck_assert_int_eq(e.code, ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(e.text, "/nowhere"));
    ck_assert_int_eq(backend_load(&built, &module, &e), -1);
    ck_assert_int_eq(e.code, ERR_CONFIG);
}
END_TEST

START_TEST(what_is_no_module_is_refused)
{
    struct err e = {0};
    const struct backend_module *module;
    struct backend built = *backend_find("gloo");
    char folder[] = "/tmp/ddpbench-backends.XXXXXX", path[64];
    built.built = true;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/ddpbench-gloo.so", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("not a library\n", f);
    fclose(f);
    backend_look_in(folder);
    ck_assert_int_eq(backend_check(&built, &e), 0);
    ck_assert_int_eq(backend_load(&built, &module, &e), -1);
    ck_assert_int_eq(e.code, ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(e.text, "does not load"));
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(some_are_not_opened_beside_a_ring)
{
    struct err e = {0};
    struct transport ring = {.rank = 1, .world = 3}, t;
    ck_assert_int_eq(backend_open(&t, backend_find("null"), &ring, -1, &e), 0);
    ck_assert_str_eq(t.ops->name, "null");
    ck_assert_int_eq(t.rank, 1);
    ck_assert_int_eq(t.world, 3);
    transport_set_timeout(&t, 1);
    transport_close(&t);
    ck_assert_int_eq(backend_open(&t, backend_find("tcp"), &ring, -1, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
    ck_assert_int_eq(backend_open(&t, backend_find("mpi"), &ring, -1, &e), -1);
    ck_assert_int_eq(e.code, ERR_USAGE);
}
END_TEST

#ifdef HAVE_GLOO

struct pair { /* each rank's transports */
    struct transport ring, gloo;
    struct err e;
    int stop_fd;
};

struct team {
    int world;
    struct pair rank[KIT_RANKS_MAX];
};

static void open_one(int rank, void *ctx)
{
    struct pair *p = &((struct team *)ctx)->rank[rank];
    ck_assert_msg(backend_open(&p->gloo, backend_find("gloo"), &p->ring, p->stop_fd, &p->e) == 0, "%s", p->e.text);
    transport_set_timeout(&p->gloo, FAR_NS);
}

static void open_team(struct team *team, int world, enum kit_link link)
{
    struct kit_options plain = {.link = link};
    int next[KIT_RANKS_MAX], prev[KIT_RANKS_MAX];
    team->world = world;
    look_beside_the_program();
    for (int r = 0; r < world; r++) {
        int fds[2];
        kit_connect(link, 0, fds);
        next[r] = fds[0];
        prev[(r + 1) % world] = fds[1];
    }
    for (int r = 0; r < world; r++) {
        struct ring_options o = kit_ring_options(r, world, next[r], prev[r], &plain);
        team->rank[r] = (struct pair){.stop_fd = -1};
        ck_assert_int_eq(transport_open_tcp(&team->rank[r].ring, &o, &team->rank[r].e), 0);
    }
}

static void close_team(struct team *team)
{
    for (int r = 0; r < team->world; r++) {
        transport_close(&team->rank[r].gloo);
        transport_close(&team->rank[r].ring);
    }
}

/* Whole numbers below 2^24 add up exactly in single precision. */
static float share(int rank, size_t i)
{
    return (float)((i * 31 + (size_t)rank * 7) % 4001) - 2000;
}

static const size_t counts[] = {0, 1, 2, 3, 4, 5, 1000003};

static void sum_all(int rank, void *ctx)
{
    struct team *team = ctx;
    struct pair *p = &team->rank[rank];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t n = counts[c], wrong = 0;
        float *x = malloc((n + 1) * sizeof *x);
        struct call call = {.step = 4, .bucket = (uint32_t)c, .sent_bytes = 99, .wait_ns = 99};
        uint64_t before = clock_now_ns();
        ck_assert_ptr_nonnull(x);
        for (size_t i = 0; i < n; i++)
            x[i] = share(rank, i);
        x[n] = 0.25f;
        ck_assert_msg(transport_allreduce(&p->gloo, x, n, &call, &p->e) == 0, "%s", p->e.text);
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (int r = 0; r < team->world; r++)
                sum += share(r, i);
            wrong += x[i] != sum;
        }
        ck_assert_uint_eq(wrong, 0);
        ck_assert_float_eq(x[n], 0.25f);
        ck_assert(call.opaque);
        ck_assert(call.start_ns >= before && call.end_ns >= call.start_ns && call.end_ns <= clock_now_ns());
        ck_assert_uint_eq(call.step, 4);
        ck_assert_uint_eq(call.bucket, c);
        ck_assert_uint_eq(call.sent_bytes + call.received_bytes + call.wait_ns + call.first_byte_ns, 0);
        free(x);
    }
}

START_TEST(gloo_sums_are_exact)
{
    struct team team;
    open_team(&team, _i, KIT_TCP);
    kit_each_rank(team.world, open_one, &team);
    kit_each_rank(team.world, sum_all, &team);
    close_team(&team);
}
END_TEST

static void share_data(int rank, void *ctx)
{
    struct team *team = ctx;
    struct pair *p = &team->rank[rank];
    for (int root = 0; root < team->world; root++) {
        char data[1001];
        struct call call = {0};
        memset(data, 'a' + rank, sizeof data);
        ck_assert_int_eq(transport_broadcast(&p->gloo, data, sizeof data, root, &call, &p->e), 0);
        for (size_t i = 0; i < sizeof data; i++)
            ck_assert_int_eq(data[i], 'a' + root);
        ck_assert_int_eq(transport_broadcast(&p->gloo, data, 0, root, &call, &p->e), 0);
    }
    struct call call = {0};
    ck_assert_int_eq(transport_broadcast(&p->gloo, NULL, 0, team->world, &call, &p->e), -1);
    ck_assert_int_eq(p->e.code, ERR_USAGE);
    ck_assert_int_eq(transport_barrier(&p->gloo, &call, &p->e), 0);
}

START_TEST(gloo_shares_data)
{
    struct team team;
    open_team(&team, 3, KIT_TCP);
    kit_each_rank(team.world, open_one, &team);
    kit_each_rank(team.world, share_data, &team);
    close_team(&team);
}
END_TEST

/* The last rank leaves before the others call; they hear of it at once, with the step, and every later call says the same. */
static void lose_one(int rank, void *ctx)
{
    struct team *team = ctx;
    struct pair *p = &team->rank[rank];
    float x[100] = {0};
    struct call call = {.step = 7, .bucket = 2};
    if (rank == team->world - 1) {
        transport_close(&p->gloo);
        return;
    }
    uint64_t before = clock_now_ns();
    int failed = 0;
    for (int i = 0; i < 100 && !failed; i++)
        failed = transport_allreduce(&p->gloo, x, 100, &call, &p->e);
    ck_assert_int_eq(failed, -1);
    ck_assert_int_eq(p->e.code, ERR_PEER_LOST);
    ck_assert_msg(strstr(p->e.text, "step 7, bucket 2"), "%s", p->e.text);
    ck_assert_ptr_null(strstr(p->e.text, ".cc:"));
    ck_assert(clock_seconds(before, clock_now_ns()) < 10);
    p->e = (struct err){0};
    ck_assert_int_eq(transport_barrier(&p->gloo, &call, &p->e), -1);
    ck_assert_int_eq(p->e.code, ERR_PEER_LOST);
}

START_TEST(a_lost_rank_is_told_with_the_step)
{
    struct team team;
    open_team(&team, 2, KIT_TCP);
    kit_each_rank(team.world, open_one, &team);
    kit_each_rank(team.world, lose_one, &team);
    close_team(&team);
}
END_TEST

static void wait_in_vain(int rank, void *ctx)
{
    struct team *team = ctx;
    struct pair *p = &team->rank[rank];
    float x = 1;
    struct call call = {.step = 3};
    if (rank > 0)
        return;
    transport_set_timeout(&p->gloo, 200000000);
    uint64_t before = clock_now_ns();
    ck_assert_int_eq(transport_allreduce(&p->gloo, &x, 1, &call, &p->e), -1);
    double took_s = clock_seconds(before, clock_now_ns());
    ck_assert_int_eq(p->e.code, ERR_PEER_LOST);
    ck_assert_msg(took_s >= 0.19 && took_s < 15, "%f s", took_s);
}

START_TEST(silence_has_a_limit)
{
    struct team team;
    open_team(&team, 2, KIT_TCP);
    kit_each_rank(team.world, open_one, &team);
    kit_each_rank(team.world, wait_in_vain, &team);
    close_team(&team);
}
END_TEST

static void wait_until_stopped(int rank, void *ctx)
{
    struct team *team = ctx;
    struct pair *p = &team->rank[rank];
    float x = 1;
    struct call call = {.step = 3};
    if (rank > 0) {
        uint64_t one = 1;
        usleep(100000);
        ck_assert_int_eq(write(team->rank[0].stop_fd, &one, sizeof one), sizeof one);
        return;
    }
    uint64_t before = clock_now_ns();
    ck_assert_int_eq(transport_allreduce(&p->gloo, &x, 1, &call, &p->e), -1);
    ck_assert_msg(p->e.code == ERR_INTERRUPTED, "%s", p->e.text);
    ck_assert(clock_seconds(before, clock_now_ns()) < 10);
}

START_TEST(a_wait_can_be_stopped)
{
    struct team team;
    open_team(&team, 2, KIT_TCP);
    team.rank[0].stop_fd = eventfd(0, 0);
    ck_assert_int_ge(team.rank[0].stop_fd, 0);
    kit_each_rank(team.world, open_one, &team);
    kit_each_rank(team.world, wait_until_stopped, &team);
    close_team(&team);
    close(team.rank[0].stop_fd);
}
END_TEST

/* gloo needs an address. */
START_TEST(other_sockets_are_refused)
{
    struct team team;
    struct pair *p = &team.rank[0];
    open_team(&team, 2, KIT_UNIX);
    ck_assert_int_eq(backend_open(&p->gloo, backend_find("gloo"), &p->ring, -1, &p->e), -1);
    ck_assert_int_eq(p->e.code, ERR_CONFIG);
    transport_close(&p->gloo);
    team.world = 2;
    close_team(&team);
}
END_TEST

#endif

static Suite *suite(void)
{
    Suite *s = suite_create("backends");
    TCase *table = tcase_create("table");
    tcase_add_test(table, the_table_says_what_there_is);
    tcase_add_test(table, a_missing_module_is_told_with_what_brings_it);
    tcase_add_test(table, what_is_no_module_is_refused);
    tcase_add_test(table, some_are_not_opened_beside_a_ring);
    suite_add_tcase(s, table);
#ifdef HAVE_GLOO
    TCase *gloo = tcase_create("gloo");
    tcase_set_timeout(gloo, 60);
    tcase_add_loop_test(gloo, gloo_sums_are_exact, 2, 4);
    tcase_add_test(gloo, gloo_shares_data);
    tcase_add_test(gloo, a_lost_rank_is_told_with_the_step);
    tcase_add_test(gloo, silence_has_a_limit);
    tcase_add_test(gloo, a_wait_can_be_stopped);
    tcase_add_test(gloo, other_sockets_are_refused);
    suite_add_tcase(s, gloo);
#endif
    return s;
}

int main(void)
{
    SRunner *r = srunner_create(suite());
    srunner_set_tap(r, "-");
    srunner_run_all(r, CK_SILENT);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
