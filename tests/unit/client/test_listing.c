/*
 * Listing with klamm's fields: what a klamm controller tells, and that another one is told apart.
 */
#include "unit/client/fake_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t far[] = {4, 5, 6};
static const int32_t near[] = {3, 2, 1};

static void move_has_its_details(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_moves *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_partition *p = &x->cluster->topics[0].partitions[1];
    fake_start(p, far, 3);
    p->arrived = 250;
    p->reason = 6;
    p->reason_code = 56;
    p->since_ms = 1700000001000;
    snprintf(p->job, sizeof p->job, "j1");
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_list_moves(x->client, NULL, &moves, &x->err), 0);
    assert_true(moves->is_klamm);
    assert_int_equal(moves->count, 1);
    assert_int_equal(moves->queued_count + moves->job_count, 0);
    const struct klamm_move *move = &moves->list[0];
    assert_string_equal(move->topic, "foo");
    assert_int_equal(move->partition, 1);
    assert_int_equal(move->adding.count, 3);
    assert_int_equal(move->removing.count, 3);
    assert_true(move->has_details);
    assert_string_equal(move->job, "j1");
    assert_string_equal(move->submitted_by, "User:alice");
    assert_string_equal(move->client_id, "klamm");
    assert_int_equal(move->started_ms, 1700000000000);
    assert_int_equal(move->original.count, 3);
    assert_int_equal(move->original.list[0], 1);
    assert_int_equal(move->bytes_to_copy, 3000);
    assert_int_equal(move->bytes_copied, 750);
    assert_int_equal(move->rate, 0);
    assert_int_equal(move->eta_ms, -1);
    assert_int_equal(move->reason, 6);
    assert_int_equal(move->reason_code, 56);
    assert_int_equal(move->since_ms, 1700000001000);
    assert_int_equal(move->arrival_count, 3);
    assert_int_equal(move->arrivals[0].broker_id, 4);
    assert_int_equal(move->arrivals[0].state, 1);
    assert_int_equal(move->arrivals[0].reason, 6);
    assert_int_equal(move->arrivals[0].lag_bytes, 750);
    assert_int_equal(move->arrivals[0].lag_offsets, -1);
    assert_int_equal(move->arrivals[2].reason, 0);
    assert_false(move->arrivals[0].ignores_limits);
    klamm_moves_free(moves);
    x->cluster->has_stock_brokers = true;
    assert_int_equal(klamm_list_moves(x->client, NULL, &moves, &x->err), 0);
    assert_true(moves->list[0].arrivals[0].ignores_limits);
    klamm_moves_free(moves);
}

static void queue_and_jobs_are_listed_in_order(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_moves *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_topic *bar = fake_topic_add(x->cluster, slice_str("bar"));
    fake_ids_set(&x->cluster->topics[0].partitions[2].queued, far, 3);
    fake_ids_set(&x->cluster->topics[0].partitions[0].queued, near, 3);
    fake_ids_set(&bar->partitions[1].queued, far, 2);
    bar->partitions[1].is_paused = true;
    x->cluster->jobs[0] = (struct fake_job){
        .id = "j1", .rate = 5000, .priority = 0, .state = 3, .is_one_at_a_time = true, .moves = 7};
    x->cluster->jobs[1] = (struct fake_job){.id = "j2", .rate = -1, .priority = 2, .moves = 3};
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_list_moves(x->client, NULL, &moves, &x->err), 0);
    assert_int_equal(moves->count, 0);
    assert_int_equal(moves->queued_count, 3);
    assert_string_equal(moves->queued[0].topic, "bar");
    assert_true(moves->queued[0].is_paused);
    assert_int_equal(moves->queued[0].reason, 10);
    assert_int_equal(moves->queued[0].target.count, 2);
    assert_int_equal(moves->queued[1].partition, 0);
    assert_int_equal(moves->queued[1].target.list[0], 3);
    assert_false(moves->queued[1].is_paused);
    assert_int_equal(moves->queued[1].reason, 1);
    assert_int_equal(moves->queued[1].bytes_to_copy, 3000);
    assert_int_equal(moves->queued[2].partition, 2);
    assert_int_equal(moves->job_count, 2);
    const struct klamm_job *job = &moves->jobs[0];
    assert_string_equal(job->id, "j1");
    assert_string_equal(job->submitted_by, "User:alice");
    assert_string_equal(job->client_id, "klamm");
    assert_int_equal(job->submitted_ms, 1700000000000);
    assert_int_equal(job->state, KLAMM_JOB_DONE);
    assert_int_equal(job->rate, 5000);
    assert_int_equal(job->priority, KLAMM_PRIORITY_REPAIR);
    assert_true(job->is_one_at_a_time);
    assert_int_equal(job->moves_total, 7);
    assert_int_equal(job->moves_done, 7);
    assert_int_equal(job->bytes_copied, 1500);
    assert_int_equal(moves->jobs[1].priority, KLAMM_PRIORITY_BALANCE);
    assert_int_equal(moves->jobs[1].rate, -1);
    klamm_moves_free(moves);
}

static void stock_controller_is_told_apart(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_moves *moves = NULL;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->is_stock = true;
    fake_start(&x->cluster->topics[0].partitions[1], far, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    struct klamm_partition_ref some[] = {{"foo", 1}, {"foo", 0}, {"ghost", 0}};
    struct klamm_partition_refs refs = {some, 3};
    assert_int_equal(klamm_list_moves(x->client, &refs, &moves, &x->err), 0);
    assert_false(moves->is_klamm);
    assert_int_equal(moves->count, 1);
    assert_false(moves->list[0].has_details);
    assert_int_equal(moves->list[0].rate, -1);
    klamm_moves_free(moves);
}

static void errors_are_returned(void **state)
{
    struct fake_fixture *x = *state;
    struct klamm_moves *moves = NULL;
    struct klamm_partition_ref bad = {"", 0};
    struct klamm_partition_refs refs = {&bad, 1};
    assert_int_equal(klamm_list_moves(x->client, &refs, &moves, &x->err), KLAMM_ERR_ARGUMENT);
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->list_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(klamm_list_moves(x->client, NULL, &moves, &x->err), 31);
    assert_string_equal(x->err.message, "CLUSTER_AUTHORIZATION_FAILED");
    assert_null(moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAKE_TEST(move_has_its_details),
        FAKE_TEST(queue_and_jobs_are_listed_in_order),
        FAKE_TEST(stock_controller_is_told_apart),
        FAKE_TEST(errors_are_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
