/*
 * The one table from our error codes to Kafka's. A code may mean different things to different
 * callers (E_FENCED of a producer is not E_FENCED of a leader epoch), so the table has a column for
 * each kind of caller.
 */
#pragma once

#include <stdint.h>

enum api_error_kind {
    API_ERROR_PARTITION, /* reading and looking up: Fetch, ListOffsets, OffsetForLeaderEpoch */
    API_ERROR_APPEND,    /* Produce */
    API_ERROR_CONTROL,   /* requests that the controller carries out, and those it sends */
    API_ERROR_KINDS
};

/* err is 0 or -E_...; codes without a row become UNKNOWN_SERVER_ERROR (-1). */
int16_t api_error(enum api_error_kind kind, int err);
