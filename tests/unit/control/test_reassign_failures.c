/*
 * Failures of brokers and controllers during moves: rows of docs/spec/reassignment.md 15.4, on the core alone.
 * Epochs as in test_reassign.c.
 */
#include "unit/control/moving.h"

static void row_41_a_target_that_dies_is_waited_for(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    world_kill(&w, 4);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 1);
    world_start(&w, 4);
    world_run(&w);
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 2);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,4] leader 1 isr [1,2,4] epoch 4");
    world_deinit(&w);
}

static void row_42_the_leader_dies_while_copying(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3] leader 2 isr [2,3] epoch 2");
    assert_int_equal(world_isr(&w, "t", 0, "2,3,4,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 4");
    world_deinit(&w);
}

static void row_43_a_removed_replica_that_is_down_is_not_told(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    world_kill(&w, 3);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,4] leader 1 isr [1,2,4] epoch 3");
    buf_clear(&w.sent);
    world_start(&w, 3);
    world_run(&w);
    assert_string_equal(sent_to(&w, 3), "brokers 4; ");
    world_deinit(&w);
}

static void row_44_a_controller_that_dies_after_u1(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 2, 4}, .replica_count = 3};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    struct control_event done;
    struct control_topic_read read;
    world_write_carry(&w, &done, &read);
    world_resign(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    buf_clear(&w.sent);
    world_elect(&w);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    assert_non_null(strstr(sent_to(&w, 4), "new t-0 leader 1 epoch 1"));
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,4] leader 1 isr [1,2,4] epoch 3");
    world_deinit(&w);
}

/* A controller dies after each number of writes of a move; the next one always ends it. */
static void row_45_a_controller_that_dies_anywhere(void **state)
{
    (void)state;
    for (int32_t writes = 0; writes < 5; writes++) {
        struct world w;
        world_with(&w, 4, "1,2,3");
        assert_int_equal(world_alter(&w, "t", 0, "4,2"), 0);
        struct control_event done = {0};
        struct control_topic_read read;
        int32_t left = writes;
        isr_propose(&w, "1,2,3,4");
        while (left-- > 0 && !list_is_empty(&w.writes)) {
            world_write_carry(&w, &done, &read);
            if (left > 0) {
                world_event(&w, &done); /* the last one is written, and nobody hears of it */
            }
        }
        world_failover(&w);
        if (writes == 0) {
            assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
        }
        assert_text(world_list(&w), "");
        assert_true(ids_equal(&world_node(&w, "t", 0)->replicas,
                              &(struct ids){.count = 2, .list = (int32_t[]){4, 2}}));
        assert_int_equal(world_state(&w, "t", 0)->leader, writes == 0 ? 4 : 2 + 2);
        assert_int_equal(world_state(&w, "t", 0)->isr.count, 2);
        world_deinit(&w);
    }
}

static void row_47_a_fenced_write_ends_the_role(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 2, 4}, .replica_count = 3};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    struct world_write *k = CONTAINER_OF(list_pop(&w.writes), struct world_write, link);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_WRITE_DONE,
                                            .write_id = k->body.id,
                                            .outcome = CONTROL_FENCED});
    world_write_free(k);
    assert_true(w.is_resigned);
    assert_false(w.reply.is_there);
    world_resign(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    assert_false(assignment_is_reassigning(world_node(&w, "t", 0)));
    world_deinit(&w);
}

static void row_48_a_conflicting_isr_change_is_not_lost(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    struct model_partition_state *s = world_state(&w, "t", 0);
    ids_remove(&s->isr, 3); /* written by somebody else */
    s->version++;
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[1,2,4,3] AR[4] RR[3] leader 1 isr [1,2] epoch 1");
    world_deinit(&w);
}

