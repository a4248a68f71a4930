/*
 * What watches tell: topics, settings and queued deletions of others; nodes that cannot be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/broker/controller/cluster.h"

static void a_broken_topic_is_left_out_and_told(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    (void)cluster_wait_controller(k);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/bad", "{oops"), 0);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/good",
                                    "{\"version\":1,\"partitions\":{\"0\":[2]}}"),
                     0);
    cluster_run(k, 2000);
    assert_non_null(
        strstr(cluster_node(k, "/brokers/topics/good/partitions/0/state"), "\"leader\":2"));
    assert_non_null(strstr(cluster_text(&k->log), "topic bad is left out"));
    int32_t id = cluster_controller(k);
    cluster_kill(k, id);
    assert_int_not_equal(cluster_wait_controller(k), id);
    cluster_run(k, 1000);
    const char *mended =
        "{\"version\":2,\"partitions\":{\"0\":[2,1]},\"adding_replicas\":{\"0\":[2]},"
        "\"removing_replicas\":{}}";
    int32_t left = cluster_controller(k);
    for (int32_t i = 0; i < 2; i++) { /* broken in another way first */
        assert_int_equal(
            cluster_change(k, METASTORE_SET, "/brokers/topics/bad", i == 0 ? "{again" : mended), 0);
        cluster_run(k, 1000);
    }
    struct control_request list = {.kind = CONTROL_LIST_REASSIGNMENTS, .list = {.wants_all = true}};
    assert_string_equal(cluster_request(k, left, &list), "bad-0;");
    cluster_free(k);
}

/* What it holds is for a newer controller: ours would write it without what it does not know. */
static void a_topic_of_a_newer_version_is_left_as_it_is(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 1);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    const char *path = "/brokers/topics/t";
    const char *newer = "{\"version\":99,\"partitions\":{\"0\":[1,2]},\"tiers\":{\"0\":\"cold\"}}";
    int32_t list[] = {1, 2};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    assert_int_equal(cluster_change(k, METASTORE_SET, path, newer), 0);
    cluster_run(k, 1000);
    assert_non_null(strstr(cluster_text(&k->log),
                           "topic t is left out: topic of version 99, known are 1 to 3"));
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = &list[1], .replica_count = 1};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    assert_string_not_equal(cluster_request(k, id, &alter), "0;");
    assert_string_equal(cluster_node(k, path), newer);
    cluster_kill(k, id);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    int32_t next = cluster_wait_controller(k);
    cluster_run(k, 1000);
    entry.replicas = &next;
    assert_string_equal(cluster_node(k, path), newer);
    assert_string_equal(cluster_request(k, next, &alter), "3;");
    assert_int_equal(
        cluster_change(k, METASTORE_SET, path, "{\"version\":2,\"partitions\":{\"0\":[1,2]}}"), 0);
    cluster_run(k, 1000);
    assert_string_equal(cluster_request(k, next, &alter), "0;");
    cluster_free(k);
}

/* Also when it is there again before the controller looks, with a version that it has seen. */
static void a_topic_that_is_deleted_and_put_back_goes_on(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 3);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t list[] = {1, 2};
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){3, 2}, .replica_count = 2};
    struct control_request alter = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                    .alter = {.entries = &entry, .count = 1}};
    struct control_request moves = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                    .list = {.wants_all = true}};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    assert_string_equal(cluster_request(k, id, &alter), "0;");
    for (int i = 0; i < 2; i++) {
        char *node = xstrdup(cluster_node(k, "/brokers/topics/t"));
        assert_non_null(strstr(node, "\"adding_replicas\":{\"0\":[3]}"));
        static const char *const paths[] = {"/brokers/topics/t/partitions/0/state",
                                            "/brokers/topics/t/partitions/0",
                                            "/brokers/topics/t/partitions", "/brokers/topics/t"};
        for (size_t at = 0; at < ARRAY_LEN(paths); at++) {
            assert_int_equal(cluster_change(k, METASTORE_DELETE, paths[at], NULL), 0);
        }
        cluster_run(k, i * 1000);
        assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/t", node), 0);
        cluster_run(k, 2000);
        assert_string_equal(cluster_request(k, id, &moves), "t-0;");
        char *epoch = xasprintf("\"leader_epoch\":%d,\"isr\":[1,2]", i + 2);
        assert_non_null(strstr(cluster_node(k, "/brokers/topics/t/partitions/0/state"), epoch));
        free(epoch);
        free(node);
    }
    cluster_free(k);
}

