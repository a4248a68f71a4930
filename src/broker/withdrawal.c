/*
 * Three steps: list the topics, read each for the partitions placed here, then read and correct the
 * state of each of those. A step is a list of items, worked off with a bounded number of calls under way;
 * what could not be finished (a conflict, an unknown outcome) is done again from its reading a little
 * later.
 * Invariant: a state is only written with the version under which it was read.
 */
#include "broker/withdrawal.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/check.h"
#include "broker/replicas/replicas.h"
#include "env/env.h"
#include "metastore/metastore.h"
#include "metastore/path.h"
#include "metastore/znode.h"

#include <stdlib.h>

#define CALLS_MAX 128 /* under way at a time */
#define RETRY_MS  100

enum step {
    STEP_LIST,
    STEP_TOPICS,
    STEP_STATES,
};

struct item {
    struct broker_withdrawal *withdrawal;
    int32_t topic;
    int32_t partition; /* STATES */
    bool is_done;
};

struct items {
    struct item *list;
    int32_t count;
    int32_t cap;
};

struct broker_withdrawal {
    struct broker_withdrawal_config config;
    struct env_timer timer;
    enum step step;
    char **topics;
    struct items items;  /* of the present step; they stay where they are during it */
    struct items states; /* found by TOPICS, for STATES */
    int32_t next;        /* item */
    int32_t call_count;
    int32_t left_count; /* in-sync sets */
};

static void step_run(struct broker_withdrawal *w);

static void say(const struct broker_withdrawal *w, char *line)
{
    if (w->config.log != NULL) {
        w->config.log(w->config.log_arg, line);
    }
    free(line);
}

static void items_add(struct items *items, struct item item)
{
    if (items->count == items->cap) {
        items->cap = MAX(16, items->cap * 2);
        items->list = xrealloc(items->list, (size_t)items->cap * sizeof *items->list);
    }
    items->list[items->count++] = item;
}

static struct slice topic_name(const struct item *item)
{
    return slice_str(item->withdrawal->topics[item->topic]);
}

/* The call of an item is over, and the item too unless it has to be done again. */
static void item_over(struct item *item, bool is_done)
{
    struct broker_withdrawal *w = item->withdrawal;
    item->is_done = is_done;
    w->call_count--;
    step_run(w);
}

/* ---- states ---- */

static void state_written(void *arg, const struct metastore_result *result)
{
    struct item *item = arg;
    item->withdrawal->left_count += result->err == 0;
    item_over(item, result->err == 0);
}

static void state_write(struct item *item, const struct model_partition_state *state)
{
    struct metastore_path path;
    struct buf json;
    buf_init(&json);
    metastore_partition_state_encode(&json, state);
    struct metastore_op op = {
        .kind = METASTORE_SET,
        .path = metastore_path_state(&path, topic_name(item), item->partition),
        .data = buf_slice(&json),
        .version = state->version,
    };
    metastore_multi(item->withdrawal->config.metastore, &op, 1, state_written, item);
    buf_deinit(&json);
}

/* Takes the broker out of the state. False: it does not count on the broker, or on nobody else. */
static bool state_leave(struct item *item, struct model_partition_state *state)
{
    struct broker_withdrawal *w = item->withdrawal;
    int32_t id = w->config.broker_id;
    if (!ids_has(&state->isr, id)) {
        return false;
    }
    if (state->isr.count == 1 || state->leader_epoch == INT32_MAX) {
        say(w, xasprintf("%.*s-%d: this broker is the only one in sync, and may lack records",
                         SLICE_ARG(topic_name(item)), item->partition));
        return false;
    }
    ids_remove(&state->isr, id);
    state->leader_epoch++;
    if (state->leader == id) {
        state->leader = MODEL_LEADER_NONE;
    }
    return true;
}

static void state_read(void *arg, const struct metastore_result *result)
{
    struct item *item = arg;
    struct model_partition_state state = {0};
    struct errmsg em;
    if (result->err != 0) {
        item_over(item, result->err == -E_NOT_FOUND);
        return;
    }
    if (metastore_partition_state_decode(result->data, &state, &em) < 0) {
        say(item->withdrawal, xasprintf("state of %.*s-%d: %s", SLICE_ARG(topic_name(item)),
                                        item->partition, em.text));
        item_over(item, true); /* no controller can use it either */
        return;
    }
    state.version = result->stat.version;
    if (state_leave(item, &state)) {
        state_write(item, &state);
    } else {
        item_over(item, true);
    }
    model_partition_state_deinit(&state);
}

