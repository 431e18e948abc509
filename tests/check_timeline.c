/*
 * tests/check_timeline.c - what a timeline keeps of a run, and that the parts of a step are the step.
 */
#include <check.h>
#include <stdlib.h>

#include "ddp/timeline.h"

enum { FORWARD_NS = 100, BACKWARD_NS = 200, GAP_NS = 7, UPDATE_NS = 50 };

/* A step of `of` micro-batches of two layers each, with a gap before and after every phase; returns its end. */
static uint64_t take_step(struct timeline *t, int number, uint64_t start_ns, int of, bool communicates)
{
    uint64_t now = start_ns;
    timeline_begin(t, number, start_ns);
    for (int k = 0; k < of; k++) {
        struct phase phase[4];
        for (int i = 0; i < 4; i++) {
            enum phase_kind kind = i < 2 ? PHASE_FORWARD : PHASE_BACKWARD;
            now += i == 0 ? GAP_NS : 0; /* a pass is one chain of stamps */
            phase[i] = (struct phase){kind, i < 2 ? i : 3 - i, now, now + (i < 2 ? FORWARD_NS : BACKWARD_NS)};
            now = phase[i].end_ns;
        }
        timeline_micro_batch(t, phase, 4, k, of, communicates);
    }
    now += GAP_NS;
    struct phase update[] = {{PHASE_OPTIMIZER, 0, now, now + UPDATE_NS},
                             {PHASE_OPTIMIZER, 1, now + UPDATE_NS, now + 2 * UPDATE_NS}};
    timeline_layers(t, update, 2);
    timeline_update(t, now, now + 2 * UPDATE_NS, communicates);
    now += 2 * UPDATE_NS + GAP_NS;
    struct call call = {.start_ns = start_ns, .end_ns = now};
    timeline_bucket(t, 0, 4, start_ns, &call);
    timeline_end(t, now);
    return now;
}

static void check_partition(const struct timeline_step *s)
{
    uint64_t at = s->start_ns;
    ck_assert_int_gt(s->parts_n, 0);
    for (int i = 0; i < s->parts_n; i++) {
        ck_assert_uint_eq(s->part[i].start_ns, at);
        ck_assert_uint_gt(s->part[i].end_ns, at);
        at = s->part[i].end_ns;
    }
    ck_assert_uint_eq(at, s->end_ns);
}

/* Two gaps are exposed: before the micro-batch whose gradients are sent, and after it. The last gap is the optimizer's. */
START_TEST(parts_are_the_step)
{
    static const enum timeline_kind right[] = {TIMELINE_EXPOSED, TIMELINE_FORWARD, TIMELINE_BACKWARD, TIMELINE_EXPOSED,
                                               TIMELINE_OPTIMIZER};
    static const uint64_t took[] = {GAP_NS, 2 * FORWARD_NS, 2 * BACKWARD_NS, GAP_NS, 2 * UPDATE_NS + GAP_NS};
    struct timeline t;
    struct err e;
    const struct timeline_step *kept[TIMELINE_STEPS_MAX];
    ck_assert_int_eq(timeline_open(&t, &(struct timeline_shape){2, 1, 1, 1}, &e), 0);
    take_step(&t, 0, 1000, 1, true);
    ck_assert_int_eq(timeline_kept(&t, kept), 1);
    check_partition(kept[0]);
    ck_assert_int_eq(kept[0]->parts_n, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(kept[0]->part[i].kind, right[i]);
        ck_assert_uint_eq(kept[0]->part[i].end_ns - kept[0]->part[i].start_ns, took[i]);
    }
    ck_assert_int_eq(kept[0]->layers_n, 6);
    ck_assert_int_eq(kept[0]->buckets_n, 1);
    timeline_close(&t);
}
END_TEST

