/*
 * Lists of broker ids: short, so every search is linear. No state of its own.
 */
#include "model/ids.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

void ids_deinit(struct ids *ids)
{
    if (ids != NULL) {
        free(ids->list);
        *ids = (struct ids){0};
    }
}

void ids_clear(struct ids *ids)
{
    ids->count = 0;
}

void ids_add(struct ids *ids, int32_t id)
{
    if (ids->count == ids->cap) {
        ids->cap = ids->cap == 0 ? 4 : ids->cap * 2;
        ids->list = xrealloc(ids->list, (size_t)ids->cap * sizeof *ids->list);
    }
    ids->list[ids->count++] = id;
}

void ids_set(struct ids *ids, const int32_t *list, int32_t count)
{
    ids_clear(ids);
    for (int32_t i = 0; i < count; i++) {
        ids_add(ids, list[i]);
    }
}

void ids_copy(struct ids *to, const struct ids *from)
{
    if (to != from) {
        ids_set(to, from->list, from->count);
    }
}

void ids_move(struct ids *to, struct ids *from)
{
    CHECK(to != from);
    free(to->list);
    *to = *from;
    *from = (struct ids){0};
}

bool ids_has(const struct ids *ids, int32_t id)
{
    for (int32_t i = 0; i < ids->count; i++) {
        if (ids->list[i] == id) {
            return true;
        }
    }
    return false;
}

bool ids_equal(const struct ids *a, const struct ids *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->list, b->list, (size_t)a->count * sizeof *a->list) == 0);
}

bool ids_subset(const struct ids *inner, const struct ids *outer)
{
    for (int32_t i = 0; i < inner->count; i++) {
        if (!ids_has(outer, inner->list[i])) {
            return false;
        }
    }
    return true;
}

bool ids_same_set(const struct ids *a, const struct ids *b)
{
    return ids_subset(a, b) && ids_subset(b, a);
}

int32_t ids_common_count(const struct ids *a, const struct ids *b)
{
    int32_t count = 0;
    for (int32_t i = 0; i < a->count; i++) {
        count += ids_has(b, a->list[i]);
    }
    return count;
}

bool ids_has_duplicate(const struct ids *ids)
{
    for (int32_t i = 0; i < ids->count; i++) {
        for (int32_t j = i + 1; j < ids->count; j++) {
            if (ids->list[i] == ids->list[j]) {
                return true;
            }
        }
    }
    return false;
}

void ids_minus(struct ids *to, const struct ids *a, const struct ids *b)
{
    CHECK(to != a && to != b);
    ids_clear(to);
    for (int32_t i = 0; i < a->count; i++) {
        if (!ids_has(b, a->list[i])) {
            ids_add(to, a->list[i]);
        }
    }
}

void ids_remove(struct ids *ids, int32_t id)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < ids->count; i++) {
        if (ids->list[i] != id) {
            ids->list[kept++] = ids->list[i];
        }
    }
    ids->count = kept;
}
