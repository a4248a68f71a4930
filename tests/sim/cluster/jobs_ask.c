/*
 * What the operator of jobs asks for: drawn, sent, and its answer looked at. See jobs.h.
 */
#include "sim/cluster/jobs.h"

#include "base/arena.h"
#include "base/buf.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "model/kerr.h"
#include "sim/cluster/cluster.h"
#include "wire/alter_partition_reassignments.h"

#include <stdio.h>

#define ALTER_VERSION   0
#define CALL_TIMEOUT_MS 6000

/* ---- drawing ---- */

static void draw_target(struct cluster_jobs *j, struct ids *ret)
{
    const struct cluster *c = j->cluster;
    int32_t size = (int32_t)prng_range(&j->prng, 1, MIN(4, c->broker_count));
    ids_clear(ret);
    while (ret->count < size) {
        int32_t id = (int32_t)prng_range(&j->prng, 1, c->broker_count);
        if (!ids_has(ret, id)) {
            ids_add(ret, id);
        }
    }
}

static int32_t draw_partition(struct cluster_jobs *j)
{
    return (int32_t)prng_below(&j->prng, (uint64_t)j->cluster->partition_count);
}

static void draw_submission(struct cluster_jobs *j)
{
    static const int64_t rates[] = {MOVES_RATE_KEEP, 200, 500, 2000, 20000};
    struct jobs_ask *ask = &j->ask;
    for (int32_t p = 0; p < j->cluster->partition_count; p++) {
        if (prng_chance(&j->prng, 2, 3)) {
            draw_target(j, &ask->targets[ask->count]);
            ask->partitions[ask->count++] = p;
        }
    }
    if (ask->count == 0) {
        draw_target(j, &ask->targets[0]);
        ask->partitions[ask->count++] = draw_partition(j);
    }
    ask->action = MOVES_ACTION_SUBMIT;
    ask->rate = rates[prng_below(&j->prng, ARRAY_LEN(rates))];
    ask->priority = (int8_t)prng_below(&j->prng, MODEL_JOB_PRIORITIES);
    ask->is_one_at_a_time = j->is_stepwise || prng_chance(&j->prng, 1, 3);
    if (prng_chance(&j->prng, 2, 3)) {
        (void)snprintf(ask->job, sizeof ask->job, "mine-%d", ++j->named);
    }
}

/* A job of this round, mostly one that is open; false: there is none. */
static bool draw_job(struct cluster_jobs *j)
{
    const struct cluster_stored *s = &j->cluster->stored;
    bool wants_open = prng_chance(&j->prng, 4, 5);
    const struct stored_job *found = NULL;
    uint32_t seen = 0;
    for (int32_t i = 0; i < s->job_count; i++) {
        const struct stored_job *job = &s->jobs[i];
        bool is_meant = job->serial >= j->first_serial && !(wants_open && stored_job_is_over(job));
        if (is_meant && prng_chance(&j->prng, 1, ++seen)) {
            found = job;
        }
    }
    if (found != NULL) {
        (void)snprintf(j->ask.job, sizeof j->ask.job, "%s", found->id);
    }
    return found != NULL;
}

/* Who is meant: partitions, a topic, a broker, a job, or all. */
static void draw_selection(struct cluster_jobs *j)
{
    struct jobs_ask *ask = &j->ask;
    switch (prng_below(&j->prng, 5)) {
    case 0:
        ask->partitions[ask->count++] = draw_partition(j);
        break;
    case 1:
        ask->is_whole_topic = true;
        break;
    case 2:
        ask->broker = (int32_t)prng_range(&j->prng, 1, j->cluster->broker_count);
        break;
    case 3:
        (void)draw_job(j);
        break;
    default:
        break;
    }
}

