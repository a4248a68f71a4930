/*
 * Rows of running and waiting moves: states, reasons, filters, and what is worked out from sizes where the
 * controller tells nothing.
 */
#include "cli/moves_view.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int32_t all[] = {4, 5, 1, 2};
static const int32_t coming[] = {4, 5};
static const int32_t going[] = {2};
static const struct klamm_broker brokers[] = {{.id = 1}, {.id = 2}, {.id = 4}};
static const struct klamm_cluster cluster = {.broker_count = 3, .brokers = brokers};

static struct klamm_move moving(const char *topic, int32_t partition, int8_t reason)
{
    return (struct klamm_move){.topic = topic,
                               .partition = partition,
                               .replicas = {all, 4},
                               .adding = {coming, 2},
                               .removing = {going, 1},
                               .has_details = true,
                               .job = "j1",
                               .bytes_to_copy = 1000,
                               .bytes_copied = 370,
                               .rate = 10,
                               .eta_ms = 63000,
                               .reason = reason,
                               .since_ms = reason == 0 ? 0 : 1700000000000};
}

static char *reason_of(const struct cli_moves_row *row)
{
    struct buf out;
    buf_init(&out);
    cli_moves_row_put_reason(row, &out);
    char *text = slice_dup(buf_slice(&out));
    buf_deinit(&out);
    return text;
}

static void rows_are_sorted_and_counted(void **state)
{
    (void)state;
    struct klamm_move list[] = {moving("b", 1, 0), moving("b", 2, 10)};
    struct klamm_queued queued[] = {
        {.topic = "a", .partition = 7, .target = {coming, 2}, .job = "j2", .reason = 1},
        {.topic = "b", .partition = 1, .target = {going, 1}, .job = "j1", .is_paused = true}};
    struct klamm_moves moves = {
        .is_klamm = true, .count = 2, .list = list, .queued_count = 2, .queued = queued};
    struct cli_moves_view_input input = {.moves = &moves, .cluster = &cluster};
    struct cli_moves_view view;
    cli_moves_view_init(&view, &input);
    assert_int_equal(view.count, 4);
    assert_int_equal(view.running_count, 2);
    assert_int_equal(view.queued_count, 2);
    assert_int_equal(view.paused_count, 2);
    assert_string_equal(view.rows[0].topic, "a");
    assert_int_equal(view.rows[0].state, CLI_MOVES_QUEUED);
    assert_int_equal(view.rows[1].partition, 1);
    assert_true(view.rows[1].is_running);
    assert_int_equal(view.rows[1].state, CLI_MOVES_COPYING);
    assert_int_equal(view.rows[1].target.count, 3);
    assert_int_equal(view.rows[1].target.list[2], 1);
    assert_int_equal(cli_moves_row_percent(&view.rows[1]), 37);
    assert_false(view.rows[2].is_running);
    assert_int_equal(view.rows[2].state, CLI_MOVES_PAUSED);
    assert_int_equal(view.rows[3].state, CLI_MOVES_PAUSED);
    cli_moves_view_deinit(&view);
}

static void filters_choose_by_name_and_job(void **state)
{
    (void)state;
    struct klamm_partition_ref refs[] = {{"a", -1}, {"b", 2}};
    struct cli_moves_filter filter = {.refs = refs, .ref_count = 2};
    assert_true(cli_moves_filter_has(&filter, "a", 5, NULL));
    assert_true(cli_moves_filter_has(&filter, "b", 2, "j1"));
    assert_false(cli_moves_filter_has(&filter, "b", 1, "j1"));
    filter.job = "j1";
    assert_false(cli_moves_filter_has(&filter, "a", 5, NULL));
    assert_false(cli_moves_filter_has(&filter, "a", 5, "j2"));
    filter.ref_count = 0;
    assert_true(cli_moves_filter_has(&filter, "c", 5, "j1"));
}

/* S15: which broker, and since when. */
static void reasons_name_the_broker_and_the_time(void **state)
{
    (void)state;
    struct klamm_arrival arrivals[] = {{.broker_id = 4}, {.broker_id = 5, .state = 3, .reason = 2}};
    struct klamm_move list[] = {moving("a", 0, 2), moving("b", 0, 6), moving("c", 0, 7),
                                moving("d", 0, 0), moving("e", 0, 77)};
    list[0].arrivals = arrivals;
    list[0].arrival_count = 2;
    list[1].reason_code = 56;
    struct klamm_queued waiting = {
        .topic = "f", .target = {coming, 2}, .job = "", .reason = 2, .since_ms = 1700000000000};
    struct klamm_moves moves = {
        .is_klamm = true, .count = 5, .list = list, .queued_count = 1, .queued = &waiting};
    struct cli_moves_view_input input = {.moves = &moves, .cluster = &cluster};
    static const char *const expected[] = {
        "waiting for broker 5, down since 2023-11-14 22:13:20 UTC",
        "fetch error KAFKA_STORAGE_ERROR since 2023-11-14 22:13:20 UTC",
        "not converging: throttled below the write rate since 2023-11-14 22:13:20 UTC",
        "",
        "unknown reason since 2023-11-14 22:13:20 UTC",
        "waiting for broker 5, down since 2023-11-14 22:13:20 UTC"};
    struct cli_moves_view view;
    cli_moves_view_init(&view, &input);
    assert_int_equal(view.count, 6);
    for (int32_t i = 0; i < 6; i++) {
        char *text = reason_of(&view.rows[i]);
        assert_string_equal(text, expected[i]);
        free(text);
    }
    assert_int_equal(view.rows[0].state, CLI_MOVES_WAITING);
    cli_moves_view_deinit(&view);
}

