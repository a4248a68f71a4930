/*
 * The rounds of the operator of jobs: see jobs.h. One request at a time.
 */
#include "sim/cluster/jobs.h"

#include "broker/replicas/replicas.h"
#include "model/kerr.h"
#include "sim/cluster/cluster.h"

#include <stdio.h>

#define PRNG_SALT      0x6a6f6273ULL
#define WORK_MIN_MS    3000
#define WORK_MAX_MS    15000
#define LIMITS_MAX     6 /* changes in a run */
#define JOBS_SEEDS     7 /* two of so many: none of those in seeds.txt, which stay what they were */
#define UNDO_TRIES_MAX 3 /* a move to where the partition was can be undone for ever */

static int64_t now_ms(const struct cluster_jobs *j)
{
    return sim_world_now_ms(j->cluster->world);
}

/* What had no known outcome is done or forgotten. */
static bool is_quiet(const struct cluster_jobs *j)
{
    return now_ms(j) > j->unknown_ms + CLUSTER_LATE_MS;
}

static void run_later(struct cluster_jobs *j, int64_t min_ms, int64_t max_ms)
{
    j->is_busy = false;
    env_timer_start(&j->timer, prng_range(&j->prng, min_ms, max_ms));
}

static void ask_reset(struct cluster_jobs *j, enum moves_action action)
{
    struct jobs_ask *ask = &j->ask;
    ask->action = action;
    for (int32_t i = 0; i < STORED_PARTITIONS_MAX; i++) {
        ids_clear(&ask->targets[i]);
    }
    ask->count = 0;
    ask->is_whole_topic = false;
    ask->job[0] = '\0';
    ask->broker = -1;
    ask->rate = MOVES_RATE_KEEP;
    ask->priority = MODEL_JOB_BALANCE;
    ask->is_one_at_a_time = false;
}

static void phase_enter(struct cluster_jobs *j, enum jobs_phase phase)
{
    static const char *const names[] = {"rest", "work", "finish", "undo", "over"};
    sim_trace(j->cluster->world, "jobs: phase %s", names[phase]);
    j->phase = phase;
}

/* ---- jobs of the round ---- */

static uint64_t newest_serial(const struct cluster_jobs *j)
{
    const struct cluster_stored *s = &j->cluster->stored;
    uint64_t newest = 0;
    for (int32_t i = 0; i < s->job_count; i++) {
        newest = MAX(newest, s->jobs[i].serial);
    }
    return newest;
}

/* The newest one of the round that is older than `serial`; NULL = none. */
static const struct stored_job *job_before(const struct cluster_jobs *j, uint64_t serial)
{
    const struct cluster_stored *s = &j->cluster->stored;
    const struct stored_job *found = NULL;
    for (int32_t i = 0; i < s->job_count; i++) {
        const struct stored_job *job = &s->jobs[i];
        if (job->has_node && job->serial >= j->first_serial && job->serial < serial &&
            (found == NULL || job->serial > found->serial)) {
            found = job;
        }
    }
    return found;
}

static bool are_over_from(const struct cluster_jobs *j, uint64_t serial)
{
    const struct cluster_stored *s = &j->cluster->stored;
    for (int32_t i = 0; i < s->job_count; i++) {
        if (s->jobs[i].serial >= serial && !stored_job_is_over(&s->jobs[i])) {
            return false;
        }
    }
    return true;
}

/* ---- checks ---- */

static void list_put(char *text, size_t size, const struct ids *ids)
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < ids->count && used + 12 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, i == 0 ? "%d" : ",%d", ids->list[i]);
    }
}

static void check_list(struct cluster_jobs *j, int32_t partition, const struct ids *wanted,
                       const char *what)
{
    const struct ids *found = &j->cluster->stored.now[partition].replicas;
    if (!ids_equal(found, wanted)) {
        char a[64];
        char b[64];
        list_put(a, sizeof a, found);
        list_put(b, sizeof b, wanted);
        cluster_fail(j->cluster, "partition %d: %s: [%s], not [%s]", partition, what, a, b);
    }
}

/* Everything came to its end: what the newest job says of a partition is so. */
static void check_finished(struct cluster_jobs *j)
{
    for (int32_t p = 0; p < j->cluster->partition_count; p++) {
        const struct stored_job *job = job_before(j, UINT64_MAX);
        while (job != NULL && !job->moves[p].is_there) {
            job = job_before(j, job->serial);
        }
        if (job != NULL && !j->is_loose[p] && (job->moves[p].marks & MODEL_JOB_DONE) != 0) {
            check_list(j, p, &job->moves[p].target, "its last job is done");
        }
    }
}

