/*
 * Requests, one at a time and in stages: who is meant, would it be accepted, the job and its pieces, marks,
 * what is to happen at once, the answer. Each stage works in bounded pieces and may wait for answers.
 *
 * Invariant: what must survive a failover (that a move is in the queue, paused, or on its way out) is stored
 * before anything is asked for or answered that rests on it. While a request marks and asks, nothing starts.
 * Pure.
 */
#include "model/cluster.h"
#include "moves/core.h"
#include "moves/reason.h"

#include <stdlib.h>

#define REQUESTS_MAX      1000 /* waiting at once */
#define REQUEST_BYTES_MAX ((size_t)1 << 30)

/* ---- arrival and end ---- */

static struct slice text_copy(struct queue_request *r, struct slice text)
{
    if (slice_is_null(text)) {
        return text;
    }
    char *copy = arena_str(&r->arena, text);
    CHECK(copy != NULL);
    return slice_of(copy, text.len);
}

static void *array_copy(struct queue_request *r, const void *from, int32_t count, size_t size)
{
    void *to = arena_array(&r->arena, (size_t)MAX(count, 0) + 1, size);
    CHECK(to != NULL); /* it was bounded when it was read */
    if (count > 0) {
        memcpy(to, from, (size_t)count * size);
    }
    return to;
}

static void body_copy(struct queue_request *r, const struct moves_request *body)
{
    struct slice last = SLICE_NULL;
    struct slice copy = SLICE_NULL;
    struct moves_entry *entries = array_copy(r, body->entries, body->count, sizeof *entries);
    r->body = *body;
    for (int32_t i = 0; i < body->count; i++) {
        if (entries[i].topic.ptr != last.ptr || entries[i].topic.len != last.len) {
            last = entries[i].topic;
            copy = text_copy(r, last);
        }
        entries[i].topic = copy;
        entries[i].replicas = array_copy(r, entries[i].replicas, entries[i].replica_count,
                                         sizeof *entries[i].replicas);
    }
    r->body.entries = entries;
    r->body.brokers = array_copy(r, body->brokers, body->broker_count, sizeof *body->brokers);
    r->body.job = text_copy(r, body->job);
    r->body.submitted_by = text_copy(r, body->submitted_by);
    r->body.client_id = text_copy(r, body->client_id);
}

void moves_request_refuse(struct queue_request *r, enum kerr error, const char *message)
{
    r->error = (int16_t)error;
    r->message = arena_str(&r->arena, slice_str(message));
    r->stage = STAGE_REPLY;
    r->cursor = 0;
}

static void job_pin(struct queue_request *r, struct queue_job *job)
{
    job->pins++;
    r->selected = job;
}

static bool id_is_valid(struct slice id)
{
    return id.len <= MODEL_JOB_ID_MAX && model_topic_name_is_valid(id);
}

static void request_check(struct moves *m, struct queue_request *r)
{
    const struct moves_request *b = &r->body;
    bool is_submission = b->action == MOVES_ACTION_SUBMIT;
    if (m->requests.count > REQUESTS_MAX) {
        moves_request_refuse(r, KERR_THROTTLING_QUOTA_EXCEEDED, "too many requests wait");
    } else if (b->priority < MOVES_PRIORITY_KEEP || b->priority >= MODEL_JOB_PRIORITIES ||
               (b->priority == MOVES_PRIORITY_KEEP && b->action != MOVES_ACTION_SETTINGS)) {
        moves_request_refuse(r, KERR_INVALID_REQUEST, "the priority must be 0, 1 or 2");
    } else if (b->rate < MOVES_RATE_REMOVE || b->rate == 0) {
        moves_request_refuse(r, KERR_INVALID_REQUEST, "the rate must be at least 1");
    } else if (b->action == MOVES_ACTION_SETTINGS && slice_is_null(b->job)) {
        moves_request_refuse(r, KERR_INVALID_REQUEST, "settings are those of a job: name it");
    } else if (is_submission && !slice_is_null(b->job) && !id_is_valid(b->job)) {
        moves_request_refuse(r, KERR_INVALID_REQUEST,
                             "a job's name is 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-'");
    } else if (is_submission && !slice_is_null(b->job) && moves_job_find(m, b->job) != NULL) {
        moves_request_refuse(r, KERR_DUPLICATE_RESOURCE, "there is a job of this name");
    } else if (!is_submission && b->action != MOVES_ACTION_ALTER && !slice_is_null(b->job)) {
        struct queue_job *job = moves_job_find(m, b->job);
        if (job == NULL) {
            moves_request_refuse(r, KERR_RESOURCE_NOT_FOUND, "there is no job of this name");
        } else {
            job_pin(r, job);
        }
    }
}

