/*
 * Bringing a log into memory from what is on disk, after a clean stop or a crash
 * (docs/spec/log-format.md, 4).
 */
#pragma once

#include "plog/plog.h"

/* p is new and empty; its folder may be missing. See plog_open for the errors. */
int plog_recover(struct plog *p, const struct plog_open_args *args, struct errmsg *em) MUST_CHECK;
