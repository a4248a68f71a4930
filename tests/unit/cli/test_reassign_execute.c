/*
 * klamm reassign --execute: Kafka's texts, refusals before anything is sent, what --watch shows.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};

#define PLAN                                                                                       \
    "{\"version\":1,\"partitions\":["                                                              \
    "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[4,5,6]},"                                    \
    "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}"
#define EXECUTE "--bootstrap-server @B --reassignment-json-file @P --execute"
#define ROLLBACK                                                                                   \
    "Current partition replica assignment\n\n"                                                     \
    "{\"version\":1,\"partitions\":["                                                              \
    "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","       \
    "\"any\"]},"                                                                                   \
    "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","       \
    "\"any\"]}]}"                                                                                  \
    "\n\nSave this to use as the --reassignment-json-file option during rollback\n"

static void assert_nothing_sent(struct cli_fixture *x)
{
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    assert_int_equal(cli_count(x, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS), 0);
}

static void moves_start_with_kafkas_texts(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_reassign_run, EXECUTE);
    cli_expect(x, 0, ROLLBACK "Successfully started partition reassignments for foo-0,foo-1\n", "");
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":2,\"replicas\":[1,2,4]}]}");
    cli_run(x, cli_reassign_run, EXECUTE " --additional");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->out, "Successfully started partition reassignment for foo-2\n"));
}

/* Row 75. */
static void running_moves_are_not_joined_unasked(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 2, far, 3);
    cli_plan_file(x, PLAN);
    cli_run(x, cli_reassign_run, EXECUTE " --throttle 1000");
    assert_int_equal(x->exit_code, 1);
    assert_string_equal(x->err, "");
    assert_int_equal(
        strncmp(x->out, "Cannot execute because there is an existing partition assignment.", 65),
        0);
    assert_non_null(strstr(x->out, "--additional"));
    assert_nothing_sent(x);
}

/* All faults of the file and of the cluster at once, Kafka's sentence on standard output. */
static void all_faults_are_named_and_nothing_is_sent(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[\n"
                     "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,99]},\n"
                     "{\"topic\":\"ghost\",\"partition\":0,\"replicas\":[1,2,3]},\n"
                     "{\"topic\":\"foo\",\"partition\":7,\"replicas\":[4,5,6]},\n"
                     "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,1,2]},\n"
                     "{\"topic\":\"foo\",\"partition\":4294967298,\"replicas\":[4,5,6]}]}");
    cli_run(x, cli_reassign_run, EXECUTE " --throttle 1000");
    char *expected = xasprintf(
        "%s:2:46: foo-0: broker 99 is unknown (the cluster has 1, 2, 3, 4, 5, 6)\n"
        "%s:3:1: ghost-0: Topic ghost not found\n"
        "%s:4:1: foo-7: Unable to find partition: foo-7 does not exist, the topic has partitions "
        "0..2\n"
        "%s:5:44: foo-1: broker 1 is in the replica list twice\n"
        "%s:6:28: foo-4294967298: the partition is beyond 2147483647: 4294967298\n",
        x->plan, x->plan, x->plan, x->plan, x->plan);
    cli_expect(x, 1, "Error: foo-4294967298: the partition is beyond 2147483647: 4294967298\n",
               expected);
    free(expected);
    assert_nothing_sent(x);
}

static void faults_of_the_file_do_not_need_a_cluster(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[]}");
    cli_run(x, cli_reassign_run,
            "--bootstrap-server 127.0.0.1:1 --reassignment-json-file @P --execute");
    assert_int_equal(x->exit_code, 1);
    assert_string_equal(x->out, "Error: Partition reassignment list cannot be empty\n");
}

static void failed_partitions_are_listed(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->alter_code = KERR_INVALID_REPLICA_ASSIGNMENT;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_reassign_run, EXECUTE);
    cli_expect(x, 1,
               ROLLBACK "Error reassigning partition(s):\n"
                        "foo-0: broker 9 is not up\n"
                        "foo-1: broker 9 is not up\n",
               "");
}

/* Row 81, and directories that nobody can move yet. */
static void log_dirs_are_refused(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6],"
                     "\"log_dirs\":[\"any\"]}]}");
    cli_run(x, cli_reassign_run, EXECUTE);
    assert_int_equal(x->exit_code, 1);
    assert_non_null(strstr(x->out, "is different from the size of the list of log directories"));
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6],"
                     "\"log_dirs\":[\"any\",\"/d\",\"any\"]}]}");
    cli_run(x, cli_reassign_run, EXECUTE);
    cli_expect(x, 1,
               "Error: moves between log directories are not available yet; nothing was started.\n",
               "");
    assert_nothing_sent(x);
}

static void what_changes_little_is_noted(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3]},"
                     "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[3,1,2]}]}");
    cli_run(x, cli_reassign_run, EXECUTE);
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(
        x->err, "1 of 2 partitions have their assignment already.\n"
                "1 of 2 partitions only change the order of their replicas: nothing is copied, and "
                "leaders stay until an election (klamm leader-election).\n");
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3]}]}");
    cli_run(x, cli_reassign_run, EXECUTE);
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(x->err, "Nothing to do: the plan equals the present assignment.\n");
}

static void json_holds_rollback_and_results(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5]}]}");
    cli_run(x, cli_reassign_run, EXECUTE " --json");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(
        x->out, "{\"current\":{\"version\":1,\"partitions\":[{\"topic\":\"foo\","
                "\"partition\":0,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\",\"any\"]}]},"
                "\"results\":[{\"topic\":\"foo\",\"partition\":0,\"code\":0,\"message\":null}]}\n");
    assert_non_null(strstr(x->err, "warning: foo-0: factor 3 -> 2\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(moves_start_with_kafkas_texts),
        CLI_TEST(running_moves_are_not_joined_unasked),
        CLI_TEST(all_faults_are_named_and_nothing_is_sent),
        CLI_TEST(faults_of_the_file_do_not_need_a_cluster),
        CLI_TEST(failed_partitions_are_listed),
        CLI_TEST(log_dirs_are_refused),
        CLI_TEST(what_changes_little_is_noted),
        CLI_TEST(json_holds_rollback_and_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
