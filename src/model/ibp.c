/*
 * The thresholds of docs/spec/zookeeper-mode.md 12.1 and 12.3 as two tables. AlterPartition, which
 * Kafka negotiates, goes by the release that a level promises every broker to run: 0 since 2.7, 1
 * since 3.2, 2 since 3.3, 3 since 3.5. Pure and without state.
 */
#include "model/ibp.h"

#include "base/check.h"

static const char *const names[IBP_END] = {
    [IBP_2_2_IV0] = "2.2-IV0", [IBP_2_2_IV1] = "2.2-IV1", [IBP_2_3_IV0] = "2.3-IV0",
    [IBP_2_3_IV1] = "2.3-IV1", [IBP_2_4_IV0] = "2.4-IV0", [IBP_2_4_IV1] = "2.4-IV1",
    [IBP_2_5_IV0] = "2.5-IV0", [IBP_2_6_IV0] = "2.6-IV0", [IBP_2_7_IV0] = "2.7-IV0",
    [IBP_2_7_IV1] = "2.7-IV1", [IBP_2_7_IV2] = "2.7-IV2", [IBP_2_8_IV0] = "2.8-IV0",
    [IBP_2_8_IV1] = "2.8-IV1", [IBP_3_0_IV0] = "3.0-IV0", [IBP_3_0_IV1] = "3.0-IV1",
    [IBP_3_1_IV0] = "3.1-IV0", [IBP_3_2_IV0] = "3.2-IV0", [IBP_3_3_IV0] = "3.3-IV0",
    [IBP_3_3_IV1] = "3.3-IV1", [IBP_3_3_IV2] = "3.3-IV2", [IBP_3_3_IV3] = "3.3-IV3",
    [IBP_3_4_IV0] = "3.4-IV0", [IBP_3_5_IV0] = "3.5-IV0", [IBP_3_5_IV1] = "3.5-IV1",
    [IBP_3_5_IV2] = "3.5-IV2", [IBP_3_6_IV0] = "3.6-IV0", [IBP_3_6_IV1] = "3.6-IV1",
    [IBP_3_6_IV2] = "3.6-IV2", [IBP_3_7_IV0] = "3.7-IV0", [IBP_3_7_IV1] = "3.7-IV1",
    [IBP_3_7_IV2] = "3.7-IV2", [IBP_3_7_IV3] = "3.7-IV3", [IBP_3_7_IV4] = "3.7-IV4",
    [IBP_3_8_IV0] = "3.8-IV0", [IBP_3_9_IV0] = "3.9-IV0",
};

static const enum ibp features[IBP_FEATURE_END] = {
    [IBP_REASSIGNMENTS] = IBP_2_4_IV0,      [IBP_MOVE_LIMITS] = IBP_2_4_IV1,
    [IBP_FEATURES] = IBP_2_7_IV0,           [IBP_TRUNCATION_ON_FETCH] = IBP_2_7_IV1,
    [IBP_ALTER_PARTITION] = IBP_2_7_IV2,    [IBP_TOPIC_IDS] = IBP_2_8_IV0,
    [IBP_PRODUCER_ID_BLOCKS] = IBP_3_0_IV0, [IBP_FETCH_BY_ID] = IBP_3_1_IV0,
    [IBP_RECOVERY_STATE] = IBP_3_2_IV0,     [IBP_FEATURE_NODE_2] = IBP_3_3_IV0,
};

/* From this level on, that version. */
struct step {
    enum ibp level;
    int16_t version;
};

#define STEPS_MAX 8

/* In rising order; the first holds from the oldest level on. */
static const struct step steps[IBP_CALL_END][STEPS_MAX] = {
    [IBP_CALL_LEADER_AND_ISR] = {{IBP_2_2_IV0, 2},
                                 {IBP_2_4_IV0, 3},
                                 {IBP_2_4_IV1, 4},
                                 {IBP_2_8_IV1, 5},
                                 {IBP_3_2_IV0, 6},
                                 {IBP_3_4_IV0, 7}},
    [IBP_CALL_STOP_REPLICA] = {{IBP_2_2_IV0, 1},
                               {IBP_2_4_IV1, 2},
                               {IBP_2_6_IV0, 3},
                               {IBP_3_4_IV0, 4}},
    [IBP_CALL_UPDATE_METADATA] = {{IBP_2_2_IV0, 5},
                                  {IBP_2_4_IV1, 6},
                                  {IBP_2_8_IV1, 7},
                                  {IBP_3_4_IV0, 8}},
    [IBP_CALL_CONTROLLED_SHUTDOWN] = {{IBP_2_2_IV0, 2}, {IBP_2_4_IV1, 3}},
    [IBP_CALL_ALTER_PARTITION] =
        {{IBP_2_2_IV0, -1}, {IBP_2_7_IV2, 0}, {IBP_3_2_IV0, 1}, {IBP_3_3_IV0, 2}, {IBP_3_5_IV0, 3}},
    [IBP_CALL_FETCH] = {{IBP_2_2_IV0, 10},
                        {IBP_2_3_IV1, 11},
                        {IBP_2_7_IV1, 12},
                        {IBP_3_1_IV0, 13},
                        {IBP_3_5_IV0, 14},
                        {IBP_3_5_IV1, 15},
                        {IBP_3_7_IV4, 16},
                        {IBP_3_9_IV0, 17}},
    [IBP_CALL_LIST_OFFSETS] = {{IBP_2_2_IV0, 4},
                               {IBP_2_2_IV1, 5},
                               {IBP_2_8_IV0, 6},
                               {IBP_3_0_IV1, 7},
                               {IBP_3_5_IV0, 8},
                               {IBP_3_9_IV0, 9}},
    [IBP_CALL_OFFSET_FOR_LEADER_EPOCH] = {{IBP_2_2_IV0, 2}, {IBP_2_3_IV1, 3}, {IBP_2_8_IV0, 4}},
};

static enum ibp resolve(enum ibp level)
{
    CHECK(level >= IBP_NEWEST && level < IBP_END);
    return level == IBP_NEWEST ? IBP_END - 1 : level;
}

/* The release of a name: what comes before "-IV". */
static struct slice release_of(const char *name)
{
    return slice_of(name, strcspn(name, "-"));
}

int ibp_parse(struct slice text, enum ibp *ret_level)
{
    for (enum ibp level = IBP_END - 1; level > IBP_NEWEST; level--) {
        if (slice_equal_str(text, names[level]) || slice_equal(text, release_of(names[level]))) {
            *ret_level = level;
            return 0;
        }
    }
    return -E_INVALID;
}

const char *ibp_name(enum ibp level)
{
    return names[resolve(level)];
}

bool ibp_has(enum ibp level, enum ibp_feature feature)
{
    return resolve(level) >= features[feature];
}

int16_t ibp_version(enum ibp level, enum ibp_call call)
{
    const struct step *found = &steps[call][0];
    for (int i = 1; i < STEPS_MAX && steps[call][i].level != IBP_NEWEST; i++) {
        if (resolve(level) >= steps[call][i].level) {
            found = &steps[call][i];
        }
    }
    return found->version;
}
