/*
 * The watches of a ZooKeeper session, without a client: the test plays the client that sets and fires
 * them.
 */
#include "metastore/zookeeper_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

struct listener {
    struct metastore_zk_factory factory;
    struct metastore_zk_session session;
    char heard[128];
};

static const struct metastore_zk_seen seen = {.czxid = 1, .zxid = 2};

static void on_event(void *arg, enum metastore_event event, struct slice path)
{
    static const char *const names[] = {"created", "deleted", "changed", "children"};
    struct listener *l = arg;
    size_t len = strlen(l->heard);
    (void)snprintf(l->heard + len, sizeof l->heard - len, "%s %.*s; ", names[event],
                   SLICE_ARG(path));
}

static void on_other_event(void *arg, enum metastore_event event, struct slice path)
{
    on_event(arg, event, path);
}

static struct metastore_zk_watch *join(struct listener *l, const char *path, bool is_children)
{
    return metastore_zk_watch_join(&l->session, slice_str(path), is_children, on_event, l);
}

static void fire(struct metastore_zk_watch *w, int type)
{
    metastore_zk_watch_fire(NULL, type, ZOO_CONNECTED_STATE, "/ignored", w);
}

static int setup(void **state)
{
    static struct listener listener;
    listener = (struct listener){0};
    static char chroot[] = "/k";
    listener.factory.chroot = chroot;
    listener.session.factory = &listener.factory;
    list_init(&listener.session.spent_watches);
    list_init(&listener.session.dead_watches);
    *state = &listener;
    return 0;
}

static int teardown(void **state)
{
    struct listener *l = *state;
    metastore_zk_watches_free(&l->session);
    assert_null(l->session.watches);
    assert_int_equal(l->session.held_bytes, 0);
    return 0;
}

static void set_watch_fires_once(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    metastore_zk_watch_leave(w, &seen);
    fire(w, ZOO_CHANGED_EVENT);
    fire(w, ZOO_CHANGED_EVENT);
    assert_string_equal(l->heard, "changed /a; ");
    assert_true(l->session.has_progress);
}

static void events_have_their_names(void **state)
{
    struct listener *l = *state;
    const int types[] = {ZOO_CREATED_EVENT, ZOO_DELETED_EVENT, ZOO_CHANGED_EVENT, ZOO_CHILD_EVENT};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct metastore_zk_watch *w = join(l, "/a", false);
        metastore_zk_watch_leave(w, &seen);
        fire(w, types[i]);
    }
    assert_string_equal(l->heard, "created /a; deleted /a; changed /a; children /a; ");
}

static void states_of_the_session_are_no_events(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    metastore_zk_watch_leave(w, &seen);
    fire(w, ZOO_SESSION_EVENT);
    assert_string_equal(l->heard, "");
    fire(w, ZOO_DELETED_EVENT);
    assert_string_equal(l->heard, "deleted /a; ");
}

static void same_registrations_are_one_watch(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    assert_ptr_equal(join(l, "/a", false), w);
    struct metastore_zk_watch *others[] = {
        join(l, "/a", true), join(l, "/b", false),
        metastore_zk_watch_join(&l->session, slice_str("/a"), false, on_other_event, l)};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_ptr_not_equal(others[i], w);
    }
}

/* The second read is still under way when the event of the first one comes. */
static void watch_outlives_its_event_while_a_read_carries_it(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    assert_ptr_equal(join(l, "/a", false), w);
    metastore_zk_watch_leave(w, &seen);
    fire(w, ZOO_CHANGED_EVENT);
    assert_non_null(l->session.watches);
    metastore_zk_watch_leave(w, &seen);
    fire(w, ZOO_DELETED_EVENT);
    assert_string_equal(l->heard, "changed /a; deleted /a; ");
    assert_null(l->session.watches);
}

static void failed_read_leaves_no_watch(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    metastore_zk_watch_leave(w, NULL);
    fire(w, ZOO_CREATED_EVENT);
    assert_string_equal(l->heard, "");
    assert_null(l->session.watches);
    metastore_zk_watches_bury(&l->session);
    assert_true(list_is_empty(&l->session.dead_watches));
    metastore_zk_watch_leave(NULL, &seen);
}

/* As when its event was found by reading: the client's own event for it comes later. */
static void told_watch_is_silent_until_the_client_lets_go(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    metastore_zk_watch_leave(w, &seen);
    assert_int_equal(l->session.held_bytes, 4 + strlen("/k/a"));
    metastore_zk_watch_tell(w, METASTORE_CHANGED);
    assert_string_equal(l->heard, "changed /a; ");
    assert_null(l->session.watches);
    metastore_zk_watches_bury(&l->session);
    assert_int_equal(l->session.held_bytes, 4 + strlen("/k/a"));
    assert_ptr_not_equal(join(l, "/a", false), w);
    fire(w, ZOO_DELETED_EVENT);
    assert_string_equal(l->heard, "changed /a; ");
    assert_int_equal(l->session.held_bytes, 0);
    assert_true(list_is_empty(&l->session.spent_watches));
}

static void lost_handle_holds_nothing_but_the_watches_stay_set(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *set = join(l, "/a", false);
    metastore_zk_watch_leave(set, &seen);
    struct metastore_zk_watch *spent = join(l, "/b", true);
    metastore_zk_watch_leave(spent, &seen);
    metastore_zk_watch_tell(spent, METASTORE_CHILDREN_CHANGED);
    metastore_zk_watches_release(&l->session);
    assert_int_equal(l->session.held_bytes, 0);
    assert_true(list_is_empty(&l->session.spent_watches));
    assert_true(set->is_set);
    assert_false(set->is_held);
}

static void closed_session_hears_nothing(void **state)
{
    struct listener *l = *state;
    struct metastore_zk_watch *w = join(l, "/a", false);
    metastore_zk_watch_leave(w, &seen);
    l->session.is_closed = true;
    fire(w, ZOO_CHANGED_EVENT);
    assert_string_equal(l->heard, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(set_watch_fires_once),
        TEST(events_have_their_names),
        TEST(states_of_the_session_are_no_events),
        TEST(same_registrations_are_one_watch),
        TEST(watch_outlives_its_event_while_a_read_carries_it),
        TEST(failed_read_leaves_no_watch),
        TEST(told_watch_is_silent_until_the_client_lets_go),
        TEST(lost_handle_holds_nothing_but_the_watches_stay_set),
        TEST(closed_session_hears_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
