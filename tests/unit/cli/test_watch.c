/*
 * Watching: progress until the end, an end elsewhere, and Ctrl-C, which leaves the move alone. The fake
 * cluster copies with the questions, so the number of polls is known; each is 100 ms apart.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};

#define PLAN        "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,5,6]}]}"
#define FILE_OPTION "--bootstrap-server @B --reassignment-json-file @P "

static void execute_watches_until_done(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->copy_per_poll = 1000;
    x->cluster->controller_id = 6; /* it is asked last: the first poll shows nothing copied */
    cli_plan_file(x, PLAN);
    cli_run(x, cli_reassign_run, FILE_OPTION "--execute --watch --interval 100");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(strstr(x->out, "Successfully started partition reassignment for foo-0\n"
                                   "foo-0  0 B of 3.0 kB  0 %  0 B/s  to 4,5,6\n"));
    assert_non_null(strstr(x->out, "foo-0  3.0 kB of 3.0 kB  99 %  "));
    assert_non_null(strstr(x->out, "foo-0  done after "));
    assert_non_null(strstr(x->out, "1 of 1 partitions done  3.0 kB of 3.0 kB  100 %\n"));
}

static void end_elsewhere_is_told(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,5,6]},"
                     "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,3]}]}");
    cli_run(x, cli_reassign_run, FILE_OPTION "--verify --watch --interval 100");
    assert_int_equal(x->exit_code, 1);
    assert_non_null(strstr(x->out, "foo-0  ended with other replicas than wanted\n"));
    assert_non_null(strstr(x->out, "foo-1  done\n"));
}

static void interruption_leaves_the_move(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->copy_per_poll = 0;
    x->cluster->interrupt_at = 3;
    cli_move(x, 0, far, 3);
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list --watch --interval 100");
    assert_int_equal(x->exit_code, 130);
    assert_string_equal(x->err,
                        "Interrupted. The moves go on; --list shows them, --cancel undoes them.\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_true(fake_is_moving(&x->cluster->topics[0].partitions[0]));
    assert_int_equal(x->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS], 0);
    pthread_mutex_unlock(&x->cluster->lock);
}

/* Each poll draws over the one before: up by the lines of the block, which keeps its height. */
static void terminal_block_is_drawn_over_itself(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->copy_per_poll = 1000;
    x->is_terminal = true;
    cli_move(x, 0, far, 3);
    cli_move(x, 2, far, 3);
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list --watch --interval 100");
    assert_int_equal(x->exit_code, 0);
    const char *second = strstr(x->out, "\033[4A");
    assert_non_null(second);
    assert_non_null(strstr(second, "\033[4Afoo-0  ended after "));
    assert_non_null(strstr(second, "\033[K\nfoo-2  ended after "));
    assert_non_null(
        strstr(second, "2 of 2 partitions done  6.0 kB of 6.0 kB  100 %\033[K\n\033[K\n"));
}

static void json_is_one_object_a_poll(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->copy_per_poll = 1000;
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->topics[0].partitions[0].arrived = 1000;
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_reassign_run, "--bootstrap-server @B --list --watch --json --interval 100");
    assert_int_equal(x->exit_code, 0);
    assert_non_null(
        strstr(x->out, "{\"progress\":[{\"topic\":\"foo\",\"partition\":0,\"copied_bytes\":3000,"
                       "\"total_bytes\":3000,\"percent\":"));
    assert_non_null(strstr(x->out, "\"is_over\":true}]}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(execute_watches_until_done),   CLI_TEST(end_elsewhere_is_told),
        CLI_TEST(interruption_leaves_the_move), CLI_TEST(terminal_block_is_drawn_over_itself),
        CLI_TEST(json_is_one_object_a_poll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
