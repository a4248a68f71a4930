/*
 * klamm reassign with throttles: what is set where before moves start (row 74), what --verify and
 * --cancel clear (rows 76 and 77), brokers that are not there.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};

#define LEADER_RATE   "leader.replication.throttled.rate"
#define FOLLOWER_RATE "follower.replication.throttled.rate"
#define LEADER_LIST   "leader.replication.throttled.replicas"
#define FOLLOWER_LIST "follower.replication.throttled.replicas"
#define FILE_OPTION   "--bootstrap-server @B --reassignment-json-file @P "
#define PLAN(list)    "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":" list "}]}"
#define ROLLBACK                                                                                   \
    "Current partition replica assignment\n\n"                                                     \
    "{\"version\":1,\"partitions\":["                                                              \
    "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","       \
    "\"any\"]}]}"                                                                                  \
    "\n\nSave this to use as the --reassignment-json-file option during rollback\n"
#define WARNING                                                                                    \
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure "    \
    "the throttle is removed.\n"
#define STARTED "Successfully started partition reassignment for foo-0\n"
#define CLEARED                                                                                    \
    "Clearing broker-level throttles on brokers 1,2,3,4,5,6\n"                                     \
    "Clearing topic-level throttles on topic foo\n"

static void expect_setting(struct cli_fixture *x, const char *owner, const char *name,
                           const char *expected)
{
    char *value = fake_setting(x->cluster, owner, name);
    if (expected == NULL) {
        assert_null(value);
    } else {
        assert_non_null(value);
        assert_string_equal(value, expected);
    }
    free(value);
}

static void put_setting(struct cli_fixture *x, const char *owner, const char *name,
                        const char *value)
{
    pthread_mutex_lock(&x->cluster->lock);
    fake_setting_put(x->cluster, slice_str(owner), slice_str(name), slice_str(value));
    pthread_mutex_unlock(&x->cluster->lock);
}

/* A throttle on foo and on brokers 2 and 6, and settings that are none. */
static void put_throttles(struct cli_fixture *x)
{
    put_setting(x, "foo", LEADER_LIST, "0:1");
    put_setting(x, "foo", FOLLOWER_LIST, "");
    put_setting(x, "foo", "retention.ms", "7");
    put_setting(x, "2", LEADER_RATE, "1000");
    put_setting(x, "6", FOLLOWER_RATE, "1000");
    put_setting(x, "6", "replica.alter.log.dirs.io.max.bytes.per.second", "1000");
    put_setting(x, "6", "log.retention.ms", "7");
}

static void expect_throttles(struct cli_fixture *x, bool are_there)
{
    expect_setting(x, "foo", LEADER_LIST, are_there ? "0:1" : NULL);
    expect_setting(x, "foo", FOLLOWER_LIST, are_there ? "" : NULL);
    expect_setting(x, "foo", "retention.ms", "7");
    expect_setting(x, "2", LEADER_RATE, are_there ? "1000" : NULL);
    expect_setting(x, "6", FOLLOWER_RATE, are_there ? "1000" : NULL);
    expect_setting(x, "6", "replica.alter.log.dirs.io.max.bytes.per.second",
                   are_there ? "1000" : NULL);
    expect_setting(x, "6", "log.retention.ms", "7");
}

/* ---- setting ---- */

