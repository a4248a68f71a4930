/*
 * The metastore of the world: carries out the writes of the controller core, one at a time.
 */
#pragma once

#include "unit/control/world.h"

static inline void world_partitions_make(struct world_topic *t, int32_t from)
{
    size_t count = (size_t)t->node.partition_count + 1;
    if (t->partitions != NULL && from == t->node.partition_count) {
        return; /* events that wait may point into it */
    }
    t->partitions = xrealloc(t->partitions, count * sizeof *t->partitions);
    for (int32_t i = from; i < t->node.partition_count; i++) {
        memset(&t->partitions[i], 0, sizeof t->partitions[i]);
        t->partitions[i].state.leader = -1;
    }
}

static inline struct world_topic *world_topic_put(struct world *w, const struct model_topic *node)
{
    CHECK(w->topic_count < WORLD_TOPICS);
    struct world_topic *t = &w->topics[w->topic_count++];
    t->exists = true;
    t->mzxid = ++w->zxid;
    t->min_insync_replicas = 1;
    world_topic_copy(&t->node, node);
    world_partitions_make(t, 0);
    return t;
}

static inline void world_topic_clear(struct world_topic *t)
{
    for (int32_t i = 0; t->exists && i < t->node.partition_count; i++) {
        model_partition_state_deinit(&t->partitions[i].state);
        for (int32_t b = 0; b < WORLD_BROKERS; b++) {
            model_partition_state_deinit(&t->partitions[i].told[b].state);
            ids_deinit(&t->partitions[i].told[b].replicas);
        }
    }
    free(t->partitions);
    t->partitions = NULL;
    model_topic_deinit(&t->node);
    t->exists = false;
}

static inline struct control_topic_read world_read_of(struct world_topic *t)
{
    return (struct control_topic_read){.topic = &t->node,
                                       .mzxid = t->mzxid,
                                       .has_partitions_node = t->has_partitions_node,
                                       .min_insync_replicas = t->min_insync_replicas,
                                       .is_unclean_election_enabled = t->is_unclean};
}

static inline void world_state_write(struct world *w, struct world_write *k,
                                     struct control_event *done)
{
    struct world_topic *t = world_topic_find(w, slice_str(k->topic));
    if (t == NULL) {
        done->outcome = CONTROL_MISSING;
        return;
    }
    struct world_partition *p = &t->partitions[k->body.partition];
    bool is_create = k->body.kind == CONTROL_WRITE_STATE_CREATE;
    if (is_create != !p->has_state || (!is_create && k->state.version != p->state.version)) {
        done->outcome = CONTROL_CONFLICT;
        done->state = &p->state;
        return;
    }
    struct model_partition_state before = p->state;
    p->state.isr = (struct ids){0};
    int32_t version = is_create ? 0 : before.version + 1;
    model_partition_state_copy(&p->state, &k->state);
    p->state.version = version;
    p->has_state = true;
    p->mzxid = ++w->zxid;
    p->state_writes++;
    done->outcome = CONTROL_WRITTEN;
    done->version = version;
    if (w->on_state != NULL) {
        w->on_state(w, t, k->body.partition, is_create ? NULL : &before);
    }
    ids_deinit(&before.isr);
}

static inline void world_topic_write(struct world *w, struct world_write *k,
                                     struct control_event *done, struct control_topic_read *read)
{
    struct world_topic *t = world_topic_find(w, slice_str(k->topic));
    done->outcome = CONTROL_WRITTEN;
    if (k->body.kind == CONTROL_WRITE_TOPIC_CREATE) {
        if (t != NULL) {
            done->outcome = CONTROL_CONFLICT;
            *read = world_read_of(t);
            done->read = read;
            return;
        }
        t = world_topic_put(w, &k->node);
        t->has_partitions_node = true;
        done->version = 0;
    } else if (t == NULL) {
        done->outcome = CONTROL_MISSING;
    } else if (k->body.kind == CONTROL_WRITE_PARTITIONS_NODE) {
        t->has_partitions_node = true;
    } else if (k->node.version != t->node.version) {
        done->outcome = CONTROL_CONFLICT;
        *read = world_read_of(t);
        done->read = read;
    } else {
        int32_t had = t->node.partition_count;
        if (w->on_node != NULL) {
            w->on_node(w, t, &k->node);
        }
        world_topic_copy(&t->node, &k->node);
        t->node.version++;
        t->mzxid = ++w->zxid;
        t->node_writes++;
        world_partitions_make(t, had);
        done->version = t->node.version;
    }
}

