/*
 * Replicas that stayed on the disk of a broker that was down when they were moved away, or whose
 * controller died before it told the broker (design decision 7). The broker decides, on positive
 * evidence only: the topic's znode shows another topic id, or a replica list without this broker while
 * the partition's state counts on others alone, on two readings 30 s apart, and the present controller
 * has not named the replica. Never from absence: a znode that is missing or cannot be read says nothing,
 * and topics of a metastore that was emptied are not the ones our logs belong to.
 *
 * Runs on the broker's env.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct broker_strays;
struct env;
struct metastore;
struct replicas;

struct broker_strays_config {
    struct env *env;
    struct replicas *replicas;
    int32_t broker_id;
    /* Replicas of topics that are gone were set aside: others of the same names may be ours, which the
     * controller has to name again, for their orders were refused. May be NULL. */
    void (*made_room)(void *arg);
    void *arg;
    /* A line for the log: a replica was set aside. May be NULL. */
    void (*log)(void *arg, const char *line);
    void *log_arg;
};

/* What is looked at. */
struct broker_strays_source {
    struct metastore *metastore; /* borrowed until broker_strays_stop */
    bool is_remade; /* it was emptied: a topic's id is younger than our logs, and says nothing */
};

struct broker_strays *broker_strays_new(const struct broker_strays_config *config);
/* The broker is registered through this session, or another controller speaks: looks soon, and again 30 s
 * later. */
void broker_strays_start(struct broker_strays *s, const struct broker_strays_source *from);
/* The session is lost or the broker stops: what was seen so far is forgotten. NULL is fine. */
void broker_strays_stop(struct broker_strays *s);
/* After the session it was started with is closed. NULL is fine. */
void broker_strays_free(struct broker_strays *s);
