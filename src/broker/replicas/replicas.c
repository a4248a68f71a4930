/*
 * The replicas of a broker as a whole: life, the drain, settings and figures.
 * Invariant: outside callbacks (but hooks) run only from the drain or another callback of the loop.
 * Runs on the broker's env.
 */
#include "broker/replicas/replicas.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"

#include <stdlib.h>

#define ARENA_BYTES_MAX        (256 << 20) /* one request or answer, decoded */
#define PARTITIONS_MAX_DEFAULT 1000000

void replicas_config_default(struct replicas_config *config)
{
    *config = (struct replicas_config){
        .lag_time_max_ms = 30000,
        .fetch_wait_max_ms = 500,
        .fetch_min_bytes = 1,
        .fetch_partition_bytes_max = 1 << 20,
        .fetch_catch_up_bytes_max = 4 << 20,
        .fetch_response_bytes_max = 10 << 20,
        .fetch_backoff_ms = 1000,
        .fetchers = 1,
        .socket_timeout_ms = 30000,
        .high_watermark_checkpoint_ms = 5000,
        .flush_checkpoint_ms = 60000,
        .retention_check_ms = 300000,
        .file_delete_delay_ms = 60000,
        .catch_up_lag_bytes = 64 << 20,
        .copy_cached_bytes_max = 1 << 30,
        .segments_open_max = 1024,
        .partitions_max = PARTITIONS_MAX_DEFAULT,
    };
}

/* ---- the drain ---- */

static void drain_due(void *arg)
{
    struct replicas *r = arg;
    replicas_dirs_drain(r);
    replicas_fetchers_drain(r);
    replicas_isr_send(r);
    replicas_produce_drain(r);
    replicas_watch_drain(r);
}

void replicas_drain_soon(struct replicas *r)
{
    if (!env_timer_is_active(&r->drain)) {
        env_timer_start(&r->drain, 0);
    }
}

/* ---- life ---- */

static struct replicas *replicas_new(struct env *env, const struct replicas_config *config,
                                     const struct replicas_hooks *hooks)
{
    struct replicas *r = xalloc(sizeof *r);
    r->env = env;
    r->config = *config;
    r->config.log_dirs = NULL;
    r->config.fetchers = MIN(MAX(config->fetchers, 1), REPLICAS_FETCHERS_MAX);
    if (r->config.partitions_max <= 0) {
        r->config.partitions_max = PARTITIONS_MAX_DEFAULT;
    }
    r->hooks = *hooks;
    r->controller_epoch = r->limits_epoch = -1;
    list_init(&r->all);
    list_init(&r->ready);
    list_init(&r->parked);
    list_init(&r->finished);
    list_init(&r->fetchers);
    list_init(&r->homeless);
    arena_init(&r->arena, ARENA_BYTES_MAX);
    env_timer_init(&r->drain, env, drain_due, r);
    r->files = plog_files_new(env, MAX(config->segments_open_max, 1));
    r->dir_count = config->log_dir_count;
    r->dirs = xalloc(sizeof *r->dirs * (size_t)MAX(config->log_dir_count, 1));
    for (int32_t i = 0; i < r->dir_count; i++) {
        r->dirs[i].path = xstrdup(config->log_dirs[i]);
    }
    replicas_isr_init(r);
    replicas_throttle_init(r);
    replicas_tasks_init(r);
    return r;
}

int replicas_open(struct env *env, const struct replicas_config *config,
                  const struct replicas_hooks *hooks, struct replicas **ret_replicas,
                  struct errmsg *em)
{
    struct replicas *r = replicas_new(env, config, hooks);
    int err = 0;
    for (int32_t i = 0; i < r->dir_count && err == 0; i++) {
        err = replicas_dir_open(r, i, em);
    }
    if (err == 0 && r->dir_count == 0) {
        err = errmsg_set(em, E_OFFLINE, "no log directory is configured");
    } else if (err == 0 && replicas_dir_choose(r) < 0) {
        err = errmsg_set(em, E_OFFLINE, "no log directory can be used; %s: %s", r->dirs[0].path,
                         r->dirs[0].reason.text);
    }
    if (err != 0) {
        replicas_free(r);
        return err;
    }
    *ret_replicas = r;
    return 0;
}

/* Whoever waits is let go without a callback. */
static void release_waiters(struct replicas *r)
{
    struct list *lists[] = {&r->parked, &r->finished};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct list_node *node;
        while ((node = list_pop(lists[i])) != NULL) {
            struct replicas_produce *produce = CONTAINER_OF(node, struct replicas_produce, link);
            env_timer_stop(&produce->timer);
            produce->replicas = NULL;
        }
    }
    struct list_node *node;
    list_foreach (node, &r->all) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        list_init(&p->parked);
        struct list_node *first;
        while ((first = list_pop(&p->watches)) != NULL) {
            struct replicas_watch *watch = CONTAINER_OF(first, struct replicas_watch, link);
            list_remove(&r->ready, &watch->ready_link);
            watch->partition = NULL;
            watch->replicas = NULL;
        }
    }
    while ((node = list_pop(&r->ready)) != NULL) {
        CONTAINER_OF(node, struct replicas_watch, ready_link)->replicas = NULL;
    }
}

