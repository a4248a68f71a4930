/*
 * The names of the fault points, two a step. Invariant: index = 2 * step, + 1 when the step is stored.
 */
#include "broker/controller/fault.h"

#include "base/check.h"

const char *controller_fault_name(int32_t index)
{
    static const char *const names[CONTROLLER_FAULT_POINTS] = {
        [2 * CONTROL_STEP_ASSIGN] = "before-U1",
        [2 * CONTROL_STEP_ASSIGN + 1] = "after-U1",
        [2 * CONTROL_STEP_OVERRIDE] = "before-U1-override",
        [2 * CONTROL_STEP_OVERRIDE + 1] = "after-U1-override",
        [2 * CONTROL_STEP_CANCEL] = "before-U1-cancel",
        [2 * CONTROL_STEP_CANCEL + 1] = "after-U1-cancel",
        [2 * CONTROL_STEP_HAND_OVER] = "before-U3-hand-over",
        [2 * CONTROL_STEP_HAND_OVER + 1] = "after-U3-hand-over",
        [2 * CONTROL_STEP_DROP] = "before-U3-drop",
        [2 * CONTROL_STEP_DROP + 1] = "after-U3-drop",
        [2 * CONTROL_STEP_RAISE] = "before-A1",
        [2 * CONTROL_STEP_RAISE + 1] = "after-A1",
        [2 * CONTROL_STEP_LEAD] = "before-B3",
        [2 * CONTROL_STEP_LEAD + 1] = "after-B3",
        [2 * CONTROL_STEP_SHRINK] = "before-B4",
        [2 * CONTROL_STEP_SHRINK + 1] = "after-B4",
        [2 * CONTROL_STEP_STORE] = "before-B6",
        [2 * CONTROL_STEP_STORE + 1] = "after-B6",
        [2 * CONTROL_STEP_LEGACY] = "before-B7",
        [2 * CONTROL_STEP_LEGACY + 1] = "after-B7",
    };
    CHECK(index >= 0 && index < CONTROLLER_FAULT_POINTS);
    return names[index];
}

bool controller_fault_pass(const struct fault_hook *hook, uint32_t steps, bool is_stored)
{
    for (int32_t i = 0; hook->is_end != NULL && i < CONTROL_STEP_COUNT; i++) {
        if ((steps >> i & 1) != 0 &&
            fault_point(hook, controller_fault_name(2 * i + (is_stored ? 1 : 0)))) {
            return true;
        }
    }
    return false;
}
