/*
 * klamm moves status and history: the table, JSON, the comparison with a plan.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};
static const int32_t near[] = {1, 2, 4};
static const int32_t other[] = {1, 2, 5};

#define STATUS "status --bootstrap-server @B"
/* Foo-0 copies for job j1, foo-1 waits for broker 4, foo-2 is queued and paused; job j0 has ended. */
static void start_three(struct cli_fixture *x)
{
    cli_move(x, 0, far, 3);
    cli_move(x, 1, near, 3);
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_partition *p = x->cluster->topics[0].partitions;
    p[0].arrived = 400;
    snprintf(p[0].job, 64, "j1");
    p[1].arrived = 370;
    p[1].reason = 2;
    p[1].since_ms = 1700000000000;
    fake_ids_set(&p[2].queued, other, 3);
    p[2].is_paused = true;
    snprintf(p[2].job, 64, "j1");
    x->cluster->jobs[0] = (struct fake_job){.id = "j1",
                                            .rate = 5000000,
                                            .priority = 1,
                                            .state = 1,
                                            .is_one_at_a_time = true,
                                            .moves = 2};
    x->cluster->jobs[1] =
        (struct fake_job){.id = "j0", .rate = -1, .priority = 2, .state = 3, .moves = 7};
    pthread_mutex_unlock(&x->cluster->lock);
}

static void table_tells_states_and_what_helps(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    cli_run(x, cli_moves_run, STATUS);
    cli_expect_part(
        x->out,
        "JOB  STATE                   SUBMITTED                BY           MOVES  COPIED      OF"
        "  THROTTLE  PRIORITY\n"
        "j1   running, one at a time  2023-11-14 22:13:20 UTC  User:alice  0 of 2  1.5 kB  3.0 kB"
        "  5.0 MB/s  drain\n\n");
    cli_expect_part(
        x->out,
        "PARTITION  STATE    TO     COPIED      OF   %     RATE  ETA  JOB  WHY\n"
        "foo-0      copying  4,5,6  1.2 kB  3.0 kB  40  500 B/s  3 s  j1\n"
        "foo-1      waiting  1,2,4   370 B  1.0 kB  37    0 B/s    -  -    waiting for broker 4, "
        "down since 2023-11-14 22:13:20 UTC\n"
        "foo-2      paused   1,2,5       -  3.0 kB   -        -    -  j1   paused\n"
        "\n2 run, 1 waits, 1 of them paused: 1.5 kB of 7.0 kB, 500 B/s\n");
    cli_expect_part(x->out, "target down: Start the broker");
    cli_expect_part(x->out, "paused: `klamm moves resume` lets it go on");
    assert_string_equal(x->err, "");
    assert_int_equal(x->exit_code, 0);
}

/* S13: both numbers, as the brokers tell them. */
static void s13_what_does_not_converge_has_its_numbers(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->topics[0].partitions[0].reason = 7;
    x->cluster->topics[0].partitions[0].since_ms = 1700000000000;
    x->cluster->write_rate = 2000000;
    x->cluster->throttle_rate = 1000000;
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, STATUS);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out,
                    "  not converging, incoming 2.0 MB/s over limit 1.0 MB/s (broker 4) since "
                    "2023-11-14 22:13:20 UTC\n");
    cli_expect_part(
        x->out, "foo-0      waiting  4,5,6     0 B  3.0 kB  0  0 B/s    -  -    not converging");
}

/* A copy between two Kafka brokers under a klamm controller, whatever its job says. */
static void who_ignores_limits_is_told(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    x->cluster->has_stock_brokers = true;
    cli_run(x, cli_moves_run, STATUS);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, " 500 B/s  3 s  j1   no throttle or pause holds\n");
    cli_expect_part(x->out, "down since 2023-11-14 22:13:20 UTC; no throttle or pause holds\n");
    cli_expect_part(x->out, "  j1   paused\n"); /* it has not begun */
    cli_expect_part(x->out, "no throttle or pause holds: Both ends of the copy are Apache Kafka "
                            "brokers. `klamm reassign --throttle` sets limits that they obey.\n");
    cli_run(x, cli_moves_run, STATUS " --json --partition foo-0");
    cli_expect_part(x->out, "\"why\":\"\",\"ignores_limits\":true}");
    x->cluster->has_stock_brokers = false;
    cli_run(x, cli_moves_run, STATUS);
    assert_null(strstr(x->out, "holds"));
}

