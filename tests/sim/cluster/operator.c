/*
 * The operator: submits moves, overrides and cancels them at random, and checks that a cancel restores
 * the list from before the first move exactly. Some moves are asked for by the plan of old tools,
 * /admin/reassign_partitions; requests may come on top of it. One request or plan at a time; each starts
 * with a fresh read of the topic znode, so the origin is known whenever nothing moves.
 */
#include "base/alloc.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "model/kerr.h"
#include "moves/moves.h"
#include "sim/cluster/cluster.h"
#include "wire/alter_partition_reassignments.h"

#include <stdio.h>
#include <stdlib.h>

#define ALTER_VERSION   0
#define CALL_TIMEOUT_MS 6000
#define PLAN_WAIT_MS    15000 /* so long at most a plan is waited for before the next request */
#define PLAN_LOOK_MS    200

static void operator_later(struct cluster_operator *op, int64_t min_ms, int64_t max_ms)
{
    op->is_busy = false;
    env_timer_start(&op->timer, prng_range(op->cluster->prng, min_ms, max_ms));
}

static struct cluster_move *operator_move(struct cluster_operator *op)
{
    return &op->moves[op->partition];
}

/* It may have been carried out, or will be: a controller that is cut off keeps it for a while. */
static void outcome_unknown(struct cluster_operator *op)
{
    operator_move(op)->is_certain = false;
    operator_move(op)->unknown_ms = sim_world_now_ms(op->cluster->world);
}

/* Reads the topic znode and hands the partition's assignment to then(op, a); a NULL: could not. */
typedef void (*operator_then_fn)(struct cluster_operator *op, const struct assignment *a);

struct topic_read {
    struct cluster_operator *op;
    operator_then_fn then;
};

static void topic_read_done(void *arg, const struct metastore_result *result)
{
    struct topic_read *read = arg;
    struct cluster_operator *op = read->op;
    struct model_topic topic = {0};
    struct errmsg em = {""};
    int err = result->err;
    if (err == 0) {
        err = metastore_topic_decode(result->data, slice_str(CLUSTER_TOPIC), &topic, &em);
        if (err != 0) {
            cluster_fail(op->cluster, "topic znode: %s", em.text);
        }
    }
    bool is_there = err == 0 && op->partition < topic.partition_count;
    read->then(op, is_there ? &topic.partitions[op->partition] : NULL);
    model_topic_deinit(&topic);
    free(read);
}

static void topic_read_start(struct cluster_operator *op, operator_then_fn then)
{
    struct topic_read *read = xalloc(sizeof *read);
    *read = (struct topic_read){.op = op, .then = then};
    metastore_get(op->cluster->session, slice_str("/brokers/topics/" CLUSTER_TOPIC), NULL, NULL,
                  topic_read_done, read);
}

static void ids_text(const struct ids *ids, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < ids->count && used + 12 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, i == 0 ? "%d" : ",%d", ids->list[i]);
    }
}

static void check_restored(struct cluster_operator *op, const struct assignment *a)
{
    struct cluster_move *move = operator_move(op);
    if (a == NULL) {
        operator_later(op, 100, 500);
        return;
    }
    bool is_reached = op->has_queue && (ids_equal(&a->replicas, &move->target) ||
                                        ids_equal(&a->replicas, &move->earlier));
    if (move->is_certain && !is_reached && !ids_equal(&a->replicas, &move->origin)) {
        char found[64];
        char wanted[64];
        ids_text(&a->replicas, found, sizeof found);
        ids_text(&move->origin, wanted, sizeof wanted);
        cluster_fail(op->cluster,
                     "partition %d: a cancel gave [%s], before the first move it was [%s]",
                     op->partition, found, wanted);
    }
    op->cancels_done++;
    operator_later(op, 100, 2000);
}

static void check_started(struct cluster_operator *op, const struct assignment *a)
{
    struct cluster_move *move = operator_move(op);
    if (a != NULL && assignment_is_reassigning(a)) {
        struct ids origin = {0};
        assignment_origin(a, &origin);
        if (!ids_same_set(&origin, &move->origin)) {
            /* The earlier move ended between our read and our request. */
            ids_copy(&move->origin, &move->target);
            move->is_certain =
                move->is_certain && !op->has_queue; /* which one it was is not known */
            if (move->is_certain && !ids_same_set(&origin, &move->origin)) {
                cluster_fail(op->cluster,
                             "partition %d: the move starts from a list nobody asked for",
                             op->partition);
            }
        }
        ids_deinit(&origin);
    }
    ids_copy(&move->earlier, &move->target);
    ids_copy(&move->target, &op->wanted);
    op->moves_started++;
    operator_later(op, 50, 2500);
}

