/*
 * A cluster that only talks: a few brokers on one loop thread that answer the administration calls
 * from a small model, and misbehave on demand. The model is shared with the test under a lock.
 */
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "env/loop.h"
#include "model/kerr.h"
#include "net/net.h"
#include "wire/alter_partition_reassignments.h"
#include "wire/api_versions.h"
#include "wire/create_topics.h"
#include "wire/delete_topics.h"
#include "wire/describe_configs.h"
#include "wire/describe_log_dirs.h"
#include "wire/elect_leaders.h"
#include "wire/header.h"
#include "wire/incremental_alter_configs.h"
#include "wire/list_partition_reassignments.h"
#include "wire/metadata.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FAKE_BROKERS     6
#define FAKE_TOPICS      4
#define FAKE_PARTITIONS  3
#define FAKE_IDS         8
#define FAKE_SETTINGS    64
#define FAKE_JOBS        4
#define FAKE_ALL_BROKERS "<all>" /* owner of the settings of the whole cluster */

struct fake_ids {
    int32_t list[FAKE_IDS];
    int32_t count;
};

struct fake_partition {
    struct fake_ids replicas;
    struct fake_ids adding;
    struct fake_ids removing;
    struct fake_ids isr;
    int32_t leader;
    int64_t size;    /* bytes on the replicas that are there */
    int64_t arrived; /* bytes on each one that is being added */
    /* What a klamm controller knows besides. */
    struct fake_ids origin;       /* the list before the first move; empty = it does not move */
    struct fake_ids queued;       /* the target of a move that waits; empty = none */
    struct fake_ids before_steps; /* of one that waits for its next step: the first list */
    char job[64];                 /* of the move that runs or waits; "" = none */
    bool is_paused;
    int8_t reason;
    int16_t reason_code;
    int64_t since_ms;
};

struct fake_job {
    char id[64]; /* "" = free */
    int64_t rate;
    int8_t priority;
    int8_t state;
    bool is_one_at_a_time;
    int32_t moves;
};

struct fake_topic {
    char name[250]; /* "" = free */
    struct fake_partition partitions[FAKE_PARTITIONS];
};

/* What IncrementalAlterConfigs stored. */
struct fake_setting {
    char owner[250]; /* a topic's name, or a broker's id; "" = free */
    char name[64];
    char value[250];
};

struct fake_cluster;

struct fake_broker {
    struct fake_cluster *cluster;
    int32_t id;
    struct net_server *server;
    uint16_t port;
};

struct fake_cluster {
    pthread_mutex_t lock;
    struct env *env;
    struct fake_broker brokers[FAKE_BROKERS];
    struct fake_topic topics[FAKE_TOPICS];
    int32_t controller_id;
    int32_t lost_controller_id; /* what Metadata says while misled > 0 */
    int32_t misled;             /* Metadata answers that name the wrong controller */
    int32_t given_up;           /* CreateTopics that are carried out and answered with 41 */
    int16_t missing_key;        /* an API that is not offered; -1 = none */
    int16_t drop_key;           /* requests of this API close the connection ... */
    int32_t drops;              /* ... this many times */
    int16_t list_code;          /* the answer to ListPartitionReassignments */
    int16_t alter_code;         /* of each partition of an alter request */
    int32_t interrupt_at;       /* this DescribeLogDirs sends SIGINT to the process; 0 = none */
    int32_t copy_per_poll;      /* bytes that arrive at each DescribeLogDirs of the controller */
    int32_t counts[128];        /* requests by key */
    int32_t listed_dead_id;     /* Metadata names this broker though it is closed; 0 = none */
    int16_t settings_code;      /* the answer to each alteration of settings */
    int32_t alters_at_settings; /* alter requests that had come before the last alteration */
    struct fake_setting settings[FAKE_SETTINGS];
    struct wire_alter_partition_reassignments_request last_alter; /* numbers only */
    bool is_stock;                                                /* Apache Kafka: knows no tags */
    bool has_stock_brokers;   /* klamm is the controller alone */
    bool queues;              /* submitted moves wait */
    bool forgets_answers;     /* a submission is carried out, and its connection closed */
    int64_t write_rate;       /* what DescribeLogDirs tells of leaders ... */
    int64_t throttle_rate;    /* ... and of replicas that arrive; 0 = no limit */
    bool does_not_advance;    /* bytes do not arrive */
    bool keeps_silent;        /* one request to be dropped is not answered instead ... */
    struct net_request *held; /* ... and kept here */
    bool ends_elsewhere;      /* submitted moves are cancelled at once, by somebody else */
    char last_job[64];        /* of the last alter request; "" = none */
    struct fake_ids last_brokers;
    struct fake_job jobs[FAKE_JOBS];
    char racks[FAKE_BROKERS][8]; /* "" = none */
};

