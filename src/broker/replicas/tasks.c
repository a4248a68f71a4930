/*
 * Housekeeping: checkpoints, flushes of rolled segments, retention, deletion of files, and the clean
 * stop, which is all of these for the last time. Slow work runs on the disk pool.
 * Invariant: a job on the pool owns what it touches; it finds `replicas` NULL when the owner has gone
 * meanwhile, and then only frees itself.
 * Runs on the broker's env but for the functions named *_work.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "plog/flush.h"
#include "plog/trim.h"

#include <stdlib.h>

#define RETENTION_SLICE 256 /* partitions looked at before the loop gets its turn again */
#define CLOSE_SLICE     32  /* logs closed before the loop gets its turn again */

void replicas_job_start(struct replicas *r, struct replicas_job *job)
{
    job->replicas = r;
    list_push_back(&r->jobs, &job->link);
}

struct replicas *replicas_job_end(struct replicas_job *job)
{
    struct replicas *r = job->replicas;
    if (r != NULL) {
        list_remove(&r->jobs, &job->link);
    }
    return r;
}

static void stop_step(struct replicas *r);

void replicas_job_over(struct replicas *r)
{
    stop_step(r);
}

/* ---- deletion ---- */

static void removal_free(struct replicas_removal *removal)
{
    plog_removal_free(removal->removal);
    free(removal);
}

static void removal_work(void *arg)
{
    struct replicas_removal *removal = arg;
    removal->status = plog_removal_step(removal->removal);
}

static void removal_arm(struct replicas *r)
{
    struct list_node *node = list_first(&r->removals);
    if (node != NULL && !r->is_stopping) {
        int64_t due_ms = CONTAINER_OF(node, struct replicas_removal, link)->due_ms;
        env_timer_start(&r->removal_timer, MAX(due_ms - env_now_ms(r->env), 0));
    }
}

/* One step at a time, so that other work of the pool gets its turn between two. */
static void removal_done(void *arg)
{
    struct replicas_removal *removal = arg;
    struct replicas *r = replicas_job_end(&removal->job);
    bool is_more = removal->status > 0;
    if (r == NULL || !is_more || r->is_stopping) {
        /* A step that failed leaves files that the next start removes. */
        removal_free(removal);
    } else {
        list_push_front(&r->removals, &removal->link);
    }
    if (r != NULL) {
        removal_arm(r);
        stop_step(r);
    }
}

static void removal_due(void *arg)
{
    struct replicas *r = arg;
    struct list_node *node = list_pop(&r->removals);
    if (node != NULL) {
        struct replicas_removal *removal = CONTAINER_OF(node, struct replicas_removal, link);
        replicas_job_start(r, &removal->job);
        env_work(r->env, removal_work, removal_done, removal);
    }
}

void replicas_removal_add(struct replicas *r, struct plog_removal *removal, int64_t delay_ms)
{
    if (removal == NULL) {
        return;
    }
    struct replicas_removal *entry = xalloc(sizeof *entry);
    entry->removal = removal;
    entry->due_ms = env_now_ms(r->env) + delay_ms;
    struct list_node *at = r->removals.head.prev;
    while (at != &r->removals.head &&
           CONTAINER_OF(at, struct replicas_removal, link)->due_ms > entry->due_ms) {
        at = at->prev;
    }
    list_insert_after(&r->removals, at, &entry->link);
    removal_arm(r);
}

/* ---- flushing ---- */

static void flush_next(struct replicas *r);

static void flush_work(void *arg)
{
    struct replicas_flush *f = arg;
    plog_flush_run(f->flush);
}

static void flush_done(void *arg)
{
    struct replicas_flush *f = arg;
    struct replicas *r = replicas_job_end(&f->job);
    struct replicas_partition *p = r == NULL ? NULL : f->partition;
    int err = plog_flush_end(f->flush); /* knows itself whether the log is still there */
    if (p != NULL && err != 0) {
        struct errmsg em;
        (void)errmsg_set(&em, E_IO, "%s: cannot flush: %s", plog_path(p->log),
                         error_name(err)); /* only the text is wanted */
        replicas_dir_fail(r, p->dir, err, em.text);
    } else if (p != NULL) {
        r->dirs[p->dir].is_dirty[PLOG_CHECKPOINT_RECOVERY_POINT] = true;
    }
    free(f);
    if (r != NULL) {
        r->flush = NULL;
        flush_next(r);
        stop_step(r);
    }
}

static void flush_next(struct replicas *r)
{
    while (r->flush == NULL && !list_is_empty(&r->flushes)) {
        struct replicas_partition *p =
            CONTAINER_OF(list_pop(&r->flushes), struct replicas_partition, flush_link);
        p->flushed_segments = plog_segment_count(p->log);
        struct plog_flush *flush = plog_flush_begin(p->log);
        if (flush == NULL) {
            continue;
        }
        struct replicas_flush *f = xalloc(sizeof *f);
        f->partition = p;
        f->flush = flush;
        r->flush = f;
        replicas_job_start(r, &f->job);
        env_work(r->env, flush_work, flush_done, f);
    }
}

