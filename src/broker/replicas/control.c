/*
 * The controller's orders: LeaderAndIsr and StopReplica, in the order of checks and effects of
 * docs/spec/reassignment.md 10.1 and 10.2.
 * Invariant: a partition whose order is refused is not changed, and every named partition is answered.
 * Runs on the broker's env.
 */
#include "base/check.h"
#include "broker/replicas/internal.h"
#include "model/kerr.h"
#include "replica/accept.h"
#include "wire/leader_and_isr.h"
#include "wire/stop_replica.h"

/* ---- checks that requests share ---- */

int replicas_check_controller(struct replicas *r, int32_t controller_epoch, int64_t broker_epoch)
{
    int64_t own_epoch = r->hooks.broker_epoch(r->hooks.arg);
    /* Before it has registered again, all that comes is meant for an earlier life of this broker. */
    if (own_epoch < 0 || (broker_epoch >= 0 && broker_epoch < own_epoch)) {
        return -E_STALE;
    }
    if (controller_epoch < r->controller_epoch) {
        return -E_FENCED;
    }
    if (controller_epoch > r->controller_epoch && r->hooks.controller_changed != NULL) {
        r->hooks.controller_changed(r->hooks.arg);
    }
    r->controller_epoch = controller_epoch;
    return 0;
}

static int16_t top_code(int err)
{
    switch (err) {
    case 0:
        return KERR_NONE;
    case -E_STALE:
        return KERR_STALE_BROKER_EPOCH;
    default:
        return KERR_STALE_CONTROLLER_EPOCH;
    }
}

static int16_t leader_and_isr_code(int err)
{
    switch (err) {
    case 0:
        return KERR_NONE;
    case -E_STALE:
    case -E_FENCED:
        return KERR_STALE_CONTROLLER_EPOCH;
    case -E_ID_MISMATCH:
        return KERR_INCONSISTENT_TOPIC_ID;
    case -E_NOT_FOUND:
        return KERR_UNKNOWN_TOPIC_OR_PARTITION;
    case -E_INVALID:
        return KERR_INVALID_TOPIC_EXCEPTION;
    default:
        return KERR_KAFKA_STORAGE_ERROR;
    }
}

/* ---- LeaderAndIsr: one partition ---- */

/* One partition of the request, whatever its version. */
struct order {
    struct slice topic;
    struct uuid topic_id;
    int32_t partition;
    bool is_new;
    bool is_kraft_controller;
    int32_t controller_epoch;   /* of the decision */
    struct replica_state state; /* borrowed views */
};

static struct ids view(int32_t *list, int32_t count)
{
    return (struct ids){.count = MAX(count, 0), .list = list};
}

/* Makes the log of a replica that is new here. The rule of reassignment.md 7.7: it may be made in a
 * good directory unless it could be the one that lies in a bad one. */
static int create_partition(struct replicas *r, const struct order *o,
                            struct replicas_partition **ret_partition)
{
    int32_t dir = replicas_dir_choose(r);
    if (dir < 0 || (!o->is_new && replicas_has_offline_dir(r))) {
        return -E_OFFLINE;
    }
    if (HASH_COUNT(r->partitions) >= (unsigned)r->config.partitions_max) {
        return -E_TOO_LARGE;
    }
    struct replicas_topic *topic = replicas_topic_get(r, o->topic);
    struct plog_open_args args = {
        .files = r->files,
        .dir = r->dirs[dir].path,
        .topic = topic->name,
        .partition = o->partition,
        .topic_id = o->topic_id,
        .config = &topic->config.log,
        .is_clean = true,
    };
    struct plog *log = NULL;
    struct errmsg em;
    int err = plog_open(&args, &log, &em);
    *ret_partition = replicas_partition_new(r, topic, o->partition, dir, log);
    if (err != 0) {
        replicas_dir_fail(r, dir, err, em.text);
        return -E_OFFLINE;
    }
    if (!uuid_is_zero(o->topic_id)) {
        replicas_topic_set_id(r, topic, o->topic_id);
    }
    return 0;
}

static void store_topic_id(struct replicas_partition *p, struct uuid id)
{
    int err = plog_set_topic_id(p->log, id);
    if (err != 0) {
        struct errmsg em;
        (void)errmsg_set(&em, E_IO, "%s/partition.metadata: %s", plog_path(p->log),
                         error_name(err)); /* only the text is wanted */
        replicas_dir_fail(p->replicas, p->dir, err, em.text);
        return;
    }
    p->topic_id = id;
    replicas_topic_set_id(p->replicas, p->key.topic, id);
}

