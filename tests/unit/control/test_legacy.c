/*
 * /admin/reassign_partitions on the core alone: rows of docs/spec/reassignment.md section 15.6 and the
 * rules of section 8. Epochs as in test_reassign.c.
 */
#include "unit/control/harness.h"

#include "base/alloc.h"

/* Topic t with partitions on the lists, topic t2 with one on [1,2]. */
static void world_two(struct world *w, int32_t brokers, const char *const *lists)
{
    world_init(w, brokers, 1);
    world_elect(w);
    world_run(w);
    assert_int_equal(world_create(w, "t", lists), 0);
    assert_int_equal(world_create(w, "t2", (const char *const[]){"1,2", NULL}), 0);
    buf_clear(&w->sent);
    buf_clear(&w->log);
}

static void assert_legacy(struct world *w, const char *entries)
{
    assert_string_equal(w->legacy_version < 0 ? "gone" : buf_text(&w->legacy), entries);
}

static void row_39_40_a_dead_target_is_waited_for(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    world_elect(&w);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"1", NULL}), 0);
    world_kill(&w, 2);
    world_run(&w);
    world_legacy_put(&w, "t-0 2;");
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[2,1] AR[2] RR[1]\n");
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[2] RR[1] leader 1 isr [1] epoch 1");
    assert_legacy(&w, "t-0 2;");
    world_start(&w, 2);
    world_run(&w);
    w.steps = 0;
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_int_equal(w.steps, 1U << CONTROL_STEP_LEAD | 1U << CONTROL_STEP_SHRINK |
                                  1U << CONTROL_STEP_STORE | 1U << CONTROL_STEP_LEGACY);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 4");
    assert_legacy(&w, "gone");
    world_deinit(&w);
}

/* B6 was written and the znode was not; then another controller. */
static void row_46_an_entry_that_outlived_its_move_is_removed(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_legacy_put(&w, "t-0 1,3;");
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_legacy(&w, "gone");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,3] leader 1 isr [1,3] epoch 3");
    world_resign(&w);
    buf_put_str(&w.legacy, "t-0 1,3;");
    w.legacy_version = 0;
    buf_clear(&w.sent);
    world_elect(&w);
    world_run(&w);
    assert_legacy(&w, "gone");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,3] leader 1 isr [1,3] epoch 4");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    assert_null(strstr(buf_text(&w.sent), "new"));
    world_deinit(&w);
}

/* A controller dies after each number of writes; the next one always ends the move and the znode. */
static void a_controller_that_dies_anywhere(void **state)
{
    (void)state;
    for (int32_t writes = 0; writes < 7; writes++) {
        struct world w;
        world_with(&w, 4, "1,2,3");
        world_legacy_put(&w, "t-0 4,2;");
        struct control_event done = {0};
        struct control_topic_read read;
        for (int32_t left = writes; left > 0; left--) {
            if (list_is_empty(&w.writes) && world_state(&w, "t", 0)->isr.count == 3) {
                world_run(&w);
                (void)world_isr(&w, "t", 0, "1,2,3,4");
            }
            if (!list_is_empty(&w.writes)) {
                world_write_carry(&w, &done, &read);
                if (left > 1) {
                    world_event(&w, &done); /* the last one is written, and nobody hears of it */
                }
            }
        }
        world_failover(&w);
        if (world_state(&w, "t", 0)->isr.count == 3) {
            assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
        }
        assert_text(world_list(&w), "");
        assert_legacy(&w, "gone");
        assert_true(ids_equal(&world_node(&w, "t", 0)->replicas,
                              &(struct ids){.count = 2, .list = (int32_t[]){4, 2}}));
        world_deinit(&w);
    }
}

static void row_57_the_znode_wins_over_a_running_move(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    buf_clear(&w.sent);
    world_legacy_put(&w, "t-0 1,2,5;");
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,2,5,3] AR[5] RR[3]\n");
    assert_non_null(strstr(buf_text(&w.sent), "4 stop-delete t-0"));
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,5"), 0);
    assert_text(world_list(&w), "");
    assert_legacy(&w, "gone");
    world_deinit(&w);
}

