/*
 * Configuration: values are refused by name, lookups follow the chain topic -> dynamic -> static ->
 * fallback property -> default.
 */
#include "model/config.h"

#include "base/alloc.h"
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void put(struct config_set *set, const char *name, const char *value)
{
    struct errmsg em = {""};
    int err = config_set_put(set, slice_str(name), slice_str(value), &em);
    assert_string_equal(em.text, "");
    assert_int_equal(err, 0);
}

static void wrong_values_are_refused_with_key_value_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *message;
    } rows[] = {
        {"min.insync.replicas", "0",
         "Invalid value 0 for configuration min.insync.replicas: must be from 1 to 2147483647"},
        {"retention.ms", "soon",
         "Invalid value soon for configuration retention.ms: not a whole number"},
        {"retention.ms", "+1",
         "Invalid value +1 for configuration retention.ms: not a whole number"},
        {"retention.ms", "99999999999999999999",
         "Invalid value 99999999999999999999 for configuration retention.ms: not a whole number"},
        {"unclean.leader.election.enable", "yes",
         "Invalid value yes for configuration unclean.leader.election.enable: must be true or "
         "false"},
        {"cleanup.policy", "delete,shred",
         "Invalid value delete,shred for configuration cleanup.policy: must be of delete|compact"},
        {"cleanup.policy", "",
         "Invalid value  for configuration cleanup.policy: must be of delete|compact"},
        {"leader.replication.throttled.replicas", "0:1,*",
         "Invalid value 0:1,* for configuration leader.replication.throttled.replicas: must be * "
         "or partition:broker,partition:broker,..."},
        {"no.such.key", "1", "Unknown configuration no.such.key"},
    };
    struct config_set set;
    config_set_init(&set, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct errmsg em;
        int err = config_set_put(&set, slice_str(rows[i].name), slice_str(rows[i].value), &em);
        assert_string_equal(em.text, rows[i].message);
        assert_true(err == -E_INVALID || err == -E_NOT_FOUND);
    }
    config_set_deinit(&set);
}

