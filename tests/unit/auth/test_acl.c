/*
 * The authorisation decision: each rule alone, then against each other.
 */
#include "auth/acl.h"

#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The ACLs of these tests are about topics unless a test says otherwise. */
static struct auth_acl acl_on(const char *topic, const char *principal,
                              enum auth_operation operation, enum auth_permission permission)
{
    return (struct auth_acl){
        .resource_type = AUTH_RESOURCE_TOPIC,
        .pattern = AUTH_PATTERN_LITERAL,
        .operation = operation,
        .permission = permission,
        .resource_name = slice_str(topic),
        .principal = slice_str(principal),
        .host = slice_str("*"),
    };
}

static struct auth_request request_for(const char *principal, const char *topic,
                                       enum auth_operation operation)
{
    return (struct auth_request){
        .principal = slice_str(principal),
        .host = slice_str("10.0.0.1"),
        .operation = operation,
        .resource_type = AUTH_RESOURCE_TOPIC,
        .resource_name = slice_str(topic),
    };
}

static bool may(const struct auth_acl *acls, size_t count, struct auth_request request)
{
    struct auth_acls in_force = {.acls = acls, .acl_count = count};
    return auth_is_allowed(&in_force, &request);
}

static void everything_is_allowed_without_any_acl(void **state)
{
    (void)state;
    assert_true(may(NULL, 0, request_for(AUTH_PRINCIPAL_ANONYMOUS, "t", AUTH_OPERATION_DELETE)));
}

static void a_resource_without_acl_follows_the_setting(void **state)
{
    (void)state;
    struct auth_acl acl = acl_on("other", "User:a", AUTH_OPERATION_READ, AUTH_PERMISSION_ALLOW);
    struct auth_acls in_force = {.acls = &acl, .acl_count = 1};
    struct auth_request request = request_for("User:a", "t", AUTH_OPERATION_READ);
    assert_false(auth_is_allowed(&in_force, &request));
    in_force.is_open_without_acl = true;
    assert_true(auth_is_allowed(&in_force, &request));
    /* An ACL of somebody else is an ACL all the same. */
    request = request_for("User:b", "other", AUTH_OPERATION_READ);
    assert_false(auth_is_allowed(&in_force, &request));
}

static void a_super_user_passes_denials(void **state)
{
    (void)state;
    struct auth_acl acl = acl_on("*", AUTH_PRINCIPAL_ANY, AUTH_OPERATION_ALL, AUTH_PERMISSION_DENY);
    struct slice super_users[] = {slice_str("User:x"), slice_str("User:root")};
    struct auth_acls in_force = {
        .acls = &acl, .acl_count = 1, .super_users = super_users, .super_user_count = 2};
    struct auth_request request = request_for("User:root", "t", AUTH_OPERATION_ALTER);
    assert_true(auth_is_allowed(&in_force, &request));
    request.principal = slice_str("User:roo");
    assert_false(auth_is_allowed(&in_force, &request));
}

static void a_denial_wins_in_any_order(void **state)
{
    (void)state;
    struct auth_acl allow = acl_on("t", "User:a", AUTH_OPERATION_ALL, AUTH_PERMISSION_ALLOW);
    struct auth_acl deny =
        acl_on("*", AUTH_PRINCIPAL_ANY, AUTH_OPERATION_WRITE, AUTH_PERMISSION_DENY);
    struct auth_acl allow_first[] = {allow, deny};
    struct auth_acl deny_first[] = {deny, allow};
    assert_false(may(allow_first, 2, request_for("User:a", "t", AUTH_OPERATION_WRITE)));
    assert_false(may(deny_first, 2, request_for("User:a", "t", AUTH_OPERATION_WRITE)));
    assert_true(may(deny_first, 2, request_for("User:a", "t", AUTH_OPERATION_READ)));
}

