/*
 * One partition's writes: one at a time, conflicts looked at again, newer controllers respected.
 */
#include "unit/control/harness.h"

static void requests_wait_for_the_write_that_is_out(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    struct control_tp entry = {slice_str("t"), 0};
    struct control_request elect = {.kind = CONTROL_ELECT_LEADERS,
                                    .elect = {.entries = &entry, .count = 1}};
    world_kill(&w, 3);
    assert_int_equal(w.writes.count, 1);
    world_request(&w, &elect);
    assert_false(w.reply.is_there);
    assert_int_equal(w.writes.count, 1);
    world_run(&w);
    assert_text(&w.reply.text, "t-0 84\n");
    world_deinit(&w);
}

static void a_death_during_a_write_is_seen_after_it(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 1);
    world_kill(&w, 2);
    assert_int_equal(w.writes.count, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 3 isr [3] epoch 2");
    world_deinit(&w);
}

/* A broker that lost power looks alive until its session ends. */
static void the_last_member_must_show_that_it_lives(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    w.is_mute[2] = true;
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_kill(&w, 2);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader -1 isr [1,2] epoch 1");
    world_start(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1] epoch 2");
    world_deinit(&w);
}

/* An answer that was under way before counts for nothing. */
static void an_earlier_answer_is_no_sign_of_life(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    w.holds_answers = true;
    assert_int_equal(world_elect_leader(&w, "t", 0, true), KERR_ELECTION_NOT_NEEDED);
    world_run(&w);
    w.is_mute[2] = true;
    world_kill(&w, 1);
    world_event(&w, &(struct control_event){
                        .kind = CONTROL_ON_ANSWER,
                        .send_kind = CONTROL_SEND_LEADER_AND_ISR,
                        .from = {2, w.brokers[2].epoch},
                        .send_id = 1,
                        .answers = &(struct control_answer_partition){.topic = slice_str("t")},
                        .answer_count = 1});
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_deinit(&w);
}

/* As a broker does it that comes back after a power loss. */
static void leave_from_outside(struct world *w, int32_t broker)
{
    struct model_partition_state *s = world_state(w, "t", 0);
    ids_remove(&s->isr, broker);
    s->leader = s->leader == broker ? MODEL_LEADER_NONE : s->leader;
    s->leader_epoch++;
    s->version++;
}

static void a_change_from_outside_is_found_and_told(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    leave_from_outside(&w, 3);
    buf_clear(&w.sent);
    world_kill(&w, 3);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2] epoch 1");
    assert_non_null(strstr(buf_text(&w.sent), "1 state t-0 leader 1 epoch 1"));
    assert_non_null(strstr(buf_text(&w.sent), "2 state t-0 leader 1 epoch 1"));
    assert_int_equal(world_isr(&w, "t", 0, "1"), 0); /* the leader may go on */
    world_deinit(&w);
}

/* What the controller remembers of a member that comes back is not told before it is known to be so. */
static void a_member_that_left_from_outside_is_not_elected(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_resign(&w);
    w.is_registered[1] = false;
    w.is_mute[2] = true;
    world_elect(&w); /* waits for a sign of life of 2 */
    world_run(&w);
    leave_from_outside(&w, 1);
    buf_clear(&w.sent);
    world_start(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 2 isr [2] epoch 2");
    assert_null(strstr(buf_text(&w.sent), "state t-0 leader 1"));
    world_deinit(&w);
}

static void a_state_of_a_newer_controller_ends_the_role(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    struct model_partition_state *s = world_state(&w, "t", 0);
    s->controller_epoch = w.epoch + 1;
    s->version++;
    world_kill(&w, 1);
    world_run(&w);
    assert_true(w.is_resigned);
    world_deinit(&w);
}

static void a_state_that_vanished_is_left_alone(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 1);
    struct world_write *k = CONTAINER_OF(list_pop(&w.writes), struct world_write, link);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_WRITE_DONE,
                                            .write_id = k->body.id,
                                            .outcome = CONTROL_MISSING});
    world_write_free(k);
    world_run(&w);
    assert_int_equal(control_writes_pending(w.core), 0);
    assert_non_null(
        strstr(buf_text(&w.log),
               "t-0 is left alone: its state /brokers/topics/t/partitions/0/state is gone"));
    assert_int_equal(world_alter(&w, "t", 0, "3,2"), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    world_start(&w, 1); /* a down sweep does not wait for it */
    world_run(&w);
    assert_true(control_broker_is_live(w.core, 1));
    world_deinit(&w);
}

