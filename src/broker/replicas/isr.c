/*
 * Carrying ISR proposals to the controller (AlterPartition), or below inter.broker.protocol.version
 * 2.7-IV2 to the store; and the task that looks for members that fell behind. The rules are in
 * replica/isr.h.
 * Invariant: a partition is in isr_queue or isr_sent exactly while its core has a proposal that is not
 * settled; at most one request is under way.
 * Runs on the broker's env.
 */
#include "replica/isr.h"
#include "base/alloc.h"
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "model/cluster.h"
#include "model/kerr.h"
#include "wire/alter_partition.h"
#include "wire/header.h"

#include <stdlib.h>

#define NUDGE_MS       200 /* after news that may let replicas join */
#define ISR_RETRY_MS   50
#define ISR_BATCH_MAX  1000 /* partitions in one request */
#define ISR_TIMEOUT_MS 30000
#define ISR_ANSWER_MAX (16 << 20)
#define ISR_CONNECT_MS 10000

/* ---- looking for members that fell behind ---- */

/*
 * A replica joins when it fetches, but a fetch session does not name what has not changed: a partition
 * that could grow its set now is brought to the attention of its followers' sessions.
 */
static void nudge(void *arg)
{
    struct replicas *r = arg;
    struct list_node *node;
    list_foreach (node, &r->all) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        if (p->core.role == REPLICA_LEADER && p->core.pending == REPLICA_PENDING_NONE &&
            p->core.state.isr.count < p->core.state.replicas.count) {
            replicas_partition_notify(p, REPLICAS_HIGH_WATERMARK);
        }
    }
}

static void shrink_due(void *arg)
{
    struct replicas *r = arg;
    struct list_node *node;
    list_foreach (node, &r->all) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, link);
        if (p->core.role != REPLICA_LEADER) {
            continue;
        }
        struct replica_context ctx = replicas_partition_context(p);
        if (replica_isr_shrink(&p->core, &ctx)) {
            replicas_isr_queue(p);
        } else {
            /* Somebody who was waited for may have fallen out of step. */
            replicas_partition_advance(p);
        }
    }
    nudge(r);
    env_timer_start(&r->shrink_timer, MAX(r->config.lag_time_max_ms / 2, 1));
}

static void nudge_soon(struct replicas *r)
{
    if (!env_timer_is_active(&r->nudge_timer)) {
        env_timer_start(&r->nudge_timer, NUDGE_MS);
    }
}

static void retry_due(void *arg)
{
    replicas_isr_send(arg);
}

void replicas_isr_init(struct replicas *r)
{
    list_init(&r->isr_queue);
    list_init(&r->isr_sent);
    env_timer_init(&r->shrink_timer, r->env, shrink_due, r);
    env_timer_init(&r->isr_timer, r->env, retry_due, r);
    env_timer_init(&r->nudge_timer, r->env, nudge, r);
    env_timer_start(&r->shrink_timer, MAX(r->config.lag_time_max_ms / 2, 1));
}

void replicas_isr_free(struct replicas *r)
{
    env_timer_stop(&r->shrink_timer);
    env_timer_stop(&r->isr_timer);
    env_timer_stop(&r->nudge_timer);
    net_peer_free(r->controller);
    r->controller = NULL;
    free(r->controller_host);
    r->controller_host = NULL;
    r->is_isr_busy = false;
}

/* The request under way came to nothing: all of it again, a little later. */
static void retry_all(struct replicas *r)
{
    struct list_node *node;
    while ((node = list_pop(&r->isr_sent)) != NULL) {
        struct replicas_partition *p = CONTAINER_OF(node, struct replicas_partition, isr_link);
        p->isr_leader_epoch = -1;
        list_push_back(&r->isr_queue, &p->isr_link);
    }
    if (!list_is_empty(&r->isr_queue) && !r->is_stopping) {
        env_timer_start(&r->isr_timer, ISR_RETRY_MS);
    }
}

