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

static const char *const replica_states[] = {
    [MOVES_REPLICA_UNKNOWN] = "unknown", [MOVES_REPLICA_COPYING] = "copying",
    [MOVES_REPLICA_IN_SYNC] = "in sync", [MOVES_REPLICA_DOWN] = "down",
    [MOVES_REPLICA_FAILED] = "failed",   [MOVES_REPLICA_PAUSED] = "paused",
};

/* Each with room for all its replicas in `replicas`. */
static struct http_status_move *collect_moves(const struct controller_figures *f,
                                              struct http_status_replica *replicas)
{
    struct http_status_move *moves = xalloc((size_t)MAX(f->move_count, 1) * sizeof *moves);
    for (int32_t i = 0; i < f->move_count; i++) {
        const struct controller_move_figures *m = &f->moves[i];
        moves[i] = (struct http_status_move){
            .topic = m->topic,
            .partition = m->partition,
            .age_ms = m->age_ms,
            .bytes_to_copy = m->to_copy,
            .bytes_copied = m->copied,
            .rate = m->rate,
            .eta_ms = m->eta_ms,
            .reason = m->reason == MOVES_REASON_NONE ? NULL : moves_reason_text((int32_t)m->reason),
            .reason_age_ms = m->reason_age_ms,
            .adding = replicas,
            .adding_count = m->replica_count,
        };
        for (int32_t k = 0; k < m->replica_count; k++) {
            *replicas++ = (struct http_status_replica){
                .broker = m->replicas[k].broker,
                .state = replica_states[m->replicas[k].state],
                .lag_bytes = m->replicas[k].lag_bytes,
            };
        }
    }
    return moves;
}

static struct http_status_job *collect_jobs(const struct controller_figures *f)
{
    struct http_status_job *jobs = xalloc((size_t)MAX(f->job_count, 1) * sizeof *jobs);
    for (int32_t i = 0; i < f->job_count; i++) {
        const struct controller_job_figures *j = &f->jobs[i];
        jobs[i] = (struct http_status_job){
            .id = j->id,
            .state = moves_state_text((int32_t)j->state),
            .submitted_by = j->submitted_by,
            .age_ms = j->age_ms,
            .total = j->total,
            .queued = j->queued,
            .running = j->running,
            .paused = j->paused,
            .done = j->done,
            .cancelled = j->cancelled,
            .bytes_to_copy = j->to_copy,
            .bytes_copied = j->copied,
            .rate = j->rate,
            .eta_ms = j->eta_ms,
            .throttle = j->throttle,
            .reason = j->reason == MOVES_REASON_NONE ? NULL : moves_reason_text((int32_t)j->reason),
            .reason_age_ms = j->reason_age_ms,
        };
    }
    return jobs;
}

static struct http_status_held *collect_held(const struct controller_figures *f)
{
    struct http_status_held *held = xalloc((size_t)MAX(f->held_count, 1) * sizeof *held);
    for (int32_t i = 0; i < f->held_count; i++) {
        const struct controller_held_figures *h = &f->held[i];
        held[i] = (struct http_status_held){.topic = h->topic,
                                            .partition = h->partition,
                                            .path = h->path,
                                            .reason = h->reason,
                                            .age_ms = h->age_ms};
    }
    return held;
}

void broker_status_write(const struct broker_status_input *in, struct buf *out)
{
    struct replicas_metrics m;
    int32_t dir_count = replicas_dir_count(in->replicas);
    struct http_status_dir *dirs = collect_dirs(in->replicas, dir_count);
    const struct controller_figures *f = in->controller;
    size_t replica_count = (size_t)f->move_count * CONTROLLER_FIGURES_REPLICAS_MAX;
    struct http_status_replica *replicas = xalloc(MAX(replica_count, 1) * sizeof *replicas);
    struct http_status_move *moves = collect_moves(f, replicas);
    struct http_status_held *held = collect_held(f);
    struct http_status_job *jobs = collect_jobs(f);
    replicas_metrics(in->replicas, &m);
    struct http_status status = {
        .broker = in->broker,
        .state = in->state,
        .broker_epoch = in->epoch,
        .cluster_id = in->cluster_id,
        .controller = in->controller_id,
        .is_controller = f->is_active,
        .controller_epoch = f->epoch,
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
        .move_count = f->cluster.moves,
        .moves = moves,
        .queued = f->queued,
        .move_listed = f->move_count,
        .open_jobs = f->open_jobs,
        .jobs = jobs,
        .job_listed = f->job_count,
        .held_count = f->cluster.held,
        .held = held,
        .held_listed = f->held_count,
    };
    http_status_write(&status, out);
    free(jobs);
    free(held);
    free(moves);
    free(replicas);
    free(dirs);
}