static void add_sizes(struct cli_disks *disks, struct klamm_log_dirs *dirs,
                      struct klamm_log_dir *dir, int64_t arrived)
{
    static struct klamm_log source = {.topic = "a", .partition = 0, .size = 1000};
    static struct klamm_log copy = {.topic = "a", .partition = 0};
    copy.size = arrived;
    dir[0] = (struct klamm_log_dir){.log_count = 1, .logs = &source};
    dir[1] = (struct klamm_log_dir){.log_count = 1, .logs = &copy};
    dirs[0] = (struct klamm_log_dirs){.count = 1, .list = &dir[0]};
    dirs[1] = (struct klamm_log_dirs){.count = 1, .list = &dir[1]};
    cli_disks_init(disks);
    cli_disks_add(disks, 1, &dirs[0]);
    cli_disks_add(disks, 4, &dirs[1]);
    cli_disks_finish(disks);
}

static void take_sizes(struct cli_disks *disks)
{
    disks->brokers[0].dirs = NULL; /* not on the heap */
    disks->brokers[1].dirs = NULL;
    cli_disks_deinit(disks);
}

static void sizes_stand_in_for_a_controller_that_tells_nothing(void **state)
{
    (void)state;
    struct klamm_move move = moving("a", 0, 0);
    move.has_details = false;
    move.job = NULL;
    move.adding.count = 1;
    struct klamm_moves moves = {.count = 1, .list = &move};
    struct klamm_log_dirs dirs[2];
    struct klamm_log_dir dir[2];
    struct cli_disks disks;
    struct cli_moves_view views[3];
    static const int64_t arrived[] = {100, 300, 700};
    static const int64_t rates[] = {-1, 200, 250}; /* 200, then three parts of it and one of 400 */
    static const int64_t times[] = {-1, 3500, 1200};
    struct cli_moves_view_input input = {
        .moves = &moves, .cluster = &cluster, .disks = &disks, .elapsed_ms = 1000};
    for (int i = 0; i < 3; i++) {
        add_sizes(&disks, dirs, dir, arrived[i]);
        input.earlier = i == 0 ? NULL : &views[i - 1];
        cli_moves_view_init(&views[i], &input);
        take_sizes(&disks);
        assert_int_equal(views[i].rows[0].copied, arrived[i]);
        assert_int_equal(views[i].rows[0].total, 1000);
        assert_int_equal(views[i].rows[0].rate, rates[i]);
        assert_int_equal(views[i].rows[0].eta_ms, times[i]);
        assert_int_equal(views[i].rows[0].state, CLI_MOVES_COPYING);
    }
    for (int i = 0; i < 3; i++) {
        cli_moves_view_deinit(&views[i]);
    }
    /* Broker 5 is not up. */
    move.adding = (struct klamm_ids){coming, 2};
    add_sizes(&disks, dirs, dir, 100);
    input.earlier = NULL;
    cli_moves_view_init(&views[0], &input);
    take_sizes(&disks);
    char *text = reason_of(&views[0].rows[0]);
    assert_string_equal(text, "waiting for broker 5, down");
    assert_int_equal(views[0].rows[0].total, 2000);
    free(text);
    cli_moves_view_deinit(&views[0]);
}

static void percents_do_not_overflow(void **state)
{
    (void)state;
    struct cli_moves_row row = {.copied = INT64_MAX / 2, .total = INT64_MAX};
    assert_int_equal(cli_moves_row_percent(&row), 50);
    row = (struct cli_moves_row){.copied = 10, .total = 10};
    assert_int_equal(cli_moves_row_percent(&row), 99);
    row = (struct cli_moves_row){.copied = 10, .total = -1};
    assert_int_equal(cli_moves_row_percent(&row), 0);
    assert_string_equal(cli_moves_state_name(CLI_MOVES_WAITING), "waiting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_counted),
        cmocka_unit_test(filters_choose_by_name_and_job),
        cmocka_unit_test(reasons_name_the_broker_and_the_time),
        cmocka_unit_test(sizes_stand_in_for_a_controller_that_tells_nothing),
        cmocka_unit_test(percents_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
