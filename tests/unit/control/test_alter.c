/*
 * Which moves are accepted, and what is listed: rows of docs/spec/reassignment.md 15.1 on the core alone, and
 * what the queue of moves asks for.
 */
#include "unit/control/moving.h"

static void row_01_every_target_starts_from_the_origin(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 9, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_text(world_list(&w), "t-0 RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3]\n");
    assert_int_equal(world_alter(&w, "t", 0, "7,8,9"), 0);
    assert_text(world_list(&w), "t-0 RS[7,8,9,1,2,3] AR[7,8,9] RR[1,2,3]\n");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    assert_text(world_list(&w), "");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 3");
    world_deinit(&w);
}

static void row_02_kept_replicas_keep_the_wanted_order(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2,3,4");
    assert_int_equal(world_alter(&w, "t", 0, "4,2,5,3"), 0);
    assert_text(world_list(&w), "t-0 RS[4,2,5,3,1] AR[5] RR[1]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,2,5,3] leader 4 isr [2,3,4,5] epoch 3");
    world_deinit(&w);
}

static void row_03_21_a_new_order_is_stored_at_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "3,1,2"), 0);
    assert_text(world_list(&w), "");
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1,2] leader 1 isr [1,2,3] epoch 1");
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1,2] leader 3 isr [1,2,3] epoch 2");
    world_deinit(&w);
}

static void row_04_each_entry_is_judged_alone(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", "1,2", "1,2", "1,2", NULL});
    const struct wish wishes[] = {
        {"t", 0, ""}, {"t", 1, "1,1"}, {"t", 2, "1,-1"}, {"t", 3, "1,99"}, {"t", 4, "1,3"}};
    assert_string_equal(alter_all(&w, wishes, 5), "39 39 39 39 0");
    assert_text(world_list(&w), "t-4 RS[1,3,2] AR[3] RR[2]\n");
    assert_int_equal(node_writes(&w), 1);
    world_deinit(&w);
}

static void row_05_an_absent_topic(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_alter(&w, "absent", 0, "1,2"), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_alter(&w, "absent", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(world_alter(&w, "absent", 0, "1,9"), KERR_INVALID_REPLICA_ASSIGNMENT);
    world_deinit(&w);
}

static void row_06_a_cancel_of_nothing_writes_nothing(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(node_writes(&w), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_deinit(&w);
}

static void row_07_dead_brokers_may_stay(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2,3", "1,2,3", "1,2,3", NULL});
    world_kill(&w, 3);
    world_run(&w);
    const struct wish wishes[] = {{"t", 0, "1,2"}, {"t", 1, "3,1"}, {"t", 2, "1,2,3,4"}};
    assert_string_equal(alter_all(&w, wishes, 3), "0 0 0");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 2");
    assert_text(world_list(&w), "t-1 RS[3,1,2] AR[] RR[2]\nt-2 RS[1,2,3,4] AR[4] RR[]\n");
    world_deinit(&w);
}

static void row_08_a_broker_that_shuts_down_is_no_target(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct control_request request = {
        .kind = CONTROL_SHUTDOWN, .shutdown = {.broker = 3, .broker_epoch = w.brokers[3].epoch}};
    world_request(&w, &request);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(node_writes(&w), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_deinit(&w);
}

static void row_09_without_the_role_everything_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 1, 1);
    assert_int_equal(world_alter(&w, "t", 0, "1"), KERR_NOT_CONTROLLER);
    assert_int_equal(w.reply.count, 0);
    (void)world_list(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    assert_int_equal(w.reply.count, 0);
    world_deinit(&w);
}

static void row_12_list_shows_what_moves_and_is_asked_for(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", NULL});
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    assert_text(world_list(&w), "t-0 RS[1,3,2] AR[3] RR[2]\n");
    struct control_tp tps[] = {
        {slice_str("t"), 0}, {slice_str("t"), 1}, {slice_str("nope"), 0}, {slice_str("t"), 0}};
    struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                      .list = {.entries = tps, .count = 4}};
    world_request(&w, &request);
    assert_int_equal(w.reply.error, 0);
    assert_text(&w.reply.text, "t-0 RS[1,3,2] AR[3] RR[2]\n");
    request.list.count = 0;
    world_request(&w, &request);
    assert_text(&w.reply.text, "");
    world_deinit(&w);
}

/* The only move, as the list has it now; borrowed until the next step. */
static const struct control_moving *listed(struct world *w)
{
    struct control_event event = {
        .kind = CONTROL_ON_REQUEST,
        .request = {.kind = CONTROL_LIST_REASSIGNMENTS, .list = {.wants_all = true}}};
    control_step(w->core, w->now_ms, &event, 1, &w->out);
    assert_int_equal(w->out.count, 1);
    assert_int_equal(w->out.list[0].kind, CONTROL_EFFECT_REPLY);
    assert_int_equal(w->out.list[0].reply.count, 1);
    return &w->out.list[0].reply.moving[0];
}

/* What its progress is judged by, over a failover too. */
static void list_tells_what_a_move_waits_for(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_false(control_has_moves(w.core));
    w.now_ms += 5000;
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    const struct control_moving *m = listed(&w);
    assert_true(control_has_moves(w.core));
    assert_int_equal(m->leader, 1);
    assert_true(m->has_leader);
    assert_false(m->is_resumed);
    assert_false(m->is_stopping);
    assert_int_equal(m->isr.count, 2);
    assert_int_equal(m->original.count, 2);
    assert_int_equal(m->offline.count, 0);
    assert_int_equal(m->min_insync, 1);
    int64_t started_ms = m->started_ms;
    assert_in_range(started_ms, w.now_ms - 100, w.now_ms);
    w.now_ms += 1000;
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(listed(&w)->started_ms, started_ms);
    world_failover(&w);
    assert_true(listed(&w)->is_resumed);
    w.is_mute[2] = true; /* it is to lead, and does not answer */
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    world_run(&w);
    assert_true(listed(&w)->is_stopping);
    world_deinit(&w);
}

static void row_13_a_partition_named_twice_gets_42_twice(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", NULL});
    const struct wish wishes[] = {{"t", 0, "1,3"},  {"t", 1, "1,3"},  {"t", 0, NULL},
                                  {"none", 7, "1"}, {"none", 7, "1"}, {"none", 8, "1"}};
    assert_string_equal(alter_all(&w, wishes, 6), "42 0 42 42 42 3");
    assert_text(world_list(&w), "t-1 RS[1,3,2] AR[3] RR[2]\n");
    world_deinit(&w);
}

static void row_14_a_topic_that_is_being_deleted(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_kill(&w, 2); /* the deletion waits for it */
    world_run(&w);
    struct slice name = slice_str("t");
    world_event(&w, &(struct control_event){
                        .kind = CONTROL_ON_DELETE_TOPICS, .names = &name, .name_count = 1});
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_alter(&w, "t", 0, "1,9"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    world_deinit(&w);
}

static void an_endless_replica_list_is_refused_at_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    int32_t *list = xalloc(1000000 * sizeof *list);
    for (int32_t i = 0; i < 1000000; i++) {
        list[i] = i;
    }
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = list, .replica_count = 1000000};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    assert_text(&w.reply.text, "t-0 39\n");
    free(list);
    world_deinit(&w);
}

