/*
 * tests/kit.h - arrays with guarded ends, random contents and comparison, for the tests of model/.
 *
 * An array starts 4 bytes past a 64-byte line, so no vector load is aligned by luck, and lies between two
 * zones of NaN: a kernel that reads past an end and uses it shows NaN, one that writes there is found by
 * kit_release(). Failures are reported through Check (ck_abort_msg).
 */
#ifndef TESTS_KIT_H
#define TESTS_KIT_H

#include <stddef.h>
#include <stdint.h>

#include "model/kernels.h"

/* GCC says it with macros, clang 14 with __has_feature. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define KIT_SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KIT_SANITIZED 1
#endif
#endif
#ifndef KIT_SANITIZED
#define KIT_SANITIZED 0
#endif

float *kit_floats(size_t n);
void kit_release(void); /* fails if a guard zone was written; frees all arrays */

/* Normal values of that deviation; the same seed gives the same values. */
float *kit_normal(size_t n, double deviation, uint64_t seed);
float *kit_copy(const float *x, size_t n);
double *kit_doubles(const float *x, size_t n); /* a plain copy in double, freed by kit_release too */

/* Uniform token ids below V. */
int32_t *kit_tokens(size_t n, int V, uint64_t seed);

/* Put in front of every failure, e.g. the name of the kernel set; borrowed. */
extern const char *kit_subject;

/* |got - want| <= tolerance x (largest |want|) for every element; names the first offender. NaN never passes. */
void kit_close(const char *what, const float *got, const float *want, size_t n, double tolerance);
void kit_close_double(const char *what, const float *got, const double *want, size_t n, double tolerance);
void kit_all_zero(const char *what, const float *x, size_t n);

/* The kernel sets this CPU can run; the reference is first. */
enum { KIT_SETS_MAX = 3 };
int kit_sets(const struct kernels *set[KIT_SETS_MAX]);

/* Runs a suite of test cases as a program: 0 if every test passed. Each test has its own process, but all share one
 * where clang's thread sanitizer is in: LLVM's OpenMP tool crashes when a forked child ends. */
struct Suite;
int kit_main(struct Suite *suite);

#endif
