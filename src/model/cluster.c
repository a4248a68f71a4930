/*
 * Life and comparison of the cluster nouns. No state of its own.
 */
#include "model/cluster.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void model_broker_deinit(struct model_broker *b)
{
    if (b == NULL) {
        return;
    }
    for (int32_t i = 0; i < b->endpoint_count; i++) {
        free(b->endpoints[i].listener);
        free(b->endpoints[i].host);
    }
    free(b->endpoints);
    free(b->rack);
    *b = (struct model_broker){0};
}

void model_broker_copy(struct model_broker *to, const struct model_broker *from)
{
    model_broker_deinit(to);
    to->id = from->id;
    to->epoch = from->epoch;
    to->rack = from->rack == NULL ? NULL : xstrdup(from->rack);
    to->endpoint_count = from->endpoint_count;
    to->endpoints = xalloc((size_t)(from->endpoint_count + 1) * sizeof *to->endpoints);
    for (int32_t i = 0; i < from->endpoint_count; i++) {
        to->endpoints[i] = from->endpoints[i];
        to->endpoints[i].listener = xstrdup(from->endpoints[i].listener);
        to->endpoints[i].host = xstrdup(from->endpoints[i].host);
    }
}

static bool text_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool model_broker_equal(const struct model_broker *a, const struct model_broker *b)
{
    if (a->id != b->id || a->endpoint_count != b->endpoint_count || !text_equal(a->rack, b->rack)) {
        return false;
    }
    for (int32_t i = 0; i < a->endpoint_count; i++) {
        const struct model_endpoint *x = &a->endpoints[i];
        const struct model_endpoint *y = &b->endpoints[i];
        if (x->port != y->port || x->security_protocol != y->security_protocol ||
            !text_equal(x->listener, y->listener) || !text_equal(x->host, y->host)) {
            return false;
        }
    }
    return true;
}

void model_partition_state_deinit(struct model_partition_state *s)
{
    if (s != NULL) {
        ids_deinit(&s->isr);
    }
}

void model_partition_state_copy(struct model_partition_state *to,
                                const struct model_partition_state *from)
{
    struct ids isr = to->isr;
    ids_copy(&isr, &from->isr);
    *to = *from;
    to->isr = isr;
}

bool model_partition_state_equal(const struct model_partition_state *a,
                                 const struct model_partition_state *b)
{
    return a->controller_epoch == b->controller_epoch && a->leader == b->leader &&
           a->leader_epoch == b->leader_epoch && a->recovery == b->recovery &&
           ids_equal(&a->isr, &b->isr);
}

void model_topic_deinit(struct model_topic *t)
{
    if (t == NULL) {
        return;
    }
    for (int32_t i = 0; i < t->partition_count; i++) {
        assignment_deinit(&t->partitions[i]);
    }
    free(t->partitions);
    free(t->name);
    *t = (struct model_topic){0};
}

bool model_topic_name_is_valid(struct slice name)
{
    if (name.ptr == NULL || name.len == 0 || name.len > MODEL_TOPIC_NAME_MAX ||
        slice_equal_str(name, ".") || slice_equal_str(name, "..")) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.ptr[i];
        bool is_fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
        if (!is_fine) {
            return false;
        }
    }
    return true;
}
