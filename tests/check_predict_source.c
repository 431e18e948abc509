/*
 * tests/check_predict_source.c - from documents to profiles, plans and links: what is read, and that nothing else breaks it.
 *
 * Sizes are GPT-2's and PyTorch's; instants are put into the document and have to come out where they were put.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "cli/predict_source.h"
#include "predict/link_model.h"
#include "report/runs.h"

#define FORWARD 1.0
#define BACKWARD 2.0

static void is_about(double x, double expected, double relative)
{
    ck_assert_msg(fabs(x - expected) <= relative * fabs(expected) + 1e-15, "%.12g is not %.12g", x, expected);
}

static json_t *median(double x)
{
    return json_pack("{s:f}", "median", x);
}

/* A run of GPT-2 whose gradients come in reverse order of registration at even distances after the head, which takes a quarter of
 * backward; the last comes when backward ends. */
static json_t *gpt2_run(int accum)
{
    struct model_spec spec;
    struct layout *l = malloc(sizeof *l);
    struct err e = {0};
    ck_assert(model_spec_find(&spec, "gpt2-124m", &e) == 0 && layout_init(l, &spec, &e) == 0);
    json_t *d = json_pack("{s:i, s:i, s:{s:s, s:i, s:i}, s:[{s:i}], s:{s:i}}", "schema_version", 1, "world", 1, "model",
                          "name", "gpt2-124m", "accum", accum, "tokens_per_step", 1024 * accum, "nodes", "threads", 2,
                          "machine", "usable_cores", 3);
    json_t *summary = json_object(), *samples = json_array(), *gradients = json_array();
    json_object_set_new(summary, "forward_s", median(FORWARD * accum));
    json_object_set_new(summary, "backward_s", median(BACKWARD * accum));
    json_object_set_new(d, "summary", summary);
    for (int i = 0; i < 5; i++)
        json_array_append_new(samples, json_pack("{s:f, s:f, s:f, s:f}", "forward_s", FORWARD * accum, "backward_s",
                                                 BACKWARD * accum, "optimizer_s", 0.1, "loss", 3.0));
    json_object_set_new(d, "samples", samples);
    for (int i = 0; i < l->n; i++) {
        double ready = (accum - 1) * (FORWARD + BACKWARD) + FORWARD + BACKWARD * (0.3 + 0.7 * (l->n - i) / l->n);
        json_t *g = json_pack("{s:s}", "name", l->tensor[i].name);
        json_object_set_new(g, "ready_s", median(ready));
        json_array_append_new(gradients, g);
    }
    json_object_set_new(d, "gradients", gradients);
    json_t *head = json_pack("{s:s}", "name", "head"), *layers = json_array();
    json_object_set_new(head, "backward_s", median(BACKWARD * accum / 4));
    json_array_append_new(layers, head);
    json_object_set_new(d, "layers", layers);
    free(l);
    return d;
}

static struct predict_source *source_of(json_t *d, enum reduce_schedule schedule, double bucket_mib)
{
    struct predict_source *s = malloc(sizeof *s);
    struct err e = {0};
    ck_assert_msg(predict_source_run(s, d, "run.json", schedule, bucket_mib, false, &e) == 0, "%s", e.text);
    json_decref(d);
    return s;
}

static void drop(struct predict_source *s)
{
    predict_source_fini(s);
    free(s);
}

/* 13 buckets, the first of 9,446,400 B, the last of 176,446,464 B with the tied embedding, complete when backward ends; the
 * first holds the last six tensors of 148: the final norm's two, the last block's down and up with their biases
 * (9,446,400 B are down with its bias and the norm), so it is complete with the fourth from the end. */
