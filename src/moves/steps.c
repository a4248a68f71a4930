/*
 * Each step puts the first missing replica of the target into the place of the first one that is to go, or
 * behind the last when there is none; the last step is the target itself. Nothing is kept between steps: the
 * next one follows from the list as it is, so a new controller goes on where the old one was.
 * Invariant: a step adds one replica at most. Pure.
 */
#include "moves/steps.h"

void moves_next_step(const struct ids *from, const struct ids *target, struct ids *ret)
{
    int32_t missing = -1;
    int32_t missing_count = 0;
    for (int32_t i = target->count - 1; i >= 0; i--) {
        if (!ids_has(from, target->list[i])) {
            missing = target->list[i];
            missing_count++;
        }
    }
    ids_clear(ret);
    if (missing_count <= 1) {
        ids_copy(ret, target);
        return;
    }
    bool is_placed = false;
    for (int32_t i = 0; i < from->count; i++) {
        bool goes = !is_placed && !ids_has(target, from->list[i]);
        ids_add(ret, goes ? missing : from->list[i]);
        is_placed = is_placed || goes;
    }
    if (!is_placed) {
        ids_add(ret, missing);
    }
}
