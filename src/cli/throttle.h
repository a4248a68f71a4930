/*
 * Whom the throttle of a plan concerns (docs/spec/reassignment.md 14.5): for each topic the replicas
 * that send and those that receive, and the brokers they are on. Pure.
 *
 * Receivers are new replicas alone, so that members in sync are never held back.
 */
#pragma once

#include "cli/plan.h"

#define CLI_THROTTLE_LIST_MAX 32767 /* bytes; the protocol has no longer strings */

struct cli_throttle_topic {
    const char *name; /* borrowed from the plan or from the running moves */
    char *leaders;    /* "0:1,0:2": distinct, in the order of strings; may be "" */
    char *followers;  /* the same */
};

struct cli_throttle {
    int32_t topic_count;
    struct cli_throttle_topic *topics; /* by name (bytes) */
    int32_t broker_count;
    int32_t *brokers; /* distinct, ascending */
    bool copies;      /* some replica receives; otherwise there is nothing to throttle */
};

/* Of the plan's moves and of all that run now. The plan was checked against topics. */
struct cli_throttle *cli_throttle_new(const struct cli_plan *plan,
                                      const struct klamm_topics *topics,
                                      const struct klamm_reassignments *running);
void cli_throttle_free(struct cli_throttle *throttle); /* NULL is fine */
/* The first topic with a list that no server can take, or NULL. */
const struct cli_throttle_topic *cli_throttle_too_long(const struct cli_throttle *throttle);

/* Sorts ascending and drops repeats; returns how many stay. */
int32_t cli_throttle_sort_ids(int32_t *ids, int32_t count);
