/*
 * The controller's requests as Kafka's bytes, in the versions of its inter.broker.protocol.version
 * (docs/spec/zookeeper-mode.md 7 to 9, 12). What a version has no field for is left out. StopReplica
 * says once for all its partitions whether they are deleted, below version 3.
 * Pure but for memory.
 */
#include "broker/controller/private.h"

#include "wire/header.h"
#include "wire/leader_and_isr.h"
#include "wire/stop_replica.h"
#include "wire/update_metadata.h"

#define ENCODE_BYTES_MAX         ((size_t)1 << 30)
#define STOP_REPLICA_WITH_EPOCHS 3 /* the first version that tells leader epochs */
#define LEADER_AND_ISR_WITH_IDS  5 /* the first version that is answered by topic id */

static void *array(struct arena *a, int32_t count, size_t size)
{
    void *list = arena_array(a, (size_t)count + 1, size);
    CHECK(list != NULL);
    return list;
}

/* How many topics the request names, and how many partitions of one lie from `at` on. */
static int32_t topic_count(const struct control_send *send)
{
    int32_t count = 0;
    for (int32_t i = 0; i < send->partition_count; i++) {
        count += i == 0 || !slice_equal(send->partitions[i - 1].topic, send->partitions[i].topic);
    }
    return count;
}

static int32_t run_length(const struct control_send *send, int32_t at)
{
    int32_t end = at + 1;
    while (end < send->partition_count &&
           slice_equal(send->partitions[at].topic, send->partitions[end].topic)) {
        end++;
    }
    return end - at;
}

const struct model_endpoint *controller_endpoint(const struct model_broker *b, const char *listener)
{
    for (int32_t i = 0; i < b->endpoint_count; i++) {
        if (slice_equal_str(slice_str(b->endpoints[i].listener), listener)) {
            return &b->endpoints[i];
        }
    }
    return NULL;
}

/* ---- LeaderAndIsr ---- */

static void leader_state(struct wire_leader_and_isr_request_topic_states_partition_states *to,
                         const struct control_partition *p)
{
    wire_leader_and_isr_request_topic_states_partition_states_init(to);
    to->partition_index = p->partition;
    to->controller_epoch = p->state.controller_epoch;
    to->leader = p->state.leader;
    to->leader_epoch = p->state.leader_epoch;
    to->isr = p->state.isr.list;
    to->isr_count = p->state.isr.count;
    to->partition_epoch = p->state.version;
    to->replicas = p->replicas.list;
    to->replicas_count = p->replicas.count;
    to->adding_replicas = p->adding.list;
    to->adding_replicas_count = p->adding.count;
    to->removing_replicas = p->removing.list;
    to->removing_replicas_count = p->removing.count;
    to->is_new = p->is_new;
    to->leader_recovery_state = (int8_t)p->state.recovery;
}

static bool is_leader_named(const struct control_send *send, int32_t id)
{
    for (int32_t i = 0; i < send->partition_count; i++) {
        if (send->partitions[i].state.leader == id) {
            return true;
        }
    }
    return false;
}

static void leaders_fill(struct wire_leader_and_isr_request *m, const struct control_send *send,
                         const char *listener, struct arena *a)
{
    m->live_leaders = array(a, send->broker_count, sizeof *m->live_leaders);
    m->live_leaders_count = 0;
    for (int32_t i = 0; i < send->broker_count; i++) {
        const struct model_broker *b = send->brokers[i];
        const struct model_endpoint *endpoint = controller_endpoint(b, listener);
        if (endpoint != NULL && is_leader_named(send, b->id)) {
            m->live_leaders[m->live_leaders_count++] =
                (struct wire_leader_and_isr_request_live_leaders){.broker_id = b->id,
                                                                  .host_name =
                                                                      slice_str(endpoint->host),
                                                                  .port = endpoint->port};
        }
    }
}

/* What the topic is created with goes to those for whom it is new. */
static void settings_fill(struct wire_leader_and_isr_request_topic_states *to,
                          const struct control_partition *p, struct arena *a)
{
    if (!p->is_new || !p->has_settings || to->settings_count >= 0) {
        return;
    }
    to->settings = array(a, p->setting_count, sizeof *to->settings);
    to->settings_count = p->setting_count;
    for (int32_t i = 0; i < p->setting_count; i++) {
        to->settings[i] = (struct wire_leader_and_isr_request_topic_states_settings){
            .key = p->settings[i].key, .value = p->settings[i].value};
    }
}

