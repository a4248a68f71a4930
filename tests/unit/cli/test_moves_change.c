/*
 * klamm moves pause, resume, cancel and set: whom they concern, and what is told of it.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};
static const int32_t near[] = {1, 2, 4};

static struct fake_partition *partition(struct cli_fixture *x, int32_t index)
{
    return &x->cluster->topics[0].partitions[index];
}

/* Foo-0 runs for job j1, foo-1 waits for job j2, foo-2 does not move. */
static void start_two(struct cli_fixture *x)
{
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    fake_ids_set(&partition(x, 1)->queued, near, 3);
    snprintf(partition(x, 0)->job, 64, "j1");
    snprintf(partition(x, 1)->job, 64, "j2");
    x->cluster->jobs[0] = (struct fake_job){.id = "j1", .rate = -1, .priority = 2, .state = 1};
    x->cluster->jobs[1] =
        (struct fake_job){.id = "j2", .rate = 5000, .priority = 2, .is_one_at_a_time = true};
    x->cluster->jobs[2] = (struct fake_job){.id = "j0", .state = 3, .moves = 3};
    pthread_mutex_unlock(&x->cluster->lock);
}

static bool is_paused(struct cli_fixture *x, int32_t index)
{
    pthread_mutex_lock(&x->cluster->lock);
    bool is = partition(x, index)->is_paused;
    pthread_mutex_unlock(&x->cluster->lock);
    return is;
}

static void pause_and_resume_go_by_name(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    cli_run(x, cli_moves_run, "pause --bootstrap-server @B --partition foo-0");
    cli_expect(x, 0, "1 paused\n", "");
    assert_true(is_paused(x, 0));
    assert_false(is_paused(x, 1));
    cli_run(x, cli_moves_run, "pause --bootstrap-server @B --topic foo");
    cli_expect(x, 0, "1 paused, 1 already was so\n", "");
    cli_run(x, cli_moves_run, "pause --bootstrap-server @B --all");
    cli_expect(x, 0, "0 paused, 2 already were so\n", "");
    assert_true(is_paused(x, 1));
    cli_run(x, cli_moves_run, "resume --bootstrap-server @B --partition foo-1 --partition foo-2");
    cli_expect(x, 0, "1 resumed, 1 was not moving\n", "");
    assert_true(is_paused(x, 0));
    assert_false(is_paused(x, 1));
}

static void jobs_and_brokers_are_selected_by_the_controller(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    cli_run(x, cli_moves_run, "pause --bootstrap-server @B --job j2");
    cli_expect(x, 0, "1 paused\n", "");
    assert_true(is_paused(x, 1));
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.topics_count, 0);
    assert_string_equal(x->cluster->last_job, "j2");
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "pause --bootstrap-server @B --broker 6,5");
    cli_expect(x, 0, "1 paused\n", "");
    assert_true(is_paused(x, 0));
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_brokers.count, 2);
    assert_int_equal(x->cluster->last_brokers.list[0], 6);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "resume --bootstrap-server @B --all");
    cli_expect(x, 0, "2 resumed\n", "");
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --all");
    cli_expect(x, 0, "2 cancelled\n", "");
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --all");
    cli_expect(x, 0, "0 cancelled\n", "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(partition(x, 0)->replicas.list[0], 1);
    assert_false(fake_is_open(partition(x, 1)));
    pthread_mutex_unlock(&x->cluster->lock);
}

/* S04: what does not move is told from what does not exist. */
static void s04_cancel_tells_idle_from_unknown(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    cli_run(x, cli_moves_run,
            "cancel --bootstrap-server @B --partition foo-0 --partition foo-2 "
            "--partition foo-9 --partition ghost-0");
    cli_expect(x, 1, "1 cancelled, 1 was not moving, 2 unknown\n", "");
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --topic foo --topic ghost --json");
    cli_expect(x, 1,
               "{\"results\":[{\"topic\":\"foo\",\"partition\":1,\"code\":0,\"message\":null}],"
               "\"done\":1,\"unchanged\":0,\"not_moving\":0,\"unknown\":1,\"failed\":0}\n",
               "");
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --topic foo");
    cli_expect(x, 0, "0 cancelled, 1 was not moving\n", "");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 2);
}

