/*
 * See stored.h. Runs inside the store, on its node: nothing is asked here, only looked at.
 */
#include "sim/cluster/stored.h"

#include "base/alloc.h"
#include "metastore/path.h"
#include "metastore/znode.h"
#include "metastore/znode_job.h"
#include "moves/core.h"
#include "sim/cluster/cluster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define STATE_PREFIX METASTORE_TOPICS "/" CLUSTER_TOPIC "/partitions/"

static_assert(STORED_PARTITIONS_MAX == CLUSTER_PARTITIONS_MAX, "one bound of partitions");
static_assert(STORED_BROKERS_MAX == CLUSTER_BROKERS_MAX, "one bound of brokers");

/* ---- lists ---- */

bool stored_lists_have(const struct stored_lists *l, const struct ids *ids)
{
    for (int32_t i = 0; i < l->count; i++) {
        if (ids_equal(&l->list[i], ids)) {
            return true;
        }
    }
    return false;
}

void stored_lists_add(struct stored_lists *l, const struct ids *ids)
{
    if (stored_lists_have(l, ids)) {
        return;
    }
    if (l->count == l->cap) {
        l->cap = l->cap == 0 ? 8 : l->cap * 2;
        l->list = xrealloc(l->list, (size_t)l->cap * sizeof *l->list);
    }
    l->list[l->count] = (struct ids){0};
    ids_copy(&l->list[l->count++], ids);
}

static void lists_free(struct stored_lists *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        ids_deinit(&l->list[i]);
    }
    free(l->list);
}

/* ---- the topic ---- */

static void ids_put(char *text, size_t size, const struct ids *ids)
{
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < ids->count && used + 12 < size; i++) {
        used += (size_t)snprintf(text + used, size - used, i == 0 ? "%d" : ",%d", ids->list[i]);
    }
}

static void move_fail(struct cluster *c, int32_t partition, const char *what,
                      const struct ids *found, const struct ids *wanted)
{
    char a[64];
    char b[64];
    ids_put(a, sizeof a, found);
    ids_put(b, sizeof b, wanted);
    cluster_fail(c, "partition %d: %s: [%s], before [%s]", partition, what, a, b);
}

static void check_moving(struct cluster *c, int32_t partition, const struct ids *before,
                         const struct assignment *is)
{
    struct ids target = {0};
    assignment_target(is, &target);
    if (!ids_equal(&is->original, before)) {
        move_fail(c, partition, "a move forgets the list from before it", &is->original, before);
    }
    if (c->stored.knows_direct && is->adding.count > 1 &&
        !stored_lists_have(&c->stored.direct[partition], &target)) {
        move_fail(c, partition, "replicas that come one at a time come together", &target, before);
    }
    ids_deinit(&target);
}

static void check_resting(struct cluster *c, int32_t partition, const struct assignment *was,
                          const struct ids *before, const struct assignment *is)
{
    struct ids target = {0};
    assignment_target(was, &target);
    bool is_asked = ids_same_set(&is->replicas, before) &&
                    stored_lists_have(&c->stored.asked[partition], &is->replicas);
    if (!ids_equal(&is->replicas, &target) && !is_asked) {
        move_fail(c, partition, "it rests at a list nobody asked for", &is->replicas, before);
    }
    if (is->original.count > 0) {
        move_fail(c, partition, "an original list is left behind", &is->original, before);
    }
    ids_deinit(&target);
}

static void partition_changed(struct cluster *c, int32_t partition, const struct assignment *is)
{
    struct assignment *was = &c->stored.now[partition];
    if (assignment_equal(was, is) && ids_equal(&was->original, &is->original)) {
        return;
    }
    bool is_moving = assignment_is_reassigning(is);
    const struct ids *before = assignment_is_reassigning(was) ? &was->original : &was->replicas;
    if (was->replicas.count > 0 && is_moving) {
        check_moving(c, partition, before, is);
    } else if (was->replicas.count > 0) {
        check_resting(c, partition, was, before, is);
    }
    if (!is_moving) {
        stored_lists_add(&c->stored.asked[partition], &is->replicas);
    }
    cluster_caps_moved(c, partition, was, is);
    assignment_copy(was, is);
}

static void topic_changed(struct cluster *c, struct slice data)
{
    struct model_topic topic = {0};
    struct errmsg em = {""};
    if (metastore_topic_decode(data, slice_str(CLUSTER_TOPIC), &topic, &em) != 0) {
        cluster_fail(c, "topic znode: %s", em.text);
    }
    for (int32_t p = 0; p < topic.partition_count && p < STORED_PARTITIONS_MAX; p++) {
        partition_changed(c, p, &topic.partitions[p]);
    }
    cluster_caps_check(c);
    model_topic_deinit(&topic);
}

