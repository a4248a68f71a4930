/*
 * The metadata cache: brokers are replaced as a whole, partitions change one by one, ids map to names.
 */
#include "broker/metadata/metadata.h"

#include "base/check.h"
#include "wire/update_metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct uuid id_of(uint8_t n)
{
    struct uuid id = UUID_ZERO;
    id.bytes[0] = n;
    return id;
}

/* An update that names one partition, led by leader, of a topic with this id. */
static void update(struct metadata *m, const char *topic, struct uuid id, int32_t partition,
                   int32_t leader)
{
    int32_t replicas[] = {1, 2};
    struct wire_update_metadata_request_topic_states_partition_states state = {
        .partition_index = partition,
        .leader = leader,
        .leader_epoch = 4,
        .zk_version = 9,
        .isr = replicas,
        .isr_count = 1,
        .replicas = replicas,
        .replicas_count = 2,
    };
    struct wire_update_metadata_request_topic_states states = {.topic_name = slice_str(topic),
                                                               .topic_id = id,
                                                               .partition_states = &state,
                                                               .partition_states_count = 1};
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    req.controller_id = 1;
    req.topic_states = &states;
    req.topic_states_count = 1;
    metadata_update(m, &req);
}

static void update_brokers(struct metadata *m, const int32_t *ids, int32_t count)
{
    struct wire_update_metadata_request_live_brokers brokers[4] = {{0}};
    struct wire_update_metadata_request_live_brokers_endpoints endpoints[] = {
        {.port = 1, .host = slice_str("tls"), .listener = slice_str("SSL"), .security_protocol = 1},
        {.port = 9092, .host = slice_str("plain"), .listener = slice_str("PLAINTEXT")},
    };
    struct wire_update_metadata_request req;
    wire_update_metadata_request_init(&req);
    assert_true(count <= 4);
    for (int32_t i = 0; i < count; i++) {
        brokers[i].id = ids[i];
        brokers[i].endpoints = endpoints;
        brokers[i].endpoints_count = 2;
    }
    req.controller_id = 5;
    req.live_brokers = brokers;
    req.live_brokers_count = count;
    metadata_update(m, &req);
}

static void brokers_are_replaced_and_sorted(void **state)
{
    (void)state;
    struct metadata *m = metadata_new("PLAINTEXT");
    assert_false(metadata_is_known(m));
    assert_int_equal(metadata_controller(m), -1);
    update_brokers(m, (int32_t[]){7, 3, 5}, 3);
    assert_true(metadata_is_known(m));
    assert_int_equal(metadata_controller(m), 5);
    assert_int_equal(metadata_broker_count(m), 3);
    assert_int_equal(metadata_broker_at(m, 0)->id, 3);
    assert_int_equal(metadata_broker_at(m, 2)->id, 7);
    assert_string_equal(metadata_broker_find(m, 5)->host, "plain");
    assert_int_equal(metadata_broker_find(m, 5)->port, 9092);
    update_brokers(m, (int32_t[]){3}, 1);
    assert_int_equal(metadata_broker_count(m), 1);
    assert_null(metadata_broker_find(m, 5));
    metadata_free(m);
}

static void brokers_without_our_listener_are_left_out(void **state)
{
    (void)state;
    struct metadata *m = metadata_new("INTERNAL");
    update_brokers(m, (int32_t[]){3}, 1);
    assert_int_equal(metadata_broker_count(m), 0);
    assert_null(metadata_broker_find(m, 3));
    metadata_free(m);
}

static void partitions_that_are_not_named_stay(void **state)
{
    (void)state;
    struct metadata *m = metadata_new("PLAINTEXT");
    update(m, "t", id_of(1), 2, 1);
    update(m, "t", id_of(1), 0, 2);
    const struct metadata_topic *topic = metadata_topic_find(m, slice_str("t"));
    assert_non_null(topic);
    assert_int_equal(topic->partition_count, 2);
    assert_int_equal(topic->partitions[0].index, 0);
    assert_int_equal(topic->partitions[1].index, 2);
    assert_null(metadata_partition_find(topic, 1));
    const struct metadata_partition *p = metadata_partition_find(topic, 2);
    assert_int_equal(p->leader, 1);
    assert_int_equal(p->leader_epoch, 4);
    assert_int_equal(p->partition_epoch, 9);
    assert_int_equal(p->replicas.count, 2);
    assert_int_equal(p->isr.count, 1);
    metadata_free(m);
}

/* Leader -2 forgets; the topic goes with its last partition, and its id too. */
static void deleted_partitions_are_forgotten(void **state)
{
    (void)state;
    struct metadata *m = metadata_new("PLAINTEXT");
    update(m, "t", id_of(1), 0, 1);
    update(m, "t", id_of(1), 1, 1);
    update(m, "t", id_of(1), 0, -2);
    assert_int_equal(metadata_topic_find(m, slice_str("t"))->partition_count, 1);
    update(m, "t", id_of(1), 1, -2);
    update(m, "gone", id_of(3), 0, -2);
    assert_null(metadata_topic_find(m, slice_str("t")));
    assert_null(metadata_topic_find_id(m, id_of(1)));
    assert_int_equal(metadata_topic_count(m), 0);
    metadata_free(m);
}

static void recreated_topic_drops_what_the_old_one_had(void **state)
{
    (void)state;
    struct metadata *m = metadata_new("PLAINTEXT");
    update(m, "t", id_of(1), 0, 1);
    update(m, "t", id_of(1), 1, 1);
    update(m, "t", id_of(2), 0, 1);
    assert_null(metadata_topic_find_id(m, id_of(1)));
    const struct metadata_topic *topic = metadata_topic_find_id(m, id_of(2));
    assert_non_null(topic);
    assert_string_equal(topic->name, "t");
    assert_int_equal(topic->partition_count, 1);
    metadata_free(m);
}

static void topics_are_walked_in_order_of_name(void **state)
{
    (void)state;
    static const char *const names[] = {"b", "c", "a", "ab"};
    static const char *const sorted[] = {"a", "ab", "b", "c"};
    struct metadata *m = metadata_new("PLAINTEXT");
    for (uint8_t i = 0; i < ARRAY_LEN(names); i++) {
        update(m, names[i], id_of(i), 0, 1);
    }
    const struct metadata_topic *topic = NULL;
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
        topic = metadata_topic_next(m, topic);
        assert_non_null(topic);
        assert_string_equal(topic->name, sorted[i]);
    }
    assert_null(metadata_topic_next(m, topic));
    metadata_free(m);
}

static void malformed_entries_are_skipped(void **state)
{
    (void)state;
    struct metadata *m = metadata_new("PLAINTEXT");
    update(m, "", id_of(1), 0, 1);
    update(m, "t", id_of(1), -1, 1);
    assert_int_equal(metadata_topic_count(m), 0);
    metadata_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brokers_are_replaced_and_sorted),
        cmocka_unit_test(brokers_without_our_listener_are_left_out),
        cmocka_unit_test(partitions_that_are_not_named_stay),
        cmocka_unit_test(deleted_partitions_are_forgotten),
        cmocka_unit_test(recreated_topic_drops_what_the_old_one_had),
        cmocka_unit_test(topics_are_walked_in_order_of_name),
        cmocka_unit_test(malformed_entries_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
