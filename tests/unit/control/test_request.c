/*
 * Requests: every one is answered once, whatever happens; large ones in pieces.
 */
#include "unit/control/harness.h"

static void all_are_refused_when_the_role_is_lost(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 3}, .replica_count = 2};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    struct slice name = slice_str("t");
    struct control_request deletion = {
        .kind = CONTROL_DELETE_TOPICS,
        .delete_topics = {.names = &name, .count = 1, .timeout_ms = 30000}};
    world_request(&w, &alter);
    world_request(&w, &deletion);
    uint64_t last = w.next_token - 1;
    world_resign(&w);
    int32_t replies = 0;
    for (int32_t i = 0; i < w.out.count; i++) {
        if (w.out.list[i].kind == CONTROL_EFFECT_REPLY) {
            assert_int_equal(w.out.list[i].reply.error, KERR_NOT_CONTROLLER);
            assert_true(w.out.list[i].reply.token == last || w.out.list[i].reply.token == last - 1);
            replies++;
        }
    }
    assert_int_equal(replies, 2);
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    world_deinit(&w);
}

static void empty_requests_are_answered_at_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    const enum control_request_kind kinds[] = {
        CONTROL_ALTER_REASSIGNMENTS, CONTROL_LIST_REASSIGNMENTS, CONTROL_ELECT_LEADERS,
        CONTROL_CREATE_TOPICS,       CONTROL_CREATE_PARTITIONS,  CONTROL_DELETE_TOPICS};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct control_request request = {.kind = kinds[i]};
        world_request(&w, &request);
        assert_true(w.reply.is_there);
        assert_int_equal(w.reply.error, 0);
        assert_int_equal(w.reply.count, 0);
    }
    struct control_request request = {
        .kind = CONTROL_ALTER_PARTITION,
        .alter_partition = {.broker = 1, .broker_epoch = w.brokers[1].epoch}};
    world_request(&w, &request);
    assert_int_equal(w.reply.error, 0);
    world_deinit(&w);
}

/* Decision 8: 20,000 entries, each with its own answer, no step looks at more than its bound. */
static void a_large_request_is_worked_off_in_pieces(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    int32_t count = 20000;
    int32_t replicas[] = {1, 3};
    struct control_alter_entry *entries = xalloc((size_t)count * sizeof *entries);
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct control_alter_entry){
            .topic = slice_str("t"), .partition = i, .replicas = replicas, .replica_count = 2};
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = entries, .count = count}};
    world_request(&w, &request);
    assert_true(w.out.has_more);
    memset(entries, 0xa5, (size_t)count * sizeof *entries); /* the core took a copy */
    free(entries);
    world_run(&w);
    assert_int_equal(w.reply.error, 0);
    assert_int_equal(w.reply.count, count);
    const char *text = buf_text(&w.reply.text);
    assert_memory_equal(text, "t-0 0\nt-1 3\nt-2 3\n", 18);
    assert_string_equal(text + strlen(text) - 10, "t-19999 3\n");
    world_deinit(&w);
}

static void waiting_without_time_is_answered_with_7(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    struct control_new_topic topic = {
        .name = slice_str("u"), .partition_count = 1, .replication_factor = 1};
    struct control_request request = {.kind = CONTROL_CREATE_TOPICS,
                                      .create_topics = {.topics = &topic, .count = 1}};
    world_request(&w, &request);
    assert_text(&w.reply.text, "u 7 -1 -1\n");
    world_run(&w);
    assert_string_equal(world_text(&w, "u", 0), "RS[1] leader 1 isr [1] epoch 0");
    world_deinit(&w);
}

static void there_is_a_bound_on_waiting_requests(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    world_kill(&w, 2);
    world_run(&w);
    struct slice name = slice_str("t");
    struct control_request deletion = {
        .kind = CONTROL_DELETE_TOPICS,
        .delete_topics = {.names = &name, .count = 1, .timeout_ms = 30000}};
    for (int32_t i = 0; i < 10000; i++) {
        world_request(&w, &deletion);
        assert_false(w.reply.is_there);
    }
    world_request(&w, &deletion);
    assert_int_equal(w.reply.error, KERR_REQUEST_TIMED_OUT);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_refused_when_the_role_is_lost),
        cmocka_unit_test(empty_requests_are_answered_at_once),
        cmocka_unit_test(a_large_request_is_worked_off_in_pieces),
        cmocka_unit_test(waiting_without_time_is_answered_with_7),
        cmocka_unit_test(there_is_a_bound_on_waiting_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