/* ---- the model ---- */

static inline void fake_ids_set(struct fake_ids *ids, const int32_t *list, int32_t count)
{
    ids->count = MIN(count, FAKE_IDS);
    for (int32_t i = 0; i < ids->count; i++) {
        ids->list[i] = list[i];
    }
}

static inline bool fake_ids_has(const struct fake_ids *ids, int32_t id)
{
    for (int32_t i = 0; i < ids->count; i++) {
        if (ids->list[i] == id) {
            return true;
        }
    }
    return false;
}

static inline struct fake_topic *fake_topic_find(struct fake_cluster *f, struct slice name)
{
    for (int32_t i = 0; i < FAKE_TOPICS; i++) {
        if (f->topics[i].name[0] != '\0' && slice_equal_str(name, f->topics[i].name)) {
            return &f->topics[i];
        }
    }
    return NULL;
}

/* All partitions on brokers 1, 2, 3, led by 1, of 1000 bytes. */
static inline struct fake_topic *fake_topic_add(struct fake_cluster *f, struct slice name)
{
    static const int32_t brokers[] = {1, 2, 3};
    for (int32_t i = 0; i < FAKE_TOPICS; i++) {
        struct fake_topic *topic = &f->topics[i];
        if (topic->name[0] == '\0') {
            snprintf(topic->name, sizeof topic->name, "%.*s", SLICE_ARG(name));
            for (int32_t p = 0; p < FAKE_PARTITIONS; p++) {
                topic->partitions[p] = (struct fake_partition){.leader = 1, .size = 1000};
                fake_ids_set(&topic->partitions[p].replicas, brokers, 3);
                fake_ids_set(&topic->partitions[p].isr, brokers, 3);
            }
            return topic;
        }
    }
    return NULL;
}

static inline bool fake_is_moving(const struct fake_partition *p)
{
    return p->adding.count + p->removing.count > 0;
}

/* The move is over: the target is the list. */
static inline void fake_finish(struct fake_partition *p)
{
    struct fake_ids rest = {.count = 0};
    for (int32_t i = 0; i < p->replicas.count; i++) {
        if (!fake_ids_has(&p->removing, p->replicas.list[i])) {
            rest.list[rest.count++] = p->replicas.list[i];
        }
    }
    p->replicas = p->isr = rest;
    p->leader = rest.list[0];
    p->adding.count = p->removing.count = p->origin.count = 0;
    p->job[0] = '\0';
    p->is_paused = false;
    p->arrived = 0;
}

/* Starts a move, or gives a running one another target: the target first, what leaves behind it. */
static inline void fake_start(struct fake_partition *p, const int32_t *target, int32_t count)
{
    struct fake_ids all;
    struct fake_ids origin = {.count = 0};
    for (int32_t i = 0; i < p->replicas.count; i++) {
        if (!fake_ids_has(&p->adding, p->replicas.list[i])) {
            origin.list[origin.count++] = p->replicas.list[i];
        }
    }
    fake_ids_set(&all, target, count);
    p->adding.count = p->removing.count = 0;
    p->origin = p->origin.count == 0 ? origin : p->origin;
    for (int32_t i = 0; i < count; i++) {
        if (!fake_ids_has(&origin, target[i])) {
            p->adding.list[p->adding.count++] = target[i];
        }
    }
    for (int32_t i = 0; i < origin.count; i++) {
        if (!fake_ids_has(&all, origin.list[i])) {
            all.list[all.count++] = origin.list[i];
            p->removing.list[p->removing.count++] = origin.list[i];
        }
    }
    p->replicas = all;
    p->arrived = 0;
}

/* ---- answers ---- */

struct fake_request {
    struct fake_cluster *cluster;
    struct fake_broker *broker;
    struct wire_request_header header;
    struct arena arena;
    void *body;
    struct buf out;
};

static inline void fake_encode(struct fake_request *q, const void *response)
{
    wire_message_encode(wire_api_find(q->header.api_key)->response, response, &q->out,
                        q->header.api_version);
}

static inline void *fake_array(struct fake_request *q, int32_t count, size_t size)
{
    void *array = arena_array(&q->arena, (size_t)MAX(count, 1), size);
    CHECK(array != NULL);
    return array;
}

