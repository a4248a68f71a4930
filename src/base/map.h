/*
 * Hash maps: uthash with our keyed hash, so that nobody outside can choose colliding keys.
 * Include this header, never uthash.h. Embed `UT_hash_handle hh` in the element.
 */
#pragma once

#include "base/check.h"
#include "base/hash.h"

#define uthash_fatal(message)          check_failed(__FILE__, __LINE__, (message), NULL)
#define HASH_FUNCTION(key, len, value) (value) = (unsigned)hash_bytes((key), (len))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <uthash.h>
#pragma GCC diagnostic pop
