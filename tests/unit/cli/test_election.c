/*
 * klamm leader-election.
 */
#include "unit/cli/cli_fixture.h"

static void preferred_leader_is_elected(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->topics[0].partitions[1].leader = 3;
    cli_run(x, cli_election_run, "--bootstrap-server @B --topic foo --partition 1");
    cli_expect(x, 0, "foo-1: the preferred replica leads now\n", "");
    cli_run(x, cli_election_run, "--bootstrap-server @B --topic foo --partition 1 --json");
    cli_expect(x, 0,
               "{\"results\":[{\"topic\":\"foo\",\"partition\":1,\"code\":84,\"message\":"
               "\"ELECTION_NOT_NEEDED\"}]}\n",
               "");
    cli_run(x, cli_election_run, "--bootstrap-server @B --topic ghost --partition 0");
    cli_expect(x, 1, "", "klamm: ghost-0: UNKNOWN_TOPIC_OR_PARTITION\n");
    cli_run(x, cli_election_run, "--bootstrap-server @B --all-topic-partitions");
    cli_expect(x, 0, "All preferred replicas lead already.\n", "");
}

static void what_to_elect_must_be_said(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const lines[] = {"", "--topic foo", "--partition 1",
                                        "--topic foo --partition 1 --all-topic-partitions",
                                        "--all-topic-partitions --election-type unclean"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        cli_run(x, cli_election_run, lines[i]);
        assert_int_equal(x->exit_code, 2);
        assert_string_equal(x->out, "");
    }
    cli_run(x, cli_election_run, "--help");
    assert_int_equal(x->exit_code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(preferred_leader_is_elected),
        CLI_TEST(what_to_elect_must_be_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
