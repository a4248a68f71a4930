/*
 * Blocks of producer ids that brokers of an old level take from the znode: each once, whoever takes
 * them, and none past the end.
 */
#include "broker/producer_blocks.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/cluster.h"

struct taken {
    bool is_done;
    int err;
    int64_t start;
    int64_t count;
};

static void taken_done(void *arg, int err, int64_t start, int64_t count)
{
    *(struct taken *)arg = (struct taken){true, err, start, count};
}

static bool taken_is_done(void *arg)
{
    const struct taken *taken = arg;
    return taken->is_done;
}

static struct taken take(struct bench *b, struct broker_producer_blocks *blocks)
{
    struct taken taken = {0};
    assert_int_equal(broker_producer_blocks_take(blocks, taken_done, &taken), 0);
    assert_true(sim_world_run(b->world, BENCH_PATIENCE_MS, taken_is_done, &taken));
    return taken;
}

/* The bench has made the node, empty. */
static void put(struct bench *b, enum metastore_op_kind kind, const char *data)
{
    struct metastore_op op = {.kind = kind,
                              .path = slice_str(METASTORE_PRODUCER_BLOCK),
                              .data = slice_str(data),
                              .version = -1};
    metastore_multi(b->session, &op, 1, bench_root_made, NULL);
    bench_run(b, 10);
}

static void scene_start(struct bench *b, struct broker_producer_blocks **ret_blocks)
{
    bench_start(b, NULL);
    *ret_blocks = broker_producer_blocks_new(BENCH_BROKER);
    broker_producer_blocks_start(*ret_blocks, b->session);
}

static void scene_stop(struct bench *b, struct broker_producer_blocks *blocks)
{
    broker_producer_blocks_stop(blocks);
    bench_run(b, 1000);
    broker_producer_blocks_free(blocks);
    bench_stop(b);
}

static void blocks_follow_each_other_from_nothing_on(void **state)
{
    (void)state;
    struct bench b = {0};
    struct broker_producer_blocks *blocks;
    scene_start(&b, &blocks);
    put(&b, METASTORE_DELETE, "");
    for (int64_t i = 0; i < 3; i++) {
        struct taken taken = take(&b, blocks);
        assert_int_equal(taken.err, 0);
        assert_int_equal(taken.start, i * MODEL_PRODUCER_BLOCK_SIZE);
        assert_int_equal(taken.count, MODEL_PRODUCER_BLOCK_SIZE);
    }
    scene_stop(&b, blocks);
}

/* Two at once: the slower one reads again. */
static void two_takers_get_different_blocks(void **state)
{
    (void)state;
    struct bench b = {0};
    struct broker_producer_blocks *blocks;
    scene_start(&b, &blocks);
    struct broker_producer_blocks *other = broker_producer_blocks_new(BENCH_OTHER);
    broker_producer_blocks_start(other, b.session);
    struct taken first = {0};
    struct taken second = {0};
    assert_int_equal(broker_producer_blocks_take(blocks, taken_done, &first), 0);
    assert_int_equal(broker_producer_blocks_take(other, taken_done, &second), 0);
    assert_true(sim_world_run(b.world, BENCH_PATIENCE_MS, taken_is_done, &first));
    assert_true(sim_world_run(b.world, BENCH_PATIENCE_MS, taken_is_done, &second));
    assert_int_equal(first.start, 0);
    assert_int_equal(second.start, MODEL_PRODUCER_BLOCK_SIZE);
    broker_producer_blocks_stop(other);
    broker_producer_blocks_free(other);
    scene_stop(&b, blocks);
}

static void unreadable_and_used_up_blocks_are_errors(void **state)
{
    (void)state;
    struct bench b = {0};
    struct broker_producer_blocks *blocks;
    scene_start(&b, &blocks);
    put(&b, METASTORE_SET, "junk");
    assert_int_equal(take(&b, blocks).err, -E_MALFORMED);
    put(&b, METASTORE_SET,
        "{\"version\":1,\"broker\":2,\"block_start\":\"0\",\"block_end\":\"9223372036854775000\"}");
    assert_int_equal(take(&b, blocks).err, -E_TOO_LARGE);
    put(&b, METASTORE_SET,
        "{\"version\":1,\"broker\":2,\"block_start\":\"0\",\"block_end\":\"9223372036854774000\"}");
    assert_int_equal(take(&b, blocks).start, 9223372036854774001);
    scene_stop(&b, blocks);
}

static void lost_session_answers_what_is_under_way(void **state)
{
    (void)state;
    struct bench b = {0};
    struct broker_producer_blocks *blocks;
    struct taken taken = {0};
    scene_start(&b, &blocks);
    assert_int_equal(broker_producer_blocks_take(blocks, taken_done, &taken), 0);
    broker_producer_blocks_stop(blocks);
    assert_true(taken.is_done);
    assert_int_equal(taken.err, -E_CLOSED);
    assert_int_equal(broker_producer_blocks_take(blocks, taken_done, &taken), -E_NOT_AVAILABLE);
    scene_stop(&b, blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_follow_each_other_from_nothing_on),
        cmocka_unit_test(two_takers_get_different_blocks),
        cmocka_unit_test(unreadable_and_used_up_blocks_are_errors),
        cmocka_unit_test(lost_session_answers_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
