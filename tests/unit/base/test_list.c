/*
 * Nodes know whether they are in a list.
 */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    int value;
    struct list_node link;
};

static void items_leave_in_the_order_of_the_list(void **state)
{
    (void)state;
    struct list l;
    list_init(&l);
    struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    list_push_back(&l, &items[1].link);
    list_push_back(&l, &items[2].link);
    list_push_front(&l, &items[0].link);
    int expected = 1;
    struct list_node *n;
    list_foreach (n, &l) {
        assert_int_equal(expected++, CONTAINER_OF(n, struct item, link)->value);
    }
    assert_int_equal(3, l.count);
    assert_ptr_equal(&items[0].link, list_pop(&l));
    assert_ptr_equal(&items[1].link, list_first(&l));
    assert_false(list_has(&items[0].link));
    assert_true(list_has(&items[1].link));
}

static void a_node_goes_in_front_of_another(void **state)
{
    (void)state;
    struct list l;
    list_init(&l);
    struct item items[3] = {0};
    list_insert_before(&l, &l.head, &items[2].link); /* the end */
    list_insert_before(&l, &items[2].link, &items[0].link);
    list_insert_before(&l, &items[2].link, &items[1].link);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(&items[i].link, list_pop(&l));
    }
}

static void removing_while_walking_and_twice_is_safe(void **state)
{
    (void)state;
    struct list l;
    list_init(&l);
    struct item items[4] = {0};
    for (int i = 0; i < 4; i++) {
        list_push_back(&l, &items[i].link);
    }
    struct list_node *n;
    struct list_node *next;
    list_foreach_safe (n, next, &l) {
        list_remove(&l, n);
        list_remove(&l, n);
    }
    assert_true(list_is_empty(&l));
    assert_null(list_pop(&l));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_leave_in_the_order_of_the_list),
        cmocka_unit_test(a_node_goes_in_front_of_another),
        cmocka_unit_test(removing_while_walking_and_twice_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