static inline void fake_api_versions(struct fake_request *q)
{
    struct wire_api_versions_response r;
    wire_api_versions_response_init(&r);
    r.api_keys = fake_array(q, wire_api_count(), sizeof *r.api_keys);
    for (int32_t i = 0; i < wire_api_count(); i++) {
        const struct wire_api *api = wire_api_at(i);
        if (api->key != q->cluster->missing_key) {
            r.api_keys[r.api_keys_count].api_key = api->key;
            r.api_keys[r.api_keys_count].min_version = api->first_version;
            r.api_keys[r.api_keys_count++].max_version = api->last_version;
        }
    }
    fake_encode(q, &r);
}

static inline void fake_put_topic(struct fake_request *q, struct slice name,
                                  struct wire_metadata_response_topics *row)
{
    struct fake_topic *topic = fake_topic_find(q->cluster, name);
    row->name = name;
    if (topic == NULL) {
        row->error_code = KERR_UNKNOWN_TOPIC_OR_PARTITION;
        return;
    }
    row->partitions_count = FAKE_PARTITIONS;
    row->partitions = fake_array(q, FAKE_PARTITIONS, sizeof *row->partitions);
    for (int32_t p = 0; p < FAKE_PARTITIONS; p++) {
        struct fake_partition *partition = &topic->partitions[p];
        /* Backwards: clients must not rely on the order. */
        struct wire_metadata_response_topics_partitions *out =
            &row->partitions[FAKE_PARTITIONS - 1 - p];
        out->partition_index = p;
        out->leader_id = partition->leader;
        out->replica_nodes = partition->replicas.list;
        out->replica_nodes_count = partition->replicas.count;
        out->isr_nodes = partition->isr.list;
        out->isr_nodes_count = partition->isr.count;
    }
}

static inline void fake_metadata(struct fake_request *q)
{
    struct fake_cluster *f = q->cluster;
    const struct wire_metadata_request *m = q->body;
    struct wire_metadata_response r;
    wire_metadata_response_init(&r);
    r.cluster_id = slice_str("fake");
    r.controller_id = f->controller_id;
    if (f->misled > 0) {
        f->misled--;
        r.controller_id = f->lost_controller_id;
    }
    r.brokers = fake_array(q, FAKE_BROKERS, sizeof *r.brokers);
    for (int32_t i = 0; i < FAKE_BROKERS; i++) {
        if (f->brokers[i].server != NULL || f->brokers[i].id == f->listed_dead_id) {
            struct wire_metadata_response_brokers *row = &r.brokers[r.brokers_count++];
            row->node_id = f->brokers[i].id;
            row->host = slice_str("127.0.0.1");
            row->port = f->brokers[i].port;
            row->rack = f->racks[i][0] == '\0' ? SLICE_NULL : slice_str(f->racks[i]);
        }
    }
    r.topics = fake_array(q, MAX(m->topics_count, FAKE_TOPICS), sizeof *r.topics);
    for (int32_t i = 0; i < m->topics_count; i++) {
        fake_put_topic(q, m->topics[i].name, &r.topics[r.topics_count++]);
    }
    for (int32_t i = FAKE_TOPICS - 1; m->topics_count < 0 && i >= 0; i--) {
        if (f->topics[i].name[0] != '\0') {
            fake_put_topic(q, slice_str(f->topics[i].name), &r.topics[r.topics_count++]);
        }
    }
    fake_encode(q, &r);
}

static inline bool fake_is_controller(const struct fake_request *q)
{
    return q->broker->id == q->cluster->controller_id;
}

static inline int16_t
fake_alter_one(struct fake_request *q, struct fake_topic *topic,
               const struct wire_alter_partition_reassignments_request_topics_partitions *row)
{
    struct fake_partition *p = topic == NULL || row->partition_index >= FAKE_PARTITIONS
                                   ? NULL
                                   : &topic->partitions[row->partition_index];
    if (q->cluster->alter_code != 0) {
        return q->cluster->alter_code;
    }
    if (row->replicas_count < 0 && (p == NULL || !fake_is_moving(p))) {
        return KERR_NO_REASSIGNMENT_IN_PROGRESS;
    }
    if (p == NULL) {
        return KERR_UNKNOWN_TOPIC_OR_PARTITION;
    }
    if (row->replicas_count == 0) {
        return KERR_INVALID_REPLICA_ASSIGNMENT;
    }
    if (row->replicas_count < 0) {
        struct fake_ids adding = p->adding;
        p->adding = p->removing;
        p->removing = adding;
        fake_finish(p);
    } else {
        fake_start(p, row->replicas, row->replicas_count);
    }
    return 0;
}

#include "unit/client/fake_queue.h"

