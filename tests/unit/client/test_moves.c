/*
 * Alter, list, elect: requests name each topic once, answers come back in the caller's order.
 */
#include "unit/client/fake_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t far[] = {4, 5, 6};
static const int32_t grown[] = {1, 2, 3, 4};

static void assert_ids(struct klamm_ids ids, const int32_t *list, int32_t count)
{
    assert_int_equal(ids.count, count);
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(ids.list[i], list[i]);
    }
}

static void answers_follow_the_targets(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_target targets[] = {
        {.topic = "foo", .partition = 2, .replicas = {far, 3}},
        {.topic = "ghost", .partition = 0, .replicas = {far, 3}},
        {.topic = "foo", .partition = 0, .replicas = {grown, 4}},
        {.topic = "foo", .partition = 1, .is_cancel = true},
    };
    static const int codes[] = {0, 3, 0, 85};
    struct klamm_alter alter = {.targets = targets, .target_count = 4};
    struct klamm_partition_results *results = NULL;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    assert_int_equal(results->count, 4);
    for (int32_t i = 0; i < 4; i++) {
        assert_string_equal(results->list[i].topic, targets[i].topic);
        assert_int_equal(results->list[i].partition, targets[i].partition);
        assert_int_equal(results->list[i].code, codes[i]);
    }
    assert_null(results->list[0].message);
    assert_string_equal(results->list[1].message, "UNKNOWN_TOPIC_OR_PARTITION");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.topics_count, 2);
    assert_true(x->cluster->last_alter.allow_replication_factor_change);
    assert_false(x->cluster->last_alter.force_cancel);
    pthread_mutex_unlock(&x->cluster->lock);
    klamm_partition_results_free(results);
}

static void running_moves_are_listed_in_order(void **state)
{
    struct fake_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_topic *bar = fake_topic_add(x->cluster, slice_str("bar"));
    fake_start(&x->cluster->topics[0].partitions[2], far, 3);
    fake_start(&x->cluster->topics[0].partitions[0], grown, 4);
    fake_start(&bar->partitions[1], far, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    struct klamm_reassignments *moves = NULL;
    assert_int_equal(klamm_list_reassignments(x->client, NULL, &moves, &x->err), 0);
    assert_int_equal(moves->count, 3);
    assert_string_equal(moves->list[0].topic, "bar");
    assert_int_equal(moves->list[0].partition, 1);
    assert_ids(moves->list[0].replicas, (int32_t[]){4, 5, 6, 1, 2, 3}, 6);
    assert_ids(moves->list[0].adding, far, 3);
    assert_ids(moves->list[0].removing, (int32_t[]){1, 2, 3}, 3);
    assert_int_equal(moves->list[1].partition, 0);
    assert_ids(moves->list[1].adding, (int32_t[]){4}, 1);
    assert_ids(moves->list[1].removing, NULL, 0);
    assert_int_equal(moves->list[2].partition, 2);
    klamm_reassignments_free(moves);

    /* S34: unknown names are left out; no names are no partitions. */
    struct klamm_partition_ref some[] = {{"ghost", 0}, {"foo", 0}, {"foo", 99}, {"foo", 1}};
    struct klamm_partition_refs refs = {some, 4};
    assert_int_equal(klamm_list_reassignments(x->client, &refs, &moves, &x->err), 0);
    assert_int_equal(moves->count, 2);
    klamm_reassignments_free(moves);
    refs.count = 0;
    assert_int_equal(klamm_list_reassignments(x->client, &refs, &moves, &x->err), 0);
    assert_int_equal(moves->count, 0);
    klamm_reassignments_free(moves);
}

static void error_of_the_whole_is_returned(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_reassignments *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->list_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_list_reassignments(x->client, NULL, &moves, &x->err), 31);
    assert_string_equal(x->err.message, "CLUSTER_AUTHORIZATION_FAILED");
    assert_null(moves);
}

static void options_reach_the_request(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_target target = {.topic = "foo", .partition = 0, .is_cancel = true};
    struct klamm_alter alter = {.targets = &target,
                                .target_count = 1,
                                .keeps_replication_factor = true,
                                .forces_cancel = true};
    struct klamm_partition_results *results = NULL;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    pthread_mutex_lock(&x->cluster->lock);
    assert_false(x->cluster->last_alter.allow_replication_factor_change);
    assert_true(x->cluster->last_alter.force_cancel);
    pthread_mutex_unlock(&x->cluster->lock);
    klamm_partition_results_free(results);
}

