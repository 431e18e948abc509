/* Plans for training together: what rank 0 asks for, and what a serving node makes of it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/work.h"

static struct options options; /* rank 0's */
static const struct options serving = {.threads = 1};

/* The plan of a run with those arguments and two ranks. */
static json_t *plan_of(const char *const *words)
{
    static struct run run;
    struct notes notes = {0};
    struct err e;
    int n = 0;
    while (words[n])
        n++;
    ck_assert_msg(options_parse(&options, OPTIONS_RUN, n, (char *const *)words, &e) == 0, "%s", e.text);
    options.run.world = 2;
    options.run.threads = 1;
    ck_assert_msg(run_plan(&run, &options.run, &notes, &e) == 0, "%s", e.text);
    json_t *plan = work_train_plan(&options, &run);
    run_fini(&run);
    return plan;
}

#define PLAN(...) plan_of((const char *const[]){"run", __VA_ARGS__, NULL})

static json_t *answer(const json_t *asked)
{
    struct err e;
    json_t *own = NULL;
    ck_assert_msg(work_train_accept(asked, &serving, &own, &e) == 0, "%s", e.text);
    return own;
}

static void is_answered_alike(json_t *asked)
{
    char text[400];
    json_t *own = answer(asked);
    session_differences(text, sizeof text, asked, own, "the other node");
    ck_assert_msg(json_equal(asked, own), "%s", text);
    json_decref(asked);
    json_decref(own);
}

/* Whatever the options are, both ends come to the same plan. */
START_TEST(alike)
{
    is_answered_alike(PLAN("--threads=1"));
    is_answered_alike(PLAN("--model=linear-10x2", "--steps=0", "--lr=0.1"));
    is_answered_alike(PLAN("--model=gpt2-124m", "--batch=1", "--seq=16", "--schedule=split", "--bucket-mb=0.1"));
    is_answered_alike(PLAN("--global-batch=9", "--shares=2:1", "--accum=3", "--time=0.3", "--warmup=0", "--seed=77"));
    is_answered_alike(PLAN("--clip=0.7", "--split=0.9", "--eval=2", "--drop-last", "--no-floor", "--no-baseline",
                           "--verify", "--comm=null"));
    is_answered_alike(PLAN("--encrypt"));
    is_answered_alike(PLAN("--encrypt", "--save=weights.bin"));
}
END_TEST

static json_t *with_data(const char *wire, json_int_t tokens, int vocabulary)
{
    json_t *asked = PLAN("--batch=1");
    json_object_set_new(asked, "data", json_string("sha256:0123456789abcdef0123456789abcdef"));
    json_object_set_new(asked, "data_tokens", json_integer(tokens));
    json_object_set_new(asked, "data_vocabulary", json_integer(vocabulary));
    json_object_set_new(asked, "wire", json_string(wire));
    json_object_set_new(asked, "private", json_true());
    return asked;
}

/* What rank 0's data are like is enough for a node without them. 65 ids are what shakespeare-char is counted with. */
START_TEST(data_of_rank_0)
{
    is_answered_alike(with_data("tls", 100000, 65));
    json_t *asked = with_data("tls", 100000, 70), *own = answer(asked);
    ck_assert_int_eq(json_integer_value(json_object_get(own, "parameters")),
                     json_integer_value(json_object_get(asked, "parameters")) + 5 * 384); /* its own count */
    json_decref(asked);
    json_decref(own);
}
END_TEST

/* Private data in clear: only if the serving node says so as well. */
START_TEST(both_say_clear)
{
    struct options lenient = serving;
    struct err e = {0};
    json_t *asked = with_data("clear", 100000, 65), *own = NULL;
    ck_assert_int_eq(work_train_accept(asked, &serving, &own, &e), -1);
    ck_assert_msg(e.code == ERR_PROTOCOL && strstr(e.text, "only if both ends say so"), "%s", e.text);
    lenient.clear = true;
    ck_assert_msg(work_train_accept(asked, &lenient, &own, &e) == 0, "%s", e.text);
    ck_assert(json_equal(asked, own));
    json_decref(asked);
    json_decref(own);
}
END_TEST

static const struct {
    const char *model;
    json_int_t tokens;
    int vocabulary;
    enum err_code code;
    const char *says;
} no_data[] = {
    {"shakespeare-char", 256, 65, ERR_DATA, "256"}, /* one window of 256 needs 257 */
    {"shakespeare-char", INT64_MAX, 65, ERR_DATA, "tokens"},
    {"shakespeare-char", -1, 65, ERR_USAGE, "--data-tokens"},
    {"shakespeare-char", 100000, 65537, ERR_USAGE, "--data-vocabulary"},
    {"shakespeare-char", 100000, 0, ERR_USAGE, "--data-vocabulary"},
    {"gpt2-124m", 100000, 65, ERR_DATA, "ids"},
    {"mlp-768", 100000, 65, ERR_USAGE, "--data does not apply"},
};

