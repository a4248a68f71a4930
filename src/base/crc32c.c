/*
 * CRC-32C with the SSE4.2 instruction: three interleaved streams hide its latency on long inputs,
 * joined by a carry-less shift table. No state.
 */
#include "base/crc32c.h"

#include <nmmintrin.h>
#include <string.h>

#define CRC_POLY   0x82f63b78u /* reflected */
#define CRC_STREAM 1024        /* bytes of each of the three streams of a round */

/* Multiplication of two reflected polynomials modulo CRC_POLY. */
static uint32_t crc_multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t mask = 1u << 31; mask != 0; mask >>= 1) {
        if ((a & mask) != 0) {
            product ^= b;
        }
        b = (b & 1) != 0 ? (b >> 1) ^ CRC_POLY : b >> 1;
    }
    return product;
}

/* x to the power of 8 * len, reflected: appending len zero bytes multiplies a CRC by it. */
static uint32_t crc_shift_factor(size_t len)
{
    uint32_t factor = 1u << 31;
    uint32_t square = 1u << 23; /* x^8 */
    for (; len != 0; len >>= 1) {
        if ((len & 1) != 0) {
            factor = crc_multiply(factor, square);
        }
        square = crc_multiply(square, square);
    }
    return factor;
}

static inline uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Consumes whole rounds of three streams; returns how many bytes that were. */
static size_t crc_rounds(uint64_t *crc, const uint8_t *at, size_t len)
{
    size_t done = 0;
    if (len < (size_t)3 * CRC_STREAM) {
        return 0;
    }
    uint32_t factor1 = crc_shift_factor(CRC_STREAM);
    uint32_t factor2 = crc_multiply(factor1, factor1);
    while (len - done >= (size_t)3 * CRC_STREAM) {
        const uint8_t *base = at + done;
        uint64_t a = *crc;
        uint64_t b = 0;
        uint64_t c = 0;
        for (size_t i = 0; i < CRC_STREAM; i += 8) {
            a = _mm_crc32_u64(a, load_word(base + i));
            b = _mm_crc32_u64(b, load_word(base + CRC_STREAM + i));
            c = _mm_crc32_u64(c, load_word(base + (size_t)2 * CRC_STREAM + i));
        }
        *crc =
            crc_multiply((uint32_t)a, factor2) ^ crc_multiply((uint32_t)b, factor1) ^ (uint32_t)c;
        done += (size_t)3 * CRC_STREAM;
    }
    return done;
}

uint32_t crc32c(uint32_t crc, const void *ptr, size_t len)
{
    const uint8_t *at = ptr;
    uint64_t state = ~crc;
    size_t done = crc_rounds(&state, at, len);
    for (; len - done >= 8; done += 8) {
        state = _mm_crc32_u64(state, load_word(at + done));
    }
    uint32_t tail = (uint32_t)state;
    for (; done < len; done++) {
        tail = _mm_crc32_u8(tail, at[done]);
    }
    return ~tail;
}
