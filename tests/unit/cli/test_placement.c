/*
 * Placement: the arithmetic of the specification, distinct brokers, racks.
 */
#include "cli/placement.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct klamm_broker plain[] = {{.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}, {.id = 5}};
static const struct klamm_broker racked[] = {{.id = 1, .rack = "a"}, {.id = 2, .rack = "a"},
                                             {.id = 3, .rack = "b"}, {.id = 4, .rack = "b"},
                                             {.id = 5, .rack = "c"}, {.id = 6, .rack = "c"}};

static void plain_placement_follows_the_formula(void **state)
{
    (void)state;
    struct cli_placement placement = {.brokers = plain, .broker_count = 5, .start = 0, .shift = 0};
    struct cli_dealer dealer;
    cli_dealer_init(&dealer, &placement);
    /* Kafka's documented example for five brokers, factor 3, start and shift 0. */
    static const int32_t expected[10][3] = {{1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 1}, {5, 1, 2},
                                            {1, 3, 4}, {2, 4, 5}, {3, 5, 1}, {4, 1, 2}, {5, 2, 3}};
    for (int32_t p = 0; p < 10; p++) {
        int32_t ids[3];
        cli_dealer_assign(&dealer, p, 3, ids);
        assert_memory_equal(ids, expected[p], sizeof ids);
    }
    cli_dealer_deinit(&dealer);
}

static void one_broker_is_enough_for_factor_one(void **state)
{
    (void)state;
    struct cli_placement placement = {.brokers = plain, .broker_count = 1, .start = 77, .shift = 5};
    struct cli_dealer dealer;
    int32_t id = 0;
    cli_dealer_init(&dealer, &placement);
    cli_dealer_assign(&dealer, 123, 1, &id);
    assert_int_equal(id, 1);
    cli_dealer_deinit(&dealer);
}

/* Any start and shift: brokers are distinct, and with racks no rack is used twice before all are. */
static void replicas_are_spread(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 50; seed++) {
        struct cli_placement placement = {.brokers = racked,
                                          .broker_count = 6,
                                          .uses_racks = true,
                                          .start = seed * 2654435761U,
                                          .shift = UINT32_MAX - seed};
        struct cli_dealer dealer;
        cli_dealer_init(&dealer, &placement);
        assert_int_equal(dealer.rack_count, 3);
        for (int32_t p = 0; p < 20; p++) {
            int32_t ids[6];
            int32_t per_rack[3] = {0};
            bool seen[7] = {false};
            cli_dealer_assign(&dealer, p, 6, ids);
            for (int32_t i = 0; i < 6; i++) {
                assert_false(seen[ids[i]]);
                seen[ids[i]] = true;
                per_rack[(ids[i] - 1) / 2]++;
                if (i == 2) {
                    assert_int_equal(per_rack[0], 1);
                    assert_int_equal(per_rack[1], 1);
                    assert_int_equal(per_rack[2], 1);
                }
            }
        }
        cli_dealer_deinit(&dealer);
    }
}

static void brokers_are_dealt_rack_by_rack(void **state)
{
    (void)state;
    struct cli_placement placement = {.brokers = racked, .broker_count = 6, .uses_racks = true};
    struct cli_dealer dealer;
    static const int32_t expected[] = {0, 2, 4, 1, 3, 5};
    cli_dealer_init(&dealer, &placement);
    assert_memory_equal(dealer.order, expected, sizeof expected);
    cli_dealer_deinit(&dealer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_placement_follows_the_formula),
        cmocka_unit_test(one_broker_is_enough_for_factor_one),
        cmocka_unit_test(replicas_are_spread),
        cmocka_unit_test(brokers_are_dealt_rack_by_rack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