static void filters_choose_rows(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    cli_run(x, cli_moves_run, STATUS " --partition foo-1");
    assert_null(strstr(x->out, "foo-0"));
    cli_expect_part(x->out, "foo-1      waiting");
    cli_run(x, cli_moves_run, STATUS " --job j1");
    cli_expect_part(x->out, "foo-0");
    assert_null(strstr(x->out, "foo-1"));
    cli_run(x, cli_moves_run, STATUS " --topic bar");
    cli_expect_part(x->out, "Nothing moves and nothing waits.\n");
    cli_run(x, cli_moves_run, STATUS " --job j9");
    cli_expect(x, 1, "", "klamm moves status: there is no job \"j9\"\n");
}

static void json_has_jobs_and_moves(void **state)
{
    struct cli_fixture *x = *state;
    start_three(x);
    cli_run(x, cli_moves_run, STATUS " --json --partition foo-1");
    cli_expect(
        x, 0,
        "{\"has_queue\":true,\"jobs\":[{\"id\":\"j1\",\"submitted_by\":\"User:alice\","
        "\"client_id\":\"klamm\",\"submitted_ms\":1700000000000,\"state\":\"running\","
        "\"priority\":\"drain\",\"is_one_at_a_time\":true,\"rate\":5000000,\"moves\":2,"
        "\"moves_done\":0,\"moves_cancelled\":0,\"bytes_to_copy\":3000,\"bytes_copied\":1500}],"
        "\"moves\":[{\"topic\":\"foo\",\"partition\":1,\"state\":\"waiting\",\"is_running\":true,"
        "\"job\":null,\"target\":[1,2,4],\"bytes_copied\":370,\"bytes_to_copy\":1000,"
        "\"percent\":37,\"bytes_per_second\":0,\"eta_ms\":-1,\"reason\":2,\"reason_code\":0,"
        "\"since_ms\":1700000000000,\"waits_for\":[4],\"why\":\"waiting for broker 4, down since "
        "2023-11-14 22:13:20 UTC\",\"ignores_limits\":false}]}\n",
        "");
}

static void history_shows_what_ended(void **state)
{
    struct cli_fixture *x = *state;
    cli_run(x, cli_moves_run, "history --bootstrap-server @B");
    cli_expect(x, 0, "No job has ended yet.\n", "");
    start_three(x);
    cli_run(x, cli_moves_run, "history --bootstrap-server @B");
    cli_expect(x, 0,
               "JOB  STATE  SUBMITTED                BY           MOVES  COPIED      OF  THROTTLE"
               "  PRIORITY\n"
               "j0   done   2023-11-14 22:13:20 UTC  User:alice  7 of 7  1.5 kB  3.0 kB         -"
               "  balance\n",
               "");
    cli_run(x, cli_moves_run, "history --bootstrap-server @B --json");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "{\"jobs\":[{\"id\":\"j0\",");
    assert_null(strstr(x->out, "j1"));
}

/* Names come over the network: a terminal must not obey them. */
static void names_of_the_server_are_escaped(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    snprintf(x->cluster->topics[0].partitions[0].job, 64, "\033[2Jj");
    x->cluster->jobs[0] = (struct fake_job){.id = "\033[2Jj", .rate = -1, .state = 1, .moves = 1};
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, STATUS);
    assert_int_equal(x->exit_code, 0);
    assert_null(strchr(x->out, '\033'));
    cli_expect_part(x->out, "\\u001b[2Jj  running");
    cli_expect_part(x->out, "  \\u001b[2Jj\n");
}

