/*
 * The table of APIs: sorted, each with a schema that covers what is advertised.
 */
#include "broker/api/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void rows_are_sorted_and_covered_by_schemas(void **state)
{
    (void)state;
    for (int32_t i = 0; i < api_row_count; i++) {
        const struct api_row *row = &api_rows[i];
        const struct wire_api *schema = wire_api_find(row->key);
        assert_non_null(schema);
        assert_non_null(row->fn);
        assert_true(i == 0 || api_rows[i - 1].key < row->key);
        assert_true(wire_api_has_version(schema, row->max_version));
        bool starts_below = row->key == WIRE_KEY_PRODUCE;
        assert_true(starts_below || wire_api_has_version(schema, row->min_version));
    }
}

/* Old librdkafka decides by these what it may use (protocol.md section 4). */
static void minima_that_old_clients_test_are_advertised(void **state)
{
    (void)state;
    static const struct {
        int16_t key;
        int16_t min;
        int16_t max;
    } needed[] = {
        {WIRE_KEY_PRODUCE, 0, 7},          {WIRE_KEY_FETCH, 4, 12},
        {WIRE_KEY_LIST_OFFSETS, 1, 5},     {WIRE_KEY_METADATA, 0, 9},
        {WIRE_KEY_FIND_COORDINATOR, 0, 4}, {WIRE_KEY_INIT_PRODUCER_ID, 0, 3},
        {WIRE_KEY_CREATE_TOPICS, 2, 7},    {WIRE_KEY_DELETE_TOPICS, 1, 6},
        {WIRE_KEY_DESCRIBE_CONFIGS, 1, 4}, {WIRE_KEY_ALTER_CONFIGS, 0, 2},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        bool is_served = false;
        for (int32_t j = 0; j < api_row_count; j++) {
            is_served = is_served || (api_rows[j].key == needed[i].key &&
                                      api_rows[j].min_version <= needed[i].min &&
                                      api_rows[j].max_version >= needed[i].max);
        }
        assert_true(is_served);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_covered_by_schemas),
        cmocka_unit_test(minima_that_old_clients_test_are_advertised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