START_TEST(the_plan_is_pytorch_s)
{
    for (int accum = 1; accum <= 4; accum += 3) {
        struct predict_source *s = source_of(gpt2_run(accum), SCHEDULE_DDP, 0);
        ck_assert_int_eq(s->plan.n, 13);
        ck_assert(s->plan.bucket[0].bytes == 9446400 && s->plan.bucket[1].bytes == 28351488);
        ck_assert(s->plan.bucket[12].bytes == 176446464);
        is_about(s->plan.bucket[12].ready, 1, 1e-9);
        is_about(s->plan.bucket[0].ready, 0.3 + 0.7 * 4 / 148.0, 1e-9);
        ck_assert(plan_bytes(&s->plan, 2048) == 497759232);
        ck_assert_int_eq(s->profile.n, 5);
        ck_assert(s->profile.tokens == 1024.0 * accum && s->profile.accum == accum);
        ck_assert_int_eq(s->profile.free_cores, 1);
        drop(s);
    }
}
END_TEST

/* The head's 154,389,504 B first, in P parts. The head takes a quarter of backward and makes them in the first half of it, so
 * they are complete at P-ths of an eighth, an eighth before the final norm is done. The rows at the end: at most one per token,
 * 3072 B each; and the ids, 4 B each. */
START_TEST(split_sends_the_head_first)
{
    struct predict_source *s = source_of(gpt2_run(1), SCHEDULE_SPLIT, 0);
    const struct plan_bucket *last = &s->plan.bucket[s->plan.n - 1];
    double sum = 0, norm = 0.3 + 0.7 * 2 / 148.0;
    int parts = 0;
    while (sum < 154389504)
        sum += s->plan.bucket[parts++].bytes;
    ck_assert(sum == 154389504 && parts > 1);
    for (int part = 0; part < parts; part++)
        is_about(s->plan.bucket[part].ready, norm - 0.125 - 0.125 * (parts - 1 - part) / parts, 1e-9);
    ck_assert(plan_bucket_bytes(last, 2048) == 2048 * 3072);
    ck_assert(plan_bucket_bytes(last, 1e9) == 154389504);
    ck_assert(s->plan.blocking_bytes_per_token == 4);
    ck_assert(plan_bytes(&s->plan, 2048) == 497759232 + 2048 * (3072 + 4));
    drop(s);
}
END_TEST

/* Whatever is missing or of another kind is ERR_DATA or does not matter; never a crash, never a profile without steps. */
static void damage(json_t *o, struct rng *rng)
{
    if (json_is_object(o) && json_object_size(o)) {
        size_t pick = rng_below(rng, json_object_size(o)), i = 0;
        const char *key;
        json_t *value;
        json_object_foreach(o, key, value) if (i++ == pick)
        {
            if (rng_below(rng, 3) && (json_is_object(value) || json_is_array(value))) {
                damage(value, rng);
                return;
            }
            static const char *const texts[] = {"null", "-1", "0", "1e300", "\"x\"", "[]", "{}", "true"};
            json_object_set_new(o, key, json_loads(texts[rng_below(rng, 8)], JSON_DECODE_ANY, NULL));
            return;
        }
    } else if (json_is_array(o) && json_array_size(o)) {
        damage(json_array_get(o, rng_below(rng, json_array_size(o))), rng);
    }
}

START_TEST(damaged_documents)
{
    struct rng rng;
    rng_init(&rng, 17, 0);
    int refused = 0;
    for (int round = 0; round < 400; round++) {
        struct predict_source s;
        struct err e = {0};
        json_t *d = gpt2_run(1);
        for (int k = 0; k < 1 + round % 4; k++)
            damage(d, &rng);
        if (predict_source_run(&s, d, "run.json", SCHEDULE_DDP, 0, false, &e)) {
            ck_assert(e.code == ERR_DATA || e.code == ERR_USAGE);
            refused++;
        } else {
            ck_assert(s.profile.n > 0 && s.profile.tokens >= 1 && s.plan.n == 13);
            for (int b = 0; b < s.plan.n; b++)
                ck_assert(s.plan.bucket[b].ready >= 0 && s.plan.bucket[b].ready <= 1);
        }
        predict_source_fini(&s);
        json_decref(d);
    }
    ck_assert(refused > 50 && refused < 400);
}
END_TEST

