/*
 * probe/membw.h - memory bandwidth of this machine, measured.
 *
 * Two kernels over arrays well beyond the last cache: read (a sum) and triad (a[i] = b[i] + s c[i]), counted as
 * McCalpin's STREAM does: 3 x 8 bytes per element for triad, without the line that a store fetches first.
 * Best pass of those that fit the time. Runs on the OpenMP pool as it is bound.
 */
#ifndef PROBE_MEMBW_H
#define PROBE_MEMBW_H

#include <stddef.h>
#include <stdint.h>

struct membw {
    double read_bytes_per_s, triad_bytes_per_s; /* NaN: not measured */
    size_t array_bytes;                         /* of one of the three arrays */
    int passes;                                 /* fewest of the two kernels */
    char why[160];                              /* reason if not measured */
};

/* Takes about seconds of time, first touch of the arrays included, and at least two passes of each kernel.
 * cache_bytes: all of the last cache level, 0 if unknown. Takes at most a quarter of limit_bytes (NaN: unknown). */
struct membw membw_measure(int threads, double seconds, uint64_t cache_bytes, double limit_bytes);

/* For who wants the load and not the rate: so many arrays of n elements in a row, each part touched by the thread that
 * works on it; NULL without memory. One pass of the triad. */
double *membw_arrays(int arrays, size_t n, int threads);
void membw_arrays_free(double *first, int arrays, size_t n); /* accepts NULL */
void membw_triad(double *a, const double *b, const double *c, size_t n, int threads);

#endif
