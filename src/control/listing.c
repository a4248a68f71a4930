/*
 * ListPartitionReassignments. Named partitions are looked at at once: the request bounds them. All that moves is
 * told in pieces, one a step, by topic and then partition: a partition that moves all the while is told once, one
 * that starts or ends meanwhile is told or not.
 * Invariant: the topics that a list has yet to look at are known by name, so that they may go in between. What a
 * piece tells is borrowed from the partitions until the next step. Pure.
 */
#include "control/core.h"

#include <stdlib.h>

#define LOOKS_PER_ROW 50 /* partitions that do not move are passed over quickly */

static bool is_listed(const struct core_partition *p)
{
    return p->topic->deletion == DELETION_NONE && assignment_is_reassigning(&p->stored);
}

static void moving_fill(const struct control *c, struct core_request *r,
                        const struct core_partition *p, struct control_moving *list)
{
    const struct core_move *m = p->move;
    struct control_moving *moving = &list[r->reply.count++];
    *moving = (struct control_moving){.topic = slice_str(p->topic->name),
                                      .partition = p->index,
                                      .replicas = p->stored.replicas,
                                      .adding = p->stored.adding,
                                      .removing = p->stored.removing,
                                      .original = p->stored.original,
                                      .isr = p->state.isr,
                                      .offline = p->offline,
                                      .leader = p->has_state ? p->state.leader : MODEL_LEADER_NONE,
                                      .started_ms = c->now_ms};
    moving->has_leader = moving->leader >= 0 && control_replica_is_alive(c, p, moving->leader);
    moving->min_insync =
        MIN(p->topic->min_insync_replicas, p->stored.replicas.count - p->stored.adding.count);
    if (m != NULL) {
        moving->is_stopping = m->phase == PHASE_DROP || m->phase == PHASE_SHRINK;
        moving->started_ms = m->started_ms;
        moving->is_resumed = m->is_resumed;
    }
}

/* ---- named partitions ---- */

static int moving_compare(const void *a, const void *b)
{
    const struct control_moving *x = a;
    const struct control_moving *y = b;
    int order = slice_compare(x->topic, y->topic);
    return order != 0 ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static void named_list(struct control *c, struct core_request *r)
{
    const struct control_list *body = &r->body.list;
    struct control_moving *list =
        control_effect_array(c, (size_t)MAX(body->count, 0) + 1, sizeof *list);
    for (int32_t i = 0; i < body->count; i++) {
        struct core_partition *p =
            control_partition_find(c, body->entries[i].topic, body->entries[i].partition);
        if (p != NULL && is_listed(p) && p->seen_request != r->serial) {
            p->seen_request = r->serial; /* named twice, listed once */
            moving_fill(c, r, p, list);
        }
    }
    qsort(list, (size_t)r->reply.count, sizeof *list, moving_compare);
    r->reply.moving = list;
}

/* ---- all that moves ---- */

static int name_compare(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* The names of the topics of which something moves, sorted. */
static void topics_collect(struct control *c, struct core_request *r)
{
    size_t max = MIN(c->moves.count, c->topic_list.count);
    struct slice *names = arena_array(&r->arena, max + 1, sizeof *names);
    CHECK(names != NULL);
    struct list_node *n = NULL;
    list_foreach (n, &c->moves) {
        struct core_topic *t = CONTAINER_OF(n, struct core_move, link)->partition->topic;
        if (t->seen_request != r->serial) {
            t->seen_request = r->serial;
            struct slice name = slice_str(t->name);
            char *copy = arena_str(&r->arena, name);
            CHECK(copy != NULL);
            names[r->topic_count++] = slice_of(copy, name.len);
        }
    }
    qsort(names, (size_t)r->topic_count, sizeof *names, name_compare);
    r->topics = names;
}

void control_list_start(struct control *c, struct core_request *r)
{
    r->remaining = 1;
    if (r->body.list.wants_all) {
        topics_collect(c, r);
        list_push_back(&c->listings, &r->listing);
    } else {
        named_list(c, r);
        control_request_done(c, r);
    }
}

/* Fills list until it is full or looks are used up. True: nothing is left. */
static bool piece_fill(struct control *c, struct core_request *r, struct control_moving *list,
                       int32_t *looks)
{
    for (; r->cursor < r->topic_count; r->cursor++, r->partition_at = 0) {
        const struct core_topic *t = control_topic_find_any(c, r->topics[r->cursor]);
        int32_t count = t == NULL ? 0 : t->partition_count;
        for (; r->partition_at < count; r->partition_at++, (*looks)--) {
            const struct core_partition *p = t->partitions[r->partition_at];
            if (r->reply.count == c->config.partitions_per_step || *looks <= 0) {
                return false;
            }
            if (p->move != NULL && is_listed(p)) {
                moving_fill(c, r, p, list);
            }
        }
    }
    return true;
}

void control_listings_run(struct control *c)
{
    int32_t looks = c->config.partitions_per_step * LOOKS_PER_ROW;
    struct list_node *n = NULL;
    while (looks > 0 && (n = list_first(&c->listings)) != NULL) {
        struct core_request *r = CONTAINER_OF(n, struct core_request, listing);
        size_t max = MIN(c->moves.count, (size_t)c->config.partitions_per_step);
        struct control_moving *list = control_effect_array(c, max + 1, sizeof *list);
        r->reply.count = 0;
        r->reply.moving = list;
        if (piece_fill(c, r, list, &looks)) {
            control_request_done(c, r); /* the last piece is the reply */
            continue;
        }
        if (r->reply.count > 0) {
            struct control_reply *piece = &control_effect_add(c, CONTROL_EFFECT_REPLY)->reply;
            *piece = r->reply;
            piece->has_more = true;
        }
        return;
    }
}
