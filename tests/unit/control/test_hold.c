/*
 * What refuses to be written is left alone, told once and tried again, each time later than before; the
 * rest is served by the same controller.
 */
#include "unit/control/harness.h"

#include "base/alloc.h"

#define STATES (1U << CONTROL_WRITE_STATE_CREATE | 1U << CONTROL_WRITE_STATE_SET)

/* Time passes in one piece; then the world runs. */
static void wait(struct world *w, int64_t ms)
{
    w->now_ms += ms;
    world_event(w, &(struct control_event){.kind = CONTROL_ON_TICK});
    world_run(w);
}

static int32_t lines_of(struct world *w, const char *text)
{
    int32_t count = 0;
    for (const char *at = buf_text(&w->log); (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    return count;
}

static void held_write(void *arg, const struct control_held *held)
{
    struct buf *text = arg;
    if (held->topic == NULL) {
        buf_put_str(text, "plan");
    } else {
        buf_putf(text, "%s%d", held->topic, held->partition);
    }
    buf_putf(text, " %s %lld;", held->path, (long long)held->since_ms);
}

/* What is held, with the time since it is, is told and counted. */
static void assert_held(struct world *w, int32_t count, const char *expected)
{
    struct control_figures f;
    struct buf text;
    buf_init(&text);
    control_figures(w->core, &f);
    assert_int_equal(f.held, count);
    control_each_held(w->core, held_write, &text);
    assert_string_equal(buf_text(&text), expected);
    buf_deinit(&text);
}

static void refuse(struct world *w, const char *topic, uint32_t kinds)
{
    w->refused_topic = topic;
    w->refused_kinds = kinds;
    w->refused_count = 0;
}

/* A topic as somebody else made it: no id, no partitions node, no states. */
static void alien_appears(struct world *w)
{
    int32_t two[] = {1, 2};
    struct assignment list = {.replicas = {.count = 2, .list = two}};
    struct model_topic node = {
        .name = (char[]){"alien"}, .partition_count = 1, .partitions = &list};
    world_event(w, &(struct control_event){.kind = CONTROL_ON_TOPIC,
                                           .topic = world_read_of(world_topic_put(w, &node))});
    world_run(w);
}

static void a_state_that_cannot_be_stored_costs_no_other_partition(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_create(&w, "u", (const char *const[]){"1,2,3", NULL}), 0);
    refuse(&w, "t", STATES);
    world_kill(&w, 1);
    world_run(&w);
    assert_false(w.is_resigned);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 0");
    assert_string_equal(world_text(&w, "u", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    assert_int_equal(lines_of(&w, "t-0 is left alone for now: /node: refused\n"), 1);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(world_alter(&w, "u", 0, "2,3"), 0);
    assert_int_equal(w.refused_count, 1);
    world_deinit(&w);
}

/* After 1, 2, 4 ... and at last each 60 seconds; one line. */
static void it_is_tried_again_ever_later_and_told_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    refuse(&w, "t", STATES);
    world_kill(&w, 1);
    world_run(&w);
    int64_t delay_ms = 1000;
    for (int32_t i = 1; i < 10; i++) {
        assert_int_equal(w.out.wake_ms, w.now_ms + delay_ms);
        wait(&w, delay_ms - 1);
        assert_int_equal(w.refused_count, i);
        wait(&w, 1);
        assert_int_equal(w.refused_count, i + 1);
        delay_ms = MIN(delay_ms * 2, 60000);
    }
    assert_int_equal(delay_ms, 60000);
    assert_int_equal(lines_of(&w, "is left alone"), 1);
    refuse(&w, NULL, 0);
    wait(&w, 60000);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 2 isr [2,3] epoch 1");
    assert_int_equal(lines_of(&w, "t-0 is no longer left alone\n"), 1);
    assert_int_equal(w.out.wake_ms, INT64_MAX);
    assert_int_equal(world_isr(&w, "t", 0, "2"), 0);
    world_deinit(&w);
}

/* The oldest first, each since it was refused first, however often it is tried; until it is written, or not
 * wanted any more. */
static void what_is_held_is_told_until_it_is_over(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_held(&w, 0, "");
    int64_t first_ms = w.now_ms;
    refuse(&w, NULL, UINT32_MAX);
    assert_int_equal(world_isr(&w, "t", 0, "1"), KERR_UNKNOWN_SERVER_ERROR);
    wait(&w, 400);
    int64_t second_ms = w.now_ms;
    alien_appears(&w);
    wait(&w, 5000);
    char *both =
        xasprintf("t0 /node %lld;alien-1 /node %lld;", (long long)first_ms, (long long)second_ms);
    assert_held(&w, 2, both);
    free(both);
    refuse(&w, "alien", UINT32_MAX);
    wait(&w, 60000);
    char *one = xasprintf("alien-1 /node %lld;", (long long)second_ms);
    assert_held(&w, 1, one);
    free(one);
    world_resign(&w);
    assert_held(&w, 0, "");
    world_deinit(&w);
}

/* The plan of moves has no topic. */
static void a_plan_that_is_held_is_told(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    refuse(&w, NULL, 1U << CONTROL_WRITE_LEGACY);
    int64_t since_ms = w.now_ms;
    world_legacy_put(&w, "t-0 1,3;ghost-0 1;");
    world_run(&w);
    char *plan = xasprintf("plan /node %lld;", (long long)since_ms);
    assert_held(&w, 1, plan);
    free(plan);
    refuse(&w, NULL, 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_held(&w, 0, "");
    world_deinit(&w);
}

/* A partition that is left alone goes with its topic. */
static void a_deleted_topic_leaves_nothing_held(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    refuse(&w, NULL, STATES);
    assert_int_equal(world_isr(&w, "t", 0, "1"), KERR_UNKNOWN_SERVER_ERROR);
    world_delete(&w, "t");
    assert_null(world_topic_find(&w, slice_str("t")));
    assert_held(&w, 0, "");
    world_deinit(&w);
}

/* Nobody waits for it; it leads again only under an epoch that could be stored. */
static void a_broker_comes_back_though_its_partition_is_left_alone(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_create(&w, "u", (const char *const[]){"1,2,3", NULL}), 0);
    refuse(&w, "t", STATES);
    world_kill(&w, 1);
    world_run(&w);
    buf_clear(&w.sent);
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(world_isr(&w, "u", 0, "1,2,3"), 0);
    assert_null(strstr(buf_text(&w.sent), "1 state t-0"));
    refuse(&w, NULL, 0);
    wait(&w, 60000);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 1");
    world_deinit(&w);
}

/* The ISR change is answered, and asked for again; the state is raised when it can be written. */
static void a_request_that_cannot_be_stored_is_answered(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    refuse(&w, NULL, STATES);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(w.refused_count, 1);
    refuse(&w, NULL, 0);
    wait(&w, 1000);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2] epoch 1");
    assert_int_equal(lines_of(&w, "t-0 is no longer left alone\n"), 1);
    world_deinit(&w);
}

/* /brokers/topics/alien belongs to another identity: neither an id nor partitions can be stored. */
static void a_topic_of_somebody_else_costs_no_other_topic(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    refuse(&w, "alien", UINT32_MAX);
    alien_appears(&w);
    assert_false(w.is_resigned);
    assert_int_equal(lines_of(&w, "topic alien is left alone for now: /node: refused\n"), 1);
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    world_failover(&w);
    assert_false(w.is_resigned);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    refuse(&w, NULL, 0);
    wait(&w, 1000);
    assert_string_equal(world_text(&w, "alien", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    assert_false(uuid_is_zero(world_topic(&w, "alien")->node.id));
    assert_int_equal(lines_of(&w, "topic alien is no longer left alone\n"), 1);
    world_deinit(&w);
}

/* Nobody is told an id that is not stored; what somebody asks for is tried at once. */
static void a_topic_that_cannot_be_written_has_no_id_and_refuses_moves(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    refuse(&w, "alien", 1U << CONTROL_WRITE_TOPIC_SET);
    alien_appears(&w);
    assert_string_equal(world_text(&w, "alien", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    assert_true(uuid_is_zero(control_topic_find(w.core, slice_str("alien"))->id));
    assert_int_equal(world_alter(&w, "alien", 0, "2,3"), KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(w.refused_count, 2);
    assert_text(world_list(&w), "");
    refuse(&w, NULL, 0);
    wait(&w, 2000);
    assert_false(uuid_is_zero(world_topic(&w, "alien")->node.id));
    assert_int_equal(world_alter(&w, "alien", 0, "2,3"), 0);
    assert_int_equal(lines_of(&w, "left alone"), 2);
    world_deinit(&w);
}

/* B6 is refused: the move stays until it can be stored. */
static void a_move_whose_end_cannot_be_stored_waits(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    refuse(&w, "t", 1U << CONTROL_WRITE_TOPIC_SET);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,3,2] AR[3] RR[2] leader 1 isr [1,3] epoch 3");
    refuse(&w, NULL, 0);
    wait(&w, 1000);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,3] leader 1 isr [1,3] epoch 3");
    world_deinit(&w);
}

static void nodes_that_cannot_be_removed_are_tried_again(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    refuse(&w, "t", 1U << CONTROL_WRITE_TOPIC_DELETE);
    world_delete(&w, "t");
    assert_text(&w.reply.text, "t--1 -1\n");
    assert_false(w.is_resigned);
    assert_int_equal(lines_of(&w, "topic t is left alone for now: /node: refused\n"), 1);
    wait(&w, 1000);
    assert_int_equal(w.refused_count, 2);
    assert_int_equal(world_create(&w, "u", (const char *const[]){"1,2", NULL}), 0);
    refuse(&w, NULL, 0);
    wait(&w, 2000);
    assert_null(world_topic_find(&w, slice_str("t")));
    assert_int_equal(lines_of(&w, "topic t is deleted\n"), 1);
    world_deinit(&w);
}

/* The znode of its creator: it cannot be set, but deleted when nothing is left. */
static void a_plan_that_cannot_be_rewritten_is_carried_out_and_deleted(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    refuse(&w, NULL, 1U << CONTROL_WRITE_LEGACY);
    world_legacy_put(&w, "t-0 1,3;ghost-0 1;");
    world_run(&w);
    assert_false(w.is_resigned);
    assert_int_equal(lines_of(&w, "the plan of moves is left alone for now: /node: refused\n"), 1);
    assert_int_equal(w.refused_count, 1);
    refuse(&w, NULL, 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,3] leader 1 isr [1,3] epoch 3");
    assert_int_equal(w.legacy_version, -1); /* at once */
    assert_int_equal(lines_of(&w, "the plan of moves is no longer left alone\n"), 1);
    world_deinit(&w);
}

/* The next controller would find the entry, and go by it. */
static void a_request_is_refused_while_the_entry_of_its_partition_cannot_leave(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    refuse(&w, NULL, 1U << CONTROL_WRITE_LEGACY);
    world_legacy_put(&w, "t-0 1,3;");
    world_run(&w);
    assert_int_equal(w.refused_count, 0);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(world_alter(&w, "t", 0, "2,3"), KERR_UNKNOWN_SERVER_ERROR);
    }
    assert_int_equal(w.refused_count, 1);
    assert_text(world_list(&w), "t-0 RS[1,3,2] AR[3] RR[2]\n");
    wait(&w, 1000);
    assert_int_equal(w.refused_count, 2);
    refuse(&w, NULL, 0);
    wait(&w, 2000);
    assert_int_equal(w.legacy_version, -1);
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    world_deinit(&w);
}

/* Its entry leaves the plan with the reason. */
static void an_entry_whose_move_cannot_be_stored_is_removed(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    refuse(&w, "t", 1U << CONTROL_WRITE_TOPIC_SET);
    world_legacy_put(&w, "t-0 1,3;");
    world_run(&w);
    assert_int_equal(w.legacy_version, -1);
    assert_int_equal(lines_of(&w, "/admin/reassign_partitions: t-0 is removed: /node: refused\n"),
                     1);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_deinit(&w);
}

static void blocks_of_producer_ids_are_refused_one_by_one(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    refuse(&w, NULL, 1U << CONTROL_WRITE_PRODUCER_BLOCK);
    struct control_request request = {
        .kind = CONTROL_ALLOCATE_PRODUCER_IDS,
        .allocate_producer_ids = {.broker = 1, .broker_epoch = w.brokers[1].epoch}};
    for (int32_t i = 0; i < 3; i++) {
        world_request(&w, &request);
        world_run(&w);
        assert_int_equal(w.reply.error, KERR_UNKNOWN_SERVER_ERROR);
    }
    assert_false(w.is_resigned);
    assert_int_equal(lines_of(&w, "no block of producer ids can be stored: /node: refused\n"), 1);
    refuse(&w, NULL, 0);
    world_request(&w, &request);
    world_run(&w);
    assert_text(&w.reply.text, "1 0 999\n");
    world_deinit(&w);
}

/* As when access lists are switched on under an old broker: 20 lines, and one for the rest. */
static void many_refusals_do_not_flood_the_log(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    static const char *const lists[] = {"1,2", "1,2", "1,2", "1,2", "1,2", "1,2", "1,2", NULL};
    static const char *const names[] = {"u1", "u2", "u3", "u4"};
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(world_create(&w, names[i], lists), 0);
    }
    refuse(&w, NULL, STATES);
    world_kill(&w, 1);
    world_run(&w);
    assert_int_equal(w.refused_count, 29);
    assert_int_equal(lines_of(&w, "is left alone for now: "), 20);
    assert_int_equal(lines_of(&w, "more partitions and topics are left alone for now\n"), 1);
    refuse(&w, NULL, 0);
    wait(&w, 1000);
    assert_int_equal(lines_of(&w, "is no longer left alone\n"), 20);
    assert_string_equal(world_text(&w, "u4", 6), "RS[1,2] leader 2 isr [2] epoch 1");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_that_cannot_be_stored_costs_no_other_partition),
        cmocka_unit_test(it_is_tried_again_ever_later_and_told_once),
        cmocka_unit_test(what_is_held_is_told_until_it_is_over),
        cmocka_unit_test(a_plan_that_is_held_is_told),
        cmocka_unit_test(a_deleted_topic_leaves_nothing_held),
        cmocka_unit_test(a_broker_comes_back_though_its_partition_is_left_alone),
        cmocka_unit_test(a_request_that_cannot_be_stored_is_answered),
        cmocka_unit_test(a_topic_of_somebody_else_costs_no_other_topic),
        cmocka_unit_test(a_topic_that_cannot_be_written_has_no_id_and_refuses_moves),
        cmocka_unit_test(a_move_whose_end_cannot_be_stored_waits),
        cmocka_unit_test(nodes_that_cannot_be_removed_are_tried_again),
        cmocka_unit_test(a_plan_that_cannot_be_rewritten_is_carried_out_and_deleted),
        cmocka_unit_test(a_request_is_refused_while_the_entry_of_its_partition_cannot_leave),
        cmocka_unit_test(an_entry_whose_move_cannot_be_stored_is_removed),
        cmocka_unit_test(blocks_of_producer_ids_are_refused_one_by_one),
        cmocka_unit_test(many_refusals_do_not_flood_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
