/*
 * What /status tells of a broker.
 */
#include "broker/status.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"

static struct controller_job_figures some_job = {.id = "j",
                                                 .submitted_by = "User:a",
                                                 .state = MOVES_QUEUED,
                                                 .age_ms = 3,
                                                 .total = 1,
                                                 .throttle = 9,
                                                 .reason = MOVES_REASON_SLOT,
                                                 .reason_age_ms = 2};
static struct controller_held_figures some_held = {.topic = (char[]){"logs"},
                                                   .partition = -1,
                                                   .path = (char[]){"/brokers/topics/logs"},
                                                   .reason = (char[]){"refused"},
                                                   .age_ms = 42};

static void a_broker_tells_its_partitions_and_directories(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    bench_lead(&b);
    size_t bytes = bench_records(&b, 3).len;
    bench_append(&b, 3);
    struct controller_move_figures move = {.topic = "orders",
                                           .partition = 2,
                                           .rate = -1,
                                           .eta_ms = -1,
                                           .reason = MOVES_REASON_TARGET_DOWN,
                                           .replicas = {{4, MOVES_REPLICA_DOWN, 77}},
                                           .replica_count = 1};
    struct controller_figures controller = {.epoch = 5,
                                            .is_active = true,
                                            .cluster = {.moves = 2, .held = 7},
                                            .open_jobs = 5,
                                            .jobs = &some_job,
                                            .job_count = 1,
                                            .held = &some_held,
                                            .held_count = 1,
                                            .queued = 3,
                                            .moves = &move,
                                            .move_count = 1};
    struct broker_status_input in = {.replicas = b.replicas,
                                     .broker = 1,
                                     .state = "running",
                                     .epoch = 7,
                                     .cluster_id = BENCH_CLUSTER_ID,
                                     .controller_id = 1,
                                     .controller = &controller};
    struct buf out;
    buf_init(&out);
    broker_status_write(&in, &out);
    assert_false(buf_failed(&out));
    char *text = slice_dup(buf_slice(&out));
    char *parts[] = {
        xasprintf("{\"broker\":1,\"state\":\"running\",\"broker_epoch\":7,\"cluster_id\":\"%s\","
                  "\"controller\":1,\"is_controller\":true,\"controller_epoch\":5,",
                  BENCH_CLUSTER_ID),
        xasprintf("\"partitions\":{\"hosted\":1,\"led\":1,\"followed\":0,\"offline\":0,"),
        xasprintf("{\"path\":\"/data/a\",\"is_offline\":false,"),
        xasprintf("\"log_bytes\":%zu,\"logs\":1}", bytes),
        xasprintf("\"log_bytes\":0,\"logs\":0}"),
        xasprintf("\"moves\":{\"count\":2,\"queued\":3,\"running\":[{\"topic\":\"orders\","
                  "\"partition\":2,"),
        xasprintf("\"reason\":\"target down\",\"reason_age_ms\":0,\"adding\":[{\"broker\":4,"
                  "\"state\":\"down\",\"lag_bytes\":77}]}]}"),
        xasprintf("\"jobs\":{\"count\":5,\"listed\":[{\"id\":\"j\",\"state\":\"queued\","
                  "\"submitted_by\":\"User:a\",\"age_ms\":3,\"moves\":{\"total\":1,"),
        xasprintf("\"throttle\":9,\"reason\":\"waiting for a slot\",\"reason_age_ms\":2}]}"),
        xasprintf("\"left_alone\":{\"count\":7,\"listed\":[{\"topic\":\"logs\",\"partition\":null,"
                  "\"path\":\"/brokers/topics/logs\",\"reason\":\"refused\","
                  "\"age_ms\":42}]}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (strstr(text, parts[i]) == NULL) {
            assert_string_equal(text, parts[i]);
        }
        free(parts[i]);
    }
    free(text);
    buf_deinit(&out);
    bench_stop(&b);
}

static void a_broker_that_starts_knows_little(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct controller_figures controller = {.epoch = -1};
    struct broker_status_input in = {.replicas = b.replicas,
                                     .broker = 1,
                                     .state = "starting",
                                     .epoch = -1,
                                     .controller_id = -1,
                                     .controller = &controller};
    struct buf out;
    buf_init(&out);
    broker_status_write(&in, &out);
    static const char start[] =
        "{\"broker\":1,\"state\":\"starting\",\"broker_epoch\":null,\"cluster_id\":null,"
        "\"controller\":null,\"is_controller\":false,\"controller_epoch\":null,";
    assert_true(out.len > sizeof start);
    assert_memory_equal(out.ptr, start, sizeof start - 1);
    buf_deinit(&out);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broker_tells_its_partitions_and_directories),
        cmocka_unit_test(a_broker_that_starts_knows_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
