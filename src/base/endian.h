/*
 * Big-endian loads and stores at any alignment (Kafka's byte order everywhere).
 */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define ENDIAN_PAIR(bits)                                                                          \
    static inline uint##bits##_t load_be##bits(const void *ptr)                                    \
    {                                                                                              \
        uint##bits##_t raw;                                                                        \
        memcpy(&raw, ptr, sizeof raw);                                                             \
        return be##bits##toh(raw);                                                                 \
    }                                                                                              \
    static inline void store_be##bits(void *ptr, uint##bits##_t value)                             \
    {                                                                                              \
        uint##bits##_t raw = htobe##bits(value);                                                   \
        memcpy(ptr, &raw, sizeof raw);                                                             \
    }

ENDIAN_PAIR(16)
ENDIAN_PAIR(32)
ENDIAN_PAIR(64)
