/*
 * Fetch sessions: slots and eviction, updates and forgetting, order and epochs.
 */
#include "broker/api/fetch_session.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BYTES_MAX ((int64_t)4 << 20)

static struct fetch_session *open_at(struct fetch_sessions *s, int32_t id, bool is_follower,
                                     int64_t now_ms)
{
    struct fetch_session_wish wish = {.id = id, .is_follower = is_follower, .now_ms = now_ms};
    return api_fetch_session_open(s, &wish);
}

static void put(struct fetch_session *session, const char *topic, int32_t partition, int64_t offset)
{
    struct fetch_item item = {
        .topic = slice_str(topic), .partition = partition, .fetch_offset = offset};
    assert_int_equal(api_fetch_session_put(session, &item), 0);
}

static struct fetch_item *item_at(const struct fetch_session *session, int index)
{
    struct list_node *node;
    list_foreach (node, &session->items) {
        if (index-- == 0) {
            return CONTAINER_OF(node, struct fetch_item, link);
        }
    }
    return NULL;
}

static void newcomer_waits_until_a_session_is_idle(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(2, BYTES_MAX);
    assert_non_null(open_at(s, 1, false, 0));
    assert_non_null(open_at(s, 2, false, 1000));
    assert_null(open_at(s, 3, false, 2000));
    assert_non_null(api_fetch_session_find(s, 1, 2000));
    assert_non_null(open_at(s, 3, false, 1001 + FETCH_SESSION_IDLE_MS));
    assert_null(api_fetch_session_find(s, 2, 0));
    assert_non_null(api_fetch_session_find(s, 1, 0));
    assert_int_equal(api_fetch_sessions_count(s), 2);
    api_fetch_sessions_free(s);
}

static void follower_takes_the_slot_of_a_client(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, BYTES_MAX);
    assert_non_null(open_at(s, 1, false, 0));
    assert_non_null(open_at(s, 2, true, 0));
    assert_null(api_fetch_session_find(s, 1, 0));
    assert_null(open_at(s, 3, true, 0));
    api_fetch_sessions_free(s);
}

static void held_session_is_not_evicted(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, BYTES_MAX);
    struct fetch_session *session = open_at(s, 1, false, 0);
    session->holder = s;
    assert_null(open_at(s, 2, true, 10 * FETCH_SESSION_IDLE_MS));
    session->holder = NULL;
    api_fetch_sessions_free(s);
}

/* Returns how many partitions it took, of a topic with a name as long as a request can tell. */
static int fill(struct fetch_session *session)
{
    static const char name[INT16_MAX];
    struct fetch_item item = {.topic = slice_of(name, sizeof name)};
    while (api_fetch_session_put(session, &item) == 0) {
        item.partition++;
    }
    return item.partition;
}

/* A request tells a topic's name once, a session keeps it with each partition. */
static void memory_of_all_sessions_is_bounded(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(100, BYTES_MAX);
    struct fetch_session *first = open_at(s, 1, false, 0);
    int count = fill(first);
    assert_true(count > 100 && count < BYTES_MAX / INT16_MAX);
    assert_int_equal(fill(open_at(s, 2, false, 0)), 0);
    /* Idle ones give way to clients, others to followers. */
    struct fetch_session *third = open_at(s, 3, false, FETCH_SESSION_IDLE_MS + 1);
    assert_int_equal(fill(third), count);
    struct fetch_session *follower = open_at(s, 4, true, FETCH_SESSION_IDLE_MS + 1);
    put(follower, "t", 0, 0);
    assert_int_equal(api_fetch_sessions_count(s), 1);
    /* What is forgotten makes room. */
    count = fill(follower);
    static const char name[INT16_MAX];
    struct fetch_item forgotten = {.topic = slice_of(name, sizeof name)};
    api_fetch_session_forget(follower, &forgotten);
    assert_int_equal(fill(follower), count);
    api_fetch_sessions_free(s);
}

static void taken_id_and_no_slots_are_declined(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(2, BYTES_MAX);
    assert_non_null(open_at(s, 1, false, 0));
    assert_null(open_at(s, 1, false, 0));
    api_fetch_sessions_free(s);
    s = api_fetch_sessions_new(0, BYTES_MAX);
    assert_null(open_at(s, 1, false, 0));
    api_fetch_sessions_free(s);
}

