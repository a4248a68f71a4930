/*
 * The assignment algebra, by the table of docs/spec/reassignment.md section 4, and the exact undo of
 * design decision 1.
 */
#include "model/assignment.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A list of up to eight ids, closed by 0. */
#define LIST_MAX 8

struct triple {
    int32_t replicas[LIST_MAX + 1];
    int32_t adding[LIST_MAX + 1];
    int32_t removing[LIST_MAX + 1];
};

static void ids_from_list(struct ids *ids, const int32_t *list)
{
    ids_clear(ids);
    for (; *list != 0; list++) {
        ids_add(ids, *list);
    }
}

static void assert_ids_at(const struct ids *ids, const int32_t *list, int line)
{
    struct ids expected = {0};
    ids_from_list(&expected, list);
    if (!ids_equal(&expected, ids)) {
        for (int32_t i = 0; i < ids->count; i++) {
            fprintf(stderr, "%d ", ids->list[i]);
        }
        fprintf(stderr, "is not the list of line %d\n", line);
        fail();
    }
    ids_deinit(&expected);
}
#define assert_ids(ids, ...) assert_ids_at((ids), (int32_t[]){__VA_ARGS__, 0}, __LINE__)

static void assignment_from(struct assignment *a, const struct triple *t)
{
    ids_from_list(&a->replicas, t->replicas);
    ids_from_list(&a->adding, t->adding);
    ids_from_list(&a->removing, t->removing);
}

static void reassign(struct assignment *a, const int32_t *target)
{
    struct ids ids = {0};
    struct assignment next = {0};
    ids_from_list(&ids, target);
    assignment_reassign(a, &ids, &next);
    assignment_deinit(a);
    *a = next;
    ids_deinit(&ids);
}

static void cancel(struct assignment *a)
{
    struct ids target = {0};
    struct assignment next = {0};
    (void)assignment_undo_target(a, &target); /* the derived origin is as good here */
    assignment_reassign(a, &target, &next);
    assignment_deinit(a);
    *a = next;
    ids_deinit(&target);
}

static void the_table_of_the_specification_holds(void **state)
{
    (void)state;
    static const struct {
        struct triple start;
        int32_t target[LIST_MAX + 1];
        struct triple result;
        bool is_reassigning;
    } cases[] = {
        {{{1, 2, 3}, {0}, {0}}, {4, 5, 6}, {{4, 5, 6, 1, 2, 3}, {4, 5, 6}, {1, 2, 3}}, true},
        {{{4, 5, 6, 1, 2, 3}, {4, 5, 6}, {1, 2, 3}},
         {7, 8, 9},
         {{7, 8, 9, 1, 2, 3}, {7, 8, 9}, {1, 2, 3}},
         true},
        {{{7, 8, 9, 1, 2, 3}, {7, 8, 9}, {1, 2, 3}}, {1, 2, 3}, {{1, 2, 3}, {0}, {0}}, false},
        {{{1, 2, 3, 4}, {0}, {0}}, {4, 2, 5, 3}, {{4, 2, 5, 3, 1}, {5}, {1}}, true},
        {{{1, 2, 3}, {0}, {0}}, {3, 1, 2}, {{3, 1, 2}, {0}, {0}}, false},
        {{{1, 2}, {0}, {0}}, {1, 2, 3}, {{1, 2, 3}, {3}, {0}}, true},
        {{{1, 2, 3}, {0}, {0}}, {1, 2}, {{1, 2, 3}, {0}, {3}}, true},
        {{{1, 2, 3}, {0}, {0}}, {3, 4, 2}, {{3, 4, 2, 1}, {4}, {1}}, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct assignment a = {0};
        assignment_from(&a, &cases[i].start);
        reassign(&a, cases[i].target);
        assert_ids_at(&a.replicas, cases[i].result.replicas, (int)i);
        assert_ids_at(&a.adding, cases[i].result.adding, (int)i);
        assert_ids_at(&a.removing, cases[i].result.removing, (int)i);
        assert_int_equal(cases[i].is_reassigning, assignment_is_reassigning(&a));
        assignment_deinit(&a);
    }
}

static void origin_and_target_are_read_from_the_triple(void **state)
{
    (void)state;
    struct assignment a = {0};
    assignment_from(&a, &(struct triple){{3, 4, 2, 1}, {4}, {1}});
    struct ids ids = {0};
    assignment_origin(&a, &ids);
    assert_ids(&ids, 3, 2, 1);
    assignment_target(&a, &ids);
    assert_ids(&ids, 3, 4, 2);
    ids_deinit(&ids);
    assignment_deinit(&a);
}

static void a_cancel_restores_the_order_from_before_the_first_move(void **state)
{
    (void)state;
    struct assignment a = {0};
    assignment_from(&a, &(struct triple){{1, 2, 3}, {0}, {0}});
    reassign(&a, (int32_t[]){3, 4, 2, 0});
    assert_ids(&a.original, 1, 2, 3);
    reassign(&a, (int32_t[]){2, 5, 0}); /* an override keeps it */
    assert_ids(&a.original, 1, 2, 3);
    cancel(&a);
    assert_ids(&a.replicas, 1, 2, 3);
    assert_int_equal(0, a.adding.count + a.removing.count + a.original.count);
    assignment_deinit(&a);
}

static void an_original_with_other_members_is_ignored(void **state)
{
    (void)state;
    struct assignment a = {0};
    assignment_from(&a, &(struct triple){{3, 4, 2, 1}, {4}, {1}});
    struct ids undo = {0};
    assert_true(assignment_undo_target(&a, &undo)); /* none stored */
    assert_ids(&undo, 3, 2, 1);
    ids_from_list(&a.original, (int32_t[]){1, 2, 7, 0});
    assert_false(assignment_undo_target(&a, &undo));
    assert_ids(&undo, 3, 2, 1);
    ids_from_list(&a.original, (int32_t[]){1, 2, 3, 0});
    assert_true(assignment_undo_target(&a, &undo));
    assert_ids(&undo, 1, 2, 3);
    assert_true(assignment_undoes_to(&a, &undo));
    assert_false(assignment_undoes_to(&a, &a.replicas));
    ids_deinit(&undo);
    assignment_deinit(&a);
}

static void equality_is_of_the_triple_and_copies_have_all(void **state)
{
    (void)state;
    struct assignment a = {0};
    struct assignment b = {0};
    assignment_from(&a, &(struct triple){{1, 2, 3}, {3}, {0}});
    ids_from_list(&a.original, (int32_t[]){1, 2, 0});
    assignment_copy(&b, &a);
    assert_true(assignment_equal(&a, &b));
    assert_ids(&b.original, 1, 2);
    ids_clear(&b.original);
    assert_true(assignment_equal(&a, &b));
    ids_clear(&b.adding);
    assert_false(assignment_equal(&a, &b));
    assignment_deinit(&a);
    assignment_deinit(&b);
    assignment_deinit(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_the_specification_holds),
        cmocka_unit_test(origin_and_target_are_read_from_the_triple),
        cmocka_unit_test(a_cancel_restores_the_order_from_before_the_first_move),
        cmocka_unit_test(an_original_with_other_members_is_ignored),
        cmocka_unit_test(equality_is_of_the_triple_and_copies_have_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