static void wrong_arguments_are_not_sent(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_target twice[] = {{.topic = "foo", .partition = 1, .replicas = {far, 3}},
                                   {.topic = "foo", .partition = 1, .replicas = {far, 3}}};
    struct klamm_alter alter = {.targets = twice, .target_count = 2};
    struct klamm_partition_results *results = NULL;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err),
                     KLAMM_ERR_ARGUMENT);
    assert_string_equal(x->err.message, "foo-1 is named twice");
    twice[0].partition = -1;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err),
                     KLAMM_ERR_ARGUMENT);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS], 0);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void submission_says_how(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_target target = {.topic = "foo", .partition = 1, .replicas = {far, 3}};
    struct klamm_alter alter = {.targets = &target,
                                .target_count = 1,
                                .action = KLAMM_ACTION_SUBMIT,
                                .job = "j1",
                                .rate = 5000,
                                .priority = KLAMM_PRIORITY_DRAIN,
                                .is_one_at_a_time = true,
                                .is_trial = true};
    struct klamm_partition_results *results = NULL;
    x->cluster->queues = true;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    assert_int_equal(results->count, 1);
    assert_int_equal(results->list[0].code, 0);
    assert_int_equal(results->list[0].note, KLAMM_NOTE_QUEUED);
    assert_string_equal(results->job, "j1");
    klamm_partition_results_free(results);
    pthread_mutex_lock(&x->cluster->lock);
    const struct wire_alter_partition_reassignments_request *sent = &x->cluster->last_alter;
    assert_int_equal(sent->klamm_extensions, 1);
    assert_int_equal(sent->action, 1);
    assert_string_equal(x->cluster->last_job, "j1");
    assert_int_equal(sent->rate, 5000);
    assert_int_equal(sent->priority, 1);
    assert_true(sent->one_at_a_time);
    assert_true(sent->validate_only);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void selected_moves_are_answered_one_by_one(void **state)
{
    struct fake_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    fake_start(&x->cluster->topics[0].partitions[0], far, 3);
    fake_start(&x->cluster->topics[0].partitions[2], grown, 4);
    pthread_mutex_unlock(&x->cluster->lock);
    static const int32_t chosen[] = {5};
    struct klamm_alter alter = {.action = KLAMM_ACTION_PAUSE, .brokers = {chosen, 1}};
    struct klamm_partition_results *results = NULL;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    assert_int_equal(results->count, 1);
    assert_string_equal(results->list[0].topic, "foo");
    assert_int_equal(results->list[0].partition, 0);
    assert_null(results->job);
    klamm_partition_results_free(results);
    pthread_mutex_lock(&x->cluster->lock);
    assert_true(x->cluster->topics[0].partitions[0].is_paused);
    assert_false(x->cluster->topics[0].partitions[2].is_paused);
    assert_int_equal(x->cluster->last_alter.priority, 2);
    assert_int_equal(x->cluster->last_alter.rate, -1);
    pthread_mutex_unlock(&x->cluster->lock);
    alter = (struct klamm_alter){.action = KLAMM_ACTION_SET, .rate = KLAMM_RATE_REMOVE};
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    klamm_partition_results_free(results);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.priority, -1);
    assert_int_equal(x->cluster->last_alter.rate, -2);
    pthread_mutex_unlock(&x->cluster->lock);
}

/* A controller that does not know the actions finds nothing to start in them: a cancel is one, and an
 * empty list is refused by it. */
static void stock_controller_starts_nothing(void **state)
{
    struct fake_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->is_stock = true;
    fake_start(&x->cluster->topics[0].partitions[0], far, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    struct klamm_target target = {.topic = "foo", .partition = 0, .replicas = {grown, 4}};
    struct klamm_alter alter = {
        .targets = &target, .target_count = 1, .action = KLAMM_ACTION_PAUSE};
    struct klamm_partition_results *results = NULL;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    assert_int_equal(results->list[0].code, KERR_INVALID_REPLICA_ASSIGNMENT);
    klamm_partition_results_free(results);
    alter.action = KLAMM_ACTION_CANCEL;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err), 0);
    assert_int_equal(results->list[0].code, 0);
    klamm_partition_results_free(results);
    pthread_mutex_lock(&x->cluster->lock);
    assert_false(fake_is_moving(&x->cluster->topics[0].partitions[0]));
    pthread_mutex_unlock(&x->cluster->lock);
}

/* What was carried out though the answer got lost must not be done a second time: without a name it is not
 * sent again, with one the second is refused. */
static void submission_is_not_done_twice(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_target target = {.topic = "foo", .partition = 1, .replicas = {far, 3}};
    struct klamm_alter alter = {
        .targets = &target, .target_count = 1, .action = KLAMM_ACTION_SUBMIT};
    struct klamm_partition_results *results = NULL;
    x->cluster->forgets_answers = true;
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err),
                     KLAMM_ERR_CONNECT);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS], 1);
    x->cluster->forgets_answers = true;
    pthread_mutex_unlock(&x->cluster->lock);
    alter.job = "j1";
    assert_int_equal(klamm_alter_reassignments(x->client, &alter, &results, &x->err),
                     KERR_DUPLICATE_RESOURCE);
    assert_string_equal(x->err.message, "DUPLICATE_RESOURCE: there is a job of this name");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS], 3);
    assert_string_equal(x->cluster->jobs[0].id, "j1");
    assert_string_equal(x->cluster->jobs[1].id, "");
    pthread_mutex_unlock(&x->cluster->lock);
}

static void leaders_are_elected(void **state)
{
    struct fake_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->topics[0].partitions[1].leader = 3;
    pthread_mutex_unlock(&x->cluster->lock);
    struct klamm_partition_ref some[] = {{"foo", 1}, {"foo", 0}, {"ghost", 5}};
    struct klamm_partition_refs refs = {some, 3};
    struct klamm_partition_results *results = NULL;
    assert_int_equal(klamm_elect_leaders(x->client, &refs, &results, &x->err), 0);
    assert_int_equal(results->count, 3);
    assert_int_equal(results->list[0].code, 0);
    assert_int_equal(results->list[1].code, 84);
    assert_int_equal(results->list[2].code, 3);
    klamm_partition_results_free(results);
    assert_int_equal(klamm_elect_leaders(x->client, NULL, &results, &x->err), 0);
    assert_int_equal(results->count, 0);
    klamm_partition_results_free(results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(answers_follow_the_targets),
        FAKE_TEST(running_moves_are_listed_in_order),
        FAKE_TEST(error_of_the_whole_is_returned),
        FAKE_TEST(options_reach_the_request),
        FAKE_TEST(wrong_arguments_are_not_sent),
        FAKE_TEST(submission_says_how),
        FAKE_TEST(selected_moves_are_answered_one_by_one),
        FAKE_TEST(stock_controller_starts_nothing),
        FAKE_TEST(submission_is_not_done_twice),
        FAKE_TEST(leaders_are_elected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
