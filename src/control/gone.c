/*
 * Topics whose znode vanished without having been deleted by us. Nobody told the brokers, so they serve
 * on under the leader epochs they know. When somebody puts the znode back, its partitions are created
 * with the state that was known last, under the next epoch: from epoch 0 the brokers would listen to
 * nothing, and with any other in-sync set records could be lost.
 * Bounded: the last TOPICS_MAX topics of this term, none of more than PARTITIONS_MAX partitions.
 */
#include "control/core.h"

#include <stdlib.h>

#define TOPICS_MAX     100
#define PARTITIONS_MAX 10000

struct core_gone {
    struct list_node link; /* control.gone, oldest first */
    char *name;
    struct uuid id;
    int32_t count;
    struct model_partition_state **states; /* one a partition; NULL = there was none */
};

static void state_free(struct model_partition_state *s)
{
    model_partition_state_deinit(s);
    free(s);
}

static void gone_free(struct control *c, struct core_gone *g)
{
    list_remove(&c->gone, &g->link);
    for (int32_t i = 0; i < g->count; i++) {
        state_free(g->states[i]);
    }
    free(g->states);
    free(g->name);
    free(g);
}

void control_gone_remember(struct control *c, const struct core_topic *t)
{
    if (t->deletion != DELETION_NONE || t->partition_count > PARTITIONS_MAX) {
        return;
    }
    struct core_gone *g = xalloc(sizeof *g);
    *g = (struct core_gone){.name = xstrdup(t->name), .id = t->id, .count = t->partition_count};
    g->states = xalloc((size_t)(g->count + 1) * sizeof(struct model_partition_state *));
    for (int32_t i = 0; i < g->count; i++) {
        if (t->partitions[i]->has_state) {
            g->states[i] = xalloc(sizeof *g->states[i]);
            model_partition_state_copy(g->states[i], &t->partitions[i]->state);
        }
    }
    list_push_back(&c->gone, &g->link);
    if (c->gone.count > TOPICS_MAX) {
        gone_free(c, CONTAINER_OF(list_first(&c->gone), struct core_gone, link));
    }
}

void control_gone_recall(struct control *c, struct core_topic *t)
{
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    list_foreach_safe (n, next, &c->gone) {
        struct core_gone *g = CONTAINER_OF(n, struct core_gone, link);
        if (strcmp(g->name, t->name) != 0) {
            continue;
        }
        for (int32_t i = 0; i < g->count && i < t->partition_count && uuid_equal(g->id, t->id);
             i++) {
            control_gone_forget(t->partitions[i]);
            t->partitions[i]->gone = g->states[i];
            g->states[i] = NULL;
        }
        gone_free(c, g);
    }
}

void control_gone_forget(struct core_partition *p)
{
    state_free(p->gone);
    p->gone = NULL;
}

void control_gone_reset(struct control *c)
{
    struct list_node *n = NULL;
    while ((n = list_first(&c->gone)) != NULL) {
        gone_free(c, CONTAINER_OF(n, struct core_gone, link));
    }
}

bool control_gone_elect(const struct control *c, const struct core_partition *p,
                        struct model_partition_state *next)
{
    const struct ids *replicas = control_partition_replicas(p);
    if (p->gone == NULL) {
        return false;
    }
    model_partition_state_copy(next, p->gone);
    ids_clear(&next->isr);
    for (int32_t i = 0; i < p->gone->isr.count; i++) {
        if (ids_has(replicas, p->gone->isr.list[i])) {
            ids_add(&next->isr, p->gone->isr.list[i]);
        }
    }
    if (!ids_has(&next->isr, next->leader) || !control_replica_is_alive(c, p, next->leader)) {
        next->leader = MODEL_LEADER_NONE;
    }
    next->leader_epoch++;
    return next->isr.count > 0;
}
