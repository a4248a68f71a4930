/*
 * The controller's requests on the wire: every fact that the version has a field for arrives, at each
 * level of inter.broker.protocol.version, and the answers come back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static int32_t ids_a[] = {4, 5, 1, 2};
static int32_t ids_b[] = {1, 2};
static int32_t ids_c[] = {4, 5};

static struct control_partition partition(const char *topic, int32_t index)
{
    return (struct control_partition){.topic = slice_str(topic),
                                      .topic_id = {{7}},
                                      .partition = index,
                                      .state = {.controller_epoch = 3,
                                                .leader = 1,
                                                .leader_epoch = 8,
                                                .isr = {.count = 2, .list = ids_b},
                                                .recovery = MODEL_RECOVERING,
                                                .version = 11},
                                      .replicas = {.count = 4, .list = ids_a},
                                      .adding = {.count = 2, .list = ids_c},
                                      .removing = {.count = 2, .list = ids_b},
                                      .offline = {.count = 1, .list = ids_c},
                                      .is_new = index == 1,
                                      .stop_epoch = index == 1 ? -2 : 8,
                                      .is_delete = index == 1};
}

static struct model_endpoint endpoints[] = {
    {.listener = (char[]){"CLIENT"}, .host = (char[]){"c"}, .port = 1},
    {.listener = (char[]){"INTERNAL"}, .host = (char[]){"h"}, .port = 2, .security_protocol = 1}};
static const struct model_broker broker = {
    .id = 1, .epoch = 40, .rack = (char[]){"r"}, .endpoints = endpoints, .endpoint_count = 2};

/* The body after the header, which is checked. */
/* What is expected of one request. */
struct form {
    enum control_send_kind kind;
    enum ibp level;
    int16_t version;
};

static struct reader encode_at(struct buf *b, const struct form *form,
                               const struct control_partition *partitions, int32_t count)
{
    const struct model_broker *brokers[] = {&broker};
    struct control_send send = {.kind = form->kind,
                                .controller_epoch = 3,
                                .partitions = partitions,
                                .partition_count = count,
                                .brokers = brokers,
                                .broker_count = 1};
    buf_init(b);
    struct controller_sender sender = {
        .controller_id = 9, .listener = "INTERNAL", .level = form->level, .broker_epoch = 77};
    controller_encode(b, &send, &sender);
    assert_false(buf_failed(b));
    struct reader r;
    struct wire_request_header header;
    reader_init(&r, buf_slice(b));
    assert_int_equal(wire_request_header_read(&header, &r), 0);
    assert_int_equal(header.api_version, form->version);
    assert_true(slice_equal_str(header.client_id, "9"));
    return r;
}

static struct reader encode(struct buf *b, enum control_send_kind kind,
                            const struct control_partition *partitions, int32_t count,
                            int16_t version)
{
    return encode_at(b, &(struct form){kind, IBP_NEWEST, version}, partitions, count);
}

static void leader_and_isr_carries_the_triple(void **state)
{
    (void)state;
    struct buf b;
    struct arena a;
    arena_init(&a, 1 << 20);
    struct control_partition list[] = {partition("x", 0), partition("x", 1), partition("y", 0)};
    struct reader r = encode(&b, CONTROL_SEND_LEADER_AND_ISR, list, 3, 7);
    struct wire_leader_and_isr_request m;
    assert_int_equal(wire_leader_and_isr_request_decode(&m, &r, 7, &a), 0);
    assert_int_equal(wire_reader_finish(&r), 0);
    assert_int_equal(m.controller_id, 9);
    assert_int_equal(m.controller_epoch, 3);
    assert_int_equal(m.broker_epoch, 77);
    assert_int_equal(m.type, 0);
    assert_false(m.is_k_raft_controller);
    assert_int_equal(m.topic_states_count, 2);
    assert_int_equal(m.topic_states[0].partition_states_count, 2);
    assert_int_equal(m.topic_states[0].topic_id.bytes[0], 7);
    const struct wire_leader_and_isr_request_topic_states_partition_states *p =
        &m.topic_states[0].partition_states[1];
    assert_int_equal(p->partition_index, 1);
    assert_int_equal(p->leader, 1);
    assert_int_equal(p->leader_epoch, 8);
    assert_int_equal(p->partition_epoch, 11);
    assert_int_equal(p->leader_recovery_state, 1);
    assert_true(p->is_new);
    assert_int_equal(p->replicas_count, 4);
    assert_memory_equal(p->replicas, ids_a, sizeof ids_a);
    assert_memory_equal(p->isr, ids_b, sizeof ids_b);
    assert_memory_equal(p->adding_replicas, ids_c, sizeof ids_c);
    assert_memory_equal(p->removing_replicas, ids_b, sizeof ids_b);
    assert_int_equal(m.live_leaders_count, 1);
    assert_true(slice_equal_str(m.live_leaders[0].host_name, "h"));
    assert_int_equal(m.live_leaders[0].port, 2);
    arena_deinit(&a);
    buf_deinit(&b);
}

