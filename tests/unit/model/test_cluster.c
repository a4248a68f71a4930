/*
 * The cluster nouns: copies own their memory, equality is of what is stored.
 */
#include "model/cluster.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct model_broker broker_new(int32_t id)
{
    struct model_broker b = {.id = id, .epoch = 7, .rack = xstrdup("r1"), .endpoint_count = 1};
    b.endpoints = xalloc(sizeof *b.endpoints);
    b.endpoints[0] = (struct model_endpoint){xstrdup("PLAINTEXT"), xstrdup("127.0.0.1"), 9092, 0};
    return b;
}

static void a_copied_broker_is_equal_and_independent(void **state)
{
    (void)state;
    struct model_broker a = broker_new(1);
    struct model_broker b = broker_new(2);
    model_broker_copy(&b, &a);
    assert_true(model_broker_equal(&a, &b));
    assert_true(b.epoch == 7);
    b.epoch = 8; /* does not count */
    assert_true(model_broker_equal(&a, &b));
    b.endpoints[0].port = 9093;
    assert_false(model_broker_equal(&a, &b));
    b.endpoints[0].port = 9092;
    free(b.rack);
    b.rack = NULL;
    assert_false(model_broker_equal(&a, &b));
    model_broker_deinit(&a);
    model_broker_deinit(&b);
    model_broker_deinit(NULL);
}

static void a_partition_state_is_equal_but_for_its_version(void **state)
{
    (void)state;
    struct model_partition_state a = {.controller_epoch = 1, .leader = 2, .leader_epoch = 3};
    struct model_partition_state b = {0};
    ids_add(&a.isr, 2);
    model_partition_state_copy(&b, &a);
    b.version = 9;
    assert_true(model_partition_state_equal(&a, &b));
    ids_add(&b.isr, 3);
    assert_int_equal(1, a.isr.count);
    assert_false(model_partition_state_equal(&a, &b));
    model_partition_state_copy(&b, &a);
    b.recovery = MODEL_RECOVERING;
    assert_false(model_partition_state_equal(&a, &b));
    model_partition_state_deinit(&a);
    model_partition_state_deinit(&b);
}

static void a_topic_frees_what_it_owns(void **state)
{
    (void)state;
    struct model_topic t = {.name = xstrdup("t"), .partition_count = 2};
    t.partitions = xalloc(2 * sizeof *t.partitions);
    ids_add(&t.partitions[1].replicas, 1);
    model_topic_deinit(&t);
    assert_null(t.name);
    assert_int_equal(0, t.partition_count);
    model_topic_deinit(NULL);
}

static void topic_names_follow_the_rule(void **state)
{
    (void)state;
    char longest[MODEL_TOPIC_NAME_MAX + 1];
    memset(longest, 'a', sizeof longest);
    assert_true(model_topic_name_is_valid(slice_of(longest, MODEL_TOPIC_NAME_MAX)));
    assert_false(model_topic_name_is_valid(slice_of(longest, sizeof longest)));
    static const char *const good[] = {"a", "A.b_c-9", "...", "__consumer_offsets"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(model_topic_name_is_valid(slice_str(good[i])));
    }
    static const char *const bad[] = {"", ".", "..", "a b", "a/b", "\xc3\xa9", "a:b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(model_topic_name_is_valid(slice_str(bad[i])));
    }
    assert_false(model_topic_name_is_valid(SLICE_NULL));
    assert_false(model_topic_name_is_valid(slice_of("a\0b", 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copied_broker_is_equal_and_independent),
        cmocka_unit_test(a_partition_state_is_equal_but_for_its_version),
        cmocka_unit_test(a_topic_frees_what_it_owns),
        cmocka_unit_test(topic_names_follow_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
