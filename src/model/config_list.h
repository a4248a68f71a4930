/*
 * The table of properties we know. One row a property:
 * id, name, type, default, min, max, allowed values, fallback broker key, factor, dynamic, doc.
 * Only what is implemented is listed: an unknown key is told to the operator, never accepted silently.
 * Included by config.h alone.
 */
#pragma once

#include <stdint.h>

#define CONFIG_ANY_INT    INT32_MIN, INT32_MAX
#define CONFIG_FROM_0_INT 0, INT32_MAX
#define CONFIG_FROM_1_INT 1, INT32_MAX
#define CONFIG_FROM_0     0, INT64_MAX
#define CONFIG_FROM_1     1, INT64_MAX
#define CONFIG_FROM_M1    -1, INT64_MAX
#define CONFIG_NO_RANGE   0, 0
#define CONFIG_ALONE      CONFIG_KEY_NONE, 1

/* clang-format off */
#define CONFIG_BROKER_LIST(X) \
 X(ID, "broker.id", CONFIG_INT, "-1", -1, INT32_MAX, NULL, CONFIG_ALONE, false, "The id of this broker.") \
 X(RACK, "broker.rack", CONFIG_STRING, NULL, CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "The rack of this broker, told to clients and used to spread replicas.") \
 X(SESSION_TIMEOUT_MS, "zookeeper.session.timeout.ms", CONFIG_INT, "18000", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "A broker that is silent this long counts as dead.") \
 X(LOG_DIRS, "log.dirs", CONFIG_LIST, NULL, CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "The log directories, comma between.") \
 X(INTER_BROKER_PROTOCOL_VERSION, "inter.broker.protocol.version", CONFIG_STRING, "3.9", CONFIG_NO_RANGE, "3.9|3.9-IV0", CONFIG_ALONE, false, "The protocol level between brokers.") \
 X(NUM_PARTITIONS, "num.partitions", CONFIG_INT, "1", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "Partitions of a topic that is created without a count.") \
 X(DEFAULT_REPLICATION_FACTOR, "default.replication.factor", CONFIG_INT, "1", 1, INT16_MAX, NULL, CONFIG_ALONE, false, "Replicas of a partition of a topic that is created without a factor.") \
 X(AUTO_CREATE_TOPICS, "auto.create.topics.enable", CONFIG_BOOL, "true", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "A topic that a client names is created.") \
 X(DELETE_TOPICS, "delete.topic.enable", CONFIG_BOOL, "true", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "Topics may be deleted.") \
 X(AUTO_LEADER_REBALANCE, "auto.leader.rebalance.enable", CONFIG_BOOL, "true", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "The controller gives leadership back to preferred leaders by itself.") \
 X(LEADER_IMBALANCE_CHECK_S, "leader.imbalance.check.interval.seconds", CONFIG_LONG, "300", 1, INT32_MAX, NULL, CONFIG_ALONE, false, "How often the controller looks for leaders to give back.") \
 X(LEADER_IMBALANCE_PERCENT, "leader.imbalance.per.broker.percentage", CONFIG_INT, "10", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "Leaderships are given back to a broker that lacks more than this share of its own.") \
 X(UNCLEAN_ELECTION, "unclean.leader.election.enable", CONFIG_BOOL, "false", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, true, "A replica outside the ISR may lead when nothing else can, losing records.") \
 X(MIN_INSYNC_REPLICAS, "min.insync.replicas", CONFIG_INT, "1", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, true, "In-sync replicas that a write with acks=all needs.") \
 X(MESSAGE_MAX_BYTES, "message.max.bytes", CONFIG_INT, "1048588", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, true, "The largest record batch, in bytes.") \
 X(COMPRESSION_TYPE, "compression.type", CONFIG_STRING, "producer", CONFIG_NO_RANGE, "producer", CONFIG_ALONE, true, "Batches are stored as they came.") \
 X(MAX_CONNECTIONS, "max.connections", CONFIG_INT, "2147483647", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "Connections held at once; further ones are closed.") \
 X(CONNECTIONS_MAX_IDLE_MS, "connections.max.idle.ms", CONFIG_LONG, "600000", CONFIG_FROM_1, NULL, CONFIG_ALONE, false, "A connection that is silent this long is closed.") \
 X(SOCKET_REQUEST_MAX_BYTES, "socket.request.max.bytes", CONFIG_INT, "104857600", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "The largest request, in bytes.") \
 X(QUEUED_MAX_REQUEST_BYTES, "queued.max.request.bytes", CONFIG_LONG, "268435456", CONFIG_FROM_1, NULL, CONFIG_ALONE, false, "Bytes of requests held at once; beyond it nothing more is read.") \
 X(FETCH_MAX_BYTES, "fetch.max.bytes", CONFIG_INT, "57671680", 1024, INT32_MAX, NULL, CONFIG_ALONE, false, "The largest Fetch answer, in bytes.") \
 X(FETCH_SESSION_SLOTS, "max.incremental.fetch.session.cache.slots", CONFIG_INT, "1000", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "Incremental fetch sessions kept at once.") \
 X(LOG_SEGMENT_BYTES, "log.segment.bytes", CONFIG_INT, "1073741824", 14, INT32_MAX, NULL, CONFIG_ALONE, true, "The largest segment file, in bytes.") \
 X(LOG_ROLL_HOURS, "log.roll.hours", CONFIG_INT, "168", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "A segment is closed at this age.") \
 X(LOG_ROLL_MS, "log.roll.ms", CONFIG_LONG, NULL, CONFIG_FROM_1, NULL, CONFIG_BROKER_LOG_ROLL_HOURS, 3600000, true, "A segment is closed at this age.") \
 X(LOG_RETENTION_HOURS, "log.retention.hours", CONFIG_INT, "168", -1, INT32_MAX, NULL, CONFIG_ALONE, false, "Records are kept this long; -1 is for ever.") \
 X(LOG_RETENTION_MINUTES, "log.retention.minutes", CONFIG_INT, NULL, -1, INT32_MAX, NULL, CONFIG_BROKER_LOG_RETENTION_HOURS, 60, false, "Records are kept this long; -1 is for ever.") \
 X(LOG_RETENTION_MS, "log.retention.ms", CONFIG_LONG, NULL, CONFIG_FROM_M1, NULL, CONFIG_BROKER_LOG_RETENTION_MINUTES, 60000, true, "Records are kept this long; -1 is for ever.") \
 X(LOG_RETENTION_BYTES, "log.retention.bytes", CONFIG_LONG, "-1", CONFIG_FROM_M1, NULL, CONFIG_ALONE, true, "Old segments beyond this size of a partition go; -1 is no limit.") \
 X(LOG_RETENTION_CHECK_MS, "log.retention.check.interval.ms", CONFIG_LONG, "300000", CONFIG_FROM_1, NULL, CONFIG_ALONE, false, "How often retention is applied.") \
 X(LOG_CLEANUP_POLICY, "log.cleanup.policy", CONFIG_LIST, "delete", CONFIG_NO_RANGE, "delete|compact", CONFIG_ALONE, true, "delete: retention removes old segments; compact: the last record of each key stays.") \
 X(LOG_INDEX_INTERVAL_BYTES, "log.index.interval.bytes", CONFIG_INT, "4096", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, true, "Bytes between index entries.") \
 X(LOG_INDEX_SIZE_MAX_BYTES, "log.index.size.max.bytes", CONFIG_INT, "10485760", 4, INT32_MAX, NULL, CONFIG_ALONE, true, "The largest index file, in bytes.") \
 X(LOG_SEGMENT_DELETE_DELAY_MS, "log.segment.delete.delay.ms", CONFIG_LONG, "60000", CONFIG_FROM_0, NULL, CONFIG_ALONE, true, "Removed files stay on disk this long.") \
 X(LOG_TIMESTAMP_TYPE, "log.message.timestamp.type", CONFIG_STRING, "CreateTime", CONFIG_NO_RANGE, "CreateTime|LogAppendTime", CONFIG_ALONE, true, "Whose clock stamps records.") \
 X(LOG_TIMESTAMP_BEFORE_MAX_MS, "log.message.timestamp.before.max.ms", CONFIG_LONG, "9223372036854775807", CONFIG_FROM_0, NULL, CONFIG_ALONE, true, "Records older than this are refused.") \
 X(LOG_TIMESTAMP_AFTER_MAX_MS, "log.message.timestamp.after.max.ms", CONFIG_LONG, "9223372036854775807", CONFIG_FROM_0, NULL, CONFIG_ALONE, true, "Records this far in the future are refused.") \
 X(PRODUCER_ID_EXPIRATION_MS, "producer.id.expiration.ms", CONFIG_INT, "86400000", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, true, "State of an idle idempotent producer is kept this long.") \
 X(REPLICA_LAG_TIME_MAX_MS, "replica.lag.time.max.ms", CONFIG_LONG, "30000", CONFIG_FROM_1, NULL, CONFIG_ALONE, false, "A follower that is behind this long leaves the ISR.") \
 X(REPLICA_FETCH_WAIT_MAX_MS, "replica.fetch.wait.max.ms", CONFIG_INT, "500", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "How long a leader holds a follower's empty fetch.") \
 X(REPLICA_FETCH_MIN_BYTES, "replica.fetch.min.bytes", CONFIG_INT, "1", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "Bytes a follower's fetch waits for.") \
 X(REPLICA_FETCH_MAX_BYTES, "replica.fetch.max.bytes", CONFIG_INT, "1048576", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "Bytes a follower asks of one partition.") \
 X(REPLICA_FETCH_RESPONSE_MAX_BYTES, "replica.fetch.response.max.bytes", CONFIG_INT, "10485760", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "Bytes a follower asks in one fetch.") \
 X(REPLICA_FETCH_BACKOFF_MS, "replica.fetch.backoff.ms", CONFIG_INT, "1000", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "Pause of a follower after an error.") \
 X(NUM_REPLICA_FETCHERS, "num.replica.fetchers", CONFIG_INT, "1", 1, 16, NULL, CONFIG_ALONE, false, "Connections to each leader that replicas are fetched over.") \
 X(LOG_FLUSH_CHECKPOINT_MS, "log.flush.offset.checkpoint.interval.ms", CONFIG_INT, "60000", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "How often recovery points are written to disk.") \
 X(REPLICA_HW_CHECKPOINT_MS, "replica.high.watermark.checkpoint.interval.ms", CONFIG_LONG, "5000", CONFIG_FROM_1, NULL, CONFIG_ALONE, false, "How often high watermarks are written to disk.") \
 X(REPLICA_SOCKET_TIMEOUT_MS, "replica.socket.timeout.ms", CONFIG_INT, "30000", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "How long a follower waits for its leader's answer.") \
 X(CONTROLLER_SOCKET_TIMEOUT_MS, "controller.socket.timeout.ms", CONFIG_INT, "30000", CONFIG_FROM_1_INT, NULL, CONFIG_ALONE, false, "How long the controller and its brokers wait for each other's answers.") \
 X(CONTROLLED_SHUTDOWN, "controlled.shutdown.enable", CONFIG_BOOL, "true", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "A stopping broker hands its leaderships over first.") \
 X(CONTROLLED_SHUTDOWN_MAX_RETRIES, "controlled.shutdown.max.retries", CONFIG_INT, "3", CONFIG_FROM_0_INT, NULL, CONFIG_ALONE, false, "How often handing over is tried.") \
 X(CONTROLLED_SHUTDOWN_BACKOFF_MS, "controlled.shutdown.retry.backoff.ms", CONFIG_LONG, "5000", CONFIG_FROM_0, NULL, CONFIG_ALONE, false, "Pause between tries to hand over.") \
 X(LEADER_THROTTLED_RATE, "leader.replication.throttled.rate", CONFIG_LONG, "9223372036854775807", CONFIG_FROM_0, NULL, CONFIG_ALONE, true, "Bytes a second sent for throttled replicas.") \
 X(FOLLOWER_THROTTLED_RATE, "follower.replication.throttled.rate", CONFIG_LONG, "9223372036854775807", CONFIG_FROM_0, NULL, CONFIG_ALONE, true, "Bytes a second fetched for throttled replicas.") \
 X(VALIDATE_RECORDS, "klamm.validate.records", CONFIG_BOOL, "false", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, false, "Every record of a batch is walked before it is stored, not only its header.")

