/*
 * Kafka's way of spreading replicas over brokers (docs/spec/reassignment.md 14.4). Pure: the random
 * start and shift are passed in.
 */
#pragma once

#include "klamm/klamm.h"

struct cli_placement {
    const struct klamm_broker *brokers; /* borrowed */
    int32_t broker_count;
    bool uses_racks;
    uint32_t start; /* random */
    uint32_t shift; /* random */
};

/* A placement that is under way. */
struct cli_dealer {
    const struct cli_placement *placement;
    int32_t *order;     /* indexes of brokers in the order in which they are dealt out */
    int32_t rack_count; /* 0 when racks do not count */
};

/* With racks the brokers are taken from one rack after the other. */
void cli_dealer_init(struct cli_dealer *dealer, const struct cli_placement *placement);
void cli_dealer_deinit(struct cli_dealer *dealer);
/* Puts factor distinct broker ids for that partition to ids; 1 <= factor <= broker_count. */
void cli_dealer_assign(const struct cli_dealer *dealer, int32_t partition, int32_t factor,
                       int32_t *ids);
