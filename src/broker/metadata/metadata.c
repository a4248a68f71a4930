/*
 * The metadata cache. LiveBrokers replaces the whole list; TopicStates is a change set, in which
 * leader -2 forgets a partition. Topics are sorted lazily, when somebody walks them in order.
 */
#include "broker/metadata/metadata.h"

#include "base/alloc.h"
#include "base/check.h"
#include "wire/update_metadata.h"

#include <stdlib.h>

#define LEADER_DURING_DELETE (-2)

struct metadata {
    const char *listener;
    bool is_known;
    int32_t controller;
    struct metadata_broker *brokers; /* sorted by id */
    int32_t broker_count;
    struct metadata_topic *topics; /* by name */
    struct metadata_topic *topics_by_id;
    bool is_sorted; /* the name map's order is by name */
};

/* One partition of a request, whatever version it came in. */
struct state {
    struct slice topic;
    struct uuid topic_id;
    int32_t index;
    int32_t leader;
    int32_t leader_epoch;
    int32_t partition_epoch;
    const int32_t *replicas;
    int32_t replica_count;
    const int32_t *isr;
    int32_t isr_count;
    const int32_t *offline;
    int32_t offline_count;
};

struct metadata *metadata_new(const char *listener)
{
    struct metadata *m = xalloc(sizeof *m);
    m->listener = listener;
    m->controller = -1;
    m->is_sorted = true;
    return m;
}

static void partition_deinit(struct metadata_partition *p)
{
    ids_deinit(&p->replicas);
    ids_deinit(&p->isr);
    ids_deinit(&p->offline);
}

static void partitions_clear(struct metadata_topic *topic)
{
    for (int32_t i = 0; i < topic->partition_count; i++) {
        partition_deinit(&topic->partitions[i]);
    }
    topic->partition_count = 0;
}

static void topic_remove(struct metadata *m, struct metadata_topic *topic)
{
    if (!uuid_is_zero(topic->id)) {
        HASH_DELETE(hh_id, m->topics_by_id, topic);
    }
    HASH_DELETE(hh, m->topics, topic);
    partitions_clear(topic);
    free(topic->partitions);
    free(topic->name);
    free(topic);
}

static void broker_deinit(struct metadata_broker *b)
{
    for (int32_t i = 0; i < b->endpoint_count; i++) {
        free(b->endpoints[i].listener);
        free(b->endpoints[i].host);
    }
    free(b->endpoints);
    free(b->rack);
}

static void brokers_clear(struct metadata *m)
{
    for (int32_t i = 0; i < m->broker_count; i++) {
        broker_deinit(&m->brokers[i]);
    }
    free(m->brokers);
    m->brokers = NULL;
    m->broker_count = 0;
}

void metadata_free(struct metadata *m)
{
    if (m == NULL) {
        return;
    }
    while (m->topics != NULL) {
        topic_remove(m, m->topics);
    }
    brokers_clear(m);
    free(m);
}

/* ---- brokers ---- */

