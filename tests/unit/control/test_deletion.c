/*
 * Deleting topics: row 52 as decision 11 has it, S22, and brokers that are down meanwhile.
 */
#include "unit/control/harness.h"

/* Returns the error; NO_ANSWER when none has come. */
enum {
    NO_ANSWER = -100
};

static int32_t answer(struct world *w)
{
    return w->reply.is_there ? (int32_t)strtol(strrchr(buf_text(&w->reply.text), ' '), NULL, 10)
                             : NO_ANSWER;
}

static int32_t delete_topic(struct world *w, const char *name)
{
    world_delete(w, name);
    return answer(w);
}

static bool is_there(struct world *w, const char *name)
{
    return world_topic_find(w, slice_str(name)) != NULL;
}

static void every_replica_is_told_before_the_nodes_go(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    w.holds_answers = true;
    assert_int_equal(delete_topic(&w, "t"), NO_ANSWER);
    assert_true(is_there(&w, "t"));
    const char *text = buf_text(&w.sent);
    assert_non_null(strstr(text, "2 metadata t-0 leader -2"));
    assert_non_null(strstr(text, "3 stop-delete t-0 epoch -2"));
    w.holds_answers = false;
    world_run(&w);
    assert_int_equal(answer(&w), 0);
    assert_false(is_there(&w, "t"));
    assert_null(control_topic_find(w.core, slice_str("t")));
    assert_int_equal(world_create(&w, "t", (const char *const[]){"3,1", NULL}), 0);
    world_deinit(&w);
}

static void unknown_topics_are_named_so(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    struct slice names[] = {slice_str("none"), SLICE_NULL, SLICE_NULL};
    struct uuid ids[] = {UUID_ZERO, {{1, 2, 3}}, world_topic(&w, "t")->node.id};
    struct control_request request = {
        .kind = CONTROL_DELETE_TOPICS,
        .delete_topics = {.names = names, .ids = ids, .count = 3, .timeout_ms = 30000}};
    world_request(&w, &request);
    world_run(&w);
    assert_text(&w.reply.text, "none--1 3\n--1 100\nt--1 0\n");
    assert_false(is_there(&w, "t"));
    world_deinit(&w);
}

/* Decision 11: the move does not hold the deletion up, not even by a dead target. */
static void row_52_s22_moves_of_the_topic_end_at_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    world_kill(&w, 4);
    world_run(&w);
    assert_int_equal(delete_topic(&w, "t"), 0);
    assert_text(world_list(&w), "");
    assert_false(is_there(&w, "t"));
    world_deinit(&w);
}

static void a_replica_that_is_down_holds_the_deletion_up(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    world_kill(&w, 3);
    world_run(&w);
    assert_int_equal(delete_topic(&w, "t"), NO_ANSWER);
    assert_true(is_there(&w, "t"));
    w.now_ms = 30000;
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TICK});
    assert_text(&w.reply.text, "t--1 7\n");
    assert_null(strstr(buf_text(&w.sent), "stop-delete"));
    world_failover(&w); /* the queue is stored */
    assert_true(is_there(&w, "t"));
    world_start(&w, 3);
    world_run(&w);
    assert_false(is_there(&w, "t"));
    world_deinit(&w);
}

static void a_broker_that_dies_before_it_answers_is_told_again(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    w.holds_answers = true;
    assert_int_equal(delete_topic(&w, "t"), NO_ANSWER);
    world_kill(&w, 2);
    world_run(&w);
    w.holds_answers = false;
    world_run(&w);
    assert_true(is_there(&w, "t"));
    buf_clear(&w.sent);
    world_start(&w, 2);
    world_run(&w);
    assert_non_null(strstr(buf_text(&w.sent), "2 stop-delete t-0 epoch -2"));
    assert_int_equal(answer(&w), 0);
    assert_false(is_there(&w, "t"));
    world_deinit(&w);
}

static void a_queued_name_without_a_topic_is_dropped(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    struct slice name = slice_str("ghost");
    world_event(&w, &(struct control_event){
                        .kind = CONTROL_ON_DELETE_TOPICS, .names = &name, .name_count = 1});
    assert_int_equal(w.writes.count, 1);
    struct world_write *k = CONTAINER_OF(list_first(&w.writes), struct world_write, link);
    assert_int_equal(k->body.kind, CONTROL_WRITE_DELETE_DROP);
    assert_string_equal(k->topic, "ghost");
    world_run(&w);
    world_deinit(&w);
}

static void a_deletion_in_mid_move_waits_for_writes_that_are_out(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 3}, .replica_count = 2};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &alter);
    assert_int_equal(delete_topic(&w, "t"), 0);
    assert_false(is_there(&w, "t"));
    assert_int_equal(control_writes_pending(w.core), 0);
    assert_true(list_is_empty(&w.core->requests));
    world_deinit(&w);
}

/* delete.topic.enable=false: an old tool queues it all the same. */
static void a_deletion_that_is_refused_is_dropped(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    control_free(w.core);
    w.core = control_new(&(struct control_config){.broker_id = 1,
                                                  .seed = 1,
                                                  .partitions_default = 1,
                                                  .replication_factor_default = 1,
                                                  .refuses_deletions = true});
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"1,2", NULL}), 0);
    world_topic(&w, "t")->is_queued = true;
    world_failover(&w);
    assert_false(world_topic(&w, "t")->is_queued);
    assert_non_null(strstr(buf_text(&w.log),
                           "warning: topic t is not deleted: delete.topic.enable is false\n"));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_replica_is_told_before_the_nodes_go),
        cmocka_unit_test(unknown_topics_are_named_so),
        cmocka_unit_test(row_52_s22_moves_of_the_topic_end_at_once),
        cmocka_unit_test(a_replica_that_is_down_holds_the_deletion_up),
        cmocka_unit_test(a_broker_that_dies_before_it_answers_is_told_again),
        cmocka_unit_test(a_queued_name_without_a_topic_is_dropped),
        cmocka_unit_test(a_deletion_that_is_refused_is_dropped),
        cmocka_unit_test(a_deletion_in_mid_move_waits_for_writes_that_are_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