/* ---- topics ---- */

static void topic_take(struct item *item, const struct model_topic *topic)
{
    struct broker_withdrawal *w = item->withdrawal;
    for (int32_t p = 0; p < topic->partition_count; p++) {
        if (ids_has(&topic->partitions[p].replicas, w->config.broker_id) &&
            replicas_may_lack_records(w->config.replicas, topic_name(item), p)) {
            items_add(&w->states,
                      (struct item){.withdrawal = w, .topic = item->topic, .partition = p});
        }
    }
}

static void topic_read(void *arg, const struct metastore_result *result)
{
    struct item *item = arg;
    struct model_topic topic = {0};
    struct errmsg em;
    if (result->err != 0) {
        item_over(item, result->err == -E_NOT_FOUND);
        return;
    }
    if (metastore_topic_decode(result->data, topic_name(item), &topic, &em) < 0) {
        say(item->withdrawal, xasprintf("topic %.*s: %s", SLICE_ARG(topic_name(item)), em.text));
    }
    topic_take(item, &topic);
    model_topic_deinit(&topic);
    item_over(item, true);
}

static void topics_listed(void *arg, const struct metastore_result *result)
{
    struct broker_withdrawal *w = arg;
    w->call_count--;
    if (result->err != 0 && result->err != -E_NOT_FOUND) {
        env_timer_start(&w->timer, RETRY_MS);
        return;
    }
    w->topics = xalloc((size_t)(result->child_count + 1) * sizeof *w->topics);
    for (int32_t i = 0; i < result->child_count; i++) {
        w->topics[i] = slice_dup(result->children[i]);
        items_add(&w->items, (struct item){.withdrawal = w, .topic = i});
    }
    w->step = STEP_TOPICS;
    step_run(w);
}

/* ---- steps ---- */

static void item_start(struct broker_withdrawal *w, struct item *item)
{
    struct metastore_path path;
    w->call_count++;
    if (w->step == STEP_TOPICS) {
        metastore_get(w->config.metastore, metastore_path_topic(&path, topic_name(item)), NULL,
                      NULL, topic_read, item);
    } else {
        metastore_get(w->config.metastore,
                      metastore_path_state(&path, topic_name(item), item->partition), NULL, NULL,
                      state_read, item);
    }
}

static bool has_undone(const struct broker_withdrawal *w)
{
    for (int32_t i = 0; i < w->items.count; i++) {
        if (!w->items.list[i].is_done) {
            return true;
        }
    }
    return false;
}

/* No call is under way, and each item had its turn. */
static void pass_over(struct broker_withdrawal *w)
{
    w->next = 0;
    if (has_undone(w)) {
        env_timer_start(&w->timer, RETRY_MS);
    } else if (w->step == STEP_TOPICS) {
        free(w->items.list);
        w->items = w->states;
        w->states = (struct items){0};
        w->step = STEP_STATES;
        step_run(w);
    } else {
        if (w->left_count > 0) {
            say(w, xasprintf("records may be lost here: left %d in-sync sets", w->left_count));
        }
        w->config.done(w->config.arg);
    }
}

static void step_run(struct broker_withdrawal *w)
{
    while (w->next < w->items.count && w->call_count < CALLS_MAX) {
        struct item *item = &w->items.list[w->next++];
        if (!item->is_done) {
            item_start(w, item);
        }
    }
    if (w->call_count == 0) {
        pass_over(w);
    }
}

static void start(void *arg)
{
    struct broker_withdrawal *w = arg;
    if (w->step == STEP_LIST) {
        w->call_count++;
        metastore_children(w->config.metastore, slice_str(METASTORE_TOPICS), NULL, NULL,
                           topics_listed, w);
    } else {
        step_run(w);
    }
}

struct broker_withdrawal *broker_withdrawal_new(const struct broker_withdrawal_config *config)
{
    struct broker_withdrawal *w = xalloc(sizeof *w);
    w->config = *config;
    env_timer_init(&w->timer, config->env, start, w);
    start(w);
    return w;
}

void broker_withdrawal_free(struct broker_withdrawal *w)
{
    if (w == NULL) {
        return;
    }
    env_timer_stop(&w->timer);
    for (int32_t i = 0; w->topics != NULL && w->topics[i] != NULL; i++) {
        free(w->topics[i]);
    }
    free(w->topics);
    free(w->items.list);
    free(w->states.list);
    free(w);
}
