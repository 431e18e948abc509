/*
 * model/blas_cache.h - measured kernels remembered between runs.
 *
 * One file per key under $XDG_CACHE_HOME/ddpbench (else ~/.cache/ddpbench): a home folder may be shared by
 * nodes with different CPUs, which then never touch each other's file. A file that is missing, unreadable,
 * corrupt or of another key is the same as none; it is replaced whole by the next store.
 */
#ifndef MODEL_BLAS_CACHE_H
#define MODEL_BLAS_CACHE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/blas_record.h"

/* Fills an initialised record; false, with r as it was, if nothing of its key is remembered. */
bool blas_cache_load(struct blas_record *r);

/* Writes beside and renames; makes the folders. ERR_CANNOT_CREATE or ERR_IO naming the path. */
int blas_cache_store(const struct blas_record *r, struct err *e);

#endif
