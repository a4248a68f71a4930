/*
 * The list of very many moves: it comes in pieces, whole and in order, or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/controller/report.h"
#include "unit/broker/controller/cluster.h"
#include "unit/broker/controller/queue.h"

#define PARTITIONS 1800
#define RUNNING    500

struct listed {
    struct queue_bench q;
    struct arena memory;
    struct control_request request;
    int32_t pieces;
    int32_t running;
    int32_t last; /* partition */
    int16_t error;
    bool is_over;
    struct controller_report *report;
};

static void told(void *arg, const struct control_reply *reply)
{
    struct listed *l = arg;
    assert_false(l->is_over);
    l->pieces++;
    l->error = reply->error;
    l->report = reply->report;
    for (int32_t i = 0; i < reply->count; i++) {
        assert_true(reply->moving[i].partition > l->last);
        l->last = reply->moving[i].partition;
        l->running++;
    }
    if (reply->report != NULL) {
        assert_int_equal(reply->report->count, reply->count);
    }
    l->is_over = !reply->has_more;
}

static void listed_start(struct listed *l, uint64_t seed)
{
    static const struct moves_limits limits = {RUNNING, RUNNING, RUNNING, MOVES_OFF};
    *l = (struct listed){.last = -1};
    queue_start(&l->q, PARTITIONS, seed);
    controller_set_move_limits(queue_controller(&l->q), &limits);
    (void)queue_submit(&l->q, "job");
    cluster_run(l->q.k, 3000);
    arena_init(&l->memory, (size_t)64 << 20);
    l->request = (struct control_request){.kind = CONTROL_LIST_REASSIGNMENTS,
                                          .list = {.wants_all = true, .memory = &l->memory}};
}

static bool is_over(void *arg)
{
    return ((struct listed *)arg)->is_over;
}

/* The queue is being gone through. */
static bool is_under_way(void *arg)
{
    struct listed *l = arg;
    return !list_is_empty(&queue_controller(&l->q)->listings);
}

static void ask(struct listed *l)
{
    controller_request(queue_controller(&l->q), &l->request, told, l);
}

static void listed_wait(struct listed *l)
{
    assert_true(sim_world_run(l->q.k->world, CLUSTER_PATIENCE_MS, is_over, l));
}

static void listed_end(struct listed *l)
{
    queue_end(&l->q);
    arena_deinit(&l->memory);
}

static void all_is_listed(void **state)
{
    (void)state;
    struct listed l;
    listed_start(&l, 91);
    ask(&l);
    listed_wait(&l);
    assert_true(l.pieces > 1);
    assert_int_equal(l.running, RUNNING);
    assert_int_equal(l.report->job_count, 1);
    assert_int_equal(l.report->queued_count, 1);
    assert_int_equal(l.report->queued[0].partitions_count, PARTITIONS - RUNNING);
    for (int32_t i = 0; i < PARTITIONS - RUNNING; i++) {
        assert_int_equal(l.report->queued[0].partitions[i].partition_index, RUNNING + i);
    }
    listed_end(&l);
}

static void without_the_tag_there_is_no_report(void **state)
{
    (void)state;
    struct listed l;
    listed_start(&l, 92);
    l.request.list.memory = NULL;
    ask(&l);
    listed_wait(&l);
    assert_int_equal(l.running, RUNNING);
    assert_null(l.report);
    listed_end(&l);
}

static void named_partitions_come_at_once(void **state)
{
    (void)state;
    struct listed l;
    listed_start(&l, 93);
    struct control_tp tps[] = {{slice_str("t"), PARTITIONS - 1},
                               {slice_str("t"), 0},
                               {slice_str("t"), PARTITIONS - 1},
                               {slice_str("other"), 0}};
    l.request.list.wants_all = false;
    l.request.list.entries = tps;
    l.request.list.count = ARRAY_LEN(tps);
    ask(&l);
    listed_wait(&l);
    assert_int_equal(l.pieces, 1);
    assert_int_equal(l.running, 1);
    assert_int_equal(l.report->queued_count, 1);
    assert_int_equal(l.report->queued[0].partitions_count, 1);
    assert_int_equal(l.report->queued[0].partitions[0].partition_index, PARTITIONS - 1);
    listed_end(&l);
}

static void a_role_that_is_lost_refuses_it(void **state)
{
    (void)state;
    struct listed l;
    listed_start(&l, 94);
    ask(&l);
    struct controller *c = queue_controller(&l.q);
    assert_true(sim_world_run(l.q.k->world, 1000, is_under_way, &l));
    controller_set_broker_epoch(c, -1);
    assert_true(l.is_over);
    assert_int_equal(l.error, KERR_NOT_CONTROLLER);
    listed_end(&l);
}

static void a_controller_that_is_freed_answers_nothing(void **state)
{
    (void)state;
    struct listed l;
    listed_start(&l, 95);
    ask(&l);
    assert_true(sim_world_run(l.q.k->world, 1000, is_under_way, &l));
    listed_end(&l);
    assert_int_equal(l.pieces, 0);
}

static void full_memory_gives_no_report(void **state)
{
    (void)state;
    struct listed l;
    listed_start(&l, 96);
    static const size_t sizes[] = {1, 100, 4000, 100000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct arena small;
        arena_init(&small, sizes[i]);
        l.request.list.memory = &small;
        l.is_over = false;
        l.last = -1;
        ask(&l);
        listed_wait(&l);
        assert_int_equal(l.error, KERR_NONE);
        assert_null(l.report);
        arena_deinit(&small);
    }
    listed_end(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_listed),
        cmocka_unit_test(without_the_tag_there_is_no_report),
        cmocka_unit_test(named_partitions_come_at_once),
        cmocka_unit_test(a_role_that_is_lost_refuses_it),
        cmocka_unit_test(a_controller_that_is_freed_answers_nothing),
        cmocka_unit_test(full_memory_gives_no_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
