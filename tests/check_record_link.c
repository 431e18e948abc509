/* The document of a link's measurement: numbers worked out by hand from a few trials, and what is missing is null with a reason. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record_link.h"
#include "report/table_link.h"
#include "tests/tree.h"

static struct link_trial trials[16];
static double times[8][8];
static struct link_way ways[2];
static struct record_link record;
static struct err ended;
static struct notes notes;
static char word[] = "ddpbench";
static char *argv[] = {word};

static void set_up(void)
{
    memset(trials, 0, sizeof trials);
    memset(ways, 0, sizeof ways);
    ended = (struct err){0};
    notes = (struct notes){0};
    ways[0].survey.trial = trials;
    record = (struct record_link){.err = &ended,
                                  .started = "2026-11-30T17:31:21Z",
                                  .argc = 1,
                                  .argv = argv,
                                  .peer = "laptopb",
                                  .peer_address = "10.77.0.2",
                                  .local_addr = "10.77.0.1",
                                  .ways = 1,
                                  .way = ways,
                                  .work = true,
                                  .notes = &notes};
}

static struct link_trial *add(enum link_phase phase, enum link_kind kind, enum link_mode mode)
{
    struct link_trial *t = &trials[ways[0].survey.n++];
    t->phase = phase;
    t->order.kind = kind;
    t->order.mode = mode;
    return t;
}

static json_t *at(json_t *d, const char *path)
{
    char copy[200];
    strcpy(copy, path);
    for (char *key = strtok(copy, "."); key && d; key = strtok(NULL, "."))
        d = json_is_array(d) ? json_array_get(d, strtoul(key, NULL, 10)) : json_object_get(d, key);
    return d;
}

static void is(json_t *d, const char *path, double right)
{
    const json_t *value = at(d, path);
    ck_assert_msg(json_is_number(value), "%s is no number", path);
    ck_assert_msg(fabs(json_number_value(value) - right) <= 1e-12 * fabs(right), "%s is %.17g, not %.17g", path,
                  json_number_value(value), right);
}

static void is_unknown(json_t *d, const char *path, const char *reason)
{
    const char *why = json_string_value(json_object_get(json_object_get(d, "reasons"), path));
    ck_assert_msg(json_is_null(at(d, path)), "%s is not null", path);
    ck_assert_msg(why && strstr(why, reason), "%s: %s", path, why ? why : "no reason");
}

/* Directions under keys of their own; the ring's rate is the slower of both at once; CPU time over sent or received bytes. */
START_TEST(streams)
{
    struct link_trial *t = add(LINK_PHASE_STREAM, LINK_STREAM, LINK_A_TO_B);
    t->end[0] = (struct link_result){.sent_bytes = 2000000000, .cpu_window_s = 2, .cpu_s = 0.5, .process_cpu_s = 1};
    t->end[1] = (struct link_result){.window_bytes = 23850000,
                                     .received_bytes = 23850000,
                                     .window_s = 2,
                                     .cpu_window_s = 2,
                                     .cpu_s = 0.02385,
                                     .process_cpu_s = 0.0477};
    t = add(LINK_PHASE_STREAM, LINK_STREAM, LINK_B_TO_A);
    t->end[0] = (struct link_result){.window_bytes = 11925000, .received_bytes = 11925000, .window_s = 2};
    t = add(LINK_PHASE_STREAM, LINK_STREAM, LINK_DUPLEX);
    t->end[0] = (struct link_result){.window_bytes = 5000000, .window_s = 1};
    t->end[1] = (struct link_result){.window_bytes = 10000000, .window_s = 1};
    json_t *d = record_link_json(&record);
    is(d, "link.streams.a_to_b.rate_bytes_per_s.median", 11.925e6);
    is(d, "link.streams.b_to_a.rate_bytes_per_s.median", 5.9625e6);
    is(d, "link.streams.duplex.a_to_b_rate_bytes_per_s.median", 10e6);
    is(d, "link.streams.duplex.b_to_a_rate_bytes_per_s.median", 5e6);
    is(d, "link.rate_bytes_per_s", 5e6);
    is(d, "link.streams.a_to_b.a_cpu_s_per_gb.median", 0.25);
    is(d, "link.streams.a_to_b.a_process_cpu_s_per_gb.median", 0.5);
    is(d, "link.streams.a_to_b.b_cpu_s_per_gb.median", 1);
    is_unknown(d, "link.streams.b_to_a.a_cpu_s_per_gb", "not measured");
    is_unknown(d, "link.rtt_s", "not measured");
    is_unknown(d, "link.allreduce", "not asked for");
    is_unknown(d, "link.ends.a", "not measured");
    json_decref(d);
}
END_TEST

