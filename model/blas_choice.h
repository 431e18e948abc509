/*
 * model/blas_choice.h - makes sure that OpenBLAS runs a kernel worthy of this CPU.
 *
 * OpenBLAS picks its kernel by CPU model while it is loaded, and on CPUs newer than itself falls back to SSE3,
 * several times slower than need be. blas_choice_apply(), called before anything else uses OpenBLAS or
 * starts a thread, compares the kernel's class with the CPU's (blas_kernel.h). Where they agree, the usual
 * case, it returns in well under a millisecond. Where not, the candidates are timed and checked in child
 * processes (blas_child.h), once: the figures are remembered (blas_cache.h). If another kernel is faster the
 * program starts again with OPENBLAS_CORETYPE set, and apply() in the second process finds what was chosen and
 * why in BLAS_RESTART_VARIABLE, whose presence also rules out a third start.
 *
 * A value of OPENBLAS_CORETYPE that the user set wins: a slow one is measured too, and a note says what it costs.
 *
 * Failures: ERR_CONFIG if the library is not OpenBLAS's OpenMP build or the user's kernel needs what the CPU
 * lacks; ERR_WRONG_RESULT if the kernel in use computes wrong numbers. All else is at worst a note.
 *
 * Test hook: DDPBENCH_BLAS_PRETEND=CORE acts as if OpenBLAS had picked CORE by itself (children that stand for
 * the default run CORE). A note says so; what it measures is remembered apart from real figures.
 */
#ifndef MODEL_BLAS_CHOICE_H
#define MODEL_BLAS_CHOICE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/notes.h"
#include "model/blas_child.h"
#include "model/blas_record.h"

#define BLAS_RESTART_VARIABLE "DDPBENCH_BLAS_CHOICE"
#define BLAS_PRETEND_VARIABLE "DDPBENCH_BLAS_PRETEND"

enum blas_origin {
    BLAS_DEFAULT, /* what OpenBLAS picked */
    BLAS_CHOSEN,  /* found faster just now */
    BLAS_CACHED,  /* found faster by an earlier run */
    BLAS_USER,    /* OPENBLAS_CORETYPE */
};

struct blas_choice {
    char core[BLAS_CORE_MAX]; /* kernel in use */
    enum blas_origin origin;
    char version[32];                 /* of OpenBLAS */
    enum blas_class class, offered;   /* of the kernel, of the CPU */
    char default_core[BLAS_CORE_MAX]; /* "" if unknown */
    double chosen_gflops;             /* of the kernel in use, one thread; NaN if there was no need to measure */
    double default_gflops;            /* NaN likewise, or if the default did not work */
    double gain;                      /* chosen / default */
    double relative_error;            /* of the product checked in this process */
    bool measured;
    struct blas_record record; /* candidates; n is 0 unless measured */
    char text[256];            /* the choice and its reason in one sentence */
};

/* argv is the program's own, to start again with. Notes may already be in notes. */
int blas_choice_apply(struct blas_choice *c, char **argv, struct notes *notes, struct err *e);

/* {"core", "class", "cpu_class", "origin", "version", "gflops", "default_core", "default_gflops", "gain",
 * "relative_error", "reason", "candidates": [...]}; null for what was not measured. */
json_t *blas_choice_json(const struct blas_choice *c);

const char *blas_origin_name(enum blas_origin origin);

/* The decision itself: pure, exposed for tests. */

enum blas_action {
    BLAS_KEEP,    /* go on with the kernel that is loaded */
    BLAS_MEASURE, /* nothing is known: fill a record and ask again */
    BLAS_RESTART, /* start again with c->core */
    BLAS_REFUSE,  /* e is filled */
};

struct blas_facts {
    const char *active; /* kernel that is loaded (or pretended) */
    const char *version;
    const char *user;    /* OPENBLAS_CORETYPE as the user set it; NULL: not set, or set by ourselves */
    const char *pretend; /* test hook; NULL: off */
    struct blas_cpu cpu;
    bool restarted;          /* this is the second process */
    enum blas_origin origin; /* of record: BLAS_CHOSEN if measured just now, BLAS_CACHED if remembered */
};

/* record is NULL until there is one. Fills c except relative_error. */
enum blas_action blas_choice_decide(const struct blas_facts *f, const struct blas_record *record, struct blas_choice *c,
                                    struct notes *notes, struct err *e);

typedef void blas_product(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                          int ldb, float beta, float *c, int ldc);

/* Largest |c - exact| / sum |a b| of one odd-sized product of small integers, whose sums fp32 holds exactly: 0 for a
 * right kernel, whatever its order of summation. */
double blas_choice_check(blas_product *product);

#endif