START_TEST(impossible_data)
{
    struct err e;
    json_t *own = NULL, *asked = with_data("tls", no_data[_i].tokens, no_data[_i].vocabulary);
    json_object_set_new(asked, "model", json_string(no_data[_i].model));
    ck_assert_int_eq(work_train_accept(asked, &serving, &own, &e), -1);
    ck_assert_msg(e.code == no_data[_i].code && strstr(e.text, no_data[_i].says), "%d: %s", e.code, e.text);
    json_decref(asked);
}
END_TEST

/* The numbers of results that everybody can check: parameters, bytes, PyTorch's buckets (13 with its default caps, the
 * last of them with the embedding). */
START_TEST(counts)
{
    json_t *p = PLAN("--model=gpt2-124m", "--batch=1", "--seq=16");
    ck_assert_int_eq(json_integer_value(json_object_get(p, "parameters")), 124439808);
    ck_assert_int_eq(json_integer_value(json_object_get(p, "gradient_bytes")), 497759232);
    ck_assert_int_eq(json_integer_value(json_object_get(p, "buckets")), 13);
    json_decref(p);
}
END_TEST

/* What the caller counted is not repeated but counted again. */
START_TEST(counts_of_its_own)
{
    json_t *asked = PLAN("--batch=1");
    json_object_set_new(asked, "parameters", json_integer(1));
    json_object_set_new(asked, "buckets", json_integer(1));
    json_t *own = answer(asked);
    ck_assert_int_eq(json_integer_value(json_object_get(own, "parameters")), 10745088);
    ck_assert_int_ne(json_integer_value(json_object_get(own, "buckets")), 1);
    json_decref(asked);
    json_decref(own);
}
END_TEST

/* Members that are no options of a shared run stay without effect, and so show as a difference; so does a member of
 * another type. */
START_TEST(foreign_members)
{
    char text[400];
    json_t *asked = PLAN("--batch=1");
    json_object_set_new(asked, "data", json_string("/etc/passwd"));
    json_object_set_new(asked, "save", json_string("weights.bin"));
    json_object_set_new(asked, "seq", json_pack("[i]", 32));
    json_t *own = answer(asked);
    ck_assert(json_is_null(json_object_get(own, "data")));
    ck_assert_ptr_null(json_object_get(own, "save"));
    ck_assert_int_eq(session_differences(text, sizeof text, asked, own, "the other node"), 3);
    json_decref(asked);
    json_decref(own);
}
END_TEST

static const struct {
    const char *key, *value; /* JSON */
    enum err_code code;
    const char *says;
} refused[] = {
    {"compute", "\"replay:/etc/passwd\"", ERR_PROTOCOL, "names a file"}, /* not even whether it is there */
    {"model", "\"gpt5\"", ERR_USAGE, "gpt5"},
    {"model", "\"--data=/etc/passwd\"", ERR_USAGE, "--data=/etc/passwd"},
    {"model", "\"\"", ERR_USAGE, "--model"},
    {"seq", "5000", ERR_USAGE, "--seq"},
    {"seq", "-1", ERR_USAGE, "--seq"},
    {"steps", "\"4; reboot\"", ERR_USAGE, "--steps"},
    {"time_s", "1e300", ERR_USAGE, "--time"},
    {"schedule", "\"ring\"", ERR_USAGE, "ddp or split"},
    {"shares", "\"1:2:3\"", ERR_USAGE, "shares"},
    {"batch", "65536", ERR_MEMORY, "MB are there"}, /* more than a terabyte of activations */
    {"world", "1", ERR_PROTOCOL, "ranks"},
    {"world", "65", ERR_PROTOCOL, "ranks"},
    {"world", "4294967298", ERR_PROTOCOL, "ranks"},
    {"world", "\"2\"", ERR_PROTOCOL, "ranks"},
};

START_TEST(out_of_range)
{
    struct err e;
    json_t *own = NULL, *asked = PLAN("--batch=1");
    json_object_set_new(asked, refused[_i].key, json_loads(refused[_i].value, JSON_DECODE_ANY, NULL));
    ck_assert_int_eq(work_train_accept(asked, &serving, &own, &e), -1);
    ck_assert_int_eq(e.code, refused[_i].code);
    ck_assert_msg(strstr(e.text, refused[_i].says), "%s", e.text);
    ck_assert_ptr_null(own);
    json_decref(asked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("work_train");
    TCase *all = tcase_create("plans");
    tcase_add_test(all, alike);
    tcase_add_test(all, counts);
    tcase_add_test(all, counts_of_its_own);
    tcase_add_test(all, foreign_members);
    tcase_add_test(all, data_of_rank_0);
    tcase_add_test(all, both_say_clear);
    tcase_add_loop_test(all, impossible_data, 0, sizeof no_data / sizeof *no_data);
    tcase_add_loop_test(all, out_of_range, 0, sizeof refused / sizeof *refused);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