/* The entry is out of the znode before the topic's node changes. */
static void node_needs_no_entry(struct world *w, struct world_topic *t,
                                const struct model_topic *next)
{
    if (ids_has(&next->partitions[0].replicas, 5)) {
        assert_null(strstr(w->legacy_version < 0 ? "" : buf_text(&w->legacy), "t-0"));
        w->arg = t;
    }
}

static void row_58_a_request_takes_its_partition_out_first(void **state)
{
    struct world w;
    (void)state;
    world_two(&w, 5, (const char *const[]){"1,2", "1,2", NULL});
    world_legacy_put(&w, "t-0 1,3;t-1 1,4;");
    world_run(&w);
    w.on_node = node_needs_no_entry;
    assert_int_equal(world_alter(&w, "t", 0, "1,5"), 0);
    assert_non_null(w.arg);
    assert_legacy(&w, "t-1 1,4;");
    assert_text(world_list(&w), "t-0 RS[1,5,2] AR[5] RR[2]\nt-1 RS[1,4,2] AR[4] RR[2]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,5"), 0);
    assert_legacy(&w, "t-1 1,4;");
    assert_int_equal(world_isr(&w, "t", 1, "1,2,4"), 0);
    assert_legacy(&w, "gone");
    world_deinit(&w);
}

static void row_59_a_cancel_takes_the_entry_with_it(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    world_legacy_put(&w, "t-0 4,1;");
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_legacy(&w, "gone");
    assert_true(ids_equal(&world_node(&w, "t", 0)->replicas,
                          &(struct ids){.count = 3, .list = (int32_t[]){1, 2, 3}}));
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    world_legacy_put(&w, "t-0 1,2;");
    world_run(&w);
    assert_legacy(&w, "gone");
    assert_true(ids_equal(&world_node(&w, "t", 0)->replicas,
                          &(struct ids){.count = 2, .list = (int32_t[]){1, 2}}));
    world_deinit(&w);
}

/* Refused requests leave the entry where it is. */
static void a_request_that_is_refused_changes_no_entry(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    world_legacy_put(&w, "t-0 4,1;");
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,9"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter(&w, "t", 0, "1,1"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_legacy(&w, "t-0 4,1;");
    assert_int_equal(w.legacy_writes, 0);
    assert_text(world_list(&w), "t-0 RS[4,1,2,3] AR[4] RR[2,3]\n");
    world_deinit(&w);
}

/* The stored move could complete at once: the znode is asked first all the same. */
static void row_60_a_new_controller_asks_the_znode_first(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 3, 1);
    world_elect(&w);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"3,1,2", NULL}), 0);
    world_run(&w);
    world_resign(&w);
    struct assignment *stored = world_node(&w, "t", 0);
    ids_set(&stored->removing, (const int32_t[]){3}, 1);
    buf_put_str(&w.legacy, "t-0 1,3;");
    w.legacy_version = 0;
    buf_clear(&w.sent);
    world_elect(&w);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,3] leader 3 isr [3,1] epoch 2");
    assert_null(strstr(buf_text(&w.sent), "3 stop"));
    assert_legacy(&w, "gone");
    world_deinit(&w);
}

static void row_61_bad_entries_go_and_good_ones_run(void **state)
{
    struct world w;
    (void)state;
    world_two(&w, 4, (const char *const[]){"1,2", "1,2", "1,2", "1,2", "1,2", NULL});
    world_legacy_put(&w, "ghost-0 1;t-9 1;t-0 ;t-1 1,1;t-2 1,-4;t-3 3,1;t-4 1,3;t-4 1,4;");
    world_run(&w);
    assert_legacy(&w, "t-3 3,1;");
    assert_text(world_list(&w), "t-3 RS[3,1,2] AR[3] RR[2]\n");
    const char *p = "warning: /admin/reassign_partitions: ";
    struct buf want;
    buf_init(&want);
    buf_putf(&want,
             "%sghost-0 is removed: there is no such partition\n"
             "%st-9 is removed: there is no such partition\n"
             "%st-4 is removed: the partition is named more than once\n"
             "%st-4 is removed: the partition is named more than once\n"
             "%st-0 is removed: the replica list is empty\n"
             "%st-1 is removed: the replica list names a broker twice\n"
             "%st-2 is removed: the replica list names broker -4\n",
             p, p, p, p, p, p, p);
    assert_non_null(strstr(buf_text(&w.log), buf_text(&want)));
    buf_deinit(&want);
    assert_int_equal(world_isr(&w, "t", 3, "1,2,3"), 0);
    assert_legacy(&w, "gone");
    assert_non_null(strstr(buf_text(&w.log), "/admin/reassign_partitions is done, and deleted\n"));
    world_deinit(&w);
}

