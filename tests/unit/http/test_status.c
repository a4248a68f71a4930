/*
 * /status: whole texts.
 */
#include "http/status.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_json(const struct http_status *s, const char *expected)
{
    struct buf out;
    buf_init(&out);
    http_status_write(s, &out);
    assert_false(buf_failed(&out));
    buf_put_u8(&out, 0);
    assert_string_equal((const char *)out.ptr, expected);
    buf_deinit(&out);
}

static void what_is_unknown_is_null(void **state)
{
    (void)state;
    struct http_status s = {.broker = 3,
                            .state = "starting",
                            .broker_epoch = -1,
                            .controller = -1,
                            .controller_epoch = -1};
    assert_json(&s, "{\"broker\":3,\"state\":\"starting\",\"broker_epoch\":null,"
                    "\"cluster_id\":null,\"controller\":null,\"is_controller\":false,"
                    "\"controller_epoch\":null,\"partitions\":{\"hosted\":0,\"led\":0,"
                    "\"followed\":0,\"offline\":0,\"failed\":0,\"under_replicated\":0,"
                    "\"under_min_isr\":0,\"at_min_isr\":0,\"reassigning\":0,\"max_lag\":0},"
                    "\"log_dirs\":[],\"moves\":{\"count\":null,\"queued\":null,\"running\":[]},"
                    "\"jobs\":{\"count\":null,\"listed\":[]},"
                    "\"left_alone\":{\"count\":null,\"listed\":[]}}\n");
}

static void everything_known_is_told(void **state)
{
    (void)state;
    struct http_status_replica adding[] = {{4, "copying", 123}, {5, "unknown", -1}};
    struct http_status_move move = {.topic = "orders",
                                    .partition = 7,
                                    .age_ms = 5000,
                                    .bytes_to_copy = 1000,
                                    .bytes_copied = 877,
                                    .rate = -1,
                                    .eta_ms = 60000,
                                    .reason = "target down",
                                    .reason_age_ms = 10,
                                    .adding = adding,
                                    .adding_count = 2};
    struct http_status_dir dirs[] = {
        {.path = "/a \"b\"",
         .total_bytes = INT64_MAX,
         .usable_bytes = 5,
         .log_bytes = 9,
         .log_count = 2},
        {.path = "/c", .is_offline = true, .total_bytes = -1, .usable_bytes = -1}};
    struct http_status s = {.broker = 1,
                            .state = "running",
                            .broker_epoch = 77,
                            .cluster_id = "abc",
                            .controller = 1,
                            .is_controller = true,
                            .controller_epoch = 4,
                            .hosted = 10,
                            .led = 4,
                            .followed = 5,
                            .offline = 1,
                            .failed = 2,
                            .under_replicated = 3,
                            .under_min_isr = 1,
                            .at_min_isr = 2,
                            .reassigning = 1,
                            .max_lag = 99,
                            .dirs = dirs,
                            .dir_count = (int32_t)ARRAY_LEN(dirs),
                            .move_count = 2000,
                            .queued = 5,
                            .moves = &move,
                            .move_listed = 1};
    assert_json(
        &s, "{\"broker\":1,\"state\":\"running\",\"broker_epoch\":77,"
            "\"cluster_id\":\"abc\",\"controller\":1,\"is_controller\":true,"
            "\"controller_epoch\":4,\"partitions\":{\"hosted\":10,\"led\":4,\"followed\":5,"
            "\"offline\":1,\"failed\":2,\"under_replicated\":3,\"under_min_isr\":1,"
            "\"at_min_isr\":2,\"reassigning\":1,\"max_lag\":99},\"log_dirs\":[{\"path\":"
            "\"/a \\\"b\\\"\",\"is_offline\":false,\"total_bytes\":9223372036854775807,"
            "\"usable_bytes\":5,\"log_bytes\":9,\"logs\":2},{\"path\":\"/c\",\"is_offline\":true,"
            "\"total_bytes\":null,\"usable_bytes\":null,\"log_bytes\":0,\"logs\":0}],\"moves\":{"
            "\"count\":2000,\"queued\":5,\"running\":[{\"topic\":\"orders\",\"partition\":7,\"age_"
            "ms\":5000,"
            "\"bytes_to_copy\":1000,\"bytes_copied\":877,\"rate\":null,\"eta_ms\":60000,"
            "\"reason\":\"target down\",\"reason_age_ms\":10,\"adding\":[{\"broker\":4,"
            "\"state\":\"copying\",\"lag_bytes\":123},{\"broker\":5,\"state\":\"unknown\","
            "\"lag_bytes\":null}]}]},\"jobs\":{\"count\":0,\"listed\":[]},"
            "\"left_alone\":{\"count\":0,\"listed\":[]}}\n");
}

