/*
 * States that do not fit the list of replicas: what a controller left behind is resumed, what nobody can
 * have left is left alone until it is mended.
 */
#include "unit/control/harness.h"

#define PATH "/brokers/topics/t/partitions/0/state"

/* As somebody writes it after everything else, while nobody is controller. isr: "1,2". */
static struct model_partition_state *state_edit(struct world *w, int32_t leader, const char *isr)
{
    struct world_topic *t = world_topic(w, "t");
    struct model_partition_state *s = &t->partitions[0].state;
    int32_t list[WORLD_BROKERS];
    int32_t count = list_parse(isr, list);
    s->leader = leader;
    ids_set(&s->isr, list, count);
    s->version++;
    t->partitions[0].mzxid = ++w->zxid;
    return s;
}

static void state_tell(struct world *w)
{
    world_event(w, &(struct control_event){.kind = CONTROL_ON_STATE,
                                           .of = {slice_str("t"), 0},
                                           .seen = world_state(w, "t", 0),
                                           .is_watch_over = true});
    world_run(w);
}

/* Two partitions of [1,2,3]; the controller is gone. */
static void world_without_controller(struct world *w)
{
    world_init(w, 5, 1);
    world_elect(w);
    world_run(w);
    assert_int_equal(world_create(w, "t", (const char *const[]){"1,2,3", "1,2,3", NULL}), 0);
    world_resign(w);
    buf_clear(&w->log);
    buf_clear(&w->sent);
}

static void states_that_nobody_can_have_left_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        int32_t leader;
        const char *isr;
    } rows[] = {
        {4, "4"}, {4, "4,1,2,3"}, {4, "1,2,3"}, {2, "1,3"}, {99, "99,1"}, {1, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        world_without_controller(&w);
        (void)state_edit(&w, rows[i].leader, rows[i].isr);
        int32_t writes = world_topic(&w, "t")->partitions[0].state_writes;
        world_elect(&w);
        world_run(&w);
        char *line = xasprintf("t-0 is left alone: its state " PATH
                               " names leader %d and the in-sync set [%s] under epoch 0, but the "
                               "replicas are [1,2,3]\n",
                               rows[i].leader, rows[i].isr);
        const char *at = strstr(buf_text(&w.log), line);
        assert_non_null(at);
        assert_null(strstr(at + 1, line)); /* told once */
        free(line);
        world_kill(&w, 1);
        world_run(&w);
        assert_null(strstr(buf_text(&w.sent), "t-0 leader"));
        assert_null(strstr(buf_text(&w.sent), "stop t-0"));
        assert_int_equal(world_topic(&w, "t")->partitions[0].state_writes, writes);
        assert_int_equal(world_alter(&w, "t", 0, "2,3"), KERR_UNKNOWN_TOPIC_OR_PARTITION);
        assert_string_equal(world_text(&w, "t", 1), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
        assert_int_equal(world_alter(&w, "t", 1, "2,3"), 0);
        world_deinit(&w);
    }
}

static void a_mended_state_is_taken_up_again(void **state)
{
    (void)state;
    struct world w;
    world_without_controller(&w);
    (void)state_edit(&w, 4, "4");
    world_elect(&w);
    world_run(&w);
    assert_non_null(strstr(buf_text(&w.log), "watch t-0\n"));
    state_tell(&w); /* as the watch reads it first: nothing new */
    buf_clear(&w.log);
    (void)state_edit(&w, 5, "5");
    state_tell(&w);
    assert_non_null(strstr(buf_text(&w.log), "names leader 5 and the in-sync set [5]"));
    assert_non_null(strstr(buf_text(&w.log), "watch t-0\n"));
    (void)state_edit(&w, 2, "2,3");
    state_tell(&w);
    assert_non_null(strstr(buf_text(&w.log), "t-0: its state is back\n"));
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    assert_non_null(strstr(buf_text(&w.sent), "2 state t-0 leader 2 epoch 1 RS[1,2,3]"));
    assert_int_equal(world_isr(&w, "t", 0, "2,3,1"), 0);
    world_deinit(&w);
}

/* The running controller meets it when it writes. */
static void a_state_edited_under_a_controller_is_left_alone(void **state)
{
    (void)state;
    struct world w;
    world_without_controller(&w);
    world_elect(&w);
    world_run(&w);
    (void)state_edit(&w, 4, "4,1");
    world_kill(&w, 2);
    world_run(&w);
    assert_non_null(
        strstr(buf_text(&w.log), "t-0 is left alone: its state " PATH " names leader 4"));
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 4 isr [4,1] epoch 0");
    assert_string_equal(world_text(&w, "t", 1), "RS[1,2,3] leader 1 isr [1,3] epoch 1");
    world_deinit(&w);
}

/* Rows 28 and 64: a leader in the list is believed, whoever else its ISR names. Those leave it, and as
 * nobody knows what they hold, they keep it. */
static void strangers_leave_the_isr_and_never_lead(void **state)
{
    (void)state;
    struct world w;
    world_without_controller(&w);
    (void)state_edit(&w, 1, "1,4,2");
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2] epoch 2");
    assert_non_null(strstr(buf_text(&w.sent), "4 stop t-0"));
    assert_null(strstr(buf_text(&w.sent), "stop-delete"));
    assert_null(strstr(buf_text(&w.log), "left alone"));
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    world_resign(&w);
    (void)state_edit(&w, 1, "1,4");
    w.is_registered[1] = false;
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader -1 isr [1,4] epoch 3");
    assert_false(world_state(&w, "t", 0)->has_outsiders);
    world_failover(&w); /* what we wrote of it makes it no truer */
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader -1 isr [1,4] epoch 3");
    world_start(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1] epoch 6");
    world_deinit(&w);
}

