/* base/rng.c - see rng.h. */
#include "base/rng.h"

#include <math.h>

uint64_t rng_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void rng_init(struct rng *r, uint64_t seed, uint64_t key)
{
    uint64_t x = rng_mix(seed) ^ rng_mix(key + 0x632be59bd9b4e019u);
    for (int i = 0; i < 4; i++) {
        r->s[i] = rng_mix(x);
        x += 0x9e3779b97f4a7c15u;
    }
    r->spare = 0;
    r->has_spare = 0;
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r)
{
    uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

double rng_uniform(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t limit = -n % n; /* 2^64 mod n: draws under it would be counted twice */
    uint64_t x;
    do
        x = rng_next(r);
    while (x < limit);
    return x % n;
}

double rng_normal(struct rng *r)
{
    if (r->has_spare) {
        r->has_spare = 0;
        return r->spare;
    }
    double u, v, s;
    do {
        u = 2 * rng_uniform(r) - 1;
        v = 2 * rng_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    double f = sqrt(-2 * log(s) / s);
    r->spare = v * f;
    r->has_spare = 1;
    return u * f;
}
