/*
 * Letting go of a connection: its owner may be freed at once, the env closes it in its own time.
 */
#pragma once

#include "env/env.h"

/* Closes c; nobody is told any more. */
void net_abandon(struct env_conn *c);
