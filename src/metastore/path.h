/*
 * The paths of Kafka's znodes (docs/spec/zookeeper-mode.md section 2). Pure.
 * A builder writes into the caller's storage and returns the path; when a name is too long for any
 * valid topic it returns the null slice, which every call of metastore.h answers with -E_INVALID.
 */
#pragma once

#include "base/slice.h"

#define METASTORE_CLUSTER_ID       "/cluster/id"
#define METASTORE_BROKERS          "/brokers"
#define METASTORE_BROKER_SEQUENCE  "/brokers/seqid"
#define METASTORE_CONTROLLER       "/controller"
#define METASTORE_CONTROLLER_EPOCH "/controller_epoch"
#define METASTORE_BROKER_IDS       "/brokers/ids"
#define METASTORE_TOPICS           "/brokers/topics"
#define METASTORE_DELETE_TOPICS    "/admin/delete_topics"
#define METASTORE_REASSIGN         "/admin/reassign_partitions"
#define METASTORE_ELECT            "/admin/preferred_replica_election"
#define METASTORE_TOPIC_CONFIGS    "/config/topics"
#define METASTORE_BROKER_CONFIGS   "/config/brokers"
#define METASTORE_CONFIG_CHANGES   "/config/changes"
#define METASTORE_PRODUCER_BLOCK   "/latest_producer_id_block"
#define METASTORE_LOG_DIR_EVENTS   "/log_dir_event_notification"
#define METASTORE_ISR_CHANGES      "/isr_change_notification"
#define METASTORE_JOBS             "/klamm/jobs"  /* ours: the queue of moves */
#define METASTORE_MOVES            "/klamm/moves" /* ours: when running moves began */
#define METASTORE_FEATURE          "/feature"
/* Prefixes of sequential nodes. */
#define METASTORE_CONFIG_CHANGE_NEW "/config/changes/config_change_"
#define METASTORE_LOG_DIR_EVENT_NEW "/log_dir_event_notification/log_dir_event_"
#define METASTORE_ISR_CHANGE_NEW    "/isr_change_notification/isr_change_"

#define METASTORE_PATH_MAX 1024 /* bytes of a path */

/* "/", or "/a/b": no empty, "." or ".." component, no NUL, no slash at the end. */
bool metastore_path_is_valid(struct slice path);

struct metastore_path {
    char text[320];
};

struct slice metastore_path_broker(struct metastore_path *p, int32_t broker_id);
struct slice metastore_path_topic(struct metastore_path *p, struct slice topic);
struct slice metastore_path_partitions(struct metastore_path *p, struct slice topic);
struct slice metastore_path_partition(struct metastore_path *p, struct slice topic,
                                      int32_t partition);
struct slice metastore_path_state(struct metastore_path *p, struct slice topic, int32_t partition);
struct slice metastore_path_delete_topic(struct metastore_path *p, struct slice topic);
struct slice metastore_path_topic_config(struct metastore_path *p, struct slice topic);
/* broker_id -1: the cluster's default, "<default>". */
struct slice metastore_path_broker_config(struct metastore_path *p, int32_t broker_id);
/* A child of METASTORE_CONFIG_CHANGES, METASTORE_LOG_DIR_EVENTS or METASTORE_ISR_CHANGES. */
struct slice metastore_path_child(struct metastore_path *p, const char *parent, struct slice name);
/* A job of the queue of moves, and one of its pieces. */
struct slice metastore_path_job(struct metastore_path *p, struct slice job);
struct slice metastore_path_job_piece(struct metastore_path *p, struct slice job, int32_t piece);
/* The ten digits at the end of a sequential node's name; -1 when there are none. */
int64_t metastore_path_sequence(struct slice name);

/* The persistent nodes that every broker makes at its start when missing, parents first. */
extern const char *const metastore_path_roots[];
extern const int32_t metastore_path_root_count;