static void state_changed(struct cluster *c, int32_t partition, struct slice data)
{
    struct model_partition_state state = {0};
    struct errmsg em = {""};
    if (partition < 0 || partition >= STORED_PARTITIONS_MAX ||
        metastore_partition_state_decode(data, &state, &em) != 0) {
        return; /* checks.c reads it too, and tells */
    }
    if (c->stored.leaders[partition] != state.leader) {
        c->stored.leaders[partition] = state.leader;
        c->stored.led_since_ms[partition] = sim_world_now_ms(c->world);
    }
    model_partition_state_deinit(&state);
}

/* ---- jobs ---- */

struct stored_job *cluster_stored_job(struct cluster *c, struct slice id)
{
    for (int32_t i = 0; i < c->stored.job_count; i++) {
        if (slice_equal_str(id, c->stored.jobs[i].id)) {
            return &c->stored.jobs[i];
        }
    }
    return NULL;
}

static struct stored_job *job_get(struct cluster *c, struct slice id)
{
    struct cluster_stored *s = &c->stored;
    struct stored_job *job = cluster_stored_job(c, id);
    if (job == NULL) {
        if (s->job_count == s->job_cap) {
            s->job_cap = s->job_cap == 0 ? 16 : s->job_cap * 2;
            s->jobs = xrealloc(s->jobs, (size_t)s->job_cap * sizeof *s->jobs);
        }
        job = &s->jobs[s->job_count++];
        *job = (struct stored_job){.rate = -1};
        (void)snprintf(job->id, sizeof job->id, "%.*s",
                       SLICE_ARG(id)); /* as long as an id may be */
    }
    return job;
}

static void job_deinit(struct stored_job *job)
{
    for (int32_t p = 0; p < STORED_PARTITIONS_MAX; p++) {
        ids_deinit(&job->moves[p].target);
        ids_deinit(&job->moves[p].original);
    }
}

static void job_removed(struct cluster *c, struct slice id)
{
    struct cluster_stored *s = &c->stored;
    struct stored_job *job = cluster_stored_job(c, id);
    if (job == NULL) {
        return;
    }
    if (job->has_node && job->fate != MODEL_JOB_WRITING && s->job_count <= QUEUE_HISTORY_JOBS) {
        cluster_fail(c, "job %s is forgotten", job->id);
    }
    job_deinit(job);
    *job = s->jobs[--s->job_count];
}

/* A job is over when all of its moves are. */
static void check_over(struct cluster *c, const struct stored_job *job,
                       const struct model_job *node)
{
    if (stored_job_is_over(job) && node->fate < job->fate) {
        cluster_fail(c, "job %s was over and is open again", job->id);
    }
    bool is_over = node->fate == MODEL_JOB_OVER || node->fate == MODEL_JOB_STOPPED;
    for (int32_t p = 0; is_over && p < STORED_PARTITIONS_MAX; p++) {
        const struct stored_move *move = &job->moves[p];
        if (move->is_there && (move->marks & (MODEL_JOB_DONE | MODEL_JOB_CANCELLED)) == 0) {
            cluster_fail(c, "job %s is over, and its move of partition %d is not", job->id, p);
        }
    }
}

static void job_changed(struct cluster *c, struct slice id, struct slice data)
{
    struct model_job node = {.id = id};
    struct arena arena;
    struct errmsg em = {""};
    arena_init(&arena, 1 << 20);
    if (metastore_job_decode(data, &node, &arena, &em) != 0) {
        cluster_fail(c, "job %.*s: %s", SLICE_ARG(id), em.text);
    } else {
        struct stored_job *job = job_get(c, id);
        check_over(c, job, &node);
        job->has_node = true;
        job->serial = node.serial;
        job->fate = node.fate;
        job->rate = node.rate;
        job->is_one_at_a_time = node.is_one_at_a_time;
    }
    arena_deinit(&arena);
}

static void move_changed(struct cluster *c, struct stored_job *job,
                         const struct model_job_move *from)
{
    const int32_t over = MODEL_JOB_DONE | MODEL_JOB_CANCELLED;
    if (!slice_equal_str(from->topic, CLUSTER_TOPIC) || from->partition < 0 ||
        from->partition >= STORED_PARTITIONS_MAX) {
        return;
    }
    struct stored_move *move = &job->moves[from->partition];
    if ((move->marks & over) != 0 && (move->marks & over) != (from->marks & over)) {
        cluster_fail(c, "job %s: partition %d was over, and is otherwise now", job->id,
                     from->partition);
    }
    if (move->is_there && !ids_equal(&move->target, &from->target)) {
        cluster_fail(c, "job %s: partition %d has another target now", job->id, from->partition);
    }
    if (!move->is_there || move->marks != from->marks ||
        !ids_equal(&move->original, &from->original)) {
        char target[64];
        char original[64];
        ids_put(target, sizeof target, &from->target);
        ids_put(original, sizeof original, &from->original);
        sim_trace(c->world, "stored: job %s: partition %d from [%s] to [%s], marks %d", job->id,
                  from->partition, original, target, from->marks);
    }
    move->is_there = true;
    move->marks = from->marks;
    ids_copy(&move->target, &from->target);
    ids_copy(&move->original, &from->original);
    if ((from->marks & MODEL_JOB_PAUSED) != 0) {
        c->caps.is_loose[from->partition] = true; /* if it moves, it has given its slot back */
    }
}

