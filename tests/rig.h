/*
 * tests/rig.h - one network ready to step, for the tests of net.h: from a golden or by hand.
 *
 * Loop tests over goldens number them 0 .. GOLDENS x THREADS x sets - 1: the golden turns fastest, then the number of
 * threads, then the kernel set, so that the widest set comes last.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "model/net.h"
#include "tests/golden.h"
#include "tests/kit.h"

enum { GOLDENS = 4, THREADS = 2 };

extern const struct kernels *set[KIT_SETS_MAX]; /* filled by rig_sets */
extern struct net net, other;                   /* too large for a stack */
extern struct golden g;

/* Losses agree to this, relative; gradients and parameters to this part of the tensor's largest element. */
extern const double rig_tolerance;

int rig_sets(void); /* how many kernel sets run here */

/* Plans and takes n, on those threads and kernels, and names it in kit_subject. */
void rig_start(struct net *n, const struct model_spec *spec, int B, int T, int threads, const struct kernels *k);
void rig_golden(int i); /* opens golden number i as g and starts net with its parameters */
void rig_stop(void);    /* ends net, other and g, whichever there are */

/* Tensor by tensor of net's layout; names the tensor. A key bias moves all scores of a query alike, so its true
 * gradient is 0, and Adam turns the rounding that is left into steps of lr: with skip_key_bias it is not compared. */
void rig_close(const char *what, const float *got, const float *want, double limit, bool skip_key_bias);
void rig_close_loss(const char *variant, int update, float got, float want);

#endif
