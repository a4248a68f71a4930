/*
 * What brokers have on disk: the sizes of replicas, and the room that is left. Pure but for
 * cli_disks_read, which asks the brokers (DescribeLogDirs).
 */
#pragma once

#include "base/error.h"
#include "klamm/klamm.h"

/* One replica's log. */
struct cli_disks_log {
    const char *topic; /* borrowed from the answer that cli_disks_add took */
    int32_t partition;
    int32_t broker_id;
    int64_t size;          /* bytes */
    int64_t write_rate;    /* bytes a second that producers bring to this leader; -1 = unknown */
    int64_t throttle_rate; /* bytes a second that limit this replica; -1 = none, or unknown */
};

struct cli_disks_broker {
    int32_t id;
    bool has_answered;
    int64_t total_bytes;         /* of the disks of its directories that are online; -1 = unknown */
    int64_t usable_bytes;        /* the same */
    int32_t offline_count;       /* log directories that are offline */
    bool is_klamm;               /* it told its disks, as no other software does */
    char reason[128];            /* why it has not answered; "" = it has */
    struct klamm_log_dirs *dirs; /* NULL when it has not answered */
};

struct cli_disks {
    struct cli_disks_broker *brokers; /* in the order they were added */
    int32_t broker_count;
    struct cli_disks_log *logs; /* after cli_disks_finish: by topic (bytes), partition, broker */
    int32_t log_count;
    int32_t log_cap;
};

void cli_disks_init(struct cli_disks *disks);
void cli_disks_deinit(struct cli_disks *disks);
/* Takes the broker's answer. */
void cli_disks_add(struct cli_disks *disks, int32_t broker_id, struct klamm_log_dirs *dirs);
void cli_disks_add_silent(struct cli_disks *disks, int32_t broker_id, const char *reason);
/* To be called after the last addition, before anything is looked up. */
void cli_disks_finish(struct cli_disks *disks);
/* The bytes of that replica; -1 = it is not there, or its broker has not answered. */
int64_t cli_disks_size(const struct cli_disks *disks, const struct klamm_partition_ref *ref,
                       int32_t broker_id);
/* Bytes a second that producers bring to the partition, as its leader tells; -1 = nobody tells. */
int64_t cli_disks_write_rate(const struct cli_disks *disks, const struct klamm_partition_ref *ref);
/* The lowest limit of its replicas, bytes a second; -1 = none, or nobody tells. */
int64_t cli_disks_throttle_rate(const struct cli_disks *disks,
                                const struct klamm_partition_ref *ref);
/* NULL = it was not asked. */
const struct cli_disks_broker *cli_disks_find(const struct cli_disks *disks, int32_t broker_id);

/* Asks all brokers of the cluster for their replicas of these partitions (NULL: of all). One that does
 * not answer is noted as silent; fails only with KLAMM_ERR_INTERRUPTED. disks is initialised here, and
 * to be deinitialised in either case. */
int cli_disks_read(struct klamm_client *client, const struct klamm_cluster *cluster,
                   const struct klamm_partition_refs *refs, struct cli_disks *disks,
                   struct klamm_error *err) MUST_CHECK;
