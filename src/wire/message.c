/*
 * Follows the generated tables: initialises, decodes and encodes any message of any version.
 * The recursion is as deep as the schema nests (at most five), never as deep as the input says.
 * Invariant of decoding: no count or length is used before it is checked against the bytes left.
 * Pure; runs anywhere.
 */
#include "wire/message.h"

#include "base/check.h"

#include <stdalign.h>

#define STR_BYTES_MAX INT16_MAX

/* One decoding; nested tag sections use a copy with a reader of their own. */
struct decoder {
    struct reader *r;
    struct arena *a;
    int16_t version;
    bool is_flexible;
};

struct encoder {
    struct buf *b;
    int16_t version;
    bool is_flexible;
    int32_t *error_count; /* error codes other than 0 so far */
};

/* sizeof the C value and its fewest bytes on the wire. */
static const struct {
    uint8_t size;
    uint8_t bytes_min;
} kinds[] = {
    [WIRE_BOOL] = {sizeof(bool), 1},
    [WIRE_I8] = {1, 1},
    [WIRE_I16] = {2, 2},
    [WIRE_I32] = {4, 4},
    [WIRE_I64] = {8, 8},
    [WIRE_U16] = {2, 2},
    [WIRE_F64] = {sizeof(double), 8},
    [WIRE_UUID] = {sizeof(struct uuid), 16},
    [WIRE_STR] = {sizeof(struct slice), 1},
    [WIRE_BYTES] = {sizeof(struct slice), 1},
    [WIRE_RECORDS] = {sizeof(struct wire_records), 1},
    [WIRE_STRUCT] = {0, 0},
};

static void *member(void *m, size_t offset)
{
    return (uint8_t *)m + offset;
}

static const void *member_const(const void *m, size_t offset)
{
    return (const uint8_t *)m + offset;
}

static bool field_is_nullable(const struct wire_field *f, int16_t version)
{
    return f->null_version <= version;
}

/* A nullable struct is kept by pointer. */
static bool field_is_pointer(const struct wire_field *f)
{
    return f->kind == WIRE_STRUCT && !f->is_array && f->null_version != WIRE_NEVER;
}

bool wire_field_has_version(const struct wire_field *f, int16_t version)
{
    return version >= f->first_version && version <= f->last_version;
}

