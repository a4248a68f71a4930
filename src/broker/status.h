/*
 * What /status tells of a broker, gathered into the struct that http/ writes as JSON. Runs on the
 * broker's env.
 */
#pragma once

#include "base/buf.h"
#include "broker/controller/controller.h"

struct replicas;

struct broker_status_input {
    struct replicas *replicas;
    int32_t broker;
    const char *state;
    int64_t epoch;          /* -1 = not registered */
    const char *cluster_id; /* NULL = unknown */
    int32_t controller_id;  /* -1 = none known */
    const struct controller_figures *controller;
};

void broker_status_write(const struct broker_status_input *in, struct buf *out);
