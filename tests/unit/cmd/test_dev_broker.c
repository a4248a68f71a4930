/*
 * One hosted broker through its life, on simulated envs, with a broker that only pretends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cmd/dev_broker.h"
#include "fake_broker.h"
#include "sim/env/sim.h"

struct fixture {
    struct sim_world *world;
    struct env *host_env;
    struct env *env;
    struct broker_setting wish;
    const char *log_dirs[1];
    struct cmd_dev_broker *broker;
    struct buf log; /* states as they were told */
    int answers;
};

static void on_changed(void *arg, struct cmd_dev_broker *b)
{
    struct fixture *f = arg;
    buf_putf(&f->log, "%s ", cmd_dev_state_name(cmd_dev_broker_status(b).state));
}

static void on_answered(void *arg, struct cmd_dev_broker *b)
{
    struct fixture *f = arg;
    (void)b;
    f->answers++;
}

static void on_said(void *arg, struct cmd_dev_broker *b, const char *line)
{
    struct fixture *f = arg;
    (void)b;
    buf_putf(&f->log, "\"%s\" ", line);
}

static int setup(void **state)
{
    struct fixture *f = xalloc(sizeof *f);
    f->world = sim_world_new(1);
    f->host_env = sim_node_env(sim_node_new(f->world, "host"));
    f->env = sim_node_env(sim_node_new(f->world, "broker"));
    buf_init(&f->log);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    cmd_dev_broker_free(f->broker);
    assert_int_equal(fake_broker_count, 0);
    sim_world_free(f->world);
    buf_deinit(&f->log);
    free(f);
    return 0;
}

static void make(struct fixture *f, const char *wish)
{
    f->wish = (struct broker_setting){.key = wish, .value = ""};
    f->log_dirs[0] = "/d/broker-1";
    struct cmd_dev_broker_config config = {
        .host_env = f->host_env,
        .env = f->env,
        .controller_env = f->env,
        .broker = {.id = 1,
                   .log_dirs = f->log_dirs,
                   .log_dir_count = 1,
                   .http_env = f->env,
                   .http_host = "127.0.0.1",
                   .settings = &f->wish,
                   .setting_count = 1},
        .listener = {.name = BROKER_LISTENER, .host = "127.0.0.1"},
        .events = {.changed = on_changed, .answered = on_answered, .said = on_said, .arg = f}};
    f->broker = cmd_dev_broker_new(&config);
}

static void run(struct fixture *f)
{
    (void)sim_world_run(f->world, 100, NULL, NULL);
}

static void assert_log(struct fixture *f, const char *expected)
{
    char *text = slice_dup(buf_slice(&f->log));
    assert_string_equal(text, expected);
    free(text);
    buf_clear(&f->log);
}

static void starts_stops_and_starts_again_on_the_same_port(void **state)
{
    struct fixture *f = *state;
    make(f, "");
    assert_true(cmd_dev_broker_is_down(f->broker));
    cmd_dev_broker_start(f->broker);
    assert_int_equal(cmd_dev_broker_status(f->broker).state, CMD_DEV_STARTING);
    run(f);
    assert_log(f, "running ");
    assert_int_equal(cmd_dev_broker_status(f->broker).port, 50001);
    assert_int_equal(cmd_dev_broker_status(f->broker).http_port, 60001);
    cmd_dev_broker_ask(f->broker);
    run(f);
    struct cmd_dev_status status = cmd_dev_broker_status(f->broker);
    assert_int_equal(f->answers, 1);
    assert_true(status.is_controller);
    assert_int_equal(status.epoch, 101);
    cmd_dev_broker_stop(f->broker);
    run(f);
    assert_log(f, "stopped ");
    status = cmd_dev_broker_status(f->broker);
    assert_false(status.is_controller);
    assert_int_equal(status.epoch, -1);
    assert_int_equal(fake_broker_count, 0);
    cmd_dev_broker_start(f->broker);
    run(f);
    assert_log(f, "running ");
    assert_int_equal(cmd_dev_broker_status(f->broker).port, 50001);
    cmd_dev_broker_kill(f->broker);
    run(f);
    assert_log(f, "killed ");
}

