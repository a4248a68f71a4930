/*
 * What precedes the bodies: request and response headers and which version of them goes with which
 * api (docs/spec/protocol.md section 1). The structs are generated from schema/headers.schema.
 */
#pragma once

#include "wire/request_header.h"
#include "wire/response_header.h"

/*
 * 0 for ControlledShutdown v0, 2 for flexible versions, else 1. For an api or version without a schema
 * it is 1, so that the part every client sends can be read and the request be refused by name.
 */
int16_t wire_request_header_version(int16_t api_key, int16_t api_version);
/* 1 for flexible versions, else 0; ApiVersions: always 0. */
int16_t wire_response_header_version(int16_t api_key, int16_t api_version);

/*
 * Reads the header that starts a request frame; client_id is borrowed from the frame. The caller
 * checks the api key and version next (wire_api_find): they may be unknown.
 * -E_TRUNCATED, -E_MALFORMED as the generated decoders.
 */
int wire_request_header_read(struct wire_request_header *ret, struct reader *r) MUST_CHECK;
/* Writes the header in the version that m's api key and version need; those must have a schema. */
void wire_request_header_write(const struct wire_request_header *m, struct buf *b);

/* Reads the header of the answer to a request of that api key and version. */
int wire_response_header_read(struct wire_response_header *ret, struct reader *r, int16_t api_key,
                              int16_t api_version) MUST_CHECK;
/* Writes the header of the answer to that request. */
void wire_response_header_write(const struct wire_request_header *request, struct buf *b);