/* However many micro-batches there are, and with nobody to wait for. */
START_TEST(parts_are_the_step_of_many_micro_batches)
{
    static const int numbers[] = {1, 2, 3, 31, 32, 33, 34, 100, 1000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int communicates = 0; communicates < 2; communicates++) {
            int of = numbers[i];
            struct timeline t;
            struct err e;
            const struct timeline_step *kept[TIMELINE_STEPS_MAX];
            ck_assert_int_eq(timeline_open(&t, &(struct timeline_shape){2, of, communicates, 1}, &e), 0);
            take_step(&t, 0, 1000, of, communicates);
            ck_assert_int_eq(timeline_kept(&t, kept), 1);
            const struct timeline_step *s = kept[0];
            uint64_t exposed = 0, optimizer = 0;
            int mixed = 0;
            for (int p = 0; p < s->parts_n; p++) {
                uint64_t took = s->part[p].end_ns - s->part[p].start_ns;
                exposed += s->part[p].kind == TIMELINE_EXPOSED ? took : 0;
                optimizer += s->part[p].kind == TIMELINE_OPTIMIZER ? took : 0;
                mixed += s->part[p].kind == TIMELINE_MIXED;
            }
            if (communicates || of == 1)
                ck_assert_int_eq(s->buckets_n, communicates);
            ck_assert_uint_eq(exposed, communicates ? 2 * GAP_NS : 0);
            ck_assert_uint_eq(optimizer, 2 * UPDATE_NS + GAP_NS);
            ck_assert_int_eq(mixed, of > TIMELINE_MICRO_BATCHES - 1);
            ck_assert_int_eq(s->layers_n, of == 1 ? 6 : 10);
            ck_assert_uint_eq(s->part[s->parts_n - 1].end_ns, s->end_ns);
            for (int p = 1; p < s->parts_n; p++)
                ck_assert_uint_eq(s->part[p].start_ns, s->part[p - 1].end_ns);
            timeline_close(&t);
        }
}
END_TEST

/* After every step: the first and the last are there, in order, each with its own times, and those between are evenly spread,
 * not more than a stride apart. */
START_TEST(first_last_and_some_between_are_kept)
{
    struct timeline t;
    struct err e;
    const struct timeline_step *kept[TIMELINE_STEPS_MAX];
    ck_assert_int_eq(timeline_open(&t, &(struct timeline_shape){2, 1, 1, 1}, &e), 0);
    ck_assert_int_eq(timeline_kept(&t, kept), 0);
    int ends = t.ends;
    for (int n = 1; n <= 1000; n++) {
        take_step(&t, n - 1, (uint64_t)n * 1000, 1, true);
        int have = timeline_kept(&t, kept);
        ck_assert_int_le(have, TIMELINE_STEPS_MAX);
        ck_assert_int_ge(have, n < 2 * ends ? n : 2 * ends);
        for (int i = 0; i < have; i++) {
            ck_assert_uint_eq(kept[i]->start_ns, (uint64_t)(kept[i]->step + 1) * 1000);
            check_partition(kept[i]);
            int apart = i ? kept[i]->step - kept[i - 1]->step : 1;
            ck_assert_int_ge(apart, 1);
            ck_assert_int_le(apart, t.stride);
        }
        for (int i = 0; i < ends && i < n; i++) {
            ck_assert_int_eq(kept[i]->step, i);
            ck_assert_int_eq(kept[have - 1 - i]->step, n - 1 - i);
        }
    }
    ck_assert_int_eq(t.stride, 128); /* 992 steps between, of which 4 to 8 stay: 992 / 128 = 7.75 */
    timeline_close(&t);
}
END_TEST

/* The head in slices: 1 layer forward, then forward and backward of each slice in turn, then backward of the layer. */
static void take_sliced_step(struct timeline *t, int slices)
{
    struct phase phase[128];
    uint64_t now = 1000;
    int n = 0;
    timeline_begin(t, 0, now);
    for (int i = -1; i <= 2 * slices; i++) {
        bool forward = i < 2 * slices && i % 2 != 1;
        uint64_t took = forward ? FORWARD_NS : BACKWARD_NS;
        phase[n++] =
            (struct phase){forward ? PHASE_FORWARD : PHASE_BACKWARD, i < 0 || i == 2 * slices ? 0 : 1, now, now + took};
        now += took;
    }
    timeline_micro_batch(t, phase, n, 0, 1, true);
    struct phase update = {PHASE_OPTIMIZER, 0, now + GAP_NS, now + GAP_NS + UPDATE_NS};
    timeline_layers(t, &update, 1);
    timeline_update(t, now + GAP_NS, now + GAP_NS + UPDATE_NS, true);
    timeline_end(t, now + GAP_NS + UPDATE_NS);
}