static void check_undone(struct cluster_jobs *j)
{
    for (int32_t p = 0; p < j->cluster->partition_count; p++) {
        if (!j->is_loose[p]) {
            check_list(j, p, &j->before[p], "all jobs were undone");
        }
    }
    j->rounds++;
}

/* ---- phases ---- */

static void round_begin(struct cluster_jobs *j)
{
    struct cluster *c = j->cluster;
    for (int32_t p = 0; p < c->partition_count; p++) {
        ids_copy(&j->before[p], &c->stored.now[p].replicas);
        j->is_loose[p] = false;
    }
    j->first_serial = newest_serial(j) + 1;
    j->finishes_first = prng_chance(&j->prng, 1, 2);
    j->phase_end_ms = now_ms(j) + prng_range(&j->prng, WORK_MIN_MS, WORK_MAX_MS);
    phase_enter(j, JOBS_WORK);
}

static void undo_begin(struct cluster_jobs *j)
{
    phase_enter(j, JOBS_UNDO);
    j->undo_serial = newest_serial(j) + 1;
    j->undo_tries = 0;
    j->is_undo_out = false;
}

static void phase_next(struct cluster_jobs *j)
{
    struct cluster *c = j->cluster;
    bool is_at_rest = is_quiet(j) && cluster_stored_is_at_rest(c);
    switch (j->phase) {
    case JOBS_REST:
        if (is_at_rest && c->op.is_stopped) {
            phase_enter(j, JOBS_OVER);
        } else if (is_at_rest) {
            round_begin(j);
        }
        break;
    case JOBS_WORK:
        if (c->op.is_stopped || now_ms(j) > j->phase_end_ms) {
            phase_enter(j, JOBS_FINISH);
        }
        break;
    case JOBS_FINISH:
        if (is_at_rest) {
            check_finished(j);
        }
        if (is_at_rest || (is_quiet(j) && !j->finishes_first)) {
            undo_begin(j);
        }
        break;
    case JOBS_UNDO:
        if (is_at_rest && job_before(j, j->undo_serial) == NULL) {
            check_undone(j);
            phase_enter(j, JOBS_REST);
        }
        break;
    case JOBS_OVER:
        break;
    }
}

/* Nothing is to stay behind because it was paused, or slow. */
static void ask_release(struct cluster_jobs *j)
{
    const struct cluster_stored *s = &j->cluster->stored;
    ask_reset(j, MOVES_ACTION_RESUME);
    for (int32_t i = 0; i < s->job_count; i++) {
        const struct stored_job *job = &s->jobs[i];
        if (job->has_node && job->rate >= 0 && job->fate == MODEL_JOB_OPEN) {
            ask_reset(j, MOVES_ACTION_SETTINGS);
            j->ask.rate = MOVES_RATE_REMOVE;
            j->ask.priority = MOVES_PRIORITY_KEEP;
            (void)snprintf(j->ask.job, sizeof j->ask.job, "%s", job->id);
            return;
        }
    }
}

static bool is_settled_answer(const struct cluster_jobs *j)
{
    const struct jobs_outcome *o = &j->outcome;
    return o->is_known && o->error == KERR_NONE && o->refused == 0;
}

/* The jobs of the round one after the other, each until an undo of it finds nothing more to do when it is
 * over. False: there is nothing to ask for now. */
static bool undo_ask(struct cluster_jobs *j)
{
    const struct stored_job *job = job_before(j, j->undo_serial);
    if (job == NULL) {
        ask_release(j); /* what a late answer paused */
        return prng_chance(&j->prng, 1, 4);
    }
    bool is_over = are_over_from(j, job->serial);
    if (j->is_undo_out && (!is_settled_answer(j) || (is_over && is_quiet(j)))) {
        bool is_done = j->was_over && is_settled_answer(j) &&
                       (j->outcome.done == 0 || j->undo_tries >= UNDO_TRIES_MAX);
        j->undo_tries += j->was_over;
        j->is_undo_out = false;
        if (is_done) {
            j->undo_serial = job->serial;
            j->undo_tries = 0;
        }
        return false;
    }
    if (j->is_undo_out) {
        ask_release(j);
        return prng_chance(&j->prng, 1, 4);
    }
    ask_reset(j, job->rate >= 0 ? MOVES_ACTION_SETTINGS : MOVES_ACTION_UNDO);
    if (job->rate >= 0) {
        j->ask.rate = MOVES_RATE_REMOVE; /* its reverse has the same */
        j->ask.priority = MOVES_PRIORITY_KEEP;
    } else {
        j->is_undo_out = true;
        j->was_over = is_over;
    }
    (void)snprintf(j->ask.job, sizeof j->ask.job, "%s", job->id);
    return true;
}

