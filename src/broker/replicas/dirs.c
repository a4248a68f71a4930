/*
 * The log directories: opening and loading them at start, where new logs go, what happens when one
 * fails, and what their checkpoints hold.
 * Invariant: a directory is either open (dir != NULL) or offline; an offline one never comes back
 * while the broker runs, and after the drain none of its partitions has a log.
 * Runs on the broker's env.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"

#include <stdlib.h>

/* What loading one directory needs. */
struct loader {
    struct replicas *r;
    int32_t index;
    struct plog_checkpoint marks; /* by enum plog_checkpoint_kind */
    struct plog_checkpoint points;
    struct plog_checkpoint starts;
    struct errmsg *em;
};

/* A damaged checkpoint counts as absent: recovery starts at 0 and high watermarks at the log start,
 * both of which are safe. */
static void read_checkpoint(struct replicas_dir *d, struct env *env, enum plog_checkpoint_kind kind,
                            struct plog_checkpoint *ret_entries)
{
    struct errmsg em;
    *ret_entries = (struct plog_checkpoint){0};
    if (plog_dir_read_checkpoint(env, d->path, kind, ret_entries, &em) != 0) {
        *ret_entries = (struct plog_checkpoint){0};
    }
}

static int load_log(struct loader *l, const struct plog_folder *folder)
{
    struct replicas *r = l->r;
    struct replicas_dir *d = &r->dirs[l->index];
    if (replicas_partition_find(r, folder->topic, folder->partition) != NULL) {
        return errmsg_set(l->em, E_EXISTS, "partition %.*s-%d is in two log directories",
                          SLICE_ARG(folder->topic), folder->partition);
    }
    struct replicas_topic *topic = replicas_topic_get(r, folder->topic);
    struct plog_open_args args = {
        .files = r->files,
        .dir = d->path,
        .topic = topic->name,
        .partition = folder->partition,
        .topic_id = folder->topic_id,
        .config = &topic->config.log,
        .is_clean = plog_dir_was_clean(d->dir),
        .recovery_point = plog_checkpoint_find(&l->points, topic->name, folder->partition, 0),
        .log_start_offset = plog_checkpoint_find(&l->starts, topic->name, folder->partition, 0),
    };
    struct plog *log = NULL;
    int err = plog_open(&args, &log, l->em);
    if (err != 0) {
        /* The partition is known, so that the controller hears 56 and nobody makes it anew. */
        (void)replicas_partition_new(r, topic, folder->partition, l->index, NULL);
        return err;
    }
    struct replicas_partition *p =
        replicas_partition_new(r, topic, folder->partition, l->index, log);
    int64_t mark = plog_checkpoint_find(&l->marks, topic->name, folder->partition, 0);
    p->core.high_watermark = MIN(MAX(mark, plog_start_offset(log)), plog_end_offset(log));
    return 0;
}

static void delete_folder(struct replicas *r, int32_t index, const char *name, int64_t delay_ms)
{
    char *path = xasprintf("%s/%s", r->dirs[index].path, name);
    replicas_removal_add(r, plog_removal_new(r->env, path), delay_ms);
    free(path);
}

static int load_folder(void *arg, const struct plog_folder *folder)
{
    struct loader *l = arg;
    struct replicas *r = l->r;
    if (folder->kind == PLOG_FOLDER_DELETE) {
        delete_folder(r, l->index, folder->name, 0);
        return 0;
    }
    if (folder->kind == PLOG_FOLDER_STRAY) {
        delete_folder(r, l->index, folder->name, r->config.file_delete_delay_ms);
        return 0;
    }
    if (folder->kind != PLOG_FOLDER_LIVE || !replicas_topic_name_is_valid(folder->topic)) {
        return 0;
    }
    return load_log(l, folder);
}