static inline void fake_alter(struct fake_request *q)
{
    const struct wire_alter_partition_reassignments_request *m = q->body;
    struct wire_alter_partition_reassignments_response r;
    wire_alter_partition_reassignments_response_init(&r);
    r.error_code = fake_is_controller(q) ? 0 : KERR_NOT_CONTROLLER;
    if (r.error_code == 0) {
        fake_note_alter(q->cluster, m);
    }
    if (r.error_code == 0 && m->action != 0 && !q->cluster->is_stock) {
        fake_queue_alter(q, m, &r);
        fake_encode(q, &r);
        return;
    }
    if (r.error_code == 0) {
        r.responses = fake_array(q, m->topics_count, sizeof *r.responses);
        r.responses_count = m->topics_count;
    }
    for (int32_t t = 0; t < r.responses_count; t++) {
        struct wire_alter_partition_reassignments_response_responses *topic = &r.responses[t];
        topic->name = m->topics[t].name;
        topic->partitions_count = m->topics[t].partitions_count;
        topic->partitions = fake_array(q, topic->partitions_count, sizeof *topic->partitions);
        for (int32_t p = 0; p < topic->partitions_count; p++) {
            topic->partitions[p].partition_index = m->topics[t].partitions[p].partition_index;
            topic->partitions[p].error_code = fake_alter_one(
                q, fake_topic_find(q->cluster, topic->name), &m->topics[t].partitions[p]);
            topic->partitions[p].error_message =
                topic->partitions[p].error_code == KERR_INVALID_REPLICA_ASSIGNMENT
                    ? slice_str("broker 9 is not up")
                    : SLICE_NULL;
        }
    }
    fake_encode(q, &r);
}

static inline void fake_list_topic(struct fake_request *q, struct fake_topic *topic,
                                   struct wire_list_partition_reassignments_response *r)
{
    const struct wire_list_partition_reassignments_request *m = q->body;
    struct wire_list_partition_reassignments_response_topics *row = &r->topics[r->topics_count];
    row->name = slice_str(topic->name);
    row->partitions = fake_array(q, FAKE_PARTITIONS, sizeof *row->partitions);
    for (int32_t p = FAKE_PARTITIONS - 1; p >= 0; p--) {
        struct fake_partition *partition = &topic->partitions[p];
        if (fake_is_moving(partition)) {
            struct wire_list_partition_reassignments_response_topics_partitions *out =
                &row->partitions[row->partitions_count++];
            out->partition_index = p;
            out->replicas = partition->replicas.list;
            out->replicas_count = partition->replicas.count;
            out->adding_replicas = partition->adding.list;
            out->adding_replicas_count = partition->adding.count;
            out->removing_replicas = partition->removing.list;
            out->removing_replicas_count = partition->removing.count;
            out->details = m->klamm_extensions == 1 && !q->cluster->is_stock
                               ? fake_details(q, partition)
                               : NULL;
        }
    }
    r->topics_count += row->partitions_count > 0;
}

static inline void fake_list(struct fake_request *q)
{
    const struct wire_list_partition_reassignments_request *m = q->body;
    struct wire_list_partition_reassignments_response r;
    wire_list_partition_reassignments_response_init(&r);
    r.error_code = fake_is_controller(q) ? q->cluster->list_code : KERR_NOT_CONTROLLER;
    r.topics = fake_array(q, FAKE_TOPICS + MAX(m->topics_count, 0), sizeof *r.topics);
    for (int32_t i = 0; r.error_code == 0 && m->topics_count < 0 && i < FAKE_TOPICS; i++) {
        if (q->cluster->topics[i].name[0] != '\0') {
            fake_list_topic(q, &q->cluster->topics[i], &r);
        }
    }
    for (int32_t i = 0; r.error_code == 0 && i < m->topics_count; i++) {
        struct fake_topic *topic = fake_topic_find(q->cluster, m->topics[i].name);
        if (topic != NULL) {
            fake_list_topic(q, topic, &r);
        }
    }
    if (r.error_code == 0 && m->klamm_extensions == 1 && !q->cluster->is_stock) {
        fake_list_jobs(q, &r);
        fake_list_queued(q, &r);
    }
    fake_encode(q, &r);
}