static void draw_settings(struct cluster_jobs *j)
{
    static const int64_t rates[] = {MOVES_RATE_KEEP, MOVES_RATE_REMOVE, 1000, 10000, 100000};
    struct jobs_ask *ask = &j->ask;
    ask->action = draw_job(j) ? MOVES_ACTION_SETTINGS : MOVES_ACTION_RESUME;
    ask->rate = rates[prng_below(&j->prng, ARRAY_LEN(rates))];
    ask->priority = (int8_t)prng_range(&j->prng, MOVES_PRIORITY_KEEP, MODEL_JOB_BALANCE);
    if (ask->action == MOVES_ACTION_RESUME) {
        ask->rate = MOVES_RATE_KEEP;
        ask->priority = MODEL_JOB_BALANCE;
    }
}

static void draw_stock(struct cluster_jobs *j)
{
    struct jobs_ask *ask = &j->ask;
    ask->action = MOVES_ACTION_ALTER;
    ask->partitions[ask->count++] = draw_partition(j);
    if (j->has_stock && prng_chance(&j->prng, 1, 2)) {
        draw_target(j, &ask->targets[0]);
    }
}

void cluster_jobs_draw(struct cluster_jobs *j)
{
    uint64_t dice = prng_below(&j->prng, 24);
    if (dice < 7) {
        draw_submission(j);
    } else if (dice < 9) {
        draw_stock(j); /* or a stock cancel */
    } else if (dice < 12) {
        j->ask.action = MOVES_ACTION_PAUSE;
        draw_selection(j);
    } else if (dice < 15) {
        j->ask.action = MOVES_ACTION_RESUME;
        draw_selection(j);
    } else if (dice < 19) {
        j->ask.action = MOVES_ACTION_CANCEL;
        draw_selection(j);
    } else if (dice < 21) {
        j->ask.action = MOVES_ACTION_UNDO;
        draw_selection(j);
    } else {
        draw_settings(j);
    }
}

/* ---- the answer ---- */

/* It may have been carried out, or will be. */
static bool is_open(int16_t code)
{
    return code == KERR_UNKNOWN_SERVER_ERROR || code == KERR_REQUEST_TIMED_OUT;
}

/* What an answer promises was stored before. */
static void check_promise(struct cluster_jobs *j,
                          const struct wire_alter_partition_reassignments_response *response)
{
    struct cluster *c = j->cluster;
    const struct jobs_ask *ask = &j->ask;
    if (!slice_is_null(response->job) && response->job.len > 0) {
        const struct stored_job *made = cluster_stored_job(c, response->job);
        if (made == NULL || !made->has_node || made->fate == MODEL_JOB_WRITING) {
            cluster_fail(c, "job %.*s is answered for and not stored", SLICE_ARG(response->job));
        }
    }
    const struct stored_job *job = cluster_stored_job(c, slice_str(ask->job));
    if (ask->action == MOVES_ACTION_SETTINGS && job != NULL && ask->rate != MOVES_RATE_KEEP &&
        job->rate != MAX(ask->rate, -1)) {
        cluster_fail(c, "job %s has rate %lld, and %lld was answered for", job->id,
                     (long long)job->rate, (long long)ask->rate);
    }
}

/* After a cancel of everything nothing moves but what goes back in steps. */
static void check_cancelled(struct cluster_jobs *j, int32_t partition)
{
    struct cluster *c = j->cluster;
    bool is_everything = j->ask.action == MOVES_ACTION_CANCEL && j->ask.count == 0 &&
                         !j->ask.is_whole_topic && j->ask.job[0] == '\0' && j->ask.broker < 0;
    bool is_returning = false;
    for (int32_t i = 0; i < c->stored.job_count; i++) {
        is_returning = is_returning || c->stored.jobs[i].is_one_at_a_time;
    }
    if (is_everything && !is_returning && partition >= 0 && partition < c->partition_count &&
        sim_world_now_ms(c->world) > j->unknown_ms + CLUSTER_LATE_MS &&
        assignment_is_reassigning(&c->stored.now[partition])) {
        cluster_fail(c, "partition %d moves after all was cancelled", partition);
    }
}