/* 30 entries for nobody: 20 lines and one that says there are more. Names that are none are not shown. */
static void the_log_tells_a_bounded_number_of_bad_entries(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    buf_clear(&w.log);
    int32_t one[] = {1};
    struct control_legacy_move moves[30];
    for (int32_t i = 0; i < 30; i++) {
        moves[i] = (struct control_legacy_move){.topic = slice_str(i == 0 ? "bad\nname" : "ghost"),
                                                .partition = i,
                                                .replicas = {.count = 1, .list = one}};
    }
    w.legacy_version = 0;
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_LEGACY,
                                            .legacy = {.moves = moves, .count = 30, .version = 0}});
    world_run(&w);
    assert_legacy(&w, "gone");
    assert_non_null(strstr(buf_text(&w.log), "an entry that names no valid topic is removed\n"));
    assert_non_null(strstr(buf_text(&w.log),
                           "ghost-19 is removed: there is no such partition\n"
                           "warning: /admin/reassign_partitions: more entries are "
                           "removed\n/admin/reassign_partitions is done"));
    world_deinit(&w);
}

/* Nobody who has the records is in the list: first the move that runs has to end. */
static void an_entry_that_would_strand_waits(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    world_kill(&w, 1);
    world_run(&w);
    buf_clear(&w.log);
    world_legacy_put(&w, "t-0 1;");
    world_run(&w);
    assert_legacy(&w, "t-0 1;");
    assert_string_equal(world_text(&w, "t", 0), "RS[2,3,1] AR[2,3] RR[1] leader 2 isr [2] epoch 2");
    assert_non_null(strstr(buf_text(&w.log), "/admin/reassign_partitions: t-0 waits: "));
    assert_int_equal(world_isr(&w, "t", 0, "2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[1,2,3] AR[1] RR[2,3] leader 2 isr [2,3] epoch 4");
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "2,3,1"), 0);
    assert_legacy(&w, "gone");
    assert_string_equal(world_text(&w, "t", 0), "RS[1] leader 1 isr [1] epoch 7");
    world_deinit(&w);
}

static void deletion_takes_the_entries_of_its_topic(void **state)
{
    struct world w;
    (void)state;
    world_two(&w, 3, (const char *const[]){"1,2", NULL});
    world_legacy_put(&w, "t-0 1,3;t2-0 1,3;");
    world_run(&w);
    struct slice name = slice_str("t");
    struct control_request request = {
        .kind = CONTROL_DELETE_TOPICS,
        .delete_topics = {.names = &name, .count = 1, .timeout_ms = 1000}};
    world_request(&w, &request);
    world_run(&w);
    assert_null(world_topic_find(&w, slice_str("t")));
    assert_legacy(&w, "t2-0 1,3;");
    world_deinit(&w);
}

/* R1: changes by others are not asked for; what has to leave leaves all the same. */
static void entries_added_later_are_kept_and_not_started(void **state)
{
    struct world w;
    (void)state;
    world_two(&w, 4, (const char *const[]){"1,2", "1,2", NULL});
    world_legacy_put(&w, "t-0 1,3;t-1 1,3;");
    world_run(&w);
    buf_clear(&w.legacy);
    buf_put_str(&w.legacy, "t2-0 1,3;t-0 1,3;t-1 1,3;ghost-1 1;");
    w.legacy_version = 7;
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_legacy(&w, "t2-0 1,3;t-1 1,3;");
    assert_text(world_list(&w), "t-1 RS[1,3,2] AR[3] RR[2]\n");
    world_failover(&w);
    assert_text(world_list(&w), "t-1 RS[1,3,2] AR[3] RR[2]\nt2-0 RS[1,3,2] AR[3] RR[2]\n");
    world_deinit(&w);
}

