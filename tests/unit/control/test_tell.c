/*
 * What brokers are told: grouped by topic, once a step, with what is stored at that time.
 */
#include "unit/control/harness.h"

static void one_step_makes_one_request_a_broker(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    world_elect(&w);
    world_run(&w);
    const char *const lists[] = {"1,2", "1,2", "1,2", NULL};
    assert_int_equal(world_create(&w, "t", lists), 0);
    world_kill(&w, 1);
    while (w.writes.count < 3) {
        world_answer_one(&w); /* broker 2 shows that it lives */
    }
    struct control_event events[3];
    struct control_topic_read reads[3];
    for (int32_t i = 0; i < 3; i++) {
        world_write_carry(&w, &events[i], &reads[i]);
    }
    control_step(w.core, 0, events, 3, &w.out);
    int32_t sends = 0;
    for (int32_t i = 0; i < w.out.count; i++) {
        if (w.out.list[i].kind == CONTROL_EFFECT_SEND) {
            const struct control_send *send = &w.out.list[i].send;
            assert_int_equal(send->partition_count, 3);
            assert_int_equal(send->receiver_count, 1);
            assert_int_equal(send->receivers[0].broker, 2);
            assert_int_equal(send->receivers[0].broker_epoch, w.brokers[2].epoch);
            assert_int_equal(send->controller_epoch, 1);
            for (int32_t k = 0; k < 3; k++) {
                assert_int_equal(send->partitions[k].partition, k);
                assert_int_equal(send->partitions[k].state.leader, 2);
                assert_int_equal(send->partitions[k].state.version, 1);
            }
            sends++;
        }
    }
    assert_int_equal(sends, 2); /* LeaderAndIsr, UpdateMetadata */
    world_deinit(&w);
}

static void metadata_names_offline_replicas(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    w.is_registered[3] = false;
    world_brokers_tell(&w);
    bool is_seen = false;
    for (int32_t i = 0; i < w.out.count; i++) {
        const struct control_send *send = &w.out.list[i].send;
        if (w.out.list[i].kind == CONTROL_EFFECT_SEND &&
            send->kind == CONTROL_SEND_UPDATE_METADATA && send->partition_count == 1) {
            assert_int_equal(send->partitions[0].offline.count, 1);
            assert_int_equal(send->partitions[0].offline.list[0], 3);
            assert_int_equal(send->broker_count, 2);
            is_seen = true;
        }
    }
    assert_true(is_seen);
    world_run(&w);
    world_deinit(&w);
}

/* How many requests left, all of them an UpdateMetadata to all three that names no partition. */
static int32_t count_bare(const struct world *w)
{
    int32_t count = 0;
    for (int32_t i = 0; i < w->out.count; i++) {
        if (w->out.list[i].kind == CONTROL_EFFECT_SEND) {
            const struct control_send *send = &w->out.list[i].send;
            assert_int_equal(send->kind, CONTROL_SEND_UPDATE_METADATA);
            assert_int_equal(send->partition_count, 0);
            assert_int_equal(send->receiver_count, 3);
            assert_int_equal(send->broker_count, 3);
            count++;
        }
    }
    return count;
}

static void the_driver_may_speak_to_all_brokers(void **state)
{
    struct world w;
    struct control_event event = {.kind = CONTROL_ON_TELL_BROKERS};
    (void)state;
    world_with(&w, 3, "1,2,3");
    control_step(w.core, 0, &event, 1, &w.out);
    assert_int_equal(count_bare(&w), 1);
    world_resign(&w);
    control_step(w.core, 0, &event, 1, &w.out);
    assert_int_equal(count_bare(&w), 0);
    world_deinit(&w);
}

static void dead_brokers_are_told_nothing(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 3);
    world_run(&w);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "2,1,3"), 0);
    assert_null(strstr(buf_text(&w.sent), "\n3 "));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_makes_one_request_a_broker),
        cmocka_unit_test(metadata_names_offline_replicas),
        cmocka_unit_test(dead_brokers_are_told_nothing),
        cmocka_unit_test(the_driver_may_speak_to_all_brokers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
