/*
 * In-sync sets as leaders change them below inter.broker.protocol.version 2.7-IV2: the leader writes
 * the state znode itself, guarded by its version, and names the partition in a notification for the
 * controller (docs/spec/reassignment.md 11.5, zookeeper-mode.md 2.6).
 *
 * Every put that was taken is answered once through replicas_isr_stored, from the loop; those under way
 * when the session goes are answered by broker_isr_store_stop. Runs on the broker's env.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct broker_isr_store;
struct env;
struct metastore;
struct model_partition_state;
struct replicas;

/* replicas is borrowed and must outlive the store. */
struct broker_isr_store *broker_isr_store_new(struct env *env, struct replicas *replicas);
/* From now on through session m; the one before, if any, is closed. */
void broker_isr_store_start(struct broker_isr_store *s, struct metastore *m);
/* Before the session goes, which may be later: what is under way is told as -E_CLOSED, notifications that are
 * due are forgotten, as the next controller reads everything. NULL is fine. */
void broker_isr_store_stop(struct broker_isr_store *s);
/* After the session it was started with is closed. NULL is fine. */
void broker_isr_store_free(struct broker_isr_store *s);
/* False: there is no session, and no answer will come. state->version is the expected one; all is
 * copied. */
bool broker_isr_store_put(struct broker_isr_store *s, struct slice topic, int32_t partition,
                          const struct model_partition_state *state);
