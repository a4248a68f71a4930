/*
 * partition.metadata: the topic id of a partition's folder (docs/spec/log-format.md, 3).
 */
#pragma once

#include "base/uuid.h"
#include "env/env.h"

/* The id in the folder; zero when the file is missing or unreadable, as a crash before its first sync
 * leaves it. -E_UNSUPPORTED: another version. */
int plog_partition_read_id(struct env *env, const char *folder, struct uuid *ret_id) MUST_CHECK;
/* durable: through a temporary file, synced; else a plain write. */
int plog_partition_write_id(struct env *env, const char *folder, struct uuid id,
                            bool durable) MUST_CHECK;
