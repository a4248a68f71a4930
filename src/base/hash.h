/*
 * SipHash-1-3 over a key that is drawn once a process (hash_seed) or fixed by the simulator.
 * Iteration orders of maps must not depend on it where the result is visible.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Call before the first map is made; the default key is a constant, which the simulator keeps. */
void hash_seed(uint64_t key0, uint64_t key1);
uint64_t hash_bytes(const void *ptr, size_t len);
