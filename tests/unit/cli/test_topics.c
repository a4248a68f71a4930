/*
 * klamm topics: what is printed, and which part of it failed.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 2, 3};

static void topics_are_created_listed_and_deleted(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_topics_run,
            "create bar foo --bootstrap-server @B --replica-assignment 4:5,5:6 --config a=b=c");
    cli_expect(x, 1, "Created topic bar.\n", "klamm: topic foo: Topic exists already.\n");
    cli_run(x, cli_topics_run, "list --bootstrap-server @B");
    cli_expect(x, 0,
               "TOPIC  PARTITIONS  FACTOR\n"
               "bar             3     2-3\n"
               "foo             3       3\n",
               "");
    cli_run(x, cli_topics_run, "delete --topic bar --bootstrap-server @B");
    cli_expect(x, 0, "Deleted topic bar.\n", "");
    cli_run(x, cli_topics_run, "delete bar --bootstrap-server @B --json");
    cli_expect(x, 1,
               "{\"results\":[{\"topic\":\"bar\",\"code\":3,\"message\":"
               "\"UNKNOWN_TOPIC_OR_PARTITION\"}]}\n",
               "");
    cli_run(x, cli_topics_run, "list --bootstrap-server @B --json");
    cli_expect(x, 0, "{\"topics\":[\"foo\"]}\n", "");
}

static void describe_shows_what_is_wrong_and_what_moves(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->topics[0].partitions[1].isr.count = 1;
    x->cluster->topics[0].partitions[1].leader = -1;
    x->cluster->topics[0].partitions[2].isr.count = 2;
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_topics_run, "describe foo --bootstrap-server @B");
    cli_expect(
        x, 0,
        "foo\n"
        "PARTITION  LEADER  REPLICAS  ISR    ADDING  REMOVING  STATE\n"
        "        0       1  4,2,3,1   1,2,3  4       1         moving\n"
        "        1    none  1,2,3     1                        no leader\n"
        "        2       1  1,2,3     1,2                      under-replicated (1 missing)\n",
        "");
    cli_run(x, cli_topics_run, "describe ghost --bootstrap-server @B");
    cli_expect(x, 1, "", "klamm: topic ghost: does not exist\n");
}

/* S20: what only moves is not under-replicated. */
static void describe_can_show_only_what_is_missing(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_run(x, cli_topics_run, "describe --under-replicated-partitions --bootstrap-server @B");
    cli_expect(x, 0, "", "");
    cli_run(x, cli_topics_run,
            "describe --under-replicated-partitions --json --bootstrap-server @B");
    cli_expect(x, 0, "{\"topics\":[]}\n", "");
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->topics[0].partitions[1].leader = -1;
    x->cluster->topics[0].partitions[2].isr.count = 2;
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_topics_run, "describe foo --under-replicated-partitions --bootstrap-server @B");
    cli_expect(
        x, 0,
        "foo\n"
        "PARTITION  LEADER  REPLICAS  ISR    ADDING  REMOVING  STATE\n"
        "        1    none  1,2,3     1,2,3                    no leader\n"
        "        2       1  1,2,3     1,2                      under-replicated (1 missing)\n",
        "");
    cli_run(x, cli_topics_run, "describe \x1b[31mghost --bootstrap-server @B");
    cli_expect(x, 1, "", "klamm: topic \\u001b[31mghost: does not exist\n");
}

/* S33: without the right to list moves the rest is shown. */
static void describe_works_without_the_right_to_list_moves(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->list_code = KERR_CLUSTER_AUTHORIZATION_FAILED;
    x->cluster->topics[0].partitions[2].leader = 3;
    cli_run(x, cli_topics_run, "describe --bootstrap-server @B");
    cli_expect(x, 0,
               "foo\n"
               "PARTITION  LEADER  REPLICAS  ISR    STATE\n"
               "        0       1  1,2,3     1,2,3  ok\n"
               "        1       1  1,2,3     1,2,3  ok\n"
               "        2       3  1,2,3     1,2,3  ok, preferred leader is 1\n",
               "klamm: what is moving is not shown: CLUSTER_AUTHORIZATION_FAILED\n");
}

