/*
 * What is known of the partitions that a queue outside the controller looks after. Lists of running moves come
 * from the controller, lists at rest from Metadata, which is a little late: an answer that may be older than
 * what is known already is not believed at once. Pure.
 *
 * Invariant: partitions are sorted by topic (bytes) and number, each once.
 */
#pragma once

#include "klamm/klamm.h"
#include "model/assignment.h"

#define CLI_MOVES_FACTS_SETTLE_MS 5000 /* Metadata that contradicts for so long is right */

struct cli_moves_fact {
    char *topic;
    int32_t partition;
    bool exists;
    struct assignment assignment;
    int32_t leader;         /* -1 = none */
    int64_t bytes;          /* -1 = unknown */
    int64_t doubt_since_ms; /* since when Metadata has said otherwise, or may; -1 = it agrees */
    bool is_changed;        /* by the last update */
};

struct cli_moves_facts {
    struct cli_moves_fact *list;
    int32_t count;
    int32_t cap;
};

void cli_moves_facts_deinit(struct cli_moves_facts *facts);
/* Adds the partition when it is not there, with nothing known. All additions come before the first lookup,
 * and end with cli_moves_facts_sort. */
void cli_moves_facts_add(struct cli_moves_facts *facts, const struct klamm_partition_ref *ref);
void cli_moves_facts_sort(struct cli_moves_facts *facts);
/* NULL = it is not looked after. */
struct cli_moves_fact *cli_moves_facts_find(const struct cli_moves_facts *facts, struct slice topic,
                                            int32_t partition);
/* Takes new answers; is_changed tells which assignments, leaders or existence are other than before. */
void cli_moves_facts_update(struct cli_moves_facts *facts, const struct klamm_moves *moves,
                            const struct klamm_topics *topics, int64_t now_ms);
/* The controller has accepted a new target (NULL = a cancel) for the partition. */
void cli_moves_fact_accept(struct cli_moves_fact *fact, const struct ids *target, int64_t now_ms);