static inline void world_other_write(struct world *w, struct world_write *k,
                                     struct control_event *done)
{
    struct world_topic *t = k->topic == NULL ? NULL : world_topic_find(w, slice_str(k->topic));
    done->outcome = CONTROL_WRITTEN;
    if (k->body.kind == CONTROL_WRITE_DELETE_QUEUE) {
        t->is_queued = true;
    } else if (k->body.kind == CONTROL_WRITE_DELETE_DROP && t != NULL) {
        t->is_queued = false;
    } else if (k->body.kind == CONTROL_WRITE_TOPIC_DELETE) {
        world_topic_clear(t);
    } else if (k->body.kind == CONTROL_WRITE_PRODUCER_BLOCK) {
        bool is_fine = w->has_block ? k->block.version == w->block.version : k->block.version < 0;
        if (is_fine) {
            int32_t version = w->has_block ? w->block.version + 1 : 0;
            w->block = k->block;
            w->block.version = done->version = version;
            w->has_block = true;
        } else {
            done->outcome = CONTROL_CONFLICT;
            done->conflict_block = &w->block;
        }
    }
}

/* The znode as the core is told it. Texts and lists stay in the static storage. */
static inline struct control_legacy *world_legacy(struct world *w)
{
    static struct control_legacy legacy;
    static struct control_legacy_move moves[WORLD_LEGACY];
    static int32_t lists[WORLD_LEGACY][WORLD_BROKERS];
    legacy = (struct control_legacy){.moves = moves, .version = w->legacy_version};
    const char *at = buf_text(&w->legacy);
    while (w->legacy_version >= 0 && *at != 0) {
        const char *blank = strchr(at, ' ');
        const char *dash = blank;
        while (*dash != '-') {
            dash--;
        }
        CHECK(legacy.count < WORLD_LEGACY);
        moves[legacy.count].topic = slice_of(at, (size_t)(dash - at));
        moves[legacy.count].partition = (int32_t)strtol(dash + 1, NULL, 10);
        struct ids *ids = &moves[legacy.count].replicas;
        *ids = (struct ids){.list = lists[legacy.count]};
        for (at = blank + 1; *at != ';'; at += *at == ',') {
            char *end = NULL;
            ids->list[ids->count++] = (int32_t)strtol(at, &end, 10);
            at = end;
        }
        legacy.count++;
        at++;
    }
    return &legacy;
}

static inline void world_legacy_write(struct world *w, struct world_write *k,
                                      struct control_event *done)
{
    if (w->legacy_version < 0) {
        done->outcome = CONTROL_MISSING;
    } else if (k->block.version != w->legacy_version) {
        done->outcome = CONTROL_CONFLICT;
        done->conflict_legacy = world_legacy(w);
    } else {
        buf_clear(&w->legacy);
        buf_put_slice(&w->legacy, buf_slice(&k->legacy));
        w->legacy_version = k->legacy.len == 0 ? -1 : w->legacy_version + 1;
        w->legacy_writes++;
        done->outcome = CONTROL_WRITTEN;
        done->version = w->legacy_version;
    }
}

/* Carries out the oldest write and fills done. The event may point into read and into the world. */
static inline bool world_refuses(const struct world *w, const struct world_write *k)
{
    return (w->refused_kinds & 1U << k->body.kind) != 0 &&
           (w->refused_topic == NULL || strcmp(w->refused_topic, k->topic) == 0);
}

static inline void world_write_carry(struct world *w, struct control_event *done,
                                     struct control_topic_read *read)
{
    struct world_write *k = CONTAINER_OF(list_pop(&w->writes), struct world_write, link);
    *done = (struct control_event){.kind = CONTROL_ON_WRITE_DONE, .write_id = k->body.id};
    if (world_refuses(w, k)) {
        done->outcome = CONTROL_FAILED;
        done->message = "/node: refused";
        done->path = "/node";
        w->refused_count++;
        world_write_free(k);
        return;
    }
    switch (k->body.kind) {
    case CONTROL_WRITE_STATE_CREATE:
    case CONTROL_WRITE_STATE_SET:
        world_state_write(w, k, done);
        break;
    case CONTROL_WRITE_TOPIC_CREATE:
    case CONTROL_WRITE_TOPIC_SET:
    case CONTROL_WRITE_PARTITIONS_NODE:
        world_topic_write(w, k, done, read);
        break;
    case CONTROL_WRITE_LEGACY:
        world_legacy_write(w, k, done);
        break;
    case CONTROL_WRITE_DELETE_QUEUE:
    case CONTROL_WRITE_DELETE_DROP:
    case CONTROL_WRITE_TOPIC_DELETE:
    case CONTROL_WRITE_PRODUCER_BLOCK:
    default:
        world_other_write(w, k, done);
    }
    world_write_free(k);
}