/* The request under way went to somebody who may never answer: it is asked again elsewhere. */
void replicas_isr_metadata_changed(struct replicas *r)
{
    const char *host;
    uint16_t port;
    int32_t id = r->hooks.controller(r->hooks.arg);
    nudge_soon(r); /* a broker may be alive that was not */
    if (r->controller == NULL || id < 0 || !r->hooks.endpoint(r->hooks.arg, id, &host, &port) ||
        (r->controller_port == port && strcmp(r->controller_host, host) == 0)) {
        return;
    }
    net_peer_free(r->controller);
    r->controller = NULL;
    r->is_isr_busy = false;
    retry_all(r);
}

/* ---- the queue ---- */

void replicas_isr_queue(struct replicas_partition *p)
{
    CHECK(!list_has(&p->isr_link));
    list_push_back(&p->replicas->isr_queue, &p->isr_link);
    replicas_drain_soon(p->replicas);
}

void replicas_isr_drop(struct replicas_partition *p)
{
    /* Being in one of the two lists or in none, the count tells which one to correct. */
    struct list *list = p->isr_leader_epoch >= 0 ? &p->replicas->isr_sent : &p->replicas->isr_queue;
    list_remove(list, &p->isr_link);
    p->isr_leader_epoch = -1;
}

/* ---- answer ---- */

static void count_result(struct replicas *r, enum replica_pending kind, bool is_committed)
{
    if (!is_committed) {
        r->totals.isr_update_failures++;
        nudge_soon(r);
    } else if (kind == REPLICA_PENDING_EXPAND) {
        r->totals.isr_expands++;
    } else {
        r->totals.isr_shrinks++;
    }
}

/* False: it is to be sent again, and stays in isr_sent until it is queued. */
static bool proposal_answered(struct replicas_partition *p, const struct replica_isr_answer *answer)
{
    struct replicas *r = p->replicas;
    enum replica_pending kind = p->core.pending;
    bool is_committed;
    if (replica_isr_answered(&p->core, answer, &is_committed) == REPLICA_ISR_RETRY) {
        return false;
    }
    replicas_isr_drop(p);
    count_result(r, kind, is_committed);
    if (is_committed) {
        replicas_partition_notify(p, REPLICAS_ROLE);
        replicas_partition_advance(p);
    }
    return true;
}

static void partition_answered(struct replicas_partition *p,
                               const struct wire_alter_partition_response_topics_partitions *a)
{
    struct replica_isr_answer answer = {
        .sent_leader_epoch = p->isr_leader_epoch,
        .sent_partition_epoch = p->isr_partition_epoch,
        .error = a->error_code,
        .leader_epoch = a->leader_epoch,
        .partition_epoch = a->partition_epoch,
        .isr = {.count = MAX(a->isr_count, 0), .list = a->isr},
    };
    (void)proposal_answered(p,
                            &answer); /* what is left in isr_sent is queued again by the caller */
}

static void response_answered(struct replicas *r, const struct wire_alter_partition_response *resp)
{
    for (int32_t t = 0; t < resp->topics_count; t++) {
        const struct wire_alter_partition_response_topics *topic = &resp->topics[t];
        struct replicas_topic *local = r->isr_version >= 2
                                           ? replicas_topic_by_id(r, topic->topic_id)
                                           : replicas_topic_find(r, topic->topic_name);
        for (int32_t i = 0; local != NULL && i < topic->partitions_count; i++) {
            struct replicas_partition *p =
                replicas_partition_at(r, local, topic->partitions[i].partition_index);
            if (p != NULL && p->isr_leader_epoch >= 0) {
                partition_answered(p, &topic->partitions[i]);
            }
        }
    }
}

static int decode_answer(struct replicas *r, struct slice payload,
                         struct wire_alter_partition_response *ret_resp)
{
    struct reader reader;
    reader_init(&reader, payload);
    struct wire_response_header header;
    int err = wire_response_header_read(&header, &reader, WIRE_KEY_ALTER_PARTITION, r->isr_version);
    if (err != 0) {
        return err;
    }
    return wire_alter_partition_response_decode(ret_resp, &reader, r->isr_version, &r->arena);
}

static void isr_send_done(void *arg, int err, struct block *frame, struct slice payload)
{
    (void)frame; /* everything is used before this returns */
    struct replicas *r = arg;
    r->is_isr_busy = false;
    arena_reset(&r->arena);
    struct wire_alter_partition_response resp;
    if (err == 0) {
        err = decode_answer(r, payload, &resp);
    }
    if (err == 0 && resp.error_code == KERR_NONE) {
        response_answered(r, &resp);
    }
    bool is_retried = !list_is_empty(&r->isr_sent);
    retry_all(r);
    if (!is_retried) {
        replicas_isr_send(r);
    }
}

