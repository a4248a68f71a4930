/*
 * The controller's process crashes at its fault points (broker/controller/fault.h). Each seed has a
 * favourite point, where it crashes each time; elsewhere it does so now and then. After each crash the list
 * of moves must be the same: what the next controller lists was stored when the other died, and what it
 * does not list any more has ended. While that is looked at, the operator waits.
 * Randomness is a stream of its own, so that a run without crashes at fault points stays what it was.
 */
#include "base/alloc.h"
#include "broker/controller/fault.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "model/kerr.h"
#include "sim/cluster/cluster.h"
#include "wire/list_partition_reassignments.h"

#include <stdlib.h>

#define CRASHES_MAX     6
#define CLOCK_SKEW_MS   (24 * 3600 * 1000)
#define LIST_VERSION    0
#define LIST_TIMEOUT_MS 3000
#define PRNG_SALT       0x6661756c74ULL

/* ---- crashing ---- */

void cluster_crashes_init(struct cluster *c)
{
    struct cluster_crashes *k = &c->crashes;
    prng_init(&k->prng, c->options.seed ^ PRNG_SALT);
    k->favourite = (int32_t)prng_below(&k->prng, CONTROLLER_FAULT_POINTS);
}

void cluster_clocks_skew(struct cluster *c)
{
    for (int32_t i = 0; c->options.crossed != NULL && i < c->broker_count; i++) {
        sim_node_skew_clock(c->brokers[i].node,
                            prng_range(&c->crashes.prng, -CLOCK_SKEW_MS, CLOCK_SKEW_MS));
    }
}

static int32_t point_index(const char *point)
{
    int32_t index = 0;
    while (strcmp(controller_fault_name(index), point) != 0) {
        index++;
    }
    return index;
}

bool cluster_crash_here(struct cluster_broker *b, const char *point)
{
    struct cluster *c = b->cluster;
    struct cluster_crashes *k = &c->crashes;
    if (c->options.crossed == NULL || b->ended_at != NULL) {
        return b->ended_at != NULL;
    }
    bool is_favourite = point_index(point) == k->favourite;
    if (c->op.is_stopped || k->count >= CRASHES_MAX ||
        !prng_chance(&k->prng, 1, is_favourite ? 1 : 60)) {
        return false;
    }
    sim_trace(c->world, "broker %d ends %s", b->id, point);
    k->count++;
    c->options.crossed[point_index(point)]++;
    b->ended_at = point;
    return true;
}

static bool someone_ended(void *arg)
{
    const struct cluster *c = arg;
    for (int32_t i = 0; i < c->broker_count; i++) {
        if (c->brokers[i].ended_at != NULL) {
            return true;
        }
    }
    return false;
}

static void check_start(struct cluster *c);

void cluster_run_for(struct cluster *c, int64_t ms)
{
    int64_t end_ms = sim_world_now_ms(c->world) + ms;
    while (sim_world_run(c->world, end_ms - sim_world_now_ms(c->world), someone_ended, c)) {
        for (int32_t i = 0; i < c->broker_count; i++) {
            struct cluster_broker *b = &c->brokers[i];
            if (b->ended_at != NULL) {
                b->ended_at = NULL;
                cluster_broker_kill(b, false);
                b->start_at_ms =
                    sim_world_now_ms(c->world) + prng_range(&c->crashes.prng, 100, 8000);
            }
        }
        check_start(c);
    }
}

/* ---- the list before and after ---- */

static void stored_free(struct cluster_crashes *k)
{
    model_topic_deinit(&k->before);
    for (int32_t p = 0; p < CLUSTER_PARTITIONS_MAX; p++) {
        assignment_deinit(&k->listed[p]);
    }
}

void cluster_crashes_free(struct cluster *c)
{
    stored_free(&c->crashes);
}

/* Of a call of the check. True: another crash came meanwhile, and the check starts anew. */
static bool is_outdated(struct cluster *c)
{
    struct cluster_crashes *k = &c->crashes;
    k->is_busy = false;
    if (k->is_again) {
        k->is_again = false;
        check_start(c);
        return true;
    }
    return false;
}

static void compare(struct cluster *c, int32_t p, const struct assignment *now)
{
    const struct assignment *before = &c->crashes.before.partitions[p];
    const struct assignment *listed = &c->crashes.listed[p];
    struct ids target = {0};
    assignment_target(before, &target);
    if (listed->replicas.count > 0) {
        if (!ids_equal(&listed->replicas, &before->replicas) ||
            !ids_equal(&listed->adding, &before->adding) ||
            !ids_equal(&listed->removing, &before->removing)) {
            cluster_fail(c, "partition %d: the next controller lists another move", p);
        }
    } else if (assignment_is_reassigning(now) || !ids_equal(&now->replicas, &target)) {
        cluster_fail(c, "partition %d: the next controller forgot a move", p);
    }
    if (assignment_is_reassigning(now) && !ids_equal(&now->original, &before->original)) {
        cluster_fail(c, "partition %d: the next controller forgot the original list", p);
    }
    ids_deinit(&target);
}

/* What the operator asked for without an answer may still come about. */
static bool is_certain(const struct cluster *c, int32_t p)
{
    return p != c->crashes.excluded &&
           sim_world_now_ms(c->world) > c->op.moves[p].unknown_ms + CLUSTER_LATE_MS;
}