static void leader_and_isr_fill(struct wire_leader_and_isr_request *m,
                                const struct control_send *send, const char *listener,
                                struct arena *a)
{
    m->topic_states = array(a, topic_count(send), sizeof *m->topic_states);
    m->topic_states_count = 0;
    for (int32_t at = 0; at < send->partition_count;) {
        int32_t count = run_length(send, at);
        struct wire_leader_and_isr_request_topic_states *t =
            &m->topic_states[m->topic_states_count++];
        wire_leader_and_isr_request_topic_states_init(t);
        t->topic_name = send->partitions[at].topic;
        t->topic_id = send->partitions[at].topic_id;
        t->partition_states = array(a, count, sizeof *t->partition_states);
        t->partition_states_count = count;
        for (int32_t i = 0; i < count; i++) {
            leader_state(&t->partition_states[i], &send->partitions[at + i]);
            settings_fill(t, &send->partitions[at + i], a);
        }
        at += count;
    }
    leaders_fill(m, send, listener, a);
}

/* ---- StopReplica ---- */

/* Versions 1 and 2. The core never mixes deletions with others in one request. */
static void stop_replica_fill_flat(struct wire_stop_replica_request *m,
                                   const struct control_send *send, struct arena *a)
{
    m->topics = array(a, topic_count(send), sizeof *m->topics);
    m->topics_count = 0;
    m->delete_partitions = send->partition_count > 0 && send->partitions[0].is_delete;
    for (int32_t at = 0; at < send->partition_count;) {
        int32_t count = run_length(send, at);
        struct wire_stop_replica_request_topics *t = &m->topics[m->topics_count++];
        int32_t *indexes = array(a, count, sizeof *indexes);
        for (int32_t i = 0; i < count; i++) {
            CHECK(send->partitions[at + i].is_delete == m->delete_partitions);
            indexes[i] = send->partitions[at + i].partition;
        }
        *t = (struct wire_stop_replica_request_topics){.name = send->partitions[at].topic,
                                                       .partition_indexes = indexes,
                                                       .partition_indexes_count = count};
        at += count;
    }
}

static void stop_replica_fill(struct wire_stop_replica_request *m, const struct control_send *send,
                              struct arena *a)
{
    m->topic_states = array(a, topic_count(send), sizeof *m->topic_states);
    m->topic_states_count = 0;
    for (int32_t at = 0; at < send->partition_count;) {
        int32_t count = run_length(send, at);
        struct wire_stop_replica_request_topic_states *t =
            &m->topic_states[m->topic_states_count++];
        wire_stop_replica_request_topic_states_init(t);
        t->topic_name = send->partitions[at].topic;
        t->partition_states = array(a, count, sizeof *t->partition_states);
        t->partition_states_count = count;
        for (int32_t i = 0; i < count; i++) {
            const struct control_partition *p = &send->partitions[at + i];
            t->partition_states[i] =
                (struct wire_stop_replica_request_topic_states_partition_states){
                    .partition_index = p->partition,
                    .leader_epoch = p->stop_epoch,
                    .delete_partition = p->is_delete};
        }
        at += count;
    }
}

/* ---- UpdateMetadata ---- */

static void metadata_state(struct wire_update_metadata_request_topic_states_partition_states *to,
                           const struct control_partition *p)
{
    wire_update_metadata_request_topic_states_partition_states_init(to);
    to->partition_index = p->partition;
    to->controller_epoch = p->state.controller_epoch;
    to->leader = p->state.leader;
    to->leader_epoch = p->state.leader_epoch;
    to->isr = p->state.isr.list;
    to->isr_count = p->state.isr.count;
    to->zk_version = p->state.version;
    to->replicas = p->replicas.list;
    to->replicas_count = p->replicas.count;
    to->offline_replicas = p->offline.list;
    to->offline_replicas_count = p->offline.count;
}

