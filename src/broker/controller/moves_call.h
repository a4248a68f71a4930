/*
 * What a request 45 says to the queue of moves beside its entries; made by broker/api/, carried through the
 * link in the memory of the call.
 */
#pragma once

#include "moves/moves.h"

struct moves_call {
    enum moves_action action;
    struct slice job; /* null = none */
    const int32_t *brokers;
    int32_t broker_count;
    int64_t rate;
    int8_t priority;
    bool is_one_at_a_time;
};
