/*
 * tests/predict_kit.h - a scenario with numbers that are stated, and comparing with closed forms.
 */
#ifndef TESTS_PREDICT_KIT_H
#define TESTS_PREDICT_KIT_H

#include "predict/scenario.h"

/* Fails the test unless they agree to a relative tolerance. */
void is_about(double x, double expected, double relative);

struct rig {
    struct profile own;
    struct plan plan;
    struct link_model link;
    struct scenario s;
};

/* One exact step of step_s without an optimizer, everything in one bucket that is ready at the end. */
void stated(struct rig *r, double step_s, double bytes, double bytes_per_s);
void rig_fini(struct rig *r);

/* Fails the test if it cannot be predicted. */
struct outcome run(const struct scenario *s);

#endif
