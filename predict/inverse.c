/* predict/inverse.c - see inverse.h. One bisection serves all; a question is how a value is put into a scenario. */
#include "predict/inverse.h"

#include <math.h>

enum { REPLICATES = 40, HALVINGS = 60 };
#define PRECISION 1e-7 /* relative */

int inverse_speedup(const struct scenario *s, double *speedup, struct err *e)
{
    struct scenario few = *s;
    struct outcome o;
    if (few.replicates > REPLICATES)
        few.replicates = REPLICATES;
    few.no_discrepancy = few.no_link_spread = true; /* the middle is asked for */
    if (scenario_run(&few, &o, e))
        return -1;
    *speedup = o.speedup.median;
    return 0;
}

void inverse_set_rate(struct scenario *s, double bytes_per_s)
{
    double factor = link_model_rate(&s->link) / bytes_per_s;
    for (int i = 0; i < s->link.n; i++) {
        s->link.piece[i].beta_s_per_byte *= factor;
        s->link.piece[i].beta_lo *= factor;
        s->link.piece[i].beta_hi *= factor;
    }
}

typedef void put(struct scenario *s, double x); /* the change */

static void put_tokens(struct scenario *s, double x)
{
    s->token_scale = x;
}

static void put_accum(struct scenario *s, double x)
{
    s->accum = (int)x;
}

static void put_partner(struct scenario *s, double x)
{
    s->partner = NULL; /* so many times slower than this node, not than the one that is there */
    s->partner_scale = x;
}

static int at(const struct scenario *s, put *f, double x, double *speedup, struct err *e)
{
    struct scenario changed = *s;
    f(&changed, x);
    return inverse_speedup(&changed, speedup, e);
}

/* The value nearest to `bad` that still reaches the target, between bad and good, on a logarithmic scale. */
static int bisect(const struct scenario *s, put *f, double bad, double good, double target, struct inverse *out,
                  struct err *e)
{
    double speedup;
    *out = (struct inverse){NAN, NAN};
    if (at(s, f, good, &out->best, e))
        return -1;
    if (!(out->best >= target))
        return 0;
    if (at(s, f, bad, &speedup, e))
        return -1;
    if (speedup >= target) {
        out->value = bad;
        return 0;
    }
    for (int i = 0; i < HALVINGS && fabs(good / bad - 1) > PRECISION; i++) {
        double middle = sqrt(good * bad);
        if (at(s, f, middle, &speedup, e))
            return -1;
        *(speedup >= target ? &good : &bad) = middle;
    }
    out->value = good;
    return 0;
}

int inverse_rate(const struct scenario *s, double target, struct inverse *out, struct err *e)
{
    return bisect(s, inverse_set_rate, INVERSE_RATE_MIN, INVERSE_RATE_MAX, target, out, e);
}

int inverse_tokens(const struct scenario *s, double target, struct inverse *out, struct err *e)
{
    double tokens = s->own->tokens / s->own->accum * (s->accum > 0 ? s->accum : s->own->accum);
    if (bisect(s, put_tokens, 1 / tokens, INVERSE_TOKENS_FACTOR, target, out, e))
        return -1;
    out->value = ceil(out->value * tokens * (1 - 2 * PRECISION));
    return 0;
}

int inverse_accum(const struct scenario *s, double target, struct inverse *out, struct err *e)
{
    int bad = 0, good = INVERSE_ACCUM_MAX;
    double speedup;
    *out = (struct inverse){NAN, NAN};
    if (at(s, put_accum, good, &out->best, e))
        return -1;
    if (!(out->best >= target))
        return 0;
    while (good - bad > 1) {
        int middle = (good + bad) / 2;
        if (at(s, put_accum, middle, &speedup, e))
            return -1;
        *(speedup >= target ? &good : &bad) = middle;
    }
    out->value = good;
    return 0;
}

int inverse_partner(const struct scenario *s, double target, struct inverse *out, struct err *e)
{
    return bisect(s, put_partner, INVERSE_PARTNER_MAX, 1, target, out, e);
}
