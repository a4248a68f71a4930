/*
 * One move in the cluster of cluster.h, t-0 from [leader,stays] to [stays,target], and what the list tells
 * of it. The controller is a broker without a part in it. Include it after cluster.h.
 */
#pragma once

#include "broker/controller/report.h"
#include "moves/progress.h"

typedef struct wire_list_partition_reassignments_response_topics_partitions_details details;

struct moving {
    struct cluster *k;
    int32_t leader;
    int32_t stays;
    int32_t target;
    bool is_stock;  /* looks ask for no report */
    bool is_listed; /* by the last look */
    int32_t unheard;
    const char *principal; /* of those that ask for moves; NULL = not told */
    const char *client_id;
    struct arena arena;
    details told;
};

static inline void moving_alter(struct moving *m, bool is_cancel)
{
    int32_t list[] = {m->stays, m->target};
    struct control_alter_entry entry = {.topic = slice_str("t"),
                                        .is_cancel = is_cancel,
                                        .replicas = list,
                                        .replica_count = is_cancel ? 0 : 2};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry,
                                                .count = 1,
                                                .submitted_by = slice_str(m->principal),
                                                .client_id = slice_str(m->client_id)}};
    int32_t id = cluster_wait_controller(m->k);
    assert_string_equal(cluster_request(m->k, id, &request), "0;");
    assert_int_equal(m->k->reply_error, 0);
}

static inline void moving_start(struct moving *m, int32_t brokers, uint64_t seed)
{
    *m = (struct moving){.k = cluster_new(brokers, seed)};
    arena_init(&m->arena, 1 << 20);
    int32_t id = cluster_wait_controller(m->k);
    cluster_run(m->k, 1000);
    m->leader = id % brokers + 1;
    m->stays = m->leader % brokers + 1;
    m->target = m->stays % brokers + 1;
    int32_t list[] = {m->leader, m->stays};
    assert_string_equal(cluster_create(m->k, id, "t", 1, (struct ids){.count = 2, .list = list}),
                        "0;");
    moving_alter(m, false);
}

static inline void moving_end(struct moving *m)
{
    arena_deinit(&m->arena);
    cluster_free(m->k);
}

static inline void moving_cancel(struct moving *m)
{
    moving_alter(m, true);
}

/* Somebody removes /controller: another term begins, and no broker dies. */
static inline void moving_change_controller(struct moving *m)
{
    (void)cluster_wait_controller(m->k);
    char *epoch = xstrdup(cluster_node(m->k, METASTORE_CONTROLLER_EPOCH));
    assert_int_equal(cluster_change(m->k, METASTORE_DELETE, METASTORE_CONTROLLER, ""), 0);
    cluster_run(m->k, 2000);
    (void)cluster_wait_controller(m->k);
    assert_string_not_equal(cluster_node(m->k, METASTORE_CONTROLLER_EPOCH), epoch);
    free(epoch);
}

/* The leader proposes this for the in-sync set. */
static inline void moving_propose(struct moving *m, const int32_t *isr, int32_t count)
{
    struct metastore_path path;
    struct model_partition_state stored = {0};
    struct errmsg em;
    (void)metastore_path_state(&path, slice_str("t"), 0);
    assert_int_equal(
        metastore_partition_state_decode(slice_str(cluster_node(m->k, path.text)), &stored, &em),
        0);
    struct control_isr_entry entry = {.topic = slice_str("t"),
                                      .leader_epoch = stored.leader_epoch,
                                      .partition_epoch = m->k->stat.version,
                                      .isr = isr,
                                      .isr_count = count};
    struct control_request request = {
        .kind = CONTROL_ALTER_PARTITION,
        .alter_partition = {.broker = m->leader,
                            .broker_epoch = m->k->brokers[m->leader].epoch,
                            .entries = &entry,
                            .count = 1}};
    assert_string_equal(cluster_request(m->k, cluster_wait_controller(m->k), &request), "0;");
    assert_int_equal(m->k->reply_error, 0);
    model_partition_state_deinit(&stored);
}

static inline void moving_join(struct moving *m)
{
    moving_propose(m, (int32_t[]){m->leader, m->stays, m->target}, 3);
}

static inline void moving_told(void *arg, const struct control_reply *reply)
{
    struct moving *m = arg;
    m->k->is_replied = true;
    CHECK(reply->error == 0);
    m->is_listed = reply->count > 0;
    CHECK((reply->report == NULL) == m->is_stock);
    if (reply->report != NULL && reply->count > 0) {
        m->told = reply->report->details[0];
    }
}

/* What is told of the move now, from memory that lives until the next look; NULL = nothing. */
static inline const details *moving_look(struct moving *m)
{
    int32_t id = cluster_wait_controller(m->k);
    arena_reset(&m->arena);
    struct control_request request = {
        .kind = CONTROL_LIST_REASSIGNMENTS,
        .list = {.wants_all = true, .memory = m->is_stock ? NULL : &m->arena}};
    m->k->is_replied = false;
    controller_request(m->k->brokers[id].controller, &request, moving_told, m);
    CHECK(sim_world_run(m->k->world, CLUSTER_PATIENCE_MS, cluster_flag, &m->k->is_replied));
    return m->is_listed && !m->is_stock ? &m->told : NULL;
}

/* Moves whose target nobody has heard of. */
static inline void moving_count_unheard(void *arg, const struct control_reply *reply)
{
    struct moving *m = arg;
    m->k->is_replied = true;
    for (int32_t i = 0; i < reply->count; i++) {
        m->unheard += reply->report->details[i].adding[0].state == MOVES_REPLICA_UNKNOWN;
    }
}