static inline void fake_create(struct fake_request *q)
{
    const struct wire_create_topics_request *m = q->body;
    struct wire_create_topics_response r;
    wire_create_topics_response_init(&r);
    r.topics = fake_array(q, m->topics_count, sizeof *r.topics);
    for (int32_t i = 0; i < m->topics_count; i++) {
        struct wire_create_topics_response_topics *row = &r.topics[r.topics_count++];
        wire_create_topics_response_topics_init(row);
        row->name = m->topics[i].name;
        if (!fake_is_controller(q)) {
            row->error_code = KERR_NOT_CONTROLLER;
        } else if (fake_topic_find(q->cluster, row->name) != NULL) {
            row->error_code = KERR_TOPIC_ALREADY_EXISTS;
            row->error_message = slice_str("Topic exists already.");
        } else {
            struct fake_topic *topic = fake_topic_add(q->cluster, row->name);
            for (int32_t p = 0; p < m->topics[i].assignments_count && p < FAKE_PARTITIONS; p++) {
                fake_ids_set(&topic->partitions[p].replicas, m->topics[i].assignments[p].broker_ids,
                             m->topics[i].assignments[p].broker_ids_count);
            }
            row->error_code = q->cluster->given_up > 0 ? KERR_NOT_CONTROLLER : KERR_NONE;
        }
    }
    q->cluster->given_up -= q->cluster->given_up > 0;
    fake_encode(q, &r);
}

static inline void fake_delete(struct fake_request *q)
{
    const struct wire_delete_topics_request *m = q->body;
    struct wire_delete_topics_response r;
    wire_delete_topics_response_init(&r);
    r.responses = fake_array(q, m->topics_count, sizeof *r.responses);
    for (int32_t i = 0; i < m->topics_count; i++) {
        struct wire_delete_topics_response_responses *row = &r.responses[r.responses_count++];
        struct fake_topic *topic = fake_topic_find(q->cluster, m->topics[i].name);
        row->name = m->topics[i].name;
        row->error_code = !fake_is_controller(q) ? KERR_NOT_CONTROLLER
                          : topic == NULL        ? KERR_UNKNOWN_TOPIC_OR_PARTITION
                                                 : 0;
        if (row->error_code == 0) {
            topic->name[0] = '\0';
        }
    }
    fake_encode(q, &r);
}

static inline void fake_elect(struct fake_request *q)
{
    const struct wire_elect_leaders_request *m = q->body;
    struct wire_elect_leaders_response r;
    wire_elect_leaders_response_init(&r);
    r.error_code = fake_is_controller(q) ? 0 : KERR_NOT_CONTROLLER;
    int32_t count = r.error_code == 0 ? MAX(m->topic_partitions_count, 0) : 0;
    r.replica_election_results = fake_array(q, count, sizeof *r.replica_election_results);
    r.replica_election_results_count = count;
    for (int32_t t = 0; t < count; t++) {
        struct wire_elect_leaders_response_replica_election_results *row =
            &r.replica_election_results[t];
        struct fake_topic *topic = fake_topic_find(q->cluster, m->topic_partitions[t].topic);
        row->topic = m->topic_partitions[t].topic;
        row->partition_result_count = m->topic_partitions[t].partitions_count;
        row->partition_result =
            fake_array(q, row->partition_result_count, sizeof *row->partition_result);
        for (int32_t p = 0; p < row->partition_result_count; p++) {
            int32_t index = m->topic_partitions[t].partitions[p];
            row->partition_result[p].partition_id = index;
            if (topic == NULL || index >= FAKE_PARTITIONS) {
                row->partition_result[p].error_code = KERR_UNKNOWN_TOPIC_OR_PARTITION;
            } else if (topic->partitions[index].leader ==
                       topic->partitions[index].replicas.list[0]) {
                row->partition_result[p].error_code = KERR_ELECTION_NOT_NEEDED;
            } else {
                topic->partitions[index].leader = topic->partitions[index].replicas.list[0];
            }
        }
    }
    fake_encode(q, &r);
}

/* Bytes arrive with the questions of one broker, so that a watch takes a known number of them. */
static inline void fake_copy(struct fake_cluster *f)
{
    for (int32_t t = 0; t < FAKE_TOPICS; t++) {
        for (int32_t i = 0; i < FAKE_PARTITIONS; i++) {
            struct fake_partition *p = &f->topics[t].partitions[i];
            if (f->topics[t].name[0] == '\0' || !fake_is_moving(p)) {
                continue;
            }
            if (p->is_paused || f->does_not_advance) {
                continue;
            }
            if (p->arrived >= p->size && f->copy_per_poll > 0) {
                fake_finish(p);
            }
            p->arrived += f->copy_per_poll;
        }
    }
}

static inline struct wire_describe_log_dirs_response_results_topics_partitions_details *
fake_log_details(struct fake_request *q, const struct fake_partition *p, bool is_arriving)
{
    const struct wire_describe_log_dirs_request *m = q->body;
    if (m->klamm_extensions != 1 || q->cluster->is_stock || q->cluster->has_stock_brokers) {
        return NULL;
    }
    struct wire_describe_log_dirs_response_results_topics_partitions_details *details =
        fake_array(q, 1, sizeof *details);
    bool is_limited = is_arriving && q->cluster->throttle_rate > 0;
    details->is_leader = p->leader == q->broker->id;
    details->write_rate = details->is_leader ? q->cluster->write_rate : -1;
    details->throttle_rate = is_limited ? q->cluster->throttle_rate : -1;
    return details;
}

