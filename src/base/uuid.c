/*
 * Ids and their text form. No state.
 */
#include "base/uuid.h"

#include "base/endian.h"

static const char uuid_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct uuid uuid_from_random(uint64_t high, uint64_t low)
{
    struct uuid id;
    high = (high & ~0xf000ULL) | 0x4000ULL;
    low = (low & ~(3ULL << 62)) | (2ULL << 62);
    if (high >> 58 == 62) {
        high ^= 1ULL << 63; /* a leading '-' looks like an option on a command line */
    }
    store_be64(id.bytes, high);
    store_be64(id.bytes + 8, low);
    return id;
}

void uuid_format(struct uuid id, char text[UUID_TEXT_SIZE])
{
    for (int i = 0; i < 22; i++) {
        int bit = i * 6;
        unsigned pair = (unsigned)id.bytes[bit / 8] << 8;
        pair |= bit / 8 + 1 < 16 ? id.bytes[bit / 8 + 1] : 0;
        text[i] = uuid_alphabet[(pair >> (10 - bit % 8)) & 63];
    }
    text[22] = '\0';
}

static int base64_value(uint8_t c)
{
    const char *at = c == 0 ? NULL : strchr(uuid_alphabet, c);
    return at == NULL ? -1 : (int)(at - uuid_alphabet);
}

int uuid_parse(struct slice text, struct uuid *ret_id)
{
    if (text.len != 22) {
        return -E_MALFORMED;
    }
    struct uuid id = UUID_ZERO;
    for (int i = 0; i < 22; i++) {
        int value = base64_value(text.ptr[i]);
        if (value < 0 || (i == 21 && (value & 15) != 0)) {
            return -E_MALFORMED;
        }
        int bit = i * 6;
        unsigned pair = (unsigned)value << (10 - bit % 8);
        id.bytes[bit / 8] = (uint8_t)(id.bytes[bit / 8] | (pair >> 8));
        if (bit / 8 + 1 < 16) {
            id.bytes[bit / 8 + 1] = (uint8_t)(id.bytes[bit / 8 + 1] | (pair & 0xff));
        }
    }
    *ret_id = id;
    return 0;
}
