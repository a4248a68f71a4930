/*
 * What cannot be written is left alone: a partition, a topic or the plan of moves whose znode refuses
 * (an access list, as a rule). It is told once and tried again, from each second to each minute, so that
 * it heals when the znode does; the others are served meanwhile.
 * Invariant: what waits is in control.holds, all holds are in control.held; a hold ends with a write that
 * succeeds, when nothing is left to be written, or with its owner.
 */
#include "control/core.h"

#include <stdlib.h>

#define FIRST_MS 1000
#define LAST_MS  60000
#define TOLD_MAX 20 /* lines, until some of them are over */

static char *name_of(const struct core_hold *h)
{
    if (h->kind == HOLD_PARTITION) {
        return xasprintf("%s-%d", h->partition->topic->name, h->partition->index);
    }
    return h->kind == HOLD_TOPIC ? xasprintf("topic %s", h->topic->name)
                                 : xstrdup("the plan of moves");
}

static void tell(struct control *c, struct core_hold *h)
{
    if (c->holds_told < TOLD_MAX) {
        char *name = name_of(h);
        char *line = xasprintf("%s is left alone for now: %s", name, h->why);
        control_log_add(c, CONTROL_WARNING, line);
        free(line);
        free(name);
        h->is_told = true;
        c->holds_told++;
    } else if (!c->is_more_held_told) {
        control_log_add(c, CONTROL_WARNING, "more partitions and topics are left alone for now");
        c->is_more_held_told = true;
    }
}

static void hold_start(struct control *c, struct core_hold **at, const struct core_hold *fields,
                       const struct control_event *event)
{
    struct core_hold *h = *at;
    if (h == NULL) {
        h = *at = xmemdup(fields, sizeof *fields);
        h->why = xstrdup(event->message == NULL ? "a write failed" : event->message);
        h->path = event->path == NULL ? NULL : xstrdup(event->path);
        h->since_ms = c->now_ms;
        list_push_back(&c->held, &h->link);
        tell(c, h);
    }
    h->delay_ms = h->delay_ms == 0 ? FIRST_MS : MIN(h->delay_ms * 2, LAST_MS);
    heap_remove(&c->holds, &h->node);
    heap_insert(&c->holds, &h->node, c->now_ms + h->delay_ms);
}

void control_hold_partition(struct control *c, struct core_partition *p,
                            const struct control_event *event)
{
    hold_start(c, &p->hold, &(struct core_hold){.kind = HOLD_PARTITION, .partition = p}, event);
}

void control_hold_topic(struct control *c, struct core_topic *t, const struct control_event *event)
{
    hold_start(c, &t->hold, &(struct core_hold){.kind = HOLD_TOPIC, .topic = t}, event);
}

void control_hold_legacy(struct control *c, const struct control_event *event)
{
    hold_start(c, &c->legacy_hold, &(struct core_hold){.kind = HOLD_LEGACY}, event);
}

bool control_is_held(const struct core_hold *h)
{
    return h != NULL && heap_has(&h->node);
}

void control_hold_free(struct control *c, struct core_hold **at)
{
    struct core_hold *h = *at;
    if (h == NULL) {
        return;
    }
    *at = NULL;
    heap_remove(&c->holds, &h->node);
    list_remove(&c->held, &h->link);
    c->holds_told -= h->is_told ? 1 : 0;
    c->is_more_held_told = c->is_more_held_told && c->holds_told > 0;
    free(h->why);
    free(h->path);
    free(h);
}

void control_hold_end(struct control *c, struct core_hold **at)
{
    if (*at != NULL && (*at)->is_told) {
        char *name = name_of(*at);
        char *line = xasprintf("%s is no longer left alone", name);
        control_log_add(c, CONTROL_INFO, line);
        free(line);
        free(name);
    }
    control_hold_free(c, at);
}

/* The members of the partition's ISR may have restarted meanwhile: all are told under a new epoch, which
 * also shows whether it can be written. */
static void release(struct control *c, struct core_hold *h)
{
    switch (h->kind) {
    case HOLD_PARTITION:
        h->partition->needs_raise = h->partition->has_state;
        control_partition_ready(c, h->partition);
        break;
    case HOLD_TOPIC:
        control_topic_dirty(c, h->topic);
        control_delete_retry(c, h->topic);
        break;
    case HOLD_LEGACY:
        c->is_legacy_dirty = true;
        break;
    default:
        CHECK(false);
    }
}

void control_holds_release(struct control *c)
{
    struct heap_node *n = NULL;
    int32_t left = c->config.partitions_per_step;
    while (left-- > 0 && (n = heap_min(&c->holds)) != NULL && n->key <= c->now_ms) {
        heap_remove(&c->holds, n);
        release(c, CONTAINER_OF(n, struct core_hold, node));
    }
}

void control_each_held(const struct control *c,
                       void (*fn)(void *arg, const struct control_held *held), void *arg)
{
    struct list_node *n = NULL;
    list_foreach (n, &c->held) {
        const struct core_hold *h = CONTAINER_OF(n, struct core_hold, link);
        struct control_held held = {
            .partition = -1, .path = h->path, .why = h->why, .since_ms = h->since_ms};
        if (h->kind == HOLD_PARTITION) {
            held.topic = h->partition->topic->name;
            held.partition = h->partition->index;
        } else if (h->kind == HOLD_TOPIC) {
            held.topic = h->topic->name;
        }
        fn(arg, &held);
    }
}