static inline void fake_log_dirs(struct fake_request *q)
{
    struct fake_cluster *f = q->cluster;
    struct wire_describe_log_dirs_response r;
    wire_describe_log_dirs_response_init(&r);
    r.results = fake_array(q, 1, sizeof *r.results);
    r.results_count = 1;
    r.results[0].log_dir = slice_str("/data");
    r.results[0].total_bytes = 5000;
    r.results[0].usable_bytes = 4000;
    r.results[0].disk = f->has_stock_brokers ? 0 : 77;
    r.results[0].topics = fake_array(q, FAKE_TOPICS, sizeof *r.results[0].topics);
    for (int32_t t = 0; t < FAKE_TOPICS; t++) {
        if (f->topics[t].name[0] == '\0') {
            continue;
        }
        struct wire_describe_log_dirs_response_results_topics *row =
            &r.results[0].topics[r.results[0].topics_count++];
        row->name = slice_str(f->topics[t].name);
        row->partitions = fake_array(q, FAKE_PARTITIONS, sizeof *row->partitions);
        for (int32_t i = 0; i < FAKE_PARTITIONS; i++) {
            struct fake_partition *p = &f->topics[t].partitions[i];
            if (fake_ids_has(&p->replicas, q->broker->id)) {
                bool is_arriving = fake_ids_has(&p->adding, q->broker->id);
                row->partitions[row->partitions_count].partition_index = i;
                row->partitions[row->partitions_count].details =
                    fake_log_details(q, p, is_arriving);
                row->partitions[row->partitions_count++].partition_size =
                    is_arriving ? MIN(p->arrived, p->size) : p->size;
            }
        }
    }
    fake_encode(q, &r);
    if (fake_is_controller(q)) {
        fake_copy(f);
    }
}

/* What is set for the whole cluster. */
static inline void fake_cluster_configs(struct fake_request *q,
                                        struct wire_describe_configs_response_results *result)
{
    struct fake_cluster *f = q->cluster;
    result->configs = fake_array(q, FAKE_SETTINGS, sizeof *result->configs);
    result->configs_count = 0;
    for (int32_t i = 0; i < FAKE_SETTINGS; i++) {
        if (strcmp(f->settings[i].owner, FAKE_ALL_BROKERS) == 0) {
            struct wire_describe_configs_response_results_configs *config =
                &result->configs[result->configs_count++];
            wire_describe_configs_response_results_configs_init(config);
            config->name = slice_str(f->settings[i].name);
            config->value = slice_str(f->settings[i].value);
            config->config_source = 3;
        }
    }
}

static inline void fake_configs(struct fake_request *q)
{
    const struct wire_describe_configs_request *m = q->body;
    struct wire_describe_configs_response_results_configs configs[2];
    struct wire_describe_configs_response_results result;
    struct wire_describe_configs_response r;
    wire_describe_configs_response_init(&r);
    wire_describe_configs_response_results_init(&result);
    result.resource_type = m->resources[0].resource_type;
    result.resource_name = m->resources[0].resource_name;
    result.configs = configs;
    result.configs_count = 2;
    for (int32_t i = 0; i < 2; i++) {
        wire_describe_configs_response_results_configs_init(&configs[i]);
        configs[i].name = slice_str(i == 0 ? "retention.ms" : "cleanup.policy");
        configs[i].value = slice_str(i == 0 ? "1000" : "delete");
        configs[i].config_source = i == 0 ? 1 : 5;
    }
    if (result.resource_type == 4 && result.resource_name.len == 0) {
        fake_cluster_configs(q, &result);
    }
    r.results = &result;
    r.results_count = 1;
    fake_encode(q, &r);
}

static inline struct fake_setting *fake_setting_find(struct fake_cluster *f, struct slice owner,
                                                     struct slice name)
{
    for (int32_t i = 0; i < FAKE_SETTINGS; i++) {
        struct fake_setting *setting = &f->settings[i];
        if (setting->owner[0] != '\0' && slice_equal_str(owner, setting->owner) &&
            slice_equal_str(name, setting->name)) {
            return setting;
        }
    }
    return NULL;
}

