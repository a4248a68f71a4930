/*
 * DeleteRecords on the leader: the log start goes up, and the low watermark tells when everybody has
 * followed. A replica that is still being added does not hold it up: its copy ends at the new start.
 * Runs on the broker's env; nothing waits here.
 */
#include "broker/replicas/internal.h"
#include "plog/trim.h"

static int check_leader(const struct replicas_partition *p)
{
    if (p == NULL) {
        return -E_NOT_FOUND;
    }
    if (p->log == NULL || p->replicas->dirs[p->dir].is_offline) {
        return -E_OFFLINE;
    }
    return replica_core_check_leader(&p->core, -1);
}

int replicas_delete_records(struct replicas *r, struct replicas_deletion *d)
{
    struct replicas_partition *p = replicas_partition_find(r, d->topic, d->partition);
    int err = check_leader(p);
    if (err != 0) {
        return err;
    }
    if (!p->key.topic->config.log.delete_old) {
        return -E_REFUSED;
    }
    int64_t offset = d->offset == -1 ? p->core.high_watermark : d->offset;
    if (offset < 0 || offset > p->core.high_watermark) {
        return -E_OUT_OF_RANGE;
    }
    d->wanted = offset;
    if (offset > plog_start_offset(p->log)) {
        plog_raise_start(p->log, offset);
        r->dirs[p->dir].is_dirty[PLOG_CHECKPOINT_LOG_START] = true;
        replicas_checkpoint_write(r, PLOG_CHECKPOINT_LOG_START);
        replicas_partition_notify(p, REPLICAS_HIGH_WATERMARK);
    }
    return 0;
}

/* tidy: long: topic and partition are one name. */
int replicas_low_watermark(struct replicas *r, struct slice topic, int32_t partition,
                           int64_t *ret_offset)
{
    const struct replicas_partition *p = replicas_partition_find(r, topic, partition);
    int err = check_leader(p);
    if (err != 0) {
        return err;
    }
    int64_t low = plog_start_offset(p->log);
    for (int32_t i = 0; i < p->core.remote_count; i++) {
        const struct replica_remote *remote = &p->core.remotes[i];
        bool is_waited_for = !ids_has(&p->core.state.adding, remote->id) ||
                             replica_core_in_maximal_isr(&p->core, remote->id);
        if (is_waited_for && r->hooks.is_alive(r->hooks.arg, remote->id)) {
            low = MIN(low, remote->log_start);
        }
    }
    *ret_offset = low;
    return 0;
}