/* ---- request ---- */

/* The connection to the present controller; NULL while none is known. */
static struct net_peer *controller_peer(struct replicas *r)
{
    const char *host;
    uint16_t port;
    int32_t id = r->hooks.controller(r->hooks.arg);
    if (id < 0 || !r->hooks.endpoint(r->hooks.arg, id, &host, &port)) {
        return NULL;
    }
    if (r->controller != NULL && r->controller_port == port &&
        strcmp(r->controller_host, host) == 0) {
        return r->controller;
    }
    net_peer_free(r->controller);
    free(r->controller_host);
    r->controller_host = xstrdup(host);
    r->controller_port = port;
    struct net_peer_config config = {
        .host = host,
        .port = port,
        .response_bytes_max = ISR_ANSWER_MAX,
        .backoff_ms = ISR_RETRY_MS,
        .connect_timeout_ms = ISR_CONNECT_MS,
    };
    r->controller = net_peer_new(r->env, &config);
    return r->controller;
}

static bool fill_partition(struct replicas *r, const struct replicas_partition *p,
                           struct wire_alter_partition_request_topics *topic)
{
    struct wire_alter_partition_request_topics_partitions *out =
        arena_alloc(&r->arena, sizeof *out);
    const struct ids *isr = &p->core.pending_isr;
    struct wire_alter_partition_request_topics_partitions_new_isr_with_epochs *members =
        arena_array(&r->arena, (size_t)isr->count + 1, sizeof *members);
    if (out == NULL || members == NULL) {
        return false;
    }
    wire_alter_partition_request_topics_partitions_init(out);
    for (int32_t i = 0; i < isr->count; i++) {
        members[i].broker_id = isr->list[i];
        members[i].broker_epoch = -1; /* what a leader of the ZooKeeper mode sends */
    }
    out->partition_index = replicas_partition_index(p);
    out->leader_epoch = p->core.state.leader_epoch;
    out->partition_epoch = p->core.state.partition_epoch;
    out->new_isr = isr->list;
    out->new_isr_count = isr->count;
    out->new_isr_with_epochs = members;
    out->new_isr_with_epochs_count = isr->count;
    topic->topic_name = slice_str(replicas_partition_topic(p));
    topic->topic_id = p->topic_id;
    topic->partitions = out;
    topic->partitions_count = 1;
    return true;
}

/* Moves queued proposals into the request, as many as it may hold. */
static void fill_request(struct replicas *r, struct wire_alter_partition_request *req)
{
    size_t count = MIN(r->isr_queue.count, (size_t)ISR_BATCH_MAX);
    req->topics = arena_array(&r->arena, count, sizeof *req->topics);
    req->topics_count = 0;
    r->isr_version = ibp_version(r->config.level, IBP_CALL_ALTER_PARTITION);
    while (req->topics != NULL && count-- > 0) {
        struct replicas_partition *p =
            CONTAINER_OF(list_first(&r->isr_queue), struct replicas_partition, isr_link);
        if (!fill_partition(r, p, &req->topics[req->topics_count])) {
            return;
        }
        req->topics_count++;
        list_remove(&r->isr_queue, &p->isr_link);
        list_push_back(&r->isr_sent, &p->isr_link);
        p->isr_leader_epoch = p->core.state.leader_epoch;
        p->isr_partition_epoch = p->core.state.partition_epoch;
        /* An id that the metadata cache does not have means nothing to the present controller. */
        if (uuid_is_zero(p->topic_id) || !r->hooks.has_topic_id(r->hooks.arg, p->topic_id)) {
            r->isr_version = MIN(r->isr_version, IBP_ALTER_PARTITION_NAMES_MAX);
        }
    }
}

/* ---- the store, below 2.7-IV2 ---- */

static bool uses_store(const struct replicas *r)
{
    return !ibp_has(r->config.level, IBP_ALTER_PARTITION);
}

