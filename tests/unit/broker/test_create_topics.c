/*
 * CreateTopics over the wire, on a broker with its controller.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "auth/acl.h"
#include "cluster.h"
#include "model/config.h"
#include "model/kerr.h"
#include "wire/delete_topics.h"
#include "wire/describe_configs.h"

static const struct wire_create_topics_response *
create(struct cluster *c, int16_t version, struct wire_create_topics_request_topics *topics,
       int32_t count)
{
    struct wire_create_topics_request req = {
        .topics = topics, .topics_count = count, .timeout_ms = 10000};
    const struct wire_create_topics_response *resp =
        cluster_call_v(c, cluster_controller(c), WIRE_KEY_CREATE_TOPICS, version, &req);
    assert_non_null(resp);
    assert_int_equal(resp->topics_count, count);
    return resp;
}

static struct wire_create_topics_request_topics topic_of(const char *name)
{
    return (struct wire_create_topics_request_topics){
        .name = slice_str(name), .num_partitions = -1, .replication_factor = -1};
}

static void every_version_creates_with_the_defaults(void **state)
{
    (void)state;
    static const struct broker_setting settings[] = {{"num.partitions", "3"}};
    struct cluster c = {.settings = settings, .setting_count = 1};
    cluster_start(&c, 1);
    for (int16_t version = 2; version <= 7; version++) {
        char name[8];
        (void)snprintf(name, sizeof name, "t%d", version);
        struct wire_create_topics_request_topics topic = topic_of(name);
        const struct wire_create_topics_response_topics *out =
            &create(&c, version, &topic, 1)->topics[0];
        assert_true(slice_equal_str(out->name, name));
        assert_int_equal(out->error_code, KERR_NONE);
        assert_int_equal(uuid_is_zero(out->topic_id), version < 7);
        assert_int_equal(out->num_partitions, version >= 5 ? 3 : -1);
        assert_int_equal(out->replication_factor, version >= 5 ? 1 : -1);
        assert_int_equal(out->configs_count, version >= 5 ? config_count(CONFIG_SCOPE_TOPIC) : -1);
        cluster_run(&c, 1000);
        assert_non_null(cluster_partition(&c, 1, name, 2));
    }
    cluster_stop(&c);
}

static void refused_topics_say_why_and_leave_the_others_alone(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    struct wire_create_topics_request_topics_configs wrong = {.name = slice_str("retention.ms"),
                                                              .value = slice_str("soon")};
    struct wire_create_topics_request_topics_configs null = {.name = slice_str("retention.ms")};
    struct wire_create_topics_request_topics topics[] = {
        topic_of("good"),  topic_of("a b"),   topic_of("config"), topic_of("null"),
        topic_of("twice"), topic_of("twice"), topic_of("factor"),
    };
    topics[2].configs = &wrong;
    topics[2].configs_count = 1;
    topics[3].configs = &null;
    topics[3].configs_count = 1;
    topics[6].replication_factor = 2;
    static const int16_t codes[] = {
        KERR_NONE,
        KERR_INVALID_TOPIC_EXCEPTION,
        KERR_INVALID_CONFIG,
        KERR_INVALID_CONFIG,
        KERR_INVALID_REQUEST,
        KERR_INVALID_REQUEST,
        KERR_INVALID_REPLICATION_FACTOR,
    };
    const struct wire_create_topics_response *resp = create(&c, 7, topics, ARRAY_LEN(topics));
    for (size_t i = 0; i < ARRAY_LEN(topics); i++) {
        assert_int_equal(resp->topics[i].error_code, codes[i]);
        assert_true(slice_equal(resp->topics[i].name, topics[i].name));
    }
    assert_true(
        slice_equal_str(resp->topics[2].error_message,
                        "Invalid value soon for configuration retention.ms: not a whole number"));
    cluster_run(&c, 1000);
    assert_non_null(cluster_partition(&c, 1, "good", 0));
    assert_int_equal(create(&c, 7, topics, 1)->topics[0].error_code, KERR_TOPIC_ALREADY_EXISTS);
    cluster_stop(&c);
}

static void settings_and_placement_are_kept(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    int32_t brokers[] = {2, 1};
    struct wire_create_topics_request_topics_assignments assignment = {.broker_ids = brokers,
                                                                       .broker_ids_count = 2};
    struct wire_create_topics_request_topics_configs config = {
        .name = slice_str("min.insync.replicas"), .value = slice_str("2")};
    struct wire_create_topics_request_topics topic = topic_of("t");
    topic.assignments = &assignment;
    topic.assignments_count = 1;
    topic.configs = &config;
    topic.configs_count = 1;
    struct wire_create_topics_request req = {
        .topics = &topic, .topics_count = 1, .timeout_ms = 10000};
    const struct wire_create_topics_response *resp =
        cluster_call_v(&c, cluster_controller(&c), WIRE_KEY_CREATE_TOPICS, 7, &req);
    assert_int_equal(resp->topics[0].error_code, KERR_NONE);
    bool is_told = false;
    for (int32_t i = 0; i < resp->topics[0].configs_count; i++) {
        const struct wire_create_topics_response_topics_configs *told = &resp->topics[0].configs[i];
        is_told = is_told ||
                  (slice_equal_str(told->name, "min.insync.replicas") &&
                   slice_equal_str(told->value, "2") && told->config_source == CONFIG_SOURCE_TOPIC);
    }
    assert_true(is_told);
    cluster_run(&c, 1000);
    const struct wire_metadata_response_topics_partitions *p = cluster_partition(&c, 1, "t", 0);
    assert_int_equal(p->replica_nodes_count, 2);
    assert_int_equal(p->replica_nodes[0], 2);
    assert_int_equal(p->leader_id, 2);
    cluster_stop(&c);
}

/* What a broker says min.insync.replicas of topic t is. */
static int64_t min_insync_replicas(struct cluster *c, int32_t id)
{
    struct slice key = slice_str("min.insync.replicas");
    struct wire_describe_configs_request_resources asked = {.resource_type = 2,
                                                            .resource_name = slice_str("t"),
                                                            .configuration_keys = &key,
                                                            .configuration_keys_count = 1};
    struct wire_describe_configs_request req = {.resources = &asked, .resources_count = 1};
    const struct wire_describe_configs_response *resp =
        cluster_call_v(c, id, WIRE_KEY_DESCRIBE_CONFIGS, 4, &req);
    assert_non_null(resp);
    assert_int_equal(resp->results[0].configs_count, 1);
    return strtoll((const char *)resp->results[0].configs[0].value.ptr, NULL, 10);
}