static void become_leader(struct replicas_partition *p, bool is_new_epoch)
{
    struct replicas *r = p->replicas;
    replicas_fetch_stop(p);
    if (is_new_epoch) {
        plog_epoch_start(p->log, p->core.state.leader_epoch);
    }
    replicas_partition_notify(p, REPLICAS_ROLE);
    replicas_partition_advance(p);
    if (r->hooks.role_changed != NULL) {
        r->hooks.role_changed(r->hooks.arg, replicas_partition_topic(p),
                              replicas_partition_index(p), true, p->core.state.leader_epoch);
    }
}

static void become_follower(struct replicas_partition *p, bool was_leader)
{
    struct replicas *r = p->replicas;
    replicas_parked_fail(p, -E_NOT_LEADER);
    replicas_partition_notify(p, REPLICAS_ROLE);
    replicas_fetch_start(p);
    if (was_leader && r->hooks.role_changed != NULL) {
        r->hooks.role_changed(r->hooks.arg, replicas_partition_topic(p),
                              replicas_partition_index(p), false, p->core.state.leader_epoch);
    }
}

static int apply_state(struct replicas_partition *p, const struct order *o)
{
    bool was_leader = p->core.role == REPLICA_LEADER;
    struct replica_context ctx = replicas_partition_context(p);
    bool is_new_epoch;
    if (!replica_core_apply(&p->core, &o->state, &ctx, &is_new_epoch)) {
        return 0;
    }
    p->controller_epoch = o->controller_epoch;
    replicas_isr_drop(p);
    if (p->core.role == REPLICA_LEADER) {
        become_leader(p, is_new_epoch);
    } else {
        become_follower(p, was_leader);
    }
    return 0;
}

static void note_named(struct replicas_partition *p)
{
    const struct replicas *r = p->replicas;
    p->told_by = r->controller_epoch;
    p->told_to = r->hooks.broker_epoch(r->hooks.arg);
}

static int apply_order(struct replicas *r, const struct order *o)
{
    if (!replicas_topic_name_is_valid(o->topic) || o->partition < 0) {
        return -E_INVALID;
    }
    struct replicas_partition *p = replicas_partition_find(r, o->topic, o->partition);
    struct replica_claim claim = {
        .is_hosted = p != NULL,
        .is_offline = p != NULL && (p->log == NULL || r->dirs[p->dir].is_offline),
        .local_id = p != NULL ? p->topic_id : UUID_ZERO,
        .request_id = o->topic_id,
        .local_epoch = p != NULL ? p->core.state.leader_epoch : -1,
        .request_epoch = o->state.leader_epoch,
        .is_member = ids_has(&o->state.replicas, r->config.broker_id),
        .is_kraft_controller = o->is_kraft_controller,
    };
    bool is_applied;
    bool is_id_stored;
    int err = replica_accept_leader_and_isr(&claim, &is_applied, &is_id_stored);
    if (p != NULL) {
        p->is_foreign = err == -E_ID_MISMATCH;
    }
    if (p != NULL && claim.is_member && (err == 0 || err == -E_STALE)) {
        note_named(p);
    }
    if (err != 0) {
        return err;
    }
    if (p == NULL) {
        err = create_partition(r, o, &p);
        if (err != 0) {
            return err;
        }
        note_named(p);
    }
    if (is_id_stored) {
        store_topic_id(p, o->topic_id);
    }
    return is_applied ? apply_state(p, o) : 0;
}

/* ---- LeaderAndIsr: the request ---- */

static int16_t order_code(struct replicas *r, const struct order *o, int top)
{
    return leader_and_isr_code(top != 0 ? top : apply_order(r, o));
}

static int16_t apply_flat(struct replicas *r,
                          const struct wire_leader_and_isr_request_ungrouped_partition_states *s,
                          int top)
{
    struct order o = {
        .topic = s->topic_name,
        .partition = s->partition_index,
        .is_new = s->is_new,
        .controller_epoch = s->controller_epoch,
        .state = {.leader = s->leader,
                  .leader_epoch = s->leader_epoch,
                  .partition_epoch = s->partition_epoch,
                  .isr = view(s->isr, s->isr_count),
                  .replicas = view(s->replicas, s->replicas_count)},
    };
    return order_code(r, &o, top);
}

static int16_t
apply_nested(struct replicas *r, const struct wire_leader_and_isr_request *req,
             const struct wire_leader_and_isr_request_topic_states *t,
             const struct wire_leader_and_isr_request_topic_states_partition_states *s, int top)
{
    struct order o = {
        .topic = t->topic_name,
        .topic_id = t->topic_id,
        .partition = s->partition_index,
        .is_new = s->is_new,
        .is_kraft_controller = req->is_k_raft_controller,
        .controller_epoch = s->controller_epoch,
        .state = {.leader = s->leader,
                  .leader_epoch = s->leader_epoch,
                  .partition_epoch = s->partition_epoch,
                  .isr = view(s->isr, s->isr_count),
                  .replicas = view(s->replicas, s->replicas_count),
                  .adding = view(s->adding_replicas, s->adding_replicas_count),
                  .removing = view(s->removing_replicas, s->removing_replicas_count)},
    };
    return order_code(r, &o, top);
}

