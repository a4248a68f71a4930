/*
 * The authorisation decision: one pass over the list. Invariant: a matching denial ends the pass, so
 * the order of the list never matters. Pure; runs anywhere.
 */
#include "auth/acl.h"

static bool resource_matches(const struct auth_acl *acl, const struct auth_request *request)
{
    if (acl->resource_type != request->resource_type) {
        return false;
    }
    struct slice name = acl->resource_name;
    if (acl->pattern == AUTH_PATTERN_PREFIXED) {
        return request->resource_name.len >= name.len &&
               slice_equal(slice_of(request->resource_name.ptr, name.len), name);
    }
    return slice_equal(name, request->resource_name) || slice_equal_str(name, "*");
}

static bool subject_matches(const struct auth_acl *acl, const struct auth_request *request)
{
    return (slice_equal(acl->principal, request->principal) ||
            slice_equal_str(acl->principal, AUTH_PRINCIPAL_ANY)) &&
           (slice_equal(acl->host, request->host) || slice_equal_str(acl->host, "*"));
}

/* Whether being allowed one operation includes the other. */
static bool operation_implies(enum auth_operation allowed, enum auth_operation asked)
{
    if (allowed == asked || allowed == AUTH_OPERATION_ALL) {
        return true;
    }
    if (asked == AUTH_OPERATION_DESCRIBE) {
        return allowed == AUTH_OPERATION_READ || allowed == AUTH_OPERATION_WRITE ||
               allowed == AUTH_OPERATION_DELETE || allowed == AUTH_OPERATION_ALTER;
    }
    return asked == AUTH_OPERATION_DESCRIBE_CONFIGS && allowed == AUTH_OPERATION_ALTER_CONFIGS;
}

static bool acl_denies(const struct auth_acl *acl, const struct auth_request *request)
{
    return acl->permission == AUTH_PERMISSION_DENY && subject_matches(acl, request) &&
           (acl->operation == request->operation || acl->operation == AUTH_OPERATION_ALL);
}

static bool acl_allows(const struct auth_acl *acl, const struct auth_request *request)
{
    return acl->permission == AUTH_PERMISSION_ALLOW && subject_matches(acl, request) &&
           operation_implies(acl->operation, request->operation);
}

static bool is_super_user(const struct auth_acls *acls, struct slice principal)
{
    for (size_t i = 0; i < acls->super_user_count; i++) {
        if (slice_equal(acls->super_users[i], principal)) {
            return true;
        }
    }
    return false;
}

bool auth_is_allowed(const struct auth_acls *acls, const struct auth_request *request)
{
    if (acls->acl_count == 0 || is_super_user(acls, request->principal)) {
        return true;
    }
    bool has_acl = false;
    bool has_allow = false;
    for (size_t i = 0; i < acls->acl_count; i++) {
        const struct auth_acl *acl = &acls->acls[i];
        if (!resource_matches(acl, request)) {
            continue;
        }
        has_acl = true;
        if (acl_denies(acl, request)) {
            return false;
        }
        has_allow = has_allow || acl_allows(acl, request);
    }
    return has_acl ? has_allow : acls->is_open_without_acl;
}