static void brokers_fill(struct wire_update_metadata_request *m, const struct control_send *send,
                         struct arena *a)
{
    m->live_brokers = array(a, send->broker_count, sizeof *m->live_brokers);
    m->live_brokers_count = send->broker_count;
    for (int32_t i = 0; i < send->broker_count; i++) {
        const struct model_broker *b = send->brokers[i];
        struct wire_update_metadata_request_live_brokers *to = &m->live_brokers[i];
        wire_update_metadata_request_live_brokers_init(to);
        to->id = b->id;
        to->rack = slice_str(b->rack);
        to->endpoints = array(a, b->endpoint_count, sizeof *to->endpoints);
        to->endpoints_count = b->endpoint_count;
        for (int32_t k = 0; k < b->endpoint_count; k++) {
            to->endpoints[k] = (struct wire_update_metadata_request_live_brokers_endpoints){
                .port = b->endpoints[k].port,
                .host = slice_str(b->endpoints[k].host),
                .listener = slice_str(b->endpoints[k].listener),
                .security_protocol = b->endpoints[k].security_protocol};
        }
    }
}

static void update_metadata_fill(struct wire_update_metadata_request *m,
                                 const struct control_send *send, struct arena *a)
{
    m->topic_states = array(a, topic_count(send), sizeof *m->topic_states);
    m->topic_states_count = 0;
    for (int32_t at = 0; at < send->partition_count;) {
        int32_t count = run_length(send, at);
        struct wire_update_metadata_request_topic_states *t =
            &m->topic_states[m->topic_states_count++];
        wire_update_metadata_request_topic_states_init(t);
        t->topic_name = send->partitions[at].topic;
        t->topic_id = send->partitions[at].topic_id;
        t->partition_states = array(a, count, sizeof *t->partition_states);
        t->partition_states_count = count;
        for (int32_t i = 0; i < count; i++) {
            metadata_state(&t->partition_states[i], &send->partitions[at + i]);
        }
        at += count;
    }
    brokers_fill(m, send, a);
}

/* ---- any ---- */

static int16_t key_of(enum control_send_kind kind)
{
    return kind == CONTROL_SEND_LEADER_AND_ISR ? WIRE_KEY_LEADER_AND_ISR
           : kind == CONTROL_SEND_STOP_REPLICA ? WIRE_KEY_STOP_REPLICA
                                               : WIRE_KEY_UPDATE_METADATA;
}

static int16_t version_of(enum control_send_kind kind, enum ibp level)
{
    return ibp_version(level, kind == CONTROL_SEND_LEADER_AND_ISR ? IBP_CALL_LEADER_AND_ISR
                              : kind == CONTROL_SEND_STOP_REPLICA ? IBP_CALL_STOP_REPLICA
                                                                  : IBP_CALL_UPDATE_METADATA);
}

static void header_encode(struct buf *b, enum control_send_kind kind, int16_t version,
                          int32_t controller_id)
{
    struct buf client_id;
    buf_init(&client_id);
    buf_putf(&client_id, "%d", controller_id);
    struct wire_request_header header;
    wire_request_header_init(&header);
    header.api_key = key_of(kind);
    header.api_version = version;
    header.client_id = buf_slice(&client_id);
    wire_request_header_write(&header, b);
    buf_deinit(&client_id);
}

void controller_encode(struct buf *b, const struct control_send *send,
                       const struct controller_sender *sender)
{
    struct arena a;
    int16_t version = version_of(send->kind, sender->level);
    arena_init(&a, ENCODE_BYTES_MAX);
    header_encode(b, send->kind, version, sender->controller_id);
    if (send->kind == CONTROL_SEND_LEADER_AND_ISR) {
        struct wire_leader_and_isr_request m;
        wire_leader_and_isr_request_init(&m);
        m.controller_id = sender->controller_id;
        m.controller_epoch = send->controller_epoch;
        m.broker_epoch = sender->broker_epoch;
        leader_and_isr_fill(&m, send, sender->listener, &a);
        wire_leader_and_isr_request_encode(&m, b, version);
    } else if (send->kind == CONTROL_SEND_STOP_REPLICA) {
        struct wire_stop_replica_request m;
        wire_stop_replica_request_init(&m);
        m.controller_id = sender->controller_id;
        m.controller_epoch = send->controller_epoch;
        m.broker_epoch = sender->broker_epoch;
        if (version < STOP_REPLICA_WITH_EPOCHS) {
            stop_replica_fill_flat(&m, send, &a);
        } else {
            stop_replica_fill(&m, send, &a);
        }
        wire_stop_replica_request_encode(&m, b, version);
    } else {
        struct wire_update_metadata_request m;
        wire_update_metadata_request_init(&m);
        m.controller_id = sender->controller_id;
        m.controller_epoch = send->controller_epoch;
        m.broker_epoch = sender->broker_epoch;
        if (send->partition_count == 0) {
            controller_limits_fill(sender->limits, &m);
        }
        update_metadata_fill(&m, send, &a);
        wire_update_metadata_request_encode(&m, b, version);
    }
    arena_deinit(&a);
}