static void update_keeps_what_was_told(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, BYTES_MAX);
    struct fetch_session *session = open_at(s, 1, false, 0);
    put(session, "a", 0, 10);
    put(session, "a", 1, 20);
    item_at(session, 0)->told_high_watermark = 99;
    put(session, "a", 0, 11);
    assert_int_equal(session->items.count, 2);
    assert_int_equal(item_at(session, 0)->fetch_offset, 11);
    assert_int_equal(item_at(session, 0)->told_high_watermark, 99);
    api_fetch_sessions_free(s);
}

static void forgotten_and_rotated_items_change_the_order(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, BYTES_MAX);
    struct fetch_session *session = open_at(s, 1, false, 0);
    put(session, "a", 0, 1);
    put(session, "a", 1, 2);
    put(session, "b", 0, 3);
    api_fetch_session_rotate(session, item_at(session, 0));
    assert_int_equal(item_at(session, 0)->fetch_offset, 2);
    assert_int_equal(item_at(session, 2)->fetch_offset, 1);
    struct fetch_item key = {.topic = slice_str("b")};
    api_fetch_session_forget(session, &key);
    api_fetch_session_forget(session, &key);
    assert_int_equal(session->items.count, 2);
    assert_int_equal(item_at(session, 1)->fetch_offset, 1);
    api_fetch_sessions_free(s);
}

/* Names are not looked at in a session of ids. */
static void ids_tell_topics_apart_in_a_session_of_ids(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, BYTES_MAX);
    struct fetch_session_wish wish = {.id = 1, .is_by_id = true};
    struct fetch_session *session = api_fetch_session_open(s, &wish);
    struct fetch_item item = {.partition = 4};
    item.topic_id.bytes[3] = 1;
    assert_int_equal(api_fetch_session_put(session, &item), 0);
    item.topic_id.bytes[3] = 2;
    assert_int_equal(api_fetch_session_put(session, &item), 0);
    assert_int_equal(api_fetch_session_put(session, &item), 0);
    assert_int_equal(session->items.count, 2);
    api_fetch_sessions_free(s);
}

static void session_is_bounded(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, FETCH_SESSION_BYTES_MAX);
    struct fetch_session *session = open_at(s, 1, false, 0);
    struct fetch_item item = {.topic = slice_str("a")};
    for (int32_t i = 0; i < FETCH_SESSION_ITEMS_MAX; i++) {
        item.partition = i;
        assert_int_equal(api_fetch_session_put(session, &item), 0);
    }
    item.partition = FETCH_SESSION_ITEMS_MAX;
    assert_int_equal(api_fetch_session_put(session, &item), -E_TOO_LARGE);
    item.partition = 5;
    assert_int_equal(api_fetch_session_put(session, &item), 0);
    api_fetch_sessions_free(s);
}

static void epoch_wraps_to_one(void **state)
{
    (void)state;
    assert_int_equal(api_fetch_epoch_next(1), 2);
    assert_int_equal(api_fetch_epoch_next(INT32_MAX), 1);
}

static int hot_count(const struct fetch_session *session)
{
    return (int)session->hot.count;
}

static void only_hot_partitions_are_listed_for_reading(void **state)
{
    (void)state;
    struct fetch_sessions *s = api_fetch_sessions_new(1, BYTES_MAX);
    struct fetch_session *session = open_at(s, 1, true, 0);
    put(session, "a", 0, 0);
    put(session, "b", 0, 0);
    assert_int_equal(hot_count(session), 2);
    struct fetch_item *first = item_at(session, 0);
    api_fetch_session_cool(session, first);
    api_fetch_session_cool(session, first);
    assert_int_equal(hot_count(session), 1);
    put(session, "a", 0, 5);
    api_fetch_session_heat(session, first);
    assert_int_equal(hot_count(session), 2);
    api_fetch_session_cool(session, first);
    api_fetch_session_forget(session, first);
    assert_int_equal(hot_count(session), 1);
    api_fetch_sessions_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_hot_partitions_are_listed_for_reading),
        cmocka_unit_test(newcomer_waits_until_a_session_is_idle),
        cmocka_unit_test(follower_takes_the_slot_of_a_client),
        cmocka_unit_test(held_session_is_not_evicted),
        cmocka_unit_test(memory_of_all_sessions_is_bounded),
        cmocka_unit_test(taken_id_and_no_slots_are_declined),
        cmocka_unit_test(update_keeps_what_was_told),
        cmocka_unit_test(forgotten_and_rotated_items_change_the_order),
        cmocka_unit_test(ids_tell_topics_apart_in_a_session_of_ids),
        cmocka_unit_test(session_is_bounded),
        cmocka_unit_test(epoch_wraps_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