static void delete_t(struct cluster *c)
{
    struct slice name = slice_str("t");
    struct wire_delete_topics_request req = {
        .topic_names = &name, .topic_names_count = 1, .timeout_ms = 10000};
    const struct wire_delete_topics_response *resp =
        cluster_call_v(c, cluster_controller(c), WIRE_KEY_DELETE_TOPICS, 4, &req);
    assert_non_null(resp);
    assert_int_equal(resp->responses[0].error_code, KERR_NONE);
    cluster_run(c, 1000);
}

static void every_broker_goes_by_the_settings_of_new_topics(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 2);
    struct wire_create_topics_request_topics_configs config = {
        .name = slice_str("min.insync.replicas"), .value = slice_str("2")};
    struct wire_create_topics_request_topics topic = topic_of("t");
    topic.configs = &config;
    topic.configs_count = 1;
    assert_int_equal(create(&c, 7, &topic, 1)->topics[0].error_code, KERR_NONE);
    cluster_run(&c, 1000);
    assert_int_equal(min_insync_replicas(&c, 1), 2);
    assert_int_equal(min_insync_replicas(&c, 2), 2);
    delete_t(&c);
    topic.configs_count = 0;
    assert_int_equal(create(&c, 7, &topic, 1)->topics[0].error_code, KERR_NONE);
    cluster_run(&c, 1000);
    assert_int_equal(min_insync_replicas(&c, 1), 1);
    assert_int_equal(min_insync_replicas(&c, 2), 1);
    cluster_stop(&c);
}

/* Also for a name whose old topic had others, and whoever leads: nobody waits for what is stored. */
static void settings_hold_from_the_first_record(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 3);
    static const char *const bytes[] = {"10", "1000000", "20", "1000000"};
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        struct wire_create_topics_request_topics_configs config = {
            .name = slice_str("max.message.bytes"), .value = slice_str(bytes[i])};
        struct wire_create_topics_request_topics topic = topic_of("t");
        topic.configs = &config;
        topic.configs_count = 1;
        assert_int_equal(create(&c, 7, &topic, 1)->topics[0].error_code, KERR_NONE);
        while (cluster_partition(&c, cluster_controller(&c), "t", 0) == NULL) {
            cluster_run(&c, 1);
        }
        int64_t produced = cluster_produce(&c, "t", 1);
        while (produced == -KERR_NOT_LEADER_OR_FOLLOWER ||
               produced == -KERR_UNKNOWN_TOPIC_OR_PARTITION) {
            produced = cluster_produce(&c, "t", 1);
        }
        assert_int_equal(produced, i % 2 == 0 ? -KERR_MESSAGE_TOO_LARGE : 0);
        delete_t(&c);
    }
    cluster_stop(&c);
}

static void validate_only_creates_nothing(void **state)
{
    (void)state;
    struct cluster c = {0};
    cluster_start(&c, 1);
    struct wire_create_topics_request_topics topic = topic_of("t");
    struct wire_create_topics_request req = {
        .topics = &topic, .topics_count = 1, .timeout_ms = 1000, .validate_only = true};
    const struct wire_create_topics_response *resp =
        cluster_call(&c, 1, WIRE_KEY_CREATE_TOPICS, &req);
    assert_int_equal(resp->topics[0].error_code, KERR_NONE);
    cluster_run(&c, 1000);
    assert_null(cluster_partition(&c, 1, "t", 0));
    cluster_stop(&c);
}

static void create_permission_is_needed(void **state)
{
    (void)state;
    struct auth_acl acl = {.resource_type = AUTH_RESOURCE_CLUSTER,
                           .pattern = AUTH_PATTERN_LITERAL,
                           .operation = AUTH_OPERATION_CLUSTER_ACTION,
                           .permission = AUTH_PERMISSION_ALLOW,
                           .resource_name = slice_str(AUTH_CLUSTER_NAME),
                           .principal = slice_str(AUTH_PRINCIPAL_ANY),
                           .host = slice_str("*")};
    struct auth_acls acls = {.acls = &acl, .acl_count = 1};
    struct cluster c = {.acls = &acls};
    cluster_start(&c, 1);
    struct wire_create_topics_request_topics topic = topic_of("t");
    assert_int_equal(create(&c, 7, &topic, 1)->topics[0].error_code,
                     KERR_TOPIC_AUTHORIZATION_FAILED);
    cluster_stop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_creates_with_the_defaults),
        cmocka_unit_test(refused_topics_say_why_and_leave_the_others_alone),
        cmocka_unit_test(settings_and_placement_are_kept),
        cmocka_unit_test(every_broker_goes_by_the_settings_of_new_topics),
        cmocka_unit_test(settings_hold_from_the_first_record),
        cmocka_unit_test(validate_only_creates_nothing),
        cmocka_unit_test(create_permission_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
