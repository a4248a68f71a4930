/*
 * klamm moves submit: the dry run, the question, the rollback file, what is sent and said.
 */
#include "unit/cli/cli_fixture.h"

static const int32_t far[] = {4, 5, 6};

#define PLAN                                                                                       \
    "{\"version\":1,\"partitions\":["                                                              \
    "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[4,5,6]},"                                    \
    "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,2,3]},"                                    \
    "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[1,2,3]}]}"
#define ESTIMATE                                                                                   \
    "Plan: 3 partitions, 2 to change\n\n"                                                          \
    "BROKER      IN     OUT  REPLICAS  LEADERS  FREE NOW  FREE THEN\n"                             \
    "     1     0 B  4.0 kB     +0 -2    +0 -2    4.0 kB     6.0 kB\n"                             \
    "     2     0 B     0 B     +0 -1    +0 -0    4.0 kB     5.0 kB\n"                             \
    "     3     0 B     0 B     +0 -1    +0 -0    4.0 kB     5.0 kB\n"                             \
    "     4  2.0 kB     0 B     +2 -0    +2 -0    4.0 kB     2.0 kB\n"                             \
    "     5  1.0 kB     0 B     +1 -0    +0 -0    4.0 kB     3.0 kB\n"                             \
    "     6  1.0 kB     0 B     +1 -0    +0 -0    4.0 kB     3.0 kB\n"                             \
    "\nTo copy: 4.0 kB to 4 new replicas\n"                                                        \
    "Leader changes: 2; another preferred leader: 2\n"                                             \
    "Factor changes: 0\n"
#define NO_LIMIT "Time: not limited; --throttle bounds what each broker sends and receives\n"
#define ROLLBACK                                                                                   \
    "{\"version\":1,\"partitions\":["                                                              \
    "{\"topic\":\"foo\",\"partition\":0,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","       \
    "\"any\"]},"                                                                                   \
    "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","       \
    "\"any\"]},"                                                                                   \
    "{\"topic\":\"foo\",\"partition\":2,\"replicas\":[1,2,3],\"log_dirs\":[\"any\",\"any\","       \
    "\"any\"]}]}\n"

static void expect_rollback(const struct cli_fixture *x, const char *expected)
{
    char text[1024] = "";
    FILE *file = fopen(x->rollback, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
}

static void dry_run_shows_and_changes_nothing(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run");
    cli_expect(x, 0, ESTIMATE NO_LIMIT "\nDry run: nothing was changed.\n", "");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    assert_int_equal(access(x->rollback, F_OK), -1);
}

static void accepted_moves_are_counted(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run,
            "submit @P --bootstrap-server @B --yes --job drain-1 --priority drain "
            "--one-at-a-time");
    char *expected = xasprintf(ESTIMATE NO_LIMIT "\nThe way back is in %s (klamm moves undo %s).\n"
                                                 "Job drain-1: 2 moves accepted.\n",
                               x->rollback, x->rollback);
    cli_expect(x, 0, expected, "");
    free(expected);
    expect_rollback(x, ROLLBACK);
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.action, 1);
    assert_int_equal(x->cluster->last_alter.rate, -1);
    assert_int_equal(x->cluster->last_alter.priority, 1);
    assert_true(x->cluster->last_alter.one_at_a_time);
    assert_string_equal(x->cluster->last_job, "drain-1");
    assert_true(fake_is_moving(&x->cluster->topics[0].partitions[1]));
    assert_false(fake_is_moving(&x->cluster->topics[0].partitions[2]));
    pthread_mutex_unlock(&x->cluster->lock);
}

static void rate_is_sent_and_time_is_told(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->queues = true;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --throttle 1kB");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "Time: at least 4 s at 1.0 kB/s for each broker and direction\n");
    cli_expect_part(x->out, ": 2 moves accepted, 2 of them queued.\n");
    assert_string_equal(x->err,
                        "warning: the rate is only 1000 bytes a second; 50MB means 50000000\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.rate, 1000);
    assert_true(strlen(x->cluster->last_job) > 20); /* a name of its own */
    pthread_mutex_unlock(&x->cluster->lock);
    assert_int_equal(cli_count(x, WIRE_KEY_INCREMENTAL_ALTER_CONFIGS), 0);
}

/* S13: a warning with both numbers before it starts. */
static void s13_writes_above_the_rate_are_warned_of(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->write_rate = 2000000;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":0,\"replicas\":[4,2,3]}]}");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run --throttle 1000000");
    assert_int_equal(x->exit_code, 0);
    assert_string_equal(x->err, "warning: foo-0 will not converge: incoming 2.0 MB/s over limit "
                                "1.0 MB/s; the rate can be raised while it moves\n");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run --throttle 5MB");
    cli_expect_part(x->out, "Time: at least 1 s at 5.0 MB/s");
    assert_string_equal(x->err, "");
}

/* Each move, whether a throttle is asked for or not: a pause would not hold either. */
static void who_ignores_limits_is_warned_of(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->has_stock_brokers = true;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run");
    cli_expect(x, 0, ESTIMATE NO_LIMIT "\nDry run: nothing was changed.\n",
               "warning: foo-0: no throttle or pause holds for its copy to broker 4: like its "
               "leader, broker 1, that is an Apache Kafka broker\n"
               "warning: foo-1: no throttle or pause holds for its copy to broker 4,5,6: like its "
               "leader, broker 1, that is an Apache Kafka broker\n");
    x->cluster->is_stock = true; /* nor are there any limits then */
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run");
    assert_null(strstr(x->err, "holds"));
}