/* Of a topic that is being created, and only with a partition that is new. */
static void leader_and_isr_carries_settings_of_new_topics(void **state)
{
    (void)state;
    static const struct model_setting settings[] = {
        {{(const uint8_t *)"retention.ms", 12}, {(const uint8_t *)"5", 1}}};
    struct buf b;
    struct arena a;
    arena_init(&a, 1 << 20);
    struct control_partition list[] = {partition("x", 0), partition("x", 1), partition("y", 0),
                                       partition("z", 1)};
    for (size_t i = 0; i < ARRAY_LEN(list); i++) {
        list[i].has_settings = true;
        list[i].settings = settings;
        list[i].setting_count = i < 3;
    }
    struct reader r = encode(&b, CONTROL_SEND_LEADER_AND_ISR, list, 4, 7);
    struct wire_leader_and_isr_request m;
    assert_int_equal(wire_leader_and_isr_request_decode(&m, &r, 7, &a), 0);
    assert_int_equal(m.topic_states[0].settings_count, 1);
    assert_true(slice_equal_str(m.topic_states[0].settings[0].key, "retention.ms"));
    assert_true(slice_equal_str(m.topic_states[0].settings[0].value, "5"));
    assert_int_equal(m.topic_states[1].settings_count, -1); /* not new */
    assert_int_equal(m.topic_states[2].settings_count, 0);  /* without any, which is told too */
    arena_deinit(&a);
    buf_deinit(&b);
}

static void stop_replica_carries_epoch_and_deletion(void **state)
{
    (void)state;
    struct buf b;
    struct arena a;
    arena_init(&a, 1 << 20);
    struct control_partition list[] = {partition("x", 0), partition("x", 1)};
    struct reader r = encode(&b, CONTROL_SEND_STOP_REPLICA, list, 2, 4);
    struct wire_stop_replica_request m;
    assert_int_equal(wire_stop_replica_request_decode(&m, &r, 4, &a), 0);
    assert_int_equal(m.broker_epoch, 77);
    assert_int_equal(m.topic_states_count, 1);
    assert_int_equal(m.topic_states[0].partition_states[0].leader_epoch, 8);
    assert_false(m.topic_states[0].partition_states[0].delete_partition);
    assert_int_equal(m.topic_states[0].partition_states[1].leader_epoch, -2);
    assert_true(m.topic_states[0].partition_states[1].delete_partition);
    arena_deinit(&a);
    buf_deinit(&b);
}

static void update_metadata_carries_all_brokers(void **state)
{
    (void)state;
    struct buf b;
    struct arena a;
    arena_init(&a, 1 << 20);
    struct control_partition list[] = {partition("x", 0)};
    struct reader r = encode(&b, CONTROL_SEND_UPDATE_METADATA, list, 1, 8);
    struct wire_update_metadata_request m;
    assert_int_equal(wire_update_metadata_request_decode(&m, &r, 8, &a), 0);
    assert_int_equal(m.live_brokers_count, 1);
    assert_true(slice_equal_str(m.live_brokers[0].rack, "r"));
    assert_int_equal(m.live_brokers[0].endpoints_count, 2);
    assert_true(slice_equal_str(m.live_brokers[0].endpoints[1].listener, "INTERNAL"));
    assert_int_equal(m.live_brokers[0].endpoints[1].security_protocol, 1);
    assert_int_equal(m.topic_states[0].partition_states[0].zk_version, 11);
    assert_int_equal(m.topic_states[0].partition_states[0].offline_replicas_count, 1);
    arena_deinit(&a);
    buf_deinit(&b);
}

