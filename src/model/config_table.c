/*
 * The table of properties we know: Kafka's names, types, defaults and ranges. Only what is implemented
 * is listed: an unknown key is told to the operator, never accepted silently. Numbers have a range,
 * words a list of those accepted, and a property without a value of its own may fall back to another.
 */
#include "model/config_table.h"

#include "base/check.h"

static const struct config_def broker_defs[] =
    {
        [CONFIG_BROKER_ID] =
            {
                .name = "broker.id",
                .type = CONFIG_INT,
                .default_text = "-1",
                .min = -1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The id of this broker.",
            },
        [CONFIG_BROKER_ID_GENERATION] =
            {
                .name = "broker.id.generation.enable",
                .type = CONFIG_BOOL,
                .default_text = "true",
                .fallback = CONFIG_KEY_NONE,
                .doc = "A broker without an id gets one from the metastore.",
            },
        [CONFIG_BROKER_RESERVED_ID_MAX] =
            {
                .name = "reserved.broker.max.id",
                .type = CONFIG_INT,
                .default_text = "1000",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The largest id that may be set by hand; generated ones are above it.",
            },
        [CONFIG_BROKER_LISTENERS] =
            {
                .name = "listeners",
                .type = CONFIG_STRING,
                .default_text = "PLAINTEXT://:9092",
                .fallback = CONFIG_KEY_NONE,
                .doc = "Where to listen: NAME://HOST:PORT, comma between; no host is every "
                       "address, port 0 any free one.",
            },
        [CONFIG_BROKER_ADVERTISED_LISTENERS] =
            {
                .name = "advertised.listeners",
                .type = CONFIG_STRING,
                .fallback = CONFIG_KEY_NONE,
                .doc = "What clients and brokers are told to connect to; as listeners, with the "
                       "name of the machine for no host. One that is left out is told to nobody.",
            },
        [CONFIG_BROKER_LISTENER_PROTOCOL_MAP] =
            {
                .name = "listener.security.protocol.map",
                .type = CONFIG_STRING,
                .default_text = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,"
                                "SASL_SSL:SASL_SSL",
                .fallback = CONFIG_KEY_NONE,
                .doc = "The protocol of each listener, NAME:PROTOCOL with comma between. PLAINTEXT "
                       "is the only one that is available.",
            },
        [CONFIG_BROKER_INTER_BROKER_LISTENER] =
            {
                .name = "inter.broker.listener.name",
                .type = CONFIG_STRING,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The listener by which brokers talk to each other, the same name on each; "
                       "by default the one named as security.inter.broker.protocol.",
            },
        [CONFIG_BROKER_SECURITY_PROTOCOL] =
            {
                .name = "security.inter.broker.protocol",
                .type = CONFIG_STRING,
                .default_text = "PLAINTEXT",
                .allowed = "PLAINTEXT",
                .fallback = CONFIG_KEY_NONE,
                .doc = "How brokers talk to each other.",
            },
        [CONFIG_BROKER_ZOOKEEPER_CONNECT] =
            {
                .name = "zookeeper.connect",
                .type = CONFIG_STRING,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The ZooKeeper servers: host:port,host:port/chroot.",
            },
        [CONFIG_BROKER_ZOOKEEPER_CONNECTION_TIMEOUT_MS] =
            {
                .name = "zookeeper.connection.timeout.ms",
                .type = CONFIG_INT,
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_BROKER_SESSION_TIMEOUT_MS,
                .fallback_factor = 1,
                .doc = "A start waits this long for ZooKeeper.",
            },
        [CONFIG_BROKER_ZOOKEEPER_SET_ACL] =
            {
                .name = "zookeeper.set.acl",
                .type = CONFIG_BOOL,
                .default_text = "false",
                .fallback = CONFIG_KEY_NONE,
                .doc = "What is made in ZooKeeper may be changed by the digest's user alone.",
            },
        [CONFIG_BROKER_ZOOKEEPER_DIGEST_FILE] =
            {
                .name = "klamm.zookeeper.digest.file",
                .type = CONFIG_STRING,
                .fallback = CONFIG_KEY_NONE,
                .doc = "A file with one line user:password, for ZooKeeper's digest scheme.",
            },
        [CONFIG_BROKER_RACK] =
            {
                .name = "broker.rack",
                .type = CONFIG_STRING,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The rack of this broker, told to clients.",
            },
        [CONFIG_BROKER_SESSION_TIMEOUT_MS] =
            {
                .name = "zookeeper.session.timeout.ms",
                .type = CONFIG_INT,
                .default_text = "18000",
                .min = 100,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "A broker that is silent this long counts as dead; ZooKeeper may settle on "
                       "more or less.",
            },
        [CONFIG_BROKER_LOG_DIR] =
            {
                .name = "log.dir",
                .type = CONFIG_STRING,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The log directory, when log.dirs is not set.",
            },
        [CONFIG_BROKER_LOG_DIRS] =
            {
                .name = "log.dirs",
                .type = CONFIG_LIST,
                .fallback = CONFIG_BROKER_LOG_DIR,
                .fallback_factor = 1,
                .doc = "The log directories, comma between.",
            },
        [CONFIG_BROKER_INTER_BROKER_PROTOCOL_VERSION] =
            {
                .name = "inter.broker.protocol.version",
                .type = CONFIG_STRING,
                .default_text = "3.9",
                .allowed = "2.2|2.2-IV0|2.2-IV1"
                           "|2.3|2.3-IV0|2.3-IV1"
                           "|2.4|2.4-IV0|2.4-IV1"
                           "|2.5|2.5-IV0"
                           "|2.6|2.6-IV0"
                           "|2.7|2.7-IV0|2.7-IV1|2.7-IV2"
                           "|2.8|2.8-IV0|2.8-IV1"
                           "|3.0|3.0-IV0|3.0-IV1"
                           "|3.1|3.1-IV0"
                           "|3.2|3.2-IV0"
                           "|3.3|3.3-IV0|3.3-IV1|3.3-IV2|3.3-IV3"
                           "|3.4|3.4-IV0"
                           "|3.5|3.5-IV0|3.5-IV1|3.5-IV2"
                           "|3.6|3.6-IV0|3.6-IV1|3.6-IV2"
                           "|3.7|3.7-IV0|3.7-IV1|3.7-IV2|3.7-IV3|3.7-IV4"
                           "|3.8|3.8-IV0"
                           "|3.9|3.9-IV0",
                .fallback = CONFIG_KEY_NONE,
                .doc = "What brokers may say to each other and store, while some of them run an "
                       "older release; every level is understood.",
            },
        [CONFIG_BROKER_NUM_PARTITIONS] =
            {
                .name = "num.partitions",
                .type = CONFIG_INT,
                .default_text = "1",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Partitions of a topic that is created without a count.",
            },
        [CONFIG_BROKER_DEFAULT_REPLICATION_FACTOR] =
            {
                .name = "default.replication.factor",
                .type = CONFIG_INT,
                .default_text = "1",
                .min = 1,
                .max = INT16_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Replicas of a partition of a topic that is created without a factor.",
            },
        [CONFIG_BROKER_AUTO_CREATE_TOPICS] =
            {
                .name = "auto.create.topics.enable",
                .type = CONFIG_BOOL,
                .default_text = "true",
                .fallback = CONFIG_KEY_NONE,
                .doc = "A topic that a client names is created.",
            },
        [CONFIG_BROKER_DELETE_TOPICS] =
            {
                .name = "delete.topic.enable",
                .type = CONFIG_BOOL,
                .default_text = "true",
                .fallback = CONFIG_KEY_NONE,
                .doc = "Topics may be deleted.",
            },
        [CONFIG_BROKER_AUTO_LEADER_REBALANCE] =
            {
                .name = "auto.leader.rebalance.enable",
                .type = CONFIG_BOOL,
                .default_text = "true",
                .fallback = CONFIG_KEY_NONE,
                .doc = "The controller gives leadership back to preferred leaders by itself.",
            },
        [CONFIG_BROKER_LEADER_IMBALANCE_CHECK_S] =
            {
                .name = "leader.imbalance.check.interval.seconds",
                .type = CONFIG_LONG,
                .default_text = "300",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How often the controller looks for leaders to give back.",
            },
        [CONFIG_BROKER_LEADER_IMBALANCE_PERCENT] =
            {
                .name = "leader.imbalance.per.broker.percentage",
                .type = CONFIG_INT,
                .default_text = "10",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Leaderships are given back to a broker that lacks more than this share of "
                       "its own.",
            },
        [CONFIG_BROKER_UNCLEAN_ELECTION] =
            {
                .name = "unclean.leader.election.enable",
                .type = CONFIG_BOOL,
                .default_text = "false",
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "A replica outside the ISR may lead when nothing else can, losing records.",
            },
        [CONFIG_BROKER_MIN_INSYNC_REPLICAS] =
            {
                .name = "min.insync.replicas",
                .type = CONFIG_INT,
                .default_text = "1",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "In-sync replicas that a write with acks=all needs.",
            },
        [CONFIG_BROKER_MESSAGE_MAX_BYTES] =
            {
                .name = "message.max.bytes",
                .type = CONFIG_INT,
                .default_text = "1048588",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "The largest record batch, in bytes.",
            },
        [CONFIG_BROKER_COMPRESSION_TYPE] =
            {
                .name = "compression.type",
                .type = CONFIG_STRING,
                .default_text = "producer",
                .allowed = "producer",
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Batches are stored as they came.",
            },
        [CONFIG_BROKER_MAX_CONNECTIONS] =
            {
                .name = "max.connections",
                .type = CONFIG_INT,
                .default_text = "2147483647",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Connections held at once; further ones are closed.",
            },
        [CONFIG_BROKER_CONNECTIONS_MAX_IDLE_MS] =
            {
                .name = "connections.max.idle.ms",
                .type = CONFIG_LONG,
                .default_text = "600000",
                .min = 1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "A connection that is silent this long is closed.",
            },
        [CONFIG_BROKER_SOCKET_REQUEST_MAX_BYTES] =
            {
                .name = "socket.request.max.bytes",
                .type = CONFIG_INT,
                .default_text = "104857600",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The largest request, in bytes.",
            },
        [CONFIG_BROKER_QUEUED_MAX_REQUEST_BYTES] =
            {
                .name = "queued.max.request.bytes",
                .type = CONFIG_LONG,
                .default_text = "268435456",
                .min = 1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Bytes of requests held at once; beyond it nothing more is read.",
            },
        [CONFIG_BROKER_FETCH_MAX_BYTES] =
            {
                .name = "fetch.max.bytes",
                .type = CONFIG_INT,
                .default_text = "57671680",
                .min = 1024,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The largest Fetch answer, in bytes.",
            },
        [CONFIG_BROKER_FETCH_SESSION_SLOTS] =
            {
                .name = "max.incremental.fetch.session.cache.slots",
                .type = CONFIG_INT,
                .default_text = "1000",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Incremental fetch sessions kept at once.",
            },
        [CONFIG_BROKER_LOG_SEGMENT_BYTES] =
            {
                .name = "log.segment.bytes",
                .type = CONFIG_INT,
                .default_text = "1073741824",
                .min = 14,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "The largest segment file, in bytes.",
            },
        [CONFIG_BROKER_LOG_ROLL_HOURS] =
            {
                .name = "log.roll.hours",
                .type = CONFIG_INT,
                .default_text = "168",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "A segment is closed at this age.",
            },
        [CONFIG_BROKER_LOG_ROLL_MS] =
            {
                .name = "log.roll.ms",
                .type = CONFIG_LONG,
                .min = 1,
                .max = INT64_MAX,
                .fallback = CONFIG_BROKER_LOG_ROLL_HOURS,
                .fallback_factor = 3600000,
                .is_dynamic = true,
                .doc = "A segment is closed at this age.",
            },
        [CONFIG_BROKER_LOG_RETENTION_HOURS] =
            {
                .name = "log.retention.hours",
                .type = CONFIG_INT,
                .default_text = "168",
                .min = -1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Records are kept this long; -1 is for ever.",
            },
        [CONFIG_BROKER_LOG_RETENTION_MINUTES] =
            {
                .name = "log.retention.minutes",
                .type = CONFIG_INT,
                .min = -1,
                .max = INT32_MAX,
                .fallback = CONFIG_BROKER_LOG_RETENTION_HOURS,
                .fallback_factor = 60,
                .doc = "Records are kept this long; -1 is for ever.",
            },
        [CONFIG_BROKER_LOG_RETENTION_MS] =
            {
                .name = "log.retention.ms",
                .type = CONFIG_LONG,
                .min = -1,
                .max = INT64_MAX,
                .fallback = CONFIG_BROKER_LOG_RETENTION_MINUTES,
                .fallback_factor = 60000,
                .is_dynamic = true,
                .doc = "Records are kept this long; -1 is for ever.",
            },
        [CONFIG_BROKER_LOG_RETENTION_BYTES] =
            {
                .name = "log.retention.bytes",
                .type = CONFIG_LONG,
                .default_text = "-1",
                .min = -1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Old segments beyond this size of a partition go; -1 is no limit.",
            },
        [CONFIG_BROKER_LOG_RETENTION_CHECK_MS] =
            {
                .name = "log.retention.check.interval.ms",
                .type = CONFIG_LONG,
                .default_text = "300000",
                .min = 1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How often retention is applied.",
            },
        [CONFIG_BROKER_LOG_CLEANUP_POLICY] =
            {
                .name = "log.cleanup.policy",
                .type = CONFIG_LIST,
                .default_text = "delete",
                .allowed = "delete|compact",
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "delete: retention removes old segments; compact: the last record of each "
                       "key stays.",
            },
        [CONFIG_BROKER_LOG_INDEX_INTERVAL_BYTES] =
            {
                .name = "log.index.interval.bytes",
                .type = CONFIG_INT,
                .default_text = "4096",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Bytes between index entries.",
            },
        [CONFIG_BROKER_LOG_INDEX_SIZE_MAX_BYTES] =
            {
                .name = "log.index.size.max.bytes",
                .type = CONFIG_INT,
                .default_text = "10485760",
                .min = 4,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "The largest index file, in bytes.",
            },
        [CONFIG_BROKER_LOG_SEGMENT_DELETE_DELAY_MS] =
            {
                .name = "log.segment.delete.delay.ms",
                .type = CONFIG_LONG,
                .default_text = "60000",
                .min = 0,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Removed files stay on disk this long.",
            },
        [CONFIG_BROKER_LOG_TIMESTAMP_TYPE] =
            {
                .name = "log.message.timestamp.type",
                .type = CONFIG_STRING,
                .default_text = "CreateTime",
                .allowed = "CreateTime|LogAppendTime",
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Whose clock stamps records.",
            },
        [CONFIG_BROKER_LOG_TIMESTAMP_BEFORE_MAX_MS] =
            {
                .name = "log.message.timestamp.before.max.ms",
                .type = CONFIG_LONG,
                .default_text = "9223372036854775807",
                .min = 0,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Records older than this are refused.",
            },
        [CONFIG_BROKER_LOG_TIMESTAMP_AFTER_MAX_MS] =
            {
                .name = "log.message.timestamp.after.max.ms",
                .type = CONFIG_LONG,
                .default_text = "9223372036854775807",
                .min = 0,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Records this far in the future are refused.",
            },
        [CONFIG_BROKER_PRODUCER_ID_EXPIRATION_MS] =
            {
                .name = "producer.id.expiration.ms",
                .type = CONFIG_INT,
                .default_text = "86400000",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "State of an idle idempotent producer is kept this long.",
            },
        [CONFIG_BROKER_REPLICA_LAG_TIME_MAX_MS] =
            {
                .name = "replica.lag.time.max.ms",
                .type = CONFIG_LONG,
                .default_text = "30000",
                .min = 1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "A follower that is behind this long leaves the ISR.",
            },
        [CONFIG_BROKER_REPLICA_FETCH_WAIT_MAX_MS] =
            {
                .name = "replica.fetch.wait.max.ms",
                .type = CONFIG_INT,
                .default_text = "500",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How long a leader holds a follower's empty fetch.",
            },
        [CONFIG_BROKER_REPLICA_FETCH_MIN_BYTES] =
            {
                .name = "replica.fetch.min.bytes",
                .type = CONFIG_INT,
                .default_text = "1",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Bytes a follower's fetch waits for.",
            },
        [CONFIG_BROKER_REPLICA_FETCH_MAX_BYTES] =
            {
                .name = "replica.fetch.max.bytes",
                .type = CONFIG_INT,
                .default_text = "1048576",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Bytes a follower asks of one partition.",
            },
        [CONFIG_BROKER_REPLICA_FETCH_RESPONSE_MAX_BYTES] =
            {
                .name = "replica.fetch.response.max.bytes",
                .type = CONFIG_INT,
                .default_text = "10485760",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Bytes a follower asks in one fetch.",
            },
        [CONFIG_BROKER_REPLICA_FETCH_BACKOFF_MS] =
            {
                .name = "replica.fetch.backoff.ms",
                .type = CONFIG_INT,
                .default_text = "1000",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Pause of a follower after an error.",
            },
        [CONFIG_BROKER_NUM_REPLICA_FETCHERS] =
            {
                .name = "num.replica.fetchers",
                .type = CONFIG_INT,
                .default_text = "1",
                .min = 1,
                .max = 16,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Connections to each leader that replicas are fetched over.",
            },
        [CONFIG_BROKER_LOG_FLUSH_CHECKPOINT_MS] =
            {
                .name = "log.flush.offset.checkpoint.interval.ms",
                .type = CONFIG_INT,
                .default_text = "60000",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How often recovery points are written to disk.",
            },
        [CONFIG_BROKER_REPLICA_HW_CHECKPOINT_MS] =
            {
                .name = "replica.high.watermark.checkpoint.interval.ms",
                .type = CONFIG_LONG,
                .default_text = "5000",
                .min = 1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How often high watermarks are written to disk.",
            },
        [CONFIG_BROKER_REPLICA_SOCKET_TIMEOUT_MS] =
            {
                .name = "replica.socket.timeout.ms",
                .type = CONFIG_INT,
                .default_text = "30000",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How long a follower waits for its leader's answer.",
            },
        [CONFIG_BROKER_CONTROLLER_SOCKET_TIMEOUT_MS] =
            {
                .name = "controller.socket.timeout.ms",
                .type = CONFIG_INT,
                .default_text = "30000",
                .min = 1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How long the controller and its brokers wait for each other's answers.",
            },
        [CONFIG_BROKER_CONTROLLED_SHUTDOWN] =
            {
                .name = "controlled.shutdown.enable",
                .type = CONFIG_BOOL,
                .default_text = "true",
                .fallback = CONFIG_KEY_NONE,
                .doc = "A stopping broker hands its leaderships over first.",
            },
        [CONFIG_BROKER_CONTROLLED_SHUTDOWN_MAX_RETRIES] =
            {
                .name = "controlled.shutdown.max.retries",
                .type = CONFIG_INT,
                .default_text = "3",
                .min = 0,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "How often handing over is tried.",
            },
        [CONFIG_BROKER_CONTROLLED_SHUTDOWN_BACKOFF_MS] =
            {
                .name = "controlled.shutdown.retry.backoff.ms",
                .type = CONFIG_LONG,
                .default_text = "5000",
                .min = 0,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "Pause between tries to hand over.",
            },
        [CONFIG_BROKER_LEADER_THROTTLED_RATE] =
            {
                .name = "leader.replication.throttled.rate",
                .type = CONFIG_LONG,
                .is_stored_only = true,
                .default_text = "9223372036854775807",
                .min = 0,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Bytes a second sent for throttled replicas.",
            },
        [CONFIG_BROKER_FOLLOWER_THROTTLED_RATE] =
            {
                .name = "follower.replication.throttled.rate",
                .type = CONFIG_LONG,
                .is_stored_only = true,
                .default_text = "9223372036854775807",
                .min = 0,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Bytes a second fetched for throttled replicas.",
            },
        [CONFIG_BROKER_VALIDATE_RECORDS] =
            {
                .name = "klamm.validate.records",
                .type = CONFIG_BOOL,
                .default_text = "false",
                .fallback = CONFIG_KEY_NONE,
                .doc =
                    "Every record of a batch is walked before it is stored, not only its header.",
            },
        [CONFIG_BROKER_COPY_CACHED_BYTES_MAX] =
            {
                .name = "klamm.copy.cached.bytes.max",
                .type = CONFIG_LONG,
                .default_text = "1073741824",
                .fallback = CONFIG_KEY_NONE,
                .min = 0,
                .max = INT64_MAX,
                .doc =
                    "Copies of replicas that come to more bytes within half a minute go past the "
                    "page cache, so that they evict nothing from it.",
            },
        [CONFIG_BROKER_MOVES_IN] =
            {
                .name = "klamm.moves.max.in.per.broker",
                .type = CONFIG_INT,
                .is_stored_only = true,
                .default_text = "-1",
                .min = -1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Moves at a time that bring a replica to one broker; -1 = no limit for "
                       "stock clients, 4 for submitted jobs.",
            },
        [CONFIG_BROKER_MOVES_OUT] =
            {
                .name = "klamm.moves.max.out.per.broker",
                .type = CONFIG_INT,
                .is_stored_only = true,
                .default_text = "-1",
                .min = -1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Moves at a time that copy from one broker; -1 = no limit for stock "
                       "clients, 4 for submitted jobs.",
            },
        [CONFIG_BROKER_MOVES_CLUSTER] =
            {
                .name = "klamm.moves.max.per.cluster",
                .type = CONFIG_INT,
                .is_stored_only = true,
                .default_text = "-1",
                .min = -1,
                .max = INT32_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Moves at a time in the cluster; -1 = no limit.",
            },
        [CONFIG_BROKER_MOVES_BYTES] =
            {
                .name = "klamm.moves.max.bytes.in.flight",
                .type = CONFIG_LONG,
                .is_stored_only = true,
                .default_text = "-1",
                .min = -1,
                .max = INT64_MAX,
                .fallback = CONFIG_KEY_NONE,
                .is_dynamic = true,
                .doc = "Bytes that moves at a time have to copy; a larger partition moves alone; "
                       "-1 = no limit.",
            },
        [CONFIG_BROKER_HTTP_HOST] =
            {
                .name = "klamm.http.host",
                .type = CONFIG_STRING,
                .default_text = "127.0.0.1",
                .fallback = CONFIG_KEY_NONE,
                .doc =
                    "Where the HTTP port listens: a literal address; 0.0.0.0 and :: are every one.",
            },
        [CONFIG_BROKER_HTTP_PORT] =
            {
                .name = "klamm.http.port",
                .type = CONFIG_INT,
                .default_text = "-1",
                .min = -1,
                .max = UINT16_MAX,
                .fallback = CONFIG_KEY_NONE,
                .doc = "The port of /metrics, /healthz and /status; -1 is none, 0 any free one.",
            },
};

