/*
 * ApiVersions (protocol.md 5.1): what we advertise is the table of rows.c, without the calls about
 * moves where inter.broker.protocol.version has none (design decision 9).
 */
#include "broker/api/api_versions.h"

#include "broker/api/request.h"
#include "wire/api_versions.h"

static bool is_alphanumeric(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* [A-Za-z0-9](?:[A-Za-z0-9\-.]*[A-Za-z0-9])? */
static bool is_software_name(struct slice s)
{
    if (s.len == 0 || !is_alphanumeric(s.ptr[0]) || !is_alphanumeric(s.ptr[s.len - 1])) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (!is_alphanumeric(s.ptr[i]) && s.ptr[i] != '-' && s.ptr[i] != '.') {
            return false;
        }
    }
    return true;
}

static bool is_advertised(const struct api_request *r, int16_t key)
{
    bool is_about_moves = key == WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS ||
                          key == WIRE_KEY_LIST_PARTITION_REASSIGNMENTS;
    return !is_about_moves || ibp_has(r->api->level, IBP_REASSIGNMENTS);
}

static void answer(struct api_request *r, int16_t error)
{
    struct wire_api_versions_response resp;
    wire_api_versions_response_init(&resp);
    resp.error_code = error;
    resp.api_keys = api_array(r, api_row_count, sizeof *resp.api_keys);
    if (resp.api_keys == NULL) {
        api_close(r);
        return;
    }
    resp.api_keys_count = 0;
    for (int32_t i = 0; i < api_row_count; i++) {
        if (is_advertised(r, api_rows[i].key)) {
            struct wire_api_versions_response_api_keys *out = &resp.api_keys[resp.api_keys_count++];
            out->api_key = api_rows[i].key;
            out->min_version = api_rows[i].min_version;
            out->max_version = api_rows[i].max_version;
        }
    }
    api_respond(r, &resp);
}

void api_versions_refuse(struct api_request *r)
{
    if (r->header.api_key != WIRE_KEY_API_VERSIONS) {
        api_close(r);
        return;
    }
    r->version = 0;
    r->header.api_version = 0;
    answer(r, KERR_UNSUPPORTED_VERSION);
}

void api_versions_handle(struct api_request *r, const void *body)
{
    const struct wire_api_versions_request *req = body;
    bool is_valid = r->version < 3 || (is_software_name(req->client_software_name) &&
                                       is_software_name(req->client_software_version));
    answer(r, is_valid ? KERR_NONE : KERR_INVALID_REQUEST);
}