/* Ours, and of the same cluster as the directories before. */
static int check_meta(struct replicas *r, struct replicas_dir *d, struct errmsg *em)
{
    struct plog_dir_meta meta;
    int err = plog_dir_read_meta(d->dir, &meta, em);
    if (err == -E_NOT_FOUND) {
        return 0;
    }
    if (err != 0) {
        return err;
    }
    if (meta.broker_id != r->config.broker_id) {
        return errmsg_set(em, E_INVALID, "%s belongs to broker %d, this is broker %d", d->path,
                          meta.broker_id, r->config.broker_id);
    }
    if (meta.cluster_id[0] == '\0') {
        return 0;
    }
    if (r->cluster_id == NULL) {
        r->cluster_id = xstrdup(meta.cluster_id);
    } else if (strcmp(r->cluster_id, meta.cluster_id) != 0) {
        return errmsg_set(em, E_INVALID, "%s belongs to cluster %s, another directory to %s",
                          d->path, meta.cluster_id, r->cluster_id);
    }
    return 0;
}

static int load_dir(struct replicas *r, int32_t index, struct errmsg *em)
{
    struct replicas_dir *d = &r->dirs[index];
    struct loader l = {.r = r, .index = index, .em = em};
    read_checkpoint(d, r->env, PLOG_CHECKPOINT_HIGH_WATERMARK, &l.marks);
    read_checkpoint(d, r->env, PLOG_CHECKPOINT_RECOVERY_POINT, &l.points);
    read_checkpoint(d, r->env, PLOG_CHECKPOINT_LOG_START, &l.starts);
    int err = plog_dir_list_folders(d->dir, load_folder, &l, em);
    plog_checkpoint_deinit(&l.marks);
    plog_checkpoint_deinit(&l.points);
    plog_checkpoint_deinit(&l.starts);
    return err;
}

int replicas_dir_open(struct replicas *r, int32_t index, struct errmsg *em)
{
    struct replicas_dir *d = &r->dirs[index];
    struct errmsg reason = {""};
    int err = plog_dir_open(r->env, d->path, &d->dir, &reason);
    if (err == 0) {
        err = check_meta(r, d, &reason);
    }
    if (err == 0) {
        err = plog_dir_begin(d->dir, &reason);
    }
    if (err == 0) {
        err = load_dir(r, index, &reason);
    }
    /* Somebody else's directory, or a mix-up of ours: a person has to look before we serve. */
    if (err == -E_LOCKED || err == -E_INVALID || err == -E_EXISTS) {
        (void)errmsg_set(em, E_INVALID, "%s", reason.text); /* only the text is wanted */
        return err;
    }
    if (err != 0) {
        replicas_dir_fail(r, index, err, reason.text);
    }
    return 0;
}

/* Looks for the folders of one partition that were set aside. */
struct stray_search {
    struct replicas *r;
    int32_t index;
    struct slice topic;
    int32_t partition;
};

static int delete_if_stray(void *arg, const struct plog_folder *folder)
{
    const struct stray_search *search = arg;
    if (folder->kind == PLOG_FOLDER_STRAY && folder->partition == search->partition &&
        slice_equal(folder->topic, search->topic)) {
        delete_folder(search->r, search->index, folder->name,
                      search->r->config.file_delete_delay_ms);
    }
    return 0;
}

void replicas_dir_delete_strays(struct replicas *r, int32_t index, struct slice topic,
                                int32_t partition)
{
    struct stray_search search = {.r = r, .index = index, .topic = topic, .partition = partition};
    struct errmsg em;
    int err = plog_dir_list_folders(r->dirs[index].dir, delete_if_stray, &search, &em);
    if (err != 0) {
        replicas_dir_fail(r, index, err, em.text);
    }
}

int32_t replicas_dir_choose(const struct replicas *r)
{
    int32_t best = -1;
    for (int32_t i = 0; i < r->dir_count; i++) {
        if (!r->dirs[i].is_offline &&
            (best < 0 || r->dirs[i].log_count < r->dirs[best].log_count)) {
            best = i;
        }
    }
    return best;
}

bool replicas_has_offline_dir(const struct replicas *r)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        if (r->dirs[i].is_offline) {
            return true;
        }
    }
    return false;
}

