/*
 * What is counted about requests, one set an API we serve: how many were taken, how many error codes
 * their answers had, and how long they took from the read that completed them to their answer, waiting
 * included.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct api_figures;

struct api_figures *api_figures_new(void);
void api_figures_free(struct api_figures *f);
/* A request of api_rows[row] has ended. */
void api_figures_note(struct api_figures *f, int32_t row, int64_t us, int32_t error_count);
/* One that nobody serves: its connection is closed. */
void api_figures_note_unknown(struct api_figures *f);
/* Prometheus text. */
void api_figures_write(const struct api_figures *f, struct buf *out);
