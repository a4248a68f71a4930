/*
 * A rate over the last few seconds, from two windows: the last whole one counts for as much of it as the
 * present one has not yet replaced. Pure: time is passed in. Zeroed = nothing has passed yet.
 */
#pragma once

#include <stdint.h>

#define REPLICA_METER_WINDOW_MS 5000

struct replica_meter {
    int64_t start_ms; /* of the present window */
    int64_t bytes;    /* in it */
    int64_t before;   /* in the one before */
};

void replica_meter_add(struct replica_meter *m, int64_t bytes, int64_t now_ms);
/* Bytes a second. */
int64_t replica_meter_rate(struct replica_meter *m, int64_t now_ms);
