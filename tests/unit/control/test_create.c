/*
 * CreateTopics: what is refused and why (docs/spec/protocol.md key 19), and how partitions are placed.
 */
#include "unit/control/harness.h"

#include <stdio.h>

static const char *create(struct world *w, const struct control_new_topic *topics, int32_t count,
                          bool is_validate_only)
{
    struct control_request request = {.kind = CONTROL_CREATE_TOPICS,
                                      .create_topics = {.topics = topics,
                                                        .count = count,
                                                        .is_validate_only = is_validate_only,
                                                        .timeout_ms = 30000}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    assert_int_equal(w->reply.error, 0);
    return buf_text(&w->reply.text);
}

static void up(struct world *w, int32_t brokers)
{
    world_init(w, brokers, 7);
    world_elect(w);
    world_run(w);
}

static void bad_topics_are_refused_one_by_one(void **state)
{
    struct world w;
    (void)state;
    up(&w, 3);
    int32_t ids[] = {1, 2, 9};
    const struct control_new_partition gap[] = {{0, ids, 1}, {2, ids, 1}};
    const struct control_new_partition ragged[] = {{0, ids, 1}, {1, ids, 2}};
    const struct control_new_partition unknown[] = {{0, ids, 3}};
    const struct control_new_partition none[] = {{0, ids, 0}};
    const struct control_new_topic topics[] = {
        {.name = slice_str("a b"), .partition_count = 1, .replication_factor = 1},
        {.name = slice_str("zero"), .partition_count = 0, .replication_factor = 1},
        {.name = slice_str("huge"), .partition_count = 2000000000, .replication_factor = 1},
        {.name = slice_str("thin"), .partition_count = 1, .replication_factor = 0},
        {.name = slice_str("wide"), .partition_count = 1, .replication_factor = 4},
        {.name = slice_str("both"),
         .partition_count = 2,
         .replication_factor = -1,
         .assignments = gap,
         .assignment_count = 2},
        {.name = slice_str("gap"),
         .partition_count = -1,
         .replication_factor = -1,
         .assignments = gap,
         .assignment_count = 2},
        {.name = slice_str("ragged"),
         .partition_count = -1,
         .replication_factor = -1,
         .assignments = ragged,
         .assignment_count = 2},
        {.name = slice_str("unknown"),
         .partition_count = -1,
         .replication_factor = -1,
         .assignments = unknown,
         .assignment_count = 1},
        {.name = slice_str("none"),
         .partition_count = -1,
         .replication_factor = -1,
         .assignments = none,
         .assignment_count = 1},
        {.name = slice_str("config"), .partition_count = 1, .replication_factor = 1, .error = 40},
        {.name = slice_str("twice"), .partition_count = 1, .replication_factor = 1},
        {.name = slice_str("twice"), .partition_count = 1, .replication_factor = 1},
        {.name = slice_str("good"), .partition_count = -1, .replication_factor = -1},
    };
    assert_string_equal(create(&w, topics, (int32_t)ARRAY_LEN(topics), false),
                        "a b 17 -1 -1\nzero 37 -1 -1\nhuge 37 -1 -1\nthin 38 -1 -1\n"
                        "wide 38 -1 -1\nboth 42 -1 -1\ngap 39 -1 -1\nragged 39 -1 -1\n"
                        "unknown 39 -1 -1\nnone 39 -1 -1\nconfig 40 -1 -1\ntwice 42 -1 -1\n"
                        "twice 42 -1 -1\ngood 0 1 1\n");
    assert_int_equal(w.topic_count, 1);
    world_deinit(&w);
}

static void names_collide_by_dot_and_underscore(void **state)
{
    struct world w;
    (void)state;
    up(&w, 1);
    struct control_new_topic topic = {
        .name = slice_str("a.b"), .partition_count = 1, .replication_factor = 1};
    assert_string_equal(create(&w, &topic, 1, false), "a.b 0 1 1\n");
    assert_string_equal(create(&w, &topic, 1, false), "a.b 36 -1 -1\n");
    topic.name = slice_str("a_b");
    assert_string_equal(create(&w, &topic, 1, false), "a_b 17 -1 -1\n");
    world_deinit(&w);
}

static void validation_alone_writes_nothing(void **state)
{
    struct world w;
    (void)state;
    up(&w, 3);
    struct control_new_topic topic = {
        .name = slice_str("t"), .partition_count = 4, .replication_factor = 2};
    assert_string_equal(create(&w, &topic, 1, true), "t 0 4 2\n");
    assert_int_equal(w.topic_count, 0);
    assert_string_equal(create(&w, &topic, 1, false), "t 0 4 2\n");
    world_deinit(&w);
}

static void placement_is_even_and_distinct(void **state)
{
    struct world w;
    (void)state;
    up(&w, 5);
    struct control_new_topic topic = {
        .name = slice_str("t"), .partition_count = 15, .replication_factor = 3};
    assert_string_equal(create(&w, &topic, 1, false), "t 0 15 3\n");
    int32_t leads[8] = {0};
    int32_t holds[8] = {0};
    for (int32_t i = 0; i < 15; i++) {
        const struct ids *replicas = &world_node(&w, "t", i)->replicas;
        assert_int_equal(replicas->count, 3);
        assert_false(ids_has_duplicate(replicas));
        leads[replicas->list[0]]++;
        for (int32_t k = 0; k < 3; k++) {
            holds[replicas->list[k]]++;
        }
        assert_int_equal(world_state(&w, "t", i)->leader, replicas->list[0]);
    }
    for (int32_t id = 1; id <= 5; id++) {
        assert_int_equal(leads[id], 3);
        assert_int_equal(holds[id], 9);
    }
    world_deinit(&w);
}

static void live_replicas_are_told_that_they_are_new(void **state)
{
    struct world w;
    (void)state;
    up(&w, 3);
    world_kill(&w, 2);
    world_run(&w);
    world_start(&w, 2);
    world_run(&w);
    buf_clear(&w.sent);
    assert_int_equal(world_create(&w, "t", (const char *const[]){"2,3", NULL}), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,3] leader 2 isr [2,3] epoch 0");
    assert_non_null(strstr(buf_text(&w.sent), "3 new t-0 leader 2 epoch 0 RS[2,3]"));
    assert_non_null(strstr(buf_text(&w.sent), "1 metadata t-0"));
    world_deinit(&w);
}

/* So that they hold when the first record comes; later they are whatever /config says. */
static void settings_go_with_the_first_word_about_a_topic(void **state)
{
    struct world w;
    (void)state;
    up(&w, 3);
    int32_t ids[] = {1, 2};
    const struct control_new_partition lists[] = {{0, ids, 2}, {1, ids, 2}};
    const struct model_setting settings[] = {{slice_str("retention.ms"), slice_str("5")},
                                             {slice_str("segment.ms"), slice_str("6")}};
    struct control_new_topic topic = {.name = slice_str("t"),
                                      .partition_count = -1,
                                      .replication_factor = -1,
                                      .assignments = lists,
                                      .assignment_count = 2,
                                      .settings = settings,
                                      .setting_count = 2};
    assert_string_equal(create(&w, &topic, 1, false), "t 0 2 2\n");
    char *sent = xstrdup(buf_text(&w.sent));
    for (int broker = 1; broker <= 2; broker++) {
        for (int i = 0; i < 2; i++) {
            char line[96];
            (void)snprintf(line, sizeof line,
                           "%d new t-%d leader 1 epoch 0 RS[1,2] retention.ms=5 segment.ms=6\n",
                           broker, i);
            assert_non_null(strstr(sent, line));
        }
    }
    free(sent);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    world_run(&w);
    assert_non_null(strstr(buf_text(&w.sent), "3 new t-0 leader 1"));
    assert_null(strstr(buf_text(&w.sent), "retention.ms"));
    world_deinit(&w);
}

static void a_name_that_is_being_created_is_taken(void **state)
{
    struct world w;
    (void)state;
    up(&w, 1);
    struct control_new_topic topic = {
        .name = slice_str("t"), .partition_count = 1, .replication_factor = 1};
    struct control_request request = {
        .kind = CONTROL_CREATE_TOPICS,
        .create_topics = {.topics = &topic, .count = 1, .timeout_ms = 30000}};
    world_request(&w, &request);
    assert_false(w.reply.is_there);
    world_request(&w, &request);
    assert_text(&w.reply.text, "t 36 -1 -1\n");
    world_run(&w);
    assert_text(&w.reply.text, "t 0 1 1\n");
    world_deinit(&w);
}

static void a_topic_that_somebody_else_created_is_taken_over(void **state)
{
    struct world w;
    (void)state;
    up(&w, 2);
    int32_t one[] = {1};
    struct assignment list = {.replicas = {.count = 1, .list = one}};
    struct model_topic node = {.name = (char[]){"t"}, .partition_count = 1, .partitions = &list};
    node.id.bytes[0] = 9;
    (void)world_topic_put(&w, &node); /* the core has not seen it yet */
    struct control_new_topic topic = {
        .name = slice_str("t"), .partition_count = 2, .replication_factor = 1};
    assert_string_equal(create(&w, &topic, 1, false), "t 36 -1 -1\n");
    assert_string_equal(world_text(&w, "t", 0), "RS[1] leader 1 isr [1] epoch 0");
    world_deinit(&w);
}

static void a_creation_that_takes_too_long_is_answered_and_goes_on(void **state)
{
    struct world w;
    (void)state;
    up(&w, 1);
    struct control_new_topic topic = {
        .name = slice_str("t"), .partition_count = 1, .replication_factor = 1};
    struct control_request request = {
        .kind = CONTROL_CREATE_TOPICS,
        .create_topics = {.topics = &topic, .count = 1, .timeout_ms = 100}};
    world_request(&w, &request);
    assert_int_equal(w.out.wake_ms, 100);
    w.now_ms = 100;
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TICK});
    assert_text(&w.reply.text, "t 7 -1 -1\n");
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1] leader 1 isr [1] epoch 0");
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_topics_are_refused_one_by_one),
        cmocka_unit_test(names_collide_by_dot_and_underscore),
        cmocka_unit_test(validation_alone_writes_nothing),
        cmocka_unit_test(placement_is_even_and_distinct),
        cmocka_unit_test(live_replicas_are_told_that_they_are_new),
        cmocka_unit_test(settings_go_with_the_first_word_about_a_topic),
        cmocka_unit_test(a_name_that_is_being_created_is_taken),
        cmocka_unit_test(a_topic_that_somebody_else_created_is_taken_over),
        cmocka_unit_test(a_creation_that_takes_too_long_is_answered_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
