/*
 * Jobs and their pieces as the values of a journal: one line of JSON each. Read back as hostile input:
 * everything is checked, nothing is bent.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "model/job.h"

/* Appends the job without its id, which is in the value's name. */
void cli_job_text_put(const struct model_job *job, struct buf *out);
void cli_job_text_put_piece(const struct model_job_piece *piece, struct buf *out);

/* id and texts of the job are borrowed from arguments and text. */
struct cli_job_text; /* what a read job or piece lives in */
void cli_job_text_free(struct cli_job_text *memory);
int cli_job_text_read(struct slice text, struct slice id, struct model_job *ret_job,
                      struct cli_job_text **ret_memory, struct errmsg *em) MUST_CHECK;
int cli_job_text_read_piece(struct slice text, struct model_job_piece *ret_piece,
                            struct cli_job_text **ret_memory, struct errmsg *em) MUST_CHECK;
