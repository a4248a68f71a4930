/*
 * Names and addresses on the real loop. Only what every machine knows by itself is asked for; a
 * watchdog timer ends a test that hangs.
 */
#include "env/loop.h"

#include "sim/env/sim.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define WATCHDOG_MS 20000

struct fixture {
    struct env *env;
    struct env_timer watchdog;
    char found[512]; /* "127.0.0.1 ::1 " */
    int32_t count;
    int calls;
    bool is_late;
};

static void on_watchdog(void *arg)
{
    struct fixture *f = arg;
    f->is_late = true;
    loop_stop(f->env);
}

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.count = -1};
    struct loop_config config = {.name = "test"};
    struct errmsg em = {""};
    fixture.env = loop_new(&config, &em);
    assert_non_null(fixture.env);
    env_timer_init(&fixture.watchdog, fixture.env, on_watchdog, &fixture);
    env_timer_start(&fixture.watchdog, WATCHDOG_MS);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    loop_free(f->env);
    return 0;
}

static void on_found(void *arg, const struct slice *addresses, int32_t count)
{
    struct fixture *f = arg;
    f->calls++;
    f->count = count;
    for (int32_t i = 0; i < count; i++) {
        size_t len = strlen(f->found);
        (void)snprintf(f->found + len, sizeof f->found - len, "%.*s ", SLICE_ARG(addresses[i]));
    }
    loop_stop(f->env);
}

static void resolve(struct fixture *f, const char *host)
{
    f->found[0] = 0;
    (void)env_resolve(f->env, host, on_found, f);
    int calls = f->calls;
    loop_run(f->env);
    assert_false(f->is_late);
    assert_int_equal(f->calls, calls + 1);
}

static void literal_address_is_its_own_answer(void **state)
{
    struct fixture *f = *state;
    resolve(f, "127.0.0.1");
    assert_string_equal(f->found, "127.0.0.1 ");
    resolve(f, "::1");
    assert_string_equal(f->found, "::1 ");
}

static void localhost_has_a_loopback_address(void **state)
{
    struct fixture *f = *state;
    resolve(f, "localhost");
    assert_true(strstr(f->found, "127.0.0.1 ") != NULL || strstr(f->found, "::1 ") != NULL);
}

static void what_is_no_name_has_no_address(void **state)
{
    struct fixture *f = *state;
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    resolve(f, longest);
    assert_int_equal(f->count, 0);
}

/* Freeing the loop with a lookup under way is part of the claim. */
static void cancelled_lookup_calls_nobody(void **state)
{
    struct fixture *f = *state;
    env_resolve_cancel(env_resolve(f->env, "localhost", on_found, f));
    env_resolve_cancel(NULL);
    env_timer_start(&f->watchdog, 50);
    loop_run(f->env);
    assert_int_equal(f->calls, 0);
    (void)env_resolve(f->env, "127.0.0.1", on_found, f);
}

static void on_found_in_simulation(void *arg, const struct slice *addresses, int32_t count)
{
    (void)addresses;
    *(int32_t *)arg = count;
}

static void simulator_knows_no_names(void **state)
{
    (void)state;
    struct sim_world *world = sim_world_new(1);
    struct env *env = sim_node_env(sim_node_new(world, "node"));
    int32_t count = -1;
    (void)env_resolve(env, "node", on_found_in_simulation, &count);
    env_resolve_cancel(env_resolve(env, "node", on_found_in_simulation, NULL));
    assert_int_equal(count, -1);
    (void)sim_world_run(world, 10, NULL, NULL);
    assert_int_equal(count, 0);
    sim_world_free(world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(literal_address_is_its_own_answer), TEST(localhost_has_a_loopback_address),
        TEST(what_is_no_name_has_no_address),    TEST(cancelled_lookup_calls_nobody),
        TEST(simulator_knows_no_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
