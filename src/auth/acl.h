/*
 * The authorisation decision over a list of ACLs, by the rules of Kafka's authoriser. The list is
 * given by the caller: nothing here stores or changes ACLs. Pure; runs anywhere.
 */
#pragma once

#include "base/slice.h"

#include <stddef.h>

/* The numbers are the protocol's (docs/spec/protocol.md section 5.6). */
enum auth_resource_type {
    AUTH_RESOURCE_TOPIC = 2,
    AUTH_RESOURCE_GROUP = 3,
    AUTH_RESOURCE_CLUSTER = 4, /* its name is AUTH_CLUSTER_NAME */
    AUTH_RESOURCE_TRANSACTIONAL_ID = 5,
    AUTH_RESOURCE_DELEGATION_TOKEN = 6,
    AUTH_RESOURCE_USER = 7,
};

enum auth_pattern {
    AUTH_PATTERN_LITERAL = 3, /* the name itself; "*" matches every name */
    AUTH_PATTERN_PREFIXED = 4,
};

enum auth_operation {
    AUTH_OPERATION_ALL = 2, /* in ACLs only */
    AUTH_OPERATION_READ = 3,
    AUTH_OPERATION_WRITE = 4,
    AUTH_OPERATION_CREATE = 5,
    AUTH_OPERATION_DELETE = 6,
    AUTH_OPERATION_ALTER = 7,
    AUTH_OPERATION_DESCRIBE = 8,
    AUTH_OPERATION_CLUSTER_ACTION = 9,
    AUTH_OPERATION_DESCRIBE_CONFIGS = 10,
    AUTH_OPERATION_ALTER_CONFIGS = 11,
    AUTH_OPERATION_IDEMPOTENT_WRITE = 12,
    AUTH_OPERATION_CREATE_TOKENS = 13,
    AUTH_OPERATION_DESCRIBE_TOKENS = 14,
};

enum auth_permission {
    AUTH_PERMISSION_DENY = 2,
    AUTH_PERMISSION_ALLOW = 3,
};

#define AUTH_CLUSTER_NAME        "kafka-cluster"
#define AUTH_PRINCIPAL_ANONYMOUS "User:ANONYMOUS"
#define AUTH_PRINCIPAL_ANY       "User:*" /* in ACLs only */

struct auth_acl {
    enum auth_resource_type resource_type;
    enum auth_pattern pattern;
    enum auth_operation operation;
    enum auth_permission permission;
    struct slice resource_name;
    struct slice principal; /* "User:alice" or AUTH_PRINCIPAL_ANY */
    struct slice host;      /* an address as text, or "*" */
};

/* What is in force. Borrows everything. */
struct auth_acls {
    const struct auth_acl *acls;
    size_t acl_count;
    const struct slice *super_users; /* principals that may do everything */
    size_t super_user_count;
    bool is_open_without_acl; /* allow.everyone.if.no.acl.found */
};

struct auth_request {
    struct slice principal; /* "User:alice" */
    struct slice host;      /* the peer's address as text */
    enum auth_operation operation;
    enum auth_resource_type resource_type;
    struct slice resource_name;
};

/*
 * Super users may do everything, and so may everybody while there is no ACL at all. Otherwise, among
 * the ACLs that match the resource: none decides by is_open_without_acl; one that denies the operation
 * (or ALL) to this principal and host wins; then one that allows it is needed. READ, WRITE, DELETE and
 * ALTER allow DESCRIBE too, ALTER_CONFIGS allows DESCRIBE_CONFIGS. A denial implies nothing further.
 */
bool auth_is_allowed(const struct auth_acls *acls, const struct auth_request *request);
