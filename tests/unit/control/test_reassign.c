/*
 * The normal course of moves: rows of docs/spec/reassignment.md 15.2 and its worked traces 6.7, on the core
 * alone. Epochs count the writes of
 * decision 13: B4 and U3 remove all their replicas in one write, so trace 1 ends three above its start, and the
 * B6 that would write what is stored already is left out.
 */
#include "unit/control/moving.h"

static void row_16_trace_2_factor_one(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[2] RR[1] leader 1 isr [1] epoch 1");
    buf_clear(&w.sent);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 3");
    assert_string_equal(sent_to(&w, 1), "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    assert_int_equal(node_writes(&w), 2);
    assert_int_equal(control_writes_pending(w.core), 0);
    world_deinit(&w);
}

static void row_17_trace_1_requests_leave_in_order(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_string_equal(sent_to(&w, 1), "state t-0 leader 1 epoch 1 RS[4,5,6,1,2,3] AR[4,5,6] "
                                        "RR[1,2,3]; ");
    assert_string_equal(sent_to(&w, 4), "new t-0 leader 1 epoch 1 RS[4,5,6,1,2,3] AR[4,5,6] "
                                        "RR[1,2,3]; ");
    buf_clear(&w.sent);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 3");
    for (int32_t id = 1; id <= 3; id++) {
        assert_string_equal(sent_to(&w, id), "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    }
    for (int32_t id = 4; id <= 6; id++) {
        assert_string_equal(sent_to(&w, id), "state t-0 leader 4 epoch 2 RS[4,5,6]; "
                                             "state t-0 leader 4 epoch 3 RS[4,5,6]; ");
    }
    const char *end = strstr(buf_text(&w.sent), "stop-delete");
    for (int32_t id = 1; id <= 6; id++) {
        char *line = xasprintf("%d metadata t-0 leader 4 epoch 3 RS[4,5,6]\n", id);
        assert_non_null(strstr(end, line));
        free(line);
    }
    world_deinit(&w);
}

static void row_18_trace_4_growth_stops_nobody(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] AR[3] RR[] leader 1 isr [1,2] epoch 1");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 2");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_deinit(&w);
}

static void row_19_20_traces_5_6_7_removal_ends_within_the_call(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2,3", "1,2,3", "1,2,3", NULL});
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 2");
    assert_string_equal(sent_to(&w, 3), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_int_equal(world_isr(&w, "t", 1, "1,2"), 0);
    assert_int_equal(world_alter(&w, "t", 1, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 1), "RS[1,2] leader 1 isr [1,2] epoch 1");
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 2, "2,3"), 0);
    assert_string_equal(world_text(&w, "t", 2), "RS[2,3] leader 2 isr [2,3] epoch 2");
    assert_string_equal(sent_to(&w, 1), "stop t-2 epoch 2; stop-delete t-2 epoch 2; ");
    world_deinit(&w);
}

static void row_22_traces_8_9_the_same_list_raises_the_epoch(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 1");
    assert_int_equal(node_writes(&w), 0);
    assert_int_equal(world_alter(&w, "t", 0, "3,1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1,2] leader 1 isr [1,2,3] epoch 2");
    assert_int_equal(node_writes(&w), 1);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

static void row_23_partitions_of_one_topic_do_not_disturb_each_other(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 5, (const char *const[]){"1,2", "1,2", "1,2", NULL});
    struct uuid id = world_topic(&w, "t")->node.id;
    assert_false(uuid_is_zero(id));
    assert_int_equal(world_alter(&w, "t", 0, "3,4"), 0);
    assert_int_equal(world_alter(&w, "t", 1, "1,2,5"), 0);
    assert_int_equal(world_alter(&w, "t", 2, "2"), 0);
    assert_text(world_list(&w), "t-0 RS[3,4,1,2] AR[3,4] RR[1,2]\nt-1 RS[1,2,5] AR[5] RR[]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_text(world_list(&w), "t-1 RS[1,2,5] AR[5] RR[]\n");
    assert_string_equal(world_text(&w, "t", 2), "RS[2] leader 2 isr [2] epoch 2");
    assert_true(uuid_equal(world_topic(&w, "t")->node.id, id));
    world_deinit(&w);
}

static void row_27_28_only_the_last_member_completes(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    int32_t version = world_state(&w, "t", 0)->version;
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5"), 0);
    assert_int_equal(world_state(&w, "t", 0)->version, version + 2);
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 1);
    assert_text(world_list(&w), "t-0 RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3]\n");
    isr_propose(&w, "1,2,3,4,5,6");
    buf_clear(&w.sent);
    world_write_some(&w, 1);
    assert_text(&w.reply.text, "0 0 leader 1 epoch 1 isr [1,2,3,4,5,6] version 4\n");
    /* The leader is answered before anything of the completion is stored or sent. */
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3] leader 1 isr [1,2,3,4,5,6] epoch 1");
    assert_null(strstr(buf_text(&w.sent), "state"));
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 3");
    world_deinit(&w);
}

/* S17: a removal waits when what stays is not in sync. */
static void a_removal_waits_for_those_that_stay(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_ELECTION_NOT_NEEDED);
    world_kill(&w, 1);
    world_kill(&w, 2);
    world_run(&w);
    world_start(&w, 1);
    world_start(&w, 2);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 3 isr [3] epoch 2");
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
    assert_text(world_list(&w), "t-0 RS[1,2,3] AR[] RR[3]\n");
    assert_int_equal(world_isr(&w, "t", 0, "3,1"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "3,1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 5");
    world_deinit(&w);
}

static void all_moves_of_a_request_share_one_write_a_topic(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1", "1", "1", "1", NULL});
    const struct wish wishes[] = {{"t", 0, "2"}, {"t", 1, "3"}, {"t", 2, "2"}, {"t", 3, "1,2"}};
    assert_string_equal(alter_all(&w, wishes, 4), "0 0 0 0");
    assert_int_equal(node_writes(&w), 1);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_16_trace_2_factor_one),
        cmocka_unit_test(row_17_trace_1_requests_leave_in_order),
        cmocka_unit_test(row_18_trace_4_growth_stops_nobody),
        cmocka_unit_test(row_19_20_traces_5_6_7_removal_ends_within_the_call),
        cmocka_unit_test(row_22_traces_8_9_the_same_list_raises_the_epoch),
        cmocka_unit_test(row_23_partitions_of_one_topic_do_not_disturb_each_other),
        cmocka_unit_test(row_27_28_only_the_last_member_completes),
        cmocka_unit_test(a_removal_waits_for_those_that_stay),
        cmocka_unit_test(all_moves_of_a_request_share_one_write_a_topic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