/* Row 74; all of it stands before the moves are asked for. */
static void throttle_is_set_before_the_moves_start(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN("[4,1,5]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 50000000");
    cli_expect(x, 0,
               ROLLBACK WARNING "The inter-broker throttle limit was set to 50000000 B/s\n" STARTED,
               "");
    expect_setting(x, "foo", LEADER_LIST, "0:1,0:2,0:3");
    expect_setting(x, "foo", FOLLOWER_LIST, "0:4,0:5");
    for (int i = 1; i <= 6; i++) {
        char owner[] = {(char)('0' + i), '\0'};
        expect_setting(x, owner, LEADER_RATE, i == 6 ? NULL : "50000000");
        expect_setting(x, owner, FOLLOWER_RATE, i == 6 ? NULL : "50000000");
    }
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->alters_at_settings, 0);
    assert_int_equal(x->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS], 1);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void rate_changes_by_sending_the_plan_again(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_plan_file(x, PLAN("[4,5,6]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --additional --throttle 2000");
    assert_int_equal(x->exit_code, 0);
    expect_setting(x, "foo", LEADER_LIST, "0:1,0:2,0:3");
    expect_setting(x, "foo", FOLLOWER_LIST, "0:4,0:5,0:6");
    expect_setting(x, "6", FOLLOWER_RATE, "2000");
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --additional --throttle 3000");
    assert_int_equal(x->exit_code, 0);
    expect_setting(x, "6", FOLLOWER_RATE, "3000");
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --additional");
    assert_int_equal(x->exit_code, 0);
    expect_setting(x, "6", FOLLOWER_RATE, "3000");
}

/* S17 and B36: there is nothing to slow down. */
static void plan_that_copies_nothing_sets_nothing(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN("[3,1,2]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 1000");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(x->out, ROLLBACK STARTED);
    assert_non_null(strstr(x->err, "Nothing is copied: no throttle is set.\n"));
    assert_int_equal(cli_count(x, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS), 0);
}

static void throttle_of_zero_is_warned_of(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN("[4,5,6]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 0");
    cli_expect(x, 0, ROLLBACK WARNING "The inter-broker throttle limit was set to 0 B/s\n" STARTED,
               "A throttle of 0 lets nothing pass: the moves wait until it is raised.\n");
    expect_setting(x, "4", FOLLOWER_RATE, "0");
}

/* S14: broker 3 is gone for good, the rates are set on the others. */
static void dead_source_is_passed_over(void **state)
{
    struct cli_fixture *x = *state;
    fake_kill(x->cluster, 3);
    cli_plan_file(x, PLAN("[1,2,4]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 1000");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(x->err, "Broker 3 is not up: no throttle is set there.\n");
    expect_setting(x, "4", FOLLOWER_RATE, "1000");
    expect_setting(x, "1", LEADER_RATE, "1000");
    expect_setting(x, "foo", LEADER_LIST, "0:1,0:2,0:3");
}

/* It still counts as live, but nobody listens. */
static void broker_that_cannot_be_reached_is_noted(void **state)
{
    struct cli_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->listed_dead_id = 6;
    pthread_mutex_unlock(&x->cluster->lock);
    fake_kill(x->cluster, 6);
    cli_plan_file(x, PLAN("[1,2,6]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 1000");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(
        strstr(x->err, "Broker 6 cannot be reached, its throttle stays as it is: 127.0.0.1:"));
    expect_setting(x, "1", LEADER_RATE, "1000");
    assert_non_null(strstr(x->out, STARTED));
}

static void refused_throttle_starts_nothing(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->settings_code = KERR_INVALID_CONFIG;
    cli_plan_file(x, PLAN("[4,5,6]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 1000");
    cli_expect(x, 1, ROLLBACK WARNING "Error: topic foo: a bad value\n", "Nothing was started.\n");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
}

static void json_stays_json(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN("[4,5,6]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --throttle 1000 --json");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(x->err, WARNING "The inter-broker throttle limit was set to 1000 B/s\n");
    assert_int_equal(x->out[0], '{');
    assert_int_equal(x->out[strlen(x->out) - 2], '}');
    assert_null(strstr(x->out, "throttle"));
}

/* ---- clearing ---- */

/* Row 77. */
static void verify_clears_when_all_is_done(void **state)
{
    struct cli_fixture *x = *state;
    static const char status[] = "Status of partition reassignment:\n"
                                 "Reassignment of partition foo-0 is completed.\n\n";
    put_throttles(x);
    cli_plan_file(x, PLAN("[1,2,3]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify --preserve-throttles");
    cli_expect(x, 0, status, "");
    expect_throttles(x, true);
    char *expected = xasprintf("%s%s", status, CLEARED);
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify");
    cli_expect(x, 0, expected, "");
    expect_throttles(x, false);
    free(expected);
}

/* Row 76: not while anything moves, be it of another topic. */
static void verify_clears_nothing_while_anything_moves(void **state)
{
    struct cli_fixture *x = *state;
    put_throttles(x);
    pthread_mutex_lock(&x->cluster->lock);
    fake_start(&fake_topic_add(x->cluster, slice_str("other"))->partitions[1], far, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_plan_file(x, PLAN("[1,2,3]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify");
    cli_expect(x, 0,
               "Status of partition reassignment:\n"
               "Reassignment of partition foo-0 is completed.\n\n",
               "");
    expect_throttles(x, true);
}

/* The watch ends with the move: what was listed before it no longer counts. */
static void verify_with_a_watch_clears_at_its_end(void **state)
{
    struct cli_fixture *x = *state;
    put_throttles(x);
    cli_move(x, 0, far, 3);
    cli_plan_file(x, PLAN("[4,5,6]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify --watch --interval 100");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->out, "Reassignment of partition foo-0 is completed.\n\n" CLEARED));
    expect_throttles(x, false);
}

/* Kafka's tool ends the line before with no line end. */
static void cancel_clears_always(void **state)
{
    struct cli_fixture *x = *state;
    put_throttles(x);
    cli_move(x, 0, far, 3);
    cli_move(x, 1, far, 3); /* goes on */
    cli_plan_file(x, PLAN("[1]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel");
    cli_expect(x, 0,
               "Successfully cancelled partition reassignment for: foo-0\n"
               "None of the specified partition moves are active." CLEARED,
               "");
    expect_throttles(x, false);
}

static void cancel_preserves_when_asked(void **state)
{
    struct cli_fixture *x = *state;
    put_throttles(x);
    cli_plan_file(x, PLAN("[1]"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel --preserve-throttles");
    assert_int_equal(x->exit_code, 0);
    expect_throttles(x, true);
}

static void clearing_passes_over_what_is_gone(void **state)
{
    struct cli_fixture *x = *state;
    put_throttles(x);
    fake_kill(x->cluster, 3);
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"ghost\",\"partition\":0,\"replicas\":[3]},"
                     "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3]}]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->err, "Broker 3 is not up: a throttle there stays.\n"));
    assert_non_null(strstr(x->out, "Clearing broker-level throttles on brokers 1,2,4,5,6\n"
                                   "Clearing topic-level throttles on topic foo\n"));
    expect_throttles(x, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(throttle_is_set_before_the_moves_start),
        CLI_TEST(rate_changes_by_sending_the_plan_again),
        CLI_TEST(plan_that_copies_nothing_sets_nothing),
        CLI_TEST(throttle_of_zero_is_warned_of),
        CLI_TEST(dead_source_is_passed_over),
        CLI_TEST(broker_that_cannot_be_reached_is_noted),
        CLI_TEST(refused_throttle_starts_nothing),
        CLI_TEST(json_stays_json),
        CLI_TEST(verify_clears_when_all_is_done),
        CLI_TEST(verify_clears_nothing_while_anything_moves),
        CLI_TEST(verify_with_a_watch_clears_at_its_end),
        CLI_TEST(cancel_clears_always),
        CLI_TEST(cancel_preserves_when_asked),
        CLI_TEST(clearing_passes_over_what_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
