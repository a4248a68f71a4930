/*
 * Strays: a replica goes only on positive evidence that holds over two readings, and never when it has
 * a role.
 */
#include "broker/strays.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "metastore/znode.h"
#include "model/kerr.h"
#include "wire/stop_replica.h"

/* "t" partition 0 lies on broker 1 and has no role. */
struct scene {
    struct bench bench;
    struct broker_strays *strays;
    int32_t lines;
    int32_t rooms;
    bool is_remade;
};

static void on_line(void *arg, const char *line)
{
    struct scene *s = arg;
    assert_non_null(strstr(line, "t-0"));
    s->lines++;
}

static void on_room(void *arg)
{
    ((struct scene *)arg)->rooms++;
}

static void stop_role(struct bench *b)
{
    struct wire_stop_replica_request_topic_states_partition_states state = {
        .partition_index = 0, .leader_epoch = -1, .delete_partition = false};
    struct wire_stop_replica_request_topic_states topic = {
        .topic_name = slice_str("t"), .partition_states = &state, .partition_states_count = 1};
    struct wire_stop_replica_request req;
    wire_stop_replica_request_init(&req);
    req.controller_epoch = 1;
    req.broker_epoch = b->epoch;
    req.topic_states = &topic;
    req.topic_states_count = 1;
    struct wire_stop_replica_response resp;
    assert_int_equal(replicas_stop_replica(b->replicas, &req, 4, &b->arena, &resp), 0);
}

static void look(struct scene *s)
{
    struct broker_strays_source from = {.metastore = s->bench.session, .is_remade = s->is_remade};
    broker_strays_start(s->strays, &from);
}

static void scene_start(struct scene *s)
{
    *s = (struct scene){0};
    bench_start(&s->bench, NULL);
    bench_lead(&s->bench);
    bench_append(&s->bench, 3);
    stop_role(&s->bench);
    struct broker_strays_config config = {.env = sim_node_env(s->bench.server),
                                          .replicas = s->bench.replicas,
                                          .broker_id = BENCH_BROKER,
                                          .made_room = on_room,
                                          .arg = s,
                                          .log = on_line,
                                          .log_arg = s};
    s->strays = broker_strays_new(&config);
    look(s);
}

static void scene_stop(struct scene *s)
{
    broker_strays_stop(s->strays);
    bench_run(&s->bench, 1000);
    broker_strays_free(s->strays);
    bench_stop(&s->bench);
}

/* The topic's znode names one partition with this replica. */
static void write_topic(struct scene *s, struct uuid id, int32_t replica, bool is_new)
{
    struct assignment assignment = {0};
    ids_set(&assignment.replicas, &replica, 1);
    char name[] = "t";
    struct model_topic topic = {
        .name = name, .id = id, .partition_count = 1, .partitions = &assignment};
    struct buf json;
    buf_init(&json);
    metastore_topic_encode(&json, &topic, IBP_NEWEST);
    struct metastore_op op = {.kind = is_new ? METASTORE_CREATE : METASTORE_SET,
                              .path = slice_str("/brokers/topics/t"),
                              .data = buf_slice(&json),
                              .version = -1};
    metastore_multi(s->bench.session, &op, 1, bench_root_made, NULL);
    buf_deinit(&json);
    assignment_deinit(&assignment);
}

static bool is_hosted(struct scene *s)
{
    struct replicas_partition_info info;
    return replicas_partition_get(s->bench.replicas, slice_str("t"), 0, &info);
}

static void other_replica_list_on_two_readings_is_evidence(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    bench_run(&s.bench, 39000);
    assert_true(is_hosted(&s));
    bench_run(&s.bench, 3000);
    assert_false(is_hosted(&s));
    assert_int_equal(s.lines, 1);
    bench_run(&s.bench, 62000);
    assert_int_equal(s.lines, 1);
    assert_int_equal(s.rooms, 0);
    scene_stop(&s);
}

static void other_topic_id_is_evidence(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(2), BENCH_BROKER, true);
    bench_run(&s.bench, 42000);
    assert_false(is_hosted(&s));
    assert_int_equal(s.rooms, 1); /* for the replica of that other topic */
    scene_stop(&s);
}

/* The topic was made anew after the metastore was emptied: the log is of the one before. */
static void topic_id_of_a_metastore_that_was_emptied_is_no_evidence(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    broker_strays_stop(s.strays);
    s.is_remade = true;
    look(&s);
    write_topic(&s, bench_uuid(2), BENCH_OTHER, true);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    scene_stop(&s);
}

static void missing_topic_is_no_evidence(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    scene_stop(&s);
}