/* Their states would have no path, and a write without one would end every controller. */
static void names_that_no_topic_has_are_left_out(void **state)
{
    (void)state;
    static const char *const parents[] = {
        "/brokers/topics",          "/admin/delete_topics", "/config/topics",
        "/isr_change_notification", "/klamm/moves",         "/klamm/jobs",
    };
    static const int32_t lengths[] = {250, 285, 300, 310, 600};
    struct cluster *k = cluster_new(2, 1);
    int32_t id = cluster_wait_controller(k);
    char name[601];
    char path[700];
    (void)memset(name, 'x', sizeof name);
    for (size_t i = 0; i < ARRAY_LEN(parents) * ARRAY_LEN(lengths); i++) {
        (void)snprintf(path, sizeof path, "%s/%.*s", parents[i % ARRAY_LEN(parents)],
                       (int)lengths[i / ARRAY_LEN(parents)], name);
        assert_int_equal(
            cluster_change(k, METASTORE_CREATE, path, "{\"version\":1,\"partitions\":{\"0\":[1]}}"),
            0);
    }
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/100%25",
                                    "{\"version\":1,\"partitions\":{\"0\":[1]}}"),
                     0);
    cluster_run(k, 2000);
    assert_non_null(strstr(cluster_text(&k->log), "topic 100%25 is left out: it is not the name"));
    assert_null(strstr(cluster_text(&k->log), "gives up the controller role"));
    cluster_kill(k, id);
    assert_int_not_equal(cluster_wait_controller(k), id);
    cluster_run(k, 2000);
    assert_null(strstr(cluster_text(&k->log), "gives up the controller role"));
    assert_string_equal(cluster_node(k, "/brokers/topics/100%25/partitions/0/state"), "not found");
    cluster_free(k);
}

/* Nobody knows who has what of that partition; the others go on, under whatever controller. */
static void a_broken_state_is_left_alone(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 7);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t list[] = {1, 2, 3};
    assert_string_equal(cluster_create(k, id, "t", 2, (struct ids){.count = 3, .list = list}),
                        "0;");
    const char *path = "/brokers/topics/t/partitions/0/state";
    assert_int_equal(cluster_change(k, METASTORE_SET, path, "{oops"), 0);
    cluster_kill(k, id);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    int32_t next = cluster_wait_controller(k);
    cluster_run(k, 5000);
    assert_int_equal(cluster_wait_controller(k), next);
    assert_string_equal(cluster_node(k, "/controller_epoch"), "2");
    assert_string_equal(cluster_node(k, path), "{oops");
    assert_non_null(strstr(
        cluster_text(&k->log),
        "t-0 is left alone: its state /brokers/topics/t/partitions/0/state cannot be read: "));
    struct control_alter_entry entries[] = {
        {.topic = slice_str("t"), .partition = 0, .replicas = &next, .replica_count = 1},
        {.topic = slice_str("t"), .partition = 1, .replicas = &next, .replica_count = 1}};
    assert_string_equal(
        cluster_request(k, next,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = entries, .count = 2}}),
        "3;0;");
    char *isr = xasprintf("\"isr\":[%d]", next);
    assert_non_null(strstr(cluster_node(k, "/brokers/topics/t/partitions/1/state"), isr));
    assert_int_equal(cluster_change(k, METASTORE_SET, path, "{still"), 0);
    cluster_run(k, 1000);
    char *mended = xasprintf("{\"controller_epoch\":1,\"leader\":%d,\"version\":1,"
                             "\"leader_epoch\":7,%s}",
                             next, isr);
    assert_int_equal(cluster_change(k, METASTORE_SET, path, mended), 0);
    cluster_run(k, 1000);
    assert_non_null(strstr(cluster_node(k, path), "\"leader_epoch\":8"));
    assert_string_equal(
        cluster_request(k, next,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = entries, .count = 1}}),
        "0;");
    free(mended);
    free(isr);
    assert_string_equal(cluster_node(k, "/controller_epoch"), "2");
    cluster_free(k);
}