/* Looked at when its turn comes: requests before it may have changed the jobs. */
static void request_begin(struct moves *m, struct queue_request *r)
{
    r->is_begun = true;
    request_check(m, r);
    if (r->body.action == MOVES_ACTION_UNDO && r->selected != NULL) {
        r->body.rate = r->selected->node.rate;
        r->body.priority = r->selected->node.priority;
        r->body.is_one_at_a_time = r->selected->node.is_one_at_a_time;
    }
}

void moves_request_start(struct moves *m, const struct moves_request *body)
{
    CHECK(body->action < MOVES_ACTIONS);
    struct queue_request *r = xalloc(sizeof *r);
    arena_init(&r->arena, REQUEST_BYTES_MAX);
    r->serial = m->next_id++;
    body_copy(r, body);
    list_push_back(&m->requests, &r->link);
}

static void request_free(struct moves *m, struct queue_request *r)
{
    list_remove(&m->requests, &r->link);
    arena_deinit(&r->arena);
    free(r->items);
    free(r->touched);
    free(r->walk_partitions);
    free(r);
}

void moves_requests_free(struct moves *m)
{
    struct list_node *n = NULL;
    while ((n = list_first(&m->requests)) != NULL) {
        request_free(m, CONTAINER_OF(n, struct queue_request, link));
    }
}

/* ---- what whoever performs moves is asked ---- */

static void stage_enter(struct queue_request *r, enum queue_stage stage)
{
    r->stage = stage;
    r->cursor = 0;
}

typedef bool (*item_fn)(const struct queue_request *r, const struct queue_item *item);

/* Sends the next chunk of the items that are chosen; false: there are no more. */
static bool chunk_send(struct moves *m, struct queue_request *r, item_fn is_chosen)
{
    struct moves_entry *entries = moves_effect_array(m, QUEUE_ALTER_ENTRIES, sizeof *entries);
    r->chunk_count = 0;
    for (; r->cursor < r->count && r->chunk_count < QUEUE_ALTER_ENTRIES; r->cursor++) {
        const struct queue_item *item = &r->items[r->cursor];
        if (is_chosen(r, item)) {
            entries[r->chunk_count] = (struct moves_entry){.topic = item->topic,
                                                           .partition = item->partition,
                                                           .is_cancel = item->what == DO_CANCEL,
                                                           .replicas = item->replicas,
                                                           .replica_count = item->replica_count};
            r->chunk[r->chunk_count++] = r->cursor;
        }
    }
    if (r->chunk_count == 0) {
        return false;
    }
    struct queue_alter *a = xalloc(sizeof *a);
    *a = (struct queue_alter){.id = m->next_id++, .request = r, .count = r->chunk_count};
    HASH_ADD(hh, m->alters, id, sizeof a->id, a);
    r->is_chunk_out = true;
    moves_effect_add(m, MOVES_EFFECT_ALTER)->alter = (struct moves_alter){
        .id = a->id,
        .entries = entries,
        .count = r->chunk_count,
        .is_validate_only = r->stage == STAGE_JUDGE,
        .allows_dead_targets = r->stage == STAGE_JUDGE && r->body.action != MOVES_ACTION_ALTER,
        .is_forced = r->body.is_forced,
        .forbids_factor_change = r->body.forbids_factor_change,
    };
    return true;
}

void moves_request_judged(struct moves *m, const struct queue_alter *a,
                          const struct moves_event *event)
{
    struct queue_request *r = a->request;
    (void)m;
    CHECK(r->is_chunk_out);
    r->is_chunk_out = false;
    for (int32_t i = 0; i < r->chunk_count; i++) {
        struct queue_item *item = &r->items[r->chunk[i]];
        struct moves_altered none = {.error = KERR_UNKNOWN_SERVER_ERROR};
        const struct moves_altered *altered = i < event->altered_count ? &event->altered[i] : &none;
        item->error = altered->error;
        item->note = altered->note;
        item->message =
            altered->message == NULL ? NULL : arena_str(&r->arena, slice_str(altered->message));
        if (item->error != KERR_NONE && r->stage == STAGE_JUDGE) {
            item->what = DO_NOTHING;
        }
    }
}

