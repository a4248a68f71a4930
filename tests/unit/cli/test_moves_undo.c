/*
 * klamm moves undo: cancels what leads back by a cancel, moves back what has ended.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};
static const int32_t near[] = {1, 2, 4};

#define ENTRY(partition, list)                                                                     \
    "{\"topic\":\"foo\",\"partition\":" partition ",\"replicas\":" list "}"
#define BACK                                                                                       \
    "{\"partitions\":[" ENTRY("0", "[1,2,3]") "," ENTRY("1", "[1,2,3]") "," ENTRY("2",             \
                                                                                  "[1,2,3]") "]}"

/* Foo-0 runs, foo-1 waits, foo-2 has ended on [4,5,6]. */
static void start_three(struct cli_fixture *x)
{
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_partition *p = x->cluster->topics[0].partitions;
    fake_ids_set(&p[1].queued, near, 3);
    fake_ids_set(&p[2].replicas, far, 3);
    p[2].leader = 4;
    pthread_mutex_unlock(&x->cluster->lock);
}

static void file_is_gone_back_to(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    cli_plan_file(x, BACK);
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes --job j7");
    assert_int_equal(x->exit_code, 2); /* a file or a job */
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --dry-run");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "To cancel: 2; to move back: 1\n\nDry run: nothing was changed.\n");
    cli_expect_part(x->out, "To copy: 3.0 kB to 3 new replicas\n");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "2 cancelled\nJob ");
    cli_expect_part(x->out, ": 1 move accepted.\n");
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_partition *p = x->cluster->topics[0].partitions;
    assert_false(fake_is_open(&p[0]));
    assert_int_equal(p[0].replicas.list[0], 1);
    assert_false(fake_is_open(&p[1]));
    assert_true(fake_is_moving(&p[2]));
    assert_int_equal(p[2].replicas.list[0], 1);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes");
    cli_expect(x, 0, "Nothing to undo: all is as the file has it.\n", "");
}

/* What was deleted since cannot be gone back to; the rest can, and the exit code tells. */
static void what_is_gone_is_left_out(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[1,2,3]") "," ENTRY(
                         "9", "[1]") ","
                                     "{\"topic\":\"ghost\",\"partition\":0,\"replicas\":[1]}]}");
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, ": warning: foo-9: Unable to find partition: ");
    cli_expect_part(x->err, ": warning: ghost-0: Topic ghost not found\n");
    cli_expect_part(x->out, "To cancel: 1; to move back: 0\n1 cancelled\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_false(fake_is_open(&x->cluster->topics[0].partitions[0]));
    pthread_mutex_unlock(&x->cluster->lock);
}

/* A broker of the file that holds nothing any more is down; it is not a slip. */
static void a_dead_origin_can_be_waited_for(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    cli_plan_file(x, "{\"partitions\":[" ENTRY("2", "[1,2,9]") "]}");
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "foo-2: broker 9 is down: the move would wait for it");
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes --allow-down-targets");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, ": 1 move accepted.\n");
}

/* A cancel would not lead to the file's list: the list is asked for instead. */
static void other_lists_are_moved_to(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    cli_plan_file(x, "{\"partitions\":[" ENTRY("0", "[2,1]") "]}");
    x->typed = "y\n";
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --json");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "{\"results\":[{\"topic\":\"foo\",\"partition\":0,\"code\":0,");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.action, 1);
    assert_int_equal(x->cluster->topics[0].partitions[0].replicas.list[0], 2);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void job_is_undone_by_the_controller(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->jobs[0] = (struct fake_job){.id = "j1", .state = 1};
    snprintf(x->cluster->topics[0].partitions[0].job, 64, "j1");
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "undo --job j1 --bootstrap-server @B --throttle 20kB");
    assert_int_equal(x->exit_code, 2); /* it has its own */
    cli_run(x, cli_moves_run, "undo --job j1 --bootstrap-server @B");
    cli_expect(x, 0, "1 undone\n", "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.action, 6);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "undo --job j9 --bootstrap-server @B");
    cli_expect(x, 1, "", "klamm moves undo: there is no job \"j9\"\n");
}

/* Without a queue all is asked for at once. */
static void stock_controllers_are_asked_directly(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    fake_ids_set(&x->cluster->topics[0].partitions[2].replicas, far, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_plan_file(x, BACK);
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes --throttle 5MB");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "moves have no throttle, no priority and no order there\n");
    cli_run(x, cli_moves_run, "undo @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "1 cancelled\n1 move started.\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.action, 0);
    assert_int_equal(x->cluster->topics[0].partitions[0].replicas.list[0], 1);
    assert_int_equal(x->cluster->topics[0].partitions[2].replicas.list[0], 1);
    pthread_mutex_unlock(&x->cluster->lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(file_is_gone_back_to),
        CLI_TEST(what_is_gone_is_left_out),
        CLI_TEST(a_dead_origin_can_be_waited_for),
        CLI_TEST(other_lists_are_moved_to),
        CLI_TEST(job_is_undone_by_the_controller),
        CLI_TEST(stock_controllers_are_asked_directly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
