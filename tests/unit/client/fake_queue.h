/*
 * The fake cluster's queue: what a klamm controller does with the tagged fields of requests 45 and 46,
 * in small. Included by fake_cluster.h alone, behind the model that it works on.
 */
#pragma once

static inline void fake_note_alter(struct fake_cluster *f,
                                   const struct wire_alter_partition_reassignments_request *m)
{
    f->last_alter = *m;
    f->last_alter.topics = NULL; /* gone with the request */
    snprintf(f->last_job, sizeof f->last_job, "%.*s", SLICE_ARG(m->job));
    fake_ids_set(&f->last_brokers, m->brokers, m->brokers_count);
}

static inline struct fake_job *fake_job_find(struct fake_cluster *f, const char *id)
{
    for (int32_t i = 0; i < FAKE_JOBS; i++) {
        if (strcmp(f->jobs[i].id, id) == 0) {
            return &f->jobs[i];
        }
    }
    return NULL;
}

static inline bool fake_is_open(const struct fake_partition *p)
{
    return fake_is_moving(p) || p->queued.count > 0;
}

/* Ends a move, or one that waits, at the list from before it. */
static inline void fake_cancel(struct fake_partition *p)
{
    if (fake_is_moving(p)) {
        struct fake_ids origin = p->origin;
        fake_finish(p);
        p->replicas = p->isr = origin;
        p->leader = origin.list[0];
    }
    p->queued.count = 0;
    p->job[0] = '\0';
    p->is_paused = false;
}

static inline int16_t
fake_queue_one(struct fake_request *q, struct fake_topic *topic,
               const struct wire_alter_partition_reassignments_request_topics_partitions *row,
               int8_t *ret_note)
{
    const struct wire_alter_partition_reassignments_request *m = q->body;
    bool is_known = topic != NULL && row->partition_index < FAKE_PARTITIONS;
    struct fake_partition *p = is_known ? &topic->partitions[row->partition_index] : NULL;
    if (q->cluster->alter_code != 0 || p == NULL) {
        return p == NULL ? KERR_UNKNOWN_TOPIC_OR_PARTITION : q->cluster->alter_code;
    }
    if (m->action == 1) {
        snprintf(p->job, sizeof p->job, "%.*s", SLICE_ARG(m->job));
        if (q->cluster->queues) {
            fake_ids_set(&p->queued, row->replicas, row->replicas_count);
            *ret_note = 1;
        } else {
            fake_start(p, row->replicas, row->replicas_count);
        }
        if (q->cluster->ends_elsewhere) {
            fake_cancel(p);
        }
        return 0;
    }
    if (!fake_is_open(p)) {
        return KERR_NO_REASSIGNMENT_IN_PROGRESS;
    }
    if (m->action == 2 || m->action == 3) {
        *ret_note = p->is_paused == (m->action == 2) ? 3 : 0;
        p->is_paused = m->action == 2;
    } else if (m->action == 4 || m->action == 6) {
        fake_cancel(p);
    }
    return 0;
}

static inline bool fake_is_selected(const struct fake_request *q, const struct fake_partition *p)
{
    const struct wire_alter_partition_reassignments_request *m = q->body;
    bool has_broker = m->brokers_count == 0;
    for (int32_t i = 0; i < m->brokers_count; i++) {
        has_broker = has_broker || fake_ids_has(&p->adding, m->brokers[i]) ||
                     fake_ids_has(&p->removing, m->brokers[i]) ||
                     fake_ids_has(&p->queued, m->brokers[i]);
    }
    return fake_is_open(p) && has_broker && (m->job.len == 0 || slice_equal_str(m->job, p->job));
}

