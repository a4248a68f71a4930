/*
 * klamm reassign --verify, --cancel, --list: exact texts and exit codes.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};
static const int32_t grown[] = {1, 2, 3, 4};

#define FILE_OPTION "--bootstrap-server @B --reassignment-json-file @P "
#define CLEARED                                                                                    \
    "Clearing broker-level throttles on brokers 1,2,3,4,5,6\n"                                     \
    "Clearing topic-level throttles on topic foo\n"
#define ENTRY(partition, list)                                                                     \
    "{\"topic\":\"foo\",\"partition\":" partition ",\"replicas\":" list "}"

static void verify_tells_each_state(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_plan_file(x,
                  "{\"partitions\":[" ENTRY("1", "[1,2,3]") "," ENTRY("0", "[4,5,6]") "," ENTRY(
                      "2", "[3,2,1]") ",{\"topic\":\"bar\",\"partition\":0,\"replicas\":[1,2]}]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify");
    char *warning = xasprintf("%s:1:163: warning: bar-0: Topic bar not found\n", x->plan);
    cli_expect(
        x, 0,
        "Status of partition reassignment:\n"
        "There is no active reassignment of partition bar-0, but replica set is  rather than "
        "1,2.\n"
        "Reassignment of partition foo-0 is still in progress.\n"
        "Reassignment of partition foo-1 is completed.\n"
        "There is no active reassignment of partition foo-2, but replica set is 1,2,3 rather "
        "than 3,2,1.\n"
        "\n",
        warning);
    free(warning);
}

/* S32: overridden by somebody else; a partition that does not exist. */
static void verify_notes_another_target(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[1,2,5]") "," ENTRY("3", "[1,2,5]") "]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify --preserve-throttles");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->err, "foo-0: another target is active: [4,5,6]\n"));
    assert_non_null(strstr(x->err, "foo-3 does not exist, the topic has partitions 0..2\n"));
    assert_non_null(strstr(x->out, "Reassignment of partition foo-0 is still in progress.\n"));
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify --json");
    assert_string_equal(
        x->out, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"state\":\"in_progress\","
                "\"wanted\":[1,2,5],\"replicas\":[4,5,6,1,2,3],\"active_target\":[4,5,6]},"
                "{\"topic\":\"foo\",\"partition\":3,\"state\":\"unknown\",\"wanted\":[1,2,5],"
                "\"replicas\":[]}],\"reassignments_running\":1}\n");
}

/* Row 79: also a pure growth. */
static void cancel_undoes_all_that_moves(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, grown, 4);
    cli_move(x, 1, far, 3);
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[1]") "," ENTRY("1", "[1]") "]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel");
    cli_expect(x, 0,
               "Successfully cancelled partition reassignments for: foo-0,foo-1\n"
               "None of the specified partition moves are active." CLEARED,
               "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->topics[0].partitions[0].replicas.count, 3);
    assert_false(x->cluster->last_alter.force_cancel);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel");
    cli_expect(x, 0,
               "None of the specified partition reassignments are active.\n"
               "None of the specified partition moves are active." CLEARED,
               "0 cancelled, 2 were not moving, 0 unknown\n");
}

/* S04. */
static void cancel_tells_idle_from_unknown(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[1]") "," ENTRY("1", "[1]") "," ENTRY(
                         "9", "[1]") ",{\"topic\":\"ghost\",\"partition\":0,\"replicas\":[1]}]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->err, "1 cancelled, 1 was not moving, 2 unknown\n"));
    assert_non_null(strstr(x->out, "Successfully cancelled partition reassignment for: foo-0\n"));
}

static void refused_cancel_is_an_error(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    x->cluster->alter_code = KERR_INVALID_REPLICA_ASSIGNMENT;
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[1]") "]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel --force-cancel");
    cli_expect(x, 1,
               "Error cancelling partition reassignment for:\n"
               "foo-0: broker 9 is not up\n",
               "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_true(x->cluster->last_alter.force_cancel);
    pthread_mutex_unlock(&x->cluster->lock);
}

/* The move ended between the list and the cancel: nothing is left to undo, and that is no failure. */
static void move_that_ended_meanwhile_is_idle(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    x->cluster->alter_code = KERR_NO_REASSIGNMENT_IN_PROGRESS;
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[1]") "]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--cancel");
    cli_expect(x, 0,
               "None of the specified partition reassignments are active.\n"
               "None of the specified partition moves are active." CLEARED,
               "0 cancelled, 1 was not moving, 0 unknown\n");
}

/* Row 80. */
static void list_shows_only_what_there_is(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list");
    cli_expect(x, 0, "No partition reassignments found.\n", "");
    cli_move(x, 2, far, 3);
    cli_move(x, 0, grown, 4);
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list");
    cli_expect(x, 0,
               "Current partition reassignments:\n"
               "foo-0: replicas: 1,2,3,4. adding: 4.\n"
               "foo-2: replicas: 4,5,6,1,2,3. adding: 4,5,6. removing: 1,2,3.\n",
               "");
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list --json");
    assert_string_equal(x->out,
                        "{\"reassignments\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,"
                        "3,4],\"adding\":[4],\"removing\":[]},{\"topic\":\"foo\",\"partition\":2,"
                        "\"replicas\":[4,5,6,1,2,3],\"adding\":[4,5,6],\"removing\":[1,2,3]}]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(verify_tells_each_state),           CLI_TEST(verify_notes_another_target),
        CLI_TEST(cancel_undoes_all_that_moves),      CLI_TEST(cancel_tells_idle_from_unknown),
        CLI_TEST(move_that_ended_meanwhile_is_idle), CLI_TEST(refused_cancel_is_an_error),
        CLI_TEST(list_shows_only_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
