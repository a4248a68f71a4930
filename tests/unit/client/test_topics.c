/*
 * Topics through the library: described in order, created, deleted, errors by topic.
 */
#include "unit/client/fake_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void topics_come_in_order(void **state)
{
    struct fake_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    fake_topic_add(x->cluster, slice_str("bar"));
    pthread_mutex_unlock(&x->cluster->lock);
    struct klamm_topics *topics = NULL;
    assert_int_equal(klamm_describe_topics(x->client, NULL, -1, &topics, &x->err), 0);
    assert_int_equal(topics->count, 2);
    assert_string_equal(topics->list[0].name, "bar");
    assert_string_equal(topics->list[1].name, "foo");
    assert_int_equal(topics->list[1].partition_count, FAKE_PARTITIONS);
    for (int32_t p = 0; p < FAKE_PARTITIONS; p++) {
        const struct klamm_partition *partition = &topics->list[1].partitions[p];
        assert_int_equal(partition->index, p);
        assert_int_equal(partition->leader_id, 1);
        assert_int_equal(partition->replicas.count, 3);
        assert_int_equal(partition->replicas.list[2], 3);
        assert_int_equal(partition->isr.count, 3);
    }
    klamm_topics_free(topics);
}

static void unknown_topic_is_a_row(void **state)
{
    struct fake_fixture *x = *state;
    static const char *const names[] = {"foo", "a"};
    struct klamm_topics *topics = NULL;
    assert_int_equal(klamm_describe_topics(x->client, names, 2, &topics, &x->err), 0);
    assert_int_equal(topics->count, 2);
    assert_string_equal(topics->list[0].name, "a");
    assert_int_equal(topics->list[0].code, 3);
    assert_int_equal(topics->list[0].partition_count, 0);
    klamm_topics_free(topics);
    assert_int_equal(klamm_describe_topics(x->client, NULL, 0, &topics, &x->err), 0);
    assert_int_equal(topics->count, 0);
    klamm_topics_free(topics);
}

static void topics_are_created_and_deleted(void **state)
{
    struct fake_fixture *x = *state;
    static const int32_t first[] = {4, 5};
    static const int32_t second[] = {5, 6};
    struct klamm_ids assignments[] = {{first, 2}, {second, 2}};
    struct klamm_setting setting = {.name = "retention.ms", .value = "5"};
    struct klamm_new_topic created[] = {
        {.name = "bar",
         .assignments = assignments,
         .assignment_count = 2,
         .settings = &setting,
         .setting_count = 1},
        {.name = "foo", .partition_count = 1, .replication_factor = 1}};
    struct klamm_topic_results *results = NULL;
    assert_int_equal(klamm_create_topics(x->client, created, 2, &results, &x->err), 0);
    assert_int_equal(results->count, 2);
    assert_int_equal(results->list[0].code, 0);
    assert_null(results->list[0].message);
    assert_int_equal(results->list[1].code, 36);
    assert_string_equal(results->list[1].message, "Topic exists already.");
    klamm_topic_results_free(results);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->topics[1].partitions[1].replicas.list[0], 5);
    pthread_mutex_unlock(&x->cluster->lock);

    static const char *const deleted[] = {"ghost", "bar"};
    assert_int_equal(klamm_delete_topics(x->client, deleted, 2, &results, &x->err), 0);
    assert_string_equal(results->list[0].name, "ghost");
    assert_int_equal(results->list[0].code, 3);
    assert_int_equal(results->list[1].code, 0);
    klamm_topic_results_free(results);
}

/* The controller loses its role when the topic is stored; the next one finds it. */
static void a_topic_that_may_be_our_own_is_told_as_such(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_new_topic created = {.name = "bar", .partition_count = 1, .replication_factor = 1};
    struct klamm_topic_results *results = NULL;
    x->cluster->given_up = 1;
    assert_int_equal(klamm_create_topics(x->client, &created, 1, &results, &x->err), 0);
    assert_int_equal(results->list[0].code, 36);
    assert_non_null(strstr(results->list[0].message, "perhaps this call made it"));
    klamm_topic_results_free(results);
}

static void factor_beyond_the_protocol_is_refused(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_new_topic topic = {
        .name = "bar", .partition_count = 1, .replication_factor = 65537};
    struct klamm_topic_results *results = NULL;
    assert_int_equal(klamm_create_topics(x->client, &topic, 1, &results, &x->err),
                     KLAMM_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(topics_come_in_order),
        FAKE_TEST(unknown_topic_is_a_row),
        FAKE_TEST(topics_are_created_and_deleted),
        FAKE_TEST(a_topic_that_may_be_our_own_is_told_as_such),
        FAKE_TEST(factor_beyond_the_protocol_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