/* S32: somebody has given a partition another target; a partition that does not exist. */
static void s32_plan_is_compared(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 0, other, 3);
    cli_move(x, 1, near, 3);
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_topic *bar = fake_topic_add(x->cluster, slice_str("bar"));
    fake_ids_set(&bar->partitions[0].queued, far, 3);
    fake_ids_set(&bar->partitions[1].queued, near, 3);
    fake_ids_set(&bar->partitions[2].replicas, far, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_plan_file(x, "{\"partitions\":["
                     "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,4]},"
                     "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,4]},"
                     "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[1,2,4]},"
                     "{\"topic\":\"foo\",\"partition\":3,\"replicas\":[1,2,4]},"
                     "{\"topic\":\"bar\",\"partition\":0,\"replicas\":[4,5,6]},"
                     "{\"topic\":\"bar\",\"partition\":1,\"replicas\":[4,5,6]},"
                     "{\"topic\":\"bar\",\"partition\":2,\"replicas\":[4,5,6]}]}");
    cli_run(x, cli_moves_run, STATUS " --plan @P");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(x->out, "bar-0: waits for its start\n"
                                "bar-1: another target waits [1,2,4]\n"
                                "bar-2: done\n"
                                "foo-0: other target active [1,2,5]\n"
                                "foo-1: moves there\n"
                                "foo-2: does not move, and its list is [1,2,3]\n"
                                "foo-3: does not exist\n"
                                "1 of 7 done\n");
    cli_run(x, cli_moves_run, STATUS " --plan @P --json");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(
        x->out,
        "{\"plan\":["
        "{\"topic\":\"bar\",\"partition\":0,\"state\":\"waiting\",\"list\":[4,5,6]},"
        "{\"topic\":\"bar\",\"partition\":1,\"state\":\"waiting_elsewhere\",\"list\":[1,2,4]},"
        "{\"topic\":\"bar\",\"partition\":2,\"state\":\"done\",\"list\":[4,5,6]},"
        "{\"topic\":\"foo\",\"partition\":0,\"state\":\"moving_elsewhere\",\"list\":[1,2,5]},"
        "{\"topic\":\"foo\",\"partition\":1,\"state\":\"moving\",\"list\":[1,2,4]},"
        "{\"topic\":\"foo\",\"partition\":2,\"state\":\"not_moving\",\"list\":[1,2,3]},"
        "{\"topic\":\"foo\",\"partition\":3,\"state\":\"absent\",\"list\":null}"
        "],\"done\":1,\"count\":7}\n");
}

/* Sizes come from the brokers; what is not available there is said. */
static void stock_controllers_give_sizes(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->is_stock = true;
    x->cluster->does_not_advance = true;
    cli_move(x, 0, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    x->cluster->topics[0].partitions[0].arrived = 400;
    pthread_mutex_unlock(&x->cluster->lock);
    cli_run(x, cli_moves_run, STATUS);
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->err, "The controller of this cluster is not klamm's: ");
    cli_expect_part(x->out, "foo-0      copying  4,5,6  1.2 kB  3.0 kB  40     -    -  -\n");
    cli_run(x, cli_moves_run, STATUS " --json");
    cli_expect_part(x->out, "{\"has_queue\":false,\"jobs\":[],\"moves\":[{\"topic\":\"foo\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(table_tells_states_and_what_helps),
        CLI_TEST(who_ignores_limits_is_told),
        CLI_TEST(filters_choose_rows),
        CLI_TEST(s13_what_does_not_converge_has_its_numbers),
        CLI_TEST(json_has_jobs_and_moves),
        CLI_TEST(history_shows_what_ended),
        CLI_TEST(names_of_the_server_are_escaped),
        CLI_TEST(s32_plan_is_compared),
        CLI_TEST(stock_controllers_give_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
