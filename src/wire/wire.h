/*
 * Kafka's protocol, bytes to structs and back, every version (docs/spec/protocol.md).
 *
 * Each message has one struct for all its versions, generated from schema/ into wire/<api>.h:
 *     struct wire_fetch_request           wire_fetch_request_init, _decode, _encode
 *     struct wire_fetch_request_topics    an element of its array `topics`; wire_..._topics_init
 * Strings and bytes are slices, null = ptr NULL. An array is a pointer and `<field>_count`, null =
 * count -1. A nullable struct is a pointer. What the asked version lacks gets its default when
 * decoding (null where nullable, else the schema's value, else zero or empty) and is left out when
 * encoding. Memory comes from the arena and from the frame: both must outlive the struct.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/reader.h"
#include "base/uuid.h"
#include "wire/keys.h"

#define WIRE_NEVER     INT16_MAX /* no version is flexible */
#define WIRE_COUNT_MAX (1 << 20) /* elements of one array */

/*
 * The records of one partition. null: ptr NULL, len 0. Empty: ptr not NULL, len 0.
 * Encoding only: ptr NULL with len > 0 leaves a gap of len bytes (buf_put_gap).
 */
struct wire_records {
    const uint8_t *ptr;
    size_t len; /* bytes */
};

/* How one request or response looks; tables in the generated messages.c. */
struct wire_message;

/* One api: what can be decoded. What is advertised is the broker's choice. */
struct wire_api {
    int16_t key;
    int16_t first_version;
    int16_t last_version;
    int16_t flexible_version; /* first flexible one, WIRE_NEVER if none is */
    const char *name;         /* as Kafka spells it, "ListOffsets" */
    const struct wire_message *request;
    const struct wire_message *response;
};

/* NULL when the key has no schema. */
const struct wire_api *wire_api_find(int16_t key);
/* All apis in order of key: 0 <= index < wire_api_count(). */
const struct wire_api *wire_api_at(int32_t index);
int32_t wire_api_count(void);
static inline bool wire_api_has_version(const struct wire_api *api, int16_t version)
{
    return version >= api->first_version && version <= api->last_version;
}

/*
 * The generic forms of the generated functions: ret, m point to the message's struct.
 * Decoding reads one body from r and leaves what follows (see wire_reader_finish). Errors, with *ret
 * untouched: -E_UNSUPPORTED the version has no schema, -E_TRUNCATED, -E_MALFORMED (also null where
 * it is not allowed), -E_TOO_LARGE a count beyond WIRE_COUNT_MAX or the arena's bound.
 */
int wire_message_decode(const struct wire_message *message, void *ret, struct reader *r,
                        int16_t version, struct arena *a) MUST_CHECK;
/*
 * version must be one of the schema. When a value does not fit the encoding (null where the version
 * knows no null, a string beyond 32767 bytes) b turns failed. A null string where none is allowed is
 * written as the empty one. Returns how many of its error codes are not 0.
 */
int32_t wire_message_encode(const struct wire_message *message, const void *m, struct buf *b,
                            int16_t version);
/* All fields to their defaults. */
void wire_message_init(const struct wire_message *message, void *m);
/* sizeof the message's struct. */
size_t wire_message_size(const struct wire_message *message);

/* To be called after a body: -E_MALFORMED when bytes are left, or the reader's own error. */
int wire_reader_finish(const struct reader *r) MUST_CHECK;