/* S38. */
static void s38_bad_broker_lists_are_named(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    static const struct {
        const char *list;
        int exit_code;
        const char *message;
    } rows[] = {{"1,x", 2, "--broker: \"x\" is no broker id"},
                {"1,2,2", 2, "--broker: 2 is given twice"},
                {"1,", 2, "--broker: \"\" is no broker id"},
                {"-1", 2, "--broker: \"-1\" is no broker id"},
                {"1,99", 1, "broker 99 is unknown; nothing was changed"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *line = xasprintf("pause --bootstrap-server @B --broker %s", rows[i].list);
        cli_run(x, cli_moves_run, line);
        assert_int_equal(x->exit_code, rows[i].exit_code);
        cli_expect_part(x->err, rows[i].message);
        free(line);
    }
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
}

/* It is down, nothing that runs names it, and what waits shall leave it. */
static void a_dead_broker_can_be_left(void **state)
{
    struct cli_fixture *x = *state;
    static const int32_t with_dead[] = {1, 2, 9};
    start_two(x);
    pthread_mutex_lock(&x->cluster->lock);
    fake_ids_set(&partition(x, 1)->replicas, with_dead, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "pause --bootstrap-server @B --broker 9");
    assert_int_equal(x->exit_code, 0);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_brokers.list[0], 9);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void failures_are_told_one_by_one(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    x->cluster->alter_code = KERR_INVALID_REPLICA_ASSIGNMENT;
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --topic foo");
    cli_expect(x, 1, "0 cancelled, 2 failed\n",
               "klamm: foo-0: INVALID_REPLICA_ASSIGNMENT\n"
               "klamm: foo-1: INVALID_REPLICA_ASSIGNMENT\n");
    x->cluster->alter_code = 0;
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --partition foo-0 --force");
    cli_expect(x, 0, "1 cancelled\n", "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_true(x->cluster->last_alter.force_cancel);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void settings_of_a_job_change(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --job j2 --throttle 20kB");
    cli_expect(x, 0, "Job j2 is changed.\n", "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->jobs[1].rate, 20000);
    assert_int_equal(x->cluster->jobs[1].priority, 2);
    assert_true(x->cluster->last_alter.one_at_a_time); /* as the job has it */
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --all --throttle none --priority repair");
    cli_expect(x, 0, "Job j1 is changed.\nJob j2 is changed.\n", "");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->jobs[1].rate, -1);
    assert_int_equal(x->cluster->jobs[1].priority, 0);
    assert_int_equal(x->cluster->jobs[0].priority, 0);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --job j2 --priority drain --json");
    cli_expect(x, 0, "{\"jobs\":[{\"id\":\"j2\",\"code\":0,\"message\":null}]}\n", "");
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --job j9 --priority drain");
    cli_expect(x, 1, "", "klamm moves set: there is no job \"j9\"\n");
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --job j0 --priority drain");
    cli_expect(x, 1, "", "klamm moves set: job j0 has ended\n");
}

static void a_rate_below_the_writes_is_warned_of(void **state)
{
    struct cli_fixture *x = *state;
    start_two(x);
    x->cluster->write_rate = 30000;
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --job j1 --throttle 500");
    cli_expect(x, 0, "Job j1 is changed.\n",
               "warning: the rate is only 500 bytes a second; 50MB means 50000000\n"
               "warning: foo-0 will not converge: incoming 30.0 kB/s for each of 3 new replicas "
               "over limit 500 B/s; the rate can be raised while it moves\n");
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --job j2 --throttle 20kB");
    cli_expect(x, 0, "Job j2 is changed.\n", ""); /* nothing of it runs */
    cli_run(x, cli_moves_run, "set --bootstrap-server @B --all --throttle 1MB");
    cli_expect(x, 0, "Job j1 is changed.\nJob j2 is changed.\n", "");
}

/* A stock controller can cancel; all that moves is named to it, since it selects nothing itself. */
static void stock_controllers_cancel(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    cli_move(x, 0, far, 3);
    cli_move(x, 2, near, 3);
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --broker 6");
    cli_expect(x, 0, "1 cancelled\n", "");
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --all");
    cli_expect(x, 0, "1 cancelled\n", "");
    cli_run(x, cli_moves_run, "cancel --bootstrap-server @B --all");
    cli_expect(x, 0, "0 cancelled\n", "");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(pause_and_resume_go_by_name),
        CLI_TEST(jobs_and_brokers_are_selected_by_the_controller),
        CLI_TEST(s04_cancel_tells_idle_from_unknown),
        CLI_TEST(s38_bad_broker_lists_are_named),
        CLI_TEST(a_dead_broker_can_be_left),
        CLI_TEST(failures_are_told_one_by_one),
        CLI_TEST(settings_of_a_job_change),
        CLI_TEST(a_rate_below_the_writes_is_warned_of),
        CLI_TEST(stock_controllers_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