static bool is_to_be_judged(const struct queue_request *r, const struct queue_item *item)
{
    bool is_stock = r->body.action == MOVES_ACTION_ALTER;
    return item->what == DO_QUEUE ||
           (r->body.is_validate_only && is_stock && item->what != DO_NOTHING);
}

static bool is_asked_for(const struct queue_request *r, const struct queue_item *item)
{
    (void)r;
    return item->asks;
}

static bool judge(struct moves *m, struct queue_request *r)
{
    if (r->is_chunk_out || chunk_send(m, r, is_to_be_judged)) {
        return false;
    }
    stage_enter(r, r->body.is_validate_only ? STAGE_REPLY : STAGE_BUILD);
    return true;
}

/* ---- the job ---- */

static bool goes_into_job(const struct queue_item *item)
{
    return item->what == DO_QUEUE || item->what == DO_ADOPT;
}

static char *job_name(struct moves *m, const struct queue_request *r)
{
    static const char *const kinds[MOVES_ACTIONS] = {
        [MOVES_ACTION_ALTER] = "alter",
        [MOVES_ACTION_SUBMIT] = "job",
        [MOVES_ACTION_PAUSE] = "paused",
        [MOVES_ACTION_UNDO] = "undo",
    };
    char *name = xasprintf("%s-%llu", kinds[r->body.action], (unsigned long long)m->next_serial);
    while (moves_job_find(m, slice_str(name)) != NULL) {
        char *longer = xasprintf("%s.1", name);
        free(name);
        name = longer;
    }
    return name;
}

static struct slice text_cut(struct slice text)
{
    return slice_of(text.ptr, MIN(text.len, MODEL_JOB_TEXT_MAX));
}

static void job_make(struct moves *m, struct queue_request *r)
{
    const struct moves_request *b = &r->body;
    bool is_wished = b->action == MOVES_ACTION_SUBMIT && !slice_is_null(b->job);
    char *name = is_wished ? slice_dup(b->job) : job_name(m, r);
    bool is_stock = b->action == MOVES_ACTION_ALTER || b->action == MOVES_ACTION_PAUSE;
    struct model_job node = {
        .id = slice_str(name),
        .serial = m->next_serial,
        .fate = MODEL_JOB_WRITING,
        .submitted_by = text_cut(b->submitted_by),
        .client_id = text_cut(b->client_id),
        .submitted_ms = m->wall_ms,
        .finished_ms = -1,
        .rate = MAX(b->rate, -1),
        .priority = b->priority,
        .is_one_at_a_time = b->is_one_at_a_time && !is_stock,
        .is_stock = is_stock,
    };
    r->job = moves_job_new(m, &node);
    r->job->pins++;
    moves_job_store(m, r->job, r);
    free(name);
}

/* A move that has made steps is to be undone as a whole, also by what takes its place. */
static const struct queue_move *begun_before(const struct queue_place *p)
{
    if (p->waiting != NULL && (p->waiting->marks & MODEL_JOB_BEGUN) != 0) {
        return p->waiting;
    }
    return p->running != NULL && (p->running->marks & MODEL_JOB_BEGUN) != 0 ? p->running : NULL;
}