START_TEST(slices_of_the_head_have_room)
{
    static const int planned[] = {1, 2, 15, 50, 3};
    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++) {
        int slices = i == 4 ? 40 : planned[i]; /* the last plan is too small: of another node's recording */
        struct timeline t;
        struct err e;
        const struct timeline_step *kept[TIMELINE_STEPS_MAX];
        uint64_t took[TIMELINE_MIXED + 1] = {0};
        ck_assert_int_eq(timeline_open(&t, &(struct timeline_shape){2, 1, 0, planned[i]}, &e), 0);
        take_sliced_step(&t, slices);
        ck_assert_int_eq(timeline_kept(&t, kept), 1);
        check_partition(kept[0]);
        for (int p = 0; p < kept[0]->parts_n; p++)
            took[kept[0]->part[p].kind] += kept[0]->part[p].end_ns - kept[0]->part[p].start_ns;
        ck_assert_uint_eq(took[TIMELINE_EXPOSED], GAP_NS);
        ck_assert_uint_eq(took[TIMELINE_OPTIMIZER], UPDATE_NS);
        if (slices == planned[i]) {
            ck_assert_uint_eq(took[TIMELINE_FORWARD], (uint64_t)(slices + 1) * FORWARD_NS);
            ck_assert_uint_eq(took[TIMELINE_BACKWARD], (uint64_t)(slices + 1) * BACKWARD_NS);
            ck_assert_int_eq(kept[0]->layers_n, 2 * slices + 3);
        } else {
            ck_assert_uint_gt(took[TIMELINE_MIXED], 0);
        }
        timeline_close(&t);
    }
}
END_TEST

/* The memory is bounded whatever the shape: 4 steps at least. */
START_TEST(a_large_shape_keeps_fewer_steps)
{
    struct timeline t;
    struct err e;
    const struct timeline_step *kept[TIMELINE_STEPS_MAX];
    ck_assert_int_eq(timeline_open(&t, &(struct timeline_shape){64, 1 << 20, 200, 1}, &e), 0);
    uint64_t at = 1;
    for (int n = 0; n < 50; n++)
        at = take_step(&t, n, at, 2, true);
    int have = timeline_kept(&t, kept);
    ck_assert_int_ge(have, 3);
    ck_assert_int_le(have, 4);
    ck_assert_int_eq(kept[0]->step, 0);
    ck_assert_int_eq(kept[have - 1]->step, 49);
    timeline_close(&t);
}
END_TEST

/* A step that failed leaves nothing, and what is told without a step changes nothing. */
START_TEST(a_step_that_failed_is_forgotten)
{
    struct timeline t;
    struct err e;
    const struct timeline_step *kept[TIMELINE_STEPS_MAX];
    struct phase phase = {PHASE_FORWARD, 0, 10, 20};
    ck_assert_int_eq(timeline_open(&t, &(struct timeline_shape){2, 1, 1, 1}, &e), 0);
    timeline_begin(&t, 0, 5);
    timeline_micro_batch(&t, &phase, 1, 0, 1, true);
    timeline_drop(&t);
    timeline_micro_batch(&t, &phase, 1, 0, 1, true);
    timeline_update(&t, 20, 30, true);
    timeline_end(&t, 40);
    ck_assert_int_eq(timeline_kept(&t, kept), 0);
    take_step(&t, 0, 1000, 1, true);
    ck_assert_int_eq(timeline_kept(&t, kept), 1);
    check_partition(kept[0]);
    timeline_close(&t);
    timeline_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timeline");
    TCase *all = tcase_create("timeline");
    tcase_add_test(all, parts_are_the_step);
    tcase_add_test(all, parts_are_the_step_of_many_micro_batches);
    tcase_add_test(all, first_last_and_some_between_are_kept);
    tcase_add_test(all, slices_of_the_head_have_room);
    tcase_add_test(all, a_large_shape_keeps_fewer_steps);
    tcase_add_test(all, a_step_that_failed_is_forgotten);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
