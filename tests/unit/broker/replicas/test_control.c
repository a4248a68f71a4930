/*
 * The controller's orders against a running broker (docs/spec/reassignment.md 10.1, 10.2; rows 25, 62,
 * 63), in the forms of old and new versions.
 */
#include "world.h"

#include "model/kerr.h"
#include "wire/leader_and_isr.h"
#include "wire/stop_replica.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t both[] = {1, 2};

static struct world *one_broker(void)
{
    struct world *w = world_new(31, 2);
    world_start(w, 1);
    return w;
}

/* Row 63. */
static void stale_and_equal_leader_epochs_get_11(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    p->leader_epoch = 5;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    p->leader = 2;
    assert_int_equal(world_send(w, 1, p), KERR_STALE_CONTROLLER_EPOCH);
    p->leader_epoch = 4;
    assert_int_equal(world_send(w, 1, p), KERR_STALE_CONTROLLER_EPOCH);
    assert_true(world_info(w, 1, p).is_leader);
    assert_int_equal(world_info(w, 1, p).leader_epoch, 5);
    p->leader_epoch = 6;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    assert_false(world_info(w, 1, p).is_leader);
    assert_int_equal(world_info(w, 1, p).leader, 2);
    world_free(w);
}

static void broker_outside_the_replica_set_gets_3(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition other = *p;
    other.partition = 1;
    other.leader = other.replicas[0] = 2;
    other.replica_count = 1;
    assert_int_equal(world_send(w, 1, &other), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    struct replicas_partition_info info;
    assert_false(replicas_partition_get(world_replicas(w, 1), slice_str("orders"), 1, &info));
    world_free(w);
}

static void other_topic_id_gets_103(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    p->leader_epoch++;
    p->topic_id.bytes[15] ^= 1;
    assert_int_equal(world_send(w, 1, p), KERR_INCONSISTENT_TOPIC_ID);
    world_free(w);
}

/* The other topic of that name is deleted: what is here is not of it. */
static void deletion_of_another_topic_of_that_name_keeps_the_log(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct replicas_partition_info info;
    p->leader_epoch++;
    p->topic_id.bytes[15] ^= 1;
    assert_int_equal(world_send(w, 1, p), KERR_INCONSISTENT_TOPIC_ID);
    assert_int_equal(world_stop_replica(w, 1, p, true, -2), KERR_NONE);
    assert_true(replicas_partition_get(world_replicas(w, 1), slice_str("orders"), 0, &info));
    p->topic_id.bytes[15] ^= 1;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    assert_int_equal(world_stop_replica(w, 1, p, true, -2), KERR_NONE);
    assert_false(replicas_partition_get(world_replicas(w, 1), slice_str("orders"), 0, &info));
    world_free(w);
}

/* A name that is no topic name must not become a path. */
static void bad_topic_name_gets_17(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    struct world_partition bad = *p;
    bad.topic = "../orders";
    assert_int_equal(world_send(w, 1, &bad), KERR_INVALID_TOPIC_EXCEPTION);
    bad.topic = "orders";
    bad.partition = -1;
    assert_int_equal(world_send(w, 1, &bad), KERR_INVALID_TOPIC_EXCEPTION);
    world_free(w);
}

static void request_for_an_earlier_broker_gets_77(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_leader_and_isr_request req;
    wire_leader_and_isr_request_init(&req);
    req.controller_epoch = 1;
    req.broker_epoch = 99; /* ours is 100 */
    struct wire_leader_and_isr_response resp;
    assert_int_equal(replicas_leader_and_isr(world_replicas(w, 1), &req, 7, &arena, &resp), 0);
    assert_int_equal(resp.error_code, KERR_STALE_BROKER_EPOCH);
    arena_deinit(&arena);
    world_free(w);
}

/* The answer names every partition, at the top level and below. */
static void old_controller_gets_11_everywhere(void **state)
{
    (void)state;
    struct world *w = one_broker();
    assert_int_equal(replicas_check_controller(world_replicas(w, 1), 7, -1), 0);
    assert_int_equal(replicas_check_controller(world_replicas(w, 1), 6, -1), -E_FENCED);
    int32_t rs[] = {1};
    struct wire_leader_and_isr_request_ungrouped_partition_states states[2];
    for (int32_t i = 0; i < 2; i++) {
        wire_leader_and_isr_request_ungrouped_partition_states_init(&states[i]);
        states[i].topic_name = slice_str("orders");
        states[i].partition_index = i;
        states[i].leader = 1;
        states[i].replicas = states[i].isr = rs;
        states[i].replicas_count = states[i].isr_count = 1;
    }
    struct wire_leader_and_isr_request req;
    wire_leader_and_isr_request_init(&req);
    req.controller_epoch = 6;
    req.ungrouped_partition_states = states;
    req.ungrouped_partition_states_count = 2;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_leader_and_isr_response resp;
    assert_int_equal(replicas_leader_and_isr(world_replicas(w, 1), &req, 1, &arena, &resp), 0);
    assert_int_equal(resp.error_code, KERR_STALE_CONTROLLER_EPOCH);
    assert_int_equal(resp.partition_errors_count, 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(resp.partition_errors[i].partition_index, i);
        assert_int_equal(resp.partition_errors[i].error_code, KERR_STALE_CONTROLLER_EPOCH);
    }
    req.controller_epoch = 7;
    assert_int_equal(replicas_leader_and_isr(world_replicas(w, 1), &req, 1, &arena, &resp), 0);
    assert_int_equal(resp.error_code, KERR_NONE);
    assert_int_equal(resp.partition_errors[1].error_code, KERR_NONE);
    assert_true(slice_equal_str(resp.partition_errors[1].topic_name, "orders"));
    arena_deinit(&arena);
    world_free(w);
}

/* Row 62. */
static void stop_replica_compares_epochs(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 2);
    p->leader_epoch = 5;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    assert_int_equal(world_stop_replica(w, 1, p, true, 4), KERR_FENCED_LEADER_EPOCH);
    assert_true(world_info(w, 1, p).is_leader);
    assert_int_equal(world_stop_replica(w, 1, p, false, 5), KERR_NONE);
    assert_false(world_info(w, 1, p).is_leader);
    assert_int_equal(world_stop_replica(w, 1, p, false, 6), KERR_NONE);
    assert_int_equal(world_stop_replica(w, 1, p, false, -1), KERR_NONE);
    assert_int_equal(world_stop_replica(w, 1, p, true, -2), KERR_NONE);
    struct replicas_partition_info info;
    assert_false(replicas_partition_get(world_replicas(w, 1), slice_str("orders"), 0, &info));
    assert_int_equal(world_stop_replica(w, 1, p, true, -2), KERR_NONE); /* not hosted: fine */
    world_free(w);
}