static void move_make(struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct moves_partition f;
    struct ids original = {0};
    if (!moves_place_facts(m, item->place, &f)) {
        moves_item_fail(r, item, KERR_UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition");
        return;
    }
    if (item->place->waiting != NULL) {
        moves_check_replaced(m, item->place->waiting, f.assignment);
    }
    const struct queue_move *before = begun_before(item->place);
    if (before != NULL) {
        ids_copy(&original, &before->original);
    } else {
        (void)assignment_undo_target(f.assignment, &original);
    }
    struct model_job_move from = {.topic = item->topic,
                                  .partition = item->partition,
                                  .original = original,
                                  .marks = item->what == DO_ADOPT ? MODEL_JOB_PAUSED : 0,
                                  .started_ms = item->what == DO_ADOPT ? m->wall_ms : -1};
    ids_set(&from.target, item->replicas, item->replica_count);
    if (before != NULL) {
        from.marks |= MODEL_JOB_BEGUN;
        from.replaces = item->place->running != NULL ? *moves_goal(item->place->running)
                                                     : (struct ids){0}; /* borrowed */
    }
    item->made = moves_job_add(m, r->job, &from, -1);
    ids_minus(&item->made->adding, &from.target, &original);
    if (f.bytes >= 0) {
        moves_bytes_plan(item->made, f.bytes * item->made->adding.count);
    }
    ids_deinit(&from.target);
    ids_deinit(&original);
}

/* Stores the pieces that will not grow any more: all, or all but the last. */
static void pieces_store(struct moves *m, struct queue_request *r, bool is_all)
{
    int32_t count = r->job->piece_count - (is_all ? 0 : 1);
    for (; r->stored_pieces < count; r->stored_pieces++) {
        moves_piece_store(m, r->job->pieces[r->stored_pieces]);
    }
}

static bool build(struct moves *m, struct queue_request *r)
{
    for (; r->cursor < r->count && m->budget > 0; r->cursor++) {
        struct queue_item *item = &r->items[r->cursor];
        if (goes_into_job(item)) {
            if (moves_is_asked(item->place->waiting)) {
                break; /* where an undo leads is known when that is answered */
            }
            if (r->job == NULL) {
                job_make(m, r);
            }
            move_make(m, r, item);
            m->budget--;
        }
    }
    if (r->job != NULL) {
        pieces_store(m, r, r->cursor == r->count);
    }
    if (r->cursor < r->count) {
        return false;
    }
    stage_enter(r, r->job == NULL ? STAGE_QUIET : STAGE_BUILT);
    return true;
}

static void job_drop(struct moves *m, struct queue_request *r)
{
    for (int32_t i = 0; i < r->count; i++) {
        r->items[i].made = NULL;
    }
    moves_job_discard(m, r->job);
    r->job = NULL;
}

static bool built(struct moves *m, struct queue_request *r)
{
    bool is_stored = r->stores_due == 0;
    for (int32_t i = 0; i < r->job->piece_count; i++) {
        const struct queue_piece *piece = r->job->pieces[i];
        is_stored = is_stored && !piece->is_out;
        if (piece->failed_seq > piece->stored_seq && r->store_error == NULL) {
            r->store_error = "a piece of the job was refused";
        }
    }
    if (!is_stored) {
        return false;
    }
    if (r->store_error != NULL || r->job->piece_count == 0) {
        bool is_empty = r->store_error == NULL;
        job_drop(m, r);
        if (is_empty) {
            stage_enter(r, STAGE_QUIET);
        } else {
            moves_request_refuse(r, KERR_UNKNOWN_SERVER_ERROR, r->store_error);
        }
        return true;
    }
    if (r->job->node.fate == MODEL_JOB_WRITING) {
        r->job->node.fate = MODEL_JOB_OPEN;
        moves_job_store(m, r->job, r);
        return false;
    }
    r->job->is_coming = false;
    stage_enter(r, STAGE_COMMIT);
    return true;
}

static void touch(struct queue_request *r, struct queue_piece *piece)
{
    if (r->touched_count > 0 && r->touched[r->touched_count - 1].piece == piece) {
        r->touched[r->touched_count - 1].seq = piece->seq;
        return;
    }
    if (r->touched_count == r->touched_cap) {
        r->touched_cap = r->touched_cap == 0 ? 16 : r->touched_cap * 2;
        r->touched = xrealloc(r->touched, (size_t)r->touched_cap * sizeof *r->touched);
    }
    piece->job->pins++;
    r->touched[r->touched_count++] = (struct queue_touch){piece, piece->seq};
}

/* False: it must wait for the move whose place it takes. */
static bool move_join(struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct queue_place *p = item->place;
    struct queue_move *v = item->made;
    struct moves_partition f;
    if (moves_is_asked(p->waiting)) {
        return false;
    }
    v->place = p;
    if (!moves_place_facts(m, p, &f)) {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
        return true;
    }
    if (item->what == DO_ADOPT && assignment_is_reassigning(f.assignment) && p->running == NULL) {
        assignment_target(f.assignment, &v->step);
        p->running = v;
        moves_move_state(m, v, QUEUE_RUNNING);
        moves_move_reason(m, v, MOVES_REASON_PAUSED, 0);
        moves_give_back(m, p);
    } else {
        if (p->waiting != NULL) {
            struct queue_move *before = p->waiting;
            moves_move_end(m, before, MODEL_JOB_CANCELLED);
            touch(r, before->piece); /* a load tells by it which of the two holds */
        }
        p->waiting = v;
        moves_move_state(m, v, QUEUE_WAITING);
        moves_enter(m, v);
        item->note = MOVES_NOTE_QUEUED;
    }
    moves_place_look(m, p);
    return true;
}

static void job_log(struct moves *m, const struct queue_request *r)
{
    struct errmsg em;
    const struct model_job *node = &r->job->node;
    (void)errmsg_set(&em, E_OK, "job %.*s: %d moves by %.*s (%.*s)", SLICE_ARG(node->id),
                     node->moves_total, SLICE_ARG(node->submitted_by), SLICE_ARG(node->client_id));
    moves_log(m, em.text);
}

static bool commit(struct moves *m, struct queue_request *r)
{
    for (; r->cursor < r->count && m->budget > 0; r->cursor++) {
        struct queue_item *item = &r->items[r->cursor];
        if (item->made == NULL) {
            continue;
        }
        if (!move_join(m, r, item)) {
            return false;
        }
        m->budget--;
    }
    if (r->cursor < r->count) {
        return false;
    }
    job_log(m, r);
    stage_enter(r, STAGE_QUIET);
    return true;
}

/* ---- marks ---- */

static bool quiet(struct queue_request *r)
{
    for (int32_t i = 0; i < r->count; i++) {
        const struct queue_item *item = &r->items[i];
        bool is_meant = item->what != DO_NOTHING && !goes_into_job(item);
        if (is_meant && moves_is_asked(item->place->waiting)) {
            return false;
        }
    }
    stage_enter(r, STAGE_MARK);
    return true;
}

/* Somebody else may send it elsewhere, or stop it. */
static void leave_mark(struct moves *m, struct queue_request *r, struct queue_move *v)
{
    v->marks |= MODEL_JOB_LEAVING;
    moves_move_changed(m, v);
    touch(r, v->piece);
}

static bool is_returning(const struct queue_move *v)
{
    return (v->marks & MODEL_JOB_RETURNING) != 0;
}

static void cancel_waiting(struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct queue_move *v = item->place->waiting;
    struct moves_partition f;
    bool is_between = (v->marks & MODEL_JOB_BEGUN) != 0 && moves_place_facts(m, item->place, &f) &&
                      !assignment_is_reassigning(f.assignment) &&
                      !ids_equal(&f.assignment->replicas, &v->original);
    if (is_returning(v) && (v->marks & MODEL_JOB_PAUSED) == 0) {
        return;
    }
    if (is_between) {
        moves_move_return(m, v);
    } else {
        moves_move_end(m, v, MODEL_JOB_CANCELLED);
    }
    touch(r, v->piece);
}

/* A cancel that was paused on its way goes on. */
static void resume_returning(struct moves *m, struct queue_request *r, struct queue_move *v)
{
    if ((v->marks & MODEL_JOB_PAUSED) != 0) {
        moves_move_pause(m, v, false);
        touch(r, v->piece);
        moves_enter(m, v);
    }
}

static void cancel_mark(struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct queue_place *p = item->place;
    bool has_waiting = item->takes_waiting && p->waiting != NULL;
    bool is_stock = p->is_moving && r->selected == NULL;
    bool has_running = item->takes_running && (p->running != NULL || is_stock);
    if (has_waiting) {
        cancel_waiting(m, r, item);
    }
    if (has_running && p->running != NULL && is_returning(p->running)) {
        resume_returning(m, r, p->running);
    } else if (has_running) {
        item->asks = true;
        if (p->running != NULL) {
            leave_mark(m, r, p->running);
        }
    } else if (!has_waiting && !has_running) {
        item->asks = r->body.action == MOVES_ACTION_ALTER;
        if (!item->asks) {
            moves_item_fail(r, item, KERR_NO_REASSIGNMENT_IN_PROGRESS, "the move has ended");
        }
    }
}

static void pause_mark(struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct queue_place *p = item->place;
    struct queue_move *moves[] = {item->takes_running ? p->running : NULL,
                                  item->takes_waiting ? p->waiting : NULL};
    bool is_pause = item->what == DO_PAUSE;
    item->note = MOVES_NOTE_SAME;
    for (int32_t i = 0; i < 2; i++) {
        struct queue_move *v = moves[i];
        if (v == NULL || ((v->marks & MODEL_JOB_PAUSED) != 0) == is_pause) {
            continue;
        }
        item->note = MOVES_NOTE_NONE;
        moves_move_pause(m, v, is_pause);
        touch(r, v->piece);
        moves_leave(m, v);
        if (is_pause) {
            moves_move_reason(m, v, MOVES_REASON_PAUSED, 0);
        } else {
            moves_enter(m, v); /* one that runs needs its slots back */
        }
        if (is_pause && v->state == QUEUE_RUNNING) {
            moves_give_back(m, p);
        }
    }
}

static void item_mark(struct moves *m, struct queue_request *r, struct queue_item *item)
{
    struct queue_place *p = item->place;
    if (item->what == DO_CANCEL) {
        cancel_mark(m, r, item);
    } else if (item->what == DO_PAUSE || item->what == DO_RESUME) {
        pause_mark(m, r, item);
    } else if (item->what == DO_DIRECT) {
        item->asks = true;
        if (p->running != NULL) {
            leave_mark(m, r, p->running);
        }
        if (p->waiting != NULL) {
            leave_mark(m, r, p->waiting);
        }
    }
}

static bool settings_mark(struct moves *m, struct queue_request *r)
{
    struct model_job *node = &r->selected->node;
    if (r->walk_piece == 0 && r->stores_due == 0) {
        node->rate = r->body.rate == MOVES_RATE_KEEP     ? node->rate
                     : r->body.rate == MOVES_RATE_REMOVE ? -1
                                                         : r->body.rate;
        node->is_one_at_a_time = node->is_one_at_a_time || r->body.is_one_at_a_time;
        if (r->body.priority != MOVES_PRIORITY_KEEP) {
            node->priority = r->body.priority;
        }
        m->is_limits_dirty = true;
        moves_job_store(m, r->selected, r);
    }
    for (; r->walk_piece < r->selected->piece_count && m->budget > 0; r->walk_piece++) {
        moves_piece_rekey(m, r->selected->pieces[r->walk_piece]);
        m->budget -= r->selected->pieces[r->walk_piece]->count;
    }
    return r->walk_piece == r->selected->piece_count;
}

static bool mark(struct moves *m, struct queue_request *r)
{
    if (r->body.action == MOVES_ACTION_SETTINGS && !settings_mark(m, r)) {
        return false;
    }
    for (; r->cursor < r->count && m->budget > 0; r->cursor++, m->budget--) {
        item_mark(m, r, &r->items[r->cursor]);
    }
    if (r->cursor < r->count) {
        return false;
    }
    for (; r->stored_touches < r->touched_count && m->budget > 0; r->stored_touches++) {
        moves_piece_store(m, r->touched[r->stored_touches].piece);
        m->budget -= r->touched[r->stored_touches].piece->count;
    }
    if (r->stored_touches < r->touched_count) {
        return false;
    }
    stage_enter(r, STAGE_MARKED);
    return true;
}

static bool marked(struct queue_request *r)
{
    bool is_stored = r->stores_due == 0;
    for (int32_t i = 0; i < r->touched_count; i++) {
        const struct queue_touch *t = &r->touched[i];
        if (t->piece->failed_seq >= t->seq && t->piece->stored_seq < t->seq) {
            r->store_error = "the marks of moves were refused";
        } else if (t->piece->stored_seq < t->seq) {
            is_stored = false;
        }
    }
    if (!is_stored) {
        return false;
    }
    if (r->store_error != NULL) {
        for (int32_t i = 0; i < r->count; i++) {
            if (r->items[i].asks) {
                r->items[i].asks = false;
                r->items[i].error = KERR_UNKNOWN_SERVER_ERROR;
            }
        }
        r->error = KERR_UNKNOWN_SERVER_ERROR;
        r->message = r->store_error;
        stage_enter(r, STAGE_SETTLE);
        return true;
    }
    stage_enter(r, STAGE_ALTER);
    return true;
}

static bool alter(struct moves *m, struct queue_request *r)
{
    if (r->is_chunk_out || chunk_send(m, r, is_asked_for)) {
        return false;
    }
    stage_enter(r, STAGE_SETTLE);
    return true;
}

/* ---- the end ---- */

static void mark_clear(struct moves *m, struct queue_move *v)
{
    if (v != NULL && (v->marks & MODEL_JOB_LEAVING) != 0) {
        v->marks &= ~MODEL_JOB_LEAVING;
        moves_move_changed(m, v);
    }
}

static void item_settle(struct moves *m, struct queue_item *item)
{
    struct queue_place *p = item->place;
    if (item->what != DO_CANCEL && item->what != DO_DIRECT) {
        return;
    }
    moves_place_look(m, p);
    struct queue_move *wait = p->waiting;
    if (item->what == DO_DIRECT && item->error == KERR_NONE && wait != NULL &&
        (wait->marks & MODEL_JOB_LEAVING) != 0) {
        moves_move_end(m, wait, MODEL_JOB_CANCELLED);
    }
    mark_clear(m, p->running);
    mark_clear(m, p->waiting);
}

static bool settle(struct moves *m, struct queue_request *r)
{
    for (; r->cursor < r->count && m->budget > 0; r->cursor++, m->budget--) {
        item_settle(m, &r->items[r->cursor]);
    }
    if (r->cursor < r->count) {
        return false;
    }
    stage_enter(r, STAGE_REPLY);
    return true;
}

static void request_unpin(struct moves *m, struct queue_request *r)
{
    for (int32_t i = 0; i < r->count; i++) {
        if (r->items[i].place != NULL) {
            r->items[i].place->pins--;
            moves_place_drop(m, r->items[i].place);
        }
    }
    for (int32_t i = 0; i < r->touched_count; i++) {
        r->touched[i].piece->job->pins--;
    }
    if (r->job != NULL) {
        r->job->pins--;
    }
    if (r->selected != NULL) {
        r->selected->pins--;
    }
}

static void reply(struct moves *m, struct queue_request *r)
{
    struct moves_reply answer = {.token = r->body.token, .error = r->error};
    struct slice text = SLICE_NULL;
    struct slice copy = SLICE_NULL;
    int32_t count = r->error == KERR_NONE ? r->count : 0;
    struct moves_result *results = moves_effect_array(m, (size_t)count, sizeof *results);
    for (int32_t i = 0; i < count; i++) {
        const struct queue_item *item = &r->items[i];
        if (item->topic.ptr != text.ptr || i == 0) {
            text = item->topic;
            copy = moves_effect_text(m, text);
        }
        results[i] = (struct moves_result){
            .topic = copy,
            .partition = item->partition,
            .error = item->error,
            .note = item->note,
            .message = item->message == NULL
                           ? NULL
                           : (const char *)moves_effect_text(m, slice_str(item->message)).ptr};
    }
    answer.results = results;
    answer.count = count;
    answer.job = r->job == NULL ? SLICE_NULL : moves_effect_text(m, r->job->node.id);
    if (r->message != NULL) {
        answer.message = (const char *)moves_effect_text(m, slice_str(r->message)).ptr;
    }
    moves_effect_add(m, MOVES_EFFECT_REPLY)->reply = answer;
}

static bool stage_run(struct moves *m, struct queue_request *r)
{
    switch (r->stage) {
    case STAGE_EXPAND:
        if (!moves_select(m, r)) {
            return false;
        }
        stage_enter(r, STAGE_JUDGE);
        return true;
    case STAGE_JUDGE:
        return judge(m, r);
    case STAGE_BUILD:
        return build(m, r);
    case STAGE_BUILT:
        return built(m, r);
    case STAGE_COMMIT:
        return commit(m, r);
    case STAGE_QUIET:
        return quiet(r);
    case STAGE_MARK:
        return mark(m, r);
    case STAGE_MARKED:
        return marked(r);
    case STAGE_ALTER:
        return alter(m, r);
    case STAGE_SETTLE:
        return settle(m, r);
    case STAGE_REPLY:
        break;
    }
    return false;
}

bool moves_requests_hold(const struct moves *m)
{
    if (list_is_empty(&m->requests)) {
        return false;
    }
    const struct queue_request *r =
        CONTAINER_OF(list_first(&m->requests), struct queue_request, link);
    return r->stage >= STAGE_BUILD && r->stage <= STAGE_SETTLE;
}

bool moves_requests_run(struct moves *m)
{
    struct list_node *n = NULL;
    while ((n = list_first(&m->requests)) != NULL) {
        struct queue_request *r = CONTAINER_OF(n, struct queue_request, link);
        if (!r->is_begun) {
            request_begin(m, r);
        }
        while (r->stage != STAGE_REPLY && m->budget > 0 && stage_run(m, r)) {
        }
        if (r->stage != STAGE_REPLY) {
            return m->budget <= 0;
        }
        reply(m, r);
        request_unpin(m, r);
        request_free(m, r);
    }
    return false;
}