#define CONFIG_TOPIC_LIST(X) \
 X(CLEANUP_POLICY, "cleanup.policy", CONFIG_LIST, NULL, CONFIG_NO_RANGE, "delete|compact", CONFIG_BROKER_LOG_CLEANUP_POLICY, 1, true, "delete: retention removes old segments; compact: the last record of each key stays.") \
 X(COMPRESSION_TYPE, "compression.type", CONFIG_STRING, NULL, CONFIG_NO_RANGE, "producer", CONFIG_BROKER_COMPRESSION_TYPE, 1, true, "Batches are stored as they came.") \
 X(FOLLOWER_THROTTLED_REPLICAS, "follower.replication.throttled.replicas", CONFIG_LIST, "", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, true, "partition:broker,... whose fetching is throttled, or *.") \
 X(INDEX_INTERVAL_BYTES, "index.interval.bytes", CONFIG_INT, NULL, CONFIG_FROM_0_INT, NULL, CONFIG_BROKER_LOG_INDEX_INTERVAL_BYTES, 1, true, "Bytes between index entries.") \
 X(LEADER_THROTTLED_REPLICAS, "leader.replication.throttled.replicas", CONFIG_LIST, "", CONFIG_NO_RANGE, NULL, CONFIG_ALONE, true, "partition:broker,... whose sending is throttled, or *.") \
 X(MAX_MESSAGE_BYTES, "max.message.bytes", CONFIG_INT, NULL, CONFIG_FROM_0_INT, NULL, CONFIG_BROKER_MESSAGE_MAX_BYTES, 1, true, "The largest record batch, in bytes.") \
 X(TIMESTAMP_AFTER_MAX_MS, "message.timestamp.after.max.ms", CONFIG_LONG, NULL, CONFIG_FROM_0, NULL, CONFIG_BROKER_LOG_TIMESTAMP_AFTER_MAX_MS, 1, true, "Records this far in the future are refused.") \
 X(TIMESTAMP_BEFORE_MAX_MS, "message.timestamp.before.max.ms", CONFIG_LONG, NULL, CONFIG_FROM_0, NULL, CONFIG_BROKER_LOG_TIMESTAMP_BEFORE_MAX_MS, 1, true, "Records older than this are refused.") \
 X(TIMESTAMP_TYPE, "message.timestamp.type", CONFIG_STRING, NULL, CONFIG_NO_RANGE, "CreateTime|LogAppendTime", CONFIG_BROKER_LOG_TIMESTAMP_TYPE, 1, true, "Whose clock stamps records.") \
 X(MIN_INSYNC_REPLICAS, "min.insync.replicas", CONFIG_INT, NULL, CONFIG_FROM_1_INT, NULL, CONFIG_BROKER_MIN_INSYNC_REPLICAS, 1, true, "In-sync replicas that a write with acks=all needs.") \
 X(RETENTION_BYTES, "retention.bytes", CONFIG_LONG, NULL, CONFIG_FROM_M1, NULL, CONFIG_BROKER_LOG_RETENTION_BYTES, 1, true, "Old segments beyond this size of a partition go; -1 is no limit.") \
 X(RETENTION_MS, "retention.ms", CONFIG_LONG, NULL, CONFIG_FROM_M1, NULL, CONFIG_BROKER_LOG_RETENTION_MS, 1, true, "Records are kept this long; -1 is for ever.") \
 X(SEGMENT_BYTES, "segment.bytes", CONFIG_INT, NULL, 14, INT32_MAX, NULL, CONFIG_BROKER_LOG_SEGMENT_BYTES, 1, true, "The largest segment file, in bytes.") \
 X(SEGMENT_INDEX_BYTES, "segment.index.bytes", CONFIG_INT, NULL, 4, INT32_MAX, NULL, CONFIG_BROKER_LOG_INDEX_SIZE_MAX_BYTES, 1, true, "The largest index file, in bytes.") \
 X(SEGMENT_MS, "segment.ms", CONFIG_LONG, NULL, CONFIG_FROM_1, NULL, CONFIG_BROKER_LOG_ROLL_MS, 1, true, "A segment is closed at this age.") \
 X(UNCLEAN_ELECTION, "unclean.leader.election.enable", CONFIG_BOOL, NULL, CONFIG_NO_RANGE, NULL, CONFIG_BROKER_UNCLEAN_ELECTION, 1, true, "A replica outside the ISR may lead when nothing else can, losing records.")
/* clang-format on */