/* Quantiles between ranks, linear: of 1, 2, 3, 4, 5 the 90th percentile is 4.6. */
START_TEST(latency_and_messages)
{
    struct link_trial *t = add(LINK_PHASE_LATENCY, LINK_PING, LINK_A_TO_B);
    for (int i = 0; i < 5; i++)
        times[0][i] = 5 - i;
    t->end[0] = (struct link_result){.n = 5, .time_s = times[0]};
    t = add(LINK_PHASE_MESSAGES, LINK_MESSAGES, LINK_A_TO_B);
    t->order.bytes = 4096;
    times[1][0] = 0.5;
    times[1][1] = 0.25;
    times[1][2] = 1;
    t->end[1] = (struct link_result){.n = 3, .time_s = times[1]};
    ways[0].survey.largest_bytes = 16384;
    json_t *d = record_link_json(&record);
    is(d, "link.rtt_s", 3);
    is(d, "link.latency.idle.min", 1);
    is(d, "link.latency.idle.p50", 3);
    is(d, "link.latency.idle.p90", 4.6);
    is(d, "link.latency.idle.max", 5);
    is(d, "link.latency.idle.n", 5);
    ck_assert_uint_eq(json_array_size(at(d, "link.messages")), 2);
    is(d, "link.messages.0.a_to_b.time_s.median", 0.5);
    is(d, "link.messages.0.a_to_b.rate_bytes_per_s", 8192);
    ck_assert(json_is_null(at(d, "link.messages.0.b_to_a.rate_bytes_per_s")));
    is(d, "link.largest_message_bytes", 16384);
    is_unknown(d, "link.latency.loaded.duplex", "not measured");
    json_decref(d);
}
END_TEST

static void work(double load, int round, bool reserved, double a_unit_s, double b_unit_s)
{
    struct link_trial *t = add(LINK_PHASE_WORK, LINK_STREAM, load > 0 ? LINK_DUPLEX : LINK_IDLE);
    t->load = load;
    t->round = round;
    t->reserved = reserved;
    strcpy(t->order.work, "gemm");
    t->end[0] = (struct link_result){.units = 10, .units_s = 10 * a_unit_s};
    t->end[1] = (struct link_result){.units = b_unit_s > 0 ? 4 : 0, .units_s = 4 * b_unit_s};
}

/* Each against the idle one of its own round: 3 / 2 and 2.5 / 1. */
START_TEST(slowdowns)
{
    ways[0].first[0].threads = 1;
    ways[0].first[1].threads = 4;
    work(0, 0, false, 2, 1);
    work(1, 0, false, 3, 0);
    work(1, 1, false, 2.5, 0);
    work(0, 1, false, 1, 1);
    work(0, 1, true, 1, 1);
    json_t *d = record_link_json(&record);
    ck_assert_uint_eq(json_array_size(at(d, "link.interaction")), 3);
    is(d, "link.interaction.1.load", 1);
    is(d, "link.interaction.1.a.slowdown.median", 2);
    is(d, "link.interaction.1.a.slowdown.mad", 0.5);
    is(d, "link.interaction.1.a.slowdown.n", 2);
    is(d, "link.interaction.0.a.slowdown.median", 1);
    ck_assert(json_is_null(at(d, "link.interaction.1.b.slowdown")));
    const json_t *reasons = json_object_get(d, "reasons");
    ck_assert_ptr_nonnull(json_object_get(reasons, "link.interaction[1].b.slowdown"));
    const char *why = json_string_value(json_object_get(reasons, "link.interaction[2].a.slowdown"));
    ck_assert(why && strstr(why, "none can be reserved"));
    is(d, "link.interaction.2.b.slowdown.median", 1);
    json_decref(d);
}
END_TEST

