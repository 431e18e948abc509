/*
 * comm/bucket.h - which gradient tensors travel together: PyTorch DDP's rule.
 *
 * Tensors are taken in the given order (reverse registration order, or the order in which gradients become ready) and
 * put into the open bucket; when its size reaches the cap it is closed. A tensor is never split, so a bucket may exceed
 * the cap by nearly a tensor. The first bucket has its own cap. The rule is compute_bucket_assignment_by_size in
 * torch/csrc/distributed/c10d/reducer.cpp, for one dtype and device. Pure functions, any thread.
 */
#ifndef COMM_BUCKET_H
#define COMM_BUCKET_H

#include <stddef.h>

struct bucket {
    int first, n; /* tensors [first, first + n) of the order */
    size_t bytes;
};

struct bucket_caps {
    size_t first_bytes, other_bytes;
};

/* The caps of DDP(bucket_cap_mb): unset (0 or less) is 1 MiB for the first bucket and 25 MiB for the others; a value, in
 * MiB, holds for all. Fractions of a byte are dropped, and a cap is at least one byte. */
struct bucket_caps bucket_caps_for(double cap_mib);

/* Fills out, which holds n buckets, from bytes[n] in order; returns how many there are: 0 for n 0, else at most n. */
int bucket_split(const size_t *bytes, int n, struct bucket_caps caps, struct bucket *out);

#endif
