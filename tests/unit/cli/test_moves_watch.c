/*
 * klamm moves status --watch: progress until the end, an end elsewhere, Ctrl-C, a redrawn terminal. The fake
 * cluster's bytes arrive with the questions for sizes, which only a stock controller causes; on a klamm one
 * the test lets them arrive.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};

#define WATCH "status --bootstrap-server @B --watch --interval 100"

static void stock_moves_are_watched_until_done(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->copy_per_poll = 1000;
    x->cluster->controller_id = 6; /* it is asked last: the first look shows nothing copied */
    cli_move(x, 0, far, 3);
    cli_run(x, cli_moves_run, WATCH);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "foo-0  copying  0 B of 3.0 kB  0 %  to 4,5,6\n");
    cli_expect_part(x->out, "foo-0  copying  3.0 kB of 3.0 kB  99 %  ");
    cli_expect_part(x->out, "foo-0  done\n");
    cli_expect_part(x->out, "1 of 1 over; 0 run, 0 wait: 0 B of 0 B, 0 B/s\n");
}

/* A plan whose partition goes elsewhere: told once the brokers had their time to hear of it. */
static void end_elsewhere_is_told(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->ends_elsewhere = true;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,5,6]}]}");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --watch --interval 1000");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->out, "foo-0  ended with another list than its target\n");
    cli_expect_part(x->err, "1 of 1 ended with another list than the target: cancelled, or given "
                            "another one.\n");
}

/* Ctrl-C ends the watch, not the move. */
static void interruption_leaves_the_move(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->does_not_advance = true;
    x->cluster->interrupt_at = 9;
    cli_move(x, 0, far, 3);
    cli_run(x, cli_moves_run, WATCH);
    assert_int_equal(x->exit_code, 130);
    cli_expect_part(x->err,
                    "Interrupted. The moves go on: klamm moves status shows them, klamm moves "
                    "cancel ends them.\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_true(fake_is_moving(&x->cluster->topics[0].partitions[0]));
    assert_int_equal(x->cluster->counts[WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS], 0);
    pthread_mutex_unlock(&x->cluster->lock);
}

/* Each look is drawn over the one before. */
static void terminal_is_drawn_over_itself(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->copy_per_poll = 500;
    x->is_terminal = true;
    cli_move(x, 0, far, 3);
    cli_run(x, cli_moves_run, WATCH);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "PARTITION  STATE");
    const char *second = strstr(x->out, "\033[6A");
    assert_non_null(second);
    cli_expect_part(second, "\033[K\n");
    cli_expect_part(second, "1 of 1 over; ");
}

static void json_is_one_object_a_look(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->copy_per_poll = 1000;
    cli_move(x, 0, far, 3);
    cli_run(x, cli_moves_run, WATCH " --json");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "{\"has_queue\":false,\"jobs\":[],\"moves\":[{\"topic\":\"foo\",");
    cli_expect_part(x->out, "{\"has_queue\":false,\"jobs\":[],\"moves\":[]}\n");
}

static void nothing_to_watch_ends_at_once(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_moves_run, WATCH);
    cli_expect(x, 0, "Nothing moves and nothing waits.\n", "");
}

/* No table without rows, and the sums once. */
static void a_terminal_shows_no_empty_table(void **state)
{
    struct cli_fixture *x = *state;
    x->is_terminal = true;
    cli_run(x, cli_moves_run, WATCH);
    cli_expect(x, 0, "Nothing moves and nothing waits.\033[K\n\033[K\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(stock_moves_are_watched_until_done), CLI_TEST(end_elsewhere_is_told),
        CLI_TEST(interruption_leaves_the_move),       CLI_TEST(terminal_is_drawn_over_itself),
        CLI_TEST(json_is_one_object_a_look),          CLI_TEST(nothing_to_watch_ends_at_once),
        CLI_TEST(a_terminal_shows_no_empty_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
