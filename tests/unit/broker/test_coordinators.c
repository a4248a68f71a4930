/*
 * FindCoordinator and InitProducerId where no coordinator exists: every version gets an answer that
 * clients survive.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench.h"
#include "model/kerr.h"
#include "wire/find_coordinator.h"
#include "wire/init_producer_id.h"

static void groups_are_told_to_try_again_in_every_version(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    for (int16_t version = 0; version <= 6; version++) {
        struct slice keys[] = {slice_str("g1"), slice_str("g2")};
        struct wire_find_coordinator_request req = {
            .key = slice_str("g"), .coordinator_keys = keys, .coordinator_keys_count = 2};
        const struct wire_find_coordinator_response *resp =
            bench_call(&b, WIRE_KEY_FIND_COORDINATOR, version, &req);
        assert_non_null(resp);
        if (version < 4) {
            assert_int_equal(resp->error_code, KERR_COORDINATOR_NOT_AVAILABLE);
            assert_int_equal(resp->node_id, -1);
            assert_int_equal(resp->host.len, 0);
            assert_int_equal(resp->port, -1);
            continue;
        }
        assert_int_equal(resp->coordinators_count, 2);
        for (int32_t i = 0; i < 2; i++) {
            assert_true(slice_equal(resp->coordinators[i].key, keys[i]));
            assert_int_equal(resp->coordinators[i].error_code, KERR_COORDINATOR_NOT_AVAILABLE);
            assert_int_equal(resp->coordinators[i].node_id, -1);
        }
    }
    bench_stop(&b);
}

static void unknown_key_types_are_invalid(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_start(&b, NULL);
    struct wire_find_coordinator_request req = {.key = slice_str("g"), .key_type = 2};
    const struct wire_find_coordinator_response *resp =
        bench_call(&b, WIRE_KEY_FIND_COORDINATOR, 3, &req);
    assert_int_equal(resp->error_code, KERR_INVALID_REQUEST);
    bench_stop(&b);
}

static void producers_are_refused_without_coordinator_or_controller(void **state)
{
    (void)state;
    static const struct {
        const char *transactional_id;
        int16_t code;
    } rows[] = {
        {"", KERR_INVALID_REQUEST},
        {"tx", KERR_COORDINATOR_NOT_AVAILABLE},
        {NULL, KERR_COORDINATOR_LOAD_IN_PROGRESS}, /* no controller to get ids from */
    };
    struct bench b = {0};
    bench_start(&b, NULL);
    for (int16_t version = 0; version <= 5; version++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct wire_init_producer_id_request req;
            wire_init_producer_id_request_init(&req);
            req.transactional_id = slice_str(rows[i].transactional_id);
            const struct wire_init_producer_id_response *resp =
                bench_call(&b, WIRE_KEY_INIT_PRODUCER_ID, version, &req);
            assert_non_null(resp);
            assert_int_equal(resp->error_code, rows[i].code);
            assert_int_equal(resp->producer_id, -1);
            assert_int_equal(resp->producer_epoch, -1);
        }
    }
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_told_to_try_again_in_every_version),
        cmocka_unit_test(unknown_key_types_are_invalid),
        cmocka_unit_test(producers_are_refused_without_coordinator_or_controller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
