/*
 * What a look at a watched node means after a new handle knows no watches. The whole way is tested
 * against a real server, in tests/system.
 */
#include "metastore/zookeeper_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NO_EVENT (-1)

static struct metastore_zk_seen at(int64_t czxid, int64_t zxid)
{
    return (struct metastore_zk_seen){.czxid = czxid, .zxid = zxid};
}

static int compare(bool is_children, struct metastore_zk_seen before,
                   const struct metastore_zk_seen *now)
{
    struct metastore_zk_watch_key key = {.is_children = is_children};
    struct metastore_zk_watch w = {.key = &key, .seen = before};
    enum metastore_event event;
    return metastore_zk_rearm_compare(&w, now, &event) ? (int)event : NO_EVENT;
}

static void same_node_is_no_event(void **state)
{
    (void)state;
    struct metastore_zk_seen node = at(5, 7);
    assert_int_equal(compare(false, node, &node), NO_EVENT);
    assert_int_equal(compare(true, node, &node), NO_EVENT);
}

static void later_change_is_an_event_of_its_kind(void **state)
{
    (void)state;
    struct metastore_zk_seen now = at(5, 8);
    assert_int_equal(compare(false, at(5, 7), &now), METASTORE_CHANGED);
    assert_int_equal(compare(true, at(5, 7), &now), METASTORE_CHILDREN_CHANGED);
}

static void missing_or_remade_node_was_deleted(void **state)
{
    (void)state;
    struct metastore_zk_seen remade = at(9, 9);
    assert_int_equal(compare(false, at(5, 7), NULL), METASTORE_DELETED);
    assert_int_equal(compare(true, at(5, 7), NULL), METASTORE_DELETED);
    assert_int_equal(compare(false, at(5, 7), &remade), METASTORE_DELETED);
    assert_int_equal(compare(true, at(5, 7), &remade), METASTORE_DELETED);
}

static void awaited_node_is_created_or_still_awaited(void **state)
{
    (void)state;
    struct metastore_zk_seen now = at(9, 9);
    assert_int_equal(compare(false, at(0, 0), &now), METASTORE_CREATED);
    assert_int_equal(compare(false, at(0, 0), NULL), NO_EVENT);
}

static void half_a_request_of_watches_is_too_many(void **state)
{
    (void)state;
    struct metastore_zk_session s = {.held_bytes = 512 * 1024};
    assert_false(metastore_zk_rearm_is_due(&s));
    s.held_bytes++;
    assert_true(metastore_zk_rearm_is_due(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_node_is_no_event),
        cmocka_unit_test(later_change_is_an_event_of_its_kind),
        cmocka_unit_test(missing_or_remade_node_was_deleted),
        cmocka_unit_test(awaited_node_is_created_or_still_awaited),
        cmocka_unit_test(half_a_request_of_watches_is_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