static void answers_come_back_flat(void **state)
{
    (void)state;
    struct buf b;
    struct arena a;
    arena_init(&a, 1 << 20);
    buf_init(&b);
    struct wire_request_header header = {.api_key = WIRE_KEY_LEADER_AND_ISR, .api_version = 7};
    wire_response_header_write(&header, &b);
    struct wire_leader_and_isr_response_topics_partition_errors errors[] = {{0, 0}, {3, 56}};
    struct wire_leader_and_isr_response_topics topic = {
        .topic_id = {{5}}, .partition_errors = errors, .partition_errors_count = 2};
    struct wire_leader_and_isr_response m;
    wire_leader_and_isr_response_init(&m);
    m.topics = &topic;
    m.topics_count = 1;
    wire_leader_and_isr_response_encode(&m, &b, 7);
    struct control_event event = {.kind = CONTROL_ON_ANSWER,
                                  .send_kind = CONTROL_SEND_LEADER_AND_ISR};
    assert_int_equal(controller_decode_answer(buf_slice(&b), IBP_NEWEST, &a, &event), 0);
    assert_int_equal(event.answer_count, 2);
    assert_int_equal(event.answers[1].partition, 3);
    assert_int_equal(event.answers[1].error, 56);
    assert_int_equal(event.answers[1].topic_id.bytes[0], 5);
    for (size_t len = 0; len < b.len; len++) {
        assert_int_not_equal(controller_decode_answer(slice_of(b.ptr, len), IBP_NEWEST, &a, &event),
                             0);
    }
    arena_deinit(&a);
    buf_deinit(&b);
}

/* Below 2.4-IV0 brokers are not told what comes and goes, below 2.8 no topic id, below 3.2 no
 * recovery. */