void replicas_dir_fail(struct replicas *r, int32_t index, int err, const char *reason)
{
    struct replicas_dir *d = &r->dirs[index];
    if (d->is_offline) {
        return;
    }
    d->is_offline = true;
    d->is_untold = true;
    d->error = err;
    (void)errmsg_set(&d->reason, E_OFFLINE, "%s", reason); /* kept for telling */
    replicas_drain_soon(r);
}

/* The partition stays, without a log: requests get 56. */
static void drop_log(struct replicas_partition *p)
{
    replicas_fetch_fail(p, -E_OFFLINE);
    replicas_isr_drop(p);
    replicas_parked_fail(p, -E_OFFLINE);
    replicas_flush_forget(p);
    replicas_warm_forget(p);
    plog_free(p->log);
    p->log = NULL;
    replica_core_stop(&p->core);
    replicas_partition_notify(p, REPLICAS_ROLE);
}

void replicas_dirs_drain(struct replicas *r)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        struct replicas_dir *d = &r->dirs[i];
        if (!d->is_offline || d->is_dropped) {
            continue;
        }
        d->is_dropped = true;
        struct list_node *node;
        list_foreach (node, &r->all) {
            struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
            if (p->dir == i && p->log != NULL) {
                drop_log(p);
            }
        }
        plog_dir_free(d->dir);
        d->dir = NULL;
    }
    for (int32_t i = 0; i < r->dir_count; i++) {
        struct replicas_dir *d = &r->dirs[i];
        if (d->is_untold) {
            d->is_untold = false;
            if (r->hooks.dir_failed != NULL) {
                r->hooks.dir_failed(r->hooks.arg, d->path, d->reason.text);
            }
        }
    }
}

void replicas_dirs_free(struct replicas *r)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        plog_dir_free(r->dirs[i].dir);
        free(r->dirs[i].path);
    }
    free(r->dirs);
    r->dirs = NULL;
    r->dir_count = 0;
}

void replicas_dir_collect(const struct replicas *r, int32_t index, enum plog_checkpoint_kind kind,
                          struct plog_checkpoint *ret_entries)
{
    *ret_entries = (struct plog_checkpoint){0};
    struct list_node *node;
    list_foreach (node, &r->all) {
        const struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        if (p->dir != index || p->log == NULL || !plog_has_files(p->log)) {
            continue; /* an empty log without files has nothing to remember */
        }
        int64_t offset = kind == PLOG_CHECKPOINT_HIGH_WATERMARK   ? p->core.high_watermark
                         : kind == PLOG_CHECKPOINT_RECOVERY_POINT ? plog_recovery_point(p->log)
                                                                  : plog_start_offset(p->log);
        plog_checkpoint_add(ret_entries, replicas_partition_topic(p), replicas_partition_index(p),
                            offset);
    }
}

/* ---- what is seen from outside ---- */

int replicas_bind_cluster(struct replicas *r, const char *cluster_id, struct errmsg *em)
{
    if (r->cluster_id != NULL && strcmp(r->cluster_id, cluster_id) != 0) {
        return errmsg_set(em, E_INVALID,
                          "the log directories belong to cluster %s, the metastore to %s",
                          r->cluster_id, cluster_id);
    }
    struct plog_dir_meta meta = {.broker_id = r->config.broker_id};
    if (strlen(cluster_id) >= sizeof meta.cluster_id) {
        return errmsg_set(em, E_INVALID, "cluster id %s is too long", cluster_id);
    }
    memcpy(meta.cluster_id, cluster_id, strlen(cluster_id) + 1);
    for (int32_t i = 0; i < r->dir_count; i++) {
        struct replicas_dir *d = &r->dirs[i];
        struct errmsg reason;
        int err = d->is_offline ? 0 : plog_dir_claim(d->dir, &meta, &reason);
        if (err == -E_INVALID) {
            return errmsg_set(em, E_INVALID, "%s", reason.text);
        }
        if (err != 0) {
            replicas_dir_fail(r, i, err, reason.text);
        }
    }
    free(r->cluster_id);
    r->cluster_id = xstrdup(cluster_id);
    return 0;
}

bool replicas_any_may_lack_records(const struct replicas *r)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        if (r->dirs[i].dir != NULL && plog_dir_may_lack_records(r->dirs[i].dir)) {
            return true;
        }
    }
    return false;
}

