/*
 * Znodes of topics, partitions and legacy moves: golden JSON, older versions, and hostile input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/check.h"
#include "metastore/znode.h"

#include <stdio.h>
#include <stdlib.h>

#define IDS(ids, ...)                                                                              \
    ids_set(ids, (const int32_t[]){__VA_ARGS__},                                                   \
            (int32_t)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

#define assert_error(err, code, em, wanted)                                                        \
    do {                                                                                           \
        assert_string_equal(error_name(err), error_name(code));                                    \
        assert_non_null(strstr((em).text, wanted));                                                \
    } while (0)

static void assert_encoded(struct buf *b, const char *expected)
{
    assert_false(buf_failed(b));
    char *text = slice_dup(buf_slice(b));
    assert_string_equal(text, expected);
    free(text);
    buf_clear(b);
}

static void assert_ids(const struct ids *ids, const char *expected)
{
    char text[200] = "";
    for (int32_t i = 0; i < ids->count; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof text - len, i > 0 ? ",%d" : "%d", ids->list[i]);
    }
    assert_string_equal(text, expected);
}

/* Two partitions, the second in the middle of a move. */
static void topic_init(struct model_topic *topic)
{
    *topic = (struct model_topic){.name = xstrdup("t"), .partition_count = 2};
    topic->partitions = xalloc(2 * sizeof *topic->partitions);
    IDS(&topic->partitions[0].replicas, 1, 2);
    IDS(&topic->partitions[1].replicas, 4, 5, 1, 2);
    IDS(&topic->partitions[1].adding, 4, 5);
    IDS(&topic->partitions[1].removing, 1, 2);
}

static void topic_is_written_as_version_3(void **state)
{
    (void)state;
    struct model_topic topic;
    topic_init(&topic);
    struct buf b;
    buf_init(&b);
    metastore_topic_encode(&b, &topic, IBP_NEWEST);
    assert_encoded(&b, "{\"version\":3,\"partitions\":{\"0\":[1,2],\"1\":[4,5,1,2]},"
                       "\"adding_replicas\":{\"1\":[4,5]},\"removing_replicas\":{\"1\":[1,2]}}");
    topic.id = uuid_from_random(1, 2);
    IDS(&topic.partitions[1].original, 2, 1);
    char id[UUID_TEXT_SIZE];
    uuid_format(topic.id, id);
    metastore_topic_encode(&b, &topic, IBP_NEWEST);
    char *expected = xasprintf(
        "{\"version\":3,\"partitions\":{\"0\":[1,2],\"1\":[4,5,1,2]},\"adding_replicas\":{\"1\":"
        "[4,5]},\"removing_replicas\":{\"1\":[1,2]},\"topic_id\":\"%s\","
        "\"original_replicas\":{\"1\":[2,1]}}",
        id);
    assert_encoded(&b, expected);
    free(expected);
    buf_deinit(&b);
    model_topic_deinit(&topic);
}

static void idle_topic_keeps_its_empty_maps(void **state)
{
    (void)state;
    struct model_topic topic = {.partition_count = 1,
                                .partitions = xalloc(sizeof *topic.partitions)};
    IDS(&topic.partitions[0].replicas, 3);
    struct buf b;
    buf_init(&b);
    metastore_topic_encode(&b, &topic, IBP_NEWEST);
    assert_encoded(&b, "{\"version\":3,\"partitions\":{\"0\":[3]},\"adding_replicas\":{},"
                       "\"removing_replicas\":{}}");
    buf_deinit(&b);
    model_topic_deinit(&topic);
}

/* Below 2.4-IV0 nobody knows moves: only one that is there already, from a controller of a later level,
 * is kept. An id is kept at any level. */
