/*
 * The rows behind config.h; others ask config_def_at.
 */
#pragma once

#include "model/config.h"

/* config_count(scope) rows, indexed by key. */
const struct config_def *config_table_of(enum config_scope scope);