/* GPT-2's gradients in 4.2295 s at two ranks: both bandwidths are 117.7 MB/s. */
START_TEST(allreduce)
{
    struct link_trial *t = add(LINK_PHASE_REDUCE, LINK_REDUCE, LINK_DUPLEX);
    strcpy(t->order.work, "tcp");
    t->order.bytes = 497759232;
    times[0][0] = 4.2295;
    t->end[0] =
        (struct link_result){.n = 1, .time_s = times[0], .sent_bytes = 497759232, .cpu_s = 0.497759232, .wrong = 2};
    t->end[1] = (struct link_result){.wrong = 3};
    record.allreduce = true;
    json_t *d = record_link_json(&record);
    ck_assert(fabs(json_number_value(at(d, "link.allreduce.0.algorithm_bytes_per_s")) - 117.7e6) < 0.02e6);
    is(d, "link.allreduce.0.bus_bytes_per_s", json_number_value(at(d, "link.allreduce.0.algorithm_bytes_per_s")));
    is(d, "link.allreduce.0.a_cpu_s_per_gb", 1);
    is(d, "link.allreduce.0.wrong", 5);
    is_unknown(d, "link.rate_bytes_per_s", "not measured"); /* there are no streams here */
    is_unknown(d, "link.largest_message_bytes", "not asked for");
    /* columns stay apart, also with a call of seconds: 4.2295 s five times, the rate twice */
    char *table = table_link_render(d, &(struct table_style){.colour = false});
    ck_assert_ptr_nonnull(table);
    const char *row = strstr(table, " 4229500 ");
    ck_assert_msg(row && strstr(row, "   117.69   117.69  4229500  4229500   4229500 ") != NULL, "%s", table);
    free(table);
    json_decref(d);
}
END_TEST

static void beside(enum link_beside kind, int round, const char *work, const char *also, double time_s, double unit_s)
{
    struct link_trial *t = add(LINK_PHASE_BESIDE, LINK_REDUCE, LINK_DUPLEX);
    int i = ways[0].survey.n - 1;
    t->beside = kind;
    t->round = round;
    t->order.bytes = 1048576;
    strcpy(t->order.work, work);
    strcpy(t->order.beside, also);
    times[i][0] = time_s;
    t->end[0] =
        (struct link_result){.n = time_s > 0, .time_s = times[i], .units = unit_s > 0 ? 10 : 0, .units_s = 10 * unit_s};
    t->end[1] = (struct link_result){.units = unit_s > 0 ? 10 : 0, .units_s = 20 * unit_s};
}

/* Work alone takes 2, beside all-reduce 3: 1.5 times as long, at both ends. The other back-end's work alone, 1, is its own. */
START_TEST(contention)
{
    beside(LINK_BESIDE_WORK, 0, "gemm", "tcp", 0, 2);
    beside(LINK_BESIDE_WORK, 0, "gemm", "gloo", 0, 1);
    beside(LINK_BESIDE_SMALL, 0, "tcp", "", 0.25, 0);
    beside(LINK_BESIDE_LARGE, 0, "tcp", "", 4, 0);
    beside(LINK_BESIDE_LARGE_BUSY, 0, "tcp", "gemm", 5, 3);
    record.work = true;
    json_t *d = record_link_json(&record);
    ck_assert_uint_eq(json_array_size(at(d, "link.contention")), 1);
    ck_assert_str_eq(json_string_value(at(d, "link.contention.0.backend")), "tcp");
    is(d, "link.contention.0.bytes", 1048576);
    is(d, "link.contention.0.small_alone_s.median", 0.25);
    is(d, "link.contention.0.alone_s.median", 4);
    is(d, "link.contention.0.beside_s.median", 5);
    ck_assert(json_is_null(at(d, "link.contention.0.small_beside_s")));
    is(d, "link.contention.0.a_slowdown.median", 1.5);
    is(d, "link.contention.0.b_slowdown.median", 1.5);
    struct table_style style = {.colour = false};
    char *table = table_link_render(d, &style);
    ck_assert(strstr(table, "1.500"));
    free(table);
    json_decref(d);
}
END_TEST

static void put_rates(struct link_survey *s, const double *rates, int n)
{
    s->trial = calloc((size_t)n, sizeof *s->trial);
    s->n = n;
    for (int i = 0; i < n; i++) {
        s->trial[i].phase = LINK_PHASE_STREAM;
        s->trial[i].order.kind = LINK_STREAM;
        s->trial[i].order.mode = LINK_DUPLEX;
        for (int end = 0; end < 2; end++)
            s->trial[i].end[end] =
                (struct link_result){.window_s = 1, .window_bytes = (uint64_t)rates[i] + (uint64_t)end};
    }
}

