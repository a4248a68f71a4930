/*
 * Giving leadership back: while this broker is the active controller, it looks from time to time which
 * brokers lack more than a share of the partitions they should lead (first in the replica list), and
 * has those partitions' preferred leaders elected. auto.leader.rebalance.enable and its two companions.
 */
#pragma once

#include "env/env.h"

struct broker_rebalance;
struct controller_link;
struct metadata;

struct broker_rebalance_config {
    struct env *env;
    struct controller_link *controller; /* borrowed */
    struct metadata *metadata;          /* borrowed */
    int64_t interval_ms;
    int32_t percent_max; /* of the partitions a broker should lead */
};

/* Does nothing until broker_rebalance_set_active. */
struct broker_rebalance *broker_rebalance_new(const struct broker_rebalance_config *config);
/* Right before the controller link: an answer may be due. NULL is fine. */
void broker_rebalance_free(struct broker_rebalance *r);
/* This broker became, or is no longer, the active controller. */
void broker_rebalance_set_active(struct broker_rebalance *r, bool is_active);