static void a_failed_directory_at_the_target_keeps_it_waiting(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    w.has_bad_dir[4] = true;
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    w.has_bad_dir[4] = false;
    world_start(&w, 4);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

/* Decision 5: all of the target is in sync, and cannot lead. */
static void row_51_no_old_replica_goes_before_a_new_one_leads(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    struct control_request request = {
        .kind = CONTROL_SHUTDOWN, .shutdown = {.broker = 2, .broker_epoch = w.brokers[2].epoch}};
    isr_propose(&w, "1,2");
    struct control_event done;
    struct control_topic_read read;
    world_write_carry(&w, &done, &read); /* the ISR is {1,2}; before the core hears, 2 dies */
    w.is_registered[2] = false;
    world_brokers_tell(&w);
    world_event(&w, &done);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[2] RR[1] leader 1 isr [1] epoch 2");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_start(&w, 2);
    world_run(&w);
    world_request(&w, &request);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[2,1] AR[2] RR[1]\n");
    world_deinit(&w);
}

/* A broker that lost power counts as alive and in sync until its session ends. Nothing is deleted on its
 * word: it has not answered. */
static void nothing_is_deleted_before_the_new_leader_answered(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", NULL});
    assert_int_equal(world_alter(&w, "t", 1, "1,3"), 0);
    assert_int_equal(world_isr(&w, "t", 1, "1,2,3"), 0); /* completes: [1,3] */
    w.is_mute[2] = true;
    buf_clear(&w.sent);
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){2}, .replica_count = 1};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[] RR[1] leader 2 isr [1,2] epoch 1");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_kill(&w, 2); /* the session ends */
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[] RR[1] leader 1 isr [1] epoch 2");
    assert_text(&w.reply.text, "t-0 0\n");
    w.is_mute[2] = false;
    world_start(&w, 2);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 5");
    assert_non_null(strstr(buf_text(&w.sent), "1 stop-delete t-0"));
    world_deinit(&w);
}

/* Between B3 and B4 the only target replica dies: the old ones lead again, nothing is stopped. */
static void a_target_that_dies_after_b3_gives_the_lead_back(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    const struct model_partition_state *s = world_state(&w, "t", 0);
    isr_propose(&w, "1,2");
    world_write_some(&w, 1); /* the ISR */
    struct control_event done;
    struct control_topic_read read;
    world_write_carry(&w, &done, &read); /* B3 */
    assert_int_equal(s->leader, 2);
    w.is_registered[2] = false;
    world_brokers_tell(&w);
    world_event(&w, &done);
    world_run(&w);
    assert_int_equal(s->leader, 1);
    assert_text(world_list(&w), "t-0 RS[2,1] AR[2] RR[1]\n");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_start(&w, 2);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_int_equal(s->leader, 2);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

static void s23_three_controllers_keep_the_list(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2", "2,1", "1,3", NULL});
    const struct wish wishes[] = {{"t", 0, "1,4"}, {"t", 1, "2,4"}, {"t", 2, "4,3"}};
    assert_string_equal(alter_all(&w, wishes, 3), "0 0 0");
    world_kill(&w, 4);
    world_run(&w);
    char *before = xstrdup(buf_text(world_list(&w)));
    for (int32_t i = 0; i < 3; i++) {
        world_failover(&w);
        assert_text(world_list(&w), before);
    }
    free(before);
    world_start(&w, 4);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_isr(&w, "t", 1, "2,1,4"), 0);
    assert_int_equal(world_isr(&w, "t", 2, "1,3,4"), 0);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

static void row_54_an_adding_replica_can_be_elected_once_in_sync(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1");
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_PREFERRED_LEADER_NOT_AVAILABLE);
    assert_int_equal(world_isr(&w, "t", 0, "1,4"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_int_equal(world_state(&w, "t", 0)->leader, 4);
    assert_text(world_list(&w), "t-0 RS[4,5,1] AR[4,5] RR[1]\n");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_41_a_target_that_dies_is_waited_for),
        cmocka_unit_test(row_42_the_leader_dies_while_copying),
        cmocka_unit_test(row_43_a_removed_replica_that_is_down_is_not_told),
        cmocka_unit_test(row_44_a_controller_that_dies_after_u1),
        cmocka_unit_test(row_45_a_controller_that_dies_anywhere),
        cmocka_unit_test(row_47_a_fenced_write_ends_the_role),
        cmocka_unit_test(row_48_a_conflicting_isr_change_is_not_lost),
        cmocka_unit_test(a_failed_directory_at_the_target_keeps_it_waiting),
        cmocka_unit_test(row_51_no_old_replica_goes_before_a_new_one_leads),
        cmocka_unit_test(nothing_is_deleted_before_the_new_leader_answered),
        cmocka_unit_test(a_target_that_dies_after_b3_gives_the_lead_back),
        cmocka_unit_test(s23_three_controllers_keep_the_list),
        cmocka_unit_test(row_54_an_adding_replica_can_be_elected_once_in_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
