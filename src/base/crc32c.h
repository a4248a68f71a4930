/*
 * CRC-32C (Castagnoli), the checksum of record batches and producer snapshots.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* crc is 0 to start, or what an earlier call returned to go on. */
uint32_t crc32c(uint32_t crc, const void *ptr, size_t len);