/* A znode that others delete ends no move; a new one is a new plan. */
static void a_znode_deleted_by_others_is_forgotten(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2");
    world_legacy_put(&w, "t-0 1,3;");
    world_run(&w);
    world_legacy_put(&w, NULL);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,3,2] AR[3] RR[2]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_int_equal(w.legacy_writes, 0);
    world_legacy_put(&w, "t-0 1,4;");
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,4,3] AR[4] RR[3]\n");
    world_deinit(&w);
}

/* The write that removes an entry finds no znode: the request goes on. */
static void a_request_waits_for_no_znode_that_is_gone(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2");
    world_legacy_put(&w, "t-0 1,3;");
    world_run(&w);
    w.legacy_version = -1;
    assert_int_equal(world_alter(&w, "t", 0, "1,4"), 0);
    assert_text(world_list(&w), "t-0 RS[1,4,2] AR[4] RR[2]\n");
    world_deinit(&w);
}

static void an_empty_plan_is_deleted(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    world_legacy_put(&w, "");
    world_run(&w);
    assert_legacy(&w, "gone");
    world_deinit(&w);
}

/* Decision 9 */
static void a_plan_that_is_held_waits(void **state)
{
    struct world w;
    (void)state;
    world_init_at(&w, 3, IBP_2_3_IV1);
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"1,2", NULL}), 0);
    world_legacy_put(&w, "t-0 1,3;ghost-0 1;");
    world_run(&w);
    assert_legacy(&w, "t-0 1,3;ghost-0 1;");
    assert_text(world_list(&w), "");
    assert_non_null(strstr(buf_text(&w.log),
                           "asks for 2 moves: they wait until "
                           "inter.broker.protocol.version is 2.4-IV0 or later\n"));
    world_deinit(&w);
}

/* Many entries are bound over several steps; nothing starts before the last is known. */
static void a_large_plan_is_taken_in_pieces(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    int32_t count = 2000;
    int32_t list[] = {1, 3};
    struct control_legacy_move *moves = xalloc((size_t)count * sizeof *moves);
    for (int32_t i = 0; i < count; i++) {
        moves[i] = (struct control_legacy_move){.topic = slice_str(i == 0 ? "t" : "ghost"),
                                                .partition = i,
                                                .replicas = {.count = 2, .list = list}};
    }
    moves[count - 1].topic = slice_str("t");
    moves[count - 1].partition = 0; /* named twice */
    w.legacy_version = 0;
    world_event(&w,
                &(struct control_event){.kind = CONTROL_ON_LEGACY,
                                        .legacy = {.moves = moves, .count = count, .version = 0}});
    assert_true(w.out.has_more);
    assert_true(list_is_empty(&w.writes));
    world_run(&w);
    assert_text(world_list(&w), "");
    assert_legacy(&w, "gone");
    free(moves);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_39_40_a_dead_target_is_waited_for),
        cmocka_unit_test(row_46_an_entry_that_outlived_its_move_is_removed),
        cmocka_unit_test(a_controller_that_dies_anywhere),
        cmocka_unit_test(row_57_the_znode_wins_over_a_running_move),
        cmocka_unit_test(row_58_a_request_takes_its_partition_out_first),
        cmocka_unit_test(row_59_a_cancel_takes_the_entry_with_it),
        cmocka_unit_test(a_request_that_is_refused_changes_no_entry),
        cmocka_unit_test(row_60_a_new_controller_asks_the_znode_first),
        cmocka_unit_test(row_61_bad_entries_go_and_good_ones_run),
        cmocka_unit_test(the_log_tells_a_bounded_number_of_bad_entries),
        cmocka_unit_test(an_entry_that_would_strand_waits),
        cmocka_unit_test(deletion_takes_the_entries_of_its_topic),
        cmocka_unit_test(entries_added_later_are_kept_and_not_started),
        cmocka_unit_test(a_znode_deleted_by_others_is_forgotten),
        cmocka_unit_test(a_request_waits_for_no_znode_that_is_gone),
        cmocka_unit_test(an_empty_plan_is_deleted),
        cmocka_unit_test(a_plan_that_is_held_waits),
        cmocka_unit_test(a_large_plan_is_taken_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