/* Faster only if no sample overlaps. */
START_TEST(two_interfaces)
{
    static const double slow[] = {100, 110, 105}, fast[] = {200, 220, 210}, between[] = {104, 400, 420};
    record.ways = 2;
    ways[0].interface = "eth0";
    ways[1].interface = "wlan0";
    put_rates(&ways[0].survey, slow, 3);
    put_rates(&ways[1].survey, fast, 3);
    json_t *d = record_link_json(&record);
    ck_assert_str_eq(json_string_value(at(d, "comparison.faster")), "wlan0");
    is(d, "comparison.rate_ratio", 0.5);
    is(d, "comparison.samples", 3);
    ck_assert_str_eq(json_string_value(at(d, "link.interface")), "eth0");
    ck_assert_str_eq(json_string_value(at(d, "other_link.interface")), "wlan0");
    is(d, "other_link.rate_bytes_per_s", 210);
    json_decref(d);
    free(ways[1].survey.trial);
    put_rates(&ways[1].survey, between, 3);
    d = record_link_json(&record);
    is_unknown(d, "comparison.faster", "no difference seen");
    struct table_style style = {.colour = false};
    char *table = table_link_render(d, &style);
    ck_assert(strstr(table, "eth0 / wlan0"));
    ck_assert(strstr(table, "no difference seen"));
    free(table);
    json_decref(d);
    free(ways[0].survey.trial);
    free(ways[1].survey.trial);
}
END_TEST

/* Nothing was measured, or the document is none: a table all the same. */
START_TEST(nothing)
{
    struct table_style style = {.colour = true};
    ended = (struct err){ERR_PEER_LOST, "laptopb \x1b[31mis gone"};
    json_t *d = record_link_json(&record);
    ck_assert_str_eq(json_string_value(at(d, "status")), "failed");
    is(d, "error.code", 75);
    is_unknown(d, "link.rate_bytes_per_s", "not measured");
    is_unknown(d, "link.interaction", "not measured");
    is_unknown(d, "link.largest_message_bytes", "no time");
    char *table = table_link_render(d, &style);
    ck_assert(strstr(table, "?[31mis gone")); /* nothing steers the terminal */
    free(table);
    char *dump = json_dumps(d, JSON_COMPACT);
    ck_assert(!strstr(dump, "nan") && !strstr(dump, "inf"));
    free(dump);
    json_decref(d);
    d = json_pack("{s:s, s:[i]}", "link", "x", "error", 3);
    table = table_link_render(d, &style);
    ck_assert_ptr_nonnull(table);
    free(table);
    json_decref(d);
}
END_TEST

START_TEST(rates_in_words)
{
    char text[96];
    ck_assert_str_eq(table_rate(text, sizeof text, 117.6875e6), "941.5 Mbit/s (117.7 MB/s)");
    ck_assert_str_eq(table_rate(text, sizeof text, 1.25e9), "10.00 Gbit/s (1.250 GB/s)");
    ck_assert_str_eq(table_rate(text, sizeof text, NAN), "-");
}
END_TEST

/* ---- ends ---- */

START_TEST(ends_travel)
{
    struct link_end heard, end = {.threads = 6,
                                  .cpu = "A CPU",
                                  .interface = "eth0",
                                  .address = "10.0.0.1",
                                  .kind = "ethernet",
                                  .backends = "tcp gloo",
                                  .nominal_bytes_per_s = 1.25e8,
                                  .mtu_bytes = 1500,
                                  .segment_bytes = NAN,
                                  .retransmits = 7};
    struct link_end before = {.retransmits = 5};
    json_t *m = link_end_message(&end), *root = json_object();
    link_end_hear(&heard, m);
    json_decref(m);
    ck_assert_int_eq(heard.threads, 6);
    ck_assert(link_end_has(&heard, "tcp") && link_end_has(&heard, "gloo"));
    ck_assert(!link_end_has(&heard, "glo") && !link_end_has(&heard, "mpi") && !link_end_has(&heard, "cp"));
    m = link_end_json(root, "x", &heard, &before);
    ck_assert_int_eq(json_integer_value(json_object_get(m, "retransmits")), 2);
    ck_assert_int_eq(json_integer_value(json_object_get(m, "nominal_bytes_per_s")), 125000000);
    ck_assert(json_is_null(json_object_get(m, "segment_bytes")));
    ck_assert_ptr_nonnull(json_object_get(json_object_get(root, "reasons"), "x.segment_bytes"));
    ck_assert_ptr_nonnull(json_object_get(json_object_get(root, "reasons"), "x.duplex"));
    json_decref(m);
    json_decref(root);
    /* of a peer that says nonsense nothing remains */
    m = json_pack("{s:i, s:s, s:i, s:i}", "threads", -4, "interface", "a\x1b[2Jname that is far too long", "cpu", 5,
                  "mtu_bytes", -9);
    link_end_hear(&heard, m);
    ck_assert_int_eq(heard.threads, 1);
    ck_assert(!strchr(heard.interface, 0x1b));
    ck_assert_uint_lt(strlen(heard.interface), sizeof heard.interface);
    ck_assert_str_eq(heard.cpu, "");
    ck_assert(isnan(heard.mtu_bytes) && isnan(heard.retransmits));
    json_decref(m);
}
END_TEST

