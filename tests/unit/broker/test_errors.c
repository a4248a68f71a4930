/*
 * The table from our codes to Kafka's: the meanings that clients act on.
 */
#include "broker/api/errors.h"

#include "base/check.h"
#include "base/error.h"
#include "model/kerr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void codes_mean_what_the_caller_needs(void **state)
{
    (void)state;
    static const struct {
        enum api_error_kind kind;
        int err;
        int16_t code;
    } rows[] = {
        {API_ERROR_PARTITION, 0, KERR_NONE},
        {API_ERROR_PARTITION, -E_NOT_FOUND, KERR_UNKNOWN_TOPIC_OR_PARTITION},
        {API_ERROR_PARTITION, -E_NOT_LEADER, KERR_NOT_LEADER_OR_FOLLOWER},
        {API_ERROR_PARTITION, -E_FENCED, KERR_FENCED_LEADER_EPOCH},
        {API_ERROR_PARTITION, -E_UNKNOWN_EPOCH, KERR_UNKNOWN_LEADER_EPOCH},
        {API_ERROR_PARTITION, -E_OUT_OF_RANGE, KERR_OFFSET_OUT_OF_RANGE},
        {API_ERROR_PARTITION, -E_ID_MISMATCH, KERR_INCONSISTENT_TOPIC_ID},
        {API_ERROR_APPEND, -E_PRODUCER_FENCED, KERR_INVALID_PRODUCER_EPOCH},
        {API_ERROR_APPEND, -E_OUT_OF_ORDER, KERR_OUT_OF_ORDER_SEQUENCE_NUMBER},
        {API_ERROR_APPEND, -E_NOT_ENOUGH_REPLICAS, KERR_NOT_ENOUGH_REPLICAS},
        {API_ERROR_APPEND, -E_NOT_ENOUGH_REPLICAS_AFTER, KERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND},
        {API_ERROR_APPEND, -E_TIMEOUT, KERR_REQUEST_TIMED_OUT},
        {API_ERROR_APPEND, -E_DISK_FULL, KERR_KAFKA_STORAGE_ERROR},
        {API_ERROR_CONTROL, -E_FENCED, KERR_STALE_CONTROLLER_EPOCH},
        {API_ERROR_CONTROL, -E_STALE, KERR_STALE_BROKER_EPOCH},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(api_error(rows[i].kind, rows[i].err), rows[i].code);
    }
}

static void codes_without_a_meaning_are_unknown_server_errors(void **state)
{
    (void)state;
    assert_int_equal(api_error(API_ERROR_PARTITION, -E_NO_MEMORY), KERR_UNKNOWN_SERVER_ERROR);
    assert_int_equal(api_error(API_ERROR_APPEND, -E_UNKNOWN_EPOCH), KERR_UNKNOWN_SERVER_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_mean_what_the_caller_needs),
        cmocka_unit_test(codes_without_a_meaning_are_unknown_server_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
