/*
 * The controller's fault points (base/fault.h): before each durable step of a move goes out, when all
 * that follows from the steps before has been sent, and after it is stored, before anybody is told.
 * Steps: docs/spec/reassignment.md 6.2 to 6.5. Pure.
 */
#pragma once

#include "base/fault.h"
#include "control/control.h"

#define CONTROLLER_FAULT_POINTS (2 * CONTROL_STEP_COUNT)

/* "before-A1", "after-A1", ...; 0 <= index < CONTROLLER_FAULT_POINTS. A constant. */
const char *controller_fault_name(int32_t index);
/* Passes the points of the steps (bits, as in struct control_write) until the program ends at one. */
bool controller_fault_pass(const struct fault_hook *hook, uint32_t steps, bool is_stored);