static int32_t nested_count(const struct wire_leader_and_isr_request *req)
{
    int32_t count = 0;
    for (int32_t t = 0; t < req->topic_states_count; t++) {
        count += MAX(req->topic_states[t].partition_states_count, 0);
    }
    return count;
}

/* Versions 0 to 4: one flat list of results with topic names. */
static int answer_by_name(struct replicas *r, const struct wire_leader_and_isr_request *req,
                          int top, struct arena *arena, struct wire_leader_and_isr_response *resp)
{
    int32_t count = MAX(req->ungrouped_partition_states_count, 0) + nested_count(req);
    struct wire_leader_and_isr_response_partition_errors *out =
        arena_array(arena, (size_t)count + 1, sizeof *out);
    struct wire_leader_and_isr_response_partition_errors spare;
    int32_t n = 0;
    for (int32_t i = 0; i < req->ungrouped_partition_states_count; i++, n++) {
        const struct wire_leader_and_isr_request_ungrouped_partition_states *s =
            &req->ungrouped_partition_states[i];
        *(out == NULL ? &spare : &out[n]) = (struct wire_leader_and_isr_response_partition_errors){
            .topic_name = s->topic_name,
            .partition_index = s->partition_index,
            .error_code = apply_flat(r, s, top),
        };
    }
    for (int32_t t = 0; t < req->topic_states_count; t++) {
        const struct wire_leader_and_isr_request_topic_states *topic = &req->topic_states[t];
        for (int32_t i = 0; i < topic->partition_states_count; i++, n++) {
            const struct wire_leader_and_isr_request_topic_states_partition_states *s =
                &topic->partition_states[i];
            *(out == NULL ? &spare : &out[n]) =
                (struct wire_leader_and_isr_response_partition_errors){
                    .topic_name = topic->topic_name,
                    .partition_index = s->partition_index,
                    .error_code = apply_nested(r, req, topic, s, top),
                };
        }
    }
    resp->partition_errors = out;
    resp->partition_errors_count = out == NULL ? 0 : count;
    return out == NULL ? -E_TOO_LARGE : 0;
}

/* Versions from 5 on: results by topic id only. */
static int answer_by_id(struct replicas *r, const struct wire_leader_and_isr_request *req, int top,
                        struct arena *arena, struct wire_leader_and_isr_response *resp)
{
    int32_t count = MAX(req->topic_states_count, 0);
    struct wire_leader_and_isr_response_topics *topics =
        arena_array(arena, (size_t)count + 1, sizeof *topics);
    struct wire_leader_and_isr_response_topics_partition_errors *out =
        arena_array(arena, (size_t)nested_count(req) + 1, sizeof *out);
    struct wire_leader_and_isr_response_topics_partition_errors spare;
    bool has_room = topics != NULL && out != NULL;
    for (int32_t t = 0; t < count; t++) {
        const struct wire_leader_and_isr_request_topic_states *topic = &req->topic_states[t];
        if (has_room) {
            topics[t].topic_id = topic->topic_id;
            topics[t].partition_errors = out;
            topics[t].partition_errors_count = MAX(topic->partition_states_count, 0);
        }
        for (int32_t i = 0; i < topic->partition_states_count; i++) {
            const struct wire_leader_and_isr_request_topic_states_partition_states *s =
                &topic->partition_states[i];
            *(has_room ? out++ : &spare) =
                (struct wire_leader_and_isr_response_topics_partition_errors){
                    .partition_index = s->partition_index,
                    .error_code = apply_nested(r, req, topic, s, top),
                };
        }
    }
    resp->topics = topics;
    resp->topics_count = has_room ? count : 0;
    return has_room ? 0 : -E_TOO_LARGE;
}

int replicas_leader_and_isr(struct replicas *r, const struct wire_leader_and_isr_request *req,
                            int16_t version, struct arena *arena,
                            struct wire_leader_and_isr_response *resp)
{
    wire_leader_and_isr_response_init(resp);
    int top = replicas_check_controller(r, req->controller_epoch, req->broker_epoch);
    resp->error_code = top_code(top);
    if (top == -E_STALE) {
        return 0;
    }
    if (top == 0) {
        r->has_controller_spoken = true;
    }
    return version >= 5 ? answer_by_id(r, req, top, arena, resp)
                        : answer_by_name(r, req, top, arena, resp);
}