static void describe_has_json(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_run(x, cli_topics_run, "describe foo --bootstrap-server @B --json");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->out,
                           "{\"topics\":[{\"topic\":\"foo\",\"code\":0,\"internal\":false,"
                           "\"partitions\":[{\"partition\":0,\"leader\":1,\"leader_epoch\":0,"
                           "\"replicas\":[4,2,3,1],\"isr\":[1,2,3],\"adding\":[4],"
                           "\"removing\":[1],\"under_replicated\":false},"));
}

static void options_may_stand_in_front_of_the_action(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_topics_run, "--bootstrap-server @B --json list");
    cli_expect(x, 0, "{\"topics\":[\"foo\"]}\n", "");
    cli_run(x, cli_topics_run, "--timeout=9000 --topic foo --bootstrap-server @B delete");
    cli_expect(x, 0, "Deleted topic foo.\n", "");
    /* The value of an option is no action. */
    cli_run(x, cli_topics_run, "--topic list --bootstrap-server @B delete --json");
    assert_int_equal(x->exit_code, 1);
    assert_non_null(strstr(x->out, "{\"topic\":\"list\",\"code\":3,"));
}

/* The bytes of a name, and of a message that repeats it, must not reach the terminal. */
static void refused_names_are_printed_escaped(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_topics_run, "delete \x1b[31mred --bootstrap-server @B");
    cli_expect(x, 1, "", "klamm: topic \\u001b[31mred: UNKNOWN_TOPIC_OR_PARTITION\n");
    cli_run(x, cli_topics_run, "\x1b[2J");
    assert_non_null(strstr(x->err, "klamm topics: \"\\u001b[2J\" is no action\n"));
}

static void wrong_usage_is_named(void **state)
{
    struct cli_fixture *x = *state;
    static const char *const rows[][2] = {
        {"create",
         "klamm topics create: name at least one topic\nTry: klamm topics create --help\n"},
        {"create a --bootstrap-server @B --config x",
         "klamm topics create: --config: \"x\" is not KEY=VALUE\nTry: klamm topics create "
         "--help\n"},
        {"create a --bootstrap-server @B --replica-assignment 1:x",
         "klamm topics create: --replica-assignment: \"x\" is no broker id (partition 0)\n"
         "Try: klamm topics create --help\n"},
        {"create a --bootstrap-server @B --replica-assignment 1:2 --partitions 3",
         "klamm topics create: --replica-assignment says it all: --partitions and "
         "--replication-factor cannot be given with it\nTry: klamm topics create --help\n"},
        {"create a --partitions 0", "klamm topics create: option --partitions: \"0\" is no whole "
                                    "number from 1 to 1000000\nTry: klamm topics create --help\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cli_run(x, cli_topics_run, rows[i][0]);
        cli_expect(x, 2, "", rows[i][1]);
    }
    cli_run(x, cli_topics_run, "crate");
    assert_int_equal(x->exit_code, 2);
    assert_int_equal(strncmp(x->err, "klamm topics: \"crate\" is no action\n", 35), 0);
    cli_run(x, cli_topics_run, "--bootstrap-server @B");
    assert_int_equal(x->exit_code, 2);
    assert_int_equal(strncmp(x->err, "Usage: klamm topics ACTION", 26), 0);
    cli_run(x, cli_topics_run, "--frob delete foo");
    cli_expect(x, 2, "",
               "klamm topics delete: --frob is not a recognized option\n"
               "Try: klamm topics delete --help\n");
    cli_run(x, cli_topics_run, "--help");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "Examples:\n  klamm topics create ");
    cli_run(x, cli_topics_run, "create --help");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->out, "Usage: klamm topics create [options] NAME..."));
    assert_int_equal(cli_count(x, WIRE_KEY_CREATE_TOPICS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(topics_are_created_listed_and_deleted),
        CLI_TEST(describe_shows_what_is_wrong_and_what_moves),
        CLI_TEST(describe_can_show_only_what_is_missing),
        CLI_TEST(describe_works_without_the_right_to_list_moves),
        CLI_TEST(describe_has_json),
        CLI_TEST(options_may_stand_in_front_of_the_action),
        CLI_TEST(refused_names_are_printed_escaped),
        CLI_TEST(wrong_usage_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