static void now_read(void *arg, const struct metastore_result *result)
{
    struct cluster *c = arg;
    struct cluster_crashes *k = &c->crashes;
    struct model_topic now = {0};
    struct errmsg em = {""};
    if (is_outdated(c) || result->err != 0) {
        return;
    }
    if (metastore_topic_decode(result->data, slice_str(CLUSTER_TOPIC), &now, &em) != 0) {
        cluster_fail(c, "topic znode: %s", em.text);
    }
    for (int32_t p = 0; p < k->before.partition_count && p < now.partition_count; p++) {
        if (is_certain(c, p)) {
            compare(c, p, &now.partitions[p]);
        }
    }
    model_topic_deinit(&now);
    stored_free(k);
    k->check = CLUSTER_CHECK_NONE;
}

static void topic_get(struct cluster *c, metastore_done_fn done)
{
    struct metastore_path path;
    c->crashes.is_busy = true;
    metastore_get(c->session, metastore_path_topic(&path, slice_str(CLUSTER_TOPIC)), NULL, NULL,
                  done, c);
}

/* A controller that has lost its role and does not know it answers from an old memory. */
static void controller_read(void *arg, const struct metastore_result *result)
{
    struct cluster *c = arg;
    struct metastore_controller node = {0};
    struct errmsg em = {""};
    if (!is_outdated(c) && result->err == 0 &&
        metastore_controller_decode(result->data, &node, &em) == 0 &&
        node.broker_id == c->crashes.asked) {
        topic_get(c, now_read);
    }
}

static void listed_take(struct cluster_crashes *k,
                        const struct wire_list_partition_reassignments_response *response)
{
    for (int32_t p = 0; p < CLUSTER_PARTITIONS_MAX; p++) {
        assignment_deinit(&k->listed[p]);
        k->listed[p] = (struct assignment){0};
    }
    for (int32_t i = 0; i < response->topics_count; i++) {
        for (int32_t n = 0; n < response->topics[i].partitions_count; n++) {
            const struct wire_list_partition_reassignments_response_topics_partitions *from =
                &response->topics[i].partitions[n];
            struct assignment *to = &k->listed[from->partition_index];
            ids_set(&to->replicas, from->replicas, from->replicas_count);
            ids_set(&to->adding, from->adding_replicas, from->adding_replicas_count);
            ids_set(&to->removing, from->removing_replicas, from->removing_replicas_count);
        }
    }
}

static void list_done(void *arg, int err, struct reader *body)
{
    struct cluster *c = arg;
    struct arena arena;
    struct wire_list_partition_reassignments_response response;
    arena_init(&arena, 1 << 20);
    bool is_list = err == 0 &&
                   wire_list_partition_reassignments_response_decode(&response, body, LIST_VERSION,
                                                                     &arena) == 0 &&
                   response.error_code == KERR_NONE;
    if (!is_outdated(c) && is_list) {
        listed_take(&c->crashes, &response);
        c->crashes.is_busy = true;
        metastore_get(c->session, slice_str(METASTORE_CONTROLLER), NULL, NULL, controller_read, c);
    } else {
        client_refresh(c->client);
    }
    arena_deinit(&arena);
}

static void before_read(void *arg, const struct metastore_result *result)
{
    struct cluster *c = arg;
    struct cluster_crashes *k = &c->crashes;
    struct errmsg em = {""};
    if (is_outdated(c)) {
        return;
    }
    if (result->err != 0 ||
        metastore_topic_decode(result->data, slice_str(CLUSTER_TOPIC), &k->before, &em) != 0) {
        cluster_fail(c, "topic znode after a crash: %s", em.text);
        return;
    }
    k->check = CLUSTER_CHECK_LIST;
}

/* Nobody is controller now, or somebody else: what is stored is the list that must stay. */
static void check_start(struct cluster *c)
{
    struct cluster_crashes *k = &c->crashes;
    if (k->is_busy) {
        k->is_again = true;
        return;
    }
    stored_free(k);
    k->check = CLUSTER_CHECK_READ;
    k->excluded = c->op.is_busy ? c->op.partition : -1;
    topic_get(c, before_read);
}

void cluster_crashes_check(struct cluster *c)
{
    struct cluster_crashes *k = &c->crashes;
    if (k->check != CLUSTER_CHECK_LIST || k->is_busy) {
        return;
    }
    k->asked = client_controller(c->client);
    if (k->asked < 1 || k->asked > c->broker_count) {
        client_refresh(c->client);
        return;
    }
    struct wire_list_partition_reassignments_request request;
    wire_list_partition_reassignments_request_init(&request);
    request.topics = NULL;
    request.topics_count = -1;
    struct client_call call = {.broker = k->asked,
                               .key = WIRE_KEY_LIST_PARTITION_REASSIGNMENTS,
                               .version = LIST_VERSION,
                               .timeout_ms = LIST_TIMEOUT_MS,
                               .request = &request};
    k->is_busy = true;
    client_send(c->client, &call, list_done, c);
}

bool cluster_crash_is_checked(const struct cluster *c)
{
    return c->crashes.check != CLUSTER_CHECK_NONE;
}
