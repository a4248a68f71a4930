/*
 * Which of the controller's requests a replica follows: the tables of docs/spec/reassignment.md
 * sections 10.1 and 10.2, from the per-partition checks on. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/uuid.h"

#include <stdbool.h>
#include <stdint.h>

struct replica_claim {
    bool is_hosted;         /* this broker has the partition; else only the request's side counts */
    bool is_offline;        /* ... but in an offline directory */
    struct uuid local_id;   /* of the log; zero = none */
    struct uuid request_id; /* zero = none */
    int32_t local_epoch;    /* -1 = none yet */
    int32_t request_epoch;
    bool is_member;           /* this broker is in RS of the request */
    bool is_kraft_controller; /* such a sender repeats epochs and means it */
};

/* *ret_store_id: the local log takes over the request's topic id. 0: see *ret_apply. Else -E_OFFLINE
 * (56), -E_ID_MISMATCH (103), -E_NOT_FOUND (3), -E_STALE (11). */
int replica_accept_leader_and_isr(const struct replica_claim *claim, bool *ret_apply,
                                  bool *ret_store_id) MUST_CHECK;

/* request_epoch: -1 not checked, -2 the topic is being deleted. 0, -E_OFFLINE (56), -E_FENCED (74). */
int replica_accept_stop(bool is_offline, int32_t local_epoch, int32_t request_epoch) MUST_CHECK;