/* ---- StopReplica ---- */

/* The answer under construction. */
struct stops {
    struct replicas *r;
    struct wire_stop_replica_response_partition_errors *out; /* NULL: no room */
    int32_t count;
};

static int16_t stop_one(struct replicas *r, struct slice topic, int32_t index, int32_t epoch,
                        bool is_deleted)
{
    struct replicas_partition *p = replicas_partition_find(r, topic, index);
    if (p == NULL || p->is_foreign) {
        return KERR_NONE; /* nothing of what is meant is here */
    }
    bool is_offline = p->log == NULL || r->dirs[p->dir].is_offline;
    int err = replica_accept_stop(is_offline, p->core.state.leader_epoch, epoch);
    if (err != 0) {
        return err == -E_OFFLINE ? KERR_KAFKA_STORAGE_ERROR : KERR_FENCED_LEADER_EPOCH;
    }
    replicas_fetch_stop(p);
    if (p->core.role == REPLICA_LEADER && r->hooks.role_changed != NULL) {
        r->hooks.role_changed(r->hooks.arg, replicas_partition_topic(p), index, false,
                              p->core.state.leader_epoch);
    }
    if (is_deleted) {
        replicas_partition_drop(p, REPLICAS_FATE_DELETE);
        /* A new log of this name must not start with the old one's marks. */
        for (int kind = PLOG_CHECKPOINT_HIGH_WATERMARK; kind <= PLOG_CHECKPOINT_LOG_START; kind++) {
            replicas_checkpoint_write(r, (enum plog_checkpoint_kind)kind);
        }
        return KERR_NONE;
    }
    replicas_isr_drop(p);
    replica_core_stop(&p->core);
    replicas_parked_fail(p, -E_NOT_LEADER);
    replicas_partition_notify(p, REPLICAS_ROLE);
    return KERR_NONE;
}

static void stop_and_note(struct stops *s, struct slice topic, int32_t index, int32_t epoch,
                          bool is_deleted)
{
    int16_t code = stop_one(s->r, topic, index, epoch, is_deleted);
    if (s->out != NULL) {
        s->out[s->count] = (struct wire_stop_replica_response_partition_errors){
            .topic_name = topic, .partition_index = index, .error_code = code};
    }
    s->count++;
}

static int32_t stop_count(const struct wire_stop_replica_request *req)
{
    int32_t count = MAX(req->ungrouped_partitions_count, 0);
    for (int32_t t = 0; t < req->topics_count; t++) {
        count += MAX(req->topics[t].partition_indexes_count, 0);
    }
    for (int32_t t = 0; t < req->topic_states_count; t++) {
        count += MAX(req->topic_states[t].partition_states_count, 0);
    }
    return count;
}

int replicas_stop_replica(struct replicas *r, const struct wire_stop_replica_request *req,
                          int16_t version, struct arena *arena,
                          struct wire_stop_replica_response *resp)
{
    (void)version; /* the arrays of other versions are empty */
    wire_stop_replica_response_init(resp);
    int top = replicas_check_controller(r, req->controller_epoch, req->broker_epoch);
    resp->error_code = top_code(top);
    if (top != 0) {
        return 0;
    }
    struct stops s = {.r = r};
    s.out = arena_array(arena, (size_t)stop_count(req) + 1, sizeof *s.out);
    for (int32_t i = 0; i < req->ungrouped_partitions_count; i++) {
        const struct wire_stop_replica_request_ungrouped_partitions *u =
            &req->ungrouped_partitions[i];
        stop_and_note(&s, u->topic_name, u->partition_index, -1, req->delete_partitions);
    }
    for (int32_t t = 0; t < req->topics_count; t++) {
        const struct wire_stop_replica_request_topics *topic = &req->topics[t];
        for (int32_t i = 0; i < topic->partition_indexes_count; i++) {
            stop_and_note(&s, topic->name, topic->partition_indexes[i], -1, req->delete_partitions);
        }
    }
    for (int32_t t = 0; t < req->topic_states_count; t++) {
        const struct wire_stop_replica_request_topic_states *topic = &req->topic_states[t];
        for (int32_t i = 0; i < topic->partition_states_count; i++) {
            const struct wire_stop_replica_request_topic_states_partition_states *p =
                &topic->partition_states[i];
            stop_and_note(&s, topic->topic_name, p->partition_index, p->leader_epoch,
                          p->delete_partition);
        }
    }
    resp->partition_errors = s.out;
    resp->partition_errors_count = s.out == NULL ? 0 : s.count;
    return s.out == NULL ? -E_TOO_LARGE : 0;
}
