/*
 * See status.h. No state.
 */
#include "broker/status.h"

#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/replicas.h"
#include "http/status.h"

#include <stdlib.h>

static void count_log(void *arg, const struct replicas_log_info *info)
{
    struct http_status_dir *dir = arg;
    if (!info->is_offline) {
        dir->log_bytes += info->size;
        dir->log_count++;
    }
}

static struct http_status_dir *collect_dirs(struct replicas *r, int32_t count)
{
    struct http_status_dir *dirs = xalloc((size_t)MAX(count, 1) * sizeof *dirs);
    for (int32_t i = 0; i < count; i++) {
        struct replicas_dir_info info;
        replicas_dir_get(r, i, &info);
        dirs[i] = (struct http_status_dir){
            .path = info.path,
            .is_offline = info.is_offline,
            .total_bytes = info.total_bytes,
            .usable_bytes = info.usable_bytes,
        };
        replicas_each_log(r, i, count_log, &dirs[i]);
    }
    return dirs;
}

void broker_status_write(const struct broker_status_input *in, struct buf *out)
{
    struct replicas_metrics m;
    int32_t dir_count = replicas_dir_count(in->replicas);
    struct http_status_dir *dirs = collect_dirs(in->replicas, dir_count);
    replicas_metrics(in->replicas, &m);
    struct http_status status = {
        .broker = in->broker,
        .state = in->state,
        .broker_epoch = in->epoch,
        .cluster_id = in->cluster_id,
        .controller = in->controller_id,
        .is_controller = in->controller->is_active,
        .controller_epoch = in->controller->epoch,
        .hosted = m.partitions,
        .led = m.leaders,
        .followed = m.followers,
        .offline = m.offline,
        .failed = m.failed_fetches,
        .under_replicated = m.under_replicated,
        .under_min_isr = m.under_min_isr,
        .at_min_isr = m.at_min_isr,
        .reassigning = m.reassigning,
        .max_lag = m.max_lag,
        .dirs = dirs,
        .dir_count = dir_count,
        .move_count = in->controller->cluster.moves,
    };
    http_status_write(&status, out);
    free(dirs);
}