static void operations_imply_describe_as_kafka_has_it(void **state)
{
    (void)state;
    static const struct {
        enum auth_operation has;
        enum auth_operation asked;
        bool is_allowed;
    } cases[] = {
        {AUTH_OPERATION_READ, AUTH_OPERATION_DESCRIBE, true},
        {AUTH_OPERATION_WRITE, AUTH_OPERATION_DESCRIBE, true},
        {AUTH_OPERATION_DELETE, AUTH_OPERATION_DESCRIBE, true},
        {AUTH_OPERATION_ALTER, AUTH_OPERATION_DESCRIBE, true},
        {AUTH_OPERATION_DESCRIBE, AUTH_OPERATION_DESCRIBE, true},
        {AUTH_OPERATION_ALL, AUTH_OPERATION_DESCRIBE, true},
        {AUTH_OPERATION_CREATE, AUTH_OPERATION_DESCRIBE, false},
        {AUTH_OPERATION_CLUSTER_ACTION, AUTH_OPERATION_DESCRIBE, false},
        {AUTH_OPERATION_ALTER_CONFIGS, AUTH_OPERATION_DESCRIBE, false},
        {AUTH_OPERATION_ALTER_CONFIGS, AUTH_OPERATION_DESCRIBE_CONFIGS, true},
        {AUTH_OPERATION_ALTER, AUTH_OPERATION_DESCRIBE_CONFIGS, false},
        {AUTH_OPERATION_DESCRIBE, AUTH_OPERATION_ALTER, false},
        {AUTH_OPERATION_DESCRIBE, AUTH_OPERATION_READ, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct auth_acl acl = acl_on("t", "User:a", cases[i].has, AUTH_PERMISSION_ALLOW);
        assert_int_equal(cases[i].is_allowed,
                         may(&acl, 1, request_for("User:a", "t", cases[i].asked)));
    }
}

static void a_denial_implies_nothing_further(void **state)
{
    (void)state;
    struct auth_acl acls[] = {
        acl_on("t", "User:a", AUTH_OPERATION_READ, AUTH_PERMISSION_DENY),
        acl_on("t", "User:a", AUTH_OPERATION_DESCRIBE, AUTH_PERMISSION_ALLOW),
    };
    assert_true(may(acls, 2, request_for("User:a", "t", AUTH_OPERATION_DESCRIBE)));
    assert_false(may(acls, 2, request_for("User:a", "t", AUTH_OPERATION_READ)));
}

static void patterns_match_names(void **state)
{
    (void)state;
    static const struct {
        enum auth_pattern pattern;
        const char *acl_name;
        const char *topic;
        bool is_match;
    } cases[] = {
        {AUTH_PATTERN_LITERAL, "orders", "orders", true},
        {AUTH_PATTERN_LITERAL, "orders", "orders2", false},
        {AUTH_PATTERN_LITERAL, "*", "anything", true},
        {AUTH_PATTERN_PREFIXED, "ord", "orders", true},
        {AUTH_PATTERN_PREFIXED, "orders", "orders", true},
        {AUTH_PATTERN_PREFIXED, "orders", "order", false},
        {AUTH_PATTERN_PREFIXED, "*", "orders", false},
        {AUTH_PATTERN_PREFIXED, "", "orders", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct auth_acl acl =
            acl_on(cases[i].acl_name, "User:a", AUTH_OPERATION_READ, AUTH_PERMISSION_ALLOW);
        acl.pattern = cases[i].pattern;
        assert_int_equal(cases[i].is_match,
                         may(&acl, 1, request_for("User:a", cases[i].topic, AUTH_OPERATION_READ)));
    }
}

static void principal_and_host_must_both_match(void **state)
{
    (void)state;
    struct auth_acl acl = acl_on("t", "User:a", AUTH_OPERATION_READ, AUTH_PERMISSION_ALLOW);
    acl.host = slice_str("10.0.0.1");
    assert_true(may(&acl, 1, request_for("User:a", "t", AUTH_OPERATION_READ)));
    assert_false(may(&acl, 1, request_for("User:b", "t", AUTH_OPERATION_READ)));
    acl.principal = slice_str(AUTH_PRINCIPAL_ANY);
    assert_true(may(&acl, 1, request_for("User:b", "t", AUTH_OPERATION_READ)));
    acl.host = slice_str("10.0.0.2");
    assert_false(may(&acl, 1, request_for("User:a", "t", AUTH_OPERATION_READ)));
}

static void types_of_resources_are_apart(void **state)
{
    (void)state;
    struct auth_acl acl =
        acl_on(AUTH_CLUSTER_NAME, "User:a", AUTH_OPERATION_ALTER, AUTH_PERMISSION_ALLOW);
    struct auth_request request = request_for("User:a", AUTH_CLUSTER_NAME, AUTH_OPERATION_ALTER);
    request.resource_type = AUTH_RESOURCE_CLUSTER;
    assert_false(may(&acl, 1, request));
    acl.resource_type = AUTH_RESOURCE_CLUSTER;
    assert_true(may(&acl, 1, request));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_allowed_without_any_acl),
        cmocka_unit_test(a_resource_without_acl_follows_the_setting),
        cmocka_unit_test(a_super_user_passes_denials),
        cmocka_unit_test(a_denial_wins_in_any_order),
        cmocka_unit_test(operations_imply_describe_as_kafka_has_it),
        cmocka_unit_test(a_denial_implies_nothing_further),
        cmocka_unit_test(patterns_match_names),
        cmocka_unit_test(principal_and_host_must_both_match),
        cmocka_unit_test(types_of_resources_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
