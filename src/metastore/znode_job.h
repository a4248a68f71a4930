/*
 * Our own nodes of the moves queue, as JSON: /klamm/jobs/ID and its pieces /klamm/jobs/ID/N (model/job.h).
 * The conventions are those of znode.h; a version that is newer than ours is -E_UNSUPPORTED.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "model/job.h"

void metastore_job_encode(struct buf *b, const struct model_job *job);
/* Texts go to a; the id is the caller's to set. */
int metastore_job_decode(struct slice json, struct model_job *ret, struct arena *a,
                         struct errmsg *em) MUST_CHECK;
void metastore_job_piece_encode(struct buf *b, const struct model_job_piece *piece);
/* Everything goes to a, lists too. */
int metastore_job_piece_decode(struct slice json, struct model_job_piece *ret, struct arena *a,
                               struct errmsg *em) MUST_CHECK;