/* False: there is nothing to ask for now. */
static bool phase_ask(struct cluster_jobs *j)
{
    switch (j->phase) {
    case JOBS_WORK:
        ask_reset(j, MOVES_ACTION_RESUME);
        cluster_jobs_draw(j);
        return true;
    case JOBS_FINISH:
        ask_release(j);
        return prng_chance(&j->prng, 1, 4);
    case JOBS_UNDO:
        return undo_ask(j);
    case JOBS_REST:
    case JOBS_OVER:
        break;
    }
    return false;
}

/* ---- life ---- */

static void jobs_run(void *arg)
{
    struct cluster_jobs *j = arg;
    struct cluster *c = j->cluster;
    if (j->is_busy || j->phase == JOBS_OVER) {
        return;
    }
    int32_t controller = client_controller(c->client);
    phase_next(j);
    bool is_limit =
        j->phase == JOBS_WORK && c->caps.count < LIMITS_MAX && prng_chance(&j->prng, 1, 12);
    j->is_busy = true;
    if (is_limit) {
        cluster_jobs_limit(j);
    } else if (controller < 1 || controller > c->broker_count) {
        client_refresh(c->client);
        run_later(j, 100, 500);
    } else if (phase_ask(j)) {
        cluster_jobs_send(j);
    } else {
        run_later(j, 100, 500);
    }
}

void cluster_jobs_answered(struct cluster_jobs *j, const struct jobs_outcome *outcome)
{
    if (j->ask.action == MOVES_ACTION_UNDO) {
        j->outcome = *outcome;
    }
    if (!outcome->is_known) {
        j->unknown_ms = now_ms(j);
    }
    if (!outcome->is_known || outcome->error != KERR_NONE) {
        client_refresh(j->cluster->client);
    }
    run_later(j, 10, j->phase == JOBS_WORK ? 300 : 800);
}

void cluster_jobs_init(struct cluster *c)
{
    struct cluster_jobs *j = &c->jobs;
    j->cluster = c;
    j->is_there = c->options.crossed == NULL && !c->options.mixes_levels &&
                  !c->options.loses_last_replica &&
                  (c->options.seed % JOBS_SEEDS == 1 || c->options.seed % JOBS_SEEDS == 6);
    if (!j->is_there) {
        return;
    }
    prng_init(&j->prng, c->options.seed ^ PRNG_SALT);
    j->is_capped = prng_chance(&j->prng, 1, 2);
    j->is_stepwise = prng_chance(&j->prng, 1, 2);
    j->has_stock = !j->is_stepwise && prng_chance(&j->prng, 1, 2);
    j->unknown_ms = -CLUSTER_LATE_MS - 1; /* never */
    c->stored.knows_direct = j->is_stepwise;
    j->phase = JOBS_OVER;
    ask_reset(j, MOVES_ACTION_RESUME);
    env_timer_init(&j->timer, sim_node_env(c->client_node), jobs_run, j);
    j->is_busy = true;
    cluster_jobs_limit(j);
    (void)sim_world_run(c->world, 1000, NULL, NULL); /* it is written */
}

void cluster_jobs_start(struct cluster *c)
{
    if (c->jobs.is_there) {
        c->jobs.phase = JOBS_REST;
        run_later(&c->jobs, 100, 1000);
    }
}

void cluster_jobs_free(struct cluster *c)
{
    struct cluster_jobs *j = &c->jobs;
    if (!j->is_there) {
        return;
    }
    env_timer_stop(&j->timer);
    for (int32_t p = 0; p < STORED_PARTITIONS_MAX; p++) {
        ids_deinit(&j->ask.targets[p]);
        ids_deinit(&j->before[p]);
    }
}

bool cluster_jobs_are_over(struct cluster *c)
{
    if (!c->jobs.is_there) {
        return true;
    }
    for (int32_t i = 0; i < c->broker_count; i++) {
        const struct cluster_broker *b = &c->brokers[i];
        if (b->broker == NULL || b->is_stopping || b->is_fatal ||
            replicas_limits_count(broker_replicas(b->broker)) > 0) {
            return false; /* a limit of a job that is over is left behind */
        }
    }
    return c->jobs.phase == JOBS_OVER && c->stored.starts_count == 0;
}