static bool store_put(struct replicas_partition *p)
{
    struct replicas *r = p->replicas;
    const struct model_partition_state state = {
        .controller_epoch = p->controller_epoch,
        .leader = r->config.broker_id,
        .leader_epoch = p->core.state.leader_epoch,
        .isr = p->core.pending_isr,
        .version = p->core.state.partition_epoch,
    };
    return r->hooks.store_isr(r->hooks.arg, replicas_partition_topic(p),
                              replicas_partition_index(p), &state);
}

/* Each proposal is a write of its own; a bounded number is under way. */
static void store_send(struct replicas *r)
{
    while (!list_is_empty(&r->isr_queue) && r->isr_sent.count < ISR_BATCH_MAX) {
        struct replicas_partition *p =
            CONTAINER_OF(list_first(&r->isr_queue), struct replicas_partition, isr_link);
        if (!store_put(p)) {
            env_timer_start(&r->isr_timer, ISR_RETRY_MS);
            return;
        }
        list_remove(&r->isr_queue, &p->isr_link);
        list_push_back(&r->isr_sent, &p->isr_link);
        p->isr_leader_epoch = p->core.state.leader_epoch;
        p->isr_partition_epoch = p->core.state.partition_epoch;
    }
}

static int16_t store_code(int err)
{
    switch (err) {
    case 0:
        return KERR_NONE;
    case -E_BAD_VERSION:
        return KERR_INVALID_UPDATE_VERSION;
    case -E_NOT_FOUND:
        return KERR_UNKNOWN_TOPIC_OR_PARTITION;
    default:
        return KERR_REQUEST_TIMED_OUT;
    }
}

void replicas_isr_stored(struct replicas *r, const struct replicas_isr_outcome *outcome)
{
    struct replicas_partition *p = replicas_partition_find(r, outcome->topic, outcome->partition);
    if (p == NULL || p->isr_leader_epoch != outcome->leader_epoch ||
        p->isr_partition_epoch != outcome->partition_epoch) {
        return; /* the partition has moved on */
    }
    struct replica_isr_answer answer = {
        .sent_leader_epoch = p->isr_leader_epoch,
        .sent_partition_epoch = p->isr_partition_epoch,
        .error = store_code(outcome->err),
        .leader_epoch = outcome->leader_epoch,
        .partition_epoch = outcome->version,
        .isr = p->core.pending_isr,
    };
    if (!proposal_answered(p, &answer)) {
        replicas_isr_drop(p);
        list_push_back(&r->isr_queue, &p->isr_link);
        if (!r->is_stopping && !env_timer_is_active(&r->isr_timer)) {
            env_timer_start(&r->isr_timer, ISR_RETRY_MS);
        }
        return;
    }
    replicas_isr_send(r);
}

void replicas_isr_send(struct replicas *r)
{
    if (r->is_isr_busy || r->is_stopping || list_is_empty(&r->isr_queue) ||
        env_timer_is_active(&r->isr_timer)) {
        return;
    }
    if (uses_store(r)) {
        store_send(r);
        return;
    }
    int64_t broker_epoch = r->hooks.broker_epoch(r->hooks.arg);
    struct net_peer *peer = broker_epoch < 0 ? NULL : controller_peer(r);
    if (peer == NULL) {
        env_timer_start(&r->isr_timer, ISR_RETRY_MS);
        return;
    }
    arena_reset(&r->arena);
    struct wire_alter_partition_request req;
    wire_alter_partition_request_init(&req);
    req.broker_id = r->config.broker_id;
    req.broker_epoch = broker_epoch;
    fill_request(r, &req);
    struct wire_request_header header = {
        .api_key = WIRE_KEY_ALTER_PARTITION,
        .api_version = r->isr_version,
        .client_id = slice_str("klamm-broker"),
    };
    struct buf body;
    buf_init(&body);
    wire_request_header_write(&header, &body);
    wire_alter_partition_request_encode(&req, &body, r->isr_version);
    if (req.topics_count == 0 || buf_failed(&body)) {
        buf_deinit(&body);
        retry_all(r);
        return;
    }
    r->is_isr_busy = true;
    net_peer_call(peer, &body, ISR_TIMEOUT_MS, isr_send_done, r);
}
