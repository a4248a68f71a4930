/*
 * An ordered list of broker ids (a replica list, an ISR) that owns its memory.
 */
#pragma once

#include "base/slice.h"

struct ids {
    int32_t count;
    int32_t cap;   /* private */
    int32_t *list; /* NULL when count is 0 */
};

void ids_deinit(struct ids *ids);
void ids_clear(struct ids *ids); /* keeps the memory */
void ids_add(struct ids *ids, int32_t id);
void ids_set(struct ids *ids, const int32_t *list, int32_t count);
void ids_copy(struct ids *to, const struct ids *from); /* to must be initialised (zeroed) */
/* Takes from's memory; from is empty afterwards, what to held is freed. */
void ids_move(struct ids *to, struct ids *from);
bool ids_has(const struct ids *ids, int32_t id);
bool ids_equal(const struct ids *a, const struct ids *b);    /* order counts */
bool ids_same_set(const struct ids *a, const struct ids *b); /* order does not */
bool ids_subset(const struct ids *inner, const struct ids *outer);
int32_t ids_common_count(const struct ids *a, const struct ids *b); /* of a that b has */
bool ids_has_duplicate(const struct ids *ids);
/* to := a without b, in a's order. to must not be a or b. */
void ids_minus(struct ids *to, const struct ids *a, const struct ids *b);
void ids_remove(struct ids *ids, int32_t id);