static void topic_value_wins_over_broker_value(void **state)
{
    (void)state;
    struct config_set file;
    struct config_set dynamic;
    struct config_set topic;
    config_set_init(&file, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    config_set_init(&dynamic, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_DYNAMIC_BROKER, &file);
    config_set_init(&topic, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, &dynamic);
    int key = CONFIG_TOPIC_MIN_INSYNC_REPLICAS;
    char number[CONFIG_NUMBER_SIZE];
    const char *text;
    enum config_source source;

    assert_int_equal(config_get_number(&topic, key), 1);
    put(&file, "min.insync.replicas", "2");
    assert_int_equal(config_get_number(&topic, key), 2);
    put(&dynamic, "min.insync.replicas", "3");
    assert_int_equal(config_get_number(&topic, key), 3);
    text = config_get_text(&topic, key, number, &source);
    assert_string_equal(text, "3");
    assert_int_equal(source, CONFIG_SOURCE_DYNAMIC_BROKER);
    put(&topic, "min.insync.replicas", "4");
    text = config_get_text(&topic, key, number, &source);
    assert_string_equal(text, "4");
    assert_int_equal(source, CONFIG_SOURCE_TOPIC);

    config_set_clear(&topic);
    assert_int_equal(config_get_number(&topic, key), 3);
    config_set_deinit(&topic);
    config_set_deinit(&dynamic);
    config_set_deinit(&file);
}

static void throttled_replicas_are_numbers(void **state)
{
    (void)state;
    static const char *const good[] = {"", "*", "0:1", "0:1,2:3", "0:1, 2:3", "2147483647:0"};
    static const char *const bad[] = {"0",     "0:",           ":1",   "0:1,",    ",",   "-1:0",
                                      "0:1:2", "a:1",          "0:b",  "**",      "*,*", " ",
                                      "+1:1",  "0:2147483648", "0 :1", "0:1,,1:1"};
    struct config_set set;
    struct errmsg em;
    config_set_init(&set, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, NULL);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        put(&set, "follower.replication.throttled.replicas", good[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(config_set_put(&set, slice_str("follower.replication.throttled.replicas"),
                                        slice_str(bad[i]), &em),
                         -E_INVALID);
    }
    config_set_deinit(&set);
}

static void values_are_as_long_as_the_protocols_strings(void **state)
{
    (void)state;
    struct config_set set;
    struct errmsg em;
    uint8_t *text = xalloc(32768);
    memset(text, 'x', 32768);
    config_set_init(&set, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    assert_int_equal(config_set_put(&set, slice_str("broker.rack"), slice_of(text, 32767), &em), 0);
    assert_int_equal(config_set_put(&set, slice_str("broker.rack"), slice_of(text, 32768), &em),
                     -E_INVALID);
    assert_non_null(strstr(em.text, "for configuration broker.rack: longer than 32767 bytes"));
    config_set_deinit(&set);
    free(text);
}

/* retention.ms -> log.retention.ms -> log.retention.minutes -> log.retention.hours. */
static void retention_falls_back_over_units(void **state)
{
    (void)state;
    struct config_set file;
    struct config_set topic;
    config_set_init(&file, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    config_set_init(&topic, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, &file);
    int key = CONFIG_TOPIC_RETENTION_MS;

    assert_int_equal(config_get_number(&topic, key), INT64_C(168) * 3600000);
    put(&file, "log.retention.hours", "2");
    assert_int_equal(config_get_number(&topic, key), 2 * 3600000);
    put(&file, "log.retention.minutes", "5");
    assert_int_equal(config_get_number(&topic, key), 5 * 60000);
    put(&file, "log.retention.minutes", "-1");
    assert_int_equal(config_get_number(&topic, key), -1);
    put(&file, "log.retention.ms", "77");
    assert_int_equal(config_get_number(&topic, key), 77);

    char number[CONFIG_NUMBER_SIZE];
    const char *text;
    enum config_source source;
    config_set_remove(&file, CONFIG_BROKER_LOG_RETENTION_MS);
    put(&file, "log.retention.minutes", "3");
    text = config_get_text(&topic, key, number, &source);
    assert_string_equal(text, "180000");
    assert_int_equal(source, CONFIG_SOURCE_STATIC);
    config_set_deinit(&topic);
    config_set_deinit(&file);
}

static void synonyms_are_listed_strongest_first(void **state)
{
    (void)state;
    struct config_set file;
    struct config_set topic;
    struct config_synonym found[CONFIG_SYNONYMS_MAX];
    config_set_init(&file, CONFIG_SCOPE_BROKER, CONFIG_SOURCE_STATIC, NULL);
    config_set_init(&topic, CONFIG_SCOPE_TOPIC, CONFIG_SOURCE_TOPIC, &file);
    put(&topic, "retention.ms", "5");
    put(&file, "log.retention.minutes", "9");
    assert_int_equal(config_synonyms(&topic, CONFIG_TOPIC_RETENTION_MS, found), 3);
    assert_string_equal(found[0].name, "retention.ms");
    assert_string_equal(found[0].value, "5");
    assert_int_equal(found[0].source, CONFIG_SOURCE_TOPIC);
    assert_string_equal(found[1].name, "log.retention.minutes");
    assert_string_equal(found[1].value, "9");
    assert_int_equal(found[1].source, CONFIG_SOURCE_STATIC);
    assert_string_equal(found[2].name, "log.retention.hours");
    assert_string_equal(found[2].value, "168");
    assert_int_equal(found[2].source, CONFIG_SOURCE_DEFAULT);
    config_set_deinit(&topic);
    config_set_deinit(&file);
}

static void lines_split_at_the_first_equals_sign(void **state)
{
    (void)state;
    struct slice key;
    struct slice value;
    struct errmsg em;
    assert_int_equal(config_parse_line(slice_str(" a.b = c=d \r\n"), &key, &value, &em), 0);
    assert_true(slice_equal_str(key, "a.b"));
    assert_true(slice_equal_str(value, "c=d"));
    assert_int_equal(config_parse_line(slice_str("# a=b"), &key, &value, &em), 0);
    assert_int_equal(key.len, 0);
    assert_int_equal(config_parse_line(slice_str("=b"), &key, &value, &em), -E_MALFORMED);
    assert_string_equal(em.text, "\"=b\" is not key=value");
}

static void list_items_are_found_between_commas(void **state)
{
    (void)state;
    assert_true(config_list_has("compact, delete", "delete"));
    assert_false(config_list_has("compact,deleted", "delete"));
    assert_false(config_list_has("", "delete"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_are_refused_with_key_value_and_reason),
        cmocka_unit_test(topic_value_wins_over_broker_value),
        cmocka_unit_test(throttled_replicas_are_numbers),
        cmocka_unit_test(values_are_as_long_as_the_protocols_strings),
        cmocka_unit_test(retention_falls_back_over_units),
        cmocka_unit_test(synonyms_are_listed_strongest_first),
        cmocka_unit_test(lines_split_at_the_first_equals_sign),
        cmocka_unit_test(list_items_are_found_between_commas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