static void a_state_left_by_an_earlier_controller_is_taken_over(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    int32_t two[] = {1, 2};
    struct assignment list = {.replicas = {.count = 2, .list = two}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    struct world_topic *t = world_topic_put(&w, &node);
    world_elect(&w);
    t->partitions[0].has_state = true; /* written after it was read */
    t->partitions[0].state.leader = 2;
    ids_add(&t->partitions[0].state.isr, 2);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 2 isr [2] epoch 0");
    world_deinit(&w);
}

/* The state as somebody wrote it, with this version. */
static void state_seen(struct world *w, int32_t partition, int32_t version, int32_t epoch)
{
    struct model_partition_state seen = {.controller_epoch = epoch,
                                         .leader = 1,
                                         .isr = {.count = 1, .list = (int32_t[]){1}},
                                         .version = version};
    world_event(w, &(struct control_event){
                       .kind = CONTROL_ON_STATE, .of = {slice_str("t"), partition}, .seen = &seen});
}

static void a_state_written_by_its_leader_is_taken_over(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    state_seen(&w, 1, 9, 1); /* no such partition */
    state_seen(&w, 0, 0, 1); /* known */
    world_run(&w);
    assert_text(&w.sent, "");
    state_seen(&w, 0, 5, 1);
    world_run(&w);
    assert_non_null(strstr(buf_text(&w.sent), "3 metadata t-0 leader 1 epoch 0 RS[1,2]"));
    assert_int_equal(w.core->topics->partitions[0]->state.version, 5);
    assert_int_equal(w.core->topics->partitions[0]->state.isr.count, 1);
    world_kill(&w, 1);
    assert_int_equal(w.writes.count, 1);
    state_seen(&w, 0, 7, 1); /* the write that is out meets it */
    assert_int_equal(w.core->topics->partitions[0]->state.version, 5);
    world_deinit(&w);
}

/* Below 2.7-IV2, while a move waits. */
static void the_state_of_a_move_is_watched_at_old_levels(void **state)
{
    struct world w;
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        bool is_old = i == 1;
        world_init_at(&w, 3, is_old ? IBP_2_7_IV1 : IBP_2_7_IV2);
        world_elect(&w);
        world_run(&w);
        assert_int_equal(world_create(&w, "t", (const char *const[]){"1", NULL}), 0);
        buf_clear(&w.log);
        assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
        const char *at = strstr(buf_text(&w.log), "watch t-0\n");
        assert_int_equal(at != NULL, is_old);
        buf_clear(&w.log);
        state_seen(&w, 0, 9, 1); /* by a notice: the watch is still set */
        world_run(&w);
        assert_text(&w.log, "");
        struct model_partition_state *s = world_state(&w, "t", 0);
        ids_add(&s->isr, 2);
        s->version = 10;
        world_event(&w, &(struct control_event){.kind = CONTROL_ON_STATE,
                                                .of = {slice_str("t"), 0},
                                                .seen = s,
                                                .is_watch_over = true});
        world_run(&w);
        assert_text(world_list(&w), "");
        world_deinit(&w);
    }
}

/* A change that does not complete the move: the watch is set again. */
static void a_watch_that_fired_is_set_again(void **state)
{
    struct world w;
    (void)state;
    world_init_at(&w, 3, IBP_2_4_IV1);
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"1", NULL}), 0);
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
    buf_clear(&w.log);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_STATE,
                                            .of = {slice_str("t"), 0},
                                            .seen = world_state(&w, "t", 0),
                                            .is_watch_over = true});
    world_run(&w);
    assert_text(&w.log, "watch t-0\n");
    world_deinit(&w);
}

static void a_state_seen_of_a_newer_controller_ends_the_role(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    state_seen(&w, 0, 5, 9);
    assert_true(w.is_resigned);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_wait_for_the_write_that_is_out),
        cmocka_unit_test(a_death_during_a_write_is_seen_after_it),
        cmocka_unit_test(the_last_member_must_show_that_it_lives),
        cmocka_unit_test(an_earlier_answer_is_no_sign_of_life),
        cmocka_unit_test(a_change_from_outside_is_found_and_told),
        cmocka_unit_test(a_member_that_left_from_outside_is_not_elected),
        cmocka_unit_test(a_state_of_a_newer_controller_ends_the_role),
        cmocka_unit_test(a_state_written_by_its_leader_is_taken_over),
        cmocka_unit_test(the_state_of_a_move_is_watched_at_old_levels),
        cmocka_unit_test(a_watch_that_fired_is_set_again),
        cmocka_unit_test(a_state_seen_of_a_newer_controller_ends_the_role),
        cmocka_unit_test(a_state_that_vanished_is_left_alone),
        cmocka_unit_test(a_state_left_by_an_earlier_controller_is_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
