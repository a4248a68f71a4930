/*
 * What a plan will cost before it starts: bytes in and out of each broker, leaders and factors that
 * change, room on the targets, time at a given rate, and what speaks against it. Pure.
 *
 * Invariant: the sum of bytes_in over the brokers = the sum of bytes_out = bytes_to_copy, unless a
 * partition has no leader: nobody is said to send it.
 */
#pragma once

#include "base/buf.h"
#include "cli/disks.h"
#include "cli/plan.h"
#include "cli/terminal.h"

#define CLI_ESTIMATE_RATE_LOW 1024 /* bytes a second; below it a warning is given */

struct cli_estimate_input {
    const struct cli_plan *plan;
    const struct klamm_cluster *cluster;
    const struct klamm_topics *topics;         /* has each partition of the plan */
    const struct klamm_reassignments *running; /* NULL = none */
    const struct cli_disks *disks;
    const struct cli_disks *earlier; /* the same some time before; NULL = write rates are unknown */
    int64_t elapsed_ms;              /* between the two */
    int64_t rate;                    /* bytes a second, each broker and direction; below 0 = none */
    bool is_one_at_a_time;           /* new replicas of a partition are brought over in turn */
    bool has_limits; /* the controller has throttles and pauses: who ignores them is told */
};

struct cli_estimate_broker {
    int32_t id;
    bool is_up;
    int32_t replicas_in;  /* new replicas */
    int32_t replicas_out; /* replicas that go */
    int64_t bytes_in;     /* to receive, also for replicas that are on their way already */
    int64_t bytes_out;    /* to send */
    int64_t bytes_freed;  /* of the replicas that go */
    int32_t leaders_in;   /* leaderships it gets; without preferred elections */
    int32_t leaders_out;
    int64_t usable_bytes; /* -1 = unknown */
};

struct cli_estimate {
    int32_t entry_count;   /* partitions of the plan */
    int32_t change_count;  /* of them, those that get another list than they have or go to */
    int32_t reorder_count; /* of those, without a new or a leaving member */
    int32_t moving_count;  /* partitions of the plan that move now */
    int32_t copy_count;    /* new replicas */
    int64_t bytes_to_copy;
    int32_t leader_change_count;    /* the leader is not in the new list */
    int32_t preferred_change_count; /* another broker comes first */
    int32_t factor_change_count;
    int64_t seconds;                     /* at least so long at the rate; -1 = no rate is given */
    struct cli_estimate_broker *brokers; /* those involved, by id */
    int32_t broker_count;
    char **warnings; /* sentences */
    int32_t warning_count;
};

struct cli_estimate *cli_estimate_new(const struct cli_estimate_input *input);
void cli_estimate_free(struct cli_estimate *estimate); /* NULL is fine */
/* The dry run as people read it: a table of brokers, sums; warnings go to the error output. */
void cli_estimate_print(const struct cli_estimate *estimate, int64_t rate,
                        struct cli_terminal *terminal);
/* The same as a JSON object. */
void cli_estimate_put_json(const struct cli_estimate *estimate, struct buf *out);

/* The warning that a partition does not converge: producers write more than the rate leaves for each of its
 * copies. False, and nothing put: they do not, or it is not known. */
bool cli_estimate_put_slow(struct buf *text, const struct klamm_partition_ref *ref, int64_t written,
                           int64_t copies, int64_t rate);
/* The warning of a rate that is most likely a slip; the same. */
bool cli_estimate_put_low(struct buf *text, int64_t rate);

/* The members of a partition without those that a running move brings; in the list's order. Owned by the
 * caller: free((void *)list). */
struct klamm_ids cli_estimate_origin(struct klamm_ids members, struct klamm_ids arriving);
