/*
 * Order of timers: by key, then by insertion; removal anywhere.
 */
#include "base/heap.h"

#include "base/check.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NODES 200

static void equal_keys_leave_in_the_order_they_came(void **state)
{
    (void)state;
    struct heap h;
    heap_init(&h);
    struct heap_node nodes[10] = {0};
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        heap_insert(&h, &nodes[i], 5);
    }
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        assert_ptr_equal(&nodes[i], heap_min(&h));
        heap_remove(&h, &nodes[i]);
        assert_false(heap_has(&nodes[i]));
    }
    assert_null(heap_min(&h));
    heap_remove(&h, &nodes[0]); /* in none: nothing happens */
    heap_deinit(&h);
}

static const struct heap_node *smallest(const struct heap_node *nodes)
{
    const struct heap_node *best = NULL;
    for (size_t i = 0; i < NODES; i++) {
        const struct heap_node *n = &nodes[i];
        if (heap_has(n) && (best == NULL || n->key < best->key ||
                            (n->key == best->key && n->order < best->order))) {
            best = n;
        }
    }
    return best;
}

static void the_minimum_is_right_after_any_change(void **state)
{
    (void)state;
    struct prng prng;
    prng_init(&prng, 11);
    struct heap h;
    heap_init(&h);
    struct heap_node nodes[NODES] = {0};
    for (int step = 0; step < 5000; step++) {
        struct heap_node *n = &nodes[prng_below(&prng, NODES)];
        if (heap_has(n)) {
            heap_remove(&h, n);
        } else {
            heap_insert(&h, n, prng_range(&prng, -20, 20));
        }
        assert_ptr_equal(smallest(nodes), heap_min(&h));
    }
    heap_deinit(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_leave_in_the_order_they_came),
        cmocka_unit_test(the_minimum_is_right_after_any_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
