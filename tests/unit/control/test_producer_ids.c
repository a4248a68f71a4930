/*
 * Blocks of producer ids: one write at a time, each block once, also over conflicts and failovers.
 */
#include "unit/control/harness.h"

static void ask(struct world *w, int32_t broker)
{
    struct control_request request = {
        .kind = CONTROL_ALLOCATE_PRODUCER_IDS,
        .allocate_producer_ids = {.broker = broker, .broker_epoch = w->brokers[broker].epoch}};
    world_request(w, &request);
}

static void requests_queue_behind_one_write(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    ask(&w, 1);
    ask(&w, 2);
    assert_int_equal(w.writes.count, 1);
    world_write_some(&w, 1);
    assert_text(&w.reply.text, "1 0 999\n");
    world_run(&w);
    assert_text(&w.reply.text, "2 1000 1999\n");
    world_failover(&w);
    ask(&w, 1);
    world_run(&w);
    assert_text(&w.reply.text, "1 2000 2999\n");
    world_deinit(&w);
}

static void a_block_that_somebody_else_took_is_skipped(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    w.has_block = true;
    w.block = (struct model_producer_block){.broker = 9, .start = 5000, .end = 5999, .version = 3};
    ask(&w, 1);
    world_run(&w);
    assert_text(&w.reply.text, "1 6000 6999\n");
    world_deinit(&w);
}

static void strangers_get_none(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    ask(&w, 5);
    assert_int_equal(w.reply.error, KERR_BROKER_ID_NOT_REGISTERED);
    w.brokers[1].epoch++;
    ask(&w, 1);
    assert_int_equal(w.reply.error, KERR_STALE_BROKER_EPOCH);
    world_deinit(&w);
}

static void the_numbers_end(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 1, "1");
    w.has_block = true;
    w.block = (struct model_producer_block){.end = INT64_MAX - 10};
    world_failover(&w);
    ask(&w, 1);
    assert_int_equal(w.reply.error, KERR_UNKNOWN_SERVER_ERROR);
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_queue_behind_one_write),
        cmocka_unit_test(a_block_that_somebody_else_took_is_skipped),
        cmocka_unit_test(strangers_get_none),
        cmocka_unit_test(the_numbers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
