/*
 * Sizes of several brokers: found by partition and broker, summed by broker; one that is silent is none.
 */
#include "unit/cli/cli_fixture.h"

#include "cli/disks.h"

static void sizes_are_found_and_room_is_summed(void **state)
{
    struct cli_fixture *x = *state;
    struct cli_session session;
    struct cli_terminal terminal;
    struct klamm_error err = {0};
    struct klamm_cluster *cluster = NULL;
    struct cli_disks disks;
    cli_terminal_init_captured(&terminal);
    cli_session_init(&session, &terminal);
    x->cluster->write_rate = 700;
    x->cluster->listed_dead_id = 6;
    fake_kill(x->cluster, 6);
    struct cli_session_config config = {.bootstrap_servers = x->bootstrap};
    assert_int_equal(cli_session_connect(&session, &config, &err), 0);
    assert_int_equal(klamm_describe_cluster(session.client, &cluster, &err), 0);
    assert_int_equal(cluster->broker_count, 6);
    assert_int_equal(cli_disks_read(session.client, cluster, NULL, &disks, &err), 0);
    struct klamm_partition_ref ref = {"foo", 1};
    struct klamm_partition_ref ghost = {"fop", 1};
    assert_int_equal(cli_disks_size(&disks, &ref, 1), 1000);
    assert_int_equal(cli_disks_size(&disks, &ref, 3), 1000);
    assert_int_equal(cli_disks_size(&disks, &ref, 4), -1);
    assert_int_equal(cli_disks_size(&disks, &ghost, 1), -1);
    const struct cli_disks_broker *broker = cli_disks_find(&disks, 1);
    assert_true(broker->has_answered);
    assert_int_equal(broker->total_bytes, 5000);
    assert_int_equal(broker->usable_bytes, 4000);
    assert_int_equal(broker->offline_count, 0);
    assert_true(broker->is_klamm);
    broker = cli_disks_find(&disks, 6);
    assert_false(broker->has_answered);
    assert_false(broker->is_klamm);
    assert_int_equal(broker->usable_bytes, -1);
    assert_true(strlen(broker->reason) > 0);
    assert_null(cli_disks_find(&disks, 7));
    /* What klamm brokers tell besides; nothing is limited. */
    assert_int_equal(cli_disks_write_rate(&disks, &ref), 700);
    assert_int_equal(cli_disks_write_rate(&disks, &ghost), -1);
    assert_int_equal(cli_disks_throttle_rate(&disks, &ref), -1);
    cli_disks_deinit(&disks);
    klamm_cluster_free(cluster);
    cli_session_deinit(&session);
    cli_terminal_deinit(&terminal);
}

/* An offline directory has no room; sums that do not fit stay at the largest number. */
static void odd_directories_do_no_harm(void **state)
{
    (void)state;
    struct klamm_log logs[] = {{.topic = "foo", .partition = 0, .size = 5},
                               {.topic = "foo", .partition = 1, .size = 9, .is_future = true},
                               {.topic = "foo", .partition = 2, .size = -7}};
    struct klamm_log_dir list[] = {
        {.path = "/a", .total_bytes = INT64_MAX, .usable_bytes = INT64_MAX},
        {.path = "/b", .total_bytes = 10, .usable_bytes = 10, .log_count = 3, .logs = logs},
        {.path = "/c", .code = 56, .total_bytes = 99, .usable_bytes = 99},
        {.path = "/d", .total_bytes = -1, .usable_bytes = -1}};
    struct klamm_log_dirs dirs = {.count = 4, .list = list};
    struct cli_disks disks;
    cli_disks_init(&disks);
    cli_disks_add(&disks, 3, &dirs);
    cli_disks_add_silent(&disks, 4, "gone");
    cli_disks_finish(&disks);
    const struct cli_disks_broker *broker = cli_disks_find(&disks, 3);
    assert_int_equal(broker->total_bytes, INT64_MAX);
    assert_int_equal(broker->usable_bytes, INT64_MAX);
    assert_int_equal(broker->offline_count, 1);
    assert_int_equal(disks.log_count, 2);
    struct klamm_partition_ref negative = {"foo", 2};
    assert_int_equal(cli_disks_size(&disks, &negative, 3), 0);
    disks.brokers[0].dirs = NULL; /* it is not on the heap */
    cli_disks_deinit(&disks);
}

/* Three directories on two disks, of which one is told twice; a broker that tells nothing of disks. */
static void a_shared_disk_counts_once(void **state)
{
    (void)state;
    struct klamm_log_dir list[] = {
        {.path = "/a/1", .total_bytes = 100, .usable_bytes = 60, .disk = 7},
        {.path = "/b", .total_bytes = 100, .usable_bytes = 60, .disk = 8},
        {.path = "/a/2", .total_bytes = 100, .usable_bytes = 60, .disk = 7},
        {.path = "/c/1", .code = 56, .disk = 9},
        {.path = "/c/2", .total_bytes = 1, .usable_bytes = 1, .disk = 9}};
    struct klamm_log_dir silent[] = {{.path = "/a", .total_bytes = 100, .usable_bytes = 60},
                                     {.path = "/b", .total_bytes = 100, .usable_bytes = 60}};
    struct klamm_log_dirs dirs = {.count = 5, .list = list};
    struct klamm_log_dirs others = {.count = 2, .list = silent};
    struct cli_disks disks;
    cli_disks_init(&disks);
    cli_disks_add(&disks, 3, &dirs);
    cli_disks_add(&disks, 4, &others);
    cli_disks_finish(&disks);
    assert_int_equal(cli_disks_find(&disks, 3)->total_bytes, 201);
    assert_int_equal(cli_disks_find(&disks, 3)->usable_bytes, 121);
    assert_int_equal(cli_disks_find(&disks, 4)->total_bytes, 200);
    assert_int_equal(cli_disks_find(&disks, 4)->usable_bytes, 120);
    disks.brokers[0].dirs = disks.brokers[1].dirs = NULL; /* they are not on the heap */
    cli_disks_deinit(&disks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(sizes_are_found_and_room_is_summed),
        cmocka_unit_test(odd_directories_do_no_harm),
        cmocka_unit_test(a_shared_disk_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