bool replicas_may_lack_records(const struct replicas *r, struct slice topic, int32_t partition)
{
    const struct replicas_partition *p = replicas_partition_find(r, topic, partition);
    /* The folder of one that is not here may be what was lost. */
    return p == NULL || r->dirs[p->dir].dir == NULL ||
           plog_dir_may_lack_records(r->dirs[p->dir].dir);
}

void replicas_accept_records(struct replicas *r)
{
    for (int32_t i = 0; i < r->dir_count; i++) {
        struct replicas_dir *d = &r->dirs[i];
        struct errmsg reason;
        int err = d->dir == NULL ? 0 : plog_dir_accept_records(d->dir, &reason);
        if (err != 0) {
            replicas_dir_fail(r, i, err, reason.text);
        }
    }
}

const char *replicas_cluster_id(const struct replicas *r)
{
    return r->cluster_id;
}

int32_t replicas_dir_count(const struct replicas *r)
{
    return r->dir_count;
}

void replicas_dir_get(struct replicas *r, int32_t index, struct replicas_dir_info *ret_info)
{
    const struct replicas_dir *d = &r->dirs[index];
    *ret_info = (struct replicas_dir_info){
        .path = d->path, .is_offline = d->is_offline, .total_bytes = -1, .usable_bytes = -1};
    struct env_space space;
    if (!d->is_offline && env_disk_space(r->env, d->path, &space) == 0) {
        ret_info->total_bytes = space.total;
        ret_info->usable_bytes = space.usable;
        ret_info->disk = space.disk;
    }
}

/* Why the copying of p does not advance: an E_ code, 0 = no error. */
static int fetch_error(const struct replicas_partition *p)
{
    const struct replicas_fetch *fetch = &p->fetch;
    if (fetch->state == REPLICAS_FETCH_HOMELESS) {
        return -E_NOT_AVAILABLE;
    }
    if (fetch->error == 0 && fetch->fetcher != NULL && fetch->fetcher->is_broken) {
        return -E_CLOSED;
    }
    return fetch->error;
}

static void log_info(struct replicas_partition *p, struct replicas_log_info *ret_info)
{
    const struct replicas *r = p->replicas;
    *ret_info = (struct replicas_log_info){
        .topic = replicas_partition_topic(p),
        .partition = replicas_partition_index(p),
        .is_offline = p->log == NULL,
        .is_disk_full = r->dirs[p->dir].error == -E_DISK_FULL,
        .is_leader = p->core.role == REPLICA_LEADER,
        .is_under_replicated =
            p->core.role == REPLICA_LEADER && replica_core_is_under_replicated(&p->core),
        .is_throttled = replicas_limit_is_felt(p),
        .throttle_rate = replicas_limit_rate(p),
        .fetch_error = fetch_error(p),
        .leader_code = p->fetch.leader_code,
        .size = p->log == NULL ? -1 : plog_bytes(p->log),
        .log_start = -1,
        .log_end = -1,
        .write_rate = p->core.role == REPLICA_LEADER
                          ? replica_meter_rate(&p->written, env_now_ms(r->env))
                          : -1,
    };
    if (p->log != NULL) {
        ret_info->offset_lag = p->core.log_end - p->core.high_watermark;
        ret_info->log_start = plog_start_offset(p->log);
        ret_info->log_end = p->core.log_end;
    }
}

void replicas_each_log(struct replicas *r, int32_t dir, replicas_log_fn fn, void *arg)
{
    struct list_node *node;
    list_foreach (node, &r->all) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        if (p->dir == dir) {
            struct replicas_log_info info;
            log_info(p, &info);
            fn(arg, &info);
        }
    }
}

int32_t replicas_find_log(struct replicas *r, const struct replicas_log_key *key,
                          struct replicas_log_info *ret_info)
{
    struct replicas_partition *p = replicas_partition_find(r, key->topic, key->partition);
    if (p == NULL) {
        return -1;
    }
    log_info(p, ret_info);
    return p->dir;
}
