/*
 * Memory of the cluster's nouns. Pure.
 */
#include "model/cluster.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdlib.h>

void model_broker_deinit(struct model_broker *b)
{
    for (int32_t i = 0; i < b->endpoint_count; i++) {
        free(b->endpoints[i].listener);
        free(b->endpoints[i].host);
    }
    free(b->endpoints);
    free(b->rack);
    *b = (struct model_broker){0};
}

void model_broker_add_endpoint(struct model_broker *b, const struct model_endpoint *endpoint)
{
    size_t count = (size_t)b->endpoint_count + 1;
    b->endpoints = xrealloc(b->endpoints, count * sizeof *b->endpoints);
    b->endpoints[b->endpoint_count++] =
        (struct model_endpoint){.listener = xstrdup(endpoint->listener),
                                .protocol = endpoint->protocol,
                                .host = xstrdup(endpoint->host),
                                .port = endpoint->port};
}

void model_broker_copy(struct model_broker *to, const struct model_broker *from)
{
    CHECK(to != from);
    model_broker_deinit(to);
    to->id = from->id;
    to->epoch = from->epoch;
    to->rack = from->rack == NULL ? NULL : xstrdup(from->rack);
    for (int32_t i = 0; i < from->endpoint_count; i++) {
        model_broker_add_endpoint(to, &from->endpoints[i]);
    }
}

const struct model_endpoint *model_broker_endpoint(const struct model_broker *b,
                                                   struct slice listener)
{
    for (int32_t i = 0; i < b->endpoint_count; i++) {
        if (slice_equal_str(listener, b->endpoints[i].listener)) {
            return &b->endpoints[i];
        }
    }
    return NULL;
}

void model_partition_state_deinit(struct model_partition_state *s)
{
    ids_deinit(&s->isr);
    *s = (struct model_partition_state){0};
}

void model_partition_state_copy(struct model_partition_state *to,
                                const struct model_partition_state *from)
{
    CHECK(to != from);
    struct ids isr = to->isr;
    ids_copy(&isr, &from->isr);
    *to = *from;
    to->isr = isr;
}

void model_topic_deinit(struct model_topic *t)
{
    for (int32_t i = 0; i < t->partition_count; i++) {
        assignment_deinit(&t->partitions[i]);
    }
    free(t->partitions);
    free(t->name);
    *t = (struct model_topic){0};
}

void model_topic_reset(struct model_topic *t, struct slice name, int32_t partition_count)
{
    CHECK(partition_count >= 0);
    model_topic_deinit(t);
    t->name = slice_dup(name);
    t->partition_count = partition_count;
    if (partition_count > 0) {
        t->partitions = xalloc((size_t)partition_count * sizeof *t->partitions);
    }
}

void model_topic_copy(struct model_topic *to, const struct model_topic *from)
{
    CHECK(to != from);
    model_topic_reset(to, slice_str(from->name), from->partition_count);
    to->id = from->id;
    for (int32_t i = 0; i < from->partition_count; i++) {
        assignment_copy(&to->partitions[i], &from->partitions[i]);
    }
}

void model_legacy_moves_free(struct model_legacy_move *moves, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        free(moves[i].topic);
        ids_deinit(&moves[i].replicas);
    }
    free(moves);
}
