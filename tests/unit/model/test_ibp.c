/*
 * Levels of inter.broker.protocol.version: their names, and the tables of docs/spec/zookeeper-mode.md
 * section 12 as it prints them.
 */
#include "model/ibp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/check.h"
#include "model/config.h"

static enum ibp parse(const char *text)
{
    enum ibp level = IBP_NEWEST;
    if (ibp_parse(slice_str(text), &level) != 0) {
        fail_msg("'%s' is no level", text);
    }
    return level;
}

static void every_level_has_its_name(void **state)
{
    (void)state;
    for (enum ibp level = IBP_NEWEST + 1; level < IBP_END; level++) {
        assert_int_equal(parse(ibp_name(level)), level);
    }
    assert_string_equal(ibp_name(IBP_NEWEST), "3.9-IV0");
}

static void a_release_is_its_last_level(void **state)
{
    (void)state;
    assert_int_equal(parse("2.2"), IBP_2_2_IV1);
    assert_int_equal(parse("2.4"), IBP_2_4_IV1);
    assert_int_equal(parse("2.7"), IBP_2_7_IV2);
    assert_int_equal(parse("3.7"), IBP_3_7_IV4);
    assert_int_equal(parse("3.9"), IBP_3_9_IV0);
}

static void other_texts_are_no_levels(void **state)
{
    (void)state;
    static const char *const texts[] = {"",         "2",   "2.1",      "2.1-IV2", "2.2-IV2", "2.4-",
                                        "2.4-IV1 ", "4.0", "3.10-IV0", "2.4-iv1", "3.9-IV1", "IBP"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        enum ibp level = IBP_2_8_IV0;
        assert_int_equal(ibp_parse(slice_str(texts[i]), &level), -E_INVALID);
        assert_int_equal(level, IBP_2_8_IV0);
    }
}

/* What the configuration accepts and what is a level are the same. */
static void the_property_accepts_the_levels(void **state)
{
    (void)state;
    const struct config_def *def =
        config_def_at(CONFIG_SCOPE_BROKER, CONFIG_BROKER_INTER_BROKER_PROTOCOL_VERSION);
    struct errmsg em;
    for (enum ibp level = IBP_NEWEST + 1; level < IBP_END; level++) {
        assert_int_equal(config_check(def, slice_str(ibp_name(level)), &em), 0);
    }
    int count = 0;
    for (const char *at = def->allowed; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        enum ibp level;
        assert_int_equal(ibp_parse(slice_of(at, strcspn(at, "|")), &level), 0);
        count++;
    }
    assert_int_equal(count, IBP_END - 1 + 17); /* the releases 2.2 to 3.9 besides */
}

static void features_begin_where_the_table_says(void **state)
{
    (void)state;
    static const struct {
        enum ibp_feature feature;
        const char *first;
        const char *last_without;
    } rows[IBP_FEATURE_END] = {
        {IBP_REASSIGNMENTS, "2.4-IV0", "2.3"},
        {IBP_MOVE_LIMITS, "2.4-IV1", "2.4-IV0"},
        {IBP_FEATURES, "2.7-IV0", "2.6"},
        {IBP_TRUNCATION_ON_FETCH, "2.7-IV1", "2.7-IV0"},
        {IBP_ALTER_PARTITION, "2.7-IV2", "2.7-IV1"},
        {IBP_TOPIC_IDS, "2.8-IV0", "2.7"},
        {IBP_PRODUCER_ID_BLOCKS, "3.0-IV0", "2.8"},
        {IBP_FETCH_BY_ID, "3.1-IV0", "3.0"},
        {IBP_RECOVERY_STATE, "3.2-IV0", "3.1"},
        {IBP_FEATURE_NODE_2, "3.3-IV0", "3.2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(ibp_has(parse(rows[i].first), rows[i].feature));
        assert_false(ibp_has(parse(rows[i].last_without), rows[i].feature));
        assert_true(ibp_has(IBP_NEWEST, rows[i].feature));
    }
}

/* LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown, AlterPartition, Fetch, ListOffsets,
 * OffsetForLeaderEpoch. */
static void calls_have_the_versions_of_the_table(void **state)
{
    (void)state;
    static const struct {
        const char *level;
        int16_t versions[IBP_CALL_END];
    } rows[] = {
        {"2.2-IV0", {2, 1, 5, 2, -1, 10, 4, 2}}, {"2.2", {2, 1, 5, 2, -1, 10, 5, 2}},
        {"2.3-IV0", {2, 1, 5, 2, -1, 10, 5, 2}}, {"2.3", {2, 1, 5, 2, -1, 11, 5, 3}},
        {"2.4-IV0", {3, 1, 5, 2, -1, 11, 5, 3}}, {"2.4", {4, 2, 6, 3, -1, 11, 5, 3}},
        {"2.5", {4, 2, 6, 3, -1, 11, 5, 3}},     {"2.6", {4, 3, 6, 3, -1, 11, 5, 3}},
        {"2.7-IV0", {4, 3, 6, 3, -1, 11, 5, 3}}, {"2.7-IV1", {4, 3, 6, 3, -1, 12, 5, 3}},
        {"2.7", {4, 3, 6, 3, 0, 12, 5, 3}},      {"2.8-IV0", {4, 3, 6, 3, 0, 12, 6, 4}},
        {"2.8", {5, 3, 7, 3, 0, 12, 6, 4}},      {"3.0-IV0", {5, 3, 7, 3, 0, 12, 6, 4}},
        {"3.0", {5, 3, 7, 3, 0, 12, 7, 4}},      {"3.1", {5, 3, 7, 3, 0, 13, 7, 4}},
        {"3.2", {6, 3, 7, 3, 1, 13, 7, 4}},      {"3.3", {6, 3, 7, 3, 2, 13, 7, 4}},
        {"3.4", {7, 4, 8, 3, 2, 13, 7, 4}},      {"3.5-IV0", {7, 4, 8, 3, 3, 14, 8, 4}},
        {"3.5", {7, 4, 8, 3, 3, 15, 8, 4}},      {"3.6", {7, 4, 8, 3, 3, 15, 8, 4}},
        {"3.7-IV3", {7, 4, 8, 3, 3, 15, 8, 4}},  {"3.7", {7, 4, 8, 3, 3, 16, 8, 4}},
        {"3.8", {7, 4, 8, 3, 3, 16, 8, 4}},      {"3.9", {7, 4, 8, 3, 3, 17, 9, 4}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (enum ibp_call call = 0; call < IBP_CALL_END; call++) {
            int16_t version = ibp_version(parse(rows[i].level), call);
            if (version != rows[i].versions[call]) {
                fail_msg("%s: call %d has version %d, not %d", rows[i].level, (int)call, version,
                         rows[i].versions[call]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_has_its_name),
        cmocka_unit_test(a_release_is_its_last_level),
        cmocka_unit_test(other_texts_are_no_levels),
        cmocka_unit_test(the_property_accepts_the_levels),
        cmocka_unit_test(features_begin_where_the_table_says),
        cmocka_unit_test(calls_have_the_versions_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