/* Producers without ids wait; everything else goes on. */
static void a_broken_block_of_producer_ids_is_told(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 8);
    int32_t id = cluster_wait_controller(k);
    const char *path = "/latest_producer_id_block";
    assert_int_equal(cluster_change(k, METASTORE_SET, path, "{oops"), 0);
    cluster_kill(k, id);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    int32_t next = cluster_wait_controller(k);
    assert_non_null(strstr(cluster_text(&k->log),
                           "the block of producer ids in " METASTORE_PRODUCER_BLOCK
                           " is left out: "));
    struct control_request ids = {
        .kind = CONTROL_ALLOCATE_PRODUCER_IDS,
        .allocate_producer_ids = {.broker = next, .broker_epoch = k->brokers[next].epoch}};
    for (int32_t i = 0; i < 2; i++) {
        (void)cluster_request(k, next, &ids);
        assert_int_equal(k->reply_error, KERR_UNKNOWN_SERVER_ERROR);
    }
    assert_string_equal(cluster_create(k, next, "t", 1, (struct ids){.count = 1, .list = &next}),
                        "0;");
    assert_int_equal(
        cluster_change(
            k, METASTORE_SET, path,
            "{\"version\":1,\"broker\":1,\"block_start\":\"4000\",\"block_end\":\"4999\"}"),
        0);
    assert_string_equal(cluster_request(k, next, &ids), "5000;");
    assert_string_equal(cluster_node(k, "/controller_epoch"), "2");
    cluster_free(k);
}

static void settings_are_followed(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 2);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t lead = id == 1 ? 2 : 1;
    int32_t list[] = {lead, id};
    assert_string_equal(cluster_create(k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    cluster_run(k, 1000);
    struct control_isr_entry entry = {.topic = slice_str("t"), .isr = &lead, .isr_count = 1};
    struct control_request isr = {
        .kind = CONTROL_ALTER_PARTITION,
        .alter_partition = {
            .broker = lead, .broker_epoch = k->brokers[lead].epoch, .entries = &entry, .count = 1}};
    assert_string_equal(cluster_request(k, id, &isr), "0;");
    cluster_kill(k, lead);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    const char *path = "/brokers/topics/t/partitions/0/state";
    assert_non_null(strstr(cluster_node(k, path), "\"leader\":-1"));
    assert_int_equal(cluster_change(k, METASTORE_SET, "/config/topics/t",
                                    "{\"version\":1,\"config\":{"
                                    "\"unclean.leader.election.enable\":\"true\"}}"),
                     0);
    cluster_run(k, 1000);
    assert_non_null(strstr(cluster_node(k, path), "\"leader_recovery_state\":1"));
    cluster_free(k);
}

/* A topic that others made without settings gets them later. */
static void settings_that_come_later_are_followed(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 5);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t lead = id == 1 ? 2 : 1;
    const char *path = "/brokers/topics/t/partitions/0/state";
    char *node = xasprintf("{\"version\":1,\"partitions\":{\"0\":[%d]}}", lead);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/brokers/topics/t", node), 0);
    free(node);
    cluster_run(k, 1000);
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){lead, id}, .replica_count = 2};
    assert_string_equal(
        cluster_request(k, id,
                        &(struct control_request){.kind = CONTROL_ALTER_REASSIGNMENTS,
                                                  .alter = {.entries = &entry, .count = 1}}),
        "0;");
    cluster_kill(k, lead);
    cluster_run(k, 2 * CLUSTER_SESSION_MS);
    assert_non_null(strstr(cluster_node(k, path), "\"leader\":-1"));
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(cluster_change(k, i == 0 ? METASTORE_CREATE : METASTORE_SET,
                                        "/config/topics/t",
                                        i == 0 ? "{\"version\":1,\"config\":{}}"
                                               : "{\"version\":1,\"config\":{"
                                                 "\"unclean.leader.election.enable\":\"true\"}}"),
                         0);
        cluster_run(k, 1000);
    }
    assert_non_null(strstr(cluster_node(k, path), "\"leader_recovery_state\":1"));
    cluster_free(k);
}

