/*
 * xoshiro256** (Blackman and Vigna), seeded through splitmix64. The state is the caller's.
 */
#include "base/prng.h"

#include "base/check.h"

void prng_init(struct prng *p, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15ULL;
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        p->s[i] = z ^ (z >> 31);
    }
}

static inline uint64_t rotl(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t prng_u64(struct prng *p)
{
    uint64_t result = rotl(p->s[1] * 5, 7) * 9;
    uint64_t t = p->s[1] << 17;
    p->s[2] ^= p->s[0];
    p->s[3] ^= p->s[1];
    p->s[1] ^= p->s[2];
    p->s[0] ^= p->s[3];
    p->s[2] ^= t;
    p->s[3] = rotl(p->s[3], 45);
    return result;
}

uint64_t prng_below(struct prng *p, uint64_t bound)
{
    CHECK(bound > 0);
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t draw = prng_u64(p);
    while (draw >= limit) {
        draw = prng_u64(p);
    }
    return draw % bound;
}

int64_t prng_range(struct prng *p, int64_t low, int64_t high)
{
    CHECK(low <= high);
    uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t draw = span == UINT64_MAX ? prng_u64(p) : prng_below(p, span + 1);
    return (int64_t)((uint64_t)low + draw);
}

bool prng_chance(struct prng *p, uint32_t numerator, uint32_t denominator)
{
    return prng_below(p, denominator) < numerator;
}
