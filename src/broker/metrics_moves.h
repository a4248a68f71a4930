/*
 * The gauges of running moves, which the active controller tells: how far each is and why it does not
 * advance (docs/metrics.md). No state; runs on the broker's env.
 */
#pragma once

#include "base/buf.h"
#include "broker/controller/controller.h"

void broker_metrics_moves_write(const struct controller_figures *figures, struct buf *out);