static int broker_compare(const void *a, const void *b)
{
    const struct metadata_broker *x = a;
    const struct metadata_broker *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void endpoint_add(struct metadata_broker *to, struct slice listener, struct slice host,
                         int32_t port)
{
    if (host.len > 0 && port > 0 && port <= UINT16_MAX) {
        to->endpoints[to->endpoint_count++] = (struct metadata_endpoint){
            .listener = slice_dup(listener), .host = slice_dup(host), .port = (uint16_t)port};
    }
}

/* Below v3 endpoints have no names: a plain one counts as the cache's listener. */
static void endpoints_copy(const struct metadata *m, struct metadata_broker *to,
                           const struct wire_update_metadata_request_live_brokers *from)
{
    to->endpoints = xalloc((size_t)(MAX(from->endpoints_count, 0) + 1) * sizeof *to->endpoints);
    for (int32_t i = 0; i < from->endpoints_count; i++) {
        const struct wire_update_metadata_request_live_brokers_endpoints *e = &from->endpoints[i];
        bool is_named = !slice_is_null(e->listener) && e->listener.len > 0;
        if (is_named || e->security_protocol == 0) {
            endpoint_add(to, is_named ? e->listener : slice_str(m->listener), e->host, e->port);
        }
    }
    endpoint_add(to, slice_str(m->listener), from->v0_host, from->v0_port);
}

static void brokers_replace(struct metadata *m, const struct wire_update_metadata_request *req)
{
    brokers_clear(m);
    if (req->live_brokers_count <= 0) {
        return;
    }
    m->brokers = xalloc((size_t)req->live_brokers_count * sizeof *m->brokers);
    for (int32_t i = 0; i < req->live_brokers_count; i++) {
        const struct wire_update_metadata_request_live_brokers *from = &req->live_brokers[i];
        struct metadata_broker *b = &m->brokers[m->broker_count];
        *b = (struct metadata_broker){.id = from->id};
        endpoints_copy(m, b, from);
        const struct metadata_endpoint *own = metadata_endpoint_find(b, m->listener);
        if (b->id < 0 || own == NULL) {
            broker_deinit(b);
            continue;
        }
        b->host = own->host;
        b->port = own->port;
        b->rack = slice_is_null(from->rack) ? NULL : slice_dup(from->rack);
        m->broker_count++;
    }
    qsort(m->brokers, (size_t)m->broker_count, sizeof *m->brokers, broker_compare);
}

/* ---- topics ---- */

/* The place of index, or where it belongs. */
static int32_t partition_place(const struct metadata_topic *topic, int32_t index)
{
    int32_t low = 0;
    int32_t high = topic->partition_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (topic->partitions[middle].index < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct metadata_topic *topic_find(const struct metadata *m, struct slice name)
{
    struct metadata_topic *topic;
    HASH_FIND(hh, m->topics, name.ptr, name.len, topic);
    return topic;
}

static void topic_set_id(struct metadata *m, struct metadata_topic *topic, struct uuid id)
{
    if (uuid_equal(topic->id, id)) {
        return;
    }
    if (!uuid_is_zero(topic->id)) {
        HASH_DELETE(hh_id, m->topics_by_id, topic);
        if (!uuid_is_zero(id)) {
            /* Deleted and made again under the same name: nothing of the old one holds. */
            partitions_clear(topic);
        }
    }
    topic->id = UUID_ZERO;
    struct metadata_topic *other;
    HASH_FIND(hh_id, m->topics_by_id, &id, sizeof id, other);
    if (!uuid_is_zero(id) && other == NULL) {
        topic->id = id;
        HASH_ADD(hh_id, m->topics_by_id, id, sizeof topic->id, topic);
    }
}

static struct metadata_topic *topic_make(struct metadata *m, struct slice name)
{
    struct metadata_topic *topic = xalloc(sizeof *topic);
    topic->name = slice_dup(name);
    HASH_ADD_KEYPTR(hh, m->topics, topic->name, name.len, topic);
    m->is_sorted = false;
    return topic;
}

static void partition_forget(struct metadata *m, struct metadata_topic *topic, int32_t index)
{
    int32_t at = partition_place(topic, index);
    if (at == topic->partition_count || topic->partitions[at].index != index) {
        return;
    }
    partition_deinit(&topic->partitions[at]);
    topic->partition_count--;
    memmove(&topic->partitions[at], &topic->partitions[at + 1],
            (size_t)(topic->partition_count - at) * sizeof *topic->partitions);
    if (topic->partition_count == 0) {
        topic_remove(m, topic);
    }
}

static struct metadata_partition *partition_make(struct metadata_topic *topic, int32_t index)
{
    int32_t at = partition_place(topic, index);
    if (at < topic->partition_count && topic->partitions[at].index == index) {
        return &topic->partitions[at];
    }
    if (topic->partition_count == topic->partition_cap) {
        topic->partition_cap = MAX(4, topic->partition_cap * 2);
        topic->partitions =
            xrealloc(topic->partitions, (size_t)topic->partition_cap * sizeof *topic->partitions);
    }
    memmove(&topic->partitions[at + 1], &topic->partitions[at],
            (size_t)(topic->partition_count - at) * sizeof *topic->partitions);
    topic->partition_count++;
    topic->partitions[at] = (struct metadata_partition){.index = index};
    return &topic->partitions[at];
}

static void state_apply(struct metadata *m, const struct state *s)
{
    if (s->topic.len == 0 || s->index < 0) {
        return;
    }
    struct metadata_topic *topic = topic_find(m, s->topic);
    if (s->leader == LEADER_DURING_DELETE) {
        if (topic != NULL) {
            partition_forget(m, topic, s->index);
        }
        return;
    }
    if (topic == NULL) {
        topic = topic_make(m, s->topic);
    }
    topic_set_id(m, topic, s->topic_id);
    struct metadata_partition *p = partition_make(topic, s->index);
    p->leader = s->leader;
    p->leader_epoch = s->leader_epoch;
    p->partition_epoch = s->partition_epoch;
    ids_set(&p->replicas, s->replicas, MAX(s->replica_count, 0));
    ids_set(&p->isr, s->isr, MAX(s->isr_count, 0));
    ids_set(&p->offline, s->offline, MAX(s->offline_count, 0));
}

/* v5 and later: states grouped by topic. */
static void topic_states_apply(struct metadata *m, const struct wire_update_metadata_request *req)
{
    for (int32_t i = 0; i < req->topic_states_count; i++) {
        const struct wire_update_metadata_request_topic_states *t = &req->topic_states[i];
        for (int32_t j = 0; j < t->partition_states_count; j++) {
            const struct wire_update_metadata_request_topic_states_partition_states *p =
                &t->partition_states[j];
            struct state state = {
                .topic = t->topic_name,
                .topic_id = t->topic_id,
                .index = p->partition_index,
                .leader = p->leader,
                .leader_epoch = p->leader_epoch,
                .partition_epoch = p->zk_version,
                .replicas = p->replicas,
                .replica_count = p->replicas_count,
                .isr = p->isr,
                .isr_count = p->isr_count,
                .offline = p->offline_replicas,
                .offline_count = p->offline_replicas_count,
            };
            state_apply(m, &state);
        }
    }
}

/* Up to v4. */
static void ungrouped_apply(struct metadata *m, const struct wire_update_metadata_request *req)
{
    for (int32_t i = 0; i < req->ungrouped_partition_states_count; i++) {
        const struct wire_update_metadata_request_ungrouped_partition_states *p =
            &req->ungrouped_partition_states[i];
        struct state state = {
            .topic = p->topic_name,
            .index = p->partition_index,
            .leader = p->leader,
            .leader_epoch = p->leader_epoch,
            .partition_epoch = p->zk_version,
            .replicas = p->replicas,
            .replica_count = p->replicas_count,
            .isr = p->isr,
            .isr_count = p->isr_count,
            .offline = p->offline_replicas,
            .offline_count = p->offline_replicas_count,
        };
        state_apply(m, &state);
    }
}

void metadata_update(struct metadata *m, const struct wire_update_metadata_request *req)
{
    m->controller = req->controller_id;
    brokers_replace(m, req);
    topic_states_apply(m, req);
    ungrouped_apply(m, req);
    m->is_known = true;
}

/* ---- lookups ---- */

bool metadata_is_known(const struct metadata *m)
{
    return m->is_known;
}

int32_t metadata_controller(const struct metadata *m)
{
    return m->controller;
}

int32_t metadata_broker_count(const struct metadata *m)
{
    return m->broker_count;
}

const struct metadata_broker *metadata_broker_at(const struct metadata *m, int32_t index)
{
    CHECK(index >= 0 && index < m->broker_count);
    return &m->brokers[index];
}

const struct metadata_broker *metadata_broker_find(const struct metadata *m, int32_t id)
{
    struct metadata_broker key = {.id = id};
    if (m->broker_count == 0) {
        return NULL;
    }
    return bsearch(&key, m->brokers, (size_t)m->broker_count, sizeof key, broker_compare);
}

const struct metadata_endpoint *metadata_endpoint_find(const struct metadata_broker *broker,
                                                       const char *listener)
{
    for (int32_t i = 0; i < broker->endpoint_count; i++) {
        if (strcmp(broker->endpoints[i].listener, listener) == 0) {
            return &broker->endpoints[i];
        }
    }
    return NULL;
}

int32_t metadata_topic_count(const struct metadata *m)
{
    return (int32_t)HASH_COUNT(m->topics);
}

const struct metadata_topic *metadata_topic_find(const struct metadata *m, struct slice name)
{
    return slice_is_null(name) ? NULL : topic_find(m, name);
}

const struct metadata_topic *metadata_topic_find_id(const struct metadata *m, struct uuid id)
{
    struct metadata_topic *topic;
    HASH_FIND(hh_id, m->topics_by_id, &id, sizeof id, topic);
    return topic;
}

static int topic_compare(const struct metadata_topic *a, const struct metadata_topic *b)
{
    return strcmp(a->name, b->name);
}

const struct metadata_topic *metadata_topic_next(struct metadata *m,
                                                 const struct metadata_topic *topic)
{
    if (topic != NULL) {
        return topic->hh.next;
    }
    if (!m->is_sorted) {
        HASH_SORT(m->topics, topic_compare);
        m->is_sorted = true;
    }
    return m->topics;
}

const struct metadata_partition *metadata_partition_find(const struct metadata_topic *topic,
                                                         int32_t index)
{
    int32_t at = partition_place(topic, index);
    return at < topic->partition_count && topic->partitions[at].index == index
               ? &topic->partitions[at]
               : NULL;
}