static struct netif read_netif(const char *name, int index)
{
    struct sysroot root;
    struct netif n;
    struct err e;
    ck_assert_int_eq(sysroot_init(&root, tree_folder(), &e), 0);
    netif_read(&n, &root, name, index);
    return n;
}

/* What the kernel says of interfaces: 1000 is a gigabit, so 125 MB/s. */
START_TEST(interfaces)
{
    tree_write("sys/class/net/eth0/ifindex", "2\n");
    tree_write("sys/class/net/eth0/type", "1\n");
    tree_write("sys/class/net/eth0/speed", "1000\n");
    tree_write("sys/class/net/eth0/duplex", "full\n");
    tree_write("sys/class/net/eth0/device/vendor", "0x8086\n");
    tree_write("sys/class/net/wlan0/ifindex", "3\n");
    tree_write("sys/class/net/wlan0/type", "1\n");
    tree_write("sys/class/net/wlan0/wireless/x", "\n");
    tree_write("sys/class/net/down0/ifindex", "4\n");
    tree_write("sys/class/net/down0/type", "1\n");
    tree_write("sys/class/net/down0/speed", "-1\n");
    tree_write("sys/class/net/down0/duplex", "unknown\n");
    tree_write("sys/class/net/lo/ifindex", "1\n");
    tree_write("sys/class/net/lo/type", "772\n");
    struct netif n = read_netif("eth0", 2);
    ck_assert_int_eq(n.kind, NETIF_ETHERNET);
    ck_assert_double_eq(n.nominal_bytes_per_s, 125e6);
    ck_assert_str_eq(n.duplex, "full");
    n = read_netif("wlan0", 3);
    ck_assert_int_eq(n.kind, NETIF_WIRELESS);
    ck_assert(isnan(n.nominal_bytes_per_s) && strstr(n.why, "wireless"));
    n = read_netif("down0", 4);
    ck_assert_int_eq(n.kind, NETIF_VIRTUAL);
    ck_assert(isnan(n.nominal_bytes_per_s) && *n.why);
    ck_assert_str_eq(n.duplex, "");
    ck_assert_int_eq(read_netif("lo", 1).kind, NETIF_LOOPBACK);
    n = read_netif("eth0", 9);
    ck_assert(isnan(n.nominal_bytes_per_s) && strstr(n.why, "namespace"));
    n = read_netif("nosuch0", 0);
    ck_assert(isnan(n.nominal_bytes_per_s) && *n.why);
    n = read_netif("", 0);
    ck_assert(*n.why);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("record_link");
    TCase *t = tcase_create("document");
    tcase_add_checked_fixture(t, set_up, NULL);
    tcase_add_test(t, streams);
    tcase_add_test(t, latency_and_messages);
    tcase_add_test(t, slowdowns);
    tcase_add_test(t, allreduce);
    tcase_add_test(t, contention);
    tcase_add_test(t, two_interfaces);
    tcase_add_test(t, nothing);
    tcase_add_test(t, rates_in_words);
    suite_add_tcase(s, t);
    t = tcase_create("ends");
    tcase_add_checked_fixture(t, tree_open, tree_close);
    tcase_add_test(t, ends_travel);
    tcase_add_test(t, interfaces);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