/* Nothing is left of the queue when no partition of it was refused. */
static void at_large_answered(struct cluster_operator *op,
                              const struct wire_alter_partition_reassignments_response *response)
{
    bool is_clean = response->error_code == KERR_NONE;
    for (int32_t i = 0; i < response->responses_count; i++) {
        for (int32_t j = 0; j < response->responses[i].partitions_count; j++) {
            int16_t code = response->responses[i].partitions[j].error_code;
            is_clean = is_clean && (code == KERR_NONE || code == KERR_NO_REASSIGNMENT_IN_PROGRESS);
        }
    }
    sim_trace(op->cluster->world, "operator: all: %s", is_clean ? "done" : "refused");
    op->is_finished = op->is_stopped && is_clean && op->action == MOVES_ACTION_CANCEL;
    if (!is_clean) {
        client_refresh(op->cluster->client);
    }
    operator_later(op, 50, 1000);
}

static void alter_answered(struct cluster_operator *op,
                           const struct wire_alter_partition_reassignments_response *response)
{
    if (op->is_at_large) {
        at_large_answered(op, response);
        return;
    }
    bool is_one = response->responses_count == 1 && response->responses[0].partitions_count == 1;
    int16_t code = response->error_code != 0 || !is_one
                       ? response->error_code
                       : response->responses[0].partitions[0].error_code;
    sim_trace(op->cluster->world, "operator: partition %d: %s", op->partition, kerr_name(code));
    if (code == KERR_NONE && !is_one) {
        cluster_fail(op->cluster, "an Alter answer does not name its one partition");
    } else if (code == KERR_NONE) {
        topic_read_start(op, op->wanted.count == 0 ? check_restored : check_started);
    } else if (code == KERR_UNKNOWN_SERVER_ERROR || code == KERR_REQUEST_TIMED_OUT) {
        outcome_unknown(op);
        operator_later(op, 1000, 3000);
    } else {
        client_refresh(op->cluster->client);
        operator_later(op, 50, 1000);
    }
}

static void alter_done(void *arg, int err, struct reader *body)
{
    struct cluster_operator *op = arg;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct wire_alter_partition_reassignments_response response;
    if (err != 0 || wire_alter_partition_reassignments_response_decode(
                        &response, body, ALTER_VERSION, &arena) != 0) {
        for (int32_t p = 0; op->is_at_large && p < op->cluster->partition_count; p++) {
            op->partition = p;
            outcome_unknown(op);
        }
        outcome_unknown(op);
        client_refresh(op->cluster->client);
        operator_later(op, 4000, 8000);
    } else {
        alter_answered(op, &response);
    }
    arena_deinit(&arena);
}

static void alter_send(struct cluster_operator *op, const struct assignment *a)
{
    struct cluster *c = op->cluster;
    int32_t controller = client_controller(c->client);
    if (cluster_crash_is_checked(c) || a == NULL || controller < 1 ||
        controller > c->broker_count) {
        client_refresh(c->client);
        operator_later(op, 100, 500);
        return;
    }
    struct cluster_move *move = operator_move(op);
    if (!assignment_is_reassigning(a)) {
        ids_copy(&move->origin, &a->replicas);
        move->is_certain = sim_world_now_ms(c->world) > move->unknown_ms + CLUSTER_LATE_MS;
    }
    if (op->wanted.count > 0) {
        stored_lists_add(&c->stored.asked[op->partition], &op->wanted);
    }
    struct wire_alter_partition_reassignments_request_topics_partitions partition;
    wire_alter_partition_reassignments_request_topics_partitions_init(&partition);
    partition.partition_index = op->partition;
    partition.replicas = op->wanted.count == 0 ? NULL : op->wanted.list;
    partition.replicas_count = op->wanted.count == 0 ? -1 : op->wanted.count;
    struct wire_alter_partition_reassignments_request_topics topic;
    wire_alter_partition_reassignments_request_topics_init(&topic);
    topic.name = slice_str(CLUSTER_TOPIC);
    topic.partitions = &partition;
    topic.partitions_count = 1;
    struct wire_alter_partition_reassignments_request request;
    wire_alter_partition_reassignments_request_init(&request);
    request.topics = &topic;
    request.topics_count = op->is_at_large ? 0 : 1;
    request.action = op->action;
    request.klamm_extensions = op->action != 0;
    char text[64];
    ids_text(&op->wanted, text, sizeof text);
    sim_trace(c->world, "operator: %s%d -> [%s] by broker %d, action %d",
              op->is_at_large ? "all, not " : "partition ", op->partition, text, controller,
              op->action);
    struct client_call call = {.broker = controller,
                               .key = WIRE_KEY_ALTER_PARTITION_REASSIGNMENTS,
                               .version = ALTER_VERSION,
                               .timeout_ms = CALL_TIMEOUT_MS,
                               .request = &request};
    client_send(c->client, &call, alter_done, op);
}