void replicas_free(struct replicas *r)
{
    if (r == NULL) {
        return;
    }
    r->is_stopping = true;
    release_waiters(r);
    replicas_isr_free(r);
    struct list_node *node;
    while ((node = list_first(&r->all)) != NULL) {
        replicas_partition_drop(CONTAINER_OF(node, struct replicas_partition, link),
                                REPLICAS_FATE_KEEP);
    }
    replicas_fetchers_free(r);
    replicas_throttle_free(r);
    replicas_limits_free(r);
    replicas_tasks_free(r);
    replicas_dirs_free(r);
    env_timer_stop(&r->drain);
    plog_files_free(r->files);
    arena_deinit(&r->arena);
    free(r->cluster_id);
    free(r);
}

/* ---- what changes around us ---- */

void replicas_metadata_changed(struct replicas *r)
{
    if (r->is_stopping) {
        return;
    }
    replicas_fetchers_metadata_changed(r);
    replicas_isr_metadata_changed(r);
    replicas_drain_soon(r);
}

static void topic_configure(struct replicas *r, struct replicas_topic *t)
{
    r->hooks.topic_config(r->hooks.arg, t->name, &t->config);
    replicas_throttle_topic(r, t);
    struct list_node *node;
    list_foreach (node, &t->partitions) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, topic_link);
        if (p->log != NULL) {
            replicas_throttle_partition(p);
            plog_set_config(p->log, &t->config.log);
            replicas_partition_advance(p); /* a lower min.insync.replicas lets it go on */
        }
    }
}

void replicas_topic_config_changed(struct replicas *r, const char *topic)
{
    if (topic != NULL) {
        struct replicas_topic *t = replicas_topic_find(r, slice_str(topic));
        if (t != NULL) {
            topic_configure(r, t);
        }
        return;
    }
    for (struct replicas_topic *t = r->topics; t != NULL; t = t->hh.next) {
        topic_configure(r, t);
    }
}

/* ---- strays ---- */

static bool is_idle(const struct replicas_partition *p)
{
    const struct replicas *r = p->replicas;
    return p->core.role == REPLICA_IDLE || p->told_by != r->controller_epoch ||
           p->told_to != r->hooks.broker_epoch(r->hooks.arg);
}

void replicas_each_idle(const struct replicas *r, replicas_idle_fn fn, void *arg)
{
    struct list_node *node;
    list_foreach (node, &r->all) {
        const struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        if (p->log != NULL && is_idle(p)) {
            struct replicas_idle_info info = {.topic = replicas_partition_topic(p),
                                              .partition = replicas_partition_index(p),
                                              .topic_id = p->topic_id};
            fn(arg, &info);
        }
    }
}

bool replicas_set_aside(struct replicas *r, struct slice topic, int32_t partition)
{
    struct replicas_partition *p = replicas_partition_find(r, topic, partition);
    if (p == NULL || p->log == NULL || r->dirs[p->dir].is_offline || !is_idle(p)) {
        return false;
    }
    replicas_partition_drop(p, REPLICAS_FATE_STRAY);
    return true;
}

/* ---- figures ---- */

bool replicas_partition_get(const struct replicas *r, struct slice topic, int32_t partition,
                            struct replicas_partition_info *ret_info)
{
    const struct replicas_partition *p = replicas_partition_find(r, topic, partition);
    if (p == NULL) {
        return false;
    }
    *ret_info = (struct replicas_partition_info){
        .is_leader = p->core.role == REPLICA_LEADER,
        .leader = p->core.state.leader,
        .leader_epoch = p->core.state.leader_epoch,
        .dir = p->dir,
        .log_start = p->log == NULL ? -1 : plog_start_offset(p->log),
        .log_end = p->log == NULL ? -1 : p->core.log_end,
        .high_watermark = p->log == NULL ? -1 : p->core.high_watermark,
        .isr_count = p->core.state.isr.count,
        .failed_error = p->fetch.error,
    };
    return true;
}

static void count_led(const struct replicas_partition *p, struct replicas_metrics *m)
{
    int32_t isr = p->core.state.isr.count;
    int32_t min_isr = replica_core_min_isr(&p->core, p->key.topic->config.min_insync_replicas);
    m->leaders++;
    m->under_replicated += replica_core_is_under_replicated(&p->core);
    m->under_min_isr += isr < min_isr;
    m->at_min_isr += isr == min_isr;
    m->reassigning += replica_core_is_reassigning(&p->core);
}

void replicas_metrics(const struct replicas *r, struct replicas_metrics *ret_metrics)
{
    *ret_metrics = r->totals;
    ret_metrics->fetchers = (int32_t)r->fetchers.count;
    struct list_node *node;
    list_foreach (node, &r->all) {
        const struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        ret_metrics->partitions++;
        ret_metrics->offline += p->log == NULL;
        ret_metrics->failed_fetches += p->fetch.state == REPLICAS_FETCH_FAILED;
        ret_metrics->paused_fetches += p->fetch.state == REPLICAS_FETCH_PAUSED;
        ret_metrics->retried_fetches +=
            p->fetch.state == REPLICAS_FETCH_DELAYED && p->fetch.refusal_count > 0;
        if (p->core.role == REPLICA_LEADER) {
            count_led(p, ret_metrics);
            continue;
        }
        ret_metrics->followers += p->core.role == REPLICA_FOLLOWER && p->core.state.leader >= 0;
        if (p->fetch.state != REPLICAS_FETCH_OFF) {
            ret_metrics->max_lag = MAX(ret_metrics->max_lag, p->fetch.lag);
        }
    }
}
