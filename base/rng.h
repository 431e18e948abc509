/*
 * base/rng.h - deterministic random numbers, the same on every machine and compiler.
 *
 * splitmix64 seeds xoshiro256** (Blackman and Vigna, public domain reference). A stream is (seed, key):
 * different keys give independent streams, so a tensor's initial values do not depend on what was drawn
 * before it. One owner thread per struct.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
    double spare; /* second value of the last normal pair */
    int has_spare;
};

uint64_t rng_mix(uint64_t x); /* splitmix64 finaliser: a hash of 64 bits */
void rng_init(struct rng *r, uint64_t seed, uint64_t key);
uint64_t rng_next(struct rng *r);
double rng_uniform(struct rng *r);             /* [0, 1), 53 bits */
uint64_t rng_below(struct rng *r, uint64_t n); /* [0, n), unbiased, n > 0 */
double rng_normal(struct rng *r);              /* mean 0, deviation 1, polar method */

#endif
