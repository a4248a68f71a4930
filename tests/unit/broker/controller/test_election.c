/*
 * Elections: one winner, epochs that rise by one, lost answers, nodes of others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static int32_t active_count(struct cluster *k)
{
    int32_t count = 0;
    for (int32_t id = 1; id <= k->broker_count; id++) {
        count +=
            k->brokers[id].controller != NULL && controller_is_active(k->brokers[id].controller);
    }
    return count;
}

/* zookeeper-mode.md section 16, check 3. */
static void of_many_candidates_one_wins(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster *k = cluster_new(6, seed);
        (void)cluster_wait_controller(k);
        cluster_run(k, 2000);
        assert_int_equal(active_count(k), 1);
        assert_string_equal(cluster_node(k, "/controller_epoch"), "1");
        cluster_free(k);
    }
}

static void each_term_has_the_next_epoch(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(4, 1);
    for (int32_t term = 1; term <= 3; term++) {
        int32_t id = cluster_wait_controller(k);
        char *expected = xasprintf("%d", term);
        assert_string_equal(cluster_node(k, "/controller_epoch"), expected);
        free(expected);
        cluster_kill(k, id);
        cluster_run(k, 2 * CLUSTER_SESSION_MS);
    }
    assert_int_equal(active_count(k), 1);
    cluster_free(k);
}

/* The answer to the winning transaction is lost: who won finds out by the node's owner. */
static void a_lost_answer_is_found_out(void **state)
{
    (void)state;
    for (int32_t is_applied = 0; is_applied <= 1; is_applied++) {
        struct cluster *k = cluster_new(1, 3);
        struct controller *c = k->brokers[1].controller;
        for (int32_t i = 0; i < 1000 && c->store == NULL; i++) {
            (void)sim_world_step(k->world);
        }
        while (metastore_session_id(c->store) == 0) {
            (void)sim_world_step(k->world);
        }
        metastore_store_lose_write(k->store, metastore_session_id(c->store), is_applied == 1);
        assert_int_equal(cluster_wait_controller(k), 1);
        assert_string_equal(cluster_node(k, "/controller_epoch"), "1");
        cluster_free(k);
    }
}

static void a_controller_whose_node_is_deleted_resigns(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 4);
    int32_t id = cluster_wait_controller(k);
    assert_int_equal(cluster_change(k, METASTORE_DELETE, "/controller", NULL), 0);
    cluster_run(k, 3000);
    assert_int_equal(active_count(k), 1);
    assert_string_equal(cluster_node(k, "/controller_epoch"), "2");
    assert_non_null(strstr(cluster_text(&k->log), "/controller is not ours any more"));
    (void)id;
    cluster_free(k);
}

static void a_fenced_controller_resigns_at_its_next_write(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 5);
    int32_t id = cluster_wait_controller(k);
    assert_int_equal(cluster_change(k, METASTORE_SET, "/controller_epoch", "9"), 0);
    int32_t one[] = {1};
    (void)cluster_create(k, id, "t", 1, (struct ids){.count = 1, .list = one});
    assert_int_equal(k->reply_error, KERR_NOT_CONTROLLER);
    assert_string_equal(cluster_node(k, "/brokers/topics/"), "");
    cluster_free(k);
}

static void a_foreign_controller_is_followed(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 6);
    (void)cluster_wait_controller(k);
    struct metastore *m = cluster_session(k);
    assert_int_equal(cluster_change(k, METASTORE_DELETE, "/controller", NULL), 0);
    struct metastore_op ops[] = {
        {.kind = METASTORE_CREATE,
         .path = slice_str("/controller"),
         .data = slice_str("{\"version\":1,\"brokerid\":77,\"timestamp\":\"1\"}"),
         .is_ephemeral = true},
        {.kind = METASTORE_SET,
         .path = slice_str("/controller_epoch"),
         .data = slice_str("2"),
         .version = -1},
    };
    k->is_done = false;
    metastore_multi(m, ops, 2, cluster_call_done, k);
    cluster_run(k, 5000);
    assert_int_equal(k->err, 0);
    assert_int_equal(active_count(k), 0);
    assert_int_equal(k->brokers[1].controller->known_id, 77);
    metastore_close(m);
    assert_int_equal(cluster_wait_controller(k), 1);
    cluster_free(k);
}