/* An access list hid it, say: it is looked at again. */
static void topic_that_could_not_be_read_is_looked_at_again(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    bench_run(&s.bench, 1000);
    struct slice path = slice_str("/brokers/topics/t");
    metastore_store_hide(s.bench.store, path, true);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    metastore_store_hide(s.bench.store, path, false);
    bench_run(&s.bench, 90000); /* the rest of one look, and a whole one */
    assert_false(is_hosted(&s));
    scene_stop(&s);
}

static void assigned_replica_stays(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_BROKER, true);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    scene_stop(&s);
}

/* It came back into the list between the readings. */
static void evidence_must_hold_over_both_readings(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    bench_run(&s.bench, 20000);
    write_topic(&s, bench_uuid(1), BENCH_BROKER, false);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    scene_stop(&s);
}

static void name_replica(struct scene *s)
{
    struct bench_partition p = {.topic = "t",
                                .id = bench_uuid(1),
                                .leader = BENCH_BROKER,
                                .leader_epoch = 4,
                                .replicas = {BENCH_BROKER},
                                .replica_count = 1};
    bench_leader_and_isr(&s->bench, &p);
}

/* The controller spoke after the first reading. */
static void replica_with_a_role_stays(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    bench_run(&s.bench, 20000);
    name_replica(&s);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    scene_stop(&s);
}

/* The controller that gave it a role is gone, and the next one does not name it. */
static void role_of_an_earlier_controller_does_not_count(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    name_replica(&s);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    assert_int_equal(replicas_check_controller(s.bench.replicas, 2, s.bench.epoch), 0);
    look(&s);
    bench_run(&s.bench, 39000);
    assert_true(is_hosted(&s));
    bench_run(&s.bench, 3000);
    assert_false(is_hosted(&s));
    scene_stop(&s);
}

/* The same after another registration of this broker. */
static void role_of_an_earlier_registration_does_not_count(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    name_replica(&s);
    s.bench.epoch++;
    look(&s);
    bench_run(&s.bench, 42000);
    assert_false(is_hosted(&s));
    scene_stop(&s);
}

static void write_state(struct scene *s, const char *path, const char *json)
{
    struct metastore_op op = {
        .kind = METASTORE_CREATE, .path = slice_str(path), .data = slice_str(json)};
    metastore_multi(s->bench.session, &op, 1, bench_root_made, NULL);
}

/* Whatever the list says: it may hold what the others lack. */
static void replica_that_the_state_counts_on_stays(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    char *json = xasprintf("{\"controller_epoch\":1,\"leader\":%d,\"version\":1,"
                           "\"leader_epoch\":4,\"isr\":[%d,%d]}",
                           BENCH_OTHER, BENCH_OTHER, BENCH_BROKER);
    write_state(&s, "/brokers/topics/t/partitions", "");
    write_state(&s, "/brokers/topics/t/partitions/0", "");
    write_state(&s, "/brokers/topics/t/partitions/0/state", json);
    free(json);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    scene_stop(&s);
}

/* Another start while a read is out: both rounds are made again. */
static void another_start_begins_anew(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    for (int i = 0; i < 50; i++) {
        bench_run(&s.bench, 9999);
        for (int k = 0; k < 40; k++) {
            (void)sim_world_step(s.bench.world);
            look(&s);
        }
    }
    assert_true(is_hosted(&s));
    bench_run(&s.bench, 42000);
    assert_false(is_hosted(&s));
    scene_stop(&s);
}

static void lost_session_forgets_what_was_seen(void **state)
{
    (void)state;
    struct scene s;
    scene_start(&s);
    write_topic(&s, bench_uuid(1), BENCH_OTHER, true);
    bench_run(&s.bench, 20000);
    broker_strays_stop(s.strays);
    bench_run(&s.bench, 60000);
    assert_true(is_hosted(&s));
    look(&s);
    bench_run(&s.bench, 39000);
    assert_true(is_hosted(&s));
    bench_run(&s.bench, 3000);
    assert_false(is_hosted(&s));
    scene_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_replica_list_on_two_readings_is_evidence),
        cmocka_unit_test(other_topic_id_is_evidence),
        cmocka_unit_test(topic_id_of_a_metastore_that_was_emptied_is_no_evidence),
        cmocka_unit_test(missing_topic_is_no_evidence),
        cmocka_unit_test(topic_that_could_not_be_read_is_looked_at_again),
        cmocka_unit_test(assigned_replica_stays),
        cmocka_unit_test(evidence_must_hold_over_both_readings),
        cmocka_unit_test(replica_with_a_role_stays),
        cmocka_unit_test(role_of_an_earlier_controller_does_not_count),
        cmocka_unit_test(role_of_an_earlier_registration_does_not_count),
        cmocka_unit_test(replica_that_the_state_counts_on_stays),
        cmocka_unit_test(another_start_begins_anew),
        cmocka_unit_test(lost_session_forgets_what_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
