/*
 * CRC-32C with the SSE4.2 instruction: three interleaved streams hide its latency, and a carry-less
 * multiplication joins them. No state.
 *
 * The instruction on a 64-bit word v and state c computes (c * x^32 + v) * x^32 modulo the polynomial,
 * bits reflected. A state moves n bytes on by a multiplication with x^(8n). The product of two
 * reflected 32-bit values is one bit low in 64 bits (times x), and the instruction that reduces it
 * adds x^32: hence the constants x^(8n - 33).
 */
#include "base/crc32c.h"

#include <nmmintrin.h>
#include <string.h>
#include <wmmintrin.h>

/* Bytes of each of the three streams, and what moves a state by two streams and by one. */
struct crc_plan {
    size_t stream;
    uint64_t by_two;
    uint64_t by_one;
};

static const struct crc_plan long_plan = {1024, 0xa51b6135, 0x170076fa};
static const struct crc_plan short_plan = {128, 0xb9e02b86, 0x0d3b6092};

static inline uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The unreduced product of a state and a constant. */
static inline uint64_t crc_move(uint64_t state, uint64_t constant)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state),
                                           _mm_cvtsi64_si128((long long)constant), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Consumes whole rounds of three streams; returns how many bytes that were. */
static size_t crc_rounds(uint64_t *state, const uint8_t *at, size_t len,
                         const struct crc_plan *plan)
{
    size_t n = plan->stream;
    size_t done = 0;
    for (; len - done >= 3 * n; done += 3 * n) {
        const uint8_t *a_at = at + done;
        const uint8_t *b_at = a_at + n;
        const uint8_t *c_at = b_at + n;
        uint64_t a = *state;
        uint64_t b = 0;
        uint64_t c = 0;
        for (size_t i = 0; i < n - 8; i += 8) {
            a = _mm_crc32_u64(a, load_word(a_at + i));
            b = _mm_crc32_u64(b, load_word(b_at + i));
            c = _mm_crc32_u64(c, load_word(c_at + i));
        }
        a = _mm_crc32_u64(a, load_word(a_at + n - 8));
        b = _mm_crc32_u64(b, load_word(b_at + n - 8));
        uint64_t moved = crc_move(a, plan->by_two) ^ crc_move(b, plan->by_one);
        *state = _mm_crc32_u64(c, load_word(c_at + n - 8) ^ moved);
    }
    return done;
}

uint32_t crc32c(uint32_t crc, const void *ptr, size_t len)
{
    const uint8_t *at = ptr;
    uint64_t state = ~crc;
    size_t done = crc_rounds(&state, at, len, &long_plan);
    done += crc_rounds(&state, at + done, len - done, &short_plan);
    for (; len - done >= 8; done += 8) {
        state = _mm_crc32_u64(state, load_word(at + done));
    }
    uint32_t tail = (uint32_t)state;
    for (; done < len; done++) {
        tail = _mm_crc32_u8(tail, at[done]);
    }
    return ~tail;
}