static void a_factor_change_can_be_forbidden(void **state)
{
    struct world w;
    (void)state;
    const struct control_alter fixed = {.forbids_factor_change = true};
    world_with(&w, 5, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,4,5"), 0);
    assert_int_equal(world_alter_with(&w, "t", 0, "1,4", fixed), KERR_INVALID_REPLICATION_FACTOR);
    assert_int_equal(world_alter_with(&w, "t", 0, "1,5,4", fixed), 0);
    assert_int_equal(world_alter_with(&w, "t", 0, NULL, fixed), 0);
    world_deinit(&w);
}

/* ---- for the queue of moves ---- */

static void judging_changes_nothing(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2", NULL});
    struct control_alter judged = {.is_validate_only = true};
    assert_int_equal(world_alter_with(&w, "t", 0, "2,3", judged), KERR_NONE);
    assert_int_equal(world_alter_with(&w, "t", 0, "2,2", judged), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter_with(&w, "t", 7, "2,3", judged), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_alter_with(&w, "t", 0, NULL, judged), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(node_writes(&w), 0);
    assert_int_equal(control_moving_count(w.core), 0);
    /* A dead target, even one that was never seen, is the queue's business. */
    assert_int_equal(world_alter_with(&w, "t", 0, "1,9", judged), KERR_INVALID_REPLICA_ASSIGNMENT);
    judged.allows_dead_targets = true;
    assert_int_equal(world_alter_with(&w, "t", 0, "1,9", judged), KERR_NONE);
    world_deinit(&w);
}

/* Whoever chose a step from one list does not make it from another. */
static void a_stale_alter_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2", NULL});
    int32_t lists[2][2] = {{1, 2}, {2, 1}};
    int32_t wanted[] = {2, 3};
    int32_t codes[] = {KERR_NONE, KERR_INVALID_UPDATE_VERSION};
    for (int32_t i = 1; i >= 0; i--) {
        struct ids from = {.count = 2, .list = lists[i]};
        struct control_alter_entry entry = {
            .topic = slice_str("t"), .replicas = wanted, .replica_count = 2, .from = &from};
        struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                          .alter = {.entries = &entry, .count = 1}};
        world_request(&w, &request);
        world_run(&w);
        assert_int_equal(strtol(strrchr(buf_text(&w.reply.text), ' '), NULL, 10), codes[i]);
    }
    struct control_view view;
    assert_true(control_view(w.core, slice_str("t"), 0, &view));
    assert_true(assignment_is_reassigning(view.assignment));
    assert_int_equal(view.leader, 1);
    assert_false(control_view(w.core, slice_str("t"), 1, &view));
    assert_true(control_has_live(w.core, 4));
    assert_false(control_has_live(w.core, 5));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_01_every_target_starts_from_the_origin),
        cmocka_unit_test(row_02_kept_replicas_keep_the_wanted_order),
        cmocka_unit_test(row_03_21_a_new_order_is_stored_at_once),
        cmocka_unit_test(row_04_each_entry_is_judged_alone),
        cmocka_unit_test(row_05_an_absent_topic),
        cmocka_unit_test(row_06_a_cancel_of_nothing_writes_nothing),
        cmocka_unit_test(row_07_dead_brokers_may_stay),
        cmocka_unit_test(row_08_a_broker_that_shuts_down_is_no_target),
        cmocka_unit_test(row_09_without_the_role_everything_is_refused),
        cmocka_unit_test(row_12_list_shows_what_moves_and_is_asked_for),
        cmocka_unit_test(list_tells_what_a_move_waits_for),
        cmocka_unit_test(row_13_a_partition_named_twice_gets_42_twice),
        cmocka_unit_test(row_14_a_topic_that_is_being_deleted),
        cmocka_unit_test(an_endless_replica_list_is_refused_at_once),
        cmocka_unit_test(a_factor_change_can_be_forbidden),
        cmocka_unit_test(judging_changes_nothing),
        cmocka_unit_test(a_stale_alter_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