static inline void fake_setting_put(struct fake_cluster *f, struct slice owner, struct slice name,
                                    struct slice value)
{
    struct fake_setting *setting = fake_setting_find(f, owner, name);
    for (int32_t i = 0; setting == NULL; i++) {
        CHECK(i < FAKE_SETTINGS);
        setting = f->settings[i].owner[0] == '\0' ? &f->settings[i] : NULL;
    }
    snprintf(setting->owner, sizeof setting->owner, "%.*s", SLICE_ARG(owner));
    snprintf(setting->name, sizeof setting->name, "%.*s", SLICE_ARG(name));
    snprintf(setting->value, sizeof setting->value, "%.*s", SLICE_ARG(value));
}

static inline int16_t
fake_alter_settings_of(struct fake_request *q,
                       const struct wire_incremental_alter_configs_request_resources *asked)
{
    struct fake_cluster *f = q->cluster;
    char id[16];
    snprintf(id, sizeof id, "%d", q->broker->id);
    bool is_cluster = asked->resource_type == 4 && asked->resource_name.len == 0;
    struct slice owner = is_cluster ? slice_str(FAKE_ALL_BROKERS) : asked->resource_name;
    bool is_served = asked->resource_type == 2
                         ? fake_topic_find(f, asked->resource_name) != NULL
                         : is_cluster || slice_equal_str(asked->resource_name, id);
    if (!is_served || f->settings_code != 0) {
        return is_served ? f->settings_code : KERR_UNKNOWN_TOPIC_OR_PARTITION;
    }
    for (int32_t i = 0; i < asked->configs_count; i++) {
        struct fake_setting *held = fake_setting_find(f, owner, asked->configs[i].name);
        if (asked->configs[i].config_operation == 0) {
            fake_setting_put(f, owner, asked->configs[i].name, asked->configs[i].value);
        } else if (held != NULL) {
            held->owner[0] = '\0';
        }
    }
    return 0;
}

static inline void fake_alter_settings(struct fake_request *q)
{
    const struct wire_incremental_alter_configs_request *m = q->body;
    struct wire_incremental_alter_configs_response r;
    wire_incremental_alter_configs_response_init(&r);
    q->cluster->alters_at_settings = q->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS];
    r.responses = fake_array(q, m->resources_count, sizeof *r.responses);
    r.responses_count = m->resources_count;
    for (int32_t i = 0; i < m->resources_count; i++) {
        /* Backwards: clients must not rely on the order. */
        struct wire_incremental_alter_configs_response_responses *row =
            &r.responses[m->resources_count - 1 - i];
        row->resource_type = m->resources[i].resource_type;
        row->resource_name = m->resources[i].resource_name;
        row->error_code = fake_alter_settings_of(q, &m->resources[i]);
        row->error_message =
            row->error_code == KERR_INVALID_CONFIG ? slice_str("a bad value") : SLICE_NULL;
    }
    fake_encode(q, &r);
}

/* ---- the servers ---- */

/* NULL: what no test asks for. */
static inline void (*fake_handler(int16_t key))(struct fake_request *q)
{
    static void (*const handlers[])(struct fake_request * q) = {
        [WIRE_KEY_METADATA] = fake_metadata,
        [WIRE_KEY_API_VERSIONS] = fake_api_versions,
        [WIRE_KEY_CREATE_TOPICS] = fake_create,
        [WIRE_KEY_DELETE_TOPICS] = fake_delete,
        [WIRE_KEY_DESCRIBE_CONFIGS] = fake_configs,
        [WIRE_KEY_DESCRIBE_LOG_DIRS] = fake_log_dirs,
        [WIRE_KEY_ELECT_LEADERS] = fake_elect,
        [WIRE_KEY_INCREMENTAL_ALTER_CONFIGS] = fake_alter_settings,
        [WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS] = fake_alter,
        [WIRE_KEY_LIST_PARTITION_REASSIGNMENTS] = fake_list,
    };
    return key >= 0 && key < (int16_t)ARRAY_LEN(handlers) ? handlers[key] : NULL;
}

static inline void fake_answer(struct fake_request *q)
{
    fake_handler(q->header.api_key)(q);
}

