/*
 * A put is one guarded write; when it is refused, or its outcome is unknown, what is stored is read and
 * compared. Partitions that were written are told together, a moment later.
 * Invariant: an item is in `items` from its put until its answer. A stop answers for those that are left and
 * keeps them in `lost`, until their calls are answered or the next session shows that they were dropped.
 */
#include "broker/isr_store.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/list.h"
#include "broker/replicas/replicas.h"
#include "env/env.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"

#include <stdlib.h>

#define NOTIFY_MS          200  /* changes made within it share a notification */
#define NOTIFIED_COUNT_MAX 2000 /* partitions in one: it has to fit a node */

/* A put under way, or a partition to be told. */
struct item {
    struct list_node link; /* of items, lost or changed */
    struct broker_isr_store *store;
    char *topic;
    int32_t partition;
    struct model_partition_state state; /* version: the expected one */
    bool is_lost;
};

struct broker_isr_store {
    struct env *env;
    struct replicas *replicas;
    struct metastore *metastore; /* NULL while stopped */
    struct list items;
    struct list lost;    /* answered for by a stop; their calls may be out */
    struct list changed; /* written, and to be told */
    struct env_timer notify;
};

static void item_free(struct item *item)
{
    model_partition_state_deinit(&item->state);
    free(item->topic);
    free(item);
}

static void items_free(struct list *items)
{
    struct list_node *n;
    while ((n = list_pop(items)) != NULL) {
        item_free(CONTAINER_OF(n, struct item, link));
    }
}

/* ---- notifications ---- */

static void notified(void *arg, const struct metastore_result *result)
{
    (void)arg;
    (void)result; /* at best: the controller also hears when it writes the state itself */
}

static void notify(void *arg)
{
    struct broker_isr_store *s = arg;
    struct metastore_partition_name *names = xalloc(NOTIFIED_COUNT_MAX * sizeof *names);
    while (!list_is_empty(&s->changed)) {
        struct list told;
        int32_t count = 0;
        struct buf json;
        list_init(&told);
        buf_init(&json);
        while (count < NOTIFIED_COUNT_MAX && !list_is_empty(&s->changed)) {
            struct item *item = CONTAINER_OF(list_pop(&s->changed), struct item, link);
            list_push_back(&told, &item->link);
            names[count++] = (struct metastore_partition_name){.topic = slice_str(item->topic),
                                                               .partition = item->partition};
        }
        metastore_isr_change_encode(&json, names, count);
        struct metastore_op op = {.kind = METASTORE_CREATE,
                                  .path = slice_str(METASTORE_ISR_CHANGE_NEW),
                                  .data = buf_slice(&json),
                                  .is_sequential = true};
        metastore_multi(s->metastore, &op, 1, notified, NULL);
        buf_deinit(&json);
        items_free(&told);
    }
    free(names);
}

/* ---- writes ---- */

static void outcome_tell(const struct item *item, int err, int32_t version)
{
    struct replicas_isr_outcome outcome = {
        .topic = slice_str(item->topic),
        .partition = item->partition,
        .leader_epoch = item->state.leader_epoch,
        .partition_epoch = item->state.version,
        .err = err,
        .version = version,
    };
    replicas_isr_stored(item->store->replicas, &outcome);
}

/* Takes item. */
static void item_over(struct item *item, int err, int32_t version)
{
    struct broker_isr_store *s = item->store;
    list_remove(&s->items, &item->link);
    outcome_tell(item, err, version);
    if (err != 0) {
        item_free(item);
        return;
    }
    list_push_back(&s->changed, &item->link);
    if (!env_timer_is_active(&s->notify)) {
        env_timer_start(&s->notify, NOTIFY_MS);
    }
}

/* True: it was answered for, and is gone now. */
static bool lost_over(struct item *item)
{
    bool is_lost = item->is_lost;
    if (is_lost) {
        list_remove(&item->store->lost, &item->link);
        item_free(item);
    }
    return is_lost;
}

/* What is stored: our write after all, the state it was based on, or a newer one. */
static void state_read(void *arg, const struct metastore_result *result)
{
    struct item *item = arg;
    struct model_partition_state stored = {0};
    struct errmsg em;
    int32_t version = result->stat.version;
    if (lost_over(item)) {
        return;
    }
    if (result->err != 0) {
        item_over(item, result->err, -1);
    } else if (version == item->state.version) {
        item_over(item, -E_UNKNOWN_OUTCOME, -1); /* it did not happen: again */
    } else if (metastore_partition_state_decode(result->data, &stored, &em) == 0 &&
               model_partition_state_equal(&stored, &item->state)) {
        item_over(item, 0, version);
    } else {
        item_over(item, -E_BAD_VERSION, -1);
    }
    model_partition_state_deinit(&stored);
}

static void state_written(void *arg, const struct metastore_result *result)
{
    struct item *item = arg;
    if (lost_over(item)) {
        return;
    }
    if (result->err == 0) {
        item_over(item, 0, result->op_stats[0].version);
    } else if (result->err == -E_BAD_VERSION || result->err == -E_UNKNOWN_OUTCOME) {
        struct metastore_path path;
        metastore_get(item->store->metastore,
                      metastore_path_state(&path, slice_str(item->topic), item->partition), NULL,
                      NULL, state_read, item);
    } else {
        item_over(item, result->err, -1);
    }
}

bool broker_isr_store_put(struct broker_isr_store *s, struct slice topic, int32_t partition,
                          const struct model_partition_state *state)
{
    struct metastore_path path;
    struct buf json;
    if (s->metastore == NULL) {
        return false;
    }
    struct item *item = xalloc(sizeof *item);
    *item = (struct item){.store = s, .topic = slice_dup(topic), .partition = partition};
    model_partition_state_copy(&item->state, state);
    list_push_back(&s->items, &item->link);
    buf_init(&json);
    metastore_partition_state_encode(&json, state);
    struct metastore_op op = {.kind = METASTORE_SET,
                              .path = metastore_path_state(&path, topic, partition),
                              .data = buf_slice(&json),
                              .version = state->version};
    metastore_multi(s->metastore, &op, 1, state_written, item);
    buf_deinit(&json);
    return true;
}

/* ---- life ---- */

struct broker_isr_store *broker_isr_store_new(struct env *env, struct replicas *replicas)
{
    struct broker_isr_store *s = xalloc(sizeof *s);
    s->env = env;
    s->replicas = replicas;
    list_init(&s->items);
    list_init(&s->lost);
    list_init(&s->changed);
    env_timer_init(&s->notify, env, notify, s);
    return s;
}

void broker_isr_store_start(struct broker_isr_store *s, struct metastore *m)
{
    items_free(&s->lost); /* of the session before */
    s->metastore = m;
}

void broker_isr_store_stop(struct broker_isr_store *s)
{
    if (s == NULL) {
        return;
    }
    env_timer_stop(&s->notify);
    s->metastore = NULL;
    items_free(&s->changed);
    struct list_node *n;
    while ((n = list_pop(&s->items)) != NULL) {
        struct item *item = CONTAINER_OF(n, struct item, link);
        item->is_lost = true;
        list_push_back(&s->lost, n);
        outcome_tell(item, -E_CLOSED, -1);
    }
}

void broker_isr_store_free(struct broker_isr_store *s)
{
    if (s == NULL) {
        return;
    }
    env_timer_stop(&s->notify);
    items_free(&s->items);
    items_free(&s->lost);
    items_free(&s->changed);
    free(s);
}
