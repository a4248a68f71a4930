/*
 * Assignment algebra. Invariant: adding and removing are subsets of replicas, disjoint. No state.
 */
#include "model/assignment.h"

void assignment_deinit(struct assignment *a)
{
    if (a != NULL) {
        ids_deinit(&a->replicas);
        ids_deinit(&a->adding);
        ids_deinit(&a->removing);
        ids_deinit(&a->original);
    }
}

void assignment_copy(struct assignment *to, const struct assignment *from)
{
    ids_copy(&to->replicas, &from->replicas);
    ids_copy(&to->adding, &from->adding);
    ids_copy(&to->removing, &from->removing);
    ids_copy(&to->original, &from->original);
}

bool assignment_equal(const struct assignment *a, const struct assignment *b)
{
    return ids_equal(&a->replicas, &b->replicas) && ids_equal(&a->adding, &b->adding) &&
           ids_equal(&a->removing, &b->removing);
}

bool assignment_is_reassigning(const struct assignment *a)
{
    return a->adding.count > 0 || a->removing.count > 0;
}

void assignment_origin(const struct assignment *a, struct ids *ret)
{
    ids_minus(ret, &a->replicas, &a->adding);
}

void assignment_target(const struct assignment *a, struct ids *ret)
{
    ids_minus(ret, &a->replicas, &a->removing);
}

bool assignment_undo_target(const struct assignment *a, struct ids *ret)
{
    assignment_origin(a, ret);
    if (a->original.count == 0) {
        return true;
    }
    if (a->original.count != ret->count || !ids_same_set(&a->original, ret)) {
        return false;
    }
    ids_copy(ret, &a->original);
    return true;
}

void assignment_reassign(const struct assignment *a, const struct ids *target,
                         struct assignment *ret)
{
    struct ids origin = {0};
    struct ids leaving = {0};
    assignment_origin(a, &origin);
    ids_minus(&leaving, &origin, target);
    ids_copy(&ret->replicas, target);
    for (int32_t i = 0; i < leaving.count; i++) {
        ids_add(&ret->replicas, leaving.list[i]);
    }
    ids_minus(&ret->adding, &ret->replicas, &origin);
    ids_minus(&ret->removing, &ret->replicas, target);
    ids_clear(&ret->original);
    if (assignment_is_reassigning(ret)) {
        (void)assignment_undo_target(a,
                                     &ret->original); /* either answer is the list to go back to */
    }
    ids_deinit(&origin);
    ids_deinit(&leaving);
}

bool assignment_undoes_to(const struct assignment *a, const struct ids *list)
{
    struct ids undo = {0};
    (void)assignment_undo_target(a, &undo);
    bool is_it = ids_equal(&undo, list);
    ids_deinit(&undo);
    return is_it;
}