/* Row 51 as Kafka leaves it: the last one in sync was taken out of the list, and may have deleted. */
static void a_partition_without_a_replica_in_sync_waits(void **state)
{
    (void)state;
    struct world w;
    world_without_controller(&w);
    (void)state_edit(&w, -1, "4");
    world_elect(&w);
    world_run(&w);
    assert_non_null(strstr(buf_text(&w.log), "t-0 has no replica in sync: its state " PATH
                                             " names leader -1 and the in-sync set [4]"));
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader -1 isr [4] epoch 0");
    assert_int_equal(world_elect_leader(&w, "t", 0, true), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1] epoch 2");
    world_deinit(&w);
}

/* The list was stored (U1 of a cancel or an override), and its controller died before it went on. */
static void outsiders_older_than_the_list_lead_until_another_can(void **state)
{
    (void)state;
    struct world w;
    world_without_controller(&w);
    (void)state_edit(&w, 4, "4,2");
    world_topic(&w, "t")->mzxid = ++w.zxid;
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2] epoch 2");
    assert_non_null(strstr(buf_text(&w.sent), "4 stop-delete t-0"));
    world_resign(&w);
    buf_clear(&w.sent);
    (void)state_edit(&w, 4, "4"); /* forced: nobody else is in sync */
    world_topic(&w, "t")->mzxid = ++w.zxid;
    world_elect(&w);
    world_run(&w);
    assert_non_null(strstr(buf_text(&w.sent), "4 state t-0 leader 4"));
    world_kill(&w, 4);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader -1 isr [4] epoch 3");
    assert_true(world_state(&w, "t", 0)->has_outsiders);
    world_failover(&w); /* the state is newer now, and says by itself that this is meant */
    world_start(&w, 4);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 4 isr [4] epoch 4");
    assert_int_equal(world_isr(&w, "t", 0, "4,1"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1] epoch 6");
    assert_false(world_state(&w, "t", 0)->has_outsiders);
    assert_null(strstr(buf_text(&w.log), "left alone"));
    world_deinit(&w);
}

/* A dropped one that was in sync: each write until it is out says so, also one that overtakes U1's. */
static void writes_say_that_outsiders_are_meant(void **state)
{
    (void)state;
    struct world w;
    world_with(&w, 5, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_int_equal(world_state(&w, "t", 0)->leader, 4);
    assert_false(world_state(&w, "t", 0)->has_outsiders);
    w.holds_answers = true;
    struct control_alter_entry cancel = {.topic = slice_str("t"), .is_cancel = true};
    world_request(&w, &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                .alter = {.entries = &cancel, .count = 1}});
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2,4] epoch 3");
    assert_true(world_state(&w, "t", 0)->has_outsiders);
    w.holds_answers = false;
    world_failover(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 5");
    assert_false(world_state(&w, "t", 0)->has_outsiders);
    assert_non_null(strstr(buf_text(&w.sent), "4 stop-delete t-0"));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_that_nobody_can_have_left_are_left_alone),
        cmocka_unit_test(a_mended_state_is_taken_up_again),
        cmocka_unit_test(a_state_edited_under_a_controller_is_left_alone),
        cmocka_unit_test(strangers_leave_the_isr_and_never_lead),
        cmocka_unit_test(a_partition_without_a_replica_in_sync_waits),
        cmocka_unit_test(outsiders_older_than_the_list_lead_until_another_can),
        cmocka_unit_test(writes_say_that_outsiders_are_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
