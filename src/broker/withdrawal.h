/*
 * A broker whose logs may lack acknowledged records (after a power loss, or with a new disk in the place
 * of an old one) leaves the stored in-sync sets before it registers. Else, if the other members are gone
 * by the time it is back, it could be elected with less than what they hold.
 *
 * In each state znode that counts on it, it takes itself out of the ISR, hands back the leadership and
 * raises the leader epoch, as the controller would have done had it seen the broker die; the controller
 * finds the change by the conflict with its next write. Where it is the only member it stays: nobody
 * else is known to have more.
 *
 * Runs on the broker's env.
 */
#pragma once

#include <stdint.h>

struct broker_withdrawal;
struct env;
struct metastore;
struct replicas;

struct broker_withdrawal_config {
    struct env *env;
    struct metastore *metastore;     /* borrowed until the withdrawal is freed */
    const struct replicas *replicas; /* borrowed; they say which partitions are concerned */
    int32_t broker_id;
    void (*done)(void *arg); /* from the loop, once: no state counts on the broker any more; it may
                                free the withdrawal */
    void *arg;
    void (*log)(void *arg, const char *line); /* may be NULL */
    void *log_arg;
};

/* Reads the topics and goes to work. It tries again for as long as the session lives. */
struct broker_withdrawal *broker_withdrawal_new(const struct broker_withdrawal_config *config);
/* At any moment; the session must be closed, or done called, before the loop runs on. NULL is fine. */
void broker_withdrawal_free(struct broker_withdrawal *w);