static void failure_is_told_with_its_reason_and_can_be_started_again(void **state)
{
    struct fixture *f = *state;
    static const char *const wishes[] = {"new=fail", "start=fail", "ready=fatal"};
    static const char *const reasons[] = {"a setting is wrong", "the port is taken",
                                          "the id is in use"};
    for (int i = 0; i < 3; i++) {
        make(f, wishes[i]);
        for (int round = 0; round < 2; round++) {
            cmd_dev_broker_start(f->broker);
            run(f);
            assert_log(f, "failed ");
            assert_string_equal(cmd_dev_broker_status(f->broker).reason, reasons[i]);
            assert_int_equal(fake_broker_count, 0);
        }
        if (i < 2) {
            cmd_dev_broker_free(f->broker);
        }
    }
}

static void lines_for_the_operator_are_passed_on(void **state)
{
    struct fixture *f = *state;
    make(f, "say=line");
    cmd_dev_broker_start(f->broker);
    run(f);
    assert_log(f, "\"a setting is unknown\" running ");
    cmd_dev_broker_kill(f->broker);
    run(f);
    assert_log(f, "killed ");
}

static void starting_broker_can_be_killed(void **state)
{
    struct fixture *f = *state;
    make(f, "");
    cmd_dev_broker_start(f->broker);
    cmd_dev_broker_kill(f->broker); /* before it could become ready */
    run(f);
    assert_log(f, "killed ");
    cmd_dev_broker_start(f->broker);
    run(f);
    assert_log(f, "running ");
    cmd_dev_broker_kill(f->broker);
    run(f);
    assert_log(f, "killed ");
}

static void stop_that_hangs_can_be_ended_by_a_kill(void **state)
{
    struct fixture *f = *state;
    make(f, "stop=never");
    cmd_dev_broker_start(f->broker);
    run(f);
    cmd_dev_broker_stop(f->broker);
    run(f);
    assert_log(f, "running ");
    assert_int_equal(cmd_dev_broker_status(f->broker).state, CMD_DEV_STOPPING);
    cmd_dev_broker_kill(f->broker);
    run(f);
    assert_log(f, "killed ");
}

/* The kill is sent while the news of the stop is on its way: only one of the two is heard. */
static void news_of_an_earlier_incarnation_are_not_heard(void **state)
{
    struct fixture *f = *state;
    make(f, "");
    for (int64_t ms = 0; ms < 12; ms++) {
        cmd_dev_broker_start(f->broker);
        run(f);
        cmd_dev_broker_stop(f->broker);
        (void)sim_world_run(f->world, ms, NULL, NULL);
        if (!cmd_dev_broker_is_down(f->broker)) {
            cmd_dev_broker_kill(f->broker);
            run(f);
            assert_log(f, "running killed ");
        } else {
            run(f);
            assert_log(f, "running stopped ");
        }
        assert_int_equal(fake_broker_count, 0);
    }
}

static void asking_a_broker_that_is_down_is_answered(void **state)
{
    struct fixture *f = *state;
    make(f, "");
    cmd_dev_broker_ask(f->broker);
    run(f);
    assert_int_equal(f->answers, 1);
    assert_int_equal(cmd_dev_broker_status(f->broker).epoch, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(starts_stops_and_starts_again_on_the_same_port, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(failure_is_told_with_its_reason_and_can_be_started_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(lines_for_the_operator_are_passed_on, setup, teardown),
        cmocka_unit_test_setup_teardown(starting_broker_can_be_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(stop_that_hangs_can_be_ended_by_a_kill, setup, teardown),
        cmocka_unit_test_setup_teardown(news_of_an_earlier_incarnation_are_not_heard, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(asking_a_broker_that_is_down_is_answered, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
