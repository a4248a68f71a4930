/*
 * Looking into what the cluster said: topics and running moves by name.
 */
#pragma once

#include "klamm/klamm.h"

/* The row of that topic, or NULL. topics may be NULL. */
const struct klamm_topic *cli_topics_find(const struct klamm_topics *topics, const char *name);
/* The partition, or NULL when it or its topic does not exist. */
const struct klamm_partition *cli_topics_find_partition(const struct klamm_topics *topics,
                                                        const char *name, int32_t partition);
/* The running move of that partition, or NULL. moves may be NULL. */
const struct klamm_reassignment *cli_moves_find(const struct klamm_reassignments *moves,
                                                const char *topic, int32_t partition);
/* Where the move leads: its replicas without those that leave. Owned by the caller: free((void *)
 * list). */
struct klamm_ids cli_moves_target(const struct klamm_reassignment *move);
