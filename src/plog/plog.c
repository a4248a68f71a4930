/*
 * Life and facts of a log. Runs on the home env.
 */
#include "plog/plog.h"

#include "base/alloc.h"
#include "plog/flush.h"
#include "plog/partition.h"
#include "plog/recover.h"
#include "plog/state.h"

#include <stdlib.h>

#define HOUR_MS ((int64_t)3600 * 1000)

struct plog_config plog_config_default(void)
{
    return (struct plog_config){
        .segment_bytes_max = (int64_t)1 << 30,
        .segment_ms = 168 * HOUR_MS,
        .index_bytes_max = (int64_t)10 << 20,
        .index_interval_bytes = 4096,
        .retention_bytes = -1,
        .retention_ms = 168 * HOUR_MS,
        .producer_expiry_ms = 24 * HOUR_MS,
        .delete_old = true,
    };
}

int plog_open(const struct plog_open_args *args, struct plog **ret_plog, struct errmsg *em)
{
    CHECK(args->partition >= 0 && args->recovery_point >= 0 && args->log_start_offset >= 0);
    struct plog *p = xalloc(sizeof *p);
    p->files = args->files;
    p->env = args->files->env;
    p->dir = xstrdup(args->dir);
    p->topic = xstrdup(args->topic);
    p->partition = args->partition;
    p->folder = plog_folder_path(args->dir, args->topic, args->partition);
    p->topic_id = args->topic_id;
    p->config = *args->config;
    plog_producers_init(&p->producers);
    int err = plog_recover(p, args, em);
    if (err != 0) {
        plog_free(p);
        return err;
    }
    CHECK(p->start_offset <= p->end_offset && p->recovery_point <= p->end_offset);
    *ret_plog = p;
    return 0;
}

static int close_files(struct plog *p)
{
    int err = plog_segment_finish(plog_active(p));
    plog_active(p)->is_dirty = true; /* its index files have grown */
    if (err == 0) {
        err = plog_write_snapshot(p);
    }
    if (err != 0) {
        return err;
    }
    struct env_file *snapshot = NULL;
    char *path = plog_snapshot_path(p, p->end_offset);
    err = env_file_open(p->env, path, ENV_OPEN_WRITE, &snapshot);
    free(path);
    if (err == 0) {
        err = env_file_sync(snapshot);
    }
    env_file_unref(snapshot);
    return err;
}

int plog_close_clean(struct plog *p, struct errmsg *em)
{
    if (p->failure != 0) {
        return errmsg_set(em, E_OFFLINE, "%s: the log is offline", p->folder);
    }
    plog_detach_flush(p);
    int err = p->segment_count == 0 ? 0 : close_files(p);
    if (err == 0 && p->has_folder) {
        err = plog_flush_now(p);
    }
    if (err != 0) {
        (void)plog_fail(p, err); /* the same error is returned */
        return errmsg_set(em, (enum error) - err, "%s: cannot close the log: %s", p->folder,
                          error_name(err));
    }
    return 0;
}

void plog_free(struct plog *p)
{
    if (p == NULL) {
        return;
    }
    plog_detach_flush(p);
    plog_drop_segments(p, 0, p->segment_count);
    free(p->segments);
    plog_epochs_deinit(&p->epochs);
    plog_producers_deinit(&p->producers);
    free(p->snapshots);
    free(p->folder);
    free(p->topic);
    free(p->dir);
    free(p);
}

void plog_set_config(struct plog *p, const struct plog_config *config)
{
    p->config = *config;
}

int plog_set_topic_id(struct plog *p, struct uuid id)
{
    if (p->failure != 0) {
        return -E_OFFLINE;
    }
    p->topic_id = id;
    return p->has_folder ? plog_fail(p, plog_partition_write_id(p->env, p->folder, id, true)) : 0;
}

const char *plog_topic(const struct plog *p)
{
    return p->topic;
}

int32_t plog_partition(const struct plog *p)
{
    return p->partition;
}

const char *plog_dir_path(const struct plog *p)
{
    return p->dir;
}

const char *plog_path(const struct plog *p)
{
    return p->folder;
}

struct uuid plog_topic_id(const struct plog *p)
{
    return p->topic_id;
}

int64_t plog_start_offset(const struct plog *p)
{
    return p->start_offset;
}

int64_t plog_end_offset(const struct plog *p)
{
    return p->end_offset;
}

int64_t plog_recovery_point(const struct plog *p)
{
    return p->recovery_point;
}

int64_t plog_bytes(const struct plog *p)
{
    int64_t bytes = 0;
    for (int i = 0; i < p->segment_count; i++) {
        bytes += (int64_t)p->segments[i]->size;
    }
    return bytes;
}

int64_t plog_bytes_from(const struct plog *p, int64_t offset)
{
    int64_t bytes = 0;
    for (int i = p->segment_count - 1; i >= 0 && p->segments[i]->next_offset > offset; i--) {
        bytes += (int64_t)p->segments[i]->size;
    }
    return bytes;
}

int plog_segment_count(const struct plog *p)
{
    return p->segment_count;
}

bool plog_has_files(const struct plog *p)
{
    return p->has_folder;
}

int plog_failure(const struct plog *p)
{
    return p->failure;
}

int64_t plog_last_stable_offset(struct plog *p, int64_t high_watermark)
{
    return plog_producers_stable_end(&p->producers, high_watermark);
}

void plog_epoch_start(struct plog *p, int32_t epoch)
{
    if (epoch > plog_epochs_latest(&p->epochs) &&
        plog_epochs_assign(&p->epochs, epoch, p->end_offset)) {
        p->is_epochs_dirty = true;
    }
}

int32_t plog_epoch_latest(const struct plog *p)
{
    return plog_epochs_latest(&p->epochs);
}

int32_t plog_epoch_at(const struct plog *p, int64_t offset)
{
    return plog_epochs_at(&p->epochs, offset);
}

void plog_epoch_end(const struct plog *p, int32_t epoch, int32_t *ret_epoch, int64_t *ret_end)
{
    struct plog_epoch end;
    plog_epochs_find_end(&p->epochs, epoch, p->end_offset, &end);
    *ret_epoch = end.epoch;
    *ret_end = end.start_offset;
}

void plog_expire_producers(struct plog *p, int64_t wall_ms)
{
    plog_producers_expire(&p->producers, wall_ms, p->config.producer_expiry_ms);
}

int plog_producer_count(const struct plog *p)
{
    return plog_producers_count(&p->producers);
}