static const struct config_def topic_defs[] = {
    [CONFIG_TOPIC_CLEANUP_POLICY] =
        {
            .name = "cleanup.policy",
            .type = CONFIG_LIST,
            .allowed = "delete|compact",
            .fallback = CONFIG_BROKER_LOG_CLEANUP_POLICY,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "delete: retention removes old segments; compact: the last record of each key "
                   "stays.",
        },
    [CONFIG_TOPIC_COMPRESSION_TYPE] =
        {
            .name = "compression.type",
            .type = CONFIG_STRING,
            .allowed = "producer",
            .fallback = CONFIG_BROKER_COMPRESSION_TYPE,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Batches are stored as they came.",
        },
    [CONFIG_TOPIC_FOLLOWER_THROTTLED_REPLICAS] =
        {
            .name = "follower.replication.throttled.replicas",
            .type = CONFIG_LIST,
            .default_text = "",
            .is_replica_list = true,
            .fallback = CONFIG_KEY_NONE,
            .is_dynamic = true,
            .doc = "partition:broker,... whose fetching is throttled, or *.",
        },
    [CONFIG_TOPIC_INDEX_INTERVAL_BYTES] =
        {
            .name = "index.interval.bytes",
            .type = CONFIG_INT,
            .min = 0,
            .max = INT32_MAX,
            .fallback = CONFIG_BROKER_LOG_INDEX_INTERVAL_BYTES,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Bytes between index entries.",
        },
    [CONFIG_TOPIC_LEADER_THROTTLED_REPLICAS] =
        {
            .name = "leader.replication.throttled.replicas",
            .type = CONFIG_LIST,
            .default_text = "",
            .is_replica_list = true,
            .fallback = CONFIG_KEY_NONE,
            .is_dynamic = true,
            .doc = "partition:broker,... whose sending is throttled, or *.",
        },
    [CONFIG_TOPIC_MAX_MESSAGE_BYTES] =
        {
            .name = "max.message.bytes",
            .type = CONFIG_INT,
            .min = 0,
            .max = INT32_MAX,
            .fallback = CONFIG_BROKER_MESSAGE_MAX_BYTES,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "The largest record batch, in bytes.",
        },
    [CONFIG_TOPIC_TIMESTAMP_AFTER_MAX_MS] =
        {
            .name = "message.timestamp.after.max.ms",
            .type = CONFIG_LONG,
            .min = 0,
            .max = INT64_MAX,
            .fallback = CONFIG_BROKER_LOG_TIMESTAMP_AFTER_MAX_MS,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Records this far in the future are refused.",
        },
    [CONFIG_TOPIC_TIMESTAMP_BEFORE_MAX_MS] =
        {
            .name = "message.timestamp.before.max.ms",
            .type = CONFIG_LONG,
            .min = 0,
            .max = INT64_MAX,
            .fallback = CONFIG_BROKER_LOG_TIMESTAMP_BEFORE_MAX_MS,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Records older than this are refused.",
        },
    [CONFIG_TOPIC_TIMESTAMP_TYPE] =
        {
            .name = "message.timestamp.type",
            .type = CONFIG_STRING,
            .allowed = "CreateTime|LogAppendTime",
            .fallback = CONFIG_BROKER_LOG_TIMESTAMP_TYPE,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Whose clock stamps records.",
        },
    [CONFIG_TOPIC_MIN_INSYNC_REPLICAS] =
        {
            .name = "min.insync.replicas",
            .type = CONFIG_INT,
            .min = 1,
            .max = INT32_MAX,
            .fallback = CONFIG_BROKER_MIN_INSYNC_REPLICAS,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "In-sync replicas that a write with acks=all needs.",
        },
    [CONFIG_TOPIC_RETENTION_BYTES] =
        {
            .name = "retention.bytes",
            .type = CONFIG_LONG,
            .min = -1,
            .max = INT64_MAX,
            .fallback = CONFIG_BROKER_LOG_RETENTION_BYTES,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Old segments beyond this size of a partition go; -1 is no limit.",
        },
    [CONFIG_TOPIC_RETENTION_MS] =
        {
            .name = "retention.ms",
            .type = CONFIG_LONG,
            .min = -1,
            .max = INT64_MAX,
            .fallback = CONFIG_BROKER_LOG_RETENTION_MS,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "Records are kept this long; -1 is for ever.",
        },
    [CONFIG_TOPIC_SEGMENT_BYTES] =
        {
            .name = "segment.bytes",
            .type = CONFIG_INT,
            .min = 14,
            .max = INT32_MAX,
            .fallback = CONFIG_BROKER_LOG_SEGMENT_BYTES,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "The largest segment file, in bytes.",
        },
    [CONFIG_TOPIC_SEGMENT_INDEX_BYTES] =
        {
            .name = "segment.index.bytes",
            .type = CONFIG_INT,
            .min = 4,
            .max = INT32_MAX,
            .fallback = CONFIG_BROKER_LOG_INDEX_SIZE_MAX_BYTES,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "The largest index file, in bytes.",
        },
    [CONFIG_TOPIC_SEGMENT_MS] =
        {
            .name = "segment.ms",
            .type = CONFIG_LONG,
            .min = 1,
            .max = INT64_MAX,
            .fallback = CONFIG_BROKER_LOG_ROLL_MS,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "A segment is closed at this age.",
        },
    [CONFIG_TOPIC_UNCLEAN_ELECTION] =
        {
            .name = "unclean.leader.election.enable",
            .type = CONFIG_BOOL,
            .fallback = CONFIG_BROKER_UNCLEAN_ELECTION,
            .fallback_factor = 1,
            .is_dynamic = true,
            .doc = "A replica outside the ISR may lead when nothing else can, losing records.",
        },
};

_Static_assert(ARRAY_LEN(broker_defs) == CONFIG_BROKER_COUNT, "one row a key");
_Static_assert(ARRAY_LEN(topic_defs) == CONFIG_TOPIC_COUNT, "one row a key");

const struct config_def *config_table_of(enum config_scope scope)
{
    return scope == CONFIG_SCOPE_TOPIC ? topic_defs : broker_defs;
}
