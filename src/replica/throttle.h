/*
 * Replication throttles (KIP-73, docs/spec/reassignment.md 13): a rate kept by a bucket of tokens, and
 * the lists that say which replicas it holds for.
 *
 * The bucket holds at most a tenth of a second's bytes and may go into debt by one transfer, so that the
 * mean is exact and bursts are short. Pure: time is passed in.
 */
#pragma once

#include "base/slice.h"

#define REPLICA_THROTTLE_NONE INT64_MAX

struct replica_throttle {
    int64_t rate;   /* bytes a second; REPLICA_THROTTLE_NONE = no bound */
    int64_t tokens; /* bytes that may pass now; negative = debt */
    int64_t at_us;  /* up to when tokens were counted */
};

/* A changed rate starts with an empty bucket; the same rate changes nothing. */
void replica_throttle_set(struct replica_throttle *t, int64_t rate, int64_t now_us);
/* Nothing of a throttled replica may pass now. */
bool replica_throttle_is_exceeded(struct replica_throttle *t, int64_t now_us);
/* How much should pass at a time: at most bytes_max, at least a useful piece. */
int32_t replica_throttle_piece(struct replica_throttle *t, int32_t bytes_max, int64_t now_us);
/* bytes have passed. */
void replica_throttle_take(struct replica_throttle *t, int64_t bytes, int64_t now_us);
/* ms until a useful piece may pass again, or until the bound should be looked at again because it may
 * have been changed or lifted: 1 to 1000. */
int64_t replica_throttle_wait_ms(struct replica_throttle *t, int64_t now_us);

/* Which partitions of a topic are throttled on one broker. Zeroed = none. */
struct replica_throttle_list {
    bool has_all;
    int32_t count;
    int32_t *partitions; /* owned, ascending; may repeat */
};

/* Replaces what is in it by those of broker. text: "*", or comma-separated "partition:broker"; anything
 * else in it holds for nobody. */
void replica_throttle_list_set(struct replica_throttle_list *list, struct slice text,
                               int32_t broker);
void replica_throttle_list_deinit(struct replica_throttle_list *list);
bool replica_throttle_list_has(const struct replica_throttle_list *list, int32_t partition);