/* ---- answers ---- */

static int answers_by_name(const struct wire_leader_and_isr_response *m, struct arena *a,
                           struct control_event *event)
{
    int32_t count = MAX(m->partition_errors_count, 0);
    struct control_answer_partition *list = arena_array(a, (size_t)count + 1, sizeof *list);
    if (list == NULL) {
        return -E_TOO_LARGE;
    }
    for (int32_t i = 0; i < count; i++) {
        list[i] =
            (struct control_answer_partition){.topic = m->partition_errors[i].topic_name,
                                              .partition = m->partition_errors[i].partition_index,
                                              .error = m->partition_errors[i].error_code};
    }
    event->error = m->error_code;
    event->answers = list;
    event->answer_count = m->error_code == 0 ? count : 0;
    return 0;
}

static int leader_and_isr_answer(struct reader *r, int16_t version, struct arena *a,
                                 struct control_event *event)
{
    struct wire_leader_and_isr_response m;
    int err = wire_leader_and_isr_response_decode(&m, r, version, a);
    if (err != 0) {
        return err;
    }
    if (version < LEADER_AND_ISR_WITH_IDS) {
        return answers_by_name(&m, a, event);
    }
    int32_t total = 0;
    for (int32_t i = 0; i < m.topics_count; i++) {
        total += m.topics[i].partition_errors_count;
    }
    struct control_answer_partition *list = arena_array(a, (size_t)total + 1, sizeof *list);
    if (list == NULL) {
        return -E_TOO_LARGE;
    }
    int32_t count = 0;
    for (int32_t i = 0; i < m.topics_count; i++) {
        for (int32_t k = 0; k < m.topics[i].partition_errors_count; k++) {
            list[count++] = (struct control_answer_partition){
                .topic_id = m.topics[i].topic_id,
                .partition = m.topics[i].partition_errors[k].partition_index,
                .error = m.topics[i].partition_errors[k].error_code};
        }
    }
    event->error = m.error_code;
    event->answers = list;
    event->answer_count = m.error_code == 0 ? count : 0;
    return 0;
}

static int stop_replica_answer(struct reader *r, int16_t version, struct arena *a,
                               struct control_event *event)
{
    struct wire_stop_replica_response m;
    int err = wire_stop_replica_response_decode(&m, r, version, a);
    if (err != 0) {
        return err;
    }
    int32_t count = MAX(m.partition_errors_count, 0);
    struct control_answer_partition *list = arena_array(a, (size_t)count + 1, sizeof *list);
    if (list == NULL) {
        return -E_TOO_LARGE;
    }
    for (int32_t i = 0; i < count; i++) {
        list[i] =
            (struct control_answer_partition){.topic = m.partition_errors[i].topic_name,
                                              .partition = m.partition_errors[i].partition_index,
                                              .error = m.partition_errors[i].error_code};
    }
    event->error = m.error_code;
    event->answers = list;
    event->answer_count = m.error_code == 0 ? count : 0;
    return 0;
}

int controller_decode_answer(struct slice payload, enum ibp level, struct arena *a,
                             struct control_event *event)
{
    struct reader r;
    struct wire_response_header header;
    enum control_send_kind kind = event->send_kind;
    int16_t version = version_of(kind, level);
    reader_init(&r, payload);
    int err = wire_response_header_read(&header, &r, key_of(kind), version);
    if (err != 0) {
        return err;
    }
    if (kind == CONTROL_SEND_LEADER_AND_ISR) {
        return leader_and_isr_answer(&r, version, a, event);
    }
    if (kind == CONTROL_SEND_STOP_REPLICA) {
        return stop_replica_answer(&r, version, a, event);
    }
    struct wire_update_metadata_response m;
    err = wire_update_metadata_response_decode(&m, &r, version, a);
    event->error = err == 0 ? m.error_code : 0;
    return err;
}