/* A broker that listens elsewhere keeps its epoch; all are told, and it is reached there. */
static void a_broker_that_changes_its_registration_is_told_to_all(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(3, 6);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t other = id == 1 ? 2 : 1;
    char *path = xasprintf("/brokers/ids/%d", other);
    char *node = xstrdup(cluster_node(k, path));
    for (int32_t i = 1; i <= 3; i++) {
        buf_clear(&k->brokers[i].told);
    }
    char *elsewhere = xasprintf("{\"version\":4,\"listener_security_protocol_map\":{\"PLAINTEXT\":"
                                "\"PLAINTEXT\"},\"endpoints\":[\"PLAINTEXT://nowhere:9\"]}");
    assert_int_equal(cluster_change(k, METASTORE_SET, path, elsewhere), 0);
    cluster_run(k, 1000);
    assert_string_equal(cluster_text(&k->brokers[id].told), "brokers 3;");
    assert_string_equal(cluster_text(&k->brokers[other].told), "");
    assert_int_equal(cluster_change(k, METASTORE_SET, path, node), 0);
    cluster_run(k, 10000);
    assert_string_equal(cluster_text(&k->brokers[id].told), "brokers 3;brokers 3;");
    assert_string_equal(cluster_text(&k->brokers[other].told), "brokers 3;brokers 3;");
    free(elsewhere);
    free(node);
    free(path);
    cluster_free(k);
}

static void a_deletion_queued_by_others_is_done(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(2, 3);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t list[] = {1, 2};
    assert_string_equal(cluster_create(k, id, "t", 2, (struct ids){.count = 2, .list = list}),
                        "0;");
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/admin/delete_topics/t", NULL), 0);
    assert_int_equal(cluster_change(k, METASTORE_CREATE, "/admin/delete_topics/ghost", NULL), 0);
    assert_string_equal(cluster_await(k, "/admin/delete_topics/", ""), "");
    assert_string_equal(cluster_node(k, "/brokers/topics/"), "");
    cluster_free(k);
}

static void a_topic_removed_by_others_is_forgotten(void **state)
{
    (void)state;
    struct cluster *k = cluster_new(1, 4);
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    int32_t one[] = {1};
    struct ids list = {.count = 1, .list = one};
    assert_string_equal(cluster_create(k, id, "t", 1, list), "0;");
    const char *const paths[] = {"/brokers/topics/t/partitions/0/state",
                                 "/brokers/topics/t/partitions/0", "/brokers/topics/t/partitions",
                                 "/config/topics/t", "/brokers/topics/t"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_int_equal(cluster_change(k, METASTORE_DELETE, paths[i], NULL), 0);
    }
    cluster_run(k, 1000);
    assert_string_equal(cluster_create(k, id, "t", 1, list), "0;");
    cluster_free(k);
}

/* The broker whose controller reads the cluster; 0 = none. */
static int32_t loader(struct cluster *k)
{
    for (int32_t id = 1; id <= k->broker_count; id++) {
        const struct controller *c = k->brokers[id].controller;
        if (c != NULL && c->role == ROLE_LOADING && c->is_topics_asked) {
            return id;
        }
    }
    return 0;
}

static bool has_loader(void *arg)
{
    return loader(arg) != 0;
}

/* Three brokers, each leading one topic of 100 partitions, without the controller that made them. */
static void await_loading(struct cluster *k, int32_t *ret_loader, int32_t *ret_other)
{
    int32_t id = cluster_wait_controller(k);
    cluster_run(k, 1000);
    for (int32_t i = 1; i <= 3; i++) {
        char name[] = {'t', (char)('0' + (id - 1 + i) % 4 + 1), '\0'};
        int32_t list[] = {(id - 1 + i) % 4 + 1, (id - 1 + i % 3 + 1) % 4 + 1};
        assert_string_equal(
            cluster_create(k, id, name, 100, (struct ids){.count = 2, .list = list}), "0;");
    }
    cluster_run(k, 1000);
    cluster_kill(k, id);
    assert_true(sim_world_run(k->world, CLUSTER_PATIENCE_MS, has_loader, k));
    *ret_loader = loader(k);
    *ret_other = 1;
    while (*ret_other == id || *ret_other == *ret_loader) {
        ++*ret_other;
    }
}