static void topic_of_an_old_level_is_written_as_version_1(void **state)
{
    (void)state;
    struct model_topic topic = {.partition_count = 2,
                                .partitions = xalloc(2 * sizeof *topic.partitions)};
    IDS(&topic.partitions[0].replicas, 3);
    IDS(&topic.partitions[1].replicas, 1, 2);
    struct buf b;
    buf_init(&b);
    metastore_topic_encode(&b, &topic, IBP_2_2_IV0);
    assert_encoded(&b, "{\"version\":1,\"partitions\":{\"0\":[3],\"1\":[1,2]}}");
    metastore_topic_encode(&b, &topic, IBP_2_4_IV0);
    assert_encoded(&b, "{\"version\":3,\"partitions\":{\"0\":[3],\"1\":[1,2]},"
                       "\"adding_replicas\":{},\"removing_replicas\":{}}");
    topic.id = uuid_from_random(1, 2);
    char id[UUID_TEXT_SIZE];
    uuid_format(topic.id, id);
    metastore_topic_encode(&b, &topic, IBP_2_3_IV1);
    char *expected =
        xasprintf("{\"version\":1,\"partitions\":{\"0\":[3],\"1\":[1,2]},\"topic_id\":\"%s\"}", id);
    assert_encoded(&b, expected);
    free(expected);
    IDS(&topic.partitions[1].removing, 2);
    metastore_topic_encode(&b, &topic, IBP_2_3_IV1);
    expected =
        xasprintf("{\"version\":3,\"partitions\":{\"0\":[3],\"1\":[1,2]},\"adding_replicas\":{},"
                  "\"removing_replicas\":{\"1\":[2]},\"topic_id\":\"%s\"}",
                  id);
    assert_encoded(&b, expected);
    free(expected);
    buf_deinit(&b);
    model_topic_deinit(&topic);
}

static void isr_changes_name_partitions(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    struct metastore_partition_name names[] = {{slice_str("a.b"), 0}, {slice_str("t"), 12}};
    metastore_isr_change_encode(&b, names, 2);
    assert_encoded(&b, "{\"version\":1,\"partitions\":[{\"topic\":\"a.b\",\"partition\":0},"
                       "{\"topic\":\"t\",\"partition\":12}]}");
    buf_deinit(&b);
}

static void topic_comes_back_as_it_was_written(void **state)
{
    (void)state;
    struct model_topic topic;
    topic_init(&topic);
    topic.id = uuid_from_random(3, 4);
    IDS(&topic.partitions[1].original, 2, 1);
    struct buf b;
    buf_init(&b);
    metastore_topic_encode(&b, &topic, IBP_NEWEST);
    struct model_topic got = {.version = 6};
    struct errmsg em;
    for (int i = 0; i < 2; i++) { /* the second time over what ret held */
        assert_int_equal(metastore_topic_decode(buf_slice(&b), slice_str("t"), &got, &em), 0);
    }
    assert_string_equal(got.name, "t");
    assert_int_equal(got.version, 6);
    assert_true(uuid_equal(got.id, topic.id));
    assert_int_equal(got.partition_count, 2);
    for (int p = 0; p < 2; p++) {
        assert_true(assignment_equal(&got.partitions[p], &topic.partitions[p]));
        assert_true(ids_equal(&got.partitions[p].original, &topic.partitions[p].original));
    }
    buf_deinit(&b);
    model_topic_deinit(&got);
    model_topic_deinit(&topic);
}

static void topics_of_versions_1_and_2_are_read(void **state)
{
    (void)state;
    struct model_topic got = {0};
    struct errmsg em;
    assert_int_equal(
        metastore_topic_decode(slice_str("{\"partitions\":{\"1\":[2],\"0\":[1,2]},\"version\":1}"),
                               slice_str("t"), &got, &em),
        0);
    assert_int_equal(got.partition_count, 2);
    assert_ids(&got.partitions[0].replicas, "1,2");
    assert_ids(&got.partitions[1].replicas, "2");
    assert_true(uuid_is_zero(got.id));
    assert_int_equal(metastore_topic_decode(slice_str("{\"version\":2,\"partitions\":{\"0\":[4,1]},"
                                                      "\"adding_replicas\":{\"0\":[4],\"9\":[8]},"
                                                      "\"removing_replicas\":{\"0\":[1]}}"),
                                            slice_str("t"), &got, &em),
                     0);
    assert_int_equal(got.partition_count, 1);
    assert_ids(&got.partitions[0].adding, "4");
    assert_ids(&got.partitions[0].removing, "1");
    assert_ids(&got.partitions[0].original, "");
    model_topic_deinit(&got);
}

