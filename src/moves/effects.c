/*
 * The effects of one step: a growing list whose memory is one arena, reset by the next step.
 * Pure; runs where the core runs.
 */
#include "moves/core.h"

#include <stdlib.h>
#include <string.h>

/* Far above what a step can need: its work is bounded by QUEUE_BUDGET, and the answers by the requests. */
#define EFFECTS_BYTES_MAX ((size_t)4 << 30)

void moves_effects_init(struct moves_effects *e)
{
    *e = (struct moves_effects){.wake_ms = INT64_MAX};
    arena_init(&e->arena, EFFECTS_BYTES_MAX);
}

void moves_effects_deinit(struct moves_effects *e)
{
    if (e != NULL) {
        arena_deinit(&e->arena);
        free(e->list);
        e->list = NULL;
        e->count = e->cap = 0;
    }
}

struct moves_effect *moves_effect_add(struct moves *m, enum moves_effect_kind kind)
{
    struct moves_effects *e = m->out;
    CHECK(e != NULL);
    if (e->count == e->cap) {
        e->cap = e->cap == 0 ? 64 : e->cap * 2;
        e->list = xrealloc(e->list, (size_t)e->cap * sizeof *e->list);
    }
    struct moves_effect *effect = &e->list[e->count++];
    *effect = (struct moves_effect){.kind = kind};
    return effect;
}

void *moves_effect_array(struct moves *m, size_t count, size_t size)
{
    void *array = arena_array(&m->out->arena, count + 1, size);
    CHECK(array != NULL);
    return array;
}

struct slice moves_effect_text(struct moves *m, struct slice text)
{
    char *copy = arena_str(&m->out->arena, text);
    CHECK(copy != NULL);
    return slice_of(copy, text.len);
}

static void log_add(struct moves *m, const char *text, bool is_trouble)
{
    char *copy = arena_str(&m->out->arena, slice_str(text));
    CHECK(copy != NULL);
    struct moves_effect *effect = moves_effect_add(m, MOVES_EFFECT_LOG);
    effect->text = copy;
    effect->is_trouble = is_trouble;
}

void moves_log(struct moves *m, const char *text)
{
    log_add(m, text, false);
}

void moves_warn(struct moves *m, const char *text)
{
    log_add(m, text, true);
}