static void jobs_and_what_is_left_alone_are_told(void **state)
{
    (void)state;
    struct http_status_job jobs[] = {{.id = "job-1",
                                      .state = "running",
                                      .submitted_by = "User:\xff",
                                      .age_ms = 9000,
                                      .total = 15,
                                      .queued = 1,
                                      .running = 2,
                                      .paused = 3,
                                      .done = 4,
                                      .cancelled = 5,
                                      .bytes_to_copy = 1000,
                                      .bytes_copied = 400,
                                      .rate = 60,
                                      .eta_ms = 10000,
                                      .throttle = 70},
                                     {.id = "job-2",
                                      .state = "paused",
                                      .submitted_by = "",
                                      .total = 1,
                                      .paused = 1,
                                      .rate = -1,
                                      .eta_ms = -1,
                                      .throttle = -1,
                                      .reason = "paused",
                                      .reason_age_ms = 8}};
    struct http_status_held held[] = {
        {"orders", 0, "/brokers/topics/orders/partitions/0/state", "refused", 61000},
        {NULL, -1, NULL, "a write failed", 0}};
    struct http_status s = {.state = "running",
                            .is_controller = true,
                            .open_jobs = 101,
                            .jobs = jobs,
                            .job_listed = (int32_t)ARRAY_LEN(jobs),
                            .held_count = 2001,
                            .held = held,
                            .held_listed = (int32_t)ARRAY_LEN(held)};
    struct buf out;
    buf_init(&out);
    http_status_write(&s, &out);
    buf_put_u8(&out, 0);
    const char *told = strstr((const char *)out.ptr, "\"jobs\"");
    assert_non_null(told);
    assert_string_equal(
        told, "\"jobs\":{\"count\":101,\"listed\":["
              "{\"id\":\"job-1\",\"state\":\"running\",\"submitted_by\":\"User:?\",\"age_ms\":9000,"
              "\"moves\":{\"total\":15,\"queued\":1,\"running\":2,\"paused\":3,\"done\":4,"
              "\"cancelled\":5},\"bytes_to_copy\":1000,\"bytes_copied\":400,\"rate\":60,"
              "\"eta_ms\":10000,\"throttle\":70,\"reason\":null,\"reason_age_ms\":0},"
              "{\"id\":\"job-2\",\"state\":\"paused\",\"submitted_by\":\"\",\"age_ms\":0,"
              "\"moves\":{\"total\":1,\"queued\":0,\"running\":0,\"paused\":1,\"done\":0,"
              "\"cancelled\":0},\"bytes_to_copy\":0,\"bytes_copied\":0,\"rate\":null,"
              "\"eta_ms\":null,\"throttle\":null,\"reason\":\"paused\",\"reason_age_ms\":8}]},"
              "\"left_alone\":{\"count\":2001,\"listed\":[{\"topic\":\"orders\","
              "\"partition\":0,\"path\":\"/brokers/topics/orders/partitions/0/state\","
              "\"reason\":\"refused\",\"age_ms\":61000},{\"topic\":null,\"partition\":null,"
              "\"path\":null,\"reason\":\"a write failed\",\"age_ms\":0}]}}\n");
    buf_deinit(&out);
}

/* A path may be any bytes; JSON may not. */
static void a_path_that_is_no_text_shows_question_marks(void **state)
{
    (void)state;
    struct http_status_dir dir = {.path = "/\xff\xfe/x"};
    struct http_status s = {.state = "running", .dirs = &dir, .dir_count = 1};
    struct buf out;
    buf_init(&out);
    http_status_write(&s, &out);
    assert_false(buf_failed(&out));
    buf_put_u8(&out, 0);
    assert_non_null(strstr((const char *)out.ptr, "\"path\":\"/?"
                                                  "?/x\""));
    buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unknown_is_null),
        cmocka_unit_test(everything_known_is_told),
        cmocka_unit_test(jobs_and_what_is_left_alone_are_told),
        cmocka_unit_test(a_path_that_is_no_text_shows_question_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