static void hostile_topics_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"{\"version\":3}", "'partitions' is missing"},
        {"{\"partitions\":[]}", "'partitions' is not an object"},
        {"{\"partitions\":{\"0\":[1],\"2\":[1]}}", "the numbers have a gap"},
        {"{\"partitions\":{\"0\":[1],\"2147483647\":[1]}}", "the numbers have a gap"},
        {"{\"partitions\":{\"0\":[1],\"00\":[2]}}", "'00' is not a partition"},
        {"{\"partitions\":{\"0\":[1],\"0\":[2]}}", "duplicate"},
        {"{\"partitions\":{\"-1\":[1]}}", "'-1' is not a partition"},
        {"{\"partitions\":{\"4294967296\":[1]}}", "is not a partition"},
        {"{\"partitions\":{\"\":[1]}}", "'' is not a partition"},
        {"{\"partitions\":{\"0\":[]}}", "has no replicas"},
        {"{\"partitions\":{\"0\":[1,1]}}", "listed twice"},
        {"{\"partitions\":{\"0\":[-1]}}", "not a number"},
        {"{\"partitions\":{\"0\":[4294967297]}}", "not a number"},
        {"{\"partitions\":{\"0\":[1.0]}}", "not a number"},
        {"{\"partitions\":{\"0\":1}}", "list of brokers"},
        {"{\"partitions\":{\"0\":[1]},\"topic_id\":\"short\"}", "'topic_id' is not an id"},
        {"{\"partitions\":{\"0\":[1]},\"adding_replicas\":{\"0\":[2]}}", "no replicas"},
        {"{\"partitions\":{\"0\":[1]},\"adding_replicas\":{\"0\":[1]},\"removing_replicas\":{\"0\":"
         "[1]}}",
         "adds and removes broker 1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model_topic got = {0};
        struct errmsg em = {""};
        assert_error(metastore_topic_decode(slice_str(cases[i].text), slice_str("t"), &got, &em),
                     E_MALFORMED, em, cases[i].reason);
        assert_null(got.partitions);
    }
    char deep[200];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    struct model_topic got = {0};
    struct errmsg em = {""};
    assert_error(metastore_topic_decode(slice_of(deep, sizeof deep), slice_str("t"), &got, &em),
                 E_TOO_LARGE, em, "nested deeper");
}

static void partition_state_has_kafkas_keys(void **state)
{
    (void)state;
    struct model_partition_state s = {.controller_epoch = 5, .leader = 1, .leader_epoch = 3};
    IDS(&s.isr, 1, 2);
    struct buf b;
    buf_init(&b);
    metastore_partition_state_encode(&b, &s);
    assert_encoded(&b, "{\"controller_epoch\":5,\"leader\":1,\"version\":1,\"leader_epoch\":3,"
                       "\"isr\":[1,2]}");
    s.recovery = MODEL_RECOVERING;
    s.leader = MODEL_LEADER_NONE;
    metastore_partition_state_encode(&b, &s);
    struct model_partition_state got = {.version = 7};
    struct errmsg em;
    assert_int_equal(metastore_partition_state_decode(buf_slice(&b), &got, &em), 0);
    assert_true(model_partition_state_equal(&got, &s));
    assert_int_equal(got.version, 7);
    assert_encoded(&b, "{\"controller_epoch\":5,\"leader\":-1,\"version\":1,\"leader_epoch\":3,"
                       "\"isr\":[1,2],\"leader_recovery_state\":1}");
    model_partition_state_deinit(&got);
    model_partition_state_deinit(&s);
    buf_deinit(&b);
}

static void broken_partition_states_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"{\"controller_epoch\":5,\"leader\":-2,\"leader_epoch\":3,\"isr\":[1]}", "'leader' is -2"},
        {"{\"controller_epoch\":5,\"leader\":1,\"leader_epoch\":-1,\"isr\":[1]}", "'leader_epoch'"},
        {"{\"controller_epoch\":5,\"leader\":1,\"leader_epoch\":2147483647,\"isr\":[1]}",
         "'leader_epoch' is 2147483647"},
        {"{\"leader\":1,\"leader_epoch\":3,\"isr\":[1]}", "'controller_epoch' is missing"},
        {"{\"controller_epoch\":5,\"leader\":1,\"leader_epoch\":3}", "list of brokers"},
        {"{\"controller_epoch\":5,\"leader\":1,\"leader_epoch\":3,\"isr\":[1,1]}", "listed twice"},
        {"{\"controller_epoch\":5,\"leader\":1,\"leader_epoch\":3,\"isr\":[1],"
         "\"leader_recovery_state\":2}",
         "'leader_recovery_state' is 2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct model_partition_state got = {.leader = 77};
        struct errmsg em = {""};
        assert_error(metastore_partition_state_decode(slice_str(cases[i].text), &got, &em),
                     E_MALFORMED, em, cases[i].reason);
        assert_int_equal(got.leader, 77);
    }
}

