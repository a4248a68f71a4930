/*
 * 16-byte ids and their text form: 22 characters of URL-safe base64 without padding.
 * All zero means none; ...0001 is reserved.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#define UUID_TEXT_SIZE 23 /* with NUL */

struct uuid {
    uint8_t bytes[16];
};

#define UUID_ZERO ((struct uuid){{0}})

static inline bool uuid_is_zero(struct uuid id)
{
    return memcmp(id.bytes, UUID_ZERO.bytes, 16) == 0;
}
static inline bool uuid_equal(struct uuid a, struct uuid b)
{
    return memcmp(a.bytes, b.bytes, 16) == 0;
}
/* A version-4 id from 128 random bits; its text never starts with '-'. */
struct uuid uuid_from_random(uint64_t high, uint64_t low);
void uuid_format(struct uuid id, char text[UUID_TEXT_SIZE]);
/* -E_MALFORMED when text is not 22 characters of the alphabet. */
int uuid_parse(struct slice text, struct uuid *ret_id) MUST_CHECK;