void replicas_flush_queue(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    if (!list_has(&p->flush_link)) {
        list_push_back(&r->flushes, &p->flush_link);
        flush_next(r);
    }
}

void replicas_flush_forget(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    list_remove(&r->flushes, &p->flush_link);
    if (r->flush != NULL && r->flush->partition == p) {
        r->flush->partition = NULL;
    }
}

/* ---- checkpoints ---- */

struct checkpoint {
    struct replicas_job job;
    struct env *env;
    int32_t dir;
    char *path;
    enum plog_checkpoint_kind kind;
    struct plog_checkpoint entries;
    int err;
    struct errmsg em;
};

static void checkpoint_work(void *arg)
{
    struct checkpoint *c = arg;
    c->err = plog_dir_write_checkpoint(c->env, c->path, c->kind, &c->entries, &c->em);
}

static void checkpoint_done(void *arg)
{
    struct checkpoint *c = arg;
    struct replicas *r = replicas_job_end(&c->job);
    if (r != NULL) {
        r->dirs[c->dir].is_writing[c->kind] = false;
        if (c->err != 0) {
            replicas_dir_fail(r, c->dir, c->err, c->em.text);
        }
    }
    plog_checkpoint_deinit(&c->entries);
    free(c->path);
    free(c);
    if (r != NULL) {
        stop_step(r);
    }
}

void replicas_checkpoint_write(struct replicas *r, enum plog_checkpoint_kind kind)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        struct replicas_dir *d = &r->dirs[i];
        if (d->is_offline || d->is_writing[kind] || !d->is_dirty[kind]) {
            continue;
        }
        d->is_dirty[kind] = false;
        d->is_writing[kind] = true;
        struct checkpoint *c = xalloc(sizeof *c);
        c->env = r->env;
        c->dir = i;
        c->path = xstrdup(d->path);
        c->kind = kind;
        replicas_dir_collect(r, i, kind, &c->entries);
        replicas_job_start(r, &c->job);
        env_work(r->env, checkpoint_work, checkpoint_done, c);
    }
}

static void checkpoint_due(void *arg)
{
    struct replicas *r = arg;
    if (r->has_controller_spoken) {
        replicas_checkpoint_write(r, PLOG_CHECKPOINT_HIGH_WATERMARK);
    }
    env_timer_start(&r->checkpoint_timer, r->config.high_watermark_checkpoint_ms);
}

static void point_due(void *arg)
{
    struct replicas *r = arg;
    replicas_checkpoint_write(r, PLOG_CHECKPOINT_RECOVERY_POINT);
    replicas_checkpoint_write(r, PLOG_CHECKPOINT_LOG_START);
    env_timer_start(&r->point_timer, r->config.flush_checkpoint_ms);
}

/* ---- retention ---- */

static void retain(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    if (p->log == NULL || !plog_has_files(p->log)) {
        return;
    }
    int64_t old_start = plog_start_offset(p->log);
    int64_t now_ms = env_wall_ms(r->env);
    struct plog_removal *removal = NULL;
    struct errmsg em;
    plog_expire_producers(p->log, now_ms);
    int err = plog_retain(p->log, now_ms, p->core.high_watermark, &removal, &em);
    if (err != 0) {
        replicas_dir_fail(r, p->dir, err, em.text);
        return;
    }
    replicas_removal_add(r, removal, r->config.file_delete_delay_ms);
    p->flushed_segments = MIN(p->flushed_segments, plog_segment_count(p->log));
    if (plog_start_offset(p->log) != old_start) {
        r->dirs[p->dir].is_dirty[PLOG_CHECKPOINT_LOG_START] = true;
        replicas_partition_log_moved(p);
        replicas_partition_notify(p, REPLICAS_HIGH_WATERMARK);
        replicas_fetch_touch(p);
    }
}

/* The list is turned round: those that this round has seen are at the end. */
static void retention_due(void *arg)
{
    struct replicas *r = arg;
    if (!r->is_round_busy) {
        r->is_round_busy = true;
        r->round++;
    }
    for (int32_t left = RETENTION_SLICE; left > 0 && r->is_round_busy; left--) {
        struct list_node *node = list_first(&r->all);
        struct replicas_partition *p =
            node == NULL ? NULL : CONTAINER_OF(node, struct replicas_partition, link);
        if (p == NULL || p->round == r->round) {
            r->is_round_busy = false;
            break;
        }
        p->round = r->round;
        list_remove(&r->all, node);
        list_push_back(&r->all, node);
        retain(p);
    }
    env_timer_start(&r->retention_timer, r->is_round_busy ? 0 : r->config.retention_check_ms);
}