static void operator_is_asked(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN);
    x->typed = "n\n";
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B");
    cli_expect(x, 1, ESTIMATE NO_LIMIT, "Start these moves? [y/N] Nothing was changed.\n");
    assert_int_equal(access(x->rollback, F_OK), -1);
    x->typed = NULL;
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B");
    assert_int_equal(x->exit_code, 2);
    cli_expect_part(x->err, "nobody can be asked here: --yes starts, --dry-run only shows");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    x->typed = "y\n";
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B");
    assert_int_equal(x->exit_code, 0);
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 1);
}

/* Between two steps of another job the way back is the list before its first one. */
static void the_way_back_is_from_before_the_first_step(void **state)
{
    struct cli_fixture *x = *state;
    static const int32_t half[] = {4, 2, 3};
    static const int32_t first[] = {1, 2, 3};
    pthread_mutex_lock(&x->cluster->lock);
    struct fake_partition *p = &x->cluster->topics[0].partitions[1];
    fake_ids_set(&p->replicas, half, 3);
    fake_ids_set(&p->queued, far, 3);
    fake_ids_set(&p->before_steps, first, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    expect_rollback(x, ROLLBACK);
}

static void rollback_file_is_never_replaced(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN);
    FILE *file = fopen(x->rollback, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "exists already and may be the way back from an earlier move");
    cli_expect_part(x->err, "; nothing was changed\n");
    assert_int_equal(cli_count(x, WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS), 0);
    assert_int_equal(access(x->rollback, F_OK), 0); /* the other one's */
}

static void refused_moves_leave_no_rollback_file(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->alter_code = KERR_INVALID_REPLICA_ASSIGNMENT;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 1);
    cli_expect_part(x->err, "klamm: foo-0: INVALID_REPLICA_ASSIGNMENT\n"
                            "klamm: foo-1: INVALID_REPLICA_ASSIGNMENT\n"
                            "2 moves were refused.\n");
    cli_expect_part(x->err, "is removed again.\n");
    assert_int_equal(access(x->rollback, F_OK), -1);
}

/* What moves or waits already with the same target is not sent again; another target is. */
static void only_what_differs_is_sent(void **state)
{
    struct cli_fixture *x = *state;
    cli_move(x, 1, far, 3);
    pthread_mutex_lock(&x->cluster->lock);
    static const int32_t wanted[] = {4, 2, 3};
    fake_ids_set(&x->cluster->topics[0].partitions[0].queued, wanted, 3);
    pthread_mutex_unlock(&x->cluster->lock);
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "Nothing to do: ");
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":1,\"replicas\":[5,2,3]}]}");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes");
    assert_int_equal(x->exit_code, 0);
    /* The way back is the list from before the first move. */
    expect_rollback(x, "{\"version\":1,\"partitions\":["
                       "{\"topic\":\"foo\",\"partition\":1,\"replicas\":[1,2,3],"
                       "\"log_dirs\":[\"any\",\"any\",\"any\"]}]}\n");
    pthread_mutex_lock(&x->cluster->lock);
    assert_int_equal(x->cluster->last_alter.topics_count, 1);
    assert_int_equal(x->cluster->topics[0].partitions[1].replicas.list[0], 5);
    pthread_mutex_unlock(&x->cluster->lock);
}

static void json_is_one_object(void **state)
{
    struct cli_fixture *x = *state;
    cli_plan_file(x, PLAN);
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --dry-run --json");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "{\"estimate\":{\"partitions\":3,\"changes\":2,");
    cli_expect_part(x->out, ",\"warnings\":[]}}\n");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --json --job j1");
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, ",\"warnings\":[]},\"results\":["
                            "{\"topic\":\"foo\",\"partition\":0,\"code\":0,\"is_queued\":false,"
                            "\"message\":null},"
                            "{\"topic\":\"foo\",\"partition\":1,\"code\":0,\"is_queued\":false,"
                            "\"message\":null}],\"job\":\"j1\"}\n");
}

static void submission_can_be_watched(void **state)
{
    struct cli_fixture *x = *state;
    x->cluster->copy_per_poll = 1000;
    cli_plan_file(x, "{\"partitions\":[{\"topic\":\"foo\",\"partition\":2,\"replicas\":[3,2,1]}]}");
    cli_run(x, cli_moves_run, "submit @P --bootstrap-server @B --yes --watch --interval 100");
    pthread_mutex_lock(&x->cluster->lock);
    bool is_moving = fake_is_moving(&x->cluster->topics[0].partitions[2]);
    pthread_mutex_unlock(&x->cluster->lock);
    assert_false(is_moving); /* order alone */
    assert_int_equal(x->exit_code, 0);
    cli_expect_part(x->out, "foo-2  done\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(dry_run_shows_and_changes_nothing),
        CLI_TEST(accepted_moves_are_counted),
        CLI_TEST(rate_is_sent_and_time_is_told),
        CLI_TEST(s13_writes_above_the_rate_are_warned_of),
        CLI_TEST(who_ignores_limits_is_warned_of),
        CLI_TEST(operator_is_asked),
        CLI_TEST(the_way_back_is_from_before_the_first_step),
        CLI_TEST(rollback_file_is_never_replaced),
        CLI_TEST(refused_moves_leave_no_rollback_file),
        CLI_TEST(only_what_differs_is_sent),
        CLI_TEST(json_is_one_object),
        CLI_TEST(submission_can_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
