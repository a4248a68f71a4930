/*
 * Controlled shutdown (docs/spec/zookeeper-mode.md section 10 and check 10).
 */
#include "unit/control/harness.h"

static const char *shut_down(struct world *w, int32_t broker, int64_t epoch)
{
    struct control_request request = {.kind = CONTROL_SHUTDOWN,
                                      .shutdown = {.broker = broker, .broker_epoch = epoch}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    return buf_text(&w->reply.text);
}

static void its_leaderships_move_and_it_leaves_every_isr(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 3, 1);
    world_elect(&w);
    world_run(&w);
    const char *const lists[] = {"1,2,3", "2,1,3", NULL};
    assert_int_equal(world_create(&w, "t", lists), 0);
    buf_clear(&w.sent);
    assert_string_equal(shut_down(&w, 1, w.brokers[1].epoch), "");
    assert_int_equal(w.reply.error, 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    assert_string_equal(world_text(&w, "t", 1), "RS[2,1,3] leader 2 isr [2,3] epoch 1");
    assert_non_null(strstr(buf_text(&w.sent), "1 stop t-1 epoch 1"));
    world_deinit(&w);
}

static void what_it_must_go_on_leading_is_named(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    assert_int_equal(world_create(&w, "single", (const char *const[]){"1", NULL}), 0);
    world_kill(&w, 2);
    world_run(&w);
    assert_string_equal(shut_down(&w, 1, w.brokers[1].epoch), "t-0\n");
    assert_int_equal(world_state(&w, "t", 0)->leader, 1);
    world_start(&w, 2);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(shut_down(&w, 1, w.brokers[1].epoch), "");
    assert_int_equal(world_state(&w, "t", 0)->leader, 2);
    world_deinit(&w);
}

/* The leader is dead: whoever leaves then could be the last one alive that has everything. */
static void nobody_leaves_the_isr_of_a_dead_leader(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    w.is_mute[2] = true;
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(shut_down(&w, 2, w.brokers[2].epoch), "");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader -1 isr [1,2] epoch 1");
    world_deinit(&w);
}

static void strangers_are_refused(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 1, 1);
    (void)shut_down(&w, 1, 5);
    assert_int_equal(w.reply.error, KERR_STALE_CONTROLLER_EPOCH);
    world_elect(&w);
    world_run(&w);
    (void)shut_down(&w, 7, 5);
    assert_int_equal(w.reply.error, KERR_BROKER_NOT_AVAILABLE);
    (void)shut_down(&w, 1, w.brokers[1].epoch - 1);
    assert_int_equal(w.reply.error, KERR_STALE_BROKER_EPOCH);
    (void)shut_down(&w, 1, -1);
    assert_int_equal(w.reply.error, 0);
    world_deinit(&w);
}

static void a_restart_ends_the_shutdown(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "2,3");
    (void)shut_down(&w, 1, -1);
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), KERR_INVALID_REPLICA_ASSIGNMENT);
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_leaderships_move_and_it_leaves_every_isr),
        cmocka_unit_test(what_it_must_go_on_leading_is_named),
        cmocka_unit_test(nobody_leaves_the_isr_of_a_dead_leader),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(a_restart_ends_the_shutdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