size_t wire_field_value_size(const struct wire_field *f)
{
    return f->kind == WIRE_STRUCT ? f->of->size : kinds[f->kind].size;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the schema nests. */

/* ---- defaults ---- */

static void number_store(enum wire_kind kind, void *at, int64_t value)
{
    switch (kind) {
    case WIRE_BOOL:
        *(bool *)at = value != 0;
        break;
    case WIRE_I8:
        *(int8_t *)at = (int8_t)value;
        break;
    case WIRE_I16:
    case WIRE_U16:
        *(uint16_t *)at = (uint16_t)value;
        break;
    case WIRE_I32:
        *(int32_t *)at = (int32_t)value;
        break;
    case WIRE_I64:
    case WIRE_F64: /* a double travels as its bits */
        memcpy(at, &value, sizeof value);
        break;
    case WIRE_UUID:
    case WIRE_STR:
    case WIRE_BYTES:
    case WIRE_RECORDS:
    case WIRE_STRUCT:
        CHECKF(false, "kind %d is no number", (int)kind);
    }
}

static int64_t number_load(enum wire_kind kind, const void *at)
{
    int64_t value = 0;
    switch (kind) {
    case WIRE_BOOL:
        return *(const bool *)at;
    case WIRE_I8:
        return *(const int8_t *)at;
    case WIRE_I16:
        return *(const int16_t *)at;
    case WIRE_U16:
        return *(const uint16_t *)at;
    case WIRE_I32:
        return *(const int32_t *)at;
    case WIRE_I64:
    case WIRE_F64:
        memcpy(&value, at, sizeof value);
        return value;
    case WIRE_UUID:
    case WIRE_STR:
    case WIRE_BYTES:
    case WIRE_RECORDS:
    case WIRE_STRUCT:
        CHECKF(false, "kind %d is no number", (int)kind);
    }
    return value;
}

/* The memory of m is zero, which is the default already for most fields. */
static void field_init(const struct wire_field *f, void *m)
{
    static const uint8_t empty;
    void *at = member(m, f->offset);
    bool is_null = f->null_version != WIRE_NEVER;
    if (f->is_array) {
        *(int32_t *)member(m, f->count_offset) = is_null ? -1 : 0;
        return;
    }
    switch (f->kind) {
    case WIRE_BOOL:
    case WIRE_I8:
    case WIRE_I16:
    case WIRE_I32:
    case WIRE_I64:
    case WIRE_U16:
    case WIRE_F64:
        number_store(f->kind, at, f->initial);
        break;
    case WIRE_STR:
    case WIRE_BYTES:
        *(struct slice *)at = is_null ? SLICE_NULL : slice_of(&empty, 0);
        break;
    case WIRE_RECORDS:
        *(struct wire_records *)at = (struct wire_records){is_null ? NULL : &empty, 0};
        break;
    case WIRE_STRUCT:
        if (!is_null) {
            wire_struct_init(f->of, at);
        }
        break;
    case WIRE_UUID:
        break;
    }
}

void wire_struct_init(const struct wire_struct *s, void *m)
{
    memset(m, 0, s->size);
    for (uint16_t i = 0; i < s->field_count; i++) {
        field_init(&s->fields[i], m);
    }
}

static bool struct_is_default(const struct wire_struct *s, const void *m)
{
    for (uint16_t i = 0; i < s->field_count; i++) {
        if (!wire_field_is_default(&s->fields[i], m)) {
            return false;
        }
    }
    return true;
}

bool wire_field_is_default(const struct wire_field *f, const void *m)
{
    const void *at = member_const(m, f->offset);
    bool is_null = f->null_version != WIRE_NEVER;
    if (f->is_array) {
        int32_t count = *(const int32_t *)member_const(m, f->count_offset);
        return is_null ? count < 0 : count == 0;
    }
    switch (f->kind) {
    case WIRE_BOOL:
    case WIRE_I8:
    case WIRE_I16:
    case WIRE_I32:
    case WIRE_I64:
    case WIRE_U16:
    case WIRE_F64:
        return number_load(f->kind, at) == f->initial;
    case WIRE_UUID:
        return uuid_is_zero(*(const struct uuid *)at);
    case WIRE_STR:
    case WIRE_BYTES: {
        const struct slice *s = at;
        return is_null ? slice_is_null(*s) : s->len == 0;
    }
    case WIRE_RECORDS: {
        const struct wire_records *records = at;
        return records->len == 0 && (!is_null || records->ptr == NULL);
    }
    case WIRE_STRUCT:
        return is_null ? *(void *const *)at == NULL : struct_is_default(f->of, at);
    }
    return false;
}

/* ---- decoding ---- */

static void decode_struct(const struct decoder *d, const struct wire_struct *s, void *m);

/* -1 = null. Not yet checked against the bytes left. */
static int64_t decode_length(const struct decoder *d, enum wire_kind kind, bool is_compact)
{
    if (is_compact) {
        return (int64_t)reader_uvarint32(d->r) - 1;
    }
    return kind == WIRE_STR ? (int16_t)reader_u16(d->r) : (int32_t)reader_u32(d->r);
}

/* A string, bytes or records. */
static struct slice decode_slice(const struct decoder *d, const struct wire_field *f)
{
    int64_t len = decode_length(d, f->kind, d->is_flexible && !f->is_classic);
    if (len < 0) {
        /* Elements of arrays are never null, whatever the array may be. */
        if (len < -1 || f->is_array || !field_is_nullable(f, d->version)) {
            reader_fail(d->r, -E_MALFORMED);
        }
        return SLICE_NULL;
    }
    if (len > (f->kind == WIRE_STR ? STR_BYTES_MAX : INT32_MAX)) {
        reader_fail(d->r, -E_TOO_LARGE);
    }
    return reader_bytes(d->r, (size_t)len);
}

/* One value that is no nullable struct: a field, or an element of an array. */
static void decode_value(const struct decoder *d, const struct wire_field *f, void *at)
{
    switch (f->kind) {
    case WIRE_BOOL:
        *(bool *)at = reader_u8(d->r) != 0;
        break;
    case WIRE_I8:
        *(int8_t *)at = (int8_t)reader_u8(d->r);
        break;
    case WIRE_I16:
    case WIRE_U16:
        *(uint16_t *)at = reader_u16(d->r);
        break;
    case WIRE_I32:
        *(int32_t *)at = (int32_t)reader_u32(d->r);
        break;
    case WIRE_I64:
    case WIRE_F64:
        number_store(f->kind, at, (int64_t)reader_u64(d->r));
        break;
    case WIRE_UUID: {
        struct slice bytes = reader_bytes(d->r, sizeof(struct uuid));
        if (bytes.len == sizeof(struct uuid)) {
            memcpy(at, bytes.ptr, bytes.len);
        }
        break;
    }
    case WIRE_STR:
    case WIRE_BYTES:
        *(struct slice *)at = decode_slice(d, f);
        break;
    case WIRE_RECORDS: {
        struct slice bytes = decode_slice(d, f);
        *(struct wire_records *)at = (struct wire_records){bytes.ptr, bytes.len};
        break;
    }
    case WIRE_STRUCT:
        decode_struct(d, f->of, at);
        break;
    }
}

/* Checks a count and gets the array's memory; NULL when there are no elements to read. */
static void *decode_array_memory(const struct decoder *d, const struct wire_field *f, int64_t count)
{
    size_t bytes_min = f->kind == WIRE_STRUCT ? f->of->bytes_min : kinds[f->kind].bytes_min;
    if (count > WIRE_COUNT_MAX) {
        reader_fail(d->r, -E_TOO_LARGE);
    } else if ((size_t)count > reader_left(d->r) / bytes_min) {
        reader_fail(d->r, -E_TRUNCATED);
    }
    if (d->r->err != 0 || count == 0) {
        return NULL;
    }
    void *elements = arena_array(d->a, (size_t)count, wire_field_value_size(f));
    if (elements == NULL) {
        reader_fail(d->r, -E_TOO_LARGE);
    }
    return elements;
}

static void decode_array(const struct decoder *d, const struct wire_field *f, void *m)
{
    int32_t *ret_count = member(m, f->count_offset);
    bool is_compact = d->is_flexible && !f->is_classic;
    int64_t count = decode_length(d, WIRE_BYTES, is_compact);
    if (count < 0) {
        if (count < -1 || !field_is_nullable(f, d->version)) {
            reader_fail(d->r, -E_MALFORMED);
        }
        *ret_count = -1;
        return;
    }
    *ret_count = 0; /* a tagged field that is here is not null */
    uint8_t *elements = decode_array_memory(d, f, count);
    *ret_count = 0; /* a tagged one may have been set to null */
    if (elements == NULL) {
        return;
    }
    *(void **)member(m, f->offset) = elements;
    *ret_count = (int32_t)count;
    size_t size = wire_field_value_size(f);
    for (int64_t i = 0; i < count && d->r->err == 0; i++) {
        decode_value(d, f, elements + (size_t)i * size);
    }
}

static void decode_nullable_struct(const struct decoder *d, const struct wire_field *f, void *m)
{
    int8_t mark = (int8_t)reader_u8(d->r);
    if (mark != 1) {
        if (mark != -1 || !field_is_nullable(f, d->version)) {
            reader_fail(d->r, -E_MALFORMED);
        }
        return;
    }
    void *nested = arena_alloc(d->a, f->of->size);
    if (nested == NULL) {
        reader_fail(d->r, -E_TOO_LARGE);
        return;
    }
    *(void **)member(m, f->offset) = nested;
    decode_struct(d, f->of, nested);
}

static void decode_field(const struct decoder *d, const struct wire_field *f, void *m)
{
    if (f->is_array) {
        decode_array(d, f, m);
    } else if (field_is_pointer(f)) {
        decode_nullable_struct(d, f, m);
    } else {
        decode_value(d, f, member(m, f->offset));
    }
}

static const struct wire_field *tagged_field(const struct wire_struct *s, uint32_t tag,
                                             int16_t version)
{
    for (uint16_t i = s->untagged_count; i < s->field_count; i++) {
        const struct wire_field *f = &s->fields[i];
        if ((uint32_t)f->tag == tag && wire_field_has_version(f, version)) {
            return f;
        }
    }
    return NULL;
}

static void decode_tags(const struct decoder *d, const struct wire_struct *s, void *m)
{
    uint32_t count = reader_uvarint32(d->r);
    int64_t previous = -1;
    for (uint32_t i = 0; i < count && d->r->err == 0; i++) {
        uint32_t tag = reader_uvarint32(d->r);
        uint32_t len = reader_uvarint32(d->r);
        struct slice bytes = reader_bytes(d->r, len);
        if (d->r->err != 0) {
            return;
        }
        if (tag <= previous) {
            reader_fail(d->r, -E_MALFORMED);
            return;
        }
        previous = tag;
        const struct wire_field *f = tagged_field(s, tag, d->version);
        if (f == NULL) {
            continue; /* unknown tags are skipped (protocol section 2) */
        }
        struct reader inner;
        reader_init(&inner, bytes);
        struct decoder nested = *d;
        nested.r = &inner;
        decode_field(&nested, f, m);
        int err = wire_reader_finish(&inner);
        if (err != 0) {
            /* The size of a tag is a claim of the sender: running over it breaks the format. */
            reader_fail(d->r, err == -E_TOO_LARGE ? err : -E_MALFORMED);
        }
    }
}

/* m is zeroed memory. */
static void decode_struct(const struct decoder *d, const struct wire_struct *s, void *m)
{
    for (uint16_t i = 0; i < s->field_count; i++) {
        const struct wire_field *f = &s->fields[i];
        if (f->tag < 0 && wire_field_has_version(f, d->version)) {
            decode_field(d, f, m);
        } else {
            field_init(f, m);
        }
    }
    if (d->is_flexible) {
        decode_tags(d, s, m);
    }
}

/* ---- encoding ---- */

static void encode_struct(const struct encoder *e, const struct wire_struct *s, const void *m);

/* len -1 = null. */
static void encode_length(const struct encoder *e, enum wire_kind kind, bool is_compact,
                          int64_t len)
{
    if (len > (kind == WIRE_STR ? STR_BYTES_MAX : INT32_MAX)) {
        e->b->failed = true;
    } else if (is_compact) {
        buf_put_uvarint(e->b, (uint64_t)(len + 1));
    } else if (kind == WIRE_STR) {
        buf_put_u16(e->b, (uint16_t)len);
    } else {
        buf_put_u32(e->b, (uint32_t)len);
    }
}

/* A string, bytes or records; ptr NULL with bytes is a gap. */
static void encode_slice(const struct encoder *e, const struct wire_field *f, struct slice s)
{
    bool is_null = s.ptr == NULL && s.len == 0 && !f->is_array && field_is_nullable(f, e->version);
    bool is_compact = e->is_flexible && !f->is_classic;
    encode_length(e, f->kind, is_compact, is_null ? -1 : (int64_t)s.len);
    if (s.ptr == NULL) {
        buf_put_gap(e->b, s.len);
    } else {
        buf_put_slice(e->b, s);
    }
}

static void encode_value(const struct encoder *e, const struct wire_field *f, const void *at)
{
    switch (f->kind) {
    case WIRE_BOOL:
    case WIRE_I8:
        buf_put_u8(e->b, (uint8_t)number_load(f->kind, at));
        break;
    case WIRE_I16:
    case WIRE_U16: {
        uint16_t value = (uint16_t)number_load(f->kind, at);
        *e->error_count += f->is_error && value != 0;
        buf_put_u16(e->b, value);
        break;
    }
    case WIRE_I32:
        buf_put_u32(e->b, (uint32_t)number_load(f->kind, at));
        break;
    case WIRE_I64:
    case WIRE_F64:
        buf_put_u64(e->b, (uint64_t)number_load(f->kind, at));
        break;
    case WIRE_UUID:
        buf_put_bytes(e->b, at, sizeof(struct uuid));
        break;
    case WIRE_STR:
    case WIRE_BYTES: {
        const struct slice *s = at;
        CHECKF(s->ptr != NULL || s->len == 0, "%s: a null slice with bytes", f->name);
        encode_slice(e, f, *s);
        break;
    }
    case WIRE_RECORDS: {
        const struct wire_records *records = at;
        encode_slice(e, f, slice_of(records->ptr, records->len));
        break;
    }
    case WIRE_STRUCT:
        encode_struct(e, f->of, at);
        break;
    }
}

static void encode_array(const struct encoder *e, const struct wire_field *f, const void *m)
{
    int32_t count = *(const int32_t *)member_const(m, f->count_offset);
    const uint8_t *elements = *(const uint8_t *const *)member_const(m, f->offset);
    CHECKF(count >= -1, "%s: count %d", f->name, count);
    if (count < 0 && !field_is_nullable(f, e->version)) {
        e->b->failed = true; /* empty would mean something else */
        return;
    }
    encode_length(e, WIRE_BYTES, e->is_flexible && !f->is_classic, count);
    size_t size = wire_field_value_size(f);
    for (int32_t i = 0; i < count && !buf_failed(e->b); i++) {
        encode_value(e, f, elements + (size_t)i * size);
    }
}

static void encode_nullable_struct(const struct encoder *e, const struct wire_field *f,
                                   const void *m)
{
    const void *nested = *(const void *const *)member_const(m, f->offset);
    if (nested != NULL) {
        buf_put_u8(e->b, 1);
        encode_struct(e, f->of, nested);
    } else if (field_is_nullable(f, e->version)) {
        buf_put_u8(e->b, 0xff);
    } else {
        e->b->failed = true;
    }
}

static void encode_field(const struct encoder *e, const struct wire_field *f, const void *m)
{
    if (f->is_array) {
        encode_array(e, f, m);
    } else if (field_is_pointer(f)) {
        encode_nullable_struct(e, f, m);
    } else {
        encode_value(e, f, member_const(m, f->offset));
    }
}

/* A tag's size goes before its bytes, so they are written apart first. */
static void encode_tag(const struct encoder *e, const struct wire_field *f, const void *m)
{
    struct buf value;
    buf_init(&value);
    struct encoder nested = *e;
    nested.b = &value;
    encode_field(&nested, f, m);
    CHECKF(value.gap_count == 0, "%s: a gap in a tagged field", f->name);
    buf_put_uvarint(e->b, (uint64_t)f->tag);
    buf_put_uvarint(e->b, value.len);
    buf_put_slice(e->b, buf_slice(&value));
    if (buf_failed(&value)) {
        e->b->failed = true;
    }
    buf_deinit(&value);
}

static bool tag_is_written(const struct encoder *e, const struct wire_field *f, const void *m)
{
    return wire_field_has_version(f, e->version) && !wire_field_is_default(f, m);
}

static void encode_tags(const struct encoder *e, const struct wire_struct *s, const void *m)
{
    uint64_t count = 0;
    for (uint16_t i = s->untagged_count; i < s->field_count; i++) {
        count += tag_is_written(e, &s->fields[i], m);
    }
    buf_put_uvarint(e->b, count);
    for (uint16_t i = s->untagged_count; i < s->field_count; i++) {
        if (tag_is_written(e, &s->fields[i], m)) {
            encode_tag(e, &s->fields[i], m);
        }
    }
}

static void encode_struct(const struct encoder *e, const struct wire_struct *s, const void *m)
{
    for (uint16_t i = 0; i < s->untagged_count; i++) {
        if (wire_field_has_version(&s->fields[i], e->version)) {
            encode_field(e, &s->fields[i], m);
        }
    }
    if (e->is_flexible) {
        encode_tags(e, s, m);
    }
}

/* NOLINTEND(misc-no-recursion) */

/* ---- messages ---- */

static bool message_has_version(const struct wire_message *message, int16_t version)
{
    return version >= message->first_version && version <= message->last_version;
}

int wire_message_decode(const struct wire_message *message, void *ret, struct reader *r,
                        int16_t version, struct arena *a)
{
    if (!message_has_version(message, version)) {
        return -E_UNSUPPORTED;
    }
    alignas(max_align_t) uint8_t body[WIRE_BODY_SIZE_MAX];
    size_t size = message->body->size;
    CHECK(size <= sizeof body);
    memset(body, 0, size);
    struct decoder d = {r, a, version, version >= message->flexible_version};
    decode_struct(&d, message->body, body);
    if (r->err != 0) {
        return r->err;
    }
    memcpy(ret, body, size);
    return 0;
}

int32_t wire_message_encode(const struct wire_message *message, const void *m, struct buf *b,
                            int16_t version)
{
    CHECKF(message_has_version(message, version), "%s v%d", message->body->name, version);
    int32_t error_count = 0;
    struct encoder e = {b, version, version >= message->flexible_version, &error_count};
    encode_struct(&e, message->body, m);
    return error_count;
}

void wire_message_init(const struct wire_message *message, void *m)
{
    wire_struct_init(message->body, m);
}

size_t wire_message_size(const struct wire_message *message)
{
    return message->body->size;
}