static struct jobs_outcome outcome_of(struct cluster_jobs *j,
                                      const struct wire_alter_partition_reassignments_response *r)
{
    struct jobs_outcome outcome = {.is_known = !is_open(r->error_code), .error = r->error_code};
    for (int32_t i = 0; i < r->responses_count; i++) {
        for (int32_t k = 0; k < r->responses[i].partitions_count; k++) {
            int16_t code = r->responses[i].partitions[k].error_code;
            outcome.is_known = outcome.is_known && !is_open(code);
            outcome.done += code == KERR_NONE;
            outcome.refused += code == KERR_INVALID_REPLICA_ASSIGNMENT;
            if (code == KERR_NONE) {
                check_cancelled(j, r->responses[i].partitions[k].partition_index);
            }
        }
    }
    return outcome;
}

static void ask_done(void *arg, int err, struct reader *body)
{
    struct cluster_jobs *j = arg;
    struct arena arena;
    struct wire_alter_partition_reassignments_response response;
    struct jobs_outcome outcome = {.is_known = false};
    arena_init(&arena, 1 << 20);
    if (err == 0 && wire_alter_partition_reassignments_response_decode(
                        &response, body, ALTER_VERSION, &arena) == 0) {
        outcome = outcome_of(j, &response);
        sim_trace(j->cluster->world, "jobs: %s, %d partitions, job %.*s",
                  kerr_name(response.error_code), outcome.done, SLICE_ARG(response.job));
        if (response.error_code == KERR_NONE) {
            check_promise(j, &response);
        }
    } else {
        sim_trace(j->cluster->world, "jobs: no answer");
    }
    arena_deinit(&arena);
    cluster_jobs_answered(j, &outcome);
}

/* ---- sending ---- */

static void ask_trace(const struct cluster_jobs *j)
{
    static const char *const names[MOVES_ACTIONS] = {"alter",  "submit",   "pause", "resume",
                                                     "cancel", "settings", "undo"};
    const struct jobs_ask *ask = &j->ask;
    char text[160] = "";
    size_t used = 0;
    for (int32_t i = 0; i < ask->count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, " %d->[", ask->partitions[i]);
        for (int32_t k = 0; k < ask->targets[i].count; k++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", k == 0 ? "" : ",",
                                     ask->targets[i].list[k]);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "]");
    }
    sim_trace(j->cluster->world,
              "jobs: %s%s job '%s' broker %d rate %lld priority %d, one at a time %d%s",
              names[ask->action], text, ask->job, ask->broker, (long long)ask->rate, ask->priority,
              ask->is_one_at_a_time, ask->is_whole_topic ? ", whole topic" : "");
}

/* Before it is sent: from now on it may be carried out. */
static void ask_note(struct cluster_jobs *j)
{
    struct cluster_stored *s = &j->cluster->stored;
    const struct jobs_ask *ask = &j->ask;
    for (int32_t i = 0; i < ask->count; i++) {
        int32_t p = ask->partitions[i];
        if (ask->targets[i].count == 0) {
            continue;
        }
        stored_lists_add(&s->asked[p], &ask->targets[i]);
        if (!ask->is_one_at_a_time) {
            stored_lists_add(&s->direct[p], &ask->targets[i]);
        }
        if (ask->action == MOVES_ACTION_ALTER && !j->is_capped) {
            j->is_loose[p] = true;
        }
    }
}