/* A document that was cut anywhere is refused with its name; whole it comes back. */
START_TEST(torn_documents)
{
    static const char text[] =
        "{\"schema_version\": 1, \"world\": 1, \"model\": {\"name\": \"x\", \"n\": [1, 2.5e3, null, true]}}";
    char path[] = "/tmp/ddpbench-torn.XXXXXX";
    int fd = mkstemp(path);
    ck_assert(fd >= 0);
    for (size_t n = 0; n < sizeof text; n++) {
        struct err e = {0};
        ck_assert(ftruncate(fd, 0) == 0 && pwrite(fd, text, n, 0) == (ssize_t)n);
        json_t *d = runs_read(path, &e);
        ck_assert_msg((d != NULL) == (n == sizeof text - 1), "%zu bytes", n);
        ck_assert(d || (e.code == ERR_DATA && strstr(e.text, path)));
        json_decref(d);
    }
    close(fd);
    unlink(path);
}
END_TEST

static bool list(void *ctx, const char *path, const json_t *d)
{
    char *names = ctx;
    (void)d;
    strcat(names, strrchr(path, '/') + 1);
    strcat(names, " ");
    return true;
}

/* By the date in the name, the second of one second after the first, what is no result passed over. */
START_TEST(newest_first)
{
    static const char *const files[] = {"20260101T000000Z-a.json",
                                        "20260101T000000Z-a-2.json",
                                        "20270101T000000Z-b.json",
                                        "20280101T000000Z-torn.json",
                                        ".hidden.json",
                                        "note.txt"};
    char folder[] = "/tmp/ddpbench-runs.XXXXXX", path[PATH_MAX], names[256] = "";
    struct err e = {0};
    ck_assert(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        FILE *f = fopen(path, "w");
        ck_assert(f && fputs(strstr(files[i], "torn") ? "{" : "{\"schema_version\": 1}", f) >= 0 && fclose(f) == 0);
    }
    ck_assert(runs_each(folder, list, names, &e) == 0);
    ck_assert_str_eq(names, "20270101T000000Z-b.json 20260101T000000Z-a-2.json 20260101T000000Z-a.json ");
    ck_assert(runs_find(path, sizeof path, folder, "20270101T000000Z-b", &e) == 0);
    ck_assert(runs_find(path, sizeof path, folder, "20290101T000000Z-b", &e) == -1 && e.code == ERR_NO_INPUT);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    names[0] = '\0';
    ck_assert(runs_each(folder, list, names, &e) == 0 && !*names); /* not there: none */
}
END_TEST

/* ---- links ---- */

/* Points on a line come back, whatever their order, and one wild one in ten does not matter. */
START_TEST(a_line_is_found)
{
    struct link_point p[60];
    struct link_model m;
    struct err e = {0};
    struct rng rng;
    rng_init(&rng, 19, 0);
    for (int i = 0; i < 60; i++) {
        p[i].bytes = 4096 << (i % 12);
        p[i].seconds = (2e-4 + p[i].bytes / 117.7e6) * (1 + 0.01 * rng_normal(&rng));
        if (i % 10 == 7)
            p[i].seconds *= 5;
    }
    ck_assert_msg(link_model_fit(&m, p, 60, 1, &e) == 0, "%s", e.text);
    is_about(link_model_rate(&m), 117.7e6, 0.01);
    is_about(m.piece[0].alpha_s, 2e-4, 0.05);
    ck_assert(m.piece[0].alpha_lo_s <= m.piece[0].alpha_s && m.piece[0].alpha_s <= m.piece[0].alpha_hi_s);
    ck_assert(m.piece[0].beta_lo <= m.piece[0].beta_s_per_byte && m.piece[0].beta_s_per_byte <= m.piece[0].beta_hi);
    ck_assert(m.rate_spread > 0 && m.rate_spread < 0.05);
}
END_TEST

