/*
 * Any bytes as any message of any version. What decodes must encode, and must do so to the same bytes
 * again after a second decoding.
 * Input: kind (0 request, 1 response, else a whole request frame with its header), for the first two
 * also api key and version, then the bytes.
 */
#include "base/check.h"
#include "wire/header.h"
#include "wire/message.h"

#include <stdalign.h>

#define ARENA_BYTES ((size_t)4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int body_decode(const struct wire_message *message, void *ret, struct reader *r,
                       int16_t version, struct arena *a)
{
    int err = wire_message_decode(message, ret, r, version, a);
    return err != 0 ? err : wire_reader_finish(r);
}

/* The input may spell things in more than one way; what we write must be a fixed point. */
static void check_fixed_point(const struct wire_message *message, const void *body, int16_t version,
                              struct arena *a)
{
    alignas(max_align_t) uint8_t again[WIRE_BODY_SIZE_MAX];
    struct buf first;
    struct buf second;
    buf_init(&first);
    buf_init(&second);
    wire_message_encode(message, body, &first, version);
    CHECK(!buf_failed(&first));
    struct reader r;
    reader_init(&r, buf_slice(&first));
    int err = body_decode(message, again, &r, version, a);
    if (err != -E_TOO_LARGE) { /* the arena serves both decodings and may be full */
        CHECKF(err == 0, "%s v%d: %s", message->body->name, version, error_name(err));
        wire_message_encode(message, again, &second, version);
        CHECK(slice_equal(buf_slice(&first), buf_slice(&second)));
    }
    buf_deinit(&first);
    buf_deinit(&second);
}

static void try_body(const struct wire_message *message, struct reader *r, int16_t version)
{
    alignas(max_align_t) uint8_t body[WIRE_BODY_SIZE_MAX];
    struct arena a;
    arena_init(&a, ARENA_BYTES);
    if (body_decode(message, body, r, version, &a) == 0) {
        check_fixed_point(message, body, version, &a);
    }
    arena_deinit(&a);
}

static void try_frame(struct reader *r)
{
    struct wire_request_header header;
    if (wire_request_header_read(&header, r) != 0) {
        return;
    }
    const struct wire_api *api = wire_api_find(header.api_key);
    if (api != NULL && wire_api_has_version(api, header.api_version)) {
        try_body(api->request, r, header.api_version);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r;
    reader_init(&r, slice_of(data, size));
    uint8_t kind = reader_u8(&r);
    if (kind > 1) {
        try_frame(&r);
        return 0;
    }
    int16_t key = reader_u8(&r);
    int16_t version = reader_u8(&r);
    const struct wire_api *api = wire_api_find(key);
    if (r.err == 0 && api != NULL) {
        try_body(kind == 0 ? api->request : api->response, &r, version);
    }
    return 0;
}