/* Whatever else they hold: our next write would lose what a newer writer means by it. */
static void versions_that_are_not_known_are_not_read(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        const char *topic;
        const char *state;
        const char *list;
    } cases[] = {
        {"0", "topic of version 0, known are 1 to 3", "state of version 0, known are 1 to 1",
         "list of partitions of version 0, known are 1 to 1"},
        {"99", "topic of version 99, known are 1 to 3", "state of version 99, known are 1 to 1",
         "list of partitions of version 99, known are 1 to 1"},
        {"-9223372036854775808", "topic of version -9223372036854775808",
         "state of version -9223372036854775808",
         "list of partitions of version -9223372036854775808"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct errmsg em = {""};
        struct model_topic topic = {.version = 77};
        char *json = xasprintf("{\"version\":%s,\"partitions\":{\"0\":[1]}}", cases[i].version);
        assert_error(metastore_topic_decode(slice_str(json), slice_str("t"), &topic, &em),
                     E_UNSUPPORTED, em, cases[i].topic);
        assert_null(topic.name);
        free(json);
        struct model_partition_state got = {.leader = 77};
        json = xasprintf("{\"controller_epoch\":5,\"leader\":1,\"version\":%s,\"leader_epoch\":3,"
                         "\"isr\":[1]}",
                         cases[i].version);
        assert_error(metastore_partition_state_decode(slice_str(json), &got, &em), E_UNSUPPORTED,
                     em, cases[i].state);
        assert_int_equal(got.leader, 77);
        free(json);
        struct metastore_legacy_move *list = NULL;
        int32_t count = 77;
        json = xasprintf("{\"version\":%s,\"partitions\":[]}", cases[i].version);
        assert_error(metastore_legacy_moves_decode(slice_str(json), &list, &count, &em),
                     E_UNSUPPORTED, em, cases[i].list);
        assert_error(metastore_partitions_decode(slice_str(json), &list, &count, &em),
                     E_UNSUPPORTED, em, cases[i].list);
        assert_int_equal(count, 77);
        free(json);
    }
    struct model_topic topic = {0};
    struct errmsg em = {""};
    assert_error(metastore_topic_decode(slice_str("{\"version\":\"3\",\"partitions\":{}}"),
                                        slice_str("t"), &topic, &em),
                 E_MALFORMED, em, "'version' is not an integer");
}

