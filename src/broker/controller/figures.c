/*
 * What the controller tells of itself to gauges and /status: counts, running moves (progress.c), jobs, and what is left
 * alone. Everything is copied, as it goes to another thread. Looks only. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

/* ---- jobs ---- */

struct job_walk {
    const struct controller *c;
    struct controller_job_figures *job;
    bool is_advancing;
    struct moves_wait wait;   /* of its moves that are not paused, the one to be looked at first */
    struct moves_wait paused; /* ditto, of those that are */
    int64_t eta_ms;           /* of a running move, at most */
};

static void wait_note(struct job_walk *w, bool is_paused, struct moves_wait wait)
{
    struct moves_wait *of = is_paused ? &w->paused : &w->wait;
    *of = moves_wait_worse(*of, wait);
}

static void running_add(struct job_walk *w, const struct moves_progress *progress)
{
    struct controller_job_figures *job = w->job;
    w->is_advancing |= progress->wait.reason == MOVES_REASON_NONE;
    w->eta_ms = MAX(w->eta_ms, progress->eta_ms);
    if (progress->rate >= 0) {
        job->rate = MAX(job->rate, 0) + progress->rate;
    }
    wait_note(w, false, progress->wait);
}

static void job_move_add(void *arg, const struct moves_view *view)
{
    struct job_walk *w = arg;
    const struct moves_progress *progress =
        view->state == MOVES_RUNNING ? controller_progress_find(w->c, view->topic, view->partition)
                                     : NULL;
    w->job->running += view->state == MOVES_RUNNING;
    w->job->paused += view->state == MOVES_PAUSED;
    w->job->queued += view->state == MOVES_QUEUED;
    if (progress != NULL) {
        running_add(w, progress);
    } else if (view->state == MOVES_RUNNING) {
        w->is_advancing = true; /* it has just begun */
    } else {
        wait_note(w, view->state == MOVES_PAUSED,
                  (struct moves_wait){(enum moves_reason)view->reason, view->reason_error,
                                      view->since_ms});
    }
}

/* At the present rate, and not before any move that runs. */
static int64_t job_eta(const struct job_walk *w)
{
    const struct controller_job_figures *job = w->job;
    int64_t left = MAX(job->to_copy - job->copied, 0);
    if (job->rate <= 0 || w->eta_ms < 0) {
        return -1;
    }
    return MAX(w->eta_ms, left / job->rate * 1000 + left % job->rate * 1000 / job->rate);
}

static void text_put(char *to, size_t size, struct slice text)
{
    size_t len = MIN(text.len, size - 1);
    if (len > 0) {
        memcpy(to, text.ptr, len);
    }
    to[len] = '\0';
}

static void job_fill(const struct controller *c, const struct moves_job_view *view,
                     struct controller_job_figures *ret)
{
    const struct model_job *job = view->job;
    int64_t wall_ms = env_wall_ms(c->env);
    struct job_walk w = {.c = c, .job = ret, .eta_ms = -1};
    *ret = (struct controller_job_figures){
        .state = view->state,
        .age_ms = MAX(wall_ms - job->submitted_ms, 0),
        .total = job->moves_total,
        .done = job->moves_done,
        .cancelled = job->moves_cancelled,
        .to_copy = job->bytes_to_copy,
        .copied = job->bytes_copied,
        .rate = -1,
        .throttle = job->rate,
    };
    text_put(ret->id, sizeof ret->id, job->id);
    text_put(ret->submitted_by, sizeof ret->submitted_by, job->submitted_by);
    moves_each_open(job, job_move_add, &w);
    ret->eta_ms = job_eta(&w);
    struct moves_wait wait = w.wait.reason == MOVES_REASON_NONE ? w.paused : w.wait;
    if (!w.is_advancing) {
        ret->reason = wait.reason;
        ret->reason_age_ms = wait.since_ms == 0 ? 0 : MAX(wall_ms - wait.since_ms, 0);
    }
}

struct jobs_walk {
    const struct controller *c;
    struct controller_figures *figures;
};

static void job_take(void *arg, const struct moves_job_view *view)
{
    const struct jobs_walk *w = arg;
    struct controller_figures *f = w->figures;
    if (view->state == MOVES_DONE || view->state == MOVES_CANCELLED) {
        return;
    }
    f->open_jobs++;
    if (f->job_count < CONTROLLER_FIGURES_JOBS_MAX) {
        job_fill(w->c, view, &f->jobs[f->job_count++]);
    }
}

static void queued_count(void *arg, const struct moves_view *view)
{
    struct controller_figures *f = arg;
    f->queued_by_reason[view->reason]++;
}

static void queue_figures(const struct controller *c, struct controller_figures *ret)
{
    const struct moves *moves = controller_moves_core(c);
    if (moves != NULL) {
        ret->queued = moves_queued_count(moves);
        moves_each_queued(moves, queued_count, ret);
        ret->jobs = xalloc(CONTROLLER_FIGURES_JOBS_MAX * sizeof *ret->jobs);
        moves_each_job(moves, job_take, &(struct jobs_walk){c, ret});
    }
}

/* ---- what is left alone ---- */

struct held_walk {
    struct controller_figures *figures;
    int64_t now_ms;
};

static void held_take(void *arg, const struct control_held *held)
{
    struct held_walk *walk = arg;
    struct controller_figures *f = walk->figures;
    if (f->held_count == CONTROLLER_FIGURES_HELD_MAX) {
        return;
    }
    const char *reason = held->why;
    size_t path_len = held->path == NULL ? 0 : strlen(held->path);
    if (path_len > 0 && strncmp(reason, held->path, path_len) == 0 &&
        strncmp(reason + path_len, ": ", 2) == 0) {
        reason += path_len + 2;
    }
    f->held[f->held_count++] = (struct controller_held_figures){
        .topic = held->topic == NULL ? NULL : xstrdup(held->topic),
        .partition = held->partition,
        .path = held->path == NULL ? NULL : xstrdup(held->path),
        .reason = xstrdup(reason),
        .age_ms = MAX(walk->now_ms - held->since_ms, 0),
    };
}

static void held_figures(const struct controller *c, struct controller_figures *ret)
{
    int32_t count = MIN(ret->cluster.held, CONTROLLER_FIGURES_HELD_MAX);
    ret->held = xalloc((size_t)MAX(count, 1) * sizeof *ret->held);
    control_each_held(c->core, held_take, &(struct held_walk){ret, env_now_ms(c->env)});
}

/* ---- the whole ---- */

void controller_figures(const struct controller *c, struct controller_figures *ret)
{
    *ret = (struct controller_figures){
        .is_active = controller_is_active(c),
        .epoch = controller_is_active(c) ? c->epoch : -1,
    };
    control_figures(c->core, &ret->cluster);
    ret->queue = (int32_t)c->arrived.count + ret->cluster.queued;
    queue_figures(c, ret);
    controller_progress_figures(c, ret);
    held_figures(c, ret);
}

void controller_figures_deinit(struct controller_figures *f)
{
    free(f->moves);
    free(f->jobs);
    for (int32_t i = 0; i < f->held_count; i++) {
        free(f->held[i].topic);
        free(f->held[i].path);
        free(f->held[i].reason);
    }
    free(f->held);
    *f = (struct controller_figures){0};
}
