/*
 * Facts from two sources of different age: the controller's list is believed at once, Metadata only where it
 * cannot be older than what is known.
 */
#include "cli/moves_facts.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const int32_t before[] = {1, 2, 3};
static const int32_t during[] = {4, 2, 3, 1};
static const int32_t after[] = {4, 2, 3};
static const int32_t coming[] = {4};
static const int32_t going[] = {1};

struct world {
    struct klamm_partition partition;
    struct klamm_topic topic;
    struct klamm_topics topics;
    struct klamm_move move;
    struct klamm_moves moves;
    struct cli_moves_facts facts;
};

static void world_init(struct world *w)
{
    *w = (struct world){.partition = {.leader_id = 2, .replicas = {before, 3}},
                        .topic = {.name = "foo", .partition_count = 1},
                        .move = {.topic = "foo",
                                 .replicas = {during, 4},
                                 .adding = {coming, 1},
                                 .removing = {going, 1}}};
    w->topic.partitions = &w->partition;
    w->topics = (struct klamm_topics){.count = 1, .list = &w->topic};
    w->moves = (struct klamm_moves){.list = &w->move};
    cli_moves_facts_add(&w->facts, &(struct klamm_partition_ref){"foo", 0});
    cli_moves_facts_add(&w->facts, &(struct klamm_partition_ref){"bar", 1});
    cli_moves_facts_add(&w->facts, &(struct klamm_partition_ref){"foo", 0});
    cli_moves_facts_sort(&w->facts);
}

static struct cli_moves_fact *foo(struct world *w)
{
    return cli_moves_facts_find(&w->facts, slice_str("foo"), 0);
}

static void update(struct world *w, int64_t now_ms)
{
    cli_moves_facts_update(&w->facts, &w->moves, &w->topics, now_ms);
}

static void expect(struct world *w, const int32_t *replicas, int32_t count, bool is_changed)
{
    const struct cli_moves_fact *fact = foo(w);
    assert_true(fact->exists);
    assert_int_equal(fact->assignment.replicas.count, count);
    assert_memory_equal(fact->assignment.replicas.list, replicas, (size_t)count * sizeof *replicas);
    assert_int_equal(fact->is_changed, is_changed);
}

static void move_is_followed_to_its_end(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    assert_int_equal(w.facts.count, 2); /* each once */
    assert_null(cli_moves_facts_find(&w.facts, slice_str("foo"), 1));
    update(&w, 0);
    expect(&w, before, 3, true);
    assert_int_equal(foo(&w)->leader, 2);
    assert_false(cli_moves_facts_find(&w.facts, slice_str("bar"), 1)->exists);
    update(&w, 1000);
    expect(&w, before, 3, false);
    w.moves.count = 1;
    update(&w, 2000);
    expect(&w, during, 4, true);
    assert_int_equal(foo(&w)->assignment.adding.count, 1);
    assert_int_equal(foo(&w)->assignment.original.count, 3);
    update(&w, 3000);
    expect(&w, during, 4, false);
    /* It has ended; Metadata still tells of the move. */
    w.moves.count = 0;
    w.partition.replicas = (struct klamm_ids){during, 4};
    update(&w, 4000);
    expect(&w, during, 4, false);
    w.partition.replicas = (struct klamm_ids){after, 3};
    update(&w, 5000);
    expect(&w, after, 3, true);
    assert_int_equal(foo(&w)->assignment.original.count, 0);
    cli_moves_facts_deinit(&w.facts);
}

static void cancel_is_seen_as_one(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    w.moves.count = 1;
    update(&w, 0);
    w.moves.count = 0; /* members of before, in whatever order */
    static const int32_t other_order[] = {2, 3, 1};
    w.partition.replicas = (struct klamm_ids){other_order, 3};
    update(&w, 1000);
    expect(&w, other_order, 3, true);
    cli_moves_facts_deinit(&w.facts);
}

/* A list that is neither end of the move: believed when it stays. */
static void contradiction_is_believed_when_it_stays(void **state)
{
    (void)state;
    struct world w;
    world_init(&w);
    static const int32_t elsewhere[] = {7, 8};
    w.moves.count = 1;
    update(&w, 0);
    w.moves.count = 0;
    w.partition.replicas = (struct klamm_ids){elsewhere, 2};
    update(&w, 1000);
    expect(&w, during, 4, false);
    update(&w, 1000 + CLI_MOVES_FACTS_SETTLE_MS - 1);
    expect(&w, during, 4, false);
    update(&w, 1000 + CLI_MOVES_FACTS_SETTLE_MS);
    expect(&w, elsewhere, 2, true);
    /* The same for a topic that Metadata has lost. */
    w.topic.code = 3;
    update(&w, 20000);
    assert_true(foo(&w)->exists);
    update(&w, 20000 + CLI_MOVES_FACTS_SETTLE_MS);
    assert_false(foo(&w)->exists);
    assert_true(foo(&w)->is_changed);
    cli_moves_facts_deinit(&w.facts);
}

/* What the controller accepted is known before anybody tells it. */
static void accepted_targets_hold_at_once(void **state)
{
    (void)state;
    struct world w;
    struct ids target = {0};
    world_init(&w);
    update(&w, 0);
    ids_set(&target, after, 3);
    cli_moves_fact_accept(foo(&w), &target, 500);
    assert_true(assignment_is_reassigning(&foo(&w)->assignment));
    assert_int_equal(foo(&w)->assignment.original.count, 3);
    cli_moves_fact_accept(foo(&w), NULL, 600);
    expect(&w, before, 3, true); /* as the update left it */
    /* A new order is no move: Metadata's old order is older. */
    static const int32_t reordered[] = {3, 2, 1};
    ids_set(&target, reordered, 3);
    cli_moves_fact_accept(foo(&w), &target, 1000);
    assert_int_equal(foo(&w)->assignment.original.count, 0);
    update(&w, 2000);
    expect(&w, reordered, 3, false);
    w.partition.replicas = (struct klamm_ids){reordered, 3};
    update(&w, 3000);
    expect(&w, reordered, 3, false);
    ids_deinit(&target);
    cli_moves_facts_deinit(&w.facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(move_is_followed_to_its_end),
        cmocka_unit_test(cancel_is_seen_as_one),
        cmocka_unit_test(contradiction_is_believed_when_it_stays),
        cmocka_unit_test(accepted_targets_hold_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
