/*
 * model/blas_child.h - one kernel of OpenBLAS timed and checked in a process of its own.
 *
 * OpenBLAS settles on a kernel while it is loaded, and a kernel the CPU cannot run kills the process; so a
 * candidate is tried by starting this program again with OPENBLAS_CORETYPE set and BLAS_CHILD_ARGUMENT as its
 * only argument. The child measures on one thread and writes one line to its stdout, "core gflops error".
 * Its stdin and stderr are /dev/null; it dumps no core and stops itself should its parent be gone.
 * posix_spawn is used, so nothing runs between fork and exec. Any thread may call, one at a time.
 */
#ifndef MODEL_BLAS_CHILD_H
#define MODEL_BLAS_CHILD_H

#include <stdbool.h>

#include "model/blas_record.h"

#define BLAS_CHILD_ARGUMENT "--blas-candidate"
#define BLAS_CHILD_SECONDS 0.15
#define BLAS_CHILD_LIMIT_SECONDS 10.0

/* Runs exe for c->core ("" : OPENBLAS_CORETYPE as default_core, or unset if that is NULL) and fills the rest of
 * c. It cannot fail: whatever goes wrong is a status. */
void blas_child_try(struct blas_candidate *c, const char *exe, const char *default_core, double limit_s);

/* The child's side, to be called first thing in main(): if the arguments are a candidate's, measures, writes
 * the line, sets *exit_code and returns true. */
bool blas_choice_child(int argc, char **argv, int *exit_code);

#endif
