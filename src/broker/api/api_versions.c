/*
 * ApiVersions (protocol.md 5.1): what we advertise is the table of rows.c, filtered by nothing, so all
 * brokers of one cluster say the same.
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
    resp.api_keys_count = api_row_count;
    for (int32_t i = 0; i < api_row_count; i++) {
        resp.api_keys[i].api_key = api_rows[i].key;
        resp.api_keys[i].min_version = api_rows[i].min_version;
        resp.api_keys[i].max_version = api_rows[i].max_version;
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
