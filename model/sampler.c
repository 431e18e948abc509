/*
 * model/sampler.c - the order of windows: a permutation that needs no table, and the ranks' share of it.
 *
 * The permutation is a balanced Feistel network on the smallest even number of bits that holds all
 * positions: a bijection whatever its round function is (Luby and Rackoff 1988). Values past the last
 * position are sent through again until one lands inside (cycle walking, Black and Rogaway 2002), which
 * keeps it a bijection on the positions; the domain is at most four times as large, so four trips are
 * enough on average. It never has less than 8 bits: a Feistel network permutes evenly (in the sense of
 * parity), which shows when few positions share a small domain, and not any more from 64 values on.
 */
#include <inttypes.h>

#include "base/rng.h"
#include "model/data.h"

enum { ROUNDS = 8, HALF_BITS_MIN = 4 };

static uint64_t feistel(uint64_t x, int half_bits, uint64_t key)
{
    uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    uint64_t left = x >> half_bits, right = x & mask;
    for (int r = 0; r < ROUNDS; r++) {
        uint64_t next = left ^ (rng_mix(right ^ rng_mix(key + (uint64_t)r)) & mask);
        left = right;
        right = next;
    }
    return left << half_bits | right;
}

uint64_t sampler_permute(uint64_t positions, uint64_t seed, uint64_t epoch, uint64_t i)
{
    uint64_t key = rng_mix(rng_mix(seed) ^ epoch);
    int half_bits = HALF_BITS_MIN;
    while (half_bits < 32 && (positions - 1) >> (2 * half_bits))
        half_bits++;
    do
        i = feistel(i, half_bits, key);
    while (i >= positions);
    return i;
}

int sampler_init(struct sampler *s, uint64_t positions, int rank, int world, bool drop_last, uint64_t seed,
                 struct err *e)
{
    if (world < 1 || rank < 0 || rank >= world)
        return err_set(e, ERR_USAGE, "rank %d of %d does not exist", rank, world);
    if (positions == 0)
        return err_set(e, ERR_DATA, "the data has no window to train on");
    uint64_t w = (uint64_t)world, rest = positions % w;
    *s = (struct sampler){.positions = positions, .seed = seed, .rank = rank, .world = world, .drop_last = drop_last};
    s->per_rank = positions / w;
    if (drop_last) {
        s->dropped = rest;
    } else if (rest) {
        s->per_rank++;
        s->padded = w - rest;
    }
    if (s->per_rank == 0)
        return err_set(e, ERR_DATA, "the data has %" PRIu64 " windows for %d ranks and dropping the rest leaves none",
                       positions, world);
    return 0;
}

uint64_t sampler_next(struct sampler *s)
{
    uint64_t entry = s->next * (uint64_t)s->world + (uint64_t)s->rank;
    uint64_t start = sampler_permute(s->positions, s->seed, s->epoch, entry % s->positions);
    if (++s->next == s->per_rank) {
        s->next = 0;
        s->epoch++;
    }
    return start;
}

void sampler_skip(struct sampler *s, uint64_t n)
{
    s->epoch += (s->next + n) / s->per_rank;
    s->next = (s->next + n) % s->per_rank;
}