/* Two regimes: up to 64 KiB at 50 MB/s, above at 100 MB/s after 1 ms. */
START_TEST(two_regimes_are_found)
{
    struct link_point p[56];
    struct link_model m;
    struct err e = {0};
    for (int i = 0; i < 56; i++) {
        double s = 4096 << (i % 14);
        p[i] = (struct link_point){s, s <= 65536 ? 1e-4 + s / 50e6 : 1e-3 + s / 100e6};
    }
    ck_assert(link_model_fit(&m, p, 56, 1, &e) == 0);
    ck_assert_int_eq(m.n, 2);
    ck_assert(m.piece[0].upto_bytes > 65536 && m.piece[0].upto_bytes < 131072);
    is_about(m.piece[0].beta_s_per_byte, 1 / 50e6, 1e-4);
    is_about(m.piece[1].beta_s_per_byte, 1 / 100e6, 1e-4);
    is_about(m.piece[1].alpha_s, 1e-3, 1e-3);
    ck_assert(link_model_piece(&m, 4096) == &m.piece[0] && link_model_piece(&m, 1e9) == &m.piece[1]);
}
END_TEST

START_TEST(what_is_no_link_is_refused)
{
    struct link_model m;
    struct err e = {0};
    struct link_point same[4] = {{4, 1}, {4, 1}, {4, 1}, {4, 1}}, wrong[3] = {{4, 1}, {8, 0}, {16, 1}};
    ck_assert(link_model_fit(&m, same, 2, 1, &e) == -1 && e.code == ERR_DATA);
    ck_assert(link_model_fit(&m, same, 4, 1, &e) == -1 && strstr(e.text, "one size"));
    ck_assert(link_model_fit(&m, wrong, 3, 1, &e) == -1 && strstr(e.text, "transfer 2"));
    wrong[1].seconds = NAN;
    ck_assert(link_model_fit(&m, wrong, 3, 1, &e) == -1 && e.code == ERR_DATA);
}
END_TEST

/* 10 % slower at full rate of 100 MB/s: 1 - 1/1.1 of a core for 1e8 bytes. A reserved core and a loop over memory are other
 * experiments. */
START_TEST(a_link_document)
{
    static const struct {
        const char *work;
        int reserved;
        double slowdown;
    } cells[] = {{"memory", 0, 5}, {"gemm", 1, 3}, {"gemm", 0, 1.1}};
    json_t *d = json_pack("{s:{s:f, s:f, s:[]}}", "link", "rate_bytes_per_s", 1e8, "rtt_s", 4e-4, "interaction");
    for (size_t i = 0; i < 3; i++) {
        json_t *a = json_pack("{s:o, s:o}", "slowdown", median(cells[i].slowdown), "received_bytes_per_s", median(1e8));
        json_array_append_new(json_object_get(json_object_get(d, "link"), "interaction"),
                              json_pack("{s:s, s:f, s:b, s:o}", "work", cells[i].work, "load", 1.0, "reserved_core",
                                        cells[i].reserved, "a", a));
    }
    struct link_model m;
    struct err e = {0};
    ck_assert(d != NULL);
    ck_assert_msg(predict_source_link(&m, d, "link.json", "tcp", &e) == 0, "%s", e.text);
    is_about(link_model_rate(&m), 1e8, 1e-9);
    is_about(m.piece[0].alpha_s, 2e-4, 1e-9);
    is_about(m.cpu_s_per_byte, (1 - 1 / 1.1) / 1e8, 1e-9);
    ck_assert(m.cpu_measured && m.measured);
    struct contention c = link_model_contend(&m, 1e8, 0);
    is_about(c.compute_loss, 1 - 1 / 1.1, 1e-9);
    is_about(c.busy_bytes_per_s, 1e8, 1e-9);
    json_decref(d);
}
END_TEST