/* Without topics: all that the job and the brokers select. */
static inline void fake_queue_selected(struct fake_request *q,
                                       struct wire_alter_partition_reassignments_response *r)
{
    r->responses = fake_array(q, FAKE_TOPICS, sizeof *r->responses);
    for (int32_t t = 0; t < FAKE_TOPICS; t++) {
        struct fake_topic *topic = &q->cluster->topics[t];
        struct wire_alter_partition_reassignments_response_responses *row =
            &r->responses[r->responses_count];
        row->name = slice_str(topic->name);
        row->partitions = fake_array(q, FAKE_PARTITIONS, sizeof *row->partitions);
        for (int32_t p = 0; topic->name[0] != '\0' && p < FAKE_PARTITIONS; p++) {
            struct wire_alter_partition_reassignments_request_topics_partitions asked = {
                .partition_index = p};
            if (fake_is_selected(q, &topic->partitions[p])) {
                row->partitions[row->partitions_count].error_code =
                    fake_queue_one(q, topic, &asked, &row->partitions[row->partitions_count].note);
                row->partitions[row->partitions_count++].partition_index = p;
            }
        }
        r->responses_count += row->partitions_count > 0;
    }
}

static inline void fake_queue_named(struct fake_request *q,
                                    struct wire_alter_partition_reassignments_response *r)
{
    const struct wire_alter_partition_reassignments_request *m = q->body;
    r->responses = fake_array(q, m->topics_count, sizeof *r->responses);
    r->responses_count = m->topics_count;
    for (int32_t t = 0; t < m->topics_count; t++) {
        struct wire_alter_partition_reassignments_response_responses *row = &r->responses[t];
        row->name = m->topics[t].name;
        row->partitions_count = m->topics[t].partitions_count;
        row->partitions = fake_array(q, row->partitions_count, sizeof *row->partitions);
        for (int32_t p = 0; p < row->partitions_count; p++) {
            row->partitions[p].partition_index = m->topics[t].partitions[p].partition_index;
            row->partitions[p].error_code =
                fake_queue_one(q, fake_topic_find(q->cluster, row->name),
                               &m->topics[t].partitions[p], &row->partitions[p].note);
        }
    }
}

static inline void fake_queue_jobs(struct fake_cluster *f,
                                   const struct wire_alter_partition_reassignments_request *m)
{
    struct fake_job *job = fake_job_find(f, m->action == 1 ? "" : f->last_job);
    if (m->action == 1 && job != NULL && f->alter_code == 0) {
        *job = (struct fake_job){.rate = m->rate,
                                 .priority = m->priority,
                                 .state = f->queues ? 0 : 1,
                                 .is_one_at_a_time = m->one_at_a_time};
        snprintf(job->id, sizeof job->id, "%s", f->last_job);
        for (int32_t t = 0; t < m->topics_count; t++) {
            job->moves += m->topics[t].partitions_count;
        }
    } else if (m->action == 5 && job != NULL) {
        job->rate = m->rate == -1 ? job->rate : m->rate == -2 ? -1 : m->rate;
        job->priority = m->priority == -1 ? job->priority : m->priority;
    }
}

static inline void fake_queue_alter(struct fake_request *q,
                                    const struct wire_alter_partition_reassignments_request *m,
                                    struct wire_alter_partition_reassignments_response *r)
{
    if (m->action == 1 && m->job.len > 0 &&
        fake_job_find(q->cluster, q->cluster->last_job) != NULL) {
        r->error_code = KERR_DUPLICATE_RESOURCE;
        r->error_message = slice_str("there is a job of this name");
        return;
    }
    fake_queue_jobs(q->cluster, m);
    r->job = m->job;
    if (m->topics_count == 0) {
        fake_queue_selected(q, r);
    } else {
        fake_queue_named(q, r);
    }
}

/* ---- what is listed ---- */