static void legacy_moves_come_as_they_are(void **state)
{
    (void)state;
    struct metastore_legacy_move *moves = NULL;
    int32_t count = 0;
    struct errmsg em;
    assert_int_equal(
        metastore_legacy_moves_decode(
            slice_str(
                "{\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"replicas\":"
                "[1]},{\"replicas\":[2,3],\"log_dirs\":[\"any\",\"any\"],\"topic\":\"t\","
                "\"partition\":0}]}"),
            &moves, &count, &em),
        0);
    assert_int_equal(count, 2);
    assert_string_equal(moves[1].topic, "t");
    assert_int_equal(moves[1].partition, 0);
    assert_ids(&moves[0].replicas, "1");
    assert_ids(&moves[1].replicas, "2,3");
    metastore_legacy_moves_free(moves, count);
    const char *odd =
        "{\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":3,\"replicas\":"
        "[1,1,-7]},{\"topic\":\"\\u000a\",\"partition\":0,\"replicas\":[]}]}";
    assert_int_equal(metastore_legacy_moves_decode(slice_str(odd), &moves, &count, &em), 0);
    struct buf b;
    buf_init(&b);
    metastore_legacy_moves_encode(&b, moves, count);
    assert_encoded(&b, odd);
    buf_deinit(&b);
    metastore_legacy_moves_free(moves, count);
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"{\"version\":1}", "'partitions' is missing"},
        {"{\"partitions\":[{\"topic\":\"t\",\"partition\":0}]}", "'replicas' is missing"},
        {"{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"replicas\":[4294967296]}]}",
         "not a number of 32 bits"},
        {"{\"partitions\":[1]}", "not an object"},
        {"{\"partitions\":[{\"partition\":0,\"replicas\":[1]}]}", "names no topic"},
        {"{\"partitions\":[{\"topic\":\"t\",\"replicas\":[1]}]}", "'partition' is missing"},
        {"{\"partitions\":[{\"topic\":\"t\",\"partition\":4294967296,\"replicas\":[1]}]}",
         "4294967296"},
        {"{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"replicas\":[1]},{}]}",
         "names no topic"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        count = -1;
        assert_error(metastore_legacy_moves_decode(slice_str(cases[i].text), &moves, &count, &em),
                     E_MALFORMED, em, cases[i].reason);
        assert_int_equal(count, -1);
    }
}

static void partitions_are_named_without_replicas(void **state)
{
    (void)state;
    struct metastore_legacy_move *partitions = NULL;
    int32_t count = 0;
    struct errmsg em;
    assert_int_equal(
        metastore_partitions_decode(
            slice_str("{\"version\":1,\"partitions\":[{\"topic\":\"t\",\"partition\":0},"
                      "{\"topic\":\"u\",\"partition\":7}]}"),
            &partitions, &count, &em),
        0);
    assert_int_equal(count, 2);
    assert_string_equal(partitions[1].topic, "u");
    assert_int_equal(partitions[1].partition, 7);
    assert_int_equal(partitions[1].replicas.count, 0);
    metastore_legacy_moves_free(partitions, count);
    count = -1;
    assert_error(metastore_partitions_decode(slice_str("{}"), &partitions, &count, &em),
                 E_MALFORMED, em, "'partitions' is missing");
    assert_int_equal(count, -1);
}

/* The largest topic of the bench: it must fit a node. */
static void topic_of_10000_moving_partitions_fits_a_node(void **state)
{
    (void)state;
    struct model_topic topic = {.name = xstrdup("t"), .partition_count = 10000};
    topic.partitions = xalloc(10000 * sizeof *topic.partitions);
    for (int32_t p = 0; p < topic.partition_count; p++) {
        IDS(&topic.partitions[p].replicas, 4, 5, 6, 1, 2, 3);
        IDS(&topic.partitions[p].adding, 4, 5, 6);
        IDS(&topic.partitions[p].removing, 1, 2, 3);
        IDS(&topic.partitions[p].original, 1, 2, 3);
    }
    struct buf b;
    buf_init(&b);
    metastore_topic_encode(&b, &topic, IBP_NEWEST);
    assert_false(buf_failed(&b));
    struct model_topic got = {0};
    struct errmsg em;
    assert_int_equal(metastore_topic_decode(buf_slice(&b), slice_str("t"), &got, &em), 0);
    assert_true(assignment_equal(&got.partitions[9999], &topic.partitions[9999]));
    model_topic_deinit(&got);
    model_topic_deinit(&topic);
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topic_is_written_as_version_3),
        cmocka_unit_test(idle_topic_keeps_its_empty_maps),
        cmocka_unit_test(topic_of_an_old_level_is_written_as_version_1),
        cmocka_unit_test(isr_changes_name_partitions),
        cmocka_unit_test(topic_comes_back_as_it_was_written),
        cmocka_unit_test(topics_of_versions_1_and_2_are_read),
        cmocka_unit_test(hostile_topics_are_refused),
        cmocka_unit_test(partition_state_has_kafkas_keys),
        cmocka_unit_test(broken_partition_states_are_refused),
        cmocka_unit_test(versions_that_are_not_known_are_not_read),
        cmocka_unit_test(legacy_moves_come_as_they_are),
        cmocka_unit_test(partitions_are_named_without_replicas),
        cmocka_unit_test(topic_of_10000_moving_partitions_fits_a_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
