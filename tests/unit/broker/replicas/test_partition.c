/*
 * Topics and partitions as objects: names that may become paths, ids that are found again, and what a
 * partition leaves behind.
 */
#include "broker/replicas/internal.h"
#include "world.h"

#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t alone[] = {1};

static void topic_names_are_kafkas(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_valid;
    } rows[] = {
        {"orders", true},    {"__consumer_offsets", true},
        {"a.b-c_D9", true},  {"", false},
        {".", false},        {"..", false},
        {"a/b", false},      {"a b", false},
        {"\xc3\xa4", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(replicas_topic_name_is_valid(slice_str(rows[i].name)), rows[i].is_valid);
    }
    char name[REPLICAS_TOPIC_LEN_MAX + 1];
    memset(name, 'x', sizeof name);
    assert_true(replicas_topic_name_is_valid(slice_of(name, REPLICAS_TOPIC_LEN_MAX)));
    assert_false(replicas_topic_name_is_valid(slice_of(name, REPLICAS_TOPIC_LEN_MAX + 1)));
    assert_false(replicas_topic_name_is_valid(slice_of("a\0b", 3)));
}

static void topic_goes_with_its_last_partition(void **state)
{
    (void)state;
    struct world *w = world_new(81, 1);
    world_start(w, 1);
    struct replicas *r = world_replicas(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, alone, 1);
    struct world_partition *q = world_create(w, "orders", 7, alone, 1);
    struct replicas_topic *topic = replicas_topic_find(r, slice_str("orders"));
    assert_non_null(topic);
    assert_int_equal(topic->partitions.count, 2);
    assert_ptr_equal(replicas_topic_by_id(r, p->topic_id), topic);
    assert_non_null(replicas_partition_find(r, slice_str("orders"), 7));
    assert_null(replicas_partition_find(r, slice_str("orders"), 1));
    assert_null(replicas_partition_find(r, slice_str("order"), 0));
    assert_int_equal(world_stop_replica(w, 1, p, true, -1), KERR_NONE);
    assert_ptr_equal(replicas_topic_find(r, slice_str("orders")), topic);
    assert_int_equal(world_stop_replica(w, 1, q, true, -1), KERR_NONE);
    assert_null(replicas_topic_find(r, slice_str("orders")));
    assert_null(replicas_topic_by_id(r, p->topic_id));
    assert_int_equal(r->dirs[0].log_count, 0);
    world_free(w);
}

/* String.hashCode("orders"), which decides the fetcher as in Java. */
static void names_hash_as_in_java(void **state)
{
    (void)state;
    struct world *w = world_new(82, 1);
    world_start(w, 1);
    (void)world_create(w, "orders", 0, alone, 1);
    struct replicas_topic *topic = replicas_topic_find(world_replicas(w, 1), slice_str("orders"));
    assert_int_equal(topic->java_hash, -1008770331);
    world_free(w);
}

/* A topic that was made anew: the newest id is the one that names it. */
static void newest_topic_id_wins(void **state)
{
    (void)state;
    struct world *w = world_new(83, 1);
    world_start(w, 1);
    struct replicas *r = world_replicas(w, 1);
    struct world_partition *p = world_create(w, "orders", 0, alone, 1);
    struct replicas_topic *topic = replicas_topic_find(r, slice_str("orders"));
    struct uuid id = {{9}};
    replicas_topic_set_id(r, topic, id);
    assert_ptr_equal(replicas_topic_by_id(r, id), topic);
    assert_null(replicas_topic_by_id(r, p->topic_id));
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topic_names_are_kafkas),
        cmocka_unit_test(topic_goes_with_its_last_partition),
        cmocka_unit_test(names_hash_as_in_java),
        cmocka_unit_test(newest_topic_id_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
