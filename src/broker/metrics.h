/*
 * The metrics of one broker as Prometheus text, named after Kafka's (docs/metrics.md lists them with
 * their definitions; a test compares). Facts are gathered when somebody asks: what runs all the time
 * only adds to plain counters. Runs on the broker's env.
 */
#pragma once

#include "base/buf.h"
#include "broker/controller/controller.h"
#include "broker/replicas/replicas.h"

struct api;

/* Kafka's numbers of the broker's state. */
enum broker_metrics_state {
    BROKER_METRICS_STARTING = 1,
    BROKER_METRICS_RUNNING = 3,
    BROKER_METRICS_STOPPING = 6, /* controlled shutdown */
};

/* Facts that are told one by one: a row of the table each. */
struct broker_metrics_facts {
    int32_t state; /* of broker_metrics_state */
    bool is_registered;
    struct replicas_metrics replicas;
    struct controller_figures controller;
    int32_t connections;
    int32_t dirs_offline;
    /* Filled by broker_metrics_write. */
    int32_t logs_left_out;
    int32_t moves_left_out;
};

struct broker_metrics_input {
    struct replicas *replicas;
    const struct api *api;
    struct broker_metrics_facts facts; /* state, is_registered and controller */
};

/* Partitions that are told one by one; more are left out, and counted. */
#define BROKER_METRICS_LOGS_MAX 2000

void broker_metrics_write(struct broker_metrics_input *in, struct buf *out);