/* 1e6 B in 10.1 ms alone of which 0.1 ms are few bytes': 100 MB/s. Beside computing in 12.8 ms of which 0.3 are few bytes': 80 MB/s,
 * 0.8 of it. Slower by 1.25 and 2: A loses 0.2 and B 0.5 of a core, on average 0.35 for 80 MB. Another back-end's line is not read. */
START_TEST(a_link_document_with_allreduce_beside_computing)
{
    json_t *d =
        json_pack("{s:{s:f, s:[{s:s, s:i}, {s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}]}}", "link", "rate_bytes_per_s",
                  7e7, "contention", "backend", "gloo", "bytes", 4, "backend", "tcp", "bytes", 1000000, "small_alone_s",
                  median(1e-4), "alone_s", median(10.1e-3), "small_beside_s", median(3e-4), "beside_s", median(12.8e-3),
                  "a_slowdown", median(1.25), "b_slowdown", median(2));
    struct link_model m;
    struct err e = {0};
    ck_assert(d != NULL);
    ck_assert_msg(predict_source_link(&m, d, "link.json", "tcp", &e) == 0, "%s", e.text);
    is_about(link_model_rate(&m), 1e8, 1e-9);
    is_about(m.piece[0].alpha_s, 1e-4, 1e-9);
    is_about(m.launch_s, 2e-4, 1e-9);
    is_about(m.busy_share, 0.8, 1e-9);
    is_about(m.cpu_s_per_byte, 0.35 / 80e6, 1e-9);
    is_about(m.own_scale, 0.2 / 0.35, 1e-9);
    is_about(m.others_scale, 0.5 / 0.35, 1e-9);
    ck_assert(m.cpu_measured && m.measured && m.launch_measured);
    struct contention c = link_model_contend(&m, 1e8, 0);
    is_about(c.busy_bytes_per_s, 80e6, 1e-9);
    is_about(c.compute_loss, 0.35, 1e-9);
    c = link_model_contend(&m, 1e9, 0); /* ten times the rate: half a core, 0.5 / q, which is more than was seen */
    is_about(c.compute_loss, 0.5, 1e-9);
    ck_assert_msg(predict_source_link(&m, d, "link.json", "gloo", &e) == 0, "%s", e.text);
    is_about(link_model_rate(&m), 7e7, 1e-9); /* that line is not complete: the rate alone */
    ck_assert(!m.launch_measured);
    json_decref(d);
}
END_TEST

/* Half a core at most while computing wants it all; with a core to spare a whole one, and nothing is taken. */
START_TEST(who_gets_the_processor)
{
    struct link_model m;
    link_model_state(&m, 2e9, 0, COST_DUPLEX);
    m.cpu_s_per_byte = 1e-9;
    struct contention c = link_model_contend(&m, 2e9, 0);
    is_about(c.compute_loss, 0.5, 1e-12);
    is_about(c.busy_bytes_per_s, 0.5e9, 1e-12);
    is_about(c.idle_bytes_per_s, 1e9, 1e-12);
    c = link_model_contend(&m, 2e9, 1);
    ck_assert(c.compute_loss == 0);
    is_about(c.busy_bytes_per_s, 1e9, 1e-12);
    c = link_model_contend(&m, 1e8, 0);
    is_about(c.compute_loss, 0.1, 1e-12);
    is_about(c.busy_bytes_per_s, 1e8, 1e-12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("predict_source");
    TCase *c = tcase_create("predict_source");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, the_plan_is_pytorch_s);
    tcase_add_test(c, split_sends_the_head_first);
    tcase_add_test(c, damaged_documents);
    tcase_add_test(c, torn_documents);
    tcase_add_test(c, newest_first);
    tcase_add_test(c, a_line_is_found);
    tcase_add_test(c, two_regimes_are_found);
    tcase_add_test(c, what_is_no_link_is_refused);
    tcase_add_test(c, a_link_document);
    tcase_add_test(c, a_link_document_with_allreduce_beside_computing);
    tcase_add_test(c, who_gets_the_processor);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