/* ---- the plan of old tools ---- */

void cluster_operator_planned(struct cluster *c, int32_t partition)
{
    c->op.moves[partition].is_certain = false;
    c->op.moves[partition].unknown_ms = sim_world_now_ms(c->world);
}

static void check_planned(struct cluster_operator *op, const struct assignment *a)
{
    if (a != NULL && op->is_plan_due) {
        char found[64];
        char wanted[64];
        ids_text(&a->replicas, found, sizeof found);
        ids_text(&op->wanted, wanted, sizeof wanted);
        if (assignment_is_reassigning(a) || !ids_equal(&a->replicas, &op->wanted)) {
            cluster_fail(op->cluster, "partition %d: the plan for [%s] is gone, and it has [%s]",
                         op->partition, wanted, found);
        }
        op->plans_done++;
    }
    operator_later(op, 100, 1000);
}

static void plan_look(struct cluster_operator *op);

static void plan_seen(void *arg, const struct metastore_result *result)
{
    struct cluster_operator *op = arg;
    if (result->err == -E_NOT_FOUND) {
        topic_read_start(op, check_planned);
    } else if (op->is_stopped || sim_world_now_ms(op->cluster->world) > op->plan_end_ms) {
        operator_later(op, 100, 1000);
    } else {
        plan_look(op);
    }
}

static void plan_look_now(void *arg)
{
    struct cluster_operator *op = arg;
    metastore_get(op->cluster->session, slice_str(METASTORE_REASSIGN), NULL, NULL, plan_seen, op);
}

static void plan_look(struct cluster_operator *op)
{
    env_timer_start(&op->plan_timer, PLAN_LOOK_MS);
}

static void plan_created(void *arg, const struct metastore_result *result)
{
    struct cluster_operator *op = arg;
    sim_trace(op->cluster->world, "operator: plan: %s", error_name(result->err));
    if (result->err != 0) {
        operator_later(op, 100, 1000); /* there is one */
        return;
    }
    op->moves_started++;
    if (prng_chance(op->cluster->prng, 1, 2)) {
        op->plan_end_ms = sim_world_now_ms(op->cluster->world) + PLAN_WAIT_MS;
        plan_look(op);
    } else {
        operator_later(op, 50, 2500);
    }
}

/* Also a topic that is not there and, at times, a second partition. */
static void plan_write(struct cluster_operator *op, struct buf *json)
{
    struct cluster *c = op->cluster;
    struct metastore_legacy_move moves[3] = {0};
    int32_t count = 0;
    int32_t second = (int32_t)prng_below(c->prng, (uint64_t)c->partition_count);
    char name[] = CLUSTER_TOPIC;
    char ghost[] = "ghost";
    moves[count++] = (struct metastore_legacy_move){name, op->partition, op->wanted};
    cluster_operator_planned(c, op->partition);
    stored_lists_add(&c->stored.asked[op->partition], &op->wanted);
    if (prng_chance(c->prng, 1, 3)) {
        moves[count++] = (struct metastore_legacy_move){ghost, 0, op->wanted};
    }
    if (second != op->partition && prng_chance(c->prng, 1, 2)) {
        moves[count++] = (struct metastore_legacy_move){name, second, op->wanted};
        cluster_operator_planned(c, second);
        stored_lists_add(&c->stored.asked[second], &op->wanted);
    }
    metastore_legacy_moves_encode(json, moves, count);
}

static void plan_send(struct cluster_operator *op, const struct assignment *a)
{
    if (cluster_crash_is_checked(op->cluster) || a == NULL) {
        operator_later(op, 100, 500);
        return;
    }
    const struct cluster_move *move = operator_move(op);
    bool is_known = sim_world_now_ms(op->cluster->world) > move->unknown_ms + CLUSTER_LATE_MS;
    op->is_plan_due = is_known && !assignment_is_reassigning(a);
    struct buf json;
    buf_init(&json);
    plan_write(op, &json);
    struct metastore_op create = {
        .kind = METASTORE_CREATE, .path = slice_str(METASTORE_REASSIGN), .data = buf_slice(&json)};
    sim_trace(op->cluster->world, "operator: plan %.*s", SLICE_ARG(buf_slice(&json)));
    metastore_multi(op->cluster->session, &create, 1, plan_created, op);
    buf_deinit(&json);
}

/* ---- what to do next ---- */

