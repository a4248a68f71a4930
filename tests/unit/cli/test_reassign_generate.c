/*
 * klamm reassign --generate: the shape of the proposal and what is refused (S38).
 */
#include "unit/cli/cli_fixture.h"

#define GENERATE "--bootstrap-server @B --topics-to-move-json-file @P --generate --broker-list "

static void proposal_has_the_shape_of_kafkas(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"version\":1,\"topics\":[{\"topic\":\"foo\"}]}");
    cli_run(x, cli_reassign_run, GENERATE "4,5,6");
    assert_int_equal(x->exit_code, 0);
    static const char start[] =
        "Current partition replica assignment\n"
        "{\"version\":1,\"partitions\":["
        "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","
        "\"any\"]},"
        "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","
        "\"any\"]},"
        "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","
        "\"any\"]}"
        "]}\n\nProposed partition reassignment configuration\n"
        "{\"version\":1,\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[";
    assert_int_equal(strncmp(x->out, start, sizeof start - 1), 0);
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
}

/* With one broker a random placement has no choice left. */
static void factor_of_each_partition_is_kept(void **state)
{
    struct cli_fixture *x = *state;
    for (int32_t p = 0; p < FAKE_PARTITIONS; p++) {
        x->cluster->topics[0].partitions[p].replicas.count = 1;
    }
    cli_plan_file(x, "{\"topics\":[{\"topic\":\"foo\"}]}");
    cli_run(x, cli_reassign_run, GENERATE "6 --json");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(
        strstr(x->out,
               "\"proposed\":{\"version\":1,\"partitions\":["
               "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[6],\"log_dirs\":[\"any\"]},"
               "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[6],\"log_dirs\":[\"any\"]},"
               "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[6],\"log_dirs\":[\"any\"]}]}}\n"));
}

static void wrong_input_is_named(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const rows[][3] = {
        {"{\"topics\":[{\"topic\":\"foo\"}]}", "1,2,x", "Broker list: \"x\" is no broker id"},
        {"{\"topics\":[{\"topic\":\"foo\"}]}", "1,,2", "Broker list: \"\" is no broker id"},
        {"{\"topics\":[{\"topic\":\"foo\"}]}", "1,2,2",
         "Broker list contains duplicate entries: 2"},
        {"{\"topics\":[{\"topic\":\"foo\"}]}", "1,2,99", "Unknown broker id 99"},
        {"{\"topics\":[{\"topic\":\"foo\"}]}", "1,2",
         "Replication factor: 3 larger than available brokers: 2."},
        {"{\"topics\":[{\"topic\":\"foo\"},{\"topic\":\"foo\"}]}", "1,2,3",
         "List of topics to reassign contains duplicate entries: foo"},
        {"{\"topics\":[{\"topic\":\"ghost\"}]}", "1,2,3", "Topic ghost not found"},
        {"{\"topics\":[]}", "1,2,3", "The list of topics is empty"},
        {"{\"partitions\":[]}", "1,2,3", "the key \"topics\" is missing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cli_plan_file(x, rows[i][0]);
        char *line = xasprintf(GENERATE "%s", rows[i][1]);
        char *expected = xasprintf("Error: %s\n", rows[i][2]);
        cli_run(x, cli_reassign_run, line);
        assert_string_equal(x->out, expected);
        assert_int_equal(x->exit_code, 1);
        free(line);
        free(expected);
    }
}

static void racks_on_some_brokers_are_refused(void **state)
{
    struct cli_fixture *x = *state;
    memcpy(x->cluster->racks[0], "a", 2);
    cli_plan_file(x, "{\"topics\":[{\"topic\":\"foo\"}]}");
    cli_run(x, cli_reassign_run, GENERATE "1,2,3");
    assert_int_equal(x->exit_code, 1);
    assert_non_null(strstr(x->out, "--disable-rack-aware"));
    cli_run(x, cli_reassign_run, GENERATE "1,2,3 --disable-rack-aware");
    assert_int_equal(x->exit_code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(proposal_has_the_shape_of_kafkas),
        CLI_TEST(factor_of_each_partition_is_kept),
        CLI_TEST(wrong_input_is_named),
        CLI_TEST(racks_on_some_brokers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
