/*
 * Levels of inter.broker.protocol.version: what brokers may say to each other, and what is stored,
 * while some of them run an older release (docs/spec/zookeeper-mode.md section 12).
 *
 * A level decides what is sent and written, never what is understood: every version that the schema
 * knows is accepted at every level. Only ibp_has and ibp_version look inside a level. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* In rising order. */
enum ibp {
    IBP_NEWEST, /* what a zeroed configuration says: the last of the list */
    IBP_2_2_IV0,
    IBP_2_2_IV1,
    IBP_2_3_IV0,
    IBP_2_3_IV1,
    IBP_2_4_IV0,
    IBP_2_4_IV1,
    IBP_2_5_IV0,
    IBP_2_6_IV0,
    IBP_2_7_IV0,
    IBP_2_7_IV1,
    IBP_2_7_IV2,
    IBP_2_8_IV0,
    IBP_2_8_IV1,
    IBP_3_0_IV0,
    IBP_3_0_IV1,
    IBP_3_1_IV0,
    IBP_3_2_IV0,
    IBP_3_3_IV0,
    IBP_3_3_IV1,
    IBP_3_3_IV2,
    IBP_3_3_IV3,
    IBP_3_4_IV0,
    IBP_3_5_IV0,
    IBP_3_5_IV1,
    IBP_3_5_IV2,
    IBP_3_6_IV0,
    IBP_3_6_IV1,
    IBP_3_6_IV2,
    IBP_3_7_IV0,
    IBP_3_7_IV1,
    IBP_3_7_IV2,
    IBP_3_7_IV3,
    IBP_3_7_IV4,
    IBP_3_8_IV0,
    IBP_3_9_IV0,
    IBP_END
};

/* What a level switches on. */
enum ibp_feature {
    IBP_REASSIGNMENTS,       /* 2.4-IV0: moves, in the topic znode and by keys 45 and 46 */
    IBP_MOVE_LIMITS,         /* 2.4-IV1: limits of moves are told to brokers */
    IBP_FEATURES,            /* 2.7-IV0: broker znode 5, /feature enabled */
    IBP_TRUNCATION_ON_FETCH, /* 2.7-IV1: Fetch tells where logs part, no OffsetForLeaderEpoch before */
    IBP_ALTER_PARTITION,    /* 2.7-IV2: leaders ask the controller, no more write the state znode */
    IBP_TOPIC_IDS,          /* 2.8-IV0: topics get ids */
    IBP_PRODUCER_ID_BLOCKS, /* 3.0-IV0: blocks of producer ids come from the controller */
    IBP_FETCH_BY_ID,        /* 3.1-IV0: followers name topics by id */
    IBP_RECOVERY_STATE,     /* 3.2-IV0: a leader after an unclean election is marked */
    IBP_FEATURE_NODE_2,     /* 3.3-IV0: /feature in its second form */
    IBP_FEATURE_END
};

/* Calls between brokers that are sent without asking for versions first. */
enum ibp_call {
    IBP_CALL_LEADER_AND_ISR,
    IBP_CALL_STOP_REPLICA,
    IBP_CALL_UPDATE_METADATA,
    IBP_CALL_CONTROLLED_SHUTDOWN,
    IBP_CALL_ALTER_PARTITION, /* -1 below IBP_ALTER_PARTITION; topics are named by id from 2 on */
    IBP_CALL_FETCH,           /* topics are named by id from 13 on */
    IBP_CALL_LIST_OFFSETS,
    IBP_CALL_OFFSET_FOR_LEADER_EPOCH,
    IBP_CALL_END
};

#define IBP_FETCH_NAMES_MAX           12 /* the newest Fetch that names topics */
#define IBP_ALTER_PARTITION_NAMES_MAX 1  /* ... and the newest AlterPartition */

/* "2.4-IV1", or "2.4" for the last level of that release. -E_INVALID when it is no level. */
int ibp_parse(struct slice text, enum ibp *ret_level) MUST_CHECK;
/* "2.4-IV1"; of IBP_NEWEST the last one's. */
const char *ibp_name(enum ibp level);
bool ibp_has(enum ibp level, enum ibp_feature feature);
int16_t ibp_version(enum ibp level, enum ibp_call call);