static void piece_changed(struct cluster *c, struct slice id, struct slice data)
{
    struct model_job_piece piece = {0};
    struct arena arena;
    struct errmsg em = {""};
    arena_init(&arena, 1 << 20);
    if (metastore_job_piece_decode(data, &piece, &arena, &em) != 0) {
        cluster_fail(c, "a piece of job %.*s: %s", SLICE_ARG(id), em.text);
    }
    struct stored_job *job = job_get(c, id);
    for (int32_t i = 0; i < piece.count; i++) {
        move_changed(c, job, &piece.moves[i]);
    }
    arena_deinit(&arena);
}

/* Below METASTORE_JOBS: ID or ID/N. */
static void jobs_changed(struct cluster *c, struct slice name, const struct slice *data)
{
    const uint8_t *slash = memchr(name.ptr, '/', name.len);
    struct slice id = slash == NULL ? name : slice_of(name.ptr, (size_t)(slash - name.ptr));
    const struct stored_job *job = cluster_stored_job(c, id);
    bool is_orphan = slash != NULL && data == NULL && job != NULL && !job->has_node;
    if ((slash == NULL && data == NULL) || is_orphan) {
        job_removed(c, id);
    } else if (slash == NULL) {
        job_changed(c, id, *data);
    } else if (data != NULL) {
        piece_changed(c, id, *data);
    } else if (job != NULL && job->fate == MODEL_JOB_OPEN) {
        cluster_fail(c, "a piece of job %s, which is open, is removed", job->id);
    }
}

bool stored_job_is_over(const struct stored_job *job)
{
    return job->has_node && (job->fate == MODEL_JOB_OVER || job->fate == MODEL_JOB_STOPPED);
}

bool cluster_stored_is_at_rest(const struct cluster *c)
{
    for (int32_t i = 0; i < c->stored.job_count; i++) {
        if (!stored_job_is_over(&c->stored.jobs[i])) {
            return false;
        }
    }
    for (int32_t p = 0; p < c->partition_count; p++) {
        if (assignment_is_reassigning(&c->stored.now[p])) {
            return false;
        }
    }
    return true;
}

/* ---- life ---- */

static bool starts_with(struct slice *path, const char *prefix)
{
    size_t len = strlen(prefix);
    if (path->len <= len || memcmp(path->ptr, prefix, len) != 0) {
        return false;
    }
    *path = slice_of(path->ptr + len, path->len - len);
    return true;
}

static void changed(void *arg, struct slice path, const struct slice *data)
{
    struct cluster *c = arg;
    if (slice_equal_str(path, METASTORE_TOPICS "/" CLUSTER_TOPIC) && data != NULL) {
        topic_changed(c, *data);
    } else if (starts_with(&path, STATE_PREFIX)) {
        bool is_state = data != NULL && path.len == 7; /* "N/state" */
        if (is_state) {
            state_changed(c, path.ptr[0] - '0', *data);
        }
    } else if (starts_with(&path, METASTORE_JOBS "/")) {
        jobs_changed(c, path, data);
    } else if (starts_with(&path, METASTORE_MOVES "/")) {
        c->stored.starts_count = data != NULL; /* there is one topic of few partitions: one node */
    } else if (slice_equal_str(path, METASTORE_BROKER_CONFIGS "/<default>") && data != NULL) {
        cluster_caps_written(c);
    } else if (slice_equal_str(path, METASTORE_CONTROLLER_EPOCH)) {
        cluster_caps_controller(c);
    }
}

void cluster_stored_init(struct cluster *c)
{
    for (int32_t p = 0; p < STORED_PARTITIONS_MAX; p++) {
        c->stored.leaders[p] = -1;
    }
    metastore_store_on_change(c->store, changed, c);
}

void cluster_stored_free(struct cluster *c)
{
    struct cluster_stored *s = &c->stored;
    for (int32_t p = 0; p < STORED_PARTITIONS_MAX; p++) {
        assignment_deinit(&s->now[p]);
        lists_free(&s->asked[p]);
        lists_free(&s->direct[p]);
    }
    for (int32_t i = 0; i < s->job_count; i++) {
        job_deinit(&s->jobs[i]);
    }
    free(s->jobs);
}
