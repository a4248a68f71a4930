/*
 * The limits of moves on one broker: groups of partitions, each with a rate that holds for adding
 * replicas alone, in each direction for itself (docs/protocol-extensions.md, UpdateMetadata). Who is
 * held by it is decided where the replicas are; here are the table and the arithmetic.
 *
 * A table is built once (new, groups, partitions, seal) and then only its buckets change. Pure: time is
 * passed in.
 */
#pragma once

#include "replica/throttle.h"

#define REPLICA_LIMIT_UNGROUPED (-1)
#define REPLICA_LIMIT_PIECE                                                                        \
    ((int64_t)64 << 10) /* bytes; smaller pieces cost more than they smooth */

struct replica_limits;

enum replica_direction {
    REPLICA_IN,  /* what this broker fetches as follower */
    REPLICA_OUT, /* what it sends as leader */
};

struct replica_limit {
    int64_t rate; /* bytes a second; 0 = paused; REPLICA_THROTTLE_NONE = no bound */
    struct replica_throttle buckets[2]; /* by direction */
    int64_t promised[2]; /* bytes that the pass under way has handed out and nobody has taken yet */
    uint64_t pass[2];    /* the pass they belong to */
};

/* Heap; free with replica_limits_free. */
struct replica_limits *replica_limits_new(void);
void replica_limits_free(struct replica_limits *l);
/* Index of the new group. A negative rate is no bound. */
int32_t replica_limits_add_group(struct replica_limits *l, int64_t rate, int64_t now_us);
/* group: of replica_limits_add_group. Text is copied. */
void replica_limits_add(struct replica_limits *l, int32_t group, struct slice topic,
                        int32_t partition);
/* Nothing is added from here on. A partition named twice belongs to the group that named it first. A
 * group that goes on with the rate that a partition of it had in `before` (NULL = nothing was) takes
 * over the buckets: a change elsewhere in the table costs it nothing. */
void replica_limits_seal(struct replica_limits *l, const struct replica_limits *before);

/* Partitions added so far; of a sealed one those that are in it. */
int32_t replica_limits_count(const struct replica_limits *l);

/* Sealed ones. */
int32_t replica_limits_group_count(const struct replica_limits *l);
struct replica_limit *replica_limits_group(struct replica_limits *l, int32_t group);
/* Its group, or REPLICA_LIMIT_UNGROUPED. */
int32_t replica_limits_find(const struct replica_limits *l, struct slice topic, int32_t partition);
/* index < count; in order of topic and partition. Returns the group. */
int32_t replica_limits_at(const struct replica_limits *l, int32_t index, struct slice *ret_topic,
                          int32_t *ret_partition);

static inline bool replica_limit_is_paused(const struct replica_limit *limit)
{
    return limit->rate == 0;
}
/*
 * How many bytes of one partition may pass now, at most bytes_max; 0 = none. Pieces smaller than what
 * is worth a request are rounded up, which the bucket gets back afterwards. All that is asked in one
 * pass (one request built, one answer read) shares what there is: pass is a number of the caller's that
 * rises.
 */
int32_t replica_limit_piece(struct replica_limit *limit, enum replica_direction direction,
                            int32_t bytes_max, uint64_t pass, int64_t now_us);
/* The piece turned out to be that large: the pass has handed out `bytes`, not `piece`. */
void replica_limit_promise(struct replica_limit *limit, enum replica_direction direction,
                           int64_t bytes);
/* bytes have passed. */
void replica_limit_take(struct replica_limit *limit, enum replica_direction direction,
                        int64_t bytes, int64_t now_us);
/* ms until it is worth asking again: 1 to 1000. */
int64_t replica_limit_wait_ms(struct replica_limit *limit, enum replica_direction direction,
                              int64_t now_us);
