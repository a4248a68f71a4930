/*
 * The command line of klamm reassign: which options go together, what is refused before anything is
 * sent.
 */
#include "unit/cli/cli_fixture.h"

static void wrong_combinations_are_named(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const rows[][2] = {
        {"--bootstrap-server @B", "Command must include exactly one action: --generate, --execute, "
                                  "--verify, --cancel, --list"},
        {"--bootstrap-server @B --list --verify",
         "Command must include exactly one action: --generate, --execute, --verify, --cancel, "
         "--list"},
        {"--list", "Please specify --bootstrap-server"},
        {"--bootstrap-server @B --execute",
         "Missing required argument \"[reassignment-json-file]\""},
        {"--bootstrap-server @B --generate --broker-list 1",
         "Missing required argument \"[topics-to-move-json-file]\""},
        {"--bootstrap-server @B --list --additional",
         "Option \"[additional]\" can't be used with action \"[list]\""},
        {"--bootstrap-server @B --verify --reassignment-json-file @P --throttle 5",
         "Option \"[throttle]\" can't be used with action \"[verify]\""},
        {"--bootstrap-server @B --list extra", "unexpected argument \"extra\""},
        {"--bootstrap-server @B --lst", "--lst is not a recognized option"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cli_run(x, cli_reassign_run, rows[i][0]);
        assert_int_equal(x->exit_code, 1);
        assert_string_equal(x->out, "");
        char *expected = xasprintf("%s\n\nMoves replicas", rows[i][1]);
        assert_int_equal(strncmp(x->err, expected, strlen(expected)), 0);
        free(expected);
    }
    assert_int_equal(cli_count(x, WIRE_KEY_API_VERSIONS), 0);
}

static void help_and_version_exit_as_kafkas_tool(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_reassign_run, "");
    assert_int_equal(x->exit_code, 1);
    assert_string_equal(x->out, "");
    assert_non_null(strstr(x->err, "Usage: klamm reassign"));
    cli_run(x, cli_reassign_run, "--help");
    assert_int_equal(x->exit_code, 1);
    cli_run(x, cli_reassign_run, "--version");
    cli_expect(x, 0, "0.1.0\n", "");
}

static void throttle_of_directory_moves_is_refused(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}");
    cli_run(x, cli_reassign_run,
            "--bootstrap-server @B --reassignment-json-file @P --execute "
            "--replica-alter-log-dirs-throttle 1000");
    cli_expect(x, 1,
               "Error: throttles of moves between log directories are not available yet; nothing "
               "was started.\n",
               "");
    assert_int_equal(cli_count(x, WIRE_KEY_API_VERSIONS), 0);
    cli_run(x, cli_reassign_run,
            "--bootstrap-server @B --reassignment-json-file @P --execute --throttle -1 "
            "--replica-alter-log-dirs-throttle -1");
    assert_int_equal(x->exit_code, 0);
    assert_int_equal(cli_count(x, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS), 0);
}

/* S40: each wrong answer about the controller costs a pause that is longer than what is slow here. */
static void slow_controller_is_told_of(void **state)
{
    struct cli_fixture *x = *state;
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->controller_id = 4;
    x->cluster->lost_controller_id = 2;
    x->cluster->misled = 4;
    pthread_mutex_unlock(&x->cluster->lock);
    x->slow_ms = 50;
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list");
    cli_expect(x, 0, "No partition reassignments found.\n",
               "klamm: the controller has not answered ListPartitionReassignments yet; waiting for "
               "up to 60 s more\n");
}

/* S39: one line that names what is missing. */
static void server_without_the_api_is_named(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->missing_key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS;
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list");
    assert_int_equal(x->exit_code, 1);
    assert_non_null(strstr(x->out, "does not offer ListPartitionReassignments (API 46)\n"));
}

/* S33: the code for the whole. */
static void missing_rights_are_told(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->list_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list");
    cli_expect(x, 1, "Error: CLUSTER_AUTHORIZATION_FAILED\n", "");
}

static void properties_are_read(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "security.protocol=SASL_SSL\n");
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list --command-config @P");
    char *expected = xasprintf("Error: %s: security.protocol=SASL_SSL is not available yet, only "
                               "PLAINTEXT is\n",
                               x->plan);
    cli_expect(x, 1, expected, "");
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(wrong_combinations_are_named),
        CLI_TEST(help_and_version_exit_as_kafkas_tool),
        CLI_TEST(throttle_of_directory_moves_is_refused),
        CLI_TEST(slow_controller_is_told_of),
        CLI_TEST(server_without_the_api_is_named),
        CLI_TEST(missing_rights_are_told),
        CLI_TEST(properties_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