void cluster_jobs_send(struct cluster_jobs *j)
{
    struct cluster *c = j->cluster;
    const struct jobs_ask *ask = &j->ask;
    struct wire_alter_partition_reassignments_request_topics_partitions rows[STORED_PARTITIONS_MAX];
    struct wire_alter_partition_reassignments_request_topics topic;
    struct wire_alter_partition_reassignments_request request;
    for (int32_t i = 0; i < ask->count; i++) {
        wire_alter_partition_reassignments_request_topics_partitions_init(&rows[i]);
        rows[i].partition_index = ask->partitions[i];
        rows[i].replicas = ask->targets[i].count == 0 ? NULL : ask->targets[i].list;
        rows[i].replicas_count = ask->targets[i].count == 0 ? -1 : ask->targets[i].count;
    }
    wire_alter_partition_reassignments_request_topics_init(&topic);
    topic.name = slice_str(CLUSTER_TOPIC);
    topic.partitions = rows;
    topic.partitions_count = ask->count;
    wire_alter_partition_reassignments_request_init(&request);
    request.topics = &topic;
    request.topics_count = ask->count > 0 || ask->is_whole_topic;
    request.klamm_extensions = 1;
    request.action = (int8_t)ask->action;
    request.job = ask->job[0] == '\0' ? SLICE_NULL : slice_str(ask->job);
    request.rate = ask->rate;
    request.priority = ask->priority;
    request.one_at_a_time = ask->is_one_at_a_time;
    int32_t broker = ask->broker;
    request.brokers = &broker;
    request.brokers_count = broker >= 0;
    ask_trace(j);
    ask_note(j);
    struct client_call call = {.broker = client_controller(c->client),
                               .key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS,
                               .version = ALTER_VERSION,
                               .timeout_ms = CALL_TIMEOUT_MS,
                               .request = &request};
    client_send(c->client, &call, ask_done, j);
}

/* ---- limits ---- */

static void limit_written(void *arg, const struct metastore_result *result)
{
    struct cluster_jobs *j = arg;
    sim_trace(j->cluster->world, "jobs: other limits: %s", error_name(result->err));
    struct jobs_outcome outcome = {.is_known = true};
    cluster_jobs_answered(j, &outcome);
}

static int32_t draw_limit(struct cluster_jobs *j, int32_t max)
{
    bool is_off = prng_chance(&j->prng, 1, 3);
    return is_off ? MOVES_OFF : (int32_t)prng_range(&j->prng, 1, max);
}

void cluster_jobs_limit(struct cluster_jobs *j)
{
    struct cluster *c = j->cluster;
    struct moves_limits l = {.in_per_broker = draw_limit(j, 3),
                             .out_per_broker = draw_limit(j, 3),
                             .per_cluster = draw_limit(j, 3),
                             .bytes_in_flight = draw_limit(j, 40000)};
    struct buf json;
    struct buf note;
    bool is_first = c->caps.count == 0 && c->brokers[0].broker == NULL;
    if (j->is_capped && l.in_per_broker < 0 && l.per_cluster < 0) {
        l.per_cluster = 2; /* so that stock requests are queued throughout */
    }
    buf_init(&json);
    buf_init(&note);
    buf_putf(&json,
             "{\"version\":1,\"config\":{\"klamm.moves.max.in.per.broker\":\"%d\","
             "\"klamm.moves.max.out.per.broker\":\"%d\",\"klamm.moves.max.per.cluster\":\"%d\","
             "\"klamm.moves.max.bytes.in.flight\":\"%lld\"}}",
             l.in_per_broker, l.out_per_broker, l.per_cluster, (long long)l.bytes_in_flight);
    metastore_config_change_encode(&note, slice_str("brokers/<default>"));
    struct metastore_op first[] = {
        {.kind = METASTORE_CREATE, .path = slice_str("/config")},
        {.kind = METASTORE_CREATE, .path = slice_str(METASTORE_BROKER_CONFIGS)},
        {.kind = METASTORE_CREATE,
         .path = slice_str(METASTORE_BROKER_CONFIGS "/<default>"),
         .data = buf_slice(&json)}};
    struct metastore_op later[] = {{.kind = METASTORE_SET,
                                    .path = slice_str(METASTORE_BROKER_CONFIGS "/<default>"),
                                    .data = buf_slice(&json),
                                    .version = -1},
                                   {.kind = METASTORE_CREATE,
                                    .path = slice_str(METASTORE_CONFIG_CHANGE_NEW),
                                    .data = buf_slice(&note),
                                    .is_sequential = true}};
    sim_trace(c->world, "jobs: limits %.*s", SLICE_ARG(buf_slice(&json)));
    cluster_caps_prepare(c, &l);
    if (is_first) {
        metastore_multi(c->session, first, ARRAY_LEN(first), limit_written, j);
    } else {
        metastore_multi(c->session, later, ARRAY_LEN(later), limit_written, j);
    }
    buf_deinit(&json);
    buf_deinit(&note);
}
