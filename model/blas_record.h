/*
 * model/blas_record.h - what the candidate kernels were measured to do on one CPU with one library.
 *
 * A record is its key (CPU, flags, library version, list of candidates) and one entry per candidate; entry 0
 * is what OpenBLAS picks by itself. It travels as JSON: in the cache file and, across a restart, in an
 * environment variable. Reading is into a record that blas_record_init() has prepared, and demands the same
 * key and the same candidates in the same order, so no name from outside ever reaches OPENBLAS_CORETYPE.
 */
#ifndef MODEL_BLAS_RECORD_H
#define MODEL_BLAS_RECORD_H

#include <stdbool.h>

#include "base/json.h"
#include "model/blas_kernel.h"

enum blas_status {
    BLAS_UNTRIED,
    BLAS_OK,
    BLAS_WRONG,   /* relative error above BLAS_ERROR_LIMIT */
    BLAS_DIED,    /* by a signal; SIGILL: this CPU lacks what the kernel needs */
    BLAS_LATE,    /* stopped at the time limit */
    BLAS_IGNORED, /* the library has no such kernel and ran another */
    BLAS_FAILED,  /* did not start, or said nothing that makes sense */
    BLAS_STATUSES,
};

/* fp32 sums of a few thousand products are good to about 1e-6 of the sum of their sizes */
#define BLAS_ERROR_LIMIT 1e-4

/* Candidates this close to the fastest count as equal, and the most preferred of them is taken: timings
 * scatter, and nodes of one kind should not end up with different kernels. */
#define BLAS_EQUAL_SHARE 0.95

struct blas_candidate {
    char core[BLAS_CORE_MAX];   /* asked for; "" is the library's own choice */
    char active[BLAS_CORE_MAX]; /* the kernel that ran */
    enum blas_status status;
    int signal;            /* of BLAS_DIED */
    double gflops;         /* 1e9 operations per second on one thread; NaN unless ok or wrong */
    double relative_error; /* as struct gemm_rate has it; NaN unless ok or wrong */
};

struct blas_record {
    char key[512];
    int n;
    struct blas_candidate candidate[BLAS_CANDIDATES_MAX];
};

/* Empty record of what is to be tried. pretend (test hook) and extra (a kernel the user named) may be NULL. */
void blas_record_init(struct blas_record *r, const struct blas_cpu *cpu, const char *version, const char *pretend,
                      const char *extra);

/* Status from numbers: wrong if the error is above the limit or no number, ignored if another kernel ran. */
void blas_candidate_judge(struct blas_candidate *c);

/* Index of the kernel to use: the first whose rate is within BLAS_EQUAL_SHARE of the best; -1 if none is ok. */
int blas_record_best(const struct blas_record *r);

/* Index of the entry in which that kernel ran, -1 if none. */
int blas_record_find(const struct blas_record *r, const char *core);

/* True if nothing in it may be an accident (a time limit, a kill from outside) that another try would mend. */
bool blas_record_final(const struct blas_record *r);

const char *blas_status_name(enum blas_status status);

json_t *blas_candidates_json(const struct blas_record *r);
json_t *blas_record_json(const struct blas_record *r);

/* Fills an initialised record; false, with r as it was, if doc is not of its key or not well formed. */
bool blas_record_read(struct blas_record *r, const json_t *doc);

#endif