/* Somebody left a /controller that is none: that is told once a broker, and it can be deleted. */
static void a_broken_controller_node_is_told_once(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 9);
    (void)cluster_wait_controller(k);
    cluster_run(k, 1000);
    struct metastore *m = cluster_session(k);
    struct metastore_op ops[] = {
        {.kind = METASTORE_DELETE, .path = slice_str("/controller"), .version = -1},
        {.kind = METASTORE_CREATE, .path = slice_str("/controller"), .data = slice_str("{oops")},
        {.kind = METASTORE_SET, /* or the one who has the role would delete it */
         .path = slice_str("/controller_epoch"),
         .data = slice_str("5"),
         .version = -1}};
    k->is_done = false;
    metastore_multi(m, ops, 3, cluster_call_done, k);
    CHECK(sim_world_run(k->world, CLUSTER_PATIENCE_MS, cluster_flag, &k->is_done));
    assert_int_equal(k->err, 0);
    metastore_close(m);
    cluster_run(k, 10000);
    assert_int_equal(cluster_controller(k), 0);
    const char *line = "warning: nobody can be elected: /controller cannot be read\n";
    const char *first = strstr(cluster_text(&k->log), line);
    assert_non_null(first);
    const char *second = strstr(first + 1, line);
    assert_non_null(second);
    assert_null(strstr(second + 1, line));
    assert_int_equal(cluster_change(k, METASTORE_DELETE, "/controller", NULL), 0);
    assert_int_not_equal(cluster_wait_controller(k), 0);
    cluster_free(k);
}

/* An access list keeps everybody here out; once it does not, one of them is elected. */
static void a_refused_election_is_told_once_and_goes_on(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *line;
    } rows[] = {
        {"/", "cannot be elected: /controller cannot be created: refused\n"},
        {"/controller_epoch", "cannot be elected: /controller_epoch cannot be written: refused\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cluster *k = cluster_new(1, 10 + i);
        (void)cluster_wait_controller(k);
        cluster_run(k, 1000);
        assert_int_equal(cluster_change(k, METASTORE_DELETE, "/controller", NULL), 0);
        metastore_store_guard(k->store, slice_str(rows[i].path), true);
        cluster_run(k, 20000);
        assert_int_equal(cluster_controller(k), 0);
        const char *first = strstr(cluster_text(&k->log), rows[i].line);
        assert_non_null(first);
        assert_null(strstr(first + 1, rows[i].line));
        metastore_store_guard(k->store, slice_str(rows[i].path), false);
        assert_int_equal(cluster_wait_controller(k), 1);
        cluster_free(k);
    }
}

/* Somebody deleted the registrations, all of them, under living brokers: one line each, and fewer and
 * fewer tries until the node is there again. */
static void what_is_gone_is_told_once_and_tried_ever_later(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 14);
    (void)cluster_wait_controller(k);
    cluster_run(k, 1000);
    assert_int_equal(cluster_change(k, METASTORE_DELETE, "/brokers/ids/1", NULL), 0);
    assert_int_equal(cluster_change(k, METASTORE_DELETE, "/brokers/ids/2", NULL), 0);
    assert_int_equal(cluster_change(k, METASTORE_DELETE, "/brokers/ids", NULL), 0);
    cluster_run(k, 120000);
    const char *line = "gives up the controller role: /brokers/ids is gone from the metastore\n";
    const char *first = strstr(cluster_text(&k->log), line);
    assert_non_null(first);
    const char *second = strstr(first + 1, line);
    assert_non_null(second);
    assert_null(strstr(second + 1, line));
    assert_in_range(strtol(cluster_node(k, "/controller_epoch"), NULL, 10), 4, 80);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/ids", NULL), 0);
    cluster_run(k, CONTROLLER_STAND_MAX_MS + 2000);
    assert_int_not_equal(cluster_controller(k), 0);
    cluster_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_election_is_told_once_and_goes_on),
        cmocka_unit_test(what_is_gone_is_told_once_and_tried_ever_later),
        cmocka_unit_test(of_many_candidates_one_wins),
        cmocka_unit_test(each_term_has_the_next_epoch),
        cmocka_unit_test(a_lost_answer_is_found_out),
        cmocka_unit_test(a_controller_whose_node_is_deleted_resigns),
        cmocka_unit_test(a_fenced_controller_resigns_at_its_next_write),
        cmocka_unit_test(a_broken_controller_node_is_told_once),
        cmocka_unit_test(a_foreign_controller_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