static void leader_and_isr_leaves_out_what_a_level_does_not_know(void **state)
{
    (void)state;
    static const struct {
        enum ibp level;
        int16_t version;
        bool has_moves;
        bool has_id;
        bool has_recovery;
    } rows[] = {
        {IBP_2_2_IV0, 2, false, false, false}, {IBP_2_4_IV0, 3, true, false, false},
        {IBP_2_4_IV1, 4, true, false, false},  {IBP_2_8_IV0, 4, true, false, false},
        {IBP_2_8_IV1, 5, true, true, false},   {IBP_3_2_IV0, 6, true, true, true},
        {IBP_3_4_IV0, 7, true, true, true},    {IBP_3_9_IV0, 7, true, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        struct arena a;
        arena_init(&a, 1 << 20);
        struct control_partition list[] = {partition("x", 0), partition("y", 1)};
        struct form form = {CONTROL_SEND_LEADER_AND_ISR, rows[i].level, rows[i].version};
        struct reader r = encode_at(&b, &form, list, 2);
        struct wire_leader_and_isr_request m;
        assert_int_equal(wire_leader_and_isr_request_decode(&m, &r, rows[i].version, &a), 0);
        assert_int_equal(wire_reader_finish(&r), 0);
        assert_int_equal(m.broker_epoch, 77);
        assert_int_equal(m.topic_states_count, 2);
        assert_true(slice_equal_str(m.topic_states[1].topic_name, "y"));
        assert_int_equal(m.topic_states[1].topic_id.bytes[0], rows[i].has_id ? 7 : 0);
        const struct wire_leader_and_isr_request_topic_states_partition_states *p =
            m.topic_states[1].partition_states;
        assert_int_equal(p->replicas_count, 4);
        assert_int_equal(p->adding_replicas_count, rows[i].has_moves ? 2 : 0);
        assert_int_equal(p->removing_replicas_count, rows[i].has_moves ? 2 : 0);
        assert_int_equal(p->leader_recovery_state, rows[i].has_recovery ? 1 : 0);
        assert_true(p->is_new);
        arena_deinit(&a);
        buf_deinit(&b);
    }
}

/* Below version 3 a request deletes all its partitions, or none. */
static void stop_replica_of_old_levels_has_one_flag(void **state)
{
    (void)state;
    for (int is_delete = 0; is_delete <= 1; is_delete++) {
        for (int16_t version = 1; version <= 2; version++) {
            struct buf b;
            struct arena a;
            arena_init(&a, 1 << 20);
            struct control_partition list[] = {partition("x", 0), partition("x", 1),
                                               partition("y", 3)};
            for (size_t i = 0; i < ARRAY_LEN(list); i++) {
                list[i].is_delete = is_delete;
            }
            struct form form = {CONTROL_SEND_STOP_REPLICA, version == 1 ? IBP_2_2_IV1 : IBP_2_5_IV0,
                                version};
            struct reader r = encode_at(&b, &form, list, 3);
            struct wire_stop_replica_request m;
            assert_int_equal(wire_stop_replica_request_decode(&m, &r, version, &a), 0);
            assert_int_equal(wire_reader_finish(&r), 0);
            assert_int_equal(m.broker_epoch, 77);
            assert_int_equal(m.delete_partitions, is_delete);
            assert_int_equal(m.topics_count, 2);
            assert_int_equal(m.topics[0].partition_indexes_count, 2);
            assert_int_equal(m.topics[0].partition_indexes[1], 1);
            assert_true(slice_equal_str(m.topics[1].name, "y"));
            assert_int_equal(m.topics[1].partition_indexes[0], 3);
            arena_deinit(&a);
            buf_deinit(&b);
        }
    }
}

static void update_metadata_of_each_level_has_brokers_and_states(void **state)
{
    (void)state;
    static const struct {
        enum ibp level;
        int16_t version;
    } rows[] = {{IBP_2_2_IV0, 5}, {IBP_2_4_IV1, 6}, {IBP_2_8_IV1, 7}, {IBP_3_4_IV0, 8}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct buf b;
        struct arena a;
        arena_init(&a, 1 << 20);
        struct control_partition list[] = {partition("x", 0)};
        struct form form = {CONTROL_SEND_UPDATE_METADATA, rows[i].level, rows[i].version};
        struct reader r = encode_at(&b, &form, list, 1);
        struct wire_update_metadata_request m;
        assert_int_equal(wire_update_metadata_request_decode(&m, &r, rows[i].version, &a), 0);
        assert_int_equal(wire_reader_finish(&r), 0);
        assert_int_equal(m.broker_epoch, 77);
        assert_int_equal(m.live_brokers[0].endpoints_count, 2);
        assert_int_equal(m.topic_states[0].topic_id.bytes[0], rows[i].version >= 7 ? 7 : 0);
        assert_int_equal(m.topic_states[0].partition_states[0].offline_replicas_count, 1);
        arena_deinit(&a);
        buf_deinit(&b);
    }
}

/* Up to version 4 results come with names. */
static void answers_of_old_levels_name_their_topics(void **state)
{
    (void)state;
    struct buf b;
    struct arena a;
    arena_init(&a, 1 << 20);
    buf_init(&b);
    struct wire_request_header header = {.api_key = WIRE_KEY_LEADER_AND_ISR, .api_version = 4};
    wire_response_header_write(&header, &b);
    struct wire_leader_and_isr_response_partition_errors errors[] = {{slice_str("x"), 0, 0},
                                                                     {slice_str("y"), 3, 56}};
    struct wire_leader_and_isr_response m;
    wire_leader_and_isr_response_init(&m);
    m.partition_errors = errors;
    m.partition_errors_count = 2;
    wire_leader_and_isr_response_encode(&m, &b, 4);
    struct control_event event = {.kind = CONTROL_ON_ANSWER,
                                  .send_kind = CONTROL_SEND_LEADER_AND_ISR};
    assert_int_equal(controller_decode_answer(buf_slice(&b), IBP_2_4_IV1, &a, &event), 0);
    assert_int_equal(event.answer_count, 2);
    assert_true(slice_equal_str(event.answers[1].topic, "y"));
    assert_int_equal(event.answers[1].partition, 3);
    assert_int_equal(event.answers[1].error, 56);
    for (size_t len = 0; len < b.len; len++) {
        assert_int_not_equal(
            controller_decode_answer(slice_of(b.ptr, len), IBP_2_4_IV1, &a, &event), 0);
    }
    arena_deinit(&a);
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader_and_isr_carries_the_triple),
        cmocka_unit_test(leader_and_isr_carries_settings_of_new_topics),
        cmocka_unit_test(stop_replica_carries_epoch_and_deletion),
        cmocka_unit_test(update_metadata_carries_all_brokers),
        cmocka_unit_test(answers_come_back_flat),
        cmocka_unit_test(leader_and_isr_leaves_out_what_a_level_does_not_know),
        cmocka_unit_test(stop_replica_of_old_levels_has_one_flag),
        cmocka_unit_test(update_metadata_of_each_level_has_brokers_and_states),
        cmocka_unit_test(answers_of_old_levels_name_their_topics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
