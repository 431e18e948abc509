/* tests/predict_kit.c - see predict_kit.h. */
#include "tests/predict_kit.h"

#include <check.h>
#include <math.h>

void is_about(double x, double expected, double relative)
{
    ck_assert_msg(fabs(x - expected) <= relative * fabs(expected) + 1e-15, "%.12g is not %.12g", x, expected);
}

void stated(struct rig *r, double step_s, double bytes, double bytes_per_s)
{
    struct err e = {0};
    ck_assert(profile_init(&r->own, 1, &e) == 0 && plan_init_whole(&r->plan, bytes, &e) == 0);
    r->own.step[0].backward_s = step_s;
    r->own.tokens = 1;
    link_model_state(&r->link, bytes_per_s, 0, COST_DUPLEX);
    scenario_init(&r->s, &r->own, &r->plan, &r->link);
    r->s.exact = true;
}

void rig_fini(struct rig *r)
{
    profile_fini(&r->own);
    plan_fini(&r->plan);
}

struct outcome run(const struct scenario *s)
{
    struct outcome o;
    struct err e = {0};
    ck_assert_msg(scenario_run(s, &o, &e) == 0, "%s", e.text);
    return o;
}