/* Its session ends while the next controller reads the cluster; each time at another moment of that. */
static void a_broker_that_goes_while_the_cluster_is_read_is_missed(void **state)
{
    (void)state;
    int32_t hits = 0;
    for (int32_t lag = 0; lag < 1500; lag += 100) {
        struct cluster *k = cluster_new(4, 21);
        int32_t loading;
        int32_t victim;
        await_loading(k, &loading, &victim);
        for (int32_t i = 0; i < lag; i++) {
            (void)sim_world_step(k->world);
        }
        hits += loader(k) == loading;
        int64_t session = metastore_session_id(k->brokers[victim].session);
        cluster_kill(k, victim);
        metastore_store_expire(k->store, session);
        cluster_run(k, 5000);
        char *path = xasprintf("/brokers/topics/t%d/partitions/99/state", victim);
        char *leader = xasprintf("\"leader\":%d,", victim);
        const char *text = cluster_node(k, path);
        if (strstr(text, leader) != NULL) {
            fail_msg("%d events later: %s", lag, text);
        }
        free(leader);
        free(path);
        cluster_free(k);
    }
    assert_in_range(hits, 3, 15);
}

struct bounded {
    struct cluster *k;
    int32_t most; /* states that were asked for at once */
};

static bool has_controller_bounded(void *arg)
{
    struct bounded *b = arg;
    for (int32_t id = 1; id <= 2; id++) {
        const struct controller *c = b->k->brokers[id].controller;
        b->most = c == NULL ? b->most : MAX(b->most, c->states_out);
    }
    return cluster_has_controller(b->k);
}

/* The answers to all of them would keep whatever else arrives waiting. */
static void very_many_states_are_not_asked_for_at_once(void **state)
{
    (void)state;
    static int32_t list[] = {1, 2};
    struct bounded b = {.k = cluster_new(2, 1)};
    int32_t id = cluster_wait_controller(b.k);
    static const char *const names[] = {"large", "larger"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)cluster_create(b.k, id, names[i], 1500 + (int32_t)i,
                             (struct ids){.count = 2, .list = list});
        assert_int_equal(b.k->reply_error, 0);
    }
    cluster_kill(b.k, id);
    cluster_run(b.k, 100);
    assert_true(sim_world_run(b.k->world, CLUSTER_PATIENCE_MS, has_controller_bounded, &b));
    assert_int_equal(b.most, 500);
    struct controller_figures figures;
    controller_figures(b.k->brokers[cluster_controller(b.k)].controller, &figures);
    assert_int_equal(figures.cluster.partitions, 3001);
    assert_int_equal(figures.cluster.leaderless, 0);
    controller_figures_deinit(&figures);
    cluster_free(b.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_topic_is_left_out_and_told),
        cmocka_unit_test(a_topic_of_a_newer_version_is_left_as_it_is),
        cmocka_unit_test(a_topic_that_is_deleted_and_put_back_goes_on),
        cmocka_unit_test(names_that_no_topic_has_are_left_out),
        cmocka_unit_test(a_broken_state_is_left_alone),
        cmocka_unit_test(a_broken_block_of_producer_ids_is_told),
        cmocka_unit_test(settings_are_followed),
        cmocka_unit_test(settings_that_come_later_are_followed),
        cmocka_unit_test(a_broker_that_changes_its_registration_is_told_to_all),
        cmocka_unit_test(a_deletion_queued_by_others_is_done),
        cmocka_unit_test(a_topic_removed_by_others_is_forgotten),
        cmocka_unit_test(a_broker_that_goes_while_the_cluster_is_read_is_missed),
        cmocka_unit_test(very_many_states_are_not_asked_for_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