static void draw_target(struct cluster_operator *op)
{
    struct cluster *c = op->cluster;
    int32_t size = (int32_t)prng_range(c->prng, 1, MIN(4, c->broker_count));
    ids_clear(&op->wanted);
    while (op->wanted.count < size) {
        int32_t id = (int32_t)prng_range(c->prng, 1, c->broker_count);
        if (!ids_has(&op->wanted, id)) {
            ids_add(&op->wanted, id);
        }
    }
}

/* What is asked of the queue instead of a stock request. */
static void draw_action(struct cluster_operator *op)
{
    int64_t dice = (int64_t)prng_below(&op->queue_prng, 12);
    op->action = MOVES_ACTION_ALTER;
    op->is_at_large = false;
    if (dice < 5 && op->wanted.count > 0) {
        op->action = MOVES_ACTION_SUBMIT;
    } else if (dice < 2) {
        op->action = MOVES_ACTION_CANCEL; /* of the partition */
    } else if (dice >= 7 && dice < 11 && !op->has_caps) {
        op->action = dice == 7 ? MOVES_ACTION_PAUSE : MOVES_ACTION_RESUME;
        op->is_at_large = true;
    } else if (dice == 11) {
        op->action = MOVES_ACTION_UNDO;
        op->is_at_large = true;
    }
}

/* When all is over the queue is emptied. */
static void wish_the_end(struct cluster_operator *op)
{
    op->action = MOVES_ACTION_CANCEL;
    op->is_at_large = true;
    ids_clear(&op->wanted);
}

static void operator_run(void *arg)
{
    struct cluster_operator *op = arg;
    if (op->is_busy || (op->is_stopped && (!op->has_queue || op->is_finished))) {
        return;
    }
    if (cluster_crash_is_checked(op->cluster)) {
        operator_later(op, 200, 500);
        return;
    }
    op->is_busy = true;
    op->partition = (int32_t)prng_below(op->cluster->prng, (uint64_t)op->cluster->partition_count);
    if (op->is_stopped) {
        wish_the_end(op);
        topic_read_start(op, alter_send);
        return;
    }
    bool is_plan = prng_chance(op->cluster->prng, 1, 5) && !op->has_queue;
    if (!is_plan && prng_chance(op->cluster->prng, 1, 4)) {
        ids_clear(&op->wanted);
    } else {
        draw_target(op);
    }
    if (op->has_queue) {
        draw_action(op);
    }
    topic_read_start(op, is_plan ? plan_send : alter_send);
}

static void limits_written(void *arg, const struct metastore_result *result)
{
    struct cluster *c = arg;
    c->op.has_caps = result->err == 0;
}

void cluster_operator_init(struct cluster *c)
{
    struct cluster_operator *op = &c->op;
    prng_init(&op->queue_prng, c->options.seed * 2 + 1);
    op->has_queue = c->options.crossed == NULL && !c->options.mixes_levels && !c->jobs.is_there &&
                    prng_chance(&op->queue_prng, 1, 3);
    if (op->has_queue && prng_chance(&op->queue_prng, 1, 2)) {
        struct metastore_op ops[] = {
            {.kind = METASTORE_CREATE, .path = slice_str("/config")},
            {.kind = METASTORE_CREATE, .path = slice_str("/config/brokers")},
            {.kind = METASTORE_CREATE,
             .path = slice_str("/config/brokers/<default>"),
             .data =
                 slice_str("{\"version\":1,\"config\":{\"klamm.moves.max.per.cluster\":\"1\"}}")}};
        cluster_caps_prepare(c, &(struct moves_limits){MOVES_OFF, MOVES_OFF, 1, MOVES_OFF});
        metastore_multi(c->session, ops, 3, limits_written, c);
        (void)sim_world_run(c->world, 1000, NULL, NULL);
    }
}

void cluster_operator_start(struct cluster *c)
{
    struct cluster_operator *op = &c->op;
    op->cluster = c;
    for (int32_t p = 0; p < CLUSTER_PARTITIONS_MAX; p++) {
        op->moves[p].unknown_ms = -CLUSTER_LATE_MS - 1; /* never */
    }
    env_timer_init(&op->timer, sim_node_env(c->client_node), operator_run, op);
    env_timer_init(&op->plan_timer, sim_node_env(c->client_node), plan_look_now, op);
    if (!c->jobs.is_there) { /* else there is another operator */
        operator_later(op, 100, 1000);
    }
}

void cluster_operator_free(struct cluster *c)
{
    env_timer_stop(&c->op.timer);
    env_timer_stop(&c->op.plan_timer);
    ids_deinit(&c->op.wanted);
    for (int32_t p = 0; p < CLUSTER_PARTITIONS_MAX; p++) {
        ids_deinit(&c->op.moves[p].origin);
        ids_deinit(&c->op.moves[p].target);
        ids_deinit(&c->op.moves[p].earlier);
    }
}
