/*
 * A small seeded generator (xoshiro256**) for simulation, tests and placement. Not for secrets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct prng {
    uint64_t s[4];
};

void prng_init(struct prng *p, uint64_t seed);
uint64_t prng_u64(struct prng *p);
/* Uniform in [0, bound); bound > 0. */
uint64_t prng_below(struct prng *p, uint64_t bound);
/* Uniform in [low, high]. */
int64_t prng_range(struct prng *p, int64_t low, int64_t high);
/* True with probability numerator / denominator. */
bool prng_chance(struct prng *p, uint32_t numerator, uint32_t denominator);
