/*
 * klamm moves limits: shown, set, taken back.
 */
#include "unit/cli/cli_fixture.h"

#define LIMITS "limits --bootstrap-server @B"

static void expect_setting(struct cli_fixture *x, const char *name, const char *expected)
{
    char *value = fake_setting(x->cluster, FAKE_ALL_BROKERS, name);
    if (expected == NULL) {
        assert_null(value);
    } else {
        assert_non_null(value);
        assert_string_equal(value, expected);
    }
    free(value);
}

static void limits_are_set_and_taken_back(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_moves_run, LIMITS);
    cli_expect(x, 0,
               "moves to one broker    not set: 4 of submitted jobs\n"
               "moves from one broker  not set: 4 of submitted jobs\n"
               "moves in the cluster   not set: no limit\n"
               "bytes on their way     not set: no limit\n",
               "");
    cli_run(x, cli_moves_run,
            LIMITS " --in-per-broker 8 --per-cluster 500 --bytes-in-flight 200GB");
    cli_expect(x, 0, "The limits are changed.\n", "");
    expect_setting(x, "klamm.moves.max.in.per.broker", "8");
    expect_setting(x, "klamm.moves.max.out.per.broker", NULL);
    expect_setting(x, "klamm.moves.max.per.cluster", "500");
    expect_setting(x, "klamm.moves.max.bytes.in.flight", "200000000000");
    cli_run(x, cli_moves_run, LIMITS);
    cli_expect(x, 0,
               "moves to one broker    8\n"
               "moves from one broker  not set: 4 of submitted jobs\n"
               "moves in the cluster   500\n"
               "bytes on their way     200 GB\n",
               "");
    cli_run(x, cli_moves_run, LIMITS " --per-cluster none --out-per-broker 3 --json");
    cli_expect(x, 0, "{}\n", "");
    cli_run(x, cli_moves_run, LIMITS " --in-per-broker 0");
    cli_expect(x, 0, "The limits are changed.\n", "");
    expect_setting(x, "klamm.moves.max.in.per.broker", "0"); /* nothing more starts */
    cli_run(x, cli_moves_run, LIMITS " --in-per-broker 8");
    cli_run(x, cli_moves_run, LIMITS " --json");
    cli_expect(x, 0,
               "{\"in_per_broker\":8,\"out_per_broker\":3,\"per_cluster\":-1,"
               "\"bytes_in_flight\":200000000000}\n",
               "");
}

static void refusals_are_told(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->settings_code = KERR_INVALID_CONFIG;
    cli_run(x, cli_moves_run, LIMITS " --in-per-broker 8");
    cli_expect(x, 1, "", "klamm moves limits: a bad value\n");
    x->cluster->missing_key = WIRE_KEY_DESCRIBE_CONFIGS;
    cli_run(x, cli_moves_run, LIMITS);
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "does not offer DescribeConfigs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(limits_are_set_and_taken_back),
        CLI_TEST(refusals_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
