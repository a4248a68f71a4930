/*
 * The command line of klamm moves: help, wrong usage, a server that lacks the APIs, and rates.
 */
#include "unit/cli/cli_fixture.h"

static void each_action_has_a_help_with_examples(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const actions[] = {"submit", "status", "pause",   "resume", "cancel",
                                          "set",    "undo",   "history", "limits"};
    cli_run(x, cli_moves_run, "--help");
    assert_int_equal(x->exit_code, 0);
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        char *line = xasprintf("  %s ", actions[i]);
        cli_run(x, cli_moves_run, "--help");
        cli_expect_part(x->out, line);
        free(line);
        line = xasprintf("%s --help", actions[i]);
        cli_run(x, cli_moves_run, line);
        assert_int_equal(x->exit_code, 0);
        assert_string_equal(x->err, "");
        cli_expect_part(x->out, "Examples:\n  klamm moves ");
        cli_expect_part(x->out, "Exit codes: 0 done");
        free(line);
    }
}

static void wrong_usage_gives_2(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const lines[] = {
        "",
        "fly",
        "submit",
        "submit a b",
        "submit @P --throttle",
        "submit @P --wings",
        "status extra",
        "pause",
        "pause --all --topic foo",
        "pause --topic foo --job j1",
        "pause --partition foo",
        "pause --partition foo-x",
        "pause --partition -1",
        "pause --partition a/b-1",
        "pause --topic a/b",
        "status --partition foo",
        "cancel",
        "resume --all --broker 1",
        "set --job j1",
        "set --throttle 5MB",
        "set --job j1 --all --throttle 5MB",
        "undo",
        "undo @P --job j1",
        "history @P",
        "limits --in-per-broker few",
        "limits --out-per-broker -1",
        "limits --per-cluster 2147483648",
        "limits --bytes-in-flight 0",
        "limits --bytes-in-flight many",
        "submit @P --priority first",
        "submit @P --job 0123456789012345678901234567890123456789012345678",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        cli_run(x, cli_moves_run, lines[i]);
        if (x->exit_code != 2) {
            fail_msg("\"%s\" gave %d", lines[i], x->exit_code);
        }
        assert_string_equal(x->out, "");
        assert_true(strlen(x->err) > 0);
    }
}

/* S13: before anything is asked for. */
static void impossible_rates_are_refused(void **state)
{
    struct cli_fixture *x = *state;
    static const struct {
        const char *rate;
        const char *message;
    } rows[] = {{"0", "klamm moves pause"},
                {"-5", "is negative"},
                {"9223372036854775808", "is beyond 9223372036854775807"},
                {"50mb", "is no rate"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *line = xasprintf("submit @P --bootstrap-server @B --throttle %s", rows[i].rate);
        cli_run(x, cli_moves_run, line);
        assert_int_equal(x->exit_code, 2);
        cli_expect_part(x->err, rows[i].message);
        free(line);
        line = xasprintf("set --bootstrap-server @B --job j1 --throttle %s", rows[i].rate);
        cli_run(x, cli_moves_run, line);
        assert_int_equal(x->exit_code, 2);
        cli_expect_part(x->err, rows[i].message);
        free(line);
    }
    assert_int_equal(cli_count(x, WIRE_KEY_METADATA), 0);
}

/* S39: one line, nothing changed. */
static void server_without_the_api_is_named(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const lines[] = {"submit @P --yes", "status",        "pause --all",
                                        "cancel --all",    "undo @P --yes", "history"};
    x->cluster->missing_key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char *line = xasprintf("%s --bootstrap-server @B", lines[i]);
        cli_run(x, cli_moves_run, line);
        assert_int_equal(x->exit_code, 1);
        cli_expect_part(x->err, "does not offer ListPartitionReassignments (API 46)\n");
        assert_ptr_equal(strchr(x->err, '\n') + 1, x->err + strlen(x->err));
        assert_string_equal(x->out, "");
        free(line);
    }
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    assert_int_equal(access(x->rollback, F_OK), -1);
}

/* S33. */
static void missing_rights_are_told(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->list_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    cli_run(x, cli_moves_run, "status --bootstrap-server @B");
    cli_expect(x, 1, "", "klamm: CLUSTER_AUTHORIZATION_FAILED\n");
}

/* What a controller without a queue cannot do is said, and nothing is sent. */
static void stock_controllers_have_no_queue(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const lines[] = {"pause --all", "resume --job j1",          "history",
                                        "limits",      "set --all --throttle 5MB", "undo --job j1"};
    x->cluster->is_stock = true;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char *line = xasprintf("%s --bootstrap-server @B", lines[i]);
        cli_run(x, cli_moves_run, line);
        assert_int_equal(x->exit_code, 1);
        cli_expect_part(x->err, "the controller of this cluster is not klamm's: ");
        free(line);
    }
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(each_action_has_a_help_with_examples),
        CLI_TEST(wrong_usage_gives_2),
        CLI_TEST(impossible_rates_are_refused),
        CLI_TEST(server_without_the_api_is_named),
        CLI_TEST(missing_rights_are_told),
        CLI_TEST(stock_controllers_have_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