static inline struct wire_list_partition_reassignments_response_topics_partitions_details *
fake_details(struct fake_request *q, const struct fake_partition *p)
{
    struct wire_list_partition_reassignments_response_topics_partitions_details *details =
        fake_array(q, 1, sizeof *details);
    details->job = p->job[0] == '\0' ? SLICE_NULL : slice_str(p->job);
    details->submitted_by = slice_str("User:alice");
    details->client_id = slice_str("klamm");
    details->started_ms = 1700000000000;
    details->original_replicas = (int32_t *)(uintptr_t)p->origin.list;
    details->original_replicas_count = p->origin.count;
    details->bytes_to_copy = p->size * p->adding.count;
    details->bytes_copied = MIN(p->arrived, p->size) * p->adding.count;
    details->rate = p->reason == 0 && !p->is_paused ? 500 : 0;
    details->eta_ms = p->reason == 0 && !p->is_paused ? 2500 : -1;
    details->reason = p->is_paused ? 10 : p->reason;
    details->reason_error = p->reason_code;
    details->since_ms = p->since_ms;
    details->adding = fake_array(q, p->adding.count, sizeof *details->adding);
    details->adding_count = p->adding.count;
    for (int32_t i = 0; i < p->adding.count; i++) {
        details->adding[i].broker = p->adding.list[i];
        details->adding[i].state = p->is_paused ? 5 : 1;
        details->adding[i].lag_bytes = p->size - MIN(p->arrived, p->size);
        details->adding[i].lag_offsets = -1;
        details->adding[i].ignores_limits = q->cluster->has_stock_brokers;
        details->adding[i].reason = i == 0 ? p->reason : 0;
    }
    return details;
}

static inline void fake_list_jobs(struct fake_request *q,
                                  struct wire_list_partition_reassignments_response *r)
{
    r->jobs = fake_array(q, FAKE_JOBS, sizeof *r->jobs);
    r->jobs_count = 0; /* not null: that is how a klamm controller is known */
    for (int32_t i = 0; i < FAKE_JOBS; i++) {
        const struct fake_job *job = &q->cluster->jobs[i];
        if (job->id[0] != '\0') {
            struct wire_list_partition_reassignments_response_jobs *row = &r->jobs[r->jobs_count++];
            row->id = slice_str(job->id);
            row->submitted_by = slice_str("User:alice");
            row->client_id = slice_str("klamm");
            row->submitted_ms = 1700000000000;
            row->state = job->state;
            row->rate = job->rate;
            row->priority = job->priority;
            row->one_at_a_time = job->is_one_at_a_time;
            row->moves_total = job->moves;
            row->moves_done = job->state == 3 ? job->moves : 0;
            row->bytes_to_copy = 3000;
            row->bytes_copied = 1500;
        }
    }
}

static inline void fake_list_queued(struct fake_request *q,
                                    struct wire_list_partition_reassignments_response *r)
{
    r->queued = fake_array(q, FAKE_TOPICS, sizeof *r->queued);
    for (int32_t t = 0; t < FAKE_TOPICS; t++) {
        struct fake_topic *topic = &q->cluster->topics[t];
        struct wire_list_partition_reassignments_response_queued *row = &r->queued[r->queued_count];
        row->topic = slice_str(topic->name);
        row->partitions = fake_array(q, FAKE_PARTITIONS, sizeof *row->partitions);
        for (int32_t i = 0; topic->name[0] != '\0' && i < FAKE_PARTITIONS; i++) {
            struct fake_partition *p = &topic->partitions[i];
            if (p->queued.count > 0) {
                struct wire_list_partition_reassignments_response_queued_partitions *out =
                    &row->partitions[row->partitions_count++];
                out->partition_index = i;
                out->target = p->queued.list;
                out->target_count = p->queued.count;
                out->original_replicas = p->before_steps.list;
                out->original_replicas_count = p->before_steps.count;
                out->job = slice_str(p->job);
                out->state = p->is_paused ? 2 : 0;
                out->reason = p->is_paused ? 10 : p->reason == 0 ? 1 : p->reason;
                out->since_ms = p->since_ms;
                out->bytes_to_copy = 3 * p->size;
            }
        }
        r->queued_count += row->partitions_count > 0;
    }
}
