/*
 * The header versions, and reading and writing headers by them. Pure; runs anywhere.
 */
#include "wire/header.h"

static bool is_flexible(int16_t api_key, int16_t api_version)
{
    const struct wire_api *api = wire_api_find(api_key);
    return api != NULL && wire_api_has_version(api, api_version) &&
           api_version >= api->flexible_version;
}

int16_t wire_request_header_version(int16_t api_key, int16_t api_version)
{
    if (api_key == WIRE_KEY_CONTROLLED_SHUTDOWN && api_version == 0) {
        return 0;
    }
    return is_flexible(api_key, api_version) ? 2 : 1;
}

int16_t wire_response_header_version(int16_t api_key, int16_t api_version)
{
    return api_key != WIRE_KEY_API_VERSIONS && is_flexible(api_key, api_version) ? 1 : 0;
}

int wire_request_header_read(struct wire_request_header *ret, struct reader *r)
{
    struct reader ahead = *r;
    int16_t api_key = (int16_t)reader_u16(&ahead);
    int16_t api_version = (int16_t)reader_u16(&ahead);
    /* A header has no arrays, so no arena is needed. */
    return wire_request_header_decode(ret, r, wire_request_header_version(api_key, api_version),
                                      NULL);
}

void wire_request_header_write(const struct wire_request_header *m, struct buf *b)
{
    wire_request_header_encode(m, b, wire_request_header_version(m->api_key, m->api_version));
}

int wire_response_header_read(struct wire_response_header *ret, struct reader *r, int16_t api_key,
                              int16_t api_version)
{
    return wire_response_header_decode(ret, r, wire_response_header_version(api_key, api_version),
                                       NULL);
}

void wire_response_header_write(const struct wire_request_header *request, struct buf *b)
{
    struct wire_response_header header = {.correlation_id = request->correlation_id};
    wire_response_header_encode(
        &header, b, wire_response_header_version(request->api_key, request->api_version));
}
