/*
 * Overrides and cancels of moves: rows of docs/spec/reassignment.md 15.3 and its worked traces 6.7, on the core
 * alone. Epochs as in test_reassign.c.
 */
#include "unit/control/moving.h"

/* The names of the steps written since the last call. */
static const char *steps_taken(struct world *w)
{
    static const char *const names[CONTROL_STEP_COUNT] = {
        [CONTROL_STEP_ASSIGN] = "U1",     [CONTROL_STEP_OVERRIDE] = "override",
        [CONTROL_STEP_CANCEL] = "cancel", [CONTROL_STEP_HAND_OVER] = "hand-over",
        [CONTROL_STEP_DROP] = "drop",     [CONTROL_STEP_RAISE] = "A1",
        [CONTROL_STEP_LEAD] = "B3",       [CONTROL_STEP_SHRINK] = "B4",
        [CONTROL_STEP_STORE] = "B6",      [CONTROL_STEP_LEGACY] = "B7",
    };
    static char text[128];
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < CONTROL_STEP_COUNT; i++) {
        if ((w->steps >> i & 1) != 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s;", names[i]);
        }
    }
    w->steps = 0;
    return text;
}

static void row_29_an_override_stops_the_old_target(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_text(world_list(&w), "t-0 RS[4,5,1] AR[4,5] RR[1]\n");
    assert_string_equal(sent_to(&w, 2), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_string_equal(sent_to(&w, 3), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_int_equal(world_isr(&w, "t", 0, "1,4,5"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5] leader 4 isr [4,5] epoch 4");
    world_deinit(&w);
}

/* A leader below 2.7-IV2 has written a replica of the old target into the ISR, unheard. It must have left
 * again before it is told to delete what it has: until then it may be the only one to lead. */
static void an_override_stops_nobody_who_joined_unheard(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    buf_clear(&w.sent);
    struct model_partition_state *stored = &world_topic(&w, "t")->partitions[0].state;
    ids_add(&stored->isr, 2);
    stored->version++;
    assert_int_equal(world_alter(&w, "t", 0, "3"), 0);
    assert_string_equal(sent_to(&w, 2), "state t-0 leader 1 epoch 1 RS[3,1,2] AR[3] RR[1]; "
                                        "state t-0 leader 1 epoch 2 RS[3,1,2] AR[3] RR[1]; "
                                        "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1] AR[3] RR[1] leader 1 isr [1] epoch 3");
    world_deinit(&w);
}

static void row_30_the_last_of_three_overrides_wins(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 7, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,4"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "5,6"), 0);
    assert_string_equal(sent_to(&w, 4), "state t-0 leader 1 epoch 3 RS[5,6,1,4] AR[5,6] RR[1]; "
                                        "stop t-0 epoch 4; stop-delete t-0 epoch 4; ");
    assert_string_equal(world_text(&w, "t", 0), "RS[5,6,1] AR[5,6] RR[1] leader 1 isr [1] epoch 4");
    assert_int_equal(world_isr(&w, "t", 0, "1,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[5,6] leader 5 isr [5,6] epoch 6");
    world_deinit(&w);
}

static void row_31_trace_10_cancel_before_it_joined(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 2");
    assert_string_equal(sent_to(&w, 4), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_text(world_list(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    world_deinit(&w);
}

static void row_32_trace_11_cancel_after_it_joined(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 3");
    assert_string_equal(sent_to(&w, 4), "state t-0 leader 1 epoch 2 RS[1,2,3,4,5]; "
                                        "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    assert_non_null(strstr(sent_to(&w, 5), "stop t-0 epoch 3; stop-delete t-0 epoch 3; "));
    world_deinit(&w);
}

static void writes_say_which_steps_they_are(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_string_equal(steps_taken(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_string_equal(steps_taken(&w), "U1;A1;");
    assert_int_equal(world_alter(&w, "t", 0, "1,5,6"), 0);
    assert_string_equal(steps_taken(&w), "override;A1;");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,5"), 0);
    assert_string_equal(steps_taken(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(steps_taken(&w), "cancel;hand-over;drop;");
    assert_int_equal(world_alter(&w, "t", 0, "4,2,3"), 0);
    assert_string_equal(steps_taken(&w), "U1;A1;");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(steps_taken(&w), "B3;B4;B6;");
    world_deinit(&w);
}

/* Decision 1: the order comes back, too. */
static void row_33_34_cancel_restores_the_list_exactly(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "3,4,2"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "5,3,6"), 0);
    world_failover(&w);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 4");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 6");
    assert_int_equal(world_node(&w, "t", 0)->original.count, 0);
    world_deinit(&w);
}

static void a_permuted_target_keeps_the_order_asked_for(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,2,3"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "3,2,1"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[3,2,1] leader 1 isr [1,2,3] epoch 2");
    world_deinit(&w);
}

static void row_35_cancel_and_target_in_one_request(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 5, (const char *const[]){"1,2", "1,2", NULL});
    const struct wish start[] = {{"t", 0, "1,3"}, {"t", 1, "1,3"}};
    assert_string_equal(alter_all(&w, start, 2), "0 0");
    const struct wish next[] = {{"t", 0, NULL}, {"t", 1, "4,5"}};
    assert_string_equal(alter_all(&w, next, 2), "0 0");
    assert_text(world_list(&w), "t-1 RS[4,5,1,2] AR[4,5] RR[1,2]\n");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 2");
    world_deinit(&w);
}

static void row_36_a_dropped_leader_hands_over_before_it_stops(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_int_equal(world_state(&w, "t", 0)->leader, 4);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 4");
    assert_string_equal(sent_to(&w, 4), "state t-0 leader 1 epoch 3 RS[1,2,4,5]; "
                                        "stop t-0 epoch 4; stop-delete t-0 epoch 4; ");
    world_deinit(&w);
}

static void row_37_s03_the_same_target_again(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(node_writes(&w), 1);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(node_writes(&w), 1);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 2);
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_deinit(&w);
}

static void row_38_an_adding_replica_counts_as_new_again(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    world_kill(&w, 4);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    world_deinit(&w);
}

static void s04_mixed_cancels(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2,3", "1,2,3", NULL});
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    const struct wish wishes[] = {
        {"t", 0, NULL}, {"t", 1, NULL}, {"t", 9, NULL}, {"ghost", 0, NULL}};
    assert_string_equal(alter_all(&w, wishes, 4), "0 85 85 85");
    world_deinit(&w);
}

/* Decision 2: ISR and original list have nothing in common. */
static void a_cancel_that_would_strand_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,3,1] AR[2,3] RR[1] leader 2 isr [2] epoch 2");
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter(&w, "t", 0, "1"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,3,1] AR[2,3] RR[1] leader 2 isr [2] epoch 2");
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(
        world_alter_with(&w, "t", 0, NULL, (struct control_alter){.is_cancel_forced = true}), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1] leader 1 isr [1] epoch 3");
    assert_int_equal(world_state(&w, "t", 0)->recovery, MODEL_RECOVERING);
    world_deinit(&w);
}

/* Decision 2: fewer than min.insync.replicas would remain, and fewer than now. */
static void a_cancel_below_min_isr_is_refused_unless_harmless(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC_CONFIG,
                                            .name = slice_str("t"),
                                            .min_insync_replicas = 2});
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,4"), 0);
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_isr(&w, "t", 0, "1"), 0);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1] epoch 2");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_29_an_override_stops_the_old_target),
        cmocka_unit_test(an_override_stops_nobody_who_joined_unheard),
        cmocka_unit_test(row_30_the_last_of_three_overrides_wins),
        cmocka_unit_test(row_31_trace_10_cancel_before_it_joined),
        cmocka_unit_test(row_32_trace_11_cancel_after_it_joined),
        cmocka_unit_test(writes_say_which_steps_they_are),
        cmocka_unit_test(row_33_34_cancel_restores_the_list_exactly),
        cmocka_unit_test(a_permuted_target_keeps_the_order_asked_for),
        cmocka_unit_test(row_35_cancel_and_target_in_one_request),
        cmocka_unit_test(row_36_a_dropped_leader_hands_over_before_it_stops),
        cmocka_unit_test(row_37_s03_the_same_target_again),
        cmocka_unit_test(row_38_an_adding_replica_counts_as_new_again),
        cmocka_unit_test(s04_mixed_cancels),
        cmocka_unit_test(a_cancel_that_would_strand_is_refused),
        cmocka_unit_test(a_cancel_below_min_isr_is_refused_unless_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
