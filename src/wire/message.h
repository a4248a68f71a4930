/*
 * The tables that describe messages, and the functions that follow them. Included by the generated
 * messages.c and by tests that walk a message field by field; others use wire/wire.h.
 */
#pragma once

#include "wire/wire.h"

#define WIRE_BODY_SIZE_MAX 512 /* sizeof a top-level struct, at most */

enum wire_kind {
    WIRE_BOOL,
    WIRE_I8,
    WIRE_I16,
    WIRE_I32,
    WIRE_I64,
    WIRE_U16,
    WIRE_F64,
    WIRE_UUID,
    WIRE_STR,
    WIRE_BYTES,
    WIRE_RECORDS,
    WIRE_STRUCT,
};

struct wire_field {
    const char *name;
    const struct wire_struct *of; /* WIRE_STRUCT: the nested one */
    int64_t initial;              /* default of numbers and bool */
    uint16_t offset;              /* in the C struct */
    uint16_t count_offset;        /* arrays: where `<field>_count` is */
    enum wire_kind kind;          /* of the element in arrays */
    bool is_array;
    bool is_classic; /* never compact */
    bool is_error;   /* an error_code */
    int16_t first_version;
    int16_t last_version;
    int16_t null_version; /* nullable from here on, or WIRE_NEVER */
    int32_t tag;          /* -1 = not tagged */
};

struct wire_struct {
    const char *name;
    const struct wire_field *fields; /* in wire order, then the tagged ones in order of tag */
    uint16_t untagged_count;
    uint16_t field_count;
    uint16_t size;      /* sizeof the C struct */
    uint16_t bytes_min; /* fewest bytes on the wire, over all versions */
};

struct wire_message {
    const struct wire_struct *body;
    int16_t first_version;
    int16_t last_version;
    int16_t flexible_version;
};

/* The generated table, in order of key. */
extern const struct wire_api wire_apis[];
extern const int32_t wire_apis_count;

void wire_struct_init(const struct wire_struct *s, void *m);
/* Whether the field is on the wire in this version (a tagged one: may be). */
bool wire_field_has_version(const struct wire_field *f, int16_t version);
/* sizeof one value (one element of an array). */
size_t wire_field_value_size(const struct wire_field *f);
/* Whether m's field f has its default value. */
bool wire_field_is_default(const struct wire_field *f, const void *m);
