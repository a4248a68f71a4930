/*
 * Kafka's znodes: from JSON to nouns and back (docs/spec/zookeeper-mode.md section 2).
 *
 * Encoders append to a buf and write the keys of the specification in its order, compact. The buf
 * turns failed when text is not UTF-8 or the node would pass METASTORE_DATA_MAX.
 * Decoders take any key order, white space and unknown keys. Size, depth, counts and ranges are
 * bounded; on failure (-E_MALFORMED, -E_TOO_LARGE, -E_UNSUPPORTED for a version we cannot read) em
 * says what is wrong and ret is untouched. A version that is not known is never read: the node may hold
 * what our next write would lose; one that is missing counts as 1. What the JSON does not hold (a broker's id and epoch, a
 * version) stays as it is in ret. A ret that owns memory must be initialised (zeroed); what it held
 * is freed. No state; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "model/cluster.h"
#include "model/ibp.h"

/* /cluster/id, of any version: we never write one that is there. is_remade, an extra key: the id is that of a cluster which was there before, and the
 * metastore has lost what it knew of it. */
void metastore_cluster_id_encode(struct buf *b, struct slice id, bool is_remade);
/* *ret_id: heap. */
int metastore_cluster_id_decode(struct slice json, char **ret_id, bool *ret_is_remade,
                                struct errmsg *em) MUST_CHECK;

/* /controller: written as version 2, read as 1 and 2. */
struct metastore_controller {
    int32_t broker_id;
    int32_t kraft_epoch; /* > 0: a KRaft controller owns the cluster; -1 = none */
};
void metastore_controller_encode(struct buf *b, int32_t broker_id, int64_t wall_ms);
int metastore_controller_decode(struct slice json, struct metastore_controller *ret,
                                struct errmsg *em) MUST_CHECK;

/* /controller_epoch: a decimal number, no JSON. */
void metastore_controller_epoch_encode(struct buf *b, int32_t epoch);
int metastore_controller_epoch_decode(struct slice text, int32_t *ret_epoch,
                                      struct errmsg *em) MUST_CHECK;

/* /brokers/ids/N: written as version 5, or 4 where the level has no features; read as 1 to 5. */
void metastore_broker_encode(struct buf *b, const struct model_broker *broker, enum ibp level,
                             int64_t wall_ms);
int metastore_broker_decode(struct slice json, struct model_broker *ret,
                            struct errmsg *em) MUST_CHECK;

/* /brokers/topics/T: read as versions 1 to 3, written as version 3 with topic_id when there is one, and with our own key
 * original_replicas (design decision 1) when a partition has one. Where the level has no moves it is
 * written as version 1, without the maps of moves; a move that is there nevertheless is kept, in
 * version 3. Partitions must be 0..n-1, and adding and removing lists must be disjoint parts of the
 * replicas. */
void metastore_topic_encode(struct buf *b, const struct model_topic *topic, enum ibp level);
int metastore_topic_decode(struct slice json, struct slice name, struct model_topic *ret,
                           struct errmsg *em) MUST_CHECK;

/* .../partitions/P/state, version 1; with our own key klamm_outsiders where there are some, which Java
 * brokers ignore */
void metastore_partition_state_encode(struct buf *b, const struct model_partition_state *state);
int metastore_partition_state_decode(struct slice json, struct model_partition_state *ret,
                                     struct errmsg *em) MUST_CHECK;

/* /config/...: values are text. The decoder calls fn for each pair; key and value are borrowed. It
 * calls fn only after the whole node was found well formed. */
typedef void (*metastore_config_fn)(void *arg, struct slice key, struct slice value);
void metastore_config_encode(struct buf *b, const struct model_setting *settings, int32_t count);
int metastore_config_decode(struct slice json, metastore_config_fn fn, void *arg,
                            struct errmsg *em) MUST_CHECK;

/* /config/changes/config_change_N: written as version 2; version 1 (entity_type, entity_name) is read
 * into the same form. *ret_path: heap, such as "topics/foo". */
void metastore_config_change_encode(struct buf *b, struct slice entity_path);
int metastore_config_change_decode(struct slice json, char **ret_path,
                                   struct errmsg *em) MUST_CHECK;

/* /latest_producer_id_block */
void metastore_producer_block_encode(struct buf *b, const struct model_producer_block *block);
int metastore_producer_block_decode(struct slice json, struct model_producer_block *ret,
                                    struct errmsg *em) MUST_CHECK;

/* /admin/reassign_partitions. Entries are read as they are, with duplicates and any number as a broker:
 * the reader judges them. *ret_moves: heap, NULL when empty; free with metastore_legacy_moves_free. */
struct metastore_legacy_move {
    char *topic;
    int32_t partition;
    struct ids replicas;
};
void metastore_legacy_moves_encode(struct buf *b, const struct metastore_legacy_move *moves,
                                   int32_t count);
int metastore_legacy_moves_decode(struct slice json, struct metastore_legacy_move **ret_moves,
                                  int32_t *ret_count, struct errmsg *em) MUST_CHECK;
void metastore_legacy_moves_free(struct metastore_legacy_move *moves, int32_t count);

/* /admin/preferred_replica_election and /isr_change_notification/isr_change_N: the same without
 * replicas. */
int metastore_partitions_decode(struct slice json, struct metastore_legacy_move **ret_partitions,
                                int32_t *ret_count, struct errmsg *em) MUST_CHECK;
/* /isr_change_notification/isr_change_N */
struct metastore_partition_name {
    struct slice topic;
    int32_t partition;
};
void metastore_isr_change_encode(struct buf *b, const struct metastore_partition_name *list,
                                 int32_t count);

/* /feature, of which klamm knows no entry: as a controller of this level leaves it. */
void metastore_features_encode(struct buf *b, enum ibp level);
/* Whether what is stored has to be written as metastore_features_encode says: not when it is so
 * already, and not when it has entries, which are for others to change. */
int metastore_features_check(struct slice json, enum ibp level, bool *ret_is_outdated,
                             struct errmsg *em) MUST_CHECK;

/* /log_dir_event_notification/log_dir_event_N */
void metastore_log_dir_event_encode(struct buf *b, int32_t broker_id);
int metastore_log_dir_event_decode(struct slice json, int32_t *ret_broker_id,
                                   struct errmsg *em) MUST_CHECK;