/* Versions below 3 say delete for the whole request, without epochs. */
static void old_stop_replica_is_taken_without_epochs(void **state)
{
    (void)state;
    struct world *w = one_broker();
    (void)world_create(w, "orders", 0, both, 2);
    (void)world_create(w, "orders", 1, both, 2);
    int32_t indexes[] = {0, 1};
    struct wire_stop_replica_request_topics topic = {
        .name = slice_str("orders"), .partition_indexes = indexes, .partition_indexes_count = 2};
    struct wire_stop_replica_request req;
    wire_stop_replica_request_init(&req);
    req.controller_epoch = 1;
    req.delete_partitions = true;
    req.topics = &topic;
    req.topics_count = 1;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_stop_replica_response resp;
    assert_int_equal(replicas_stop_replica(world_replicas(w, 1), &req, 2, &arena, &resp), 0);
    assert_int_equal(resp.partition_errors_count, 2);
    assert_int_equal(resp.partition_errors[0].error_code, KERR_NONE);
    struct replicas_metrics metrics;
    replicas_metrics(world_replicas(w, 1), &metrics);
    assert_int_equal(metrics.partitions, 0);
    arena_deinit(&arena);
    world_free(w);
}

/* The files are renamed at once and deleted after file.delete.delay.ms; the name is free again. */
static void deleted_partition_can_be_made_anew(void **state)
{
    (void)state;
    struct world *w = one_broker();
    struct world_partition *p = world_create(w, "orders", 0, both, 1);
    struct world_produce produce;
    world_append(w, 1, p, 5, &produce);
    world_produce_deinit(&produce);
    assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
    p->topic_id.bytes[14] ^= 1;
    assert_int_equal(world_send(w, 1, p), KERR_NONE);
    assert_int_equal(world_info(w, 1, p).log_end, 0);
    world_append(w, 1, p, 2, &produce);
    world_produce_deinit(&produce);
    assert_int_equal(world_info(w, 1, p).log_end, 2);
    world_pass(w, 70000);
    int64_t used = sim_disk_used(w->brokers[1].node);
    assert_true(used > 0 && used < 100000);
    assert_int_equal(world_info(w, 1, p).log_end, 2);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_and_equal_leader_epochs_get_11),
        cmocka_unit_test(broker_outside_the_replica_set_gets_3),
        cmocka_unit_test(other_topic_id_gets_103),
        cmocka_unit_test(deletion_of_another_topic_of_that_name_keeps_the_log),
        cmocka_unit_test(bad_topic_name_gets_17),
        cmocka_unit_test(request_for_an_earlier_broker_gets_77),
        cmocka_unit_test(old_controller_gets_11_everywhere),
        cmocka_unit_test(stop_replica_compares_epochs),
        cmocka_unit_test(old_stop_replica_is_taken_without_epochs),
        cmocka_unit_test(deleted_partition_can_be_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