static inline void fake_on_request(void *arg, struct net_request *request)
{
    struct fake_broker *broker = arg;
    struct fake_cluster *f = broker->cluster;
    struct fake_request q = {.cluster = f, .broker = broker};
    struct reader r;
    pthread_mutex_lock(&f->lock);
    reader_init(&r, slice_of(request->frame->data, request->frame->len));
    /* A client of another test may still look for a broker that had our port before us. */
    if (wire_request_header_read(&q.header, &r) != 0 || fake_handler(q.header.api_key) == NULL) {
        net_close_conn(request);
        pthread_mutex_unlock(&f->lock);
        return;
    }
    const struct wire_api *api = wire_api_find(q.header.api_key);
    arena_init(&q.arena, 1 << 20);
    buf_init(&q.out);
    q.body = fake_array(&q, 1, wire_message_size(api->request));
    CHECK(wire_message_decode(api->request, q.body, &r, q.header.api_version, &q.arena) == 0);
    CHECK(wire_reader_finish(&r) == 0);
    f->counts[q.header.api_key]++;
    if (q.header.api_key == WIRE_KEY_DESCRIBE_LOG_DIRS &&
        f->counts[WIRE_KEY_DESCRIBE_LOG_DIRS] == f->interrupt_at) {
        CHECK(kill(getpid(), SIGINT) == 0);
    }
    bool is_forgotten =
        f->forgets_answers && q.header.api_key == WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS;
    if (is_forgotten) {
        f->forgets_answers = false;
        fake_answer(&q);
        net_close_conn(request);
        buf_deinit(&q.out);
    } else if (q.header.api_key == f->drop_key && f->drops > 0 && f->keeps_silent) {
        f->drops--;
        CHECK(f->held == NULL);
        f->held = request;
        buf_deinit(&q.out);
    } else if (q.header.api_key == f->drop_key && f->drops > 0) {
        f->drops--;
        net_close_conn(request);
        buf_deinit(&q.out);
    } else {
        wire_response_header_write(&q.header, &q.out);
        fake_answer(&q);
        net_respond(request, &q.out, NULL, 0);
    }
    arena_deinit(&q.arena);
    pthread_mutex_unlock(&f->lock);
}

/* Topic foo exists; broker 1 is the controller. */
static inline struct fake_cluster *fake_cluster_new(void)
{
    struct fake_cluster *f = xalloc(sizeof *f);
    struct errmsg em = {""};
    pthread_mutex_init(&f->lock, NULL);
    f->controller_id = 1;
    f->missing_key = f->drop_key = -1;
    f->copy_per_poll = 500;
    fake_topic_add(f, slice_str("foo"));
    f->env = loop_new(&(struct loop_config){.name = "fake"}, &em);
    CHECK(f->env != NULL);
    for (int32_t i = 0; i < FAKE_BROKERS; i++) {
        struct fake_broker *broker = &f->brokers[i];
        struct net_server_config config = {.host = "127.0.0.1",
                                           .connections_max = 100,
                                           .request_bytes_max = 1 << 20,
                                           .requests_in_flight_max = 10,
                                           .output_bytes_max = 1 << 20,
                                           .idle_ms = 600000};
        *broker = (struct fake_broker){.cluster = f, .id = i + 1};
        CHECK(net_server_new(f->env, &config, fake_on_request, NULL, broker, &broker->server,
                             &em) == 0);
        broker->port = net_server_port(broker->server);
    }
    CHECK(loop_start(f->env, &em) == 0);
    return f;
}

static inline void fake_close_all(void *arg)
{
    struct fake_cluster *f = arg;
    if (f->held != NULL) {
        net_no_response(f->held);
    }
    for (int32_t i = 0; i < FAKE_BROKERS; i++) {
        if (f->brokers[i].server != NULL) {
            net_server_close(f->brokers[i].server);
            net_server_free(f->brokers[i].server);
        }
    }
    loop_stop(f->env);
}

static inline void fake_cluster_free(struct fake_cluster *f)
{
    env_post(f->env, fake_close_all, f);
    loop_free(f->env);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static inline void fake_close_one(void *arg)
{
    struct fake_broker *broker = arg;
    struct net_server *server = broker->server;
    pthread_mutex_lock(&broker->cluster->lock);
    broker->server = NULL;
    pthread_mutex_unlock(&broker->cluster->lock);
    net_server_close(server);
    net_server_free(server);
}

/* What is stored for the topic or broker of that name; NULL = nothing. A copy that the caller frees. */
static inline char *fake_setting(struct fake_cluster *f, const char *owner, const char *name)
{
    pthread_mutex_lock(&f->lock);
    const struct fake_setting *setting = fake_setting_find(f, slice_str(owner), slice_str(name));
    char *value = setting == NULL ? NULL : xstrdup(setting->value);
    pthread_mutex_unlock(&f->lock);
    return value;
}

/* The broker is gone; returns before that is done. */
static inline void fake_kill(struct fake_cluster *f, int32_t id)
{
    env_post(f->env, fake_close_one, &f->brokers[id - 1]);
}

/* Broker 1 and broker 2. The caller frees it. */
static inline char *fake_bootstrap(const struct fake_cluster *f)
{
    return xasprintf("127.0.0.1:%u, 127.0.0.1:%u", (unsigned)f->brokers[0].port,
                     (unsigned)f->brokers[1].port);
}
