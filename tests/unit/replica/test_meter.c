/*
 * The meter follows a steady rate, a change within two windows, and silence.
 */
#include "replica/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* 10,000 bytes each 100 ms. */
static int64_t feed(struct replica_meter *m, int64_t from_ms, int64_t to_ms)
{
    int64_t at = from_ms;
    for (; at < to_ms; at += 100) {
        replica_meter_add(m, 10000, at);
    }
    return at;
}

static void a_steady_rate_is_found(void **state)
{
    (void)state;
    struct replica_meter m = {0};
    int64_t now = feed(&m, 1000000, 1005000);
    for (int i = 0; i < 100; i++) {
        now = feed(&m, now, now + 130);
        assert_in_range(replica_meter_rate(&m, now), 95000, 105000);
    }
}

static void silence_brings_it_down(void **state)
{
    (void)state;
    struct replica_meter m = {0};
    int64_t now = feed(&m, 1000000, 1007000);
    assert_in_range(replica_meter_rate(&m, now + 5000), 1, 60000);
    assert_int_equal(replica_meter_rate(&m, now + 10000), 0);
    assert_int_equal(replica_meter_rate(&m, now + 1000000), 0);
}

static void nothing_is_no_rate_and_much_does_not_overflow(void **state)
{
    (void)state;
    struct replica_meter m = {0};
    assert_int_equal(replica_meter_rate(&m, 5), 0);
    replica_meter_add(&m, INT64_MAX / 4, 10);
    assert_in_range(replica_meter_rate(&m, 5010), INT64_MAX / 4 / 6, INT64_MAX / 4 / 5);
    assert_int_equal(replica_meter_rate(&m, 1), 0); /* a clock that went back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_rate_is_found),
        cmocka_unit_test(silence_brings_it_down),
        cmocka_unit_test(nothing_is_no_rate_and_much_does_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