/* ---- clean stop ---- */

static void stop_tasks(struct replicas *r)
{
    env_timer_stop(&r->checkpoint_timer);
    env_timer_stop(&r->point_timer);
    env_timer_stop(&r->retention_timer);
    env_timer_stop(&r->removal_timer);
    env_timer_stop(&r->shrink_timer);
    env_timer_stop(&r->isr_timer);
    env_timer_stop(&r->held_timer);
}

/* The mark says "no recovery needed": only when every log of the directory was closed well. */
static void finish_dir(struct replicas *r, int32_t index)
{
    struct replicas_dir *d = &r->dirs[index];
    struct errmsg em;
    int err = 0;
    for (int kind = PLOG_CHECKPOINT_HIGH_WATERMARK;
         err == 0 && !d->is_offline && kind <= PLOG_CHECKPOINT_LOG_START; kind++) {
        struct plog_checkpoint entries;
        replicas_dir_collect(r, index, (enum plog_checkpoint_kind)kind, &entries);
        err = plog_dir_write_checkpoint(r->env, d->path, (enum plog_checkpoint_kind)kind, &entries,
                                        &em);
        plog_checkpoint_deinit(&entries);
    }
    if (err == 0 && !d->is_offline) {
        err = plog_dir_mark_clean(d->dir, &em);
    }
    if (err != 0) {
        replicas_dir_fail(r, index, err, em.text);
    }
}

static void stop_finish(struct replicas *r)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        finish_dir(r, i);
    }
    env_fn done = r->stop_done;
    r->stop_done = NULL;
    done(r->stop_arg);
}

/* Closes logs in slices; those that are closed are at the end of the list. */
static void close_due(void *arg)
{
    struct replicas *r = arg;
    for (int32_t left = CLOSE_SLICE; left > 0; left--) {
        struct list_node *node = list_first(&r->all);
        struct replicas_partition *p =
            node == NULL ? NULL : CONTAINER_OF(node, struct replicas_partition, link);
        if (p == NULL || p->round == r->round) {
            stop_finish(r);
            return;
        }
        p->round = r->round;
        list_remove(&r->all, node);
        list_push_back(&r->all, node);
        struct errmsg em;
        int err = p->log == NULL || r->dirs[p->dir].is_offline ? 0 : plog_close_clean(p->log, &em);
        if (err != 0) {
            replicas_dir_fail(r, p->dir, err, em.text);
        }
    }
    env_timer_start(&r->stop_timer, 0);
}

/* Logs are closed when nothing of ours is on the pool any more. */
static void stop_step(struct replicas *r)
{
    if (r->stop_done != NULL && list_is_empty(&r->jobs) && list_is_empty(&r->flushes) &&
        !env_timer_is_active(&r->stop_timer)) {
        r->round++;
        env_timer_start(&r->stop_timer, 0);
    }
}

void replicas_stop(struct replicas *r, env_fn done, void *arg)
{
    CHECK(!r->is_stopping);
    r->is_stopping = true;
    r->stop_done = done;
    r->stop_arg = arg;
    stop_tasks(r);
    replicas_fetchers_free(r);
    replicas_isr_free(r);
    struct list_node *node;
    list_foreach (node, &r->all) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        p->fetch = (struct replicas_fetch){.state = REPLICAS_FETCH_OFF, .lag = -1};
        if (p->log != NULL) {
            replicas_flush_queue(p); /* the long syncs happen on the pool */
        }
    }
    list_init(&r->homeless);
    stop_step(r);
}

/* ---- life ---- */

void replicas_tasks_init(struct replicas *r)
{
    list_init(&r->jobs);
    list_init(&r->removals);
    list_init(&r->flushes);
    env_timer_init(&r->removal_timer, r->env, removal_due, r);
    env_timer_init(&r->checkpoint_timer, r->env, checkpoint_due, r);
    env_timer_init(&r->point_timer, r->env, point_due, r);
    env_timer_init(&r->retention_timer, r->env, retention_due, r);
    env_timer_init(&r->stop_timer, r->env, close_due, r);
    env_timer_start(&r->checkpoint_timer, r->config.high_watermark_checkpoint_ms);
    env_timer_start(&r->point_timer, r->config.flush_checkpoint_ms);
    env_timer_start(&r->retention_timer, r->config.retention_check_ms);
}

void replicas_tasks_free(struct replicas *r)
{
    stop_tasks(r);
    env_timer_stop(&r->stop_timer);
    struct list_node *node;
    while ((node = list_pop(&r->jobs)) != NULL) {
        CONTAINER_OF(node, struct replicas_job, link)->replicas = NULL;
    }
    while ((node = list_pop(&r->removals)) != NULL) {
        removal_free(CONTAINER_OF(node, struct replicas_removal, link));
    }
}
