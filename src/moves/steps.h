/*
 * One replica at a time (KIP-435): the lists through which a partition goes from one list to another when
 * every move may bring one new replica at most.
 */
#pragma once

#include "model/ids.h"

/* ret := where the next move leads from `from` on the way to target: target itself when at most one replica
 * is new. Repeated, it reaches target, each list as long as the longer of the two at most. ret must be
 * initialised (zeroed) and not alias. */
void moves_next_step(const struct ids *from, const struct ids *target, struct ids *ret);
