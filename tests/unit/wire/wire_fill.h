/*
 * For tests of the codec: fills any message with random valid values of one version, and compares two
 * messages, both by the generated tables.
 */
#pragma once

#include "base/check.h"
#include "base/prng.h"
#include "wire/message.h"

#include <assert.h>
#include <stdio.h>

struct wire_fill {
    struct prng *prng;
    struct arena *arena;
    int16_t version;
};

static void wire_fill_struct(const struct wire_fill *fill, const struct wire_struct *s, void *m);

static struct slice wire_fill_bytes(const struct wire_fill *fill)
{
    size_t len = (size_t)prng_below(fill->prng, 9);
    uint8_t *bytes = arena_alloc(fill->arena, len + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)('a' + prng_below(fill->prng, 26));
    }
    return slice_of(bytes, len);
}

static void wire_fill_value(const struct wire_fill *fill, const struct wire_field *f, void *at)
{
    if (f->kind == WIRE_STRUCT) {
        wire_fill_struct(fill, f->of, at);
    } else if (f->kind == WIRE_BOOL) {
        *(bool *)at = prng_chance(fill->prng, 1, 2);
    } else if (f->kind == WIRE_STR || f->kind == WIRE_BYTES) {
        *(struct slice *)at = wire_fill_bytes(fill);
    } else if (f->kind == WIRE_RECORDS) {
        struct slice bytes = wire_fill_bytes(fill);
        *(struct wire_records *)at = (struct wire_records){bytes.ptr, bytes.len};
    } else if (f->kind == WIRE_F64) {
        *(double *)at = (double)prng_below(fill->prng, 1000) / 8;
    } else {
        uint64_t words[2] = {prng_u64(fill->prng), prng_u64(fill->prng)};
        memcpy(at, words, wire_field_value_size(f));
    }
}

static void wire_fill_array(const struct wire_fill *fill, const struct wire_field *f, void *m)
{
    int32_t count = (int32_t)prng_below(fill->prng, 4);
    size_t size = wire_field_value_size(f);
    uint8_t *elements = arena_array(fill->arena, (size_t)count, size);
    CHECK(elements != NULL);
    for (int32_t i = 0; i < count; i++) {
        wire_fill_value(fill, f, elements + (size_t)i * size);
    }
    *(void **)(void *)((uint8_t *)m + f->offset) = elements;
    *(int32_t *)(void *)((uint8_t *)m + f->count_offset) = count;
}

/* m holds defaults, which stay where the version has no such field and now and then elsewhere. */
static void wire_fill_field(const struct wire_fill *fill, const struct wire_field *f, void *m)
{
    uint8_t *at = (uint8_t *)m + f->offset;
    bool may_keep = f->tag >= 0 || f->null_version <= fill->version;
    bool is_default_null = f->null_version != WIRE_NEVER;
    if (!wire_field_has_version(f, fill->version) || (may_keep && prng_chance(fill->prng, 1, 3))) {
        return;
    }
    if (f->is_array) {
        wire_fill_array(fill, f, m);
    } else if (f->kind == WIRE_STRUCT && is_default_null) {
        void *nested = arena_alloc(fill->arena, f->of->size);
        CHECK(nested != NULL);
        wire_fill_struct(fill, f->of, nested);
        *(void **)(void *)at = nested;
    } else {
        wire_fill_value(fill, f, at);
    }
}

static void wire_fill_struct(const struct wire_fill *fill, const struct wire_struct *s, void *m)
{
    wire_struct_init(s, m);
    for (uint16_t i = 0; i < s->field_count; i++) {
        wire_fill_field(fill, &s->fields[i], m);
    }
}

static bool wire_same_struct(const struct wire_struct *s, const void *a, const void *b);

static bool wire_same_value(const struct wire_field *f, const void *a, const void *b)
{
    if (f->kind == WIRE_STRUCT) {
        return wire_same_struct(f->of, a, b);
    }
    if (f->kind == WIRE_STR || f->kind == WIRE_BYTES || f->kind == WIRE_RECORDS) {
        struct slice x;
        struct slice y;
        static_assert(sizeof(struct wire_records) == sizeof x, "records are compared as slices");
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return slice_is_null(x) == slice_is_null(y) && slice_equal(x, y);
    }
    return memcmp(a, b, wire_field_value_size(f)) == 0;
}

static bool wire_same_field(const struct wire_field *f, const void *a, const void *b)
{
    const uint8_t *x = (const uint8_t *)a + f->offset;
    const uint8_t *y = (const uint8_t *)b + f->offset;
    int32_t count = 1;
    if (f->is_array) {
        int32_t other;
        memcpy(&count, (const uint8_t *)a + f->count_offset, sizeof count);
        memcpy(&other, (const uint8_t *)b + f->count_offset, sizeof other);
        if (count != other) {
            return false;
        }
    }
    if (f->is_array || (f->kind == WIRE_STRUCT && f->null_version != WIRE_NEVER)) {
        memcpy(&x, x, sizeof x);
        memcpy(&y, y, sizeof y);
        if (!f->is_array && (x == NULL || y == NULL)) {
            return x == y;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        size_t pos = (size_t)i * wire_field_value_size(f);
        if (!wire_same_value(f, x + pos, y + pos)) {
            return false;
        }
    }
    return true;
}

/* Prints the first field that differs. */
static bool wire_same_struct(const struct wire_struct *s, const void *a, const void *b)
{
    for (uint16_t i = 0; i < s->field_count; i++) {
        if (!wire_same_field(&s->fields[i], a, b)) {
            fprintf(stderr, "differs: %s.%s\n", s->name, s->fields[i].name);
            return false;
        }
    }
    return true;
}
