/*
 * SipHash-1-3 (Aumasson and Bernstein): keyed, so hostile names cannot collide on purpose.
 * The key is written once, before any thread starts.
 */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

static uint64_t hash_key[2] = {0x6b6c616d6d2d3031ULL, 0x7265706c69636173ULL};

void hash_seed(uint64_t key0, uint64_t key1)
{
    hash_key[0] = key0;
    hash_key[1] = key1;
}

static inline uint64_t rotl(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

uint64_t hash_bytes(const void *ptr, size_t len)
{
    const uint8_t *at = ptr;
    uint64_t v[4] = {hash_key[0] ^ 0x736f6d6570736575ULL, hash_key[1] ^ 0x646f72616e646f6dULL,
                     hash_key[0] ^ 0x6c7967656e657261ULL, hash_key[1] ^ 0x7465646279746573ULL};
    size_t left = len;
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        word = le64toh(word);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    uint64_t last = (uint64_t)len << 56;
    for (size_t i = 0; i < left; i++) {
        last |= (uint64_t)at[i] << (8 * i);
    }
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
