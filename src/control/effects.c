/*
 * The effects of one step: a growing list whose memory is one arena, reset by the next step.
 * Pure; runs where the core runs.
 */
#include "control/core.h"

#include <stdlib.h>
#include <string.h>

/* Far above what a step can need: its work is bounded by partitions_per_step and by the requests,
 * which were bounded when they were read. */
#define EFFECTS_BYTES_MAX ((size_t)4 << 30)

void control_effects_init(struct control_effects *e)
{
    *e = (struct control_effects){.wake_ms = INT64_MAX};
    arena_init(&e->arena, EFFECTS_BYTES_MAX);
}

void control_effects_reset(struct control_effects *e)
{
    arena_reset(&e->arena);
    e->count = 0;
    e->has_more = false;
    e->wake_ms = INT64_MAX;
}

void control_effects_deinit(struct control_effects *e)
{
    if (e != NULL) {
        arena_deinit(&e->arena);
        free(e->list);
        e->list = NULL;
        e->count = e->cap = 0;
    }
}

struct control_effect *control_effect_add(struct control *c, enum control_effect_kind kind)
{
    struct control_effects *e = c->out;
    CHECK(e != NULL);
    if (e->count == e->cap) {
        e->cap = e->cap == 0 ? 64 : e->cap * 2;
        e->list = xrealloc(e->list, (size_t)e->cap * sizeof *e->list);
    }
    struct control_effect *effect = &e->list[e->count++];
    *effect = (struct control_effect){.kind = kind};
    return effect;
}

void *control_effect_array(struct control *c, size_t count, size_t size)
{
    void *array = arena_array(&c->out->arena, count, size);
    CHECK(array != NULL);
    return array;
}

static const char *text_copy(struct control *c, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = control_effect_array(c, size, 1);
    memcpy(copy, text, size);
    return copy;
}

void control_log_add(struct control *c, enum control_level level, const char *text)
{
    struct control_effect *effect = control_effect_add(c, CONTROL_EFFECT_LOG);
    effect->level = level;
    effect->text = text_copy(c, text);
}

void control_moved(struct control *c, const struct core_partition *p)
{
    if (c->out != NULL) {
        control_effect_add(c, CONTROL_EFFECT_MOVED)->moved = (struct control_tp){
            .topic = slice_str(text_copy(c, p->topic->name)), .partition = p->index};
    }
}

void control_resign(struct control *c, const char *reason)
{
    if (!c->is_resigning) {
        c->is_resigning = true;
        control_effect_add(c, CONTROL_EFFECT_RESIGN)->text = text_copy(c, reason);
    }
}
